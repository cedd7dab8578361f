//! The price of waiting for a place: how long an ask may wait at a level, and when it has had
//! enough.
//!
//! A wait costs the time in which the ask's containers could have run: as many as there is free
//! room for. Over an ask's life that may be a part of the work that it asks for, the lengths of its
//! containers together: `NODE_PART` for its nodes, `BOTH_PARTS` with its racks. Data on one busy
//! node then slow a job down by about that part, however often a local container starts the wait
//! again. On a busy cluster others take what it leaves, and a wait costs next to nothing.
//!
//! The least cost that is always allowed is one round of reports (`Place::least_ms`): every node
//! with room reports in it, so that on an idle cluster each task meets its data, and more waiting
//! must hope that tasks end. Before anything is known of their lengths nothing else is allowed.

use super::place::Place;
use crate::model::cluster::Cluster;
use crate::model::job::{Ask, Job};
use crate::words::ids::{Locality, Millis};

/// One in so many parts of an ask's work may be lost to waits for its nodes.
const NODE_PART: f64 = 1.0 / 10.0;
/// The same for its nodes and racks together.
const BOTH_PARTS: f64 = 3.0 / 20.0;

/// What an ask may lose to waits in a cluster.
pub(crate) struct Worth<'a> {
    pub(crate) place: &'a dyn Place,
    pub(crate) job: &'a Job,
    pub(crate) ask: &'a Ask,
    pub(crate) cluster: &'a Cluster,
}

impl Worth<'_> {
    /// What waiting for `millis` costs: so many containers could run at once meanwhile.
    pub(crate) fn cost(&self, millis: Millis) -> i64 {
        let facts = &self.ask.facts;
        let free_slots = self.cluster.free_slots(facts.partition, &facts.resource);
        let at_once = facts.count.min(free_slots).max(1);
        millis.saturating_mul(i64::from(at_once))
    }

    /// What it may lose at `level` and nearer ones.
    fn most(&self, level: Locality) -> i64 {
        let part = match level {
            Locality::NodeLocal => NODE_PART,
            _ => BOTH_PARTS,
        };
        let least = self.cost(self.place.least_ms(level));
        let all = self.ask.facts.count.saturating_add(self.ask.served);
        let kind = self.job.kind(self.ask.facts.priority);
        let length_ms = self.place.task_ms(self.job, kind).unwrap_or(0.0);
        least.max((f64::from(all) * length_ms * part) as i64)
    }

    /// How long it may still wait at its level from the moment that it is passed over; at least a
    /// millisecond.
    pub(crate) fn left_ms(&self) -> Millis {
        let level = self.ask.level;
        let wait_ms = self.place.wait_ms(level) - self.ask.waited_ms;
        let paid = self.most(level).saturating_sub(self.ask.lost_ms);
        wait_ms.min(paid / self.cost(1)).max(1)
    }

    /// The level at or after `level` at which it may still lose something.
    pub(crate) fn level(&self, level: Locality) -> Locality {
        self.level_at(level, self.ask.lost_ms)
    }

    /// The level that it will have when its present wait is over.
    pub(crate) fn next_level(&self) -> Locality {
        let lost_ms = self.ask.lost_ms.saturating_add(self.cost(self.left_ms()));
        self.level_at(self.place.start(next(self.ask.level)), lost_ms)
    }

    fn level_at(&self, mut level: Locality, lost_ms: i64) -> Locality {
        while level != Locality::OffSwitch && lost_ms >= self.most(level) {
            level = self.place.start(next(level));
        }
        level
    }
}

/// The level after `level`.
pub(crate) fn next(level: Locality) -> Locality {
    match level {
        Locality::NodeLocal => Locality::RackLocal,
        _ => Locality::OffSwitch,
    }
}
