//! Dynamic Priority's experiments with two users: endless streams of Pi estimators who bid for
//! slots. The machines are those of the paper's Table 2, with one slot per core (DP-50).
//!
//! A map takes 60 s give or take 30 %; the paper does not say. If every map took exactly the time
//! between two reclaims, all slots would become free together, and every reclaim would find all
//! tasks at one point of their course, unlike on real machines.

use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::workload::{PiUser, pi_streams};
use heddle_sim::cluster_sim::{Hardware, Results, Workload};
use heddle_sim::failure::Checked;
use heddle_sim::plot::{Line, Plot};
use serde_json::{Value, json};

pub(super) const MAP_MS: i64 = 60_000;

pub(super) const MINUTE_MS: i64 = 60_000;

/// Returns the paper's big cluster: 30 nodes of 4 cores.
pub(super) fn big() -> Hardware {
    Hardware {
        nodes: 30,
        racks: 1,
        slots: [4, 1],
        ..Hardware::default()
    }
}

/// Returns the policy with the evaluation's 60 s between reclaims (DP-22), or without reclaims.
pub(super) fn bidding(reclaim: bool) -> Value {
    json!({
        "policy": "dynamic-priority",
        "dynamic_priority": {"reclaim_interval_ms": if reclaim { 60_000 } else { 0 }},
    })
}

pub(super) fn user(name: &str, budget: f64, rate: f64) -> PiUser {
    PiUser {
        name: name.to_string(),
        budget,
        rate,
        jobs: None,
        boost: None,
    }
}

/// Returns the mean number of a user's running tasks between two moments.
fn running(results: &Results, user: &str, from_ms: i64, to_ms: i64) -> f64 {
    let within = results
        .samples
        .iter()
        .filter(|sample| (from_ms..to_ms).contains(&sample.at_ms));
    let counts: Vec<f64> = within
        .map(|sample| f64::from(sample.by_user.get(user).copied().unwrap_or(0)))
        .collect();
    mean(&counts)
}

/// Returns the mean time in s of the jobs of a user that were submitted from then on.
pub(super) fn time_s(results: &Results, user: &str, from_ms: i64) -> f64 {
    mean(&results.sojourns_s(|job| job.user == user && job.submitted_ms >= from_ms))
}

fn credits(results: &Results, user: &str, at_ms: i64) -> Option<f64> {
    let sample = results
        .samples
        .iter()
        .rfind(|sample| sample.at_ms <= at_ms)?;
    sample.credits.get(user).copied()
}

/// Returns a user's spending between two moments.
fn spent(results: &Results, user: &str, from_ms: i64, to_ms: i64) -> f64 {
    let at = |ms| credits(results, user, ms).unwrap_or(0.0);
    at(from_ms) - at(to_ms)
}

fn two(budgets: [f64; 2], hours: i64) -> Workload {
    // Per slot and interval of 20 s: queue1's 1,000 last for about 100 minutes on 80 slots.
    let rates = [0.04, 0.02];
    let users = [
        user("queue1", budgets[0], rates[0]),
        user("queue2", budgets[1], rates[1]),
    ];
    let mut workload = pi_streams(big(), &users, MAP_MS);
    workload.until_ms = Some(hours * 60 * MINUTE_MS);
    workload
}

/// DP-52, DP-53 and DP-56. queue1 bids twice as much as queue2: first with 1,000 credits against
/// 10,000 and no reclaims, until queue1 has spent everything; then with 100,000 each and reclaims.
/// Capacity and FIFO run the second part, too.
pub(super) fn two_users(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let rich = two([1e5; 2], 10);
    let capacity =
        json!({"policy": {"share": "capacity", "order": "fifo", "place": "local-first"}});
    let fairshare = json!({
        "policy": {"share": "single", "order": "deficit", "place": "local-first"},
        "queues": [
            {"path": "root.queue1", "min_maps": 80, "min_reduces": 20},
            {"path": "root.queue2", "min_maps": 40, "min_reduces": 10},
        ],
    });
    let plans = vec![
        Plan::uneven(
            two([1_000.0, 10_000.0], 4),
            "no reclaims",
            bidding(false),
            1,
        ),
        Plan::uneven(rich.clone(), "reclaims", bidding(true), 1),
        Plan::uneven(rich.clone(), "no reclaims", bidding(false), 1),
        Plan::uneven(rich.clone(), "capacity", capacity, 1),
        Plan::uneven(rich.clone(), "fifo", json!({"policy": "fifo"}), 1),
        Plan::uneven(rich, "fairshare", fairshare, 1),
    ];
    let results = runs.all(plans)?;
    budgets(&mut table, &results[0], &results[1]);
    completions(&mut table, &results[1..]);
    table.note(
        "Virtual hours instead of the paper's days: budgets are in proportion. T is the mean time \
         under FIFO; the ideal line is 2/3 T and 4/3 T (DP-57). The paper's distances are 800 and \
         300 s for a T of about 3450 s, Capacity's 1000 and 600 s. With shares of 2 to 1 and all \
         slots busy, queue1 ends twice as many jobs, and times are 3/4 T and 3/2 T.",
    );
    Ok(table)
}

/// DP-52, Figure 3.
fn budgets(table: &mut Table, first: &Results, second: &Results) {
    let (from, to) = (20 * MINUTE_MS, 80 * MINUTE_MS);
    let ratio = spent(first, "queue1", from, to) / spent(first, "queue2", from, to);
    table.row(
        "spending of queue1 over queue2, no reclaims",
        Claim::Times(4.0),
        Unit::Times,
        ratio,
        "",
    );
    let slots = |results: &Results, from, to| {
        running(results, "queue1", from, to) / running(results, "queue2", from, to)
    };
    let before = slots(first, from, to);
    table.row(
        "tasks of queue1 over queue2",
        Claim::Times(2.0),
        Unit::Times,
        before,
        "",
    );
    let broke = first
        .samples
        .iter()
        .find(|sample| credits(first, "queue1", sample.at_ms).is_some_and(|left| left < 1.0));
    let broke_ms = broke.map_or(f64::NAN, |sample| sample.at_ms as f64);
    table.row(
        "queue1's budget ends, after",
        Claim::Open,
        Unit::Seconds,
        broke_ms / 1e3,
        "",
    );
    let broke_ms = broke.map_or(0, |sample| sample.at_ms);
    let after = slots(first, broke_ms + 20 * MINUTE_MS, 240 * MINUTE_MS);
    let less = super::change(after, before);
    table.row(
        "then queue2 takes over: queue1 over queue2 against before",
        Claim::Less,
        Unit::Change,
        less,
        "the paper says `degrades sharply`, no number",
    );
    let part = spent(second, "queue2", from, to) / spent(second, "queue1", from, to);
    table.row(
        "spending of queue2 over queue1, with reclaims",
        Claim::Level(26.5, 0.5),
        Unit::Part,
        100.0 * part,
        "",
    );
    let line = |user: &str| {
        let points = first
            .samples
            .iter()
            .filter_map(|sample| Some((sample.at_ms as f64 / 3.6e6, *sample.credits.get(user)?)));
        Line::new(user, points.collect())
    };
    table.plot(
        "budgets",
        Plot::new("Figure 3: budgets, no reclaims", "hours", "credits")
            .with(line("queue1"))
            .with(line("queue2")),
    );
}

/// DP-53 and DP-56, Figures 4 and 7 and Table 3.
fn completions(table: &mut Table, results: &[Results]) {
    let from = 60 * MINUTE_MS;
    let times = |results: &Results| ["queue1", "queue2"].map(|user| time_s(results, user, from));
    let [reclaims, without, capacity, fifo, fairshare] =
        [0, 1, 2, 3, 4].map(|i| times(&results[i]));
    let level = (fifo[0] + fifo[1]) / 2.0;
    let ratio = |of: [f64; 2]| of[1] / of[0];
    let parts = |of: [f64; 2]| format!("{:.0} / {:.0} s", of[1], of[0]);
    table.row_with(
        "time of queue2 over queue1, with reclaims",
        Claim::Times(1.8),
        Unit::Times,
        ratio(reclaims),
        &parts(reclaims),
        "",
    );
    table.row_with(
        "the same under Capacity",
        Claim::Times(1.5),
        Unit::Times,
        ratio(capacity),
        &parts(capacity),
        "here Capacity keeps its parts; the paper's broke tasks off",
    );
    table.row_with(
        "the same under Fairshare",
        Claim::Times(1.5),
        Unit::Times,
        ratio(fairshare),
        &parts(fairshare),
        "Figure 7's caption says `similarly to the capacity share scheduler`; no job ended there",
    );
    table.row_with(
        "the same under FIFO",
        Claim::Level(1.0, 0.05),
        Unit::Times,
        ratio(fifo),
        &parts(fifo),
        "",
    );
    distances(table, level, [reclaims, without, capacity]);
    let rows = [
        ("reclaims", reclaims),
        ("capacity", capacity),
        ("fifo", fifo),
    ];
    let title = "Figure 7: mean completion time";
    let mut plot = Plot::new(title, "share of the queue", "seconds");
    for (name, of) in rows {
        let points = vec![(1.0 / 3.0, of[1]), (2.0 / 3.0, of[0])];
        plot = plot.with(Line::new(name, points));
    }
    let ideal = [4.0 / 3.0 * level, 2.0 / 3.0 * level];
    let ideal = vec![(1.0 / 3.0, ideal[0]), (2.0 / 3.0, ideal[1])];
    table.plot("completion", plot.with(Line::quoted("ideal line", ideal)));
}

/// DP-56, Table 3: how far times are from the ideal line.
fn distances(table: &mut Table, level: f64, [reclaims, without, capacity]: [[f64; 2]; 3]) {
    let ideal = [2.0 / 3.0, 4.0 / 3.0];
    let distance = |of: [f64; 2], i: usize| 100.0 * (of[i] / level - ideal[i]).abs();
    // By queue: the paper's distances under Dynamic Priority and Capacity, and what is possible.
    let paper = [("queue1", 23.2, 29.0, 0.75), ("queue2", 8.7, 17.4, 1.5)];
    for (i, (queue, of_paper, of_capacity, possible)) in paper.into_iter().enumerate() {
        // The goal is half of the paper's distance.
        let goal = Claim::AtMost(of_paper / 2.0);
        let what = format!("{queue} from the ideal line, in parts of T");
        let paper = |part: f64| format!("paper {}", Unit::Part.text(part));
        table.row_with(
            &what,
            goal,
            Unit::Part,
            distance(reclaims, i),
            &paper(of_paper),
            "no schedule reaches the line with all slots busy: see the note",
        );
        let what_capacity = format!("the same under Capacity: {what}");
        let ours = distance(capacity, i);
        let paper = paper(of_capacity);
        table.row_with(&what_capacity, Claim::Open, Unit::Part, ours, &paper, "");
        let off = 100.0 * (reclaims[i] / level - possible).abs();
        let what = format!("{queue} from what shares of 2 to 1 can give");
        table.row(&what, goal, Unit::Part, off, "");
    }
    let without = format!(
        "{:.1} % and {:.1} %",
        distance(without, 0),
        distance(without, 1)
    );
    table.note(format!(
        "Without reclaims the distances are {without} of T."
    ));
}
