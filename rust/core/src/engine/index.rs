//! Keeps the backlog in step with the asks: entering, leaving, and moving between levels of
//! locality. Everything that changes whether or where an ask can be found goes through here.

use super::Engine;
use crate::backlog::{Backlog, Entry};
use crate::model::cluster::Cluster;
use crate::model::job::{Ask, Job, Row, Standing};
use crate::model::share_tree::ShareTree;
use crate::words::ids::{AskId, JobId, Locality, PlaceId};
use std::iter::once;

/// The nearest kind of place that the ask names.
fn floor(cluster: &Cluster, ask: &Ask) -> Locality {
    let mut floor = Locality::OffSwitch;
    for (place, row) in &ask.rows {
        if row.count == 0 {
            continue;
        } else if !cluster.is_rack(*place) {
            return Locality::NodeLocal;
        }
        floor = Locality::RackLocal;
    }
    floor
}

/// Whether a row belongs in the index of its place. Hosts always do. Racks do once the ask has
/// waited for its hosts, if the row lets the whole rack serve it.
fn is_indexed(cluster: &Cluster, ask: &Ask, place: PlaceId, row: Row) -> bool {
    let rack = cluster.is_rack(place);
    ask.standing != Standing::Out
        && row.count > 0
        && (!rack || (row.relax && ask.level >= Locality::RackLocal))
}

fn standing_at(ask: &Ask) -> Standing {
    match (ask.facts.relax, ask.level) {
        (false, _) => Standing::Strict,
        (true, Locality::OffSwitch) => Standing::Open,
        (true, _) => Standing::Locked,
    }
}

impl Engine {
    /// Puts a pending ask of a job that may run into the backlog.
    pub(super) fn enter(&mut self, job_id: JobId, ask_id: AskId) {
        let floor = match self.cluster.job(job_id) {
            Some(job) if job.runnable => match job.ask(ask_id) {
                Some(ask) if ask.standing == Standing::Out && job.is_due(ask) => {
                    floor(&self.cluster, ask)
                }
                _ => return,
            },
            _ => return,
        };
        let (now, level) = (self.now, self.place.start(floor));
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let (leaf, arrival) = (job.leaf, (job.facts.submitted_ms, job_id));
        let ask = job.ask_mut(ask_id).expect("it was found above");
        if !std::mem::take(&mut ask.suspended) || ask.level < level {
            // A strict ask never leaves the places that it names.
            ask.level = if ask.facts.relax {
                level
            } else {
                level.min(Locality::RackLocal)
            };
            ask.insisting_since_ms = now;
            ask.passed_over_ms = None;
            ask.waiting_since_ms = now;
        }
        ask.standing = standing_at(ask);
        let shape = ask.shape;
        let partition = ask.facts.partition;
        self.backlog.shapes.enter(shape, now);
        self.open_partition(partition);
        self.count_ask(leaf, arrival, shape, true);
        self.note_wanting(leaf, partition);
        self.list_everywhere(job_id, ask_id, true);
        self.arm(job_id, ask_id);
    }

    /// Puts an ask into all indexes, or takes it out, according to its standing.
    fn list_everywhere(&mut self, job_id: JobId, ask_id: AskId, added: bool) {
        let job = self.cluster.job(job_id).expect("the caller found it");
        let ask = job.ask(ask_id).expect("the caller found it");
        let (leaf, shape, entry) = (job.leaf, ask.shape, Entry::new(job, ask));
        list(&mut self.backlog, &self.tree, job, ask, added);
        for (place, row) in &ask.rows {
            if !is_indexed(&self.cluster, ask, *place, *row) {
                continue;
            }
            let places = &mut self.backlog.places;
            if added {
                places.insert(&self.tree, *place, leaf, shape, entry);
            } else {
                places.remove(&self.tree, *place, leaf, shape, entry);
            }
        }
    }

    /// Lists an ask under its job's current key. `before` is the previous key, as `unlist` returned
    /// it.
    pub(super) fn relist(&mut self, job_id: JobId, ask_id: AskId, before: Entry) {
        let job = self.cluster.job(job_id).expect("the caller found it");
        let ask = job.ask(ask_id).expect("the caller found it");
        list(&mut self.backlog, &self.tree, job, ask, true);
        let (at, after) = ((job.leaf, ask.shape), Entry::new(job, ask));
        if before == after {
            return;
        }
        for (place, row) in &ask.rows {
            if is_indexed(&self.cluster, ask, *place, *row) {
                self.backlog.places.rekey(*place, at, before, after);
            }
        }
    }

    /// Takes an ask out of its leaf and classes and returns its key. Leaves it in its places, of
    /// which there may be thousands.
    pub(super) fn unlist(&mut self, job_id: JobId, ask_id: AskId) -> Entry {
        let job = self.cluster.job(job_id).expect("the caller found it");
        let ask = job.ask(ask_id).expect("the caller found it");
        list(&mut self.backlog, &self.tree, job, ask, false);
        Entry::new(job, ask)
    }

    /// Takes an ask out of the backlog: nothing is pending, or its key is about to change.
    pub(super) fn leave(&mut self, job_id: JobId, ask_id: AskId) {
        let Some(job) = self.cluster.job(job_id) else {
            return;
        };
        let Some(ask) = job.ask(ask_id) else { return };
        if ask.standing == Standing::Out {
            return;
        }
        let (leaf, shape) = (job.leaf, ask.shape);
        let arrival = (job.facts.submitted_ms, job_id);
        self.list_everywhere(job_id, ask_id, false);
        self.backlog.shapes.leave(shape);
        self.count_ask(leaf, arrival, shape, false);
        self.disarm(job_id, ask_id);
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        job.ask_mut(ask_id).expect("it was found above").standing = Standing::Out;
    }

    /// Takes out an ask that its user's limit holds back; its clock goes on.
    pub(super) fn suspend(&mut self, job_id: JobId, ask_id: AskId) {
        let job = self.cluster.job_mut(job_id);
        if let Some(ask) = job.and_then(|job| job.ask_mut(ask_id)) {
            ask.suspended |= ask.standing != Standing::Out;
        }
        self.leave(job_id, ask_id);
    }

    /// Takes all asks of a job out, so that its leaf or order key may change.
    pub(super) fn leave_all(&mut self, job_id: JobId) {
        for ask in self.ask_ids(job_id) {
            self.leave(job_id, ask);
        }
    }

    /// Puts all asks of a job back.
    pub(super) fn enter_all(&mut self, job_id: JobId) {
        for ask in self.ask_ids(job_id) {
            self.enter(job_id, ask);
        }
    }

    pub(super) fn ask_ids(&self, job_id: JobId) -> impl Iterator<Item = AskId> + use<> {
        let count = self.cluster.job(job_id).map_or(0, |job| job.asks.len());
        (0..count as u32).map(AskId)
    }

    /// Moves an ask in the backlog to another level of locality.
    pub(super) fn set_level(&mut self, job_id: JobId, ask_id: AskId, level: Locality) {
        let Some(job) = self.cluster.job(job_id) else {
            return;
        };
        let Some(ask) = job.ask(ask_id) else { return };
        let level = if ask.facts.relax {
            level
        } else {
            level.min(Locality::RackLocal)
        };
        if ask.standing == Standing::Out || ask.level == level {
            return;
        }
        let (leaf, shape, entry) = (job.leaf, ask.shape, Entry::new(job, ask));
        let racks_now = level >= Locality::RackLocal;
        if racks_now != (ask.level >= Locality::RackLocal) {
            for (place, row) in &ask.rows {
                if row.count == 0 || !row.relax || !self.cluster.is_rack(*place) {
                    continue;
                } else if racks_now {
                    self.backlog
                        .places
                        .insert(&self.tree, *place, leaf, shape, entry);
                } else {
                    self.backlog
                        .places
                        .remove(&self.tree, *place, leaf, shape, entry);
                }
            }
        }
        list(&mut self.backlog, &self.tree, job, ask, false);
        self.disarm(job_id, ask_id);
        let now = self.now;
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        ask.level = level;
        ask.insisting_since_ms = now;
        ask.passed_over_ms = None;
        ask.standing = standing_at(ask);
        let job = self.cluster.job(job_id).expect("it was found above");
        let ask = job.ask(ask_id).expect("it was found above");
        list(&mut self.backlog, &self.tree, job, ask, true);
        self.arm(job_id, ask_id);
    }

    /// Sets the count of one row, in the ask and in the index of its place.
    pub(super) fn set_row(&mut self, job_id: JobId, ask_id: AskId, place: PlaceId, row: Row) {
        let Some(job) = self.cluster.job(job_id) else {
            return;
        };
        let Some(ask) = job.ask(ask_id) else { return };
        let before = ask.rows.get(&place).copied();
        let was = before.is_some_and(|row| is_indexed(&self.cluster, ask, place, row));
        let is = is_indexed(&self.cluster, ask, place, row);
        let (leaf, shape, entry) = (job.leaf, ask.shape, Entry::new(job, ask));
        if is && !was {
            self.backlog
                .places
                .insert(&self.tree, place, leaf, shape, entry);
        } else if was && !is {
            self.backlog
                .places
                .remove(&self.tree, place, leaf, shape, entry);
        }
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        ask.unrelaxed -= u32::from(before.is_some_and(|row| !row.relax));
        ask.unrelaxed += u32::from(row.count > 0 && !row.relax);
        if row.count == 0 {
            ask.rows.remove(&place);
        } else {
            ask.rows.insert(place, row);
        }
    }

    /// Adjusts an ask's level after its rows changed. An ask that has not waited yet insists on the
    /// nearest place that it now names. One that has waited keeps its level while it names such
    /// places.
    pub(super) fn settle_level(&mut self, job_id: JobId, ask_id: AskId, floor_before: Locality) {
        let Some(ask) = self.cluster.job(job_id).and_then(|job| job.ask(ask_id)) else {
            return;
        };
        let floor = floor(&self.cluster, ask);
        if floor != floor_before {
            let (before, after) = (self.place.start(floor_before), self.place.start(floor));
            if ask.level == before || ask.level < after {
                self.set_level(job_id, ask_id, after);
            }
        }
    }

    /// The nearest kind of place that an ask names.
    pub(super) fn floor_of(&self, job_id: JobId, ask_id: AskId) -> Locality {
        let ask = self.cluster.job(job_id).and_then(|job| job.ask(ask_id));
        ask.map_or(Locality::OffSwitch, |ask| floor(&self.cluster, ask))
    }

    /// Takes all asks out of the backlog, applies `change`, and puts them back. For changes of what
    /// their keys depend on: a place turns out to be a rack, or the configuration is reloaded.
    pub(super) fn reindex(&mut self, change: impl FnOnce(&mut Engine)) {
        let jobs = self.cluster.job_ids().to_vec();
        if !self.backlog.shapes.standing().is_empty() {
            self.leave_everything(&jobs);
        }
        change(self);
        for job in &jobs {
            self.enter_all(*job);
        }
    }

    /// Empties the backlog at once: taking out single asks would search many sets for each.
    fn leave_everything(&mut self, jobs: &[JobId]) {
        self.backlog.clear();
        for tree in once(&mut self.tree).chain(self.partitions.values_mut()) {
            tree.clear_asks();
        }
        self.timers.clear();
        for job in jobs.iter().copied() {
            let job = self.cluster.job_mut(job).expect("the ids were just listed");
            for ask in job.asks.iter_mut().flatten() {
                (ask.standing, ask.timer_ms) = (Standing::Out, None);
            }
        }
    }

    fn arm(&mut self, job_id: JobId, ask_id: AskId) {
        let job = self
            .cluster
            .job_mut(job_id)
            .expect("armed for a job that is there");
        let ask = job.ask_mut(ask_id).expect("armed for an ask that is there");
        let due = ask.insisting_since_ms + self.place.wait_ms(ask.level);
        let waits = match ask.standing {
            Standing::Out | Standing::Open => false,
            Standing::Locked => true,
            Standing::Strict => ask.level == Locality::NodeLocal,
        };
        if waits {
            ask.timer_ms = Some(due);
            self.timers.insert((due, job_id, ask_id));
        }
    }

    fn disarm(&mut self, job_id: JobId, ask_id: AskId) {
        let Some(job) = self.cluster.job_mut(job_id) else {
            return;
        };
        if let Some(due) = job.ask_mut(ask_id).and_then(|ask| ask.timer_ms.take()) {
            self.timers.remove(&(due, job_id, ask_id));
        }
    }

    /// Moves asks that were passed over for long enough further from their named places. Reviews
    /// the others again once their wait could be over.
    pub(super) fn fire_timers(&mut self) {
        while let Some(&(due, job_id, ask_id)) = self.timers.first() {
            if due > self.now {
                return;
            }
            self.timers.pop_first();
            let now = self.now;
            let shapes = &self.backlog.shapes;
            let Some(job) = self.cluster.job_mut(job_id) else {
                continue;
            };
            let Some(ask) = job.ask_mut(ask_id) else {
                continue;
            };
            ask.timer_ms = None;
            let wait_ms = self.place.wait_ms(ask.level).max(1);
            let skipped = shapes.first_skip(ask.shape, ask.insisting_since_ms);
            let first = match (ask.passed_over_ms, skipped) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            if first.is_some_and(|first| now - first >= wait_ms) {
                let next = match ask.level {
                    Locality::NodeLocal => Locality::RackLocal,
                    _ => Locality::OffSwitch,
                };
                let next = self.place.start(next);
                self.set_level(job_id, ask_id, next);
            } else {
                let again = first.unwrap_or(now) + wait_ms;
                ask.timer_ms = Some(again);
                self.timers.insert((again, job_id, ask_id));
            }
        }
    }
}

/// Puts an ask into its leaf's set for its standing and into its classes, or takes it out.
fn list(backlog: &mut Backlog, tree: &ShareTree, job: &Job, ask: &Ask, added: bool) {
    let entry = Entry::new(job, ask);
    let open = ask.standing == Standing::Open;
    if open || ask.standing == Standing::Locked {
        if added {
            backlog.insert(tree, job.leaf, ask.shape, entry, open);
        } else {
            backlog.remove(tree, job.leaf, ask.shape, entry, open);
        }
    }
    let tags = &job.tags[job.kind(ask.facts.priority) as usize];
    for tag in tags.iter().filter(|_| ask.standing.is_classed()) {
        let window = (job.leaf, job.window);
        if added {
            backlog.classes.insert(window, *tag, ask.shape, entry);
        } else {
            backlog.classes.remove(window, *tag, ask.shape, entry);
        }
    }
}
