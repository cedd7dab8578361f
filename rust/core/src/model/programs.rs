//! Lessons of ended jobs, by the signature of their program. A later run of the same program starts
//! with what the last one taught (SW-9, RA-6). Beyond `PROGRAMS_MAX` programs the oldest is
//! forgotten.

use super::recent::Recent;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Maximum number of remembered programs.
const PROGRAMS_MAX: usize = 1_000;

/// A fact learnt of a program.
pub(crate) trait Lesson: Copy {
    /// Prefix of a lesson's key; a signature follows, in hexadecimal digits.
    const KEY: &'static str;

    /// Writes it as JSON.
    fn write(self) -> Value;

    /// Reads what `write` wrote; none for nonsense.
    fn read(value: &Value) -> Option<Self>;
}

/// Lessons by signature.
#[derive(Clone, Debug)]
pub(crate) struct Programs<L> {
    learnt: Recent<u64, L>,
    /// Signatures with a new lesson since the last call of `lessons`.
    news: BTreeSet<u64>,
}

impl<L> Default for Programs<L> {
    fn default() -> Programs<L> {
        Programs {
            learnt: Recent::default(),
            news: BTreeSet::new(),
        }
    }
}

impl<L: Lesson> Programs<L> {
    pub(crate) fn get(&self, signature: u64) -> Option<L> {
        self.learnt.get(signature)
    }

    /// Learns from an ended run of the program.
    pub(crate) fn learn(&mut self, signature: u64, lesson: L) {
        self.remember(signature, lesson);
        self.news.insert(signature);
    }

    /// Takes the changes for books that outlive the engine.
    pub(crate) fn lessons(&mut self) -> Vec<(String, String)> {
        let news = std::mem::take(&mut self.news).into_iter();
        let lesson = |of: u64| {
            let value = self.learnt.get(of)?.write().to_string();
            Some((format!("{}{of:016x}", L::KEY), value))
        };
        news.filter_map(lesson).collect()
    }

    /// Takes over a lesson; returns false if it is another policy's.
    pub(crate) fn restore(&mut self, key: &str, value: &Value) -> bool {
        let signature = key.strip_prefix(L::KEY);
        let signature = signature.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        match (signature, L::read(value)) {
            (Some(signature), Some(lesson)) => self.remember(signature, lesson),
            _ => return false,
        }
        true
    }

    fn remember(&mut self, signature: u64, lesson: L) {
        self.learnt.insert(signature, lesson);
        while self.learnt.len() > PROGRAMS_MAX {
            let oldest = self.learnt.pop_oldest().expect("there are too many");
            self.news.remove(&oldest);
        }
    }

    /// Saves signatures and lessons, the oldest first.
    pub(crate) fn save(&self) -> Value {
        let row = |signature| Some(json!([signature, self.learnt.get(signature)?.write()]));
        self.learnt.keys().filter_map(row).collect()
    }

    pub(crate) fn load(&mut self, saved: &Value) {
        for row in saved.as_array().into_iter().flatten() {
            if let (Some(signature), Some(lesson)) = (row[0].as_u64(), L::read(&row[1])) {
                self.remember(signature, lesson);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Number(f64);

    impl Lesson for Number {
        const KEY: &'static str = "number/";

        fn write(self) -> Value {
            json!(self.0)
        }

        fn read(value: &Value) -> Option<Number> {
            let number = value.as_f64().filter(|number| *number >= 0.0);
            number.map(Number)
        }
    }

    #[test]
    fn lessons_are_told_once_and_understood_by_another() {
        let mut memory = Programs::<Number>::default();
        memory.learn(7, Number(0.1));
        memory.learn(7, Number(0.35));
        memory.learn(u64::MAX, Number(2.0));
        let lessons = memory.lessons();
        assert_eq!(lessons.len(), 2);
        assert!(memory.lessons().is_empty(), "they were told");
        let mut other = Programs::<Number>::default();
        for (key, value) in &lessons {
            let value = serde_json::from_str(value).expect("it is JSON");
            assert!(other.restore(key, &value), "{key}");
        }
        assert_eq!(
            (other.get(7), other.get(u64::MAX)),
            (Some(Number(0.35)), Some(Number(2.0)))
        );
        assert!(other.lessons().is_empty(), "it was not learnt here");
        let wrong = [
            ("number/x", json!(1)),
            ("lengths/7", json!(1)),
            ("", json!(1)),
        ];
        let bad = [json!(-1.0), json!("1"), json!(null)].map(|value| ("number/7", value));
        for (key, value) in wrong.into_iter().chain(bad) {
            assert!(!other.restore(key, &value), "{key} {value}");
        }
        for signature in 0..2_000 {
            memory.learn(signature, Number(1.0));
        }
        assert_eq!(
            memory.lessons().len(),
            PROGRAMS_MAX,
            "what was forgotten is not told"
        );
    }

    #[test]
    fn the_last_lesson_counts_and_the_oldest_program_is_forgotten() {
        let mut memory = Programs::<Number>::default();
        for signature in 0..1_000 {
            memory.remember(signature, Number(0.5));
        }
        memory.remember(0, Number(2.0));
        memory.remember(5_000, Number(3.0));
        assert_eq!(memory.get(0), Some(Number(2.0)), "it was remembered anew");
        assert_eq!(memory.get(1), None);
        assert_eq!(memory.get(2), Some(Number(0.5)));
        let mut again = Programs::<Number>::default();
        again.load(&memory.save());
        again.remember(6_000, Number(1.0));
        assert_eq!((again.get(2), again.get(0)), (None, Some(Number(2.0))));
    }
}
