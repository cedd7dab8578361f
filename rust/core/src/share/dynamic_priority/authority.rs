//! The bounds on one job's spending of its queue's credits: amount, rate and time (version 2 of
//! DP-39), and its spending so far. Granting authorities, and the queues' accounts, are elsewhere.
//!
//! A job is *unpaid* once its authority allows no more. Its slots are then charged to no account
//! and count against no quota. They may be reclaimed like all slots beyond a quota, and the job
//! gets only what the fill pass leaves. A job may be partly unpaid: it pays for as many of its
//! slots as it can afford.
//!
//! - *Slots, not containers, are paid for*, as a queue pays for min(used, quota) (DP-11). A slot is
//!   paid from its start if its queue has quota left. Otherwise, or after a quota or the remainder
//!   has shrunk, it is unpaid. Every tick of the engine settles again which slots are paid: first
//!   those paid before, then others by arrival while the quota has room. So a queue's own jobs do
//!   not push a bounded job out of its paid slots, nor does it take over theirs.
//! - *The next slot must be affordable to the end of the interval*, or of the authority if that is
//!   earlier. It is counted together with all slots of the job, at the granted rate. So slots that
//!   start between two ticks are checked as strictly as one. The comparison is in millionths times
//!   milliseconds, without rounding. Where use is sampled, a slot costs a whole interval.
//! - *Each job's use has its own meter* and its own charge, rounded down. Its queue owes the sum
//!   beside the use of its other jobs. So a job's spending is exactly its cost. Ticks may be late,
//!   or the rate may differ from the expected one (`charge_rate` `current`). Then the charge is cut
//!   to the remainder, and use beyond it is charged to no account. If the queue's budget does not
//!   cover the debt, the debit is divided among the jobs in proportion to their debts.
//! - *A queue bids only while one of its jobs can pay* (DP-9): with only unpaid jobs it would take
//!   quota from others for nothing.
//! - *Bounds go with the job into another queue*: a move must not give it more to spend. Earlier
//!   use is charged to the earlier queue. That, and the use of ended jobs, becomes a debt at once.
//!   Under `overdraft` `skip` it may then count as spent though the tick skips the charge.

use super::debt::Debt;
use super::holdings::{own, running};
use super::meter::Meter;
use super::policy::ChargeRate;
use super::{DynamicPriority, ShareNodeId};
use crate::model::change::{Stale, World};
use crate::model::job::{ApplicationName, Authority, Job, Standing};
use crate::model::wait::Reason;
use crate::words::credits::{Bound, Credits, Spending};
use crate::words::ids::{JobId, Millis};
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Order of arrival.
type Key = (Millis, JobId);

fn key(job: &Job) -> Key {
    (job.facts.submitted_ms, job.facts.job)
}

/// Cost of a slot, and for how long.
#[derive(Clone, Copy, Debug)]
struct Terms {
    now: Millis,
    rate: Credits,
    unit_ms: Millis,
    /// End of the interval.
    ends_ms: Millis,
    averaged: bool,
}

/// State of a job that must survive a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedJob {
    spent: Credits,
    paid: [u32; POOLS],
    slot_ms: [i64; POOLS],
}

/// A job that has an authority.
#[derive(Clone, Copy, Debug)]
struct BoundedJob {
    /// Authority, with the spending so far.
    authority: Authority,
    /// Spending when this stage began to count.
    at_first: Credits,
    leaf: usize,
    /// Slots in use, by pool.
    slots: [u32; POOLS],
    /// Paid slots among them.
    paid: [u32; POOLS],
    /// Paid slots times milliseconds since the last charge, by pool.
    slot_ms: [i64; POOLS],
    since: Millis,
}

impl BoundedJob {
    /// Returns the paid use up to `now` or the end of the authority.
    fn used(&self, now: Millis) -> [i64; POOLS] {
        let elapsed_ms = (now.min(self.authority.until_ms) - self.since).max(0);
        std::array::from_fn(|pool| {
            let more = i64::from(self.paid[pool]).saturating_mul(elapsed_ms);
            self.slot_ms[pool].saturating_add(more)
        })
    }

    fn read(&mut self, now: Millis) {
        self.slot_ms = self.used(now);
        self.since = self.since.max(now);
    }

    fn left(&self) -> i64 {
        let Authority { credits, spent, .. } = self.authority;
        (credits.micro() - spent.micro()).max(0)
    }

    /// Returns how many slots it can pay for together until the interval ends.
    fn affordable(&self, terms: &Terms) -> u32 {
        let Authority { rate, until_ms, .. } = self.authority;
        let lasts_ms = until_ms.saturating_sub(terms.now);
        if lasts_ms <= 0 || terms.rate > rate {
            return 0;
        }
        let (used, span_ms) = match (terms.averaged, terms.ends_ms - terms.now) {
            (false, _) => ([0; POOLS], terms.unit_ms),
            // An overdue tick begins an interval.
            (true, rest_ms) if rest_ms <= 0 => (self.used(terms.now), terms.unit_ms.min(lasts_ms)),
            (true, rest_ms) => (self.used(terms.now), rest_ms.min(lasts_ms)),
        };
        let rate = i128::from(terms.rate.micro());
        let used: i128 = used.iter().map(|ms| i128::from(*ms)).sum();
        let left = i128::from(self.left()) * i128::from(terms.unit_ms) - used * rate;
        let slots = left.max(0).checked_div(rate * i128::from(span_ms));
        slots.map_or(u32::MAX, |slots| u32::try_from(slots).unwrap_or(u32::MAX))
    }

    fn bound(&self, terms: &Terms) -> Option<Bound> {
        let Authority { rate, until_ms, .. } = self.authority;
        match self.affordable(terms) {
            _ if terms.now >= until_ms => Some(Bound::Time),
            _ if terms.rate > rate => Some(Bound::Rate),
            0 => Some(Bound::Credits),
            _ => None,
        }
    }

    /// Returns the cost of the use since the last charge, at the charged rate: at most the
    /// remainder.
    fn owes(&self, terms: &Terms) -> Debt {
        let Authority { rate, until_ms, .. } = self.authority;
        let used = match terms.averaged {
            true => self.used(terms.now),
            false if terms.now >= until_ms => [0; POOLS],
            false => self.paid.map(|slots| i64::from(slots) * terms.unit_ms),
        };
        if terms.rate > rate {
            return Debt::default();
        }
        let (rate, unit_ms) = (i128::from(terms.rate.micro()), i128::from(terms.unit_ms));
        let most = (i128::from(self.left()) * unit_ms).checked_div(rate);
        let mut most_ms = most.map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let slot_ms = used.map(|ms| {
            let ms = ms.min(most_ms);
            most_ms -= ms;
            ms
        });
        let sum: i128 = slot_ms.iter().map(|ms| i128::from(*ms)).sum();
        let micro = (sum * rate / unit_ms) as i64;
        Debt { slot_ms, micro }
    }
}

/// All jobs with an authority.
#[derive(Clone, Debug, Default)]
pub(super) struct Authorities {
    held: BTreeMap<Key, BoundedJob>,
    /// Debts of this interval for jobs that ended, moved or got another authority, by leaf.
    closed: BTreeMap<usize, Debt>,
    /// State from before a reload, for jobs and queues that the engine has yet to announce.
    kept: BTreeMap<u32, SavedJob>,
    kept_closed: BTreeMap<String, Debt>,
}

/// Asks in the backlog and slots of a queue's jobs that cannot pay.
type Dormant = BTreeMap<usize, (u32, [u32; POOLS])>;

impl DynamicPriority {
    /// Returns the terms of a leaf's slots now. With `foreseen`, a leaf without a grant is priced
    /// at its bid.
    fn terms(&self, leaf: usize, now: Millis, foreseen: bool) -> Terms {
        let name = self.leaves.get(leaf).map_or("", |leaf| leaf.name.as_str());
        let account = self.accounts.get(name);
        let granted = account.is_some_and(|account| account.grant.is_some());
        let policy = &self.settings.policy;
        let bids = foreseen && !granted && policy.charge_rate == ChargeRate::Granted;
        let rate = match account {
            Some(account) if bids => account.rate,
            _ => self.accounts.rate_charged(name, policy),
        };
        Terms {
            now,
            rate,
            unit_ms: self.settings.allocation_interval_ms,
            ends_ms: self.interval.map_or(now, |(_, ends_ms)| ends_ms),
            averaged: self.settings.averaged,
        }
    }

    /// Tells whether the job can pay for all its slots and one more.
    pub(super) fn can_pay(&self, job: &Job, now: Millis) -> bool {
        self.authorities.held.get(&key(job)).is_none_or(|held| {
            let slots: u32 = held.slots.iter().sum();
            slots < held.affordable(&self.terms(held.leaf, now, true))
        })
    }

    pub(super) fn spent(&self, job: &Job, now: Millis) -> Option<Spending> {
        let held = self.authorities.held.get(&key(job))?;
        Some(Spending {
            spent: held.authority.spent,
            exhausted: held.bound(&self.terms(held.leaf, now, true)),
        })
    }

    /// Returns why a job with an authority waits for unbought slots, if it does.
    pub(super) fn unpaid_reason(&self, job: &Job, now: Millis) -> Option<Reason> {
        let held = self.authorities.held.get(&key(job))?;
        if self.can_pay(job, now) {
            return None;
        }
        let terms = self.terms(held.leaf, now, true);
        Some(Reason::Authority {
            bound: held.bound(&terms).unwrap_or(Bound::Credits),
            credits: held.authority.credits,
            spent: held.authority.spent,
            rate: held.authority.rate,
            bid: terms.rate,
            slots: held.affordable(&terms),
        })
    }

    /// Follows the authority and the slots of a job. The caller has read the meter of its leaf.
    pub(super) fn follow(&mut self, job: &Job, world: &World<'_>, stale: &mut Stale) {
        let Some(told) = job.authority else { return };
        let (at, leaf) = (key(job), job.leaf.index());
        let moved = |held: &BoundedJob| held.leaf != leaf;
        let known = self.authorities.held.get(&at).copied();
        if known.is_some_and(|held| moved(&held) || bounds(&held.authority) != bounds(&told)) {
            self.close(at, world.now);
        }
        if known.is_some_and(|held| moved(&held)) {
            self.take_out(at, stale);
        }
        let known = self.authorities.held.get(&at).copied();
        let mut held = known.unwrap_or_else(|| self.begin(job, world.now));
        let spent = held.authority.spent.max(told.spent);
        held.authority = Authority { spent, ..told };
        held.leaf = leaf;
        held.read(world.now);
        self.authorities.held.insert(at, held);
        self.count(at, job.slots, world.now);
        stale.leaf(job.leaf);
    }

    /// Begins to count a new job. Only slots that an earlier stage counted are included.
    fn begin(&mut self, job: &Job, now: Millis) -> BoundedJob {
        let kept = self.authorities.kept.remove(&job.facts.job.0);
        let authority = job.authority.expect("the caller found it");
        let before = self.spent.before(authority.application);
        let leaf = job.leaf.index();
        let (paid, spent) = kept.map_or(([0; POOLS], authority.spent), |k| (k.paid, k.spent));
        let slots = kept.map_or([0; POOLS], |_| job.slots);
        let paid = std::array::from_fn(|pool| paid[pool].min(slots[pool]));
        if let Some(leaf) = self.leaves.get_mut(leaf) {
            shift(&mut leaf.meter, [0; POOLS], slots, [0; POOLS], paid);
        }
        let spent = spent.max(before);
        BoundedJob {
            authority: Authority { spent, ..authority },
            at_first: spent,
            leaf,
            slots,
            paid,
            slot_ms: kept.map_or([0; POOLS], |kept| kept.slot_ms),
            since: now,
        }
    }

    /// Counts the present slots of a job; new ones are paid as far as it can afford them.
    fn count(&mut self, at: Key, slots: [u32; POOLS], now: Millis) {
        let Some(held) = self.authorities.held.get(&at).copied() else {
            return;
        };
        let affordable = held.affordable(&self.terms(held.leaf, now, true));
        let beyond = self.beyond();
        let Some(leaf) = self.leaves.get_mut(held.leaf) else {
            return;
        };
        let kept: [u32; POOLS] = std::array::from_fn(|pool| held.paid[pool].min(slots[pool]));
        shift(&mut leaf.meter, held.slots, slots, held.paid, kept);
        let mut can = affordable.saturating_sub(kept.iter().sum());
        let paid = std::array::from_fn(|pool| {
            let came = slots[pool].saturating_sub(held.slots[pool]);
            let more = came.min(can).min(leaf.meter.room(pool, beyond));
            can -= more;
            kept[pool] + more
        });
        shift(&mut leaf.meter, slots, slots, kept, paid);
        let held = BoundedJob {
            slots,
            paid,
            ..held
        };
        self.authorities.held.insert(at, held);
    }

    /// Charges a job's use so far to the queue where it happened.
    fn close(&mut self, at: Key, now: Millis) {
        let Some(mut held) = self.authorities.held.get(&at).copied() else {
            return;
        };
        // Where use is sampled, only slots in use at the tick are charged.
        if self.settings.averaged {
            let mut owed = held.owes(&self.terms(held.leaf, now, false));
            let closed = self.authorities.closed.entry(held.leaf).or_default();
            let name = self.leaves.get(held.leaf).map(|leaf| leaf.name.as_str());
            let account = name.and_then(|name| self.accounts.get(name));
            let budget = account.map_or(0, |account| account.budget.micro());
            owed.micro = owed.micro.min((budget - closed.micro).max(0));
            closed.add(&owed);
            held.authority.spent = held.authority.spent + Credits::from_micro(owed.micro);
            self.spent
                .note(held.authority.application, held.authority.spent);
        }
        held.read(now);
        held.slot_ms = [0; POOLS];
        self.authorities.held.insert(at, held);
    }

    fn take_out(&mut self, at: Key, stale: &mut Stale) {
        let Some(held) = self.authorities.held.get_mut(&at) else {
            return;
        };
        if let Some(leaf) = self.leaves.get_mut(held.leaf) {
            let none = [0; POOLS];
            shift(&mut leaf.meter, held.slots, none, held.paid, none);
        }
        stale.leaf(ShareNodeId(held.leaf as u32));
        (held.slots, held.paid) = ([0; POOLS], [0; POOLS]);
    }

    /// Forgets an ended job after charging its use.
    pub(super) fn forget(&mut self, job: &Job, now: Millis, stale: &mut Stale) {
        if job.authority.is_some() {
            self.close(key(job), now);
            self.take_out(key(job), stale);
            self.authorities.held.remove(&key(job));
        }
    }

    /// Settles which slots are paid from now on. The caller has read the meters.
    pub(super) fn settle_payers(&mut self, now: Millis, stale: &mut Stale) {
        if self.authorities.held.is_empty() {
            return;
        }
        let beyond = self.beyond();
        let affordable = |held: &BoundedJob| held.affordable(&self.terms(held.leaf, now, true));
        let mut can: Vec<u32> = self.authorities.held.values().map(affordable).collect();
        let mut before: BTreeMap<usize, [u32; POOLS]> = BTreeMap::new();
        for held in self.authorities.held.values_mut() {
            held.read(now);
            if let Some(leaf) = self.leaves.get_mut(held.leaf) {
                before.entry(held.leaf).or_insert(leaf.meter.paid);
                leaf.meter.paid = [0; POOLS];
            }
        }
        // Paid slots go before unpaid ones.
        for again in [true, false] {
            for (held, can) in self.authorities.held.values_mut().zip(&mut can) {
                let Some(leaf) = self.leaves.get_mut(held.leaf) else {
                    continue;
                };
                let meter = &mut leaf.meter;
                for pool in 0..POOLS {
                    let (wanted, room) = match again {
                        true => (held.paid[pool], meter.most(pool, beyond) - meter.paid[pool]),
                        false => (held.slots[pool] - held.paid[pool], meter.room(pool, beyond)),
                    };
                    let some = wanted.min(room).min(*can);
                    held.paid[pool] = if again { some } else { held.paid[pool] + some };
                    meter.paid[pool] += some;
                    *can -= some;
                }
            }
        }
        for (leaf, paid) in before {
            if self.leaves[leaf].meter.paid != paid {
                stale.leaf(ShareNodeId(leaf as u32));
            }
        }
    }

    /// Returns each job's debt for the ending interval, and all debts by queue.
    pub(super) fn owed(&self, now: Millis) -> (Vec<(Key, Debt)>, BTreeMap<String, Debt>) {
        let owes = |(at, held): (&Key, &BoundedJob)| {
            let owed = held.owes(&self.terms(held.leaf, now, false));
            (*at, held.leaf, owed)
        };
        let jobs: Vec<(Key, usize, Debt)> = self.authorities.held.iter().map(owes).collect();
        let mut by_leaf = self.authorities.closed.clone();
        for (_, leaf, owed) in &jobs {
            by_leaf.entry(*leaf).or_default().add(owed);
        }
        let name = |leaf: usize| self.leaves.get(leaf).map(|leaf| leaf.name.clone());
        let queues = by_leaf.into_iter();
        let queues = queues.filter_map(|(leaf, owed)| Some((name(leaf)?, owed)));
        let jobs = jobs.iter().map(|(at, _, owed)| (*at, *owed)).collect();
        (jobs, queues.collect())
    }

    /// Counts the debits of the last tick as spent by the jobs that caused them.
    pub(super) fn attribute(
        &mut self,
        jobs: Vec<(Key, Debt)>,
        queues: &BTreeMap<String, Debt>,
        now: Millis,
    ) {
        let closed = std::mem::take(&mut self.authorities.closed);
        for (at, owed) in jobs {
            let Some(held) = self.authorities.held.get_mut(&at) else {
                continue;
            };
            held.read(now);
            held.slot_ms = [0; POOLS];
            let Some(leaf) = self.leaves.get(held.leaf) else {
                continue;
            };
            let of_closed = closed.get(&held.leaf).map_or(0, |owed| owed.micro);
            let in_all = queues.get(&leaf.name).map_or(0, |owed| owed.micro);
            let row = self.last.rows.get(&leaf.name);
            let debit = row.map_or(0, |row| row.debit.micro());
            let (due, paid) = (in_all - of_closed, (debit - of_closed).max(0));
            let micro = match paid >= due {
                true => owed.micro,
                false => (i128::from(owed.micro) * i128::from(paid) / i128::from(due)) as i64,
            };
            held.authority.spent = held.authority.spent + Credits::from_micro(micro);
            if micro > 0 {
                self.spent
                    .note(held.authority.application, held.authority.spent);
            }
        }
    }

    /// Restores an application's spending under an earlier engine, whether it is already here or
    /// not.
    pub(super) fn restore_spent(&mut self, of: ApplicationName, spent: Credits) {
        let mut held = self.authorities.held.values_mut();
        match held.find(|held| held.authority.application == Some(of)) {
            Some(held) => {
                let since = held.authority.spent.micro() - held.at_first.micro();
                held.at_first = held.at_first.max(spent);
                held.authority.spent = held.at_first + Credits::from_micro(since);
            }
            None => self.spent.expect(of, spent),
        }
    }

    /// Returns asks and slots that cannot be paid for, once present use is charged and the next
    /// interval begins.
    pub(super) fn dormant(&self, world: &World<'_>) -> Dormant {
        let mut dormant = Dormant::new();
        for ((_, id), held) in &self.authorities.held {
            let mut after = *held;
            let owed = held.owes(&self.terms(held.leaf, world.now, false));
            after.authority.spent = held.authority.spent + Credits::from_micro(owed.micro);
            (after.slot_ms, after.paid) = ([0; POOLS], [0; POOLS]);
            let account = self.leaves.get(held.leaf).map(|leaf| leaf.name.as_str());
            let account = account.and_then(|name| self.accounts.get(name));
            let terms = Terms {
                rate: account.map_or(Credits::ZERO, |account| account.rate),
                ends_ms: world.now,
                ..self.terms(held.leaf, world.now, false)
            };
            if after.bound(&terms).is_none() {
                continue;
            }
            let asks = world.cluster.job(*id).map_or(0, standing_asks);
            let (of_all, slots) = dormant.entry(held.leaf).or_default();
            *of_all += asks;
            for (sum, more) in slots.iter_mut().zip(held.slots) {
                *sum += more;
            }
        }
        dormant
    }

    /// Tells whether a job of the leaf that can pay runs or waits (DP-9).
    pub(super) fn is_active(&self, leaf: usize, dormant: &Dormant, world: &World<'_>) -> bool {
        let running = running(world, leaf);
        let (asks, slots) = dormant.get(&leaf).copied().unwrap_or_default();
        let pays = |pool: usize| running.slots[pool] > slots[pool];
        own(world, leaf, |node| node.pending_asks) > asks || (0..POOLS).any(pays)
    }

    /// Returns a job's paid slots of a pool, and how many more it could pay for, if it has an
    /// authority.
    pub(super) fn paid_slots(&self, job: &Job, pool: usize, now: Millis) -> Option<(u32, u32)> {
        let held = self.authorities.held.get(&key(job))?;
        let affordable = held.affordable(&self.terms(held.leaf, now, true));
        let slots: u32 = held.slots.iter().sum();
        Some((held.paid[pool], affordable.saturating_sub(slots)))
    }

    /// Forgets the use in an interval that is not charged.
    pub(super) fn forgive(&mut self, now: Millis) {
        self.authorities.closed.clear();
        for held in self.authorities.held.values_mut() {
            held.read(now);
            held.slot_ms = [0; POOLS];
        }
    }

    pub(super) fn keep_authorities(&self) -> (BTreeMap<u32, SavedJob>, BTreeMap<String, Debt>) {
        let kept = |((_, id), held): (&Key, &BoundedJob)| {
            let kept = SavedJob {
                spent: held.authority.spent,
                paid: held.paid,
                slot_ms: held.slot_ms,
            };
            (id.0, kept)
        };
        let name = |leaf: &usize| self.leaves.get(*leaf).map(|leaf| leaf.name.clone());
        let closed = self.authorities.closed.iter();
        (
            self.authorities.held.iter().map(kept).collect(),
            closed
                .filter_map(|(i, owed)| Some((name(i)?, *owed)))
                .collect(),
        )
    }
}

impl Authorities {
    pub(super) fn resume(&mut self, jobs: BTreeMap<u32, SavedJob>, closed: BTreeMap<String, Debt>) {
        (self.kept, self.kept_closed) = (jobs, closed);
    }

    /// Resumes a queue's debts once it becomes the leaf of that number.
    pub(super) fn add_leaf(&mut self, leaf: usize, name: &str) {
        if let Some(owed) = self.kept_closed.remove(name) {
            self.closed.insert(leaf, owed);
        }
    }
}

/// Returns the bounds that the host set.
fn bounds(authority: &Authority) -> (Credits, Credits, Millis) {
    (authority.credits, authority.rate, authority.until_ms)
}

fn standing_asks(job: &Job) -> u32 {
    let asks = job.asks.iter().flatten();
    asks.filter(|ask| ask.standing != Standing::Out).count() as u32
}

/// Updates a leaf's sums after a job's slots changed.
fn shift(
    meter: &mut Meter,
    slots_before: [u32; POOLS],
    slots: [u32; POOLS],
    paid_before: [u32; POOLS],
    paid: [u32; POOLS],
) {
    for pool in 0..POOLS {
        meter.bounded[pool] = meter.bounded[pool] + slots[pool] - slots_before[pool];
        meter.paid[pool] = meter.paid[pool] + paid[pool] - paid_before[pool];
    }
}
