//! The simulated host's own view of the queues' limits, and random queue trees. Computes no fair
//! share: the engine does.

use crate::features::Features;
use heddle_core::catalogue::{PLACES, SHARES};
use heddle_core::setup::Setup;
use heddle_core::stage::place::Place;
use heddle_core::words::keys::Layout;
use heddle_core::words::resource::Resource;
use heddle_sim::policy::Policy;
use heddle_sim::random::Random;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Names of the resource types, in the order of the vectors.
pub const RESOURCE_TYPES: [&str; 3] = ["memory-mb", "vcores", "example.com/gpu"];

/// Grace period before an evicted container is killed.
const GRACE_MS: i64 = 500;

/// The configuration of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Its weight against its siblings.
    pub weight: f64,
    /// The share that it gets first.
    pub min_share: Resource,
    /// The share that it never exceeds.
    pub max_share: Resource,
    /// Number of jobs that may run at once.
    pub max_running_jobs: Option<u32>,
    /// The part of its fair share that ApplicationMasters may take.
    pub max_am_share: f64,
    /// The limit of memory in percent of the cluster, instead of that in `max_share`.
    pub memory_percent: Option<u32>,
    /// The share that queues which no configuration names, directly below it, never exceed.
    pub max_child_share: Option<Resource>,
    /// How the queues directly below it are compared.
    pub compare: Option<&'static str>,
    /// Whether its containers and those below may be taken back.
    pub preempt_from: bool,
    /// How long it may stay below its fair share.
    pub patience_ms: Option<i64>,
    /// Whether it limits what one user's jobs use.
    pub by_user: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            max_running_jobs: None,
            max_am_share: 0.5,
            memory_percent: None,
            max_child_share: None,
            compare: None,
            preempt_from: true,
            patience_ms: None,
            by_user: false,
        }
    }
}

/// A configuration as the host understands it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The composition.
    pub policy: Policy,
    /// The configured queues by path.
    pub queues: BTreeMap<String, Limits>,
    /// Delay: how long an ask insists on hosts, then on racks.
    pub wait_ms: (i64, i64),
    /// The part of a node's room that one heartbeat may fill.
    pub heartbeat_fill: f64,
    /// Number of containers that one heartbeat may grant.
    pub containers_max: Option<u32>,
    /// How long an ask must wait before a node is held for it, and how long a hold lasts.
    pub reservation_ms: (i64, i64),
    /// Whether preemption is on.
    pub preemption: bool,
    /// The part of the cluster that must be in use before.
    pub cluster_threshold: Option<f64>,
}

impl Plan {
    /// Creates a random configuration for a cluster of that capacity.
    pub fn random(
        policy: Policy,
        capacity: &Resource,
        features: &Features,
        random: &mut Random,
    ) -> Plan {
        let mut queues = BTreeMap::new();
        for path in ["root", "root.a", "root.b", "root.b.x", "root.b.y", "root.c"] {
            if random.percent(70) {
                queues.insert(path.to_string(), limits(capacity, features, random));
            }
        }
        let wait_ms = (
            random.pick(&[0, 40, 500, 3_000]),
            random.pick(&[0, 700, 2_000, 4_000]),
        );
        Plan {
            policy,
            queues,
            wait_ms,
            containers_max: (wait_ms.0 == 40).then_some(2),
            heartbeat_fill: random.pick(&[0.1, 0.5, 1.0, 1.0]),
            reservation_ms: (random.pick(&[0, 1_000, 5_000]), random.range(100, 6_000)),
            preemption: features.preemption,
            cluster_threshold: random.pick(&[None, None, Some(0.5)]),
        }
    }

    /// Returns the configuration as `heddle.json`.
    pub fn to_json(&self) -> Value {
        let queue = |(path, limits): (&String, &Limits)| {
            let mut queue = json!({
                "path": path,
                "weight": limits.weight,
                "order": order_of(limits.weight),
                "size_weight": limits.weight == 3.0,
                "min_share": amounts(&limits.min_share),
                "max_am_share": limits.max_am_share,
                // Only some share stages look at bids; budgets are small, so that they run out.
                "budget": 40.0 * limits.weight,
                "spending_rate": limits.weight,
                "income": 600.0,
            });
            if limits.max_share != Resource::UNBOUNDED {
                queue["max_share"] = amounts(&limits.max_share);
            }
            if let Some(percent) = limits.memory_percent {
                queue["max_share"]["memory-mb"] = json!(format!("{percent}%"));
            }
            if let Some(most) = &limits.max_child_share {
                queue["max_child_share"] = amounts(most);
            }
            if let Some(compare) = limits.compare {
                queue["compare"] = json!(compare);
            }
            if !limits.preempt_from {
                queue["preempt_from"] = json!(false);
            }
            if let Some(patience_ms) = limits.patience_ms {
                queue["preemption"] = json!({"fair_share_timeout_ms": patience_ms});
            }
            if let Some(most) = limits.max_running_jobs {
                queue["max_running_jobs"] = json!(most);
            }
            if limits.by_user {
                queue["user_limit_percent"] = json!(30);
                queue["user_limit_factor"] = json!(limits.weight / 4.0);
            }
            queue
        };
        json!({
            "policy": self.policy.to_json(),
            "share": {"dominant": self.policy.dominant},
            "dynamic_priority": {
                "allocation_interval_ms": 2_000,
                "reclaim_interval_ms": if self.preemption { 3_000 } else { 0 },
            },
            "delay": {"node_wait_ms": self.wait_ms.0, "rack_wait_ms": self.wait_ms.1},
            "dynamic_queues": {"expire_ms": 2_000},
            // Without limits a node leaves room to less used ones, or is filled by its rank.
            "heartbeat_fill": (self.heartbeat_fill < 1.0).then_some(self.heartbeat_fill),
            "heartbeat": self.containers_max.map(|most| json!({"containers_max": most})),
            "nodes": {"rank": if self.packs() { "pack" } else { "spread" }},
            "reservation": {
                "after_ms": self.reservation_ms.0, "hold_ms": self.reservation_ms.1,
                "hold_max_ms": 2 * self.reservation_ms.1,
            },
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
            "preemption": self.preemption_json(),
        })
    }

    fn preemption_json(&self) -> Value {
        let mut preemption = json!({
            "enabled": self.preemption,
            "min_share_timeout_ms": 1_000,
            "fair_share_timeout_ms": 3_000,
            "grace_ms": GRACE_MS,
            "cluster_threshold": self.cluster_threshold,
        });
        // Not drawn, so that a seed gives the same plan as before.
        match self.reservation_ms.0 / 10 % 3 {
            0 => {}
            1 => preemption["inside"] = json!({"first": "users", "round_max": 0.5}),
            _ => preemption["inside"] = json!({"first": "priorities", "usage_min": 0.1}),
        }
        if self.heartbeat_fill < 1.0 {
            preemption["round_max"] = json!(0.3);
            preemption["round_part"] = json!(0.5);
            preemption["dead_zone"] = json!(0.1);
            preemption["round_ms"] = json!(1_500);
        }
        preemption
    }

    fn packs(&self) -> bool {
        self.wait_ms.1 == 700
    }

    /// Returns whether reports leave room to less used nodes.
    pub fn spreads(&self) -> bool {
        !self.packs() && self.heartbeat_fill == 1.0 && self.containers_max.is_none()
    }

    /// Returns the setup for opening the engine.
    pub fn setup_json(&self) -> Value {
        json!({
            "resource_types": RESOURCE_TYPES,
            "minimum_allocation": {"memory-mb": 512, "vcores": 1},
            "config": self.to_json(),
        })
    }

    /// Returns the longest hold of a node that gains no room: two periods, because a vain hold may
    /// follow another, and the grace period of containers evicted there.
    pub fn hold_ms_max(&self) -> i64 {
        2 * self.reservation_ms.1 + if self.preemption { GRACE_MS } else { 0 }
    }

    /// Keeps the queues with jobs as they are in the plan before, and makes none below them: what
    /// a reload makes of others is tested by `queue_changes.rs` of the engine.
    pub fn keep<'a>(&mut self, before: &Plan, busy: impl Iterator<Item = &'a str>) {
        for path in busy {
            let below = format!("{path}.");
            self.queues.retain(|other, _| !other.starts_with(&below));
            if let Some(limits) = before.queues.get(path) {
                let limits = limits.clone();
                self.queues.entry(path.to_string()).or_insert(limits);
            }
        }
    }

    /// Returns the limits of a queue. One that is not configured, nor above one that is, has the
    /// limit that the queue above sets for such queues.
    pub fn limits(&self, path: &str) -> Limits {
        if let Some(limits) = self.queues.get(path) {
            return limits.clone();
        }
        let below = format!("{path}.");
        let implied = self.queues.keys().any(|other| other.starts_with(&below));
        let above = path.rsplit_once('.').filter(|_| !implied);
        let above = above.and_then(|(above, _)| self.queues.get(above));
        let mut limits = Limits::default();
        if let Some(most) = above.and_then(|above| above.max_child_share) {
            limits.max_share = most;
        }
        limits
    }

    /// Returns what a queue may use on a cluster of that capacity.
    pub fn max_share(&self, path: &str, capacity: &Resource) -> Resource {
        let limits = self.limits(path);
        let mut max_share = limits.max_share;
        if let Some(percent) = limits.memory_percent {
            let part = capacity[0] as f64 * (f64::from(percent) / 100.0);
            max_share.0[0] = part as i64;
        }
        // Where a maximum is below the minimum, the minimum holds, except as in YARN's Capacity
        // Scheduler.
        let above = path.rsplit_once('.').map(|(above, _)| self.limits(above));
        match above.and_then(|above| above.compare) {
            Some("capacity") => max_share,
            _ => max_share.component_max(&limits.min_share),
        }
    }

    /// Returns how a queue is compared with its siblings, if the queue above says so and the share
    /// listens.
    pub fn compared(&self, path: &str) -> Option<&'static str> {
        let (above, _) = path.rsplit_once('.')?;
        let said = self.limits(above).compare;
        match self.policy.share {
            "fair" => said,
            "capacity" => said.or(Some("capacity")),
            _ => None,
        }
    }

    /// Returns whether a queue or one above it spares its containers.
    pub fn spares(&self, path: &str) -> bool {
        path_up(path).any(|at| !self.limits(at).preempt_from)
    }

    /// Returns whether queues have their own shares and the limits of their ancestors.
    pub fn layout(&self) -> Layout {
        let entry = SHARES.iter().find(|entry| entry.name == self.policy.share);
        let entry = entry.expect("policies are made from the list");
        (entry.build)(&self.config()).layout()
    }

    /// Builds the place stage, to query how long it may hold an ask back.
    pub fn place(&self) -> Box<dyn Place> {
        let entry = PLACES.iter().find(|entry| entry.name == self.policy.place);
        (entry.expect("policies are made from the list").build)(&self.config())
    }

    fn config(&self) -> heddle_core::Config {
        let setup = Setup::from_json(&self.setup_json());
        setup.expect("plans are good configurations").config
    }
}

/// Returns the order of the applications of a queue, one for each weight that `limits` gives.
fn order_of(weight: f64) -> &'static str {
    match weight {
        0.5 => "fifo",
        2.0 => "drf",
        _ => "fair",
    }
}

/// Returns the paths from a queue up to the root.
pub fn path_up(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |at| at.rsplit_once('.').map(|(above, _)| above))
}

/// Writes a vector in the configuration's form.
pub fn amounts(resource: &Resource) -> Value {
    let named = RESOURCE_TYPES.iter().enumerate();
    Value::Object(
        named
            .map(|(i, name)| (name.to_string(), json!(resource[i])))
            .collect::<Map<_, _>>(),
    )
}

fn limits(capacity: &Resource, features: &Features, random: &mut Random) -> Limits {
    let mut limits = Limits {
        weight: random.pick(&[0.5, 1.0, 1.0, 2.0, 3.0]),
        ..Limits::default()
    };
    if !features.limits {
        return limits;
    }
    if random.percent(40) {
        limits.min_share = Resource::new(
            random.range(0, capacity[0] / 3),
            random.range(0, capacity[1] / 3),
        );
    }
    if random.percent(40) {
        limits.max_share = Resource::new(
            random.range(capacity[0] / 3, capacity[0]),
            random.range(capacity[1] / 3, capacity[1]),
        );
        limits.max_share.0[2] = random.range(0, 4);
    }
    if random.percent(40) {
        limits.max_running_jobs = Some(random.range(0, 4) as u32);
    }
    limits.max_am_share = random.pick(&[0.0, 0.1, 0.5, 1.0, -1.0]);
    if random.percent(20) {
        limits.memory_percent = Some(random.range(30, 110) as u32);
    }
    if random.percent(20) {
        let memory_mb = random.range(capacity[0] / 3, capacity[0]);
        limits.max_child_share = Some(Resource::new(memory_mb, capacity[1]));
    }
    let compares = [
        None,
        None,
        Some("memory"),
        Some("dominant"),
        Some("capacity"),
    ];
    limits.compare = random.pick(&compares);
    limits.preempt_from = random.percent(90);
    limits.patience_ms = random.pick(&[None, None, Some(500), Some(10_000)]);
    // Not drawn, so that a seed gives the same queues as before.
    limits.by_user = limits.weight >= 2.0;
    limits
}
