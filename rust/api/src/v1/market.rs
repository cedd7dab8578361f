//! The market: shares, the price now and over time (DP-46), and what queues were charged. The
//! last two are of the intervals that `History` remembers.

use crate::account::{self, Account, Accounts};
use crate::answer::{CSV, Failure, Reply};
use crate::credit;
use crate::history::{Interval, Row};
use crate::route::Exchange;
use heddle_auth::role::Need;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Intervals or rows in one answer.
const PAGE: u64 = 1_000;
const PAGE_MAX: u64 = 10_000;

/// `GET price`: what a slot costs now.
pub(crate) fn price(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let mut price = Map::new();
    credit::put(&mut price, "price", account::price(exchange.engine)?);
    price.insert("now_ms".to_string(), exchange.request.now_ms.into());
    Ok(Reply::json(&Value::Object(price)))
}

/// `GET shares`: what queues are entitled to and use; an administrator's all, a user's own.
pub(crate) fn shares(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let report = exchange.ask(&json!({"op": "queues"}))?;
    let accounts = account::if_any(Accounts::read(exchange.engine))?;
    let mut queues = Vec::new();
    for queue in report["queues"].as_array().into_iter().flatten() {
        let path = queue["path"].as_str().unwrap_or("");
        if !exchange.who.sees(path) {
            continue;
        }
        let account = accounts.as_ref().and_then(|accounts| accounts.get(path));
        queues.push(json!({
            "queue": path,
            "weight": queue["weight"],
            "min_share": queue["min_share"],
            "fair_share": queue["fair_share"],
            "used": queue["used"],
            "demand": queue["demand"],
            "bought": account.map(bought),
        }));
    }
    Ok(Reply::json(&json!({
        "queues": queues,
        "policy": report["policy"],
        "capacity": report["cluster"]["capacity"],
        "slots": accounts.as_ref().map(|accounts| &accounts.slots),
        "in_order_of_arrival": accounts.as_ref().map(|accounts| accounts.fifo),
    })))
}

fn bought(account: &Account) -> Value {
    json!({
        "share": account.share,
        "quota": account.quota,
        "used_slots": account.used,
        "pending_slots": account.pending,
    })
}

/// The times and the length of a page, from the query.
struct Page {
    from_ms: u64,
    to_ms: u64,
    max: usize,
}

impl Page {
    fn of(exchange: &Exchange<'_>) -> Result<Page, Failure> {
        let most = i64::MAX as u64;
        Ok(Page {
            from_ms: exchange.number("from_ms", 0, most)?.unwrap_or(0),
            to_ms: exchange.number("to_ms", 0, most)?.unwrap_or(most),
            max: exchange.number("max", 1, PAGE_MAX)?.unwrap_or(PAGE) as usize,
        })
    }

    /// What is remembered of those times, and whether that is all of it.
    fn intervals(&self, exchange: &Exchange<'_>) -> (Vec<Arc<Interval>>, bool) {
        let history = exchange.service.history.lock();
        let complete = history.reaches_back_to(self.from_ms);
        (history.between(self.from_ms, self.to_ms), complete)
    }
}

/// `GET price/history`: the price of each interval, the oldest first.
pub(crate) fn history(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let page = Page::of(exchange)?;
    let (intervals, complete) = page.intervals(exchange);
    let mut intervals = intervals.iter().peekable();
    let mut prices = Vec::new();
    while let Some(interval) = intervals.next_if(|_| prices.len() < page.max) {
        let mut price = Map::new();
        price.insert("at_ms".to_string(), interval.at_ms.into());
        credit::put(&mut price, "price", interval.price_micro);
        prices.push(Value::Object(price));
    }
    let next_ms = intervals.peek().map(|interval| interval.at_ms);
    Ok(Reply::json(&json!({
        "intervals": prices,
        "next_from_ms": next_ms,
        "complete": complete,
    })))
}

/// `GET ledger`: what each queue had, used and paid per interval, the oldest first, in JSON or CSV.
/// Of one queue, or of all that the caller may see.
pub(crate) fn ledger(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let page = Page::of(exchange)?;
    let queue = match exchange.query.get("queue")? {
        None => None,
        Some(name) => {
            let path = account::checked_queue(name)?;
            exchange.queue = Some(path.clone());
            exchange.who.may(Need::Queue(&path))?;
            Some(path)
        }
    };
    let wanted = |row: &Row| match &queue {
        Some(path) => *row.queue == **path,
        None => exchange.who.sees(&row.queue),
    };
    let (intervals, complete) = page.intervals(exchange);
    let mut intervals = intervals.iter().peekable();
    let mut rows: Vec<(&Interval, &Row)> = Vec::new();
    // Whole intervals, so that the next page can begin with the next one.
    while let Some(interval) = intervals.next_if(|_| rows.len() < page.max) {
        let here = interval.rows.iter().filter(|row| wanted(row));
        rows.extend(here.map(|row| (&**interval, row)));
    }
    let next_ms = intervals.peek().map(|interval| interval.at_ms);
    let reply = match exchange.content_type {
        CSV => {
            let next = next_ms.map(|at_ms| ("X-Heddle-Next-From-Ms", at_ms.to_string()));
            let mut reply = Reply::of(CSV, to_csv(&rows));
            reply.headers.extend(next);
            reply.with("Content-Disposition", "attachment; filename=\"ledger.csv\"")
        }
        _ => Reply::json(&json!({
            "rows": rows.iter().map(|(interval, row)| to_json(interval, row)).collect::<Vec<_>>(),
            "next_from_ms": next_ms,
            "complete": complete,
        })),
    };
    Ok(reply.with("Vary", "Accept"))
}

fn to_json(interval: &Interval, row: &Row) -> Value {
    let mut line = Map::new();
    line.insert("at_ms".to_string(), interval.at_ms.into());
    line.insert("queue".to_string(), (*row.queue).into());
    line.insert("quota".to_string(), json!(row.quota));
    line.insert("used_slot_ms".to_string(), json!(row.used_slot_ms));
    credit::put(&mut line, "price", interval.price_micro);
    credit::put(&mut line, "rate", row.rate_micro);
    credit::put(&mut line, "income", row.income_micro);
    credit::put(&mut line, "debit", row.debit_micro);
    credit::put(&mut line, "balance", row.balance_micro);
    Value::Object(line)
}

/// Amounts as decimals: a spreadsheet is what reads it. Paths of queues begin with `root`, so no
/// cell of theirs is taken for a formula.
fn to_csv(rows: &[(&Interval, &Row)]) -> Vec<u8> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let head = [
        "at_ms",
        "queue",
        "price",
        "rate",
        "quota_0",
        "quota_1",
        "used_slot_ms_0",
        "used_slot_ms_1",
        "income",
        "debit",
        "balance",
    ];
    csv.write_record(head).expect("memory takes all");
    for (interval, row) in rows {
        let cells = [
            interval.at_ms.to_string(),
            row.queue.to_string(),
            credit::text(interval.price_micro),
            credit::text(row.rate_micro),
            row.quota[0].to_string(),
            row.quota[1].to_string(),
            row.used_slot_ms[0].to_string(),
            row.used_slot_ms[1].to_string(),
            credit::text(row.income_micro),
            credit::text(row.debit_micro),
            credit::text(row.balance_micro),
        ];
        csv.write_record(cells)
            .expect("memory takes all, and records are of one length");
    }
    csv.into_inner().expect("memory takes all")
}
