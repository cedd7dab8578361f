//! The limits that keep memory bounded, whatever a file claims.

use crate::fault::Fault;
use crate::model::Job;

/// Longest line of a job history, and longest JSON object of a trace, in bytes.
pub(crate) const ITEM_BYTES_MAX: usize = 64 << 20;
/// Largest file that is read whole: all but journals, SLS's files and traces of Rumen.
pub(crate) const WHOLE_BYTES_MAX: u64 = 1 << 30;
/// Most jobs of all sources together.
pub(crate) const JOBS_MAX: usize = 1_000_000;
/// Most tasks of all jobs together; one takes 24 bytes, more with hosts of its own.
pub(crate) const TASKS_MAX: usize = 20_000_000;
/// Most bytes of ids, names, users and queues of all jobs together.
pub(crate) const NAMES_MAX: usize = 1 << 30;
/// Most nodes.
pub(crate) const NODES_MAX: usize = 100_000;
/// Longest task and latest time that is believed: a hundred years in ms.
pub(crate) const TIME_MAX: i64 = 100 * 366 * 86_400_000;
/// Largest container or node: 1 EB of memory in MB, or as many virtual cores.
pub(crate) const AMOUNT_MAX: i64 = 1 << 40;
/// Largest counter that is believed: the sum of a million of them fits in an `i64`.
pub(crate) const COUNT_MAX: u64 = 1 << 40;
/// Longest time from the first submission to the last: 400 days in ms. Longer ones come of clocks
/// that differ, and a simulation would walk through the gap.
pub(crate) const SPAN_MAX: i64 = 400 * 86_400_000;
/// Hosts remembered of a task's input, as HDFS keeps replicas.
pub(crate) const HOSTS_MAX: usize = 3;

const REMEDY: &str = "give fewer files, or split them by time";

/// Counts jobs, tasks and names against the limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    jobs: usize,
    tasks: usize,
    names: usize,
}

impl Counted {
    /// Adds a job.
    ///
    /// # Errors
    /// If a limit is passed.
    pub(crate) fn add(&mut self, job: &Job) -> Result<(), Fault> {
        self.add_copies(job, 1)
    }

    /// Adds copies of a job. Call it before they are made: a short file may ask for millions.
    ///
    /// # Errors
    /// If a limit is passed.
    pub(crate) fn add_copies(&mut self, job: &Job, copies: usize) -> Result<(), Fault> {
        let tasks: usize = job.tasks.iter().map(Vec::len).sum();
        self.add_tasks(tasks.saturating_mul(copies))?;
        self.check_more(copies)?;
        self.jobs += copies;
        let queue = job.queue.as_ref().map_or(0, String::len);
        let names = job.id.len() + job.name.len() + job.user.len() + queue;
        self.names = self.names.saturating_add(names.saturating_mul(copies));
        match self.names > NAMES_MAX {
            true => Err(Fault::whole(
                format!("more than {NAMES_MAX} bytes of jobs' names"),
                REMEDY,
            )),
            false => Ok(()),
        }
    }

    /// Counts a job with this many tasks before it is built.
    ///
    /// # Errors
    /// If a limit is passed.
    pub(crate) fn claim(&mut self, tasks: usize) -> Result<(), Fault> {
        self.check_more(1)?;
        self.jobs += 1;
        self.add_tasks(tasks)
    }

    fn add_tasks(&mut self, tasks: usize) -> Result<(), Fault> {
        self.tasks = self.tasks.saturating_add(tasks);
        check_tasks(self.tasks)
    }

    /// Checks that this many more jobs are within the limit, without adding them.
    ///
    /// # Errors
    /// If they are not.
    pub(crate) fn check_more(&self, jobs: usize) -> Result<(), Fault> {
        match self.jobs.saturating_add(jobs) > JOBS_MAX {
            true => Err(Fault::whole(format!("more than {JOBS_MAX} jobs"), REMEDY)),
            false => Ok(()),
        }
    }
}

/// Checks a number of tasks.
///
/// # Errors
/// If it passes the limit.
pub(crate) fn check_tasks(tasks: usize) -> Result<(), Fault> {
    match tasks > TASKS_MAX {
        true => Err(Fault::whole(format!("more than {TASKS_MAX} tasks"), REMEDY)),
        false => Ok(()),
    }
}

/// Checks a number of nodes.
///
/// # Errors
/// If it passes the limit.
pub(crate) fn check_nodes(nodes: usize) -> Result<(), Fault> {
    match nodes > NODES_MAX {
        true => Err(Fault::whole(
            format!("more than {NODES_MAX} nodes in all sources"),
            "give the history of a part of the cluster",
        )),
        false => Ok(()),
    }
}

/// Returns a time or length within the limits.
pub(crate) fn time(ms: i64) -> i64 {
    ms.clamp(0, TIME_MAX)
}
