//! Selects sets of jobs whose goals can all be met. Keeps a job if a fluid model that serves the
//! earliest goal first meets every goal of the set with a margin of one map and one reduce. That is
//! enough for a schedule to exist up to the grain of tasks; sets that only another order could meet
//! are lost.

use heddle_sim::cluster_sim::workload::JobPlan;
use heddle_sim::cluster_sim::{Hardware, Workload};

/// The step of the fluid, in ms: short against tasks of 20 s and more.
const STEP_MS: i64 = 5_000;

/// A job in the fluid: work and width of its maps and of its reduces.
#[derive(Clone)]
struct Fluid {
    from_ms: i64,
    goal_ms: i64,
    /// In slot-ms.
    left: [f64; 2],
    width: [f64; 2],
}

impl Fluid {
    fn new(job: &JobPlan, hardware: &Hardware) -> Fluid {
        let lengths_ms = job.lengths_ms(hardware).map(|ms| ms + hardware.overhead_ms);
        let work = |kind: usize| f64::from(job.tasks[kind]) * lengths_ms[kind] as f64;
        let margin_ms = lengths_ms[0] + lengths_ms[1];
        Fluid {
            from_ms: job.submit_ms,
            goal_ms: job.submit_ms + job.goal_ms.unwrap_or(0) - margin_ms,
            left: [work(0), work(1)],
            width: job.tasks.map(f64::from),
        }
    }
}

/// Keeps the jobs of a workload, in their order, with which it stays feasible.
pub(super) fn feasible(mut workload: Workload) -> Workload {
    let drawn = std::mem::take(&mut workload.jobs);
    let mut kept: Vec<Fluid> = Vec::new();
    for job in drawn {
        kept.push(Fluid::new(&job, &workload.hardware));
        if all_met(&kept, &workload) {
            workload.jobs.push(job);
        } else {
            kept.pop();
        }
    }
    workload
}

/// Serves the jobs by their goals; maps before reduces in each.
fn all_met(jobs: &[Fluid], workload: &Workload) -> bool {
    let slots = workload.hardware.slots_in_all().map(f64::from);
    let mut jobs = jobs.to_vec();
    jobs.sort_by_key(|job| job.goal_ms);
    let from = jobs.iter().map(|job| job.from_ms).min().unwrap_or(0);
    let steps = &workload.foreign.steps;
    let mut now = from;
    loop {
        let next = steps.partition_point(|(at, _)| *at <= now);
        let foreign = next.checked_sub(1).map_or(0, |i| steps[i].1);
        let free = 1.0 - f64::from(foreign) / 1_000.0;
        let mut rest = slots.map(|slots| slots * free * STEP_MS as f64);
        let mut open = false;
        for job in jobs.iter_mut().filter(|job| job.left != [0.0; 2]) {
            open = true;
            if job.goal_ms < now + STEP_MS {
                return false;
            }
            if job.from_ms > now {
                continue;
            }
            let kind = usize::from(job.left[0] == 0.0);
            let served = job.left[kind]
                .min(rest[kind])
                .min(job.width[kind] * STEP_MS as f64);
            rest[kind] -= served;
            job.left[kind] -= served;
            if job.left[kind] < 1e-6 {
                job.left[kind] = 0.0;
            }
        }
        if !open {
            return true;
        }
        now += STEP_MS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(maps: u32, map_s: i64, goal_s: i64) -> JobPlan {
        JobPlan {
            tasks: [maps, 0],
            map_ms: Some(map_s * 1_000),
            goal_ms: Some(goal_s * 1_000),
            ..JobPlan::default()
        }
    }

    /// Two slots; a map of 10 s takes 11 with its overhead. The margin is 12: a map, and the
    /// overhead of a reduce.
    #[test]
    fn jobs_are_kept_while_all_goals_can_be_met() {
        let hardware = Hardware {
            nodes: 1,
            slots: [2, 1],
            ..Hardware::default()
        };
        let workload = Workload {
            hardware,
            jobs: vec![job(10, 10, 80), job(10, 10, 100), job(2, 10, 140)],
            ..Workload::default()
        };
        // 110 slot-s take 55 s; the second set of as many would end at 110 s, after its goal.
        let kept = feasible(workload.clone());
        let goals: Vec<Option<i64>> = kept.jobs.iter().map(|job| job.goal_ms).collect();
        assert_eq!(goals, [Some(80_000), Some(140_000)]);
        // With half of the slots taken not even the first can be met.
        let mut loaded = workload;
        loaded.foreign.steps = vec![(0, 500)];
        assert_eq!(feasible(loaded).jobs.len(), 1);
    }
}
