//! The options of a simulation: the policy's configuration, the faults, the measurements.

use super::knowledge::Knowledge;
use super::sources::Source;
use super::workload::Workload;
use crate::link::Tamper;
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};

/// Faults. None by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trouble {
    /// Variation of a task's length around its mean: uniform up to this, in per mille.
    pub jitter_per_mille: u32,
    /// Part of the attempts that are slow. `straggler_factor` says how many times slower they are.
    pub straggler_per_mille: u32,
    /// See `straggler_per_mille`.
    pub straggler_factor: u32,
    /// Part of the attempts that fail.
    pub failure_per_mille: u32,
    /// Mean time between two losses of a node, in the whole cluster.
    pub node_loss_ms: Option<Millis>,
    /// How long a lost node stays away.
    pub node_back_ms: Millis,
    /// Whether masters start a second attempt of a slow task.
    pub speculation: bool,
}

/// The options of a simulation.
pub struct Options {
    /// The seed of every random number.
    pub seed: u64,
    /// The policy's name in reports.
    pub policy: String,
    /// `heddle.json`.
    pub config: Value,
    /// The faults.
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
    /// Whether the results keep the samples.
    pub keep_samples: bool,
    /// Time between two reports of traffic (SW-16).
    pub traffic_ms: Millis,
    /// Time between two reports of progress.
    pub progress_ms: Millis,
    /// Whether to request a prediction for each job at its submission.
    pub predict: bool,
    /// How much the engine is told.
    pub knowledge: Knowledge,
    /// Sources of facts that the engine lacks.
    pub withheld: Vec<Source>,
    /// Called at every sample with the virtual time, the jobs ended, and the jobs known in all.
    pub watcher: Option<Watcher>,
    /// Sees or changes what the simulator and the engine say to each other.
    pub tamper: Option<Box<dyn Tamper + Send>>,
}

/// See `Options::watcher`.
pub type Watcher = Box<dyn FnMut(Millis, usize, usize) + Send>;

impl Options {
    /// Creates options for a policy by its configuration, without faults.
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
            keep_samples: true,
            traffic_ms: 5_000,
            progress_ms: 5_000,
            predict: false,
            knowledge: Knowledge::Full,
            withheld: Vec::new(),
            watcher: None,
            tamper: None,
        }
    }

    /// Returns whether the engine is told nothing of a source.
    pub(super) fn lacks(&self, source: Source) -> bool {
        self.withheld.contains(&source) || self.knowledge.lacks(source)
    }

    /// Returns the `heddle.json` for the engine: the policy's, completed by the simulated machines
    /// and the workload's needs. The policy's own keys take precedence.
    pub fn engine_config(&self, workload: &Workload) -> Value {
        let slots = workload.hardware.slots;
        let mut config = match workload.nodes.is_empty() {
            true => json!({"heartbeat_fill": 1.0, "placement": [{"rule": "user"}]}),
            false => json!({}),
        };
        if workload.nodes.is_empty() && !workload.hardware.takes_either_kind() {
            config["slots"] = json!({"map_per_node": slots[0], "reduce_per_node": slots[1]});
        }
        merge(&mut config, &workload.config);
        merge(&mut config, &self.config);
        config
    }
}

/// Merges `over` into `under`: objects key by key, anything else whole.
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
