//! What policies of every stage have in common: they hear of changes, and keep what they learn
//! beyond their own life, over a reload, and in books over a restart.

use crate::model::change::{Change, Stale, World};
use serde_json::Value;

/// A policy of any stage. One that learns nothing keeps the defaults.
pub trait Stage {
    /// Takes note of what happened, and says whose answers changed.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

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
