//! Counts of tasks by how well they were placed. They show operators and experiments the effect of
//! the policy; no decision depends on them.

use crate::words::kind::Kind;
use serde::{Deserialize, Serialize};

/// Started tasks, by how their rack suited them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Placed {
    maps: Maps,
    reduces: Reduces,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Maps {
    /// On a rack that SAMP prefers for the job.
    preferred: u64,
    /// On another rack, beside their data.
    local: u64,
    /// On another rack, away from their data: no slot stays idle (SW-8).
    elsewhere: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Reduces {
    /// On a rack that SARP wants more of them on.
    wanted: u64,
    /// On another rack.
    elsewhere: u64,
}

impl Placed {
    /// Counts a started task; `suits` if its rack is among those in the plan of its kind.
    pub(super) fn count(&mut self, kind: Kind, suits: bool, local: bool) {
        let counter = match kind {
            Kind::Map if suits => &mut self.maps.preferred,
            Kind::Map if local => &mut self.maps.local,
            Kind::Map => &mut self.maps.elsewhere,
            Kind::Reduce if suits => &mut self.reduces.wanted,
            Kind::Reduce => &mut self.reduces.elsewhere,
            Kind::Other => return,
        };
        *counter += 1;
    }
}
