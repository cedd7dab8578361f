//! What came of the jobs, as recorded or simulated, and the figures of it. Writes only pictures.

use heddle_core::words::resource::Resource;
use heddle_history::{End, History};
use heddle_sim::cluster_sim::Results;
use heddle_sim::cluster_sim::metrics::{mean, percentile};
use heddle_sim::plot::{Line, Plot};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// What came of a job. Times in s.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fate {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    /// Its maps and reduces in the history; containers of other applications count as maps.
    pub(crate) tasks: [usize; 2],
    /// From the submission to the first container.
    pub(crate) waited_s: Option<f64>,
    /// From the submission to the end.
    pub(crate) turn_s: Option<f64>,
    /// Why the policy refused it.
    pub(crate) refused: Option<String>,
}

/// What came of all jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// In the order of the history's jobs.
    pub(crate) fates: Vec<Fate>,
    /// The part of memory and of cores that was held from the first submission to the last end.
    pub(crate) used: Option<[f64; 2]>,
    /// Containers that the scheduler took.
    pub(crate) preempted: Option<u64>,
    /// Maps on a node with their data, on a rack with it, elsewhere.
    pub(crate) locality: Option<[u64; 3]>,
    /// Jobs that have not ended, over hours.
    pub(crate) open: Vec<(f64, f64)>,
}

impl Outcome {
    /// Returns what the history says.
    pub(crate) fn recorded(history: &History) -> Outcome {
        let fates = history.jobs.iter().map(|job| Fate {
            id: job.id.clone(),
            name: job.name.clone(),
            user: job.user.clone(),
            queue: job.queue.clone().unwrap_or_default(),
            tasks: tasks(job),
            waited_s: job.waited_ms().map(seconds),
            turn_s: job
                .turn_around_ms()
                .filter(|_| job.end != End::Open)
                .map(seconds),
            refused: None,
        });
        let begin = history
            .jobs
            .iter()
            .map(|job| job.submitted_ms)
            .min()
            .unwrap_or(0);
        let spans = history
            .jobs
            .iter()
            .filter_map(|job| Some((job.submitted_ms - begin, job.finished_ms? - begin)));
        let end = history
            .jobs
            .iter()
            .filter_map(|job| job.finished_ms)
            .max()
            .unwrap_or(begin);
        let room = history
            .nodes
            .iter()
            .map(|node| node.capacity)
            .collect::<Option<Vec<_>>>();
        let held: Option<Vec<[i64; 2]>> = history.jobs.iter().map(|job| job.held).collect();
        let used = room
            .zip(held)
            .map(|(room, held)| used(&held, &room, end - begin));
        let preempted: Option<Vec<u64>> = history.jobs.iter().map(|job| job.preempted).collect();
        let places: Vec<[u64; 3]> = history.jobs.iter().filter_map(|job| job.locality).collect();
        // Counters are whatever a history says, the highest number too.
        let sum = |at: usize| total(places.iter().map(|counts| counts[at]));
        Outcome {
            name: "recorded".to_string(),
            fates: fates.collect(),
            used,
            preempted: preempted.map(|all| total(all.into_iter())),
            locality: (!places.is_empty()).then(|| [sum(0), sum(1), sum(2)]),
            open: open(spans.collect()),
        }
    }

    /// Returns the outcome of a simulation on nodes of these sizes.
    pub(crate) fn simulated(
        name: String,
        history: &History,
        results: &Results,
        nodes: &[Resource],
    ) -> Outcome {
        let fate = |(job, record): (&heddle_history::Job, &_)| {
            let record: &heddle_sim::cluster_sim::JobRecord = record;
            let first = record.master_ms.or(record.started_ms);
            Fate {
                id: job.id.clone(),
                name: job.name.clone(),
                user: job.user.clone(),
                queue: job.queue.clone().unwrap_or_else(|| record.queue.clone()),
                tasks: tasks(job),
                waited_s: first.map(|at| seconds(at - record.submitted_ms)),
                turn_s: record.sojourn_ms().map(seconds),
                refused: record.refused.clone(),
            }
        };
        let fates = history.jobs.iter().zip(&results.jobs).map(fate).collect();
        let end = results
            .jobs
            .iter()
            .filter_map(|job| job.finished_ms)
            .max()
            .unwrap_or(0);
        let held: Vec<[i64; 2]> = results.jobs.iter().map(|job| job.held).collect();
        let spans = results
            .jobs
            .iter()
            .filter_map(|job| Some((job.submitted_ms, job.finished_ms?)));
        let locality = results.locality();
        Outcome {
            name,
            fates,
            used: Some(used(&held, nodes, end)),
            preempted: Some(results.wasted[0]),
            locality: locality.iter().any(|count| *count > 0).then_some(locality),
            open: open(spans.collect()),
        }
    }

    /// Returns a row of figures for all jobs.
    pub(crate) fn figures(&self) -> Figures {
        Figures::of(&self.fates.iter().collect::<Vec<_>>())
    }

    /// Returns rows by a key of the jobs, in its order.
    pub(crate) fn by(&self, key: fn(&Fate) -> &str) -> BTreeMap<&str, Figures> {
        let mut groups: BTreeMap<&str, Vec<&Fate>> = BTreeMap::new();
        for fate in &self.fates {
            groups.entry(key(fate)).or_default().push(fate);
        }
        groups
            .into_iter()
            .map(|(key, fates)| (key, Figures::of(&fates)))
            .collect()
    }

    pub(crate) fn as_json(&self) -> Value {
        let by = |key| -> Value {
            let rows = self.by(key).into_iter();
            rows.map(|(name, figures)| (name.to_string(), figures.as_json()))
                .collect()
        };
        json!({
            "name": self.name,
            "all": self.figures().as_json(),
            "by_queue": by(queue_of),
            "by_user": by(user_of),
            "utilisation": self.used.map(|[memory, vcores]| {
                json!({"memory": memory, "vcores": vcores})
            }),
            "preempted": self.preempted,
            "locality": self.locality,
        })
    }
}

pub(crate) fn queue_of(fate: &Fate) -> &str {
    &fate.queue
}

pub(crate) fn user_of(fate: &Fate) -> &str {
    &fate.user
}

/// Returns the sum, or the highest number if it is above.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn seconds(ms: i64) -> f64 {
    ms as f64 / 1e3
}

fn used(held: &[[i64; 2]], room: &[Resource], span_ms: i64) -> [f64; 2] {
    [0, 1].map(|at| {
        let held: f64 = held.iter().map(|held| held[at] as f64).sum();
        let room: f64 = room.iter().map(|room| room[at] as f64).sum();
        held / (room * span_ms as f64).max(1.0)
    })
}

/// Returns the number of open jobs after each submission and end, over hours.
fn open(spans: Vec<(i64, i64)>) -> Vec<(f64, f64)> {
    let mut changes: BTreeMap<i64, f64> = BTreeMap::new();
    for (from, to) in spans {
        *changes.entry(from).or_default() += 1.0;
        *changes.entry(to.max(from)).or_default() -= 1.0;
    }
    let mut count = 0.0;
    let mut points = Vec::new();
    for (at, change) in changes {
        let at = at as f64 / 3.6e6;
        points.push((at, count));
        count += change;
        points.push((at, count));
    }
    points
}

/// Figures of some jobs. Times in s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) jobs: usize,
    pub(crate) ended: usize,
    pub(crate) refused: usize,
    /// Median and 95th percentile; none if it is known of no job.
    pub(crate) waited: [Option<f64>; 2],
    pub(crate) turn: [Option<f64>; 2],
    pub(crate) mean_turn: Option<f64>,
}

impl Figures {
    fn of(fates: &[&Fate]) -> Figures {
        let waited: Vec<f64> = fates.iter().filter_map(|fate| fate.waited_s).collect();
        let turn: Vec<f64> = fates.iter().filter_map(|fate| fate.turn_s).collect();
        // Of no values these would be 0, which reads as if it were known.
        let known = |times: &[f64], figure: f64| (!times.is_empty()).then_some(figure);
        let figures =
            |times: &[f64]| [50, 95].map(|percent| known(times, percentile(times, percent)));
        Figures {
            jobs: fates.len(),
            ended: turn.len(),
            refused: fates.iter().filter(|fate| fate.refused.is_some()).count(),
            waited: figures(&waited),
            turn: figures(&turn),
            mean_turn: known(&turn, mean(&turn)),
        }
    }

    fn as_json(self) -> Value {
        json!({
            "jobs": self.jobs,
            "ended": self.ended,
            "refused": self.refused,
            "waiting_s": {"median": self.waited[0], "p95": self.waited[1]},
            "turn_around_s": {
                "mean": self.mean_turn, "median": self.turn[0], "p95": self.turn[1],
            },
        })
    }
}

/// How much longer a user or job takes than in the baseline, in s; below 0 it wins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) before_s: f64,
    pub(crate) after_s: f64,
}

impl Change {
    pub(crate) fn by_s(&self) -> f64 {
        self.after_s - self.before_s
    }
}

/// Returns the change of every user's mean turn-around, winners first. Only jobs that ended in both
/// count.
pub(crate) fn users(baseline: &Outcome, other: &Outcome) -> Vec<Change> {
    let mut users: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (before, after) in baseline.fates.iter().zip(&other.fates) {
        if let (Some(before_s), Some(after_s)) = (before.turn_s, after.turn_s) {
            users
                .entry(&before.user)
                .or_default()
                .push((before_s, after_s));
        }
    }
    let change = |(user, times): (&str, Vec<(f64, f64)>)| {
        let (before, after): (Vec<f64>, Vec<f64>) = times.into_iter().unzip();
        Change {
            name: user.to_string(),
            before_s: mean(&before),
            after_s: mean(&after),
        }
    };
    sorted(users.into_iter().map(change).collect())
}

/// Returns the change of every job's turn-around, winners first.
pub(crate) fn jobs(baseline: &Outcome, other: &Outcome) -> Vec<Change> {
    let pairs = baseline.fates.iter().zip(&other.fates);
    let changes = pairs.filter_map(|(before, after)| {
        Some(Change {
            name: format!("{} ({})", before.id, before.user),
            before_s: before.turn_s?,
            after_s: after.turn_s?,
        })
    });
    sorted(changes.collect())
}

fn sorted(mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort_by(|a, b| {
        a.by_s()
            .total_cmp(&b.by_s())
            .then_with(|| a.name.cmp(&b.name))
    });
    changes
}

/// Returns the changes of all users against the baseline, for programs.
pub(crate) fn changes(outcomes: &[Outcome], baseline: usize) -> Value {
    let others = outcomes
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != baseline);
    let of = |(_, other): (usize, &Outcome)| {
        let users = users(&outcomes[baseline], other).into_iter().map(|change| {
            json!({"user": change.name, "before_s": change.before_s, "after_s": change.after_s})
        });
        json!({"name": other.name, "users": users.collect::<Value>()})
    };
    others.map(of).collect()
}

fn tasks(job: &heddle_history::Job) -> [usize; 2] {
    [job.tasks[0].len(), job.tasks[1].len()]
}

/// Returns a line per job with its times under every candidate, as CSV.
pub(crate) fn table(outcomes: &[Outcome]) -> Result<String, String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let heading = ["id", "name", "user", "queue", "maps", "reduces"];
    let mut heading: Vec<String> = heading.map(str::to_string).to_vec();
    for outcome in outcomes {
        heading.push(format!("waiting_s {}", outcome.name));
        heading.push(format!("turn_around_s {}", outcome.name));
    }
    table
        .write_record(&heading)
        .map_err(|error| error.to_string())?;
    let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    for (at, job) in outcomes[0].fates.iter().enumerate() {
        let mut row = vec![
            job.id.clone(),
            job.name.clone(),
            job.user.clone(),
            job.queue.clone(),
            job.tasks[0].to_string(),
            job.tasks[1].to_string(),
        ];
        for outcome in outcomes {
            row.push(text(outcome.fates[at].waited_s));
            row.push(text(outcome.fates[at].turn_s));
        }
        table
            .write_record(&row)
            .map_err(|error| error.to_string())?;
    }
    let bytes = table.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Draws the pictures into a folder; returns them as SVG.
pub(crate) fn draw(outcomes: &[Outcome], folder: &Path) -> Result<Vec<String>, String> {
    let log = "log10 of seconds";
    let part = "part of the jobs";
    let mut plots = [
        ("turn-around.svg", Plot::new("Turn-around", log, part)),
        (
            "waiting.svg",
            Plot::new("Waiting for the first container", log, part),
        ),
        (
            "open.svg",
            Plot::new("Jobs in the cluster", "hours", "jobs"),
        ),
    ];
    for outcome in outcomes {
        let distribution = |of: fn(&Fate) -> Option<f64>| {
            let mut times: Vec<f64> = outcome.fates.iter().filter_map(of).collect();
            times.sort_unstable_by(f64::total_cmp);
            let count = times.len() as f64;
            let points = times.into_iter().enumerate();
            let points = points.map(|(at, time)| (time.max(1.0).log10(), (at + 1) as f64 / count));
            Line::new(&outcome.name, points.collect())
        };
        plots[0].1.lines.push(distribution(|fate| fate.turn_s));
        plots[1].1.lines.push(distribution(|fate| fate.waited_s));
        plots[2]
            .1
            .lines
            .push(Line::new(&outcome.name, outcome.open.clone()));
    }
    let mut pictures = Vec::new();
    for (file, plot) in plots {
        let path = folder.join(file);
        plot.write(&path)?;
        let text = std::fs::read_to_string(&path);
        pictures.push(text.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(pictures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_history::Job;

    #[test]
    fn counters_of_any_size_are_summed() {
        let job = Job {
            preempted: Some(u64::MAX),
            locality: Some([u64::MAX, 1, 0]),
            ..Job::default()
        };
        let history = History {
            jobs: vec![job.clone(), job],
            ..History::default()
        };
        let outcome = Outcome::recorded(&history);
        assert_eq!(outcome.preempted, Some(u64::MAX));
        assert_eq!(outcome.locality, Some([u64::MAX, 2, 0]));
    }

    /// Of two jobs one has ended; of none is known when it started.
    #[test]
    fn what_is_known_of_no_job_is_null() {
        let ended = Fate {
            turn_s: Some(8.0),
            ..Fate::default()
        };
        let figures = Figures::of(&[&ended, &Fate::default()]);
        let told = figures.as_json();
        assert_eq!(told["waiting_s"], json!({"median": null, "p95": null}));
        let turn = json!({"mean": 8.0, "median": 8.0, "p95": 8.0});
        assert_eq!(told["turn_around_s"], turn);
    }
}
