//! Cases of Dynamic Priority. Parses and writes JSON; every number comes from
//! `heddle_core::share::dynamic_priority`.

mod market;
mod sign;

use super::CaseError;
use super::input::Input;
use heddle_core::share::dynamic_priority::quota::{Rounding, divide, exact, share};
use heddle_core::share::dynamic_priority::reclaim::{Holding, Task, Victims, needed, victims};
use heddle_core::words::credits::Credits;
use serde_json::{Map, Value, json};

/// The names of the pools in cases.
const KINDS: [&str; 2] = ["map", "reduce"];

/// Answers one case at `path` of the input.
pub(super) fn answer(case: &Value, path: &str) -> Result<Value, CaseError> {
    let case = Input::new(path, case);
    match case.maybe("op", Input::text)? {
        None | Some("account") => market::account(&case),
        Some("shares") => shares(&case),
        Some("preempt") => preempt(&case),
        Some("sign") => sign::answer(&case),
        Some(_) => Err(case.need("op")?.error("account, shares, preempt or sign")),
    }
}

/// Parses slots by pool: `{"map": 15, "reduce": 5}`, or a number of map slots. Returns them with
/// the named pools.
fn capacity(input: &Input<'_>) -> Result<([u32; 2], Vec<usize>), CaseError> {
    if input.value().is_number() {
        return Ok(([input.whole()?, 0], vec![0]));
    }
    let (mut slots, mut named) = ([0; 2], Vec::new());
    for (name, amount) in input.members()? {
        let kind = kind(name).ok_or_else(|| amount.error("the kind to be map or reduce"))?;
        slots[kind] = amount.whole()?;
        named.push(kind);
    }
    Ok((slots, named))
}

fn kind(name: &str) -> Option<usize> {
    KINDS.iter().position(|kind| *kind == name)
}

fn credits(input: &Input<'_>) -> Result<Credits, CaseError> {
    Credits::from_number(input.number()?).map_err(|error| input.error(&error.to_string()))
}

fn shares(case: &Input<'_>) -> Result<Value, CaseError> {
    let mut bids = Vec::new();
    for (name, rate) in case.need("rates")?.members()? {
        bids.push((name, credits(&rate)?));
    }
    let (slots, named) = capacity(&case.need("capacity")?)?;
    let rounding = match case.get("rounding")? {
        None => Rounding::LargestRemainder,
        Some(input) => one_of(&input, Rounding::NAMES)?,
    };
    let price = bids.iter().fold(Credits::ZERO, |sum, (_, bid)| sum + *bid);
    let rates: Vec<Credits> = bids.iter().map(|(_, bid)| *bid).collect();
    let by_user = |number: &dyn Fn(usize) -> Value| -> Value {
        let row = |(i, (name, _)): (usize, &(&str, Credits))| (name.to_string(), number(i));
        Value::Object(bids.iter().enumerate().map(row).collect())
    };
    let (mut real, mut whole) = (Map::new(), Map::new());
    for pool in named {
        let quotas = divide(&rates, price, slots[pool], rounding);
        let entitled = |i: usize| json!(exact(rates[i], price, slots[pool]));
        real.insert(KINDS[pool].to_string(), by_user(&entitled));
        whole.insert(KINDS[pool].to_string(), by_user(&|i| json!(quotas[i])));
    }
    Ok(json!({
        "price": price.to_number(),
        "share": by_user(&|i| json!(share(rates[i], price))),
        "exact": real,
        "quota": whole,
    }))
}

fn one_of<T: Copy>(input: &Input<'_>, choices: &[(&str, T)]) -> Result<T, CaseError> {
    let name = input.text()?;
    let chosen = choices.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
    chosen
        .map(|(_, choice)| *choice)
        .ok_or_else(|| input.error(&names.join(" or ")))
}

fn preempt(case: &Input<'_>) -> Result<Value, CaseError> {
    let mut ids: Vec<&Value> = Vec::new();
    let mut queues = case.each("queues", |queue| {
        Ok((queue.need("name")?.name()?, queue.clone()))
    })?;
    queues.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut holdings = Vec::new();
    for (_, queue) in &queues {
        let mut running = Vec::new();
        for input in queue.maybe("running", Input::list)?.unwrap_or_default() {
            running.push(task(queue, &input, ids.len())?);
            ids.push(input.need("id")?.value());
        }
        holdings.push(Holding {
            quota: queue.need("quota")?.whole()?,
            pending: queue.maybe("pending", Input::whole)?.unwrap_or(0),
            running,
            ..Holding::default()
        });
    }
    // The core breaks ties by id, so number the tasks in the order of their ids.
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by(|a, b| compare_ids(ids[*a], ids[*b]));
    let mut rank = vec![0; ids.len()];
    for (at, i) in order.iter().enumerate() {
        rank[*i] = at;
    }
    for task in holdings.iter_mut().flat_map(|holding| &mut holding.running) {
        task.id = rank[task.id];
    }
    let free = case.maybe("free", Input::whole)?.unwrap_or(0);
    let by = match case.get("victims")? {
        None => Victims::Progress,
        Some(input) => one_of(&input, Victims::NAMES)?,
    };
    let kill = victims(&holdings, free, by);
    let kill: Vec<&Value> = kill.into_iter().map(|at| ids[order[at]]).collect();
    Ok(json!({ "needed": needed(&holdings, free), "kill": kill }))
}

fn task(queue: &Input<'_>, input: &Input<'_>, id: usize) -> Result<Task<usize>, CaseError> {
    // Times and progress may be fractions; only their order counts.
    let thousandths = |input: &Input<'_>| input.number().map(|time| (time * 1e3).round() as i64);
    let millionths = |input: &Input<'_>| input.amount().map(|part| (part * 1e6).round() as u64);
    let job_started = match input.maybe("job_start", thousandths)? {
        Some(started) => Some(started),
        None => queue.maybe("job_start", thousandths)?,
    };
    Ok(Task {
        id,
        job_started: job_started.unwrap_or(0),
        progress: input.maybe("progress", millionths)?.unwrap_or(0),
        started: input.maybe("start", thousandths)?.unwrap_or(0),
        committing: input.maybe("committing", Input::flag)?.unwrap_or(false),
        going: false,
    })
}

/// Orders numbers by value, before texts in alphabetical order.
fn compare_ids(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a_number, b_number) => (b_number.is_some().cmp(&a_number.is_some()))
            .then_with(|| a.to_string().cmp(&b.to_string())),
    }
}

#[cfg(test)]
mod tests;
