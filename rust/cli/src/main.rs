//! `heddle`: the command line. Parses arguments and prints; what it answers is worked out by the
//! core's functions and by the simulator.

mod case;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Heddle, a scheduler for Apache Hadoop YARN.
#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answers cases of pure calculation: JSON on standard input, JSON on standard output.
    Case {
        /// Whose calculation.
        #[arg(value_enum)]
        system: case::System,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Case { system } => case::main(system),
    }
}
