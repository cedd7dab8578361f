//! One share for all: only the order stage decides between jobs, whatever their queues.
//!
//! Limits of the root queue hold. Resource limits of other queues do not, because jobs of all
//! queues stand in one line. `max_running_jobs` holds for every queue.

use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::stage::common::Stage;
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::{Layout, ShareKey};
use crate::words::resource::Resource;

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "single",
    summary: "all jobs in one line; queues only name them, and of their limits on resources only \
              the root's hold",
    preset: None,
    wants: &[],
    reads: &[],
    own: None,
    build: |_config| Box::new(Single),
};

struct Single;

impl Stage for Single {}

impl Keys for Single {
    fn key(&self, _node: &ShareNode, _capacity: &Resource) -> ShareKey {
        ShareKey::default()
    }
}

impl Share for Single {
    fn layout(&self) -> Layout {
        Layout::Single
    }

    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        let root = tree.root_mut();
        root.fair_share = root.max_share.component_min(capacity);
        root.active_share = root.fair_share;
    }
}
