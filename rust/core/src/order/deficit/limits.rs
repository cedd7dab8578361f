//! Jobs that may run at all: limits of jobs per user and per pool (FS-19). Ignores shares.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::weight::Scale;
use crate::words::ids::{JobId, Millis};

/// A job that wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The job.
    pub job: JobId,
    /// Its owner, as a number.
    pub user: u32,
    /// Its pool, as a number.
    pub pool: u32,
    /// YARN's number of the priority; more important jobs go first.
    pub priority: i32,
    /// Time of submission; earlier ones go first among equal priorities.
    pub submitted_ms: Millis,
}

/// Tells of each candidate whether it may run. Candidates get their turns by priority, submission
/// and id. A candidate runs unless its user or its pool is at its limit.
pub fn runnable(
    candidates: &[Candidate],
    scale: Scale,
    user_max: impl Fn(u32) -> Option<u32>,
    pool_max: impl Fn(u32) -> Option<u32>,
) -> Vec<bool> {
    let mut turns: Vec<usize> = (0..candidates.len()).collect();
    turns.sort_by_key(|i| {
        let job = &candidates[*i];
        (Reverse(scale.rank(job.priority)), job.submitted_ms, job.job)
    });
    let mut runs = vec![false; candidates.len()];
    let mut by_user: BTreeMap<u32, u32> = BTreeMap::new();
    let mut by_pool: BTreeMap<u32, u32> = BTreeMap::new();
    for i in turns {
        let Candidate { user, pool, .. } = candidates[i];
        let of_user = by_user.entry(user).or_default();
        let of_pool = by_pool.entry(pool).or_default();
        let room = |count: u32, max: Option<u32>| max.is_none_or(|max| count < max);
        if room(*of_user, user_max(user)) && room(*of_pool, pool_max(pool)) {
            *of_user += 1;
            *of_pool += 1;
            runs[i] = true;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u32, user: u32, pool: u32) -> Candidate {
        Candidate {
            job: JobId(id),
            user,
            pool,
            priority: 0,
            submitted_ms: i64::from(id) * 10,
        }
    }

    /// Reproduces the published test of combined limits. User 1 may run one job, user 2 ten, all
    /// others two; pool 1 may run one. Of ten jobs seven run.
    #[test]
    fn users_and_pools_are_limited_together() {
        let owners = [1, 1, 2, 2, 2, 3, 3, 3, 4, 4];
        let jobs: Vec<Candidate> = (0..10)
            .map(|i| job(i as u32, owners[i], u32::from(owners[i] == 4)))
            .collect();
        let user_max = |user| match user {
            1 => Some(1),
            2 => Some(10),
            _ => Some(2),
        };
        let pool_max = |pool| (pool == 1).then_some(1);
        let runs = runnable(&jobs, Scale::Yarn, user_max, pool_max);
        let waiting: Vec<usize> = (0..10).filter(|i| !runs[*i]).collect();
        assert_eq!(waiting, [1, 7, 9]);
    }

    #[test]
    fn the_weightier_run_first_whatever_their_age() {
        let urgent = Candidate {
            priority: 5,
            ..job(2, 0, 0)
        };
        let slow = Candidate {
            priority: 1,
            ..job(0, 0, 0)
        };
        // A job without a priority is NORMAL, above VERY_LOW; for YARN, 1 is more than 0.
        let jobs = [slow, job(1, 0, 0), urgent];
        let two = |scale| runnable(&jobs, scale, |_| None, |_| Some(2));
        assert_eq!(two(Scale::Hadoop1), [false, true, true]);
        assert_eq!(two(Scale::Yarn), [true, false, true]);
        assert_eq!(
            runnable(&jobs, Scale::Yarn, |_| Some(0), |_| None),
            [false; 3]
        );
    }
}
