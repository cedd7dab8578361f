//! What a check found wrong. No check lives here.

use std::fmt;

/// Which check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// The engine panicked.
    Panic,
    /// `Engine::check_invariants`.
    Invariants,
    /// The engine's books differ from the host's.
    Books,
    /// A decision that YARN would have to refuse, or that breaks a limit.
    Decision,
    /// A job that may not run runs, or one that may does not.
    RunningJobs,
    /// Room was left that a pending ask may use.
    Conservation,
    /// An ask was held back for longer than stated.
    Delay,
    /// Nothing is served though something could be.
    Starvation,
    /// Something is left over at the end, or the engine ignored what it must know.
    LeftOver,
}

/// A check that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which.
    pub check: Check,
    /// What was found, in words, with the figures.
    pub what: String,
    /// The last events and decisions before it, oldest first.
    pub recent: Vec<String>,
}

impl Failure {
    /// A failure; what happened before is added where it is known.
    pub fn new(check: Check, what: impl Into<String>) -> Failure {
        Failure {
            check,
            what: what.into(),
            recent: Vec::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.recent {
            writeln!(f, "  {line}")?;
        }
        write!(f, "{:?}: {}", self.check, self.what)
    }
}

/// The result of something that was checked.
pub type Checked<T = ()> = Result<T, Failure>;
