//! The one form of a refusal: what is wrong, at which offset, and what to do.

use std::fmt;

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file; empty until `source` adds it.
    pub file: String,
    /// Where in the file, in bytes from 0, if the fault is at a place.
    pub offset: Option<u64>,
    /// What was found, and what was expected.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl Fault {
    /// A fault at an offset.
    pub(crate) fn at(offset: u64, problem: impl Into<String>, remedy: &str) -> Fault {
        Fault {
            file: String::new(),
            offset: Some(offset),
            problem: problem.into(),
            remedy: remedy.to_string(),
        }
    }

    /// A fault of a whole file, or of all together.
    pub(crate) fn whole(problem: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault {
            file: String::new(),
            offset: None,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        if let Some(offset) = self.offset {
            write!(f, "offset {offset}: ")?;
        }
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}

impl std::error::Error for Fault {}
