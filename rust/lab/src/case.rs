//! `heddle-lab case`: the pure calculations, open to checking from outside. Reads JSON, calls the
//! functions that the policies call, writes JSON. The format is in `docs/develop/cases.md`.

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
    /// HFSP.
    Hfsp,
    /// ShuffleWatcher.
    Shufflewatcher,
    /// The Reverse-Adaptive scheduler.
    Reverse,
}

/// A case that cannot be answered: where in the input, and what was expected there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CaseError {
    /// The JSON path, such as `$.users[0].rate`.
    pub(crate) path: String,
    /// What was expected and what was found.
    pub(crate) problem: String,
}

impl CaseError {
    /// An error at `path`.
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

/// Exit code 0 with the answer, 2 with a message for input that cannot be answered.
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
