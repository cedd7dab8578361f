//! Translates the files of YARN's own schedulers into `heddle.json` (DI-2). Pure functions of
//! texts: no I/O, and no decision about containers.
//!
//! The engine knows only `heddle.json`. `heddle convert` prints what these functions return, and a
//! host that reads a stock file directly hands the same value to the engine. Each element and each
//! property of a file gets a [`Note`].

pub mod bounds;
pub mod capacity;
mod encoding;
pub mod fair;
mod java;
mod merge;
mod policy;
pub mod site;

pub use encoding::decode;
pub use heddle_core::config::Fault;
pub use merge::merge;
use policy::ORDER;
pub use policy::in_vain;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What a stock file means.
#[derive(Clone, Debug, PartialEq)]
pub struct Front {
    /// `heddle.json`.
    pub config: Value,
    /// One note or more for each element and property, in the order of the file.
    pub notes: Vec<Note>,
}

/// How one element or property was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its line, from 1; 0: none.
    pub line: u32,
    /// The name of the property, or the path of the element, such as `root.ads/maxAMShare`.
    pub element: String,
    /// How well Heddle follows it.
    pub verdict: Verdict,
}

/// How well Heddle does what an element says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As YARN's own scheduler.
    Exact,
    /// Not quite, and how; or as YARN's own scheduler, which does something else than its reader
    /// may expect.
    Approximated(String),
    /// Not at all, and neither does YARN's own scheduler, which starts all the same: what the file
    /// asks for never happened.
    Warned(String),
    /// Not at all: why, and what to write instead. Stops a start.
    Refused(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.element)?;
        match &self.verdict {
            Verdict::Exact => f.write_str("exact"),
            Verdict::Approximated(how) => write!(f, "approximated: {how}"),
            Verdict::Warned(what) => write!(f, "warning: {what}"),
            Verdict::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// A property of a site file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Property {
    /// Its value, as written.
    pub value: String,
    /// Its line, from 1; 0: none.
    pub line: u32,
}

/// Properties by name.
pub type Properties = BTreeMap<String, Property>;

/// Returns the notes that stop a start (DI-5): the refused ones, except those that `tolerate`
/// lists by their full name or, for elements of a queue or user, by the part after the slash.
pub fn refused<'n>(notes: &'n [Note], tolerate: &[String]) -> Vec<&'n Note> {
    let tolerated = |note: &Note| {
        let last = note.element.rsplit('/').next().unwrap_or_default();
        tolerate
            .iter()
            .any(|name| name == &note.element || name == last)
    };
    let refused = notes
        .iter()
        .filter(|note| matches!(note.verdict, Verdict::Refused(_)));
    refused.filter(|note| !tolerated(note)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_element_is_tolerated_by_its_full_name_or_its_last_part() {
        let note = |element: &str, verdict| Note {
            line: 1,
            element: element.to_owned(),
            verdict,
        };
        let no = || Verdict::Refused("no".to_owned());
        let notes = [
            note("root.a/reservation", no()),
            note("root.b/reservation", no()),
            note("root.a/weight", Verdict::Approximated("cut".to_owned())),
            note("yarn.scheduler.fair.x", no()),
        ];
        let stops = |tolerate: &[&str]| -> Vec<String> {
            let tolerate: Vec<String> = tolerate.iter().map(|name| name.to_string()).collect();
            let stops = refused(&notes, &tolerate);
            stops.iter().map(|note| note.element.clone()).collect()
        };
        let all = [
            "root.a/reservation",
            "root.b/reservation",
            "yarn.scheduler.fair.x",
        ];
        assert_eq!(stops(&[]), all);
        assert_eq!(stops(&["root.b/reservation"]), [all[0], all[2]]);
        assert_eq!(stops(&["reservation"]), [all[2]]);
        assert_eq!(stops(&["reservation", all[2], "weight"]), [""; 0]);
    }
}
