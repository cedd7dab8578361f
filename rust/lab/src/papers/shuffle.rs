//! ShuffleWatcher's experiments on the mix of SW-30 to SW-33, in the paper's overload: 360 jobs of
//! 168 GB on average, one every 40 s, on links that carry a fraction of that. A run is the four
//! hours of the paper; throughput counts the jobs that end in it.
//!
//! The paper leaves open: slots of a node (here four for maps, two for reduces), the number of
//! reduces (one for 512 MB, at most 20: with a hundred, under Fair two jobs hold every reduce slot
//! for hours), slow start (95 % of the maps), and who wrote the input (one node each).
//! `variants.rs` varies each.

use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table, change};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::network::Cause;
use heddle_sim::cluster_sim::workload::{Mix, shuffle_mix};
use heddle_sim::cluster_sim::{JobRecord, Knowledge, Results, Workload};
use heddle_sim::failure::Checked;
use heddle_sim::plot::{Line, Plot};
use serde_json::{Value, json};

/// Each seed draws its own arrivals and sizes.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

const HOUR_MS: i64 = 3_600_000;

/// The paper's mix at full size.
pub(super) const MIX: Mix = Mix {
    classes: [40, 20, 40],
    users: 30,
    jobs_per_user: 12,
    gap_ms: 40_000,
    scale: 1.0,
};

/// The parameters that the paper does not give.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) mix: Mix,
    pub(super) slots: [u32; 2],
    pub(super) slots_together: Option<u32>,
    pub(super) reduces_max: u32,
    pub(super) slow_start_per_mille: u32,
    pub(super) blocks_per_writer: u32,
    /// Nodes, racks, and bandwidth of a rack's link in bytes per second.
    pub(super) cluster: (u32, u32, u64),
}

impl Default for Case {
    fn default() -> Case {
        Case {
            mix: MIX,
            slots: [4, 2],
            slots_together: None,
            reduces_max: 20,
            slow_start_per_mille: 950,
            blocks_per_writer: u32::MAX,
            cluster: (100, 10, 62_500_000),
        }
    }
}

impl Case {
    fn workload(&self, seed: u64) -> Workload {
        let mut workload = shuffle_mix(&self.mix, seed);
        let hardware = &mut workload.hardware;
        (hardware.nodes, hardware.racks, hardware.rack_bytes_per_s) = self.cluster;
        hardware.slots = self.slots;
        hardware.slots_together = self.slots_together;
        hardware.blocks_per_writer = self.blocks_per_writer;
        for job in &mut workload.jobs {
            job.tasks[1] = job.tasks[1].min(self.reduces_max);
        }
        workload.until_ms = Some(4 * HOUR_MS);
        workload
    }

    fn plans(&self, policy: &Policy, seeds: impl Iterator<Item = u64>) -> Vec<Plan> {
        let plan = |seed| {
            let (workload, config) = (self.workload(seed), policy.config.clone());
            let mut plan = Plan::uneven(workload, policy.name, config, seed);
            plan.options.slow_start_per_mille = self.slow_start_per_mille;
            plan
        };
        seeds.map(plan).collect()
    }
}

/// A policy of the comparison.
pub(super) struct Policy {
    pub(super) name: &'static str,
    config: Value,
}

impl Policy {
    /// Sets a section of its configuration.
    pub(super) fn set(&mut self, section: &str, value: Value) {
        self.config[section] = value;
    }
}

fn stages(name: &'static str, share: &str, place: &str) -> Policy {
    Policy {
        name,
        config: json!({
            "policy": {"share": share, "order": "fifo", "place": place},
            "delay": {"node_wait_ms": 5_000, "rack_wait_ms": 5_000},
        }),
    }
}

pub(super) fn fair() -> Policy {
    stages("Fair", "fair", "local-first")
}

pub(super) fn delay() -> Policy {
    stages("Delay", "fair", "delay")
}

/// The starvation window is "some multiple of the average job completion time" (SW-27), which is
/// half an hour here: one window of four hours.
pub(super) fn watcher(name: &'static str, share: &str, settings: Value) -> Policy {
    let mut policy = stages(name, share, "shuffle-watcher");
    policy.config["shuffle_watcher"] = settings;
    let window = &mut policy.config["shuffle_watcher"]["window_ms"];
    if window.is_null() {
        *window = json!(4 * HOUR_MS);
    }
    policy
}

/// The results of a policy on all workloads.
pub(super) struct Sample(Vec<Results>);

impl Sample {
    /// Runs the policies on the workloads of a case; one sample for each.
    pub(super) fn of(
        runs: &Runs,
        case: &Case,
        policies: &[Policy],
        seeds: std::ops::RangeInclusive<u64>,
    ) -> Checked<Vec<Sample>> {
        let plans = policies
            .iter()
            .flat_map(|policy| case.plans(policy, seeds.clone()));
        let mut plans: Vec<Plan> = plans.collect();
        if runs.knowledge != Knowledge::Full {
            // Operators say what a link carries; the engine cannot know.
            for plan in &mut plans {
                let section = plan.options.config.get_mut("shuffle_watcher");
                if let Some(section) = section {
                    section["uplink_bytes_per_s"] = json!(case.cluster.2);
                }
            }
        }
        let mut results = runs.all(plans)?.into_iter();
        let count = seeds.count();
        let sample = |_: &Policy| Sample(results.by_ref().take(count).collect());
        Ok(policies.iter().map(sample).collect())
    }

    fn finished(&self) -> impl Iterator<Item = &JobRecord> {
        self.0.iter().flat_map(Results::finished)
    }

    /// Jobs of a class that ended.
    pub(super) fn jobs(&self, class: &str) -> f64 {
        let of_class = |job: &&JobRecord| job.class.starts_with(class);
        self.finished().filter(of_class).count() as f64
    }

    /// Change of a sum over the jobs that ended under both policies, in per cent. The mix of all
    /// jobs that end differs between policies: some end large jobs that shuffle little, others more
    /// that shuffle much.
    fn of_both(&self, base: &Sample, amount: fn(&JobRecord) -> f64) -> f64 {
        let (mut ours, mut theirs) = (0.0, 0.0);
        for (a, b) in self.pairs(base) {
            ours += amount(a);
            theirs += amount(b);
        }
        change(ours, theirs)
    }

    /// The jobs that ended under both.
    fn pairs<'a>(
        &'a self,
        base: &'a Sample,
    ) -> impl Iterator<Item = (&'a JobRecord, &'a JobRecord)> {
        let runs = self.0.iter().zip(&base.0);
        runs.flat_map(|(ours, theirs)| {
            ours.finished().filter_map(|job| {
                let other = theirs.finished().find(|other| other.id == job.id)?;
                Some((job, other))
            })
        })
    }

    /// Bytes between racks for each byte that completed jobs read, shuffled and wrote.
    fn crossed(&self) -> f64 {
        self.crossed_by("", crossed)
    }

    fn crossed_by(&self, class: &str, amount: impl Fn(&JobRecord) -> f64) -> f64 {
        let (mut crossed, mut bytes) = (0.0, 0.0);
        let of_class = |job: &&JobRecord| job.class.starts_with(class);
        for job in self.finished().filter(of_class) {
            crossed += amount(job);
            bytes += job.bytes.iter().sum::<u64>() as f64;
        }
        crossed / bytes
    }

    /// The part of the shuffle of a class that crossed, in per cent.
    fn shuffle_crossed(&self, class: &str) -> f64 {
        let (mut crossed, mut bytes) = (0.0, 0.0);
        let of_class = |job: &&JobRecord| job.class.starts_with(class);
        for job in self.finished().filter(of_class) {
            crossed += job.crossed[Cause::Shuffle as usize];
            bytes += job.bytes[1] as f64;
        }
        100.0 * crossed / bytes
    }

    /// Maps by where they were wanted, in per cent: on a rack that SAMP wants, elsewhere near their
    /// data, far from it.
    fn placed(&self) -> Option<[f64; 3]> {
        let mut sum = [0.0; 3];
        for results in &self.0 {
            let maps = &results.stages["place"]["placed"]["maps"];
            for (sum, key) in sum.iter_mut().zip(["preferred", "local", "elsewhere"]) {
                *sum += maps[key].as_f64()?;
            }
        }
        let all: f64 = sum.iter().sum();
        Some(sum.map(|maps| 100.0 * maps / all))
    }

    /// Mean number of tasks of a kind that a job runs at a time, while it runs.
    fn concurrency(&self, kind: usize) -> f64 {
        let of_job = |job: &JobRecord| {
            let ends_ms = if kind == 0 {
                job.mapped_ms?
            } else {
                job.finished_ms?
            };
            let runs_ms = (ends_ms - job.started_ms?).max(1);
            (job.tasks[0] >= 100).then_some(job.slot_ms[kind] as f64 / runs_ms as f64)
        };
        mean(&self.finished().filter_map(of_job).collect::<Vec<_>>())
    }

    /// Bytes between racks over time in the first run, in GB a minute.
    fn over_time(&self, name: &str) -> Line {
        let samples = self.0[0].samples.iter();
        let point = |sample: &heddle_sim::cluster_sim::Sample| {
            (sample.at_ms as f64 / 6e4, sample.crossed / 1e9)
        };
        Line::new(name, samples.map(point).collect())
    }
}

/// The turn-around of a job in s.
fn seconds(job: &JobRecord) -> f64 {
    job.sojourn_ms().unwrap_or(0) as f64 / 1e3
}

/// The bytes of a job between racks, by all causes.
fn crossed(job: &JobRecord) -> f64 {
    job.crossed.iter().sum()
}

/// Adds the three rows of Figure 8.
pub(super) fn compare(
    table: &mut Table,
    what: &str,
    [new, old]: [&Sample; 2],
    paper: [Claim; 3],
    why: [&str; 3],
) {
    let jobs = format!("{:.0} / {:.0} jobs", new.jobs(""), old.jobs(""));
    let throughput = change(new.jobs(""), old.jobs(""));
    let of = |figure| format!("{what}: {figure}");
    table.row_with(
        &of("throughput"),
        paper[0],
        Unit::Change,
        throughput,
        &jobs,
        why[0],
    );
    let turnaround = new.of_both(old, seconds);
    table.row(
        &of("turn-around"),
        paper[1],
        Unit::Change,
        turnaround,
        why[1],
    );
    let of_both = new.of_both(old, crossed);
    let of_both = format!("{} of jobs that ended in both", Unit::Change.text(of_both));
    let traffic = change(new.crossed(), old.crossed());
    let what = of("traffic per byte");
    table.row_with(&what, paper[2], Unit::Change, traffic, &of_both, why[2]);
}

/// SW-34 and SW-36: what crosses under Fair, over time too, and how many tasks a job runs at once.
pub(super) fn traffic(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let policies = [fair(), watcher("SW-fair", "fair", json!({}))];
    let samples = Sample::of(runs, &Case::default(), &policies, SEEDS)?;
    let (old, new) = (&samples[0], &samples[1]);
    let all = old.shuffle_crossed("");
    table.row(
        "Fair: part of the shuffle that crosses racks",
        Claim::Level(90.0, 0.0),
        Unit::Part,
        all,
        "",
    );
    let part = |class, cause: Cause| {
        let amount: f64 = old
            .finished()
            .filter(|job| job.class.starts_with(class))
            .map(|job| job.crossed[cause as usize])
            .sum();
        let all: f64 = old.finished().flat_map(|job| job.crossed).sum();
        100.0 * amount / all
    };
    let writes =
        "all writes cross once (SW-41), and light and medium jobs read much; their mix is ours";
    table.row(
        "Fair: part of the heavy jobs' shuffle in all traffic",
        Claim::AtLeast(75.0),
        Unit::Part,
        part("heavy", Cause::Shuffle),
        writes,
    );
    table.row(
        "Fair: part of remote map reads in all traffic",
        Claim::AtMost(20.0),
        Unit::Part,
        part("", Cause::MapRead),
        "one node wrote each file, so maps elsewhere find its blocks on three racks at most",
    );
    concurrency(&mut table, new, old);
    table.plot(
        "traffic",
        Plot::new(
            "Figures 1 and 10: traffic between racks",
            "minutes",
            "GB per minute",
        )
        .with(old.over_time("Fair"))
        .with(new.over_time("SW-fair")),
    );
    table.note(
        "Five draws of 360 jobs; jobs that ended within the four hours. Concurrency is of jobs \
         with at least 100 maps.",
    );
    Ok(table)
}

/// SW-36: tasks of a job at a time, and jobs that take longer.
fn concurrency(table: &mut Table, new: &Sample, old: &Sample) {
    for (kind, name) in [(0, "map"), (1, "reduce")] {
        let less = change(new.concurrency(kind), old.concurrency(kind));
        table.row(
            &format!("{name}s of a job at a time, SW-fair against Fair"),
            Claim::Less,
            Unit::Change,
            less,
            "the paper's text has no number left",
        );
    }
    let worse = new
        .pairs(old)
        .filter(|(ours, theirs)| seconds(ours) > 1.01 * seconds(theirs))
        .count();
    let count = new.pairs(old).count();
    let part = 100.0 * worse as f64 / count as f64;
    table.row_with(
        "jobs whose turn-around gets worse",
        Claim::AtMost(0.0),
        Unit::Part,
        part,
        &format!("{worse} of {count}"),
        "the paper shows this of its 300 jobs; here some wait while others are better placed",
    );
}

/// SW-35: each variant against its baseline.
pub(super) fn against_baselines(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let relaxed = json!({"relaxed_ms": 5_000});
    let policies = [
        fair(),
        delay(),
        stages("DRF", "drf", "local-first"),
        watcher("SW-fair", "fair", json!({})),
        watcher("SW-relaxed", "fair", relaxed),
        watcher("SW-DRF", "drf", json!({})),
        watcher("SW-fair without ties", "fair", json!({"ties_ms": 0})),
    ];
    let samples = Sample::of(runs, &Case::default(), &policies, SEEDS)?;
    let [fair, delay, drf, strict, relaxed, by_drf, no_ties] = &samples[..] else {
        unreachable!("there are seven policies");
    };
    let change = |of: [f64; 3]| of.map(Claim::Change);
    compare(
        &mut table,
        "SW-fair against Fair",
        [strict, fair],
        change([39.0, -27.0, -36.0]),
        [
            "",
            "",
            "not all maps run where SAMP wants them, and reduces follow only in part: see the \
             notes",
        ],
    );
    compare(
        &mut table,
        "SW-relaxed against Delay",
        [relaxed, delay],
        change([46.0, -32.0, -48.0]),
        [
            "",
            "users wait for a better place while slots are free",
            "more of the jobs that end are shuffle-heavy; less of their shuffle crosses: see the \
             notes",
        ],
    );
    compare(
        &mut table,
        "SW-DRF against DRF",
        [by_drf, drf],
        change([39.0, -27.0, -36.0]),
        ["", "", "as SW-fair"],
    );
    compare(
        &mut table,
        "SW-fair without ties against Fair",
        [no_ties, fair],
        [Claim::Open; 3],
        [""; 3],
    );
    placements(&mut table, [fair, strict, no_ties, relaxed]);
    Ok(table)
}

/// Notes where maps ran, what crossed, and the least that could.
fn placements(table: &mut Table, [fair, strict, no_ties, relaxed]: [&Sample; 4]) {
    for (name, sample) in [
        ("Fair", fair),
        ("SW-fair", strict),
        ("without ties", no_ties),
        ("SW-relaxed", relaxed),
    ] {
        let placed = sample
            .placed()
            .map_or(String::new(), |[preferred, local, far]| {
                format!(
                    "; of the maps {preferred:.0} % on a rack that SAMP wants, {local:.0} % else \
            near their data, {far:.1} % far from it"
                )
            });
        table.note(format!(
            "{name}: {:.0} % of the heavy jobs' shuffle crosses{placed}.",
            sample.shuffle_crossed("heavy")
        ));
    }
    let least = strict.crossed_by("", |job| job.bytes[2] as f64);
    table.note(format!(
        "The least that any placement could reach for the same jobs, each alone \
    on the rack of its input with all its reduces there: {least:.3} bytes for each byte (what \
    HDFS writes to a second rack). SW-fair reaches {:.3}, SW-relaxed {:.3}, Fair {:.3}.",
        strict.crossed(),
        relaxed.crossed(),
        fair.crossed()
    ));
    table.note(
        "Traffic is that of completed jobs for each byte that they read, shuffled and wrote. \
         Policies complete other mixes of jobs, so that of the jobs that ended under both is \
         beside it; turn-around is of those alone. Five draws, four hours each.",
    );
}

/// SW-37: the parts one after the other, each with those before it.
pub(super) fn by_parts(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let part = |name, samp, sarp| watcher(name, "fair", json!({"samp": samp, "sarp": sarp}));
    let policies = [
        fair(),
        part("NASS", false, false),
        part("+ SARP", false, true),
        part("+ SAMP", true, true),
    ];
    let samples = Sample::of(runs, &Case::default(), &policies, SEEDS)?;
    let base = &samples[0];
    let traffic = [
        (
            Claim::Level(0.0, 3.0),
            "ties let a user with local maps go first, so fewer maps read from other racks",
        ),
        (
            Claim::Change(-15.0),
            "nearly all of it is NASS's with ties: fewer maps read from other racks",
        ),
        (
            Claim::Change(-36.0),
            "not all maps run where SAMP wants them, and reduces follow only in part",
        ),
    ];
    for (i, (claim, why)) in traffic.into_iter().enumerate() {
        let (name, sample) = (policies[i + 1].name, &samples[i + 1]);
        let crossed = change(sample.crossed(), base.crossed());
        table.row(
            &format!("{name}: traffic per byte"),
            claim,
            Unit::Change,
            crossed,
            why,
        );
        for class in ["", "heavy", "medium", "light"] {
            let of = if class.is_empty() { "all" } else { class };
            let faster = change(sample.jobs(class), base.jobs(class));
            table.row(
                &format!("{name}: throughput, {of} jobs"),
                Claim::More,
                Unit::Change,
                faster,
                "Figure 12 has bars, no numbers",
            );
        }
    }
    all_parts(&mut table, &samples[3], base);
    Ok(table)
}

/// Adds the rows of NASS, SARP and SAMP together, by class of job.
fn all_parts(table: &mut Table, last: &Sample, base: &Sample) {
    let light = "SARP places reduces of jobs with a ratio above 1 only (SW-9)";
    let heavy = "a reduce starts where a slot is free first, mostly not where SARP wants it";
    for (class, paper, why) in [
        ("heavy", -38.0, heavy),
        ("medium", -23.0, light),
        ("light", -4.0, light),
    ] {
        let less = change(last.shuffle_crossed(class), base.shuffle_crossed(class));
        table.row(
            &format!("all three: shuffle that crosses, {class} jobs"),
            Claim::Change(paper),
            Unit::Change,
            less,
            why,
        );
    }
    let read =
        |sample: &Sample| sample.crossed_by("heavy", |job| job.crossed[Cause::MapRead as usize]);
    table.row(
        "all three: remote reads of heavy jobs",
        Claim::Level(3.0, 5.0),
        Unit::Change,
        change(read(last), read(base)),
        "ties and local maps save more remote reads than SAMP adds",
    );
}
