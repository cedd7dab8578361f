//! `heddle-sim`: runs one simulation and prints what became of its jobs, to compare policies by
//! eye. Figures are of virtual time and of a random workload, not of a real cluster.

use clap::Parser;
use heddle_core::words::ids::{Locality, Millis};
use heddle_sim::{Checks, Features, Limits, Options, Outcome, Plan, Policy, Random, Size, World};

/// Simulates a cluster under a scheduling policy, in virtual time.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Every random number follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many nodes
    #[arg(long, default_value_t = 20)]
    nodes: u32,
    /// On how many racks
    #[arg(long, default_value_t = 2)]
    racks: u32,
    /// How many jobs
    #[arg(long, default_value_t = 50)]
    jobs: u32,
    /// A preset (fair, fair-original, fifo) or share/order/place, with /dominant at the end if so
    /// wanted; all compositions, one after the other, if none is named
    #[arg(long)]
    policy: Option<Policy>,
    /// Whether things go wrong: a random half of all features, by the seed
    #[arg(long)]
    faults: bool,
    /// Whether everything is checked after every event
    #[arg(long)]
    check: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let policies = arguments
        .policy
        .map_or_else(Policy::all, |policy| vec![policy]);
    println!(
        "{:28} {:>5} {:>9} {:>9} {:>9} {:>9} {:>6} {:>6} {:>6} {:>5}",
        "policy",
        "done",
        "wait-50",
        "wait-95",
        "turn-50",
        "turn-95",
        "node%",
        "rack%",
        "off%",
        "use%"
    );
    let mut failed = false;
    for policy in policies {
        match World::new(options(&arguments, policy), None).and_then(World::run) {
            Ok(outcome) => print(policy, &outcome),
            Err(failure) => {
                failed = true;
                eprintln!("{policy}: {failure}");
            }
        }
    }
    println!(
        "Times in seconds of virtual time: from submission to the first container, to the end."
    );
    std::process::exit(i32::from(failed));
}

fn options(arguments: &Arguments, policy: Policy) -> Options {
    let mut plan = Plan::plain(policy);
    for (path, weight) in [("root.a", 1.0), ("root.b", 2.0), ("root.c", 1.0)] {
        let limits = Limits {
            weight,
            ..Limits::default()
        };
        plan.queues.insert(path.to_string(), limits);
    }
    let features = match arguments.faults {
        true => Features::random(&mut Random::new(arguments.seed)),
        false => Features {
            batching: true,
            ..Features::default()
        },
    };
    Options {
        seed: arguments.seed,
        policy,
        features,
        size: Size {
            nodes: arguments.nodes.max(1),
            racks: arguments.racks.max(1),
            jobs: arguments.jobs,
            tasks_max: 200,
            task_ms_max: 20_000,
            load_ms: 120_000,
            heartbeat_ms: 1_000,
            node_gb: 32,
        },
        plan: Some(plan),
        checks: match arguments.check {
            true => Checks::all(),
            false => Checks::none(),
        },
        record: false,
    }
}

fn print(policy: Policy, outcome: &Outcome) {
    let turnarounds = outcome.turnarounds();
    let waits: Vec<Millis> = turnarounds.iter().map(|(wait, _)| *wait).collect();
    let turns: Vec<Millis> = turnarounds.iter().map(|(_, turn)| *turn).collect();
    let named: u32 = outcome.locality.iter().sum();
    let part =
        |locality| 100.0 * f64::from(outcome.named_grants(locality)) / f64::from(named.max(1));
    println!(
        "{:28} {:>5} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>6.1} {:>6.1} {:>6.1} {:>5.1}",
        policy.to_string(),
        turnarounds.len(),
        percentile(&waits, 50),
        percentile(&waits, 95),
        percentile(&turns, 50),
        percentile(&turns, 95),
        part(Locality::NodeLocal),
        part(Locality::RackLocal),
        part(Locality::OffSwitch),
        100.0 * outcome.utilisation(),
    );
}

/// In seconds; 0 of nothing.
fn percentile(times_ms: &[Millis], percent: usize) -> f64 {
    let mut sorted = times_ms.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted
        .get(at)
        .map_or(0.0, |time_ms| *time_ms as f64 / 1_000.0)
}
