//! The market: shares, the price now and over time (DP-46), and charges of queues. Prices come from
//! the in-memory window (`History`), charges also from the store.

use crate::auth::role::{Caller, Need, Role};
use crate::http::account::{self, Account, Accounts};
use crate::http::answer::{CSV, Failure, Reply};
use crate::http::credit;
use crate::http::exchange::Exchange;
use crate::record::{Interval, Row, Span};
use heddle_core::model::placement::user_queue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Intervals or rows in one answer.
const PAGE: u64 = 1_000;
const PAGE_MAX: u64 = 10_000;

/// `GET price`: the price of a slot now.
pub(crate) fn price(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let mut price = Map::new();
    credit::put(&mut price, "price", account::price(exchange.backend)?);
    price.insert("now_ms".to_string(), exchange.request.now_ms.into());
    Ok(Reply::json(&Value::Object(price)))
}

/// `GET shares`: entitlement and use of queues. An administrator gets all queues, a user their own.
pub(crate) fn shares(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let report = exchange.ask_queues()?;
    let accounts = account::if_any(Accounts::read(exchange.backend))?;
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

/// Times and length of a page, from the query.
struct Page {
    from_ms: i64,
    to_ms: i64,
    max: usize,
}

impl Page {
    fn of(exchange: &Exchange<'_>) -> Result<Page, Failure> {
        let most = i64::MAX as u64;
        let from_ms = exchange.number("from_ms", 0, most)?.unwrap_or(0);
        let to_ms = exchange.number("to_ms", 0, most)?.unwrap_or(most);
        Ok(Page {
            from_ms: from_ms as i64,
            to_ms: to_ms as i64,
            max: exchange.number("max", 1, PAGE_MAX)?.unwrap_or(PAGE) as usize,
        })
    }

    /// Returns the intervals in memory for these times, and whether they are complete.
    fn intervals(&self, exchange: &Exchange<'_>) -> (Vec<Arc<Interval>>, bool) {
        let history = exchange.api.history.lock();
        let complete = history.reaches_back_to(self.from_ms);
        (history.between(self.from_ms, self.to_ms), complete)
    }
}

/// `GET price/history`: the price of each interval, oldest first.
pub(crate) fn history(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let page = Page::of(exchange)?;
    let (intervals, complete) = page.intervals(exchange);
    let mut intervals = intervals.iter().peekable();
    let mut prices = Vec::new();
    while let Some(interval) = intervals.next_if(|_| prices.len() < page.max) {
        let mut price = Map::new();
        price.insert("at_ms".to_string(), interval.at_ms.into());
        credit::put(&mut price, "price", interval.price.micro());
        prices.push(Value::Object(price));
    }
    let next_ms = intervals.peek().map(|interval| interval.at_ms);
    Ok(Reply::json(&json!({
        "intervals": prices,
        "next_from_ms": next_ms,
        "complete": complete,
    })))
}

/// `GET ledger`: what each queue had, used and paid per interval, oldest first, in JSON or CSV.
/// Covers one queue, or all that the caller may see. Reads ledger pages older than the in-memory
/// window from the store.
pub(crate) fn ledger(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let page = Page::of(exchange)?;
    let from = exchange.number("from_interval", 1, i64::MAX as u64)?;
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
        Some(path) => row.queue == *path,
        None => exchange.who.sees(&row.queue),
    };
    let queues = match &queue {
        Some(path) => Some(vec![path.clone()]),
        None => own_queues(exchange.who.known()?),
    };
    let found = find(exchange, &page, from.unwrap_or(1), queues)?;
    let mut intervals = found.intervals.iter().peekable();
    let mut rows: Vec<(&Interval, &Row)> = Vec::new();
    // Takes whole intervals, so that the next page can begin with the next one.
    while let Some(interval) = intervals.next_if(|_| rows.len() < page.max) {
        let here = interval.rows.iter().filter(|row| wanted(row));
        rows.extend(here.map(|row| (&**interval, row)));
    }
    let next = intervals.peek().map(|next| (next.tick, next.at_ms));
    let next = next.or(found.next);
    let reply = match exchange.content_type {
        CSV => {
            let mut reply = Reply::of(CSV, to_csv(&rows));
            if let Some((number, at_ms)) = next {
                reply = reply
                    .with("X-Heddle-Next-From-Ms", at_ms.to_string())
                    .with("X-Heddle-Next-From-Interval", number.to_string());
            }
            reply.with("Content-Disposition", "attachment; filename=\"ledger.csv\"")
        }
        _ => Reply::json(&json!({
            "rows": rows.iter().map(|(interval, row)| to_json(interval, row)).collect::<Vec<_>>(),
            "next_from_ms": next.map(|(_, at_ms)| at_ms),
            "next_from_interval": next.map(|(number, _)| number),
            "complete": found.complete,
        })),
    };
    Ok(reply.with("Vary", "Accept"))
}

/// Returns the queues that a caller sees; `None` means all.
fn own_queues(caller: &Caller) -> Option<Vec<String>> {
    let own = || std::iter::once(user_queue(&caller.user)).chain(caller.queues.iter().cloned());
    (caller.role != Role::Admin).then(|| own().collect())
}

/// Intervals of the ledger, in order.
struct Found {
    intervals: Vec<Arc<Interval>>,
    /// Number and end of the next interval, if it is not among these.
    next: Option<(u64, i64)>,
    complete: bool,
}

/// Finds the intervals of a page: older ones in the store, later ones in memory. The two parts meet
/// between two intervals. If the end of a merged interval of the store is in memory, too, the
/// store's version is used.
fn find(
    exchange: &Exchange<'_>,
    page: &Page,
    from: u64,
    queues: Option<Vec<String>>,
) -> Result<Found, Failure> {
    let (remembered, cut, (first, covers), complete) = {
        let history = exchange.api.history.lock();
        (
            history.between(page.from_ms, page.to_ms),
            history.cut(from),
            history.whole_from(page.from_ms),
            history.reaches_back_to(page.from_ms),
        )
    };
    let mut found = Found {
        intervals: Vec::new(),
        next: None,
        complete: complete || (from > 1 && from >= first),
    };
    let mut after = 0;
    let mut cut = cut;
    if !covers && from < first {
        let span = Span {
            from,
            before: first,
            from_ms: page.from_ms,
            to_ms: page.to_ms,
            queues,
            rows: page.max,
        };
        if let Some(older) = exchange.backend.older(&span) {
            let older = older.map_err(|why| unread(&why))?;
            found.next = older.next.map(|next| (next.tick, next.at_ms));
            found.complete = true;
            cut = older.cut.map(|cut| (cut.first(), cut.tick));
            after = match older.reaches {
                Some(reaches) => reaches,
                // The store lags behind and may get more intervals.
                None if cut.is_none() && found.next.is_none() => {
                    return Err(unread("it is being brought up to date"));
                }
                None => u64::MAX,
            };
            found.intervals = older.intervals.into_iter().map(Arc::new).collect();
        }
    }
    if let Some((first, last)) = cut {
        return Err(merged(first, last));
    }
    if found.next.is_none() {
        let rest = remembered.into_iter();
        let rest = rest.filter(|it| it.tick >= from && it.tick > after);
        found.intervals.extend(rest);
    }
    Ok(found)
}

fn unread(why: &str) -> Failure {
    let what = format!("the store cannot be read for older intervals now: {why}");
    let expected = "a store that answers, or a later `from_ms`; try again in a moment";
    Failure::new(503, what, "store", expected).with("Retry-After", "5")
}

/// Returns the error for a page that begins inside a merged interval. An earlier page had its
/// parts, and the sum would count them again.
fn merged(first: u64, last: u64) -> Failure {
    let what = format!(
        "intervals {first} to {last} were merged because the store was out of reach for long"
    );
    let expected = format!(
        "{first}, without the pages that followed it, or {}",
        last + 1
    );
    Failure::new(409, what, "query, `from_interval`", expected)
}

fn to_json(interval: &Interval, row: &Row) -> Value {
    let mut line = Map::new();
    line.insert("at_ms".to_string(), interval.at_ms.into());
    line.insert("queue".to_string(), row.queue.as_str().into());
    line.insert("quota".to_string(), json!(row.quota));
    line.insert("used_slot_ms".to_string(), json!(row.used_slot_ms));
    line.insert("unpaid_slot_ms".to_string(), json!(row.unpaid_slot_ms));
    line.insert("am_ms".to_string(), row.am_ms.into());
    credit::put(&mut line, "price", interval.price.micro());
    credit::put(&mut line, "rate", row.rate.micro());
    credit::put(&mut line, "income", row.income.micro());
    credit::put(&mut line, "debit", row.debit.micro());
    credit::put(&mut line, "balance", row.balance.micro());
    Value::Object(line)
}

/// Formats rows with amounts as decimals, for spreadsheets. Paths of queues begin with `root`, so
/// no cell is taken for a formula.
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
        "unpaid_slot_ms_0",
        "unpaid_slot_ms_1",
        "am_ms",
    ];
    csv.write_record(head).expect("memory takes all");
    for (interval, row) in rows {
        let cells = [
            interval.at_ms.to_string(),
            row.queue.clone(),
            credit::text(interval.price.micro()),
            credit::text(row.rate.micro()),
            row.quota[0].to_string(),
            row.quota[1].to_string(),
            row.used_slot_ms[0].to_string(),
            row.used_slot_ms[1].to_string(),
            credit::text(row.income.micro()),
            credit::text(row.debit.micro()),
            credit::text(row.balance.micro()),
            row.unpaid_slot_ms[0].to_string(),
            row.unpaid_slot_ms[1].to_string(),
            row.am_ms.to_string(),
        ];
        csv.write_record(cells)
            .expect("memory takes all, and records are of one length");
    }
    csv.into_inner().expect("memory takes all")
}
