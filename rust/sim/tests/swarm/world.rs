//! The simulation: a cluster and its jobs in virtual time around the production engine.
//! `world::events` implements the host's side of the contract, `world::faults` injects faults, and
//! `check` verifies the invariants.

mod answers;
mod events;
mod faults;
mod hostile;
mod life;
mod nodes;

use crate::check::waiting::LEAVES_MS;
use crate::checks::Checks;
use crate::due::{Due, Serial};
use crate::features::Features;
use crate::host::Host;
use crate::master::Master;
use crate::outcome::Outcome;
use crate::queues::Plan;
use crate::workload::{Jobs, Places, Size};
use heddle_core::stage::place::Place;
use heddle_core::words::event::{Event, NodeFacts};
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId, PlaceId};
use heddle_core::words::keys::Layout;
use heddle_core::words::resource::Resource;
use heddle_sim::agenda::Agenda;
use heddle_sim::failure::{Check, Checked, Failure};
use heddle_sim::link::{Link, Tamper};
use heddle_sim::policy::Policy;
use heddle_sim::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The time between two reports of an ApplicationMaster.
const MASTER_HEARTBEAT_MS: Millis = 1_000;

/// A simulation that lasts longer than this after the end of its load is stuck.
const DRAIN_MS_MAX: Millis = 3_600_000;

/// How to run a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of every random number.
    pub seed: u64,
    /// The composition.
    pub policy: Policy,
    /// What happens besides plain jobs.
    pub features: Features,
    /// The size of the cluster and of its load.
    pub size: Size,
    /// The configuration; random if none.
    pub plan: Option<Plan>,
    /// The enabled checks.
    pub checks: Checks,
    /// Whether to record all messages on the line.
    pub record: bool,
}

impl Options {
    /// A small random cluster with a random half of the features, for the swarm.
    pub fn swarm(seed: u64, policy: Policy) -> Options {
        Options::small(seed, policy, Features::random)
    }

    /// The same with a random half of the hostile features as well.
    pub fn hostile(seed: u64, policy: Policy) -> Options {
        Options::small(seed, policy, Features::hostile)
    }

    fn small(seed: u64, policy: Policy, features: fn(&mut Random) -> Features) -> Options {
        let mut random = Random::new(seed);
        let features = features(&mut random);
        let size = Size {
            nodes: random.range(1, 5) as u32,
            racks: random.range(1, 3) as u32,
            jobs: random.range(1, 9) as u32,
            tasks_max: random.range(2, 12),
            task_ms_max: random.pick(&[600, 2_000, 6_000]),
            load_ms: random.pick(&[5_000, 10_000, 20_000]),
            heartbeat_ms: random.pick(&[300, 1_000, 1_000]),
            node_gb: random.pick(&[4, 8, 16]),
        };
        Options {
            seed,
            policy,
            features,
            size,
            plan: None,
            checks: Checks::all(),
            record: false,
        }
    }
}

/// A held node: its job, and since when it has gained no room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldNode {
    pub(crate) job: JobId,
    pub(crate) resource: Resource,
    pub(crate) since_ms: Millis,
    pub(crate) free: Resource,
}

/// A simulation.
pub struct World {
    pub(crate) options: Options,
    pub(crate) plan: Plan,
    pub(crate) place: Box<dyn Place>,
    pub(crate) layout: Layout,
    pub(crate) link: Link,
    pub(crate) host: Host,
    pub(crate) masters: BTreeMap<JobId, Master>,
    pub(crate) outcome: Outcome,
    /// Racks of which a node has told the engine.
    pub(crate) racks_told: BTreeSet<PlaceId>,
    /// The nodes that are held, since when and for what.
    pub(crate) held_since: BTreeMap<NodeId, HeldNode>,
    /// What offers have granted on nodes since they reported last, and how many containers.
    pub(crate) offered: BTreeMap<NodeId, (Resource, u32)>,
    /// Evicted containers, including those that have ended.
    pub(crate) going: BTreeSet<(JobId, Serial, ContainerKey)>,
    /// The longest hold of the configurations since the engine was built.
    pub(crate) hold_ms_max: Millis,
    pub(crate) places: Places,
    random: Random,
    agenda: Agenda<Due>,
    /// Virtual time, and how far the engine's clock is ahead of it.
    now: Millis,
    skew_ms: Millis,
    /// The time at which the engine's clock stands still.
    frozen: Option<Millis>,
    /// The latest time that the engine was given.
    pub(crate) engine_now: Millis,
    outbox: Vec<Event>,
    dirty: BTreeMap<(JobId, AskId), BTreeSet<PlaceId>>,
    /// Whether events wait for the answers of the present grants.
    deferring: bool,
    /// Whether the load is over: no more submissions and no more faults.
    draining: bool,
    /// Number of queues that hostile users have created.
    strange_queues: u32,
    next_serial: u64,
    lost_nodes: BTreeMap<NodeId, NodeFacts>,
    lives: BTreeMap<NodeId, u32>,
    last_activity: Millis,
    stopped: bool,
}

impl World {
    /// Creates a cluster without jobs.
    pub fn new(options: Options, tamper: Option<Box<dyn Tamper>>) -> Checked<World> {
        // Do not draw from the stream of the options again.
        let mut random = Random::new(options.seed ^ 0x5eed_0f0e_d1e5);
        let capacity = Resource::new(
            options.size.node_gb * 1024 * i64::from(options.size.nodes),
            options.size.node_gb * i64::from(options.size.nodes),
        );
        let plan = options.plan.clone().unwrap_or_else(|| {
            Plan::random(options.policy, &capacity, &options.features, &mut random)
        });
        let link = Link::open(plan.setup_json(), options.record, tamper)?;
        let mut world = World {
            place: plan.place(),
            layout: plan.layout(),
            places: Places::new(&options.size),
            hold_ms_max: plan.hold_ms_max(),
            offered: BTreeMap::new(),
            plan,
            link,
            options,
            random,
            host: Host::default(),
            masters: BTreeMap::new(),
            outcome: Outcome::default(),
            racks_told: BTreeSet::new(),
            held_since: BTreeMap::new(),
            going: BTreeSet::new(),
            agenda: Agenda::default(),
            now: 0,
            skew_ms: 0,
            frozen: None,
            engine_now: 0,
            outbox: Vec::new(),
            dirty: BTreeMap::new(),
            deferring: false,
            draining: false,
            strange_queues: 0,
            next_serial: 1,
            lost_nodes: BTreeMap::new(),
            lives: BTreeMap::new(),
            last_activity: 0,
            stopped: false,
        };
        world.plan_everything()?;
        Ok(world)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// Returns the first check that does not hold, with the events just before.
    pub fn run(mut self) -> Checked<Outcome> {
        let result = self.run_to_end();
        let explain = |failure| self.link.explain(failure);
        result.map_err(explain)?;
        self.outcome.digest = self.link.digest;
        self.outcome.events = self.link.events;
        self.outcome.ended_ms = self.now;
        self.outcome.record = self.link.record.take().unwrap_or_default();
        Ok(self.outcome)
    }

    fn plan_everything(&mut self) -> Checked {
        for id in 0..self.options.size.nodes {
            self.join_node(NodeId(id))?;
        }
        for _ in 0..self.options.size.jobs {
            // Half come at once: policies differ in a backlog.
            let at = match self.random.percent(50) {
                true => 0,
                false => self.random.range(0, self.options.size.load_ms),
            };
            self.agenda.plan(at, Due::Submission);
        }
        self.agenda.plan(0, Due::Tick);
        if self.options.features != Features::default() {
            self.agenda.plan(500, Due::Fault);
        }
        Ok(())
    }

    fn run_to_end(&mut self) -> Checked {
        while !self.stopped {
            let Some((at, due)) = self.agenda.pop() else {
                break;
            };
            self.now = self.now.max(at);
            self.handle(due)?;
        }
        self.end()
    }

    fn handle(&mut self, due: Due) -> Checked {
        match due {
            Due::Submission => self.submit(),
            Due::NodeHeartbeat(node, life) => self.node_heartbeat(node, life),
            Due::NodeBack(node) => self.node_back(node),
            Due::NodeUp(node) => self.node_up(node),
            Due::MasterHeartbeat(job, life) => self.master_heartbeat(job, life),
            Due::NextAttempt(job, serial) => self.next_attempt(job, serial),
            Due::ContainerEnd(job, serial, key) => self.container_end(job, serial, key),
            Due::Eviction(job, serial, key) => self.eviction_due(job, serial, key),
            Due::Tick => self.tick(),
            Due::Fault => self.fault_due(),
            Due::Thaw => {
                self.frozen = None;
                Ok(())
            }
        }
    }

    fn tick(&mut self) -> Checked {
        self.agenda
            .plan(self.now + heddle_core::engine::TICK_MS, Due::Tick);
        self.draining = self.now >= self.options.size.load_ms;
        if self.draining {
            self.frozen = None;
        }
        self.deliver(Some(Event::Tick))?;
        if !self.draining {
            return Ok(());
        }
        if self.host.jobs.is_empty() && self.outcome.submitted == self.options.size.jobs {
            self.stopped = true;
        } else if self.now - self.last_activity > self.quiet_ms() {
            // A job that waits now waits for ever, so nothing must be able to serve it.
            self.check_nobody_starves()?;
            self.stopped = true;
        } else if self.now > self.options.size.load_ms + DRAIN_MS_MAX {
            let what = format!("still at work after {DRAIN_MS_MAX} ms without new jobs");
            return Err(Failure::new(Check::Starvation, what));
        }
        Ok(())
    }

    /// Returns the longest possible quiet time while some ask can run. It adds up every bound that
    /// holds back an ask or a node, and a few reports of every node.
    fn quiet_ms(&self) -> Millis {
        let plan = &self.plan;
        let waits = plan.wait_ms.0 + plan.wait_ms.1;
        let holds = plan.reservation_ms.0 + plan.hold_ms_max();
        2 * waits + 2 * holds + 2 * LEAVES_MS + 5 * self.options.size.heartbeat_ms + 5_000
    }

    /// Ends the remaining jobs, and checks that the engine has nothing left either.
    fn end(&mut self) -> Checked {
        let jobs: Vec<JobId> = self.host.jobs.keys().copied().collect();
        self.outcome.stuck_jobs = jobs.len() as u32;
        for job in jobs {
            self.remove_job(job)?;
        }
        self.deliver(None)?;
        self.check_nothing_is_left()
    }

    /// Returns the time on the engine's clock.
    pub(crate) fn clock(&self) -> Millis {
        self.frozen.unwrap_or(self.now + self.skew_ms)
    }

    fn jobs(&mut self) -> Jobs<'_> {
        Jobs {
            size: &self.options.size,
            places: &self.places,
            features: &self.options.features,
            random: &mut self.random,
        }
    }
}
