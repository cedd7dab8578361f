//! `heddle convert`: prints the `heddle.json` that means the same as a stock scheduler's file. What
//! it does not mean exactly goes to standard error. Changes no file.

use crate::site::Site;
use crate::stock::{self, Stock};
use crate::terminal::print_json;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file to convert, and its site.
#[derive(Args)]
pub(crate) struct Source {
    /// A fair-scheduler.xml or capacity-scheduler.xml of YARN's own schedulers.
    file: PathBuf,
    /// Hadoop's site files in the order in which Hadoop reads them: the last one is yarn-site.xml,
    /// whose properties the scheduler reads as well.
    #[arg(long, value_name = "FILE")]
    site: Vec<PathBuf>,
    /// The cluster's resource types, if they are not in a site file.
    #[arg(long, value_delimiter = ',', default_value = "memory-mb,vcores")]
    resource_types: Vec<String>,
}

pub(crate) fn main(source: &Source) -> ExitCode {
    match convert(source) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(faults) => {
            for fault in &faults {
                eprintln!("{}", crate::clean::clean(fault));
            }
            ExitCode::FAILURE
        }
    }
}

/// Returns whether a start with the file would go on.
fn convert(source: &Source) -> Result<bool, Vec<String>> {
    let named = |file: &Path, fault: String| vec![format!("{}{fault}", file.display())];
    let mut site = Site::default();
    for file in &source.site {
        let read = crate::check_config::read(file).and_then(|text| site.add(file, &text));
        read.map_err(|fault| named(file, fault))?;
    }
    let file = &source.file;
    let text = crate::check_config::read(file).map_err(|fault| named(file, fault))?;
    let kind = stock::kind(&text, &site).unwrap_or(Stock::Fair);
    if kind == Stock::Capacity {
        site.add(file, &text).map_err(|fault| named(file, fault))?;
    }
    let translated = stock::translate(kind, file, &text, &site, &source.resource_types)?;
    for line in &translated.lines {
        if line.verdict != "exact" {
            eprintln!("{}", line.text);
        }
    }
    print_json(&translated.config).map_err(|failure| vec![failure.to_string()])?;
    Ok(!translated.lines.iter().any(|line| line.stops))
}
