//! Renders reasons and remedies as sentences. Names come from the queues and the setup. Jobs and
//! nodes are `job#N` and `node#N`, which a host replaces by the names it knows.

mod remedies;

use crate::model::queue::{LimitedBy, Queues, Spares};
use crate::model::wait::{Ahead, Measure, OrderLimit, Reason, Remedy, Wait};
use crate::words::credits::{Bound, Credits};
use crate::words::ids::{Locality, Millis, QueueId};
use crate::words::kind::Kind;
use remedies::{another_node, remedy};

/// Turns numbers into names.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub queues: &'a Queues,
    /// Names of the resource types.
    pub resource_types: &'a [String],
    /// The engine's clock, for spans of time.
    pub now: Millis,
}

impl Names<'_> {
    pub(super) fn queue(&self, id: QueueId) -> String {
        let queue = self.queues.get(id);
        let path = queue.map_or("?", |queue| queue.config.path.as_str());
        format!("queue `{path}`")
    }

    /// The key that sets a queue's limit.
    fn limit(&self, id: QueueId) -> String {
        match self.queues.limited_by(id) {
            LimitedBy::Itself => "max_share".to_string(),
            LimitedBy::Parent(above) => format!("max_child_share of {}", self.queue(above)),
            LimitedBy::Defaults => "max_share of queue_defaults".to_string(),
        }
    }

    fn amount(&self, resource: u8, amount: i64) -> String {
        match self.resource_types.get(usize::from(resource)) {
            Some(name) if name == "memory-mb" => format!("{amount} MB"),
            Some(name) => format!("{amount} {name}"),
            None => amount.to_string(),
        }
    }

    fn span(&self, until_ms: Millis) -> String {
        seconds((until_ms - self.now).max(0))
    }
}

fn seconds(span_ms: Millis) -> String {
    format!("{:.1} s", span_ms as f64 / 1_000.0)
}

fn slot_seconds(slot_ms: i64) -> String {
    format!("{:.1} slot-seconds", slot_ms as f64 / 1_000.0)
}

fn percent(millionths: i64) -> String {
    format!("{:.2} %", millionths as f64 / 1e4)
}

fn tasks(kind: Kind, am: bool) -> &'static str {
    match kind {
        _ if am => "ApplicationMasters",
        Kind::Map => "maps",
        Kind::Reduce => "reduces",
        Kind::Other => "containers",
    }
}

/// Renders why an ask waits and what would change it: `waits: queue ... ; with ... it would ...`.
pub(crate) fn sentence(wait: &Wait, names: &Names<'_>) -> String {
    let mut text = format!("waits: {}", reason(wait, names));
    let is_node = |remedy: &&Remedy| matches!(remedy, Remedy::Node { .. });
    let others = wait.remedies.iter().filter(|remedy| !is_node(remedy));
    let mut remedies: Vec<String> = others.map(|r| remedy(r, names)).collect();
    let nodes: Vec<&Remedy> = wait.remedies.iter().filter(is_node).collect();
    remedies.extend(another_node(&nodes, names));
    if !remedies.is_empty() {
        text.push_str("; ");
        text.push_str(&remedies.join(", and "));
    }
    let behind = matches!(wait.reason, Reason::Behind { .. });
    if let (Some(ahead), false) = (&wait.ahead, behind) {
        text.push_str(&format!(" (after {} in its queue)", before(ahead)));
    }
    text
}

fn before(ahead: &Ahead) -> String {
    let more = if ahead.more { "more than " } else { "" };
    format!(
        "{more}{} container{} of {} other job{}",
        ahead.tasks,
        plural(ahead.tasks),
        ahead.jobs,
        plural(ahead.jobs)
    )
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn reason(wait: &Wait, names: &Names<'_>) -> String {
    match &wait.reason {
        Reason::JobLimit { .. }
        | Reason::QueueLimit { .. }
        | Reason::MasterLimit { .. }
        | Reason::Quota { .. }
        | Reason::Authority { .. }
        | Reason::Share { .. }
        | Reason::Arrival { .. } => of_queue(&wait.reason, names),
        Reason::UserJobs { .. } | Reason::UserLimit { .. } | Reason::UserMasters { .. } => {
            of_user(&wait.reason, names)
        }
        Reason::Held(held) => of_held(held, tasks(wait.kind, wait.am)),
        Reason::Behind {
            ahead,
            mine,
            theirs,
        } => {
            let first = ahead.first.0;
            let mut text = format!("{} go first, next job#{first}", before(ahead));
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                text.push_str(&compared(*mine, *theirs, first));
            }
            text
        }
        _ => of_nodes(wait, names),
    }
}

fn compared(mine: Measure, theirs: Measure, first: u32) -> String {
    match (mine, theirs) {
        (Measure::Owed(mine), Measure::Owed(theirs)) => format!(
            ": it is owed {}, job#{first} {}",
            slot_seconds(mine),
            slot_seconds(theirs)
        ),
        (Measure::WorkLeft(mine), Measure::WorkLeft(theirs)) => format!(
            ": a fair cluster would have {} of it left, of job#{first} {}",
            slot_seconds(mine),
            slot_seconds(theirs)
        ),
        (Measure::Memory(mine), Measure::Memory(theirs)) => {
            format!(": it uses {mine} MB, job#{first} {theirs} MB")
        }
        (Measure::MemoryBySize(mine), Measure::MemoryBySize(theirs)) => {
            format!(": for its size it uses {mine} MB, job#{first} {theirs} MB (size_weight)")
        }
        (Measure::DominantShare(mine), Measure::DominantShare(theirs)) => format!(
            ": its dominant share is {}, that of job#{first} {}",
            percent(mine),
            percent(theirs)
        ),
        _ => String::new(),
    }
}

fn others(ahead: u32) -> String {
    match ahead {
        0 => "and it is the next".to_string(),
        n => format!("and {n} more come before it"),
    }
}

fn of_user(reason: &Reason, names: &Names<'_>) -> String {
    match *reason {
        Reason::UserJobs {
            queue,
            everywhere,
            running,
            max,
            ahead,
        } => {
            let (place, key) = match everywhere {
                true => (String::new(), "users.max_running_jobs"),
                false => (
                    format!(" in {}", names.queue(queue)),
                    "max_running_jobs_per_user",
                ),
            };
            let others = others(ahead);
            format!("its user runs {running} of {max} jobs{place} ({key}), {others}")
        }
        Reason::UserLimit {
            queue,
            resource,
            used,
            max,
        } => format!(
            "its user's jobs use {} in {}, more than the {} of one user (user_limit_percent, \
             user_limit_factor)",
            names.amount(resource, used),
            names.queue(queue),
            names.amount(resource, max)
        ),
        Reason::UserMasters {
            queue,
            resource,
            used,
            wanted,
            max,
            kept,
        } => format!(
            "ApplicationMasters of its user use {} of {} in {} (max_am_share, one user's part), \
             and one more needs {}{}",
            names.amount(resource, used),
            names.amount(resource, max),
            names.queue(queue),
            names.amount(resource, wanted),
            kept_in_line(resource, kept, names)
        ),
        _ => String::new(),
    }
}

fn of_queue(reason: &Reason, names: &Names<'_>) -> String {
    match *reason {
        Reason::JobLimit {
            queue,
            running,
            max,
            ahead,
        } => {
            let others = others(ahead);
            let queue = names.queue(queue);
            format!("{queue} runs {running} of {max} jobs (max_running_jobs), {others}")
        }
        Reason::QueueLimit { .. } => of_limit(reason, names),
        Reason::MasterLimit {
            queue,
            resource,
            used,
            wanted,
            max,
            kept,
        } => format!(
            "ApplicationMasters of {} use {} of {} (max_am_share), and one more needs {}{}",
            names.queue(queue),
            names.amount(resource, used),
            names.amount(resource, max),
            names.amount(resource, wanted),
            kept_in_line(resource, kept, names)
        ),
        Reason::Quota { .. } => of_market(reason, names),
        Reason::Authority { .. } => of_authority(reason),
        Reason::Share { .. } => of_share(reason, names),
        Reason::Arrival { queue, first } => format!(
            "job#{} of another queue was submitted before the first of {}",
            first.0,
            names.queue(queue)
        ),
        _ => String::new(),
    }
}

fn of_limit(reason: &Reason, names: &Names<'_>) -> String {
    match *reason {
        Reason::QueueLimit {
            queue,
            resource,
            used,
            wanted,
            max,
            kept,
        } => format!(
            "{} uses {} of {} ({}), and one more container needs {}{}",
            names.queue(queue),
            names.amount(resource, used),
            names.amount(resource, max),
            names.limit(queue),
            names.amount(resource, wanted),
            kept_in_line(resource, kept, names)
        ),
        _ => String::new(),
    }
}

fn kept_in_line(resource: u8, kept: i64, names: &Names<'_>) -> String {
    match kept {
        0 => String::new(),
        kept => {
            let kept = names.amount(resource, kept);
            format!("; {kept} of the rest are kept for a container that is next in line")
        }
    }
}

fn of_share(reason: &Reason, names: &Names<'_>) -> String {
    match *reason {
        Reason::Share {
            queue,
            resource,
            used,
            entitled,
            first,
            short,
        } => {
            let short = short.filter(|short| short.resource != resource);
            let short = short.map_or_else(String::new, |short| {
                let wanted = names.amount(short.resource, short.wanted);
                format!("; no node has the {wanted} free that a container needs")
            });
            format!(
                "{} uses {} of the {} that it is entitled to, and {} goes first{short}",
                names.queue(queue),
                names.amount(resource, used),
                names.amount(resource, entitled),
                names.queue(first)
            )
        }
        _ => String::new(),
    }
}

fn of_market(reason: &Reason, names: &Names<'_>) -> String {
    let Reason::Quota {
        queue,
        used,
        quota,
        bid,
        budget,
        price,
    } = reason
    else {
        return String::new();
    };
    let (queue, price) = (names.queue(*queue), price.to_number());
    let (bid, credits) = (bid.to_number(), budget.to_number());
    if *quota == 0 && bid == 0.0 {
        return format!("{queue} bids nothing, so others go first (price {price})");
    }
    if *quota == 0 && credits < bid {
        return format!(
            "{queue} has {credits} credits left, less than its bid of {bid} for one slot, so \
             others go first (price {price})"
        );
    }
    format!("{queue} uses {used} of {quota} slots at a bid of {bid} (price {price})")
}

fn of_authority(reason: &Reason) -> String {
    let Reason::Authority {
        bound,
        credits,
        spent,
        rate,
        bid,
        slots,
    } = reason
    else {
        return String::new();
    };
    let left = Credits::from_micro(credits.micro() - spent.micro()).to_number();
    let (credits, rate, bid) = (credits.to_number(), rate.to_number(), bid.to_number());
    let why = match bound {
        Bound::Time => "its authority to spend has ended".to_string(),
        Bound::Rate => {
            format!("its authority allows a rate of at most {rate}, and its queue's is {bid}")
        }
        Bound::Credits if left == 0.0 => format!("its authority of {credits} credits is spent"),
        Bound::Credits => format!(
            "of its authority of {credits} credits {left} are left, enough for {slots} slot{} at \
             a rate of {bid}",
            plural(*slots)
        ),
    };
    format!("{why}; it gets unsold slots only")
}

fn of_held(held: &OrderLimit, tasks: &str) -> String {
    match held {
        OrderLimit::SlowStart { done, needed } => {
            format!("{tasks} start when {needed} maps have ended, and {done} have")
        }
        OrderLimit::MaxTasks { running, max } => {
            format!("it runs {running} of {max} {tasks} (max_tasks_per_job)")
        }
        OrderLimit::UserJobs { max, .. } => {
            format!("its user runs {max} of {max} jobs (user_max_jobs)")
        }
        OrderLimit::Unsaid => format!("the order of jobs lets no more {tasks} of it start now"),
    }
}

fn of_size(reason: &Reason, names: &Names<'_>) -> String {
    match reason {
        Reason::TooLarge { shortage, node } => {
            let most = names.amount(shortage.resource, shortage.most);
            let most = match node {
                None => format!("no node has more than {most}"),
                Some(node) => format!("node#{}, the largest, has {most}", node.0),
            };
            let wanted = names.amount(shortage.resource, shortage.wanted);
            format!("a container needs {wanted}, and {most}")
        }
        _ => String::new(),
    }
}

fn of_nodes(wait: &Wait, names: &Names<'_>) -> String {
    match wait.reason {
        Reason::NoNodes {
            partition,
            labelled,
        } => {
            let none = match (partition.0, labelled) {
                (0, 0) => "no node is up",
                (0, _) => "no node without a label is up",
                _ => "no node with its label is up",
            };
            format!("{none}{}", elsewhere(labelled))
        }
        Reason::TooLarge { .. } => of_size(&wait.reason, names),
        Reason::Locality { level, until_ms } => {
            let places = match level {
                Locality::NodeLocal => "hosts",
                _ => "racks",
            };
            let how_long = match until_ms {
                Some(until_ms) => format!("it waits for them {} more", names.span(until_ms)),
                None => "its wait for them begins when it is passed over".to_string(),
            };
            format!("the {places} that hold its data have no room, and {how_long}")
        }
        Reason::Racks { data, until_ms } => {
            let racks = match data {
                true => "racks that hold their data",
                false => "the racks that are wanted for them, so that less crosses links",
            };
            let (tasks, span) = (tasks(wait.kind, wait.am), names.span(until_ms));
            format!("{tasks} of its queue wait for {racks}, {span} more")
        }
        Reason::Strict { places, up: 0 } => {
            format!("none of the {places} hosts and racks that it insists on has a node for it")
        }
        Reason::Strict { places, .. } => {
            format!("the {places} hosts and racks that it insists on have no room")
        }
        Reason::Blacklisted { nodes, room: true } => {
            format!("it has blacklisted the only {nodes} nodes that have room")
        }
        Reason::Blacklisted { nodes, .. } => {
            format!("it has blacklisted all {nodes} nodes that are large enough")
        }
        Reason::Refused { nodes, until_ms } => format!(
            "the ResourceManager refused it on the only {nodes} nodes that have room, and they \
             are left out for {} more",
            names.span(until_ms)
        ),
        Reason::Slots {
            running,
            slots,
            foreign,
            ..
        } => {
            let by = if foreign {
                ", as another workload takes part of the nodes"
            } else {
                ""
            };
            let tasks = tasks(wait.kind, wait.am);
            format!("it is next, and no slot for {tasks} is free: {running} of {slots} run{by}")
        }
        _ => of_room(&wait.reason, names),
    }
}

fn of_room(reason: &Reason, names: &Names<'_>) -> String {
    match reason {
        Reason::Room {
            shortage,
            node,
            held,
            labelled,
            spared,
        } => {
            let held = match held {
                Some(node) => format!("; node#{} is held for it", node.0),
                None => String::new(),
            };
            format!(
                "it is next, and no node has room: node#{} has {} free of the {} that a container \
                 needs{held}{}{}",
                node.0,
                names.amount(shortage.resource, shortage.most),
                names.amount(shortage.resource, shortage.wanted),
                elsewhere(*labelled),
                kept(*spared, names)
            )
        }
        Reason::HeldNodes { nodes, until_ms } => format!(
            "the {nodes} nodes that it could use are held for other containers, for {} at the most",
            names.span(*until_ms)
        ),
        Reason::Soon { nodes: 0 } => "it is let in when the next job ends".to_string(),
        Reason::Soon { nodes } => {
            format!("it is next, and gets a container when one of {nodes} nodes with room reports")
        }
        _ => String::new(),
    }
}

/// Names nodes of other labels, which have the room and cannot be used.
fn elsewhere(labelled: u32) -> String {
    match labelled {
        0 => String::new(),
        1 => "; 1 node of another label has the room".to_string(),
        more => format!("; {more} nodes of other labels have the room"),
    }
}

/// Says why preemption does not help.
fn kept(spared: Option<Spares>, names: &Names<'_>) -> String {
    let Some(spares) = spared else {
        return String::new();
    };
    format!(
        "; preemption takes nothing of {}, which spares {}",
        names.queue(spares.queue),
        spares.applications()
    )
}
