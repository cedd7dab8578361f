//! What goes wrong in commands that talk to a ResourceManager or a store: said in the same form
//! by all of them, with the exit code that a script can go by. Catches nothing itself.

use crate::clean::clean;
use std::fmt;
use std::process::ExitCode;

/// Of what kind it is. `docs/operating.md` and the manual have the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Asked for, and not done: the answer is no.
    Refused = 1,
    /// The command cannot be understood, or lacks something.
    Usage = 2,
    /// Nobody who could answer is there; the same may succeed later.
    Unreachable = 3,
    /// Done, and not yet written down: a kill of the ResourceManager would lose it.
    Later = 4,
}

/// What is wrong, where, and what to do about it.
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

    /// Standard output does not take any more.
    pub(crate) fn output(error: &std::io::Error) -> Failure {
        let what = error.to_string();
        Failure::new(Kind::Refused, what, "standard output", "room to write to")
    }
}

/// Parts may come from a server that is not to be trusted, so none reaches a terminal as it is.
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

/// The exit code of a command; a failure is told on standard error.
pub(crate) fn exit(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.kind as u8)
        }
    }
}
