//! A simulated ApplicationMaster: its tasks, its asks, and its use of containers.
//!
//! Modelled on MapReduce's (`RMContainerAllocator`, `RMContainerRequestor`). Asks are absolute
//! counts per host, per rack and in all. They are sent only when they changed, and computed before
//! the grants since the last heartbeat are known. Other frameworks differ only in the kinds of
//! asks.

use crate::host::HostRow;
use heddle_core::words::ids::{AskId, ContainerKey, Millis, PartitionId, PlaceId};
use heddle_core::words::resource::Resource;
use std::collections::BTreeMap;

/// The rows of an ask beside the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// None: anywhere.
    None,
    /// Hosts and their racks, like MapReduce's asks for maps.
    HostsAndRacks,
    /// Hosts alone.
    Hosts,
    /// Hosts, and their racks without relaxing: AMRMClient's hosts with `relaxLocality=false`.
    StrictHosts,
    /// Racks alone.
    Racks,
    /// Hosts, and all racks without relaxing: other hosts may serve only where no rack is known.
    RackVeto,
}

/// One kind of container that a job needs.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The request priority.
    pub priority: i32,
    /// The size of one container.
    pub resource: Resource,
    /// The node label.
    pub partition: PartitionId,
    /// Whether places that were not named may serve it.
    pub relax: bool,
    /// Its style of rows.
    pub rows: Rows,
    /// Whether it is marked as the update of a container.
    pub update: bool,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Not asked for yet.
    Waiting,
    /// Asked for.
    Asked,
    /// Runs in a container.
    Running(ContainerKey),
    /// Done.
    Done,
}

/// One task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its kind, by number.
    pub kind: usize,
    /// The hosts that it prefers, each with its rack.
    pub places: Vec<(PlaceId, PlaceId)>,
    /// Its run time.
    pub duration_ms: Millis,
    /// Its progress.
    pub state: TaskState,
}

/// The total and the rows of one kind, as sent.
pub type Table = (u32, BTreeMap<PlaceId, HostRow>);

/// A granted container that the master has not fetched yet.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    /// Its key.
    pub key: ContainerKey,
    /// The ask that it was granted for.
    pub ask: AskId,
    /// The node's host.
    pub host: PlaceId,
    /// The node's rack.
    pub rack: PlaceId,
}

/// The ApplicationMaster of a job, through all its attempts.
#[derive(Clone, Debug)]
pub struct Master {
    /// The kinds of its containers.
    pub kinds: Vec<Kind>,
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// The kind of a failed task's next ask, if not its own: MapReduce's priority 5.
    pub failed_kind: Option<usize>,
    /// A kind (reduces) whose tasks wait until this percentage of kind 0 is done.
    pub slow_start: Option<(usize, usize)>,
    /// Its own container; none if it runs outside the cluster.
    pub container: Option<Kind>,
    /// Whether it has registered and reports.
    pub registered: bool,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// Whether containers outlive an attempt.
    pub keeps_containers: bool,
    /// Granted containers, not fetched yet.
    pub allocated: Vec<Allocated>,
    /// Ended containers, not fetched yet: key and exit status.
    pub finished: Vec<(ContainerKey, i32)>,
    /// The last sent table of each kind.
    pub sent: Vec<Table>,
    /// Whether the ids of asks change from attempt to attempt.
    pub shuffles_ids: bool,
}

/// Fetched containers by their use.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// Started: key and run time of the task.
    pub started: Vec<(ContainerKey, Millis)>,
    /// Released because no task needs them.
    pub released: Vec<ContainerKey>,
}

impl Master {
    /// Returns the id of the ask for a kind in this attempt; `None` is the master's own container.
    pub fn ask_id(&self, kind: Option<usize>) -> AskId {
        let index = kind.map_or(0, |kind| kind + 1) as u32;
        let shift = if self.shuffles_ids { self.attempt } else { 0 };
        AskId((index + shift) % (self.kinds.len() as u32 + 1))
    }

    fn kind_of(&self, ask: AskId) -> Option<usize> {
        (0..self.kinds.len()).find(|kind| self.ask_id(Some(*kind)) == ask)
    }

    /// Marks the tasks that may now be asked for.
    pub fn advance(&mut self) {
        let count = |done: bool| {
            let first = self.tasks.iter().filter(|task| task.kind == 0);
            let matching = first.filter(|task| !done || task.state == TaskState::Done);
            matching.count()
        };
        let (all, done) = (count(false), count(true));
        for task in &mut self.tasks {
            let held = match self.slow_start {
                Some((kind, percent)) => task.kind == kind && done * 100 < all * percent,
                None => false,
            };
            if task.state == TaskState::Waiting && !held {
                task.state = TaskState::Asked;
            }
        }
    }

    /// Returns the table to ask for of a kind.
    pub fn wanted(&self, kind: usize) -> Table {
        let (mut count, mut rows) = (0, BTreeMap::new());
        let style = self.kinds[kind].rows;
        for task in &self.tasks {
            if task.kind != kind || task.state != TaskState::Asked {
                continue;
            }
            count += 1;
            let mut racks = Vec::new();
            for (host, rack) in &task.places {
                if !matches!(style, Rows::None | Rows::Racks) {
                    add(&mut rows, *host, true);
                }
                if !matches!(style, Rows::None | Rows::Hosts) && !racks.contains(rack) {
                    racks.push(*rack);
                    let relax = !matches!(style, Rows::StrictHosts | Rows::RackVeto);
                    add(&mut rows, *rack, relax);
                }
            }
        }
        (count, rows)
    }

    /// Uses the granted containers: the nearest task first, like MapReduce.
    pub fn fetch(&mut self) -> Fetched {
        let mut fetched = Fetched::default();
        for granted in std::mem::take(&mut self.allocated) {
            let kind = self.kind_of(granted.ask);
            let distance = |task: &Task| {
                let on_host = task.places.iter().any(|(host, _)| *host == granted.host);
                let on_rack = task.places.iter().any(|(_, rack)| *rack == granted.rack);
                (!on_host, !on_rack)
            };
            let fitting = self
                .tasks
                .iter_mut()
                .filter(|task| Some(task.kind) == kind && task.state == TaskState::Asked);
            match fitting.min_by_key(|task| distance(task)) {
                Some(task) => {
                    task.state = TaskState::Running(granted.key);
                    fetched.started.push((granted.key, task.duration_ms));
                }
                None => fetched.released.push(granted.key),
            }
        }
        fetched
    }

    /// Handles containers that ended.
    pub fn settle(&mut self) {
        for (key, exit) in std::mem::take(&mut self.finished) {
            self.allocated.retain(|granted| granted.key != key);
            let failed_kind = self.failed_kind;
            let mut tasks = self.tasks.iter_mut();
            let Some(task) = tasks.find(|task| task.state == TaskState::Running(key)) else {
                continue;
            };
            if exit == 0 {
                task.state = TaskState::Done;
                continue;
            }
            task.state = TaskState::Asked;
            if let (true, 0, Some(kind)) = (exit > 0, task.kind, failed_kind) {
                task.kind = kind;
            }
        }
    }

    /// Begins the next attempt: running containers are lost unless they are kept.
    pub fn restart(&mut self) {
        self.attempt += 1;
        self.registered = false;
        self.sent = vec![Table::default(); self.kinds.len()];
        if self.container.is_none() {
            self.registered = true;
        }
        if !self.keeps_containers {
            self.allocated.clear();
            self.finished.clear();
            for task in &mut self.tasks {
                if task.state != TaskState::Done {
                    task.state = TaskState::Waiting;
                }
            }
        }
    }

    /// Returns whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.tasks.iter().all(|task| task.state == TaskState::Done)
    }
}

fn add(rows: &mut BTreeMap<PlaceId, HostRow>, place: PlaceId, relax: bool) {
    let row = rows.entry(place).or_insert(HostRow { count: 0, relax });
    row.count += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: PlaceId = PlaceId(1);
    const OTHER: PlaceId = PlaceId(2);
    const RACK: PlaceId = PlaceId(9);

    fn master(tasks: usize) -> Master {
        let kind = Kind {
            priority: 20,
            resource: Resource::new(1024, 1),
            partition: PartitionId::DEFAULT,
            relax: true,
            rows: Rows::HostsAndRacks,
            update: false,
        };
        let task = Task {
            kind: 0,
            places: vec![(HOST, RACK), (OTHER, RACK)],
            duration_ms: 10,
            state: TaskState::Waiting,
        };
        let mut master = Master {
            kinds: vec![
                kind,
                Kind {
                    rows: Rows::None,
                    priority: 5,
                    ..kind
                },
            ],
            tasks: vec![task; tasks],
            failed_kind: Some(1),
            slow_start: None,
            container: None,
            registered: true,
            attempt: 0,
            keeps_containers: false,
            allocated: Vec::new(),
            finished: Vec::new(),
            sent: vec![Table::default(); 2],
            shuffles_ids: false,
        };
        master.advance();
        master
    }

    #[test]
    fn a_map_counts_once_per_host_rack_and_in_all() {
        let (count, rows) = master(2).wanted(0);
        assert_eq!(count, 2);
        assert_eq!(rows[&HOST].count, 2);
        assert_eq!(rows[&RACK].count, 2, "two replicas on one rack are one row");
    }

    #[test]
    fn surplus_goes_back_and_a_failed_map_is_asked_for_without_places() {
        let mut master = master(1);
        let granted = |key| Allocated {
            key,
            ask: AskId(1),
            host: HOST,
            rack: RACK,
        };
        master.allocated = vec![granted(7), granted(8)];
        let fetched = master.fetch();
        assert_eq!(
            (fetched.started, fetched.released),
            (vec![(7, 10)], vec![8])
        );
        master.finished.push((7, 1));
        master.settle();
        assert_eq!(master.wanted(0).0, 0);
        assert_eq!(master.wanted(1), (1, BTreeMap::new()));
        assert!(!master.is_done());
    }
}
