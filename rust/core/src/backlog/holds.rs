//! Nodes that are held for an ask which fits no room as it comes. The rules are in
//! `engine/reservation.rs`.

use super::ShapeSize;
use crate::words::ids::{AskId, JobId, Millis};
use crate::words::keys::ShapeId;
use crate::words::resource::Resource;

/// The hold of a node: for which ask, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation {
    pub(crate) job: JobId,
    pub(crate) ask: AskId,
    pub(crate) shape: ShapeId,
    pub(crate) until_ms: Millis,
    pub(crate) size: ShapeSize,
    pub(crate) since_ms: Millis,
    /// How long it lasts without a gain of room.
    pub(crate) length_ms: Millis,
    /// The most that was free since.
    pub(crate) free: Resource,
    /// Whether it is for a leaf below its share, so that it counts towards no bound of nodes.
    pub(crate) short: bool,
}
