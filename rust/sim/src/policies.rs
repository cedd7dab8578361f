//! Policies by name, for the full simulator: the core's presets, compositions of its stages, and
//! the baselines of the papers' experiments, which are in `baselines.json`. Every one is a
//! configuration of the engine; none implements anything.

use crate::policy::Policy;
use heddle_core::catalogue::PRESETS;
use serde_json::{Value, json};

/// A baseline that is no preset.
struct Baseline {
    name: String,
    summary: String,
    config: Value,
}

/// The baselines, in the order of help texts.
fn baselines() -> Vec<Baseline> {
    let all: Vec<Value> = serde_json::from_str(include_str!("baselines.json"))
        .expect("the file is part of the program and tested");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let read = |mut baseline: Value| Baseline {
        name: text(&baseline["name"]),
        summary: text(&baseline["summary"]),
        config: baseline["config"].take(),
    };
    all.into_iter().map(read).collect()
}

/// Lists the known names, one per line with its summary.
pub fn help() -> String {
    let line = |name: &str, summary: &str| format!("  {name:18} {summary}\n");
    let presets = PRESETS.iter();
    let presets = presets.map(|preset| line(preset.name, preset.summary));
    let baselines = baselines().into_iter();
    let baselines = baselines.map(|baseline| line(&baseline.name, &baseline.summary));
    presets.chain(baselines).collect()
}

/// Returns the configuration of a policy: a preset, a baseline, or `share/order/place`.
///
/// # Errors
/// Lists the known names if the name is unknown.
pub fn by_name(name: &str) -> Result<Value, String> {
    if PRESETS.iter().any(|preset| preset.name == name) {
        return Ok(json!({ "policy": name }));
    }
    if let Some(baseline) = baselines().into_iter().find(|known| known.name == name) {
        return Ok(baseline.config);
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
        let presets = PRESETS.iter().map(|preset| preset.name.to_string());
        let baselines = baselines().into_iter().map(|baseline| baseline.name);
        for name in presets.chain(baselines) {
            let config = by_name(&name).expect("it is of the lists");
            let setup = Setup::with_config(&config);
            setup.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(by_name("single/fifo/delay").is_ok());
        let error = by_name("lifo").expect_err("there is none");
        assert!(error.contains("capacity"), "{error}");
    }
}
