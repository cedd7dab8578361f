//! What an engine hears beyond YARN's own books, by source, so that each can be taken away: on a
//! real cluster any of them may be missing. Takes away only; what is told is made elsewhere.

use heddle_core::words::event::{Event, JobHints};

/// Where facts come from that YARN's books do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// How many tasks a job has: its environment's word, or its ApplicationMaster's.
    Totals,
    /// What its submission claims besides: goal, lengths, ratio, signature, input.
    Claims,
    /// Which racks hold its input, block by block.
    Blocks,
    /// How far its tasks are and what they have moved.
    Progress,
    /// Measurements of the links between racks.
    Traffic,
    /// What else runs on the nodes.
    NodeLoad,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 6] = [
        Source::Totals,
        Source::Claims,
        Source::Blocks,
        Source::Progress,
        Source::Traffic,
        Source::NodeLoad,
    ];
}

/// The event as an engine hears it that lacks these sources; none if nothing is left of it.
pub(super) fn heard(mut event: Event, withheld: &[Source]) -> Option<Event> {
    let lacks = |source| withheld.contains(&source);
    match &mut event {
        Event::JobHints { hints, .. } => {
            if lacks(Source::Claims) {
                let tasks = hints.tasks;
                *hints = JobHints {
                    tasks,
                    ..JobHints::default()
                };
            }
            if lacks(Source::Totals) {
                hints.tasks = [None; 2];
            }
            (*hints != JobHints::default()).then_some(event)
        }
        Event::InputBlocks { .. } if lacks(Source::Blocks) => None,
        Event::Task { .. } if lacks(Source::Progress) => None,
        Event::RackTraffic { .. } if lacks(Source::Traffic) => None,
        Event::NodeLoad { .. } if lacks(Source::NodeLoad) => None,
        _ => Some(event),
    }
}
