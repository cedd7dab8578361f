//! Lists of jobs and nodes for people: one report for a page of jobs, found by text and in the
//! order asked for, and the state of many nodes in short rows. Decides nothing. `explain` has the
//! sentences alone, which a host shows on its own pages.

use super::control::{RequestError, refused};
use super::{Engine, Subject};
use crate::config::{Section, unknown};
use crate::explain::{Surveys, sentence};
use crate::model::job::Job;
use crate::model::wait::Wait;
use crate::predict::{Prediction, tasks_left};
use crate::words::ids::{JobId, Millis};
use crate::words::keys::ShareNodeId;
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How many jobs one page has at most.
const JOBS_MAX: i64 = 1_000;
/// How many asks ahead of one are counted, on a page of many jobs and of one.
const AHEAD_OF_EACH_MAX: u32 = 100;
const AHEAD_OF_ONE_MAX: u32 = 1_000;
/// How many nodes one page has at most: the scheduler waits while it is made.
const NODES_MAX: i64 = 2_000;

/// The order of a list of jobs. Ties go by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Number,
    Submitted,
    Queue,
    Priority,
    Running,
    Pending,
    Memory,
    /// By when it is expected; jobs that have started come first.
    Start,
    End,
    /// By `ranks`, an order that only the host knows.
    Given,
}

const SORTS: &[(&str, Sort)] = &[
    ("number", Sort::Number),
    ("submitted", Sort::Submitted),
    ("queue", Sort::Queue),
    ("priority", Sort::Priority),
    ("running", Sort::Running),
    ("pending", Sort::Pending),
    ("memory", Sort::Memory),
    ("start", Sort::Start),
    ("end", Sort::End),
    ("given", Sort::Given),
];

/// A request for a list of jobs.
struct Wanted {
    /// Paths of the queues whose jobs may be seen; `None` means all.
    queues: Option<BTreeSet<String>>,
    /// Jobs that may be seen whatever their queue.
    shown: BTreeSet<u32>,
    /// In small letters; a job is found if its queue has it, or if it is among `matching`.
    text: String,
    matching: BTreeSet<u32>,
    sort: Sort,
    descending: bool,
    ranks: BTreeMap<u32, usize>,
    /// The smallest number.
    from: u32,
    skip: usize,
    max: usize,
}

impl Wanted {
    fn read(mut section: Section<'_>) -> Result<Wanted, RequestError> {
        let most = i64::from(u32::MAX);
        let queues = section.list("queues").map_err(refused)?;
        let queues = queues
            .iter()
            .filter_map(|(_, path)| path.as_str().map(String::from));
        let queues: BTreeSet<String> = queues.collect();
        let limited = section.value("queues").is_some();
        let text = section.text("text").map_err(refused)?.unwrap_or("");
        let order = section.text("sort").map_err(refused)?.unwrap_or("number");
        let sort = SORTS.iter().find(|(name, _)| *name == order);
        let sort = sort.map(|(_, sort)| *sort).ok_or_else(|| {
            let names: Vec<&str> = SORTS.iter().map(|(name, _)| *name).collect();
            RequestError(format!("key `sort`: {}", unknown(order, &names)))
        })?;
        let ranks = numbers(&mut section, "ranks")?;
        let wanted = Wanted {
            queues: limited.then_some(queues),
            shown: numbers(&mut section, "shown")?.into_iter().collect(),
            text: text.to_lowercase(),
            matching: numbers(&mut section, "matching")?.into_iter().collect(),
            sort,
            descending: section.value("descending") == Some(&Value::Bool(true)),
            ranks: ranks.into_iter().zip(0..).collect(),
            from: whole(&mut section, "from", 0, most)?.unwrap_or(0) as u32,
            skip: whole(&mut section, "skip", 0, most)?.unwrap_or(0) as usize,
            max: whole(&mut section, "max", 1, JOBS_MAX)?.unwrap_or(JOBS_MAX) as usize,
        };
        section.finish().map_err(refused)?;
        Ok(wanted)
    }
}

impl Engine {
    /// `{"op": "jobs", ...}`: a page of jobs. All keys may be left out: `queues`, the paths whose
    /// jobs may be seen, and `shown`, the numbers of more such jobs; `text`, looked for in paths,
    /// and `matching`, the numbers of jobs in whose names the host found it; `sort` (one of
    /// [`SORTS`]) with `descending`, and `ranks`, numbers in order for `given`; `from`, the
    /// smallest number; `skip` and `max`, the page.
    ///
    /// `total` is how many were found, `next` the number of the first one after the page. A row has
    /// the facts of `{"op": "job"}` that a list needs, why the job waits, who goes first, and its
    /// prediction.
    pub(super) fn jobs_report(&self, section: Section<'_>) -> Result<Value, RequestError> {
        let wanted = Wanted::read(section)?;
        let found = self.found(&wanted);
        let page = found.iter().skip(wanted.skip).take(wanted.max);
        let page: Vec<&Job> = page.filter_map(|id| self.cluster.job(*id)).collect();
        let ahead_max = match page.len() {
            1 => AHEAD_OF_ONE_MAX,
            _ => AHEAD_OF_EACH_MAX,
        };
        let mut predicted = self.predicted(&page);
        let mut surveys = Surveys::new();
        let rows = page.iter().map(|job| {
            let prediction = predicted.remove(&job.facts.job).unwrap_or(Value::Null);
            self.listed(job, ahead_max, &mut surveys, prediction)
        });
        let rows: Vec<Value> = rows.collect();
        let next = found.get(wanted.skip.saturating_add(rows.len()));
        Ok(json!({
            "now_ms": self.now,
            "total": found.len(),
            "jobs": rows,
            "next": next.map(|job| job.0),
        }))
    }

    /// The jobs that are looked for, in order. Sorting by number reads only the notes of unchanged
    /// jobs, not the jobs.
    fn found(&self, wanted: &Wanted) -> Vec<JobId> {
        // By number of a queue: whether its jobs may be seen, and whether the text is in its path.
        let mut facts = vec![(false, false); self.cluster.queues.all().len()];
        for queue in self.cluster.queues.iter() {
            let path = &queue.config.path;
            let seen = wanted.queues.as_ref();
            facts[queue.id.index()] = (
                seen.is_none_or(|paths| paths.contains(path)),
                wanted.text.is_empty() || path.to_lowercase().contains(&wanted.text),
            );
        }
        let is_found = |id: &JobId| {
            let queue = self.cluster.queue_of(*id);
            let facts = queue.and_then(|queue| facts.get(queue.index()));
            facts.is_some_and(|(seen, has_text)| {
                id.0 >= wanted.from
                    && (*seen || wanted.shown.contains(&id.0))
                    && (*has_text || wanted.matching.contains(&id.0))
            })
        };
        let mut ids = self.cluster.job_ids().to_vec();
        ids.retain(is_found);
        if wanted.sort == Sort::Number {
            if wanted.descending {
                ids.reverse();
            }
            return ids;
        }
        let jobs: Vec<&Job> = ids.iter().filter_map(|id| self.cluster.job(*id)).collect();
        let expected = self.expected(&jobs, wanted.sort);
        let key = |job: &Job| sort_key(job, wanted, &expected);
        let mut found: Vec<(i64, &Job)> = jobs.into_iter().map(|job| (key(job), job)).collect();
        let path = |job: &Job| {
            let queue = self.cluster.queues.get(job.facts.queue);
            queue.map(|queue| queue.config.path.as_str())
        };
        // A stable sort: equal jobs stay in order of number.
        found.sort_by(|(key, job), (other_key, other)| {
            let ordering = match wanted.sort {
                Sort::Queue => path(job).cmp(&path(other)),
                _ => key.cmp(other_key),
            };
            match wanted.descending {
                true => ordering.reverse(),
                false => ordering,
            }
        });
        found.into_iter().map(|(_, job)| job.facts.job).collect()
    }

    /// When these jobs are expected to start or end, for that order.
    fn expected(&self, jobs: &[&Job], sort: Sort) -> BTreeMap<JobId, i64> {
        if !matches!(sort, Sort::Start | Sort::End) {
            return BTreeMap::new();
        }
        let leaves: BTreeSet<ShareNodeId> = jobs.iter().map(|job| job.leaf).collect();
        let predictions = self.predictions(|leaf| leaves.contains(&leaf));
        let time = |one: &Prediction| match (sort, &one.start) {
            (Sort::End, _) => one.times(&one.end).expected_ms,
            (_, Some(start)) => one.times(start).expected_ms,
            (_, None) => i64::MIN,
        };
        predictions.iter().map(|one| (one.job, time(one))).collect()
    }

    /// The predictions of these jobs. Looks at all jobs of their leaves.
    fn predicted(&self, page: &[&Job]) -> BTreeMap<JobId, Value> {
        let leaves: BTreeSet<ShareNodeId> = page.iter().map(|job| job.leaf).collect();
        let wanted: BTreeSet<JobId> = page.iter().map(|job| job.facts.job).collect();
        let predictions = self.predictions(|leaf| leaves.contains(&leaf));
        let of_page = predictions
            .iter()
            .filter(|prediction| wanted.contains(&prediction.job));
        of_page
            .map(|prediction| (prediction.job, super::forecast::row(prediction)))
            .collect()
    }

    fn listed(&self, job: &Job, ahead_max: u32, surveys: &mut Surveys, prediction: Value) -> Value {
        self.subject.set(Some(Subject::Job(job.facts.job)));
        let view = self.view();
        let first = match self.trace.is_on() {
            true => view.waits(job, surveys, ahead_max).next(),
            false => None,
        };
        let mut row = self.job_facts(job);
        row["pending"] = json!(pending(job));
        row["maps"] = json!(job.hints.tasks[0]);
        row["reduces"] = json!(job.hints.tasks[1]);
        row["progress_per_mille"] = json!(progress_per_mille(job));
        row["waits_for"] = json!(first.as_ref().map(|wait| sentence(wait, &view.names())));
        row["ahead"] = json!(first.as_ref().map(ahead));
        row["prediction"] = prediction;
        row
    }

    /// `{"op": "nodes", "from": N, "max": M}`: nodes from number N on, a page at a time. A row is
    /// number, whether it may get containers, containers, capacity and free memory in MB, capacity
    /// and free vcores, whether it is held for a large container, and the thousandths of it that
    /// others use. `next` is the start of the next page; null after the last.
    pub(super) fn nodes_report(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let most = i64::from(u32::MAX);
        let from = whole(&mut section, "from", 0, most)?.unwrap_or(0) as u32;
        let max = whole(&mut section, "max", 1, NODES_MAX)?.unwrap_or(NODES_MAX);
        section.finish().map_err(refused)?;
        let nodes = self.cluster.nodes();
        let mut nodes = nodes.filter(|node| node.facts.node.0 >= from).peekable();
        let mut rows = Vec::new();
        while rows.len() < max as usize
            && let Some(node) = nodes.next()
        {
            let facts = &node.facts;
            let amounts = |of: &Resource| [of.memory_mb(), of.vcores()];
            let ([memory_mb, vcores], [free_mb, free_vcores]) =
                (amounts(&facts.capacity), amounts(&node.free_of_all()));
            rows.push(json!([
                facts.node.0,
                facts.schedulable,
                node.containers,
                memory_mb,
                free_mb,
                vcores,
                free_vcores,
                self.reservations.contains_key(&facts.node),
                node.foreign_per_mille,
            ]));
        }
        let next = nodes.peek().map(|node| node.facts.node.0);
        Ok(json!({ "now_ms": self.now, "nodes": rows, "next": next }))
    }
}

/// The sort key of a job; `expected` is for the orders by prediction.
fn sort_key(job: &Job, wanted: &Wanted, expected: &BTreeMap<JobId, i64>) -> i64 {
    let id = job.facts.job;
    match wanted.sort {
        // In order as found.
        Sort::Number => 0,
        Sort::Submitted => job.facts.submitted_ms,
        // By path, which is compared itself.
        Sort::Queue => 0,
        Sort::Priority => i64::from(job.facts.priority),
        Sort::Running => i64::from(job.running_containers()),
        Sort::Pending => pending(job) as i64,
        Sort::Memory => job.used.memory_mb(),
        Sort::Start | Sort::End => expected.get(&id).copied().unwrap_or(i64::MAX),
        Sort::Given => {
            let rank = wanted.ranks.get(&id.0);
            rank.map_or(i64::MAX, |rank| *rank as i64)
        }
    }
}

/// Counts the jobs and tasks before a waiting ask in its queue.
fn ahead(wait: &Wait) -> Value {
    let [jobs, tasks] = wait.ahead.map_or([0; 2], |ahead| [ahead.jobs, ahead.tasks]);
    let more = wait.ahead.is_some_and(|ahead| ahead.more);
    json!({ "jobs": jobs, "tasks": tasks, "more": more })
}

/// How many containers a job asks for, its ApplicationMaster included.
fn pending(job: &Job) -> u64 {
    job.pending().map(|ask| u64::from(ask.facts.count)).sum()
}

/// The part of a job's tasks that is done, with what running ones have reported; none as long as
/// no tasks are known.
fn progress_per_mille(job: &Job) -> Option<u64> {
    let done: u64 = job.done.iter().map(|done| u64::from(*done)).sum();
    let left: u64 = Kind::ALL
        .iter()
        .map(|kind| u64::from(tasks_left(job, *kind)))
        .sum();
    let tasks = job.containers.values().filter(|container| !container.am);
    let running = tasks.map(|task| u64::from(task.task.progress_per_mille.min(1_000)));
    let reached = done.saturating_mul(1_000).saturating_add(running.sum());
    reached.checked_div(done.saturating_add(left))
}

fn whole(
    section: &mut Section<'_>,
    key: &'static str,
    least: Millis,
    most: i64,
) -> Result<Option<i64>, RequestError> {
    section.whole(key, least, most).map_err(refused)
}

/// A list of numbers of jobs.
fn numbers(section: &mut Section<'_>, key: &'static str) -> Result<Vec<u32>, RequestError> {
    let list = section.list(key).map_err(refused)?;
    let number = |(path, value): (String, &Value)| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number
            .ok_or_else(|| RequestError(format!("key `{path}`: expected a number, found {value}")))
    };
    list.into_iter().map(number).collect()
}
