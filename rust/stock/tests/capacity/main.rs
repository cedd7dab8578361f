//! The reader of `capacity-scheduler.xml`. Expected values are worked out by hand from
//! docs/develop/stock-capacity.md, whose sections the comments name.

mod created;
mod examples;
mod hostile;
mod placement;
mod priorities;
mod queues;
mod random;
mod sums;

use heddle_stock::capacity::read;
use heddle_stock::{Fault, Front, Note, Properties, Property, Verdict};
use serde_json::Value;

const PREFIX: &str = "yarn.scheduler.capacity.";

/// Properties in lines from 1. A name that does not begin with `yarn.` gets the prefix.
fn properties<N: AsRef<str>, V: AsRef<str>>(all: &[(N, V)]) -> Properties {
    let lines = all.iter().zip(1..);
    let named = lines.map(|((name, value), line)| {
        let name = match name.as_ref() {
            full if full.starts_with("yarn.") => full.to_owned(),
            rest => format!("{PREFIX}{rest}"),
        };
        let value = value.as_ref().to_owned();
        (name, Property { value, line })
    });
    named.collect()
}

fn front(all: &[(&str, &str)]) -> Front {
    let front = read(&properties(all)).unwrap_or_else(|fault| panic!("{fault}"));
    accepted(&front);
    front
}

/// The engine reads what comes out.
fn accepted(front: &Front) {
    // Further types need the calculator that counts them.
    let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
    let counted = match front.config["share"]["memory_only"] == true {
        true => &types[..2],
        false => &types[..],
    };
    let read = heddle_core::setup::read_config(&front.config, counted);
    read.unwrap_or_else(|error| panic!("{error}\n{:#}", front.config));
}

fn fault(all: &[(&str, &str)]) -> Fault {
    match read(&properties(all)) {
        Ok(front) => panic!("expected a fault, found {:#}", front.config),
        Err(fault) => fault,
    }
}

/// A queue of a front by its path.
fn queue<'f>(front: &'f Front, path: &str) -> &'f Value {
    let queues = front.config["queues"].as_array().expect("a list");
    let queue = queues.iter().find(|queue| queue["path"] == path);
    queue.unwrap_or_else(|| panic!("no queue {path}"))
}

/// What was said about a property, by its name without prefix.
fn verdict<'f>(front: &'f Front, name: &str) -> &'f Verdict {
    let full = format!("{PREFIX}{name}");
    let find = |note: &&Note| note.element == full || note.element == name;
    let note = front.notes.iter().find(find);
    &note
        .unwrap_or_else(|| panic!("nothing about {name}"))
        .verdict
}

/// Whether a property was approximated with these words.
fn approximated(front: &Front, name: &str, words: &str) -> bool {
    matches!(verdict(front, name), Verdict::Approximated(how) if how.contains(words))
}

fn refused(front: &Front, name: &str, words: &str) -> bool {
    matches!(verdict(front, name), Verdict::Refused(why) if why.contains(words))
}
