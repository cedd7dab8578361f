//! The `place` stage: how far from the hosts that it named an ask may run, and when.
//!
//! An implementation may also rank classes of tasks before the order stage's keys, by the rack that
//! reports. It then tags asks with classes and gives a list of steps to try in turn.

use super::common::Stage;
use super::entry::Entry;
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::model::wait::{PendingAsk, Reason};
use crate::words::ids::{Locality, Millis};
use crate::words::keys::{ShareNodeId, Step, Tag};
use crate::words::kind::Kind;

/// How far from its named places an ask may run.
pub trait Place: Stage + Send {
    /// The level of an ask whose nearest named place is `floor`, before it has waited: at
    /// least `floor`. All defaults here are those of a placement that waits for no place.
    fn start(&self, _floor: Locality) -> Locality {
        Locality::OffSwitch
    }

    /// How long an ask at `level` must be passed over, at the most, before it moves to the next.
    fn wait_ms(&self, _level: Locality) -> Millis {
        0
    }

    /// The wait at `level` and nearer ones that is never too long for an ask; see `stage/worth.rs`.
    fn least_ms(&self, _level: Locality) -> Millis {
        0
    }

    /// How long the tasks of a job will run, as far as that is known: what a wait is worth.
    fn task_ms(&self, _job: &Job, _kind: Kind) -> Option<f64> {
        None
    }

    /// The level after a grant at `granted` to an ask at `level`.
    fn after_grant(&self, _floor: Locality, level: Locality, _granted: Locality) -> Locality {
        level
    }

    /// The classes that it ranks before the order stage's keys, if it does.
    fn ranking(&self) -> Option<&dyn Ranking> {
        None
    }
}

/// Ranks classes of tasks for each node.
pub trait Ranking {
    /// The job's window: asks of an earlier one go through all steps before those of a later.
    fn window(&self, job: &Job) -> u32;

    /// The classes in which the job's open and strict asks of a kind stand. Asked when keys are.
    fn tags(&self, job: &Job, kind: Kind, tags: &mut Vec<Tag>);

    /// The steps to try in turn for a node, among the maps and reduces of a leaf.
    /// ApplicationMasters and containers of other applications come before them, in the plain
    /// order.
    fn steps(&self, node: &Node, leaf: ShareNodeId, now: Millis) -> &[Step];

    /// Whether a leaf that is next may be overtaken by those entitled alike.
    fn may_be_overtaken(&self, leaf: ShareNodeId, now: Millis) -> bool;

    /// Why its place makes an ask wait, though nodes have room and it may run there.
    fn explain(&self, asked: &PendingAsk<'_>, now: Millis) -> Option<Reason>;
}

/// One placement of the catalogue.
pub type PlaceEntry = Entry<dyn Place>;
