//! A map from dense ids: an array look-up where a tree would take a dozen comparisons, each of
//! them a cache miss with thousands of jobs. Iterates in order of the ids, as a `BTreeMap` would.
//!
//! Costs four bytes for every id up to the largest that it ever held, so it is for ids that the
//! host reuses. Knows nothing of what it holds.

use crate::words::ids::JobId;
use std::marker::PhantomData;

/// No row.
const NONE: u32 = u32::MAX;

/// A small number used as an id.
pub(crate) trait DenseId: Copy {
    fn index(self) -> usize;

    /// The id of that index.
    fn at(index: usize) -> Self;
}

impl DenseId for JobId {
    fn index(self) -> usize {
        JobId::index(self)
    }

    fn at(index: usize) -> JobId {
        JobId(index as u32)
    }
}

/// The map.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, T> {
    /// By id: its row, or `NONE`.
    places: Vec<u32>,
    /// Dense, in any order; the rows of removed ids are used again.
    rows: Vec<Option<T>>,
    unused: Vec<u32>,
    ids: PhantomData<K>,
}

impl<K, T> Default for Table<K, T> {
    fn default() -> Table<K, T> {
        Table {
            places: Vec::new(),
            rows: Vec::new(),
            unused: Vec::new(),
            ids: PhantomData,
        }
    }
}

impl<K: DenseId, T> Table<K, T> {
    /// How many ids are in it.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() - self.unused.len()
    }

    /// Whether no id is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, id: K) -> Option<usize> {
        let row = self.places.get(id.index()).copied();
        row.filter(|row| *row != NONE).map(|row| row as usize)
    }

    /// Whether the id is in it.
    pub(crate) fn contains(&self, id: K) -> bool {
        self.row(id).is_some()
    }

    /// The value of an id.
    pub(crate) fn get(&self, id: K) -> Option<&T> {
        self.rows[self.row(id)?].as_ref()
    }

    /// The value of an id, to change.
    pub(crate) fn get_mut(&mut self, id: K) -> Option<&mut T> {
        let row = self.row(id)?;
        self.rows[row].as_mut()
    }

    /// Sets the value of an id; returns the one before.
    pub(crate) fn insert(&mut self, id: K, value: T) -> Option<T> {
        if let Some(row) = self.row(id) {
            return self.rows[row].replace(value);
        }
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, NONE);
        }
        let row = self.unused.pop().unwrap_or(self.rows.len() as u32);
        self.places[id.index()] = row;
        match self.rows.get_mut(row as usize) {
            Some(free) => *free = Some(value),
            None => self.rows.push(Some(value)),
        }
        None
    }

    /// Removes an id; returns its value.
    pub(crate) fn remove(&mut self, id: K) -> Option<T> {
        let row = self.row(id)?;
        self.places[id.index()] = NONE;
        self.unused.push(row as u32);
        self.rows[row].take()
    }

    /// Everything in it, in order of ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(index, row)| {
            let value = self.rows.get(*row as usize)?.as_ref()?;
            Some((K::at(index), value))
        })
    }

    /// All values in no particular order: for changes that do not depend on each other.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn is_a_map(ops in prop::collection::vec((0u8..3, 0u32..40, any::<u32>()), 1..200)) {
            let mut table: Table<JobId, u32> = Table::default();
            let mut map: BTreeMap<JobId, u32> = BTreeMap::new();
            for (op, id, value) in ops {
                let id = JobId(id);
                match op {
                    0 => prop_assert_eq!(table.remove(id), map.remove(&id)),
                    1 => prop_assert_eq!(table.insert(id, value), map.insert(id, value)),
                    _ => {
                        table.values_mut().for_each(|v| *v = v.wrapping_mul(3));
                        map.values_mut().for_each(|v| *v = v.wrapping_mul(3));
                    }
                }
                prop_assert_eq!(table.get(id), map.get(&id));
                prop_assert_eq!(table.get_mut(id), map.get_mut(&id));
                prop_assert_eq!(table.contains(id), map.contains_key(&id));
                prop_assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
                let pairs = map.iter().map(|(id, value)| (*id, value));
                prop_assert!(table.iter().eq(pairs), "in order of ids");
            }
        }
    }
}
