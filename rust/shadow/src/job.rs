//! A job in both worlds.

use crate::demand::Demand;
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId};
use heddle_core::words::resource::Resource;
use std::collections::BTreeMap;

/// A container of the live world that was granted there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveContainer {
    /// The ask, and its number there; `None` if it ran before the shadow began.
    pub(crate) of: Option<(AskId, usize)>,
    pub(crate) started_ms: Millis,
    pub(crate) resource: Resource,
    pub(crate) am: bool,
}

/// A container of the shadow's world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShadowContainer {
    /// As of a live one. Those that ran before the shadow began end with the live one.
    pub(crate) of: Option<(AskId, usize)>,
    pub(crate) node: NodeId,
    pub(crate) started_ms: Millis,
    pub(crate) resource: Resource,
    pub(crate) am: bool,
    /// When it ends, as far as that is known.
    pub(crate) end_ms: Option<Millis>,
}

/// When a job's first container started, and when the last but its ApplicationMaster ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) started_ms: Option<Millis>,
    pub(crate) ended_ms: Option<Millis>,
}

/// How far the shadow is with a job's ApplicationMaster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Master {
    /// The shadow has not started it; its asks wait for it.
    Waits,
    /// The shadow started it; it asks when it has run for as long as the live one had.
    Started { at_ms: Millis },
    /// There is nothing to wait for.
    Runs,
}

#[derive(Debug)]
pub(crate) struct Job {
    /// Its number in the live engine.
    pub(crate) live: JobId,
    /// YARN's id, if the host told it.
    pub(crate) application: Option<String>,
    pub(crate) live_queue: String,
    pub(crate) queue: String,
    pub(crate) submitted_ms: Millis,
    pub(crate) asks: BTreeMap<AskId, Demand>,
    pub(crate) live_containers: BTreeMap<ContainerKey, LiveContainer>,
    pub(crate) containers: BTreeMap<ContainerKey, ShadowContainer>,
    /// The keys of those that have a number.
    pub(crate) keys: BTreeMap<(AskId, usize), ContainerKey>,
    pub(crate) master: Master,
    /// When the live ApplicationMaster started, and when it first asked.
    pub(crate) live_master_ms: Option<Millis>,
    pub(crate) live_asked_ms: Option<Millis>,
    pub(crate) times: Times,
    pub(crate) live_times: Times,
    /// Whether it ran already when the shadow began: its times are not its own.
    pub(crate) before: bool,
    /// Whether the live one has ended.
    pub(crate) closed: bool,
}

impl Job {
    /// Whether the shadow has nothing left to do for it.
    pub(crate) fn is_done(&self) -> bool {
        let busy = self.containers.values().any(|container| !container.am);
        self.closed
            && !busy
            && self
                .asks
                .values()
                .all(|ask| ask.facts.am || ask.left() == 0)
    }

    /// How long after its start the live ApplicationMaster asked.
    pub(crate) fn lag_ms(&self) -> Option<Millis> {
        Some(self.live_asked_ms? - self.live_master_ms?)
    }
}
