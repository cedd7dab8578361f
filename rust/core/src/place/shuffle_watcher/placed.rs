//! How well tasks were placed, as counts: what an operator, or an experiment, wants to know of what
//! the policy could do at all. Decides nothing.

use crate::words::kind::Kind;
use serde::{Deserialize, Serialize};

/// Tasks that were started, by how their rack suited them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Placed {
    maps: Maps,
    reduces: Reduces,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Maps {
    /// On a rack that SAMP prefers for the job.
    preferred: u64,
    /// On another, beside their data.
    local: u64,
    /// On another, away from their data: no slot is left idle (SW-8).
    elsewhere: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Reduces {
    /// On a rack that SARP wants more of them on.
    wanted: u64,
    /// On another.
    elsewhere: u64,
}

impl Placed {
    /// A task started; `suits` if its rack is among those that the plan of its kind names.
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
