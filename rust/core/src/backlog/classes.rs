//! Open and strict asks by the classes of the place stage. A step of its search finds the first of
//! a class at once. Empty unless the stage ranks classes.

use super::line::{Line, Spot};
use crate::words::ids::{AskId, JobId, PlaceId};
use crate::words::keys::{ShapeId, ShareNodeId, Tag};
use std::collections::BTreeMap;

/// Before every other tag.
const FIRST_TAG: Tag = Tag {
    class: 0,
    rack: PlaceId(0),
};

/// A leaf and a window of the place stage in it.
type Window = (ShareNodeId, u32);

/// A class in a window, and the shape of its asks.
pub(crate) type Class = (Window, Tag, ShapeId);

/// Asks by leaf, window and class.
#[derive(Debug, Default)]
pub(crate) struct ClassIndex {
    lines: BTreeMap<Class, Line>,
}

impl ClassIndex {
    /// Adds an ask to a class. Returns whether it is its job's first there.
    pub(super) fn insert(&mut self, class: Class, spot: Spot, ask: (i32, AskId)) -> bool {
        let (_, first) = self.lines.entry(class).or_default().insert(spot, ask);
        first
    }

    /// Takes an ask from a class. Returns whether it was its job's last there.
    pub(super) fn remove(&mut self, class: Class, job: JobId, ask: (i32, AskId)) -> bool {
        let Some(line) = self.lines.get_mut(&class) else {
            return false;
        };
        let (_, last) = line.remove(job, ask);
        if line.is_empty() {
            self.lines.remove(&class);
        }
        last
    }

    /// Moves a job's asks of a class.
    pub(super) fn move_to(&mut self, class: Class, spot: Spot) {
        if let Some(line) = self.lines.get_mut(&class) {
            line.move_to(spot);
        }
    }

    /// The windows of a leaf that have something pending, the earliest first.
    pub(crate) fn windows(&self, leaf: ShareNodeId) -> impl Iterator<Item = u32> {
        let after = |window: Option<u32>| match window {
            None => Some(0),
            Some(window) => window.checked_add(1),
        };
        let mut last = None;
        std::iter::from_fn(move || {
            let from = ((leaf, after(last)?), FIRST_TAG, ShapeId(0));
            let (((at, window), _, _), _) = self.lines.range(from..).next()?;
            last = Some(*window);
            (*at == leaf).then_some(*window)
        })
    }

    /// The asks of one class and shape in a window of a leaf, in order of service.
    pub(crate) fn line(&self, class: Class) -> Option<&Line> {
        self.lines.get(&class)
    }

    /// Everything in it; for the invariants.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Class, &Line)> {
        self.lines.iter().map(|(class, line)| (*class, line))
    }
}
