//! Why a submission gets no queue.

use crate::words::ids::QueueId;

/// Why a rule finds no queue.
pub(super) enum Miss {
    /// The rule's fallback decides what happens next.
    Unusable(String),
    /// The same, of a queue that is there: its own rights decide who may read why.
    Useless(QueueId, String),
    /// The submission is refused whatever the rule says.
    Refused(String),
}

/// Why no rule has a queue for a submission.
#[derive(Debug, PartialEq)]
pub struct Unplaced {
    /// For the submitter.
    pub why: String,
    /// The queues that rules led to, which cannot be used.
    pub found: Vec<QueueId>,
}

impl Miss {
    /// Why; adds the queue that it is about to those that were found.
    pub(super) fn why(self, found: &mut Vec<QueueId>) -> String {
        match self {
            Miss::Unusable(why) | Miss::Refused(why) => why,
            Miss::Useless(queue, why) => {
                found.push(queue);
                why
            }
        }
    }
}
