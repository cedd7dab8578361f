//! Explains the decisions about a job, why it waits, and what would change that. Decides nothing:
//! `why` asks the questions of the search, of a `View` of the engine's books, and the stages tell
//! their own numbers (`Share::explain`, `Order::held`, `Ranking::explain`).
//!
//! `trace` notes decisions where they are made, and on the tick why jobs wait; `ring` keeps both.
//! `survey` counts nodes, `remedy` works out what would help, `rivals` what others take of that;
//! `sentence` and `json` render it.

pub(crate) mod json;
mod remedy;
mod ring;
mod rivals;
mod sentence;
mod survey;
mod trace;
mod turn;
mod view;
mod why;

pub(crate) use ring::{Ring, Rings};
pub(crate) use sentence::{Names, sentence};
pub(crate) use survey::Surveys;
pub(crate) use trace::{Compared, Trace};
pub(crate) use view::{Answers, Look, Next, Supposed, View, count_ahead};

use crate::model::wait::{Reason, Stage};
use crate::words::event::{EvictReason, Refusal};
use crate::words::ids::{AskId, ContainerKey, Locality, Millis, NodeId, QueueId};
use crate::words::keys::{OrderKey, ShareKey};
use crate::words::kind::Kind;

/// A decision about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Time of the decision, on the engine's clock.
    pub at_ms: Millis,
    pub what: What,
}

/// The kinds of decisions about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// The job got a container.
    Granted(GrantRecord),
    /// The host refused a grant.
    Refused {
        /// Node of the container.
        node: NodeId,
        refusal: Refusal,
    },
    /// The job must give a container back.
    Evicted(EvictionRecord),
    /// The job began to wait for this reason, or the reason became another.
    Waits(Reason),
}

impl What {
    /// The part of the scheduler that decided.
    pub fn stage(&self) -> Stage {
        match self {
            What::Granted(_) => Stage::Engine,
            What::Refused { .. } => Stage::Host,
            What::Evicted(evicted) => match evicted.reason {
                EvictReason::MinShare | EvictReason::FairShare | EvictReason::Inside => {
                    Stage::Engine
                }
                EvictReason::Unpaid => Stage::Share,
                EvictReason::Displaced => Stage::Order,
            },
            What::Waits(reason) => reason.stage(),
        }
    }
}

/// A grant and the keys by which its queue and its job were next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantRecord {
    pub node: NodeId,
    pub ask: AskId,
    pub kind: Kind,
    /// Whether this is the ApplicationMaster.
    pub am: bool,
    /// Distance from the places that the ask named.
    pub locality: Locality,
    /// Whether the ask named places at all.
    pub named: bool,
    /// Containers that the ask still wants.
    pub left: u32,
    /// Key of the queue among its siblings before the grant.
    pub share: ShareKey,
    /// Key of the job in its queue.
    pub order: OrderKey,
}

/// An eviction and the numbers that were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvictionRecord {
    pub key: ContainerKey,
    /// Whether it stays, because preemption only observes.
    pub observed: bool,
    pub reason: EvictReason,
    /// Queue that loses the container.
    pub queue: QueueId,
    /// What that queue used: memory in MB, or slots for `Unpaid` and `Displaced`.
    pub used: i64,
    /// What that queue may keep, in the same unit; none if the share stage has no quota for it.
    pub entitled: Option<i64>,
    /// Memory in MB that the starved queues lacked; 0 for `Unpaid` and `Displaced`.
    pub lacking: i64,
}
