//! `heddle check-config`: checks configuration files before a cluster uses them.
//!
//! Parses `heddle.json` and the allocations file with the readers that the engine and the service
//! use. Prints a verdict on each element of a stock scheduler's file. Of Hadoop's site files it
//! checks only the part that concerns Heddle. Gives no advice on what suits a cluster.

mod environment;

use clap::Args;
use heddle_core::config::{Allocations, parse_json};
use heddle_core::setup::{faults_of_config, read_config, without_effect};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::site::{AUTHENTICATION, Site};
use crate::stock::{self, Stock};

/// The files to check.
#[derive(Args)]
pub(crate) struct Files {
    /// heddle.json, a fair-scheduler.xml, an allocations file, or Hadoop's site files in the order
    /// in which Hadoop reads them, such as core-site.xml mapred-site.xml: a reference may point
    /// from one to another, and YARN's schedulers read properties of yarn-site.xml as well.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The cluster's resource types, which shares in heddle.json may name.
    #[arg(long, value_delimiter = ',', default_value = "memory-mb,vcores")]
    resource_types: Vec<String>,
    /// Print what was found as JSON, on standard output also when something is wrong.
    #[arg(long)]
    json: bool,
}

/// The files, sorted by what they are.
#[derive(Default)]
struct Sorted<'f> {
    site: Site,
    site_files: usize,
    /// The names of heddle.json files that trust the web server's user.
    trusting: Vec<String>,
    stock: Vec<(Stock, &'f Path, String)>,
    json: Vec<(&'f Path, Value)>,
}

impl<'f> Sorted<'f> {
    /// Takes the properties of a site file.
    fn add_site(&mut self, file: &Path, text: &str) -> Result<(), String> {
        if !ends_with(file, ".json") && is_site(file, text) {
            self.site_files += 1;
            self.site.add(file, text)?;
        }
        Ok(())
    }

    /// Checks a file that is no site file, as far as it stands alone. Needs all site files.
    fn add(
        &mut self,
        file: &'f Path,
        text: String,
        resource_types: &[String],
    ) -> Result<(), Vec<String>> {
        if ends_with(file, ".json") {
            if trusts_web_user(&text) {
                self.trusting.push(file.display().to_string());
            }
            check_json(file, &text, resource_types)?;
            let json = serde_json::from_str(&text).unwrap_or_default();
            self.json.push((file, json));
            return Ok(());
        }
        let kind = stock::kind(&text, &self.site);
        if kind.is_none() && !is_site(file, &text) {
            return check_allocations(file, &text).map_err(|fault| vec![fault]);
        }
        // The properties of the Capacity Scheduler are one configuration, in whatever files.
        let known = |(known, ..): &(Stock, &Path, String)| *known == Stock::Capacity;
        if let Some(kind) = kind
            && (kind == Stock::Fair || !self.stock.iter().any(known))
        {
            self.stock.push((kind, file, text));
        }
        Ok(())
    }
}

/// Prints one line per fault, or a summary if there is none.
pub(crate) fn main(arguments: &Files) -> ExitCode {
    let types = &arguments.resource_types;
    let mut faults = Vec::new();
    let mut sorted = Sorted::default();
    let mut texts = Vec::new();
    for file in &arguments.files {
        match read(file).and_then(|text| sorted.add_site(file, &text).map(|_| text)) {
            Ok(text) => texts.push((file, text)),
            Err(fault) => faults.push(format!("{}{fault}", file.display())),
        }
    }
    for (file, text) in texts {
        if let Err(found) = sorted.add(file, text, types) {
            let found = found.iter();
            faults.extend(found.map(|fault| format!("{}{fault}", file.display())));
        }
    }
    let mut lines = Vec::new();
    for (kind, file, text) in &sorted.stock {
        match check_stock((*kind, file, text), &sorted, types) {
            Ok(mut said) => lines.append(&mut said),
            Err(mut found) => faults.append(&mut found),
        }
    }
    if sorted.stock.is_empty()
        && sorted.site_files > 0
        && let Err(fault) = stock::check_containers(&sorted.site)
    {
        faults.push(fault);
    }
    for line in &lines {
        match line.stops {
            true => faults.push(line.text.clone()),
            false if !arguments.json => println!("{}", line.text),
            false => {}
        }
    }
    let mut report = environment::Report::default();
    if sorted.site_files > 0 && faults.is_empty() {
        report = environment::check(&sorted.site);
        faults.append(&mut report.faults);
    }
    warn_of_trust(&sorted);
    let files = arguments.files.len();
    if arguments.json {
        let found = json!({
            "files": files,
            "faults": faults,
            "variables": report.variables,
            "variables_for_heddle": report.heddles,
            "elements": stock::report(&lines),
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

/// Warns of files that trust the web server's user where any caller may name any user.
fn warn_of_trust(sorted: &Sorted<'_>) {
    if !sorted.site.authenticates() {
        for file in &sorted.trusting {
            eprintln!(
                "{file}: key `api.trust_web_user`: true, and no site file sets \
                 {AUTHENTICATION} to anything but `simple`: a caller becomes any user, \
                 administrators as well, with `?user.name=NAME`; expected kerberos there, or \
                 false here (a warning)"
            );
        }
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

/// Translates the file of a stock scheduler, and checks what comes out, also under each
/// heddle.json.
fn check_stock(
    (kind, file, text): (Stock, &Path, &str),
    sorted: &Sorted<'_>,
    resource_types: &[String],
) -> Result<Vec<stock::Line>, Vec<String>> {
    let site = &sorted.site;
    let translated = stock::translate(kind, file, text, site, resource_types)?;
    let at = |fault: String| vec![format!("{}{fault}", file.display())];
    stock::check(&translated.config, site, resource_types).map_err(at)?;
    let mut lines = translated.lines;
    for (above, json) in &sorted.json {
        let merged = heddle_stock::merge(translated.config.clone(), json);
        stock::check(&merged, site, resource_types).map_err(|fault| {
            vec![format!(
                "{} over {}{fault}",
                above.display(),
                file.display()
            )]
        })?;
        let notes = heddle_stock::in_vain(&translated.config, &merged);
        let above = above.display();
        lines.extend(
            notes
                .iter()
                .map(|note| stock::line(&above.to_string(), note)),
        );
    }
    Ok(lines)
}

/// Reads a file in its encoding. Bytes that are none of it are left to the parser, which knows the
/// line.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!(": {error}"))?;
    heddle_stock::decode(&bytes).map_err(|fault| stock::placed(&fault))
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
    let allocations = Allocations::parse(text).map_err(|fault| stock::placed(&fault))?;
    for warning in &allocations.warnings {
        eprintln!("{}{} (a warning)", file.display(), stock::placed(warning));
    }
    Ok(())
}

fn check_json(file: &Path, text: &str, resource_types: &[String]) -> Result<(), Vec<String>> {
    let config = parse_json(text).map_err(|fault| vec![stock::placed(&fault)])?;
    let services = heddle_economy::check(&config).map_err(|error| format!(": {error}"));
    let read = read_config(&config, resource_types).map_err(|_| {
        let faults = faults_of_config(&config, resource_types).into_iter();
        let faults = faults.map(|error| format!(": {error}"));
        faults.chain(services.clone().err()).collect::<Vec<_>>()
    })?;
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
    for text in without_effect(&config, &config) {
        eprintln!("{}: {text} (a warning)", file.display());
    }
    services.map_err(|fault| vec![fault])
}
