//! Which checks of a simulation run. What they are is in `check`.

/// Which checks run. A panic of the engine is always a failure, as is a decision so wrong that
/// the books cannot take it.
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
    /// Room is used, and nobody is held back for longer than stated.
    pub conservation: bool,
    /// Who can be served is served in the end.
    pub starvation: bool,
    /// Nothing is left at the end, and nothing was ignored on the way.
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

    /// No check: for speed.
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
