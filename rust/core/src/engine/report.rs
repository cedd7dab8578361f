//! Parts of reports: of a queue, the limits and shares that pages of the stock schedulers show; of
//! a job, its tasks.

use super::Engine;
use crate::catalogue;
use crate::config::Compare;
use crate::model::job::Job;
use crate::model::queue::Queue;
use crate::words::resource::Resource;
use serde_json::{Value, json};

/// The most tasks of each list in a job's report: a job may have thousands.
const TASKS_SHOWN: usize = 100;

impl Engine {
    /// Adds limits of a queue to its report. Leaves out what does not apply to it.
    pub(super) fn add_limits(&self, queue: &Queue, report: &mut Value) {
        let queues = &self.cluster.queues;
        let at = self.leaf_of(queue.id);
        let node = self.tree.node(at);
        let below = node.children.first();
        let below = below.map_or(queue.config.compare, |id| self.tree.node(*id).compared_by);
        let limit = self.tree.am_limit(at);
        report["am_used"] = self.amounts(&node.am_used);
        report["am_limit"] = limit.map_or(Value::Null, |limit| self.limited(&limit));
        report["compare"] = json!(below.map(Compare::name));
        let preemptable = queues.path_up(queue.id).all(|at| at.config.preempt_from);
        report["preemptable"] = json!(preemptable);
        if node.compared_by == Some(Compare::Capacity) {
            report["guaranteed"] = self.amounts(&node.guaranteed);
            report["priority"] = json!(node.priority);
        }
        report["max_limit"] = self.limited(&queue.max_share);
        // The Fair Scheduler's shares do not follow demand.
        if node.is_stock_fair() || matches!(below, Some(Compare::Memory | Compare::Dominant)) {
            report["share_now"] = self.amounts(&node.active_share);
        }
        report["scheduling_policy"] = json!(self.policy_name(queue, below));
        self.add_capacities(queue, report);
        if let Some(largest) = queues.max_container(queue.id) {
            report["max_container"] = self.limited(&largest);
        }
    }

    /// The name of a queue's policy: that of YARN's Fair Scheduler where queues compare as there,
    /// else that of the stage.
    fn policy_name(&self, queue: &Queue, below: Option<Compare>) -> &str {
        let composition = &self.setup.config.composition;
        let own = match queue.is_leaf() {
            true => {
                catalogue::leaves_order(composition).then(|| queue.config.leaf_order.by.yarns())
            }
            false => below.and_then(Compare::yarns),
        };
        own.unwrap_or(match queue.is_leaf() {
            true => &composition.order,
            false => &composition.share,
        })
    }

    /// The types that a limit names.
    pub(super) fn limited(&self, limit: &Resource) -> Value {
        let mut named = self.amounts(limit);
        let unbounded = json!(i64::MAX);
        if let Some(types) = named.as_object_mut() {
            types.retain(|_, amount| *amount != unbounded);
        }
        named
    }

    /// The tasks of a job whose progress is known: key, progress, whether it commits; and before
    /// them the reduces whose function runs: key, progress, since when.
    pub(super) fn tasks_report(&self, job: &Job) -> [Vec<Value>; 2] {
        let tasks = job.containers.iter();
        let executing = tasks.clone().filter_map(|(key, container)| {
            let since_ms = container.task.executing_since_ms?;
            Some(json!([key, container.task.progress_per_mille, since_ms]))
        });
        let told = tasks.filter_map(|(key, container)| {
            let (progress, commits) = (
                container.task.progress_per_mille,
                container.commits(self.now),
            );
            (progress > 0 || commits).then(|| json!([key, progress, commits]))
        });
        [
            executing.take(TASKS_SHOWN).collect(),
            told.take(TASKS_SHOWN).collect(),
        ]
    }
}
