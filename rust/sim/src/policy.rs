//! The policy compositions, from the engine's own lists: the simulator picks up a new policy
//! without a change here.

use heddle_core::catalogue::{ORDERS, PLACES, PRESETS, SHARES};
use heddle_core::config::Config;
use heddle_core::setup::Setup;
use heddle_core::words::keys::Layout;
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;

/// One composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The share stage, which chooses the queue.
    pub share: &'static str,
    /// The order stage, which chooses the job in a queue.
    pub order: &'static str,
    /// The place stage, which chooses the place of a task.
    pub place: &'static str,
    /// Whether queues compare by dominant resource.
    pub dominant: bool,
}

impl Policy {
    /// Returns every composition; by dominant resource only where the policy compares queues.
    pub fn all() -> Vec<Policy> {
        let mut all = Vec::new();
        for share in SHARES {
            for order in ORDERS {
                for place in PLACES {
                    let policy = Policy {
                        share: share.name,
                        order: order.name,
                        place: place.name,
                        dominant: false,
                    };
                    all.push(policy);
                    if (share.build)(&empty_config()).layout() != Layout::Single {
                        let dominant = true;
                        all.push(Policy { dominant, ..policy });
                    }
                }
            }
        }
        all
    }

    /// Returns the value of `policy` in the configuration.
    pub fn to_json(&self) -> Value {
        json!({"share": self.share, "order": self.order, "place": self.place})
    }
}

fn empty_config() -> Config {
    Setup::with_config(&json!({}))
        .expect("an empty configuration is complete")
        .config
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.share, self.order, self.place)?;
        f.write_str(if self.dominant { "/dominant" } else { "" })
    }
}

impl FromStr for Policy {
    type Err = String;

    /// Parses a preset's name, or the output of `Display`.
    fn from_str(text: &str) -> Result<Policy, String> {
        let (stages, dominant) = match text.strip_suffix("/dominant") {
            Some(stages) => (stages, true),
            None => (text, false),
        };
        let preset = PRESETS.iter().find(|preset| preset.name == stages);
        let named = preset.map_or_else(|| stages.to_string(), |preset| preset.stages.join("/"));
        let stages = |policy: &Policy| Policy {
            dominant: false,
            ..*policy
        };
        let found = Policy::all()
            .into_iter()
            .find(|policy| stages(policy).to_string() == named);
        found
            .map(|policy| Policy { dominant, ..policy })
            .ok_or_else(|| {
                let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                let all: Vec<String> = Policy::all().iter().map(Policy::to_string).collect();
                format!(
                    "`{text}` is no policy; expected {} or one of {}",
                    presets.join(", "),
                    all.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_read_as_it_is_written_and_presets_have_names() {
        for policy in Policy::all() {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let fifo: Policy = "fifo".parse().expect("a preset");
        assert_eq!(fifo.to_string(), "single/fifo/local-first");
        let error = "lifo".parse::<Policy>().expect_err("no such policy");
        assert!(error.contains("single/fifo/delay"), "{error}");
    }
}
