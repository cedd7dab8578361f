//! The report for a terminal.

use super::figures::{self, Change, Fate, Figures, Outcome};
use crate::terminal::{clean, table};
use std::fmt::Write;

/// Winners and losers listed of each kind.
pub(crate) const LISTED_MAX: usize = 5;

/// Rows of a table by queue or user; whatif.json has all.
const ROWS_MAX: usize = 60;

/// The heading of a table of figures, after the columns that name a row.
pub(crate) const FIGURES: [&str; 7] = [
    "jobs",
    "ended",
    "wait-median",
    "wait-p95",
    "turn-mean",
    "turn-median",
    "turn-p95",
];

/// Returns the cells under `FIGURES`. Times in s.
pub(crate) fn cells(figures: &Figures) -> Vec<String> {
    let times = [
        figures.waited[0],
        figures.waited[1],
        figures.mean_turn,
        figures.turn[0],
    ];
    let counts = [figures.jobs, figures.ended].map(|count| count.to_string());
    // A trace may say of no job when it started, or when it ended.
    let text = |time: Option<f64>| time.map_or("-".to_string(), |time| format!("{time:.1}"));
    let times = times.into_iter().chain([figures.turn[1]]).map(text);
    counts.into_iter().chain(times).collect()
}

/// Returns the cells of a whole outcome beyond its figures.
pub(crate) fn totals(outcome: &Outcome) -> [String; 5] {
    let part =
        |part: Option<f64>| part.map_or("-".to_string(), |part| format!("{:.1}%", part * 1e2));
    let near = outcome.locality.map(|counts| {
        let all = figures::total(counts.into_iter());
        counts[0] as f64 / all.max(1) as f64
    });
    let refused = outcome
        .fates
        .iter()
        .filter(|fate| fate.refused.is_some())
        .count();
    [
        part(outcome.used.map(|used| used[0])),
        part(outcome.used.map(|used| used[1])),
        outcome
            .preempted
            .map_or("-".to_string(), |count| count.to_string()),
        part(near),
        refused.to_string(),
    ]
}

/// The heading of `totals`.
pub(crate) const TOTALS: [&str; 5] = ["memory", "cores", "preempted", "node-local", "refused"];

/// Returns rows for these values of a key, sorted, and every outcome.
pub(crate) fn rows(
    outcomes: &[Outcome],
    key: fn(&Fate) -> &str,
    mut names: Vec<&str>,
) -> Vec<Vec<String>> {
    let by: Vec<_> = outcomes
        .iter()
        .map(|outcome| (&outcome.name, outcome.by(key)))
        .collect();
    names.sort_unstable();
    let mut all = Vec::new();
    for name in names {
        for (outcome, rows) in &by {
            if let Some(figures) = rows.get(name) {
                let named = vec![name.to_string(), outcome.to_string()];
                all.push(named.into_iter().chain(cells(figures)).collect());
            }
        }
    }
    all
}

/// Returns the heading and the rows of the table of all jobs: a row for each candidate.
pub(super) fn all_jobs(outcomes: &[Outcome]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let heading = ["candidate"].into_iter().chain(FIGURES).chain(TOTALS);
    let rows = outcomes.iter().map(|outcome| {
        let row = [outcome.name.clone()]
            .into_iter()
            .chain(cells(&outcome.figures()));
        row.chain(totals(outcome)).collect()
    });
    (heading.collect(), rows.collect())
}

pub(crate) fn report(outcomes: &[Outcome], baseline: usize, unknown: &[&str]) -> String {
    let mut text = String::from("Times in s.\n\n");
    let (heading, all) = all_jobs(outcomes);
    text += &table(&heading, &all);
    for (name, key) in [
        ("queue", figures::queue_of as fn(&Fate) -> &str),
        ("user", figures::user_of),
    ] {
        let (names, _) = figures::largest(outcomes, key, usize::MAX);
        let rows = rows(outcomes, key, names);
        let heading: Vec<&str> = [name, "candidate"].into_iter().chain(FIGURES).collect();
        text.push('\n');
        text += &table(&heading, &rows[..rows.len().min(ROWS_MAX)]);
        if rows.len() > ROWS_MAX {
            let _ = writeln!(
                text,
                "... {} more rows; --out writes all",
                rows.len() - ROWS_MAX
            );
        }
    }
    for (at, other) in outcomes.iter().enumerate().skip(1) {
        if at != baseline {
            text += &winners(&outcomes[baseline], other);
        }
    }
    text += "\nWhat this does not know:\n";
    for line in unknown {
        let _ = writeln!(text, "- {}", clean(line));
    }
    text
}

fn winners(baseline: &Outcome, other: &Outcome) -> String {
    // Names of jobs and users are whatever a history says; those of candidates may be files.
    let names = [other, baseline].map(|outcome| clean(&outcome.name));
    let mut text = format!("\n{} instead of {}:\n", names[0], names[1]);
    for (what, changes) in [
        ("user", figures::users(baseline, other)),
        ("job", figures::jobs(baseline, other)),
    ] {
        let line = |change: &Change| {
            let name = clean(&change.name);
            let (before, after) = (change.before_s, change.after_s);
            format!(
                "  {what} {name}: {before:.1} -> {after:.1} ({:+.1})\n",
                change.by_s()
            )
        };
        let wins = changes
            .iter()
            .filter(|change| change.by_s() < 0.0)
            .take(LISTED_MAX);
        let loses = changes
            .iter()
            .rev()
            .filter(|change| change.by_s() > 0.0)
            .take(LISTED_MAX);
        text += &wins.map(line).collect::<String>();
        text += &loses.map(line).collect::<String>();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, fate: Fate) -> Outcome {
        Outcome {
            name: name.to_string(),
            fates: vec![fate],
            ..Outcome::default()
        }
    }

    #[test]
    fn what_is_unknown_is_no_time() {
        let fate = Fate {
            turn_s: Some(8.0),
            ..Fate::default()
        };
        let row = cells(&outcome("recorded", fate).figures());
        assert_eq!(row, ["1", "1", "-", "-", "8.0", "8.0", "8.0"]);
    }

    #[test]
    fn places_are_counted_up_to_the_highest_number() {
        let counted = Outcome {
            locality: Some([u64::MAX; 3]),
            ..Outcome::default()
        };
        assert_eq!(totals(&counted)[3], "100.0%");
    }

    #[test]
    fn no_name_of_a_history_reaches_the_terminal_as_it_is() {
        let fate = |turn_s| Fate {
            id: "job\u{1b}[2J".to_string(),
            user: "ann\u{202e}".to_string(),
            turn_s: Some(turn_s),
            ..Fate::default()
        };
        let before = outcome("fair", fate(2.0));
        for (after, by) in [(1.0, "-1.0"), (3.0, "+1.0")] {
            let other = outcome("a\u{7}.json", fate(after));
            let told = report(&[before.clone(), other], 0, &["nodes\u{9b}"]);
            let shown = |c: char| c == '\n' || (!c.is_control() && c != '\u{202e}');
            assert!(told.chars().all(shown), "{told:?}");
            let job = format!("job job\\u{{1b}}[2J (ann\\u{{202e}}): 2.0 -> {after:.1} ({by})");
            assert!(told.contains(&job), "{told}");
        }
    }
}
