//! The `order` stage: which job inside a leaf of the tree of shares is next.
//!
//! One file per implementation, one line in `ORDERS`; the configuration, the simulator and the
//! documents follow from the list.

mod fifo;

use crate::cluster::Job;
use crate::config::Config;

/// A job's place in its leaf's order; the smaller is served first. Ties go to the smaller job id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey(pub i64, pub i64);

impl OrderKey {
    /// Before every other key.
    pub const FIRST: OrderKey = OrderKey(i64::MIN, i64::MIN);
}

/// Which job is next. Blind to the world: what it may look at is the job.
pub trait Order: Send {
    /// The job's key. The engine asks again whenever something of the job changes that its
    /// submission fixed: priority or queue.
    fn key(&self, job: &Job) -> OrderKey;
}

/// One implementation of the stage.
pub struct OrderEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Order>,
}

/// Every order, in the order of the tables made from it.
pub const ORDERS: &[OrderEntry] = &[fifo::ENTRY];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    ORDERS.iter().map(|entry| entry.name).collect()
}
