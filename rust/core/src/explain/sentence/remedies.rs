//! Renders remedies: what would let an ask run.

use super::Names;
use crate::model::wait::Remedy;
use crate::words::ids::Locality;

fn remedy_of_user(remedy: &Remedy, names: &Names<'_>) -> String {
    match remedy {
        Remedy::UserRunningJobs {
            everywhere: true,
            limit,
            ..
        } => format!("with users.max_running_jobs at {limit} it would run"),
        Remedy::UserRunningJobs { queue, limit, .. } => format!(
            "with max_running_jobs_per_user of {} at {limit} it would run",
            names.queue(*queue)
        ),
        Remedy::UserPercent { queue, percent } => format!(
            "with user_limit_percent of {} at {percent} it would go on",
            names.queue(*queue)
        ),
        Remedy::UserFactor { queue, tenths } => format!(
            "with user_limit_factor of {} at {} it would go on",
            names.queue(*queue),
            f64::from(*tenths) / 10.0
        ),
        _ => String::new(),
    }
}

/// Renders one remedy; nodes are rendered together, by `another_node`.
pub(super) fn remedy(remedy: &Remedy, names: &Names<'_>) -> String {
    match remedy {
        Remedy::RunningJobs { queue, limit } => format!(
            "with max_running_jobs of {} at {limit} it would run",
            names.queue(*queue)
        ),
        Remedy::MaxShare {
            queue,
            resource,
            limit,
        } => format!(
            "with a max_share of {} of {} one more would fit",
            names.queue(*queue),
            names.amount(*resource, *limit)
        ),
        Remedy::MasterShare { queue, per_mille } => format!(
            "with a max_am_share of {} of {} it would be within it",
            names.queue(*queue),
            f64::from(*per_mille) / 1_000.0
        ),
        Remedy::Bid {
            rounded: (bid, slots),
            unpaid,
            ..
        } => {
            let paid = if *unpaid {
                " and a budget that covers it"
            } else {
                ""
            };
            format!(
                "with a bid of {}{paid} it would get {slots} more",
                bid.to_number()
            )
        }
        Remedy::Interval { at_ms, slots } => format!(
            "with its new bid it gets {slots} more in {}",
            names.span(*at_ms)
        ),
        Remedy::Weight {
            weight,
            resource,
            entitled,
            ..
        } => format!(
            "with a weight of {weight} it would go first, entitled to {}",
            names.amount(*resource, *entitled)
        ),
        Remedy::Priority { priority } => {
            format!("with an application priority of {priority} it would be first")
        }
        Remedy::MaxTasks { limit } => {
            format!("with a max_tasks_per_job of {limit} one more might start")
        }
        Remedy::UserJobs { limit } => format!("with a user_max_jobs of {limit} it would run"),
        Remedy::Maps { more } => format!("it starts after {more} more"),
        Remedy::Time { at_ms, level } => format!("in {} {}", names.span(*at_ms), then(*level)),
        _ => remedy_of_user(remedy, names),
    }
}

/// Renders what one new node must have.
pub(super) fn another_node(remedies: &[&Remedy], names: &Names<'_>) -> Option<String> {
    let amounts = remedies.iter().filter_map(|remedy| match remedy {
        Remedy::Node {
            resource, amount, ..
        } => Some(names.amount(*resource, *amount)),
        _ => None,
    });
    let amounts: Vec<String> = amounts.collect();
    let (what, rest) = match remedies.first()? {
        Remedy::Node { free: true, .. } => ("with", " free"),
        _ => ("of", ""),
    };
    let amounts = amounts.join(" and ");
    Some(format!("a node {what} {amounts}{rest} would do"))
}

fn then(level: Option<Locality>) -> &'static str {
    match level {
        Some(Locality::OffSwitch) => "any node will do",
        Some(_) => "any node of their racks will do",
        None => "it is tried again",
    }
}
