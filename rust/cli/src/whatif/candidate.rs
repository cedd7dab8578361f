//! The configurations to try: policies by name, and files of Heddle or of a stock scheduler.

use crate::failure::Failure;
use crate::site::Site;
use crate::stock::{self, Stock};
use heddle_sim::policies;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A configuration with its name in reports.
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) config: Value,
}

/// Returns all candidates, in the order of the arguments.
pub(crate) fn all(
    names: &[String],
    files: &[PathBuf],
    sites: &[PathBuf],
) -> Result<Vec<Candidate>, Failure> {
    let mut all: Vec<Candidate> = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let config = policies::by_name(name);
        let config = config.map_err(|error| Failure::usage(error, "--policies", ""))?;
        all.push(Candidate {
            name: name.clone(),
            config,
        });
    }
    for file in files {
        let config = from_file(file, sites).map_err(|problem| {
            let expected = "heddle.json, or a stock file that `heddle check-config` accepts";
            Failure::usage(problem, file.display().to_string(), expected)
        })?;
        all.push(Candidate {
            name: file.display().to_string(),
            config,
        });
    }
    // The first candidate is what the others are compared with.
    if all.is_empty() {
        let remedy = "a policy such as `fair`, or a file with --config";
        let what = "there is nothing to try";
        return Err(Failure::usage(what, "--policies, --config", remedy));
    }
    let again = (1..all.len()).find(|at| all[..*at].iter().any(|one| one.name == all[*at].name));
    match again {
        Some(at) => {
            let what = format!("`{}` is named twice", all[at].name);
            Err(Failure::usage(
                what,
                "--policies, --config",
                "each candidate once",
            ))
        }
        None => Ok(all),
    }
}

fn from_file(file: &Path, sites: &[PathBuf]) -> Result<Value, String> {
    let text = crate::check_config::read(file)?;
    let mut site = Site::default();
    for path in sites {
        let text = crate::check_config::read(path);
        let added = text.and_then(|text| site.add(path, &text));
        added.map_err(|fault| format!("{}{fault}", path.display()))?;
    }
    let Some(kind) = stock::kind(&text, &site) else {
        return serde_json::from_str(&text).map_err(|error| error.to_string());
    };
    if kind == Stock::Capacity {
        site.add(file, &text)?;
    }
    let translated = stock::translate(kind, file, &text, &site, &[]);
    let translated = translated.map_err(|mut faults| faults.swap_remove(0))?;
    match translated.lines.iter().find(|line| line.stops) {
        Some(line) => Err(line.text.clone()),
        None => Ok(translated.config),
    }
}
