//! The `place` stage: how far from the hosts that it named an ask may run, and when.
//!
//! An implementation may also rank classes of tasks before the order stage's keys, by the rack
//! that reports: it tags asks with classes and gives a list of steps that are tried in turn.
//!
//! One file per implementation, one line in `PLACES`.

mod delay;
mod local_first;
pub mod shuffle_watcher;

use crate::change::{Change, Stale, World};
use crate::cluster::{Job, Kind, Node};
use crate::config::Config;
use crate::explain::{Asked, Reason};
use crate::share::ShareNodeId;
use crate::types::{Locality, Millis, PlaceId};
use serde_json::Value;

/// A class in which open asks of a job stand: for the nodes of one rack, or (`PlaceId::ANY`)
/// for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// The implementation's number for the class.
    pub class: u8,
    /// The rack for whose nodes it stands.
    pub rack: PlaceId,
}

/// How near to the node that reports a step looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// Asks that name its host.
    Host,
    /// Asks that name its rack.
    Rack,
    /// All.
    Any,
}

/// One step of the search in a leaf: tasks of a kind that stand in a class, and near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind.
    pub kind: Kind,
    /// The class in which they must stand, for the rack of the node or for all.
    pub class: u8,
    /// How near.
    pub near: Near,
}

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

/// One implementation of the stage.
pub struct PlaceEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Place>,
}

/// Every placement, in the order of the tables made from it.
pub const PLACES: &[PlaceEntry] = &[local_first::ENTRY, delay::ENTRY, shuffle_watcher::ENTRY];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    PLACES.iter().map(|entry| entry.name).collect()
}
