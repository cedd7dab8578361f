//! Counts for one size of container which nodes could ever hold it, have room now, or have room
//! but no slot. Goes over all nodes, so never on a heartbeat.

use super::View;
use crate::backlog::ShapeSize;
use crate::model::cluster::Node;
use crate::model::wait::Shortage;
use crate::words::ids::{AskId, JobId, Millis, NodeId, PartitionId};
use crate::words::keys::ShapeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// How many jobs and queues the remedies of one request or tick look at, beyond those of its first
/// job: the scheduler waits meanwhile, and a page may have a hundred jobs.
const LOOKS_MAX: usize = 20_000;

/// What one request or tick has found out so far for all the jobs that it explains.
pub(crate) struct Surveys {
    /// By size; one serves all jobs that ask for the same.
    by_shape: BTreeMap<ShapeId, Survey>,
    /// How many looks are left.
    looks: usize,
}

impl Surveys {
    pub(crate) fn new() -> Surveys {
        Surveys {
            by_shape: BTreeMap::new(),
            looks: LOOKS_MAX,
        }
    }

    /// The survey for a shape, made by `make` if it is the first.
    pub(super) fn of(&mut self, shape: ShapeId, make: impl FnOnce() -> Survey) -> &Survey {
        self.by_shape.entry(shape).or_insert_with(make)
    }

    /// Takes so many looks. Returns false if none is left.
    pub(super) fn look_at(&mut self, count: usize) -> bool {
        let may = self.looks > 0;
        self.looks = self.looks.saturating_sub(count);
        may
    }
}

/// The nodes as one shape sees them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Nodes of its label that are up.
    pub(super) nodes: u32,
    /// Those of them that are large enough.
    pub(super) large: u32,
    /// Those that have room and a slot, and are not held.
    pub(super) ready: u32,
    /// Those that have room but no slot of its pool.
    pub(super) slotless: u32,
    /// Whether the order stage withholds slots of one of those.
    pub(super) foreign: bool,
    /// Number of nodes that have room and are held for another size, and when the first hold ends.
    pub(super) held: Option<(u32, Millis)>,
    /// What nodes lack if none is large enough. With the largest of them, if others have more of
    /// that and less of another type.
    pub(super) too_small: Option<(Shortage, Option<NodeId>)>,
    /// Whether nodes of another label that are large enough may lend their room.
    pub(super) borrows: bool,
    /// Nodes of other labels that have room.
    pub(super) labelled: u32,
    /// What a new node of that size would serve first, once that is asked.
    pub(super) newcomer: OnceCell<Option<(JobId, AskId)>>,
}

/// Returns the scarcest of the resource types that do not fit; none if all fit.
pub(super) fn shortage(wanted: &Resource, room: &Resource) -> Option<Shortage> {
    let lacking = |i: &usize| wanted[*i] > 0 && wanted[*i] > room[*i];
    let part = |i: &usize| room[*i].max(0) as f64 / wanted[*i] as f64;
    let scarcest = (0..RESOURCE_TYPES_MAX).filter(lacking);
    let i = scarcest.min_by(|a, b| part(a).total_cmp(&part(b)))?;
    Some(Shortage {
        resource: i as u8,
        wanted: wanted[i],
        most: room[i].max(0),
    })
}

impl View<'_> {
    pub(super) fn survey(&self, shape: ShapeId) -> Survey {
        let size = self.backlog.shapes.get(shape).size;
        let mut survey = Survey::default();
        let mut largest: Option<&Node> = None;
        let mut most = Resource::ZERO;
        let nodes = self.world.cluster.nodes();
        for node in nodes.filter(|node| node.facts.schedulable) {
            if node.facts.partition != size.partition {
                survey.labelled += u32::from(size.resource.fits_in(&node.free));
                let may_borrow = size.partition == PartitionId::DEFAULT && !size.am;
                let lends = node.facts.lends && size.resource.fits_in(&node.whole);
                survey.borrows |= may_borrow && lends;
                continue;
            }
            survey.nodes += 1;
            most = most.component_max(&node.whole);
            if largest.is_none_or(|other| size_of(other) < size_of(node)) {
                largest = Some(node);
            }
            if !size.resource.fits_in(&node.whole) {
                continue;
            }
            survey.large += 1;
            if size.resource.fits_in(&node.free) {
                self.count_room(shape, &size, node, &mut survey);
            }
        }
        if survey.large == 0 {
            let of_all = shortage(&size.resource, &most).map(|lacking| (lacking, None));
            let of_one = |node: &Node| {
                let lacking = shortage(&size.resource, &node.whole)?;
                Some((lacking, Some(node.facts.node)))
            };
            survey.too_small = of_all.or_else(|| largest.and_then(of_one));
        }
        survey
    }

    fn count_room(&self, shape: ShapeId, size: &ShapeSize, node: &Node, survey: &mut Survey) {
        let held = self.holds.get(&node.facts.node);
        if size
            .pool
            .is_some_and(|pool| self.answers.full_pools(node)[pool])
        {
            survey.slotless += 1;
            let allowed = size.pool.and_then(|pool| self.order.slots(node, pool));
            survey.foreign |= allowed.is_some();
        } else if let Some(ends_ms) = held
            .filter(|held| held.shape != shape)
            .map(|held| held.until_ms)
            .or_else(|| self.answers.promised(node, &size.resource))
        {
            let (count, until_ms) = survey.held.unwrap_or((0, ends_ms));
            survey.held = Some((count + 1, until_ms.min(ends_ms)));
        } else {
            survey.ready += 1;
        }
    }

    /// Returns a node that is held for the job, or with room that is promised to it.
    pub(super) fn held_for(&self, job: JobId) -> Option<NodeId> {
        let mut held = self.holds.iter();
        let held = held.find(|(_, held)| held.job == job);
        held.map(|(node, _)| *node)
            .or_else(|| self.answers.promised_to(job))
    }
}

fn size_of(node: &Node) -> (i64, i64) {
    let capacity = &node.facts.capacity;
    (capacity.memory_mb(), capacity.vcores())
}
