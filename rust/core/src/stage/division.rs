//! Entitlements of queues that share by weights or guarantees: goes down the tree and divides what
//! each queue has among those below it, as it compares them.

use crate::config::Compare;
use crate::model::share_tree::{ShareNode, ShareTree};
use crate::model::stock_fair;
use crate::model::waterfill::{Claim, waterfill};
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Fills the entitlements of every node.
pub(crate) fn entitle(tree: &mut ShareTree, capacity: &Resource) {
    let within = tree.node(ShareNodeId::ROOT).max_share;
    let stock = is_stock_fair(tree, ShareNodeId::ROOT);
    let root = tree.root_mut();
    root.fair_share = within.component_min(capacity);
    // YARN's Fair Scheduler divides the cluster whatever root's maximum is.
    root.active_share = if stock { *capacity } else { root.fair_share };
    guarantee(tree, capacity);
    // Parents come before children in the table, so one pass down suffices.
    for parent in tree.ids() {
        let children = tree.node(parent).children.clone();
        let Some(first) = children.first() else {
            continue;
        };
        let by = tree.node(*first).compared_by;
        let (fair, active) = (tree.node(parent).fair_share, tree.node(parent).active_share);
        let fair = divide(tree, &children, &fair, wanted);
        let active = match by {
            None | Some(Compare::Capacity) => divide(tree, &children, &active, allowed),
            Some(by) => as_stock_fair(tree, &children, &active, by, is_active),
        };
        for (i, child) in children.into_iter().enumerate() {
            let node = tree.node_mut(child);
            (node.fair_share, node.active_share) = (fair[i], active[i]);
        }
    }
}

/// Fills the guarantees, which depend on nothing that queues use or want.
pub(crate) fn guarantee(tree: &mut ShareTree, capacity: &Resource) {
    tree.root_mut().guaranteed = *capacity;
    for parent in tree.ids() {
        let children = tree.node(parent).children.clone();
        let first = children.first().map(|first| tree.node(*first).compared_by);
        if first != Some(Some(Compare::Capacity)) {
            continue;
        }
        let weight = |id: ShareNodeId| tree.node(id).weight;
        let guaranteed = guarantees(tree, &children, &tree.node(parent).guaranteed, weight);
        let parts = parts(tree, parent, &guaranteed);
        for ((child, guaranteed), part) in children.iter().zip(guaranteed).zip(parts) {
            let node = tree.node_mut(*child);
            (node.guaranteed, node.part) = (guaranteed, part);
        }
    }
}

/// The guarantees of a queue and of a sibling if the first had another weight.
pub(crate) fn guarantees_at(
    tree: &ShareTree,
    (child, sibling): (ShareNodeId, ShareNodeId),
    weight: f64,
) -> Option<[Resource; 2]> {
    let parent = tree.node(tree.node(child).parent?);
    let weight = |id: ShareNodeId| {
        if id == child {
            weight
        } else {
            tree.node(id).weight
        }
    };
    let all = guarantees(tree, &parent.children, &parent.guaranteed, weight);
    let of = |id: ShareNodeId| {
        let at = parent.children.iter().position(|other| *other == id)?;
        Some(all[at])
    };
    Some([of(child)?, of(sibling)?])
}

/// The parts of the cluster that are guaranteed to the queues below one. As stock: those that are
/// set, and weights, are multiplied from the root down in 32 bits; of amounts the ratio counts.
fn parts(tree: &ShareTree, parent: ShareNodeId, guaranteed: &[Resource]) -> Vec<f32> {
    let above = tree.node(parent);
    let children = above.children.iter().map(|child| tree.node(*child));
    let weights = children.clone().filter(|child| !child.sets_minimum);
    let weights: f32 = weights.map(|child| child.weight as f32).sum();
    let part = |(child, guaranteed): (&ShareNode, &Resource)| match child.set_part {
        Some(part) => part * above.part,
        None if !child.sets_minimum && weights > 0.0 => child.weight as f32 / weights * above.part,
        None if above.guaranteed.is_zero() => 0.0,
        None => {
            let share = match tree.dominant {
                true => guaranteed.dominant_share(&above.guaranteed),
                false => guaranteed[0] as f64 / above.guaranteed[0].max(1) as f64,
            };
            share as f32 * above.part
        }
    };
    children.zip(guaranteed).map(part).collect()
}

fn is_stock_fair(tree: &ShareTree, parent: ShareNodeId) -> bool {
    let first = tree.node(parent).children.first();
    first.is_some_and(|first| tree.node(*first).is_stock_fair())
}

/// Divides `total` among siblings, each resource type alone; none gets more than `most`.
fn divide(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    most: fn(&ShareNode) -> Resource,
) -> Vec<Resource> {
    let mut shares = vec![Resource::ZERO; siblings.len()];
    // Types without a total give no shares; most clusters have two of eight.
    let types: Vec<usize> = (0..RESOURCE_TYPES_MAX).filter(|i| total[*i] > 0).collect();
    let mut claims = vec![Vec::with_capacity(siblings.len()); types.len()];
    // All types of a node at once: thousands of nodes come from memory.
    for node in siblings.iter().map(|id| tree.node(*id)) {
        let most = most(node);
        for (claims, i) in claims.iter_mut().zip(&types) {
            claims.push(claim(node, &most, *i));
        }
    }
    for (claims, i) in claims.iter().zip(types) {
        for (share, amount) in shares.iter_mut().zip(waterfill(total[i], claims)) {
            share.0[i] = amount;
        }
    }
    shares
}

/// Returns the siblings' claims on one resource type.
pub(crate) fn claims(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    i: usize,
    most: fn(&ShareNode) -> Resource,
) -> Vec<Claim> {
    let nodes = siblings.iter().map(|id| tree.node(*id));
    nodes.map(|node| claim(node, &most(node), i)).collect()
}

/// Returns a node's claim on one resource type, of which it uses `most` at the most.
fn claim(node: &ShareNode, most: &Resource, i: usize) -> Claim {
    let most = most[i].max(0);
    let (weight, least) = match node.compared_by {
        Some(Compare::Capacity) => (node.guaranteed[i] as f64, node.guaranteed[i]),
        _ => (node.weight, node.min_share[i]),
    };
    Claim {
        weight,
        least: least.min(most),
        most,
    }
}

/// Returns the most that a node can use.
pub(crate) fn wanted(node: &ShareNode) -> Resource {
    node.demand.component_min(&node.max_share)
}

/// Returns the most that a node may use, if it has or wants anything.
fn allowed(node: &ShareNode) -> Resource {
    if node.demand.is_zero() {
        Resource::ZERO
    } else {
        node.max_share
    }
}

fn is_active(node: &ShareNode) -> bool {
    !node.demand.is_zero()
}

/// The fair shares of YARN's Fair Scheduler. Its policy `fair` divides memory only, `drf` every
/// resource type. Queues that are not `active` have none.
fn as_stock_fair(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    by: Compare,
    active: fn(&ShareNode) -> bool,
) -> Vec<Resource> {
    let mut shares = vec![Resource::ZERO; siblings.len()];
    let types = match by {
        Compare::Memory => 1,
        Compare::Dominant | Compare::Capacity => RESOURCE_TYPES_MAX,
    };
    for i in 0..types {
        let claim = |id: &ShareNodeId| {
            let node = tree.node(*id);
            stock_fair::Claim {
                weight: node.weight as f32,
                least: node.min_share[i],
                most: node.max_share[i],
                active: active(node),
            }
        };
        let claims: Vec<_> = siblings.iter().map(claim).collect();
        for (share, amount) in shares.iter_mut().zip(stock_fair::shares(total[i], &claims)) {
            share.0[i] = amount;
        }
    }
    shares
}

/// The steady fair shares of YARN's Fair Scheduler, by node: what each would have if all queues had
/// applications. For reports. None if no queues compare as there.
pub(crate) fn steady_shares(tree: &ShareTree, capacity: &Resource) -> Option<Vec<Resource>> {
    let mut steady = vec![Resource::ZERO; tree.len()];
    *steady.first_mut()? = *capacity;
    let mut any = false;
    for parent in tree.ids().filter(|id| is_stock_fair(tree, *id)) {
        any = true;
        let children = &tree.node(parent).children;
        let by = tree.node(children[0]).compared_by?;
        let shares = as_stock_fair(tree, children, &steady[parent.index()], by, |_| true);
        for (child, share) in children.iter().zip(shares) {
            steady[child.index()] = share;
        }
    }
    any.then_some(steady)
}

/// The guarantees of siblings out of that of the queue above. Those that set a minimum get it, cut
/// in proportion where together they set more than there is. The others have the rest by weight.
fn guarantees(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    weight: impl Fn(ShareNodeId) -> f64,
) -> Vec<Resource> {
    let nodes = || siblings.iter().map(|id| (tree.node(*id), weight(*id)));
    let set = nodes().filter(|(node, _)| node.sets_minimum);
    let set = set.fold(Resource::ZERO, |sum, (node, _)| sum + node.min_share);
    let weights: f64 = nodes()
        .filter(|(node, _)| !node.sets_minimum)
        .map(|(_, weight)| weight)
        .sum();
    let part = |amount: i64, part: f32| (amount as f64 * f64::from(part)) as i64;
    let guarantee = |(node, weight): (&ShareNode, f64)| {
        let mut guarantee = Resource::ZERO;
        for i in 0..RESOURCE_TYPES_MAX {
            guarantee.0[i] = if !node.sets_minimum {
                let weight = if weights > 0.0 { weight / weights } else { 0.0 };
                part(total[i].saturating_sub(set[i]).max(0), weight as f32)
            } else if set[i] > total[i] {
                part(node.min_share[i], total[i] as f32 / set[i] as f32)
            } else {
                node.min_share[i]
            };
        }
        guarantee
    };
    nodes().map(guarantee).collect()
}
