//! What a policy keeps beyond its own life: over a reload, and in books over a restart.

use serde_json::Value;

/// What a policy has learnt or must not lose. A policy that learns nothing keeps the defaults.
pub trait Memory {
    /// What it must not lose, for reports and for the policy that replaces it in a reload.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what an earlier one of the same name saved. What it cannot read it ignores.
    fn load(&mut self, _saved: &Value) {}

    /// What was learnt of jobs since this was last asked, for books that outlive the engine: keys,
    /// and small JSON values as text. Asked after every step.
    fn lessons(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Takes over what `lessons` of an earlier engine gave; false if it is not this policy's.
    fn restore_lesson(&mut self, _key: &str, _value: &Value) -> bool {
        false
    }
}
