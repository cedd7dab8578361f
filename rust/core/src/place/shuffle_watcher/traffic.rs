//! Traffic between racks: remote map reads, shuffle and output writes (SW-41), in total and per
//! rack link and direction. Arithmetic only; knows neither time nor bandwidth.

use crate::words::ids::PlaceId;
use std::collections::BTreeMap;

/// An amount per rack. A missing rack has none.
pub type PerRack = BTreeMap<PlaceId, f64>;

/// Bytes that crossed between racks, added up transfer by transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Map input read from other racks.
    pub remote_map: f64,
    /// Map output fetched from other racks.
    pub shuffle: f64,
    /// All map output fetched, within a rack or across.
    pub shuffle_total: f64,
    /// Job output written to other racks.
    pub output_write: f64,
    /// Bytes that left each rack.
    pub up: PerRack,
    /// Bytes that entered each rack.
    pub down: PerRack,
}

impl Account {
    /// Returns all bytes that crossed: the three parts of SW-41.
    pub fn total(&self) -> f64 {
        self.remote_map + self.shuffle + self.output_write
    }

    /// Adds a map on `rack` that reads `bytes`, with copies on the racks of `replicas` (none: the
    /// data is outside the cluster and only enters). The replica used is unknown, so each of their
    /// links gets an equal part of the read.
    pub fn read(&mut self, rack: PlaceId, replicas: &[PlaceId], bytes: f64) {
        if replicas.contains(&rack) {
            return;
        }
        self.remote_map += bytes;
        *self.down.entry(rack).or_default() += bytes;
        for replica in replicas {
            *self.up.entry(*replica).or_default() += bytes / replicas.len() as f64;
        }
    }

    /// Adds a reduce on `to` that fetches `bytes` of the output of a map on `from`.
    pub fn fetch(&mut self, from: PlaceId, to: PlaceId, bytes: f64) {
        self.shuffle_total += bytes;
        if from != to {
            self.shuffle += bytes;
            *self.up.entry(from).or_default() += bytes;
            *self.down.entry(to).or_default() += bytes;
        }
    }

    /// Adds reduces that fetch map output: `output` are the bytes on each rack, `reduces` the parts
    /// of them that reduces on each rack fetch. It equals the sum of `fetch` over all pairs of
    /// racks, without visiting the pairs.
    pub fn fetch_all(&mut self, output: &PerRack, reduces: &PerRack) {
        let of = |amounts: &PerRack, rack: &PlaceId| amounts.get(rack).copied().unwrap_or(0.0);
        let (all, fetched): (f64, f64) = (output.values().sum(), reduces.values().sum());
        self.shuffle_total += all * fetched;
        for (from, bytes) in output {
            let crossing = bytes * (fetched - of(reduces, from));
            self.shuffle += crossing;
            *self.up.entry(*from).or_default() += crossing;
        }
        for (to, part) in reduces {
            *self.down.entry(*to).or_default() += part * (all - of(output, to));
        }
    }

    /// Adds a task on `rack` that writes `bytes`, with `copies_off_rack` transfers to one of
    /// `racks`. HDFS picks the other rack at random, so each of their links gets an equal part.
    /// Without another rack nothing crosses.
    pub fn write(&mut self, rack: PlaceId, racks: &[PlaceId], bytes: f64, copies_off_rack: f64) {
        let others = racks.iter().filter(|other| **other != rack);
        let count = others.clone().count() as f64;
        if count == 0.0 {
            return;
        }
        let bytes = bytes * copies_off_rack;
        self.output_write += bytes;
        *self.up.entry(rack).or_default() += bytes;
        for other in others {
            *self.down.entry(*other).or_default() += bytes / count;
        }
    }
}

/// A map that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRun {
    /// Its rack.
    pub rack: PlaceId,
    /// Racks with a replica of its input, each once.
    pub replicas: Vec<PlaceId>,
    /// Bytes read.
    pub input: f64,
    /// Bytes written.
    pub output: MapOutput,
}

/// Division of a map's output among the reduces.
#[derive(Clone, Debug, PartialEq)]
pub enum MapOutput {
    /// The same amount for each, with this sum.
    Even(f64),
    /// These amounts, in the order of the reduces.
    Each(Vec<f64>),
}

impl MapOutput {
    fn for_reduce(&self, reduce: usize, reduces: usize) -> f64 {
        match self {
            MapOutput::Even(bytes) => bytes / reduces as f64,
            MapOutput::Each(bytes) => bytes.get(reduce).copied().unwrap_or(0.0),
        }
    }
}

/// A reduce that ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReduceRun {
    /// Its rack.
    pub rack: PlaceId,
    /// Bytes written.
    pub output: f64,
}

/// Returns the traffic of one job: every map's read, every pair's fetch, every reduce's write.
/// `racks` are all racks of the cluster.
pub fn account(
    racks: &[PlaceId],
    maps: &[MapRun],
    reduces: &[ReduceRun],
    copies_off_rack: f64,
) -> Account {
    let mut account = Account::default();
    for map in maps {
        account.read(map.rack, &map.replicas, map.input);
        for (i, reduce) in reduces.iter().enumerate() {
            let bytes = map.output.for_reduce(i, reduces.len());
            account.fetch(map.rack, reduce.rack, bytes);
        }
    }
    for reduce in reduces {
        account.write(reduce.rack, racks, reduce.output, copies_off_rack);
    }
    account
}

/// Returns how much of the map output on the racks crosses between them, if each reduce fetches an
/// equal part of all of it (SW-24). From each rack, it is the part of the reduces elsewhere; 0
/// without reduces.
pub fn crossing(intermediate: &PerRack, reduces: &PerRack) -> f64 {
    let all: f64 = reduces.values().sum();
    if all <= 0.0 {
        return 0.0;
    }
    let here = |rack: &PlaceId| reduces.get(rack).copied().unwrap_or(0.0);
    let part = |(rack, bytes): (&PlaceId, &f64)| bytes * (all - here(rack)) / all;
    intermediate.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: PlaceId = PlaceId(1);
    const B: PlaceId = PlaceId(2);
    const C: PlaceId = PlaceId(3);

    fn map(rack: PlaceId, replicas: &[PlaceId], input: f64, output: MapOutput) -> MapRun {
        MapRun {
            rack,
            replicas: replicas.to_vec(),
            input,
            output,
        }
    }

    #[test]
    fn a_job_worked_by_hand() {
        let maps = [
            // Reads locally; of its 60, 20 stay on A and 40 go to B.
            map(A, &[A, C], 100.0, MapOutput::Each(vec![20.0, 40.0])),
            // Reads 50 from A or C, 25 booked on each; of its 30, 15 go to A and 15 stay.
            map(B, &[A, C], 50.0, MapOutput::Even(30.0)),
        ];
        let reduces = [
            ReduceRun {
                rack: A,
                output: 8.0,
            },
            ReduceRun {
                rack: B,
                output: 4.0,
            },
        ];
        let account = account(&[A, B, C], &maps, &reduces, 1.0);
        assert_eq!(account.remote_map, 50.0);
        assert_eq!(account.shuffle, 55.0);
        assert_eq!(account.shuffle_total, 90.0);
        assert_eq!(account.output_write, 12.0);
        assert_eq!(account.total(), 117.0);
        // Up of A: 25 read, 40 shuffled, 8 written. Of B: 15 and 4. Of C: 25 read.
        assert_eq!(
            account.up,
            BTreeMap::from([(A, 73.0), (B, 19.0), (C, 25.0)])
        );
        // Down of A: 15 shuffled, 2 of B's write. Of B: 50, 40, 4. Of C: 4 and 2.
        assert_eq!(
            account.down,
            BTreeMap::from([(A, 17.0), (B, 94.0), (C, 6.0)])
        );
    }

    #[test]
    fn a_job_without_reduces_shuffles_nothing() {
        let maps = [map(A, &[A], 10.0, MapOutput::Even(7.0))];
        let account = account(&[A, B], &maps, &[], 1.0);
        assert_eq!((account.shuffle_total, account.total()), (0.0, 0.0));
    }

    #[test]
    fn where_there_is_one_rack_nothing_crosses() {
        let reduce = ReduceRun {
            rack: A,
            output: 7.0,
        };
        let maps = [map(A, &[A], 10.0, MapOutput::Even(7.0))];
        let account = account(&[A], &maps, &[reduce], 1.0);
        assert_eq!((account.total(), account.up.get(&A)), (0.0, None));
    }

    #[test]
    fn evenly_placed_tasks_send_all_but_one_part_in_ten_across_ten_racks() {
        // SW-34: about 90 % of the shuffle crosses when maps and reduces are spread over 10.
        let even: PerRack = (1..=10).map(|rack| (PlaceId(rack), 5.0)).collect();
        assert!((crossing(&even, &even) / 50.0 - 0.9).abs() < 1e-12);
    }

    proptest! {
        /// The closed form equals the sum over all pairs of a map and a reduce.
        #[test]
        fn crossing_is_the_sum_over_pairs(
            outputs in prop::collection::vec((1u32..5, 0u32..1_000), 1..8),
            reduce_racks in prop::collection::vec(1u32..5, 1..8),
        ) {
            let mut intermediate = PerRack::new();
            let mut reduces = PerRack::new();
            let mut pairs = 0.0;
            for rack in &reduce_racks {
                *reduces.entry(PlaceId(*rack)).or_default() += 1.0;
            }
            for (rack, bytes) in &outputs {
                *intermediate.entry(PlaceId(*rack)).or_default() += f64::from(*bytes);
                for reduce in &reduce_racks {
                    if reduce != rack {
                        pairs += f64::from(*bytes) / reduce_racks.len() as f64;
                    }
                }
            }
            prop_assert!((crossing(&intermediate, &reduces) - pairs).abs() < 1e-6);
        }

        /// All fetches at once equal the pairs of racks one by one.
        #[test]
        fn fetches_at_once_are_the_sum_over_pairs(
            output in prop::collection::btree_map(1u32..6, 0u32..1_000, 0..5),
            reduces in prop::collection::btree_map(1u32..6, 1u32..9, 0..5),
        ) {
            let per_rack = |amounts: &BTreeMap<u32, u32>, unit: f64| -> PerRack {
                amounts.iter().map(|(rack, of)| (PlaceId(*rack), f64::from(*of) / unit)).collect()
            };
            let all = f64::from(reduces.values().sum::<u32>().max(1));
            let (output, reduces) = (per_rack(&output, 1.0), per_rack(&reduces, all));
            let (mut at_once, mut by_pairs) = (Account::default(), Account::default());
            at_once.fetch_all(&output, &reduces);
            for (from, bytes) in &output {
                for (to, part) in &reduces {
                    by_pairs.fetch(*from, *to, bytes * part);
                }
            }
            let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
            prop_assert!(near(at_once.shuffle, by_pairs.shuffle));
            prop_assert!(near(at_once.shuffle_total, by_pairs.shuffle_total));
            for rack in (1..6).map(PlaceId) {
                let of = |amounts: &PerRack| amounts.get(&rack).copied().unwrap_or(0.0);
                prop_assert!(near(of(&at_once.up), of(&by_pairs.up)));
                prop_assert!(near(of(&at_once.down), of(&by_pairs.down)));
            }
        }

        /// All bytes that enter a rack left another one, except data from outside the cluster.
        #[test]
        fn what_leaves_the_racks_enters_others(
            maps in prop::collection::vec((1u32..4, 1u32..4, 0u32..100, 0u32..100), 0..6),
            reduces in prop::collection::vec((1u32..4, 0u32..100), 0..6),
        ) {
            let maps: Vec<MapRun> = maps.iter().map(|(rack, replica, input, output)| {
                let output = MapOutput::Even(f64::from(*output));
                map(PlaceId(*rack), &[PlaceId(*replica)], f64::from(*input), output)
            }).collect();
            let reduces: Vec<ReduceRun> = reduces.iter().map(|(rack, output)| ReduceRun {
                rack: PlaceId(*rack),
                output: f64::from(*output),
            }).collect();
            let account = account(&[A, B, C], &maps, &reduces, 1.0);
            let (up, down): (f64, f64) =
                (account.up.values().sum(), account.down.values().sum());
            prop_assert!((up - account.total()).abs() < 1e-6);
            prop_assert!((down - account.total()).abs() < 1e-6);
        }
    }
}
