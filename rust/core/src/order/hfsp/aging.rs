//! Aging: the work that each phase would have left in a fair cluster of the same slots, and the
//! order that follows from it (HF-17 to HF-23). Knows nothing of real tasks or of estimates.
//!
//! Time and work share one unit, which the caller chooses: work is slots times time. A phase may
//! end in the real cluster before it ends in the virtual one. It then stays in the virtual one to
//! its virtual end, without a position in the order. The fair cluster does not know that it was
//! favoured.

use super::round_robin::{Want, in_turns, round_robin};
use crate::model::line::Line;
use crate::words::ids::JobId;
use crate::words::kind::Kind;
use crate::words::table::{DenseId, Table};
use std::collections::BTreeSet;

/// Part of a mean task below which work counts as a rounding error.
const NOTHING: f64 = 1e-9;

/// Maximum number of phases that only wait for their virtual end. Beyond it, the phase nearest to
/// its end is dropped: a virtual cluster slower than the real one must not remember everything.
const GHOSTS_MAX: usize = 1_024;

/// Maximum number of steps of one `advance`: no step is shorter than the time divided by it.
/// Exact aging has a step for every virtual task that ends. A clock that jumps ahead, or thousands
/// of jobs of tiny tasks, would keep it busy without end.
const STEPS_MAX: f64 = 1e6;
/// The same for the engine, which covers a tick at a time with thousands of phases. A slot may
/// stand idle virtually for a sixteenth of that.
const COARSE_STEPS_MAX: f64 = 16.0;

/// All tasks of one kind of a job, which HFSP treats as a job of its own (HF-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhaseId {
    /// The job.
    pub job: JobId,
    /// Kind of the tasks.
    pub kind: Kind,
}

impl DenseId for PhaseId {
    fn index(self) -> usize {
        self.job.index() * Kind::ALL.len() + self.kind as usize
    }

    fn at(index: usize) -> PhaseId {
        let (job, kind) = (index / Kind::ALL.len(), index % Kind::ALL.len());
        PhaseId {
            job: JobId(job as u32),
            kind: Kind::ALL[kind],
        }
    }
}

#[derive(Clone, Debug)]
struct Phase {
    id: PhaseId,
    /// Number of its arrival, which breaks ties.
    arrival: u64,
    tasks: u32,
    weight: f64,
    size: f64,
    /// Virtual work done, apart from `left` because sizes change.
    done: f64,
    left: f64,
    /// Slots that it holds in the virtual cluster; fractional if phases take turns.
    slots: f64,
    /// Position among the phases that reached their virtual end.
    ended: Option<u64>,
    /// Whether it still exists in the real cluster; if not, it has no position in the order.
    real: bool,
}

impl Phase {
    fn mean_task(&self) -> f64 {
        self.size / f64::from(self.tasks.max(1))
    }

    /// Returns how many slots it has virtual work for (HF-20).
    fn demand(&self) -> u32 {
        if self.ended.is_some() {
            return 0;
        }
        (self.left / self.mean_task() - NOTHING).ceil() as u32
    }

    /// Returns how long all its slots stay busy; None without slots.
    fn busy(&self) -> Option<f64> {
        let tasks = (self.slots - 1.0).max(0.0) * self.mean_task();
        (self.slots > 0.0).then(|| ((self.left - tasks) / self.slots).max(0.0))
    }

    /// Ranks late phases first, by their virtual ends; then by work left; then by arrival.
    fn rank(&self) -> (bool, u64, u64) {
        match self.ended {
            Some(position) => (false, position, self.arrival),
            // The bits of non-negative floats sort like the floats.
            None => (true, self.left.max(0.0).to_bits(), self.arrival),
        }
    }
}

/// The virtual cluster of one pool of slots.
#[derive(Debug, Default)]
pub struct Aging {
    now: f64,
    slots: u32,
    /// Whether phases take turns if there are more of them than slots.
    turns: bool,
    /// Maximum number of steps of one `advance`.
    steps_max: f64,
    /// Phases by number; numbers of departed phases are reused.
    phases: Vec<Phase>,
    unused: Vec<u32>,
    numbers: Table<PhaseId, u32>,
    line: Line,
    /// Whether slots must be dealt out again.
    due: bool,
    arrivals: u64,
    ends: u64,
    /// Numbers of the phases that only wait for their virtual end.
    ghosts: BTreeSet<u32>,
}

impl Aging {
    /// Creates an empty cluster at time `now`.
    pub fn new(now: f64, slots: u32) -> Aging {
        Aging {
            now,
            slots,
            steps_max: STEPS_MAX,
            ..Aging::default()
        }
    }

    /// Creates the engine's cluster, with coarser steps. While it has more phases than slots they
    /// take turns, each with its fair part of the time. With whole slots, the phases that want most
    /// would get none and never age, and others could pass them by for ever (HF-1).
    pub fn taking_turns(now: f64, slots: u32) -> Aging {
        Aging {
            turns: true,
            steps_max: COARSE_STEPS_MAX,
            ..Aging::new(now, slots)
        }
    }

    /// Sets the maximum number of steps of one `advance`.
    pub fn in_steps(self, steps_max: f64) -> Aging {
        Aging { steps_max, ..self }
    }

    /// Returns its time.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Returns how many phases it holds, including those that only wait for their virtual end.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Tells whether it holds no phase.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Sets the slots that the framework reports (HF-22).
    pub fn set_slots(&mut self, slots: u32) {
        self.due |= self.slots != slots;
        self.slots = slots;
    }

    /// Adds a phase of `tasks` tasks and `size` work. A phase without work is late at once, which
    /// is right: it takes no time. A phase that exists already keeps its work done.
    pub fn add(&mut self, id: PhaseId, tasks: u32, size: f64, weight: f64) {
        if let Some(number) = self.numbers.get(id).copied() {
            let phase = &mut self.phases[number as usize];
            phase.weight = weight;
            if !phase.real {
                phase.real = true;
                self.ghosts.remove(&number);
                let phases = &self.phases;
                self.line.insert(number, |i| phases[i as usize].rank());
            }
            self.resize(id, tasks, size);
            return;
        }
        self.arrivals += 1;
        let phase = Phase {
            id,
            arrival: self.arrivals,
            tasks,
            weight,
            size,
            done: 0.0,
            left: size,
            slots: 0.0,
            ended: (size <= 0.0).then(|| self.next_end()),
            real: true,
        };
        let number = match self.unused.pop() {
            Some(number) => {
                self.phases[number as usize] = phase;
                number
            }
            None => {
                self.phases.push(phase);
                (self.phases.len() - 1) as u32
            }
        };
        self.numbers.insert(id, number);
        let phases = &self.phases;
        self.line.insert(number, |i| phases[i as usize].rank());
        self.due = true;
    }

    /// Sets a new estimate (HF-21). Virtual work done stays done.
    pub fn resize(&mut self, id: PhaseId, tasks: u32, size: f64) {
        let Some(number) = self.numbers.get(id).copied() else {
            return;
        };
        let phase = &mut self.phases[number as usize];
        (phase.tasks, phase.size) = (tasks, size);
        phase.left = (size - phase.done).max(0.0);
        let over = phase.left <= phase.mean_task() * NOTHING;
        let real = phase.real;
        match phase.ended {
            None if over => self.phases[number as usize].ended = Some(self.next_end()),
            Some(_) if !over => self.phases[number as usize].ended = None,
            _ => {}
        }
        self.due = true;
        if real {
            // Only its rank has changed, so only it moves.
            self.line.remove(number);
            let phases = &self.phases;
            self.line.insert(number, |i| phases[i as usize].rank());
        } else if over {
            self.forget(number);
        }
    }

    /// Sets the virtual work done, for a phase from before a reload.
    pub fn set_done(&mut self, id: PhaseId, done: f64) {
        if let Some(number) = self.numbers.get(id).copied() {
            let phase = &mut self.phases[number as usize];
            phase.done = done;
            let (tasks, size) = (phase.tasks, phase.size);
            self.resize(id, tasks, size);
        }
    }

    /// Sets a new weight (HF-23).
    pub fn set_weight(&mut self, id: PhaseId, weight: f64) {
        if let Some(number) = self.numbers.get(id) {
            self.phases[*number as usize].weight = weight;
            self.due = true;
        }
    }

    /// Ends a phase in the real cluster; `size` is its true size.
    pub fn finish(&mut self, id: PhaseId, size: f64) {
        let Some(number) = self.numbers.get(id).copied() else {
            return;
        };
        let phase = &mut self.phases[number as usize];
        if !phase.real {
            return;
        }
        phase.real = false;
        let tasks = phase.tasks;
        self.line.remove(number);
        self.ghosts.insert(number);
        self.resize(id, tasks, size);
        if self.ghosts.len() > GHOSTS_MAX {
            let ghosts = self.ghosts.iter().copied();
            let nearest = ghosts.min_by_key(|i| self.phases[*i as usize].rank());
            self.forget(nearest.expect("there are more than enough"));
        }
    }

    /// Removes a phase from both clusters, finished or not.
    pub fn remove(&mut self, id: PhaseId) {
        if let Some(number) = self.numbers.get(id).copied() {
            if self.phases[number as usize].real {
                self.line.remove(number);
                self.phases[number as usize].real = false;
                self.ghosts.insert(number);
            }
            self.forget(number);
        }
    }

    fn forget(&mut self, number: u32) {
        let phase = &mut self.phases[number as usize];
        (phase.slots, phase.left) = (0.0, 0.0);
        phase.ended.get_or_insert(0);
        self.numbers.remove(phase.id);
        self.unused.push(number);
        self.ghosts.remove(&number);
        self.due = true;
    }

    /// Advances to time `to`. Deals slots again after every outside change, and whenever one would
    /// stand idle because a virtual task ends and its phase has no other (HF-20). So the number of
    /// calls that cover a time makes no difference, as long as the steps stay below their
    /// maximum.
    pub fn advance(&mut self, to: f64) {
        let least = (to - self.now) / self.steps_max;
        while self.now < to {
            self.deal();
            let busy = self.phases.iter().filter_map(Phase::busy);
            let next = self.now + busy.fold(to - self.now, f64::min).max(least);
            // Late on the clock a step may be too short to change it; take the next larger float
            // instead.
            self.run(next.max(self.now.next_up()).min(to));
        }
        self.settle();
    }

    /// Deals slots now and keeps them to time `to`. This is the paper's aging, which looks at the
    /// virtual cluster only at arrivals and ends of tasks.
    pub fn advance_held(&mut self, to: f64) {
        if self.now < to {
            self.due = true;
            self.deal();
            self.run(to);
        }
        self.settle();
    }

    fn deal(&mut self) {
        if !std::mem::take(&mut self.due) {
            return;
        }
        let wanting = |i: &usize| self.phases[*i].ended.is_none();
        let mut hungry: Vec<usize> = (0..self.phases.len()).filter(wanting).collect();
        // Ties go to the earlier arrival.
        hungry.sort_unstable_by_key(|i| self.phases[*i].arrival);
        let want = |i: &usize| Want {
            slots: self.phases[*i].demand(),
            weight: self.phases[*i].weight,
        };
        let wants: Vec<Want> = hungry.iter().map(want).collect();
        let parts = if self.turns && wants.len() > self.slots as usize {
            in_turns(self.slots, &wants)
        } else {
            let whole = round_robin(self.slots, &wants).into_iter();
            whole.map(f64::from).collect()
        };
        for (i, slots) in hungry.iter().zip(parts) {
            self.phases[*i].slots = slots;
        }
    }

    fn run(&mut self, to: f64) {
        let length = to - self.now;
        let mut ended: Vec<(u64, u64, u32)> = Vec::new();
        for (number, phase) in self.phases.iter_mut().enumerate() {
            if phase.slots == 0.0 {
                continue;
            }
            let lasts = phase.left / phase.slots;
            let work = (phase.slots * length).min(phase.left);
            phase.done += work;
            phase.left -= work;
            if phase.left <= phase.mean_task() * NOTHING {
                (phase.left, phase.slots) = (0.0, 0.0);
                ended.push((lasts.to_bits(), phase.arrival, number as u32));
                self.due = true;
            } else if f64::from(phase.demand()) < phase.slots {
                self.due = true;
            }
        }
        self.now = to;
        ended.sort_unstable();
        for (_, _, number) in ended {
            self.phases[number as usize].ended = Some(self.next_end());
            self.line.touch(number);
            if !self.phases[number as usize].real {
                self.forget(number);
            }
        }
    }

    fn settle(&mut self) {
        let phases = &self.phases;
        self.line.resort(usize::MAX, |i| phases[i as usize].rank());
    }

    fn next_end(&mut self) -> u64 {
        self.ends += 1;
        self.ends
    }

    fn phase(&self, id: PhaseId) -> Option<&Phase> {
        let number = self.numbers.get(id)?;
        Some(&self.phases[*number as usize])
    }

    /// Returns the virtual work left.
    pub fn left(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.left)
    }

    /// Returns the virtual work done; more than the size if that was overestimated before.
    pub fn done(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.done)
    }

    /// Returns its number of tasks.
    pub fn tasks(&self, id: PhaseId) -> Option<u32> {
        self.phase(id).map(|phase| phase.tasks)
    }

    /// Returns its present estimate.
    pub fn size(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.size)
    }

    /// Tells whether it has ended virtually but not really.
    pub fn is_late(&self, id: PhaseId) -> bool {
        self.phase(id).is_some_and(|p| p.real && p.ended.is_some())
    }

    /// Returns the phases of the real cluster; the first is served first.
    pub fn order(&self) -> impl Iterator<Item = PhaseId> + '_ {
        let number = |number: &u32| self.phases[*number as usize].id;
        self.line.order().iter().map(number)
    }

    /// Returns its label in the order: the smaller is served first.
    pub fn label(&self, id: PhaseId) -> Option<i64> {
        let number = self.numbers.get(id)?;
        Some(self.line.label(*number))
    }

    /// Takes the phases that may have changed places, or become late, since the last call.
    pub fn take_moved(&mut self) -> Vec<PhaseId> {
        let moved = self.line.take_moved();
        let id = |number: u32| self.phases[number as usize].id;
        moved.into_iter().map(id).collect()
    }
}

#[cfg(test)]
mod tests;
