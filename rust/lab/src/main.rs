//! `heddle-lab`: the papers' calculations and experiments from the command line.

mod case;
mod experiments;

use clap::Parser;
use std::process::ExitCode;

/// Heddle's laboratory: the papers' calculations and experiments.
#[derive(Parser)]
#[command(name = "heddle-lab", version, max_term_width = 100)]
enum Command {
    /// Answers cases of pure calculation: JSON on standard input, JSON on standard output.
    Case {
        /// Whose calculation.
        #[arg(value_enum)]
        system: case::System,
    },
    /// The papers' experiments in the simulator, their numbers beside ours.
    Papers(experiments::Papers),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Case { system } => case::main(system),
        Command::Papers(papers) => experiments::main(&papers),
    }
}
