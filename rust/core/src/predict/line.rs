//! A look ahead over the jobs of one leaf: the start and end of each if no job comes. Jobs are
//! served one after the other, or all at once with equal parts. Lengths are given; `calibration`
//! learns their errors.

use super::slots::Slots;
use crate::words::ids::{JobId, Millis};
use crate::words::keys::{OrderKey, POOLS};

/// Remaining work of one phase of a job. Phase 0 is its maps and all tasks outside MapReduce, phase
/// 1 its reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase {
    /// Tasks that have not started.
    pub pending: u32,
    /// Expected length of one task.
    pub length_ms: Millis,
    /// Number of running tasks.
    pub running: u32,
    /// Expected mean end of the running tasks.
    pub running_end_ms: Millis,
    /// Key of the phase in the order of its leaf.
    pub key: OrderKey,
}

/// Remaining work of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    pub job: JobId,
    /// Whether it may start tasks, or waits for other jobs to end (`max_running_jobs`).
    pub runnable: bool,
    /// Its two phases.
    pub phases: [Phase; 2],
    /// Whether its reduces may start now, because some maps are done.
    pub reduces_ready: bool,
}

/// Expected start and end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expectation {
    pub job: JobId,
    /// Start of its first task; `now` if one has started.
    pub start_ms: Millis,
    /// End of its last task.
    pub end_ms: Millis,
}

/// Serves jobs one after the other, by the keys of their phases. `slots` are by pool; the second is
/// 0 if all kinds share the first.
pub(crate) fn in_line(now: Millis, slots: [u32; POOLS], works: &[Work]) -> Vec<Expectation> {
    let shared = slots[1] == 0;
    let pool_of = |phase: usize| if shared { 0 } else { phase };
    let mut pools = [0, 1].map(|pool| {
        let ends = works.iter().flat_map(|work| work.phases.iter().enumerate());
        let busy = ends.filter(|(phase, left)| pool_of(*phase) == pool && left.running > 0);
        let busy = busy.map(|(_, left)| (left.running_end_ms, left.running));
        Slots::new(slots[pool], now, busy.collect())
    });
    let mut line: Vec<(bool, OrderKey, JobId, usize, usize)> = Vec::new();
    for (i, work) in works.iter().enumerate() {
        for (phase, left) in work.phases.iter().enumerate() {
            line.push((!work.runnable, left.key, work.job, phase, i));
        }
    }
    // Reduces with slots of their own follow all maps, because a reduce ends after the maps of its
    // job, whenever it started.
    line.sort_unstable_by_key(|(waits, key, job, phase, _)| {
        (if shared { 0 } else { *phase }, *waits, *key, *job, *phase)
    });
    let mut expected: Vec<Expectation> = works.iter().map(|work| running(now, work)).collect();
    let mut mapped: Vec<(Millis, Millis)> = works.iter().map(|work| maps(now, work)).collect();
    for (_, _, _, phase, i) in line {
        let left = &works[i].phases[phase];
        let (ready_ms, begin_ms) = match phase {
            0 => (now, now),
            _ if works[i].reduces_ready => (now, mapped[i].1),
            _ => mapped[i],
        };
        let pool = &mut pools[pool_of(phase)];
        let served = pool.serve(left.pending, left.length_ms, ready_ms, begin_ms);
        let Some((start_ms, end_ms)) = served else {
            continue;
        };
        if phase == 0 {
            mapped[i] = (
                start_ms.saturating_add(left.length_ms),
                mapped[i].1.max(end_ms),
            );
        }
        note(&mut expected[i], &works[i], phase, start_ms, end_ms);
    }
    expected
}

/// Returns the expectation by the job's running tasks alone.
fn running(now: Millis, work: &Work) -> Expectation {
    let running = work.phases.iter().filter(|phase| phase.running > 0);
    Expectation {
        job: work.job,
        start_ms: now,
        end_ms: running
            .map(|phase| phase.running_end_ms)
            .fold(now, Millis::max),
    }
}

/// Returns when the first and the last of a job's maps end, by the running ones.
fn maps(now: Millis, work: &Work) -> (Millis, Millis) {
    match work.phases[0].running {
        0 => (now, now),
        _ => (work.phases[0].running_end_ms, work.phases[0].running_end_ms),
    }
}

fn note(expected: &mut Expectation, work: &Work, phase: usize, start: Millis, end: Millis) {
    let begun = work.phases.iter().any(|phase| phase.running > 0);
    let first = phase == 0 || work.phases[0].pending == 0;
    if !begun && first {
        expected.start_ms = start;
    }
    expected.end_ms = expected.end_ms.max(end);
}

/// Serves all jobs at once with equal parts of the slots (processor sharing). Jobs with the least
/// work end first and leave their parts to the others. A job takes at least as long as one task
/// after the other of its two phases.
pub(crate) fn in_shares(now: Millis, slots: [u32; POOLS], works: &[Work]) -> Vec<Expectation> {
    let total = slots.iter().copied().map(f64::from).sum::<f64>().max(1.0);
    let work_of = |work: &Work| -> f64 { work.phases.iter().map(|p| slot_ms(now, p)).sum() };
    let mut by_work: Vec<(f64, usize)> = works.iter().map(work_of).zip(0..).collect();
    by_work.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut expected: Vec<Expectation> = works.iter().map(|work| running(now, work)).collect();
    let (mut elapsed, mut done) = (0.0, 0.0);
    for (rank, (amount, i)) in by_work.iter().enumerate() {
        let sharers = (works.len() - rank) as f64;
        elapsed += (amount - done) * sharers / total;
        done = *amount;
        let shared_ms = now.saturating_add(elapsed as Millis);
        expected[*i].end_ms = shared_ms.max(shortest(now, total, &works[*i]));
    }
    stagger(now, total, works, &mut expected);
    expected
}

/// Returns the remaining slot-time of a phase.
fn slot_ms(now: Millis, phase: &Phase) -> f64 {
    let running_ms = (phase.running_end_ms - now).max(0) as f64;
    f64::from(phase.pending) * phase.length_ms as f64 + f64::from(phase.running) * running_ms
}

/// Returns when a job ends if it has all the slots.
fn shortest(now: Millis, slots: f64, work: &Work) -> Millis {
    work.phases.iter().fold(now, |at, phase| {
        let waves = (f64::from(phase.pending) / slots).ceil() as Millis;
        let pending_ms = at.saturating_add(phase.length_ms.saturating_mul(waves));
        let running_ms = if phase.running > 0 {
            phase.running_end_ms
        } else {
            now
        };
        pending_ms.max(running_ms)
    })
}

/// Gives jobs without a running task the free slots, then the next to fall free, in order.
fn stagger(now: Millis, slots: f64, works: &[Work], expected: &mut [Expectation]) {
    let running = works.iter().flat_map(|work| &work.phases);
    let running: f64 = running.map(|phase| f64::from(phase.running)).sum();
    let waiting = |work: &Work| work.phases.iter().all(|phase| phase.running == 0);
    let lengths = works.iter().map(|work| work.phases[0].length_ms as f64);
    let mean_ms = lengths.sum::<f64>() / works.len().max(1) as f64;
    let mut line: Vec<usize> = (0..works.len()).filter(|i| waiting(&works[*i])).collect();
    line.sort_by_key(|i| (!works[*i].runnable, works[*i].phases[0].key, works[*i].job));
    for (rank, i) in line.into_iter().enumerate() {
        let behind = rank as f64 + 1.0 - (slots - running).max(0.0);
        let wait_ms = (behind.max(0.0) * mean_ms / slots) as Millis;
        expected[i].start_ms = now.saturating_add(wait_ms);
        let end_ms = expected[i]
            .end_ms
            .max(shortest(now, slots, &works[i]).saturating_add(wait_ms));
        expected[i].end_ms = end_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(id: u32, pending: [u32; 2], length_ms: Millis) -> Work {
        let phase = |pending| Phase {
            pending,
            length_ms,
            key: OrderKey(i64::from(id), 0),
            ..Phase::default()
        };
        Work {
            job: JobId(id),
            runnable: true,
            phases: pending.map(phase),
            reduces_ready: false,
        }
    }

    fn times(expected: &[Expectation]) -> Vec<(Millis, Millis)> {
        expected
            .iter()
            .map(|one| (one.start_ms, one.end_ms))
            .collect()
    }

    /// Two slots, tasks of 3,200: four maps end at 6,400, and the next job's map at 9,600.
    #[test]
    fn in_line_the_second_waits_for_the_first() {
        let works = [work(2, [1, 0], 3_200), work(1, [4, 0], 3_200)];
        assert_eq!(
            times(&in_line(0, [2, 0], &works)),
            [(6_400, 9_600), (0, 6_400)]
        );
        // With four slots one is left for it at 3,200; with five at once.
        assert_eq!(times(&in_line(0, [4, 0], &works))[0], (3_200, 6_400));
        assert_eq!(times(&in_line(0, [5, 0], &works))[0], (0, 3_200));
        // A job that must not run yet comes last, whatever its key.
        let mut works = works;
        works[1].runnable = false;
        assert_eq!(times(&in_line(0, [2, 0], &works)), [(0, 3_200), (0, 9_600)]);
    }

    /// A reduce follows the map: 3,200 + 3,200, in slots of its own or not. A task that runs until
    /// 1,000 keeps its slot until then.
    #[test]
    fn reduces_follow_maps() {
        let one = [work(1, [1, 1], 3_200)];
        assert_eq!(times(&in_line(0, [1, 1], &one)), [(0, 6_400)]);
        assert_eq!(times(&in_line(0, [2, 0], &one)), [(0, 6_400)]);
        let mut begun = one;
        begun[0].phases[0] = Phase {
            pending: 0,
            running: 1,
            running_end_ms: 1_000,
            ..begun[0].phases[0]
        };
        assert_eq!(times(&in_line(0, [1, 1], &begun)), [(0, 4_200)]);
        assert_eq!(times(&in_shares(0, [1, 1], &begun)), [(0, 4_200)]);
    }

    /// Processor sharing by hand: 10 s and 30 s of work on one slot: 20 s, then 20 more.
    #[test]
    fn in_shares_the_small_one_ends_first_and_leaves_its_part() {
        let works = [work(1, [3, 0], 10_000), work(2, [1, 0], 10_000)];
        let ends: Vec<Millis> = in_shares(0, [1, 0], &works)
            .iter()
            .map(|e| e.end_ms)
            .collect();
        assert_eq!(ends, [40_000, 20_000]);
        // With enough slots each takes as long as a task.
        assert_eq!(
            times(&in_shares(0, [4, 0], &works)),
            [(0, 10_000), (0, 10_000)]
        );
        // Even the largest numbers of slots can be added up.
        let most = in_shares(0, [u32::MAX; POOLS], &works);
        assert_eq!(times(&most), [(0, 10_000), (0, 10_000)]);
        assert!(in_shares(0, [4, 0], &[]).is_empty() && in_line(0, [4, 0], &[]).is_empty());
    }
}
