//! The properties of the Capacity Scheduler, found by queue, and the verdict on each. Knows nothing
//! of what they mean.

use super::setting::Setting;
use super::tree::{PREFIX, Tree};
use crate::{Fault, Note, Properties, Verdict, java};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A template: the queue whose properties describe it, and the start of their names.
pub(super) type Template = (usize, String);

/// All properties, found by queue, and what was said about them.
pub(super) struct Source<'a> {
    properties: &'a Properties,
    pub(super) tree: Tree<'a>,
    /// The properties of each queue by their last part.
    of_queues: Vec<BTreeMap<&'a str, Setting<'a>>>,
    verdicts: BTreeMap<&'a str, Verdict>,
    /// While templates are read: whose properties they are, and what stands before their names.
    templates: Vec<Template>,
    /// Notes that belong to no property.
    further: Vec<Note>,
}

impl<'a> Source<'a> {
    pub(super) fn new(properties: &'a Properties) -> Result<Source<'a>, Fault> {
        let tree = Tree::read(properties)?;
        let mut of_queues = vec![BTreeMap::new(); tree.queues.len()];
        for setting in below(properties, PREFIX) {
            let rest = &setting.name[PREFIX.len()..];
            if let Some((queue, key)) = tree.owner(rest) {
                of_queues[queue].insert(key, setting);
            }
        }
        let mut source = Source {
            properties,
            tree,
            of_queues,
            verdicts: BTreeMap::new(),
            templates: Vec::new(),
            further: Vec::new(),
        };
        for queue in 0..source.tree.queues.len() {
            // The tree has read it.
            source.of(queue, "queues");
        }
        Ok(source)
    }

    /// A property of a queue, which counts as followed exactly unless something else is said.
    pub(super) fn of(&mut self, queue: usize, key: &str) -> Option<Setting<'a>> {
        let own = |queue: usize, key: &str| self.of_queues[queue].get(key).copied();
        let found = match self.templates.as_slice() {
            [] => Vec::from_iter(own(queue, key)),
            templates => {
                let all = templates.iter();
                all.filter_map(|(queue, before)| own(*queue, &format!("{before}{key}")))
                    .collect()
            }
        };
        // Those that the first one overrides are followed, too: they lose.
        for setting in &found {
            self.verdicts.entry(setting.name).or_insert(Verdict::Exact);
        }
        found.first().copied()
    }

    /// Reads the properties of queues from templates, each of which overrides the next.
    pub(super) fn in_templates<T>(
        &mut self,
        templates: Vec<Template>,
        read: impl FnOnce(&mut Source<'a>) -> T,
    ) -> T {
        self.templates = templates;
        let result = read(self);
        self.templates.clear();
        result
    }

    /// Whether properties of queues come from templates now.
    pub(super) fn reads_templates(&self) -> bool {
        !self.templates.is_empty()
    }

    /// Those of a queue whose last part begins with `start`, by the rest of it.
    pub(super) fn starting(&mut self, queue: usize, start: &str) -> Vec<(&'a str, Setting<'a>)> {
        let mut found = BTreeMap::new();
        let own = [(queue, String::new())];
        let places = match self.templates.as_slice() {
            [] => own.as_slice(),
            templates => templates,
        };
        for (queue, before) in places {
            let start = format!("{before}{start}");
            let from = (Bound::Included(start.as_str()), Bound::Unbounded);
            for (key, setting) in self.of_queues[*queue].range::<str, _>(from) {
                let Some(rest) = key.strip_prefix(start.as_str()) else {
                    break;
                };
                found.entry(rest).or_insert(*setting);
                self.verdicts.entry(setting.name).or_insert(Verdict::Exact);
            }
        }
        found.into_iter().collect()
    }

    /// A property of the whole scheduler, without its prefix.
    pub(super) fn system(&mut self, key: &str) -> Option<Setting<'a>> {
        self.outside(&format!("{PREFIX}{key}"))
    }

    /// Those of the whole scheduler that begin with `start`, by the rest of the name.
    pub(super) fn systems(&mut self, start: &str) -> Vec<(&'a str, Setting<'a>)> {
        let start = format!("{PREFIX}{start}");
        let found: Vec<_> = below(self.properties, &start)
            .map(|setting| (&setting.name[start.len()..], setting))
            .collect();
        for (_, setting) in &found {
            self.verdicts.entry(setting.name).or_insert(Verdict::Exact);
        }
        found
    }

    /// Any property, by its full name.
    pub(super) fn outside(&mut self, name: &str) -> Option<Setting<'a>> {
        let (name, property) = self.properties.get_key_value(name)?;
        self.verdicts.entry(name).or_insert(Verdict::Exact);
        Some(Setting {
            name,
            value: &property.value,
            line: property.line,
        })
    }

    /// A switch: anything but `true` and `false` counts as absent, as in Hadoop.
    pub(super) fn switch(&mut self, setting: Option<Setting<'a>>, absent: bool) -> bool {
        let Some(setting) = setting else {
            return absent;
        };
        java::boolean(setting.value).unwrap_or_else(|| {
            let how = format!("is neither true nor false, and counts as {absent}");
            self.approximate(setting, how);
            absent
        })
    }

    pub(super) fn approximate(&mut self, setting: Setting<'a>, how: impl Into<String>) {
        self.say(setting, Verdict::Approximated(how.into()));
    }

    pub(super) fn warn(&mut self, setting: Setting<'a>, what: impl Into<String>) {
        self.say(setting, Verdict::Warned(what.into()));
    }

    pub(super) fn refuse(&mut self, setting: Setting<'a>, why: impl Into<String>) {
        self.say(setting, Verdict::Refused(why.into()));
    }

    /// Adds a note that belongs to no property.
    pub(super) fn remark(&mut self, element: impl Into<String>, how: impl Into<String>) {
        self.further.push(Note {
            line: 0,
            element: element.into(),
            verdict: Verdict::Approximated(how.into()),
        });
    }

    /// The worse verdict stays; two of a kind are joined.
    fn say(&mut self, setting: Setting<'a>, verdict: Verdict) {
        let said = self.verdicts.entry(setting.name).or_insert(Verdict::Exact);
        let joined = match (&*said, verdict) {
            (Verdict::Refused(before), Verdict::Refused(why)) => {
                Verdict::Refused(format!("{before}; {why}"))
            }
            (Verdict::Approximated(before), Verdict::Approximated(how)) => {
                Verdict::Approximated(format!("{before}; {how}"))
            }
            (Verdict::Refused(_), _) | (Verdict::Warned(_), Verdict::Approximated(_)) => return,
            (_, verdict) => verdict,
        };
        *said = joined;
    }

    /// The properties of the Capacity Scheduler that nothing has asked for.
    pub(super) fn unread(&self) -> Vec<Setting<'a>> {
        let all = below(self.properties, PREFIX);
        all.filter(|setting| !self.verdicts.contains_key(setting.name))
            .collect()
    }

    /// What was said, in the order of the file.
    pub(super) fn into_notes(self) -> Vec<Note> {
        let said = self.verdicts.into_iter().map(|(name, verdict)| Note {
            line: self
                .properties
                .get(name)
                .map_or(0, |property| property.line),
            element: name.to_owned(),
            verdict,
        });
        let mut notes: Vec<Note> = said.chain(self.further).collect();
        notes.sort_by_key(|note| note.line);
        notes
    }
}

/// The properties whose name begins with `prefix`.
fn below<'a>(properties: &'a Properties, prefix: &str) -> impl Iterator<Item = Setting<'a>> {
    let from = properties.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    from.take_while(move |(name, _)| name.starts_with(prefix))
        .map(|(name, property)| Setting {
            name,
            value: &property.value,
            line: property.line,
        })
}
