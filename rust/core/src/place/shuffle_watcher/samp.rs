//! SAMP: the racks on which a job's maps should run to minimize remote map reads plus cross-rack
//! shuffle (SW-17 to SW-19, SW-43, Figure 4). Once per job; arithmetic only.
//!
//! The restated paper has lost the formula of the shuffle; SW-18 says how it was restored. Map
//! output is predicted to lie evenly on the chosen racks, and SARP will follow it with the reduces.

use super::traffic::PerRack;
use crate::words::ids::PlaceId;
use std::collections::BTreeMap;

/// Blocks of a job's input that lie on the same racks.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Their total length.
    pub bytes: f64,
    /// Racks with a replica; empty if unknown.
    pub racks: Vec<PlaceId>,
}

/// Known places of a job's input.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Every block.
    Blocks(&'a [Blocks]),
    /// Only how much of it each rack holds (an ask's rows). It is unknown which replicas belong to
    /// one block. Racks are assumed to hold blocks independently of each other.
    Held {
        /// Bytes of the whole input.
        bytes: f64,
        /// Bytes with a replica on each rack.
        racks: &'a PerRack,
    },
}

/// Predicted distribution of the map output over the chosen racks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Evenly: nodes of all racks free up at the same pace (SW-18).
    #[default]
    Uniform,
    /// Each block goes to the least loaded of the chosen racks that hold it, or of all chosen ones
    /// (SW-A1). Needs `Input::Blocks`; otherwise evenly.
    Locality,
}

/// Input of SAMP.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The cluster's racks.
    pub racks: &'a [PlaceId],
    /// Places of the input.
    pub input: Input<'a>,
    /// Shuffle divided by map input, as far as known at submission; 0 for a job without reduces.
    pub ratio: f64,
    /// Distribution of the output.
    pub spread: Spread,
    /// Outstanding preferred map input of earlier jobs by rack, for ties.
    pub load: &'a PerRack,
}

/// The first racks of the order, and the traffic if the maps run on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// Number of racks.
    pub racks: usize,
    /// Bytes of blocks without a replica there.
    pub remote_map: f64,
    /// Bytes of shuffle between them.
    pub shuffle: f64,
}

impl Prefix {
    /// `CrossRackTraffic`.
    pub fn total(&self) -> f64 {
        self.remote_map + self.shuffle
    }
}

/// SAMP's answer, with all compared alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Racks by input held, most first; ties by outstanding load, then by rack.
    pub order: Vec<PlaceId>,
    /// Bytes of input with a replica, by rack.
    pub held: PerRack,
    /// Every prefix of the order, shortest first.
    pub prefixes: Vec<Prefix>,
    /// Index of the chosen prefix.
    pub best: usize,
}

impl Plan {
    /// Returns `PreferredMapRacks`, most input first.
    pub fn preferred(&self) -> &[PlaceId] {
        let racks = self
            .prefixes
            .get(self.best)
            .map_or(0, |prefix| prefix.racks);
        &self.order[..racks]
    }
}

/// Compares all prefixes of the racks, in order of the input that they hold, without stopping
/// early. Takes the one with the least traffic; ties go to fewer racks.
pub fn plan(question: &Question<'_>) -> Plan {
    let held = held(question);
    let order = order(question, &held);
    let remote = remote_by_prefix(question, &order);
    let bytes = input_bytes(question.input);
    let prefix = |racks: usize| {
        let squares = match (question.spread, question.input) {
            (Spread::Locality, Input::Blocks(_)) => {
                let parts = fractions(question, &order[..racks]);
                parts.iter().map(|part| part * part).sum()
            }
            _ => 1.0 / racks as f64,
        };
        Prefix {
            racks,
            remote_map: remote[racks - 1],
            shuffle: question.ratio * bytes * (1.0 - squares),
        }
    };
    let prefixes: Vec<Prefix> = (1..=order.len()).map(prefix).collect();
    let best = least(&prefixes);
    Plan {
        order,
        held,
        prefixes,
        best,
    }
}

/// Returns the first prefix with the least traffic. Differences by rounding are ties.
fn least(prefixes: &[Prefix]) -> usize {
    let mut best = 0;
    for (i, prefix) in prefixes.iter().enumerate() {
        if prefix.total() < prefixes[best].total() * (1.0 - 1e-12) {
            best = i;
        }
    }
    best
}

/// Returns the bytes of the whole input.
fn input_bytes(input: Input<'_>) -> f64 {
    match input {
        Input::Blocks(blocks) => blocks.iter().map(|block| block.bytes).sum(),
        Input::Held { bytes, .. } => bytes,
    }
}

/// Returns how much of the input has a replica on each rack of the cluster.
fn held(question: &Question<'_>) -> PerRack {
    let mut held: PerRack = question.racks.iter().map(|rack| (*rack, 0.0)).collect();
    match question.input {
        Input::Blocks(blocks) => {
            for block in blocks {
                for rack in distinct(&block.racks) {
                    if let Some(held) = held.get_mut(&rack) {
                        *held += block.bytes;
                    }
                }
            }
        }
        Input::Held { racks, .. } => {
            for (rack, bytes) in racks {
                if let Some(held) = held.get_mut(rack) {
                    *held += bytes;
                }
            }
        }
    }
    held
}

/// Returns each rack once: two replicas of a block on one rack count once.
fn distinct(racks: &[PlaceId]) -> impl Iterator<Item = PlaceId> + '_ {
    let is_first = |i: usize| !racks[..i].contains(&racks[i]);
    (0..racks.len())
        .filter(move |i| is_first(*i))
        .map(|i| racks[i])
}

fn order(question: &Question<'_>, held: &PerRack) -> Vec<PlaceId> {
    let load = |rack: &PlaceId| question.load.get(rack).copied().unwrap_or(0.0);
    let mut order: Vec<PlaceId> = held.keys().copied().collect();
    order.sort_by(|a, b| {
        let by_held = held[b].total_cmp(&held[a]);
        by_held.then(load(a).total_cmp(&load(b))).then(a.cmp(b))
    });
    order
}

/// Returns the bytes without a replica in the first 1, 2, ... racks of the order.
fn remote_by_prefix(question: &Question<'_>, order: &[PlaceId]) -> Vec<f64> {
    match question.input {
        Input::Blocks(blocks) => {
            // Each block becomes local with the first of its racks in the order.
            let rank: BTreeMap<PlaceId, usize> = order
                .iter()
                .enumerate()
                .map(|(i, rack)| (*rack, i))
                .collect();
            let mut local_from = vec![0.0; order.len()];
            for block in blocks {
                let first = block.racks.iter().filter_map(|rack| rank.get(rack)).min();
                if let Some(first) = first {
                    local_from[*first] += block.bytes;
                }
            }
            let mut local = 0.0;
            let all = input_bytes(question.input);
            let remote = |bytes: &f64| {
                local += bytes;
                all - local
            };
            local_from.iter().map(remote).collect()
        }
        Input::Held { bytes, racks } => {
            let (mut remote, mut held_so_far) = (bytes, 0.0);
            let miss = |rack: &PlaceId| {
                let held = racks.get(rack).copied().unwrap_or(0.0);
                remote *= if bytes > 0.0 {
                    (1.0 - held / bytes).clamp(0.0, 1.0)
                } else {
                    0.0
                };
                held_so_far += held;
                if order.len() <= 2 {
                    // Every block is somewhere: if one of two racks lacks it, the other has it.
                    remote = (bytes - held_so_far).max(0.0);
                }
                remote
            };
            order.iter().map(miss).collect()
        }
    }
}

/// Returns the predicted part of the map output for each of `chosen`, in their order.
/// `TentativeReducePerRack` is the number of reduces times this.
pub fn fractions(question: &Question<'_>, chosen: &[PlaceId]) -> Vec<f64> {
    let even = || vec![1.0 / chosen.len() as f64; chosen.len()];
    let (Spread::Locality, Input::Blocks(blocks)) = (question.spread, question.input) else {
        return even();
    };
    let mut put: Vec<f64> = vec![0.0; chosen.len()];
    for block in blocks {
        let holds = |i: &usize| block.racks.contains(&chosen[*i]);
        let least = |a: &usize, b: &usize| put[*a].total_cmp(&put[*b]);
        let local = (0..chosen.len()).filter(holds).min_by(least);
        if let Some(rack) = local.or_else(|| (0..chosen.len()).min_by(least)) {
            put[rack] += block.bytes;
        }
    }
    let all: f64 = put.iter().sum();
    if all > 0.0 {
        put.iter().map(|bytes| bytes / all).collect()
    } else {
        even()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn racks(ids: &[u32]) -> Vec<PlaceId> {
        ids.iter().map(|id| PlaceId(*id)).collect()
    }

    fn blocks(list: &[(u32, &[u32])]) -> Vec<Blocks> {
        let block = |(bytes, on): &(u32, &[u32])| Blocks {
            bytes: f64::from(*bytes),
            racks: racks(on),
        };
        list.iter().map(block).collect()
    }

    fn question<'a>(
        racks: &'a [PlaceId],
        input: Input<'a>,
        ratio: f64,
        load: &'a PerRack,
    ) -> Question<'a> {
        Question {
            racks,
            input,
            ratio,
            spread: Spread::Uniform,
            load,
        }
    }

    fn plan_of(ids: &[u32], list: &[(u32, &[u32])], ratio: f64) -> Plan {
        let (racks, blocks) = (racks(ids), blocks(list));
        plan(&question(
            &racks,
            Input::Blocks(&blocks),
            ratio,
            &PerRack::new(),
        ))
    }

    #[test]
    fn figure_5_gives_each_of_two_jobs_a_rack_of_its_own() {
        let (both, input) = (racks(&[1, 2]), blocks(&[(100, &[1, 2])]));
        let first = plan(&question(
            &both,
            Input::Blocks(&input),
            1.0,
            &PerRack::new(),
        ));
        assert_eq!(first.preferred(), racks(&[1]));
        let load = PerRack::from([(PlaceId(1), 100.0)]);
        let second = plan(&question(&both, Input::Blocks(&input), 1.0, &load));
        assert_eq!(second.preferred(), racks(&[2]));
        for plan in [first, second] {
            // Half of each job on each rack would shuffle half of it across.
            assert_eq!(plan.prefixes[plan.best].total(), 0.0);
            assert_eq!(plan.prefixes[1].shuffle, 50.0);
        }
    }

    #[test]
    fn remote_maps_are_taken_when_that_lowers_the_sum() {
        // 60 on rack 1, 40 on rack 2, ratio 2. One rack: 40 remote. Both: 2 * 100 / 2 = 100.
        let plan = plan_of(&[1, 2], &[(60, &[1]), (40, &[2])], 2.0);
        assert_eq!(plan.preferred(), racks(&[1]));
        let traffic = plan.prefixes.iter().map(|p| (p.remote_map, p.shuffle));
        assert_eq!(traffic.collect::<Vec<_>>(), [(40.0, 0.0), (0.0, 100.0)]);
        // With little shuffle the reads weigh more: 40 against 0.5 * 100 / 2 = 25.
        let plan = plan_of(&[1, 2], &[(60, &[1]), (40, &[2])], 0.5);
        assert_eq!(plan.preferred(), racks(&[1, 2]));
    }

    #[test]
    fn a_longer_prefix_wins_although_the_next_one_is_worse() {
        // Remote 74, 49, 24, 0; with ratio 1 the shuffle is 0, 50, 66.7, 75.
        let list: &[(u32, &[u32])] = &[(24, &[1]), (25, &[2]), (25, &[3]), (26, &[4])];
        let plan = plan_of(&[1, 2, 3, 4], list, 1.0);
        let totals: Vec<f64> = plan.prefixes.iter().map(Prefix::total).collect();
        assert!(
            totals[1] > totals[0],
            "the second prefix is worse: {totals:?}"
        );
        assert_eq!(plan.order, racks(&[4, 2, 3, 1]));
        assert_eq!(plan.best, 0);
        let plan = plan_of(&[1, 2, 3, 4], list, 0.95);
        // Now 74 against 0.95 * 75 = 71.25, with 49 + 47.5 = 96.5 between: only a search without an
        // early stop finds it.
        assert_eq!(plan.best, 3);
    }

    #[test]
    fn ties_go_to_fewer_racks_and_racks_without_the_input_never_help() {
        // 50 remote or 100 * (1 - 1/2) = 50 of shuffle.
        let plan = plan_of(&[1, 2, 3], &[(50, &[1]), (50, &[2])], 1.0);
        assert_eq!(plan.preferred(), racks(&[1]));
        assert_eq!(plan.prefixes.len(), 3);
    }

    #[test]
    fn a_job_without_reduces_takes_the_racks_that_hold_all_of_it() {
        let plan = plan_of(&[1, 2, 3], &[(50, &[1, 2]), (10, &[2, 3]), (5, &[3])], 0.0);
        assert_eq!(plan.preferred(), racks(&[2, 1, 3]));
    }

    #[test]
    fn without_locations_all_racks_are_equal() {
        let load = PerRack::from([(PlaceId(1), 5.0), (PlaceId(3), 1.0)]);
        let (three, input) = (racks(&[1, 2, 3]), blocks(&[(100, &[])]));
        let plan = plan(&question(&three, Input::Blocks(&input), 1.0, &load));
        // The rack with the least outstanding input, and no shuffle: all input is remote anyway.
        assert_eq!(plan.order, racks(&[2, 3, 1]));
        assert_eq!((plan.best, plan.prefixes[0].total()), (0, 100.0));
    }

    #[test]
    fn one_rack_has_no_traffic_and_no_rack_no_plan() {
        let plan = plan_of(&[7], &[(100, &[7])], 3.0);
        assert_eq!(plan.prefixes[plan.best].total(), 0.0);
        assert_eq!(plan_of(&[], &[(100, &[7])], 3.0).preferred(), []);
    }

    #[test]
    fn replicas_on_one_rack_and_on_racks_that_left_count_as_they_should() {
        let plan = plan_of(&[1, 2], &[(10, &[1, 1, 9]), (4, &[2, 9, 9])], 1.0);
        assert_eq!(
            plan.held,
            PerRack::from([(PlaceId(1), 10.0), (PlaceId(2), 4.0)])
        );
        assert_eq!(plan.prefixes[0].remote_map, 4.0);
    }

    #[test]
    fn rows_stand_for_blocks_by_independence() {
        // Of 100, rack 1 holds 80 and rack 2 holds 50: 20 miss the first, half of them both.
        let held = PerRack::from([(PlaceId(1), 80.0), (PlaceId(2), 50.0)]);
        let input = Input::Held {
            bytes: 100.0,
            racks: &held,
        };
        let three = racks(&[1, 2, 3]);
        let plan_on = |racks: &[PlaceId]| plan(&question(racks, input, 0.0, &PerRack::new()));
        let plan_of_three = plan_on(&three);
        let remote = plan_of_three
            .prefixes
            .iter()
            .map(|prefix| prefix.remote_map);
        let difference = remote.zip([20.0, 10.0, 10.0]).map(|(a, b)| (a - b).abs());
        let error: f64 = difference.sum();
        assert!(error < 1e-9);
        // With only two racks, blocks that one lacks are on the other.
        let plan = plan_on(&racks(&[1, 2]));
        let remote: Vec<f64> = plan
            .prefixes
            .iter()
            .map(|prefix| prefix.remote_map)
            .collect();
        assert_eq!((remote, plan.best), (vec![20.0, 0.0], 1));
    }

    #[test]
    fn by_locality_each_block_lies_where_the_least_was_put() {
        // 30 to rack 1; 20 to rack 2, which has less; 10 to rack 2 (20 < 30). The block of neither
        // goes to the emptier: 30 = 30, the first. Parts: 40/70 and 30/70.
        let list: &[(u32, &[u32])] = &[(30, &[1]), (20, &[1, 2]), (10, &[1, 2]), (10, &[3])];
        let (two, input) = (racks(&[1, 2]), blocks(list));
        let load = PerRack::new();
        let question = Question {
            spread: Spread::Locality,
            ..question(&two, Input::Blocks(&input), 1.0, &load)
        };
        assert_eq!(fractions(&question, &two), [40.0 / 70.0, 30.0 / 70.0]);
        let shuffle = plan(&question).prefixes[1].shuffle;
        // 70 * (1 - (16 + 9) / 49)
        assert!((shuffle - 70.0 * 24.0 / 49.0).abs() < 1e-9);
    }

    /// Counts the traffic of a set of racks, map by map and reduce by reduce. Every block has a
    /// map, whose output is spread over the racks of the set. Every rack has its part of the
    /// reduces, which fetch from all racks.
    fn naive_traffic(blocks: &[Blocks], set: &[PlaceId], ratio: f64) -> f64 {
        let part = 1.0 / set.len() as f64;
        let mut traffic = 0.0;
        for block in blocks {
            if !block.racks.iter().any(|rack| set.contains(rack)) {
                traffic += block.bytes;
            }
            for from in set {
                for to in set.iter().filter(|to| *to != from) {
                    assert_ne!(from, to);
                    traffic += ratio * block.bytes * part * part;
                }
            }
        }
        traffic
    }

    fn subsets(racks: &[PlaceId]) -> Vec<Vec<PlaceId>> {
        let members = |bits: u32| {
            let chosen = racks
                .iter()
                .enumerate()
                .filter(move |(i, _)| bits >> i & 1 == 1);
            chosen.map(|(_, rack)| *rack).collect()
        };
        (1..1u32 << racks.len()).map(members).collect()
    }

    fn random_blocks(replicas: usize) -> impl Strategy<Value = Vec<(u32, Vec<u32>)>> {
        let block = (1u32..50, prop::collection::vec(1u32..6, 1..=replicas));
        prop::collection::vec(block, 1..8)
    }

    fn made(list: &[(u32, Vec<u32>)]) -> Vec<Blocks> {
        let list: Vec<(u32, &[u32])> = list.iter().map(|(b, r)| (*b, r.as_slice())).collect();
        blocks(&list)
    }

    proptest! {
        /// Compares with all sets of racks in the naive count. With one replica per block the
        /// sorted order loses nothing, so the choice is the best of all sets. With more replicas it
        /// is the best of the prefixes and never better than the best of all sets.
        #[test]
        fn brute_force_over_all_sets_of_racks(
            single in random_blocks(1),
            replicated in random_blocks(3),
            ratio in 0u32..8,
        ) {
            let (five, ratio) = (racks(&[1, 2, 3, 4, 5]), f64::from(ratio) / 2.0);
            for (list, is_single) in [(single, true), (replicated, false)] {
                let blocks = made(&list);
                let load = PerRack::new();
                let plan = plan(&question(&five, Input::Blocks(&blocks), ratio, &load));
                let chosen = plan.prefixes[plan.best];
                let naive = naive_traffic(&blocks, plan.preferred(), ratio);
                prop_assert!((chosen.total() - naive).abs() < 1e-6);
                let best = subsets(&five).iter()
                    .map(|set| naive_traffic(&blocks, set, ratio)).fold(f64::MAX, f64::min);
                prop_assert!(chosen.total() >= best - 1e-6);
                prop_assert!(!is_single || chosen.total() <= best + 1e-6);
                for length in 1..=five.len() {
                    let other = naive_traffic(&blocks, &plan.order[..length], ratio);
                    prop_assert!(chosen.total() <= other + 1e-6);
                    prop_assert!(length >= chosen.racks || other > chosen.total() + 1e-9);
                }
                let amount = |rack: &PlaceId| blocks.iter()
                    .filter(|block| block.racks.contains(rack)).map(|b| b.bytes).sum::<f64>();
                prop_assert!(plan.order.windows(2).all(|two| amount(&two[0]) >= amount(&two[1])));
            }
        }
    }
}
