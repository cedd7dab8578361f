//! Properties of yarn-site.xml that YARN's Fair Scheduler reads.

use super::reading::{NEVER_MS, Reading, section};
use crate::{Properties, Property, java};
use heddle_core::config::text::shown;
use heddle_core::config::unknown;
use serde_json::{Map, Value, json};

const PREFIX: &str = "yarn.scheduler.fair.";

/// Names after the prefix, for suggestions.
const NAMES: &[&str] = &[
    "allocation.file",
    "allow-undeclared-pools",
    "user-as-default-queue",
    "preemption",
    "preemption.cluster-utilization-threshold",
    "waitTimeBeforeKill",
    "waitTimeBeforeNextStarvationCheck",
    "am.preemption",
    "sizebasedweight",
    "assignmultiple",
    "dynamic.max.assign",
    "max.assign",
    "locality.threshold.node",
    "locality.threshold.rack",
    "locality-delay-node-ms",
    "locality-delay-rack-ms",
    "continuous-scheduling-enabled",
    "continuous-scheduling-sleep-ms",
    "reservable-nodes",
    "update-interval-ms",
];

/// Begins the name of one queue's switch; the queue's full name follows.
const AM_OF_QUEUE: &str = "am.preemption.";

const NODE_HEARTBEAT: &str = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
const THRESHOLD_DEFAULT: f64 = 0.8;
const NO_THREAD: &str = "Heddle schedules when nodes report or jobs ask, and needs no such thread";

/// The properties, with notes for what was read.
struct Reader<'p, 'r> {
    properties: &'p Properties,
    reading: &'r mut Reading,
}

pub(super) fn write(
    properties: &Properties,
    reading: &mut Reading,
    config: &mut Map<String, Value>,
) {
    let mut reader = Reader {
        properties,
        reading,
    };
    reader.write_preemption(config);
    reader.write_masters(config);
    reader.write_heartbeat(config);
    reader.write_locality(config);
    reader.write_rest(config);
    reader.note_others();
}

impl<'p> Reader<'p, '_> {
    fn get(&self, name: &str) -> Option<&'p Property> {
        self.properties.get(&format!("{PREFIX}{name}"))
    }

    fn exact(&mut self, name: &str) {
        if let Some(property) = self.get(name) {
            self.reading.exact(property.line, format!("{PREFIX}{name}"));
        }
    }

    fn approximated(&mut self, name: &str, how: impl Into<String>) {
        if let Some(property) = self.get(name) {
            let name = format!("{PREFIX}{name}");
            self.reading.approximated(property.line, name, how);
        }
    }

    fn refused(&mut self, name: &str, why: impl Into<String>) {
        if let Some(property) = self.get(name) {
            let name = format!("{PREFIX}{name}");
            self.reading.refused(property.line, name, why);
        }
    }

    /// Reads a value. Refuses a wrong one, with which YARN would not start.
    fn read<T>(&mut self, name: &str, read: impl Fn(&str) -> Option<T>, what: &str) -> Option<T> {
        let text = self.get(name)?.value.trim();
        let value = read(text);
        if value.is_none() {
            self.refused(name, format!("expected {what}, found {}", shown(text)));
        }
        value
    }

    fn whole(&mut self, name: &str) -> Option<i64> {
        self.read(name, java::whole, "a whole number")
    }

    fn number(&mut self, name: &str) -> Option<f64> {
        let number = |text: &str| java::double(text).filter(|number| !number.is_nan());
        self.read(name, number, "a number")
    }

    /// Reads a switch, and notes it as exact. A wrong value is its default, as in YARN.
    fn switch(&mut self, name: &str, default: bool) -> bool {
        let value = self.flag(name, default);
        if value.is_some() {
            self.exact(name);
        }
        value.unwrap_or(default)
    }

    /// Reads a switch; none if it is missing or wrong. Notes a wrong one.
    fn flag(&mut self, name: &str, default: bool) -> Option<bool> {
        let property = self.get(name)?;
        let value = java::boolean(&property.value);
        if value.is_none() {
            let found = shown(&property.value);
            let how = format!("{found} counts as {default}, as in YARN; write true or false");
            self.approximated(name, how);
        }
        value
    }

    fn write_preemption(&mut self, config: &mut Map<String, Value>) {
        let enabled = self.switch("preemption", false);
        let threshold = self.number("preemption.cluster-utilization-threshold");
        if threshold.is_some() {
            self.exact("preemption.cluster-utilization-threshold");
        }
        let grace = self.whole("waitTimeBeforeKill");
        if grace.is_some() {
            self.exact("waitTimeBeforeKill");
        }
        if self.whole("waitTimeBeforeNextStarvationCheck").is_some() {
            let how = "an application is looked at again at the next tick";
            self.approximated("waitTimeBeforeNextStarvationCheck", how);
        }
        let preemption = section(config, "preemption");
        preemption.insert("enabled".to_owned(), json!(enabled));
        let threshold = threshold.unwrap_or(THRESHOLD_DEFAULT).clamp(0.0, 1.0);
        preemption.insert("cluster_threshold".to_owned(), json!(threshold + 0.0));
        if let Some(grace_ms) = grace {
            let grace_ms = grace_ms.clamp(0, i64::from(i32::MAX));
            preemption.insert("grace_ms".to_owned(), json!(grace_ms));
        }
    }

    /// `am.preemption`. heddle.json has one switch for all queues, and it is off unless asked for.
    fn write_masters(&mut self, config: &mut Map<String, Value>) {
        let masters = self.get("am.preemption").is_some() && self.switch("am.preemption", true);
        let of_queue = |name: &&'p String| {
            let rest = name.strip_prefix(PREFIX);
            rest.is_some_and(|rest| rest.starts_with(AM_OF_QUEUE))
        };
        let queues: Vec<&'p String> = self.properties.keys().filter(of_queue).collect();
        let mut all = masters;
        for full in queues {
            let name = &full[PREFIX.len()..];
            let own = self.get(name).and_then(|found| java::boolean(&found.value));
            if own.unwrap_or(masters) == masters {
                self.exact(name);
            } else {
                all = false;
                let how = "Heddle has one switch for all queues: with different values no queue \
                           loses an ApplicationMaster";
                self.approximated(name, how);
            }
        }
        section(config, "preemption").insert("masters".to_owned(), json!(all));
    }

    /// How much one heartbeat of a node may give out. Without `assignmultiple` in the file a node
    /// is filled: one container for each heartbeat is a default that its users did not choose.
    fn write_heartbeat(&mut self, config: &mut Map<String, Value>) {
        let given = self.get("assignmultiple").is_some();
        let multiple = self.switch("assignmultiple", false);
        let dynamic = self.switch("dynamic.max.assign", true);
        let most = self.whole("max.assign");
        let counts = multiple && !dynamic;
        match most {
            Some(_) if counts => self.exact("max.assign"),
            Some(_) => self.approximated(
                "max.assign",
                "has no effect unless assignmultiple is true and dynamic.max.assign is false, as \
                 in YARN",
            ),
            None => {}
        }
        if given && multiple && dynamic {
            section(config, "heartbeat").insert("node_part_max".to_owned(), json!(0.5));
        }
        let most = match multiple {
            false => given.then_some(1),
            true => most.filter(|most| counts && *most > 0),
        };
        if let Some(most) = most {
            let most = most.min(i64::from(i32::MAX));
            section(config, "heartbeat").insert("containers_max".to_owned(), json!(most));
        }
    }

    /// How long an ask waits for its node, and for its rack.
    fn write_locality(&mut self, config: &mut Map<String, Value>) {
        let continuous = self.flag("continuous-scheduling-enabled", false) == Some(true);
        match continuous {
            true => self.approximated("continuous-scheduling-enabled", NO_THREAD),
            false => self.exact_unless_wrong("continuous-scheduling-enabled"),
        }
        if self.whole("continuous-scheduling-sleep-ms").is_some() {
            self.approximated("continuous-scheduling-sleep-ms", NO_THREAD);
        }
        let waits = ["node", "rack"].map(|level| {
            let by_time = self.delay_ms(level, continuous);
            let by_count = self.misses(level, continuous);
            if continuous { by_time } else { by_count }
        });
        // One level that is off switches both off.
        let [Some(node), Some(rack)] = waits else {
            let off = json!({"node_wait_ms": 0, "rack_wait_ms": 0});
            config.insert("delay".to_owned(), off);
            return;
        };
        let delay = section(config, "delay");
        delay.extend([node, rack]);
        let interval = self.properties.get(NODE_HEARTBEAT);
        let interval = interval.and_then(|found| java::whole(&found.value));
        let interval = interval.filter(|ms| (1..=3_600_000).contains(ms));
        if let Some(interval) = interval.filter(|_| !continuous) {
            delay.insert("report_ms".to_owned(), json!(interval));
        }
    }

    /// The wait of a level under continuous scheduling: a key, and its value.
    fn delay_ms(&mut self, level: &str, continuous: bool) -> Option<(String, Value)> {
        let name = format!("locality-delay-{level}-ms");
        let delay_ms = self.whole(&name)?;
        match continuous {
            true => self.exact(&name),
            false => {
                let how = "has no effect without continuous scheduling, as in YARN";
                self.approximated(&name, how);
            }
        }
        let value = json!(delay_ms.min(NEVER_MS));
        (delay_ms >= 0).then(|| (format!("{level}_wait_ms"), value))
    }

    /// The wait of a level otherwise: a part of the cluster's nodes.
    fn misses(&mut self, level: &str, continuous: bool) -> Option<(String, Value)> {
        let name = format!("locality.threshold.{level}");
        let part = self.number(&name)?.min(1.0);
        if continuous {
            let how = "has no effect with continuous scheduling, as in YARN";
            self.approximated(&name, how);
        } else if part > 0.0 {
            let how = "YARN counts nodes that report in vain; Heddle waits for the time in which \
                       so many report";
            self.approximated(&name, how);
        } else {
            self.exact(&name);
        }
        // Thresholds are floats: more digits say nothing.
        let percent = (part * 1e7).round() / 1e5 + 0.0;
        (part >= 0.0).then(|| (format!("{level}_misses"), json!(format!("{percent}%"))))
    }

    fn exact_unless_wrong(&mut self, name: &str) {
        let good = self.get(name).and_then(|found| java::boolean(&found.value));
        if good.is_some() {
            self.exact(name);
        }
    }

    fn write_rest(&mut self, config: &mut Map<String, Value>) {
        if self.switch("sizebasedweight", false) {
            section(config, "queue_defaults").insert("size_weight".to_owned(), json!(true));
        }
        if let Some(part) = self.number("reservable-nodes") {
            let kept = part.clamp(0.0, 1.0) + 0.0;
            section(config, "reservation").insert("nodes_max".to_owned(), json!(kept));
            self.exact("reservable-nodes");
        }
        match self.whole("update-interval-ms") {
            Some(0) => self.refused(
                "update-interval-ms",
                "with 0, YARN never computes a share, and schedules nothing; remove it",
            ),
            Some(500) => self.exact("update-interval-ms"),
            Some(_) => self.approximated(
                "update-interval-ms",
                "Heddle computes shares at each tick, heddle.tick-ms in yarn-site.xml",
            ),
            None => {}
        }
        for name in ["allow-undeclared-pools", "user-as-default-queue"] {
            self.switch(name, true);
        }
        for name in [
            "allocation.file",
            "migration.mode",
            "no-terminal-rule.check",
        ] {
            self.exact(name);
        }
    }

    /// Properties that concern other parts of a ResourceManager, and unknown ones.
    fn note_others(&mut self) {
        let properties = self.properties;
        for (name, property) in properties {
            let line = property.line;
            if let Some(own) = name.strip_prefix(PREFIX) {
                let known = NAMES.contains(&own)
                    || own.starts_with(AM_OF_QUEUE)
                    || matches!(own, "migration.mode" | "no-terminal-rule.check");
                if !known {
                    let how = format!(
                        "{}; YARN ignores it, and so does Heddle",
                        unknown(own, NAMES)
                    );
                    self.reading.approximated(line, name.as_str(), how);
                }
            } else if name == "yarn.scheduler.reservation-threshold.increment-multiple" {
                let how = "Heddle holds nodes for every ask that waits for section reservation's \
                           after_ms";
                self.reading.approximated(line, name.as_str(), how);
            } else if name.starts_with("yarn.scheduler.increment-allocation-")
                || (name.starts_with("yarn.resource-types.")
                    && name.ends_with(".increment-allocation"))
            {
                self.reading.exact(line, name.as_str());
            }
        }
    }
}
