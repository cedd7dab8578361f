//! The answer in the shape of the stock Fair Scheduler's, field by field and in its order, so that
//! clients of that scheduler can read it.
//!
//! Some fields have another meaning here, or none:
//!
//! - `schedulingPolicy`: the policy between the queues below (stage `share`); of a leaf between its
//!   jobs (`order`), as in the stock scheduler. The names are Heddle's.
//! - `fairResources`: the queue's entitlement now; never more than its demand.
//! - `steadyFairResources`: under shares by weight, the part of its parent's that the weights of
//!   all queues there give it, up to its maximum, without minima. Under other policies it equals
//!   `fairResources`, because weights mean nothing there.
//! - `maxContainerAllocation`: the cluster's for every queue, because queues have no such limit.
//! - `amUsedResources`, `amMaxResources`: 0. The engine counts ApplicationMasters and does not
//!   report them.
//! - `reservedResources`, `reservedContainers`: 0. The engine holds nodes for large asks, and YARN
//!   sees no reserved container.
//! - `preemptable`: true, because no queue is exempt.
//! - `numPendingApps`, `numActiveApps`: YARN's metrics, accepted and running applications. The
//!   stock scheduler counts those without and with a container.

use super::document::Node;
use super::{Queue, Snapshot};

/// Returns the whole answer.
pub(super) fn document(snapshot: &Snapshot) -> Node {
    let info = Info {
        snapshot,
        children: snapshot.children(),
        capacity: snapshot.amounts(&snapshot.capacity, 0),
    };
    let root = info.queue(0, &info.capacity, Vec::new());
    let scheduler = Node::Object(vec![("type", text("fairScheduler")), ("rootQueue", root)]);
    Node::Object(vec![(
        "scheduler",
        Node::Object(vec![("schedulerInfo", scheduler)]),
    )])
}

struct Info<'a> {
    snapshot: &'a Snapshot,
    children: Vec<Vec<usize>>,
    capacity: Vec<i64>,
}

impl Info<'_> {
    /// Adds a queue's own fields to those at its beginning.
    fn queue(&self, at: usize, steady: &[i64], mut fields: Vec<(&'static str, Node)>) -> Node {
        let queue = &self.snapshot.queues[at];
        let Queue(described, leaf, pending, running) = queue;
        let limit = described["max_running_jobs"].as_i64();
        let max_apps = limit.map_or(i32::MAX.into(), |limit| limit.min(i32::MAX.into()));
        let none = vec![0; self.snapshot.types.len()];
        let named =
            |key: &str, absent| self.resource(&self.snapshot.amounts(&described[key], absent));
        let largest = self.snapshot.amounts(&self.snapshot.largest, 0);
        let stage = self.snapshot.stage(if *leaf { "order" } else { "share" });
        fields.extend([
            ("maxApps", Node::Number(max_apps)),
            ("minResources", named("min_share", 0)),
            ("maxResources", named("max_share", i64::MAX)),
            ("usedResources", named("used", 0)),
            ("amUsedResources", self.resource(&none)),
            ("amMaxResources", self.resource(&none)),
            ("demandResources", named("demand", 0)),
            ("steadyFairResources", self.resource(steady)),
            ("fairResources", named("fair_share", 0)),
            ("clusterResources", self.resource(&self.capacity)),
            ("reservedResources", self.resource(&none)),
            ("maxContainerAllocation", self.resource(&largest)),
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
            ("preemptable", Node::Flag(true)),
        ]);
        if *leaf {
            fields.push(("numPendingApps", Node::Number(*pending)));
            fields.push(("numActiveApps", Node::Number(*running)));
        } else {
            fields.push(("childQueues", self.below(at, steady)));
        }
        Node::Object(fields)
    }

    fn below(&self, at: usize, steady: &[i64]) -> Node {
        let queues = &self.snapshot.queues;
        let weights: f64 = self.children[at]
            .iter()
            .map(|&at| queues[at].weight())
            .sum();
        let child = |&at: &usize| {
            let Queue(described, leaf, ..) = &queues[at];
            let share = match self.snapshot.by_weight {
                true => {
                    let part = if weights > 0.0 {
                        queues[at].weight() / weights
                    } else {
                        0.0
                    };
                    let max = self.snapshot.amounts(&described["max_share"], i64::MAX);
                    let of_parent = steady.iter().map(|&amount| (amount as f64 * part) as i64);
                    of_parent
                        .zip(max)
                        .map(|(share, max)| share.min(max))
                        .collect()
                }
                false => self.snapshot.amounts(&described["fair_share"], 0),
            };
            let kind = leaf.then(|| ("type", text("fairSchedulerLeafQueueInfo")));
            self.queue(at, &share, kind.into_iter().collect())
        };
        let children = self.children[at].iter().map(child).collect();
        Node::Object(vec![("queue", Node::List(children))])
    }

    fn resource(&self, amounts: &[i64]) -> Node {
        let types = &self.snapshot.types;
        let amount_of = |wanted: &str| {
            let at = types.iter().position(|kind| kind.0 == wanted);
            Node::Number(at.map_or(0, |at| amounts[at]))
        };
        let one = |(kind, &value): (&(String, String, String, i64, i64), &i64)| {
            let (name, unit, sort, least, most) = kind;
            let empty = self.snapshot.empty_maps;
            let mut fields =
                Vec::from_iter(empty.then(|| ("attributes", Node::Object(Vec::new()))));
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
}

fn text(value: &str) -> Node {
    Node::Text(value.to_string())
}
