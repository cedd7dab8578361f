//! A map that knows which key was not written for the longest time. A bounded memory forgets it.

use std::collections::BTreeMap;

/// Values by key, in the order of their last writes.
#[derive(Clone, Debug)]
pub(crate) struct Recent<K, V> {
    entries: BTreeMap<K, (V, u64)>,
    /// Keys by the turn of their last write.
    turns: BTreeMap<u64, K>,
    next_turn: u64,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent {
            entries: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
        }
    }
}

impl<K: Copy + Ord, V: Copy> Recent<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.entries.get(&key).map(|(value, _)| *value)
    }

    /// Writes a value. Its key is now the one that was written last.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some((_, before)) = self.entries.insert(key, (value, turn)) {
            self.turns.remove(&before);
        }
        self.turns.insert(turn, key);
    }

    /// Removes the key whose last write is the oldest, and returns it.
    pub(crate) fn pop_oldest(&mut self) -> Option<K> {
        let (_, key) = self.turns.pop_first()?;
        self.entries.remove(&key);
        Some(key)
    }

    /// Returns the keys, the oldest first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> {
        self.turns.values().copied()
    }
}
