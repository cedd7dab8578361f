//! Section `heartbeat` of heddle.json, and its older part `heartbeat_fill`.

use super::{ConfigError, Section};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use serde::Serialize;

/// The most that one heartbeat grants on its node. No limit unless configured: the node's whole
/// room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeartbeatLimits {
    /// Whether the configuration says anything of it. A report then gives what this says, whatever
    /// the rank of its node.
    pub is_set: bool,
    /// How many containers.
    pub containers_max: u32,
    /// How many containers outside the hosts and racks that their asks name, or whose asks name
    /// none.
    pub off_switch_max: u32,
    /// The part of the free room at its beginning that grants may use.
    #[serde(rename = "node_part_max")]
    pub part: f64,
    /// Whether the grant that reaches the part is the last (`heartbeat_fill`). Else the one that
    /// exceeds it is, as in YARN's Fair Scheduler.
    pub ends_at_part: bool,
}

/// The grants of a heartbeat so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Granted {
    pub(crate) resource: Resource,
    pub(crate) containers: u32,
    pub(crate) off_switch: u32,
}

impl HeartbeatLimits {
    pub(super) fn read(root: &mut Section<'_>) -> Result<HeartbeatLimits, ConfigError> {
        let fill = root.number("heartbeat_fill", 0.01, 1.0)?;
        let mut limits = HeartbeatLimits {
            is_set: fill.is_some(),
            containers_max: u32::MAX,
            off_switch_max: u32::MAX,
            part: fill.unwrap_or(1.0),
            ends_at_part: true,
        };
        let Some(mut section) = root.section("heartbeat")? else {
            return Ok(limits);
        };
        limits.is_set = true;
        let mut count = |key| {
            let count = section.whole(key, 1, i64::from(u32::MAX))?;
            Ok::<u32, ConfigError>(count.map_or(u32::MAX, |count| count as u32))
        };
        limits.containers_max = count("containers_max")?;
        limits.off_switch_max = count("off_switch_max")?;
        if let Some(part) = section.number("node_part_max", 0.01, 1.0)? {
            if fill.is_some() {
                let problem = "`heartbeat_fill` sets the same limit; remove one of the two";
                return Err(ConfigError::new(section.key("node_part_max"), problem));
            }
            (limits.part, limits.ends_at_part) = (part, false);
        }
        section.finish()?;
        Ok(limits)
    }

    /// Whether a heartbeat that found `room` grants nothing more.
    pub(crate) fn are_reached(&self, granted: &Granted, room: &Resource) -> bool {
        let (sum, part) = (&granted.resource, room.scaled(self.part));
        let filled = match self.ends_at_part {
            true => (0..2).any(|i| sum[i] > 0 && sum[i] >= part[i]),
            false => (0..RESOURCE_TYPES_MAX).any(|i| sum[i] > part[i]),
        };
        granted.containers >= self.containers_max
            || granted.off_switch >= self.off_switch_max
            || (self.part < 1.0 && filled)
    }
}
