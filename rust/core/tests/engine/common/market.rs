//! A market of users who bid for slots, on the small cluster of the engine's tests. Checks nothing
//! itself.

use super::{Host, plain_ask};
use heddle_core::words::event::{AskFacts, Decision};
use heddle_core::words::ids::*;
use serde_json::{Value, json};

/// Users with accounts: name, budget, rate.
pub type Users<'a> = &'a [(&'a str, f64, f64)];

/// A market of `slots` slots of 1 GB, three to a node, with an interval of 20 s.
pub struct Market {
    pub host: Host,
    pub nodes: u32,
}

impl Market {
    pub fn new(slots: u32, users: Users<'_>) -> Market {
        Market::with(slots, users, json!({}))
    }

    pub fn with(slots: u32, users: Users<'_>, extra: Value) -> Market {
        let queues: Vec<Value> = users
            .iter()
            .map(|(name, budget, rate)| {
                json!({"path": format!("root.{name}"), "budget": budget, "spending_rate": rate})
            })
            .collect();
        let mut config =
            json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": queues});
        for (key, value) in extra.as_object().expect("an object") {
            config[key] = value.clone();
        }
        let mut host = Host::new(config);
        assert_eq!(slots % 3, 0, "three to a node");
        for _ in 0..slots / 3 {
            host.node(0, 3 * 1024, 3);
        }
        Market {
            host,
            nodes: slots / 3,
        }
    }

    /// Submits a job of `user` with that many maps.
    pub fn submit(&mut self, job: u32, user: &str, maps: u32) {
        let queue = self.host.queue(user, None);
        self.host.job(job, queue);
        self.host.ask(job, 0, maps, 1024);
    }

    /// Lets all nodes report once; returns how many containers each of `jobs` runs then.
    pub fn beat<const N: usize>(&mut self, jobs: [u32; N]) -> [usize; N] {
        for node in 0..self.nodes {
            self.host.beat(node);
        }
        jobs.map(|job| self.host.running(job))
    }

    /// Advances the time to `now`, in the engine's ticks.
    pub fn until(&mut self, now: Millis) -> Vec<Decision> {
        let mut decisions = Vec::new();
        while self.host.now < now {
            self.host.now = (self.host.now + 500).min(now);
            decisions.extend(self.host.tick());
        }
        decisions
    }

    pub fn accounts(&mut self) -> Value {
        self.host.request(json!({"op": "accounts"}))
    }

    pub fn account(&mut self, user: &str) -> Value {
        let name = format!("root.{user}");
        let accounts = self.accounts();
        let queues = accounts["queues"].as_array().expect("a list");
        let found = queues.iter().find(|queue| queue["queue"] == name.as_str());
        found
            .unwrap_or_else(|| panic!("no account of {user}"))
            .clone()
    }

    pub fn quotas<const N: usize>(&mut self, users: [&str; N]) -> [u64; N] {
        users.map(|user| self.account(user)["quota"][0].as_u64().expect("a number"))
    }

    pub fn number(&mut self, user: &str, what: &str) -> f64 {
        self.account(user)[what].as_f64().expect("a number")
    }

    pub fn set(&mut self, op: &str, user: &str, value: f64) {
        self.host
            .request(json!({"op": op, "queue": user, "value": value}));
    }
}

pub fn evicted(decisions: &[Decision]) -> Vec<(u32, u64)> {
    let evict = |decision: &Decision| match decision {
        Decision::Evict { job, key, .. } => Some((job.0, *key)),
        _ => None,
    };
    decisions.iter().filter_map(evict).collect()
}

/// Returns an ask for that many reduces of a job.
pub fn reduces(job: u32, count: u32) -> AskFacts {
    AskFacts {
        priority: 10,
        ..plain_ask(job, 1, count, 1024)
    }
}

pub const FIGURE_1: Users<'_> = &[
    ("alice", 1000.0, 4.0),
    ("bob", 1000.0, 1.5),
    ("sam", 1000.0, 2.0),
];
