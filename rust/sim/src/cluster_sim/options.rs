//! How a workload is simulated: the policy's configuration, what goes wrong, what is measured.

use super::sources::Source;
use super::workload::Workload;
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};

/// What goes wrong. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trouble {
    /// How much the length of a task varies around its mean: evenly by up to this, in per mille.
    pub jitter_per_mille: u32,
    /// How many attempts are slow, and how many times slower they are.
    pub straggler_per_mille: u32,
    /// See `straggler_per_mille`.
    pub straggler_factor: u32,
    /// How many attempts fail.
    pub failure_per_mille: u32,
    /// Mean time between two losses of a node, in the whole cluster.
    pub node_loss_ms: Option<Millis>,
    /// How long a lost node stays away.
    pub node_back_ms: Millis,
    /// Whether masters start a second attempt of a slow task.
    pub speculation: bool,
}

/// How to simulate.
pub struct Options {
    /// Every random number follows from it.
    pub seed: u64,
    /// The policy's name in reports.
    pub policy: String,
    /// `heddle.json`.
    pub config: Value,
    /// What goes wrong.
    pub trouble: Trouble,
    /// The part of the maps that must be done before a master asks for reduces, in per mille
    /// (`mapreduce.job.reduce.slowstart.completedmaps`).
    pub slow_start_per_mille: u32,
    /// Whether the engine's invariants are checked after every step.
    pub check: bool,
    /// Time between two ticks of the engine while there are jobs.
    pub tick_ms: Millis,
    /// Time between two samples.
    pub sample_ms: Millis,
    /// Time between two reports of traffic (SW-16).
    pub traffic_ms: Millis,
    /// Time between two reports of progress.
    pub progress_ms: Millis,
    /// Whether the engine is asked what it expects of each job at its submission.
    pub predict: bool,
    /// Sources of facts that the engine lacks.
    pub withheld: Vec<Source>,
    /// Told now and then: virtual time, jobs ended, jobs in all as far as known.
    pub watcher: Option<Watcher>,
}

/// See `Options::watcher`.
pub type Watcher = Box<dyn FnMut(Millis, usize, usize)>;

impl Options {
    /// A policy by its configuration, nothing going wrong.
    pub fn new(policy: &str, config: Value) -> Options {
        Options {
            seed: 1,
            policy: policy.to_string(),
            config,
            trouble: Trouble::default(),
            slow_start_per_mille: 50,
            check: false,
            tick_ms: heddle_core::engine::TICK_MS,
            sample_ms: 60_000,
            traffic_ms: 5_000,
            progress_ms: 5_000,
            predict: false,
            withheld: Vec::new(),
            watcher: None,
        }
    }

    /// `heddle.json` as the engine gets it: the policy's, with what the simulated machines are
    /// and what the workload asks for. What the policy says itself comes first.
    pub fn engine_config(&self, workload: &Workload) -> Value {
        let slots = workload.hardware.slots;
        let mut config = json!({
            "heartbeat_fill": 1.0,
            "placement": [{"rule": "user"}],
            "slots": {"map_per_node": slots[0], "reduce_per_node": slots[1]},
        });
        merge(&mut config, &workload.config);
        merge(&mut config, &self.config);
        config
    }
}

/// Puts `over` over `under`: objects key by key, anything else whole.
pub fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_merged_over_wins_key_by_key() {
        let mut under = json!({"a": {"x": 1, "y": 2}, "b": [1, 2]});
        merge(&mut under, &json!({"a": {"y": 3}, "b": [4], "c": true}));
        assert_eq!(under, json!({"a": {"x": 1, "y": 3}, "b": [4], "c": true}));
    }
}
