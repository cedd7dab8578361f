//! Open and strict asks by the classes of the place stage. A step of its search finds the first of
//! a class at once. Empty unless the stage ranks classes.

use super::Entry;
use crate::words::keys::{ShapeId, ShareNodeId, Tag};
use std::collections::{BTreeMap, BTreeSet};

/// A leaf and a window of the place stage in it.
type Window = (ShareNodeId, u32);

/// Asks by leaf, window and class.
#[derive(Debug, Default)]
pub(crate) struct ClassIndex {
    asks: BTreeSet<(Window, Tag, ShapeId, Entry)>,
    /// How many of them each window of a leaf has.
    windows: BTreeMap<Window, u32>,
}

impl ClassIndex {
    /// Adds an ask to a class.
    pub(crate) fn insert(&mut self, window: Window, tag: Tag, shape: ShapeId, entry: Entry) {
        if self.asks.insert((window, tag, shape, entry)) {
            *self.windows.entry(window).or_insert(0) += 1;
        }
    }

    /// Takes an ask from a class.
    pub(crate) fn remove(&mut self, window: Window, tag: Tag, shape: ShapeId, entry: Entry) {
        if !self.asks.remove(&(window, tag, shape, entry)) {
            return;
        }
        if let Some(count) = self.windows.get_mut(&window) {
            *count -= 1;
            if *count == 0 {
                self.windows.remove(&window);
            }
        }
    }

    /// The windows of a leaf that have something pending, the earliest first.
    pub(crate) fn windows(&self, leaf: ShareNodeId) -> impl Iterator<Item = u32> {
        self.windows
            .range((leaf, 0)..=(leaf, u32::MAX))
            .map(|((_, window), _)| *window)
    }

    /// The asks of one class and shape in a window of a leaf, in order of service.
    pub(crate) fn asks(
        &self,
        window: Window,
        tag: Tag,
        shape: ShapeId,
    ) -> impl Iterator<Item = &Entry> {
        self.asks
            .range((window, tag, shape, Entry::FIRST)..)
            .take_while(move |(at, of, size, _)| (*at, *of, *size) == (window, tag, shape))
            .map(|(_, _, _, entry)| entry)
    }

    /// Everything in it; for the invariants.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Window, Tag, ShapeId, Entry)> {
        self.asks.iter().copied()
    }
}
