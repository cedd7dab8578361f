//! Slots and the times at which they fall free, for a look ahead: tasks take the earliest free
//! slots. Knows only numbers and lengths of tasks; decides nothing.

use crate::words::ids::Millis;
use std::collections::BTreeMap;

/// Ends of tasks within this part of a task's length count as one. So the number of different ends
/// stays small, however many tasks there are.
const GRAINS_PER_TASK: Millis = 32;

/// Slots that serve one line of jobs.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    free_at: BTreeMap<Millis, u32>,
    total: u32,
}

impl Slots {
    /// Creates `total` slots, at least one, of which some are busy until the times of `busy`. If
    /// more are busy than exist, the first to end are ignored.
    pub(crate) fn new(total: u32, now: Millis, mut busy: Vec<(Millis, u32)>) -> Slots {
        let total = total.max(1);
        let mut free_at = BTreeMap::new();
        busy.sort_unstable();
        let mut left = total;
        for (end_ms, slots) in busy.into_iter().rev() {
            let kept = slots.min(left);
            left -= kept;
            add(&mut free_at, end_ms.max(now), kept);
        }
        add(&mut free_at, now, left);
        Slots { free_at, total }
    }

    /// Serves `tasks`, none of which starts before `ready_ms`. Returns the start of the first and
    /// the end of the last. Each takes `length_ms`, not counting time before `begin_ms`, when it
    /// only waits. None for no tasks.
    pub(crate) fn serve(
        &mut self,
        tasks: u32,
        length_ms: Millis,
        ready_ms: Millis,
        begin_ms: Millis,
    ) -> Option<(Millis, Millis)> {
        let first = *self.free_at.keys().next()?;
        let start_ms = first.max(ready_ms);
        let length_ms = length_ms.max(1);
        let mut left = self.serve_waves(tasks, length_ms, ready_ms.max(begin_ms));
        let grain = (length_ms / GRAINS_PER_TASK).max(1);
        let mut last_end = None;
        while left > 0 {
            let (free_ms, slots) = self.free_at.pop_first()?;
            let taken = slots.min(left);
            add(&mut self.free_at, free_ms, slots - taken);
            left -= taken;
            let begun_ms = free_ms.max(ready_ms).max(begin_ms);
            let end_ms = begun_ms.saturating_add(length_ms);
            let end_ms = end_ms.saturating_add(grain / 2) / grain * grain;
            add(&mut self.free_at, end_ms, taken);
            last_end = last_end.max(Some(end_ms));
        }
        last_end.map(|end_ms| (start_ms, end_ms))
    }

    /// Gives every slot its tasks in a row at once, if there are very many. Returns the tasks left
    /// over.
    fn serve_waves(&mut self, tasks: u32, length_ms: Millis, ready_ms: Millis) -> u32 {
        let waves = (tasks / self.total).saturating_sub(1);
        if waves == 0 {
            return tasks;
        }
        let long_ms = length_ms.saturating_mul(Millis::from(waves));
        let before = std::mem::take(&mut self.free_at);
        for (free_ms, slots) in before {
            let end_ms = free_ms.max(ready_ms).saturating_add(long_ms);
            add(&mut self.free_at, end_ms, slots);
        }
        tasks - waves * self.total
    }
}

fn add(free_at: &mut BTreeMap<Millis, u32>, at_ms: Millis, slots: u32) {
    if slots > 0 {
        *free_at.entry(at_ms).or_insert(0) += slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_take_the_slots_that_are_free_first() {
        // 3 slots, one busy until 1,000: 4 tasks of 3,200 start at 0, 0, 1,000 and 3,200.
        let mut slots = Slots::new(3, 0, vec![(1_000, 1)]);
        assert_eq!(slots.serve(4, 3_200, 0, 0), Some((0, 6_400)));
        // Free at 3,200 (one), 4,200 and 6,400.
        assert_eq!(
            slots.serve(1, 100, 0, 0).map(|(start, _)| start),
            Some(3_200)
        );
        assert_eq!(slots.serve(0, 100, 0, 0), None);
        // Not ready before 9,000, and waiting until 16,800.
        assert_eq!(slots.serve(1, 3_200, 9_000, 16_800), Some((9_000, 20_000)));
    }

    #[test]
    fn a_line_that_has_more_than_its_slots_gives_the_first_away() {
        let mut slots = Slots::new(1, 0, vec![(100, 1), (900, 1)]);
        assert_eq!(slots.serve(1, 32, 0, 0).map(|(start, _)| start), Some(900));
        let mut none = Slots::new(0, 5, Vec::new());
        assert_eq!(none.serve(1, 32, 0, 0), Some((5, 37)), "one slot at least");
    }

    /// `u32::MAX` tasks of a second on 1,000 slots take 4,294,967.296 s, rounded up to whole tasks.
    /// They are served in waves, not one by one.
    #[test]
    fn very_many_tasks_are_served_in_waves() {
        let mut slots = Slots::new(1_000, 0, Vec::new());
        let (start, end) = slots.serve(u32::MAX, 1_000, 0, 0).expect("there are tasks");
        assert_eq!(start, 0);
        assert!((end - 4_294_968_000).abs() <= 31, "{end}");
        // The same as one by one, for a number that both can do.
        let (mut one, mut other) = (
            Slots::new(7, 0, vec![(50, 2)]),
            Slots::new(7, 0, vec![(50, 2)]),
        );
        let all = one.serve(100, 3_200, 0, 0).expect("there are tasks");
        let singly = (0..100).filter_map(|_| other.serve(1, 3_200, 0, 0)).last();
        assert!((all.1 - singly.expect("there are tasks").1).abs() <= 100);
    }
}
