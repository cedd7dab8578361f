//! The elements of fair-scheduler.xml, gathered by queue and user. Of repeated elements the last
//! one counts. Knows what may stand where, and no meaning of a value.

use super::names::{OF_ALLOCATIONS, OF_QUEUE, OVER_ALLOCATIONS};
use super::reading::Reading;
use crate::Fault;
use heddle_core::config::text::shown;
use heddle_core::config::xml::{self, Xml};
use roxmltree::Node;
use std::collections::BTreeMap;

/// Deeper files are refused: no organization has so many levels, and every level costs on a
/// heartbeat.
const LEVELS_MAX: usize = 64;

/// Longer names are typing errors.
const NAME_BYTES_MAX: usize = 255;

/// The value of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    pub(super) line: u32,
    /// Its name, as written.
    pub(super) name: String,
    /// Its text, not trimmed; none if it is empty.
    pub(super) text: Option<String>,
}

impl Element {
    /// Returns the text, trimmed.
    ///
    /// # Errors
    /// The element is empty, which stops YARN.
    pub(super) fn value(&self) -> Result<&str, Fault> {
        match &self.text {
            Some(text) => Ok(trim(text)),
            None => Err(Fault::new(
                self.line,
                format!(
                    "<{}> is empty; expected a value, or no such element",
                    self.name
                ),
            )),
        }
    }

    /// A fault of the value.
    pub(super) fn fault(&self, expected: impl std::fmt::Display) -> Fault {
        let found = shown(self.text.as_deref().unwrap_or_default());
        Fault::new(
            self.line,
            format!("{}: {expected}, found {found}", self.name),
        )
    }

    /// Reads a whole number.
    pub(super) fn int(&self) -> Result<i32, Fault> {
        let read = crate::java::int(self.value()?);
        read.ok_or_else(|| self.fault(format!("expected a whole number up to {}", i32::MAX)))
    }

    /// Reads a time in seconds.
    pub(super) fn long(&self) -> Result<i64, Fault> {
        let read = crate::java::long(self.value()?);
        read.ok_or_else(|| self.fault("expected a whole number of seconds"))
    }

    /// Reads a number.
    pub(super) fn number(&self) -> Result<f64, Fault> {
        let read = crate::java::double(self.value()?).filter(|number| !number.is_nan());
        read.ok_or_else(|| self.fault("expected a number"))
    }
}

/// Elements by their name.
#[derive(Clone, Debug, Default)]
pub(super) struct Elements(BTreeMap<&'static str, Element>);

impl Elements {
    pub(super) fn get(&self, name: &str) -> Option<&Element> {
        self.0.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Element)> {
        self.0.iter().map(|(name, element)| (*name, element))
    }

    /// Puts an element in. An earlier one of its name gets a note.
    fn put(&mut self, owner: &str, name: &'static str, element: Element, reading: &mut Reading) {
        let name = match name {
            "schedulingMode" => "schedulingPolicy",
            "defaultQueueSchedulingMode" => "defaultQueueSchedulingPolicy",
            name => name,
        };
        let line = element.line;
        if let Some(before) = self.0.insert(name, element) {
            let what = under(owner, &before.name);
            let how = format!("line {line} says it again, and counts");
            reading.approximated(before.line, what, how);
        }
    }
}

/// The name of an element for a note.
pub(super) fn under(owner: &str, name: &str) -> String {
    match owner {
        "" => name.to_owned(),
        owner => format!("{owner}/{name}"),
    }
}

/// A queue as the file has it.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) path: String,
    pub(super) line: u32,
    /// Whether the file says `type="parent"` or has queues in it.
    pub(super) is_parent: bool,
    pub(super) elements: Elements,
}

/// A rule of `queuePlacementPolicy`.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) create: Option<String>,
    pub(super) queue: Option<String>,
    /// The rules in it; the last one counts.
    pub(super) inner: Vec<Rule>,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    /// Parents before their children, each path once.
    pub(super) queues: Vec<Queue>,
    /// By name: the limit of running applications.
    pub(super) users: BTreeMap<String, Elements>,
    pub(super) top: Elements,
    /// The line of the list, and its rules.
    pub(super) placement: Option<(u32, Vec<Rule>)>,
}

/// Gathers the elements of a file.
struct Reader<'x, 'r> {
    xml: &'x Xml<'x>,
    reading: &'r mut Reading,
    raw: Raw,
    /// Indices of `raw.queues`.
    paths: BTreeMap<String, usize>,
}

pub(super) fn read(xml: &Xml<'_>, reading: &mut Reading) -> Raw {
    let mut reader = Reader {
        xml,
        reading,
        raw: Raw::default(),
        paths: BTreeMap::new(),
    };
    for (wrong, what) in [
        (xml.begins_late(), "blanks before <?xml"),
        (xml.is_prefixed(xml.root()), "a prefix of <allocations>"),
    ] {
        if wrong {
            let line = xml.line(xml.root());
            let what = format!("YARN's own scheduler does not start with {what}; remove it");
            reader.reading.warned(line, "allocations", what);
        }
    }
    reader.allocations(xml.root());
    reader.raw
}

impl Reader<'_, '_> {
    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.xml.line(node)
    }

    fn allocations(&mut self, root: Node<'_, '_>) {
        let elements = self.elements("", root);
        let is_queue = |element: &Node<'_, '_>| matches!(tag(*element), "queue" | "pool");
        let queues: Vec<Node<'_, '_>> = elements.iter().copied().filter(is_queue).collect();
        let root_queue = |element: &Node<'_, '_>| {
            let name = element.attribute("name").unwrap_or_default();
            name.eq_ignore_ascii_case("root")
        };
        let root_queue = queues.iter().copied().find(root_queue);
        if let Some(root) = root_queue
            && let Some(other) = queues.iter().find(|other| **other != root)
        {
            let problem = "a queue beside `root`; expected it inside <queue name=\"root\">";
            self.fault(*other, problem);
        }
        for element in elements {
            let (line, name) = (self.line(element), tag(element));
            match name {
                "queue" | "pool" if Some(element) == root_queue => self.root(element),
                "queue" | "pool" => self.queue("root", element, 1),
                "user" => self.user(element),
                "queuePlacementPolicy" => self.placement(element),
                _ => match OF_ALLOCATIONS.iter().find(|known| **known == name) {
                    Some(known) => {
                        if let Some(element) = self.value(element) {
                            self.raw.top.put("", known, element, self.reading);
                        }
                    }
                    None => {
                        let shown = xml::name(element);
                        let known = [OVER_ALLOCATIONS, OF_ALLOCATIONS].concat();
                        self.reading.ignored(line, shown.clone(), &shown, &known);
                    }
                },
            }
        }
    }

    fn fault(&mut self, at: Node<'_, '_>, problem: impl Into<String>) {
        self.reading.faults.push(Fault::new(self.line(at), problem));
    }

    /// Reads `<queue name="root">`. Under another spelling YARN never finds the values again.
    fn root(&mut self, element: Node<'_, '_>) {
        let name = element.attribute("name").unwrap_or_default();
        if name != "root" {
            let why = "YARN takes the name as written, and never finds the values of these queues \
                       again; write `root`";
            self.reading.refused(self.line(element), shown(name), why);
        }
        self.inside("root".to_owned(), element, 0);
    }

    fn queue(&mut self, above: &str, element: Node<'_, '_>, level: usize) {
        let name = element.attribute("name").map(trim).unwrap_or_default();
        let problem = if name.is_empty() {
            "expected a name, such as <queue name=\"ads\">".to_owned()
        } else if name.contains('.') {
            format!(
                "queue {}: a name has no dot in it; write a <queue> inside a <queue>",
                shown(name)
            )
        } else if name.len() > NAME_BYTES_MAX {
            format!(
                "queue {}: the name has more than {NAME_BYTES_MAX} bytes",
                shown(name)
            )
        } else if level > LEVELS_MAX {
            format!(
                "queue {}: more than {LEVELS_MAX} levels of queues",
                shown(name)
            )
        } else {
            return self.inside(format!("{above}.{name}"), element, level);
        };
        self.fault(element, problem);
    }

    fn inside(&mut self, path: String, element: Node<'_, '_>, level: usize) {
        let line = self.line(element);
        let at = match self.paths.get(&path) {
            Some(at) => {
                let first = self.raw.queues[*at].line;
                let how = format!(
                    "is already in line {first}; the values of both count, the last of each"
                );
                self.reading.approximated(line, path.clone(), how);
                *at
            }
            None => {
                self.reading.exact(line, path.clone());
                self.raw.queues.push(Queue {
                    path: path.clone(),
                    line,
                    is_parent: false,
                    elements: Elements::default(),
                });
                self.paths.insert(path.clone(), self.raw.queues.len() - 1);
                self.raw.queues.len() - 1
            }
        };
        for attribute in element.attributes() {
            match (attribute.name(), attribute.value()) {
                ("name", _) => {}
                ("type", "parent") => self.raw.queues[at].is_parent = true,
                (name, value) => {
                    let what = under(&path, &attribute_name(name));
                    let value = shown(value);
                    let how = format!("YARN ignores the attribute, {value}, and so does Heddle");
                    self.reading.approximated(line, what, how);
                }
            }
        }
        for child in self.elements(&path, element) {
            let (line, name) = (self.line(child), tag(child));
            if matches!(name, "queue" | "pool") {
                self.raw.queues[at].is_parent = true;
                self.queue(&path, child, level + 1);
            } else if let Some(known) = OF_QUEUE.iter().find(|known| **known == name) {
                if let Some(element) = self.value(child) {
                    let elements = &mut self.raw.queues[at].elements;
                    elements.put(&path, known, element, self.reading);
                }
            } else if "queue".ends_with(name) {
                let why = "YARN takes the end of `queue` for a queue; write <queue>";
                self.reading.refused(line, under(&path, name), why);
            } else {
                let name = xml::name(child);
                let what = under(&path, &name);
                let known = [&["queue"], OF_QUEUE].concat();
                self.reading.ignored(line, what, &name, &known);
            }
        }
    }

    fn user(&mut self, element: Node<'_, '_>) {
        let line = self.line(element);
        let name = element.attribute("name").unwrap_or_default();
        let owner = format!("user {}", shown(name).replace('"', ""));
        let mut elements = self.raw.users.remove(name).unwrap_or_default();
        for child in self.elements(&owner, element) {
            match tag(child) {
                "maxRunningApps" => {
                    if let Some(element) = self.value(child) {
                        elements.put(&owner, "maxRunningApps", element, self.reading);
                    }
                }
                _ => {
                    let (line, name) = (self.line(child), xml::name(child));
                    let what = under(&owner, &name);
                    self.reading.ignored(line, what, &name, &["maxRunningApps"]);
                }
            }
        }
        if elements.get("maxRunningApps").is_none() {
            let how = "has no effect: expected <maxRunningApps> in it";
            self.reading.approximated(line, owner, how);
        }
        self.raw.users.insert(name.to_owned(), elements);
    }

    fn placement(&mut self, element: Node<'_, '_>) {
        let line = self.line(element);
        // YARN drops comments before it looks.
        if element.children().all(|child| child.is_comment()) {
            let problem =
                "<queuePlacementPolicy> is empty; expected rules in it, or no such element";
            self.fault(element, problem);
            return;
        }
        if let Some((before, _)) = &self.raw.placement {
            let how = format!("line {line} has the list again, and counts");
            self.reading
                .approximated(*before, "queuePlacementPolicy", how);
        }
        let rules = self.rules("queuePlacementPolicy", element, 0);
        self.raw.placement = Some((line, rules));
    }

    /// The rules in an element, and those in them.
    fn rules(&mut self, owner: &str, element: Node<'_, '_>, level: usize) -> Vec<Rule> {
        let mut rules = Vec::new();
        for child in self.elements(owner, element) {
            let (line, name) = (self.line(child), xml::name(child));
            if !tag(child).eq_ignore_ascii_case("rule") {
                self.reading
                    .ignored(line, under(owner, &name), &name, &["rule"]);
                continue;
            }
            for attribute in child.attributes() {
                let name = attribute.name();
                if !matches!(name, "name" | "create" | "queue") {
                    let what = under(owner, &attribute_name(name));
                    let known = ["name", "create", "queue"];
                    self.reading.ignored(line, what, name, &known);
                }
            }
            let text = |key| child.attribute(key).map(str::to_owned);
            // YARN looks one level deep.
            let inner = match level {
                0 => self.rules(owner, child, 1),
                _ => Vec::new(),
            };
            rules.push(Rule {
                line,
                name: text("name").unwrap_or_default(),
                create: text("create"),
                queue: text("queue"),
                inner,
            });
        }
        rules
    }

    /// The elements in `parent`. YARN ignores text between them.
    fn elements<'n, 'i>(&mut self, owner: &str, parent: Node<'n, 'i>) -> Vec<Node<'n, 'i>> {
        let mut elements = Vec::new();
        for child in parent.children() {
            let text = child.text().unwrap_or_default().trim();
            if child.is_element() && self.xml.is_prefixed(child) {
                let how = "YARN ignores elements with a prefix, and so does Heddle";
                let what = under(owner, &xml::name(child));
                self.reading.approximated(self.line(child), what, how);
            } else if child.is_element() {
                elements.push(child);
            } else if child.is_text() && !text.is_empty() {
                let how = format!(
                    "YARN ignores the text {} between elements, and so does Heddle",
                    shown(text)
                );
                let owner = if owner.is_empty() {
                    "allocations"
                } else {
                    owner
                };
                self.reading.approximated(self.line(parent), owner, how);
            }
        }
        elements
    }

    fn value(&mut self, element: Node<'_, '_>) -> Option<Element> {
        let (line, name) = (self.line(element), tag(element));
        if let Some(inside) = element.children().find(Node::is_element) {
            let inside = xml::name(inside);
            let problem = format!("{name}: expected a value, found the element <{inside}>");
            self.fault(element, problem);
            return None;
        }
        let text = Some(xml::texts(element)).filter(|text| !text.is_empty());
        Some(Element {
            line,
            name: name.to_owned(),
            text,
        })
    }
}

/// The name of an attribute for a note.
fn attribute_name(name: &str) -> String {
    format!("@{}", shown(name).replace('"', ""))
}

fn tag<'n>(element: Node<'n, '_>) -> &'n str {
    element.tag_name().name()
}

/// Removes what YARN takes for white space at both ends of a name (stock-fair.md, 5.3).
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| {
        matches!(c,
            '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
            | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
    })
}
