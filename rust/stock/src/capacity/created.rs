//! Queues that submissions make below a parent, from its templates (facts 9). A template is read
//! like the properties of a queue that the file names.

use super::amount::{Amount, Value, decimal, parts};
use super::defaults::{Defaults, at_least};
use super::guarantee::{counted, share_of};
use super::inherited::Inherited;
use super::limits::{self, Largest, Part};
use super::setting::Setting;
use super::sizes::{Kind, Sizes, absolute};
use super::source::{Source, Template};
use super::tree::{Creates, DEPTH_MAX};
use super::{access, order};
use crate::Fault;
use serde_json::{Map, Value as Json, json};

const V1: &str = "auto-create-child-queue.";
const V2: &str = "auto-queue-creation-v2.";
const LEAF_TEMPLATE: &str = "leaf-queue-template.";
const REMOVAL: &str = "auto-queue-creation-v2.queue-auto-removal.enable";

/// Levels below a parent by default.
const DEPTH: i32 = 2;

/// One parent, and what its templates are read with.
pub(super) struct Created<'s, 'a> {
    pub(super) queue: usize,
    pub(super) sizes: &'s Sizes<'a>,
    pub(super) cluster: &'s Largest,
    pub(super) defaults: &'s Defaults,
}

impl<'a> Created<'_, 'a> {
    /// Writes what a parent says about the queues made below it. `own` is what it hands down.
    pub(super) fn write(
        &self,
        source: &mut Source<'a>,
        own: &Inherited<'a>,
        sheet: &mut Map<String, Json>,
    ) -> Result<(), Fault> {
        let queue = self.queue;
        for key in [V1, V2] {
            let switch = source.of(queue, &format!("{key}enabled"));
            source.switch(switch, false);
        }
        let creates = source.tree.queues[queue].creates;
        let (prefix, depth) = match creates {
            Creates::Nothing => {
                without(source, queue);
                return Ok(());
            }
            Creates::Leaves => (V1, 1),
            Creates::Levels => (V2, self.depth(source)?),
        };
        sheet.insert("parent".to_owned(), json!(true));
        sheet.insert("dynamic_depth".to_owned(), json!(depth));
        self.write_most(source, prefix, sheet)?;
        match creates {
            Creates::Leaves => self.leaves(source, own, sheet),
            _ => {
                if let Some(setting) = source.of(queue, REMOVAL) {
                    let how = "has no effect, in stock either: it counts in templates alone";
                    source.approximate(setting, how);
                }
                self.levels(source, (0, depth), own, sheet)
            }
        }
    }

    /// Writes how many queues below this one keep submissions from making another.
    fn write_most(
        &self,
        source: &mut Source<'a>,
        prefix: &str,
        sheet: &mut Map<String, Json>,
    ) -> Result<(), Fault> {
        let most = source.of(self.queue, &format!("{prefix}max-queues"));
        let most = most.map(|setting| at_least(setting, 0)).transpose()?;
        sheet.insert("max_children".to_owned(), json!(most.unwrap_or(1_000)));
        Ok(())
    }

    /// How many levels may be made below the queue.
    pub(super) fn depth(&self, source: &mut Source<'a>) -> Result<i32, Fault> {
        let key = format!("{V2}maximum-queue-depth");
        let own = source.of(self.queue, &key);
        let Some(setting) = own.or(source.system(&key)) else {
            return Ok(DEPTH);
        };
        let depth = at_least(setting, 0)?;
        // Each level is written, and paths are not longer than this.
        let most = DEPTH_MAX as i32;
        if depth > most {
            source.approximate(setting, format!("counts as {most}"));
        }
        Ok(depth.min(most))
    }

    /// Leaves of one template (facts 9.2).
    fn leaves(
        &self,
        source: &mut Source<'a>,
        own: &Inherited<'a>,
        sheet: &mut Map<String, Json>,
    ) -> Result<(), Fault> {
        let exceeding = format!("{V1}fail-on-exceeding-parent-capacity");
        let exceeding = source.of(self.queue, &exceeding);
        if source.switch(exceeding, false)
            && let Some(setting) = exceeding
        {
            let how = "a queue is made even if the guarantees of all are above the parent's; \
                       max-queues alone bounds them";
            source.approximate(setting, how);
        }
        if let Some(setting) = source.of(self.queue, &format!("{V1}management-policy")) {
            let how = "queues made by submissions share what their parent has; none is switched \
                       off";
            source.approximate(setting, how);
        }
        let template = vec![(self.queue, LEAF_TEMPLATE.to_owned())];
        let mut new =
            source.in_templates(template, |source| self.leaf(source, own, self.defaults))?;
        // Stock counts no applications there (facts 6.1).
        new.remove("max_jobs");
        new.remove("max_jobs_by_share");
        new.entry("min_share").or_insert(json!({}));
        sheet.insert("mapped_only".to_owned(), json!(true));
        sheet.insert("new_leaf".to_owned(), Json::Object(new));
        Ok(())
    }

    /// Leaves and parents of a level below the queue, and of those below them (facts 9.3).
    fn levels(
        &self,
        source: &mut Source<'a>,
        (level, depth): (usize, i32),
        above: &Inherited<'a>,
        sheet: &mut Map<String, Json>,
    ) -> Result<(), Fault> {
        // ApplicationMasters may fill a leaf, and user-limit-factor limits no user.
        let free = Defaults {
            am_percent: 1.0,
            user_limit_factor: -1.0,
            ..*self.defaults
        };
        let templates = self.templates(source, level, "leaf-template.")?;
        let leaf = source.in_templates(templates, |source| self.leaf(source, above, &free))?;
        sheet.insert("new_leaf".to_owned(), Json::Object(leaf));
        if level as i32 + 1 >= depth {
            return Ok(());
        }
        let templates = self.templates(source, level, "parent-template.")?;
        let mut parent = Map::new();
        let own = source.in_templates(templates, |source| {
            self.write_most(source, V2, &mut parent)?;
            self.check_removal(source);
            self.queue_of_template(source, false, above, &mut parent)
        })?;
        parent.insert("parent".to_owned(), json!(true));
        self.levels(source, (level + 1, depth), &own, &mut parent)?;
        sheet.insert("new_parent".to_owned(), Json::Object(parent));
        Ok(())
    }

    /// The templates of a queue `level` levels below this one, in the order in which they count:
    /// those for its kind, then those for both kinds. Each begins with the queue's own, followed by
    /// those of paths with ever more wildcards at the end.
    pub(super) fn templates(
        &self,
        source: &mut Source<'a>,
        level: usize,
        kind: &str,
    ) -> Result<Vec<Template>, Fault> {
        let tree = &source.tree;
        let path: Vec<usize> =
            std::iter::successors(Some(self.queue), |at| tree.queues[*at].parent).collect();
        let wildcards = match level {
            0 => self.depth(source)?,
            _ => {
                let all = source.system(&format!("{V2}maximum-queue-depth"));
                all.map_or(Ok(DEPTH), |setting| at_least(setting, 0))?
            }
        };
        // Neither root nor what stands for it is a wildcard.
        let wildcards = (wildcards as usize).min(path.len() - 1 + level);
        let mut templates = Vec::new();
        for kind in [kind, "template."] {
            // With fewer wildcards the path has names that submissions choose.
            for stars in level..=wildcards {
                let before = format!("{}{V2}{kind}", "*.".repeat(stars));
                templates.push((path[stars - level], before));
            }
        }
        if templates.is_empty() {
            // No property has this name: a queue without a template has the defaults.
            templates.push((self.queue, ".".to_owned()));
        }
        Ok(templates)
    }

    /// What a leaf has that a submission makes.
    fn leaf(
        &self,
        source: &mut Source<'a>,
        above: &Inherited<'a>,
        defaults: &Defaults,
    ) -> Result<Map<String, Json>, Fault> {
        let mut sheet = Map::new();
        let own = self.queue_of_template(source, true, above, &mut sheet)?;
        let queue = self.queue;
        let percent = limits::write_leaf(source, queue, defaults, Part::Weight, &mut sheet)?;
        limits::check_weights(source, queue, &own.weights, percent)?;
        access::write_application_priority(source, queue, &mut sheet)?;
        order::write_leaf(source, queue, &mut sheet)?;
        own.lifetime.write(&mut sheet);
        self.check_removal(source);
        Ok(sheet)
    }

    /// What every queue has that a submission makes.
    fn queue_of_template(
        &self,
        source: &mut Source<'a>,
        leaf: bool,
        above: &Inherited<'a>,
        sheet: &mut Map<String, Json>,
    ) -> Result<Inherited<'a>, Fault> {
        self.write_sizes(source, "", sheet)?;
        for label in self.sizes.labels() {
            let before = format!("accessible-node-labels.{label}.");
            if !source.starting(self.queue, &before).is_empty() {
                self.write_sizes(source, label, sheet)?;
            }
        }
        let common = (self.sizes, self.cluster);
        above.below(source, self.queue, leaf, common, sheet)
    }

    /// Writes what queues of a template are guaranteed, and may use, on the nodes of a label.
    fn write_sizes(
        &self,
        source: &mut Source<'a>,
        label: &str,
        sheet: &mut Map<String, Json>,
    ) -> Result<(), Fault> {
        let key = |name: &str| match label {
            "" => name.to_owned(),
            label => format!("accessible-node-labels.{label}.{name}"),
        };
        let capacity = source.of(self.queue, &key("capacity"));
        let maximum = source.of(self.queue, &key("maximum-capacity"));
        let sheet = match label {
            "" => sheet,
            label => share_of(sheet, label),
        };
        if let Some(setting) = capacity {
            match self.sizes.notation.capacity(setting)?.amount {
                Amount::Weight(weight) => {
                    sheet.insert("weight".to_owned(), json!(decimal(weight)));
                }
                Amount::Percent(part) => {
                    let part = json!(format!("{}% of parent", decimal(part)));
                    sheet.insert("min_share".to_owned(), part);
                }
                amounts => {
                    let share = self.amounts(source, label, setting, &amounts)?;
                    sheet.insert("min_share".to_owned(), share);
                }
            }
        }
        if let Some(setting) = maximum {
            let read = self.sizes.notation.maximum(setting)?;
            match read.map(|read| read.amount) {
                Some(Amount::Percent(most)) if most < 100.0 => {
                    let most = json!(format!("{}% of parent", decimal(most)));
                    sheet.insert("max_share".to_owned(), most);
                }
                Some(amounts @ Amount::Parts(_)) => {
                    let share = self.parts(source, setting, &amounts);
                    sheet.insert("max_share".to_owned(), share);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A guarantee in brackets. Below a parent of version 1 it becomes a part of the parent's, as
    /// in stock: so leaves that come too late have none.
    fn amounts(
        &self,
        source: &mut Source<'a>,
        label: &str,
        setting: Setting<'a>,
        amounts: &Amount,
    ) -> Result<Json, Fault> {
        if source.tree.queues[self.queue].creates == Creates::Levels {
            return Ok(self.parts(source, setting, amounts));
        }
        let size = self.sizes.of(label, self.queue);
        let Some(size) = size.filter(|size| size.kind() == Kind::Parts) else {
            return Err(setting.expected("percent: the capacity of the queue is no amount"));
        };
        let all = size.capacity.as_ref().map(|(amount, _)| absolute(amount));
        let all = all.unwrap_or_default();
        let part = |(name, amount): (&str, i64)| {
            let of = all.get(name).copied().filter(|of| *of > 0)?;
            let percent = (amount as f64 / of as f64 * 1e8).floor() / 1e6;
            Some((name.to_owned(), json!(format!("{percent}% of parent"))))
        };
        let amounts = absolute(amounts).into_iter();
        let counts = |name: &str| counted(self.sizes).any(|counted| counted == name);
        let amounts = amounts.filter(|(name, _)| counts(name));
        Ok(Json::Object(amounts.filter_map(part).collect()))
    }

    /// What brackets say, type by type.
    fn parts(&self, source: &mut Source<'a>, setting: Setting<'a>, amounts: &Amount) -> Json {
        let mut shares = Map::new();
        for part in parts(amounts) {
            if !counted(self.sizes).any(|counted| counted == part.resource) {
                continue;
            }
            let share = match part.value {
                Value::Absolute(amount) => json!(amount),
                Value::Percent(percent) => json!(format!("{}% of parent", decimal(percent))),
                Value::Weight(_) => {
                    source.refuse(
                        setting,
                        "not supported yet: weights by resource type for queues that submissions \
                         make; instead write one weight, such as 2w",
                    );
                    continue;
                }
            };
            shares.insert(part.resource.clone(), share);
        }
        Json::Object(shares)
    }

    /// Refuses templates whose queues would stay when they are empty.
    fn check_removal(&self, source: &mut Source<'a>) {
        for key in [REMOVAL, "queue-auto-removal.enable"] {
            let setting = source.of(self.queue, key);
            if !source.switch(setting, true)
                && let Some(setting) = setting
            {
                source.refuse(
                    setting,
                    "not supported yet: queues that submissions make and that stay; instead name \
                     those queues in `queues`",
                );
            }
        }
    }
}

/// Notes that templates have no effect below a queue without creation.
fn without(source: &mut Source<'_>, queue: usize) {
    for prefix in [V1, V2, LEAF_TEMPLATE] {
        for (rest, setting) in source.starting(queue, prefix) {
            if rest != "enabled" && rest != "queue-auto-removal.enable" {
                let how = "has no effect, in stock either: submissions make no queues below this \
                           one";
                source.approximate(setting, how);
            }
        }
    }
}
