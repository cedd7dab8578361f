//! The common trait of policies of every stage: they hear of changes, and save what they learn, for
//! a reload, and in books for a restart.

use crate::model::change::{Change, Stale, World};
use serde_json::Value;

/// A policy of any stage. One that learns nothing keeps the defaults.
pub trait Stage {
    /// Takes note of a change, and marks the answers that it makes stale.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

    /// Saves what it must not lose, for reports and for the policy that replaces it in a reload.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what an earlier policy of the same name saved. Ignores what it cannot read.
    fn load(&mut self, _saved: &Value) {}

    /// Takes what was learnt of jobs since the last call, for books that outlive the engine: keys,
    /// and small JSON values as text. Called after every step of a host that keeps such books.
    fn lessons(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Takes over what `lessons` of an earlier engine gave; returns false if it is not this
    /// policy's.
    fn restore_lesson(&mut self, _key: &str, _value: &Value) -> bool {
        false
    }
}
