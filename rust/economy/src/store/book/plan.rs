//! Plans a commit: changes and rows in order, laid over the current books. Refuses what does not
//! follow; modifies nothing itself.

use super::{Book, LEARNT_MAX, Learnt, Writes};
use crate::record::{Account, Change, GrantKind, GrantRecord, LedgerRow, Row};
use crate::store::error::{Refusal, StoreError};
use heddle_core::words::credits::Credits;
use std::collections::BTreeMap;

/// The longest lesson, in bytes of JSON.
const VALUE_BYTES_MAX: usize = 4096;
/// The longest name of a queue or user, key, nonce or reason.
const TEXT_BYTES_MAX: usize = 1024;
/// A user with `NONCES_MAX` nonces is refused until some expire: forgetting one would let its
/// request be replayed. The limit is per user, so that no user can shut out the others.
pub const NONCES_MAX: usize = 10_000;

pub(in crate::store) fn refuse<T>(refusal: Refusal) -> Result<T, StoreError> {
    Err(StoreError::Refused(refusal))
}

/// Refuses texts that Heddle never writes: control characters would break lines of files and
/// terminals.
pub(in crate::store) fn check_text(
    field: &'static str,
    text: &str,
    may_be_empty: bool,
) -> Result<(), StoreError> {
    let fits = text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control);
    if fits && (may_be_empty || !text.is_empty()) {
        return Ok(());
    }
    let expected = "1 to 1024 bytes without control characters";
    refuse(Refusal::Text { field, expected })
}

/// Refuses amounts above the largest: they would be read back as different ones.
fn check_amounts(queue: &str, amounts: &[Credits]) -> Result<(), StoreError> {
    if amounts.iter().all(|amount| *amount <= Credits::MAX) {
        return Ok(());
    }
    refuse(Refusal::TooMuch(queue.to_string()))
}

/// The books with the planned writes laid over them.
pub(super) struct Plan<'a> {
    book: &'a Book,
    pub(super) writes: Writes,
    /// Nonces per user, including those in the books; only users with new ones.
    counts: BTreeMap<String, usize>,
    /// The earliest expiry of a nonce in the books, once it was looked up.
    earliest_ms: Option<i64>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(book: &'a Book) -> Plan<'a> {
        let head = book.head.clone();
        Plan {
            book,
            writes: Writes {
                head,
                ..Writes::default()
            },
            counts: BTreeMap::new(),
            earliest_ms: None,
        }
    }

    fn find(&self, queue: &str) -> Option<Account> {
        match self.writes.accounts.get(queue) {
            Some(planned) => *planned,
            None => self.book.accounts.get(queue).copied(),
        }
    }

    fn account(&self, queue: &str) -> Result<Account, StoreError> {
        let unknown = || StoreError::Refused(Refusal::Unknown(queue.to_string()));
        self.find(queue).ok_or_else(unknown)
    }

    fn set(&mut self, queue: &str, account: Option<Account>) {
        self.writes.accounts.insert(queue.to_string(), account);
    }

    pub(super) fn change(&mut self, change: &Change, at_ms: i64) -> Result<(), StoreError> {
        match change {
            Change::Open { queue } => self.open(queue),
            Change::Close { queue, by, why } => {
                let account = self.account(queue)?;
                self.set(queue, None);
                self.writes.head.totals.forfeited += i128::from(account.budget.micro());
                self.note(
                    GrantKind::Forfeited,
                    queue,
                    account.budget,
                    (by, why),
                    at_ms,
                )
            }
            Change::Grant {
                queue,
                amount,
                by,
                why,
            } => {
                let mut account = self.account(queue)?;
                account.budget = account.budget + *amount;
                check_amounts(queue, &[*amount, account.budget])?;
                self.set(queue, Some(account));
                self.writes.head.totals.granted += i128::from(amount.micro());
                self.note(GrantKind::Granted, queue, *amount, (by, why), at_ms)
            }
            Change::Rate { queue, rate } => {
                let account = self.account(queue)?;
                let rate = *rate;
                check_amounts(queue, &[rate])?;
                self.set(queue, Some(Account { rate, ..account }));
                Ok(())
            }
            Change::Income { queue, income } => {
                let account = self.account(queue)?;
                let income = *income;
                check_amounts(queue, &[income])?;
                self.set(queue, Some(Account { income, ..account }));
                Ok(())
            }
            Change::Seen { user, timestamp_ms } => self.seen(user, *timestamp_ms),
            Change::Nonce {
                user,
                nonce,
                expires_ms,
            } => self.nonce(user, nonce, *expires_ms),
            Change::Forget { before_ms } => {
                self.forget(*before_ms);
                Ok(())
            }
            Change::Learn { key, value } => self.learn(key, value),
        }
    }

    fn open(&mut self, queue: &str) -> Result<(), StoreError> {
        check_text("queue", queue, false)?;
        if self.find(queue).is_some() {
            return refuse(Refusal::Exists(queue.to_string()));
        }
        self.set(queue, Some(Account::default()));
        Ok(())
    }

    fn note(
        &mut self,
        kind: GrantKind,
        queue: &str,
        amount: Credits,
        (by, why): (&str, &str),
        at_ms: i64,
    ) -> Result<(), StoreError> {
        check_text("by", by, false)?;
        check_text("why", why, true)?;
        self.writes.head.grant += 1;
        self.writes.grants.push(GrantRecord {
            number: self.writes.head.grant,
            at_ms,
            kind,
            queue: queue.to_string(),
            amount,
            by: by.to_string(),
            why: why.to_string(),
        });
        Ok(())
    }

    fn seen(&mut self, user: &str, timestamp_ms: i64) -> Result<(), StoreError> {
        check_text("user", user, false)?;
        let planned = self.writes.watermarks.get(user);
        let last = planned.or_else(|| self.book.watermarks.get(user));
        if last.is_some_and(|last| timestamp_ms <= *last) {
            return refuse(Refusal::Replay(user.to_string()));
        }
        let user = user.to_string();
        self.writes.watermarks.insert(user, timestamp_ms);
        Ok(())
    }

    /// Tells whether a nonce of the books with this expiry is still remembered.
    fn is_kept(&self, expires_ms: i64) -> bool {
        let before_ms = self.writes.forget_before_ms;
        before_ms.is_none_or(|before_ms| expires_ms >= before_ms)
    }

    fn floor(&self, user: &str) -> Option<i64> {
        let planned = self.writes.floors.get(user);
        planned.or_else(|| self.book.floors.get(user)).copied()
    }

    fn nonce(&mut self, user: &str, nonce: &str, expires_ms: i64) -> Result<(), StoreError> {
        check_text("user", user, false)?;
        check_text("nonce", nonce, false)?;
        let known = self.book.nonces.get(user);
        let stored = known.and_then(|nonces| nonces.get(nonce));
        let key = (user.to_string(), nonce.to_string());
        if stored.is_some_and(|expires_ms| self.is_kept(*expires_ms))
            || self.writes.nonces.contains_key(&key)
            || self.floor(user).is_some_and(|floor| expires_ms <= floor)
        {
            return refuse(Refusal::Replay(user.to_string()));
        }
        if !self.counts.contains_key(user) {
            let count = self.count(user);
            self.counts.insert(user.to_string(), count);
        }
        let count = self.counts.entry(user.to_string()).or_default();
        if *count >= NONCES_MAX {
            return refuse(Refusal::TooManyNonces(user.to_string()));
        }
        *count += 1;
        self.writes.nonces.insert(key, expires_ms);
        Ok(())
    }

    fn count(&self, user: &str) -> usize {
        let known = self.book.nonces.get(user).into_iter().flatten();
        let known = known.filter(|(_, expires_ms)| self.is_kept(**expires_ms));
        let from = (user.to_string(), String::new());
        let planned = self.writes.nonces.range(from..);
        known.count() + planned.take_while(|((of, _), _)| of == user).count()
    }

    /// Forgets nonces that expire before this, in the books and in the plan.
    pub(super) fn forget(&mut self, before_ms: i64) {
        let (book, from) = (self.book, self.writes.forget_before_ms);
        let stored = book.nonces.iter().flat_map(|(user, nonces)| {
            let nonces = nonces.values();
            nonces.map(|expires_ms| (user.as_str(), *expires_ms))
        });
        let kept = stored.filter(|(_, expires_ms)| from.is_none_or(|from| *expires_ms >= from));
        let mut gone: Vec<(&str, i64)> = Vec::new();
        // Looked up once: a commit rarely has something to forget.
        let earliest_ms = match self.earliest_ms {
            Some(known) => known,
            None => kept.clone().map(|(_, at)| at).min().unwrap_or(i64::MAX),
        };
        self.earliest_ms = Some(earliest_ms);
        if earliest_ms < before_ms {
            gone.extend(kept.filter(|(_, expires_ms)| *expires_ms < before_ms));
            self.earliest_ms = None;
        }
        let from_books = !gone.is_empty();
        let planned = std::mem::take(&mut self.writes.nonces);
        let (old, planned): (BTreeMap<_, _>, BTreeMap<_, _>) = planned
            .into_iter()
            .partition(|(_, expires_ms)| *expires_ms < before_ms);
        gone.extend(old.iter().map(|((user, _), at)| (user.as_str(), *at)));
        for (user, expires_ms) in &gone {
            let floor = self.floor(user).unwrap_or(i64::MIN).max(*expires_ms);
            self.writes.floors.insert(user.to_string(), floor);
        }
        if !gone.is_empty() {
            self.counts.clear();
        }
        if from_books {
            self.writes.forget_before_ms = Some(before_ms);
        }
        self.writes.nonces = planned;
    }

    fn learn(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        check_text("key", key, false)?;
        let json = serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok();
        if value.len() > VALUE_BYTES_MAX || value.contains('\0') || !json {
            let (field, expected) = ("value", "JSON of at most 4096 bytes");
            return refuse(Refusal::Text { field, expected });
        }
        self.writes.head.lesson += 1;
        let learnt = Learnt {
            value: value.to_string(),
            lesson: self.writes.head.lesson,
        };
        self.writes.learnt.insert(key.to_string(), learnt);
        Ok(())
    }

    /// Applies a row. A queue without an account may have used what nobody paid for.
    pub(super) fn row(&mut self, row: &Row, tick: u64) -> Result<(), StoreError> {
        if row.is_unpaid() && self.find(&row.queue).is_none() {
            check_text("queue", &row.queue, false)?;
            let row = row.clone();
            self.writes.rows.push(LedgerRow { tick, row });
            return Ok(());
        }
        let account = self.account(&row.queue)?;
        check_amounts(&row.queue, &[row.rate, row.income, row.debit, row.balance])?;
        let budget = account.budget.micro();
        let expected_micro = budget + row.income.micro() - row.debit.micro();
        let given_micro = row.balance.micro();
        if expected_micro != given_micro {
            return refuse(Refusal::Balance {
                queue: row.queue.clone(),
                expected_micro,
                given_micro,
            });
        }
        let budget = row.balance;
        self.set(&row.queue, Some(Account { budget, ..account }));
        let totals = &mut self.writes.head.totals;
        totals.granted += i128::from(row.income.micro());
        totals.debited += i128::from(row.debit.micro());
        let row = row.clone();
        self.writes.rows.push(LedgerRow { tick, row });
        Ok(())
    }

    /// Drops the oldest lessons beyond `LEARNT_MAX` and returns the writes.
    pub(super) fn finish(mut self) -> Writes {
        let new = self.writes.learnt.keys();
        let new = new.filter(|key| !self.book.learnt.contains_key(*key));
        let excess = (self.book.learnt.len() + new.count()).saturating_sub(LEARNT_MAX);
        if excess > 0 {
            let known = self.book.learnt.iter();
            let known = known.filter(|(key, _)| !self.writes.learnt.contains_key(*key));
            let mut oldest: Vec<_> = known
                .chain(&self.writes.learnt)
                .map(|(key, learnt)| (learnt.lesson, key.clone()))
                .collect();
            oldest.sort_unstable();
            oldest.truncate(excess);
            self.writes.forgotten = oldest.into_iter().map(|(_, key)| key).collect();
            for key in &self.writes.forgotten {
                self.writes.learnt.remove(key);
            }
        }
        self.writes
    }
}
