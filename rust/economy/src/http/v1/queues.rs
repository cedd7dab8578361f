//! Queues: their state, and the changes by users and administrators. The commands are those of the
//! published interface (DP-32), in another form.

use super::body::{self, Bid, Budget, NewQueue};
use crate::auth::query::quoted;
use crate::auth::role::{Command, Need};
use crate::http::account::{self, Account, Accounts};
use crate::http::answer::{Failure, Reply};
use crate::http::exchange::Exchange;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Queues in one report of the engine, whose lock is held while the report is made.
pub const QUEUES_PAGE: u32 = 64;

/// The reports of the engine and of the accounts about every queue, by path.
struct Report {
    /// The engine's own report.
    engine: Value,
    accounts: Option<Accounts>,
}

impl Report {
    fn read(exchange: &Exchange<'_>) -> Result<Report, Failure> {
        let engine = exchange.ask_queues()?;
        let accounts = account::if_any(Accounts::read(exchange.backend))?;
        Ok(Report { engine, accounts })
    }

    /// Joins both reports. A queue may have only an account (an administrator added it, and no job
    /// was submitted yet) or only a place in the tree.
    fn rows(&self) -> BTreeMap<&str, (Option<&Value>, Option<&Account>)> {
        let mut rows: BTreeMap<&str, (Option<&Value>, Option<&Account>)> = BTreeMap::new();
        for queue in self.engine["queues"].as_array().into_iter().flatten() {
            if let Some(path) = queue["path"].as_str() {
                rows.entry(path).or_default().0 = Some(queue);
            }
        }
        for account in self.accounts.iter().flat_map(|accounts| &accounts.rows) {
            rows.entry(&account.queue).or_default().1 = Some(account);
        }
        rows
    }
}

fn row(path: &str, (scheduling, account): (Option<&Value>, Option<&Account>)) -> Value {
    json!({
        "queue": path,
        "scheduling": scheduling,
        "account": account.map(Account::to_json),
    })
}

/// `GET queues`: an administrator gets all queues, a user their own.
pub(crate) fn list(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let report = Report::read(exchange)?;
    let rows = report
        .rows()
        .into_iter()
        .filter(|(path, _)| exchange.who.sees(path));
    let queues: Vec<Value> = rows.map(|(path, found)| row(path, found)).collect();
    let accounts = report.accounts.as_ref();
    Ok(Reply::json(&json!({
        "queues": queues,
        "policy": report.engine["policy"],
        "admin": exchange.who.may(Need::Admin).is_ok(),
        "allocation_interval_ms": accounts.map(|accounts| &accounts.allocation_interval_ms),
        "now_ms": exchange.request.now_ms,
    })))
}

/// `GET queues/{queue}`.
pub(crate) fn one(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let path = account::checked_queue(&exchange.variables[0])?;
    let report = Report::read(exchange)?;
    let found = report.rows().remove(path.as_str());
    let found = found.ok_or_else(|| {
        let expected = "a queue of the tree or with an account; GET queues lists them";
        Failure::new(404, "there is no such queue", "queue", expected)
    })?;
    Ok(Reply::json(&row(&path, found)))
}

/// `POST queues`: adds a queue with an empty account (DP-41).
pub(crate) fn add(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let new: NewQueue = body::read(exchange.request.body, "{\"queue\": \"alice\"}")?;
    let path = account::checked_queue(&new.queue)?;
    let location = format!("/heddle/v1/queues/{}", quoted(&path));
    let mut reply = exchange.change(path.clone(), Command::AddQueue(path))?;
    reply.status = 201;
    Ok(reply.with("Location", location))
}

/// `DELETE queues/{queue}`: removes its account with its credits (DP-41).
pub(crate) fn remove(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let path = account::checked_queue(&exchange.variables[0])?;
    exchange.change(path.clone(), Command::RemoveQueue(path))?;
    Ok(Reply::nothing())
}

/// `PUT queues/{queue}/bid`: sets the spending rate.
pub(crate) fn bid(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let path = account::checked_queue(&exchange.variables[0])?;
    let bid: Bid<'_> = body::read(exchange.request.body, "{\"rate\": \"0.5\"}")?;
    let rate = body::credits("rate", bid.rate)?;
    exchange.change(path.clone(), Command::SetSpending(path, rate))
}

/// `POST queues/{queue}/budget`: adds credits.
pub(crate) fn add_budget(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let path = account::checked_queue(&exchange.variables[0])?;
    let budget: Budget<'_> = body::read(exchange.request.body, "{\"add\": \"12\"}")?;
    let more = body::credits("add", budget.add)?;
    exchange.change(path.clone(), Command::AddBudget(path, more))
}

impl Exchange<'_> {
    /// Reports all queues, a page at a time: the scheduler waits while a page is made.
    pub(crate) fn ask_queues(&self) -> Result<Value, Failure> {
        let mut report = self.ask(&json!({"op": "queues", "max": QUEUES_PAGE}))?;
        while let Some(from) = report["next"].as_u64() {
            let mut page = self.ask(&json!({"op": "queues", "from": from, "max": QUEUES_PAGE}))?;
            if let (Value::Array(all), Value::Array(more)) =
                (&mut report["queues"], &mut page["queues"])
            {
                all.append(more);
            }
            report["next"] = page["next"].take();
        }
        Ok(report)
    }

    /// Makes an engine request that every policy knows.
    pub(crate) fn ask(&self, request: &Value) -> Result<Value, Failure> {
        let answer = self.backend.request(request);
        answer.map_err(|problem| Failure::engine(&problem))
    }

    /// Executes a command, and returns the account after it.
    fn change(&mut self, path: String, command: Command) -> Result<Reply, Failure> {
        self.action = Some(account::action(&command));
        self.queue = Some(path.clone());
        // The table of routes has the permissions; this checks that they agree with DP-32.
        self.who.may(command.need())?;
        account::change(self.backend, &command, &self.who)?;
        let gone = matches!(command, Command::RemoveQueue(_));
        let account = if gone {
            None
        } else {
            account::account(self.backend, &path).ok()
        };
        Ok(Reply::json(
            &account.map_or(Value::Null, |account| account.to_json()),
        ))
    }
}
