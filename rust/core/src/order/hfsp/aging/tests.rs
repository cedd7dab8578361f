//! Aging computed by hand, and its properties.

use super::*;
use proptest::prelude::*;

fn phase(job: u32) -> PhaseId {
    PhaseId {
        job: JobId(job),
        kind: Kind::Map,
    }
}

fn order(aging: &Aging) -> Vec<u32> {
    aging.order().map(|id| id.job.0).collect()
}

fn left(aging: &Aging, job: u32) -> f64 {
    let left = aging.left(phase(job)).expect("it is there");
    (left * 1e6).round() / 1e6
}

/// The paper's cluster, and the engine's.
const BOTH: [fn(f64, u32) -> Aging; 2] = [Aging::new, Aging::taking_turns];

/// By hand: 10 slots, job 1 of 90 tasks of 10 s. At 10 s, 800 of 900 are left. Job 2 (2 tasks of 10
/// s) wants only 2 of its half: 2 and 8 slots.
#[test]
fn narrow_jobs_leave_their_part_to_wide_ones() {
    BOTH.iter().for_each(|new| narrow_jobs(new(0.0, 10)));
}

fn narrow_jobs(mut aging: Aging) {
    aging.add(phase(1), 90, 900.0, 1.0);
    aging.advance(10.0);
    assert_eq!(left(&aging, 1), 800.0);
    aging.add(phase(2), 2, 20.0, 1.0);
    assert_eq!(order(&aging), [2, 1]);
    aging.advance(15.0);
    assert_eq!((left(&aging, 1), left(&aging, 2)), (760.0, 10.0));
    // At 15 job 2 has work for one slot: 9 and 1 to its end at 25, then all 10 again.
    aging.advance(26.0);
    assert_eq!((left(&aging, 1), left(&aging, 2)), (660.0, 0.0));
    assert!(aging.is_late(phase(2)) && !aging.is_late(phase(1)));
    assert_eq!(order(&aging), [2, 1]);
}

/// The paper's aging holds the slots between calls: job 2 keeps 2 of them to its end.
#[test]
fn slots_may_be_held_between_events() {
    let mut aging = Aging::new(0.0, 10);
    aging.add(phase(1), 30, 300.0, 1.0);
    aging.add(phase(2), 2, 20.0, 1.0);
    aging.advance_held(15.0);
    assert_eq!((left(&aging, 1), left(&aging, 2)), (180.0, 0.0));
}

/// Two ends inside one held interval, job 2 at 10 and job 3 at 4: they stand in the order of ends.
#[test]
fn late_jobs_stand_in_the_order_of_their_virtual_ends() {
    let mut aging = Aging::new(0.0, 12);
    aging.add(phase(1), 90, 900.0, 1.0);
    aging.add(phase(2), 2, 20.0, 1.0);
    aging.add(phase(3), 1, 4.0, 1.0);
    aging.advance_held(30.0);
    assert_eq!(order(&aging), [3, 2, 1]);
    // A larger estimate returns job 3 to the others; a smaller one makes job 1 late.
    aging.resize(phase(3), 1, 50.0);
    aging.resize(phase(1), 90, 10.0);
    assert_eq!(order(&aging), [2, 1, 3]);
    assert_eq!(left(&aging, 3), 46.0);
}

/// HF-21: at 10 s 100 of 300 are done; a new size of 150 leaves 50, one of 90 nothing.
#[test]
fn a_new_estimate_keeps_what_is_done() {
    let mut aging = Aging::new(0.0, 10);
    aging.add(phase(1), 30, 300.0, 1.0);
    aging.advance(10.0);
    aging.resize(phase(1), 30, 150.0);
    assert_eq!(left(&aging, 1), 50.0);
    aging.resize(phase(1), 30, 90.0);
    assert!(aging.is_late(phase(1)));
    aging.resize(phase(1), 30, 120.0);
    assert_eq!(left(&aging, 1), 20.0);
    assert!(!aging.is_late(phase(1)));
}

/// HF-A9: the published code halves the elapsed time; here it counts in full. HF-22: half the
/// slots, half the speed; no slots, no speed.
#[test]
fn time_counts_in_full_and_slots_follow_the_cluster() {
    let mut aging = Aging::new(0.0, 10);
    aging.add(phase(1), 100, 1_000.0, 1.0);
    aging.advance(20.0);
    assert_eq!(left(&aging, 1), 800.0);
    aging.set_slots(5);
    aging.advance(40.0);
    assert_eq!(left(&aging, 1), 700.0);
    aging.set_slots(0);
    aging.advance(60.0);
    assert_eq!(left(&aging, 1), 700.0);
    aging.set_slots(20);
    aging.advance(70.0);
    assert_eq!(left(&aging, 1), 500.0);
}

/// HF-23: weights 3 and 1 share 8 slots as 6 and 2.
#[test]
fn weights_make_it_weighted_fair_queueing() {
    let mut aging = Aging::new(0.0, 8);
    aging.add(phase(1), 100, 1_000.0, 1.0);
    aging.add(phase(2), 100, 1_000.0, 3.0);
    aging.advance(10.0);
    assert_eq!((left(&aging, 1), left(&aging, 2)), (980.0, 940.0));
    aging.set_weight(phase(1), 3.0);
    aging.advance(20.0);
    assert_eq!((left(&aging, 1), left(&aging, 2)), (940.0, 900.0));
    assert_eq!(order(&aging), [2, 1]);
}

/// Three jobs and two slots: whole slots go to the two that want least until one of them ends. In
/// turns each has two thirds of a slot.
#[test]
fn more_jobs_than_slots_take_turns() {
    let lefts = |mut aging: Aging| {
        for (job, tasks) in [(1, 9), (2, 6), (3, 3)] {
            aging.add(phase(job), tasks, f64::from(tasks) * 10.0, 1.0);
        }
        aging.advance(6.0);
        [1, 2, 3].map(|job| left(&aging, job))
    };
    assert_eq!(lefts(Aging::new(0.0, 2)), [90.0, 54.0, 24.0]);
    assert_eq!(lefts(Aging::taking_turns(0.0, 2)), [86.0, 56.0, 26.0]);
}

#[test]
fn a_clock_that_jumps_ahead_ends_what_there_is_in_a_bounded_number_of_steps() {
    // One step per task would be a million million steps.
    let mut aging = Aging::taking_turns(0.0, 2);
    for job in 0..3 {
        aging.add(phase(job), u32::MAX, 1e12 + f64::from(job), 1.0);
    }
    aging.advance(1e9);
    let left: f64 = (0..3).map(|job| left(&aging, job)).sum();
    let worked = 3e12 + 3.0 - left;
    assert!(
        (worked - 2e9).abs() < 2e9 / 16.0,
        "{worked} of two slots for 1e9"
    );
    aging.advance(1e15);
    assert_eq!(order(&aging), [0, 1, 2]);
    assert!((0..3).all(|job| aging.left(phase(job)) == Some(0.0)));
}

/// A favoured job keeps its virtual slots to its virtual end: the others age as in the fair
/// cluster, not faster.
#[test]
fn a_favoured_job_goes_on_virtually() {
    let mut aging = Aging::new(0.0, 2);
    aging.add(phase(1), 10, 100.0, 1.0);
    aging.add(phase(2), 10, 100.0, 1.0);
    aging.advance(10.0);
    // Its tasks really took 20, of which 10 are done: one slot until 20.
    aging.finish(phase(1), 20.0);
    assert_eq!((order(&aging), aging.len()), (vec![2], 2));
    aging.advance(20.0);
    assert_eq!((left(&aging, 2), aging.len()), (80.0, 1));
    aging.advance(30.0);
    assert_eq!(left(&aging, 2), 60.0);
    // A killed job leaves at once.
    aging.remove(phase(2));
    assert!(aging.is_empty());
}

#[test]
fn size_zero_goes_first_and_equal_sizes_by_arrival() {
    let mut aging = Aging::new(0.0, 4);
    aging.add(phase(7), 3, 30.0, 1.0);
    aging.add(phase(5), 3, 30.0, 1.0);
    aging.add(phase(9), 0, 0.0, 1.0);
    assert_eq!(order(&aging), [9, 7, 5]);
    assert!(aging.is_late(phase(9)));
}

#[test]
fn what_is_remembered_of_favoured_jobs_is_bounded() {
    let mut aging = Aging::new(0.0, 1);
    for job in 0..2_000 {
        aging.add(phase(job), 1, 10.0, 1.0);
        aging.finish(phase(job), 10.0);
    }
    assert_eq!(aging.len(), GHOSTS_MAX);
}

proptest! {
    /// Ages the engine's cluster every second, in steps of a sixteenth: a slot may stand idle that
    /// long at the end of a task. Otherwise it ages like the exact one, while no phases take turns.
    #[test]
    fn the_engines_cluster_ages_as_the_exact_one_but_for_a_sixteenth_a_task(
        jobs in prop::collection::vec((1u32..30, 1u32..50), 1..8),
        slots in 8u32..20,
        seconds in 1u32..150,
    ) {
        let mut exact = Aging::new(0.0, slots);
        let mut engines = Aging::taking_turns(0.0, slots);
        for (i, (tasks, length)) in jobs.iter().enumerate() {
            for aging in [&mut exact, &mut engines] {
                aging.add(phase(i as u32), *tasks, f64::from(tasks * length), 1.0);
            }
        }
        for second in 1..=seconds {
            engines.advance(f64::from(second));
        }
        exact.advance(f64::from(seconds));
        let rest = |aging: &Aging| -> f64 {
            (0..jobs.len()).map(|i| aging.left(phase(i as u32)).expect("there")).sum()
        };
        let tasks: u32 = jobs.iter().map(|(tasks, _)| tasks).sum();
        let off = (rest(&engines) - rest(&exact)).abs();
        prop_assert!(off <= f64::from(tasks) / 16.0 + 1e-6, "{off} of {tasks} tasks");
    }

    /// One call or many give the same virtual cluster. Virtual work never exceeds slots times time,
    /// and is never less while some job could use the slots.
    #[test]
    fn calls_do_not_matter_and_work_is_conserved(
        jobs in prop::collection::vec((1u32..30, 1u32..50), 1..8),
        slots in 1u32..20,
        cuts in prop::collection::vec(1u32..30, 1..10),
    ) {
        let mut once = Aging::new(0.0, slots);
        let mut often = Aging::new(0.0, slots);
        let mut total = 0.0;
        for (i, (tasks, length)) in jobs.iter().enumerate() {
            let size = f64::from(*tasks) * f64::from(*length);
            total += size;
            once.add(phase(i as u32), *tasks, size, 1.0);
            often.add(phase(i as u32), *tasks, size, 1.0);
        }
        let mut to = 0.0;
        for cut in &cuts {
            to += f64::from(*cut);
            often.advance(to);
        }
        once.advance(to);
        let rest = |aging: &Aging| -> f64 {
            (0..jobs.len()).map(|i| aging.left(phase(i as u32)).expect("there")).sum()
        };
        prop_assert!((rest(&once) - rest(&often)).abs() < 1e-6);
        // Phases with as much left may change places by rounding.
        for pair in order(&often).windows(2) {
            let [first, next] = [pair[0], pair[1]].map(|job| once.left(phase(job)).expect("there"));
            prop_assert!(first <= next + 1e-6, "{first} before {next}");
        }
        let done = total - rest(&once);
        prop_assert!(done <= f64::from(slots) * to + 1e-6);
        let wanting: u32 = jobs.iter().enumerate()
            .map(|(i, (tasks, length))| {
                let left = once.left(phase(i as u32)).expect("there") / f64::from(*length);
                tasks.min(&((left - 1e-6).ceil().max(0.0) as u32)).to_owned()
            })
            .sum();
        // If there is work for every slot now, there was before.
        prop_assert!(wanting < slots || (done - f64::from(slots) * to).abs() < 1e-6);
    }
}

/// A host's clock is so large that few digits are left for parts of a unit. The end of a virtual
/// task may be a moment that the clock cannot show; aging once looped for ever there.
#[test]
fn a_clock_that_has_run_for_long_does_not_stop() {
    let start = 1e12;
    let mut aging = Aging::taking_turns(start, 800);
    let mut work = 0.0;
    for job in 1..=40 {
        let size = f64::from(job) * 12.3 / 7.0;
        work += size;
        aging.add(phase(job), 50 + job, size, 1.0);
    }
    // The job's slots finish it in far less time.
    aging.advance(start + 2.0 * work);
    for job in 1..=40 {
        assert_eq!(left(&aging, job), 0.0, "{job}");
        assert!(aging.is_late(phase(job)), "{job}");
    }
}
