//! Filters the facts that the engine hears beyond YARN's own books, by source. On a real cluster
//! any of them may be missing. Only removes facts; other files produce them.

use heddle_core::words::event::{Event, JobHints};

/// A source of facts that YARN's books do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The number of a job's tasks: from its environment or its ApplicationMaster.
    Totals,
    /// Other claims at submission: goal, lengths, ratio, signature, input.
    Claims,
    /// The racks that hold its input, block by block.
    Blocks,
    /// The progress of its tasks and the bytes that they moved.
    Progress,
    /// Measurements of the links between racks.
    Traffic,
    /// Foreign load on the nodes.
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

/// Returns the event without the facts of these sources; none if nothing is left of it.
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
