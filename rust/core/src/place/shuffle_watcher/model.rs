//! A model of the load on links between racks, where no host measures it. It uses the jobs'
//! counters and the places of their tasks. Covers only MapReduce's traffic, as in the paper
//! (SW-41).
//!
//! Arithmetic of rates, in bytes per second; `uplinks.rs` keeps the state behind it.

use super::traffic::{Account, PerRack};
use crate::words::ids::PlaceId;
use std::collections::BTreeMap;

/// By default HDFS writes each block once to a rack other than the writer's.
const COPIES_OFF_RACK: f64 = 1.0;

/// Maximum factor by which a measurement corrects the model, up or down. Larger deviations belong
/// to another moment, or to traffic outside the model.
const CORRECTION_MAX: f64 = 4.0;

/// Modelled traffic below which a comparison with a measurement is meaningless, in bytes per
/// second.
const COMPARABLE: f64 = 1_000.0;

/// Traffic of one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Rate at which all its reduces fetch.
    pub shuffle: f64,
    /// Rate at which it writes.
    pub write: f64,
    /// Its map output by rack, in any unit.
    pub output: PerRack,
    /// Its running reduces by rack.
    pub reduces: PerRack,
    /// Its running tasks that write, by rack.
    pub writers: PerRack,
}

/// Map input that a rack reads from other racks.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Rack of the map.
    pub rack: PlaceId,
    /// Racks that hold the job's input, each once.
    pub sources: Vec<PlaceId>,
    /// Rate of the read.
    pub rate: f64,
}

/// Returns the parts of the sum by rack; none if the sum is 0.
fn parts(amounts: &PerRack) -> impl Iterator<Item = (PlaceId, f64)> + '_ {
    let all: f64 = amounts.values().sum();
    let some = amounts.iter().filter(move |_| all > 0.0);
    some.map(move |(rack, amount)| (*rack, amount / all))
}

/// Returns the map output that each rack sends to all racks, including itself. Its NodeManagers
/// measure the same.
pub fn sent(flows: &[Flow]) -> PerRack {
    let mut sent = PerRack::new();
    for flow in flows.iter().filter(|flow| !flow.reduces.is_empty()) {
        for (rack, part) in parts(&flow.output) {
            *sent.entry(rack).or_default() += flow.shuffle * part;
        }
    }
    sent
}

/// Returns the factor for each rack's modelled shuffle that makes it match the measurement.
pub fn corrections(modelled: &PerRack, measured: &PerRack) -> PerRack {
    let correction = |(rack, modelled): (&PlaceId, &f64)| {
        let measured = measured.get(rack).filter(|_| *modelled >= COMPARABLE)?;
        let factor = (measured / modelled).clamp(1.0 / CORRECTION_MAX, CORRECTION_MAX);
        Some((*rack, factor))
    };
    modelled.iter().filter_map(correction).collect()
}

/// Returns the map output that racks send by their nodes' reports and that no job's counters
/// explain. Its jobs' ApplicationMasters answer late or not at all, or are not MapReduce's.
pub fn unexplained(modelled: &PerRack, measured: &PerRack) -> PerRack {
    let explained = |rack: &PlaceId| modelled.get(rack).is_some_and(|rate| *rate >= COMPARABLE);
    let foreign = |(rack, rate): &(&PlaceId, &f64)| **rate >= COMPARABLE && !explained(rack);
    let rates = measured.iter().filter(foreign);
    rates.map(|(rack, rate)| (*rack, *rate)).collect()
}

/// Returns the flow of unexplained output to the receivers by rack, which all fetch alike.
pub fn foreign(output: PerRack, receivers: PerRack) -> Flow {
    Flow {
        shuffle: output.values().sum(),
        output,
        reduces: receivers,
        ..Flow::default()
    }
}

/// Returns the traffic of each rack's link that nodes have measured. Counters come from users'
/// code: they divide the measured output among the racks, but never add to it. `racks` is the
/// number of all racks. Traffic into a rack counts only if all of them report.
pub fn witnessed(account: &Account, sent: &PerRack, racks: usize) -> PerRack {
    let all: f64 = sent.values().sum();
    let of = |rates: &PerRack, rack: &PlaceId| rates.get(rack).copied().unwrap_or(0.0);
    let link = |(rack, rate): (&PlaceId, &f64)| {
        let up = of(&account.up, rack).min(*rate);
        let down = of(&account.down, rack).min(all - rate);
        let down = if sent.len() == racks { down } else { 0.0 };
        (*rack, up.max(down))
    };
    sent.iter().map(link).collect()
}

/// Returns the traffic between racks. Every reduce fetches from each rack its part of the map
/// output (SW-24), and all writers of a job write equally.
pub fn rates(
    racks: &[PlaceId],
    flows: &[Flow],
    reads: &[Read],
    corrections: &BTreeMap<PlaceId, f64>,
) -> Account {
    let mut account = Account::default();
    // One sum per rack, because each write visits all racks.
    let mut written = PerRack::new();
    for flow in flows {
        let corrected = |(rack, part): (PlaceId, f64)| {
            let correction = corrections.get(&rack).copied().unwrap_or(1.0);
            (rack, flow.shuffle * part * correction)
        };
        let output = parts(&flow.output).map(corrected).collect();
        account.fetch_all(&output, &parts(&flow.reduces).collect());
        for (rack, part) in parts(&flow.writers) {
            *written.entry(rack).or_default() += flow.write * part;
        }
    }
    for (rack, bytes) in written {
        account.write(rack, racks, bytes, COPIES_OFF_RACK);
    }
    for read in reads {
        account.read(read.rack, &read.sources, read.rate);
    }
    account
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PlaceId = PlaceId(1);
    const B: PlaceId = PlaceId(2);
    const C: PlaceId = PlaceId(3);

    fn per_rack<const N: usize>(amounts: [(PlaceId, f64); N]) -> PerRack {
        amounts.into_iter().collect()
    }

    /// 120 bytes/s are fetched, from an output of 3/4 on A and 1/4 on B, by two reduces on B and
    /// one on C: 2/3 and 1/3.
    fn flow() -> Flow {
        Flow {
            shuffle: 120.0,
            write: 30.0,
            output: per_rack([(A, 6.0), (B, 2.0)]),
            reduces: per_rack([(B, 2.0), (C, 1.0)]),
            writers: per_rack([(B, 2.0), (C, 1.0)]),
        }
    }

    #[test]
    fn a_job_worked_by_hand() {
        let account = rates(&[A, B, C], &[flow()], &[], &PerRack::new());
        // From A: 60 to B and 30 to C. From B: 20 stay, 10 to C.
        assert_eq!((account.shuffle_total, account.shuffle), (120.0, 100.0));
        // B writes 20, 10 of them to A and 10 to C; C writes 10, 5 to A and 5 to B.
        assert_eq!(account.output_write, 30.0);
        assert_eq!(account.up, per_rack([(A, 90.0), (B, 30.0), (C, 10.0)]));
        assert_eq!(account.down, per_rack([(A, 15.0), (B, 65.0), (C, 50.0)]));
    }

    #[test]
    fn remote_reads_leave_the_racks_of_the_input() {
        let read = |rack, sources: &[PlaceId], rate| Read {
            rack,
            sources: sources.to_vec(),
            rate,
        };
        let reads = [
            read(C, &[A, B], 40.0),
            read(A, &[A], 9.0),
            read(B, &[], 7.0),
        ];
        let account = rates(&[A, B, C], &[], &reads, &PerRack::new());
        assert_eq!(account.remote_map, 47.0);
        assert_eq!(account.up, per_rack([(A, 20.0), (B, 20.0)]));
        assert_eq!(account.down, per_rack([(B, 7.0), (C, 40.0)]));
    }

    #[test]
    fn a_job_without_map_output_or_reduces_shuffles_nothing() {
        let no_reduces = Flow {
            reduces: PerRack::new(),
            ..flow()
        };
        let no_output = Flow {
            output: PerRack::new(),
            ..flow()
        };
        let flows = [no_reduces, no_output];
        let account = rates(&[A, B, C], &flows, &[], &PerRack::new());
        assert_eq!((account.shuffle_total, account.output_write), (0.0, 60.0));
        assert!(sent(&flows).is_empty());
    }

    /// A's nodes send 900 where the model has 90 thousand: bounded to a quarter. B's send half.
    #[test]
    fn what_is_measured_corrects_the_model() {
        let mut flow = flow();
        flow.shuffle = 120_000.0;
        let modelled = sent(std::slice::from_ref(&flow));
        assert_eq!(modelled, per_rack([(A, 90_000.0), (B, 30_000.0)]));
        let measured = per_rack([(A, 900.0), (B, 15_000.0), (C, 5.0)]);
        let corrections = corrections(&modelled, &measured);
        assert_eq!(corrections, per_rack([(A, 0.25), (B, 0.5)]));
        let account = rates(&[A, B, C], &[flow], &[], &corrections);
        // From A 22,500; from B 15,000, of which a third goes to C.
        assert_eq!(account.shuffle_total, 37_500.0);
        assert_eq!(account.shuffle, 27_500.0);
        let little = per_rack([(A, 999.0)]);
        assert!(super::corrections(&little, &measured).is_empty());
    }

    /// A sends 6,000 that no counter explains; of four receivers three are on B and one on A.
    #[test]
    fn what_no_counter_explains_goes_where_reduces_run() {
        let modelled = per_rack([(A, 999.0), (B, 1_000.0)]);
        let measured = per_rack([(A, 6_000.0), (B, 9_000.0), (C, 999.0)]);
        let unexplained = unexplained(&modelled, &measured);
        assert_eq!(unexplained, per_rack([(A, 6_000.0)]));
        let flow = foreign(unexplained, per_rack([(A, 1.0), (B, 3.0)]));
        let account = rates(&[A, B, C], &[flow], &[], &PerRack::new());
        assert_eq!((account.shuffle_total, account.shuffle), (6_000.0, 4_500.0));
        assert_eq!(account.up.get(&A), Some(&4_500.0));
        assert_eq!(account.down.get(&B), Some(&4_500.0));
    }

    /// Counters claim 900 out of A, but A's nodes sent 200 and B's 50.
    #[test]
    fn counters_add_nothing_to_what_nodes_have_sent() {
        let account = Account {
            up: per_rack([(A, 900.0), (B, 20.0)]),
            down: per_rack([(A, 20.0), (B, 900.0)]),
            ..Account::default()
        };
        let sent = per_rack([(A, 200.0), (B, 50.0)]);
        assert_eq!(
            witnessed(&account, &sent, 2),
            per_rack([(A, 200.0), (B, 200.0)])
        );
        // A third rack is silent: what enters may come from there, as far as nodes tell.
        assert_eq!(
            witnessed(&account, &sent, 3),
            per_rack([(A, 200.0), (B, 20.0)])
        );
        assert_eq!(witnessed(&account, &PerRack::new(), 2), PerRack::new());
    }
}
