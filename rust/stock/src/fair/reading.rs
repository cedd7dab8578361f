//! What is known while a file is translated: the notes so far, and the cluster's resource types.

use crate::{Fault, Note, Properties, Verdict, java};
use heddle_core::config::unknown;
use serde_json::{Map, Value, json};

use super::resource::{MEMORY, VCORES};

/// The longest time that heddle.json takes. Stands for `Long.MAX_VALUE`, the timeout of preemption
/// without any in the file.
pub(super) const NEVER_MS: i64 = 1_000_000_000_000;

/// The resource types besides memory and vcores, if a property tells them.
fn other_types(properties: &Properties) -> Option<Vec<String>> {
    let list = &properties.get("yarn.resource-types")?.value;
    let names = list.split(',').map(str::trim);
    let others = names.filter(|name| !matches!(*name, "" | MEMORY | VCORES));
    Some(others.map(str::to_owned).collect())
}

/// What is known while a file is translated.
pub(super) struct Reading {
    pub(super) notes: Vec<Note>,
    /// What would stop YARN. Reading goes on, to find all of it.
    pub(super) faults: Vec<Fault>,
    /// The types besides memory and vcores, if they are known.
    pub(super) others: Option<Vec<String>>,
    /// Whether YARN's reservation system is on.
    reservations: bool,
}

impl Reading {
    pub(super) fn new(properties: &Properties) -> Reading {
        let on = properties.get("yarn.resourcemanager.reservation-system.enable");
        let on = on.and_then(|property| java::boolean(&property.value));
        Reading {
            notes: Vec::new(),
            faults: Vec::new(),
            others: other_types(properties),
            reservations: on.unwrap_or(false),
        }
    }

    /// Keeps a fault, and returns what was read if there is none.
    pub(super) fn keep<T>(&mut self, read: Result<T, Fault>) -> Option<T> {
        read.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Notes an element of the reservation system.
    pub(super) fn reservation(&mut self, line: u32, element: String) {
        if self.reservations {
            let why = "Heddle has no reservation system; switch it off \
                       (yarn.resourcemanager.reservation-system.enable), remove this, or list it \
                       in heddle.queues.tolerate";
            self.refused(line, element, why);
            return;
        }
        let what = match element.strip_suffix("/reservation") {
            Some(queue) => {
                let name = queue.rsplit('.').next().unwrap_or(queue);
                format!(
                    "the reservation system is off, so no application reserves in this queue; YARN \
                     only moves its applications to {queue}.{name}-default, and here {queue} \
                     stays a leaf"
                )
            }
            None => "has no effect: the reservation system is off".to_owned(),
        };
        self.warned(line, element, what);
    }

    pub(super) fn note(&mut self, line: u32, element: impl Into<String>, verdict: Verdict) {
        let element = element.into();
        self.notes.push(Note {
            line,
            element,
            verdict,
        });
    }

    pub(super) fn exact(&mut self, line: u32, element: impl Into<String>) {
        self.note(line, element, Verdict::Exact);
    }

    pub(super) fn approximated(
        &mut self,
        line: u32,
        element: impl Into<String>,
        how: impl Into<String>,
    ) {
        self.note(line, element, Verdict::Approximated(how.into()));
    }

    pub(super) fn warned(
        &mut self,
        line: u32,
        element: impl Into<String>,
        what: impl Into<String>,
    ) {
        self.note(line, element, Verdict::Warned(what.into()));
    }

    pub(super) fn refused(
        &mut self,
        line: u32,
        element: impl Into<String>,
        why: impl Into<String>,
    ) {
        self.note(line, element, Verdict::Refused(why.into()));
    }

    /// Notes an element that was taken, with the difference if there is one.
    pub(super) fn told(&mut self, line: u32, what: impl Into<String>, how: Option<String>) {
        match how {
            None => self.exact(line, what),
            Some(how) => self.approximated(line, what, how),
        }
    }

    /// Notes an element that YARN ignores.
    pub(super) fn ignored(&mut self, line: u32, element: String, name: &str, known: &[&str]) {
        let how = format!(
            "{}; YARN ignores it, and so does Heddle",
            unknown(name, known)
        );
        self.approximated(line, element, how);
    }
}

/// The section of a name, made if it is missing.
pub(super) fn section<'m>(
    config: &'m mut Map<String, Value>,
    name: &str,
) -> &'m mut Map<String, Value> {
    let section = config.entry(name).or_insert_with(|| json!({}));
    section
        .as_object_mut()
        .expect("the front end makes sections of objects only")
}
