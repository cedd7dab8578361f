//! Debts for slots of jobs with an authority: sums of use and of its cost. `authority` and the tick
//! assign and settle them.

use super::account::Usage;
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};

/// A debt for slots of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Debt {
    /// Slots times milliseconds that are paid for, by pool.
    pub(super) slot_ms: [i64; POOLS],
    /// Their cost in millionths of a credit.
    pub(super) micro: i64,
}

impl Debt {
    pub(super) fn add(&mut self, more: &Debt) {
        for pool in 0..POOLS {
            self.slot_ms[pool] = self.slot_ms[pool].saturating_add(more.slot_ms[pool]);
        }
        self.micro = self.micro.saturating_add(more.micro);
    }

    /// Returns this use and the use of `usage` together.
    pub(super) fn beside(&self, usage: Option<&Usage>) -> [i64; POOLS] {
        let other = usage.copied().unwrap_or_default().slot_ms;
        std::array::from_fn(|pool| other[pool].saturating_add(self.slot_ms[pool]))
    }
}
