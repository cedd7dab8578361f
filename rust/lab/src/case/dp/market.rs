//! Op `account`: accounts over allocation intervals. Reads and writes JSON; the core has the
//! market.

use super::super::CaseError;
use super::super::input::Input;
use super::{KINDS, capacity, credits, kind, one_of};
use heddle_core::config::{ConfigError, Section};
use heddle_core::share::dynamic_priority::account::{
    AccountError, Accounts, Interval, Outcome, Row, Usage,
};
use heddle_core::share::dynamic_priority::policy::Policy;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Slots used may be fractions; an interval of this length represents them to a millionth.
const UNIT_MS: i64 = 1_000_000;

pub(super) fn account(case: &Input<'_>) -> Result<Value, CaseError> {
    let (slots, named) = capacity(&case.need("capacity")?)?;
    let policy = policy(case)?;
    let mut accounts = Accounts::default();
    for user in case.each("users", |user| Ok(user.clone()))? {
        let name = user.need("name")?;
        let refused = |error: AccountError| name.error(&error.to_string());
        let key = name.name()?;
        accounts.add(&key).map_err(refused)?;
        if let Some(budget) = user.maybe("budget", credits)? {
            accounts.add_budget(&key, budget).map_err(refused)?;
        }
        if let Some(rate) = user.maybe("rate", credits)? {
            accounts.set_rate(&key, rate).map_err(refused)?;
        }
    }
    let interval = Interval {
        elapsed_ms: UNIT_MS,
        unit_ms: UNIT_MS,
        slots,
    };
    let mut ticks = Vec::new();
    for step in case.need("intervals")?.list()? {
        let mut refused = Vec::new();
        for op in step.each("ops", |op| Ok(op.clone()))? {
            if let Err(error) = operate(&mut accounts, &op)? {
                refused.push(json!({ "op": op.value(), "why": error.to_string() }));
            }
        }
        let outcome = accounts.tick(&usage(&step)?, &interval, &policy);
        ticks.push(tick(&outcome, &named, refused));
    }
    Ok(json!({ "ticks": ticks }))
}

fn policy(case: &Input<'_>) -> Result<Policy, CaseError> {
    let preset = match case.get("preset")? {
        None => Policy::PAPER,
        Some(input) => one_of(&input, Policy::PRESETS)?,
    };
    let Some(knobs) = case.get("policy")? else {
        return Ok(preset);
    };
    let failed = |error: ConfigError| CaseError::new(error.key, error.problem);
    let mut section = Section::new(knobs.path(), knobs.value()).map_err(failed)?;
    let policy = preset.read(&mut section).map_err(failed)?;
    section.finish().map_err(failed)?;
    Ok(policy)
}

/// The outer error is a malformed operation, the inner one a refusal by the accounts.
fn operate(accounts: &mut Accounts, op: &Input<'_>) -> Result<Result<(), AccountError>, CaseError> {
    let queue = op.need("queue")?.name()?;
    let value = || credits(&op.need("value")?);
    match op.need("op")?.text()? {
        "setSpending" => Ok(accounts.set_rate(&queue, value()?)),
        "addBudget" => Ok(accounts.add_budget(&queue, value()?)),
        "addQueue" => Ok(accounts.add(&queue)),
        "removeQueue" => Ok(accounts.remove(&queue)),
        _ => Err(op
            .need("op")?
            .error("setSpending, addBudget, addQueue or removeQueue")),
    }
}

fn usage(step: &Input<'_>) -> Result<BTreeMap<String, Usage>, CaseError> {
    let mut usage = BTreeMap::new();
    let Some(users) = step.get("usage")? else {
        return Ok(usage);
    };
    for (name, user) in users.members()? {
        let used = user.maybe("used", by_kind)?.unwrap_or_default();
        let pending = user.maybe("pending", by_kind)?.unwrap_or_default();
        let slot_ms = used.map(|slots| (slots * UNIT_MS as f64).round() as i64);
        let active = used.iter().chain(&pending).any(|amount| *amount > 0.0);
        usage.insert(name.to_string(), Usage { slot_ms, active });
    }
    Ok(usage)
}

/// Parses a number of map slots, or a number per kind.
fn by_kind(input: &Input<'_>) -> Result<[f64; 2], CaseError> {
    if input.value().is_number() {
        return Ok([input.amount()?, 0.0]);
    }
    let mut amounts = [0.0; 2];
    for (name, amount) in input.members()? {
        let kind = kind(name).ok_or_else(|| amount.error("the kind to be map or reduce"))?;
        amounts[kind] = amount.amount()?;
    }
    Ok(amounts)
}

fn tick(outcome: &Outcome, named: &[usize], refused: Vec<Value>) -> Value {
    let pools = |number: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        let row = |pool: &usize| (KINDS[*pool].to_string(), number(*pool));
        named.iter().map(row).collect()
    };
    let user = |(name, row): (&String, &Row)| {
        let user = json!({
            "budget": row.budget.to_number(),
            "debit": row.debit.to_number(),
            "share": row.share,
            "exact": pools(&|pool| json!(row.exact[pool])),
            "quota": pools(&|pool| json!(row.quota[pool])),
        });
        (name.clone(), user)
    };
    let users: Map<String, Value> = outcome.rows.iter().map(user).collect();
    let mut tick = json!({
        "price": outcome.price.to_number(),
        "fifo": outcome.fifo,
        "users": users,
    });
    if !refused.is_empty() {
        tick["refused"] = json!(refused);
    }
    tick
}
