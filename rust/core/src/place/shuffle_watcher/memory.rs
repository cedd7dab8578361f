//! Shuffle ratios of ended jobs, by signature. A later run of the same program starts with the
//! ratio of the last one (SW-9). Beyond `PROGRAMS_MAX` programs the oldest is forgotten.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Prefix of a lesson's key; a signature follows, in hexadecimal digits.
const KEY: &str = "shuffle-ratio/";

/// Maximum number of remembered programs.
const PROGRAMS_MAX: usize = 1_000;

/// Ratios by signature.
#[derive(Debug, Default)]
pub(super) struct Memory {
    ratios: BTreeMap<u64, (f64, u64)>,
    /// Signatures by the turn of their last update.
    turns: BTreeMap<u64, u64>,
    next_turn: u64,
    /// Signatures with a new ratio since the last call of `lessons`.
    news: BTreeSet<u64>,
}

impl Memory {
    pub(super) fn ratio(&self, signature: u64) -> Option<f64> {
        self.ratios.get(&signature).map(|(ratio, _)| *ratio)
    }

    /// Learns the ratio of an ended run of the program.
    pub(super) fn learn(&mut self, signature: u64, ratio: f64) {
        self.remember(signature, ratio);
        if self.ratios.contains_key(&signature) {
            self.news.insert(signature);
        }
    }

    /// Takes the changes for books that outlive the engine.
    pub(super) fn lessons(&mut self) -> Vec<(String, String)> {
        let news = std::mem::take(&mut self.news).into_iter();
        let lesson = |of: u64| {
            (
                format!("{KEY}{of:016x}"),
                json!(self.ratios[&of].0).to_string(),
            )
        };
        news.map(lesson).collect()
    }

    /// Takes over a lesson; returns false if it is another policy's.
    pub(super) fn restore(&mut self, key: &str, value: &Value) -> bool {
        let signature = key.strip_prefix(KEY);
        let signature = signature.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let ratio = value.as_f64().filter(|ratio| *ratio >= 0.0);
        match (signature, ratio) {
            (Some(signature), Some(ratio)) => self.remember(signature, ratio),
            _ => return false,
        }
        true
    }

    fn remember(&mut self, signature: u64, ratio: f64) {
        if !ratio.is_finite() {
            return;
        }
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some((_, before)) = self.ratios.insert(signature, (ratio, turn)) {
            self.turns.remove(&before);
        }
        self.turns.insert(turn, signature);
        while self.turns.len() > PROGRAMS_MAX {
            let (_, oldest) = self.turns.pop_first().expect("there are too many");
            self.ratios.remove(&oldest);
            self.news.remove(&oldest);
        }
    }

    /// Saves signatures and ratios, the oldest first.
    pub(super) fn save(&self) -> Value {
        let row = |signature: &u64| json!([signature, self.ratios[signature].0]);
        self.turns.values().map(row).collect()
    }

    pub(super) fn load(&mut self, saved: &Value) {
        for row in saved.as_array().into_iter().flatten() {
            if let (Some(signature), Some(ratio)) = (row[0].as_u64(), row[1].as_f64()) {
                self.remember(signature, ratio);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lessons_are_told_once_and_understood_by_another() {
        let mut memory = Memory::default();
        memory.learn(7, 0.1);
        memory.learn(7, 0.35);
        memory.learn(u64::MAX, 2.0);
        memory.learn(8, f64::NAN);
        let lessons = memory.lessons();
        assert_eq!(lessons.len(), 2);
        assert!(memory.lessons().is_empty(), "they were told");
        let mut other = Memory::default();
        for (key, value) in &lessons {
            let value = serde_json::from_str(value).expect("it is JSON");
            assert!(other.restore(key, &value), "{key}");
        }
        assert_eq!(
            (other.ratio(7), other.ratio(u64::MAX)),
            (Some(0.35), Some(2.0))
        );
        assert!(other.lessons().is_empty(), "it was not learnt here");
        let wrong = [
            ("shuffle-ratio/x", json!(1)),
            ("lengths/7", json!(1)),
            ("", json!(1)),
        ];
        let bad = [json!(-1.0), json!("1"), json!(null)].map(|value| ("shuffle-ratio/7", value));
        for (key, value) in wrong.into_iter().chain(bad) {
            assert!(!other.restore(key, &value), "{key} {value}");
        }
        for signature in 0..2_000 {
            memory.learn(signature, 1.0);
        }
        assert_eq!(
            memory.lessons().len(),
            PROGRAMS_MAX,
            "what was forgotten is not told"
        );
    }

    #[test]
    fn the_last_ratio_counts_and_the_oldest_program_is_forgotten() {
        let mut memory = Memory::default();
        for signature in 0..1_000 {
            memory.remember(signature, 0.5);
        }
        memory.remember(0, 2.0);
        memory.remember(5_000, 3.0);
        assert_eq!(memory.ratio(0), Some(2.0), "it was remembered anew");
        assert_eq!(memory.ratio(1), None);
        assert_eq!(memory.ratio(2), Some(0.5));
        memory.remember(2, f64::INFINITY);
        assert_eq!(
            memory.ratio(2),
            Some(0.5),
            "without input there is no ratio"
        );
        let mut again = Memory::default();
        again.load(&memory.save());
        again.remember(6_000, 1.0);
        assert_eq!((again.ratio(2), again.ratio(0)), (None, Some(2.0)));
    }
}
