//! Settings that a queue has of its own or from the queue above, whether the file names it or a
//! template describes it.

use super::access::{self, Lifetime};
use super::labels::{self, Labels};
use super::limits::{self, Largest};
use super::order;
use super::sizes::Sizes;
use super::source::Source;
use crate::Fault;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The values that a queue hands down.
pub(super) struct Inherited<'a> {
    runs: bool,
    by_priority: bool,
    preempts: bool,
    preempts_inside: bool,
    pub(super) lifetime: Lifetime,
    largest: Largest,
    pub(super) weights: BTreeMap<String, f32>,
    labels: Labels<'a>,
}

impl<'a> Inherited<'a> {
    /// What there is above root.
    pub(super) fn of_cluster(largest: Largest) -> Inherited<'a> {
        Inherited {
            runs: true,
            by_priority: false,
            preempts: true,
            preempts_inside: true,
            lifetime: Lifetime::NONE,
            largest,
            weights: BTreeMap::new(),
            labels: None,
        }
    }

    /// Reads and writes what a queue below this one has: what parents and leaves have in common.
    pub(super) fn below(
        &self,
        source: &mut Source<'a>,
        queue: usize,
        leaf: bool,
        (sizes, cluster): (&Sizes<'a>, &Largest),
        sheet: &mut Map<String, Value>,
    ) -> Result<Inherited<'a>, Fault> {
        let disabled = source.of(queue, "disable_preemption");
        let inside = source.of(queue, "intra-queue-preemption.disable_preemption");
        let mut own = Inherited {
            runs: access::write_state(source, queue, self.runs, sheet)?,
            by_priority: self.by_priority,
            preempts: !source.switch(disabled, !self.preempts),
            preempts_inside: !source.switch(inside, !self.preempts_inside),
            lifetime: self.lifetime.below(source, queue)?,
            largest: limits::largest(source, queue, &self.largest, cluster)?,
            weights: limits::user_weights(source, queue, &self.weights, sheet)?,
            labels: labels::write(source, queue, leaf, &self.labels, sizes, sheet)?,
        };
        access::write_rights(source, queue, sheet);
        access::write_priority(source, queue, self.by_priority, sheet)?;
        labels::write_default(source, queue, &own.labels, leaf, sheet)?;
        limits::write_queue(source, queue, sheet)?;
        // Root's is written for reloads, which may not lower it.
        if own.largest != self.largest || queue == 0 && !own.largest.is_empty() {
            sheet.insert("max_container".to_owned(), limits::written(&own.largest));
        }
        // In stock a queue may allow it below one that forbids it: so each leaf says it.
        if !own.preempts && leaf {
            sheet.insert("preempt_from".to_owned(), json!(false));
        }
        if !own.preempts_inside && leaf {
            sheet.insert("preempt_inside".to_owned(), json!(false));
        }
        if !leaf {
            own.by_priority = order::by_priority(source, queue, self.by_priority)?;
            sheet.insert("compare".to_owned(), json!("capacity"));
        }
        note_rest(source, queue);
        Ok(own)
    }
}

/// Notes properties of queues that Heddle does not follow.
fn note_rest(source: &mut Source<'_>, queue: usize) {
    if let Some(setting) = source.of(queue, "reservable")
        && source.switch(Some(setting), false)
    {
        source.refuse(
            setting,
            "not supported: the reservation system; instead give the queue a guarantee",
        );
    }
    if let Some(setting) = source.of(queue, "multi-node-sorting.policy") {
        source.approximate(
            setting,
            "nodes are taken as they report, in no order of their own",
        );
    }
}
