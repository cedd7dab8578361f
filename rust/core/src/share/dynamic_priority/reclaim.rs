//! Chooses running tasks to take back from users above their quota, in favour of users who pay
//! (DP-22 to DP-24). Pure choice; `market` decides when to look, and the engine kills.

use std::cmp::Reverse;

/// One running task of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task<K> {
    /// Identity; breaks the last ties.
    pub id: K,
    /// Start of its job.
    pub job_started: i64,
    /// Progress in any unit: only the order counts.
    pub progress: u64,
    /// Start of the task.
    pub started: i64,
    /// Whether it is committing its output; such a task is never taken.
    pub committing: bool,
    /// Whether it is being taken already: its slot counts as free.
    pub going: bool,
}

/// One user's slots of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holding<K> {
    /// Paid slots.
    pub quota: u32,
    /// Those of `quota` that are this interval's only: no task is taken for them.
    pub odd: u32,
    /// Slots beyond `quota` of which no task is taken: they were paid for in another interval.
    pub kept: u32,
    /// Tasks that could run.
    pub pending: u32,
    /// Granted tasks without an identity yet: they hold slots and are never taken.
    pub starting: u32,
    /// Running tasks.
    pub running: Vec<Task<K>>,
}

impl<K> Holding<K> {
    fn staying(&self) -> usize {
        let running = self.running.iter().filter(|task| !task.going).count();
        running + self.starting as usize
    }

    fn surplus(&self) -> usize {
        let keeps = self.quota.saturating_add(self.kept);
        self.staying().saturating_sub(keeps as usize)
    }

    pub(super) fn lack(&self) -> u64 {
        let firm = u64::from(self.quota.saturating_sub(self.odd));
        let below = firm.saturating_sub(self.staying() as u64);
        below.min(u64::from(self.pending))
    }
}

/// Order of the tasks of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    /// The least progressed first, then the one started last.
    Progress,
    /// The one started last first, whatever its progress.
    Latest,
}

impl Victims {
    /// Names in configurations.
    pub const NAMES: &[(&str, Victims)] =
        &[("progress", Victims::Progress), ("latest", Victims::Latest)];
}

/// Returns how many tasks of a pool must go (DP-24). It is the number of slots that users below
/// quota lack and could use, less slots that are idle or being vacated.
pub fn needed<K>(holdings: &[Holding<K>], idle: u32) -> u64 {
    let lack: u64 = holdings.iter().map(Holding::lack).sum();
    let going = holdings
        .iter()
        .flat_map(|holding| &holding.running)
        .filter(|task| task.going)
        .count() as u64;
    lack.saturating_sub(u64::from(idle) + going)
}

/// Returns the tasks of a pool to take back, in order, of users above quota and at most down to it.
/// Jobs that started last go first, and inside a job the least work lost (DP-23).
pub fn victims<K: Copy + Ord>(holdings: &[Holding<K>], idle: u32, order: Victims) -> Vec<K> {
    let mut needed = needed(holdings, idle);
    let mut surplus: Vec<usize> = holdings.iter().map(Holding::surplus).collect();
    let mut candidates: Vec<(usize, &Task<K>)> = Vec::new();
    for (i, holding) in holdings.iter().enumerate() {
        if needed > 0 && surplus[i] > 0 {
            let may_go = |task: &&Task<K>| !task.committing && !task.going;
            candidates.extend(holding.running.iter().filter(may_go).map(|task| (i, task)));
        }
    }
    candidates.sort_by_key(|(i, task)| {
        let progress = match order {
            Victims::Progress => task.progress,
            Victims::Latest => 0,
        };
        let job = (Reverse(task.job_started), *i);
        (job, progress, Reverse(task.started), task.id)
    });
    let mut taken = Vec::new();
    for (i, task) in candidates {
        if needed == 0 {
            break;
        }
        if surplus[i] > 0 {
            surplus[i] -= 1;
            needed -= 1;
            taken.push(task.id);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(id: u32, job_started: i64, progress: u64, started: i64) -> Task<u32> {
        Task {
            id,
            job_started,
            progress,
            started,
            committing: false,
            going: false,
        }
    }

    fn holding(quota: u32, pending: u32, running: Vec<Task<u32>>) -> Holding<u32> {
        Holding {
            quota,
            pending,
            running,
            ..Holding::default()
        }
    }

    /// Two users have 2.5 slots each, in turn 3 and 2: the slot that changes hands waits for its
    /// task's end. A user far below its quota gets its firm slots at once.
    #[test]
    fn no_task_is_taken_for_an_odd_slot() {
        let had = || vec![task(1, 5, 0, 1), task(2, 5, 0, 2), task(3, 5, 0, 3)];
        let before = |tasks| Holding {
            kept: 1,
            ..holding(2, 9, tasks)
        };
        let now = |tasks| Holding {
            odd: 1,
            ..holding(3, 9, tasks)
        };
        let both = [before(had()), now(vec![task(4, 6, 0, 4), task(5, 6, 0, 5)])];
        assert!(victims(&both, 0, Victims::Latest).is_empty());
        let one = [before(had()), now(vec![])];
        assert_eq!(needed(&one, 0), 2);
        assert!(
            victims(&one, 0, Victims::Latest).is_empty(),
            "it has its three at most"
        );
        let fill = holding(
            0,
            9,
            vec![task(6, 7, 0, 6), task(7, 7, 0, 7), task(8, 7, 0, 8)],
        );
        let three = [before(had()), now(vec![]), fill];
        assert_eq!(victims(&three, 0, Victims::Latest), [8, 7]);
    }

    #[test]
    fn the_latest_job_then_the_least_progress_then_the_latest_task_goes() {
        let old = holding(0, 0, vec![task(1, 10, 100, 50), task(2, 10, 0, 40)]);
        let young = vec![
            task(3, 20, 500, 60),
            task(4, 20, 200, 30),
            task(5, 20, 200, 35),
        ];
        let starved = holding(9, 9, vec![]);
        let holdings = [old, holding(0, 0, young), starved];
        assert_eq!(needed(&holdings, 0), 9);
        let by_progress = victims(&holdings, 0, Victims::Progress);
        assert_eq!(by_progress, [5, 4, 3, 2, 1]);
        let latest = victims(&holdings, 0, Victims::Latest);
        assert_eq!(latest, [3, 5, 4, 1, 2]);
    }

    #[test]
    fn as_many_go_as_are_lacked_and_not_idle_or_going_already() {
        let mut rich = vec![task(1, 5, 0, 1), task(2, 5, 0, 2), task(3, 5, 0, 3)];
        rich.push(task(4, 5, 0, 4));
        let poor = |pending| holding(3, pending, vec![]);
        let count =
            |holdings: &[Holding<u32>], idle| victims(holdings, idle, Victims::Latest).len();
        // It lacks 3, but can use only 2 of them; 1 slot is idle.
        let holdings = [holding(1, 0, rich.clone()), poor(2)];
        assert_eq!((needed(&holdings, 0), count(&holdings, 0)), (2, 2));
        assert_eq!((needed(&holdings, 1), count(&holdings, 1)), (1, 1));
        assert_eq!((needed(&holdings, 5), count(&holdings, 5)), (0, 0));
        // One task is going already: one more suffices.
        rich[0].going = true;
        let holdings = [holding(1, 0, rich), poor(2)];
        assert_eq!(victims(&holdings, 0, Victims::Latest), [4]);
    }

    /// Starting tasks hold slots: they lower their user's lack.
    #[test]
    fn tasks_that_start_count_as_held() {
        let rich = holding(
            1,
            0,
            vec![task(1, 5, 0, 1), task(2, 5, 0, 2), task(3, 5, 0, 3)],
        );
        let mut poor = holding(2, 5, vec![]);
        poor.starting = 1;
        assert_eq!(victims(&[rich, poor], 0, Victims::Latest), [3]);
    }

    #[test]
    fn a_committing_task_is_never_taken() {
        let mut tasks = vec![task(1, 5, 0, 9), task(2, 5, 900, 1)];
        tasks[0].committing = true;
        let holdings = [holding(0, 0, tasks), holding(2, 2, vec![])];
        assert_eq!(victims(&holdings, 0, Victims::Progress), [2]);
    }

    /// Defect 9 of the published code: its cap did not shrink from job to job, so a queue of
    /// several jobs was pushed below its quota.
    #[test]
    fn several_jobs_of_one_user_are_not_cut_below_its_quota() {
        let tasks = vec![
            task(1, 30, 0, 1),
            task(2, 20, 0, 1),
            task(3, 10, 0, 1),
            task(4, 10, 0, 2),
        ];
        let holdings = [holding(2, 0, tasks), holding(10, 10, vec![])];
        assert_eq!(victims(&holdings, 0, Victims::Progress), [1, 2]);
    }

    /// Defect 9: jobs that started at the same time collapsed into one.
    #[test]
    fn jobs_that_started_together_all_count() {
        let a = holding(0, 0, vec![task(1, 7, 0, 1)]);
        let b = holding(0, 0, vec![task(2, 7, 0, 1)]);
        let holdings = [a, b, holding(2, 2, vec![])];
        assert_eq!(victims(&holdings, 0, Victims::Progress), [1, 2]);
    }

    /// Defect 9: a requested kill counts as going, not as done for good. If the task still exists
    /// and is not going any more, it is a candidate again.
    #[test]
    fn a_kill_that_failed_is_asked_for_again() {
        let mut tasks = vec![task(1, 7, 0, 1)];
        let starved = holding(1, 1, vec![]);
        tasks[0].going = true;
        let going = [holding(0, 0, tasks.clone()), starved.clone()];
        assert!(victims(&going, 0, Victims::Progress).is_empty());
        tasks[0].going = false;
        let failed = [holding(0, 0, tasks), starved];
        assert_eq!(victims(&failed, 0, Victims::Progress), [1]);
    }

    #[test]
    fn nobody_loses_anything_for_a_user_who_could_not_use_it() {
        let rich = vec![task(1, 5, 0, 1), task(2, 5, 0, 2)];
        let holdings = [holding(0, 4, rich), holding(2, 0, vec![])];
        assert!(victims(&holdings, 0, Victims::Progress).is_empty());
    }

    /// Generates tasks: start of the job, progress, and whether it commits.
    fn tasks() -> impl Strategy<Value = Vec<(i64, u64, bool)>> {
        prop::collection::vec((0i64..4, 0u64..1000, any::<bool>()), 0..8)
    }

    proptest! {
        /// DP-24, over random states: takes as many as needed while there is surplus, never pushes
        /// a user below its quota, and takes nothing twice.
        #[test]
        fn never_too_many_and_never_below_quota(
            raw in prop::collection::vec(
                (0u32..6, 0u32..6, tasks()),
                1..6,
            ),
            idle in 0u32..4,
        ) {
            let mut id = 0;
            let holdings: Vec<Holding<u32>> = raw.iter().map(|(quota, pending, tasks)| {
                let running = tasks.iter().map(|(job, progress, committing)| {
                    id += 1;
                    Task { committing: *committing, ..task(id, *job, *progress, 0) }
                }).collect();
                holding(*quota, *pending, running)
            }).collect();
            let taken = victims(&holdings, idle, Victims::Progress);
            let wanted: i64 = holdings.iter().map(|h| {
                i64::from(h.pending).min(i64::from(h.quota) - h.running.len() as i64).max(0)
            }).sum::<i64>() - i64::from(idle);
            let mut available = 0;
            for h in &holdings {
                let lost = h.running.iter().filter(|t| taken.contains(&t.id)).count();
                let above = h.running.len().saturating_sub(h.quota as usize);
                prop_assert!(lost <= above);
                available += above.min(h.running.iter().filter(|t| !t.committing).count());
            }
            prop_assert_eq!(taken.len(), available.min(wanted.max(0) as usize));
            let mut once = taken.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), taken.len());
        }
    }
}
