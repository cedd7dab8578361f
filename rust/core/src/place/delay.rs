//! Delay scheduling (Zaharia et al., EuroSys 2010, algorithm 2), by time. An ask that is passed
//! over insists on its hosts for `node_wait_ms`, then on its racks for `rack_wait_ms`.
//!
//! YARN's schedulers count missed chances: nodes that reported, with an ask's job in line, and
//! served something else or nothing. All nodes report once per interval, so a number of misses is
//! a time.
//!
//! An ask's clock starts when it is first passed over, not when it appears. On a full cluster no
//! ask could have been served, and waiting must not cost locality. Each ask's clock runs by itself.
//!
//! The waits are limits. An ask waits less if that is all that its tasks are worth
//! (`stage/worth.rs`). The lengths of a job's tasks are those of its tasks that succeeded, or of
//! its profile, or of the last run of its program. Before one of them is known the typical length
//! on this cluster counts: the harmonic mean, so that it is the part of their lengths that tasks
//! lose which has the intended mean. A plain mean would let short tasks wait as if they were long.

use crate::config::{ConfigError, Section};
use crate::model::change::{Change, Stale, World};
use crate::model::job::Job;
use crate::model::lengths::Lengths;
use crate::stage::common::Stage;
use crate::stage::entry::{Key, PolicySection};
use crate::stage::place::{Place, PlaceEntry};
use crate::words::ids::{Locality, Millis};
use crate::words::kind::Kind;
use serde_json::{Value, json};

/// Entry in the catalogue.
pub(crate) const ENTRY: PlaceEntry = PlaceEntry {
    name: "delay",
    summary: "tasks wait a bounded time for a node, then a rack, that holds their data",
    preset: None,
    wants: &[],
    reads: &[],
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
        "the most for which a task that is passed over insists on its node",
    ),
    Key::new(
        "rack_wait_ms",
        "3000",
        "the most for which it then insists on its rack",
    ),
    Key::new(
        "node_misses",
        "",
        "in place of `node_wait_ms`: the time in which that many nodes report, at most all; a \
         number, or a part such as `\"50%\"`",
    ),
    Key::new("rack_misses", "", "the same in place of `rack_wait_ms`"),
    Key::new(
        "report_ms",
        "1000",
        "the interval at which a node reports, which turns misses into times",
    ),
];

/// Limit above which waits are typing errors (about 31 years in ms).
const WAIT_MAX_MS: i64 = 1_000_000_000_000;

const DEFAULT_WAIT_MS: Millis = 3_000;

/// How long an ask insists on a level.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Time(Millis),
    /// As long as it takes that number of nodes to report.
    Misses(u32),
    /// The same with a part of the nodes, 0 to 1.
    Part(f64),
}

impl Wait {
    fn read(
        section: &mut Section<'_>,
        time: &'static str,
        misses: &'static str,
    ) -> Result<Wait, ConfigError> {
        let wait_ms = section.whole(time, 0, WAIT_MAX_MS)?;
        let Some(value) = section.value(misses) else {
            return Ok(Wait::Time(wait_ms.unwrap_or(DEFAULT_WAIT_MS)));
        };
        let key = section.key(misses);
        if wait_ms.is_some() {
            let problem = format!("`{time}` sets the same wait; remove one of the two");
            return Err(ConfigError::new(key, problem));
        }
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
        let percent = percent.and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        match (count, percent) {
            (Some(count), _) => Ok(Wait::Misses(count)),
            (None, Some(percent)) => Ok(Wait::Part(percent / 100.0)),
            (None, None) => {
                let expected = "expected a whole number, or a part from \"0%\" to \"100%\"";
                Err(ConfigError::new(key, format!("{expected}, found {value}")))
            }
        }
    }

    fn in_ms(self, nodes: u32, report_ms: Millis) -> Millis {
        match self {
            Wait::Time(wait_ms) => wait_ms,
            Wait::Misses(misses) => {
                let nodes = Millis::from(nodes.max(1));
                let misses = Millis::from(misses).min(nodes);
                (misses * report_ms + nodes - 1) / nodes
            }
            Wait::Part(part) => (part * report_ms as f64).ceil() as Millis,
        }
    }
}

fn read(section: &mut Section<'_>) -> Result<Delay, ConfigError> {
    Ok(Delay {
        node: Wait::read(section, "node_wait_ms", "node_misses")?,
        rack: Wait::read(section, "rack_wait_ms", "rack_misses")?,
        report_ms: section.whole("report_ms", 1, 3_600_000)?.unwrap_or(1_000),
        nodes: 0,
        lengths: Lengths::default(),
        typical: [Typical::default(); 3],
    })
}

struct Delay {
    node: Wait,
    rack: Wait,
    report_ms: Millis,
    /// The nodes that may get containers, as of the last tick.
    nodes: u32,
    lengths: Lengths,
    typical: [Typical; 3],
}

/// The harmonic mean of the lengths of all tasks of a kind.
#[derive(Clone, Copy, Debug, Default)]
struct Typical {
    /// The sum of one over each length in ms.
    rates: f64,
    tasks: f64,
}

impl Typical {
    fn sample(&mut self, length_ms: Millis) {
        self.rates += 1.0 / length_ms.max(1) as f64;
        self.tasks += 1.0;
    }

    fn get(self) -> Option<f64> {
        (self.tasks > 0.0).then(|| self.tasks / self.rates)
    }
}

impl Delay {
    fn counts(&self) -> bool {
        let counts = |wait: &Wait| !matches!(wait, Wait::Time(_));
        [self.node, self.rack].iter().any(counts)
    }
}

impl Stage for Delay {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, _stale: &mut Stale) {
        match change {
            Change::Nodes | Change::Tick if self.counts() => {
                let nodes = world.cluster.nodes();
                self.nodes = nodes.filter(|node| node.facts.schedulable).count() as u32;
            }
            Change::Ended {
                job,
                kind,
                container,
                succeeded: true,
                ..
            } if !container.am => {
                // What the slot was taken for, its launch included.
                let length_ms = world.now - container.started_ms;
                self.lengths.sample(job.facts.job, *kind, length_ms);
                self.typical[*kind as usize].sample(length_ms);
            }
            Change::JobRemoved(job) => self.lengths.end(job),
            _ => {}
        }
    }

    fn save(&self) -> Value {
        let typical = self.typical.map(|of| json!([of.rates, of.tasks]));
        json!({"lengths": self.lengths.save(), "typical": typical})
    }

    fn load(&mut self, saved: &Value) {
        self.lengths.load(&saved["lengths"]);
        for (kind, typical) in self.typical.iter_mut().enumerate() {
            let number = |i: usize| saved["typical"][kind][i].as_f64().unwrap_or(0.0);
            let (rates, tasks) = (number(0), number(1));
            if rates > 0.0 && tasks > 0.0 {
                *typical = Typical { rates, tasks };
            }
        }
    }
}

impl Place for Delay {
    fn start(&self, floor: Locality) -> Locality {
        match floor {
            Locality::NodeLocal if self.wait_ms(floor) == 0 => self.start(Locality::RackLocal),
            Locality::RackLocal if self.wait_ms(floor) == 0 => Locality::OffSwitch,
            level => level,
        }
    }

    fn wait_ms(&self, level: Locality) -> Millis {
        match level {
            Locality::NodeLocal => self.node.in_ms(self.nodes, self.report_ms),
            Locality::RackLocal => self.rack.in_ms(self.nodes, self.report_ms),
            Locality::OffSwitch => 0,
        }
    }

    fn least_ms(&self, level: Locality) -> Millis {
        let wait_ms = |level| self.wait_ms(level).min(self.report_ms);
        match level {
            Locality::NodeLocal => wait_ms(level),
            // Waits in misses are those of a stock file: each lasts a round at most, and stays.
            _ if self.counts() => wait_ms(Locality::NodeLocal) + wait_ms(level),
            _ => wait_ms(Locality::NodeLocal).max(wait_ms(level)),
        }
    }

    fn task_ms(&self, job: &Job, kind: Kind) -> Option<f64> {
        let known = self.lengths.known_ms(job, kind);
        known.or_else(|| self.typical[kind as usize].get())
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

    fn waiting(node_ms: Millis, rack_ms: Millis) -> Delay {
        Delay {
            node: Wait::Time(node_ms),
            rack: Wait::Time(rack_ms),
            report_ms: 1_000,
            nodes: 1,
            lengths: Lengths::default(),
            typical: [Typical::default(); 3],
        }
    }

    #[test]
    fn a_local_launch_makes_the_job_insist_again_and_a_remote_one_does_not() {
        let delay = waiting(3_000, 3_000);
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
        let no_node_wait = waiting(0, 3_000);
        assert_eq!(no_node_wait.start(NodeLocal), RackLocal);
        let no_wait = waiting(0, 0);
        assert_eq!(no_wait.start(NodeLocal), OffSwitch);
    }

    #[test]
    fn misses_take_the_time_in_which_as_many_nodes_report() {
        let wait_ms = |wait: Wait, nodes| wait.in_ms(nodes, 1_000);
        // Of 100 nodes that report each second, 40 do so in 0.4 s.
        assert_eq!(wait_ms(Wait::Misses(40), 100), 400);
        assert_eq!(wait_ms(Wait::Part(0.4), 100), 400);
        // Both schedulers wait for as many nodes as there are, at most.
        assert_eq!(wait_ms(Wait::Misses(40), 10), 1_000);
        assert_eq!(wait_ms(Wait::Misses(0), 10), 0);
        // One miss never becomes 0 ms, though nodes of a large cluster report more often than that.
        assert_eq!(wait_ms(Wait::Misses(1), 5_000), 1);
        assert_eq!(wait_ms(Wait::Misses(1), 0), 1_000, "before any node came");
    }
}
