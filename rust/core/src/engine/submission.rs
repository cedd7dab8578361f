//! Requests about the queue of a submission.

use super::Engine;
use super::control::{RequestError, refused};
use crate::config::{Section, State};
use crate::model::placement::Submission;
use crate::model::queue::{Queue, Target};
use crate::model::tally::Tally;
use crate::stage::division;
use crate::words::ids::{PartitionId, QueueId, UserId};
use serde_json::{Value, json};
use std::iter::once;

impl Engine {
    pub(super) fn place_request(
        &mut self,
        mut section: Section<'_>,
    ) -> Result<Value, RequestError> {
        let groups = groups(&mut section)?;
        let submission = submission(&mut section, &groups)?;
        if submission.user.is_empty() {
            return Err(RequestError("key `user`: expected a name".to_string()));
        }
        let user = section.whole("user_number", 0, i64::from(u32::MAX));
        let user = user.map_err(refused)?.map(|user| UserId(user as u32));
        self.renew_parts();
        let queues = &mut self.cluster.queues;
        // The nearest queue that was there before.
        let mut known = None;
        if !submission.recovering {
            let chosen = queues.choose(&submission);
            let chosen = chosen.map_err(|none| RequestError(none.why))?;
            let nearest = queues.nearest_of(&chosen);
            known = Some(nearest);
            queues
                .check_admission(nearest, user)
                .map_err(RequestError)?;
        }
        let (id, created) = queues.place(&submission).map_err(RequestError)?;
        let queue = queues.get(id).expect("the job was just placed there");
        let mut reply = json!({ "queue": id.0, "path": queue.config.path, "created": created });
        self.report_terms(id, &mut reply);
        if created {
            self.grow_branch(id);
            self.renew_parts();
            if let Some(known) = known
                && let Err(why) = self.cluster.queues.check_admission(id, user)
            {
                // The part of a queue that a submission makes may be too small for a job.
                self.unmake_queues(id, known);
                return Err(RequestError(why));
            }
            // Lets hosts publish the new queues without a report of all queues.
            let branch: Vec<&Queue> = self.cluster.queues.path_up(id).collect();
            let empty = Tally::default();
            let views = branch.iter().rev().map(|at| self.report_queue(at, &empty));
            reply["branch"] = views.collect();
        }
        Ok(reply)
    }

    /// Renews the parts of the cluster by which queues take jobs.
    pub(super) fn renew_parts(&mut self) {
        if !self.cluster.queues.counts_by_share() {
            return;
        }
        self.follow_capacity();
        if !self.cluster.queues.take_late_shares() {
            return;
        }
        self.tree.dominant = self.setup.config.dominant;
        self.tree.memory_only = self.setup.config.memory_only;
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        division::guarantee(&mut self.tree, &capacity);
        let ids: Vec<QueueId> = self.cluster.queues.iter().map(|queue| queue.id).collect();
        for id in ids {
            let part = self.tree.node(self.leaf_of(id)).part;
            let queue = self.cluster.queues.get_mut(id);
            queue.expect("its id was just listed").part = part;
        }
    }

    /// Adds a queue's settings for submissions, if it has any.
    pub(super) fn report_terms(&self, queue: QueueId, report: &mut Value) {
        let queues = &self.cluster.queues;
        let terms = queues.terms(queue);
        for (key, value) in [
            ("default_priority", terms.default_priority),
            ("max_priority", terms.max_priority),
            ("lifetime_s", terms.lifetime_s),
            ("max_lifetime_s", terms.max_lifetime_s),
        ] {
            if let Some(value) = value {
                report[key] = json!(value);
            }
        }
        let of_users = queues.get(queue).map(|at| &at.config.priorities.of_users);
        if let Some(of_users) = of_users.filter(|of_users| !of_users.is_empty()) {
            report["max_priorities"] = json!(of_users);
        }
        let of_workflows = queues.workflow_priorities(queue);
        if !of_workflows.is_empty() {
            report["workflow_priorities"] = json!(of_workflows);
        }
        if let Some(max) = queues.get(queue).and_then(|at| queues.max_jobs(at)) {
            report["max_jobs"] = json!(max);
        }
        let state = queues.state(queue);
        if state != State::Running {
            report["state"] = json!(state.name());
        }
        let stopped = queues.get(queue).is_some_and(Queue::stays_stopped);
        if stopped {
            report["stays_stopped"] = json!(true);
        }
    }

    /// Tells what `place` would do with a new submission, and changes nothing: `leaf` is the path
    /// of the queue that exists, `made` of one that would be made, and `rights` the lists of users
    /// who may submit into it beside those of the queues above. A queue that is being removed is
    /// neither. `refused` says why there is no queue, and `about` which queues that is about: a
    /// user without rights in one of them is not told.
    pub(super) fn foresee(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let groups = groups(&mut section)?;
        let submission = Submission {
            recovering: false,
            ..submission(&mut section, &groups)?
        };
        let queues = &self.cluster.queues;
        let target = match queues.choose(&submission) {
            Ok(target) => target,
            Err(none) => {
                let found = none.found.iter().filter_map(|id| queues.get(*id));
                let found = found.map(|queue| queue.config.path.as_str());
                let asked = submission.requested.unwrap_or("root");
                let about: Vec<&str> = once(asked).chain(found).collect();
                return Ok(json!({ "refused": none.why, "about": about }));
            }
        };
        let nearest = queues.nearest_of(&target);
        if let Err(why) = queues.check_admission(nearest, None) {
            let about = queues.get(nearest).map(|queue| &queue.config.path);
            return Ok(json!({ "refused": why, "about": [about] }));
        }
        Ok(match target {
            Target::Exists(id) => json!({ "leaf": queues.get(id).map(|queue| &queue.config.path) }),
            Target::New(path) => match queues.rights_of_new(&path) {
                rights if rights.is_empty() => json!({ "made": path }),
                rights => json!({ "made": path, "rights": rights }),
            },
            Target::Revived(_) => json!({}),
        })
    }

    /// Checks that a job may move to a queue: `user` is the number of its user, `labels` are those
    /// that it asks for. The queues that have it already count it once.
    pub(super) fn enter_request(
        &mut self,
        mut section: Section<'_>,
    ) -> Result<Value, RequestError> {
        let path = section.text("queue").map_err(refused)?.unwrap_or("");
        let user = section.whole("user", 0, i64::from(u32::MAX));
        let user = user.map_err(refused)?.map(|user| UserId(user as u32));
        let from = section.text("from").map_err(refused)?;
        let labels = section.list("labels").map_err(refused)?;
        let labels = labels.iter().filter_map(|(_, label)| label.as_str());
        self.renew_parts();
        let queues = &self.cluster.queues;
        let unknown = || RequestError(format!("unknown queue {path}; name one that exists"));
        let queue = queues.by_path(path).ok_or_else(unknown)?;
        let from = from.and_then(|from| queues.by_path(from));
        let checked = match from {
            Some(from) => queues.check_move(from.id, queue.id, user),
            None => queues.check_admission(queue.id, user),
        };
        checked.map_err(RequestError)?;
        let accessible = queues.accessible(queue.id);
        for label in labels.filter(|label| !label.is_empty()) {
            if accessible.is_some_and(|labels| !labels.has(label)) {
                return Err(RequestError(format!(
                    "queue {path} has no access to node label {label}, which the application asks \
                     for; name another queue, or add the label to its accessible labels"
                )));
            }
        }
        Ok(json!({}))
    }
}

/// Reads the submission of a request, except its `groups`.
fn submission<'a, 'request: 'a>(
    section: &mut Section<'request>,
    groups: &'a [&'a str],
) -> Result<Submission<'a>, RequestError> {
    let mut text = |key| section.text(key).map_err(refused);
    Ok(Submission {
        user: text("user")?.unwrap_or_default(),
        requested: text("queue")?,
        application: text("application")?.unwrap_or_default(),
        groups,
        recovering: section
            .boolean("recovering")
            .map_err(refused)?
            .unwrap_or(false),
    })
}

/// The user's groups, the primary one first.
fn groups<'a>(section: &mut Section<'a>) -> Result<Vec<&'a str>, RequestError> {
    let groups = section.list("groups").map_err(refused)?;
    let name = |(path, value): (String, &'a Value)| {
        let name = value.as_str();
        name.ok_or_else(|| RequestError(format!("key `{path}`: expected a name, found {value}")))
    };
    groups.into_iter().map(name).collect()
}
