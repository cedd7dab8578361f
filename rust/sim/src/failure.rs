//! A failed check and its report. No check lives here.

use std::fmt;

/// Identifies a check.
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
    /// A job runs that may not, or one waits that may run.
    RunningJobs,
    /// A node kept room that a pending ask may use.
    Conservation,
    /// An ask was held back for longer than stated.
    Delay,
    /// A pending ask could run but never does.
    Starvation,
    /// Something is left over at the end, or the engine ignored an event that it must understand.
    LeftOver,
}

/// A check that did not hold.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The check.
    pub check: Check,
    /// The finding in words, with figures.
    pub what: String,
    /// The last events and decisions before it, oldest first.
    pub recent: Vec<String>,
}

impl Failure {
    /// Creates a failure; `Link::explain` adds the recent events.
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

/// The result of a check.
pub type Checked<T = ()> = Result<T, Failure>;
