//! The reversed execution (s_fit) of the Reverse-Adaptive scheduler, without the engine. Tests the
//! paper's example by hand, its invariant against an independent maximum flow, and a fluid cluster
//! that follows it.

use heddle_core::order::reverse_adaptive::capacity::Capacity;
use heddle_core::order::reverse_adaptive::reverse::{
    Goal, Period, Plan, Split, required, reverse, whole, whole_needs,
};
use proptest::prelude::*;
use std::collections::VecDeque;

const SPLITS: [Split; 4] = [
    Split::MaxMin,
    Split::Proportional,
    Split::Latest,
    Split::Earliest,
];

fn goal(tasks: f64, length: f64, deadline: f64) -> Goal {
    Goal {
        tasks,
        work: tasks * length,
        deadline: Some(deadline),
        width: None,
    }
}

fn plan(now: f64, capacity: &Capacity, goals: &[Goal]) -> Plan {
    reverse(now, capacity, goals, Split::MaxMin, None)
}

fn steps(steps: &[(f64, f64)]) -> Capacity {
    Capacity::steps(steps).expect("the steps ascend")
}

/// RA-19 with numbers: 4 slots, tasks of 1, goals at 7, 15 and 20, and 10, 40 and 24 tasks.
#[test]
fn the_worked_example_step_by_step() {
    let goals = [
        goal(10.0, 1.0, 7.0),
        goal(40.0, 1.0, 15.0),
        goal(24.0, 1.0, 20.0),
    ];
    let capacity = Capacity::constant(4.0);
    let mut periods = Vec::new();
    let plan = reverse(0.0, &capacity, &goals, Split::MaxMin, Some(&mut periods));
    let expected = [
        // J3 alone: most of its tasks go here, 5 * 4 = 20 of 24.
        Period {
            from: 15.0,
            to: 20.0,
            capacity: 20.0,
            given: vec![(2, 20.0)],
            pushed: vec![(2, 4.0)],
        },
        // 8 * 4 = 32: the rest of J3 fits, J2 does not.
        Period {
            from: 7.0,
            to: 15.0,
            capacity: 32.0,
            given: vec![(1, 28.0), (2, 4.0)],
            pushed: vec![(1, 12.0), (2, 0.0)],
        },
        // 7 * 4 = 28 for J1 and the rest of J2.
        Period {
            from: 0.0,
            to: 7.0,
            capacity: 28.0,
            given: vec![(0, 10.0), (1, 12.0)],
            pushed: vec![(0, 0.0), (1, 0.0)],
        },
    ];
    assert_eq!(periods, expected);
    assert_eq!(plan.fit, [10.0 / 7.0, 12.0 / 7.0, 0.0]);
    assert_eq!(
        plan.fit.iter().map(|fit| whole(*fit)).collect::<Vec<_>>(),
        [2, 2, 0]
    );
    assert_eq!(
        (plan.needed_now, plan.missing, plan.feasible),
        (22.0, 0.0, true)
    );
}

#[test]
fn the_split_decides_whose_work_is_pushed_back() {
    // One period of 5 * 2 = 10 after 5, for 8 of the first job and 12 of the second.
    let goals = [
        goal(8.0, 1.0, 10.0),
        goal(12.0, 1.0, 10.0),
        goal(1.0, 1.0, 5.0),
    ];
    let fit = |split| reverse(0.0, &Capacity::constant(2.0), &goals, split, None).fit;
    // Max-min 5 and 5, in proportion 4 and 6, pushed over 5 s; the third needs 1 / 5 anyway.
    assert_eq!(fit(Split::MaxMin), [0.6, 1.4, 0.2]);
    assert_eq!(fit(Split::Proportional), [0.8, 1.2, 0.2]);
    let goals = [
        goal(8.0, 1.0, 10.0),
        goal(12.0, 1.0, 11.0),
        goal(1.0, 1.0, 5.0),
    ];
    let fit = |split| reverse(0.0, &Capacity::constant(2.0), &goals, split, None).fit;
    // The second gets 2 after 10; then 10 are there for its 10 or the first's 8.
    assert_eq!(fit(Split::Latest), [1.6, 0.0, 0.2]);
    assert_eq!(fit(Split::Earliest), [0.0, 1.6, 0.2]);
}

/// The load takes all slots from 5 on. By length alone the work would use 5 slots now and leave 25
/// for a time without slots.
#[test]
fn a_load_that_rises_inside_the_first_period_calls_for_an_earlier_start() {
    let rising = steps(&[(0.0, 10.0), (5.0, 0.0)]);
    let goals = [goal(50.0, 1.0, 10.0)];
    let here = plan(0.0, &rising, &goals);
    assert_eq!((here.fit[0], here.fit_now[0]), (5.0, 10.0));
    assert!(here.feasible);
    // A load that falls lets it wait.
    let falling = plan(0.0, &steps(&[(0.0, 0.0), (5.0, 10.0)]), &goals);
    assert_eq!((falling.fit[0], falling.fit_now[0]), (5.0, 0.0));
    // The same goal after the rise makes it start earlier than without a load.
    let later = [goal(100.0, 1.0, 20.0), goal(1.0, 1.0, 10.0)];
    let without = plan(0.0, &Capacity::constant(10.0), &later);
    let with = plan(0.0, &steps(&[(0.0, 10.0), (10.0, 2.0)]), &later);
    assert_eq!((without.fit[0], with.fit[0]), (0.0, 8.0));
}

#[test]
fn edge_cases_of_the_planner() {
    let two = Capacity::constant(2.0);
    let none = plan(3.0, &two, &[]);
    assert_eq!(
        (none.needed_now, none.missing, none.feasible),
        (0.0, 0.0, true)
    );
    // Two jobs with one deadline.
    let twins = plan(0.0, &two, &[goal(6.0, 1.0, 6.0), goal(3.0, 2.0, 6.0)]);
    assert_eq!(twins.fit, [1.0, 1.0]);
    assert!(twins.feasible);
    // A goal that is now, or passed, needs all its tasks; the others are planned without it.
    let late = plan(
        5.0,
        &two,
        &[
            goal(9.0, 1.0, 5.0),
            goal(4.0, 1.0, 9.0),
            goal(7.0, 1.0, 4.0),
        ],
    );
    assert_eq!(late.fit, [9.0, 1.0, 7.0]);
    assert_eq!(
        (late.missing, late.needed_now, late.feasible),
        (16.0, 20.0, false)
    );
    // No goal: nothing is needed.
    let free = Goal {
        deadline: None,
        ..goal(9.0, 1.0, 0.0)
    };
    assert_eq!(
        plan(0.0, &two, &[free, goal(4.0, 1.0, 4.0)]).fit,
        [0.0, 1.0]
    );
    // No capacity in the last period: all is pushed to the first. Above it, the same.
    for low in [0.0, -7.0] {
        let gone = plan(
            0.0,
            &steps(&[(0.0, 2.0), (4.0, low)]),
            &[goal(6.0, 1.0, 8.0), goal(1.0, 1.0, 4.0)],
        );
        assert_eq!(gone.fit, [1.5, 0.25]);
        assert!(gone.feasible);
    }
    // Without any capacity, the plan reports the need, and that it is infeasible.
    let starved = plan(0.0, &Capacity::constant(0.0), &[goal(6.0, 1.0, 3.0)]);
    assert_eq!(
        (starved.fit[0], starved.fit_now[0], starved.missing),
        (2.0, 2.0, 6.0)
    );
    // Infeasible: the need exceeds the slots.
    let much = plan(0.0, &two, &[goal(30.0, 1.0, 10.0)]);
    assert_eq!(
        (much.fit[0], much.missing, much.feasible),
        (3.0, 10.0, false)
    );
    // One task longer than the time left: more slots than tasks, as the model is fluid.
    assert_eq!(
        plan(0.0, &Capacity::constant(9.0), &[goal(1.0, 8.0, 2.0)]).fit,
        [4.0]
    );
    // A period much longer than the work has a small need, but work starts: one whole slot.
    let small = plan(0.0, &two, &[goal(1.0, 1.0, 1000.0)]);
    assert_eq!((small.fit[0], whole(small.fit[0])), (0.001, 1));
    // A lost node: the capacity of all later periods drops, and the present need grows.
    let goals = [goal(8.0, 1.0, 8.0), goal(2.0, 1.0, 4.0)];
    assert_eq!(plan(0.0, &two, &goals).fit[0], 0.0);
    assert_eq!(plan(0.0, &Capacity::constant(1.0), &goals).fit[0], 1.0);
}

#[test]
fn a_width_limits_a_job_at_every_moment() {
    // 3 s without slots, then 3 s of 4: the narrow job gets 3 * 1 there, not 6 * 1.
    let narrow = Goal {
        width: Some(1.0),
        ..goal(5.0, 1.0, 9.0)
    };
    let capacity = steps(&[(0.0, 4.0), (3.0, 0.0), (6.0, 4.0)]);
    let plan = plan(0.0, &capacity, &[narrow, goal(1.0, 1.0, 3.0)]);
    assert_eq!(plan.fit, [2.0 / 3.0, 1.0 / 3.0]);
    assert!(plan.feasible);
}

/// 6 s of 4 slots, then 1 slot. The wide job needs 20 and gets at most 3 * 6 before the load comes,
/// so 2 of the last 3 s are its own; an even division leaves it 1.5.
#[test]
fn a_width_is_no_reason_to_miss_a_goal_that_can_be_met() {
    let wide = |tasks, length, deadline, width| Goal {
        width: Some(width),
        ..goal(tasks, length, deadline)
    };
    let goals = [wide(3.0, 2.0, 11.0, 1.0), wide(8.0, 2.5, 9.0, 3.0)];
    for split in SPLITS {
        let plan = reverse(0.0, &steps(&[(0.0, 4.0), (6.0, 1.0)]), &goals, split, None);
        assert!(plan.feasible, "{split:?}: {} missing", plan.missing);
    }
}

#[test]
fn the_adaptive_baseline_is_blind_to_the_load() {
    // ceil(50 * 3 / (40 - 2)) = ceil(3.947)
    assert_eq!(required(2.0, &goal(50.0, 3.0, 40.0)), 4.0);
    assert_eq!(
        required(0.0, &goal(8.0, 5.0, 10.0)),
        4.0,
        "exactly 4 is not rounded up"
    );
    assert_eq!(required(9.0, &goal(8.0, 5.0, 9.0)), 8.0, "late: all tasks");
    let free = Goal {
        deadline: None,
        ..goal(8.0, 5.0, 0.0)
    };
    assert_eq!(required(0.0, &free), 0.0);
}

#[test]
fn whole_slots_are_rounded_up_but_for_rounding_errors() {
    assert_eq!([0.0, 0.2, 1.0, 1.2].map(whole), [0, 1, 1, 2]);
    assert_eq!(whole(0.1 + 0.2 - 0.3 + 3.0), 3);
}

#[test]
fn small_needs_do_not_crowd_out_a_large_one() {
    // All rounded up: 4 + 1 + 1 of 6.
    assert_eq!(
        whole_needs(&[(3.5, 9.0), (0.2, 5.0), (0.3, 7.0)], 6.0),
        [4, 1, 1]
    );
    // Not so of 5. In the order of deadlines the sums are 0.2, 0.5 and 4.0. The nearest goal gets a
    // whole slot, which holds the next one's need as well, and 3 are left for the last.
    assert_eq!(
        whole_needs(&[(3.5, 9.0), (0.2, 5.0), (0.3, 7.0)], 5.0),
        [3, 1, 0]
    );
    // Needs above the slots are still reported.
    assert_eq!(whole_needs(&[(3.0, 9.0), (4.0, 5.0)], 5.0), [3, 4]);
    assert_eq!(whole_needs(&[], 5.0), [] as [u32; 0]);
}

/// Whole-number instances: jobs as (work, deadline) and slots that change at whole times.
#[derive(Clone, Debug)]
struct Instance {
    jobs: Vec<(i64, i64)>,
    /// Slots from 0, 4, 8, ... on.
    slots: Vec<i64>,
}

impl Instance {
    fn goals(&self) -> Vec<Goal> {
        let goal = |(work, deadline): &(i64, i64)| goal(*work as f64, 1.0, *deadline as f64);
        self.jobs.iter().map(goal).collect()
    }

    fn capacity(&self) -> Capacity {
        let steps: Vec<(f64, f64)> = self
            .slots
            .iter()
            .enumerate()
            .map(|(i, slots)| (4.0 * i as f64, *slots as f64))
            .collect();
        Capacity::steps(&steps).expect("the steps ascend")
    }

    fn slots_at(&self, t: i64) -> i64 {
        self.slots[(t / 4).min(self.slots.len() as i64 - 1) as usize]
    }

    /// Returns the work that any schedule can do in the unit intervals from `from` on, each job
    /// before its deadline and at most `width` wide. It is a maximum flow from source over job and
    /// interval to sink.
    fn most_work_done(&self, from: i64, widths: &[i64]) -> i64 {
        let horizon = self.jobs.iter().map(|job| job.1).max().unwrap_or(0);
        let (n, m) = (self.jobs.len(), horizon as usize);
        let (source, sink) = (n + m, n + m + 1);
        let mut residual = vec![vec![0i64; n + m + 2]; n + m + 2];
        for (job, (work, deadline)) in self.jobs.iter().enumerate() {
            residual[source][job] = *work;
            for t in from..*deadline {
                residual[job][n + t as usize] = widths[job];
            }
        }
        for t in 0..m {
            residual[n + t][sink] = self.slots_at(t as i64);
        }
        max_flow(&mut residual, source, sink)
    }
}

/// Edmonds and Karp: augments along shortest paths until none is left.
fn max_flow(residual: &mut [Vec<i64>], source: usize, sink: usize) -> i64 {
    let mut flow = 0;
    loop {
        let mut parent = vec![usize::MAX; residual.len()];
        parent[source] = source;
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            for next in 0..residual.len() {
                if parent[next] == usize::MAX && residual[at][next] > 0 {
                    parent[next] = at;
                    queue.push_back(next);
                }
            }
        }
        if parent[sink] == usize::MAX {
            return flow;
        }
        let mut path = vec![sink];
        while path[path.len() - 1] != source {
            path.push(parent[path[path.len() - 1]]);
        }
        let hops: Vec<(usize, usize)> = path.windows(2).map(|hop| (hop[1], hop[0])).collect();
        let room = hops
            .iter()
            .map(|(a, b)| residual[*a][*b])
            .min()
            .unwrap_or(0);
        for (a, b) in hops {
            residual[a][b] -= room;
            residual[b][a] += room;
        }
        flow += room;
    }
}

fn instances() -> impl Strategy<Value = Instance> {
    let jobs = prop::collection::vec((0i64..30, 1i64..20), 1..7);
    let slots = prop::collection::vec(0i64..6, 1..6);
    (jobs, slots).prop_map(|(jobs, slots)| Instance { jobs, slots })
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

proptest! {
    /// RA-21: the work left for the first period is the least of all schedules, and the feasibility
    /// is that of the best schedule, whatever the split.
    #[test]
    fn what_is_left_for_the_first_period_is_the_least_of_all_schedules(instance in instances()) {
        let (goals, capacity) = (instance.goals(), instance.capacity());
        let total: i64 = instance.jobs.iter().map(|job| job.0).sum();
        let unlimited = vec![i64::MAX / 4; instance.jobs.len()];
        let busy = instance.jobs.iter().filter(|job| job.0 > 0);
        let first = busy.map(|job| job.1).min().unwrap_or(0);
        let left = total - instance.most_work_done(first, &unlimited);
        let missing = total - instance.most_work_done(0, &unlimited);
        for split in SPLITS {
            let plan = reverse(0.0, &capacity, &goals, split, None);
            let got = (plan.needed_now, plan.missing);
            prop_assert!(close(got.0, left as f64), "{split:?}: {got:?}, left {left}");
            prop_assert!(close(got.1, missing as f64), "{split:?}: {got:?}, missing {missing}");
            prop_assert_eq!(plan.feasible, missing == 0, "{:?}", split);
        }
    }

    /// The periods form a schedule: nothing above the capacity, nothing after a deadline, and all
    /// work is in a period or missing. The same with widths, and the feasibility is that of the
    /// best schedule.
    #[test]
    fn the_periods_are_a_schedule(
        instance in instances(), widths in prop::collection::vec(1i64..4, 7), narrow: bool,
        split in 0usize..4,
    ) {
        let mut goals = instance.goals();
        if narrow {
            let limit = |(goal, width): (&mut Goal, &i64)| goal.width = Some(*width as f64);
            goals.iter_mut().zip(&widths).for_each(limit);
        }
        let mut periods = Vec::new();
        let plan = reverse(0.0, &instance.capacity(), &goals, SPLITS[split], Some(&mut periods));
        let mut done = vec![0.0; goals.len()];
        for period in &periods {
            let sum: f64 = period.given.iter().map(|(_, part)| part).sum();
            prop_assert!(sum <= period.capacity + 1e-6);
            for (job, part) in &period.given {
                let length = period.to - period.from;
                prop_assert!(goals[*job].deadline >= Some(period.to));
                prop_assert!(*part <= goals[*job].width.unwrap_or(f64::INFINITY) * length + 1e-6);
                done[*job] += part;
            }
        }
        let total: f64 = goals.iter().map(|goal| goal.work).sum();
        prop_assert!(close(done.iter().sum::<f64>() + plan.missing, total));
        if narrow {
            let all: i64 = instance.jobs.iter().map(|job| job.0).sum();
            let most = instance.most_work_done(0, &widths[..instance.jobs.len()]);
            prop_assert_eq!(plan.feasible, most == all);
        }
    }

    /// Following s_fit meets every feasible goal. A fluid cluster gives each job its s_fit and no
    /// more. It recomputes s_fit each second and at every change of the slots, and never needs more
    /// slots than exist.
    #[test]
    fn following_the_fit_meets_every_goal_that_is_feasible(instance in instances()) {
        let (mut goals, capacity) = (instance.goals(), instance.capacity());
        prop_assume!(plan(0.0, &capacity, &goals).feasible);
        let horizon = instance.jobs.iter().map(|job| job.1).max().unwrap_or(0);
        for second in 0..horizon {
            let now = second as f64;
            let fit = plan(now, &capacity, &goals).fit_now;
            prop_assert!(fit.iter().sum::<f64>() <= capacity.at(now) + 1e-6, "at {now}: {fit:?}");
            for (goal, slots) in goals.iter_mut().zip(fit) {
                let late = goal.work > 1e-6 && goal.deadline <= Some(now);
                prop_assert!(!late, "missed at {now}: {goal:?}");
                // Rounding errors left of finished work do not count.
                let rest = goal.work - slots;
                goal.work = if rest > 1e-9 { rest } else { 0.0 };
                goal.tasks = goal.work;
            }
        }
        prop_assert!(goals.iter().all(|goal| goal.work < 1e-6), "{goals:?}");
    }
}
