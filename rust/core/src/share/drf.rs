//! Weighted dominant-resource fairness between queues, which are users unless configured otherwise
//! (Ghodsi et al., NSDI 2011): a baseline, and a policy beneath ShuffleWatcher (SW-29).
//!
//! Siblings are in the order of `fair` by dominant resource. Entitlements differ: a queue gets its
//! resource types in the proportion of its demand. This makes dominant shares per weight max-min
//! fair (the paper's progressive filling, section 4.2).

use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Remedy};
use crate::model::waterfill::{Claim, waterfill_exact};
use crate::stage::behind::{Passed, heavier};
use crate::stage::by_usage::ByUsage;
use crate::stage::common::Stage;
use crate::stage::entry::DIVISION;
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::{Layout, ShareKey, ShareNodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "drf",
    summary: "queues (users, unless configured otherwise) by weighted dominant-resource fairness",
    preset: None,
    wants: &[],
    reads: DIVISION,
    own: None,
    build: |_config| Box::new(Drf),
};

struct Drf;

impl Stage for Drf {}

impl Keys for Drf {
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
        DOMINANT.key(node, capacity)
    }

    fn key_after(&self, node: &ShareNode, container: &Resource, capacity: &Resource) -> ShareKey {
        DOMINANT.key_at(node, &(node.used + *container), capacity)
    }
}

impl Share for Drf {
    fn layout(&self) -> Layout {
        Layout::Queues
    }

    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        let root = tree.root_mut();
        root.fair_share = root.max_share.component_min(capacity);
        root.active_share = root.fair_share;
        for parent in tree.ids() {
            let children = tree.node(parent).children.clone();
            let (fair, active) = (tree.node(parent).fair_share, tree.node(parent).active_share);
            let fair = divide(tree, &children, &fair, capacity, 1.0);
            let active = divide(tree, &children, &active, capacity, f64::INFINITY);
            for (i, child) in children.into_iter().enumerate() {
                let node = tree.node_mut(child);
                (node.fair_share, node.active_share) = (fair[i], active[i]);
            }
        }
    }

    fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        DOMINANT.compared(node, capacity)
    }

    fn remedies(&self, asked: &PendingAsk<'_>, passed: &Passed, world: &World<'_>) -> Vec<Remedy> {
        let capacity = &world.cluster.capacity;
        let compared = |node: &ShareNode| self.compared(node, capacity);
        heavier(
            (asked, passed),
            (world, self),
            compared,
            |parent, child, i| {
                let total = parent.fair_share;
                let mut parties = parties(world.tree, &parent.children, &total, capacity, 1.0);
                let me = parent.children.iter().position(|id| *id == child);
                let me = me.expect("a node is among its parent's children");
                move |weight| {
                    parties[me].weight = weight;
                    parties[me].amounts(progressive_filling(&total, &parties)[me])[i]
                }
            },
        )
    }
}

/// Comparison of queues by dominant resource.
const DOMINANT: ByUsage = ByUsage { dominant: true };

/// Divides `total`; each sibling gets at most `most` times its demand.
fn divide(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    capacity: &Resource,
    most: f64,
) -> Vec<Resource> {
    let parties = parties(tree, siblings, total, capacity, most);
    let dominant = progressive_filling(total, &parties);
    let amounts = |(party, dominant): (&Party, f64)| party.amounts(dominant);
    parties.iter().zip(dominant).map(amounts).collect()
}

fn parties(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    capacity: &Resource,
    most: f64,
) -> Vec<Party> {
    let party = |id: &ShareNodeId| {
        let node = tree.node(*id);
        Party::new(node, &node.max_share.component_min(total), capacity, most)
    };
    siblings.iter().map(party).collect()
}

/// A queue's claim, in dominant shares of the whole cluster.
struct Party {
    weight: f64,
    least: f64,
    most: f64,
    /// Use of each type per unit of dominant share.
    profile: [f64; RESOURCE_TYPES_MAX],
}

impl Party {
    /// Returns its amount of each type at a dominant share.
    fn amounts(&self, dominant: f64) -> Resource {
        let mut share = Resource::ZERO;
        for (i, amount) in share.0.iter_mut().enumerate() {
            // The factor keeps rounding from costing a whole share one unit.
            *amount = (self.profile[i] * dominant * (1.0 + 1e-12)).floor() as i64;
        }
        share
    }

    /// Creates the party of a node. `limit` caps its demand, which is scaled down as a whole: one
    /// type is useless without the others.
    fn new(node: &ShareNode, limit: &Resource, capacity: &Resource, most: f64) -> Party {
        let demand = &node.demand;
        let dominant = demand.dominant_share(capacity);
        let mut profile = [0.0; RESOURCE_TYPES_MAX];
        let mut factor = if dominant > 0.0 { most } else { 0.0 };
        for i in (0..RESOURCE_TYPES_MAX).filter(|i| dominant > 0.0 && demand[*i] > 0) {
            profile[i] = demand[i] as f64 / dominant;
            factor = factor.min(limit[i].max(0) as f64 / demand[i] as f64);
        }
        let most = dominant * factor;
        let least = node
            .min_share
            .component_min(demand)
            .dominant_share(capacity);
        Party {
            weight: node.weight,
            least: least.clamp(0.0, most),
            most,
            profile,
        }
    }
}

/// Returns dominant shares. All grow by weight, between their bounds, until a type is used up. Its
/// users stop there; the others continue.
fn progressive_filling(total: &Resource, parties: &[Party]) -> Vec<f64> {
    let mut shares: Vec<Option<f64>> = vec![None; parties.len()];
    // Every round stops all users of one type, so the types bound the rounds.
    for _ in 0..RESOURCE_TYPES_MAX {
        let stops = (0..RESOURCE_TYPES_MAX).filter_map(|i| stop(total[i], i, parties, &shares));
        let Some((_, stopped)) = stops.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            break;
        };
        for (party, share) in stopped {
            shares[party] = Some(share);
        }
    }
    let full = |(share, party): (Option<f64>, &Party)| share.unwrap_or(party.most);
    shares.into_iter().zip(parties).map(full).collect()
}

/// Returns the level at which type `i` is used up, and the shares at which its growing users stop
/// then. None if there is enough for all their demand.
fn stop(
    total: i64,
    i: usize,
    parties: &[Party],
    shares: &[Option<f64>],
) -> Option<(f64, Vec<(usize, f64)>)> {
    let mut left = total.max(0) as f64;
    let mut growing = Vec::new();
    let mut claims = Vec::new();
    for (at, party) in parties.iter().enumerate() {
        let used = party.profile[i];
        match shares[at] {
            Some(share) => left -= share * used,
            None if used > 0.0 => {
                growing.push(at);
                claims.push(Claim {
                    weight: party.weight * used,
                    least: party.least * used,
                    most: party.most * used,
                });
            }
            None => {}
        }
    }
    let wanted: f64 = claims.iter().map(|claim| claim.most).sum();
    if wanted <= left * (1.0 + 1e-12) {
        return None;
    }
    let amounts = waterfill_exact(left.max(0.0), &claims);
    let stopped: Vec<(usize, f64)> = growing
        .into_iter()
        .zip(amounts)
        .map(|(at, amount)| (at, amount / parties[at].profile[i]))
        .collect();
    // Only growing parties are at the level: those at their minimum are above it, and those whose
    // demand is met below. The factor keeps a rounded minimum from counting as growth.
    let level = stopped
        .iter()
        .filter(|(at, share)| *share > parties[*at].least * (1.0 + 1e-9))
        .map(|(at, share)| share / parties[*at].weight)
        .fold(0.0, f64::max);
    Some((level, stopped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::share_tree::Limits;
    use crate::words::ids::QueueId;

    /// Builds a root with a queue per weight, minimum and demand.
    fn tree(queues: &[(f64, Resource, Resource)]) -> ShareTree {
        let mut tree = ShareTree::default();
        let root = tree.add(None, QueueId(0), &Limits::default());
        for (weight, min_share, demand) in queues {
            let limits = Limits {
                weight: *weight,
                min_share: *min_share,
                ..Limits::default()
            };
            let id = tree.add(Some(root), QueueId(1), &limits);
            tree.node_mut(id).demand = *demand;
        }
        tree
    }

    fn fair_shares(capacity: Resource, queues: &[(f64, Resource, Resource)]) -> Vec<Resource> {
        let mut tree = tree(queues);
        Drf.entitle(&mut tree, &capacity);
        tree.ids()
            .skip(1)
            .map(|id| tree.node(id).fair_share)
            .collect()
    }

    /// The paper's section 4.1: 18 GB and 9 CPUs; A's tasks take 4 GB and 1 CPU, B's 1 GB and 3.
    /// A ends with 12 GB and 3 CPUs, B with 2 GB and 6: two thirds of its dominant type each.
    #[test]
    fn the_papers_example() {
        let none = Resource::ZERO;
        let shares = fair_shares(
            Resource::new(18, 9),
            &[
                (1.0, none, Resource::new(400, 100)),
                (1.0, none, Resource::new(100, 300)),
            ],
        );
        assert_eq!(shares, [Resource::new(12, 3), Resource::new(2, 6)]);
    }

    #[test]
    fn who_does_not_use_what_is_gone_goes_on_growing() {
        // Two use memory only and get half each; the third uses only CPUs, all of them.
        let none = Resource::ZERO;
        let shares = fair_shares(
            Resource::new(100, 100),
            &[
                (1.0, none, Resource::new(500, 0)),
                (1.0, none, Resource::new(500, 0)),
                (1.0, none, Resource::new(0, 500)),
            ],
        );
        let expected = [(50, 0), (50, 0), (0, 100)];
        assert_eq!(shares, expected.map(|(mb, cpus)| Resource::new(mb, cpus)));
    }

    /// CPUs end first, at a third for each of the first, fourth and fifth. The last queue's little
    /// demand is met long before, and is no reason to stop the users of memory.
    #[test]
    fn a_met_demand_stops_nobody_else() {
        let none = Resource::ZERO;
        let demands = [(500, 500), (500, 0), (1, 0), (0, 500), (0, 500)];
        let queues = demands.map(|(mb, cpus)| (1.0, none, Resource::new(mb, cpus)));
        let shares = fair_shares(Resource::new(300, 300), &queues);
        // Of 300 MB the second gets what the first and the third leave.
        let expected = [(100, 100), (199, 0), (1, 0), (0, 100), (0, 100)];
        assert_eq!(shares, expected.map(|(mb, cpus)| Resource::new(mb, cpus)));
    }

    /// The minimum of the last is above the level at which memory ends (a fifth of the cluster).
    #[test]
    fn a_minimum_is_not_the_level_at_which_a_type_ends() {
        let none = Resource::ZERO;
        let shares = fair_shares(
            Resource::new(300, 300),
            &[
                (1.0, none, Resource::new(900, 300)),
                (1.0, none, Resource::new(0, 900)),
                (1.0, Resource::new(240, 0), Resource::new(900, 0)),
            ],
        );
        // Memory ends first: the first has the 60 MB that the minimum leaves, and 20 CPUs.
        let expected = [(60, 20), (0, 280), (240, 0)];
        assert_eq!(shares, expected.map(|(mb, cpus)| Resource::new(mb, cpus)));
    }

    #[test]
    fn weights_minimums_and_demands_hold() {
        let none = Resource::ZERO;
        let all = Resource::new(1_000, 1_000);
        // 3 to 1.
        let shares = fair_shares(Resource::new(80, 80), &[(3.0, none, all), (1.0, none, all)]);
        assert_eq!(shares, [Resource::new(60, 60), Resource::new(20, 20)]);
        // The second has a minimum of 50, the third wants 6; the first gets the remaining 24.
        let shares = fair_shares(
            Resource::new(80, 80),
            &[
                (1.0, none, all),
                (1.0, Resource::new(50, 50), all),
                (1.0, none, Resource::new(6, 6)),
            ],
        );
        assert_eq!(
            shares,
            [24, 50, 6].map(|amount| Resource::new(amount, amount))
        );
        // A queue without weight gets only its minimum.
        let shares = fair_shares(
            Resource::new(80, 80),
            &[(0.0, Resource::new(5, 5), all), (1.0, none, all)],
        );
        assert_eq!(shares, [5, 75].map(|amount| Resource::new(amount, amount)));
    }
}
