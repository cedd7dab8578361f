//! What the engine does of each kind of limit, on four nodes of 4 GB with containers of 1 GB.

use crate::common::{Host, plain_ask};
use crate::files::{Kind, Pair};
use heddle_core::Decision;
use heddle_core::words::event::AskFacts;
use heddle_core::words::ids::QueueId;
use serde_json::{Value, json};

const NODES: u32 = 4;
/// More than the cluster has.
const MANY: u32 = 1_000;
const ALICE: u32 = 1;

/// A column of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Minimum,
    Maximum,
    Weight,
    Masters,
    Running,
    Users,
    Orders,
    Preemption,
    Placement,
}

const MINIMUM: Pair = Pair {
    fair: "<queue name='rest'/>
           <queue name='sure'><minResources>12288 mb, 12 vcores</minResources></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        // Percentages would be weights as well.
        ("rest.capacity", "[memory=4096,vcores=4]"),
        ("sure.capacity", "[memory=12288,vcores=12]"),
        // One user may use more than the guarantee, which is not what is looked at.
        ("rest.user-limit-factor", "4"),
        ("sure.user-limit-factor", "2"),
    ],
};

const MAXIMUM: Pair = Pair {
    fair: "<queue name='rest'/><queue name='sure'><maxResources>25%</maxResources></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "75"),
        ("sure.capacity", "25"),
        ("sure.maximum-capacity", "25"),
        ("sure.user-limit-factor", "9"),
    ],
};

const WEIGHT: Pair = Pair {
    fair: "<queue name='rest'/><queue name='sure'><weight>3</weight></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "1w"),
        ("sure.capacity", "3w"),
        ("rest.user-limit-factor", "4"),
        ("sure.user-limit-factor", "2"),
    ],
};

const MASTERS: Pair = Pair {
    fair: "<queue name='rest'/><queue name='sure'><maxAMShare>0.25</maxAMShare></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "0"),
        ("sure.capacity", "100"),
        ("sure.maximum-am-resource-percent", "0.25"),
    ],
};

const RUNNING: Pair = Pair {
    fair: "<queue name='rest'/><queue name='sure'><maxRunningApps>2</maxRunningApps></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "0"),
        ("sure.capacity", "100"),
        ("sure.max-parallel-apps", "2"),
    ],
};

/// Alice runs one application, or uses half of the guarantee: 4 GB, and the container that began
/// below that.
const USERS: Pair = Pair {
    fair: "<queue name='rest'/><queue name='sure'/>
           <user name='alice'><maxRunningApps>1</maxRunningApps></user>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "50"),
        ("sure.capacity", "50"),
        ("sure.user-limit-factor", "0.5"),
    ],
};

const IN_LINE: Pair = Pair {
    fair: "<queue name='rest'/>
           <queue name='sure'><schedulingPolicy>fifo</schedulingPolicy></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "0"),
        ("sure.capacity", "100"),
        ("sure.ordering-policy", "fifo"),
    ],
};

const IN_PARTS: Pair = Pair {
    fair: "<queue name='rest'/>
           <queue name='sure'><schedulingPolicy>fair</schedulingPolicy></queue>",
    capacity: &[
        ("queues", "rest,sure"),
        ("rest.capacity", "0"),
        ("sure.capacity", "100"),
        ("sure.ordering-policy", "fair"),
    ],
};

impl Column {
    /// In the order of the page.
    pub(crate) const ALL: [Column; 9] = [
        Column::Minimum,
        Column::Maximum,
        Column::Weight,
        Column::Masters,
        Column::Running,
        Column::Users,
        Column::Orders,
        Column::Preemption,
        Column::Placement,
    ];

    /// Whether the limit holds under `own`, which is heddle.json, and what was seen.
    pub(crate) fn holds(self, kind: Kind, own: &Value) -> (bool, String) {
        let start = |pair: &Pair| Small::new(&pair.config(kind, own));
        match self {
            // Three quarters of what both queues get over time.
            Column::Minimum => three_quarters(start(&MINIMUM)),
            Column::Weight => three_quarters(start(&WEIGHT)),
            Column::Maximum => {
                let mut small = start(&MAXIMUM);
                small.job(1, "sure", 0, MANY);
                small.run(5);
                seen(small.host.running(1), 4)
            }
            Column::Masters => {
                let mut small = start(&MASTERS);
                // Each of a user of its own: limits of users are another column.
                (1..=12).for_each(|job| small.master(job, "sure"));
                small.run(5);
                seen((1..=12).map(|job| small.host.running(job)).sum(), 4)
            }
            Column::Running => {
                let mut small = start(&RUNNING);
                (1..=4).for_each(|job| small.job(job, "sure", 0, 2));
                small.run(5);
                seen((1..=4).map(|job| small.host.running(job)).sum(), 4)
            }
            Column::Users => {
                let mut small = start(&USERS);
                let counts = match kind {
                    Kind::Fair => [5, 5],
                    Kind::Capacity => [MANY, MANY],
                };
                small.job(1, "sure", ALICE, counts[0]);
                small.job(2, "sure", ALICE, counts[1]);
                small.run(5);
                seen(small.host.running(1) + small.host.running(2), 5)
            }
            Column::Orders => {
                let ran = [IN_LINE, IN_PARTS].map(|pair| {
                    let mut small = start(&pair);
                    small.job(1, "sure", 0, MANY);
                    small.host.now += 10;
                    small.job(2, "sure", 0, MANY);
                    small.run(5);
                    [1, 2].map(|job| small.host.running(job))
                });
                (ran == [[16, 0], [8, 8]], format!("{ran:?} ran"))
            }
            Column::Preemption => {
                let mut small = start(&MINIMUM);
                small.job(1, "rest", 0, MANY);
                small.run(5);
                small.job(2, "sure", 0, MANY);
                let taken = small.evictions(20);
                (taken > 0, format!("{taken} were taken"))
            }
            Column::Placement => {
                let mut small = start(&MINIMUM);
                let [kept, other] = ["sure", "unknown"].map(|name| small.placed(name));
                let (kept, refused) = (kept.is_ok(), other != kept);
                let default = small.placed("rest");
                let expected = match kind {
                    // The last rule takes it.
                    Kind::Fair => other == default,
                    // There is no root.default.
                    Kind::Capacity => other.is_err(),
                };
                (kept && refused && expected, format!("{other:?}"))
            }
        }
    }
}

fn seen(count: usize, expected: usize) -> (bool, String) {
    (count == expected, format!("{count} ran"))
}

/// Whether a later queue gets three quarters of what it and another get over time.
fn three_quarters(mut small: Small) -> (bool, String) {
    small.job(1, "rest", 0, MANY);
    small.host.now += 10;
    small.job(2, "sure", 0, MANY);
    small.run(2);
    let mut served = [0, 0];
    for _ in 0..40 {
        for job in [1, 2] {
            small.host.complete_all(job);
        }
        small.run(1);
        for job in [1, 2] {
            served[job as usize - 1] += small.host.running(job);
        }
    }
    let part = served[1] as f64 / (served[0] + served[1]) as f64;
    ((0.7..0.8).contains(&part), format!("{served:?} ran"))
}

/// A small cluster.
struct Small {
    host: Host,
}

impl Small {
    fn new(config: &Value) -> Small {
        let users = json!({ "alice": ALICE });
        let mut host = Host::from_setup(&json!({"config": config, "users": users}));
        for node in 0..NODES {
            host.node(node % 2, 4_096, 4);
        }
        Small { host }
    }

    fn placed(&mut self, queue: &str) -> Result<Value, String> {
        let request = json!({"op": "place", "user": "u", "queue": format!("root.{queue}")});
        let placed = self.host.engine.request(self.host.now, &request);
        let placed = placed.map_err(|error| error.0)?;
        Ok(placed["queue"].clone())
    }

    fn queue(&mut self, name: &str) -> QueueId {
        self.host.queue("u", Some(&format!("root.{name}")))
    }

    fn job(&mut self, job: u32, queue: &str, user: u32, count: u32) {
        let queue = self.queue(queue);
        self.host.user_job(job, queue, user);
        self.host.ask(job, 0, count, 1024);
    }

    /// A job that asks for its ApplicationMaster alone.
    fn master(&mut self, job: u32, queue: &str) {
        let queue = self.queue(queue);
        self.host.user_job(job, queue, 100 + job);
        self.host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1024)
        });
    }

    /// Lets seconds pass, with a tick and a report of every node in each.
    fn run(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.host.now += 1_000;
            self.host.tick();
            (0..NODES).for_each(|node| drop(self.host.beat(node)));
        }
    }

    /// How many containers are to be given back within these seconds.
    fn evictions(&mut self, seconds: u32) -> usize {
        let mut taken = 0;
        for _ in 0..seconds {
            self.host.now += 1_000;
            let decisions = self.host.tick();
            let evict = |decision: &&Decision| matches!(decision, Decision::Evict { .. });
            taken += decisions.iter().filter(evict).count();
        }
        taken
    }
}
