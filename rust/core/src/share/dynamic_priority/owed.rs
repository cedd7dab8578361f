//! What is owed for slots of jobs that have an authority: a sum of use and of its cost. Who owes it
//! and what becomes of it is in `authority` and in the tick.

use super::account::Usage;
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};

/// What is owed for slots of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owed {
    /// Slots times milliseconds that are paid for, by pool.
    pub(super) slot_ms: [i64; POOLS],
    /// What they cost, in millionths of a credit.
    pub(super) micro: i64,
}

impl Owed {
    pub(super) fn add(&mut self, more: &Owed) {
        for pool in 0..POOLS {
            self.slot_ms[pool] = self.slot_ms[pool].saturating_add(more.slot_ms[pool]);
        }
        self.micro = self.micro.saturating_add(more.micro);
    }

    /// What was used for it and beside it.
    pub(super) fn beside(&self, usage: Option<&Usage>) -> [i64; POOLS] {
        let other = usage.copied().unwrap_or_default().slot_ms;
        std::array::from_fn(|pool| other[pool].saturating_add(self.slot_ms[pool]))
    }
}
