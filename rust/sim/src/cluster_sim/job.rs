//! A running job as its ApplicationMaster sees it: tasks that want an attempt, the places of their
//! data, the asks to the scheduler, and the places of map output. Knows no time and no network.

use super::hardware::{Block, Hardware};
use super::metrics::JobRecord;
use super::workload::JobPlan;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{
    AskId, ContainerKey, JobId, Locality, Millis, NodeId, PartitionId, PlaceId,
};
use heddle_core::words::resource::Resource;
use std::collections::{BTreeMap, VecDeque};

/// The asks of a job, by the number that the engine uses.
pub(super) const ASK_MAPS: usize = 0;
pub(super) const ASK_REDUCES: usize = 1;
/// Maps that failed before: they may run anywhere and go first.
pub(super) const ASK_FAILED_MAPS: usize = 2;
/// The container of the ApplicationMaster, if it has one.
pub(super) const ASK_MASTER: usize = 3;

/// The request priorities of the asks, MapReduce's and YARN's.
pub(super) const PRIORITIES: [i32; 4] = [20, 10, 5, 0];

/// Map and reduce tasks, as indexes into tables by kind.
pub(super) const MAP: usize = 0;
pub(super) const REDUCE: usize = 1;

/// Failures of one task that fail its job (`mapreduce.map.maxattempts`).
pub(super) const ATTEMPTS_MAX: u8 = 4;

/// A task of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    /// Whether it wants an attempt, the first or another.
    pub(super) wanted: bool,
    /// Running attempts.
    pub(super) running: u8,
    /// Failed attempts.
    pub(super) failures: u8,
    /// The node whose attempt succeeded.
    pub(super) done_on: Option<NodeId>,
}

#[derive(Debug)]
pub(super) struct RunningJob {
    pub(super) id: JobId,
    /// The job's workload entry.
    pub(super) plan: JobPlan,
    /// The job's stream, if any, and its number there.
    pub(super) stream: Option<(usize, u32)>,
    /// The results of the job, reported at its end.
    pub(super) record: JobRecord,
    /// Its input blocks; empty if it has no input.
    pub(super) blocks: Vec<Block>,
    /// Its maps and reduces.
    pub(super) tasks: [Vec<Task>; 2],
    /// Succeeded maps and reduces.
    pub(super) done: [u32; 2],
    /// Its attempts by container, as indexes into the table of attempts.
    pub(super) attempts: BTreeMap<ContainerKey, usize>,
    /// Map output on each rack, in bytes.
    pub(super) produced: Vec<f64>,
    /// The part of `produced` that reduces have heard of.
    pub(super) published: Vec<f64>,
    /// Whether a publication is planned.
    pub(super) publishing: bool,
    /// Sum and count of the lengths of its successful attempts, by kind.
    pub(super) lengths: [(i64, i64); 2],
    /// Whether the master has asked for reduces.
    pub(super) reduces_asked: bool,
    next_key: ContainerKey,
    /// Maps by place that want an attempt; entries may be stale.
    near: Vec<Vec<u32>>,
    rest: Vec<u32>,
    failed: VecDeque<u32>,
    reduces: VecDeque<u32>,
    /// By place, the number of maps that want an attempt there, and what the engine was told.
    rows: Vec<(u32, u32)>,
    dirty: Vec<u32>,
    /// By ask, the number of wanted containers, and what the engine was told.
    counts: [(u32, u32); 4],
    /// The state of its ApplicationMaster; `None` if that runs outside the cluster.
    pub(super) master: Option<RunningMaster>,
    /// Since when its ApplicationMaster holds its container.
    pub(super) master_since_ms: Millis,
}

/// The state of an ApplicationMaster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunningMaster {
    /// Its container, if it has one: the key and the node.
    pub(super) container: Option<(ContainerKey, u32)>,
    /// Whether it asks for containers.
    pub(super) asks: bool,
}

impl RunningJob {
    /// Creates a job at its submission, which wants all its maps.
    pub(super) fn new(
        id: JobId,
        plan: JobPlan,
        blocks: Vec<Block>,
        record: JobRecord,
        hardware: &Hardware,
    ) -> RunningJob {
        let places = match blocks.is_empty() {
            true => 0,
            false => 1 + (hardware.racks + hardware.nodes) as usize,
        };
        let racks = hardware.racks as usize;
        let tasks = plan
            .tasks
            .map(|count| vec![Task::default(); count as usize]);
        let mut job = RunningJob {
            id,
            stream: None,
            record,
            tasks,
            done: [0; 2],
            attempts: BTreeMap::new(),
            produced: vec![0.0; racks],
            published: vec![0.0; racks],
            publishing: false,
            lengths: [(0, 0); 2],
            reduces_asked: false,
            next_key: 1,
            near: vec![Vec::new(); places],
            rest: Vec::new(),
            failed: VecDeque::new(),
            reduces: VecDeque::new(),
            rows: vec![(0, 0); places],
            dirty: Vec::new(),
            counts: [(0, 0); 4],
            master: plan.master().map(|_| RunningMaster::default()),
            master_since_ms: 0,
            blocks,
            plan,
        };
        job.counts[ASK_MASTER].0 = u32::from(job.master.is_some());
        // Add the last map first: the lists are used up from their ends.
        for map in (0..job.plan.tasks[MAP]).rev() {
            job.want_map(map, hardware);
        }
        job
    }

    fn places(&self, map: u32, hardware: &Hardware) -> Vec<PlaceId> {
        let Some(block) = self.blocks.get(map as usize) else {
            return Vec::new();
        };
        let hosts = block.nodes().iter();
        let hosts = hosts.map(|node| hardware.host_place(NodeId(*node)));
        let racks = block.racks(hardware).map(|rack| hardware.rack_place(rack));
        hosts.chain(racks).collect()
    }

    fn count_rows(&mut self, map: u32, added: bool, hardware: &Hardware) {
        for place in self.places(map, hardware) {
            let row = &mut self.rows[place.index()];
            row.0 = if added { row.0 + 1 } else { row.0 - 1 };
            self.dirty.push(place.0);
            if added {
                self.near[place.index()].push(map);
            }
        }
    }

    /// Asks for an attempt of a map, near its data.
    pub(super) fn want_map(&mut self, map: u32, hardware: &Hardware) {
        let task = &mut self.tasks[MAP][map as usize];
        if std::mem::replace(&mut task.wanted, true) {
            return;
        }
        self.count_rows(map, true, hardware);
        self.rest.push(map);
        self.counts[ASK_MAPS].0 += 1;
    }

    /// Asks for another attempt of a failed map: anywhere, soon.
    pub(super) fn want_failed_map(&mut self, map: u32) {
        self.tasks[MAP][map as usize].wanted = true;
        self.failed.push_back(map);
        self.counts[ASK_FAILED_MAPS].0 += 1;
    }

    /// Asks for an attempt of a reduce.
    pub(super) fn want_reduce(&mut self, reduce: u32) {
        if !std::mem::replace(&mut self.tasks[REDUCE][reduce as usize].wanted, true) {
            self.reduces.push_back(reduce);
            self.counts[ASK_REDUCES].0 += 1;
        }
    }

    /// Asks for no further attempt of a task.
    pub(super) fn unwant(&mut self, kind: usize, index: u32, hardware: &Hardware) {
        if !std::mem::take(&mut self.tasks[kind][index as usize].wanted) {
            return;
        }
        if kind == REDUCE {
            self.counts[ASK_REDUCES].0 -= 1;
        } else if let Some(at) = self.failed.iter().position(|map| *map == index) {
            self.failed.remove(at);
            self.counts[ASK_FAILED_MAPS].0 -= 1;
        } else {
            self.counts[ASK_MAPS].0 -= 1;
            self.count_rows(index, false, hardware);
        }
    }

    /// Returns the number of tasks that want an attempt, by kind.
    pub(super) fn wanted(&self) -> [u32; 2] {
        let count = |ask: usize| self.counts[ask].0;
        [count(ASK_MAPS) + count(ASK_FAILED_MAPS), count(ASK_REDUCES)]
    }

    /// Takes the task for a granted container of `ask` on `node`: the map nearest to its data among
    /// those that want an attempt.
    pub(super) fn take(
        &mut self,
        ask: usize,
        node: NodeId,
        granted: Locality,
        hardware: &Hardware,
    ) -> Option<(usize, u32)> {
        // The engine has already counted the grant.
        self.counts[ask].1 -= 1;
        let (host, rack) = (
            hardware.host_place(node),
            hardware.rack_place(hardware.rack_of(node.0)),
        );
        if ask == ASK_MAPS && !self.rows.is_empty() {
            let host = (granted == Locality::NodeLocal).then_some(host);
            let rack = (granted <= Locality::RackLocal).then_some(rack);
            for place in [host, rack].into_iter().flatten() {
                let row = &mut self.rows[place.index()];
                row.1 = row.1.saturating_sub(1);
                self.dirty.push(place.0);
            }
        }
        let taken = match ask {
            ASK_REDUCES => {
                let wanted = |reduce: &u32| self.tasks[REDUCE][*reduce as usize].wanted;
                let mut queue = std::iter::from_fn(|| self.reduces.pop_front());
                (REDUCE, queue.find(wanted)?)
            }
            ASK_FAILED_MAPS => (MAP, self.failed.pop_front()?),
            _ => (MAP, self.nearest_map(host, rack)?),
        };
        let (kind, index) = taken;
        self.counts[ask].0 -= 1;
        self.tasks[kind][index as usize].wanted = false;
        if ask == ASK_MAPS {
            self.count_rows(index, false, hardware);
        }
        Some(taken)
    }

    fn nearest_map(&mut self, host: PlaceId, rack: PlaceId) -> Option<u32> {
        let tasks = &self.tasks[MAP];
        let failed = &self.failed;
        let wanted =
            |map: &u32| tasks[*map as usize].wanted && (failed.is_empty() || !failed.contains(map));
        for place in [host, rack] {
            let Some(near) = self.near.get_mut(place.index()) else {
                continue;
            };
            while let Some(map) = near.pop() {
                if wanted(&map) {
                    return Some(map);
                }
            }
        }
        std::iter::from_fn(|| self.rest.pop()).find(wanted)
    }

    /// Returns how near a map on `node` is to its data.
    pub(super) fn locality(&self, map: u32, node: NodeId, hardware: &Hardware) -> Locality {
        match self.blocks.get(map as usize) {
            Some(block) if block.holds(node.0) => Locality::NodeLocal,
            Some(block) => {
                let rack = hardware.rack_of(node.0);
                let near = block.racks(hardware).any(|other| other == rack);
                if near {
                    Locality::RackLocal
                } else {
                    Locality::OffSwitch
                }
            }
            None => Locality::OffSwitch,
        }
    }

    /// Returns a key for a new container.
    pub(super) fn next_key(&mut self) -> ContainerKey {
        self.next_key += 1;
        self.next_key - 1
    }

    /// Writes the changes of the asks that the engine has not heard of.
    pub(super) fn tell_asks(&mut self, out: &mut Vec<Event>, hardware: &Hardware) {
        let waits = self.master.is_some_and(|master| !master.asks);
        let asks: &[usize] = match waits {
            true => &[ASK_MASTER],
            false => &[ASK_MAPS, ASK_REDUCES, ASK_FAILED_MAPS],
        };
        for &ask in asks {
            let (wanted, told) = self.counts[ask];
            if wanted != told {
                self.counts[ask].1 = wanted;
                out.push(Event::Ask(self.ask_facts(ask, wanted)));
            }
        }
        if waits || self.counts[ASK_MAPS].0 == 0 {
            // The engine ignores the rows of an ask with count 0; they stay dirty until it has a
            // count.
            return;
        }
        for place in std::mem::take(&mut self.dirty) {
            let row = &mut self.rows[place as usize];
            if row.0 != row.1 {
                row.1 = row.0;
                out.push(Event::AskRow {
                    job: self.id,
                    ask: AskId(ASK_MAPS as u32),
                    place: PlaceId(place),
                    count: row.0,
                    relax: true,
                });
            }
        }
        debug_assert!(self.rows.len() <= 1 + (hardware.racks + hardware.nodes) as usize);
    }

    fn ask_facts(&self, ask: usize, count: u32) -> AskFacts {
        AskFacts {
            job: self.id,
            ask: AskId(ask as u32),
            count,
            priority: PRIORITIES[ask],
            partition: PartitionId::DEFAULT,
            relax: true,
            am: ask == ASK_MASTER,
            update: false,
            resource: self.size(ask),
        }
    }

    /// Returns the size of a container of an ask.
    pub(super) fn size(&self, ask: usize) -> Resource {
        match (ask, self.plan.master()) {
            (ASK_MASTER, Some(master)) => master.size,
            (ASK_REDUCES, _) => self.plan.size(REDUCE),
            _ => self.plan.size(MAP),
        }
    }

    /// Forgets what the engine was told of the asks.
    pub(super) fn forget_told(&mut self) {
        for count in &mut self.counts {
            count.1 = 0;
        }
        for (place, row) in self.rows.iter_mut().enumerate() {
            row.1 = 0;
            if row.0 > 0 {
                self.dirty.push(place as u32);
            }
        }
    }

    /// Asks for one container.
    pub(super) fn want_container(&mut self, ask: usize) {
        self.counts[ask].0 = 1;
    }

    /// Takes the grant of the ApplicationMaster's container.
    pub(super) fn take_master(&mut self, key: ContainerKey, node: u32) {
        self.counts[ASK_MASTER] = (0, 0);
        let container = Some((key, node));
        self.master = Some(RunningMaster {
            container,
            asks: false,
        });
    }

    /// Returns whether every map has succeeded.
    pub(super) fn maps_are_done(&self) -> bool {
        self.done[MAP] == self.plan.tasks[MAP]
    }

    /// Returns whether every task has succeeded.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.plan.tasks
    }
}
