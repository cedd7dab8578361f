//! Selects the checks of a simulation. The module `check` implements them.

/// The enabled checks. A panic of the engine is always a failure, and so is a decision that the
/// books cannot record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The engine's own invariants.
    pub invariants: bool,
    /// The engine's books against the host's.
    pub books: bool,
    /// Every decision.
    pub decisions: bool,
    /// Which jobs may run.
    pub running_jobs: bool,
    /// Nodes use their room, and no ask is held back for longer than stated.
    pub conservation: bool,
    /// Every ask that can run does so in the end.
    pub starvation: bool,
    /// Nothing is left at the end, and no event was ignored on the way.
    pub left_over: bool,
}

impl Checks {
    /// Every check.
    pub fn all() -> Checks {
        Checks {
            invariants: true,
            books: true,
            decisions: true,
            running_jobs: true,
            conservation: true,
            starvation: true,
            left_over: true,
        }
    }

    /// No check, for speed.
    pub fn none() -> Checks {
        Checks {
            invariants: false,
            books: false,
            decisions: false,
            running_jobs: false,
            conservation: false,
            starvation: false,
            left_over: false,
        }
    }
}
