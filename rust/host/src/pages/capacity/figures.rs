//! Sizes of queues as the Capacity Scheduler computes them, with floats of 32 bits.

use super::super::Snapshot;
use super::settings::{number, settings};
use serde_json::Value;

/// The sizes of one queue in the default partition.
#[derive(Default)]
pub(super) struct Figures {
    /// What is written or inherited.
    pub(super) settings: Value,
    /// Of its parent; 0 with a weight.
    pub(super) capacity: f32,
    pub(super) maximum: f32,
    /// Of the cluster.
    pub(super) absolute: f32,
    pub(super) absolute_maximum: f32,
    /// -1 without one.
    pub(super) weight: f32,
    /// The part that the weight gives it among its siblings.
    pub(super) normalized: f32,
    /// Whether the capacity is written as amounts.
    pub(super) by_amount: bool,
    /// Amounts as written; 0 without any. Guaranteed, then at most.
    pub(super) configured: [Vec<i64>; 2],
    /// The same as they hold in this cluster.
    pub(super) effective: [Vec<i64>; 2],
    /// Of its guarantee.
    pub(super) used: f32,
    /// Of the cluster.
    pub(super) absolute_used: f32,
    /// Applications in it and below.
    pub(super) applications: i64,
}

/// Works out the figures of all queues.
pub(super) fn figures(snapshot: &Snapshot, children: &[Vec<usize>]) -> Vec<Figures> {
    let mut all: Vec<Figures> = Vec::new();
    all.resize_with(snapshot.queues.len(), Figures::default);
    let cluster = snapshot.amounts(&snapshot.capacity, 0);
    all[0].settings = settings(snapshot, 0, &Value::Null);
    all[0] = root(snapshot, std::mem::take(&mut all[0].settings), &cluster);
    // Parents stand before their children.
    for parent in 0..children.len() {
        for &child in &children[parent] {
            all[child].settings = settings(snapshot, child, &all[parent].settings);
        }
        let weight = |at: &usize| number(&all[*at].settings["capacity"]["weight"]);
        let weights: f32 = children[parent].iter().filter_map(weight).sum();
        for &child in &children[parent] {
            let own = std::mem::take(&mut all[child].settings);
            all[child] = below(snapshot, child, own, &all[parent], weights, &cluster);
        }
    }
    for (at, figures) in all.iter_mut().enumerate() {
        let used = snapshot.amounts(&snapshot.queues[at].0["used"], 0);
        figures.absolute_used = ratio(snapshot, &used, &cluster);
        figures.used = ratio(snapshot, &used, &figures.effective[0]);
    }
    for at in (0..children.len()).rev() {
        let below: i64 = children[at]
            .iter()
            .map(|&child| all[child].applications)
            .sum();
        all[at].applications = match children[at].is_empty() {
            true => snapshot.queues[at].number("jobs"),
            false => below,
        };
    }
    all
}

fn root(snapshot: &Snapshot, settings: Value, cluster: &[i64]) -> Figures {
    let none = vec![0; cluster.len()];
    // 3.3.6 calls the cluster the root's configured amounts.
    let configured = match snapshot.stock.vectors {
        true => none,
        false => cluster.to_vec(),
    };
    let weight = number(&settings["root_weight"]).unwrap_or(-1.0);
    Figures {
        settings,
        capacity: 1.0,
        maximum: 1.0,
        absolute: 1.0,
        absolute_maximum: 1.0,
        weight,
        normalized: if weight > 0.0 { 1.0 } else { 0.0 },
        configured: [configured.clone(), configured],
        effective: [cluster.to_vec(), cluster.to_vec()],
        ..Figures::default()
    }
}

fn below(
    snapshot: &Snapshot,
    at: usize,
    settings: Value,
    above: &Figures,
    weights: f32,
    cluster: &[i64],
) -> Figures {
    let (written, most) = (&settings["capacity"], &settings["maximum"]);
    let by_amount = written["parts"].is_object();
    let none = vec![0; cluster.len()];
    let mut own = Figures {
        weight: -1.0,
        by_amount,
        configured: [none.clone(), none.clone()],
        ..Figures::default()
    };
    let of_cluster = |part: f32| -> Vec<i64> {
        let of = |amount: &i64| (*amount as f64 * f64::from(part)) as i64;
        cluster.iter().map(of).collect()
    };
    if by_amount {
        own.configured[0] = snapshot.amounts(&written["parts"], 0);
        // The engine divides what the parent has, where that is less.
        let guaranteed = &snapshot.queues[at].0["guaranteed"];
        let guaranteed = snapshot.amounts(guaranteed, 0);
        let mut effective = own.configured[0].clone();
        let counted = if snapshot.stock.memory_only() {
            1
        } else {
            effective.len()
        };
        effective[..counted].copy_from_slice(&guaranteed[..counted]);
        own.effective[0] = effective;
        own.absolute = ratio(snapshot, &own.effective[0], cluster);
        own.capacity = part_of(own.absolute, above.absolute);
    } else if let Some(weight) = number(&written["weight"]) {
        own.weight = weight;
        own.normalized = part_of(weight, weights);
        own.absolute = own.normalized * above.absolute;
        own.effective[0] = of_cluster(own.absolute);
    } else {
        own.capacity = number(&written["percent"]).unwrap_or(0.0) / 100.0;
        own.absolute = own.capacity * above.absolute;
        own.effective[0] = of_cluster(own.absolute);
    }
    if by_amount {
        let all = |amounts: &[i64]| amounts.iter().all(|amount| *amount == 0);
        own.configured[1] = snapshot.amounts(&most["parts"], 0);
        if all(&own.configured[1]) && above.by_amount {
            own.configured[1] = above.configured[1].clone();
        }
        let pairs = own.configured[1].iter().zip(&above.effective[1]);
        own.effective[1] = match all(&own.configured[1]) {
            true => above.effective[1].clone(),
            false => pairs.map(|(own, above)| *own.min(above)).collect(),
        };
        own.absolute_maximum = ratio(snapshot, &own.effective[1], cluster);
        own.maximum = part_of(own.absolute_maximum, above.absolute_maximum);
    } else {
        let most = number(&most["percent"]).filter(|most| (0.0..=100.0).contains(most));
        own.maximum = most.unwrap_or(100.0) / 100.0;
        own.absolute_maximum = own.maximum * above.absolute_maximum;
        own.effective[1] = of_cluster(own.absolute_maximum);
    }
    own.settings = settings;
    own
}

/// Compares two amounts as the scheduler's calculator does.
pub(super) fn ratio(snapshot: &Snapshot, amounts: &[i64], whole: &[i64]) -> f32 {
    let counted = if snapshot.stock.memory_only() {
        1
    } else {
        amounts.len()
    };
    let pairs = amounts.iter().zip(whole).take(counted);
    pairs
        .map(|(amount, whole)| part_of(*amount as f32, *whole as f32))
        .fold(0.0, f32::max)
}

fn part_of(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
