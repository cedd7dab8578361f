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
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            max_running_jobs: None,
            max_am_share: 0.5,
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
    /// How long an ask must wait before a node is held for it, and how long a hold lasts.
    pub reservation_ms: (i64, i64),
    /// Whether preemption is on.
    pub preemption: bool,
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
        Plan {
            policy,
            queues,
            wait_ms: (
                random.pick(&[0, 40, 500, 3_000]),
                random.pick(&[0, 700, 2_000, 4_000]),
            ),
            heartbeat_fill: random.pick(&[0.1, 0.5, 1.0, 1.0]),
            reservation_ms: (random.pick(&[0, 1_000, 5_000]), random.range(100, 6_000)),
            preemption: features.preemption,
        }
    }

    /// Returns the configuration as `heddle.json`.
    pub fn to_json(&self) -> Value {
        let queue = |(path, limits): (&String, &Limits)| {
            let mut queue = json!({
                "path": path,
                "weight": limits.weight,
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
            if let Some(most) = limits.max_running_jobs {
                queue["max_running_jobs"] = json!(most);
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
            "heartbeat_fill": self.heartbeat_fill,
            "reservation": {
                "after_ms": self.reservation_ms.0, "hold_ms": self.reservation_ms.1,
                "hold_max_ms": 2 * self.reservation_ms.1,
            },
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
            "preemption": {
                "enabled": self.preemption,
                "min_share_timeout_ms": 1_000,
                "fair_share_timeout_ms": 3_000,
                "grace_ms": GRACE_MS,
            },
        })
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

    /// Returns the limits of a queue; the defaults if it is not configured.
    pub fn limits(&self, path: &str) -> Limits {
        self.queues.get(path).cloned().unwrap_or_default()
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
    limits.max_am_share = random.pick(&[0.0, 0.1, 0.5, 1.0]);
    limits
}
