//! `heddle.json` itself: shows it, replaces it, and puts the previous one back. The host reloads
//! the written file, as at `yarn rmadmin -refreshQueues`, and asks [`reloaded`] for the answer. If
//! the reload refuses the file, `reloaded` puts the one before back.
//!
//! The previous file is kept beside it, so that a roll back needs no memory of the process. The new
//! text is written first, so that a crash at any moment leaves both texts on the disk.

use super::body;
use super::server::planned;
use crate::http::answer::{Answer, Failure, Reply, Written};
use crate::http::exchange::Exchange;
use heddle_core::config::parse_json;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The suffix of the previous file.
const PREVIOUS: &str = ".previous";
/// The suffix of a file while it is written.
const NEXT: &str = ".next";

/// `GET configuration/file`: `heddle.json` and the previous one.
pub(crate) fn file(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let file = place(exchange)?;
    let previous = earlier(&file)?;
    Ok(Reply::json(&json!({
        "file": file.display().to_string(),
        "text": read(&file)?,
        "previous": previous,
    })))
}

/// `PUT configuration/file`: brings the body into force and keeps it as `heddle.json`.
pub(crate) fn replace(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let _: Map<String, Value> = body::read(exchange.request.body, "{\"policy\": \"fair\"}")?;
    let text = String::from_utf8_lossy(exchange.request.body).into_owned();
    exchange.action = Some("replace configuration".to_string());
    write(exchange, text)
}

/// `POST configuration/rollback`: brings the previous file into force. A second one undoes the
/// first.
pub(crate) fn roll_back(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    exchange.action = Some("roll back configuration".to_string());
    let file = place(exchange)?;
    let text = earlier(&file)?.ok_or_else(|| {
        let expected = "a change by `heddle apply` or the console before";
        Failure::new(
            409,
            "there is no earlier file",
            name(&file, PREVIOUS).display().to_string(),
            expected,
        )
    })?;
    write(exchange, text)
}

/// Plans a text on a copy of the engine, then writes it.
fn write(exchange: &Exchange<'_>, text: String) -> Result<Reply, Failure> {
    let refused = |problem: String| {
        let expected = "a heddle.json that `heddle check-config` finds no fault with";
        Failure::new(400, problem, "configuration", expected)
    };
    let config = parse_json(&text).map_err(|fault| refused(fault.to_string()))?;
    let file = place(exchange)?;
    let mut answer = planned(exchange, config, "configuration")?;
    let (before, earlier) = (read(&file)?, earlier(&file)?);
    // Whole on the disk first: neither a crash nor a full disk may cost the text of a roll back.
    let next = stage(&file, &text, &file)?;
    let swap = || -> Result<(), Failure> {
        // The same text again, for instance after a lost answer, is no change: the previous file
        // stays the one to roll back to.
        if text != before {
            put(&name(&file, PREVIOUS), &before, &file)?;
        }
        fs::rename(&next, &file).map_err(|error| failed(&file, &error))
    };
    swap().or_else(|failure| {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&next);
        put_previous(&file, earlier.as_deref())?;
        Err(failure)
    })?;
    answer["file"] = json!(file.display().to_string());
    let mut reply = Reply::json(&answer);
    reply.written = Some(Box::new(Written {
        file,
        before,
        earlier,
        answer,
        done: String::new(),
        refused: String::new(),
    }));
    Ok(reply)
}

/// Returns the answer to a change after the host's reload, which had this `problem`, if any; and
/// the audit line. After a problem, puts the earlier files back.
pub fn reloaded(written: &Written, problem: Option<&str>) -> (Answer, String) {
    let Some(problem) = problem else {
        return (Reply::json(&written.answer).secured(), written.done.clone());
    };
    let expected = "a heddle.json that `heddle check-config` finds no fault with";
    let mut failure = Failure::new(400, problem, "configuration", expected);
    if let Err(why) = undo(written) {
        let what = format!(
            "{problem}. The refused file could not be taken back: {}",
            why.what
        );
        failure = Failure::new(500, what, why.at, "the file before; copy it back yourself");
    }
    (Reply::refused(failure).secured(), written.refused.clone())
}

fn undo(written: &Written) -> Result<(), Failure> {
    put(&written.file, &written.before, &written.file)?;
    put_previous(&written.file, written.earlier.as_deref())
}

/// Puts the previous file of `file` back as it was; removes it if there was none.
fn put_previous(file: &Path, text: Option<&str>) -> Result<(), Failure> {
    let previous = name(file, PREVIOUS);
    match text {
        Some(text) => put(&previous, text, file),
        None => match fs::remove_file(&previous) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&previous, &error)),
            _ => Ok(()),
        },
    }
}

/// Returns the host's configuration file. Follows links, so that the link itself stays.
fn place(exchange: &Exchange<'_>) -> Result<PathBuf, Failure> {
    let Some(file) = exchange.request.config_file else {
        let expected =
            "`heddle.config.file` in yarn-site.xml with the name of a file; it may hold {}";
        let what = "this ResourceManager runs without a heddle.json of its own";
        return Err(Failure::new(409, what, "configuration", expected));
    };
    let file = Path::new(file);
    fs::canonicalize(file).map_err(|error| failed(file, &error))
}

fn name(file: &Path, more: &str) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(more);
    PathBuf::from(name)
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| failed(file, &error))
}

fn earlier(file: &Path) -> Result<Option<String>, Failure> {
    let previous = name(file, PREVIOUS);
    match fs::read_to_string(&previous) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&previous, &error)),
    }
}

/// Writes a whole file or nothing, with the rights of `like`.
fn put(file: &Path, text: &str, like: &Path) -> Result<(), Failure> {
    let next = stage(file, text, like)?;
    fs::rename(&next, file).map_err(|error| {
        let _ = fs::remove_file(&next);
        failed(file, &error)
    })
}

/// Writes a text beside the file that it will become; returns its place.
fn stage(file: &Path, text: &str, like: &Path) -> Result<PathBuf, Failure> {
    let next = name(file, NEXT);
    let write = || -> io::Result<()> {
        let rights = fs::metadata(like)?.permissions();
        let mut out = File::create(&next)?;
        out.set_permissions(rights)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&next);
        failed(file, &error)
    })?;
    Ok(next)
}

fn failed(file: &Path, error: &io::Error) -> Failure {
    let expected = "a file and a folder that the ResourceManager's user may read and write; or put \
                    the file there yourself and call `yarn rmadmin -refreshQueues`";
    Failure::new(409, error.to_string(), file.display().to_string(), expected)
}
