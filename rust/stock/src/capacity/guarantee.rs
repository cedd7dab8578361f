//! Capacities and maxima as `min_share`, `max_share` and `weight` (facts 3.4 and 3.5). A capacity
//! in percent is a part of the parent's `min_share`; so is a weight, against the sum of its
//! siblings'. Where submissions make siblings the sum changes: there a weight stays a weight, by
//! which the engine divides what siblings with a `min_share` leave. So it is with the queues below,
//! whose parent has no `min_share` to be part of.

use super::amount::{Amount, Value, decimal, parts};
use super::sizes::{Kind, Size, Sizes, absolute};
use super::source::Source;
use super::tree::Creates;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Writes the sizes of every queue, on the nodes of each label too. Returns the absolute capacity
/// of each queue, which other defaults are computed from; none where it depends on the size of the
/// cluster.
pub(super) fn write<'a>(
    source: &mut Source<'a>,
    sizes: &Sizes<'a>,
    sheets: &mut [Map<String, Json>],
) -> Vec<Option<f32>> {
    for label in sizes.labels() {
        write_on(source, sizes, label, sheets);
    }
    write_on(source, sizes, "", sheets)
}

/// Writes the sizes in one partition.
fn write_on<'a>(
    source: &mut Source<'a>,
    sizes: &Sizes<'a>,
    partition: &str,
    sheets: &mut [Map<String, Json>],
) -> Vec<Option<f32>> {
    let mut absolute_capacity = vec![None; sheets.len()];
    absolute_capacity[0] = Some(1.0);
    // Whether a queue has a `min_share` that those below it can be parts of.
    let mut anchored = vec![true; sheets.len()];
    for parent in 0..sheets.len() {
        let children = source.tree.queues[parent].children.clone();
        let siblings = Siblings::new(sizes, partition, &children);
        for child in children {
            let none = Size::default();
            let size = sizes.of(partition, child);
            if size.is_none() && !partition.is_empty() {
                continue;
            }
            let size = size.unwrap_or(&none);
            let fixed = source.tree.queues[parent].creates != Creates::Levels;
            anchored[child] = anchored[parent] && (fixed || size.kind() != Kind::Weight);
            let mut written = siblings.written(sizes, size, anchored[child]);
            if parent == 0 && !sizes.notation.legacy {
                written.cut();
            }
            let sheet = match partition {
                "" => &mut sheets[child],
                label => share_of(&mut sheets[child], label),
            };
            if let Some(weight) = written.weight {
                sheet.insert("weight".to_owned(), json!(weight));
            }
            for (key, share) in [("min_share", written.min), ("max_share", written.max)] {
                if !share.is_empty() {
                    sheet.insert(key.to_owned(), Json::Object(share));
                }
            }
            siblings.remark(source, sizes, size);
            if let (false, Some((_, setting))) = (anchored[child], &size.capacity) {
                let how = "as a weight, because submissions may make queues beside it or above it; \
                           a user-limit-factor then counts from the maximum";
                source.approximate(*setting, how);
            }
            let fraction = siblings.fraction(size);
            absolute_capacity[child] = match (fraction, absolute_capacity[parent]) {
                (Some(fraction), Some(above)) => Some(fraction * above),
                _ => None,
            };
        }
    }
    absolute_capacity
}

/// What a queue's sheet says of a label.
pub(super) fn share_of<'s>(
    sheet: &'s mut Map<String, Json>,
    label: &str,
) -> &'s mut Map<String, Json> {
    let labels = sheet.entry("labels").or_insert_with(|| json!({}));
    let share = &mut labels[label];
    if share.is_null() {
        *share = json!({});
    }
    share.as_object_mut().expect("it was made as an object")
}

/// What the children of one parent have in common.
struct Siblings<'s> {
    /// The sum of their weights.
    weights: f32,
    /// The same for each resource type in brackets.
    weights_of: BTreeMap<&'s str, f32>,
    /// The sum of the percentages of each type in brackets.
    percent_of: BTreeMap<&'s str, f32>,
    /// The types of which some child has an absolute amount.
    absolute_of: BTreeMap<&'s str, i64>,
    /// Whether all have percent, all weights, or all amounts.
    comparable: bool,
}

/// What is written for one queue.
#[derive(Default)]
struct Written {
    weight: Option<f64>,
    min: Map<String, Json>,
    max: Map<String, Json>,
}

impl Written {
    /// Without legacy mode a minimum is cut to the maximum (facts 3.5). Only right below root are
    /// both parts of the same amount.
    fn cut(&mut self) {
        let part = |share: &Json| {
            let text = share.as_str()?.strip_suffix("% of parent")?;
            text.parse::<f64>().ok()
        };
        for (name, min) in &mut self.min {
            let max = self.max.get(name);
            if let (Some(of), Some(max), Some(most)) = (part(min), max, max.and_then(part))
                && of > most
            {
                *min = max.clone();
            }
        }
    }
}

impl<'s> Siblings<'s> {
    fn new(sizes: &'s Sizes<'_>, partition: &str, children: &[usize]) -> Siblings<'s> {
        let mut siblings = Siblings {
            weights: 0.0,
            weights_of: BTreeMap::new(),
            percent_of: BTreeMap::new(),
            absolute_of: BTreeMap::new(),
            comparable: false,
        };
        let mut kinds = std::collections::BTreeSet::new();
        for child in children {
            let size = sizes.of(partition, *child);
            let capacity = size.and_then(|size| size.capacity.as_ref());
            let Some((amount, _)) = capacity else {
                continue;
            };
            // 0 percent goes with everything.
            if *amount != Amount::Percent(0.0) {
                kinds.insert(notation(amount));
            }
            if let Amount::Weight(weight) = amount {
                siblings.weights += weight;
            }
            for part in parts(amount) {
                let name = part.resource.as_str();
                match part.value {
                    Value::Weight(weight) => {
                        *siblings.weights_of.entry(name).or_default() += weight
                    }
                    Value::Percent(of) => *siblings.percent_of.entry(name).or_default() += of,
                    Value::Absolute(0) => {}
                    Value::Absolute(amount) => {
                        siblings.absolute_of.insert(name, amount);
                    }
                }
            }
        }
        siblings.comparable = kinds.len() <= 1;
        siblings
    }

    fn written(&self, sizes: &Sizes<'_>, size: &Size<'_>, anchored: bool) -> Written {
        let mut written = Written {
            weight: (self.comparable || size.kind() == Kind::Weight).then(|| weight(size)),
            ..Written::default()
        };
        let max = size.maximum.as_ref().map(|(amount, _)| amount);
        for name in counted(sizes) {
            let min = size.capacity.as_ref();
            let min = min.and_then(|(amount, _)| self.least(amount, name));
            let min = min.filter(|min| anchored || matches!(min, Share::Amount(_)));
            let max = max.and_then(|amount| most(sizes, size, amount, name));
            // A part may be above the maximum, as in stock, where limits of users still go by it.
            let min = match (&min, &max) {
                (Some(Share::Amount(of)), Some(Share::Amount(most))) if of > most => max.clone(),
                _ => min,
            };
            for (share, into) in [(min, &mut written.min), (max, &mut written.max)] {
                if let Some(share) = share {
                    into.insert(name.to_owned(), share.json());
                }
            }
        }
        written
    }

    /// What a queue is guaranteed of one resource type.
    fn least(&self, capacity: &Amount, name: &str) -> Option<Share> {
        let share = match capacity {
            Amount::Percent(percent) => Share::Percent(decimal(*percent)),
            Amount::Weight(weight) => Share::Percent(part_of(*weight, self.weights, 100.0)),
            Amount::Parts(_) => {
                let part = parts(capacity).find(|part| part.resource == name)?;
                match part.value {
                    Value::Absolute(amount) => Share::Amount(amount),
                    Value::Percent(percent) => Share::Percent(decimal(percent)),
                    Value::Weight(weight) => {
                        let taken = self.percent_of.get(name).copied().unwrap_or(0.0);
                        let sum = self.weights_of.get(name).copied().unwrap_or(0.0);
                        let left = match self.absolute_of.contains_key(name) {
                            true => 0.0,
                            false => (100.0 - f64::from(taken)).max(0.0),
                        };
                        Share::Percent(part_of(weight, sum, left))
                    }
                }
            }
        };
        match share {
            Share::Percent(0.0) | Share::Amount(0) => None,
            share => Some(share),
        }
    }

    /// Notes what differs from stock.
    fn remark<'a>(&self, source: &mut Source<'a>, sizes: &Sizes<'a>, size: &Size<'a>) {
        if let Some((amount, setting)) = &size.capacity {
            let mixed = parts(amount).any(|part| {
                let name = part.resource.as_str();
                !matches!(part.value, Value::Absolute(_)) && self.absolute_of.contains_key(name)
            });
            if mixed {
                let how = "percent are of all that the parent has, and weights divide nothing, \
                           because a sibling has an absolute amount of that type; in stock they \
                           are of what such siblings leave";
                source.approximate(*setting, how);
            }
        }
        let Some((maximum, setting)) = &size.maximum else {
            return;
        };
        let absolute = matches!(maximum, Amount::Parts(_));
        if sizes.notation.legacy && absolute != (size.kind() == Kind::Parts) {
            let how = match absolute {
                true => "has no effect, in stock either: the capacity is not an absolute amount",
                false => "has no effect, in stock either: the capacity is an absolute amount",
            };
            source.approximate(*setting, how);
        }
        if let (Amount::Percent(most), Some((Amount::Percent(of), at))) = (maximum, &size.capacity)
            && of > most
        {
            let how = "is above maximum-capacity, which holds; limits of users and masters go by \
                       the capacity, in stock too";
            source.approximate(*at, how);
        }
    }

    /// The capacity as a part of the parent's; none if it depends on the size of the cluster.
    fn fraction(&self, size: &Size<'_>) -> Option<f32> {
        match &size.capacity {
            Some((Amount::Weight(weight), _)) if self.weights > 0.0 => Some(weight / self.weights),
            Some((Amount::Parts(_), _)) => None,
            _ => Some(size.fraction()),
        }
    }
}

#[derive(Clone, Debug)]
enum Share {
    Amount(i64),
    /// Of the parent.
    Percent(f64),
}

impl Share {
    fn json(&self) -> Json {
        match self {
            Share::Amount(amount) => json!(amount),
            Share::Percent(percent) => json!(format!("{percent}% of parent")),
        }
    }
}

/// How a capacity is written; in brackets, how its memory is.
fn notation(amount: &Amount) -> &'static str {
    let memory = parts(amount).find(|part| part.resource == "memory-mb");
    match (amount, memory.map(|part| part.value)) {
        (Amount::Percent(_), _) | (_, Some(Value::Percent(_))) => "%",
        (Amount::Weight(_), _) | (_, Some(Value::Weight(_))) => "w",
        (Amount::Parts(_), _) => "mb",
    }
}

/// The resource types that count for shares and limits.
pub(super) fn counted<'s>(sizes: &'s Sizes<'_>) -> impl Iterator<Item = &'s str> {
    let all = sizes.notation.resources.iter().map(String::as_str);
    all.filter(|name| sizes.dominant || *name == "memory-mb")
}

/// The maximum of one resource type.
fn most(sizes: &Sizes<'_>, size: &Size<'_>, maximum: &Amount, name: &str) -> Option<Share> {
    match maximum {
        Amount::Percent(_) if sizes.notation.legacy && size.kind() == Kind::Parts => None,
        Amount::Percent(percent) if *percent >= 100.0 => None,
        Amount::Percent(percent) => Some(Share::Percent(decimal(*percent))),
        Amount::Weight(_) => None,
        Amount::Parts(_) if sizes.notation.legacy && size.kind() != Kind::Parts => None,
        // A maximum without memory counts as none.
        Amount::Parts(all) if sizes.notation.legacy && all.is_empty() => None,
        Amount::Parts(_) if sizes.notation.legacy => Some(Share::Amount(
            absolute(maximum).get(name).copied().unwrap_or(0),
        )),
        Amount::Parts(_) => {
            let part = parts(maximum).find(|part| part.resource == name)?;
            match part.value {
                Value::Absolute(0) | Value::Weight(_) => None,
                Value::Absolute(amount) => Some(Share::Amount(amount)),
                Value::Percent(percent) => Some(Share::Percent(decimal(percent))),
            }
        }
    }
}

/// A part of `whole` percent by weight, cut so that no sum is above the whole.
fn part_of(weight: f32, sum: f32, whole: f64) -> f64 {
    if sum <= 0.0 {
        return 0.0;
    }
    (f64::from(weight) / f64::from(sum) * whole * 1e6).floor() / 1e6
}

/// The weight against siblings, for shares that divide by weight: what stock compares usage with.
fn weight(size: &Size<'_>) -> f64 {
    match &size.capacity {
        None => 0.0,
        Some((Amount::Percent(percent), _)) => decimal(*percent),
        Some((Amount::Weight(weight), _)) => decimal(*weight),
        Some((amount @ Amount::Parts(_), _)) => {
            let memory = parts(amount).find(|part| part.resource == "memory-mb");
            memory.map_or(0.0, |part| match part.value {
                Value::Absolute(amount) => (amount as f64).min(1e9),
                Value::Percent(share) | Value::Weight(share) => decimal(share),
            })
        }
    }
}
