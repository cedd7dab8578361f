//! The engine: applies events to the cluster model, keeps the backlog in step with it, and
//! answers heartbeats with grants. The only code that changes `Cluster`.
//!
//! The engine checks every proposal of a policy against the model before it becomes a decision, and
//! every event of the host before it applies it. It ignores and counts events that name something
//! unknown: hosts lose races, and the audit finds books that differ.

/// The world as stages and explanations see it. A macro, because a method would borrow the whole
/// engine, and the stage that looks at the world is borrowed to be changed.
macro_rules! world {
    ($engine:expr) => {
        crate::model::change::World {
            now: $engine.now,
            cluster: &$engine.cluster,
            tree: &$engine.tree,
            labelled: &$engine.partitions,
            slots: $engine.slots,
            config: &$engine.setup.config,
            evicting: &$engine.evicting,
        }
    };
}

mod apply;
mod asks;
mod at_limit;
mod at_once;
mod bounds;
mod budget;
mod candidate;
mod capacities;
mod containers;
mod control;
mod explain;
mod forecast;
mod heartbeat;
mod index;
mod inside;
mod invariants;
mod labels;
mod level;
mod listing;
mod need;
mod note;
mod offer;
mod partitions;
mod placed;
mod plan;
mod preemption;
mod promises;
mod reclaim;
mod reload;
mod report;
mod reservation;
mod roomy;
mod search;
mod short;
mod subject;
mod submission;
mod tick;
mod ties;
mod usage;
mod users;
mod victims;

use crate::backlog::{Backlog, FitList, Reservation};
use crate::catalogue::{build, build_rank};
use crate::config::{Compare, Config, ConfigError};
use crate::explain::{Ring, Trace};
use crate::model::change::{Change, Stale};
use crate::model::cluster::Cluster;
use crate::model::job::Container;
use crate::model::queue::Queue;
use crate::model::share_tree::{Limits, ShareTree};
use crate::predict::Predictor;
use crate::setup::Setup;
use crate::stage::order::Order;
use crate::stage::place::Place;
use crate::stage::rank::Rank;
use crate::stage::share::Share;
use crate::words::event::{Decision, Event};
use crate::words::ids::{
    AskId, ContainerKey, JobId, Millis, NodeId, PartitionId, PlaceId, QueueId,
};
use crate::words::keys::{Layout, POOLS, ShapeId, ShareNodeId};
use crate::words::ledger::{Entry, LedgerBatch};
use asks::CutAt;
use at_limit::Lines;
use preemption::Starving;
use promises::{Promise, Promised};
use reservation::Rest;
use roomy::Roomy;
use serde_json::Value;
use short::Shortages;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use usage::Totals;
use users::UserBooks;

pub use bounds::COUNT_MAX;
pub use control::RequestError;
pub use plan::{Books, Draft};
pub use subject::{PLANTED_ASK, PLANTED_COUNT, PLANTED_GRANT, PLANTED_TICK, Subject};

/// Ids at or above this are garbage and must not grow tables: the engine ignores their events.
pub const ID_MAX: u32 = 1 << 20;

/// How long a job skips a node after the host refused a grant there. Long enough to avoid the same
/// refusal on every heartbeat, short enough to go unnoticed.
const REFUSED_MS: Millis = 1_000;

/// The interval at which the host should send `Event::Tick`.
pub const TICK_MS: Millis = 500;

/// A grant that the host has not answered yet.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    seq: u64,
    job: JobId,
    /// None once a new attempt of the job began: its asks have the same numbers.
    ask: Option<AskId>,
    container: Container,
    /// The rows whose counts this grant lowered; a refusal restores them.
    counted: [Option<Counted>; 2],
}

/// A row whose count a grant lowered.
#[derive(Clone, Copy, Debug)]
struct Counted {
    place: PlaceId,
    /// Whether the row relaxed; none if the ask had no such row left.
    relax: Option<bool>,
}

/// The engine. One per scheduler; single-threaded; owns everything it knows.
pub struct Engine {
    setup: Setup,
    cluster: Cluster,
    /// The tree of shares: of all nodes or, where queues set labels, of those without one.
    tree: ShareTree,
    /// The trees of the nodes of each label. Empty unless queues set labels.
    partitions: BTreeMap<PartitionId, ShareTree>,
    /// Whether labels have trees of their own.
    partitioned: bool,
    backlog: Backlog,
    share: Box<dyn Share>,
    order: Box<dyn Order>,
    place: Box<dyn Place>,
    rank: Box<dyn Rank>,
    /// Accounts of a market that is not in force, for the next one.
    accounts: Option<Value>,
    /// Whether a host keeps books of accounts.
    keeps_ledger: bool,
    /// Slots of the cluster by pool, as of the last tick or change of a node.
    slots: [u32; POOLS],
    /// Keys that the stages declared stale; `settle` asks for them again.
    stale: Stale,
    /// Whether nodes or demanding queues changed since entitlements were last computed.
    entitled_late: bool,
    /// When the last renewals of entitlements would have been over, one each `RENEWAL_MS`.
    renewals_ms: Millis,
    in_flight: VecDeque<InFlight>,
    next_seq: u64,
    /// When the level of each waiting ask is reviewed next.
    timers: BTreeSet<(Millis, JobId, AskId)>,
    reservations: BTreeMap<NodeId, Reservation>,
    /// Queues that ask for more than their limits.
    at_limits: Lines,
    /// Leaves below their share whose next ask fits no node.
    short_since: Shortages,
    /// Nodes that rest after a hold that led to nothing.
    rests: BTreeMap<NodeId, Rest>,
    /// How many holds ended in vain, by shape that still waits.
    tries: BTreeMap<ShapeId, u32>,
    /// Room that was made on nodes, by the ask that it was made for.
    promises: BTreeMap<NodeId, Vec<Promise>>,
    /// How many of them each ask has.
    promised: Promised,
    /// Evicted containers that have not ended yet.
    evicting: BTreeSet<(JobId, ContainerKey)>,
    /// Containers that the last round would have taken, had it not been told to observe only.
    observed: BTreeSet<(JobId, ContainerKey)>,
    /// Where the last round of preemption was cut short.
    cut_at: Option<CutAt>,
    /// When preemption last had its round.
    preempted_ms: Option<Millis>,
    /// Queues below their share, by label.
    starving: BTreeMap<(ShareNodeId, PartitionId), Starving>,
    /// Predicts when jobs start and end. No decision depends on it.
    predictor: Predictor,
    /// Jobs that wait for a limit of running jobs, over all queues.
    waiting_jobs: u32,
    /// Users of the leaves that limit them.
    users: UserBooks,
    /// The job at which the next tick resumes telling headrooms, if the last was cut short.
    headroom_from: u32,
    /// Jobs whose containers started or ended; `keep_reduces` reviews their headrooms.
    news: Vec<JobId>,
    /// The latest decisions about each job. No decision depends on them.
    trace: Trace,
    /// Nodes that have room, by rank.
    roomy: Roomy,
    /// Counts of grants and evictions, for reports. No decision depends on them.
    totals: Totals,
    /// The job or node that the engine works on, for panics. No decision depends on it.
    subject: Cell<Option<Subject>>,
    now: Millis,
    ignored: u64,
    cut: bool,
    /// Scratch space of a heartbeat, kept so that the steady state allocates nothing.
    fits: FitList,
}

impl Engine {
    /// An engine with an empty cluster.
    pub fn new(setup: Setup) -> Result<Engine, ConfigError> {
        let (share, order, place) = build(&setup.config);
        let rank = build_rank(&setup.config);
        let trace = Trace::new(setup.config.explain_entries);
        let tree = ShareTree::new(share.layout(), setup.minimum_allocation);
        let mut engine = Engine {
            cluster: Cluster::new(&setup.config),
            setup,
            tree,
            partitions: BTreeMap::new(),
            partitioned: false,
            backlog: Backlog::default(),
            share,
            order,
            place,
            rank,
            accounts: None,
            keeps_ledger: false,
            slots: note::NO_SLOTS,
            stale: Stale::default(),
            entitled_late: false,
            renewals_ms: 0,
            in_flight: VecDeque::new(),
            next_seq: 1,
            timers: BTreeSet::new(),
            reservations: BTreeMap::new(),
            at_limits: Lines::default(),
            short_since: Shortages::new(),
            rests: BTreeMap::new(),
            tries: BTreeMap::new(),
            promises: BTreeMap::new(),
            promised: Promised::new(),
            evicting: BTreeSet::new(),
            observed: BTreeSet::new(),
            cut_at: None,
            preempted_ms: None,
            starving: BTreeMap::new(),
            predictor: Predictor::default(),
            waiting_jobs: 0,
            users: UserBooks::default(),
            headroom_from: 0,
            news: Vec::new(),
            trace,
            roomy: Roomy::default(),
            totals: Totals::default(),
            subject: Cell::new(None),
            now: 0,
            ignored: 0,
            cut: false,
            fits: FitList::default(),
        };
        engine.grow_tree();
        engine.restart_partitions();
        engine.restart_users();
        Ok(engine)
    }

    /// Applies `events` in order at `now` and appends the resulting decisions to `decisions`.
    /// Leaves decisions unmade once `decisions` holds `decisions_max` (see `more`). Time never runs
    /// backwards: a `now` before an earlier one counts as that earlier one.
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
            if matches!(
                event,
                Event::Heartbeat { .. } | Event::Offer(_) | Event::Tick
            ) {
                self.keep_reduces(decisions_max, decisions);
            }
        }
    }

    /// The model, read-only.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The tree of shares, read-only.
    pub fn shares(&self) -> &ShareTree {
        &self.tree
    }

    /// The cluster's virtual slots, by pool.
    pub fn slots(&self) -> [u32; POOLS] {
        self.slots
    }

    /// Saves the state of the stages: share, order, place.
    pub fn save(&self) -> [Value; 3] {
        [self.share.save(), self.order.save(), self.place.save()]
    }

    /// Starts to record what happens to accounts, until `take_ledger` takes it, for a host that
    /// writes it down. The first entries list the existing accounts. Changes no decision. Goes on
    /// through reloads that take the accounts out of force and back.
    pub fn keep_ledger(&mut self) {
        self.keeps_ledger = true;
        if let Some(market) = self.share.market_mut() {
            market.keep_ledger();
        }
    }

    /// Takes the entries since the last call, in this order: the spending of jobs, the changes of
    /// accounts, then what the stages learnt of jobs, with or without accounts. A host that writes
    /// an interval with everything before it thus never has the charge without the sums.
    pub fn take_ledger(&mut self) -> LedgerBatch {
        let learnt = |(key, value)| Entry::Learnt { key, value };
        let market = self.share.market_mut();
        let mut taken = market.map_or_else(LedgerBatch::default, |market| market.ledger().take());
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

    /// The setup with which the engine was opened.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Whether nothing is pending, so that a heartbeat without news needs no step.
    pub fn is_idle(&self) -> bool {
        // Asks that a user's limit holds back may be due again.
        let settled = self.users.is_settled() || !self.holds_users();
        settled && self.backlog.shapes.standing().is_empty() && self.reservations.is_empty()
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

    /// The latest decisions about a job, if the configuration keeps any.
    pub fn trace(&self, job: JobId) -> Option<Ring<'_>> {
        self.trace.of(job)
    }

    /// How many grants wait for an answer.
    pub fn grants_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn ignore(&mut self, why: &str, event: &dyn std::fmt::Debug) {
        self.ignored += 1;
        // The first 100 show what goes wrong; a host out of step would fill the log.
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

    /// Adds new queues to the tree and takes over the configuration of all.
    fn grow_tree(&mut self) {
        let layout = self.share.layout();
        for queue in self.cluster.queues.all() {
            if layout == Layout::Single && queue.id.0 > 0 {
                break;
            }
            if queue.is_removed() {
                self.tree.leave_out(ShareNodeId(queue.id.0), queue.id);
                continue;
            }
            let limits = self.limits(queue);
            grow_by(&mut self.tree, layout, queue, &limits);
        }
        self.grow_partitions(None);
        self.backlog.grow(self.tree.len());
    }

    /// Lets limits that are parts of the cluster follow it.
    fn follow_capacity(&mut self) {
        self.follow_partitions();
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        let changed = self.cluster.queues.follow(&capacity);
        for id in changed {
            let leaf = self.leaf_of(id);
            if leaf.0 == id.0 {
                let queue = self.cluster.queues.get(id);
                let limits = self.limits(queue.expect("its limits were just computed"));
                self.tree.node_mut(leaf).configure(&limits);
            }
        }
    }

    /// The weight and the limits of a queue, for the tree of shares.
    fn limits(&self, queue: &Queue) -> Limits {
        self.compared(queue, self.cluster.queues.limits(queue))
    }

    /// Limits of a queue with how the share compares it.
    fn compared(&self, queue: &Queue, limits: Limits) -> Limits {
        let compared_by = match queue.parent {
            Some(_) => self.share.compare(limits.compared_by),
            None => None,
        };
        Limits {
            compared_by,
            masters_in_line: limits.masters_in_line && compared_by == Some(Compare::Capacity),
            ..limits
        }
    }

    /// Like `grow_tree`, for one new queue and its ancestors.
    fn grow_branch(&mut self, queue: QueueId) {
        let layout = self.share.layout();
        if layout == Layout::Single {
            return;
        }
        let queues = &self.cluster.queues;
        let path: Vec<_> = queues.path_up(queue).collect();
        for queue in path.into_iter().rev() {
            let limits = self.limits(queue);
            grow_by(&mut self.tree, layout, queue, &limits);
        }
        self.grow_partitions(Some(queue));
        self.backlog.grow(self.tree.len());
        for at in self.cluster.queues.path_up(queue) {
            if at.config.admission.user_limit.is_some() {
                self.users.limit();
                self.tree.keeps_passed = true;
            }
            if at.id != queue {
                self.users.queues_changed(at.id);
            }
        }
    }

    /// Removes queues that submissions made and that have been empty for `expire_ms`, and empty
    /// ones that left the configuration. Returns their ids.
    fn expire_queues(&mut self) -> Vec<QueueId> {
        if self.share.market().is_some() {
            return Vec::new();
        }
        let keep_ms = self.setup.config.dynamic_queues.expire_ms;
        let expired = self.cluster.queues.expire(self.now, keep_ms);
        self.shrink_tree(&expired);
        expired
    }

    /// Makes configured queues that had to wait for jobs in the queue above. Returns whether there
    /// were any.
    fn make_late_queues(&mut self) -> bool {
        let made = self.cluster.queues.make_late();
        if made {
            self.grow_tree();
            self.restart_users();
        }
        made
    }

    /// Removes a queue that was just made for a submission, which is refused, with those above it
    /// that were made with it. `known` was there before and stays.
    fn unmake_queues(&mut self, made: QueueId, known: QueueId) {
        // As in `expire_queues`: accounts belong to the ids of queues.
        if self.share.market().is_some() {
            return;
        }
        let unmade = self.cluster.queues.unmake(made, known);
        self.shrink_tree(&unmade);
        // Their siblings have had smaller parts.
        self.renew_parts();
    }

    /// Removes queues from the trees that the cluster no longer has.
    fn shrink_tree(&mut self, removed: &[QueueId]) {
        if self.share.layout() == Layout::Single {
            return;
        }
        let leaves: Vec<_> = removed.iter().map(|queue| ShareNodeId(queue.0)).collect();
        self.tree.remove(&leaves);
        for tree in self.partitions.values_mut() {
            tree.remove(&leaves);
        }
        self.users.queues_changed(QueueId(0));
        for leaf in leaves {
            self.tell(|_| Some(Change::QueueRemoved { leaf }));
        }
    }
}

/// Adds a queue to the tree, or takes over its configuration. Parents come first.
fn grow_by(tree: &mut ShareTree, layout: Layout, queue: &Queue, limits: &Limits) {
    let id = ShareNodeId(queue.id.0);
    if id.index() < tree.len() && !tree.node(id).removed {
        tree.node_mut(id).configure(limits);
        return;
    }
    let parent = match layout {
        Layout::Flat => queue.parent.map(|_| ShareNodeId::ROOT),
        _ => queue.parent.map(|parent| ShareNodeId(parent.0)),
    };
    tree.put(id, parent, queue.id, limits);
}
