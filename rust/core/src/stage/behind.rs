//! Explanations that shares have in common: which queue goes before an ask's, and the least weight
//! that would change what a queue is entitled to. Looks only at keys and entitlements.

use crate::model::change::World;
use crate::model::share_tree::ShareNode;
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::words::keys::ShareNodeId;
use crate::words::resource::Resource;

/// The largest weight that is tried, in thousandths.
const WEIGHT_MAX_PER_MILLE: u64 = 1_000_000_000;

/// Finds the first place on the path from the root to an ask's leaf where another child goes first.
/// Counts only siblings that could take a container of the ask's size. Returns the child on the
/// path and that sibling.
pub(crate) fn passed_by(
    asked: &PendingAsk<'_>,
    world: &World<'_>,
) -> Option<(ShareNodeId, ShareNodeId)> {
    let size = asked.size();
    let mut path: Vec<ShareNodeId> = world.tree.path_up(asked.job.leaf).collect();
    path.reverse();
    let takes = |id: &ShareNodeId| fits_below(world.tree.node(*id), &size);
    path.windows(2).find_map(|step| {
        let (parent, child) = (step[0], step[1]);
        let first = world.tree.node(parent).in_order().find(takes)?;
        (first != child).then_some((child, first))
    })
}

fn fits_below(node: &ShareNode, size: &Resource) -> bool {
    !node.limited || size.fits_in(&(node.max_share - node.used))
}

/// The reason that follows from `passed_by`; `compared` is the resource type that counts.
pub(crate) fn behind(
    asked: &PendingAsk<'_>,
    world: &World<'_>,
    compared: impl Fn(&ShareNode) -> usize,
) -> Option<Reason> {
    let (child, first) = passed_by(asked, world)?;
    let node = world.tree.node(child);
    let i = compared(node);
    Some(Reason::Share {
        queue: node.queue,
        resource: i as u8,
        used: node.used[i],
        entitled: node.fair_share[i],
        first: world.tree.node(first).queue,
    })
}

/// Finds the least weight, above the queue's own, that entitles it to one more container of the
/// asked size. `entitled` reads the siblings once, and returns what computes the entitlement for a
/// weight.
pub(crate) fn heavier<E: FnMut(f64) -> i64>(
    asked: &PendingAsk<'_>,
    world: &World<'_>,
    compared: impl Fn(&ShareNode) -> usize,
    entitled: impl Fn(&ShareNode, ShareNodeId, usize) -> E,
) -> Vec<Remedy> {
    let Some((child, _)) = passed_by(asked, world) else {
        return Vec::new();
    };
    let node = world.tree.node(child);
    let i = compared(node);
    let goal = node.used[i] + asked.size()[i];
    let Some(parent) = node.parent.map(|parent| world.tree.node(parent)) else {
        return Vec::new();
    };
    if node.fair_share[i] >= goal {
        // It is entitled to that already; siblings are further below their shares.
        return Vec::new();
    }
    let mut with_weight = entitled(parent, child, i);
    let mut at = |per_mille: u64| with_weight(per_mille as f64 / 1_000.0);
    let mut below = ((node.weight * 1_000.0) as u64).min(WEIGHT_MAX_PER_MILLE);
    let mut enough = (2 * below).max(1);
    while at(enough) < goal {
        if enough >= WEIGHT_MAX_PER_MILLE {
            // Its demand, its limit, or others' minimums are in the way.
            return Vec::new();
        }
        (below, enough) = (enough, 4 * enough);
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if at(middle) < goal {
            below = middle;
        } else {
            enough = middle;
        }
    }
    vec![Remedy::Weight {
        queue: node.queue,
        weight: enough as f64 / 1_000.0,
        resource: i as u8,
        entitled: at(enough),
    }]
}
