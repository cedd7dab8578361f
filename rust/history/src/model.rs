//! What a history says, in one form for all sources: jobs with their tasks, and nodes.

use heddle_core::words::ids::Millis;
use heddle_core::words::resource::Resource;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a job ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It succeeded.
    #[default]
    Well,
    /// It failed, or was killed.
    Badly,
    /// It had not ended when the history was saved.
    Open,
}

/// A task that succeeded, or a container that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// How long it ran. Of a reduce: since the end of the last map.
    pub length_ms: Millis,
    /// Hosts with its input, at most three. Shared, because one entry of a trace may stand for
    /// millions of tasks.
    pub hosts: Arc<[String]>,
}

/// A job. Times are ms since 1970, or since the start of the trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its id in the source.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its user.
    pub user: String,
    /// Its queue, if the source says it.
    pub queue: Option<String>,
    /// YARN's application priority.
    pub priority: i32,
    /// When it was submitted.
    pub submitted_ms: Millis,
    /// When it got its first container.
    pub started_ms: Option<Millis>,
    /// When it ended.
    pub finished_ms: Option<Millis>,
    /// When its source last saw it, if it had not ended.
    pub seen_ms: Option<Millis>,
    /// How it ended.
    pub end: End,
    /// Its maps and reduces; containers of other applications count as maps.
    pub tasks: [Vec<Task>; 2],
    /// Sizes of their containers.
    pub sizes: [Resource; 2],
    /// The size of its ApplicationMaster, if it had one in the cluster.
    pub master: Option<Resource>,
    /// Time from the ApplicationMaster's container to the first asks.
    pub start_ms: Millis,
    /// Time from the last task to the end.
    pub commit_ms: Millis,
    /// Time that the ApplicationMaster's container stays after the end.
    pub linger_ms: Millis,
    /// The part of the maps that must be done before reduces are asked for, in per mille.
    pub slow_start_per_mille: Option<u32>,
    /// Containers that the scheduler took, if the source says it.
    pub preempted: Option<u64>,
    /// Maps on a node with their data, on a rack with it, elsewhere, if the source says it.
    pub locality: Option<[u64; 3]>,
    /// Memory in MB-ms and cores in core-ms that it held, if the source says it.
    pub held: Option<[i64; 2]>,
}

impl Job {
    /// Returns the time from submission to its first container.
    pub fn waited_ms(&self) -> Option<Millis> {
        Some((self.started_ms? - self.submitted_ms).max(0))
    }

    /// Returns the time from submission to end.
    pub fn turn_around_ms(&self) -> Option<Millis> {
        Some((self.finished_ms? - self.submitted_ms).max(0))
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Its rack.
    pub rack: String,
    /// Its host name.
    pub host: String,
    /// What it has for containers, if the source says it.
    pub capacity: Option<Resource>,
}

/// All that the sources say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The jobs, in order of submission.
    pub jobs: Vec<Job>,
    /// The nodes, by rack and host.
    pub nodes: Vec<Node>,
    /// What the sources do not say, in sentences.
    pub unknown: BTreeSet<String>,
}

impl History {
    /// Notes a gap.
    pub(crate) fn lacks(&mut self, what: impl Into<String>) {
        self.unknown.insert(what.into());
    }
}
