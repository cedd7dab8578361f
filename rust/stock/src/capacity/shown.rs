//! The settings of each queue that the stock scheduler's page and REST answer show, as they are
//! written or inherited. Nothing that follows from the size of the cluster.

use super::access::Lifetime;
use super::amount::{Amount, Value, decimal, parts};
use super::created::Created;
use super::defaults::{self, Defaults};
use super::limits::Largest;
use super::setting::number;
use super::sizes::{Size, Sizes};
use super::source::Source;
use super::system;
use super::tree::Creates;
use crate::{Fault, Properties};
use serde_json::{Map, Value as Json, json};

const MONITORS: &str = "yarn.resourcemanager.scheduler.monitor.enable";
const INTRA_QUEUE: &str =
    "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled";
const V1_TEMPLATE: &str = "leaf-queue-template.";
const V2: &str = "auto-queue-creation-v2.";

/// Returns the settings of each queue by its path, and those of the whole scheduler.
///
/// # Errors
/// The fault that [`super::read`] finds, too.
pub fn shown(properties: &Properties) -> Result<Json, Fault> {
    let mut source = Source::new(properties)?;
    let dominant = system::read_calculator(&mut source)?;
    let notation = system::read_notation(&mut source);
    let sizes = Sizes::read(&mut source, notation, dominant)?;
    let mut common = Map::new();
    let defaults = defaults::read(&mut source, &mut common)?;
    let mut all = Shown {
        sizes,
        parallel: common["queue_defaults"]["max_running_jobs"].clone(),
        monitors: is_on(&mut source, MONITORS),
        intra_queue: is_on(&mut source, INTRA_QUEUE),
        inherited: Vec::new(),
        defaults,
    };
    let mut queues = Map::new();
    for queue in 0..source.tree.queues.len() {
        let settings = all.queue(&mut source, queue)?;
        queues.insert(source.tree.queues[queue].path.clone(), settings);
    }
    Ok(json!({
        "memory_only": !dominant,
        "applications": all.defaults.applications,
        "applications_of_leaf": all.defaults.applications_of_leaf,
        "queues": queues,
    }))
}

struct Shown<'a> {
    sizes: Sizes<'a>,
    /// `max-parallel-apps` of all queues; null for no limit.
    parallel: Json,
    monitors: bool,
    intra_queue: bool,
    defaults: Defaults,
    /// Of each queue: its lifetimes, and whether preemption and that inside of it are disabled.
    inherited: Vec<(Lifetime, bool, bool)>,
}

/// What was read of a property that counts in leaves alone. In a parent stock does not read it, so
/// a wrong value is none.
fn of_leaf<T>(leaf: bool, read: Result<Option<T>, Fault>) -> Result<Option<T>, Fault> {
    match leaf {
        true => read,
        false => Ok(read.unwrap_or_default()),
    }
}

impl<'a> Shown<'a> {
    fn queue(&mut self, source: &mut Source<'a>, queue: usize) -> Result<Json, Fault> {
        let leaf = !source.tree.is_parent(queue);
        let above = source.tree.queues[queue].parent;
        let above = above.map_or((Lifetime::NONE, false, false), |at| self.inherited[at]);
        let lifetime = above.0.below(source, queue)?;
        let disabled = source.of(queue, "disable_preemption");
        let disabled = source.switch(disabled, above.1);
        let intra = source.of(queue, "intra-queue-preemption.disable_preemption");
        let intra = source.switch(intra, above.2);
        self.inherited.push((lifetime, disabled, intra));
        let mut settings = self.size(queue);
        lifetime.write(&mut settings);
        let mut text = |key: &str| source.of(queue, key).map(|setting| setting.value.trim());
        let mut put = |key: &str, value: Json| settings.insert(key.to_owned(), value);
        put("order", json!(text("ordering-policy")));
        put(
            "max_priority_acl",
            json!(text("acl_application_max_priority")),
        );
        put(
            "default_label",
            json!(text("default-node-label-expression")),
        );
        let labels = source.of(queue, "accessible-node-labels");
        let labels = labels.map(|setting| setting.words().collect::<Vec<_>>());
        put("labels", json!(labels.unwrap_or_else(|| vec!["*"])));
        put("preemption_disabled", json!(!self.monitors || disabled));
        put("intra_queue_disabled", json!(!self.intra_queue || intra));
        let mut whole = |name| source.of(queue, name).map(|setting| setting.whole());
        put("priority", json!(whole("priority").transpose()?));
        for (key, name) in [
            ("default_priority", "default-application-priority"),
            ("max_jobs", "maximum-applications"),
        ] {
            put(key, json!(of_leaf(leaf, whole(name).transpose())?));
        }
        let parallel = source.of(queue, "max-parallel-apps");
        let parallel = parallel.map(defaults::parallel).transpose()?;
        let parallel = parallel.map(|most| json!(most));
        put(
            "max_parallel",
            parallel.unwrap_or_else(|| self.parallel.clone()),
        );
        let am = source.of(queue, "maximum-am-resource-percent");
        let am = of_leaf(leaf, defaults::am_percent(source, am))?;
        put("max_am", json!(am.unwrap_or(self.defaults.am_percent)));
        let percent = source.of(queue, "minimum-user-limit-percent");
        let percent = of_leaf(leaf, defaults::user_limit_percent(source, percent))?;
        let percent = percent.unwrap_or(self.defaults.user_limit_percent);
        put("user_limit", json!(decimal(percent)));
        let factor = source.of(queue, "user-limit-factor");
        let factor = of_leaf(leaf, factor.map(defaults::user_limit_factor).transpose())?;
        let factor = factor.unwrap_or(self.defaults.user_limit_factor);
        put("user_limit_factor", json!(decimal(factor)));
        if let Some(weight) = source.of(0, "capacity").filter(|_| queue == 0) {
            let weight = weight.value.trim().strip_suffix('w');
            let weight = weight.and_then(|weight| number(weight.trim()));
            settings.insert("root_weight".to_owned(), json!(weight));
        }
        created(source, queue, &mut settings);
        if source.tree.queues[queue].creates == Creates::Levels {
            settings.insert("made".to_owned(), self.made(source, queue)?);
        }
        Ok(Json::Object(settings))
    }

    /// The capacity that templates give to leaves and parents of each level below a queue.
    fn made(&self, source: &mut Source<'a>, queue: usize) -> Result<Json, Fault> {
        let cluster = Largest::new();
        let created = Created {
            queue,
            sizes: &self.sizes,
            cluster: &cluster,
            defaults: &self.defaults,
        };
        let mut levels = Vec::new();
        for level in 0..created.depth(source)? as usize {
            let mut capacities = Map::new();
            for (key, kind) in [("leaf", "leaf-template."), ("parent", "parent-template.")] {
                let templates = created.templates(source, level, kind)?;
                let capacity = source.in_templates(templates, |source| {
                    source.of(queue, "capacity").map(|setting| setting.value)
                });
                capacities.insert(key.to_owned(), json!(capacity));
            }
            levels.push(Json::Object(capacities));
        }
        Ok(Json::Array(levels))
    }

    /// The capacity and the maximum: each as `percent`, `weight` or `parts`, and as stock's vector.
    fn size(&self, queue: usize) -> Map<String, Json> {
        let root = Size::default();
        let size = self.sizes.of("", queue).unwrap_or(&root);
        let whole = Amount::Percent(if queue == 0 { 100.0 } else { 0.0 });
        let capacity = size.capacity.as_ref().map_or(&whole, |(amount, _)| amount);
        let mut settings = Map::new();
        settings.insert("capacity".to_owned(), self.amount(capacity));
        let maximum = size.maximum.as_ref().map(|(amount, _)| self.amount(amount));
        settings.insert("maximum".to_owned(), json!(maximum));
        settings
    }

    fn amount(&self, amount: &Amount) -> Json {
        let types = &self.sizes.notation.resources;
        let first = ["memory-mb", "vcores"];
        let others = types.iter().map(String::as_str);
        let others = others.filter(|name| !first.contains(name));
        let vector = first.into_iter().chain(others).map(|name| {
            let part = parts(amount).find(|part| part.resource == name);
            let value = match amount {
                Amount::Percent(percent) => Value::Percent(*percent),
                Amount::Weight(weight) => Value::Weight(*weight),
                Amount::Parts(_) => part.map_or(Value::Absolute(0), |part| part.value),
            };
            let said = match value {
                Value::Percent(percent) => format!("{:?}%", decimal(percent)),
                Value::Weight(weight) => format!("{:?}w", decimal(weight)),
                Value::Absolute(amount) => format!("{:?}", amount as f64),
            };
            json!([name, said])
        });
        let vector: Vec<Json> = vector.collect();
        match amount {
            Amount::Percent(percent) => json!({ "percent": decimal(*percent), "vector": vector }),
            Amount::Weight(weight) => json!({ "weight": decimal(*weight), "vector": vector }),
            Amount::Parts(_) => {
                let absolute: Map<String, Json> = super::sizes::absolute(amount)
                    .into_iter()
                    .map(|(name, amount)| (name.to_owned(), json!(amount)))
                    .collect();
                json!({ "parts": absolute, "vector": vector })
            }
        }
    }
}

/// Writes what submissions may make below a queue, and the templates for it.
fn created<'a>(source: &mut Source<'a>, queue: usize, settings: &mut Map<String, Json>) {
    let creates = match source.tree.queues[queue].creates {
        Creates::Nothing => "off",
        Creates::Leaves => "legacy",
        Creates::Levels => "flexible",
    };
    settings.insert("creates".to_owned(), json!(creates));
    for (key, start, named) in [
        ("leaf_template", V1_TEMPLATE.to_owned(), V1_TEMPLATE),
        ("template_all", format!("{V2}template."), ""),
        ("template_parent", format!("{V2}parent-template."), ""),
        ("template_leaf", format!("{V2}leaf-template."), ""),
    ] {
        let found = source.starting(queue, &start);
        let found = found
            .iter()
            .map(|(rest, setting)| json!([format!("{named}{rest}"), setting.value]));
        settings.insert(key.to_owned(), found.collect());
    }
}

fn is_on(source: &mut Source<'_>, name: &str) -> bool {
    let setting = source.outside(name);
    source.switch(setting, false)
}
