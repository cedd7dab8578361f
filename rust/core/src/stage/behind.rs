//! Explanations that shares have in common: what a queue is compared by, and the least weight that
//! would put it first. The search says which queue goes before an ask's.

use super::division::guarantees_at;
use crate::config::Compare;
use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::words::ids::JobId;
use crate::words::keys::ShareNodeId;

/// The largest weight that is tried, in thousandths.
const WEIGHT_MAX_PER_MILLE: u64 = 1_000_000_000;

/// What the search serves before an ask.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    pub job: JobId,
    /// Where the paths of the two part: the queue on the ask's path, and the one that goes first.
    /// None if both are of one leaf.
    pub apart: Option<(ShareNodeId, ShareNodeId)>,
}

/// The reason that follows from `passed`; `compared` is the resource type that counts.
pub(crate) fn behind(
    passed: &Passed,
    world: &World<'_>,
    compared: impl Fn(&ShareNode) -> usize,
) -> Option<Reason> {
    let (child, first) = passed.apart?;
    let node = world.tree.node(child);
    let i = compared(node);
    Some(Reason::Share {
        queue: node.queue,
        resource: i as u8,
        used: node.used[i],
        entitled: node.fair_share[i],
        first: world.tree.node(first).queue,
        short: None,
    })
}

/// Finds the least weight, above the queue's own, that puts it first. Takes a larger one if that
/// entitles the queue to one more container of the asked size. `entitled` reads the siblings once,
/// and returns what computes the entitlement for a weight.
pub(crate) fn heavier<E: FnMut(f64) -> i64>(
    (asked, passed): (&PendingAsk<'_>, &Passed),
    (world, keys): (&World<'_>, &dyn Keys),
    compared: impl Fn(&ShareNode) -> usize,
    entitled: impl Fn(&ShareNode, ShareNodeId, usize) -> E,
) -> Vec<Remedy> {
    let Some((child, first)) = passed.apart else {
        return Vec::new();
    };
    let (node, first) = (world.tree.node(child), (world.tree.node(first), first));
    let Some(parent) = node.parent.filter(|parent| first.0.parent == Some(*parent)) else {
        return Vec::new();
    };
    let i = compared(node);
    let goal = node.used[i] + asked.size()[i];
    let mut with_weight = entitled(world.tree.node(parent), child, i);
    let (mut raised, mut other) = (node.clone(), first.0.clone());
    let mut goes_first = |per_mille: u64| {
        raised.weight = per_mille as f64 / 1_000.0;
        if node.compared_by == Some(Compare::Capacity)
            && let Some(guaranteed) = guarantees_at(world.tree, (child, first.1), raised.weight)
        {
            [raised.guaranteed, other.guaranteed] = guaranteed;
        }
        let key = |node: &ShareNode| keys.key(node, &world.tree.capacity);
        (key(&raised), child) < (key(&other), first.1)
    };
    let own = ((node.weight * 1_000.0) as u64).min(WEIGHT_MAX_PER_MILLE);
    let Some(before) = least(own, &mut goes_first) else {
        // The other is below a minimum, or goes first whatever they use.
        return Vec::new();
    };
    // Its demand, its limit, or others' minimums may keep it from being entitled to more.
    let own_share = node.fair_share[i] >= goal;
    let more = (!own_share).then(|| least(own, |weight| with_weight(weight as f64 / 1e3) >= goal));
    let weight = more.flatten().unwrap_or(before).max(before);
    vec![Remedy::Weight {
        queue: node.queue,
        weight: weight as f64 / 1_000.0,
        resource: i as u8,
        entitled: with_weight(weight as f64 / 1_000.0),
    }]
}

/// The least weight above `own` that is enough, in thousandths.
fn least(own: u64, mut is_enough: impl FnMut(u64) -> bool) -> Option<u64> {
    let (mut below, mut enough) = (own, (2 * own).max(1));
    while !is_enough(enough) {
        if enough >= WEIGHT_MAX_PER_MILLE {
            return None;
        }
        (below, enough) = (enough, 4 * enough);
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if is_enough(middle) {
            enough = middle;
        } else {
            below = middle;
        }
    }
    Some(enough)
}

/// What `heavier` needs of siblings that compare by guarantees: the guarantee of a type.
pub(crate) fn guaranteed_by_weight(
    tree: &ShareTree,
    child: ShareNodeId,
    i: usize,
) -> impl FnMut(f64) -> i64 {
    move |weight| {
        let guaranteed = guarantees_at(tree, (child, child), weight);
        guaranteed.map_or(0, |[guaranteed, _]| guaranteed[i])
    }
}
