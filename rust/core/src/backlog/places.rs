//! Asks by the hosts and racks that they name, so that a node finds those that want it.
//!
//! A large job names thousands of places, and under some orders each of its containers changes its
//! key. It then would move in all of them at each grant. Such jobs stand unsorted at the front of a
//! place's line; the search compares their keys (`engine/search.rs`).

use super::line::{Line, Spot};
use crate::model::share_tree::ShareTree;
use crate::words::ids::{AskId, JobId, PlaceId};
use crate::words::keys::{ShapeId, ShareNodeId};
use std::collections::BTreeMap;

/// The asks that name one host or rack.
#[derive(Debug, Default)]
struct Place {
    /// Split by leaf and shape to keep each line short: most changes happen here.
    lines: BTreeMap<(ShareNodeId, ShapeId), Line>,
    /// How many of them are at or below a node of the tree of shares.
    below: BTreeMap<ShareNodeId, u32>,
}

/// A line of a place: the place, the leaf, and the shape.
pub(crate) type PlaceLine = (PlaceId, ShareNodeId, ShapeId);

/// Asks by place.
#[derive(Debug, Default)]
pub(crate) struct PlaceIndex {
    places: Vec<Place>,
}

impl PlaceIndex {
    /// Adds an ask to a place, where its job stands.
    pub(crate) fn insert(
        &mut self,
        tree: &ShareTree,
        (place, leaf, shape): PlaceLine,
        spot: Spot,
        ask: (i32, AskId),
    ) {
        if self.places.len() <= place.index() {
            self.places.resize_with(place.index() + 1, Place::default);
        }
        let place = &mut self.places[place.index()];
        let line = place.lines.entry((leaf, shape)).or_default();
        let (added, _) = line.insert(spot, ask);
        if added {
            for at in tree.path_up(leaf) {
                *place.below.entry(at).or_insert(0) += 1;
            }
        }
    }

    /// Takes an ask from a place.
    pub(crate) fn remove(
        &mut self,
        tree: &ShareTree,
        (place, leaf, shape): PlaceLine,
        job: JobId,
        ask: (i32, AskId),
    ) {
        let Some(place) = self.places.get_mut(place.index()) else {
            return;
        };
        let Some(line) = place.lines.get_mut(&(leaf, shape)) else {
            return;
        };
        let (removed, _) = line.remove(job, ask);
        if line.is_empty() {
            place.lines.remove(&(leaf, shape));
        }
        if removed {
            for at in tree.path_up(leaf) {
                if let Some(count) = place.below.get_mut(&at) {
                    *count -= 1;
                    if *count == 0 {
                        place.below.remove(&at);
                    }
                }
            }
        }
    }

    /// Takes out all asks.
    pub(crate) fn clear(&mut self) {
        self.places.fill_with(Place::default);
    }

    /// Moves a job in a line, if it is there.
    pub(crate) fn move_to(&mut self, (place, leaf, shape): PlaceLine, spot: Spot) {
        let place = self.places.get_mut(place.index());
        if let Some(line) = place.and_then(|place| place.lines.get_mut(&(leaf, shape))) {
            line.move_to(spot);
        }
    }

    /// Whether asks at or below `at` name the place.
    pub(crate) fn any_below(&self, place: PlaceId, at: ShareNodeId) -> bool {
        self.places
            .get(place.index())
            .is_some_and(|place| place.below.contains_key(&at))
    }

    /// The asks of one leaf and shape that name the place.
    pub(crate) fn line(&self, (place, leaf, shape): PlaceLine) -> Option<&Line> {
        let place = self.places.get(place.index());
        place.and_then(|place| place.lines.get(&(leaf, shape)))
    }

    /// The asks that name the place.
    pub(crate) fn asks_at(&self, place: PlaceId) -> Vec<(JobId, AskId)> {
        let lines = self.places.get(place.index()).map(|place| &place.lines);
        let asks = lines.into_iter().flat_map(BTreeMap::values);
        let asks = asks.flat_map(Line::iter);
        asks.map(|entry| (entry.job, entry.ask)).collect()
    }

    /// Every line; for the invariants.
    pub(crate) fn all(&self) -> impl Iterator<Item = (PlaceLine, &Line)> {
        self.places.iter().enumerate().flat_map(|(i, place)| {
            let lines = place.lines.iter();
            lines.map(move |((leaf, shape), line)| ((PlaceId(i as u32), *leaf, *shape), line))
        })
    }
}
