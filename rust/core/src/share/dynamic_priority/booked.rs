//! The rows of the ledger for an interval. Each millisecond of a container is in one column: of
//! slots that were charged for, of slots that nobody paid for, or of ApplicationMasters.

use super::account::{Outcome, Row, Usage};
use super::debt::Debt;
use super::meter::Use;
use crate::words::credits::Credits;
use crate::words::keys::POOLS;
use crate::words::ledger::ChargeRow;
use std::collections::BTreeMap;

/// Use that counted for charges, and incomes, by queue.
pub(super) struct Booked<'a> {
    /// Use of jobs without an authority.
    pub(super) usage: &'a BTreeMap<String, Usage>,
    /// Use of jobs with an authority.
    pub(super) owed: &'a BTreeMap<String, Debt>,
    pub(super) incomes: &'a BTreeMap<String, Credits>,
}

impl Booked<'_> {
    /// Returns the slots times milliseconds that were charged. Without a rate, those are of jobs
    /// that ended, moved or got another authority while there was one.
    fn charged(&self, name: &str, row: &Row) -> [i64; POOLS] {
        let owed = self.owed.get(name).copied().unwrap_or_default();
        match (row.charged_rate, row.debit) {
            (Credits::ZERO, Credits::ZERO) => [0; POOLS],
            (Credits::ZERO, _) => owed.slot_ms,
            _ => owed.beside(self.usage.get(name)),
        }
    }
}

/// Returns the rows in the order of names, without queues on which the interval had no effect.
/// `used` is all use by queue; queues without an account have rows for it, too.
pub(super) fn rows(
    outcome: &Outcome,
    mut used: BTreeMap<String, Use>,
    booked: &Booked<'_>,
) -> Vec<ChargeRow> {
    let mut rows: Vec<ChargeRow> = Vec::new();
    for (name, row) in &outcome.rows {
        let whole = used.remove(name).unwrap_or_default();
        let charged = booked.charged(name, row);
        rows.push(ChargeRow {
            queue: name.clone(),
            rate: row.charged_rate,
            quota: row.held,
            used_slot_ms: charged,
            income: booked.incomes.get(name).copied().unwrap_or_default(),
            debit: row.debit,
            balance: row.budget,
            unpaid_slot_ms: std::array::from_fn(|pool| whole.slot_ms[pool] - charged[pool]),
            am_ms: whole.am_ms,
        });
    }
    rows.extend(used.into_iter().map(|(queue, whole)| ChargeRow {
        queue,
        unpaid_slot_ms: whole.slot_ms,
        am_ms: whole.am_ms,
        ..ChargeRow::default()
    }));
    rows.retain(ChargeRow::says_something);
    rows.sort_by(|a, b| a.queue.cmp(&b.queue));
    rows
}
