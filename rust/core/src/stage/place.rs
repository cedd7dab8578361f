//! The `place` stage: how far from the hosts that it named an ask may run, and when.
//!
//! An implementation may also rank classes of tasks before the order stage's keys, by the rack
//! that reports: it tags asks with classes and gives a list of steps that are tried in turn.

use super::entry::Entry;
use crate::explain::{Asked, Reason};
use crate::model::change::{Change, Stale, World};
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::words::ids::{Locality, Millis};
use crate::words::keys::{ShareNodeId, Step, Tag};
use crate::words::kind::Kind;
use serde_json::Value;

/// How far from its named places an ask may run.
pub trait Place: Send {
    /// The level of an ask whose nearest named place is `floor`, before it has waited: at
    /// least `floor`.
    fn start(&self, floor: Locality) -> Locality;

    /// How long an ask at `level` must be passed over before it moves to the next level.
    fn wait_ms(&self, level: Locality) -> Millis;

    /// The level after a grant at `granted` to an ask at `level`.
    fn after_grant(&self, floor: Locality, level: Locality, granted: Locality) -> Locality;

    /// Takes note of what happened, and says whose answers changed.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

    /// Whether `tags` and `steps` are in use at all.
    fn ranks_classes(&self) -> bool {
        false
    }

    /// The job's window: asks of an earlier one go through all steps before those of a later.
    fn window(&self, _job: &Job) -> u32 {
        0
    }

    /// The classes in which the job's open asks of a kind stand. Asked when keys are.
    fn tags(&self, _job: &Job, _kind: Kind, _tags: &mut Vec<Tag>) {}

    /// What is tried in turn for a node, among the maps and reduces of a leaf. ApplicationMasters
    /// and containers of other applications go before, in the plain order.
    fn steps(&self, _node: &Node, _leaf: ShareNodeId, _now: Millis) -> &[Step] {
        &[]
    }

    /// Why an ask waits though nodes have room and it may run there, because of its place.
    fn explain(&self, _asked: &Asked<'_>, _now: Millis) -> Option<Reason> {
        None
    }

    /// What it has learnt, for reports and for the stage that replaces it in a reload.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what an earlier one of the same name learnt. What it cannot read it ignores.
    fn load(&mut self, _saved: &Value) {}

    /// What was learnt of jobs since this was last asked, for books that outlive the engine: keys,
    /// and small JSON values as text. Asked after every step.
    fn lessons(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Takes over what `lessons` of an earlier engine gave; false if it is not this stage's.
    fn restore_lesson(&mut self, _key: &str, _value: &Value) -> bool {
        false
    }
}

/// One placement of the catalogue.
pub type PlaceEntry = Entry<dyn Place>;
