//! The rules of the books: which change may follow, and its effect. Pure: a back end asks for the
//! writes, stores them in one transaction, and then applies them here. Knows no file and no
//! database.

mod plan;

pub use plan::NONCES_MAX;
pub(super) use plan::{check_text, refuse};

use crate::record::{
    Account, Batch, Change, Epoch, GrantRecord, Head, Interval, IntervalHead, LedgerRow,
};
use crate::store::error::{Refusal, StoreError};
use plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Beyond this number of lessons, new ones push out the oldest.
pub const LEARNT_MAX: usize = 10_000;
/// Counters stay below this, because databases have 63 bits for them.
const COUNT_MAX: u64 = i64::MAX as u64;

/// A lesson about jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// A small JSON value, as text.
    pub value: String,
    /// The number of the lesson; a higher number is newer.
    pub lesson: u64,
}

/// The state of the books at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// The counters and totals.
    pub head: Head,
    /// Accounts by queue.
    pub accounts: BTreeMap<String, Account>,
    /// Queues whose account was closed and not opened again. A configuration that gives budgets to
    /// new queues must skip these.
    pub closed: BTreeSet<String>,
    /// The timestamp of the last accepted request, by user.
    pub watermarks: BTreeMap<String, i64>,
    /// Expiry times by user and nonce.
    pub nonces: BTreeMap<String, BTreeMap<String, i64>>,
    /// The latest expiry of a forgotten nonce, by user. A request that expires then or earlier is
    /// refused, because it may be a replay. A clock that ran ahead forgets too early.
    #[serde(default)]
    pub floors: BTreeMap<String, i64>,
    /// The lessons about jobs.
    pub learnt: BTreeMap<String, Learnt>,
}

/// The writes of one commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    pub(crate) head: Head,
    /// The new state of accounts; `None` closes one.
    pub(crate) accounts: BTreeMap<String, Option<Account>>,
    pub(crate) grants: Vec<GrantRecord>,
    pub(crate) watermarks: BTreeMap<String, i64>,
    pub(crate) nonces: BTreeMap<(String, String), i64>,
    /// Forgets nonces in the books that expire before this.
    pub(crate) forget_before_ms: Option<i64>,
    pub(crate) floors: BTreeMap<String, i64>,
    pub(crate) learnt: BTreeMap<String, Learnt>,
    pub(crate) forgotten: Vec<String>,
    /// The head of the interval, if the commit is one.
    pub(crate) interval: Option<IntervalHead>,
    pub(crate) rows: Vec<LedgerRow>,
}

impl Book {
    /// Plans the writes of an interval; `None` if it is in the ledger already.
    pub(crate) fn plan_interval(&self, interval: &Interval) -> Result<Option<Writes>, StoreError> {
        let last = self.head.tick;
        if interval.tick <= last {
            return Ok(None);
        }
        let first = interval.first();
        if first <= last {
            return refuse(Refusal::Overlap { last });
        }
        if first != last + 1 || interval.ticks == 0 || interval.tick >= COUNT_MAX {
            let (expected, given) = (last + 1, first);
            return refuse(Refusal::NotNext { expected, given });
        }
        let mut plan = Plan::new(self);
        for change in &interval.changes {
            plan.change(change, interval.at_ms)?;
        }
        let mut names = BTreeSet::new();
        for row in &interval.rows {
            if !names.insert(&row.queue) {
                return refuse(Refusal::Twice(row.queue.clone()));
            }
            plan.row(row, interval.tick)?;
        }
        plan.forget(interval.at_ms);
        plan.writes.head.tick = interval.tick;
        plan.writes.head.price = interval.price;
        plan.writes.interval = Some(IntervalHead {
            tick: interval.tick,
            ticks: interval.ticks,
            at_ms: interval.at_ms,
            price: interval.price,
            epoch: self.head.epoch,
        });
        Ok(Some(plan.finish()))
    }

    /// Plans the writes of a batch; `None` if it is there already.
    pub(crate) fn plan_changes(&self, batch: &Batch) -> Result<Option<Writes>, StoreError> {
        let expected = self.head.serial + 1;
        if batch.serial < expected {
            return Ok(None);
        }
        if batch.serial > expected {
            let given = batch.serial;
            return refuse(Refusal::NotNext { expected, given });
        }
        let mut writes = self.plan_rows(batch.at_ms, &batch.changes)?;
        writes.head.serial = batch.serial;
        Ok(Some(writes))
    }

    /// Plans the writes of changes, independent of their batch.
    pub(crate) fn plan_rows(&self, at_ms: i64, changes: &[Change]) -> Result<Writes, StoreError> {
        let mut plan = Plan::new(self);
        for change in changes {
            plan.change(change, at_ms)?;
        }
        plan.forget(at_ms);
        Ok(plan.finish())
    }

    /// Applies writes that were committed.
    pub(crate) fn apply(&mut self, writes: &Writes) {
        self.head = writes.head.clone();
        for (name, account) in &writes.accounts {
            match account {
                Some(account) => {
                    self.closed.remove(name);
                    self.accounts.insert(name.clone(), *account);
                }
                None => {
                    self.accounts.remove(name);
                    self.closed.insert(name.clone());
                }
            }
        }
        self.watermarks.extend(writes.watermarks.clone());
        if let Some(before_ms) = writes.forget_before_ms {
            for nonces in self.nonces.values_mut() {
                nonces.retain(|_, expires_ms| *expires_ms >= before_ms);
            }
            self.nonces.retain(|_, nonces| !nonces.is_empty());
        }
        for ((user, nonce), expires_ms) in &writes.nonces {
            let nonces = self.nonces.entry(user.clone()).or_default();
            nonces.insert(nonce.clone(), *expires_ms);
        }
        self.floors.extend(writes.floors.clone());
        self.learnt.extend(writes.learnt.clone());
        for key in &writes.forgotten {
            self.learnt.remove(key);
        }
    }

    /// Returns the argument `saved` of the engine's request `restoreAccounts`: accounts, and the
    /// names whose configured budgets were given out once. No queue has a share before the next
    /// interval. Fractions of a millionth of income that were not yet due are left out.
    pub fn for_engine(&self) -> Value {
        // The engine's own sums are far below the limit; forfeits may push these above it.
        let sum = |sum: i128| i64::try_from(sum).unwrap_or(i64::MAX);
        let accounts = self.accounts.iter().map(|(queue, account)| {
            let account = json!({
                "budget": account.budget,
                "rate": account.rate,
                "income": account.income,
                "grant": null,
                "income_left": 0,
            });
            (queue.clone(), account)
        });
        let accounts: serde_json::Map<String, Value> = accounts.collect();
        let opened: Vec<&String> = self.accounts.keys().chain(&self.closed).collect();
        json!({
            "accounts": {
                "accounts": accounts,
                "totals": {
                    "granted": sum(self.head.totals.granted),
                    "debited": sum(self.head.totals.debited),
                    "forfeited": sum(self.head.totals.forfeited),
                },
                "price": 0,
            },
            "opened": opened,
            "interval": null,
            "slot_ms": {},
        })
    }

    /// Checks that the budgets equal grants less debits and forfeits.
    pub fn check(&self) -> Result<(), StoreError> {
        let budgets = self.accounts.values();
        let held: i128 = budgets.map(|a| i128::from(a.budget.micro())).sum();
        let totals = &self.head.totals;
        let expected = totals.granted - totals.debited - totals.forfeited;
        if held == expected {
            return Ok(());
        }
        Err(StoreError::Corrupt {
            place: "accounts".to_string(),
            reason: format!(
                "budgets add up to {held} millionths, grants less debits to {expected}"
            ),
        })
    }
}

impl Head {
    /// Returns the head after a take-over. A token below the highest, or equal to it under another
    /// name, belongs to an ended activation: its call was under way for too long.
    pub(crate) fn taken_over(&self, owner: &str, token: u64) -> Result<Head, StoreError> {
        let owner = owner.replace(char::is_control, " ");
        let token = token.min(COUNT_MAX);
        let again = token == self.token && owner == self.owner;
        if token < self.token || (token == self.token && !again) {
            return Err(StoreError::Fenced {
                ours: Epoch::default(),
                current: self.epoch,
                owner: self.owner.clone(),
            });
        }
        Ok(Head {
            epoch: Epoch(self.epoch.0 + 1),
            owner,
            token,
            ..self.clone()
        })
    }
}
