//! The engine: applies events to the cluster model, keeps the backlog in step with it, and
//! answers heartbeats with grants. The only code that changes `Cluster`.
//!
//! What a policy proposes is checked against the model before it becomes a decision; what the
//! host says is checked against the model before it is applied. An event that names something
//! unknown is ignored and counted: hosts lose races, and a wrong book is found by the audit.

mod apply;
mod bounds;
mod containers;
mod control;
mod explain;
mod forecast;
mod heartbeat;
mod index;
mod invariants;
mod labels;
mod note;
mod preemption;
mod reservation;
mod search;
mod subject;
mod tick;
mod victims;

use crate::backlog::{Backlog, FitList, Reservation};
use crate::catalogue::build;
use crate::config::{Config, ConfigError};
use crate::explain::{Ring, Trace};
use crate::model::change::{Change, Stale};
use crate::model::cluster::Cluster;
use crate::model::job::Container;
use crate::model::queue::{Queue, Queues};
use crate::model::share_tree::ShareTree;
use crate::predict::Predictor;
use crate::setup::Setup;
use crate::stage::market::Market;
use crate::stage::order::Order;
use crate::stage::place::Place;
use crate::stage::share::Share;
use crate::words::event::{Decision, Event};
use crate::words::ids::{
    AskId, ContainerKey, JobId, Millis, NodeId, PartitionId, PlaceId, QueueId,
};
use crate::words::keys::{Layout, POOLS, ShapeId, ShareNodeId};
use crate::words::ledger::{Entry, Taken};
use preemption::Starving;
use reservation::Rest;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use bounds::COUNT_MAX;
pub use subject::{PLANTED_ASK, PLANTED_COUNT, PLANTED_GRANT, PLANTED_TICK, Subject};

/// Ids at or above this are taken for garbage, not for a reason to grow tables without bound.
pub const ID_MAX: u32 = 1 << 20;

/// How long a node that the host refused for a job is left out for that job. Long enough not
/// to propose the same in vain on every heartbeat, short enough not to be noticed.
const REFUSED_MS: Millis = 1_000;

/// How often time should pass for the engine, by `Event::Tick`.
pub const TICK_MS: Millis = 500;

/// A grant that the host has not answered yet.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    seq: u64,
    job: JobId,
    ask: AskId,
    container: Container,
    /// The rows that it counts on, to be restored if it is refused.
    counted: [Option<Counted>; 2],
}

/// A row that a grant counts on.
#[derive(Clone, Copy, Debug)]
struct Counted {
    place: PlaceId,
    /// Whether the row relaxed; none if there was no such row.
    relax: Option<bool>,
}

/// The engine. One per scheduler; single-threaded; owns everything it knows.
pub struct Engine {
    setup: Setup,
    cluster: Cluster,
    tree: ShareTree,
    backlog: Backlog,
    share: Box<dyn Share>,
    order: Box<dyn Order>,
    place: Box<dyn Place>,
    /// Slots of the cluster by pool, as of the last tick or change of a node.
    slots: [u32; POOLS],
    /// What the stages called stale and was not asked again yet.
    stale: Stale,
    /// Whether the cluster or the queues that want something are others than entitlements say.
    entitled_late: bool,
    in_flight: VecDeque<InFlight>,
    next_seq: u64,
    /// When locked asks are looked at next.
    timers: BTreeSet<(Millis, JobId, AskId)>,
    reservations: BTreeMap<NodeId, Reservation>,
    /// Nodes that were held in vain a moment ago.
    rests: BTreeMap<NodeId, Rest>,
    /// How often a node was held in vain for a shape that still waits.
    tries: BTreeMap<ShapeId, u32>,
    /// Containers that were told to go and have not gone yet.
    evicting: BTreeSet<(JobId, ContainerKey)>,
    /// Queues below their share, by label.
    starving: BTreeMap<(ShareNodeId, PartitionId), Starving>,
    /// What is expected of jobs. Nothing that is decided depends on it.
    predictor: Predictor,
    /// Jobs that wait for `max_running_jobs`, over all queues.
    waiting_jobs: u32,
    /// Where the next tick goes on telling headrooms, if the last was cut short.
    headroom_from: u32,
    /// Jobs of which something started or ended since they were last told what keeps reduces.
    news: Vec<JobId>,
    /// What was decided of each job lately. Nothing that decides looks at it.
    trace: Trace,
    /// Whom the engine works on. Nothing that decides looks at it.
    subject: Cell<Option<Subject>>,
    now: Millis,
    ignored: u64,
    cut: bool,
    /// Scratch of the heartbeat in hand, kept to allocate nothing in steady state.
    fits: FitList,
}

impl Engine {
    /// An engine with an empty cluster.
    pub fn new(setup: Setup) -> Result<Engine, ConfigError> {
        let (share, order, place) = build(&setup.config);
        let trace = Trace::new(setup.config.explain_entries);
        let mut engine = Engine {
            cluster: Cluster::new(Queues::new(&setup.config)),
            setup,
            tree: ShareTree::new(share.layout()),
            backlog: Backlog::default(),
            share,
            order,
            place,
            slots: note::NO_SLOTS,
            stale: Stale::default(),
            entitled_late: false,
            in_flight: VecDeque::new(),
            next_seq: 1,
            timers: BTreeSet::new(),
            reservations: BTreeMap::new(),
            rests: BTreeMap::new(),
            tries: BTreeMap::new(),
            evicting: BTreeSet::new(),
            starving: BTreeMap::new(),
            predictor: Predictor::default(),
            waiting_jobs: 0,
            headroom_from: 0,
            news: Vec::new(),
            trace,
            subject: Cell::new(None),
            now: 0,
            ignored: 0,
            cut: false,
            fits: FitList::default(),
        };
        engine.grow_tree();
        Ok(engine)
    }

    /// Applies `events` in order at `now` and appends what they lead to to `decisions`, which
    /// never grows beyond `decisions_max` (see `more`). A `now` before an earlier one counts as
    /// that earlier one.
    ///
    /// # Panics
    /// If an invariant of the engine is broken, or for an `Event::Fault` that the configuration
    /// allows. The host must not use the engine after that.
    pub fn step(
        &mut self,
        now: Millis,
        events: &[Event],
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        self.now = self.now.max(bounds::time(now));
        self.cut = false;
        self.subject.set(None);
        self.fire_timers();
        for event in events {
            self.subject.set(subject::of(event));
            self.apply(event, decisions_max, decisions);
            self.note_news(event);
            if matches!(event, Event::Heartbeat { .. } | Event::Tick) {
                self.keep_reduces(decisions_max, decisions);
            }
        }
    }

    /// The model, to look at.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The tree of shares, to look at.
    pub fn shares(&self) -> &ShareTree {
        &self.tree
    }

    /// How many virtual slots there are, by pool.
    pub fn slots(&self) -> [u32; POOLS] {
        self.slots
    }

    /// What the stages have learnt or keep: share, order, place.
    pub fn save(&self) -> [serde_json::Value; 3] {
        [self.share.save(), self.order.save(), self.place.save()]
    }

    /// From now on keeps what happens to accounts until it is taken, for a host that writes it
    /// down; to begin with, what accounts there are. Changes no decision. Gives whether the policy
    /// knows accounts at all.
    pub fn keep_ledger(&mut self) -> bool {
        let market = self.share.market_mut();
        market.map(Market::keep_ledger).is_some()
    }

    /// What jobs have spent since this was last taken; what happened to accounts, in order; what
    /// was learnt of jobs, whether accounts are kept or not. In this order, so that a host which
    /// writes an interval with all that came before it never has the charge without the sums.
    pub fn take_ledger(&mut self) -> Taken {
        let learnt = |(key, value)| Entry::Learnt { key, value };
        let market = self.share.market_mut();
        let mut taken = market.map_or_else(Taken::default, |market| market.ledger().take());
        let spent = self.share.lessons().into_iter().map(learnt);
        let lessons = self.order.lessons().into_iter().chain(self.place.lessons());
        let lessons = lessons.map(learnt);
        taken.entries = spent.chain(taken.entries).chain(lessons).collect();
        taken
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// What the engine was opened with.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Whether nothing is pending, so that a heartbeat without news needs no step.
    pub fn is_idle(&self) -> bool {
        self.backlog.shapes.standing().is_empty() && self.reservations.is_empty()
    }

    /// Whether the last step left decisions unmade because of `decisions_max`.
    pub fn more(&self) -> bool {
        self.cut
    }

    /// When the next `Event::Tick` is due.
    pub fn next_tick_ms(&self) -> Millis {
        self.now + TICK_MS
    }

    /// How many events were ignored because they named something unknown or impossible.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// What was decided of a job lately, if anything is kept.
    pub fn trace(&self, job: JobId) -> Option<Ring<'_>> {
        self.trace.of(job)
    }

    /// How many grants wait for an answer.
    pub fn grants_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn ignore(&mut self, why: &str, event: &dyn std::fmt::Debug) {
        self.ignored += 1;
        // The first few tell what goes wrong; a host out of step would fill the log.
        if self.ignored <= 100 {
            log::warn!("event ignored, {why}: {event:?}");
        }
    }

    /// The leaf of the tree of shares for jobs of a queue.
    fn leaf_of(&self, queue: QueueId) -> ShareNodeId {
        match self.share.layout() {
            Layout::Queues | Layout::Flat => ShareNodeId(queue.0),
            Layout::Single => ShareNodeId::ROOT,
        }
    }

    /// Adds to the tree what queues have come since, and takes over their configuration.
    fn grow_tree(&mut self) {
        let layout = self.share.layout();
        for queue in self.cluster.queues.iter() {
            if layout == Layout::Single && queue.id.0 > 0 {
                break;
            }
            grow_by(&mut self.tree, layout, queue);
        }
        self.backlog.grow(self.tree.len());
    }

    /// The same for one queue that was just made, and those above it.
    fn grow_branch(&mut self, queue: QueueId) {
        let layout = self.share.layout();
        if layout == Layout::Single {
            return;
        }
        let queues = &self.cluster.queues;
        let path: Vec<_> = queues.path_up(queue).collect();
        for queue in path.into_iter().rev() {
            grow_by(&mut self.tree, layout, queue);
        }
        self.backlog.grow(self.tree.len());
    }

    /// Removes queues that submissions made and that have been empty for long; gives their ids.
    fn expire_queues(&mut self) -> Vec<QueueId> {
        if self.share.market().is_some() {
            return Vec::new();
        }
        let keep_ms = self.setup.config.dynamic_queues.expire_ms;
        let expired = self.cluster.queues.expire(self.now, keep_ms);
        if self.share.layout() != Layout::Single {
            let leaves: Vec<_> = expired.iter().map(|queue| ShareNodeId(queue.0)).collect();
            self.tree.remove(&leaves);
            for leaf in leaves {
                self.tell(|_| Some(Change::QueueRemoved { leaf }));
            }
        }
        expired
    }
}

/// Adds a queue to the tree, or takes over its configuration. Parents come first.
fn grow_by(tree: &mut ShareTree, layout: Layout, queue: &Queue) {
    let id = ShareNodeId(queue.id.0);
    if id.index() < tree.len() && !tree.node(id).removed {
        tree.node_mut(id).configure(&queue.config);
        return;
    }
    let parent = match layout {
        Layout::Flat => queue.parent.map(|_| ShareNodeId::ROOT),
        _ => queue.parent.map(|parent| ShareNodeId(parent.0)),
    };
    tree.put(id, parent, queue.id, &queue.config);
}
