//! Requests about the queue of a submission.

use super::Engine;
use super::control::{RequestError, refused};
use crate::config::Section;
use crate::model::queue::{Queue, Target};
use crate::words::resource::Resource;
use serde_json::{Value, json};

impl Engine {
    pub(super) fn place_request(
        &mut self,
        mut section: Section<'_>,
    ) -> Result<Value, RequestError> {
        let user = section.text("user").map_err(refused)?;
        let user = user.filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| RequestError("key `user`: expected a name".to_string()))?;
        let requested = section.text("queue").map_err(refused)?;
        let recovering = section
            .boolean("recovering")
            .map_err(refused)?
            .unwrap_or(false);
        let queues = &mut self.cluster.queues;
        let (id, created) = queues
            .place(user, requested, recovering)
            .map_err(RequestError)?;
        let queue = queues.get(id).expect("the job was just placed there");
        let mut reply = json!({ "queue": id.0, "path": queue.config.path, "created": created });
        if created {
            self.grow_branch(id);
            // Lets hosts publish the new queues without a report of all queues.
            let branch: Vec<&Queue> = self.cluster.queues.path_up(id).collect();
            let empty = (Resource::ZERO, Resource::ZERO, 0, 0);
            let views = branch.iter().rev().map(|at| self.report_queue(at, empty));
            reply["branch"] = views.collect();
        }
        Ok(reply)
    }

    /// Tells what `place` would do with a new submission, and changes nothing: `leaf` is the path
    /// of the queue that exists, `made` of one that would be made. A queue that is being removed
    /// is neither.
    pub(super) fn foresee(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let user = section.text("user").map_err(refused)?.unwrap_or_default();
        let requested = section.text("queue").map_err(refused)?;
        let queues = &self.cluster.queues;
        let target = queues.choose(user, requested, false);
        Ok(match target.map_err(RequestError)? {
            Target::Exists(id) => json!({ "leaf": queues.get(id).map(|queue| &queue.config.path) }),
            Target::New(path) => json!({ "made": path }),
            Target::Revived(_) => json!({}),
        })
    }
}
