//! Grants containers for the room of a node that reports. Bounded by the decisions that the host
//! accepts, by the configured fill, and by the room itself.

use super::search::{Pick, Search};
use super::{Counted, Engine, InFlight, PLANTED_GRANT, Subject};
use crate::backlog::FitList;
use crate::model::change::Change;
use crate::model::cluster::Node;
use crate::model::job::{Container, Row, Standing};
use crate::words::event::{Decision, TaskFacts};
use crate::words::ids::{JobId, Locality, NodeId, PlaceId};
use crate::words::keys::{POOLS, Pass, ShareNodeId};
use crate::words::resource::Resource;

impl Engine {
    pub(super) fn heartbeat(
        &mut self,
        id: NodeId,
        free: Resource,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        self.settle();
        // The host's figure does not account for grants that it has not answered yet.
        let pending = self
            .in_flight
            .iter()
            .filter(|grant| grant.container.node == id);
        let pending = pending.fold(Resource::ZERO, |sum, grant| sum + grant.container.resource);
        let Some(node) = self.cluster.node_mut(id) else {
            return self.ignore("unknown node", &id);
        };
        node.facts.free = free;
        node.free = free - pending;
        if !node.facts.schedulable {
            return;
        }
        let (room, partition) = (node.free, node.facts.partition);
        self.review_hold(id);
        let full = self.full_pools(self.cluster.node(id).expect("it was found above"));
        // Taken out of self so that the search may borrow the rest.
        let mut fits = std::mem::take(&mut self.fits);
        self.backlog
            .shapes
            .fit(&room, partition, full, self.now, &mut fits);
        if !fits.shapes.is_empty() {
            self.renew_entitlements();
            if !self.serve_reservation(id, decisions_max, decisions, &mut fits) {
                self.note_unheld(id);
                self.fill(id, room, decisions_max, decisions, &mut fits);
            }
        }
        self.fits = fits;
    }

    fn fill(
        &mut self,
        id: NodeId,
        room: Resource,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
        fits: &mut FitList,
    ) {
        let fill = self.setup.config.heartbeat_fill;
        let enough = room.scaled(fill);
        let mut granted = Resource::ZERO;
        let mut nominated: [Vec<JobId>; POOLS] = Default::default();
        loop {
            if decisions.len() >= decisions_max {
                self.cut = true;
                return;
            }
            let node = self.cluster.node(id).expect("the heartbeat found it");
            let full = self.full_pools(node);
            self.backlog.shapes.refit(&node.free, full, fits);
            if fits.shapes.is_empty() {
                return;
            }
            self.nominate(node, &mut nominated);
            let mut search = self.search(node, fits, &nominated);
            let pick = search.run();
            let (passed_over, left_out) = (search.passed_over, search.left_out);
            self.subject.set(None);
            for leaf in left_out {
                self.tell(|_| Some(Change::PassedOver { leaf }));
            }
            if let Some(entry) = passed_over
                && let Some(job) = self.cluster.job_mut(entry.job)
                && let Some(ask) = job.ask_mut(entry.ask)
            {
                ask.passed_over_ms.get_or_insert(self.now);
            }
            let Some(pick) = pick else {
                return self.note_skips(fits);
            };
            granted += self.backlog.shapes.get(pick.shape).size.resource;
            self.grant(id, pick, decisions);
            self.subject.set(None);
            if fill < 1.0 && (0..2).any(|i| granted[i] > 0 && granted[i] >= enough[i]) {
                return;
            }
        }
    }

    /// Collects the jobs that the order stage wants tried first on the node, by pool.
    pub(super) fn nominate(&self, node: &Node, nominated: &mut [Vec<JobId>; POOLS]) {
        for (pool, jobs) in nominated.iter_mut().enumerate() {
            jobs.clear();
            self.order.nominate(node, pool, jobs);
        }
    }

    /// A search for a node that has room for the shapes of `fits`.
    pub(super) fn search<'a>(
        &'a self,
        node: &'a Node,
        fits: &'a FitList,
        nominated: &'a [Vec<JobId>; POOLS],
    ) -> Search<'a> {
        Search {
            cluster: &self.cluster,
            tree: &self.tree,
            backlog: &self.backlog,
            share: &*self.share,
            place: &*self.place,
            node,
            fits,
            now: self.now,
            subject: &self.subject,
            nominated,
            pass: Pass::ALL,
            passed_over: None,
            left_out: Vec::new(),
        }
    }

    /// The pools without a free slot on a node, by the configuration or by the order stage.
    pub(super) fn full_pools(&self, node: &Node) -> [bool; POOLS] {
        let per_node = self.setup.config.slots_per_node;
        std::array::from_fn(|pool| {
            let configured = per_node.map_or(u32::MAX, |slots| slots[pool]);
            let allowed = self.order.slots(node, pool).unwrap_or(u32::MAX);
            node.running[pool] >= configured.min(allowed)
        })
    }

    /// Notes that the node keeps room that locked asks could use: their clocks run.
    fn note_skips(&mut self, fits: &FitList) {
        let locked = self.backlog.locked_mask(ShareNodeId::ROOT);
        let wait_ms = |level| self.place.wait_ms(level);
        let longest_ms = wait_ms(Locality::NodeLocal).max(wait_ms(Locality::RackLocal));
        // With this grain, the 64 moments of `SKIPS_MAX` reach back twice the longest wait.
        let grain_ms = (longest_ms / 32).max(1);
        for shape in &fits.shapes {
            // Strict asks have no mask, but one that waits for its host's rack needs the clock.
            if locked & (1 << shape.bit()) != 0 || !self.timers.is_empty() {
                self.backlog.shapes.skipped(*shape, self.now, grain_ms);
            }
        }
    }

    /// Takes the room for the picked ask and tells the host.
    pub(super) fn grant(&mut self, id: NodeId, pick: Pick, decisions: &mut Vec<Decision>) {
        let node = self
            .cluster
            .node_mut(id)
            .expect("a grant is for a node that reported");
        let (host, rack) = (node.facts.host, node.facts.rack);
        let job = self
            .cluster
            .job(pick.job)
            .expect("a pick is of a job that is there");
        let ask = job
            .ask(pick.ask)
            .expect("a pick is of an ask that is there");
        self.subject.set(Some(Subject::Job(pick.job)));
        self.plant(ask.facts.priority, PLANTED_GRANT);
        let locality = ask.locality(host, rack);
        let container = Container {
            node: id,
            resource: ask.facts.resource,
            priority: ask.facts.priority,
            am: ask.facts.am,
            started_ms: self.now,
            launched_ms: None,
            overhead_ms: 0,
            task: TaskFacts::default(),
        };
        let floor = self.floor_of(pick.job, pick.ask);
        self.note_grant(id, &pick, locality);
        let node = self.cluster.node_mut(id).expect("it was found above");
        node.free -= container.resource;
        self.charge(pick.job, &container, true);
        let counted = self.count_down(pick, host, rack, locality);
        self.settle_after_grant(pick, floor, locality);
        self.tell(|cluster| {
            let job = cluster.job(pick.job)?;
            Some(Change::Started {
                job,
                kind: job.kind(container.priority),
                node: id,
                am: container.am,
                locality,
                started_ms: container.started_ms,
            })
        });
        self.settle();
        let seq = self.next_seq;
        self.next_seq += 1;
        self.in_flight.push_back(InFlight {
            seq,
            job: pick.job,
            ask: pick.ask,
            container,
            counted,
        });
        decisions.push(Decision::Grant {
            job: pick.job,
            ask: pick.ask,
            node: id,
            locality,
            seq,
        });
    }

    /// Lowers the counts exactly as YARN's `LocalityAppPlacementAllocator` does: a node-local
    /// container lowers its host's row, its rack's row and the total. Returns the rows.
    fn count_down(
        &mut self,
        pick: Pick,
        host: PlaceId,
        rack: PlaceId,
        locality: Locality,
    ) -> [Option<Counted>; 2] {
        let mut counted = [None; 2];
        for (i, place) in counted_places(host, rack, locality).enumerate() {
            let job = self
                .cluster
                .job(pick.job)
                .expect("a pick is of a job that is there");
            let ask = job
                .ask(pick.ask)
                .expect("a pick is of an ask that is there");
            let row = ask.rows.get(&place).copied();
            let relax = row.map(|row| row.relax);
            counted[i] = Some(Counted { place, relax });
            if let Some(row) = row {
                let row = Row {
                    count: row.count.saturating_sub(1),
                    ..row
                };
                self.set_row(pick.job, pick.ask, place, row);
            }
        }
        let job = self
            .cluster
            .job_mut(pick.job)
            .expect("a pick is of a job that is there");
        let ask = job
            .ask_mut(pick.ask)
            .expect("a pick is of an ask that is there");
        if ask.facts.count > 1 {
            ask.facts.count -= 1;
            return counted;
        }
        // Leaves before its count changes: the indexes find it by its old state.
        self.leave(pick.job, pick.ask);
        let job = self
            .cluster
            .job_mut(pick.job)
            .expect("a pick is of a job that is there");
        job.ask_mut(pick.ask)
            .expect("a pick is of an ask that is there")
            .facts
            .count = 0;
        counted
    }

    /// Applies the place stage's answer to a grant: an ask that was served where it insisted keeps
    /// insisting, with a new clock.
    fn settle_after_grant(&mut self, pick: Pick, floor: Locality, granted: Locality) {
        let now = self.now;
        let place = &self.place;
        let Some(ask) = self
            .cluster
            .job_mut(pick.job)
            .and_then(|job| job.ask_mut(pick.ask))
        else {
            return;
        };
        if ask.standing == Standing::Out {
            return;
        }
        let next = place.after_grant(floor, ask.level, granted);
        if next == ask.level && granted <= ask.level && ask.standing != Standing::Open {
            ask.insisting_since_ms = now;
            ask.passed_over_ms = None;
        }
        self.set_level(pick.job, pick.ask, next);
        self.settle_level(pick.job, pick.ask, floor);
    }
}

/// The host and rack whose rows a container at `locality` lowers.
fn counted_places(
    host: PlaceId,
    rack: PlaceId,
    locality: Locality,
) -> impl Iterator<Item = PlaceId> {
    let host = (locality == Locality::NodeLocal).then_some(host);
    let rack = (locality <= Locality::RackLocal).then_some(rack);
    host.into_iter().chain(rack)
}
