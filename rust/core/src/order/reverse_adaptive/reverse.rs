//! The reversed execution of a workload: RA-14 to RA-23. It goes backwards from the last completion
//! goal. Each period between two goals takes as much of the work as it can hold. The remainder at
//! the end is the work that must run now. Pure arithmetic in any unit of time; knows nothing of the
//! engine's jobs.
//!
//! The plan is a fluid one: tasks may straddle the edges of periods (RA-A5).

use super::capacity::{Capacity, Piece};
pub use super::division::Split;
use super::division::{Request, by_level, divide};

/// Part of the work below which differences are rounding errors.
const ROUNDING: f64 = 1e-9;

/// A job's remaining work and its goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Tasks yet to run; running ones may count as fractions.
    pub tasks: f64,
    /// Slot-time that they still need.
    pub work: f64,
    /// Time at which they should be done; None without a goal.
    pub deadline: Option<f64>,
    /// Maximum of slots that the job can use at once; None without a limit.
    pub width: Option<f64>,
}

/// One period of the reversed execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Beginning: the previous goal, or now.
    pub from: f64,
    /// End, at a goal.
    pub to: f64,
    /// Slot-time.
    pub capacity: f64,
    /// Work done in it, by job, for jobs with work left and a goal at its end or later.
    pub given: Vec<(usize, f64)>,
    /// Work of each job left for the periods before.
    pub pushed: Vec<(usize, f64)>,
}

/// Work that must run now to keep every goal within reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// s_fit by job: work left for the first period divided by its length (RA-20). A job with a
    /// passed goal needs all its tasks (RA-22), a job without a goal 0.
    pub fit: Vec<f64>,
    /// s_fit weighted by the slots at the present instant; equal to `fit` if slots are constant.
    /// Where f rises inside the period, `fit` alone would postpone work for which there is no room
    /// later.
    pub fit_now: Vec<f64>,
    /// Work left for the first period, including jobs with a passed goal.
    pub needed_now: f64,
    /// Work that this division does not complete in time.
    pub missing: f64,
    /// Whether every goal can be met.
    pub feasible: bool,
}

/// Rounds `fit` up to whole slots (RA-20), apart from rounding errors.
pub fn whole(fit: f64) -> u32 {
    (fit - ROUNDING * fit.max(1.0)).ceil().max(0.0) as u32
}

/// Rounds needs of (slots, deadline) to whole slots. Each is rounded up (RA-20) if the sum fits
/// into `free` slots. If not, many small needs would crowd out a large one, though the exact needs
/// may fit. Then fractions accumulate in the order of deadlines: the nearest deadlines get the
/// whole slots, and the total is the exact total, rounded up.
pub fn whole_needs(needs: &[(f64, f64)], free: f64) -> Vec<u32> {
    let each: Vec<u32> = needs.iter().map(|(need, _)| whole(*need)).collect();
    let sum: f64 = each.iter().copied().map(f64::from).sum();
    if sum <= free {
        return each;
    }
    let mut turns: Vec<usize> = (0..needs.len()).collect();
    turns.sort_by(|a, b| needs[*a].1.total_cmp(&needs[*b].1).then(a.cmp(b)));
    let (mut exact, mut given) = (0.0, 0);
    let mut slots = vec![0; needs.len()];
    for i in turns {
        exact += needs[i].0;
        slots[i] = whole(exact).saturating_sub(given);
        given += slots[i];
    }
    slots
}

/// Returns s_req of the Adaptive Scheduler (RA-36): the slots that meet the goal if they were
/// always available. It ignores f.
pub fn required(now: f64, goal: &Goal) -> f64 {
    match goal.deadline {
        Some(deadline) if deadline > now => f64::from(whole(goal.work / (deadline - now))),
        Some(_) => goal.tasks,
        None => 0.0,
    }
}

/// Reverses the execution of `goals` from the last deadline to `now`. `record` gets every period,
/// the last first. For J jobs the cost is J log J per period and per change of the capacity.
///
/// Where jobs have a width, `split` may leave a job more than it can do in the earlier periods.
/// Only then, and if that meets all goals, periods are divided by the time that each job needs at
/// its width: the level algorithm (Muntz and Coffman, "Preemptive scheduling of real-time tasks on
/// multiprocessor systems", 1970), which meets all goals that can be met.
pub fn reverse(
    now: f64,
    capacity: &Capacity,
    goals: &[Goal],
    split: Split,
    mut record: Option<&mut Vec<Period>>,
) -> Plan {
    let plan = reverse_by(now, capacity, goals, Some(split), record.as_deref_mut());
    if plan.feasible || goals.iter().all(|goal| goal.width.is_none()) {
        return plan;
    }
    let mut periods = Vec::new();
    let by_level = reverse_by(now, capacity, goals, None, Some(&mut periods));
    if !by_level.feasible {
        return plan;
    }
    if let Some(record) = record {
        *record = periods;
    }
    by_level
}

/// Reverses the execution with one division, by level without a `split`.
fn reverse_by(
    now: f64,
    capacity: &Capacity,
    goals: &[Goal],
    split: Option<Split>,
    mut record: Option<&mut Vec<Period>>,
) -> Plan {
    let mut upcoming: Vec<(f64, usize)> = Vec::with_capacity(goals.len());
    for (job, goal) in goals.iter().enumerate() {
        if let Some(deadline) = goal.deadline.filter(|at| *at > now && goal.work > 0.0) {
            upcoming.push((deadline, job));
        }
    }
    // Popped from the end: the latest first; equal deadlines in the order given.
    upcoming.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let first = upcoming.first().map(|(at, _)| *at);
    let mut left = vec![0.0; goals.len()];
    let mut at_first = left.clone();
    let mut active: Vec<usize> = Vec::new();
    while let Some((to, _)) = upcoming.last().copied() {
        while let Some((_, job)) = upcoming.pop_if(|(at, _)| *at == to) {
            left[job] = goals[job].work;
            active.push(job);
        }
        let from = upcoming.last().map_or(now, |(at, _)| *at);
        if upcoming.is_empty() {
            at_first.clone_from(&left);
        }
        let before: Vec<(usize, f64)> = active.iter().map(|job| (*job, left[*job])).collect();
        // Piece by piece, because a width limits a job at every moment, not on average.
        for piece in capacity.pieces(from, to) {
            take(split, &piece, goals, &active, &mut left);
        }
        if let Some(record) = record.as_deref_mut() {
            record.push(period(from, to, capacity, before, &left));
        }
        active.retain(|job| left[*job] > 0.0);
    }
    plan(now, capacity, goals, &at_first, left.iter().sum(), first)
}

/// Does as much of the active jobs' work as a stretch of constant capacity holds.
fn take(split: Option<Split>, piece: &Piece, goals: &[Goal], active: &[usize], left: &mut [f64]) {
    let length = piece.to - piece.from;
    let room = piece.slots * length;
    let wish = |job: &usize| Request {
        work: left[*job].min(goals[*job].width.unwrap_or(f64::INFINITY) * length),
        deadline: goals[*job].deadline.unwrap_or(f64::INFINITY),
    };
    let parts = match split {
        Some(split) => divide(split, room, &active.iter().map(wish).collect::<Vec<_>>()),
        None => {
            // Without a width a job may use whatever there is, so it goes last.
            let wide = goals.iter().map(|goal| goal.work).sum::<f64>().max(1.0) / length;
            let of = |job: &usize| (left[*job], goals[*job].width.unwrap_or(wide));
            by_level(room, length, &active.iter().map(of).collect::<Vec<_>>())
        }
    };
    for (job, part) in active.iter().zip(parts) {
        // The division may round up by a last digit.
        left[*job] = (left[*job] - part).max(0.0);
    }
}

fn period(
    from: f64,
    to: f64,
    capacity: &Capacity,
    mut before: Vec<(usize, f64)>,
    left: &[f64],
) -> Period {
    before.sort_by_key(|(job, _)| *job);
    Period {
        from,
        to,
        capacity: capacity.integral(from, to),
        given: before
            .iter()
            .map(|(job, had)| (*job, had - left[*job]))
            .collect(),
        pushed: before.iter().map(|(job, _)| (*job, left[*job])).collect(),
    }
}

/// Converts the work left for the first period, which ends at `first`, into slots.
fn plan(
    now: f64,
    capacity: &Capacity,
    goals: &[Goal],
    left: &[f64],
    undone: f64,
    first: Option<f64>,
) -> Plan {
    let length = first.map_or(1.0, |first| first - now);
    let room = first.map_or(0.0, |first| capacity.integral(now, first));
    // Without any slot in the first period nothing helps; the even spread at least shows how much
    // is missing.
    let rate_now = if room > 0.0 {
        capacity.at(now) / room
    } else {
        1.0 / length
    };
    let mut plan = Plan::default();
    let (mut late, mut total) = (0.0, 0.0);
    for (i, goal) in goals.iter().enumerate() {
        let (fit, fit_now) = match goal.deadline {
            Some(at) if at > now => (left[i] / length, left[i] * rate_now),
            Some(_) => (goal.tasks, goal.tasks),
            None => (0.0, 0.0),
        };
        plan.fit.push(fit);
        plan.fit_now.push(fit_now);
        if let Some(at) = goal.deadline {
            total += goal.work;
            late += if at > now { 0.0 } else { goal.work };
        }
    }
    plan.needed_now = late + left.iter().sum::<f64>();
    plan.missing = late + undone;
    if plan.missing <= ROUNDING * total {
        plan.missing = 0.0;
    }
    plan.feasible = plan.missing == 0.0;
    plan
}
