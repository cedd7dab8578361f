//! Which asks may have room on a node that containers leave, in which order, and where a round
//! that looked for it was cut short.

use super::Engine;
use crate::backlog::Entry;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job, Standing};
use crate::words::ids::{AskId, JobId, PartitionId};
use crate::words::keys::{POOLS, ShareNodeId};

/// Where a round of preemption was cut short: at a need, or inside a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutAt {
    pub(super) leaf: ShareNodeId,
    pub(super) partition: PartitionId,
    /// The ask to go on with.
    pub(super) ask: (JobId, AskId),
    /// Inside a leaf: the memory that the round may still take there.
    pub(super) inside_mb: Option<i64>,
}

/// The pending asks of jobs, all or on the nodes of a label, in order of service.
pub(super) fn asks_in_order<'a>(
    jobs: impl Iterator<Item = &'a Job>,
    partition: Option<PartitionId>,
) -> Vec<(&'a Job, &'a Ask)> {
    let asks = jobs.flat_map(|job| job.pending().map(move |ask| (job, ask)));
    let due = |(_, ask): &(&Job, &Ask)| {
        ask.standing != Standing::Out && partition.is_none_or(|label| ask.facts.partition == label)
    };
    let mut asks: Vec<_> = asks.filter(due).collect();
    asks.sort_by_cached_key(|(job, ask)| Entry::new(job, ask));
    asks
}

impl Engine {
    /// The pending asks of a leaf on the nodes of a label, in order of service.
    pub(super) fn asks_of(&self, leaf: ShareNodeId, partition: PartitionId) -> Vec<(&Job, &Ask)> {
        asks_in_order(
            self.cluster.jobs().filter(|job| job.leaf == leaf),
            Some(partition),
        )
    }

    /// Whether an ask may run on a node with room, now or once it has waited for nearer places.
    pub(super) fn may_come_to_run(&self, job: &Job, ask: &Ask, node: &Node) -> bool {
        let facts = &node.facts;
        let held = self.reservations.get(&facts.node);
        facts.schedulable
            && facts.partition == ask.facts.partition
            && ask.facts.resource.fits_in(&node.whole)
            && ask.accepts(facts.host, facts.rack)
            && !job.blacklists(facts.host, facts.rack)
            && held.is_none_or(|held| held.size.resource == ask.facts.resource)
            && job
                .refused
                .get(&facts.node)
                .is_none_or(|until| *until <= self.now)
    }

    /// Free slots of a node by pool; negative if more containers run than may.
    pub(super) fn slots_left(&self, node: &Node) -> [i64; POOLS] {
        let per_node = self.setup.config.slots_per_node;
        std::array::from_fn(|pool| {
            let configured = per_node.map_or(u32::MAX, |slots| slots[pool]);
            let allowed = self.order.slots(node, pool).unwrap_or(u32::MAX);
            i64::from(configured.min(allowed)) - i64::from(node.running[pool])
        })
    }
}
