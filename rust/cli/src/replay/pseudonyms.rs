//! `heddle replay --pseudonyms`: copies a journal without its names. Replays the inputs under
//! pseudonyms, records that replay, and checks that it decides the same.

use super::names::{Names, Pseudonyms};
use super::progress::Progress;
use crate::failure::{Failure, Kind};
use heddle::describe;
use heddle::host::Host;
use heddle::journal::{EntryKind, JournalError, Reader, recordings};
use heddle::replay::output_bytes;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

type Source = Reader<BufReader<File>>;

/// Copies a journal; returns what was done.
pub(super) fn copy(from: &Path, to: &Path) -> Result<Value, Failure> {
    let unreadable = |error: JournalError| {
        let expected = "a journal that this version recorded";
        Failure::usage(error.to_string(), from.display().to_string(), expected)
    };
    if recordings(to).is_ok_and(|list| !list.is_empty()) {
        let what = "a journal of this name exists";
        return Err(Failure::usage(what, to.display().to_string(), "a new name"));
    }
    let mut journal = Reader::open(from).map_err(unreadable)?;
    let mut progress = Progress::of(&journal, from, 2);
    let names = read_names(&mut journal, &mut progress).map_err(unreadable)?;
    let pseudonyms = names.pseudonyms();
    let mut copy = Copy {
        pseudonyms: &pseudonyms,
        from,
        to,
        host: None,
        out: Vec::new(),
        answer: Vec::new(),
        inputs: 0,
    };
    let mut journal = Reader::open(from).map_err(unreadable)?;
    progress.again();
    while let Some(entry) = journal.next_entry().map_err(unreadable)? {
        copy.entry(entry.kind, entry.now_ms, journal.payload())?;
        progress.at(journal.bytes());
    }
    let inputs = copy.finish()?;
    Ok(json!({
        "copy": format!("{}.000001.000001", to.display()),
        "names": pseudonyms.len(),
        "kept": pseudonyms.kept,
        "inputs": inputs,
        "decisions": "the same",
    }))
}

fn read_names(journal: &mut Source, progress: &mut Progress) -> Result<Names, JournalError> {
    let mut names = Names::default();
    while let Some(entry) = journal.next_entry()? {
        if matches!(entry.kind, EntryKind::Setup | EntryKind::Request)
            && let Ok(json) = serde_json::from_slice(journal.payload())
        {
            names.collect(&json);
        }
        progress.at(journal.bytes());
    }
    Ok(names)
}

/// A copy at work.
struct Copy<'a> {
    pseudonyms: &'a Pseudonyms,
    from: &'a Path,
    to: &'a Path,
    host: Option<Host>,
    out: Vec<u8>,
    /// The copy's answer to the last frame; empty after a request.
    answer: Vec<u8>,
    inputs: u64,
}

impl Copy<'_> {
    fn entry(&mut self, kind: EntryKind, now_ms: i64, payload: &[u8]) -> Result<(), Failure> {
        match kind {
            EntryKind::Setup => self.open(payload),
            EntryKind::Frame => self.frame(payload),
            EntryKind::Request => self.request(now_ms, payload),
            EntryKind::Answer => self.compare(payload),
            EntryKind::LongAnswer | EntryKind::Error | EntryKind::End => Ok(()),
        }
    }

    fn open(&mut self, setup: &[u8]) -> Result<(), Failure> {
        let setup: Value = serde_json::from_slice(setup).map_err(|error| self.wrong(&error))?;
        let mut setup = self.pseudonyms.replace(&setup);
        let Some(keys) = setup.as_object_mut() else {
            let at = self.from.display().to_string();
            let expected = "a journal that this version recorded";
            return Err(Failure::usage("its setup is no JSON object", at, expected));
        };
        let journal = json!({"path": self.to, "bytes_max": u64::MAX, "wait": true});
        keys.insert("journal".to_owned(), journal);
        let host = Host::open(&setup.to_string()).map_err(|error| self.wrong(&error))?;
        self.host = Some(host);
        Ok(())
    }

    fn frame(&mut self, frame: &[u8]) -> Result<(), Failure> {
        self.inputs += 1;
        self.answer.clear();
        let room = output_bytes(frame);
        if self.out.len() < room {
            self.out = vec![0; room];
        }
        let Some(host) = &mut self.host else {
            return Err(self.wrong(&"a frame before the setup"));
        };
        // An error is an answer, too: it is recorded, and a replay of the copy meets it again.
        if let Ok(length) = host.step(frame, &mut self.out[..room]) {
            self.answer.extend_from_slice(&self.out[..length]);
        }
        Ok(())
    }

    fn request(&mut self, now_ms: i64, json: &[u8]) -> Result<(), Failure> {
        self.inputs += 1;
        self.answer.clear();
        let request: Value = serde_json::from_slice(json).map_err(|error| self.wrong(&error))?;
        let request = self.pseudonyms.replace(&request).to_string();
        let Some(host) = &mut self.host else {
            return Err(self.wrong(&"a request before the setup"));
        };
        let _ = host.request(now_ms, &request);
        Ok(())
    }

    /// Compares the decisions of the last frame; lines of the log and replies have names in them.
    fn compare(&self, recorded: &[u8]) -> Result<(), Failure> {
        if self.answer.is_empty() || decisions(&self.answer) == decisions(recorded) {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Refused,
            format!(
                "with pseudonyms, input {} is decided otherwise",
                self.inputs
            ),
            self.to.display().to_string(),
            "the same decisions; do not use this copy",
        ))
    }

    /// Closes the copy; returns the number of its inputs.
    fn finish(mut self) -> Result<u64, Failure> {
        let Some(mut host) = self.host.take() else {
            return Err(self.wrong(&"no setup"));
        };
        let status = host.request(0, r#"{"op":"journal"}"#).unwrap_or_default();
        let status: Value = serde_json::from_str(&status).unwrap_or_default();
        match status["stopped"].as_str() {
            Some(why) => Err(self.wrong(&why)),
            None => Ok(self.inputs),
        }
    }

    fn wrong(&self, what: &dyn std::fmt::Display) -> Failure {
        let what = format!("after {} inputs: {what}", self.inputs);
        let at = self.to.display().to_string();
        Failure::usage(what, at, "a whole journal, and a place that can be written")
    }
}

fn decisions(output: &[u8]) -> Vec<Value> {
    let mut records = describe::output(output);
    records.retain(|record| record["record"] != "LOG");
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both passes take their time.
    #[test]
    fn reading_the_names_is_half_of_the_work() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../native-tests/data/scripted.journal");
        let open = || Reader::open(&path).expect("it is there");
        let mut journal = open();
        let mut progress = Progress::of(&journal, &path, 2);
        // The bar moves once in many entries, and the journal is short.
        for _ in 0..8 {
            journal = open();
            read_names(&mut journal, &mut progress).expect("it is whole");
        }
        let (done, all) = progress.done();
        assert!(0 < done && done <= all / 2, "{done} of {all}");
        progress.again();
        for _ in 0..2_048 {
            progress.at(journal.bytes());
        }
        assert_eq!(progress.done(), (all, all));
    }
}
