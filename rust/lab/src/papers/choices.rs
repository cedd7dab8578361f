//! Choices that are ours: each beside its alternatives, on small cases. A paper leaves them open,
//! or says something else; the notes say what is kept and why. Keys of `testing.choices` make the
//! alternatives that no operator can set.

use super::shuffle::{Case, MIX, Sample, compare, delay, watcher};
use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table, change, goals, named};
use heddle_sim::cluster_sim::metrics::{jain, mean};
use heddle_sim::cluster_sim::workload::{Burst, DataSets, JobPlan, Mix, long_short, pigmix};
use heddle_sim::cluster_sim::{Hardware, Results, Workload};
use heddle_sim::failure::Checked;
use serde_json::{Value, json};

/// A choice: its name in the rows, and its settings.
type Choice = (&'static str, Value);

/// The paper's dedicated cluster (SW-39) with half of its jobs.
fn small_mix() -> Case {
    Case {
        mix: Mix {
            users: 5,
            jobs_per_user: 36,
            scale: 0.16,
            ..MIX
        },
        reduces_max: 16,
        cluster: (16, 4, 25_000_000),
        ..Case::default()
    }
}

/// SW-26: how a user who is passed over waits.
pub(super) fn waits(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let ways = [
        ("5 s for wanted racks, then 5 s for data (ours)", [1.0, 1.0]),
        ("2.5 s for each", [0.5, 0.5]),
        ("5 s for wanted racks", [1.0, 0.0]),
        ("5 s for data", [0.0, 1.0]),
    ];
    let mut policies = vec![delay()];
    policies.extend(ways.map(|(name, _)| watcher(name, "fair", json!({"relaxed_ms": 5_000}))));
    for (policy, (_, [wanted, data])) in policies[1..].iter_mut().zip(ways) {
        let waits = json!({"choices": {"wait_wanted": wanted, "wait_data": data}});
        policy.set("testing", waits);
    }
    let samples = Sample::of(runs, &small_mix(), &policies, 1..=10)?;
    for ((name, _), sample) in ways.iter().zip(&samples[1..]) {
        let what = format!("{name}, against Delay");
        compare(
            &mut table,
            &what,
            [sample, &samples[0]],
            [Claim::Open; 3],
            [""; 3],
        );
    }
    table.note("Ten draws of 180 jobs on 16 nodes in four racks; the rest as in SW-39.");
    table.note(
        "SW-26: keep 5 s for each. Most jobs end, and least crosses. 5 s for wanted racks alone \
         turn jobs around sooner, but fewer end; waits half as long, or for data alone, are \
         worse in all three.",
    );
    Ok(table)
}

/// RA-17: the division of a period that is too short for all that jobs want in it.
pub(super) fn division(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let ways = [("equal work (ours)", false), ("equal utility", true)];
    for (case, burst, feasible) in [
        ("feasible", Burst::Sine, true),
        ("feasible, bursts x4", Burst::OnOff(4.0), true),
        ("overloaded", Burst::Sine, false),
    ] {
        let sets = goals::sets(burst, feasible);
        for (name, equal_utility) in ways {
            let mut plans = Vec::new();
            for set in &sets {
                let mut plan = goals::plan(set, goals::EXACT)?;
                plan.options.config["testing"] =
                    json!({"choices": {"equal_utility": equal_utility}});
                plans.push(plan);
            }
            let results = runs.all(plans)?;
            let (met, all) = results
                .iter()
                .map(Results::goals)
                .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let relative: Vec<f64> = results.iter().flat_map(goals::relative).collect();
            let over: Vec<f64> = relative.iter().map(|part| (part - 1.0).max(0.0)).collect();
            let parts = format!(
                "of {all}; mean overrun {:.4}, Jain {:.2}",
                mean(&over),
                jain(&relative)
            );
            let missed = f64::from(all - met);
            let what = format!("{case}: goals missed, {name}");
            table.row_with(&what, Claim::Open, Unit::Count, missed, &parts, "");
        }
    }
    table.note(
        "By RA-26 the utility of work in a period is the part of the wish that is granted, so \
         equal utility divides in proportion to wishes. Eight sets of 160 jobs each; overloaded \
         sets keep the jobs whose goals cannot be met.",
    );
    table.note(
        "RA-17: keep equal work. Equal utility misses somewhat fewer goals in each case. But \
         the paper's own example (RA-19) grants the small rest of J3 in full; division by \
         utility does not.",
    );
    Ok(table)
}

/// Times in s of the jobs of a class.
fn time(results: &Results, class: &str) -> f64 {
    mean(&results.sojourns_s(|job| job.class == class))
}

fn twenty_nodes() -> Hardware {
    Hardware {
        nodes: 20,
        racks: 1,
        ..Hardware::default()
    }
}

/// The deficits' configuration with these settings.
fn deficits(settings: &Value) -> Checked<Value> {
    let mut config = named("single/deficit/local-first")?;
    for key in ["deficit", "testing", "heartbeat"] {
        if !settings[key].is_null() {
            config[key] = settings[key].clone();
        }
    }
    Ok(config)
}

/// FS-15, FS-16 and FS-20.
pub(super) fn original(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    published(&mut table, runs)?;
    boosts(&mut table, runs)?;
    minimums(&mut table, runs)?;
    table.note(
        "FS-15: keep. As published short jobs end somewhat sooner, but a job of one task \
         collects a due of half the cluster at the cost of all others. Slow start and two tasks \
         a heartbeat change nothing here: the ApplicationMaster holds its reduces back itself, \
         and nodes free one slot at a time. Weight by size delays short jobs.",
    );
    table.note(
        "FS-20: keep, off unless asked for. A boost of 3 ends short jobs two fifths sooner and \
         costs the long ones nothing; the factor counts, not its time. Jobs that wait in line \
         for their user's limit spend the boost waiting. Counted from the first task, which is \
         nearer to the proposal's words, it helps them too: to be changed if such lines matter.",
    );
    table.note(
        "FS-16: keep. All slots are busy either way. Only in proportion does each pool get the \
         same part of its promise; a pool without one waits whenever promises fill the cluster.",
    );
    Ok(table)
}

/// FS-15: the scheduler as published in 2008 and 2009 against ours, one difference at a time.
fn published(table: &mut Table, runs: &Runs) -> Checked {
    let one_each = json!({"containers_max": 2});
    let ways: [Choice; 6] = [
        ("ours", json!({})),
        (
            "dues beyond demand",
            json!({"deficit": {"cap_demand": false}}),
        ),
        (
            "slow start of 5 %",
            json!({"deficit": {"slow_start": 0.05}}),
        ),
        ("weight by size", json!({"deficit": {"size_weight": true}})),
        ("two tasks a heartbeat", json!({"heartbeat": one_each})),
        (
            "as published",
            json!({
                "deficit": {"cap_demand": false, "slow_start": 0.05},
                "heartbeat": one_each,
            }),
        ),
    ];
    for (name, settings) in ways {
        let mut plans = vec![Plan::new(one_pool(20, 120_000), name, deficits(&settings)?)];
        for seed in 1..=5 {
            let workload = pigmix(DataSets::Large, seed);
            let mut plan = Plan::uneven(workload, name, deficits(&settings)?, seed);
            plan.options.slow_start_per_mille = 950;
            plans.push(plan);
        }
        let results = runs.all(plans)?;
        let pig = results[1..]
            .iter()
            .map(Results::mean_sojourn_s)
            .sum::<f64>()
            / 5.0;
        let parts = format!(
            "long jobs {:.0} s; PigMix LARGE {pig:.0} s",
            time(&results[0], "long")
        );
        let what = format!("mean time of short jobs, {name}");
        table.row_with(
            &what,
            Claim::Open,
            Unit::Seconds,
            time(&results[0], "short"),
            &parts,
            "",
        );
    }
    Ok(())
}

/// FS-20: how much, how long and from when new jobs weigh more.
fn boosts(table: &mut Table, runs: &Runs) -> Checked {
    let boost =
        |factor: u32, minutes: u32| json!({"factor": factor, "duration_ms": 60_000 * minutes});
    let from_start = json!({"choices": {"new_from_start": true}});
    let ways: [Choice; 5] = [
        ("no boost (ours)", json!({})),
        ("x3 for 10 min", json!({"new_job_boost": boost(3, 10)})),
        (
            "x3 for 10 min from the first task",
            json!({"new_job_boost": boost(3, 10)}),
        ),
        ("x3 for 5 min", json!({"new_job_boost": boost(3, 5)})),
        ("x2 for 10 min", json!({"new_job_boost": boost(2, 10)})),
    ];
    for (case, count, gap_ms, most) in [
        ("side by side", 20, 120_000, None),
        ("in line", 60, 30_000, Some(10)),
    ] {
        for (name, deficit) in &ways {
            let mut settings = json!({"deficit": deficit});
            if let Some(most) = most {
                settings["deficit"]["user_max_jobs"] = json!(most);
            }
            if name.ends_with("first task") {
                settings["testing"] = from_start.clone();
            }
            let workload = one_pool(count, gap_ms);
            let results = runs.all(vec![Plan::uneven(workload, name, deficits(&settings)?, 1)])?;
            let parts = format!("long jobs {:.0} s", time(&results[0], "long"));
            let what = format!("{case}: mean time of short jobs, {name}");
            let short = time(&results[0], "short");
            table.row_with(&what, Claim::Open, Unit::Seconds, short, &parts, "");
        }
    }
    Ok(())
}

/// One pool of nine long jobs, which want all slots for an hour, and of short ones, which want half
/// of them once: FS-27 as jobs that compete. Alone in its pool a job's weight changes nothing, and
/// neither does it for a job that wants less than its part.
fn one_pool(count: u32, gap_ms: i64) -> Workload {
    let mut workload = long_short(twenty_nodes(), count, gap_ms);
    let mut long = workload.jobs.remove(0);
    long.tasks[0] /= 9;
    workload.jobs.splice(0..0, vec![long; 9]);
    for job in &mut workload.jobs {
        job.user = "all".to_string();
        if job.class == "short" {
            job.tasks[0] = 20;
        }
    }
    workload
}

/// FS-16: minimums of 60 and 20 on 40 slots, beside a pool without one.
fn minimums(table: &mut Table, runs: &Runs) -> Checked {
    let names = ["a", "b", "c"];
    for (what, [a, b]) in [
        ("in proportion (ours)", [60, 20]),
        ("the first in full", [40, 0]),
        ("in equal parts", [20, 20]),
        ("not at all", [0, 0]),
    ] {
        let job = |user: &&str| JobPlan {
            user: (*user).to_string(),
            tasks: [2_000, 0],
            map_ms: Some(30_000),
            ..JobPlan::default()
        };
        let workload = Workload {
            name: "minimums".to_string(),
            hardware: twenty_nodes(),
            jobs: names.iter().map(job).collect(),
            until_ms: Some(900_000),
            config: json!({"queues": [
                {"path": "root.a", "min_maps": a}, {"path": "root.b", "min_maps": b},
            ]}),
            ..Workload::default()
        };
        let mut plan = Plan::uneven(workload, what, deficits(&json!({}))?, 1);
        plan.options.sample_ms = 1_000;
        let results = runs.all(vec![plan])?;
        let slots = names.map(|name| {
            let late = results[0]
                .samples
                .iter()
                .filter(|sample| sample.at_ms >= 300_000);
            let of = late.map(|sample| f64::from(sample.by_user.get(name).copied().unwrap_or(0)));
            mean(&of.collect::<Vec<_>>())
        });
        let parts = format!("{:.1}, {:.1}, {:.1} slots", slots[0], slots[1], slots[2]);
        let what = format!("minimums of 60 and 20 of 40 slots, {what}: slots in use");
        table.row_with(
            &what,
            Claim::Open,
            Unit::Count,
            slots.iter().sum(),
            &parts,
            "",
        );
    }
    Ok(())
}

/// HF-11 and HF-20: slots of either kind, and how exactly the engine ages its virtual cluster.
pub(super) fn sizes(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    kinds(&mut table, runs)?;
    aging(&mut table, runs)?;
    table.note(
        "HF-11: keep. Slots by kind are the paper's machines; on YARN a container takes either \
         kind unless `slots` tells them apart. Slots for either kind shorten all times, FAIR's \
         more: no reduce slots stand idle while maps wait. HFSP stays ahead. Reduces begin \
         after the maps here, three draws each.",
    );
    table.note(
        "HF-17 and HF-20: keep. With hundreds of jobs at a time, a quarter or four times as \
         many phases or steps move the mean by less than 0.1 %. Two draws of 400 jobs.",
    );
    Ok(table)
}

fn pig_plan(workload: Workload, policy: &str, choices: &Value, seed: u64) -> Checked<Plan> {
    let mut config = named(policy)?;
    config["testing"] = json!({"choices": choices});
    let mut plan = Plan::uneven(workload, policy, config, seed);
    plan.options.slow_start_per_mille = 950;
    Ok(plan)
}

fn mean_time(results: &[Results]) -> f64 {
    results.iter().map(Results::mean_sojourn_s).sum::<f64>() / results.len() as f64
}

/// HF-11: two map slots and a reduce slot on each node, or three for either kind.
fn kinds(table: &mut Table, runs: &Runs) -> Checked {
    for (name, set) in [("SMALL", DataSets::Small), ("LARGE", DataSets::Large)] {
        for (kinds, together) in [
            ("slots by kind (ours)", false),
            ("slots for either kind", true),
        ] {
            let mut plans = Vec::new();
            for policy in ["fair-jobs", "hfsp"] {
                for seed in 1..=3 {
                    let mut workload = pigmix(set, seed);
                    if together {
                        workload.hardware.slots = [3, 3];
                        workload.hardware.slots_together = Some(3);
                    }
                    let mut plan = pig_plan(workload, policy, &json!({}), seed)?;
                    // Earlier reduces may fill all slots while the last maps wait: MapReduce's
                    // ApplicationMaster stops some then, the simulated one does not.
                    plan.options.slow_start_per_mille = 1_000;
                    plans.push(plan);
                }
            }
            let results = runs.all(plans)?;
            let (fair, hfsp) = results.split_at(3);
            let (fair, hfsp) = (mean_time(fair), mean_time(hfsp));
            let parts = format!("{fair:.0} / {hfsp:.0} s");
            let what = format!("{name}: FAIR over HFSP, {kinds}");
            table.row_with(&what, Claim::Open, Unit::Times, fair / hfsp, &parts, "");
        }
    }
    Ok(())
}

/// HF-17 and HF-20, with 400 jobs in the time of a hundred: up to some hundred phases at a time.
fn aging(table: &mut Table, runs: &Runs) -> Checked {
    let ways: [Choice; 5] = [
        ("32 phases, 16 steps (ours)", json!({})),
        ("8 phases", json!({"aging_phases": 8})),
        ("128 phases", json!({"aging_phases": 128})),
        ("4 steps", json!({"aging_steps": 4})),
        ("64 steps", json!({"aging_steps": 64})),
    ];
    let crowd = |seed: u64| {
        let mut workload = pigmix(DataSets::Large, 4 * seed);
        for other in 1..4 {
            workload
                .jobs
                .extend(pigmix(DataSets::Large, 4 * seed + other).jobs);
        }
        workload.jobs.sort_by_key(|job| job.submit_ms);
        workload
    };
    let mut base = f64::NAN;
    for (name, choices) in ways {
        let plans: Checked<Vec<Plan>> = (1..=2)
            .map(|seed| pig_plan(crowd(seed), "hfsp", &choices, seed))
            .collect();
        let results = runs.all(plans?)?;
        let time = mean_time(&results);
        if base.is_nan() {
            base = time;
        }
        let jobs = results
            .iter()
            .flat_map(|of| &of.samples)
            .map(|sample| sample.jobs)
            .max();
        let parts = format!(
            "{:+.2} %; up to {} jobs at a time",
            change(time, base),
            jobs.unwrap_or(0)
        );
        let what = format!("400 jobs: mean sojourn, {name}");
        table.row_with(&what, Claim::Open, Unit::Seconds, time, &parts, "");
    }
    Ok(())
}
