//! `heddle-lab`: the papers' calculations and experiments from the command line.

mod case;
mod experiments;

use clap::Parser;
use heddle_lab::growth;
use std::path::PathBuf;
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
    /// Draws what grows with a cluster, from the raw results of `./x bench --scale`.
    Growth {
        /// The folder of the raw results.
        #[arg(default_value = growth::RESULTS)]
        results: PathBuf,
        /// Where the plots go.
        #[arg(long, default_value = growth::PICTURES)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Case { system } => case::main(system),
        Command::Papers(papers) => experiments::main(&papers),
        Command::Growth { results, out } => match growth::draw(&results, &out) {
            Ok(drawn) => {
                drawn.iter().for_each(|path| println!("{}", path.display()));
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("heddle-lab growth: {why}");
                ExitCode::FAILURE
            }
        },
    }
}
