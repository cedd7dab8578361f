//! The `share` stage: which queue is next, and what each is entitled to.
//!
//! `ShareTree` keeps the tree, its usage and the order of its children; an implementation gives
//! keys and entitlements.

use super::behind::{Passed, behind};
use super::common::Stage;
use super::entry::Entry;
use super::market::Market;
use crate::config::Compare;
use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::words::keys::{Layout, POOLS};
use crate::words::resource::Resource;

/// Which queue is next.
pub trait Share: Keys + Stage + Send {
    /// The form of the tree of shares; always the same for one share.
    fn layout(&self) -> Layout;

    /// How queues compare if the queue above them says this. None: as the share always does.
    fn compare(&self, _said: Option<Compare>) -> Option<Compare> {
        None
    }

    /// The resource type that a queue is compared by: memory, unless the share says otherwise.
    fn compared(&self, _node: &ShareNode, _capacity: &Resource) -> usize {
        0
    }

    /// Computes every node's entitlement from their demands: fills `fair_share` and `active_share`.
    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource);

    /// The market that divides the slots, if one does.
    fn market(&self) -> Option<&dyn Market> {
        None
    }

    /// The same, to change.
    fn market_mut(&mut self) -> Option<&mut dyn Market> {
        None
    }

    /// The market as it would be if the cluster were of `room` and had other slots.
    fn with_slots(
        &self,
        _slots: [u32; POOLS],
        _room: &Resource,
        _world: &World<'_>,
    ) -> Option<Box<dyn Share>> {
        None
    }

    /// Why the search serves another ask first, if that is the share's doing. Asked only of asks
    /// that no limit holds.
    fn explain(
        &self,
        _asked: &PendingAsk<'_>,
        passed: &Passed,
        world: &World<'_>,
    ) -> Option<Reason> {
        behind(passed, world, |node| {
            self.compared(node, &world.cluster.capacity)
        })
    }

    /// Changes that would remove the reason that `explain` gave.
    fn remedies(
        &self,
        _asked: &PendingAsk<'_>,
        _passed: &Passed,
        _world: &World<'_>,
    ) -> Vec<Remedy> {
        Vec::new()
    }
}

/// One share of the catalogue.
pub(crate) type ShareEntry = Entry<dyn Share>;
