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
mod inherited;
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

use created::Created;
use defaults::Defaults;
use inherited::Inherited;
use limits::{Largest, Part};
use serde_json::{Map, Value, json};
use sizes::Sizes;
use source::Source;

/// Translates the properties of the Capacity Scheduler. Values are taken as written: a host
/// replaces references to other properties before.
///
/// # Errors
/// The first fault, with its line. Nothing of such a file may be used.
pub fn read(properties: &Properties) -> Result<Front, Fault> {
    translate(properties, true)
}

/// Translates the properties as [`read`] does.
///
/// # Errors
/// All faults, sorted by line: at least one. After a wrong list of queues nothing more is known,
/// and after a wrong capacity no sum is judged.
pub fn read_all(properties: &Properties) -> Result<Front, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    let (mut left, mut sums) = (properties.clone(), true);
    loop {
        let fault = match translate(&left, sums) {
            Ok(front) if faults.is_empty() => return Ok(front),
            Ok(_) => break,
            Err(fault) => fault,
        };
        let name = fault
            .problem
            .split(": ")
            .next()
            .unwrap_or_default()
            .to_owned();
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_size = last == "capacity" || last == "maximum-capacity" || fault.line == 0;
        let known = left.contains_key(&name);
        let of_value = fault.problem.contains(", found ");
        faults.push(fault);
        match () {
            () if is_size && sums && !of_value => sums = false,
            () if !known || last == "queues" => break,
            () => {
                // Goes on as if it were not there.
                sums &= !is_size;
                left.remove(&name);
            }
        }
    }
    faults.sort_by_key(|fault| fault.line);
    Err(faults)
}

/// `sums` says whether the sizes of queues are compared with each other.
fn translate(properties: &Properties, sums: bool) -> Result<Front, Fault> {
    crate::bounds::check(properties, 1)?;
    let mut source = Source::new(properties)?;
    let mut config = Map::new();
    let policy = json!({ "share": "capacity", "order": ORDER, "place": "delay" });
    config.insert("policy".to_owned(), policy);
    config.insert("reload".to_owned(), json!("refuse"));
    let dominant = system::read_calculator(&mut source)?;
    let share = match dominant {
        true => json!({ "dominant": true }),
        false => json!({ "memory_only": true }),
    };
    config.insert("share".to_owned(), share);
    let notation = system::read_notation(&mut source);
    let sizes = Sizes::read(&mut source, notation, dominant)?;
    if sums {
        sizes.check(&mut source)?;
    }
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
        inherited: Vec::new(),
    };
    for (queue, sheet) in sheets.iter_mut().enumerate() {
        all.write(&mut source, queue, sheet)?;
    }
    system::write_workflows(&mut source, &mut sheets)?;
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
    inherited: Vec<Inherited<'a>>,
}

impl<'a> Queues<'a> {
    /// Writes the settings of one queue.
    fn write(
        &mut self,
        source: &mut Source<'a>,
        queue: usize,
        sheet: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let cluster = Inherited::of_cluster(self.cluster.clone());
        let above = source.tree.queues[queue].parent;
        let above = above.map_or(&cluster, |parent| &self.inherited[parent]);
        let leaf = !source.tree.is_parent(queue);
        let common = (&self.sizes, &self.cluster);
        let own = above.below(source, queue, leaf, common, sheet)?;
        let created = Created {
            queue,
            sizes: &self.sizes,
            cluster: &self.cluster,
            defaults: &self.defaults,
        };
        created.write(source, &own, sheet)?;
        if leaf {
            self.write_leaf(source, queue, &own, sheet)?;
        }
        self.inherited.push(own);
        Ok(())
    }

    fn write_leaf(
        &self,
        source: &mut Source<'a>,
        queue: usize,
        own: &Inherited<'a>,
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
