//! Dynamic Priority with ten and eighty users: user n bids n, and all levels show in the times of
//! their jobs.

use super::market::{MAP_MS, MINUTE_MS, bidding, big, time_s, user};
use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::workload::{PiUser, pi_streams};
use heddle_sim::cluster_sim::{JobRecord, Results, Workload};
use heddle_sim::failure::Checked;
use heddle_sim::plot::{Line, Plot};
use serde_json::json;

/// The reason why neighbours among eighty users hardly differ.
const GRAIN: &str =
    "odd slots go round each interval, but a map holds its slot for longer than an interval";

fn name(n: usize) -> String {
    format!("user{n:02}")
}

fn workload(users: usize, hours: i64) -> Workload {
    let users: Vec<PiUser> = (1..=users)
        .map(|n| user(&name(n), 1e6, 0.001 * n as f64))
        .collect();
    let mut workload = pi_streams(big(), &users, MAP_MS);
    workload.until_ms = Some(hours * 60 * MINUTE_MS);
    workload
}

/// The mean times of users, from the lowest bid.
fn times(results: &Results, users: usize) -> Vec<f64> {
    (1..=users)
        .map(|n| time_s(results, &name(n), 60 * MINUTE_MS))
        .collect()
}

/// Mean over users of the standard deviation of their jobs' times, in per cent of their mean.
fn spread(results: &Results, users: usize) -> f64 {
    let of = |n: usize| {
        let from_ms = 60 * MINUTE_MS;
        let of_user = |job: &JobRecord| job.user == name(n) && job.submitted_ms >= from_ms;
        let times = results.sojourns_s(of_user);
        let level = mean(&times);
        let squares: Vec<f64> = times.iter().map(|time| (time - level).powi(2)).collect();
        (times.len() > 1).then(|| 100.0 * mean(&squares).sqrt() / level)
    };
    mean(&(1..=users).filter_map(of).collect::<Vec<_>>())
}

/// The ideal line (DP-57): times inverse to shares, with `level` as their mean.
fn ideal(users: usize, level: f64) -> Vec<f64> {
    let harmonic: f64 = (1..=users).map(|n| 1.0 / n as f64).sum();
    let time = |n: usize| level * users as f64 / (n as f64 * harmonic);
    (1..=users).map(time).collect()
}

fn line(name: &str, times: &[f64]) -> Line {
    let points = times.iter().enumerate();
    Line::new(
        name,
        points.map(|(i, time)| ((i + 1) as f64, *time)).collect(),
    )
}

fn quoted(name: &str, times: &[f64]) -> Line {
    Line {
        quoted: true,
        ..line(name, times)
    }
}

/// The ideal line, scaled to meet the best level (DP-57).
fn adjusted(ideal: &[f64], times: &[f64]) -> Vec<f64> {
    let last = times.len() - 1;
    ideal
        .iter()
        .map(|time| time * times[last] / ideal[last])
        .collect()
}

/// Counts the users whose times are between both lines, give or take 20 %.
fn on_lines(users: std::ops::Range<usize>, times: &[f64], ideal: &[f64], adjusted: &[f64]) -> f64 {
    let near = |n: &usize| {
        let (low, high) = (ideal[*n].min(adjusted[*n]), ideal[*n].max(adjusted[*n]));
        (0.8 * low..1.2 * high).contains(&times[*n])
    };
    users.filter(near).count() as f64
}

fn ordered(times: &[f64]) -> usize {
    times.windows(2).filter(|pair| pair[0] > pair[1]).count()
}

/// Draws the times of all users and both ideal lines.
fn plot(
    table: &mut Table,
    figures: &str,
    lines: &[(&str, &Vec<f64>)],
    ideal: &[f64],
    adjusted: &[f64],
) {
    let title = format!("{figures}: mean completion time by user");
    let mut plot = Plot::new(&title, "user (n bids n)", "seconds");
    for (name, times) in lines {
        plot = plot.with(line(name, times));
    }
    plot = plot.with(quoted("ideal line", ideal));
    table.plot("levels", plot.with(quoted("ideal, adjusted", adjusted)));
}

/// DP-54 and DP-58.
pub(super) fn ten_users(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let workload = workload(10, 30);
    let plans = vec![
        Plan::uneven(workload.clone(), "dynamic-priority", bidding(true), 1),
        Plan::uneven(workload.clone(), "no reclaims", bidding(false), 1),
        Plan::uneven(workload.clone(), "fifo", json!({"policy": "fifo"}), 1),
    ];
    let results = runs.all(plans)?;
    let [bids, without, fifo] = [0, 1, 2].map(|i| times(&results[i], 10));
    let level = fifo.iter().sum::<f64>() / 10.0;
    let ideal = ideal(10, level);
    let order = ordered(&bids) as f64;
    table.row(
        "neighbours whose times are in the order of their bids",
        Claim::Level(9.0, 0.0),
        Unit::Count,
        order,
        "",
    );
    let spread =
        fifo.iter().copied().fold(0.0, f64::max) / fifo.iter().copied().fold(1e12, f64::min);
    table.row(
        "FIFO: slowest over fastest user",
        Claim::Level(1.0, 0.2),
        Unit::Times,
        spread,
        "",
    );
    let better = bids.iter().filter(|time| **time < level).count() as f64;
    table.row(
        "users who do better than under FIFO",
        Claim::Level(5.0, 1.0),
        Unit::Count,
        better,
        "the ideal line puts seven of ten below FIFO's mean",
    );
    let adjusted = adjusted(&ideal, &bids);
    let on_line = on_lines(2..9, &bids, &ideal, &adjusted);
    table.row(
        "levels 3 to 9 on the ideal lines, give or take 20 %",
        Claim::AtLeast(7.0),
        Unit::Count,
        on_line,
        "",
    );
    against_shares(&mut table, &bids, level);
    let lines = [
        ("dynamic priority", &bids),
        ("without reclaims", &without),
        ("fifo", &fifo),
    ];
    plot(&mut table, "Figures 5 and 8", &lines, &ideal, &adjusted);
    Ok(table)
}

/// Adds the times of ten users beside what their shares of all slots can give.
fn against_shares(table: &mut Table, bids: &[f64], level: f64) {
    for n in [1, 2, 5, 10] {
        // All slots are busy, so the share of the slots alone gives the time (see the note).
        let possible = level * 5.5 / n as f64;
        let off = 100.0 * (bids[n - 1] / possible - 1.0);
        table.row_with(
            &format!("time of user {n} against what its share can give"),
            Claim::Level(0.0, if n <= 2 { 20.0 } else { 5.0 }),
            Unit::Change,
            off,
            &format!("{:.0} s", bids[n - 1]),
            "",
        );
    }
    table.note(
        "With shares of n/55 and all slots busy, user n's time is 5.5 T/n, where T is FIFO's. The \
         paper's ideal line has 3.41 T/n, so that its mean over users is T (DP-57): no schedule \
         reaches it. Users 1 and 2 may be off by a fifth: the paper has a bias against them, too.",
    );
}

/// DP-55 and DP-59.
pub(super) fn eighty_users(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let workload = workload(80, 100);
    let plans = vec![
        Plan::uneven(workload.clone(), "dynamic-priority", bidding(true), 1),
        Plan::uneven(workload.clone(), "fifo", json!({"policy": "fifo"}), 1),
        Plan::uneven(workload, "no reclaims", bidding(false), 1),
    ];
    let results = runs.all(plans)?;
    let [bids, fifo, without] = [0, 1, 2].map(|i| times(&results[i], 80));
    let level = fifo.iter().sum::<f64>() / 80.0;
    let ideal = ideal(80, level);
    let tenths = |times: &[f64]| -> Vec<f64> {
        let mean = |times: &[f64]| times.iter().sum::<f64>() / 8.0;
        times.chunks(8).map(mean).collect()
    };
    let kept = (ordered(&tenths(&bids)) + 1) as f64;
    table.row(
        "levels in order, of ten groups of eight users",
        Claim::Level(10.0, 0.0),
        Unit::Count,
        kept,
        GRAIN,
    );
    let kept = (ordered(&tenths(&without)) + 1) as f64;
    table.row(
        "the same without reclaims",
        Claim::Level(10.0, 0.0),
        Unit::Count,
        kept,
        GRAIN,
    );
    let spreads = [0, 2].map(|i| spread(&results[i], 80));
    table.row_with(
        "spread of a user's times with reclaims, against without",
        Claim::Less,
        Unit::Change,
        super::change(spreads[0], spreads[1]),
        &format!("{:.1} / {:.1} %", spreads[0], spreads[1]),
        "the paper says `somewhat more stable`, no number, and calls it cosmetic",
    );
    let adjusted = adjusted(&ideal, &bids);
    let within = on_lines(16..80, &bids, &ideal, &adjusted);
    table.row(
        "of the top 80 % of users, those within the ideal lines, give or take 20 %",
        Claim::AtLeast(64.0),
        Unit::Count,
        within,
        GRAIN,
    );
    let served = bids.iter().filter(|time| **time > 0.0).count() as f64;
    table.row("users whose jobs end", Claim::Open, Unit::Count, served, "");
    let lines = [
        ("dynamic priority", &bids),
        ("without reclaims", &without),
        ("fifo", &fifo),
    ];
    plot(&mut table, "Figures 6 and 9", &lines, &ideal, &adjusted);
    table.note(
        "Shares of n/3240: user 1 buys 0.04 of 120 slots, user 80 three. A time of 0 is a user \
         of whom no job ended in the 100 hours.",
    );
    Ok(table)
}
