//! The tree of queues: `queues` of each parent, from root down. Knows paths, not sizes.

use super::setting::Setting;
use crate::{Fault, Properties, java};
use heddle_core::config::text::shown;
use std::collections::{BTreeMap, BTreeSet};

/// What the names of all properties of the Capacity Scheduler begin with.
pub(super) const PREFIX: &str = "yarn.scheduler.capacity.";

/// More queues are a mistake of a program that wrote the file.
const QUEUES_MAX: usize = 100_000;

/// Deeper trees are a mistake, too, and their paths take much room.
pub(super) const DEPTH_MAX: usize = 50;

/// Longer names are typing errors.
const NAME_BYTES_MAX: usize = 255;

/// The origin of the queues below a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creates {
    /// Nothing: all are in the file.
    Nothing,
    /// Submissions, leaves from one template (`auto-create-child-queue`).
    Leaves,
    /// Submissions, several levels (`auto-queue-creation-v2`).
    Levels,
}

/// One queue of the file.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) path: String,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    pub(super) creates: Creates,
    /// The line that names it.
    pub(super) line: u32,
    depth: usize,
}

/// The queues of the file; each parent stands before its children.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) queues: Vec<Queue>,
    by_path: BTreeMap<String, usize>,
    /// The queues by their last part.
    by_name: BTreeMap<String, Vec<usize>>,
    properties: &'a Properties,
}

impl<'a> Tree<'a> {
    pub(super) fn read(properties: &'a Properties) -> Result<Tree<'a>, Fault> {
        let mut tree = Tree {
            queues: Vec::new(),
            by_path: BTreeMap::new(),
            by_name: BTreeMap::new(),
            properties,
        };
        tree.add("root", None, 0);
        let mut next = 0;
        while next < tree.queues.len() {
            tree.add_children(next)?;
            next += 1;
        }
        let root = &tree.queues[0];
        if root.children.is_empty() && root.creates == Creates::Nothing {
            let name = format!("{PREFIX}root.queues");
            return Err(Fault {
                line: properties.get(&name).map_or(0, |property| property.line),
                problem: format!("expected {name} with the names of queues, found none"),
            });
        }
        Ok(tree)
    }

    fn add(&mut self, name: &str, parent: Option<usize>, line: u32) -> usize {
        let (path, depth) = match parent.map(|parent| &self.queues[parent]) {
            None => (name.to_owned(), 0),
            Some(parent) => (format!("{}.{name}", parent.path), parent.depth + 1),
        };
        let queue = self.queues.len();
        let creates = match (
            self.flag(&path, "auto-create-child-queue.enabled"),
            self.flag(&path, "auto-queue-creation-v2.enabled"),
        ) {
            (true, _) => Creates::Leaves,
            (false, true) => Creates::Levels,
            (false, false) => Creates::Nothing,
        };
        self.by_path.insert(path.clone(), queue);
        self.by_name.entry(name.to_owned()).or_default().push(queue);
        self.queues.push(Queue {
            path,
            parent,
            children: Vec::new(),
            creates,
            line,
            depth,
        });
        queue
    }

    fn flag(&self, path: &str, key: &str) -> bool {
        let property = self.properties.get(&format!("{PREFIX}{path}.{key}"));
        property.is_some_and(|property| java::boolean(&property.value) == Some(true))
    }

    fn add_children(&mut self, parent: usize) -> Result<(), Fault> {
        let name = format!("{PREFIX}{}.queues", self.queues[parent].path);
        let Some((name, property)) = self.properties.get_key_value(&name) else {
            return Ok(());
        };
        let list = Setting {
            name,
            value: &property.value,
            line: property.line,
        };
        let mut names = BTreeSet::new();
        for part in list.value.split(',').filter(|part| !part.is_empty()) {
            let child = part.trim();
            check(list, child)?;
            if !names.insert(child) {
                let problem = format!("queue {} stands here twice; remove one", shown(child));
                return Err(list.fault(problem));
            }
            if self.queues.len() > QUEUES_MAX {
                return Err(list.fault(format!("more than {QUEUES_MAX} queues; remove some")));
            }
            if self.queues[parent].depth >= DEPTH_MAX {
                let problem = format!("more than {DEPTH_MAX} levels of queues; remove some");
                return Err(list.fault(problem));
            }
            let child = self.add(child, Some(parent), list.line);
            self.queues[parent].children.push(child);
        }
        Ok(())
    }

    /// The queue of a path.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The queue of a full path or of a last part that one queue alone has (facts 1.1).
    pub(super) fn resolve(&self, name: &str) -> Resolved {
        match (self.find(name), self.by_name.get(name).map(Vec::as_slice)) {
            (Some(queue), _) | (None, Some(&[queue])) => Resolved::Queue(queue),
            (None, Some(_)) => Resolved::Ambiguous,
            (None, None) => Resolved::Missing,
        }
    }

    /// The queue that a property belongs to, and the rest of the property's name. `name` has no
    /// prefix; of the queues whose path begins it, the longest counts.
    pub(super) fn owner<'n>(&self, name: &'n str) -> Option<(usize, &'n str)> {
        let mut owner = None;
        for (dot, _) in name.match_indices('.').take(DEPTH_MAX + 1) {
            match self.find(&name[..dot]) {
                Some(queue) => owner = Some((queue, &name[dot + 1..])),
                None => break,
            }
        }
        owner
    }

    /// Whether a queue has children or may get some.
    pub(super) fn is_parent(&self, queue: usize) -> bool {
        let queue = &self.queues[queue];
        !queue.children.is_empty() || queue.creates != Creates::Nothing
    }

    /// Whether submissions make queues in this way anywhere.
    pub(super) fn creates(&self, how: Creates) -> bool {
        self.queues.iter().any(|queue| queue.creates == how)
    }
}

/// What a name of a queue stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    Queue(usize),
    Ambiguous,
    Missing,
}

fn check(list: Setting<'_>, name: &str) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(list.expected("names of queues between commas, none of them blank"));
    }
    if name.contains('.') {
        let problem = format!(
            "expected the name of a queue without dots, found {}; write its last part here, and \
             the others to `queues` of the queues above it",
            shown(name)
        );
        return Err(list.fault(problem));
    }
    if name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        let problem = format!(
            "expected names of at most {NAME_BYTES_MAX} bytes without control characters, found {}",
            shown(name)
        );
        return Err(list.fault(problem));
    }
    Ok(())
}
