//! `heddle-lab case`: opens the pure calculations to independent checks. Reads JSON, calls the
//! functions that the policies call, and writes JSON. `docs/develop/cases.md` describes the format.

mod dp;
mod fair;
mod hfsp;
mod input;
mod reverse;
mod shufflewatcher;

use clap::ValueEnum;
use serde_json::Value;
use std::fmt;
use std::io::{Read, Write};
use std::process::ExitCode;

/// The five systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub(crate) enum System {
    /// Dynamic Priority.
    Dp,
    /// The original Fair Scheduler.
    Fair,
    Hfsp,
    Shufflewatcher,
    /// The Reverse-Adaptive scheduler.
    Reverse,
}

/// A malformed case: the place in the input, and what was expected there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CaseError {
    /// The JSON path, such as `$.users[0].rate`.
    pub(crate) path: String,
    /// The expected and the found value.
    pub(crate) problem: String,
}

impl CaseError {
    /// Creates an error at `path`.
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> CaseError {
        CaseError {
            path: path.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

/// Answers one case, or each of a list of cases.
pub(crate) fn answer(system: System, input: &Value) -> Result<Value, CaseError> {
    match input {
        Value::Array(cases) => {
            let one = |(i, case)| answer_one(system, case, &format!("$[{i}]"));
            let answers: Result<Vec<Value>, CaseError> =
                cases.iter().enumerate().map(one).collect();
            answers.map(Value::Array)
        }
        case => answer_one(system, case, "$"),
    }
}

fn answer_one(system: System, case: &Value, path: &str) -> Result<Value, CaseError> {
    match system {
        System::Dp => dp::answer(case, path),
        System::Fair => fair::answer(case, path),
        System::Hfsp => hfsp::answer(case, path),
        System::Shufflewatcher => shufflewatcher::answer(case, path),
        System::Reverse => reverse::answer(case, path),
    }
}

/// Answers standard input. Exits with 0, with 2 and a message if the input is malformed, or with 1
/// if the answer cannot be written.
pub(crate) fn main(system: System) -> ExitCode {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        eprintln!("heddle-lab case: cannot read standard input: {error}");
        return ExitCode::from(2);
    }
    let answer = serde_json::from_str(&text)
        .map_err(|error| CaseError::new("$", format!("not JSON: {error}")))
        .and_then(|input| answer(system, &input));
    match answer {
        Ok(answer) => match writeln!(std::io::stdout(), "{answer:#}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            eprintln!("heddle-lab case: {error}");
            ExitCode::from(2)
        }
    }
}
