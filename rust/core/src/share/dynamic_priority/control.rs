//! Requests of the control plane: changes by users and administrators, and reports. Operations have
//! the names of the published interface (DP-32). Does no authorization; that is the host's.

use super::account::AccountError;
use super::{DynamicPriority, Saved};
use crate::config::Section;
use crate::model::change::{Stale, World};
use crate::words::credits::Credits;
use crate::words::keys::POOLS;
use crate::words::kind::Kind;
use crate::words::ledger::Entry;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl DynamicPriority {
    /// Serves `op`, if it is one of this policy's.
    pub(super) fn serve(
        &mut self,
        op: &str,
        request: &Value,
        world: &World<'_>,
        stale: &mut Stale,
    ) -> Option<Result<Value, String>> {
        Some(match op {
            "price" => Ok(json!({ "price": self.accounts.price().to_number() })),
            "accounts" => Ok(self.report(world)),
            "advice" => self.advise(request, world),
            "setSpending" => self.set_spending(request),
            "addBudget" => self.add_budget(request),
            "addQueue" => self.add_queue(request),
            "removeQueue" => self.remove_queue(request, stale),
            "restoreAccounts" => self.restore_accounts(request, world, stale),
            _ => return None,
        })
    }

    fn set_spending(&mut self, request: &Value) -> Result<Value, String> {
        let mut section = opened(request)?;
        let queue = queue(&mut section)?;
        let rate = amount(&mut section)?;
        finish(section)?;
        self.accounts.set_rate(&queue, rate).map_err(refused)?;
        let answer = self.account(&queue);
        self.ledger.note(|| Entry::Rate { queue, rate });
        Ok(answer)
    }

    fn add_budget(&mut self, request: &Value) -> Result<Value, String> {
        let mut section = opened(request)?;
        let queue = queue(&mut section)?;
        let amount = amount(&mut section)?;
        let (by, why) = reason(&mut section)?;
        finish(section)?;
        self.accounts.add_budget(&queue, amount).map_err(refused)?;
        let answer = self.account(&queue);
        self.ledger.note(|| Entry::Granted {
            queue,
            amount,
            by,
            why,
        });
        Ok(answer)
    }

    fn add_queue(&mut self, request: &Value) -> Result<Value, String> {
        let mut section = opened(request)?;
        let queue = queue(&mut section)?;
        finish(section)?;
        self.accounts.add(&queue).map_err(refused)?;
        self.opened.insert(queue.clone());
        let answer = self.account(&queue);
        self.ledger.note(|| Entry::Opened { queue });
        Ok(answer)
    }

    /// Closes an account. The queue's tasks run on, like those of all queues without a share.
    fn remove_queue(&mut self, request: &Value, stale: &mut Stale) -> Result<Value, String> {
        let mut section = opened(request)?;
        let queue = queue(&mut section)?;
        let (by, why) = reason(&mut section)?;
        finish(section)?;
        self.accounts.remove(&queue).map_err(refused)?;
        self.opened.insert(queue.clone());
        self.last.rows.remove(&queue);
        self.take_over_quotas();
        stale.shares();
        let answer = json!({ "queue": queue });
        self.ledger.note(|| Entry::Closed { queue, by, why });
        Ok(answer)
    }

    /// Restores the output of `Engine::save` for this stage.
    fn restore_accounts(
        &mut self,
        request: &Value,
        world: &World<'_>,
        stale: &mut Stale,
    ) -> Result<Value, String> {
        let saved = request.get("saved").unwrap_or(&Value::Null);
        let saved = Saved::deserialize(saved).map_err(|error| {
            format!("key `saved`: expected the saved state of the policy: {error}")
        })?;
        self.restore(saved, world);
        stale.shares();
        Ok(json!({ "accounts": self.accounts.iter().count() }))
    }

    fn account(&self, name: &str) -> Value {
        let Some(account) = self.accounts.get(name) else {
            return Value::Null;
        };
        json!({
            "queue": name,
            "budget": account.budget.to_number(),
            "budget_micro": account.budget.micro(),
            "spending_rate": account.rate.to_number(),
            "income": account.income.to_number(),
        })
    }

    /// Returns the data of a monitoring page (DP-35), and the sums that prove that no credit was
    /// lost or made.
    fn report(&self, world: &World<'_>) -> Value {
        let mut pending = vec![[0u32; POOLS]; self.leaves.len()];
        for job in world.cluster.jobs() {
            for kind in Kind::ALL {
                if let Some(pool) = world.pool(kind, false)
                    && let Some(leaf) = pending.get_mut(job.leaf.index())
                {
                    leaf[pool] = leaf[pool].saturating_add(job.pending_of(kind));
                }
            }
        }
        let leaves = self.leaves.iter().enumerate();
        let leaves: BTreeMap<&str, usize> =
            leaves.map(|(i, leaf)| (leaf.name.as_str(), i)).collect();
        let queues = self.accounts.iter().map(|(name, account)| {
            let leaf = leaves.get(name).copied();
            let meter = leaf.map(|leaf| &self.leaves[leaf].meter);
            let row = self.last.rows.get(name);
            let mut queue = self.account(name);
            queue["share"] = json!(leaf.map_or(0.0, |leaf| self.leaves[leaf].share));
            queue["quota"] = json!(account.grant.map_or([0; POOLS], |grant| grant.quota));
            queue["used"] = json!(meter.map_or([0; POOLS], |meter| meter.running.slots));
            queue["pending"] = json!(leaf.map_or([0; POOLS], |leaf| pending[leaf]));
            queue["debit"] = json!(row.map_or(0.0, |row| row.debit.to_number()));
            queue["projection"] = self.projection(leaf, account, world);
            queue
        });
        let queues: Vec<Value> = queues.collect();
        let totals = self.accounts.totals();
        let held = self
            .accounts
            .iter()
            .map(|(_, account)| i128::from(account.budget.micro()));
        json!({
            "price": self.accounts.price().to_number(),
            "fifo": self.accounts.iter().all(|(_, account)| account.grant.is_none()),
            "slots": self.slots,
            "allocation_interval_ms": self.settings.allocation_interval_ms,
            "next_ms": self.interval.map(|(_, ends)| ends),
            "income_per_hour": self.income().to_number(),
            "servers": world.cluster.node_count,
            "queues": queues,
            "sums": {
                "granted_micro": totals.granted as i64,
                "debited_micro": totals.debited as i64,
                "forfeited_micro": totals.forfeited as i64,
                "held_micro": held.sum::<i128>() as i64,
            },
        })
    }
}

pub(super) fn opened(request: &Value) -> Result<Section<'_>, String> {
    let mut section = Section::new("", request).map_err(|error| error.to_string())?;
    section.value("op");
    Ok(section)
}

/// Returns the queue's path; a name without `root.` is a queue below the root.
pub(super) fn queue(section: &mut Section<'_>) -> Result<String, String> {
    let name = section.text("queue").map_err(|error| error.to_string())?;
    match name.filter(|name| !name.is_empty()) {
        Some(name) if name.starts_with("root.") => Ok(name.to_string()),
        Some(name) => Ok(format!("root.{name}")),
        None => Err("key `queue`: expected the name of a queue".to_string()),
    }
}

/// Returns the amount of credits in a request.
fn amount(section: &mut Section<'_>) -> Result<Credits, String> {
    if let Some(micro) = said(section.whole("micro", 0, Credits::MAX.micro()))? {
        return Ok(Credits::from_micro(micro));
    }
    let value = said(section.number("value", 0.0, Credits::MAX.to_number()))?
        .ok_or("key `value`: expected a number of credits")?;
    Credits::from_number(value).map_err(|error| error.to_string())
}

/// Returns author and reason of a change, for the books.
fn reason(section: &mut Section<'_>) -> Result<(String, String), String> {
    let mut text = |key| said(section.text(key)).map(|text| text.map(str::to_string));
    Ok((
        text("by")?.unwrap_or_else(|| "host".to_string()),
        text("why")?.unwrap_or_default(),
    ))
}

pub(super) fn finish(section: Section<'_>) -> Result<(), String> {
    said(section.finish())
}

pub(super) fn said<T>(result: Result<T, impl std::fmt::Display>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn refused(error: AccountError) -> String {
    let key = match error {
        AccountError::Unknown | AccountError::Exists | AccountError::BadName => "queue",
        AccountError::TooMuch => "value",
    };
    format!("key `{key}`: {error}")
}
