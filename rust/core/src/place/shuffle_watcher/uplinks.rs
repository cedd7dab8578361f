//! The books behind the model of the links between racks: what jobs move, by their counters; maps
//! that read from other racks; and what NodeManagers measured. Judges nothing: that is NetSat's.

use super::model::{self, Flow, Read};
use super::traffic::PerRack;
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Container, Job};
use crate::words::event::JobCounters;
use crate::words::ids::{JobId, Millis, NodeId, PlaceId};
use crate::words::kind::Kind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How often the model is worked out.
const PERIOD_MS: Millis = 1_000;

/// What was counted holds for so many times the time between the last two counts: a job whose
/// counters are no longer told must not load links for ever.
const HOLDS: Millis = 2;

/// And for no longer than this.
const HOLDS_MAX_MS: Millis = 120_000;

/// More remote reads at once are not followed; the links are full with fewer.
const READS_MAX: usize = 4_096;

/// What one job moves, by the difference of its last two counts.
#[derive(Clone, Copy, Debug)]
struct Moves {
    counted_ms: Millis,
    counters: JobCounters,
    /// Bytes per second.
    shuffle: f64,
    write: f64,
    until_ms: Millis,
}

/// What a node's NodeManager sends.
#[derive(Clone, Copy, Debug)]
struct Sender {
    counted_ms: Millis,
    sent_bytes: u64,
    rate: Option<f64>,
    until_ms: Millis,
}

/// The books. Without a bandwidth nothing is worked out.
#[derive(Debug, Default)]
pub(super) struct Uplinks {
    bandwidth: Option<f64>,
    jobs: BTreeMap<JobId, Moves>,
    nodes: BTreeMap<NodeId, Sender>,
    /// Maps that read from other racks, each until its time is over.
    reads: Vec<(Millis, Read)>,
    /// Sum and number of the lengths of maps.
    maps: (f64, f64),
    /// When a host measured a link itself.
    measured_ms: BTreeMap<PlaceId, Millis>,
    next_ms: Millis,
    /// The last answer, for reports: out of the rack and into it.
    rates: BTreeMap<PlaceId, (f64, f64)>,
}

/// How fast something grew between two counts, and until when that holds.
fn growth(before: (Millis, u64), now: (Millis, u64)) -> Option<(f64, Millis)> {
    let span_ms = now.0 - before.0;
    let holds_ms = span_ms.saturating_mul(HOLDS).min(HOLDS_MAX_MS);
    // Less than before: whoever counts was started anew.
    let grown = now.1.checked_sub(before.1)?;
    (span_ms > 0).then(|| (grown as f64 * 1_000.0 / span_ms as f64, now.0 + holds_ms))
}

impl Uplinks {
    pub(super) fn new(bandwidth: Option<f64>) -> Uplinks {
        Uplinks {
            bandwidth,
            ..Uplinks::default()
        }
    }

    /// A job's counters were told.
    pub(super) fn counted(&mut self, now: Millis, job: JobId, counters: JobCounters) {
        let before = self.jobs.get(&job).copied();
        let grew = |what: fn(&JobCounters) -> u64| {
            let before = before.as_ref()?;
            let earlier = (before.counted_ms, what(&before.counters));
            growth(earlier, (now, what(&counters)))
        };
        let shuffle = grew(|counters| counters.shuffled_bytes);
        let write = grew(|counters| counters.written_bytes);
        let moves = Moves {
            counted_ms: now,
            counters,
            shuffle: shuffle.map_or(0.0, |(rate, _)| rate),
            write: write.map_or(0.0, |(rate, _)| rate),
            until_ms: shuffle.or(write).map_or(now, |(_, until_ms)| until_ms),
        };
        if before.is_none_or(|before| before.counted_ms < now) {
            self.jobs.insert(job, moves);
        }
    }

    pub(super) fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// A node told how much map output it has sent.
    pub(super) fn sent(&mut self, now: Millis, node: &Node, sent_bytes: u64) {
        let before = self.nodes.get(&node.facts.node);
        // Without a bandwidth nothing is worked out, and no node that has gone is ever dropped.
        if self.bandwidth.is_none() || before.is_some_and(|before| before.counted_ms >= now) {
            return;
        }
        let earlier = before.map(|before| (before.counted_ms, before.sent_bytes));
        let grown = earlier.and_then(|earlier| growth(earlier, (now, sent_bytes)));
        self.nodes.insert(
            node.facts.node,
            Sender {
                counted_ms: now,
                sent_bytes,
                rate: grown.map(|(rate, _)| rate),
                until_ms: grown.map_or(now, |(_, until_ms)| until_ms),
            },
        );
    }

    /// A host measures this link.
    pub(super) fn measured(&mut self, now: Millis, rack: PlaceId) {
        self.measured_ms.insert(rack, now);
    }

    /// A map that found none of its input on its rack: it reads one map's input during the time
    /// of a map.
    pub(super) fn read(&mut self, now: Millis, job: &Job, read: Read) {
        let claimed = job.hints.task_ms[Kind::Map as usize].map(|ms| ms as f64);
        let (sum, count) = self.maps;
        let seen = (count > 0.0).then(|| sum / count);
        let Some(length_ms) = seen.or(claimed).filter(|ms| *ms >= 1.0) else {
            return;
        };
        if self.bandwidth.is_some() && self.reads.len() < READS_MAX && !read.sources.is_empty() {
            let rate = read.rate * 1_000.0 / length_ms;
            let until_ms = now.saturating_add(length_ms as Millis);
            self.reads.push((until_ms, Read { rate, ..read }));
        }
    }

    /// A map ended well.
    pub(super) fn map_ended(&mut self, container: &Container, now: Millis) {
        // Of late more than of long ago.
        if self.maps.1 >= 1_000.0 {
            self.maps = (self.maps.0 / 2.0, self.maps.1 / 2.0);
        }
        self.maps = (
            self.maps.0 + container.task_ms(now) as f64,
            self.maps.1 + 1.0,
        );
    }

    /// Time passed: what each link that nobody measures carries now, if it is time to say so. With
    /// where each job's map output lies, its reduces run and its maps run, by rack.
    pub(super) fn tick(
        &mut self,
        now: Millis,
        cluster: &Cluster,
        patience_ms: Millis,
        placed: impl Fn(JobId) -> Option<(PerRack, PerRack)>,
    ) -> Vec<(PlaceId, f64, f64)> {
        let Some(bandwidth) = self.bandwidth.filter(|_| now >= self.next_ms) else {
            return Vec::new();
        };
        self.next_ms = now + PERIOD_MS;
        self.reads.retain(|(until_ms, _)| now < *until_ms);
        self.nodes.retain(|node, _| cluster.node(*node).is_some());
        self.measured_ms.retain(|_, at| now - *at <= patience_ms);
        let racks: BTreeSet<PlaceId> = cluster.nodes().map(|node| node.facts.rack).collect();
        let racks: Vec<PlaceId> = racks.into_iter().collect();
        let flows = self.flows(now, cluster, placed);
        let reads: Vec<Read> = self.reads.iter().map(|(_, read)| read.clone()).collect();
        let modelled = model::sent(&flows);
        let corrections = model::corrections(&modelled, &self.sent_by_rack(now, cluster));
        let account = model::rates(&racks, &flows, &reads, &corrections);
        let of = |rates: &PerRack, rack: &PlaceId| rates.get(rack).copied().unwrap_or(0.0);
        let rate = |rack: &PlaceId| (*rack, (of(&account.up, rack), of(&account.down, rack)));
        self.rates = racks.iter().map(rate).collect();
        let unmeasured = self
            .rates
            .iter()
            .filter(|(rack, _)| !self.measured_ms.contains_key(rack));
        unmeasured
            .map(|(rack, (up, down))| (*rack, up.max(*down), bandwidth))
            .collect()
    }

    fn flows(
        &self,
        now: Millis,
        cluster: &Cluster,
        placed: impl Fn(JobId) -> Option<(PerRack, PerRack)>,
    ) -> Vec<Flow> {
        let live = self.jobs.iter().filter(|(_, moves)| now <= moves.until_ms);
        let flow = |(id, moves): (&JobId, &Moves)| {
            let (output, reduces) = placed(*id)?;
            let job = cluster.job(*id)?;
            Some(Flow {
                shuffle: moves.shuffle,
                write: moves.write,
                output,
                // Maps write the output of a job without reduces.
                writers: if reduces.is_empty() {
                    maps_by_rack(cluster, job)
                } else {
                    reduces.clone()
                },
                reduces,
            })
        };
        live.filter_map(flow).collect()
    }

    /// What racks send of map output by their nodes' word, where all nodes tell.
    fn sent_by_rack(&self, now: Millis, cluster: &Cluster) -> PerRack {
        let mut sent = PerRack::new();
        let mut silent = BTreeSet::new();
        for node in cluster.nodes().filter(|node| node.facts.schedulable) {
            let sender = self.nodes.get(&node.facts.node);
            let rate = sender.filter(|sender| now <= sender.until_ms);
            match rate.and_then(|sender| sender.rate) {
                Some(rate) => *sent.entry(node.facts.rack).or_default() += rate,
                None => {
                    silent.insert(node.facts.rack);
                }
            }
        }
        sent.retain(|rack, _| !silent.contains(rack));
        sent
    }

    /// What is modelled, for reports: bytes per second out of each rack and into it.
    pub(super) fn report(&self) -> Value {
        let row = |(rack, (up, down)): (&PlaceId, &(f64, f64))| json!([rack, up, down]);
        self.rates.iter().map(row).collect()
    }

    /// Bytes of map output that each node's NodeManager says it has sent, for reports: none that
    /// cannot be asked.
    pub(super) fn sent_bytes(&self) -> Value {
        let row = |(node, sender): (&NodeId, &Sender)| json!([node, sender.sent_bytes]);
        self.nodes.iter().map(row).collect()
    }
}

/// Where a job's maps run.
fn maps_by_rack(cluster: &Cluster, job: &Job) -> PerRack {
    let mut maps = PerRack::new();
    for container in job.containers.values() {
        let node = cluster.node(container.node);
        if let Some(node) = node.filter(|_| job.kind(container.priority) == Kind::Map) {
            *maps.entry(node.facts.rack).or_default() += 1.0;
        }
    }
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_per_second_and_holds_for_twice_the_time() {
        assert_eq!(growth((1_000, 500), (3_000, 2_500)), Some((1_000.0, 7_000)));
        assert_eq!(growth((1_000, 500), (1_000, 600)), None);
        assert_eq!(growth((1_000, 500), (2_000, 400)), None, "started anew");
        let slow = growth((0, 0), (1_000_000, 1_000));
        assert_eq!(slow, Some((1.0, 1_120_000)), "not for ever");
    }
}
