//! The answer in the shape of the stock Fair Scheduler's, field by field and in its order, so that
//! clients of that scheduler can read it.
//!
//! Some fields have another meaning here, or none:
//!
//! - `schedulingPolicy`: the policy between the queues below (stage `share`); of a leaf between its
//!   jobs (`order`), as in the stock scheduler. The names are Heddle's, and over a Fair Scheduler's
//!   file those of that scheduler.
//! - `fairResources`: the queue's entitlement now; never more than its demand.
//! - `steadyFairResources`: under shares by weight, the part of its parent's that the weights of
//!   all queues there give it, up to its maximum, without minima. Under other policies it equals
//!   `fairResources`, because weights mean nothing there.
//! - `amMaxResources`: 0 for parents, which have no such limit, and for queues where it is off.
//! - `reservedResources`, `reservedContainers`: 0. The engine holds nodes for large asks, and YARN
//!   sees no reserved container.
//! - `numPendingApps`, `numActiveApps`: YARN's metrics, accepted and running applications. The
//!   stock scheduler counts those without and with a container.

use super::document::Node;
use super::{Queue, Snapshot};

/// Returns the whole answer.
pub(super) fn document(snapshot: &Snapshot) -> Node {
    let children = snapshot.children();
    let info = Info {
        snapshot,
        steady: steady_shares(snapshot, &children),
        children,
        capacity: snapshot.amounts(&snapshot.capacity, 0),
    };
    let root = info.queue(0, Vec::new());
    let scheduler = Node::Object(vec![("type", text("fairScheduler")), ("rootQueue", root)]);
    Node::Object(vec![(
        "scheduler",
        Node::Object(vec![("schedulerInfo", scheduler)]),
    )])
}

/// Returns the steady share of each queue: under shares by weight the part of its parent's that
/// the weights of all queues there give it, up to its maximum; else its entitlement.
pub(super) fn steady_shares(snapshot: &Snapshot, children: &[Vec<usize>]) -> Vec<Vec<i64>> {
    let queues = &snapshot.queues;
    let mut steady = vec![Vec::new(); queues.len()];
    steady[0] = snapshot.amounts(&snapshot.capacity, 0);
    // Parents come before their children.
    for at in 0..queues.len() {
        let weights: f64 = children[at].iter().map(|&at| queues[at].weight()).sum();
        for &child in &children[at] {
            let described = &queues[child].0;
            steady[child] = if snapshot.by_weight {
                let part = if weights > 0.0 {
                    queues[child].weight() / weights
                } else {
                    0.0
                };
                let max = snapshot.amounts(&described["max_share"], i64::MAX);
                let of_parent = steady[at]
                    .iter()
                    .map(|&amount| (amount as f64 * part) as i64);
                of_parent
                    .zip(max)
                    .map(|(share, max)| share.min(max))
                    .collect()
            } else {
                snapshot.amounts(&described["fair_share"], 0)
            };
        }
    }
    steady
}

struct Info<'a> {
    snapshot: &'a Snapshot,
    steady: Vec<Vec<i64>>,
    children: Vec<Vec<usize>>,
    capacity: Vec<i64>,
}

impl Info<'_> {
    /// Adds a queue's own fields to those at its beginning.
    fn queue(&self, at: usize, mut fields: Vec<(&'static str, Node)>) -> Node {
        let queue = &self.snapshot.queues[at];
        let Queue(described, leaf, pending, running) = queue;
        let limit = described["max_running_jobs"].as_i64();
        let max_apps = limit.map_or(i32::MAX.into(), |limit| limit.min(i32::MAX.into()));
        let none = vec![0; self.snapshot.types.len()];
        let named = |key: &str, absent| {
            resource(
                self.snapshot,
                &self.snapshot.amounts(&described[key], absent),
            )
        };
        let largest = self.snapshot.amounts(&self.snapshot.largest, 0);
        let of_queue = self.snapshot.amounts(&described["max_container"], i64::MAX);
        let smaller = largest.iter().zip(of_queue);
        let largest: Vec<i64> = smaller.map(|(&all, own)| all.min(own)).collect();
        let stage = described["scheduling_policy"].as_str().unwrap_or("");
        fields.extend([
            ("maxApps", Node::Number(max_apps)),
            ("minResources", named("min_share", 0)),
            ("maxResources", named("max_share", i64::MAX)),
            ("usedResources", named("used", 0)),
            ("amUsedResources", named("am_used", 0)),
            ("amMaxResources", named("am_limit", 0)),
            ("demandResources", named("demand", 0)),
            (
                "steadyFairResources",
                resource(self.snapshot, &self.steady[at]),
            ),
            ("fairResources", named("fair_share", 0)),
            ("clusterResources", resource(self.snapshot, &self.capacity)),
            ("reservedResources", resource(self.snapshot, &none)),
            ("maxContainerAllocation", resource(self.snapshot, &largest)),
            (
                "pendingContainers",
                Node::Number(queue.number("pending_containers")),
            ),
            (
                "allocatedContainers",
                Node::Number(queue.number("running_containers")),
            ),
            ("reservedContainers", Node::Number(0)),
            ("queueName", text(queue.path())),
            ("schedulingPolicy", text(stage)),
            (
                "preemptable",
                Node::Flag(described["preemptable"].as_bool().unwrap_or(true)),
            ),
        ]);
        if *leaf {
            fields.push(("numPendingApps", Node::Number(*pending)));
            fields.push(("numActiveApps", Node::Number(*running)));
        } else {
            fields.push(("childQueues", self.below(at)));
        }
        Node::Object(fields)
    }

    fn below(&self, at: usize) -> Node {
        let child = |&at: &usize| {
            let leaf = self.snapshot.queues[at].1;
            let kind = leaf.then(|| ("type", text("fairSchedulerLeafQueueInfo")));
            self.queue(at, kind.into_iter().collect())
        };
        let children = self.children[at].iter().map(child).collect();
        Node::Object(vec![("queue", Node::List(children))])
    }
}

/// Writes amounts of all resource types as YARN's REST does.
pub(super) fn resource(snapshot: &Snapshot, amounts: &[i64]) -> Node {
    let types = &snapshot.types;
    let amount_of = |wanted: &str| {
        let at = types.iter().position(|kind| kind.0 == wanted);
        Node::Number(at.map_or(0, |at| amounts[at]))
    };
    let one = |(kind, &value): (&(String, String, String, i64, i64), &i64)| {
        let (name, unit, sort, least, most) = kind;
        let empty = snapshot.empty_maps;
        let mut fields = Vec::from_iter(empty.then(|| ("attributes", Node::Object(Vec::new()))));
        fields.extend([
            ("maximumAllocation", Node::Number(*most)),
            ("minimumAllocation", Node::Number(*least)),
            ("name", text(name)),
            ("resourceType", text(sort)),
            ("units", text(unit)),
            ("value", Node::Number(value)),
        ]);
        Node::Object(fields)
    };
    let list = Node::List(types.iter().zip(amounts).map(one).collect());
    Node::Object(vec![
        ("memory", amount_of("memory-mb")),
        ("vCores", amount_of("vcores")),
        (
            "resourceInformations",
            Node::Object(vec![("resourceInformation", list)]),
        ),
    ])
}

pub(super) fn text(value: &str) -> Node {
    Node::Text(value.to_string())
}
