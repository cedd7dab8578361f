//! Stores the last results of every experiment as files. Reruns are compared with them, and the
//! documents show them.

use super::table::{Row, Table};
use super::{EXPERIMENTS, Experiment};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of the results, from the root of the repository.
pub const FOLDER: &str = "rust/lab/results";

/// A stored table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The experiment.
    pub id: String,
    /// Its title.
    pub title: String,
    /// How to run it again.
    pub command: String,
    /// The day of the run.
    pub recorded: String,
    /// The rows.
    pub rows: Vec<Row>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The files of its plots, in the same folder.
    pub plots: Vec<String>,
}

fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

impl Record {
    /// Reads the record of an experiment; none if there is no file.
    ///
    /// # Errors
    /// Names the file that is no record, or cannot be read.
    pub fn read(folder: &Path, id: &str) -> Result<Option<Record>, String> {
        let path = path(folder, id);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let record = serde_json::from_str(&text);
        record.map_err(|error| format!("{}: {error}; record it again", path.display()))
    }

    /// Writes a table and its plots.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        folder: &Path,
        of: &Experiment,
        table: &Table,
        recorded: &str,
    ) -> Result<(), String> {
        let file = |name: &str| format!("{}-{name}.svg", of.id);
        for (name, plot) in &table.plots {
            plot.write(&folder.join(file(name)))?;
        }
        let record = Record {
            id: of.id.to_string(),
            title: of.title.to_string(),
            command: format!("./x papers {}", of.id),
            recorded: recorded.to_string(),
            rows: table.rows.clone(),
            notes: table.notes.clone(),
            plots: table.plots.iter().map(|(name, _)| file(name)).collect(),
        };
        let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
        let path = path(folder, of.id);
        fs::write(&path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Lists the rows of a new table that are not as stored.
    pub fn differences(&self, table: &Table) -> Vec<String> {
        let mut found = Vec::new();
        for row in &table.rows {
            match self.rows.iter().find(|stored| stored.what == row.what) {
                None => found.push(format!("{}: not stored", row.what)),
                Some(stored) if (&stored.ours, stored.verdict) != (&row.ours, row.verdict) => {
                    let (was, is) = (&stored.ours, &row.ours);
                    found.push(format!("{}: stored {was}, now {is}", row.what));
                }
                Some(stored) if stored.live != row.live => {
                    let (was, is) = (&stored.live, &row.live);
                    found.push(format!("{}, live: stored {was}, now {is}", row.what));
                }
                Some(_) => {}
            }
        }
        let gone = |stored: &&Row| !table.rows.iter().any(|row| row.what == stored.what);
        let gone = self.rows.iter().filter(gone);
        found.extend(gone.map(|stored| format!("{}: stored, now without", stored.what)));
        found
    }

    fn markdown(&self) -> String {
        let mut text = format!("### {}: {}\n\n", self.id, self.title);
        let both = self.rows.iter().any(|row| !row.live.is_empty());
        let (head, line) = if both {
            (" with live knowledge |", " --- |")
        } else {
            ("", "")
        };
        let _ = writeln!(text, "| figure | paper | here |{head} verdict | why |");
        let _ = writeln!(text, "| --- | --- | --- |{line} --- | --- |");
        for row in &self.rows {
            let Row {
                what,
                paper,
                ours,
                live,
                why,
                verdict,
            } = row;
            let live = if both {
                format!(" {live} |")
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "| {what} | {paper} | {ours} |{live} {verdict} | {why} |"
            );
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text += &wrapped(note);
        }
        for plot in &self.plots {
            let name = plot.trim_end_matches(".svg");
            let _ = write!(text, "\n![{name}](../{FOLDER}/{plot})\n");
        }
        let _ = writeln!(text, "\n`{}`, {}.", self.command, self.recorded);
        text
    }
}

/// A list item in lines of at most 118 columns.
fn wrapped(note: &str) -> String {
    let mut lines = String::from("-");
    let mut column = 1;
    for word in note.split_whitespace() {
        if column + 1 + word.chars().count() > 118 {
            lines += "\n ";
            column = 1;
        }
        lines.push(' ');
        lines += word;
        column += 1 + word.chars().count();
    }
    lines.push('\n');
    lines
}

/// Writes all records as a part of a document.
///
/// # Errors
/// Names the experiment without a record, or the file that is none.
pub fn document(folder: &Path) -> Result<String, String> {
    let mut parts = Vec::new();
    for experiment in EXPERIMENTS {
        let record = Record::read(folder, experiment.id)?;
        let missing = || format!("{}: no record; ./x papers --record", experiment.id);
        parts.push(record.ok_or_else(missing)?.markdown());
    }
    Ok(parts.join("\n"))
}
