//! The racks' uplinks, shared max-min fairly by the flows that cross them. Within a rack a flow has
//! the rate that its ends can bear. Switches, latencies and losses are not modelled.
//!
//! Flows between one pair of racks with the same highest rate form a bundle. They always have the
//! same rate, so the bundle keeps one count of the bytes served to each. A flow ends when that
//! count reaches its target. Work per change is linear in bundles, not in flows.

mod max_min;

pub use max_min::{Demand, max_min};

use heddle_core::words::ids::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// The purpose of a flow, for traffic accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A map reads its block from another rack.
    MapRead = 0,
    /// A reduce fetches map output.
    Shuffle = 1,
    /// The second replica of a task's output.
    Write = 2,
}

/// Number of causes.
pub const CAUSES: usize = 3;

/// Bytes in transit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow<T> {
    /// Rack of origin.
    pub from: usize,
    /// Rack of destination; may be the same.
    pub to: usize,
    /// Bytes to move.
    pub bytes: f64,
    /// The highest rate, in bytes per ms.
    pub cap: f64,
    /// Its purpose.
    pub cause: Cause,
    /// Its owner.
    pub owner: T,
}

/// A running flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(usize);

/// From, to, and the bits of the highest rate.
type Key = (usize, usize, u64);

#[derive(Debug)]
struct Bundle {
    key: Key,
    rate: f64,
    /// Bytes served to each flow since the bundle began.
    served: f64,
    /// The flows by the count at which they end. Counts are not negative, so their bits order them.
    ends: BTreeSet<(u64, FlowId)>,
}

impl Bundle {
    fn crosses(&self) -> bool {
        self.key.0 != self.key.1
    }

    fn cap(&self) -> f64 {
        f64::from_bits(self.key.2)
    }
}

/// A flow ends when fewer bytes than this are left, which absorbs rounding errors.
const BYTES_MIN: f64 = 0.5;

/// The network.
#[derive(Debug)]
pub struct Network<T> {
    /// Bytes per ms of a rack's link, in each direction.
    bandwidth: f64,
    bundles: Vec<Bundle>,
    index: BTreeMap<Key, usize>,
    flows: Vec<Option<(Flow<T>, f64)>>,
    holes: Vec<usize>,
    now: Millis,
    /// Whether rates must be recomputed.
    stale: bool,
    /// Bytes that left each rack, and that entered it, so far.
    carried: [Vec<f64>; 2],
    demands: Vec<Demand>,
    rates: Vec<f64>,
}

impl<T: Copy> Network<T> {
    /// Creates a network of `racks` racks whose links carry `bandwidth` bytes per ms each way.
    pub fn new(racks: usize, bandwidth: f64) -> Network<T> {
        Network {
            bandwidth,
            bundles: Vec::new(),
            index: BTreeMap::new(),
            flows: Vec::new(),
            holes: Vec::new(),
            now: 0,
            stale: false,
            carried: [vec![0.0; racks], vec![0.0; racks]],
            demands: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Returns the bytes that left (0) and entered (1) each rack so far.
    pub fn carried(&self) -> &[Vec<f64>; 2] {
        &self.carried
    }

    /// Starts a flow. The caller must have advanced the network to the present.
    pub fn start(&mut self, flow: Flow<T>) -> FlowId {
        let key = (flow.from, flow.to, flow.cap.to_bits());
        let at = *self.index.entry(key).or_insert_with(|| {
            self.bundles.push(Bundle {
                key,
                rate: 0.0,
                served: 0.0,
                ends: BTreeSet::new(),
            });
            self.bundles.len() - 1
        });
        let bundle = &mut self.bundles[at];
        let target = bundle.served + flow.bytes.max(0.0);
        let id = self.holes.pop().unwrap_or(self.flows.len());
        if id == self.flows.len() {
            self.flows.push(None);
        }
        self.flows[id] = Some((flow, target));
        bundle.ends.insert((target.to_bits(), FlowId(id)));
        match bundle.crosses() {
            true => self.stale = true,
            false => bundle.rate = flow.cap,
        }
        FlowId(id)
    }

    /// Stops a flow before its end. Returns the flow and the bytes that it moved.
    pub fn stop(&mut self, id: FlowId) -> (Flow<T>, f64) {
        let (flow, target, served) = self.remove(id);
        (flow, (flow.bytes - (target - served).max(0.0)).max(0.0))
    }

    /// Returns the bytes that a flow has moved; none if it has ended.
    pub fn moved(&self, id: FlowId) -> f64 {
        let flow = self.flows.get(id.0).and_then(Option::as_ref);
        flow.map_or(0.0, |(flow, _)| flow.bytes * self.progress(id))
    }

    /// Returns the part of a flow that has moved, 0 to 1.
    pub fn progress(&self, id: FlowId) -> f64 {
        let Some((flow, target)) = self.flows.get(id.0).and_then(Option::as_ref) else {
            return 1.0;
        };
        let at = self.index[&(flow.from, flow.to, flow.cap.to_bits())];
        let left = (target - self.bundles[at].served).max(0.0);
        1.0 - left / flow.bytes.max(1.0)
    }

    fn remove(&mut self, id: FlowId) -> (Flow<T>, f64, f64) {
        let (flow, target) = self.flows[id.0].take().expect("a flow is removed once");
        self.holes.push(id.0);
        let key = (flow.from, flow.to, flow.cap.to_bits());
        let at = self.index[&key];
        let bundle = &mut self.bundles[at];
        bundle.ends.remove(&(target.to_bits(), id));
        self.stale |= bundle.crosses();
        let served = bundle.served;
        if bundle.ends.is_empty() {
            self.index.remove(&key);
            self.bundles.swap_remove(at);
            if let Some(moved) = self.bundles.get(at) {
                self.index.insert(moved.key, at);
            }
        }
        (flow, target, served)
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Millis) {
        let passed = (now - self.now).max(0) as f64;
        self.now = self.now.max(now);
        if passed == 0.0 {
            return;
        }
        for bundle in &mut self.bundles {
            let each = bundle.rate * passed;
            bundle.served += each;
            if bundle.crosses() {
                let bytes = each * bundle.ends.len() as f64;
                self.carried[0][bundle.key.0] += bytes;
                self.carried[1][bundle.key.1] += bytes;
            }
        }
    }

    /// Takes out the flows that have ended, in the order of their ids.
    pub fn take_finished(&mut self, finished: &mut Vec<Flow<T>>) {
        let mut ended: Vec<FlowId> = Vec::new();
        for bundle in &self.bundles {
            let reached = bundle.served + BYTES_MIN;
            let ends = bundle.ends.iter();
            let done = ends.take_while(|(target, _)| f64::from_bits(*target) <= reached);
            ended.extend(done.map(|(_, id)| *id));
        }
        ended.sort_unstable();
        for id in ended {
            let (flow, target, served) = self.remove(id);
            if flow.from != flow.to {
                // Time is in whole ms: bytes counted beyond the end did not flow.
                self.carried[0][flow.from] -= served - target;
                self.carried[1][flow.to] -= served - target;
            }
            finished.push(flow);
        }
    }

    /// Recomputes the rates if flows have come or gone. Returns when the first flow ends, if any.
    pub fn settle(&mut self) -> Option<Millis> {
        if std::mem::take(&mut self.stale) {
            self.share_links();
        }
        let wait_ms = |bundle: &Bundle| {
            let (target, _) = bundle.ends.first()?;
            let left = (f64::from_bits(*target) - bundle.served - BYTES_MIN).max(0.0);
            Some((left / bundle.rate).ceil().min(1e12) as Millis)
        };
        let first = self.bundles.iter().filter_map(wait_ms).min();
        first.map(|wait_ms| self.now + wait_ms)
    }

    fn share_links(&mut self) {
        let racks = self.carried[0].len();
        let mut wanted = vec![0.0; 2 * racks];
        let links = |key: &Key| [key.0, racks + key.1];
        for bundle in self.bundles.iter().filter(|bundle| bundle.crosses()) {
            for link in links(&bundle.key) {
                wanted[link] += bundle.cap() * bundle.ends.len() as f64;
            }
        }
        if wanted.iter().all(|wanted| *wanted <= self.bandwidth) {
            for bundle in &mut self.bundles {
                bundle.rate = bundle.cap();
            }
            return;
        }
        self.demands.clear();
        for bundle in self.bundles.iter().filter(|bundle| bundle.crosses()) {
            self.demands.push(Demand {
                links: links(&bundle.key),
                count: bundle.ends.len() as f64,
                cap: bundle.cap(),
            });
        }
        let capacity = vec![self.bandwidth; 2 * racks];
        max_min(&self.demands, &capacity, &mut self.rates);
        let crossing = self.bundles.iter_mut().filter(|bundle| bundle.crosses());
        for (bundle, rate) in crossing.zip(&self.rates) {
            bundle.rate = *rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn flow(from: usize, to: usize, bytes: f64, cap: f64) -> Flow<u32> {
        Flow {
            from,
            to,
            bytes,
            cap,
            cause: Cause::Shuffle,
            owner: 0,
        }
    }

    /// Returns when each flow ends, in order.
    fn run(network: &mut Network<u32>) -> Vec<Millis> {
        let mut ends = Vec::new();
        while let Some(at) = network.settle() {
            network.advance(at);
            let mut finished = Vec::new();
            network.take_finished(&mut finished);
            ends.extend(finished.iter().map(|_| at));
        }
        ends
    }

    #[test]
    fn two_flows_share_a_link_and_the_second_speeds_up_when_the_first_ends() {
        let mut network = Network::new(3, 100.0);
        network.start(flow(0, 1, 10_000.0, 1e9));
        network.start(flow(0, 2, 30_000.0, 1e9));
        // 50 bytes per ms each until the first ends at 200; the other has 20,000 left at 100.
        assert_eq!(run(&mut network), [200, 400]);
        assert_eq!(network.carried()[0], [40_000.0, 0.0, 0.0]);
        assert_eq!(network.carried()[1], [0.0, 10_000.0, 30_000.0]);
    }

    #[test]
    fn a_flow_inside_a_rack_is_as_fast_as_its_ends_and_uses_no_link() {
        let mut network = Network::new(2, 1.0);
        network.start(flow(1, 1, 1_000.0, 20.0));
        network.start(flow(0, 1, 10.0, 20.0));
        assert_eq!(run(&mut network), [10, 50]);
        assert_eq!(network.carried()[1], [0.0, 10.0]);
    }

    #[test]
    fn every_byte_is_carried_once_and_no_link_carries_more_than_it_can() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut network = Network::new(4, 50.0);
            let (mut sent, mut stopped) = (0.0, 0.0);
            let mut ids = Vec::new();
            let mut finished = Vec::new();
            for step in 0..100 {
                let now = step * random.range(1, 40).min(25);
                let before = network.carried().clone();
                let from = network.now;
                network.advance(now);
                for (before, after) in before
                    .iter()
                    .flatten()
                    .zip(network.carried().iter().flatten())
                {
                    let most = 50.0 * (network.now - from) as f64 + 1e-6;
                    assert!(after - before <= most, "seed {seed}: {before} to {after}");
                }
                network.take_finished(&mut finished);
                let (a, b) = (random.below(4), random.below(4));
                if a != b {
                    let bytes = random.range(0, 20_000) as f64;
                    ids.push(network.start(flow(a, b, bytes, random.range(1, 90) as f64)));
                    sent += bytes;
                    if step % 7 == 0 {
                        // Just started, so it has not ended: all of it is left.
                        let (flow, moved) = network.stop(ids.pop().expect("one has begun"));
                        assert_eq!(moved, 0.0);
                        stopped += flow.bytes;
                    }
                }
                network.settle();
            }
            run(&mut network);
            let carried: f64 = network.carried()[0].iter().sum();
            let received: f64 = network.carried()[1].iter().sum();
            assert!(
                (carried - (sent - stopped)).abs() < 1.0,
                "{carried} of {sent} {stopped}"
            );
            assert!((carried - received).abs() < 1e-3);
            assert_eq!(network.flows.len(), network.holes.len());
        }
    }
}
