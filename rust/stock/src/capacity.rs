//! `capacity-scheduler.xml` and every `yarn.scheduler.capacity.*` property, as `heddle.json`
//! (DI-20 to DI-27). Follows the rules of Hadoop 3.5; docs/develop/stock-capacity.md has the facts.
//! Decides nothing about containers.
//!
//! A file that stock would not start with is a [`Fault`]. A property that stock takes and Heddle
//! cannot follow is refused in its note, so that an operator may tolerate the loss.

mod access;
mod amount;
mod created;
mod defaults;
mod guarantee;
mod labels;
mod limits;
mod mapping;
mod monitors;
mod order;
mod placement;
mod setting;
mod shown;
mod sizes;
mod source;
mod system;
mod tree;
mod unread;
mod versions;

use crate::{Fault, Front, ORDER, Properties};
pub use shown::shown;

use access::Lifetime;
use defaults::Defaults;
use labels::Labels;
use limits::{Largest, Part};
use serde_json::{Map, Value, json};
use sizes::Sizes;
use source::Source;
use std::collections::BTreeMap;
use tree::Creates;

/// Translates the properties of the Capacity Scheduler. Values are taken as written: a host
/// replaces references to other properties before.
///
/// # Errors
/// The first fault, with its line. Nothing of such a file may be used.
pub fn read(properties: &Properties) -> Result<Front, Fault> {
    let mut source = Source::new(properties)?;
    let mut config = Map::new();
    let policy = json!({ "share": "capacity", "order": ORDER, "place": "delay" });
    config.insert("policy".to_owned(), policy);
    let dominant = system::read_calculator(&mut source)?;
    config.insert("share".to_owned(), json!({ "dominant": dominant }));
    let notation = system::read_notation(&mut source);
    let sizes = Sizes::read(&mut source, notation, dominant)?;
    sizes.check(&mut source)?;
    let mut sheets: Vec<Map<String, Value>> = Vec::new();
    for queue in &source.tree.queues {
        sheets.push(Map::from_iter([("path".to_owned(), json!(queue.path))]));
    }
    let absolute = guarantee::write(&mut source, &sizes, &mut sheets);
    let defaults = defaults::read(&mut source, &mut config)?;
    sheets[0].insert("max_jobs".to_owned(), json!(defaults.applications));
    let mut all = Queues {
        cluster: system::read_largest(&mut source)?,
        defaults,
        absolute,
        sizes,
        handed_down: Vec::new(),
    };
    for (queue, sheet) in sheets.iter_mut().enumerate() {
        all.write(&mut source, queue, sheet)?;
    }
    system::write(&mut source, &mut config)?;
    monitors::write(&mut source, &mut config)?;
    placement::write(&mut source, &mut config)?;
    versions::write(&mut source, &all.sizes);
    unread::write(&mut source);
    let queues = sheets.into_iter().map(Value::Object).collect();
    config.insert("queues".to_owned(), Value::Array(queues));
    Ok(Front {
        config: Value::Object(config),
        notes: source.into_notes(),
    })
}

/// What the settings of all queues are read with.
struct Queues<'a> {
    cluster: Largest,
    defaults: Defaults,
    /// The part of the cluster that each queue is guaranteed, where it is fixed.
    absolute: Vec<Option<f32>>,
    sizes: Sizes<'a>,
    /// What each queue hands down to those below it. Parents stand before their children.
    handed_down: Vec<HandedDown<'a>>,
}

/// Values that a queue takes from the one above it.
struct HandedDown<'a> {
    runs: bool,
    by_priority: bool,
    preempts: bool,
    lifetime: Lifetime,
    largest: Largest,
    weights: BTreeMap<String, f32>,
    labels: Labels<'a>,
}

impl<'a> Queues<'a> {
    /// Writes the settings of one queue.
    fn write(
        &mut self,
        source: &mut Source<'a>,
        queue: usize,
        sheet: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let root = HandedDown {
            runs: true,
            by_priority: false,
            preempts: true,
            lifetime: Lifetime::NONE,
            largest: self.cluster.clone(),
            weights: BTreeMap::new(),
            labels: None,
        };
        let above = source.tree.queues[queue].parent;
        let above = above.map_or(&root, |parent| &self.handed_down[parent]);
        let leaf = !source.tree.is_parent(queue);
        let disabled = source.of(queue, "disable_preemption");
        let mut own = HandedDown {
            runs: access::write_state(source, queue, above.runs, sheet)?,
            by_priority: above.by_priority,
            preempts: !source.switch(disabled, !above.preempts),
            lifetime: above.lifetime.below(source, queue)?,
            largest: limits::largest(source, queue, &above.largest, &self.cluster)?,
            weights: limits::user_weights(source, queue, &above.weights, sheet)?,
            labels: labels::write(source, queue, &above.labels, &self.sizes, sheet)?,
        };
        access::write_rights(source, queue, sheet);
        access::write_priority(source, queue, above.by_priority, sheet)?;
        labels::write_default(source, queue, &own.labels, leaf, sheet)?;
        limits::write_queue(source, queue, sheet)?;
        if own.largest != above.largest {
            sheet.insert("max_container".to_owned(), json!(own.largest));
        }
        created::write(source, queue, &self.sizes.notation, &self.defaults, sheet)?;
        // A queue that says yes below one that says no counts in stock: so leaves say it.
        if !own.preempts && (leaf || source.tree.queues[queue].creates != Creates::Nothing) {
            sheet.insert("preempt_from".to_owned(), json!(false));
        }
        note_rest(source, queue);
        if leaf {
            self.write_leaf(source, queue, &own, sheet)?;
        } else {
            own.by_priority = order::by_priority(source, queue, above.by_priority)?;
            sheet.insert("compare".to_owned(), json!("capacity"));
        }
        self.handed_down.push(own);
        Ok(())
    }

    fn write_leaf(
        &self,
        source: &mut Source<'a>,
        queue: usize,
        own: &HandedDown<'a>,
        sheet: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let weighs = |size: &sizes::Size<'_>| size.kind() == sizes::Kind::Weight;
        let part = match self.absolute[queue] {
            Some(part) => Part::Of(part),
            None if self.sizes.of("", queue).is_some_and(weighs) => Part::Weight,
            None => Part::Amount,
        };
        let percent = limits::write_leaf(source, queue, &self.defaults, part, sheet)?;
        limits::check_weights(source, queue, &own.weights, percent)?;
        order::write_leaf(source, queue, sheet)?;
        access::write_application_priority(source, queue, sheet)?;
        own.lifetime.write(sheet);
        Ok(())
    }
}

/// Says something about properties of queues that Heddle does without.
fn note_rest(source: &mut Source<'_>, queue: usize) {
    if let Some(setting) = source.of(queue, "reservable")
        && source.switch(Some(setting), false)
    {
        source.refuse(
            setting,
            "not supported: the reservation system; instead give the queue a guarantee",
        );
    }
    if let Some(setting) = source.of(queue, "intra-queue-preemption.disable_preemption") {
        let how = "has no effect: there is no preemption inside queues";
        source.approximate(setting, how);
    }
    if let Some(setting) = source.of(queue, "multi-node-sorting.policy") {
        source.approximate(
            setting,
            "nodes are taken as they report, in no order of their own",
        );
    }
}
