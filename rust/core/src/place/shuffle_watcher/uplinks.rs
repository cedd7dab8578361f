//! State behind the model of the links between racks: the jobs' traffic by their counters, maps
//! that read from other racks, and the NodeManagers' measurements. NetSat judges the rates.

use super::capacity::Capacity;
use super::model::{self, Flow, Read};
use super::silence::Silence;
use super::traffic::PerRack;
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Container, Job};
use crate::words::event::JobCounters;
use crate::words::ids::{JobId, Millis, NodeId, PlaceId};
use crate::words::kind::Kind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Time between two runs of the model.
const PERIOD_MS: Millis = 1_000;

/// How long counts hold, as a multiple of the time between the last two. A job whose counters are
/// no longer reported must not load links for ever.
const HOLDS: Millis = 2;

/// Maximum time for which counts hold.
const HOLDS_MAX_MS: Millis = 120_000;

/// Maximum number of remote reads that are followed at once; fewer already fill the links.
const READS_MAX: usize = 4_096;

/// Traffic of one job, by the difference of its last two counts.
#[derive(Clone, Copy, Debug)]
struct Moves {
    counted_ms: Millis,
    counters: JobCounters,
    /// Bytes per second.
    shuffle: f64,
    write: f64,
    until_ms: Millis,
}

/// Map output that a node's NodeManager sends.
#[derive(Clone, Copy, Debug)]
struct Sender {
    counted_ms: Millis,
    sent_bytes: u64,
    rate: Option<f64>,
    until_ms: Millis,
}

/// State of all links.
#[derive(Debug, Default)]
pub(super) struct Uplinks {
    capacity: Capacity,
    jobs: BTreeMap<JobId, Moves>,
    nodes: BTreeMap<NodeId, Sender>,
    /// Maps that read from other racks, each with the expected end of its read.
    reads: Vec<(Millis, Read)>,
    /// Sum and number of the lengths of maps.
    maps: (f64, f64),
    /// Time of a host's last own measurement of a link.
    measured_ms: BTreeMap<PlaceId, Millis>,
    next_ms: Millis,
    silence: Silence,
    /// Last rates for reports: out of the rack and into it.
    rates: BTreeMap<PlaceId, (f64, f64)>,
}

/// Returns the rate of growth between two counts, and until when it holds.
fn growth(before: (Millis, u64), now: (Millis, u64)) -> Option<(f64, Millis)> {
    let span_ms = now.0 - before.0;
    let holds_ms = span_ms.saturating_mul(HOLDS).min(HOLDS_MAX_MS);
    // A lower count: the counting process was restarted.
    let grown = now.1.checked_sub(before.1)?;
    (span_ms > 0).then(|| (grown as f64 * 1_000.0 / span_ms as f64, now.0 + holds_ms))
}

impl Uplinks {
    pub(super) fn new(capacity: Capacity) -> Uplinks {
        Uplinks {
            capacity,
            ..Uplinks::default()
        }
    }

    /// Records a job's counters.
    pub(super) fn counted(&mut self, now: Millis, job: JobId, counters: JobCounters) {
        self.silence.counted = true;
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

    /// Records how much map output a node has sent.
    pub(super) fn sent(&mut self, now: Millis, node: &Node, sent_bytes: u64) {
        let before = self.nodes.get(&node.facts.node);
        if before.is_some_and(|before| before.counted_ms >= now) {
            return;
        }
        self.silence.measured = true;
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

    /// Records that a host measures this link.
    pub(super) fn measured(&mut self, now: Millis, rack: PlaceId) {
        self.silence.measured = true;
        self.measured_ms.insert(rack, now);
    }

    /// Records a map without any of its input on its rack: it reads one map's input during the
    /// length of a map.
    pub(super) fn read(&mut self, now: Millis, job: &Job, read: Read) {
        let claimed = job.hints.task_ms[Kind::Map as usize].map(|ms| ms as f64);
        let (sum, count) = self.maps;
        let seen = (count > 0.0).then(|| sum / count);
        let Some(length_ms) = seen.or(claimed).filter(|ms| *ms >= 1.0) else {
            return;
        };
        if self.reads.len() < READS_MAX && !read.sources.is_empty() {
            let rate = read.rate * 1_000.0 / length_ms;
            let until_ms = now.saturating_add(length_ms as Millis);
            self.reads.push((until_ms, Read { rate, ..read }));
        }
    }

    /// Records the length of a map that succeeded.
    pub(super) fn map_ended(&mut self, container: &Container, now: Millis) {
        // Halving both makes recent maps count more.
        if self.maps.1 >= 1_000.0 {
            self.maps = (self.maps.0 / 2.0, self.maps.1 / 2.0);
        }
        self.maps = (
            self.maps.0 + container.task_ms(now) as f64,
            self.maps.1 + 1.0,
        );
    }

    /// Models the rates once per `PERIOD_MS`, and returns those of links without measurements, each
    /// with its capacity; none while that is unknown. `placed` gives a job's map output and running
    /// reduces by rack, `receivers` the tasks that may fetch for a job without counters.
    pub(super) fn tick(
        &mut self,
        now: Millis,
        cluster: &Cluster,
        patience_ms: Millis,
        placed: impl Fn(JobId) -> Option<(PerRack, PerRack)>,
        receivers: impl Fn(&[PlaceId]) -> PerRack,
    ) -> Vec<(PlaceId, f64, f64)> {
        if now < self.next_ms {
            return Vec::new();
        }
        self.next_ms = now + PERIOD_MS;
        self.reads.retain(|(until_ms, _)| now < *until_ms);
        self.nodes.retain(|node, _| cluster.node(*node).is_some());
        self.measured_ms.retain(|_, at| now - *at <= patience_ms);
        let racks: BTreeSet<PlaceId> = cluster.nodes().map(|node| node.facts.rack).collect();
        let racks: Vec<PlaceId> = racks.into_iter().collect();
        if !self.is_useful(&racks) {
            self.rates.clear();
            return Vec::new();
        }
        let mut flows = self.flows(now, cluster, placed);
        let reads: Vec<Read> = self.reads.iter().map(|(_, read)| read.clone()).collect();
        let modelled = model::sent(&flows);
        let sent = self.sent_by_rack(now, cluster);
        let corrections = model::corrections(&modelled, &sent);
        let unexplained = model::unexplained(&modelled, &sent);
        if !unexplained.is_empty() {
            flows.push(model::foreign(unexplained, receivers(&racks)));
        }
        let account = model::rates(&racks, &flows, &reads, &corrections);
        self.capacity
            .carried(now, &model::witnessed(&account, &sent, racks.len()));
        let of = |rates: &PerRack, rack: &PlaceId| rates.get(rack).copied().unwrap_or(0.0);
        let rate = |rack: &PlaceId| (*rack, (of(&account.up, rack), of(&account.down, rack)));
        self.rates = racks.iter().map(rate).collect();
        let Some(bandwidth) = self.capacity.bytes_per_s() else {
            return Vec::new();
        };
        let unmeasured = self
            .rates
            .iter()
            .filter(|(rack, _)| !self.measured_ms.contains_key(rack));
        unmeasured
            .map(|(rack, (up, down))| (*rack, up.max(*down), bandwidth))
            .collect()
    }

    /// Tells whether the model can fill a link, or teach how much one carries.
    fn is_useful(&self, racks: &[PlaceId]) -> bool {
        let measured = |rack: &PlaceId| self.measured_ms.contains_key(rack);
        let judged = self.capacity.bytes_per_s().is_some() || !self.nodes.is_empty();
        judged && !racks.iter().all(measured)
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

    /// Returns the map output that racks send by their nodes' reports, for racks where all nodes
    /// report.
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

    /// Returns the modelled rates for reports: bytes per second out of each rack and into it.
    pub(super) fn report(&self) -> Value {
        let row = |(rack, (up, down)): (&PlaceId, &(f64, f64))| json!([rack, up, down]);
        self.rates.iter().map(row).collect()
    }

    /// Returns the capacity of each link; null while it is unknown.
    pub(super) fn capacity(&self) -> Value {
        json!(self.capacity.bytes_per_s())
    }

    /// Returns the state that outlives a reload.
    pub(super) fn save(&self) -> Value {
        json!(self.capacity.highest())
    }

    pub(super) fn load(&mut self, saved: &Value) {
        self.capacity.restore(saved.as_f64());
    }

    /// Warns once if nothing tells traffic. Nodes are heard as soon as they run; counters need a
    /// reduce: `shuffling` tells whether any runs.
    pub(super) fn warn_of_silence(
        &mut self,
        now: Millis,
        cluster: &Cluster,
        shuffling: impl Fn() -> bool,
    ) {
        let configured = self.capacity.is_configured();
        let expected = || match configured {
            true => shuffling(),
            false => cluster.nodes().next().is_some(),
        };
        self.silence.look(now, configured, expected);
    }

    /// Returns the bytes of map output that each NodeManager has sent, for reports; nodes without a
    /// report are absent.
    pub(super) fn sent_bytes(&self) -> Value {
        let row = |(node, sender): (&NodeId, &Sender)| json!([node, sender.sent_bytes]);
        self.nodes.iter().map(row).collect()
    }
}

/// Returns where a job's maps run.
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
