//! The control plane: requests and replies as JSON, a few per second at the most. Reports,
//! placement of submissions, and the audit that hosts compare with their own books.

use super::{Engine, bounds};
use crate::catalogue;
use crate::config::{Allocations, Section, unknown};
use crate::model::change::Change;
use crate::model::job::{Authority, Job};
use crate::model::queue::Queue;
use crate::model::tally::Tally;
use crate::setup::Setup;
use crate::stage::division;
use crate::words::credits::{Credits, Spending};
use crate::words::ids::{JobId, Millis, NodeId, PartitionId, QueueId};
use crate::words::keys::Layout;
use crate::words::resource::Resource;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Why a request failed. Beside the clock it changed nothing that a decision depends on; only under
/// a market `place` may leave a queue that it has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError(pub String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

/// The operations that the engine serves itself: values of `op`.
const OPERATIONS: &[&str] = &[
    "queues",
    "expireQueues",
    "job",
    "node",
    "predict",
    "explain",
    "waits",
    "jobs",
    "nodes",
    "usage",
    "activities",
    "place",
    "enter",
    "foresee",
    "take",
    "authorize",
    "restoreLessons",
    "plan",
    "reload",
    "allocations",
    "audit",
    "policies",
    "stages",
];

impl Engine {
    /// Serves one request: `{"op": ..., ...}`.
    ///
    /// # Errors
    /// Says what is wrong with the request.
    pub fn request(&mut self, now: Millis, request: &Value) -> Result<Value, RequestError> {
        self.now = self.now.max(bounds::time(now));
        self.subject.set(None);
        let mut section = Section::new("", request).map_err(refused)?;
        let op = section.text("op").map_err(refused)?.unwrap_or("");
        match op {
            "queues" => self.queues_request(section),
            "expireQueues" => self.expire_request(section),
            "audit" => self.audit(section),
            "policies" => Ok(self.policies_report()),
            "stages" => Ok(json!({
                "share": self.share.save(), "order": self.order.save(), "place": self.place.save(),
            })),
            "job" => self.job_report(section),
            "node" => self.node_report(section),
            "explain" => self.explain(section),
            "waits" => self.waits_report(section),
            "jobs" => self.jobs_report(section),
            "nodes" => self.nodes_report(section),
            "usage" => self.usage_report(section),
            "activities" => self.activities(section),
            "predict" => match section.value("job") {
                Some(_) => self.predict(Some(numbered(&mut section, "job")?)),
                None => self.predict(None),
            },
            "place" => self.place_request(section),
            "enter" => self.enter_request(section),
            "foresee" => self.foresee(section),
            "take" => self.take(section),
            "authorize" => self.authorize(section),
            "restoreLessons" => self.restore_lessons(section),
            "restoreAccounts" if self.share.market().is_none() => {
                self.accounts = request.get("saved").cloned();
                Ok(json!({ "kept": true }))
            }
            "plan" => self.draft(request).work_out(),
            "allocations" => allocations_report(&mut section),
            "reload" => {
                let epoch_ms = Setup::read_epoch(&mut section).map_err(refused)?;
                self.reload(&mut section, epoch_ms.unwrap_or(self.setup.epoch_ms))
            }
            other => self.share_request(other, request),
        }
    }

    /// Serves a request of the share stage's market, such as a bid.
    pub(super) fn share_request(
        &mut self,
        op: &str,
        request: &Value,
    ) -> Result<Value, RequestError> {
        let world = world!(self);
        let market = self.share.market_mut();
        let answer = market.and_then(|market| market.control(op, request, &world, &mut self.stale));
        self.settle();
        match answer {
            Some(answer) => answer.map_err(RequestError),
            None => Err(RequestError(format!(
                "key `op`: {}",
                unknown(op, OPERATIONS)
            ))),
        }
    }

    /// Whether `request` is a change, not a question. The bridge's journal records questions too:
    /// they move the clock, and `queues` computes shares.
    pub fn is_mutating(request: &Value) -> bool {
        !matches!(
            request.get("op").and_then(Value::as_str),
            Some(
                "queues"
                    | "job"
                    | "node"
                    | "explain"
                    | "waits"
                    | "jobs"
                    | "nodes"
                    | "usage"
                    | "activities"
                    | "foresee"
                    | "predict"
                    | "plan"
                    | "allocations"
                    | "audit"
                    | "policies"
                    | "stages"
                    | "accounts"
                    | "price"
                    | "advice"
            )
        )
    }

    /// Sets what a job may spend. What it has spent stays spent. If the request names the job's
    /// `application`, so does what it spent under an earlier engine. The job keeps the authority
    /// whatever the share stage. `until_ms` is a time of the engine's clock.
    fn authorize(&mut self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let id = JobId(numbered(&mut section, "job")?);
        let credits =
            micro(&mut section, "credits_micro")?.ok_or_else(|| missing("credits_micro"))?;
        let rate = micro(&mut section, "rate_micro")?.ok_or_else(|| missing("rate_micro"))?;
        let until_ms = section.whole("until_ms", 0, i64::MAX).map_err(refused)?;
        let until_ms = until_ms.ok_or_else(|| missing("until_ms"))?;
        let spent = micro(&mut section, "spent_micro")?.unwrap_or_default();
        let application = section.text("application").map_err(refused)?;
        let application = application.map(str::parse).transpose();
        let application =
            application.map_err(|why| RequestError(format!("key `application`: {why}")))?;
        section.finish().map_err(refused)?;
        let job = self.cluster.job(id).ok_or_else(|| no_job(id))?;
        let before = self.spending(job).map(|spending| spending.spent);
        let spent = spent.max(before.unwrap_or_default());
        let authority = Authority {
            credits,
            rate,
            until_ms,
            spent,
            application,
        };
        self.set_authority(id, authority);
        let job = self.cluster.job(id).expect("it was found above");
        let spent = self.spending(job).map_or(spent, |now| now.spent);
        let remaining = credits.micro() - spent.micro();
        Ok(json!({ "job": id.0, "remaining_micro": remaining.max(0) }))
    }

    /// Sets what a job may spend, if there is such a job.
    pub(super) fn set_authority(&mut self, id: JobId, authority: Authority) {
        if let Some(job) = self.cluster.job_mut(id) {
            job.authority = Some(authority);
        }
        self.tell(|cluster| cluster.job(id).map(Change::Authorized));
        self.settle();
    }

    /// Restores what earlier engines learnt of jobs, from the books: pairs of key and value, the
    /// latest last. Skips lessons of stages that are not in force; they stay in the books.
    fn restore_lessons(&mut self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let lessons = section.value("lessons").and_then(Value::as_array);
        let problem = "key `lessons`: expected a list of pairs, [key, value]";
        let lessons = lessons.ok_or_else(|| RequestError(problem.to_string()))?;
        section.finish().map_err(refused)?;
        let mut known = 0;
        for lesson in lessons {
            let key = lesson[0].as_str().unwrap_or("");
            let value = &lesson[1];
            let taken = self.share.restore_lesson(key, value)
                || self.order.restore_lesson(key, value)
                || self.place.restore_lesson(key, value);
            known += u32::from(taken);
        }
        Ok(json!({ "learnt": known }))
    }

    /// Returns the spending of a job that has an authority. Without a market it is the amount that
    /// the host has reported.
    pub(super) fn spending(&self, job: &Job) -> Option<Spending> {
        let spent = job.authority?.spent;
        match self.share.market() {
            Some(market) => market.spending(job, self.now),
            None => Some(Spending {
                spent,
                exhausted: None,
            }),
        }
    }

    /// The limits of a job's spending and what is left of them; `null` if nothing limits it.
    fn authority_report(&self, job: &Job) -> Value {
        let spending = self.spending(job);
        let (Some(authority), Some(spending)) = (job.authority, spending) else {
            return Value::Null;
        };
        let remaining = authority.credits.micro() - spending.spent.micro();
        json!({
            "credits_micro": authority.credits.micro(),
            "rate_micro": authority.rate.micro(),
            "until_ms": authority.until_ms,
            "spent_micro": spending.spent.micro(),
            "remaining_micro": remaining.max(0),
            "exhausted": spending.exhausted,
        })
    }

    /// Reports all queues, or a page of them: `{"from": 0, "max": 256}`. The reply's `next` is the
    /// start of the next page, if there is one.
    fn queues_request(&mut self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let most = i64::from(u32::MAX);
        let from = section.whole("from", 0, most).map_err(refused)?;
        let max = section.whole("max", 1, most).map_err(refused)?;
        section.finish().map_err(refused)?;
        let from = from.unwrap_or(0) as u32;
        if from == 0 {
            self.entitle();
        }
        self.cluster.renew_tallies();
        Ok(self.report(from, max.map_or(u32::MAX, |max| max as u32)))
    }

    /// Removes queues that have been empty for `expire_ms`, a batch at a time. The host must not
    /// name them after the reply: their ids may go to others. `made`: whether configured queues
    /// came that had to wait.
    fn expire_request(&mut self, section: Section<'_>) -> Result<Value, RequestError> {
        section.finish().map_err(refused)?;
        let expired = self.expire_queues();
        let made = self.make_late_queues();
        let queues = self.cluster.queues.all();
        let path = |id: &QueueId| &queues[id.index()].config.path;
        let removed: Vec<_> = expired.iter().map(path).collect();
        Ok(json!({ "removed": removed, "made": made }))
    }

    /// Reports every policy, and what hosts must know of those in force.
    fn policies_report(&self) -> Value {
        let mut report = catalogue::report(&self.setup.config);
        let composition = &self.setup.config.composition;
        report["in_force"] = json!({
            "stages": [composition.share, composition.order, composition.place],
            "wants": catalogue::wants(&self.setup.config),
            "by_weight": self.share.layout() == Layout::Queues,
        });
        report
    }

    /// Queues with their configuration, entitlement and usage: `max` ids from `from` on. The
    /// cluster's tallies must be up to date.
    pub(super) fn report(&self, from: u32, max: u32) -> Value {
        let count = self.cluster.queues.all().len();
        let end = from.saturating_add(max);
        let shown = |queue: &&Queue| (from..end).contains(&queue.id.0);
        let mut tallies: BTreeMap<QueueId, Tally> = BTreeMap::new();
        for queue in self.cluster.queues.iter() {
            let own = self.cluster.tallies().of(queue.id);
            if own != Tally::default() {
                for above in self.cluster.queues.path_up(queue.id).filter(shown) {
                    tallies.entry(above.id).or_default().add(&own);
                }
            }
        }
        let steady = division::steady_shares(&self.tree, &self.capacity_of(PartitionId::DEFAULT));
        let row = |queue: &Queue| {
            let tally = tallies.get(&queue.id).copied().unwrap_or_default();
            let mut row = self.report_queue(queue, &tally);
            if let Some(steady) = &steady {
                row["steady_share"] = self.amounts(&steady[self.leaf_of(queue.id).index()]);
            }
            row["running_masters"] = json!(tally.masters[0]);
            row["pending_masters"] = json!(tally.masters[1]);
            row
        };
        let queues = self.cluster.queues.iter();
        let queues: Vec<Value> = queues.filter(shown).map(row).collect();
        let composition = &self.setup.config.composition;
        json!({
            "queues": queues,
            "next": (end as usize).lt(&count).then_some(end),
            "cluster": {
                "capacity": self.amounts(&self.cluster.capacity),
                "used": self.amounts(&self.cluster.used),
                "nodes": self.cluster.node_count,
                "jobs": self.cluster.job_count,
                "held_nodes": self.reservations.len(),
                "held": self.amounts(&self.held_room()),
                "ignored_events": self.ignored,
                "launch_overhead_ms": self.cluster.overhead.ms(),
            },
            "policy": {
                "share": composition.share,
                "order": composition.order,
                "place": composition.place,
            },
            "dominant": self.setup.config.dominant,
        })
    }

    /// One queue with its usage, demand, pending and running containers.
    pub(super) fn report_queue(&self, queue: &Queue, tally: &Tally) -> Value {
        let config = &queue.config;
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        let mut report = json!({
            "id": queue.id.0,
            "path": config.path,
            "parent": queue.parent.map(|parent| parent.0),
            "leaf": queue.is_leaf(),
            "dynamic": queue.dynamic,
            "draining": queue.draining,
            "weight": config.weight,
            "min_share": self.amounts(&queue.min_share),
            "max_share": self.amounts(&queue.max_share.component_min(&capacity)),
            "fair_share": self.amounts(&self.fair_share(queue.id)),
            "active_share": self.amounts(&self.tree.node(self.leaf_of(queue.id)).active_share),
            "used": self.amounts(&tally.used()),
            "demand": self.amounts(&tally.demand()),
            "pending_containers": tally.pending,
            "running_containers": tally.running,
            "jobs": queue.jobs,
            "runnable_jobs": queue.runnable_jobs,
            "max_running_jobs": queue.max_running_jobs(),
            "max_am_share": config.max_am_share,
            "acl_submit": config.acl_submit,
            "acl_admin": config.acl_admin,
        });
        // Left out without a guarantee of slots, as in most queues.
        if config.min_maps > 0 || config.min_reduces > 0 {
            report["min_maps"] = json!(config.min_maps);
            report["min_reduces"] = json!(config.min_reduces);
        }
        self.add_limits(queue, &mut report);
        self.report_labels(queue, &mut report);
        self.report_terms(queue.id, &mut report);
        if let Some(users) = self.report_users(queue.id, PartitionId::DEFAULT) {
            report["users"] = users;
        }
        report
    }

    /// Reports one job; unknown facts are `null`.
    fn job_report(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let id = numbered(&mut section, "job")?;
        let Some(job) = self.cluster.job(JobId(id)) else {
            return Err(no_job(JobId(id)));
        };
        let hints = &job.hints;
        let [executing, tasks] = self.tasks_report(job);
        let launched = job.containers.values();
        let launched = launched.filter(|container| container.launched_ms.is_some());
        let launched = launched.count();
        let mut report = self.job_facts(job);
        report["authority"] = self.authority_report(job);
        report["launched"] = json!(launched);
        report["executing"] = json!(executing);
        report["tasks"] = json!(tasks);
        report["counters"] = json!(job.counters.map(|counters| json!({
            "done": counters.done,
            "input_bytes": counters.input_bytes,
            "map_output_bytes": counters.map_output_bytes,
            "shuffled_bytes": counters.shuffled_bytes,
            "written_bytes": counters.written_bytes,
        })));
        report["hints"] = json!({
            "maps": hints.tasks[0],
            "reduces": hints.tasks[1],
            "input_bytes": hints.input_bytes,
            "shuffle_per_mille": hints.shuffle_per_mille,
            "deadline_ms": hints.deadline_ms,
            "map_ms": hints.task_ms[0],
            "reduce_ms": hints.task_ms[1],
            "signature": hints.signature,
        });
        Ok(report)
    }

    /// The facts of a job that lists show too.
    pub(super) fn job_facts(&self, job: &Job) -> Value {
        let queue = self.cluster.queues.get(job.facts.queue);
        json!({
            "job": job.facts.job.0,
            "queue": queue.map(|queue| &queue.config.path),
            "priority": job.facts.priority,
            "mapreduce": job.facts.mapreduce,
            "submitted_ms": job.facts.submitted_ms,
            "runnable": job.runnable,
            "running": job.running,
            "masters": job.running_masters(),
            "done": job.done,
            "used": self.amounts(&job.used),
        })
    }

    /// Reports one node; unknown facts are `null`.
    fn node_report(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let id = numbered(&mut section, "node")?;
        let Some(node) = self.cluster.node(NodeId(id)) else {
            return Err(RequestError(format!("key `node`: no node has number {id}")));
        };
        Ok(json!({
            "node": id,
            "schedulable": node.facts.schedulable,
            "capacity": self.amounts(&node.facts.capacity),
            "free": self.amounts(&node.free_of_all()),
            "used": self.amounts(&node.used),
            "containers": node.containers,
            "foreign_per_mille": node.foreign_per_mille,
        }))
    }

    /// The entitlement of a queue; that of the root if all queues share one node of the tree.
    pub(super) fn fair_share(&self, queue: QueueId) -> Resource {
        self.tree.node(self.leaf_of(queue)).fair_share
    }

    pub(super) fn amounts(&self, resource: &Resource) -> Value {
        let names = self.setup.resource_types.iter().enumerate();
        Value::Object(
            names
                .map(|(i, name)| (name.clone(), json!(resource[i])))
                .collect::<Map<_, _>>(),
        )
    }

    /// Reports what the host compares with its own books: per job its containers, usage and pending
    /// asks; per node its containers and usage. Covers all of them, or the ranges of numbers in
    /// `jobs` and `nodes`: `[first, end]`, without `end` itself. `asks` is a range of each job's.
    fn audit(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let jobs = slice(&mut section, "jobs")?;
        let numbers = slice(&mut section, "asks")?;
        let nodes = slice(&mut section, "nodes")?;
        section.finish().map_err(refused)?;
        let jobs = jobs.start..jobs.end.min(self.cluster.jobs_end());
        let jobs: Vec<Value> = jobs
            .filter_map(|id| self.cluster.job(JobId(id)))
            .map(|job| {
                let asks: Vec<Value> = job
                    .pending()
                    .map(|ask| &ask.facts)
                    .filter(|facts| numbers.contains(&facts.ask.0))
                    .map(|facts| {
                        let count = self.audited_count(facts.priority, facts.count);
                        json!([facts.ask.0, count])
                    })
                    .collect();
                json!([job.facts.job.0, job.running_containers(), job.used.0, asks])
            })
            .collect();
        let nodes: Vec<Value> = self
            .cluster
            .nodes()
            .filter(|node| nodes.contains(&node.facts.node.0))
            .map(|node| json!([node.facts.node.0, node.containers, node.used.0]))
            .collect();
        Ok(json!({ "jobs": jobs, "nodes": nodes }))
    }
}

/// The number of a node or job that a request names.
pub(super) fn numbered(section: &mut Section<'_>, key: &'static str) -> Result<u32, RequestError> {
    let number = section
        .whole(key, 0, i64::from(u32::MAX))
        .map_err(refused)?
        .ok_or_else(|| RequestError(format!("key `{key}`: expected the {key}'s number")))?;
    Ok(u32::try_from(number).expect("it is in the range that was asked for"))
}

/// The range of numbers that a request names, without its end; all numbers if it names none.
fn slice(section: &mut Section<'_>, key: &'static str) -> Result<Range<u32>, RequestError> {
    let Some(value) = section.value(key) else {
        return Ok(0..u32::MAX);
    };
    let number = |at: usize| value[at].as_u64().and_then(|n| u32::try_from(n).ok());
    match (number(0), number(1)) {
        (Some(first), Some(end)) => Ok(first..end),
        _ => Err(RequestError(format!(
            "key `{key}`: expected two numbers, [first, end], found {value}"
        ))),
    }
}

pub(super) fn no_job(id: JobId) -> RequestError {
    RequestError(format!("key `job`: no job has number {}", id.0))
}

fn missing(key: &str) -> RequestError {
    RequestError(format!(
        "key `{key}`: expected a whole number, found nothing"
    ))
}

/// An amount of credits in millionths.
fn micro(section: &mut Section<'_>, key: &'static str) -> Result<Option<Credits>, RequestError> {
    let micro = section
        .whole(key, 0, Credits::MAX.micro())
        .map_err(refused)?;
    Ok(micro.map(Credits::from_micro))
}

pub(super) fn refused(error: impl fmt::Display) -> RequestError {
    RequestError(error.to_string())
}

/// Checks the text of an allocations file before it is used. Reports its pools, the users whose
/// numbers the host must send with it, and warnings about what was left out.
fn allocations_report(section: &mut Section<'_>) -> Result<Value, RequestError> {
    let text = section.text("text").map_err(refused)?.unwrap_or("");
    let allocations = Allocations::parse(text).map_err(refused)?;
    Ok(json!({
        "pools": allocations.pools.len(),
        "users": allocations.users.iter().map(|user| &user.name).collect::<Vec<_>>(),
        "warnings": allocations.warnings.iter().map(|w| w.to_string()).collect::<Vec<_>>(),
    }))
}
