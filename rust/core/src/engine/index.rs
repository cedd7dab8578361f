//! Keeps the backlog in step with the asks: entering, leaving, and moving between levels of
//! locality. Everything that changes whether or where an ask can be found goes through here.

use super::Engine;
use crate::backlog::{Backlog, Entry, List, PlaceLine, Spot};
use crate::model::cluster::Cluster;
use crate::model::job::{Ask, Job, Row, Standing};
use crate::model::share_tree::ShareTree;
use crate::stage::worth::{self, Worth};
use crate::words::ids::{AskId, JobId, Locality, Millis, PlaceId};
use std::iter::once;

/// Of how many asks a job keeps the moments at which they were passed over: it moves at each grant.
const KEPT_MAX: usize = 32;

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
        let now = self.now;
        let worth = self.worth(job_id, ask_id).expect("it was found above");
        let level = worth.level(self.place.start(floor));
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
            ask.waited_ms = 0;
            ask.waiting_since_ms = now;
        }
        (ask.insisting_since_ms, ask.passed_ms) = (now, None);
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
        self.list_in_lines(job_id, ask_id, added);
        self.list_in_places(job_id, ask_id, added);
    }

    /// Puts an ask into its leaf and its classes, or takes it out.
    pub(super) fn list_in_lines(&mut self, job_id: JobId, ask_id: AskId, added: bool) {
        let job = self.cluster.job(job_id).expect("the caller found it");
        let ask = job.ask(ask_id).expect("the caller found it");
        list(&mut self.backlog, &self.tree, job, ask, added);
    }

    /// Moves the asks of a job in all their places to where it stands.
    pub(super) fn move_in_places(&mut self, job_id: JobId) {
        let job = self.cluster.job(job_id).expect("the caller found it");
        for ask in job.asks.iter().flatten() {
            let spot = Spot::in_places(job, job.kind(ask.facts.priority));
            for (place, row) in &ask.rows {
                if is_indexed(&self.cluster, ask, *place, *row) {
                    let at = (*place, job.leaf, ask.shape);
                    self.backlog.places.move_to(at, spot);
                }
            }
        }
    }

    /// Puts an ask into all its places, or takes it out.
    pub(super) fn list_in_places(&mut self, job_id: JobId, ask_id: AskId, added: bool) {
        let job = self.cluster.job(job_id).expect("the caller found it");
        let ask = job.ask(ask_id).expect("the caller found it");
        let (leaf, shape) = (job.leaf, ask.shape);
        for (place, row) in &ask.rows {
            if is_indexed(&self.cluster, ask, *place, *row) {
                let at = (*place, leaf, shape);
                list_in_place(&mut self.backlog, &self.tree, at, (job, ask), added);
            }
        }
    }

    /// Takes an ask out of the backlog: nothing is pending, something holds it back, or its key is
    /// about to change. If it comes back with the same containers, its wait goes on.
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
        self.bank_wait(job_id, ask_id);
        let next = self.level_after_wait(job_id, ask_id);
        self.list_everywhere(job_id, ask_id, false);
        self.backlog.shapes.leave(shape);
        self.count_ask(leaf, arrival, shape, false);
        self.disarm(job_id, ask_id);
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        (ask.standing, ask.suspended) = (Standing::Out, true);
        if let Some(level) = next {
            (ask.level, ask.waited_ms) = (level, 0);
        }
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
        let (leaf, shape) = (job.leaf, ask.shape);
        let racks_now = level >= Locality::RackLocal;
        if racks_now != (ask.level >= Locality::RackLocal) {
            for (place, row) in &ask.rows {
                if row.count > 0 && row.relax && self.cluster.is_rack(*place) {
                    let at = (*place, leaf, shape);
                    list_in_place(&mut self.backlog, &self.tree, at, (job, ask), racks_now);
                }
            }
        }
        list(&mut self.backlog, &self.tree, job, ask, false);
        self.disarm(job_id, ask_id);
        self.bank_wait(job_id, ask_id);
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        ask.level = level;
        ask.waited_ms = 0;
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
        let (leaf, shape) = (job.leaf, ask.shape);
        if is != was {
            let at = (place, leaf, shape);
            list_in_place(&mut self.backlog, &self.tree, at, (job, ask), is);
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
            let worth = self.worth(job_id, ask_id).expect("it was found above");
            let before = self.place.start(floor_before);
            let after = worth.level(self.place.start(floor));
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

    /// Applies a `change` of a node, from which on a place is a rack. Until then rows that name it
    /// count as those of a host: takes their asks out of the backlog, and puts them back.
    pub(super) fn with_rack(&mut self, rack: PlaceId, change: impl FnOnce(&mut Engine)) {
        let asks = match self.cluster.is_rack(rack) {
            true => Vec::new(),
            false => self.backlog.places.asks_at(rack),
        };
        for (job_id, ask_id) in &asks {
            self.leave(*job_id, *ask_id);
            let job = self.cluster.job_mut(*job_id);
            let ask = job.and_then(|job| job.ask_mut(*ask_id));
            // Its wait begins again, for a place of another kind.
            ask.expect("indexed asks are there").suspended = false;
        }
        change(self);
        for (job, ask) in &asks {
            self.enter(*job, *ask);
        }
    }

    /// Takes all asks out of the backlog, applies `change`, and puts them back. For changes of what
    /// all their keys depend on: the configuration is reloaded.
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

    /// What an ask may lose to waits.
    pub(super) fn worth(&self, job: JobId, ask: AskId) -> Option<Worth<'_>> {
        let job = self.cluster.job(job)?;
        let ask = job.ask(ask)?;
        Some(Worth {
            place: &*self.place,
            job,
            ask,
            cluster: &self.cluster,
        })
    }

    /// When an ask was first passed over since it insists.
    fn passed_over(&self, job: &Job, ask: &Ask) -> Option<Millis> {
        let tree = self.tree_of(ask.facts.partition);
        ask.passed_ms
            .or_else(|| self.backlog.skips.first(&self.cluster, tree, job, ask))
    }

    /// Keeps when a job's asks were passed over, before the job moves in the order: what was noted
    /// then compares with where they stand. Of very many asks the first do.
    pub(super) fn keep_passed_over(&mut self, id: JobId) {
        let job = self.cluster.job(id).expect("the caller found it");
        let waiting = job.pending().take(KEPT_MAX).filter(|ask| ask.waits());
        let seen: Vec<(AskId, Millis)> = waiting
            .filter_map(|ask| Some((ask.facts.ask, self.passed_over(job, ask)?)))
            .collect();
        let job = self.cluster.job_mut(id).expect("it was found above");
        for (ask, passed_ms) in seen {
            let ask = job.ask_mut(ask).expect("it was found above");
            ask.passed_ms = Some(passed_ms);
        }
    }

    /// Adds up what an ask has waited until now. From now on it waits afresh.
    pub(super) fn bank_wait(&mut self, job_id: JobId, ask_id: AskId) {
        let Some(worth) = self.worth(job_id, ask_id) else {
            return;
        };
        let passed_over = worth
            .ask
            .waits()
            .then(|| self.passed_over(worth.job, worth.ask));
        let waited_ms = passed_over.flatten().map(|first| self.now - first);
        let cost = waited_ms.map_or(0, |waited_ms| worth.cost(waited_ms));
        let now = self.now;
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        ask.waited_ms += waited_ms.unwrap_or(0);
        ask.lost_ms = ask.lost_ms.saturating_add(cost);
        (ask.insisting_since_ms, ask.passed_ms) = (now, None);
    }

    /// The next level of an ask that has waited for long enough at its own.
    fn level_after_wait(&self, job: JobId, ask: AskId) -> Option<Locality> {
        let worth = self.worth(job, ask)?;
        let strict = !worth.ask.facts.relax;
        if !worth.ask.waits() || strict || worth.left_ms() > 1 {
            return None;
        }
        Some(worth.level(self.place.start(worth::next(worth.ask.level))))
    }

    /// Sets the timer of an ask that waits: when its wait is over, or, if it has not been passed
    /// over yet, when it could be.
    fn arm(&mut self, job_id: JobId, ask_id: AskId) {
        let worth = self.worth(job_id, ask_id);
        let worth = worth.expect("armed for an ask that is there");
        if !worth.ask.waits() {
            return;
        }
        let left_ms = worth.left_ms();
        let least_ms = self.place.least_ms(worth.ask.level);
        let due = match self.passed_over(worth.job, worth.ask) {
            Some(first) => first + left_ms,
            None => self.now + left_ms.max(least_ms),
        };
        let job = self.cluster.job_mut(job_id).expect("it was found above");
        let ask = job.ask_mut(ask_id).expect("it was found above");
        ask.timer_ms = Some(due);
        self.timers.insert((due, job_id, ask_id));
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
            let Some(worth) = self.worth(job_id, ask_id) else {
                continue;
            };
            let (level, left_ms) = (worth.ask.level, worth.left_ms());
            let first = self.passed_over(worth.job, worth.ask);
            let over = first.is_some_and(|first| self.now - first >= left_ms);
            let job = self.cluster.job_mut(job_id).expect("it was found above");
            job.ask_mut(ask_id).expect("it was found above").timer_ms = None;
            if !over {
                self.arm(job_id, ask_id);
                continue;
            }
            self.bank_wait(job_id, ask_id);
            let worth = self.worth(job_id, ask_id).expect("it was found above");
            let next = worth.level(self.place.start(worth::next(level)));
            self.set_level(job_id, ask_id, next);
            self.go_on_waiting(job_id, ask_id);
        }
    }

    /// Lets the wait at a level begin when that at the one before ends: both together are a bound.
    fn go_on_waiting(&mut self, job_id: JobId, ask_id: AskId) {
        self.disarm(job_id, ask_id);
        let now = self.now;
        let job = self.cluster.job_mut(job_id).expect("the caller found it");
        let ask = job.ask_mut(ask_id).expect("the caller found it");
        ask.passed_ms = Some(now);
        self.arm(job_id, ask_id);
    }
}

/// Puts an ask into its leaf's set for its standing and into its classes, or takes it out.
fn list(backlog: &mut Backlog, tree: &ShareTree, job: &Job, ask: &Ask, added: bool) {
    let entry = Entry::new(job, ask);
    if let Some(list) = List::of(ask) {
        if added {
            backlog.insert(tree, (job.leaf, list), ask.shape, entry);
        } else {
            backlog.remove(tree, (job.leaf, list), ask.shape, entry);
        }
    }
    let tags = &job.tags[job.kind(ask.facts.priority) as usize];
    for tag in tags.iter().filter(|_| ask.standing.is_classed()) {
        let class = ((job.leaf, job.window), *tag, ask.shape);
        if added {
            backlog.insert_class(class, entry);
        } else {
            backlog.remove_class(class, entry);
        }
    }
}

/// Puts an ask into a place's line, or takes it out.
fn list_in_place(
    backlog: &mut Backlog,
    tree: &ShareTree,
    at: PlaceLine,
    (job, ask): (&Job, &Ask),
    added: bool,
) {
    let inside = (ask.facts.priority, ask.facts.ask);
    if added {
        let spot = Spot::in_places(job, job.kind(ask.facts.priority));
        backlog.places.insert(tree, at, spot, inside);
    } else {
        backlog.places.remove(tree, at, job.facts.job, inside);
    }
}
