//! The original Fair Scheduler of Hadoop (HADOOP-3746). Every job has a deficit: its due on an
//! ideal scheduler less its use. A free slot goes to the job with the largest deficit.
//!
//! This file is the stage: it counts running tasks, brings the ledgers up to date and turns
//! deficits into keys. The calculations are in the modules below, which `heddle-lab case fair`
//! calls, too. Queues serve as pools, whatever the tree of shares looks like.

pub mod entitlement;
pub mod hierarchy;
pub mod ledger;
pub mod limits;
pub mod minimum;
pub mod settings;
pub mod weight;

use crate::config::Config;
use crate::model::change::{Change, Stale, World, pool};
use crate::model::job::Job;
use crate::model::line::Line;
use crate::model::wait::{Measure, OrderLimit};
use crate::stage::common::Stage;
use crate::stage::entry::{PolicySection, Preset};
use crate::stage::order::{Order, OrderEntry};
use crate::words::ids::{JobId, Millis, UserId};
use crate::words::keys::{OrderKey, POOLS, ShareNodeId};
use crate::words::kind::Kind;
use crate::words::table::Table;
use hierarchy::Pool;
use ledger::{Ledger, Member, Rank};
use limits::{Candidate, runnable};
use serde_json::{Map, Value, json};
use settings::Settings;
use std::collections::BTreeMap;

/// Entry in the catalogue.
pub(crate) const ENTRY: OrderEntry = OrderEntry {
    name: "deficit",
    summary: "the original Fair Scheduler (HADOOP-3746): jobs below their queue's guarantee of \
              slots, then the job that is owed most",
    preset: Some(Preset {
        name: "fair-original",
        summary: "the original Fair Scheduler (HADOOP-3746): jobs of all pools by deficit, \
                  guarantees first",
        stages: ["single", "deficit", "local-first"],
        workload: "users",
    }),
    wants: &[],
    reads: settings::OF_QUEUES,
    own: Some(PolicySection {
        section: settings::SECTION,
        keys: settings::KEYS,
        check: |section| settings::read(section).map(|_| false),
    }),
    build: |config| Box::new(Deficit::new(config)),
};

/// First part of an ApplicationMaster's key. Masters go before all tasks, because a job has no
/// deficit before it can ask for tasks. `max_am_share` limits their number. The value is far from
/// the classes of tasks, which are small numbers, even after the priority is subtracted.
const AM: i64 = -(1 << 40);

/// Minimum time between two updates that first asks trigger (FS-11). Without it, a thousand
/// submissions in a second would cost a thousand updates.
const UPDATE_GAP_MS: Millis = 50;

/// Maximum number of jobs that change places in one update. Of 5,000 jobs, about 1,800 overtake
/// others in a second, and each is listed at every host that holds its data. Moving them all would
/// take tenths of a second under the scheduler's lock, mostly for places too far back to matter
/// before the next update.
const MOVES_MAX: usize = 256;

/// State of a job besides its accounts.
#[derive(Clone, Debug)]
struct Entry {
    leaf: ShareNodeId,
    submitted_ms: Millis,
    /// Time of its first task.
    started_ms: Option<Millis>,
    /// Running tasks by kind, without the ApplicationMaster.
    tasks: [u32; 3],
    max_tasks: Option<u32>,
    /// Whether its user's limit lets it run.
    may_run: bool,
    /// Whether it wanted anything at the last update, by pool.
    wanting: [bool; POOLS],
}

struct Deficit {
    settings: Settings,
    /// Whether a job is new from its first task on instead of its submission (FS-20).
    new_from_start: bool,
    /// Index of the pool of slots, by kind.
    pool_of: [usize; 3],
    jobs: Table<JobId, Entry>,
    ledgers: [Ledger; POOLS],
    /// Jobs by leaf, then by rank. All deficits change on every update, but few jobs overtake
    /// others; only those get new labels, and with them new keys.
    lines: [Line; POOLS],
    /// Set if jobs began to want tasks since the last update, which has not counted them.
    unsettled: bool,
    /// Deficits from before a reload, for jobs that the engine has yet to announce.
    brought: BTreeMap<JobId, [f64; POOLS]>,
}

impl Deficit {
    fn new(config: &Config) -> Deficit {
        let pool_of = |kind| pool(config, kind, false).expect("tasks take slots");
        Deficit {
            settings: settings::settings(config),
            new_from_start: config.choices.new_from_start,
            pool_of: Kind::ALL.map(pool_of),
            jobs: Table::default(),
            ledgers: Default::default(),
            lines: Default::default(),
            unsettled: false,
            brought: BTreeMap::new(),
        }
    }

    fn place_of(&self, job: &Job, kind: Kind) -> OrderKey {
        // The first container of a job of another framework is its ApplicationMaster.
        let am = job.facts.mapreduce || job.running_containers() == 0;
        if kind == Kind::Other && am {
            let priority = i64::from(job.facts.priority);
            return OrderKey(AM - priority, job.facts.submitted_ms);
        }
        let pool = self.pool_of[kind as usize];
        let account = self.ledgers[pool].account(job.facts.job);
        let class = account.map_or(1, |account| account.class());
        OrderKey(i64::from(class), self.lines[pool].label(job.facts.job.0))
    }

    fn may_start(&self, job: &Job, entry: &Entry, kind: Kind) -> bool {
        let am = kind == Kind::Other && job.facts.mapreduce;
        let full = entry
            .max_tasks
            .is_some_and(|max| !am && entry.tasks[kind as usize] >= max);
        let early = kind == Kind::Reduce && !self.reduces_may_start(job, entry);
        entry.may_run && !full && !early
    }

    /// Tells whether max(1, a part) of the maps are done, if so configured (FS-19).
    fn reduces_may_start(&self, job: &Job, entry: &Entry) -> bool {
        f64::from(job.done[Kind::Map as usize]) >= self.maps_needed(job, entry)
    }

    /// Returns how many maps must have ended before reduces may start.
    fn maps_needed(&self, job: &Job, entry: &Entry) -> f64 {
        let Some(part) = self.settings.slow_start else {
            return 0.0;
        };
        let map = Kind::Map as usize;
        let known = || job.done[map] + entry.tasks[map] + job.pending_of(Kind::Map);
        match job.hints.tasks[map].unwrap_or_else(known) {
            0 => 0.0,
            maps => (part * f64::from(maps)).max(1.0),
        }
    }

    /// Marks the job stale if its key or admission differs from what the engine holds.
    fn recheck(&self, job: &Job, stale: &mut Stale) {
        let Some(entry) = self.jobs.get(job.facts.job) else {
            return;
        };
        let differs = |kind: Kind| {
            let (key, admitted) = (job.order_keys[kind as usize], job.admitted[kind as usize]);
            key != self.place_of(job, kind) || admitted != self.may_start(job, entry, kind)
        };
        if Kind::ALL.into_iter().any(differs) {
            stale.job(job.facts.job);
        }
    }

    fn add(&mut self, job: &Job, world: &World<'_>, stale: &mut Stale) {
        let id = job.facts.job;
        let brought = self.brought.remove(&id).unwrap_or_default();
        let entry = Entry {
            leaf: job.leaf,
            submitted_ms: job.facts.submitted_ms,
            started_ms: None,
            tasks: [0; 3],
            max_tasks: self.max_tasks(job, world),
            may_run: true,
            wanting: [false; POOLS],
        };
        self.jobs.insert(id, entry);
        for (ledger, deficit) in self.ledgers.iter_mut().zip(brought) {
            ledger.open(id, deficit, world.now);
        }
        self.line_up(id, true);
        self.limit_users(world, stale);
        self.recheck(job, stale);
    }

    fn remove(&mut self, job: &Job, world: &World<'_>, stale: &mut Stale) {
        let id = job.facts.job;
        self.line_up(id, false);
        for ledger in &mut self.ledgers {
            ledger.close(id);
        }
        self.jobs.remove(id);
        self.limit_users(world, stale);
    }

    /// Inserts a job into the lines, or removes it.
    fn line_up(&mut self, job: JobId, added: bool) {
        for (line, ledger) in self.lines.iter_mut().zip(&self.ledgers) {
            if added {
                line.insert(job.0, |job| rank(&self.jobs, ledger, JobId(job)));
            } else {
                line.remove(job.0);
            }
        }
    }

    /// Follows a change of a job's queue, priority, limit or attempt.
    fn change(&mut self, job: &Job, world: &World<'_>, stale: &mut Stale) {
        let id = job.facts.job;
        let max_tasks = self.max_tasks(job, world);
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.max_tasks = max_tasks;
        if entry.leaf != job.leaf {
            self.line_up(id, false);
            if let Some(entry) = self.jobs.get_mut(id) {
                entry.leaf = job.leaf;
            }
            self.line_up(id, true);
        }
        self.limit_users(world, stale);
        self.recheck(job, stale);
    }

    fn max_tasks(&self, job: &Job, world: &World<'_>) -> Option<u32> {
        let queue = world.cluster.queues.get(job.facts.queue);
        let own = queue.and_then(|queue| queue.config.max_tasks_per_job);
        own.or(self.settings.max_tasks_per_job)
    }

    /// Applies the limits of users. The engine itself applies those of queues.
    fn limit_users(&mut self, world: &World<'_>, stale: &mut Stale) {
        if !self.settings.limits_users() {
            return;
        }
        let candidates = self.candidates(world);
        let user_max = |user| self.settings.max_jobs_of(UserId(user));
        let runs = runnable(&candidates, self.settings.rules.scale, user_max, |_| None);
        for (candidate, runs) in candidates.iter().zip(runs) {
            let entry = self.jobs.get_mut(candidate.job);
            let entry = entry.expect("only known jobs are candidates");
            if entry.may_run != runs {
                entry.may_run = runs;
                stale.job(candidate.job);
            }
        }
    }

    /// Returns the jobs that only the limit of their users may keep from running.
    fn candidates(&self, world: &World<'_>) -> Vec<Candidate> {
        let jobs = world.cluster.jobs().filter(|job| job.runnable);
        jobs.filter(|job| self.jobs.contains(job.facts.job))
            .map(|job| Candidate {
                job: job.facts.job,
                user: job.facts.user.0,
                pool: job.facts.queue.0,
                priority: job.facts.priority,
                submitted_ms: job.facts.submitted_ms,
            })
            .collect()
    }

    /// Returns the least limit of jobs per user with which the job would run.
    fn user_jobs_needed(&self, job: JobId, world: &World<'_>) -> u32 {
        let candidates = self.candidates(world);
        let me = candidates.iter().position(|other| other.job == job);
        let runs = |max: u32| {
            let runs = runnable(
                &candidates,
                self.settings.rules.scale,
                |_| Some(max),
                |_| None,
            );
            me.is_some_and(|me| runs[me])
        };
        // With a limit equal to the number of candidates every job runs.
        let (mut below, mut enough) = (0, candidates.len() as u32);
        while enough - below > 1 {
            let middle = (below + enough) / 2;
            if runs(middle) {
                enough = middle;
            } else {
                below = middle;
            }
        }
        enough
    }

    /// Updates the shares if these are the job's first tasks of a kind.
    fn asked(&mut self, job: &Job, kind: Kind, world: &World<'_>, stale: &mut Stale) {
        if self.settings.slow_start.is_some() && kind == Kind::Map {
            self.recheck(job, stale);
        }
        let pool = self.pool_of[kind as usize];
        let entry = self.jobs.get(job.facts.job);
        let new = entry.is_some_and(|entry| !entry.wanting[pool]);
        if !new || job.pending_of(kind) == 0 {
            return;
        }
        if world.now - self.ledgers[pool].updated_ms() >= UPDATE_GAP_MS {
            self.update(world, Some(job.facts.job), stale);
        } else {
            self.unsettled = true;
        }
    }

    /// Brings deficits up to date, then computes shares and ranks. `newcomer` asks for its first
    /// tasks now: it had no part in the time since the last update.
    fn update(&mut self, world: &World<'_>, newcomer: Option<JobId>, stale: &mut Stale) {
        let (pools, members) = (self.pools(world), self.members(world));
        let before = self.classes(&members);
        let rules = self.settings.rules;
        // No job has or wants slots of a pool that takes no kind of tasks.
        let used = |pool: &usize| self.pool_of.contains(pool);
        for pool in (0..POOLS).filter(used) {
            let slots = f64::from(world.slots[pool]);
            let ledger = &mut self.ledgers[pool];
            if self.unsettled {
                let earlier = members[pool].iter().copied();
                let earlier: Vec<Member> = earlier.filter(|m| Some(m.job) != newcomer).collect();
                ledger.refresh(slots, &pools[pool], &earlier, &rules);
            }
            ledger.update(world.now, slots, &pools[pool], &members[pool], &rules);
        }
        self.unsettled = false;
        let mut moved: Vec<JobId> = Vec::new();
        for (line, ledger) in self.lines.iter_mut().zip(&self.ledgers) {
            line.resort(MOVES_MAX, |job| rank(&self.jobs, ledger, JobId(job)));
            moved.extend(line.take_moved().into_iter().map(JobId));
        }
        for (pool, members) in members.iter().enumerate() {
            for member in members {
                let account = self.ledgers[pool].account(member.job);
                let wants = member.waiting + account.map_or(0, |account| account.running) > 0;
                if let Some(entry) = self.jobs.get_mut(member.job) {
                    entry.wanting[pool] = wants;
                }
            }
        }
        let after = self.classes(&members);
        for (pool, members) in members.iter().enumerate() {
            let differs = |i: &usize| before[pool][*i] != after[pool][*i];
            moved.extend((0..members.len()).filter(differs).map(|i| members[i].job));
        }
        // Counters may raise the number of completed maps; this stage does not follow them.
        if self.settings.slow_start.is_some() {
            moved = world.cluster.job_ids().to_vec();
        }
        for job in moved {
            if let Some(job) = world.cluster.job(job) {
                self.recheck(job, stale);
            }
        }
        debug_assert!(self.are_found(world, stale), "the other jobs' keys hold");
    }

    /// The classes of members, by pool.
    fn classes(&self, members: &[Vec<Member>; POOLS]) -> [Vec<Option<u8>>; POOLS] {
        std::array::from_fn(|pool| {
            let accounts = members[pool].iter();
            let accounts = accounts.map(|member| self.ledgers[pool].account(member.job));
            accounts.map(|account| Some(account?.class())).collect()
        })
    }

    /// Whether every job whose key or admission differs from what the engine holds is stale.
    fn are_found(&self, world: &World<'_>, stale: &Stale) -> bool {
        let mut all = Stale::default();
        for job in world.cluster.jobs() {
            self.recheck(job, &mut all);
        }
        all.jobs.iter().all(|job| stale.jobs.contains(job))
    }

    /// Returns the queues as pools, for each kind of slots. Parents come before children in both.
    fn pools(&self, world: &World<'_>) -> [Vec<Pool>; POOLS] {
        let [map, reduce, _] = self.pool_of;
        let mut pools: [Vec<Pool>; POOLS] = Default::default();
        for queue in world.cluster.queues.all() {
            let mut min = [0.0; POOLS];
            min[map] += f64::from(queue.config.min_maps);
            min[reduce] += f64::from(queue.config.min_reduces);
            for (pools, min) in pools.iter_mut().zip(min) {
                pools.push(Pool {
                    parent: queue.parent.map(|parent| parent.index()),
                    weight: queue.config.weight,
                    min,
                    max: f64::INFINITY,
                    demand: 0.0,
                });
            }
        }
        pools
    }

    /// Returns all jobs in order of submission, for each kind of slots.
    fn members(&self, world: &World<'_>) -> [Vec<Member>; POOLS] {
        let mut members: [Vec<Member>; POOLS] = Default::default();
        for job in world.cluster.job_ids().iter().copied() {
            let (Some(entry), Some(want)) = (self.jobs.get(job), world.cluster.want(job)) else {
                continue;
            };
            let waiting = self.waiting((job, entry), want.pending, world);
            let new_since_ms = match self.new_from_start {
                true => entry.started_ms.unwrap_or(world.now),
                false => entry.submitted_ms,
            };
            for (members, waiting) in members.iter_mut().zip(waiting) {
                members.push(Member {
                    job,
                    submitted_ms: entry.submitted_ms,
                    new_since_ms,
                    pool: want.queue.index(),
                    priority: want.priority,
                    runnable: want.runnable && entry.may_run,
                    waiting,
                });
            }
        }
        for members in &mut members {
            members.sort_by_key(|member| (member.submitted_ms, member.job));
        }
        members
    }

    /// Returns how many more tasks a job wants and may have, by kind of slots. Tasks beyond its own
    /// limit are no demand; otherwise its deficit would grow without end.
    fn waiting(
        &self,
        (job, entry): (JobId, &Entry),
        mut by_kind: [u32; 3],
        world: &World<'_>,
    ) -> [u32; POOLS] {
        let may_start = |job: &Job| self.reduces_may_start(job, entry);
        let reduces = &mut by_kind[Kind::Reduce as usize];
        if *reduces > 0 && self.settings.slow_start.is_some() {
            *reduces *= u32::from(world.cluster.job(job).is_some_and(may_start));
        }
        let mut waiting = [0u32; POOLS];
        for (kind, tasks) in by_kind.into_iter().enumerate() {
            let room = entry
                .max_tasks
                .map_or(u32::MAX, |max| max.saturating_sub(entry.tasks[kind]));
            let pool = self.pool_of[kind];
            waiting[pool] = waiting[pool].saturating_add(tasks.min(room));
        }
        waiting
    }

    /// Counts a container that started, ended or was withdrawn.
    fn count(&mut self, job: &Job, kind: Kind, am: bool, how: Count, now: Millis) {
        let id = job.facts.job;
        let Some(entry) = self.jobs.get_mut(id).filter(|_| !am) else {
            return;
        };
        if matches!(how, Count::Started) {
            entry.started_ms.get_or_insert(now);
        }
        let tasks = &mut entry.tasks[kind as usize];
        let ledger = &mut self.ledgers[self.pool_of[kind as usize]];
        match how {
            Count::Started => {
                *tasks += 1;
                ledger.started(id);
            }
            Count::Ended => {
                *tasks = tasks.saturating_sub(1);
                ledger.ended(id, 1, now);
            }
            Count::Withdrawn => {
                *tasks = tasks.saturating_sub(1);
                ledger.withdrawn(id);
            }
        }
    }
}

/// Returns a job's position in the line: leaf by leaf, because only jobs of one leaf compete.
fn rank(jobs: &Table<JobId, Entry>, ledger: &Ledger, job: JobId) -> (ShareNodeId, Rank) {
    let entry = jobs.get(job).expect("who is in the line has an entry");
    let deficit = ledger.account(job).map_or(0.0, |account| account.deficit);
    (entry.leaf, Rank::new(deficit, entry.submitted_ms, job))
}

/// Change in a job's containers.
#[derive(Clone, Copy)]
enum Count {
    Started,
    Ended,
    Withdrawn,
}

impl Stage for Deficit {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        let (job, kind, am, how) = match *change {
            Change::JobAdded(job) => return self.add(job, world, stale),
            Change::JobRemoved(job) => return self.remove(job, world, stale),
            Change::JobChanged(job) => return self.change(job, world, stale),
            Change::Asked { job, kind } => return self.asked(job, kind, world, stale),
            Change::Tick => return self.update(world, None, stale),
            Change::Started { job, kind, am, .. } => (job, kind, am, Count::Started),
            Change::Withdrawn { job, kind, am, .. } => (job, kind, am, Count::Withdrawn),
            Change::Ended {
                job,
                kind,
                container,
                ..
            } => (job, kind, container.am, Count::Ended),
            _ => return,
        };
        self.count(job, kind, am, how, world.now);
        self.recheck(job, stale);
    }

    /// Saves deficit in slot-milliseconds, share, guarantee and running tasks, per job and kind of
    /// slots. A deficit grows without bound while the job waits for the places that it insists on;
    /// here it shows (FS-A7).
    fn save(&self) -> Value {
        let account = |pool: usize, job: JobId| {
            let account = self.ledgers[pool].account(job).copied().unwrap_or_default();
            json!({
                "deficit": account.deficit,
                "share": account.entitled.share,
                "min": account.entitled.min,
                "running": account.running,
            })
        };
        let jobs = self.jobs.iter().map(|(job, _)| {
            let accounts = (0..POOLS).map(|pool| account(pool, job)).collect();
            (job.0.to_string(), Value::Array(accounts))
        });
        json!({ "jobs": jobs.collect::<Map<_, _>>() })
    }

    fn load(&mut self, saved: &Value) {
        let jobs = saved["jobs"].as_object().into_iter().flatten();
        for (job, accounts) in jobs {
            let Ok(job) = job.parse() else { continue };
            let deficit = |pool: usize| accounts[pool]["deficit"].as_f64().unwrap_or(0.0);
            let deficits = std::array::from_fn(deficit);
            self.brought.insert(JobId(job), deficits);
        }
    }
}

impl Order for Deficit {
    fn key(&self, job: &Job, kind: Kind) -> OrderKey {
        match self.jobs.get(job.facts.job) {
            Some(_) => self.place_of(job, kind),
            None => OrderKey::default(),
        }
    }

    fn shares_equally(&self, _leaf: ShareNodeId) -> bool {
        true
    }

    fn admits(&self, job: &Job, kind: Kind) -> bool {
        let entry = self.jobs.get(job.facts.job);
        entry.is_none_or(|entry| self.may_start(job, entry, kind))
    }

    fn held(&self, job: &Job, kind: Kind, world: &World<'_>) -> OrderLimit {
        let Some(entry) = self.jobs.get(job.facts.job) else {
            return OrderLimit::Unsaid;
        };
        let running = entry.tasks[kind as usize];
        let user_max = self.settings.max_jobs_of(job.facts.user);
        if let (Some(max), false) = (user_max, entry.may_run) {
            let needed = self.user_jobs_needed(job.facts.job, world);
            OrderLimit::UserJobs { max, needed }
        } else if let Some(max) = entry.max_tasks.filter(|max| running >= *max) {
            OrderLimit::MaxTasks { running, max }
        } else {
            OrderLimit::SlowStart {
                done: job.done[Kind::Map as usize],
                needed: self.maps_needed(job, entry).ceil() as u32,
            }
        }
    }

    fn measure(&self, job: &Job, kind: Kind) -> Option<Measure> {
        let ledger = &self.ledgers[self.pool_of[kind as usize]];
        let account = ledger.account(job.facts.job)?;
        let master = self.place_of(job, kind).0 <= AM / 2;
        (!master).then_some(Measure::Owed(account.deficit as i64))
    }
}
