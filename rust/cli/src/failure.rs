//! The one form of failure for commands that talk to a ResourceManager or a store, with an exit
//! code for scripts. Catches nothing itself.

use crate::clean::clean;
use std::fmt;
use std::process::ExitCode;

/// The kind of a failure. `docs/operating.md` and the manual list the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The server or the store refused the request.
    Refused = 1,
    /// The command cannot be understood, or lacks something.
    Usage = 2,
    /// No server or store that could answer is there; the same may succeed later.
    Unreachable = 3,
    /// In force, but not yet written down: a kill of the ResourceManager would lose it.
    Later = 4,
}

/// Says what is wrong, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) what: String,
    pub(crate) at: String,
    pub(crate) remedy: String,
}

impl Failure {
    pub(crate) fn new(
        kind: Kind,
        what: impl Into<String>,
        at: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Failure {
        Failure {
            kind,
            what: what.into(),
            at: at.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn usage(
        what: impl Into<String>,
        at: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Failure {
        Failure::new(Kind::Usage, what, at, remedy)
    }

    /// Reports that standard output takes no more.
    pub(crate) fn output(error: &std::io::Error) -> Failure {
        let what = error.to_string();
        Failure::new(
            Kind::Refused,
            what,
            "standard output",
            "an output that can be written",
        )
    }
}

/// Parts may come from an untrusted server, so each is cleaned before it reaches a terminal.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "heddle: {}", clean(&self.what))?;
        for (name, text) in [("where", &self.at), ("expected", &self.remedy)] {
            if !text.is_empty() {
                write!(f, "\n  {name}: {}", clean(text))?;
            }
        }
        Ok(())
    }
}

/// Returns the exit code of a command; prints a failure on standard error.
pub(crate) fn exit(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.kind as u8)
        }
    }
}
