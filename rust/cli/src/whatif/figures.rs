//! Fates of jobs, recorded or simulated, and their figures. Writes nothing.

use super::lines::steps;
use heddle_core::words::resource::Resource;
use heddle_history::{End, History, Job};
use heddle_sim::cluster_sim::metrics::{mean, percentile};
use heddle_sim::cluster_sim::{JobRecord, Results};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The fate of a job. Times in s.
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

/// The fates of all jobs, recorded or under one candidate.
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
    /// Jobs in the cluster, over hours.
    pub(crate) open: Vec<(f64, f64)>,
    /// Memory in GB that all jobs hold, over hours; each job's spread evenly over its life. Empty
    /// if a source does not say it.
    pub(crate) memory: Vec<(f64, f64)>,
}

/// The use of a job, from its first container to its end.
struct Life {
    from_ms: i64,
    to_ms: i64,
    /// Memory in MB-ms and cores in core-ms.
    held: [i64; 2],
}

impl Outcome {
    /// Returns what the history says.
    pub(crate) fn recorded(history: &History) -> Outcome {
        let jobs = || history.jobs.iter();
        let fates = jobs().map(|job| Fate {
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
        let begin = jobs().map(|job| job.submitted_ms).min().unwrap_or(0);
        // The use of an open job is known up to `seen_ms`.
        let last = |job: &Job| job.finished_ms.or(job.seen_ms);
        let spans =
            jobs().filter_map(|job| Some((job.submitted_ms - begin, last(job)? - begin, 1.0)));
        let end = jobs().filter_map(last).max().unwrap_or(begin);
        let life = |job: &Job| {
            Some(Life {
                from_ms: job.started_ms.unwrap_or(job.submitted_ms) - begin,
                to_ms: last(job).unwrap_or(end) - begin,
                held: job.held?,
            })
        };
        let lives: Option<Vec<Life>> = jobs().map(life).collect();
        let room = history.nodes.iter().map(|node| node.capacity);
        let room: Option<Vec<Resource>> = room.collect();
        let used = room
            .zip(lives.as_ref())
            .filter(|(room, _)| !room.is_empty() && end > begin)
            .map(|(room, lives)| used(lives, &room, end - begin));
        let preempted: Option<Vec<u64>> = jobs().map(|job| job.preempted).collect();
        let places: Vec<[u64; 3]> = jobs().filter_map(|job| job.locality).collect();
        // Counters are whatever a history says, the highest number too.
        let sum = |at: usize| total(places.iter().map(|counts| counts[at]));
        Outcome {
            name: "recorded".to_string(),
            fates: fates.collect(),
            used,
            preempted: preempted.map(|all| total(all.into_iter())),
            locality: (!places.is_empty()).then(|| [sum(0), sum(1), sum(2)]),
            open: steps(spans),
            memory: lives.map_or_else(Vec::new, |lives| memory(&lives)),
        }
    }

    /// Returns the outcome of a simulation on nodes of these sizes.
    pub(crate) fn simulated(
        name: String,
        history: &History,
        results: &Results,
        nodes: &[Resource],
    ) -> Outcome {
        let first = |record: &JobRecord| record.master_ms.or(record.started_ms);
        let fate = |(job, record): (&Job, &JobRecord)| Fate {
            id: job.id.clone(),
            name: job.name.clone(),
            user: job.user.clone(),
            queue: job.queue.clone().unwrap_or_else(|| record.queue.clone()),
            tasks: tasks(job),
            waited_s: first(record).map(|at| seconds(at - record.submitted_ms)),
            turn_s: record.sojourn_ms().map(seconds),
            refused: record.refused.clone(),
        };
        let records = || results.jobs.iter();
        let fates = history.jobs.iter().zip(records()).map(fate).collect();
        let end = records().filter_map(|job| job.finished_ms).max();
        let last = |job: &JobRecord| job.finished_ms.unwrap_or(results.ended_ms);
        let admitted = records().filter(|job| job.refused.is_none());
        let spans = admitted.map(|job| (job.submitted_ms, last(job), 1.0));
        let life = |job: &JobRecord| Life {
            from_ms: first(job).unwrap_or(job.submitted_ms),
            to_ms: last(job),
            held: job.held,
        };
        let lives: Vec<Life> = records().map(life).collect();
        let locality = results.locality();
        Outcome {
            name,
            fates,
            used: Some(used(&lives, nodes, end.unwrap_or(0))),
            preempted: Some(results.wasted[0]),
            locality: locality.iter().any(|count| *count > 0).then_some(locality),
            open: steps(spans),
            memory: memory(&lives),
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

/// Returns the `most` queues or users with the most jobs, and their total number.
pub(crate) fn largest(
    outcomes: &[Outcome],
    key: fn(&Fate) -> &str,
    most: usize,
) -> (Vec<&str>, usize) {
    let mut jobs: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in outcomes {
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        for fate in &outcome.fates {
            *own.entry(key(fate)).or_default() += 1;
        }
        // A history may lack the queues that a policy chooses.
        for (name, count) in own {
            let known = jobs.entry(name).or_default();
            *known = count.max(*known);
        }
    }
    let all = jobs.len();
    let mut names: Vec<(&str, usize)> = jobs.into_iter().collect();
    names.sort_by_key(|(name, count)| (Reverse(*count), *name));
    names.truncate(most);
    (names.into_iter().map(|(name, _)| name).collect(), all)
}

/// Returns the sum, or the highest number if it is above.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn seconds(ms: i64) -> f64 {
    ms as f64 / 1e3
}

fn used(lives: &[Life], room: &[Resource], span_ms: i64) -> [f64; 2] {
    [0, 1].map(|at| {
        let held: f64 = lives.iter().map(|life| life.held[at] as f64).sum();
        let room: f64 = room.iter().map(|room| room[at] as f64).sum();
        held / (room * span_ms as f64).max(1.0)
    })
}

/// Returns the memory in GB that jobs hold together, over hours.
fn memory(lives: &[Life]) -> Vec<(f64, f64)> {
    steps(lives.iter().map(|life| {
        let to_ms = life.to_ms.max(life.from_ms + 1);
        let mb = life.held[0] as f64 / (to_ms - life.from_ms) as f64;
        (life.from_ms, to_ms, mb / 1024.0)
    }))
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

/// The times of a user or job in the baseline and in another outcome.
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

fn tasks(job: &Job) -> [usize; 2] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_history::Node;

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

    /// Of 4 GB, one job holds 2 GB from 1 h to 3 h; the other, which has not ended, 1 GB from 2 h
    /// to 4 h, when it was seen last: 6 GB-hours of 16, and 4 core-hours of 16.
    #[test]
    fn memory_is_spread_over_the_lives_of_jobs() {
        const HOUR_MS: i64 = 3_600_000;
        let node = Node {
            capacity: Some(Resource::new(4_096, 4)),
            ..Node::default()
        };
        let job = |from: i64, mb: i64| Job {
            started_ms: Some(from * HOUR_MS),
            held: Some([mb * 2 * HOUR_MS, 2 * HOUR_MS]),
            ..Job::default()
        };
        let ended = Job {
            finished_ms: Some(3 * HOUR_MS),
            ..job(1, 2_048)
        };
        let open = Job {
            end: End::Open,
            seen_ms: Some(4 * HOUR_MS),
            ..job(2, 1_024)
        };
        let mut history = History {
            jobs: vec![ended, open],
            nodes: vec![node],
            ..History::default()
        };
        let outcome = Outcome::recorded(&history);
        assert_eq!(outcome.used, Some([6.0 / 16.0, 4.0 / 16.0]));
        let points = [
            (1.0, 0.0),
            (1.0, 2.0),
            (2.0, 2.0),
            (2.0, 3.0),
            (3.0, 3.0),
            (3.0, 1.0),
            (4.0, 1.0),
            (4.0, 0.0),
        ];
        assert_eq!(outcome.memory, points);
        // Both are submitted at 0 h.
        let jobs = [
            (0.0, 0.0),
            (0.0, 2.0),
            (3.0, 2.0),
            (3.0, 1.0),
            (4.0, 1.0),
            (4.0, 0.0),
        ];
        assert_eq!(outcome.open, jobs);
        history.jobs[0].held = None;
        let outcome = Outcome::recorded(&history);
        assert_eq!((outcome.used, outcome.memory), (None, Vec::new()));
    }

    #[test]
    fn the_largest_have_the_most_jobs() {
        let fate = |queue: &str| Fate {
            queue: queue.to_string(),
            ..Fate::default()
        };
        let outcome = |queues: [&str; 4]| Outcome {
            fates: queues.map(fate).to_vec(),
            ..Outcome::default()
        };
        let outcomes = [outcome(["b", "b", "", ""]), outcome(["b", "b", "c", "a"])];
        let found = largest(&outcomes, queue_of, 3);
        assert_eq!(found, (vec!["", "b", "a"], 4));
    }
}
