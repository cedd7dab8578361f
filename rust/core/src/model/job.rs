//! A job: what it asks for, what it holds. Knows no queue order and no policy.

use crate::model::by_label::{ByLabel, Over};
use crate::words::credits::Credits;
use crate::words::event::{AskFacts, JobCounters, JobFacts, JobHints, TaskFacts};
use crate::words::ids::{AskId, ContainerKey, Locality, Millis, NodeId, PartitionId, PlaceId};
use crate::words::keys::{OrderKey, POOLS, ShapeId, ShareNodeId, Tag};
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The most containers that a job counts as asking for. Policies can add to it, such as what runs,
/// without overflow.
const PENDING_MAX: u32 = 1 << 30;

/// A running container, or a grant that the host has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// Where it runs.
    pub node: NodeId,
    /// The label of that node.
    pub partition: PartitionId,
    /// Whether it was granted to an ask without that label.
    pub lent: bool,
    /// The resources that it holds.
    pub resource: Resource,
    /// Its request priority.
    pub priority: i32,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// Whether its room was made for it by taking others' containers back.
    pub by_kill: bool,
    /// When it was granted.
    pub started_ms: Millis,
    /// When its node reported that it runs, if it did.
    pub launched_ms: Option<Millis>,
    /// How much of its time counts as its launch, as learnt so far.
    pub overhead_ms: Millis,
    /// Its progress, as last reported.
    pub task: TaskFacts,
    /// When it first said that it commits.
    pub committing_since_ms: Option<Millis>,
}

/// How long a task that commits is spared. Users' code says that it does, so a false claim must not
/// keep a container for ever.
const COMMIT_MS: Millis = 120_000;

impl Container {
    /// Replaces its progress.
    pub(crate) fn set_task(&mut self, facts: TaskFacts, now: Millis) {
        self.task = facts;
        if facts.committing {
            self.committing_since_ms.get_or_insert(now);
        }
    }

    /// Whether its task commits its output and should not be stopped now.
    pub fn commits(&self, now: Millis) -> bool {
        let since_ms = self.committing_since_ms.unwrap_or(now);
        self.task.committing && now - since_ms < COMMIT_MS
    }

    /// How long its task has run at a time: since its launch was seen, less the launch overhead. At
    /// least half of that time, because the overhead of one container is not known exactly. Counts
    /// from the grant if no launch was reported.
    pub fn task_ms(&self, at: Millis) -> Millis {
        let seen_ms = (at - self.launched_ms.unwrap_or(self.started_ms)).max(0);
        seen_ms - self.overhead_ms.min(seen_ms / 2)
    }
}

/// The part of an ask that names one host or rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// How many of the ask's containers would be local there.
    pub count: u32,
    /// For a rack: whether any of its hosts will do.
    pub relax: bool,
}

/// Where an ask stands in the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Standing {
    /// Nothing is pending, or something holds it back; see `Job::is_due`.
    #[default]
    Out,
    /// Any node with room will do now.
    Open,
    /// Insists on its hosts or racks for the time being.
    Locked,
    /// Insists on its hosts or racks for good (`relaxLocality=false`).
    Strict,
}

impl Standing {
    /// Whether asks of this standing are in the index of classes: those that need not wait. A
    /// strict one is skipped where it may not run.
    pub fn is_classed(self) -> bool {
        matches!(self, Standing::Open | Standing::Strict)
    }
}

/// One kind of container that a job asks for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request of the host; grants have lowered its count since.
    pub facts: AskFacts,
    /// Hosts and racks that were named.
    pub rows: BTreeMap<PlaceId, Row>,
    /// How many of the rows do not relax. If none, an open ask may run anywhere.
    pub unrelaxed: u32,
    /// Its size and label, interned.
    pub shape: ShapeId,
    /// How far from the named places it may run now.
    pub level: Locality,
    /// Since when it insists on `level` without a break, in the backlog and not served.
    pub insisting_since_ms: Millis,
    /// When it was first passed over since then, if that was seen before its job moved in the
    /// order, or its wait at a nearer level has just ended.
    pub passed_ms: Option<Millis>,
    /// How long it waited at `level` before that.
    pub waited_ms: Millis,
    /// What waiting has cost it so far: time in which its containers could have run.
    pub lost_ms: i64,
    /// How many containers it was granted.
    pub served: u32,
    /// Since when it has waited: it became pending, or a node of its label served it.
    pub waiting_since_ms: Millis,
    /// When its level is reviewed next.
    pub timer_ms: Option<Millis>,
    /// Where it stands in the backlog.
    pub standing: Standing,
    /// Whether a limit or the order took it out of the backlog. Its level and wait then go on: one
    /// that is held back now and then would otherwise insist without end.
    pub suspended: bool,
}

/// How long an ask without a label must have waited for nodes without one before others lend it
/// room. The Capacity Scheduler waits until as many nodes have reported as there are.
const LEND_AFTER_MS: Millis = 1_000;

impl Ask {
    /// An ask that stands nowhere yet.
    pub(crate) fn new(facts: AskFacts, shape: ShapeId, now: Millis) -> Ask {
        Ask {
            facts,
            rows: BTreeMap::new(),
            unrelaxed: 0,
            shape,
            level: Locality::OffSwitch,
            insisting_since_ms: now,
            passed_ms: None,
            waited_ms: 0,
            lost_ms: 0,
            served: 0,
            waiting_since_ms: now,
            timer_ms: None,
            standing: Standing::Out,
            suspended: false,
        }
    }

    /// Whether it has waited long enough for nodes of its own.
    pub(crate) fn may_borrow(&self, now: Millis) -> bool {
        now - self.waiting_since_ms >= LEND_AFTER_MS
    }

    /// Whether it waits for a nearer place than it may have later.
    pub(crate) fn waits(&self) -> bool {
        match self.standing {
            Standing::Out | Standing::Open => false,
            Standing::Locked => true,
            Standing::Strict => self.level == Locality::NodeLocal,
        }
    }

    /// How near `host` or `rack` is to what was named.
    pub fn locality(&self, host: PlaceId, rack: PlaceId) -> Locality {
        if self.rows.get(&host).is_some_and(|row| row.count > 0) {
            Locality::NodeLocal
        } else if self
            .rows
            .get(&rack)
            .is_some_and(|row| row.count > 0 && row.relax)
        {
            Locality::RackLocal
        } else {
            Locality::OffSwitch
        }
    }

    /// Whether a node of `host` and `rack` may serve the ask at some level, once it has waited for
    /// nearer places.
    pub fn accepts(&self, host: PlaceId, rack: PlaceId) -> bool {
        let named = |place| self.rows.get(&place).filter(|row| row.count > 0);
        let rack = named(rack);
        named(host).is_some()
            || (self.facts.relax || rack.is_some()) && rack.is_none_or(|row| row.relax)
    }

    /// Whether a node of `host` and `rack` may serve the ask at its level. A rack that was named
    /// without relaxing serves it only on hosts that were named, even if the ask relaxes (YARN's
    /// `ResourceRequest.setRelaxLocality`).
    pub fn may_run_on(&self, host: PlaceId, rack: PlaceId) -> bool {
        match self.locality(host, rack) {
            Locality::NodeLocal => true,
            Locality::RackLocal => self.level >= Locality::RackLocal,
            Locality::OffSwitch => {
                let vetoed = |row: &Row| row.count > 0 && !row.relax;
                self.standing == Standing::Open && !self.rows.get(&rack).is_some_and(vetoed)
            }
        }
    }
}

/// The spending that a job is allowed of its queue's credits (version 2 of DP-39). It goes with the
/// job, into another queue too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority {
    /// In all.
    pub credits: Credits,
    /// Per slot and interval, at most.
    pub rate: Credits,
    /// Until when, on the engine's clock.
    pub until_ms: Millis,
    /// Its spending when the host set this. The share counts its spending since.
    pub spent: Credits,
    /// The application's name, the same in every engine. None: nothing of it outlives the engine.
    pub application: Option<ApplicationName>,
}

/// The name of a YARN application. As text it is what follows `application_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApplicationName {
    /// When its ResourceManager started, by the wall clock.
    pub cluster_ms: i64,
    /// Counted from there.
    pub number: u32,
}

impl Display for ApplicationName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{:04}", self.cluster_ms, self.number)
    }
}

impl FromStr for ApplicationName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<ApplicationName, &'static str> {
        let expected = "expected the two numbers of an application, TIME_NUMBER";
        let (cluster_ms, number) = text.split_once('_').ok_or(expected)?;
        Ok(ApplicationName {
            cluster_ms: cluster_ms.parse().map_err(|_| expected)?,
            number: number.parse().map_err(|_| expected)?,
        })
    }
}

/// A job and all that belongs to it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The facts of its submission; queue and priority may change later.
    pub facts: JobFacts,
    /// Its leaf in the tree of shares.
    pub leaf: ShareNodeId,
    /// The places of its maps, reduces and other containers in the order inside the leaf.
    pub order_keys: [OrderKey; 3],
    /// By kind, whether the order stage lets more of them start now.
    pub admitted: [bool; 3],
    /// By kind, the classes of the place stage in which its open and strict asks are found.
    pub tags: [Vec<Tag>; 3],
    /// The place stage's window.
    pub window: u32,
    /// Whether its containers change its keys, so that places do not sort it by them.
    pub unsorted: bool,
    /// Facts beyond its asks.
    pub hints: JobHints,
    /// The last counters of its ApplicationMaster, if it sent any.
    pub counters: Option<JobCounters>,
    /// Whether it may run, or waits for another to end (limits of running jobs).
    pub runnable: bool,
    /// Where its user is above the limit in its leaf, so that it gets nothing.
    pub over: Over,
    /// The part of `used` on nodes whose label has shares of its own.
    pub labelled_used: ByLabel,
    /// Whether its ApplicationMaster waits in the line of its leaf.
    pub master_held: bool,
    /// Its asks by `AskId`. `set_count` and `count_pending` keep the counts beside them.
    pub asks: Vec<Option<Box<Ask>>>,
    /// How many containers they ask for, by kind; the ApplicationMaster is not counted.
    pending_tasks: [u64; 3],
    /// Its containers by key.
    pub containers: BTreeMap<ContainerKey, Container>,
    /// The resources of its containers, grants in flight included.
    pub used: Resource,
    /// Those of its ApplicationMaster.
    pub masters_used: Resource,
    /// How many containers it has by kind (map, reduce, other), grants in flight included.
    pub running: [u32; 3],
    /// How many of them take slots, by pool.
    pub slots: [u32; POOLS],
    /// When it was first offered containers for its tasks.
    pub(crate) offered_ms: Option<Millis>,
    /// The limits of its spending, if there are any.
    pub authority: Option<Authority>,
    /// How many containers of each kind have succeeded.
    pub done: [u32; 3],
    /// Hosts and racks that it excludes.
    pub blacklist: BTreeSet<PlaceId>,
    /// Nodes where the host refused it a grant, and until when it skips them.
    pub refused: BTreeMap<NodeId, Millis>,
    /// The headroom that it was told last.
    pub headroom: Option<Resource>,
}

impl Job {
    /// Whether the ask belongs in the backlog, provided that the job may run.
    pub(crate) fn is_due(&self, ask: &Ask) -> bool {
        let admitted = self.admitted[self.kind(ask.facts.priority) as usize];
        ask.facts.count > 0 && !self.is_held(ask) && (ask.facts.am || admitted)
    }

    /// Whether a limit of its user holds the ask back.
    pub(crate) fn is_held(&self, ask: &Ask) -> bool {
        self.over.on(ask.facts.partition)
            || self.master_held && (ask.facts.am || self.facts.unmanaged_am)
    }

    /// A job at its submission.
    pub fn new(facts: JobFacts, leaf: ShareNodeId) -> Job {
        Job {
            facts,
            leaf,
            order_keys: [OrderKey::FIRST; 3],
            admitted: [true; 3],
            tags: Default::default(),
            window: 0,
            unsorted: false,
            hints: JobHints::default(),
            counters: None,
            runnable: false,
            over: Over::default(),
            labelled_used: ByLabel::default(),
            master_held: false,
            asks: Vec::new(),
            pending_tasks: [0; 3],
            containers: BTreeMap::new(),
            used: Resource::ZERO,
            masters_used: Resource::ZERO,
            offered_ms: None,
            running: [0; 3],
            slots: [0; POOLS],
            authority: None,
            done: [0; 3],
            blacklist: BTreeSet::new(),
            refused: BTreeMap::new(),
            headroom: None,
        }
    }

    /// A copy for the order stage's key, without asks and containers.
    pub(crate) fn outline(&self) -> Job {
        Job {
            order_keys: self.order_keys,
            admitted: self.admitted,
            tags: self.tags.clone(),
            window: self.window,
            unsorted: self.unsorted,
            hints: self.hints,
            counters: self.counters,
            runnable: self.runnable,
            pending_tasks: self.pending_tasks,
            used: self.used,
            masters_used: self.masters_used,
            running: self.running,
            slots: self.slots,
            authority: self.authority,
            done: self.done,
            ..Job::new(self.facts, self.leaf)
        }
    }

    /// The ask, if there ever was one of that id in this attempt.
    pub fn ask(&self, id: AskId) -> Option<&Ask> {
        self.asks.get(id.index())?.as_deref()
    }

    pub(crate) fn ask_mut(&mut self, id: AskId) -> Option<&mut Ask> {
        self.asks.get_mut(id.index())?.as_deref_mut()
    }

    /// The asks with something pending, in order of id.
    pub fn pending(&self) -> impl Iterator<Item = &Ask> {
        self.asks
            .iter()
            .filter_map(Option::as_deref)
            .filter(|ask| ask.facts.count > 0)
    }

    /// Changes the count of an ask.
    pub(crate) fn set_count(&mut self, id: AskId, count: u32) {
        let Some(ask) = self.ask_mut(id) else { return };
        let before = std::mem::replace(&mut ask.facts.count, count);
        let facts = ask.facts;
        self.count_pending(
            &AskFacts {
                count: before,
                ..facts
            },
            false,
        );
        self.count_pending(&facts, true);
    }

    /// Counts what an ask wants in or out, when it comes, goes or changes.
    pub(crate) fn count_pending(&mut self, facts: &AskFacts, added: bool) {
        if facts.am {
            return;
        }
        let kind = self.kind(facts.priority);
        let sum = &mut self.pending_tasks[kind as usize];
        match added {
            true => *sum += u64::from(facts.count),
            false => *sum -= u64::from(facts.count),
        }
    }

    /// Whether the counts are those of its asks. For the invariants.
    pub(crate) fn counts_are_right(&self) -> bool {
        let mut sums = [0u64; 3];
        for ask in self.pending().filter(|ask| !ask.facts.am) {
            sums[self.kind(ask.facts.priority) as usize] += u64::from(ask.facts.count);
        }
        sums == self.pending_tasks
    }

    /// How many containers of one kind it asks for; the ApplicationMaster is not counted. Stages
    /// look at this for each ask that comes: it must not walk them.
    pub fn pending_of(&self, kind: Kind) -> u32 {
        self.pending_by_kind()[kind as usize]
    }

    /// How many tasks of one kind run: its containers without the ApplicationMaster.
    pub(crate) fn running_tasks(&self, kind: Kind) -> u32 {
        let masters = if kind == Kind::Other {
            let masters = self.containers.values().filter(|container| container.am);
            masters.count() as u32
        } else {
            0
        };
        self.running[kind as usize].saturating_sub(masters)
    }

    /// `pending_of` each kind.
    pub(crate) fn pending_by_kind(&self) -> [u32; 3] {
        self.pending_tasks
            .map(|sum| sum.min(u64::from(PENDING_MAX)) as u32)
    }

    /// Whether containers of the kind are tasks in the papers' sense. The only `Other` container of
    /// a MapReduce job is its ApplicationMaster.
    pub(crate) fn has_tasks(&self, kind: Kind) -> bool {
        kind != Kind::Other || !self.facts.mapreduce
    }

    /// By kind, whether tasks run or may start. `pending` is `pending_by_kind`.
    pub(crate) fn active(&self, pending: [u32; 3]) -> [bool; 3] {
        Kind::ALL.map(|kind| {
            let may_start = self.runnable && pending[kind as usize] > 0;
            self.has_tasks(kind) && (may_start || self.running_tasks(kind) > 0)
        })
    }

    /// The amounts of its pending asks with their labels; none while it may not run.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (PartitionId, Resource)> {
        let may_run = |ask: &&Ask| self.runnable && !self.over.on(ask.facts.partition);
        self.pending().filter(may_run).map(|ask| {
            let amount = ask.facts.resource.times(i64::from(ask.facts.count));
            (ask.facts.partition, amount)
        })
    }

    /// The labels that it asks for, or else asked for last. Some may come several times.
    pub(crate) fn labels(&self) -> impl Iterator<Item = PartitionId> {
        let none_pends = self.pending().next().is_none();
        let nothing_asked = self.asks.iter().flatten().next().is_none();
        let pending = self.pending().map(|ask| ask.facts.partition);
        let asked = self.asks.iter().flatten().filter(move |_| none_pends);
        let asked = asked.map(|ask| ask.facts.partition);
        pending
            .chain(asked)
            .chain(nothing_asked.then_some(PartitionId::DEFAULT))
    }

    /// How many ApplicationMasters it asks for: one, until it has it.
    pub fn pending_masters(&self) -> u32 {
        let masters = self.pending().filter(|ask| ask.facts.am);
        let count = masters.fold(0u32, |sum, ask| sum.saturating_add(ask.facts.count));
        count.min(PENDING_MAX)
    }

    /// All containers, grants in flight included.
    pub fn running_containers(&self) -> u32 {
        self.running.iter().sum()
    }

    /// How many of them are ApplicationMasters: the only containers that take no slot.
    pub fn running_masters(&self) -> u32 {
        let tasks: u32 = self.slots.iter().sum();
        self.running_containers().saturating_sub(tasks)
    }

    /// The kind behind a request priority of this job.
    pub fn kind(&self, priority: i32) -> Kind {
        Kind::of(self.facts.mapreduce, priority)
    }

    /// Whether the job refuses to run on a node of this host and rack.
    pub fn blacklists(&self, host: PlaceId, rack: PlaceId) -> bool {
        !self.blacklist.is_empty()
            && (self.blacklist.contains(&host) || self.blacklist.contains(&rack))
    }
}
