//! Filters the facts that the engine hears beyond YARN's own books, by source. On a real cluster
//! any of them may be missing. Only removes facts; other files produce them.

use heddle_core::words::event::{Event, JobHints};
use std::fmt;

/// A source of facts that YARN's books do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The number of a job's tasks: from its environment or its ApplicationMaster.
    Totals,
    /// A job's goal and its signature.
    Claims,
    /// A job's profile: size of its input, shuffle ratio, lengths of its tasks.
    Profile,
    /// The racks that hold its input, block by block.
    Blocks,
    /// The progress of its tasks and the bytes that they moved.
    Progress,
    /// The work of all its tasks, as its ApplicationMaster counts it.
    Counters,
    /// When its containers launch and end.
    Lengths,
    /// Measurements of the links between racks.
    Traffic,
    /// Foreign load on the nodes.
    NodeLoad,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 9] = [
        Source::Totals,
        Source::Claims,
        Source::Profile,
        Source::Blocks,
        Source::Progress,
        Source::Counters,
        Source::Lengths,
        Source::Traffic,
        Source::NodeLoad,
    ];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Totals => "totals",
            Source::Claims => "claims",
            Source::Profile => "profile",
            Source::Blocks => "blocks",
            Source::Progress => "progress",
            Source::Counters => "counters",
            Source::Lengths => "lengths",
            Source::Traffic => "traffic",
            Source::NodeLoad => "load",
        })
    }
}

/// Takes from an event the facts that the engine lacks, by source. Returns whether anything is left
/// of it.
pub(super) fn hear(event: &mut Event, lacks: impl Fn(Source) -> bool) -> bool {
    match event {
        Event::JobHints { hints, .. } => {
            if lacks(Source::Totals) {
                hints.tasks = [None; 2];
            }
            if lacks(Source::Claims) {
                hints.deadline_ms = None;
                hints.signature = None;
            }
            if lacks(Source::Profile) {
                hints.input_bytes = None;
                hints.shuffle_per_mille = None;
                hints.task_ms = [None; 2];
            }
            *hints != JobHints::default()
        }
        Event::InputBlocks { .. } => !lacks(Source::Blocks),
        Event::Task { .. } => !lacks(Source::Progress),
        Event::JobCounters { .. } => !lacks(Source::Counters),
        // The ends are in YARN's books.
        Event::ContainerLaunched { .. } => !lacks(Source::Lengths),
        Event::RackTraffic { .. } => !lacks(Source::Traffic),
        Event::NodeLoad { .. } => !lacks(Source::NodeLoad),
        _ => true,
    }
}
