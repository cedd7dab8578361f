//! Delay scheduling (Zaharia et al., EuroSys 2010, algorithm 2), by time. An ask that is passed
//! over insists on its hosts for `node_wait_ms`, then on its racks for `rack_wait_ms`.
//!
//! An ask's clock starts when it is first passed over, not when it appears. On a full cluster no
//! ask could have been served, and waiting must not cost locality.

use crate::config::{ConfigError, Section};
use crate::stage::common::Stage;
use crate::stage::entry::{Key, PolicySection};
use crate::stage::place::{Place, PlaceEntry};
use crate::words::ids::{Locality, Millis};

/// Entry in the catalogue.
pub(crate) const ENTRY: PlaceEntry = PlaceEntry {
    name: "delay",
    summary: "tasks wait a bounded time for a node, then a rack, that holds their data",
    preset: None,
    wants: &[],
    own: Some(PolicySection {
        section: SECTION,
        keys: KEYS,
        check: |section| read(section).map(|_| false),
    }),
    build: |config| Box::new(config.own(SECTION, read)),
};

const SECTION: &str = "delay";

/// Settings of the section, as the request `policies` lists them.
const KEYS: &[Key] = &[
    Key::new(
        "node_wait_ms",
        "3000",
        "time for which a task that is passed over insists on its node",
    ),
    Key::new(
        "rack_wait_ms",
        "3000",
        "time for which it then insists on its rack",
    ),
];

/// Limit above which waits are typing errors (about 31 years in ms).
const WAIT_MAX_MS: i64 = 1_000_000_000_000;

fn read(section: &mut Section<'_>) -> Result<Delay, ConfigError> {
    let mut wait_ms = |key| Ok(section.whole(key, 0, WAIT_MAX_MS)?.unwrap_or(3_000));
    Ok(Delay {
        node_wait_ms: wait_ms("node_wait_ms")?,
        rack_wait_ms: wait_ms("rack_wait_ms")?,
    })
}

struct Delay {
    node_wait_ms: Millis,
    rack_wait_ms: Millis,
}

impl Stage for Delay {}

impl Place for Delay {
    fn start(&self, floor: Locality) -> Locality {
        match floor {
            Locality::NodeLocal if self.node_wait_ms == 0 => self.start(Locality::RackLocal),
            Locality::RackLocal if self.rack_wait_ms == 0 => Locality::OffSwitch,
            level => level,
        }
    }

    fn wait_ms(&self, level: Locality) -> Millis {
        match level {
            Locality::NodeLocal => self.node_wait_ms,
            Locality::RackLocal => self.rack_wait_ms,
            Locality::OffSwitch => 0,
        }
    }

    fn after_grant(&self, floor: Locality, level: Locality, granted: Locality) -> Locality {
        // A launch at a level makes the job insist on that level again (lines 8, 11 and 14).
        self.start(floor.max(granted)).min(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Locality::{NodeLocal, OffSwitch, RackLocal};

    #[test]
    fn a_local_launch_makes_the_job_insist_again_and_a_remote_one_does_not() {
        let delay = Delay {
            node_wait_ms: 3_000,
            rack_wait_ms: 3_000,
        };
        assert_eq!(delay.start(NodeLocal), NodeLocal);
        assert_eq!(
            delay.after_grant(NodeLocal, OffSwitch, NodeLocal),
            NodeLocal
        );
        assert_eq!(
            delay.after_grant(NodeLocal, OffSwitch, RackLocal),
            RackLocal
        );
        assert_eq!(
            delay.after_grant(NodeLocal, OffSwitch, OffSwitch),
            OffSwitch
        );
        assert_eq!(
            delay.after_grant(NodeLocal, NodeLocal, NodeLocal),
            NodeLocal
        );
    }

    #[test]
    fn a_wait_of_zero_skips_its_level() {
        let no_node_wait = Delay {
            node_wait_ms: 0,
            rack_wait_ms: 3_000,
        };
        assert_eq!(no_node_wait.start(NodeLocal), RackLocal);
        let no_wait = Delay {
            node_wait_ms: 0,
            rack_wait_ms: 0,
        };
        assert_eq!(no_wait.start(NodeLocal), OffSwitch);
    }
}
