//! Formats queues as a table: with bids and budgets where the policy has accounts, else with
//! shares.
//!
//! No column of any table counts ApplicationMasters as slots or tasks. They are one number in the
//! head of `heddle top`, and a remark beside the containers of `heddle info`. Asks no server.

use super::{by_pool, list, per_cent, so_long};
use crate::terminal::{pairs, said, table};
use serde_json::Value;

/// Returns whether the policy has accounts, judging by its answer about all queues.
pub(super) fn has_accounts(queues: &Value) -> bool {
    !queues["allocation_interval_ms"].is_null()
}

/// Returns the slots that a queue uses (or waits for): from its account, or else its containers
/// less the ApplicationMasters.
fn tasks(queue: &Value, of: &str) -> Option<u64> {
    let in_slots = match of {
        "running" => "used_slots",
        _ => "pending_slots",
    };
    let scheduling = &queue["scheduling"];
    let containers = || scheduling[format!("{of}_containers")].as_u64();
    let masters = scheduling[format!("{of}_masters")].as_u64().unwrap_or(0);
    let told = queue["account"][in_slots].as_u64();
    told.or_else(|| Some(containers()?.saturating_sub(masters)))
}

/// Formats `tasks` as a cell; shows an answer without a number as it is.
fn cell(queue: &Value, of: &str) -> String {
    match tasks(queue, of) {
        Some(tasks) => tasks.to_string(),
        None => said(&queue["scheduling"][format!("{of}_containers")]),
    }
}

/// Sums the running tasks, the pending tasks and the ApplicationMasters of all queues.
pub(super) fn sums(queues: &Value) -> (u64, u64, u64) {
    let rows = list(&queues["queues"]).iter();
    // Inner queues count those below them once more.
    let each: Vec<&Value> = rows
        .filter(|queue| queue["scheduling"]["leaf"] != false)
        .collect();
    let sum = |of: &str| each.iter().filter_map(|queue| tasks(queue, of)).sum();
    let masters = each
        .iter()
        .filter_map(|queue| queue["scheduling"]["running_masters"].as_u64());
    (sum("running"), sum("pending"), masters.sum())
}

/// Formats queues with what they bid, have and use (DP-35), or with their fair shares.
pub(super) fn market(queues: &Value) -> String {
    if !has_accounts(queues) {
        return pools(queues);
    }
    let interval_ms = queues["allocation_interval_ms"].as_u64();
    let row = |queue: &Value| {
        let account = &queue["account"];
        vec![
            said(&queue["queue"]),
            said(&account["budget"]),
            said(&account["rate"]),
            per_cent(&account["share"]),
            by_pool(&account["quota"]),
            cell(queue, "running"),
            cell(queue, "pending"),
            lasts(account, interval_ms),
        ]
    };
    let rows: Vec<Vec<String>> = list(&queues["queues"]).iter().map(row).collect();
    let heading = [
        "queue", "budget", "rate", "share %", "bought", "used", "pending", "lasts",
    ];
    table(&heading, &rows)
}

fn pools(queues: &Value) -> String {
    let row = |queue: &Value| {
        let scheduling = &queue["scheduling"];
        vec![
            said(&queue["queue"]),
            weight(scheduling),
            amounts(&scheduling["fair_share"]),
            amounts(&scheduling["used"]),
            cell(queue, "running"),
            cell(queue, "pending"),
            said(&scheduling["jobs"]),
        ]
    };
    let rows: Vec<Vec<String>> = list(&queues["queues"]).iter().map(row).collect();
    let heading = [
        "queue",
        "weight",
        "fair share",
        "used",
        "running",
        "pending",
        "jobs",
    ];
    table(&heading, &rows)
}

fn weight(scheduling: &Value) -> String {
    let weight = scheduling["weight"].as_f64();
    weight.map_or(said(&scheduling["weight"]), |weight| weight.to_string())
}

/// Formats an amount of each resource type, such as `8192 MB, 8 vcores`.
fn amounts(resources: &Value) -> String {
    let amount = |(name, amount): (&String, &Value)| match name.as_str() {
        "memory-mb" => format!("{} MB", said(amount)),
        name => format!("{} {name}", said(amount)),
    };
    let amounts = resources.as_object().into_iter().flatten().map(amount);
    let amounts: Vec<String> = amounts.collect();
    match amounts.is_empty() {
        true => "-".to_string(),
        false => amounts.join(", "),
    }
}

/// Formats a queue's place in the scheduler, line by line.
pub(super) fn scheduling_lines(scheduling: &Value) -> String {
    let masters = match scheduling["running_masters"].as_u64() {
        None | Some(0) => String::new(),
        Some(1) => " (one is an ApplicationMaster)".to_string(),
        Some(masters) => format!(" ({masters} are ApplicationMasters)"),
    };
    let containers = said(&scheduling["running_containers"]);
    pairs(&[
        ("weight", weight(scheduling)),
        ("fair share", amounts(&scheduling["fair_share"])),
        ("used", amounts(&scheduling["used"])),
        ("jobs", said(&scheduling["jobs"])),
        ("jobs that may run", said(&scheduling["runnable_jobs"])),
        ("containers", format!("{containers}{masters}")),
        ("pending", said(&scheduling["pending_containers"])),
    ])
}

/// Returns how long the budget lasts if every interval costs as much as the last one.
fn lasts(account: &Value, interval_ms: Option<u64>) -> String {
    let micro = |key: &str| account[key].as_u64();
    let (Some(budget), Some(debit)) = (micro("budget_micro"), micro("last_debit_micro")) else {
        return "-".to_string();
    };
    let intervals = budget.checked_div(debit);
    let ms = intervals
        .zip(interval_ms)
        .and_then(|(intervals, ms)| intervals.checked_mul(ms));
    ms.map_or("-".to_string(), so_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_lasts_as_many_intervals_as_it_pays() {
        let account =
            |budget: u64, debit: u64| json!({"budget_micro": budget, "last_debit_micro": debit});
        // 88 credits at 3 an interval of 20 s: 29 intervals, 580 s, more than nine minutes.
        assert_eq!(lasts(&account(88_000_000, 3_000_000), Some(20_000)), "9m");
        assert_eq!(lasts(&account(5_000_000, 1_000_000), Some(20_000)), "100s");
        // 6,000 intervals of 60 s are 100 hours; ten times as much is 41 days and 16 hours.
        assert_eq!(lasts(&account(6_000, 1), Some(60_000)), "4d");
        assert_eq!(lasts(&account(60_000, 1), Some(60_000)), "41d");
        assert_eq!(lasts(&account(600, 1), Some(60_000)), "10h");
        for (account, interval) in [
            (account(1, 0), Some(1)),
            (account(1, 1), None),
            (account(u64::MAX, 1), Some(u64::MAX)),
            (Value::Null, Some(1)),
        ] {
            assert_eq!(lasts(&account, interval), "-");
        }
    }

    /// Two jobs with an ApplicationMaster each: 8 + 6 tasks in slots, 16 containers below `root`.
    #[test]
    fn no_column_counts_application_masters() {
        let scheduling = |leaf: bool, running: u64, masters: u64| {
            json!({"leaf": leaf, "running_containers": running, "running_masters": masters,
                   "pending_containers": 5, "pending_masters": 1})
        };
        let account = |slots: u64| json!({"used_slots": slots, "pending_slots": 4});
        let queues = json!({"allocation_interval_ms": 20_000, "queues": [
            {"queue": "root", "account": null, "scheduling": scheduling(false, 16, 2)},
            {"queue": "root.a", "account": account(8), "scheduling": scheduling(true, 9, 1)},
            {"queue": "root.b", "account": account(6), "scheduling": scheduling(true, 7, 1)},
            {"queue": "root.c", "account": null, "scheduling": scheduling(true, 0, 0)},
            {"queue": "root.d", "account": account(0), "scheduling": null},
        ]});
        let cells = |text: &str, queue: &str, column: usize| {
            let line = text.lines().find(|line| line.starts_with(queue));
            let words = line.map(|line| line.split_whitespace().collect::<Vec<_>>());
            words.expect("a row")[column].to_string()
        };
        let text = market(&queues);
        for (queue, used) in [
            ("root ", "14"),
            ("root.a", "8"),
            ("root.b", "6"),
            ("root.c", "0"),
        ] {
            assert_eq!(cells(&text, queue, 5), used, "{text}");
            assert_eq!(cells(&text, queue, 6), "4", "{text}");
        }
        assert_eq!(sums(&queues), (14, 16, 2));
        let mut pools = queues.clone();
        pools["allocation_interval_ms"] = Value::Null;
        assert_eq!(cells(&market(&pools), "root ", 4), "14");
    }
}
