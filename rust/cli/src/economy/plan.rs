//! `heddle plan`: asks a ResourceManager what a configuration would change. Changes nothing.

use super::list;
use crate::failure::Failure;
use crate::remote::{Client, Holds, Server};
use crate::terminal::{clean, print, said, table};
use crate::whatif;
use clap::Args;
use heddle_core::config::parse_json;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct Plan {
    /// The heddle.json that would come into force. `heddle convert` makes one of a stock
    /// scheduler's file.
    file: PathBuf,
    /// A journal of this ResourceManager, on this machine: predicts its jobs under the
    /// configuration in force and under FILE, too.
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
}

impl Plan {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let (_, config) = read(&self.file)?;
        let client = Client::new(&self.server)?;
        let answer = client.change("POST", "plan", Some(&config), Holds::List("queues"))?;
        match self.server.json {
            true => print(&answer.shown())?,
            false => print(&shown(&answer.json))?,
        }
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        if let Some(kind) = answer.json["over"].as_str() {
            let what = format!("heddle.json lies over the file of the {kind} scheduler there");
            let remedy =
                "`heddle whatif` with that file, or with what `heddle convert` makes of it";
            return Err(Failure::usage(what, "--journal", remedy));
        }
        let now = client.get("configuration/file", "", Holds::Text("text"))?;
        let now = parsed(&said(&now.json["text"]), &said(&now.json["file"]))?;
        let next = self.file.display().to_string();
        whatif::of_journal(
            journal,
            [("in force", now), (&next, config)],
            self.server.json,
        )
    }
}

/// Reads a `heddle.json`; returns its text and its content.
pub(super) fn read(file: &Path) -> Result<(String, Value), Failure> {
    let at = file.display().to_string();
    let text = crate::check_config::read(file);
    let text = text.map_err(|why| Failure::usage(why, at.as_str(), "a file to read"))?;
    if text.trim_start().starts_with('<') {
        let what = "this is XML, as the files of the stock schedulers are";
        let remedy = format!("a heddle.json, such as `heddle convert {at}` prints");
        return Err(Failure::usage(what, at, remedy));
    }
    let config = parsed(&text, &at)?;
    Ok((text, config))
}

/// Parses the text of a `heddle.json`.
pub(super) fn parsed(text: &str, at: &str) -> Result<Value, Failure> {
    parse_json(text).map_err(|why| {
        let expected = "a file that `heddle check-config` finds no fault with";
        Failure::usage(why.to_string(), at, expected)
    })
}

/// Formats the stages, what is taken back, and a row for each queue that differs.
pub(super) fn shown(plan: &Value) -> String {
    let stages = |key: &str| {
        let names: Vec<String> = list(&plan[key]).iter().map(said).collect();
        names.join("/")
    };
    let (before, after) = (stages("before"), stages("after"));
    let policy = match before == after {
        true => format!("the policy stays {after}"),
        false => format!("the policy changes from {before} to {after}"),
    };
    let seconds = plan["ahead_ms"].as_u64().unwrap_or(0) / 1_000;
    let taken = match plan["taken_back"].as_u64() {
        Some(0) => format!("no container would be taken back within {seconds} s"),
        _ => {
            let count = said(&plan["taken_back"]);
            format!("{count} containers would be taken back within {seconds} s if nothing ended")
        }
    };
    let row = |queue: &Value| {
        vec![
            said(&queue["path"]),
            said(&queue["change"]),
            said(&queue["jobs"]),
            both(&queue["fair_share"], |share| &share["memory-mb"]),
            both(&queue["weight"], |weight| weight),
            both(&queue["min_share"], |share| &share["memory-mb"]),
            both(&queue["max_share"], |share| &share["memory-mb"]),
            both(&queue["max_running_jobs"], |jobs| jobs),
            said(&queue["taken_back"]),
        ]
    };
    let rows: Vec<Vec<String>> = list(&plan["queues"]).iter().map(row).collect();
    let mut text = clean(&format!("{policy}; {taken}")) + "\n";
    if let Some(sections) = after_start(plan) {
        text.push_str(&format!(
            "{sections} changes at the next start of the ResourceManager only\n"
        ));
    }
    for change in list(&plan["settings"]) {
        text.push_str(&line("", change));
    }
    if rows.is_empty() {
        text.push_str("no queue changes\n");
        return text;
    }
    let heading = [
        "queue", "change", "jobs", "share MB", "weight", "min MB", "max MB", "max jobs", "back",
    ];
    text.push_str(&table(&heading, &rows));
    for queue in list(&plan["queues"]) {
        for change in list(&queue["changes"]) {
            text.push_str(&line(&format!("{} ", said(&queue["path"])), change));
        }
    }
    text
}

/// The sections that wait for the next start, if any do.
pub(super) fn after_start(plan: &Value) -> Option<String> {
    let sections: Vec<String> = list(&plan["after_start"]).iter().map(said).collect();
    let named = sections
        .iter()
        .map(|section| format!("`{}`", clean(section)));
    (!sections.is_empty()).then(|| named.collect::<Vec<_>>().join(", "))
}

/// One changed key, before and after, and what that does.
fn line(of: &str, change: &Value) -> String {
    let (key, effect) = (said(&change["key"]), said(&change["effect"]));
    let (before, after) = (&change["before"], &change["after"]);
    clean(&format!("{of}{key}: {before} > {after}: {effect}")) + "\n"
}

/// One value if it is the same before and after, else both.
fn both<'v>(pair: &'v Value, of: impl Fn(&'v Value) -> &'v Value) -> String {
    let (before, after) = (said(of(&pair[0])), said(of(&pair[1])));
    match before == after {
        true => after,
        false => format!("{before} > {after}"),
    }
}
