//! Generates random clusters and jobs. Plans only: nothing runs here.

use crate::features::Features;
use crate::master::{Kind, Master, Rows, Table, Task, TaskState};
use heddle_core::words::event::NodeFacts;
use heddle_core::words::ids::{Millis, NodeId, PartitionId, PlaceId};
use heddle_core::words::resource::Resource;
use heddle_sim::random::Random;

/// The size of a cluster and of its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of racks.
    pub racks: u32,
    /// Number of jobs.
    pub jobs: u32,
    /// The highest number of tasks of one job.
    pub tasks_max: i64,
    /// The longest run time of a task.
    pub task_ms_max: Millis,
    /// How long jobs are submitted and faults happen.
    pub load_ms: Millis,
    /// The time between two reports of a node.
    pub heartbeat_ms: Millis,
    /// Memory of the largest nodes in GB; the smallest have a quarter. A node has half a core to
    /// one core per GB.
    pub node_gb: i64,
}

/// The layout of a cluster's place ids: racks first, then hosts.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    racks: u32,
    hosts: u32,
}

impl Places {
    /// Creates the places of a cluster. Asks can name one rack and one host more than exist.
    pub fn new(size: &Size) -> Places {
        Places {
            racks: size.racks + 1,
            hosts: size.nodes + 1,
        }
    }

    /// Returns a rack.
    pub fn rack(&self, index: u32) -> PlaceId {
        PlaceId(1 + index % self.racks)
    }

    /// Returns a host.
    pub fn host(&self, index: u32) -> PlaceId {
        PlaceId(1 + self.racks + index % self.hosts)
    }

    /// Returns the host and rack of a node when it first joins.
    pub fn home(&self, node: u32) -> (PlaceId, PlaceId) {
        (self.host(node), self.rack(node % (self.racks - 1)))
    }

    /// Draws any place.
    pub fn any(&self, random: &mut Random) -> PlaceId {
        PlaceId(1 + random.below((self.racks + self.hosts) as usize) as u32)
    }
}

/// Creates a node that joins.
pub fn node(
    id: NodeId,
    size: &Size,
    places: &Places,
    features: &Features,
    random: &mut Random,
) -> NodeFacts {
    let (host, rack) = places.home(id.0);
    let gb = random.range((size.node_gb / 4).max(2), size.node_gb);
    let mut capacity = Resource::new(gb * 1024, random.range((gb / 2).max(1), gb));
    if features.third_type && random.percent(40) {
        capacity.0[2] = random.range(1, 4);
    }
    let labelled = features.labels && random.percent(30);
    NodeFacts {
        node: id,
        host,
        rack,
        partition: PartitionId(if labelled { 1 } else { 0 }),
        lends: false,
        schedulable: true,
        capacity,
        free: capacity,
    }
}

/// Generates jobs.
pub struct Jobs<'a> {
    /// The size of the cluster.
    pub size: &'a Size,
    /// Its places.
    pub places: &'a Places,
    /// The enabled features.
    pub features: &'a Features,
    /// The random numbers.
    pub random: &'a mut Random,
}

impl Jobs<'_> {
    /// Generates a job: whether it is MapReduce, and its master.
    pub fn make(&mut self) -> (bool, Master) {
        let mapreduce = self.random.percent(60);
        let mut master = if mapreduce {
            self.mapreduce()
        } else {
            self.opaque()
        };
        master.shuffles_ids = self.features.reused_ids;
        master.keeps_containers = self.features.kept_containers && self.random.percent(60);
        if self.features.unmanaged && self.random.percent(30) {
            master.container = None;
            master.registered = true;
        }
        (mapreduce, master)
    }

    fn mapreduce(&mut self) -> Master {
        let map = self.kind(20, Rows::HostsAndRacks);
        let failed = Kind {
            priority: 5,
            rows: Rows::None,
            ..map
        };
        let reduce = Kind {
            resource: self.container_size(),
            priority: 10,
            ..failed
        };
        let maps = self.random.range(1, self.size.tasks_max) as usize;
        let reduces = self.random.range(0, self.size.tasks_max / 4) as usize;
        let mut tasks = self.tasks(0, maps);
        tasks.extend(self.tasks(2, reduces));
        let slow_start = (2, self.random.pick(&[5, 50, 100]));
        let mut master = self.master(vec![map, failed, reduce], tasks);
        master.failed_kind = Some(1);
        master.slow_start = Some(slow_start);
        master
    }

    fn opaque(&mut self) -> Master {
        let mut kinds = Vec::new();
        let mut tasks = Vec::new();
        for index in 0..self.random.range(1, 3) as usize {
            let rows = self.rows();
            let priority = self.random.range(0, 12) as i32;
            let mut kind = self.kind(priority, rows);
            kind.relax = match rows {
                Rows::StrictHosts => false,
                Rows::Hosts | Rows::Racks => !self.features.strict_asks || self.random.percent(50),
                _ => true,
            };
            kind.update = self.random.percent(5);
            if self.features.impossible_asks && self.random.percent(15) {
                kind.resource = kind.resource.times(1_000);
            }
            kinds.push(kind);
            let count = self.random.range(1, self.size.tasks_max / 2) as usize;
            tasks.extend(self.tasks(index, count));
        }
        self.master(kinds, tasks)
    }

    fn rows(&mut self) -> Rows {
        let mut choices = vec![Rows::None, Rows::HostsAndRacks, Rows::Hosts, Rows::Racks];
        if self.features.strict_asks {
            choices.push(Rows::StrictHosts);
        }
        if self.features.rack_vetoes {
            choices.push(Rows::RackVeto);
        }
        self.random.pick(&choices)
    }

    fn master(&mut self, kinds: Vec<Kind>, tasks: Vec<Task>) -> Master {
        let container = Kind {
            resource: Resource::new(512 * self.random.range(1, 3), 1),
            ..self.kind(0, Rows::None)
        };
        Master {
            sent: vec![Table::default(); kinds.len()],
            kinds,
            tasks,
            failed_kind: None,
            slow_start: None,
            container: Some(container),
            registered: false,
            attempt: 0,
            keeps_containers: false,
            allocated: Vec::new(),
            finished: Vec::new(),
            shuffles_ids: false,
        }
    }

    fn kind(&mut self, priority: i32, rows: Rows) -> Kind {
        let labelled = self.features.labels && self.random.percent(20);
        Kind {
            priority,
            resource: self.container_size(),
            partition: PartitionId(if labelled { 1 } else { 0 }),
            relax: true,
            rows,
            update: false,
        }
    }

    /// Draws the size of a container.
    pub fn container_size(&mut self) -> Resource {
        let mut resource = Resource::new(512 * self.random.range(1, 8), self.random.range(1, 2));
        if self.features.third_type && self.random.percent(15) {
            resource.0[2] = 1;
        }
        resource
    }

    fn tasks(&mut self, kind: usize, count: usize) -> Vec<Task> {
        let mut tasks = Vec::new();
        for _ in 0..count {
            let replicas = self.random.range(1, 3);
            let hosts = self.size.nodes as usize + 1;
            let place = |index: u32, places: &Places| (places.host(index), places.home(index).1);
            let places = (0..replicas)
                .map(|_| place(self.random.below(hosts) as u32, self.places))
                .collect();
            tasks.push(Task {
                kind,
                places,
                duration_ms: self.random.range(200, self.size.task_ms_max),
                state: TaskState::Waiting,
            });
        }
        tasks
    }
}
