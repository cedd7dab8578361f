//! Shuffle ratios of jobs that ended, by signature: a later run of the same program starts with
//! the ratio of the last one (SW-9). Bounded; the oldest is forgotten.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many programs are remembered.
const PROGRAMS_MAX: usize = 1_000;

/// Ratios by signature.
#[derive(Debug, Default)]
pub(super) struct Memory {
    ratios: BTreeMap<u64, (f64, u64)>,
    /// Signatures by the turn in which they were last remembered.
    turns: BTreeMap<u64, u64>,
    next_turn: u64,
}

impl Memory {
    pub(super) fn ratio(&self, signature: u64) -> Option<f64> {
        self.ratios.get(&signature).map(|(ratio, _)| *ratio)
    }

    pub(super) fn remember(&mut self, signature: u64, ratio: f64) {
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
            let oldest = self.turns.pop_first();
            self.ratios.remove(&oldest.expect("there are too many").1);
        }
    }

    /// A list of signature and ratio, the oldest first.
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
