//! Grants containers for the room of a node that reports. Bounded by the decisions that the host
//! accepts, by the configured limits, and by the room itself.

use super::at_once::AtOnce;
use super::level::{LEAVES_MS, Level};
use super::partitions::may_be_lent;
use super::search::{Pick, Search};
use super::{Counted, Engine, InFlight, PLANTED_GRANT, Subject};
use crate::backlog::{Entry, FitList, ShapeSize};
use crate::config::Granted;
use crate::model::change::Change;
use crate::model::cluster::Node;
use crate::model::job::{Container, Row, Standing};
use crate::words::event::{Decision, TaskFacts};
use crate::words::ids::{AskId, JobId, Locality, Millis, NodeId, PartitionId, PlaceId};
use crate::words::keys::{POOLS, Pass};
use crate::words::resource::Resource;

/// How long what offers gave on a node counts for the limits of reports, if it does not report:
/// YARN's interval by default. Hosts leave out reports that could change nothing.
const OFFERED_MS: Millis = 1_000;

/// One report of a node, or an offer of its room.
struct Visit<'a> {
    /// Its room when it reported.
    room: Resource,
    granted: Granted,
    /// Whether the room that is left goes to asks without a label.
    lends: bool,
    /// The offer that it is for.
    at_once: Option<&'a mut AtOnce>,
    /// The part of the node up to which it is filled; none if all of it.
    level: Option<Level>,
    /// The ask that less used nodes have not served in time.
    overdue: Option<(JobId, AskId)>,
    /// How many containers this visit has granted.
    granted_now: u32,
    /// Whether it gets no more.
    full: bool,
}

impl Engine {
    pub(super) fn heartbeat(
        &mut self,
        id: NodeId,
        free: Resource,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        self.settle();
        if self.know_room(id, free) {
            self.visit(id, None, decisions_max, decisions);
            return;
        }
        self.file(id);
        if let Some(node) = self.cluster.node_mut(id) {
            node.offered = None;
        }
    }

    /// Notes the free room of a node that does not report.
    pub(super) fn note_room(&mut self, id: NodeId, free: Resource) {
        self.know_room(id, free);
        self.file(id);
    }

    /// Notes the free room of a node by the host's books, which the caller files. Returns whether
    /// it may get containers.
    fn know_room(&mut self, id: NodeId, free: Resource) -> bool {
        // The host's figure does not account for grants that it has not answered yet.
        let pending = self
            .in_flight
            .iter()
            .filter(|grant| grant.container.node == id);
        let pending = pending.fold(Resource::ZERO, |sum, grant| sum + grant.container.resource);
        let Some(node) = self.cluster.node_mut(id) else {
            self.ignore("unknown node", &id);
            return false;
        };
        node.facts.free = free;
        node.silent = false;
        let schedulable = node.facts.schedulable;
        self.cluster.set_free(id, &(free - pending));
        schedulable
    }

    /// Grants containers for the known room of a node.
    pub(super) fn visit(
        &mut self,
        id: NodeId,
        at_once: Option<&mut AtOnce>,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        let node = self.cluster.node_mut(id).expect("its room is known");
        let (room, partition) = (node.free, node.facts.partition);
        let counts = |(since_ms, _): &(Millis, Granted)| self.now - since_ms < OFFERED_MS;
        let earlier = node.offered.take().filter(counts);
        let (since_ms, granted) = earlier.unwrap_or((self.now, Granted::default()));
        let offered = at_once.is_some();
        let before = room + granted.resource;
        let limits = self.setup.config.heartbeat;
        let mut visit = Visit {
            room: before,
            granted,
            lends: false,
            at_once,
            level: None,
            overdue: None,
            granted_now: 0,
            full: granted.containers > 0 && limits.are_reached(&granted, &before),
        };
        if self.trees_are_late(partition) {
            // A node came or went since the last tick: limits in parts follow at once.
            self.follow_capacity();
            self.tree.capacity = self.capacity_of(PartitionId::DEFAULT);
        }
        self.note_look(&room);
        self.review_hold(id);
        if self.promises.contains_key(&id) {
            self.renew_entitlements();
            self.serve_promises(id, decisions_max, decisions);
        }
        // Taken out of self so that the search may borrow the rest.
        let mut fits = std::mem::take(&mut self.fits);
        self.fit(id, &visit, &mut fits);
        if !fits.shapes.is_empty() {
            self.renew_entitlements();
            if !self.serve_reservation(id, decisions_max, decisions, &mut fits) {
                self.note_unheld(id);
                self.fill(id, &mut visit, decisions_max, decisions, &mut fits);
            }
        }
        self.lend(id, &mut visit, decisions_max, decisions, &mut fits);
        self.fits = fits;
        let granted = visit.granted;
        self.file(id);
        let keeps = offered && limits.is_set && granted.containers > 0;
        if let Some(node) = self.cluster.node_mut(id).filter(|_| keeps) {
            node.offered = Some((since_ms, granted));
        }
    }

    /// Gives asks without a label what those of the node's label leave.
    fn lend(
        &mut self,
        id: NodeId,
        visit: &mut Visit<'_>,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
        fits: &mut FitList,
    ) {
        let node = self.cluster.node(id).expect("the heartbeat found it");
        if visit.full || !self.lends(node) || self.reservations.contains_key(&id) {
            return;
        }
        visit.lends = true;
        self.fit(id, visit, fits);
        if !fits.shapes.is_empty() {
            self.renew_entitlements();
            self.fill(id, visit, decisions_max, decisions, fits);
        }
    }

    /// Finds the pending shapes that fit a node.
    fn fit(&mut self, id: NodeId, visit: &Visit<'_>, fits: &mut FitList) {
        let node = self.cluster.node(id).expect("the heartbeat found it");
        let full = self.full_pools(node);
        let (free, partition) = (self.open_room(node), node.facts.partition);
        let shapes = &mut self.backlog.shapes;
        if visit.lends {
            let lent = |size: &ShapeSize| may_be_lent(size.partition, size.am);
            shapes.fit(&free, lent, full, self.now, fits);
        } else {
            let own = |size: &ShapeSize| size.partition == partition;
            shapes.fit(&free, own, full, self.now, fits);
        }
    }

    /// Notes that queues are looked at for a node, if it has room for the smallest container.
    fn note_look(&mut self, room: &Resource) {
        if self.setup.minimum_allocation.fits_in(room) {
            self.tree.pass();
        }
    }

    fn fill(
        &mut self,
        id: NodeId,
        visit: &mut Visit<'_>,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
        fits: &mut FitList,
    ) {
        if visit.full {
            return;
        }
        visit.level = self.level(id, visit.at_once.is_some());
        let limits = self.setup.config.heartbeat;
        let wait_ms = |level| self.place.wait_ms(level);
        let longest_ms = wait_ms(Locality::NodeLocal).max(wait_ms(Locality::RackLocal));
        self.backlog.skips.set_longest(longest_ms);
        let mut nominated: [Vec<JobId>; POOLS] = Default::default();
        loop {
            if decisions.len() >= decisions_max {
                self.cut = true;
                visit.full = true;
                return;
            }
            let node = self.cluster.node(id).expect("the heartbeat found it");
            let full = self.full_pools(node);
            if self.users.take_released() {
                // A grant made the limit of users grow: their asks are back.
                self.fit(id, visit, fits);
            } else {
                let free = self.open_room(node);
                self.backlog.shapes.refit(&free, full, fits);
            }
            if fits.shapes.is_empty() {
                return;
            }
            let Some(pick) = self.next_for(id, visit.lends, fits, &mut nominated) else {
                if !visit.lends {
                    let room = self.cluster.node(id).map(|node| node.free);
                    self.note_look(&room.unwrap_or(Resource::ZERO));
                }
                return;
            };
            if !self.admits(id, &pick, visit) {
                visit.full = true;
                return;
            }
            visit.granted.resource += self.backlog.shapes.get(pick.shape).size.resource;
            visit.granted.containers += 1;
            visit.granted_now += 1;
            if let Some(at_once) = &mut visit.at_once {
                at_once.left -= 1;
            }
            let locality = self.grant(id, pick, decisions);
            visit.granted.off_switch += u32::from(locality == Locality::OffSwitch);
            self.subject.set(None);
            if limits.are_reached(&visit.granted, &visit.room)
                || visit
                    .at_once
                    .as_ref()
                    .is_some_and(|at_once| at_once.is_done())
            {
                visit.full = true;
                return;
            }
        }
    }

    /// The ask that is next on a node. Notes whom the search for it has passed over.
    fn next_for(
        &mut self,
        id: NodeId,
        lends: bool,
        fits: &FitList,
        nominated: &mut [Vec<JobId>; POOLS],
    ) -> Option<Pick> {
        self.renew_lines();
        let node = self.cluster.node(id).expect("the heartbeat found it");
        self.nominate(node, nominated);
        // Preemption is freeing other nodes for these asks: they get this one only if no other can.
        let spoken_for = |entry: &Entry| self.is_spoken_for(entry);
        let mut search = self.search(node, fits, nominated);
        search.lends = lends;
        search.without = (!self.promised.is_empty()).then_some(&spoken_for);
        let mut pick = search.run();
        if pick.is_none() && search.without.is_some() {
            search = self.search(node, fits, nominated);
            search.lends = lends;
            pick = search.run();
        }
        let (skips, left_out) = (search.skips, search.left_out);
        let overtaken = search.overtaken;
        self.subject.set(None);
        if let Some(leaf) = overtaken {
            self.tell(|_| Some(Change::Overtaken { leaf }));
        }
        for leaf in left_out {
            self.tell(|_| Some(Change::PassedOver { leaf }));
        }
        for (at, shape, skip) in skips {
            self.backlog.skips.note(at, shape, skip);
        }
        pick
    }

    /// Whether a visit may grant what the search has picked: as far as an offer goes, and as the
    /// other nodes are used. A task may always come to its data.
    fn admits(&self, id: NodeId, pick: &Pick, visit: &mut Visit<'_>) -> bool {
        let node = self.cluster.node(id).expect("the heartbeat found it");
        let facts = &node.facts;
        let offered = visit.at_once.is_some();
        if let Some(at_once) = &mut visit.at_once
            && !self.admits_at_once(pick, facts.partition, at_once)
        {
            at_once.reached = true;
            return false;
        }
        let Some(level) = visit.level else {
            return true;
        };
        let size = &self.backlog.shapes.get(pick.shape).size.resource;
        let first = visit.granted_now == 0;
        if first && offered || self.stays_level(node, size, level, first) {
            return true;
        }
        let ask = self.cluster.job(pick.job).and_then(|job| job.ask(pick.ask));
        let ask = ask.expect("a pick is of an ask");
        if self.now - ask.waiting_since_ms >= LEAVES_MS {
            // The others have not taken it. Its wait begins anew with the first grant.
            visit.overdue = Some((pick.job, pick.ask));
        }
        visit.overdue == Some((pick.job, pick.ask))
            || ask.locality(facts.host, facts.rack) == Locality::NodeLocal
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
            tree: self.tree_of(node.facts.partition),
            backlog: &self.backlog,
            share: &*self.share,
            place: &*self.place,
            node,
            fits,
            lends: false,
            now: self.now,
            subject: &self.subject,
            nominated,
            without: None,
            pass: Pass::ALL,
            skips: Vec::new(),
            left_out: Vec::new(),
            overtaken: None,
        }
    }

    /// The pools without a free slot on a node, by the configuration or by the order stage. A slot
    /// that is promised is not free.
    pub(super) fn full_pools(&self, node: &Node) -> [bool; POOLS] {
        self.open_slots(node).map(|left| left <= 0)
    }

    /// Takes the room for the picked ask and tells the host. Returns how near the node is to what
    /// the ask named.
    pub(super) fn grant(
        &mut self,
        id: NodeId,
        pick: Pick,
        decisions: &mut Vec<Decision>,
    ) -> Locality {
        let node = self.cluster.node(id);
        let at = node.expect("a grant is for a node that reported").facts;
        let job = self
            .cluster
            .job(pick.job)
            .expect("a pick is of a job that is there");
        let ask = job
            .ask(pick.ask)
            .expect("a pick is of an ask that is there");
        self.subject.set(Some(Subject::Job(pick.job)));
        self.plant(ask.facts.priority, PLANTED_GRANT);
        let (leaf, locality) = (job.leaf, ask.locality(at.host, at.rack));
        let container = Container {
            node: id,
            partition: at.partition,
            lent: ask.facts.partition != at.partition,
            resource: ask.facts.resource,
            priority: ask.facts.priority,
            am: ask.facts.am,
            by_kill: false,
            started_ms: self.now,
            launched_ms: None,
            overhead_ms: 0,
            committing_since_ms: None,
            task: TaskFacts::default(),
        };
        let floor = self.floor_of(pick.job, pick.ask);
        self.bank_wait(pick.job, pick.ask);
        self.note_grant(id, &pick, locality);
        self.cluster.take_room(id, &container.resource);
        self.charge(pick.job, &container, true);
        self.note_line(at.partition, leaf, &pick);
        let counted = self.count_down(pick, (at.host, at.rack), locality, container.lent);
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
            ask: Some(pick.ask),
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
        locality
    }

    /// Lowers the counts exactly as YARN's `LocalityAppPlacementAllocator` does: a node-local
    /// container lowers its host's row, its rack's row and the total. Returns the rows.
    fn count_down(
        &mut self,
        pick: Pick,
        (host, rack): (PlaceId, PlaceId),
        locality: Locality,
        lent: bool,
    ) -> [Option<Counted>; 2] {
        let now = self.now;
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
        ask.served = ask.served.saturating_add(1);
        if ask.facts.count > 1 {
            if !lent {
                ask.waiting_since_ms = now;
            }
            let count = ask.facts.count - 1;
            job.set_count(pick.ask, count);
            return counted;
        }
        // Leaves before its count changes: the indexes find it by its old state.
        self.leave(pick.job, pick.ask);
        let job = self
            .cluster
            .job_mut(pick.job)
            .expect("a pick is of a job that is there");
        let ask = job
            .ask_mut(pick.ask)
            .expect("a pick is of an ask that is there");
        ask.suspended = false;
        job.set_count(pick.ask, 0);
        counted
    }

    /// Applies the place stage's answer to a grant: an ask that was served where it insisted keeps
    /// insisting, as long as that is worth its price.
    fn settle_after_grant(&mut self, pick: Pick, floor: Locality, granted: Locality) {
        let Some(worth) = self.worth(pick.job, pick.ask) else {
            return;
        };
        let ask = worth.ask;
        if ask.standing == Standing::Out {
            return;
        }
        let next = worth.level(self.place.after_grant(floor, ask.level, granted));
        if next == ask.level && granted <= ask.level {
            let job = self.cluster.job_mut(pick.job);
            let ask = job.and_then(|job| job.ask_mut(pick.ask));
            ask.expect("it was found above").waited_ms = 0;
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
