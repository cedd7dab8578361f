//! Lessons about jobs, for the next engine: those in the books when they were opened, and those
//! handed over since. Writes nothing.

use crate::store::{Book, LEARNT_MAX};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Lessons {
    /// Keys and values (as text) by turn, the oldest first.
    by_turn: BTreeMap<u64, (String, String)>,
    turns: BTreeMap<String, u64>,
    next_turn: u64,
}

impl Lessons {
    /// Takes the lessons of books.
    pub(crate) fn of_book(book: &Book) -> Lessons {
        let mut learnt: Vec<_> = book.learnt.iter().collect();
        learnt.sort_unstable_by_key(|(_, learnt)| learnt.lesson);
        let mut lessons = Lessons::default();
        for (key, learnt) in learnt {
            lessons.add(key, &learnt.value);
        }
        lessons
    }

    /// Adds a lesson and replaces an earlier one of the same key. Beyond `LEARNT_MAX` forgets the
    /// oldest, as the books do.
    pub(crate) fn add(&mut self, key: &str, value: &str) {
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some(before) = self.turns.insert(key.to_string(), turn) {
            self.by_turn.remove(&before);
        }
        self.by_turn
            .insert(turn, (key.to_string(), value.to_string()));
        if self.by_turn.len() > LEARNT_MAX {
            let (_, (oldest, _)) = self.by_turn.pop_first().expect("there are too many");
            self.turns.remove(&oldest);
        }
    }

    /// Returns pairs of key and value for the engine's request `restoreLessons`. Leaves out
    /// unreadable values, which another version learnt.
    pub(crate) fn for_engine(&self) -> Value {
        let pair = |(key, value): &(String, String)| {
            Some(json!([key, serde_json::from_str::<Value>(value).ok()?]))
        };
        self.by_turn.values().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_is_last_and_the_oldest_of_too_many_goes() {
        let mut lessons = Lessons::default();
        for (key, value) in [("a", "1"), ("b", "2"), ("a", "0.5"), ("c", "not JSON")] {
            lessons.add(key, value);
        }
        assert_eq!(lessons.for_engine(), json!([["b", 2], ["a", 0.5]]));
        for i in 0..LEARNT_MAX - 1 {
            lessons.add(&format!("k{i}"), "0");
        }
        let kept = lessons.for_engine();
        let kept = kept.as_array().expect("a list");
        // `c` counts as kept, but its value is unreadable and left out.
        assert_eq!((kept.len(), &kept[0]), (LEARNT_MAX - 1, &json!(["k0", 0])));
    }
}
