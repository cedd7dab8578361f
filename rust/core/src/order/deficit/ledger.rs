//! The ledger of deficits of one kind of slots: how many slot-milliseconds each job is owed, and
//! which job is next (FS-9 to FS-12, FS-17). Knows neither nodes nor tasks.

use std::cmp::Reverse;

use super::entitlement::{Demand, Entitlement, entitle};
use super::hierarchy::Pool;
use super::weight::{self, Boost, Scale};
use crate::words::ids::{JobId, Millis};
use crate::words::table::Table;

/// Settings of the original Fair Scheduler that weigh jobs against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Whether the demand caps a share (FS-15); if not, as published (FS-14).
    pub cap_demand: bool,
    /// Extra weight for new jobs, if any (FS-20).
    pub boost: Option<Boost>,
    /// Whether larger jobs weigh more (FS-19).
    pub size_weight: bool,
    /// Meaning of priorities (FS-3).
    pub scale: Scale,
}

/// A job as an update sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The job.
    pub job: JobId,
    /// Time of submission.
    pub submitted_ms: Millis,
    /// Time from which on it counts as new (FS-20).
    pub new_since_ms: Millis,
    /// Index of its pool.
    pub pool: usize,
    /// YARN's application priority.
    pub priority: i32,
    /// Whether it may run. If not, it has no share, but its running tasks still count.
    pub runnable: bool,
    /// Number of waiting tasks.
    pub waiting: u32,
}

/// One job's account.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Slot-milliseconds owed, up to the last update.
    pub deficit: f64,
    /// Its due as of the last update.
    pub entitled: Entitlement,
    /// Slots in use.
    pub running: u32,
    /// Slots in use at the last update, and slots granted since. Both count until the next update.
    at_update: u32,
    started: u32,
}

impl Account {
    /// Tells whether it has less than its part of its pool's guarantee.
    pub fn is_needy(&self) -> bool {
        self.running < self.entitled.min
    }

    /// Returns the class, which goes before the deficit: 0 for needy jobs, 1 for others, 2 for jobs
    /// of weight 0, which get excess only when no other job wants it.
    pub fn class(&self) -> u8 {
        match (self.is_needy(), self.entitled.weightless) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        }
    }

    fn advance(&mut self, elapsed_ms: Millis) {
        let counted = f64::from(self.at_update) + f64::from(self.started);
        self.deficit += (self.entitled.share - counted) * elapsed_ms as f64;
    }
}

/// Position among the jobs of one class; the smallest goes first. Larger deficits come first, then
/// earlier submissions, then smaller ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(Reverse<i64>, Millis, JobId);

impl Rank {
    /// Ranks a job with this deficit.
    pub fn new(deficit: f64, submitted_ms: Millis, job: JobId) -> Rank {
        // The bits of an `f64`, with negative ones inverted, sort like `f64::total_cmp`.
        let bits = deficit.to_bits() as i64;
        let ordered = bits ^ (((bits >> 63) as u64) >> 1) as i64;
        Rank(Reverse(ordered), submitted_ms, job)
    }
}

/// The accounts of all jobs for one kind of slots.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    accounts: Table<JobId, Account>,
    updated_ms: Millis,
}

impl Ledger {
    /// Opens an account, usually without a deficit. Time begins with the first account.
    pub fn open(&mut self, job: JobId, deficit: f64, now: Millis) {
        if self.accounts.is_empty() {
            self.updated_ms = self.updated_ms.max(now);
        }
        let mut account = self.account(job).copied().unwrap_or_default();
        account.deficit = deficit;
        self.accounts.insert(job, account);
    }

    /// Forgets a job.
    pub fn close(&mut self, job: JobId) {
        self.accounts.remove(job);
    }

    /// Returns a job's account.
    pub fn account(&self, job: JobId) -> Option<&Account> {
        self.accounts.get(job)
    }

    /// Returns all accounts in order of job id.
    pub fn accounts(&self) -> impl Iterator<Item = (JobId, &Account)> {
        self.accounts.iter()
    }

    /// Returns the time of the last update.
    pub fn updated_ms(&self) -> Millis {
        self.updated_ms
    }

    /// Counts a started task at once.
    pub fn started(&mut self, job: JobId) {
        if let Some(account) = self.accounts.get_mut(job) {
            account.running += 1;
            account.started += 1;
        }
    }

    /// Records that tasks ended at `now`. They count until the next update. Tasks that ended at the
    /// very moment of the last update had no part in the time since, and stop counting at once.
    pub fn ended(&mut self, job: JobId, tasks: u32, now: Millis) {
        if let Some(account) = self.accounts.get_mut(job) {
            account.running = account.running.saturating_sub(tasks);
            if now <= self.updated_ms {
                account.at_update = account.at_update.saturating_sub(tasks);
            }
        }
    }

    /// Takes back a task that did not start after all.
    pub fn withdrawn(&mut self, job: JobId) {
        if let Some(account) = self.accounts.get_mut(job) {
            account.running = account.running.saturating_sub(1);
            if account.started > 0 {
                account.started -= 1;
            } else {
                account.at_update = account.at_update.saturating_sub(1);
            }
        }
    }

    /// Brings deficits up to `now` by the shares and running tasks of the last update, then
    /// computes new shares (FS-10, FS-11). `members` are in order of submission; a job that is
    /// missing among them has no share. If the clock goes back, no time has passed.
    pub fn update(
        &mut self,
        now: Millis,
        slots: f64,
        pools: &[Pool],
        members: &[Member],
        rules: &Rules,
    ) {
        let elapsed_ms = (now - self.updated_ms).max(0);
        self.updated_ms = self.updated_ms.max(now);
        for account in self.accounts.values_mut() {
            account.advance(elapsed_ms);
        }
        self.refresh(slots, pools, members, rules);
        for account in self.accounts.values_mut() {
            (account.at_update, account.started) = (account.running, 0);
        }
    }

    /// Recomputes the shares as of the last update, to include jobs that arrived soon after it.
    pub fn refresh(&mut self, slots: f64, pools: &[Pool], members: &[Member], rules: &Rules) {
        let wish = |member: &Member| self.wish(member, rules);
        let wishes: Vec<Demand> = members.iter().map(wish).collect();
        let entitlements = entitle(slots, pools, &wishes, rules.cap_demand);
        for account in self.accounts.values_mut() {
            account.entitled = Entitlement::default();
        }
        for (member, entitlement) in members.iter().zip(entitlements) {
            if let Some(account) = self.accounts.get_mut(member.job) {
                account.entitled = entitlement;
            }
        }
    }

    fn wish(&self, member: &Member, rules: &Rules) -> Demand {
        let account = self.account(member.job).copied().unwrap_or_default();
        let tasks = account.running.saturating_add(member.waiting);
        let age_ms = self.updated_ms - member.new_since_ms;
        let mut weight = rules.scale.weight(member.priority);
        if rules.size_weight {
            weight *= weight::of_size(tasks);
        }
        if let Some(boost) = rules.boost {
            weight *= boost.at(age_ms);
        }
        Demand {
            pool: member.pool,
            weight,
            deficit: account.deficit,
            demand: if member.runnable { tasks } else { 0 },
        }
    }

    /// Chooses the job in `waiting` (each with its submission) for the next free slot: the needy
    /// before others, then the highest deficit.
    pub fn next(&self, waiting: impl Iterator<Item = (JobId, Millis)>) -> Option<JobId> {
        let place = |(job, submitted_ms)| {
            let account = self.account(job)?;
            let rank = Rank::new(account.deficit, submitted_ms, job);
            Some(((account.class(), rank), job))
        };
        waiting.filter_map(place).min().map(|(_, job)| job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        cap_demand: true,
        boost: None,
        size_weight: false,
        scale: Scale::Yarn,
    };

    const POOL: Pool = Pool {
        parent: None,
        weight: 1.0,
        min: 0.0,
        max: f64::INFINITY,
        demand: 0.0,
    };

    fn member(job: u32, waiting: u32) -> Member {
        Member {
            job: JobId(job),
            submitted_ms: 0,
            new_since_ms: 0,
            pool: 0,
            priority: 0,
            runnable: true,
            waiting,
        }
    }

    fn ledger(jobs: u32) -> Ledger {
        let mut ledger = Ledger::default();
        (1..=jobs).for_each(|job| ledger.open(JobId(job), 0.0, 0));
        ledger
    }

    fn deficits(ledger: &Ledger) -> Vec<f64> {
        ledger
            .accounts()
            .map(|(_, account)| account.deficit)
            .collect()
    }

    #[test]
    fn deficits_grow_by_share_less_running_as_of_the_last_update() {
        let mut ledger = ledger(2);
        let update = |ledger: &mut Ledger, now, waiting: [u32; 2]| {
            let members = [member(1, waiting[0]), member(2, waiting[1])];
            ledger.update(now, 4.0, &[POOL], &members, &RULES);
        };
        update(&mut ledger, 0, [10, 10]);
        (0..4).for_each(|_| ledger.started(JobId(1)));
        // The tasks end halfway, which shows only at the next update.
        ledger.ended(JobId(1), 4, 100);
        update(&mut ledger, 200, [6, 10]);
        assert_eq!(deficits(&ledger), [-400.0, 400.0]);
        // From here on nothing runs.
        update(&mut ledger, 300, [6, 10]);
        assert_eq!(deficits(&ledger), [-200.0, 600.0]);
    }

    #[test]
    fn what_ends_at_the_moment_of_an_update_had_no_part_in_what_follows() {
        let mut ledger = ledger(1);
        ledger.update(0, 4.0, &[POOL], &[member(1, 10)], &RULES);
        ledger.started(JobId(1));
        ledger.update(100, 4.0, &[POOL], &[member(1, 9)], &RULES);
        assert_eq!(deficits(&ledger), [300.0]);
        ledger.ended(JobId(1), 1, 100);
        ledger.update(200, 4.0, &[POOL], &[member(1, 9)], &RULES);
        assert_eq!(deficits(&ledger), [700.0]);
    }

    #[test]
    fn a_withdrawn_start_leaves_no_trace() {
        let mut ledger = ledger(1);
        ledger.update(0, 2.0, &[POOL], &[member(1, 10)], &RULES);
        ledger.started(JobId(1));
        ledger.withdrawn(JobId(1));
        ledger.started(JobId(1));
        ledger.update(100, 2.0, &[POOL], &[member(1, 9)], &RULES);
        ledger.withdrawn(JobId(1));
        ledger.update(200, 2.0, &[POOL], &[member(1, 10)], &RULES);
        assert_eq!(deficits(&ledger), [100.0 + 200.0]);
        assert_eq!(ledger.account(JobId(1)).expect("open").running, 0);
    }

    #[test]
    fn a_clock_that_goes_back_changes_nothing() {
        let mut ledger = ledger(1);
        ledger.update(1_000, 4.0, &[POOL], &[member(1, 10)], &RULES);
        ledger.update(500, 4.0, &[POOL], &[member(1, 10)], &RULES);
        assert_eq!((deficits(&ledger), ledger.updated_ms()), (vec![0.0], 1_000));
        ledger.update(1_100, 4.0, &[POOL], &[member(1, 10)], &RULES);
        assert_eq!(deficits(&ledger), [400.0]);
    }

    #[test]
    fn time_begins_with_the_first_account_and_a_deficit_may_be_brought_along() {
        let mut ledger = Ledger::default();
        ledger.open(JobId(1), 70.0, 1_000_000);
        ledger.started(JobId(1));
        ledger.update(1_000_100, 4.0, &[POOL], &[member(1, 10)], &RULES);
        assert_eq!(deficits(&ledger), [70.0 - 100.0]);
    }

    #[test]
    fn a_job_that_may_not_run_has_no_share_but_what_it_runs_counts() {
        let mut ledger = ledger(1);
        let held = Member {
            runnable: false,
            ..member(1, 10)
        };
        ledger.started(JobId(1));
        ledger.update(0, 4.0, &[POOL], &[held], &RULES);
        ledger.update(100, 4.0, &[POOL], &[held], &RULES);
        assert_eq!(deficits(&ledger), [-100.0]);
    }

    #[test]
    fn ranks_order_as_deficits_do() {
        let deficits = [f64::MAX, 1.5, 1.0, 0.25, 0.0, -0.25, -1.0, -1.5, f64::MIN];
        let ranks = deficits.map(|deficit| Rank::new(deficit, 0, JobId(0)));
        assert!(ranks.is_sorted() && ranks.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_needy_go_first_then_the_deficit_then_the_earlier_then_the_smaller_id() {
        let mut ledger = ledger(4);
        let mut set = |job, deficit, min, weightless| {
            let account = ledger.accounts.get_mut(JobId(job)).expect("open");
            account.deficit = deficit;
            account.entitled = Entitlement {
                min,
                share: 1.0,
                weightless,
            };
        };
        set(1, 900.0, 0, false);
        set(2, 100.0, 1, true);
        set(3, 900.0, 0, false);
        set(4, 5_000.0, 0, true);
        let submitted = [(1, 20), (2, 0), (3, 10), (4, 0)];
        let mut waiting = submitted.map(|(job, ms)| (JobId(job), ms)).to_vec();
        let mut order = Vec::new();
        while let Some(job) = ledger.next(waiting.iter().copied()) {
            waiting.retain(|(other, _)| *other != job);
            order.push(job.0);
        }
        // Job 4 has no weight: its deficit does not help it while others wait.
        assert_eq!(order, [2, 3, 1, 4]);
        let same_time = [(JobId(3), 0), (JobId(1), 0)];
        assert_eq!(ledger.next(same_time.into_iter()), Some(JobId(1)));
    }

    #[test]
    fn a_new_job_weighs_more_until_its_time_is_up_and_large_jobs_more_if_so_asked() {
        let boosted = Rules {
            boost: Some(Boost {
                factor: 3.0,
                duration_ms: 600_000,
            }),
            ..RULES
        };
        let shares = |ledger: &Ledger| -> Vec<f64> {
            ledger
                .accounts()
                .map(|(_, account)| account.entitled.share)
                .collect()
        };
        let mut ledger = ledger(2);
        let new = Member {
            new_since_ms: 600_000,
            ..member(2, 99)
        };
        ledger.update(600_000, 4.0, &[POOL], &[member(1, 99), new], &boosted);
        assert_eq!(shares(&ledger), [1.0, 3.0]);
        ledger.update(1_200_000, 4.0, &[POOL], &[member(1, 99), new], &boosted);
        assert_eq!(shares(&ledger), [2.0, 2.0]);
        // log2(1 + 1) to log2(1 + 7).
        let sized = Rules {
            size_weight: true,
            cap_demand: false,
            ..RULES
        };
        ledger.update(
            1_200_000,
            4.0,
            &[POOL],
            &[member(1, 1), member(2, 7)],
            &sized,
        );
        assert_eq!(shares(&ledger), [1.0, 3.0]);
    }
}
