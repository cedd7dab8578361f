//! Ageing: how much work of each phase would be left in a fair cluster of the same slots, and the
//! order that follows from it (HF-17 to HF-23). Knows nothing of real tasks or of estimates.
//!
//! Time and work are in one unit of the caller's: work is slots times time. Phases that end in
//! the real cluster before they do in the virtual one stay in the latter to their virtual end,
//! without a place in the order: the fair cluster does not know that they were favoured.

use super::round_robin::{Want, in_turns, round_robin};
use crate::model::line::Line;
use crate::words::ids::JobId;
use crate::words::kind::Kind;
use crate::words::table::{DenseId, Table};
use std::collections::BTreeSet;

/// A part of a mean task too small to be work: what rounding leaves behind.
const NOTHING: f64 = 1e-9;

/// How many phases may wait for their virtual end alone. Beyond, the one nearest to it goes: a
/// virtual cluster that is slower than the real one must not remember everything.
const GHOSTS_MAX: usize = 1_024;

/// How finely `advance` divides the time that it covers: one step may be no shorter than that part
/// of it. Exact ageing has a step for every virtual task that ends, so a clock that jumps ahead,
/// or thousands of jobs of tiny tasks, would keep it busy without end.
const STEPS_MAX: f64 = 1e6;
/// The same in the engine, which covers a second at a time with thousands of phases: a slot may
/// stand idle virtually for a sixteenth of that.
const COARSE_STEPS_MAX: f64 = 16.0;

/// All tasks of one kind of a job, which HFSP treats as a job of its own (HF-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhaseId {
    /// The job.
    pub job: JobId,
    /// Which of its tasks.
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
    /// Number of its arrival: the tie-break.
    arrival: u64,
    tasks: u32,
    weight: f64,
    size: f64,
    /// Work done virtually, kept apart from `left` for sizes that change.
    done: f64,
    left: f64,
    /// What it holds of the virtual cluster; not whole if slots are taken in turns.
    slots: f64,
    /// Which it was of those that had no virtual work left.
    ended: Option<u64>,
    /// Whether it is still there in the real cluster; if not, it has no place in the order.
    real: bool,
}

impl Phase {
    fn mean_task(&self) -> f64 {
        self.size / f64::from(self.tasks.max(1))
    }

    /// How many slots it has virtual work for (HF-20).
    fn demand(&self) -> u32 {
        if self.ended.is_some() {
            return 0;
        }
        (self.left / self.mean_task() - NOTHING).ceil() as u32
    }

    /// How long its slots are all busy, if it has any.
    fn busy(&self) -> Option<f64> {
        let tasks = (self.slots - 1.0).max(0.0) * self.mean_task();
        (self.slots > 0.0).then(|| ((self.left - tasks) / self.slots).max(0.0))
    }

    /// Late phases first, as they ended virtually; then by the work left; then by arrival.
    fn rank(&self) -> (bool, u64, u64) {
        match self.ended {
            Some(position) => (false, position, self.arrival),
            // The bits of floats that are not negative are in the order of the floats.
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
    /// How many steps one `advance` takes at the most.
    steps_max: f64,
    /// By number; the numbers of those that left are used again.
    phases: Vec<Phase>,
    unused: Vec<u32>,
    numbers: Table<PhaseId, u32>,
    line: Line,
    /// Whether slots must be dealt out anew.
    due: bool,
    arrivals: u64,
    ends: u64,
    /// Numbers of the phases that only wait for their virtual end.
    ghosts: BTreeSet<u32>,
}

impl Aging {
    /// An empty cluster at time `now`.
    pub fn new(now: f64, slots: u32) -> Aging {
        Aging {
            now,
            slots,
            steps_max: STEPS_MAX,
            ..Aging::default()
        }
    }

    /// The engine's, with coarser steps. While there are more phases than slots they take turns,
    /// each having its fair part of the time: whole slots would leave nothing to the phases that
    /// want most, which would then not age at all, and could be passed by for ever (HF-1).
    pub fn taking_turns(now: f64, slots: u32) -> Aging {
        Aging {
            turns: true,
            steps_max: COARSE_STEPS_MAX,
            ..Aging::new(now, slots)
        }
    }

    /// Where its clock stands.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// How many phases it holds, those included that only wait for their virtual end.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The slots that the framework reports (HF-22).
    pub fn set_slots(&mut self, slots: u32) {
        self.due |= self.slots != slots;
        self.slots = slots;
    }

    /// A phase arrives, of `tasks` tasks and `size` work. Without work it is late at once, which
    /// is right: it takes no time. One that is there already keeps what it has done.
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

    /// A new estimate (HF-21): the work done virtually stays done.
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
            // Its rank alone has changed, so it alone moves.
            self.line.remove(number);
            let phases = &self.phases;
            self.line.insert(number, |i| phases[i as usize].rank());
        } else if over {
            self.forget(number);
        }
    }

    /// What of its work counts as done virtually: for one that is taken over from elsewhere.
    pub fn set_done(&mut self, id: PhaseId, done: f64) {
        if let Some(number) = self.numbers.get(id).copied() {
            let phase = &mut self.phases[number as usize];
            phase.done = done;
            let (tasks, size) = (phase.tasks, phase.size);
            self.resize(id, tasks, size);
        }
    }

    /// A new weight (HF-23).
    pub fn set_weight(&mut self, id: PhaseId, weight: f64) {
        if let Some(number) = self.numbers.get(id) {
            self.phases[*number as usize].weight = weight;
            self.due = true;
        }
    }

    /// A phase is over in the real cluster, having taken `size` in truth.
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

    /// A phase leaves both clusters, finished or not.
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

    /// Goes on to time `to`. Slots are dealt out anew after every change from outside, and
    /// whenever one would stand idle because a virtual task ends and its phase has no other
    /// (HF-20). So it makes no difference in how many calls a time is covered, as long as steps
    /// are not too many.
    pub fn advance(&mut self, to: f64) {
        let least = (to - self.now) / self.steps_max;
        while self.now < to {
            self.deal();
            let busy = self.phases.iter().filter_map(Phase::busy);
            let next = self.now + busy.fold(to - self.now, f64::min).max(least);
            // Late on the clock a step may be too short to move it; it must go on all the same.
            self.run(next.max(self.now.next_up()).min(to));
        }
        self.settle();
    }

    /// Deals out slots now and goes on to time `to` with those: the paper's ageing, which looks at
    /// the virtual cluster at arrivals and ends of tasks only.
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
        // Ties go to whoever came first.
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

    /// Virtual work left.
    pub fn left(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.left)
    }

    /// Virtual work done; more than its size if that was taken for larger before.
    pub fn done(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.done)
    }

    /// How many tasks it has.
    pub fn tasks(&self, id: PhaseId) -> Option<u32> {
        self.phase(id).map(|phase| phase.tasks)
    }

    /// Its present estimate.
    pub fn size(&self, id: PhaseId) -> Option<f64> {
        self.phase(id).map(|phase| phase.size)
    }

    /// Whether it has ended virtually and not really.
    pub fn is_late(&self, id: PhaseId) -> bool {
        self.phase(id).is_some_and(|p| p.real && p.ended.is_some())
    }

    /// The phases of the real cluster, first to be served first.
    pub fn order(&self) -> impl Iterator<Item = PhaseId> + '_ {
        let number = |number: &u32| self.phases[*number as usize].id;
        self.line.order().iter().map(number)
    }

    /// A number that stands for its place: the smaller is served first.
    pub fn label(&self, id: PhaseId) -> Option<i64> {
        let number = self.numbers.get(id)?;
        Some(self.line.label(*number))
    }

    /// Takes who may have changed places, or become late, since the last call.
    pub fn take_moved(&mut self) -> Vec<PhaseId> {
        let moved = self.line.take_moved();
        let id = |number: u32| self.phases[number as usize].id;
        moved.into_iter().map(id).collect()
    }
}

#[cfg(test)]
mod tests;
