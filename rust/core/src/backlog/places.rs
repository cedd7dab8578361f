//! Asks by the hosts and racks that they name, so that a node finds those that want it.

use super::Entry;
use crate::model::share_tree::ShareTree;
use crate::words::ids::PlaceId;
use crate::words::keys::{ShapeId, ShareNodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The asks that name one host or rack.
#[derive(Debug, Default)]
struct Place {
    /// In order of service. Split by leaf and shape to keep each set small: most changes happen
    /// here.
    asks: BTreeMap<(ShareNodeId, ShapeId), BTreeSet<Entry>>,
    /// How many of them are at or below a node of the tree of shares.
    below: BTreeMap<ShareNodeId, u32>,
}

/// Asks by place.
#[derive(Debug, Default)]
pub(crate) struct PlaceIndex {
    places: Vec<Place>,
}

impl PlaceIndex {
    /// Adds an ask to a place.
    pub(crate) fn insert(
        &mut self,
        tree: &ShareTree,
        place: PlaceId,
        leaf: ShareNodeId,
        shape: ShapeId,
        entry: Entry,
    ) {
        if self.places.len() <= place.index() {
            self.places.resize_with(place.index() + 1, Place::default);
        }
        let place = &mut self.places[place.index()];
        if place.asks.entry((leaf, shape)).or_default().insert(entry) {
            for at in tree.path_up(leaf) {
                *place.below.entry(at).or_insert(0) += 1;
            }
        }
    }

    /// Takes an ask from a place.
    pub(crate) fn remove(
        &mut self,
        tree: &ShareTree,
        place: PlaceId,
        leaf: ShareNodeId,
        shape: ShapeId,
        entry: Entry,
    ) {
        let Some(place) = self.places.get_mut(place.index()) else {
            return;
        };
        let Some(asks) = place.asks.get_mut(&(leaf, shape)) else {
            return;
        };
        if asks.remove(&entry) {
            if asks.is_empty() {
                place.asks.remove(&(leaf, shape));
            }
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

    /// Moves an ask of a place in the order of service, if it is there.
    pub(crate) fn rekey(
        &mut self,
        place: PlaceId,
        (leaf, shape): (ShareNodeId, ShapeId),
        before: Entry,
        after: Entry,
    ) {
        let place = self.places.get_mut(place.index());
        let asks = place.and_then(|place| place.asks.get_mut(&(leaf, shape)));
        if let Some(asks) = asks
            && asks.remove(&before)
        {
            asks.insert(after);
        }
    }

    /// Whether asks at or below `at` name the place.
    pub(crate) fn any_below(&self, place: PlaceId, at: ShareNodeId) -> bool {
        self.places
            .get(place.index())
            .is_some_and(|place| place.below.contains_key(&at))
    }

    /// The asks of one leaf and shape that name the place, in order of service.
    pub(crate) fn asks(
        &self,
        place: PlaceId,
        leaf: ShareNodeId,
        shape: ShapeId,
    ) -> impl Iterator<Item = &Entry> {
        let place = self.places.get(place.index());
        let asks = place.and_then(|place| place.asks.get(&(leaf, shape)));
        asks.into_iter().flatten()
    }

    /// Every indexed (place, leaf, shape, entry); for the invariants.
    pub(crate) fn all(&self) -> impl Iterator<Item = (PlaceId, ShareNodeId, ShapeId, Entry)> {
        self.places.iter().enumerate().flat_map(|(i, place)| {
            place.asks.iter().flat_map(move |((leaf, shape), asks)| {
                let place = PlaceId(i as u32);
                asks.iter().map(move |entry| (place, *leaf, *shape, *entry))
            })
        })
    }
}
