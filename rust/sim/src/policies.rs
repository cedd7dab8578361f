//! Policies by name, for the full simulator: the core's presets, compositions of its stages, and
//! the baselines of the papers' experiments. Each is a configuration of the engine; none
//! implements anything.

use crate::policy::Policy;
use heddle_core::catalogue::PRESETS;
use serde_json::{Value, json};

/// A baseline that is no preset.
pub struct Baseline {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    config: fn() -> Value,
}

/// The baselines, in the order of help texts.
pub const BASELINES: &[Baseline] = &[
    Baseline {
        name: "fair-users",
        summary: "fair between users, tasks anywhere at once (Fair of ShuffleWatcher's runs)",
        config: || stages("fair", "fifo", "local-first"),
    },
    Baseline {
        name: "delay",
        summary: "the same with delay scheduling (Zaharia et al.), 5 s per level",
        config: || {
            let mut config = stages("fair", "fifo", "delay");
            config["delay"] = json!({"node_wait_ms": 5_000, "rack_wait_ms": 5_000});
            config
        },
    },
    Baseline {
        name: "drf",
        summary: "dominant shares between users, tasks anywhere at once",
        config: || stages("drf", "fifo", "local-first"),
    },
    Baseline {
        name: "fair-jobs",
        summary: "deficits of jobs in one line, with delay scheduling (FAIR of HFSP's runs)",
        config: || stages("single", "deficit", "delay"),
    },
    Baseline {
        name: "adaptive",
        summary: "slots by completion goal, blind to the foreign load to come (Adaptive of \
                  Reverse-Adaptive's runs)",
        config: || {
            let mut config = stages("single", "reverse-adaptive", "local-first");
            config["reverse_adaptive"] = json!({"variant": "adaptive"});
            config
        },
    },
    Baseline {
        name: "capacity",
        summary: "an emulation of two Capacity queues: guaranteed parts by weight, what is idle \
                  goes to the other, taken back after 60 minutes, jobs by arrival",
        config: || {
            let hour_ms = 3_600_000;
            let mut config = stages("fair", "fifo", "local-first");
            config["preemption"] = json!({
                "enabled": true,
                "min_share_timeout_ms": hour_ms,
                "fair_share_timeout_ms": hour_ms,
                "fair_share_threshold": 1.0,
                "grace_ms": 0,
            });
            config
        },
    },
];

fn stages(share: &str, order: &str, place: &str) -> Value {
    json!({"policy": {"share": share, "order": order, "place": place}})
}

/// Lists the known names, one per line with its summary.
pub fn help() -> String {
    let presets = PRESETS.iter().map(|preset| (preset.name, preset.summary));
    let baselines = BASELINES
        .iter()
        .map(|baseline| (baseline.name, baseline.summary));
    let line = |(name, summary): (&str, &str)| format!("  {name:18} {summary}\n");
    presets.chain(baselines).map(line).collect()
}

/// Returns the configuration of a policy: a preset, a baseline, or `share/order/place`.
///
/// # Errors
/// Lists the known names if the name is unknown.
pub fn by_name(name: &str) -> Result<Value, String> {
    if PRESETS.iter().any(|preset| preset.name == name) {
        return Ok(json!({ "policy": name }));
    }
    if let Some(baseline) = BASELINES.iter().find(|baseline| baseline.name == name) {
        return Ok((baseline.config)());
    }
    match name.parse::<Policy>() {
        Ok(policy) => Ok(json!({
            "policy": policy.to_json(), "share": {"dominant": policy.dominant},
        })),
        Err(_) => Err(format!(
            "`{name}` is no policy; expected share/order/place or one of\n{}",
            help()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_core::Setup;

    #[test]
    fn every_name_is_a_configuration_that_the_engine_accepts() {
        let presets = PRESETS.iter().map(|preset| preset.name);
        let baselines = BASELINES.iter().map(|baseline| baseline.name);
        for name in presets.chain(baselines) {
            let config = by_name(name).expect("it is of the lists");
            let setup = Setup::with_config(&config);
            setup.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(by_name("single/fifo/delay").is_ok());
        let error = by_name("lifo").expect_err("there is none");
        assert!(error.contains("capacity"), "{error}");
    }
}
