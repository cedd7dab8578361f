//! Limits of one queue: applications, ApplicationMasters, users, containers (facts 2.3, 4 to 6).

use super::amount::{AMOUNT_MAX, decimal};
use super::defaults::{self, Defaults};
use super::setting::Setting;
use super::source::Source;
use crate::Fault;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The largest container that a queue allows, by resource type.
pub(super) type Largest = BTreeMap<String, i64>;

/// Writes `max-parallel-apps`, which any queue may have.
pub(super) fn write_queue(
    source: &mut Source<'_>,
    queue: usize,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    if let Some(setting) = source.of(queue, "max-parallel-apps") {
        let most = defaults::named_parallel(source, setting)?;
        // Written even without a limit: it goes over the default of all queues.
        sheet.insert(
            "max_running_jobs".to_owned(),
            json!(most.unwrap_or(i32::MAX)),
        );
    }
    Ok(())
}

/// What a leaf is guaranteed of the cluster.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A fixed part.
    Of(f32),
    /// A part that changes with the number of queues.
    Weight,
    /// An amount, or a part of one.
    Amount,
}

/// Writes what leaves have, and returns `minimum-user-limit-percent`.
pub(super) fn write_leaf(
    source: &mut Source<'_>,
    queue: usize,
    defaults: &Defaults,
    part: Part,
    sheet: &mut Map<String, Json>,
) -> Result<f32, Fault> {
    let am = source.of(queue, "maximum-am-resource-percent");
    let am = defaults::am_percent(source, am)?.unwrap_or(defaults.am_percent);
    sheet.insert("max_am_share".to_owned(), json!(am));
    let percent = source.of(queue, "minimum-user-limit-percent");
    let percent = defaults::user_limit_percent(source, percent)?;
    let percent = percent.unwrap_or(defaults.user_limit_percent);
    sheet.insert("user_limit_percent".to_owned(), json!(decimal(percent)));
    let factor = source.of(queue, "user-limit-factor");
    let factor = factor.map(defaults::user_limit_factor).transpose()?;
    let factor = factor.unwrap_or(defaults.user_limit_factor);
    if factor >= 0.0 {
        sheet.insert("user_limit_factor".to_owned(), json!(decimal(factor)));
    }
    let own = source.of(queue, "maximum-applications");
    let own = own.map(|setting| setting.whole()).transpose()?;
    let of_leaf = defaults.applications_of_leaf;
    let most = of_leaf.map_or(defaults.applications, |most| {
        most.min(defaults.applications)
    });
    let (key, most) = match (own.filter(|most| *most >= 0), part) {
        (Some(most), _) => ("max_jobs", most),
        (None, Part::Of(_) | Part::Weight) if of_leaf.is_some() => ("max_jobs", most),
        // As stock: a product of 32 bits, cut.
        (None, Part::Of(part)) => ("max_jobs", (most as f32 * part) as i32),
        (None, Part::Weight | Part::Amount) => ("max_jobs_by_share", most),
    };
    sheet.insert(key.to_owned(), json!(most));
    Ok(percent)
}

/// Reads and writes the weights of users, which queues hand down. `check_weights` checks them.
pub(super) fn user_weights(
    source: &mut Source<'_>,
    queue: usize,
    above: &BTreeMap<String, f32>,
    sheet: &mut Map<String, Json>,
) -> Result<BTreeMap<String, f32>, Fault> {
    let mut weights = above.clone();
    for (rest, setting) in source.starting(queue, "user-settings.") {
        let Some(user) = rest.strip_suffix(".weight").filter(|user| !user.is_empty()) else {
            source.approximate(
                setting,
                "stock ignores it; expected user-settings.NAME.weight",
            );
            continue;
        };
        let weight = setting.number_within(0.0, 100.0)?;
        weights.insert(user.to_owned(), weight);
        sheet.entry("user_weights").or_insert_with(|| json!({}))[user] = json!(decimal(weight));
    }
    Ok(weights)
}

/// Refuses weights that leave no room for as many users as the percentage promises (facts 1.4).
pub(super) fn check_weights(
    source: &mut Source<'_>,
    queue: usize,
    weights: &BTreeMap<String, f32>,
    percent: f32,
) -> Result<(), Fault> {
    let most = 100.0 / percent;
    for (user, weight) in weights {
        if *weight > most {
            let mut at = Some(queue);
            let mut setting = None;
            while let (Some(queue), None) = (at, setting) {
                setting = source.of(queue, &format!("user-settings.{user}.weight"));
                at = source.tree.queues[queue].parent;
            }
            let path = source.tree.queues[queue].path.clone();
            let problem = format!(
                "expected at most {most}, which is 100 / minimum-user-limit-percent of {path}"
            );
            return Err(match setting {
                Some(setting) => setting.expected(&problem["expected ".len()..]),
                None => Fault { line: 0, problem },
            });
        }
    }
    Ok(())
}

/// Reads the largest container of a queue: its own values over those above it (facts 2.3).
pub(super) fn largest(
    source: &mut Source<'_>,
    queue: usize,
    above: &Largest,
    cluster: &Largest,
) -> Result<Largest, Fault> {
    let mut largest = above.clone();
    let all = source.of(queue, "maximum-allocation");
    let single = [
        ("memory-mb", source.of(queue, "maximum-allocation-mb")),
        ("vcores", source.of(queue, "maximum-allocation-vcores")),
    ];
    if let Some(all) = all {
        for (_, setting) in single {
            if let Some(setting) = setting {
                let how = "has no effect, in stock either: maximum-allocation is set";
                source.approximate(setting, how);
            }
        }
        return Ok(vector(source, all, cluster)?.unwrap_or(largest));
    }
    for (name, setting) in single {
        let Some(setting) = setting else { continue };
        let most = setting.long()?;
        if most == -1 {
            continue;
        }
        check_largest(setting, name, most, cluster)?;
        largest.insert(name.to_owned(), most);
    }
    Ok(largest)
}

/// The largest container for `heddle.json`, which takes no larger amounts. No node has them either,
/// so nothing is lost.
pub(super) fn written(largest: &Largest) -> Json {
    let amounts = largest.iter();
    let amounts = amounts.map(|(name, most)| (name.clone(), json!(most.min(&AMOUNT_MAX))));
    Json::Object(amounts.collect())
}

/// `maximum-allocation`: `memory-mb=4096,vcores=4`. Types that it does not name become 0 in stock.
fn vector<'a>(
    source: &mut Source<'a>,
    setting: Setting<'a>,
    cluster: &Largest,
) -> Result<Option<Largest>, Fault> {
    let mut largest = Largest::new();
    for pair in setting.words() {
        let amount = pair.split_once('=').and_then(|(name, amount)| {
            let name = match name.trim() {
                "memory" => "memory-mb",
                name => name,
            };
            Some((name, mebi(amount.trim())?))
        });
        let Some((name, amount)) = amount else {
            return Err(setting.expected("amounts such as memory-mb=4096,vcores=4"));
        };
        if !cluster.contains_key(name) && name != "memory-mb" && name != "vcores" {
            let how = format!("{name} has no maximum in the cluster and is left out");
            source.approximate(setting, how);
            continue;
        }
        check_largest(setting, name, amount, cluster)?;
        largest.insert(name.to_owned(), amount);
    }
    if !["memory-mb", "vcores"]
        .iter()
        .all(|name| largest.contains_key(*name))
    {
        return Err(setting.expected(
            "both memory-mb and vcores, as in memory-mb=4096,vcores=4: a type that is left out \
             counts as 0, and no container fits",
        ));
    }
    Ok(Some(largest))
}

/// An amount with or without a unit of memory.
fn mebi(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let amount = digits.trim().parse::<i64>().ok()?;
    super::amount::to_mebi(amount, &text[digits.len()..])
}

fn check_largest(
    setting: Setting<'_>,
    name: &str,
    most: i64,
    cluster: &Largest,
) -> Result<(), Fault> {
    match cluster.get(name) {
        Some(cluster) if most > *cluster => {
            let problem = format!("at most {cluster} of {name}, the cluster's maximum allocation");
            Err(setting.expected(&problem))
        }
        _ if most <= 0 => Err(setting.expected(&format!("more than 0 of {name}"))),
        _ => Ok(()),
    }
}
