//! Accounts as the engine reports them (`accounts`), and the commands that change them, for both
//! interfaces. Does no authorization: callers have done it before.

use crate::auth::Refusal;
use crate::auth::amount::credits_text;
use crate::auth::query::{Parameters, quoted};
use crate::auth::role::{Command, queue_path};
use crate::http::Backend;
use crate::http::answer::Failure;
use crate::http::caller::Identity;
use crate::http::credit;
use crate::record::NotChanged;
use serde_json::{Map, Value, json};

/// One account, with amounts in millionths of a credit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Account {
    /// The queue's full path.
    pub(crate) queue: String,
    pub(crate) budget_micro: i64,
    /// The bid per slot and allocation interval.
    pub(crate) rate_micro: i64,
    /// Income per hour.
    pub(crate) income_micro: i64,
    /// The charge for the last interval.
    pub(crate) debit_micro: i64,
    /// The share of all slots, 0 to 1.
    pub(crate) share: f64,
    /// Slots by pool: all, or maps and reduces.
    pub(crate) quota: [u64; 2],
    pub(crate) used: [u64; 2],
    pub(crate) pending: [u64; 2],
    pub(crate) projection: Projection,
}

/// The spending of an account and how long its budget lasts, if the slots in use stay the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    spends_micro: i64,
    income_micro: i64,
    /// The end of the budget, in milliseconds from now; `None` if the income pays for the slots.
    ends_in_ms: Option<i64>,
}

impl Projection {
    pub(crate) fn of(projection: &Value) -> Projection {
        Projection {
            spends_micro: credit::micro_of(&projection["spends_per_hour"]),
            income_micro: credit::micro_of(&projection["income_per_hour"]),
            ends_in_ms: projection["ends_in_ms"].as_i64(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut projection = Map::new();
        credit::put(&mut projection, "spends_per_hour", self.spends_micro);
        credit::put(&mut projection, "income_per_hour", self.income_micro);
        projection.insert("ends_in_ms".to_string(), self.ends_in_ms.into());
        Value::Object(projection)
    }
}

impl Account {
    fn of(row: &Value) -> Account {
        let by_pool = |key: &str| [0, 1].map(|pool| row[key][pool].as_u64().unwrap_or(0));
        Account {
            queue: row["queue"].as_str().unwrap_or("").to_string(),
            budget_micro: row["budget_micro"].as_i64().unwrap_or(0),
            rate_micro: credit::micro_of(&row["spending_rate"]),
            income_micro: credit::micro_of(&row["income"]),
            debit_micro: credit::micro_of(&row["debit"]),
            share: row["share"].as_f64().unwrap_or(0.0),
            quota: by_pool("quota"),
            used: by_pool("used"),
            pending: by_pool("pending"),
            projection: Projection::of(&row["projection"]),
        }
    }

    /// Returns the slots in use, of all pools.
    pub(crate) fn used_slots(&self) -> u64 {
        self.used.iter().sum()
    }

    /// Returns the tasks that wait for slots, of all pools.
    pub(crate) fn pending_slots(&self) -> u64 {
        self.pending.iter().sum()
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut account = Map::new();
        account.insert("queue".to_string(), self.queue.as_str().into());
        credit::put(&mut account, "budget", self.budget_micro);
        credit::put(&mut account, "rate", self.rate_micro);
        credit::put(&mut account, "income_per_hour", self.income_micro);
        credit::put(&mut account, "last_debit", self.debit_micro);
        let rest = json!({
            "share": self.share,
            "quota": self.quota,
            "used_slots": self.used_slots(),
            "used_slots_by_pool": self.used,
            "pending_slots": self.pending_slots(),
            "pending_slots_by_pool": self.pending,
            "projection": self.projection.to_json(),
        });
        if let Value::Object(rest) = rest {
            account.extend(rest);
        }
        Value::Object(account)
    }
}

/// All accounts, ordered by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Accounts {
    pub(crate) price_micro: i64,
    /// Whether no queue has a share, so that jobs are served in order of arrival (DP-12).
    pub(crate) fifo: bool,
    pub(crate) allocation_interval_ms: Value,
    /// Slots of the cluster by pool.
    pub(crate) slots: Value,
    pub(crate) rows: Vec<Account>,
}

impl Accounts {
    /// Reads the current accounts. The engine looks at every job for this.
    pub(crate) fn read(backend: &dyn Backend) -> Result<Accounts, Failure> {
        let report = ask(backend, &json!({"op": "accounts"}))?;
        let rows = report["queues"].as_array();
        Ok(Accounts {
            price_micro: credit::micro_of(&report["price"]),
            fifo: report["fifo"].as_bool().unwrap_or(true),
            allocation_interval_ms: report["allocation_interval_ms"].clone(),
            slots: report["slots"].clone(),
            rows: rows.map_or(Vec::new(), |rows| rows.iter().map(Account::of).collect()),
        })
    }

    /// Returns the account of a queue, by its full path.
    pub(crate) fn get(&self, path: &str) -> Option<&Account> {
        self.rows.iter().find(|account| account.queue == path)
    }
}

/// Reads the account of a queue, by its full path (DP-41: a missing one is an error).
pub(crate) fn account(backend: &dyn Backend, path: &str) -> Result<Account, Failure> {
    let accounts = Accounts::read(backend)?;
    let found = accounts.get(path).cloned();
    found.ok_or_else(|| no_account(404))
}

/// Asks the engine for the bid that buys this number of slots (DP-27).
pub(crate) fn advice(
    backend: &dyn Backend,
    path: &str,
    slots: u64,
    pool: u64,
) -> Result<Value, Failure> {
    let request = json!({"op": "advice", "queue": path, "slots": slots, "pool": pool});
    let advice = backend.request(&request);
    advice.map_err(|problem| match problem.starts_with("key `queue`") {
        true => no_account(404),
        false => unserved(&problem),
    })
}

/// Reads the current price, in millionths per slot and interval.
pub(crate) fn price(backend: &dyn Backend) -> Result<i64, Failure> {
    let report = ask(backend, &json!({"op": "price"}))?;
    Ok(credit::micro_of(&report["price"]))
}

/// Turns the error of a policy without accounts into `None`.
pub(crate) fn if_any(accounts: Result<Accounts, Failure>) -> Result<Option<Accounts>, Failure> {
    match accounts {
        Ok(accounts) => Ok(Some(accounts)),
        Err(failure) if failure.status == 404 => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Returns a command's name and amount, for the audit.
pub(crate) fn action(command: &Command) -> String {
    match command {
        Command::Price => "price".to_string(),
        Command::Time => "time".to_string(),
        Command::Info(_) => "info".to_string(),
        Command::Infos => "infos".to_string(),
        Command::SetSpending(_, rate) => format!("setSpending {}", credits_text(*rate)),
        Command::AddBudget(_, credits) => format!("addBudget {}", credits_text(*credits)),
        Command::AddQueue(_) => "addQueue".to_string(),
        Command::RemoveQueue(_) => "removeQueue".to_string(),
    }
}

/// Returns the queue of a command.
pub(crate) fn queue(command: &Command) -> Option<&str> {
    match command {
        Command::Price | Command::Time | Command::Infos => None,
        Command::Info(queue)
        | Command::SetSpending(queue, _)
        | Command::AddBudget(queue, _)
        | Command::AddQueue(queue)
        | Command::RemoveQueue(queue) => Some(queue),
    }
}

/// Checks a queue's name or path with the rules of the published interface; returns the full path.
pub(crate) fn checked_queue(name: &str) -> Result<String, Failure> {
    let query = format!("info={}", quoted(name));
    match Parameters::of(&query).and_then(|query| Command::of(&query)) {
        Ok(Some(Command::Info(name))) => Ok(queue_path(&name)),
        Ok(_) => Err(odd_queue(Refusal::Malformed(
            "queue: expected a name".to_string(),
        ))),
        Err(refusal) => Err(odd_queue(refusal)),
    }
}

fn odd_queue(refusal: Refusal) -> Failure {
    Failure {
        what: "that is no name of a queue".to_string(),
        at: "queue".to_string(),
        expected: "a name or a path such as root.ads, without blanks, in at most 255 bytes".into(),
        ..Failure::from(refusal)
    }
}

/// Tells whether a command changes something.
pub(crate) fn changes(command: &Command) -> bool {
    matches!(
        command,
        Command::SetSpending(..)
            | Command::AddBudget(..)
            | Command::AddQueue(_)
            | Command::RemoveQueue(_)
    )
}

/// Executes a `resolved` command that changes something, on behalf of its signer.
pub(crate) fn change(
    backend: &dyn Backend,
    command: &Command,
    who: &Identity,
) -> Result<(), Failure> {
    let request = match command {
        Command::SetSpending(_, rate) => json!({"op": "setSpending", "value": rate.to_number()}),
        Command::AddBudget(_, more) => json!({"op": "addBudget", "value": more.to_number()}),
        Command::AddQueue(_) => json!({"op": "addQueue"}),
        Command::RemoveQueue(_) => json!({"op": "removeQueue"}),
        Command::Price | Command::Time | Command::Info(_) | Command::Infos => return Ok(()),
    };
    let path = queue(command).unwrap_or_default();
    let mut request = request;
    request["queue"] = path.into();
    if let (Command::AddBudget(..) | Command::RemoveQueue(_), Some(caller)) =
        (command, who.caller())
    {
        // The books record who granted or removed credits.
        request["by"] = caller.user.as_str().into();
    }
    let problem = match backend.change(&request, &who.signature()) {
        Ok(_) => return Ok(()),
        Err(NotChanged::Refused(problem)) => problem,
        Err(why @ NotChanged::NotStored(_)) => return Err(not_stored(&why)),
        Err(why @ NotChanged::InDoubt(_)) => return Err(in_doubt(&why)),
    };
    if !problem.starts_with("key `queue`") && !problem.starts_with("key `value`") {
        return Err(unserved(&problem));
    }
    // The current account explains the error; otherwise the engine's message is shown.
    let there = Accounts::read(backend)?.get(path).is_some();
    Err(match (command, there) {
        (Command::AddQueue(_), true) => {
            let expected = "the name of a queue that has none";
            Failure::new(409, "the queue has an account already", "queue", expected)
        }
        (Command::AddQueue(_), false) | (_, true) => {
            Failure::new(409, problem, "value", "an amount that the account can hold")
        }
        (_, false) => no_account(404),
    })
}

fn no_account(status: u16) -> Failure {
    let expected = "a queue with an account; an administrator adds one with addQueue";
    Failure::new(
        status,
        "there is no account of that queue",
        "queue",
        expected,
    )
}

fn not_stored(why: &NotChanged) -> Failure {
    let expected = "a store that is written to; GET health says how it is, and the \
                    ResourceManager's log names the cause";
    Failure::new(503, why.to_string(), "store", expected).with("Retry-After", "5")
}

/// Without `Retry-After`: a client that repeats a grant by itself may make it twice.
fn in_doubt(why: &NotChanged) -> Failure {
    let expected = "a store that answers; GET queues then shows what the accounts have";
    Failure::new(503, why.to_string(), "store", expected)
}

/// Makes an engine request that only policies with accounts know.
fn ask(backend: &dyn Backend, request: &Value) -> Result<Value, Failure> {
    backend
        .request(request)
        .map_err(|problem| unserved(&problem))
}

/// Converts an engine error; a policy without accounts does not know the operation.
fn unserved(problem: &str) -> Failure {
    match problem.starts_with("key `op`") {
        true => {
            let expected = "policy dynamic-priority, or a composition with that share";
            Failure::new(
                404,
                "the policy has no accounts and no price",
                "policy",
                expected,
            )
        }
        false => Failure::engine(problem),
    }
}
