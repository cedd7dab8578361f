//! Accounts of credits, and the effect of an allocation interval: charges, then price and quotas of
//! the next interval (DP-1 to DP-16). Knows no clock, queue or job. Money is fixed point, so that
//! no unit is lost or made.

use super::policy::{ChargeCap, ChargeRate, Overdraft, Policy, Solvent};
use super::quota::{Rounding, divide, divide_owed, exact, share};
use crate::words::credits::Credits;
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum length of a name in bytes. Control characters are refused, too.
const NAME_BYTES_MAX: usize = 1024;
const HOUR_MS: i128 = 3_600_000;

/// Reason for refusing an operation on accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountError {
    /// No account has this name (DP-41: an error, not a silent success).
    Unknown,
    /// The account exists already.
    Exists,
    /// The name is too long, or has control characters.
    BadName,
    /// The balance would exceed `Credits::MAX`.
    TooMuch,
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccountError::Unknown => "there is no account of that queue; add it first",
            AccountError::Exists => "the queue has an account already",
            AccountError::BadName => {
                "expected a name of at most 1024 bytes without control characters"
            }
            AccountError::TooMuch => "the balance would exceed 1e9 credits",
        })
    }
}

impl std::error::Error for AccountError {}

/// A tick's grant, in force until the next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Rate that bought the quota, and at which it is charged (DP-15).
    pub rate: Credits,
    /// Slots, by pool.
    pub quota: [u32; POOLS],
}

/// One user's account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Credits left.
    pub budget: Credits,
    /// Credits per slot and interval, as last set; counts from the next tick.
    pub rate: Credits,
    /// Credits per hour that are paid in automatically (DP-45).
    pub income: Credits,
    /// Present grant; None before the first tick, and while the user has no share.
    pub grant: Option<Grant>,
    /// Income not yet credited: millionths times milliseconds, less than one millionth in all.
    income_left: i64,
    /// Fractions owed from earlier intervals, by pool, in millionths of a slot
    /// (`Rounding::Carried`).
    #[serde(default)]
    carried: [i64; POOLS],
    /// The same after the present interval.
    #[serde(default)]
    carried_on: [i64; POOLS],
}

impl Account {
    /// Returns the fractions that it is owed at the next interval, by pool.
    pub(super) fn owed_next(&self) -> [i64; POOLS] {
        self.grant.map_or([0; POOLS], |_| self.carried_on)
    }

    /// Returns the slots that are paid for, by pool.
    pub fn quotas(&self) -> [u32; POOLS] {
        self.grant.map_or([0; POOLS], |grant| grant.quota)
    }
}

/// A user's use of slots in the ending interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Slots used times milliseconds, by pool.
    pub slot_ms: [i64; POOLS],
    /// Whether a job of the user runs or waits now (DP-9).
    pub active: bool,
}

/// The ending interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its length.
    pub elapsed_ms: i64,
    /// Time unit of the rates, above 0: the configured allocation interval.
    pub unit_ms: i64,
    /// Slots of the cluster now, by pool.
    pub slots: [u32; POOLS],
}

/// Effect of a tick on one user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Rate charged for the slots of the ended interval.
    pub charged_rate: Credits,
    /// Slots paid for in it, by pool.
    pub held: [u32; POOLS],
    /// Amount charged for the ended interval.
    pub debit: Credits,
    /// Credits left.
    pub budget: Credits,
    /// Part of the price; 0 without a grant.
    pub share: f64,
    /// Slots before rounding, by pool.
    pub exact: [f64; POOLS],
    /// Slots, by pool.
    pub quota: [u32; POOLS],
}

/// Effect of a tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Sum of the rates of active and solvent users (DP-4, DP-13).
    pub price: Credits,
    /// Whether no user has a share, so that jobs run in order of arrival (DP-12).
    pub fifo: bool,
    /// Rows of all accounts.
    pub rows: BTreeMap<String, Row>,
}

/// Sums over all accounts that ever existed, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Paid into budgets.
    pub granted: i128,
    /// Charged for slots.
    pub debited: i128,
    /// Left in removed accounts.
    pub forfeited: i128,
}

/// Checks that a queue of this name can have an account. Books consist of lines of text.
pub fn check_name(name: &str) -> Result<(), AccountError> {
    match name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control) {
        true => Ok(()),
        false => Err(AccountError::BadName),
    }
}

/// All accounts, with the sums that prove that no credit was lost or made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    accounts: BTreeMap<String, Account>,
    totals: Totals,
    price: Credits,
}

impl Accounts {
    /// Opens an empty account (DP-41).
    pub fn add(&mut self, name: &str) -> Result<(), AccountError> {
        check_name(name)?;
        if self.accounts.contains_key(name) {
            return Err(AccountError::Exists);
        }
        self.accounts.insert(name.to_string(), Account::default());
        Ok(())
    }

    /// Closes an account. Its budget is forfeited, and its quota ends.
    pub fn remove(&mut self, name: &str) -> Result<(), AccountError> {
        let account = self.accounts.remove(name).ok_or(AccountError::Unknown)?;
        self.totals.forfeited += i128::from(account.budget.micro());
        Ok(())
    }

    /// Sets a spending rate, which counts from the next tick (DP-8).
    pub fn set_rate(&mut self, name: &str, rate: Credits) -> Result<(), AccountError> {
        self.account_mut(name)?.rate = rate;
        Ok(())
    }

    /// Sets an income per hour.
    pub fn set_income(&mut self, name: &str, income: Credits) -> Result<(), AccountError> {
        self.account_mut(name)?.income = income;
        Ok(())
    }

    /// Adds credits to a budget.
    pub fn add_budget(&mut self, name: &str, credits: Credits) -> Result<(), AccountError> {
        let account = self.account_mut(name)?;
        let budget = account.budget + credits;
        if budget > Credits::MAX {
            return Err(AccountError::TooMuch);
        }
        account.budget = budget;
        self.totals.granted += i128::from(credits.0);
        Ok(())
    }

    fn account_mut(&mut self, name: &str) -> Result<&mut Account, AccountError> {
        self.accounts.get_mut(name).ok_or(AccountError::Unknown)
    }

    /// Returns the account.
    pub fn get(&self, name: &str) -> Option<&Account> {
        self.accounts.get(name)
    }

    /// Returns every account, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Account)> {
        self.accounts
            .iter()
            .map(|(name, account)| (name.as_str(), account))
    }

    /// Returns the rate that the present interval is charged at.
    pub(super) fn rate_charged(&self, name: &str, policy: &Policy) -> Credits {
        let account = self.accounts.get(name);
        account.map_or(Credits::ZERO, |account| charged_rate(account, policy))
    }

    /// Returns the price of the last tick.
    pub fn price(&self) -> Credits {
        self.price
    }

    /// Returns the sums since the first account. The budgets together hold `granted - debited -
    /// forfeited`.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Opens an account as another book has it, and counts its budget as granted. The budget of an
    /// existing account of that name is forfeited.
    pub fn adopt(&mut self, name: &str, account: &Account) {
        let grant = None;
        let before = self
            .accounts
            .insert(name.to_string(), Account { grant, ..*account });
        self.totals.forfeited += before.map_or(0, |before| i128::from(before.budget.micro()));
        self.totals.granted += i128::from(account.budget.micro());
    }

    /// Ends all grants. After a restart this book has not granted the slots in use, so the first
    /// interval is free.
    pub fn forget_grants(&mut self) {
        self.price = Credits::ZERO;
        for account in self.accounts.values_mut() {
            account.grant = None;
        }
    }

    /// Pays income for a stretch of time, exact to the last unit over many calls. Income beyond the
    /// largest balance is lost. Reports each payment to `paid_to`.
    pub fn pay_income(&mut self, elapsed_ms: i64, mut paid_to: impl FnMut(&str, Credits)) {
        for (name, account) in &mut self.accounts {
            let due = i128::from(account.income.0) * i128::from(elapsed_ms.max(0))
                + i128::from(account.income_left);
            let room = i128::from(Credits::MAX.micro() - account.budget.micro());
            let paid = (due / HOUR_MS).min(room);
            account.income_left = (due % HOUR_MS) as i64;
            account.budget.0 += paid as i64;
            self.totals.granted += paid;
            if paid > 0 {
                paid_to(name, Credits(paid as i64));
            }
        }
    }

    /// Ends an interval: charges for it, then sets price and quotas of the next. `usage` may omit
    /// idle users.
    pub fn tick(
        &mut self,
        usage: &BTreeMap<String, Usage>,
        interval: &Interval,
        policy: &Policy,
    ) -> Outcome {
        self.tick_owing(usage, &BTreeMap::new(), interval, policy)
    }

    /// Like `tick`, with additional debts by user in millionths: those of jobs that are charged one
    /// by one.
    pub(super) fn tick_owing(
        &mut self,
        usage: &BTreeMap<String, Usage>,
        owed: &BTreeMap<String, i64>,
        interval: &Interval,
        policy: &Policy,
    ) -> Outcome {
        let mut rows = BTreeMap::new();
        let mut price = Credits::ZERO;
        for (name, account) in &mut self.accounts {
            let usage = usage.get(name).copied().unwrap_or_default();
            let before = account.budget;
            let owed = i128::from(owed.get(name).copied().unwrap_or(0));
            let charge = charge(account, &usage, interval, policy) + owed;
            let (charged_rate, held) = (charged_rate(account, policy), account.quotas());
            let skipped = policy.overdraft == Overdraft::Skip && charge > i128::from(before.0);
            let debit = match charge.min(i128::from(before.0)) {
                _ if skipped => Credits::ZERO,
                debit => Credits(debit as i64),
            };
            account.budget.0 -= debit.0;
            self.totals.debited += i128::from(debit.0);
            let tested = match policy.solvent {
                Solvent::AfterDebit => account.budget,
                Solvent::BeforeDebit => before,
            };
            let bids = usage.active && account.rate > Credits::ZERO && tested >= account.rate;
            if bids {
                price = price + account.rate;
            }
            // A claim to slots ends with the bidding: no account saves slots up while away.
            account.carried = account.owed_next();
            account.grant = (bids && !skipped).then_some(Grant {
                rate: account.rate,
                quota: [0; POOLS],
            });
            let row = Row {
                charged_rate,
                held,
                debit,
                budget: account.budget,
                share: 0.0,
                exact: [0.0; POOLS],
                quota: [0; POOLS],
            };
            rows.insert(name.clone(), row);
        }
        self.price = price;
        self.set_quotas(interval.slots, policy);
        for (name, row) in &mut rows {
            if let Some(grant) = self.accounts.get(name).and_then(|account| account.grant) {
                row.share = share(grant.rate, price);
                row.exact = interval.slots.map(|slots| exact(grant.rate, price, slots));
                row.quota = grant.quota;
            }
        }
        let fifo = self.accounts.values().all(|a| a.grant.is_none());
        Outcome { price, fifo, rows }
    }

    /// Gives each user with a share the whole slots that it buys. Also serves when only the
    /// cluster's slots changed since the tick: shares stay, quotas follow (DP-49).
    pub fn set_quotas(&mut self, slots: [u32; POOLS], policy: &Policy) {
        let price = self.price;
        let bidders = self.accounts.values_mut();
        let mut bidders: Vec<&mut Account> = bidders.filter(|a| a.grant.is_some()).collect();
        let rate = |account: &&mut Account| account.grant.map_or(Credits::ZERO, |g| g.rate);
        let bids: Vec<Credits> = bidders.iter().map(rate).collect();
        for (pool, slots) in slots.into_iter().enumerate() {
            let mut carried: Vec<i64> = bidders.iter().map(|a| a.carried[pool]).collect();
            let quotas = match policy.rounding {
                Rounding::Carried => divide_owed(&bids, price, slots, &mut carried),
                rounding => divide(&bids, price, slots, rounding),
            };
            for ((account, quota), carried) in bidders.iter_mut().zip(quotas).zip(carried) {
                account.carried_on[pool] = carried;
                if let Some(grant) = &mut account.grant {
                    grant.quota[pool] = quota;
                }
            }
        }
    }
}

/// Returns the rate at which a user is charged (DP-15).
fn charged_rate(account: &Account, policy: &Policy) -> Credits {
    match policy.charge_rate {
        ChargeRate::Granted => account.grant.map_or(Credits::ZERO, |grant| grant.rate),
        ChargeRate::Current => account.rate,
    }
}

/// Returns the cost of an interval in millionths, rounded down: never more than the rate.
fn charge(account: &Account, usage: &Usage, interval: &Interval, policy: &Policy) -> i128 {
    let rate = charged_rate(account, policy);
    let quotas = account.quotas();
    let charged = |pool: usize| {
        let used = i128::from(usage.slot_ms[pool].max(0));
        let paid_for = i128::from(quotas[pool]) * i128::from(interval.elapsed_ms.max(0));
        match policy.charge_cap {
            ChargeCap::Quota => used.min(paid_for),
            ChargeCap::None => used,
        }
    };
    let slot_ms: i128 = (0..POOLS).map(charged).sum();
    slot_ms * i128::from(rate.0) / i128::from(interval.unit_ms.max(1))
}

#[cfg(test)]
mod tests;
