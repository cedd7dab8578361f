//! Explains what was decided of a job, why it waits, and what would change that. Decides nothing:
//! `why` asks what the search asks, of a `View` of the engine's books, and the stages tell their
//! own numbers (`Share::explain`, `Order::held`, `Ranking::explain`).
//!
//! `trace` notes decisions where they are made, and on the tick why jobs wait; `ring` keeps both.
//! `survey` counts the nodes, `remedy` works out what would help, `sentence` and `json` render it.

pub(crate) mod json;
mod remedy;
mod ring;
mod sentence;
mod survey;
mod trace;
mod view;
mod why;

pub(crate) use ring::{Ring, Rings};
pub(crate) use sentence::{Names, sentence};
pub(crate) use survey::Surveys;
pub(crate) use trace::Trace;
pub(crate) use view::{Answers, View};

use crate::model::wait::{Reason, Stage};
use crate::words::event::{EvictReason, Refusal};
use crate::words::ids::{AskId, ContainerKey, Locality, Millis, NodeId, QueueId};
use crate::words::keys::{OrderKey, ShareKey};
use crate::words::kind::Kind;

/// Something that was decided of a job, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// When, on the engine's clock.
    pub at_ms: Millis,
    pub what: What,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// It got a container.
    Granted(Granted),
    /// The host refused a grant.
    Refused {
        /// Where it would have run.
        node: NodeId,
        refusal: Refusal,
    },
    /// It is to give a container back.
    Evicted(Evicted),
    /// It waits, since then, and no longer for what it waited for before.
    Waits(Reason),
}

impl What {
    /// Who decided it.
    pub fn stage(&self) -> Stage {
        match self {
            What::Granted(_) => Stage::Engine,
            What::Refused { .. } => Stage::Host,
            What::Evicted(evicted) => match evicted.reason {
                EvictReason::MinShare | EvictReason::FairShare => Stage::Engine,
                EvictReason::Unpaid => Stage::Share,
                EvictReason::Displaced => Stage::Order,
            },
            What::Waits(reason) => reason.stage(),
        }
    }
}

/// A grant and the keys by which its queue and its job were next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Granted {
    pub node: NodeId,
    pub ask: AskId,
    pub kind: Kind,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// How near to what was asked for.
    pub locality: Locality,
    /// Whether the ask named places at all.
    pub named: bool,
    /// How many containers the ask still wants.
    pub left: u32,
    /// The key of its queue among its siblings before the grant.
    pub share: ShareKey,
    /// The key of the job in its queue.
    pub order: OrderKey,
}

/// An eviction and the numbers that were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evicted {
    pub key: ContainerKey,
    pub reason: EvictReason,
    /// The queue that it is taken from.
    pub queue: QueueId,
    /// What that queue held: memory in MB, or slots if it no longer pays for it.
    pub used: i64,
    /// What it may keep, in the same unit; none if the order of jobs decided.
    pub entitled: Option<i64>,
    /// What the starved queues lacked, memory in MB; 0 if the reason is another.
    pub lacking: i64,
}
