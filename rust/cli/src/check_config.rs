//! `heddle check-config`: configuration files, checked before they do harm. `heddle.json` is read
//! by the engine's own reader; of Hadoop's site files the part is checked that concerns Heddle. No
//! check of what is right for a cluster, only of what cannot work.

mod environment;
mod site;

use clap::Args;
use heddle_core::Config;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use site::Site;

/// Which files are checked, and against what.
#[derive(Args)]
pub(crate) struct Files {
    /// heddle.json, or Hadoop's site files in the order in which Hadoop reads them, such as
    /// core-site.xml mapred-site.xml: a reference may point from one to another.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The cluster's resource types, which shares in heddle.json may name.
    #[arg(long, value_delimiter = ',', default_value = "memory-mb,vcores")]
    resource_types: Vec<String>,
}

/// Prints what is wrong, one line each, or what was found to be right.
pub(crate) fn main(arguments: &Files) -> ExitCode {
    let mut faults = Vec::new();
    let mut site = Site::default();
    let mut site_files = 0;
    for file in &arguments.files {
        let checked = if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            check_json(file, &arguments.resource_types)
        } else {
            site_files += 1;
            read(file).and_then(|text| site.add(file, &text))
        };
        if let Err(fault) = checked {
            faults.push(format!("{}{fault}", file.display()));
        }
    }
    let mut summary = String::new();
    if site_files > 0 && faults.is_empty() {
        let report = environment::check(&site);
        faults = report.faults;
        summary = format!(
            "; {} variables of ApplicationMasters, {} of them hints for Heddle",
            report.variables, report.hints
        );
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        return ExitCode::FAILURE;
    }
    println!(
        "{} checked, no fault{summary}",
        count(arguments.files.len())
    );
    ExitCode::SUCCESS
}

fn count(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        more => format!("{more} files"),
    }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!(": {error}"))
}

fn check_json(file: &Path, resource_types: &[String]) -> Result<(), String> {
    let text = read(file)?;
    let config: Value = serde_json::from_str(&text)
        .map_err(|error| format!(":{}: {error}; expected JSON", error.line()))?;
    Config::from_json(&config, resource_types).map_err(|error| format!(": {error}"))?;
    Ok(())
}
