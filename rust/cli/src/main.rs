//! `heddle`: the command line. Parses arguments and prints answers, which come from the core, the
//! simulator, or a ResourceManager.

mod check_config;
mod clean;
mod convert;
mod economy;
mod failure;
mod manual;
mod plots;
mod purse;
mod remote;
mod replay;
mod report;
mod simulate;
mod site;
mod stock;
mod store;
mod terminal;
mod whatif;

use clap::{CommandFactory, Parser, Subcommand};
use heddle_core::catalogue::PRESETS;
use std::path::PathBuf;
use std::process::ExitCode;

/// Heddle, a scheduler for Apache Hadoop YARN.
#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 100, after_help = manual::after_help())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Economy(economy::Command),
    /// The store that accounts and ledger are kept in.
    #[command(subcommand)]
    Store(store::Command),
    /// Imports a budget file of the published scheduler into a store.
    ImportBudget(store::Import),
    /// Shows and fills the purses that the sub-clusters of a federation share.
    Purse(purse::Arguments),
    /// Simulates a cluster under a policy and prints the results as JSON.
    Simulate {
        #[command(flatten)]
        what: simulate::What,
        /// A preset, a baseline, or share/order/place.
        #[arg(long, default_value = PRESETS[0].name)]
        policy: String,
        /// Where to write tables (CSV, JSON) and plots (SVG).
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Simulates the same under several policies and prints a line for each.
    Compare {
        #[command(flatten)]
        what: simulate::What,
        /// Policies, with commas between them.
        #[arg(long, value_delimiter = ',', required = true)]
        policies: Vec<String>,
        /// Where to write tables and plots, a folder for each policy.
        #[arg(long)]
        out: Option<PathBuf>,
        /// All summaries as a list in JSON instead of lines.
        #[arg(long)]
        json: bool,
    },
    /// Predicts what other policies, configurations and cluster sizes had made of a history.
    #[command(name = "whatif")]
    WhatIf {
        #[command(flatten)]
        what: whatif::What,
    },
    /// Checks heddle.json, the file of a stock scheduler, or what Hadoop's site files hand to
    /// MapReduce's ApplicationMasters.
    CheckConfig {
        #[command(flatten)]
        files: check_config::Files,
    },
    /// Prints the heddle.json that means the same as a stock scheduler's file.
    Convert {
        #[command(flatten)]
        source: convert::Source,
    },
    /// Runs a journal, recorded with heddle.journal.path, through the engine again.
    Replay {
        #[command(flatten)]
        journal: replay::Journal,
    },
    /// Completions of this command for a shell, on standard output.
    Completions {
        #[arg(value_enum)]
        shell: manual::For,
    },
    /// The manual page, on standard output: `heddle man | man -l -`.
    Man,
}

fn main() -> ExitCode {
    // Quiet unless HEDDLE_LOG asks for more: scripts read what is printed.
    let quiet = env_logger::Env::new().filter_or("HEDDLE_LOG", "off");
    let logger = env_logger::Builder::from_env(quiet).build();
    let level = logger.filter();
    heddle::logs::install_with(logger, level);
    match Arguments::parse().command {
        Command::Economy(command) => economy::main(&command),
        Command::Store(command) => store::main(&command),
        Command::ImportBudget(import) => store::import(&import),
        Command::Purse(arguments) => purse::main(&arguments),
        Command::Completions { shell } => manual::completions(shell, Arguments::command()),
        Command::Man => manual::man(Arguments::command()),
        Command::CheckConfig { files } => check_config::main(&files),
        Command::Convert { source } => convert::main(&source),
        Command::WhatIf { what } => whatif::main(&what),
        Command::Replay { journal } => replay::main(&journal),
        Command::Simulate { what, policy, out } => {
            simulate::simulate(&what, &policy, out.as_deref())
        }
        Command::Compare {
            what,
            policies,
            out,
            json,
        } => simulate::compare(&what, &policies, out.as_deref(), json),
    }
}
