//! `heddle check-config`: checks configuration files before a cluster uses them.
//!
//! Parses `heddle.json` and the allocations file with the readers that the engine and the service
//! use. Of Hadoop's site files it checks only the part that concerns Heddle. Reports what cannot
//! work, and gives no advice on what suits a cluster.

mod environment;
mod site;

use clap::Args;
use heddle_core::config::{Allocations, Fault};
use heddle_core::setup::read_config;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use site::{AUTHENTICATION, Site};

/// The files to check.
#[derive(Args)]
pub(crate) struct Files {
    /// heddle.json, an allocations file, or Hadoop's site files in the order in which Hadoop reads
    /// them, such as core-site.xml mapred-site.xml: a reference may point from one to another.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The cluster's resource types, which shares in heddle.json may name.
    #[arg(long, value_delimiter = ',', default_value = "memory-mb,vcores")]
    resource_types: Vec<String>,
    /// Print what was found as JSON, on standard output also when something is wrong.
    #[arg(long)]
    json: bool,
}

/// Prints one line per fault, or a summary if there is none.
pub(crate) fn main(arguments: &Files) -> ExitCode {
    let mut faults = Vec::new();
    let mut site = Site::default();
    let mut site_files = 0;
    let mut trusting = Vec::new();
    for file in &arguments.files {
        let checked = read(file).and_then(|text| {
            if ends_with(file, ".json") {
                if trusts_web_user(&text) {
                    trusting.push(file.display().to_string());
                }
                check_json(file, &text, &arguments.resource_types)
            } else if is_site(file, &text) {
                site_files += 1;
                site.add(file, &text)
            } else {
                check_allocations(file, &text)
            }
        });
        if let Err(fault) = checked {
            faults.push(format!("{}{fault}", file.display()));
        }
    }
    let mut report = environment::Report::default();
    if site_files > 0 && faults.is_empty() {
        report = environment::check(&site);
        faults.append(&mut report.faults);
    }
    if !site.authenticates() {
        for file in trusting {
            eprintln!(
                "{file}: key `api.trust_web_user`: true, and no site file sets \
                 {AUTHENTICATION} to anything but `simple`: a caller becomes any user, \
                 administrators as well, with `?user.name=NAME`; expected kerberos there, or \
                 false here (a warning)"
            );
        }
    }
    let files = arguments.files.len();
    if arguments.json {
        let found = json!({
            "files": files,
            "faults": faults,
            "variables": report.variables,
            "variables_for_heddle": report.heddles,
        });
        println!("{found:#}");
    } else if faults.is_empty() {
        println!("{} checked, no fault{}", count(files), described(&report));
    } else {
        faults.iter().for_each(|fault| eprintln!("{fault}"));
    }
    match faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Returns whether `heddle.json` trusts the user name that the web server reports.
fn trusts_web_user(text: &str) -> bool {
    let config = serde_json::from_str::<Value>(text).unwrap_or_default();
    config["api"]["trust_web_user"] == true
}

/// Summarizes the variables that the site files set; empty without site files.
fn described(report: &environment::Report) -> String {
    let variables = match report.variables {
        0 => return String::new(),
        1 => "1 variable".to_owned(),
        more => format!("{more} variables"),
    };
    format!(
        "; {variables} of ApplicationMasters, {} of them for Heddle",
        report.heddles
    )
}

fn count(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        more => format!("{more} files"),
    }
}

/// Reads a file lossily. Invalid UTF-8 is left to the parser, which knows the line.
fn read(file: &Path) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!(": {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ends_with(file: &Path, ending: &str) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().ends_with(ending)
}

/// Returns whether a file is one of Hadoop's site files, by its name or else by its content. An
/// allocations file may have any name.
fn is_site(file: &Path, text: &str) -> bool {
    ends_with(file, "-site.xml")
        || ends_with(file, "-default.xml")
        || text.contains("<configuration")
}

/// Prints ignored elements as warnings, not as faults: files of later versions contain more.
fn check_allocations(file: &Path, text: &str) -> Result<(), String> {
    let said = |fault: &Fault| match fault.line {
        0 => format!(": {}", fault.problem),
        line => format!(":{line}: {}", fault.problem),
    };
    let allocations = Allocations::parse(text).map_err(|fault| said(&fault))?;
    for warning in &allocations.warnings {
        eprintln!("{}{} (a warning)", file.display(), said(warning));
    }
    Ok(())
}

fn check_json(file: &Path, text: &str, resource_types: &[String]) -> Result<(), String> {
    let config: Value = serde_json::from_str(text)
        .map_err(|error| format!(":{}: {error}; expected JSON", error.line()))?;
    let read = read_config(&config, resource_types).map_err(|error| format!(": {error}"))?;
    let spared = read
        .queues
        .iter()
        .filter(|queue| queue.preempt_opaque == Some(false));
    for queue in spared.filter(|_| read.takes_back()) {
        eprintln!(
            "{}: queue `{}`: preemption takes nothing from applications other than MapReduce \
             there (preempt_opaque is false; a warning)",
            file.display(),
            queue.path
        );
    }
    heddle_economy::check(&config).map_err(|error| format!(": {error}"))
}
