//! The steps of a `deficit` case: jobs arrive, time passes, slots are assigned, tasks end. Keeps
//! the jobs; the ledger keeps the deficits.

use crate::case::CaseError;
use crate::case::input::Input;
use heddle_core::order::deficit::hierarchy::Pool;
use heddle_core::order::deficit::ledger::{Ledger, Member, Rules};
use heddle_core::order::deficit::limits::{Candidate, runnable};
use heddle_core::order::deficit::settings::BOOST;
use heddle_core::order::deficit::weight::{Boost, PRIORITIES, Scale};
use heddle_core::words::ids::{JobId, Millis};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The default pool and the default user of a job.
const DEFAULT: &str = "default";

struct Job {
    pool: usize,
    user: u32,
    priority: i32,
    submitted_ms: Millis,
    waiting: u32,
    running: u32,
    /// As of the last update.
    runnable: bool,
}

/// Names numbered in order of appearance.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> usize {
        let known = self.0.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.0.push(name.to_string());
            self.0.len() - 1
        })
    }
}

/// The limit on one user's running jobs: the same for all, or by name.
enum UserMax {
    All(Option<u32>),
    ByName(BTreeMap<String, u32>),
}

struct Cluster {
    slots: u32,
    rules: Rules,
    /// The root, followed by the pools in order of their numbers.
    pools: Vec<Pool>,
    pool_names: Names,
    pool_max: Vec<Option<u32>>,
    users: Names,
    user_max: UserMax,
    /// Every name that the steps submit, in order, which breaks ties.
    job_names: Vec<String>,
    jobs: BTreeMap<JobId, Job>,
    ledger: Ledger,
    now: Millis,
}

pub(super) fn answer(case: &Input<'_>) -> Result<Value, CaseError> {
    let mut cluster = Cluster::read(case)?;
    let mut log = Vec::new();
    for step in case.need("steps")?.list()? {
        let op = step.need("op")?;
        let mut row = Map::from_iter([("op".to_string(), json!(op.text()?))]);
        match op.text()? {
            "submit" => cluster.submit(&step)?,
            "advance" => cluster.advance(step.need("ms")?.whole()?),
            "assign" => {
                let assigned = cluster.assign(step.maybe("slots", Input::whole)?);
                row.insert("assigned".to_string(), json!(assigned));
            }
            "finish" => cluster.finish(&step)?,
            _ => return Err(op.error("`submit`, `advance`, `assign` or `finish`")),
        }
        row.insert("t".to_string(), json!(cluster.now));
        row.insert("jobs".to_string(), cluster.rows());
        log.push(Value::Object(row));
    }
    Ok(json!({ "log": log }))
}

impl Cluster {
    fn read(case: &Input<'_>) -> Result<Cluster, CaseError> {
        let mut cluster = Cluster {
            slots: case.need("slots")?.whole()?,
            rules: Rules {
                cap_demand: case.maybe("cap_demand", Input::flag)?.unwrap_or(true),
                boost: case.maybe("new_job_boost", boost)?,
                size_weight: case.maybe("size_weight", Input::flag)?.unwrap_or(false),
                // Cases name priorities like Hadoop 1.
                scale: Scale::Hadoop1,
            },
            pools: vec![plain_pool(None)],
            pool_names: Names::default(),
            pool_max: Vec::new(),
            users: Names::default(),
            user_max: case
                .maybe("user_max_jobs", user_max)?
                .unwrap_or(UserMax::All(None)),
            job_names: submitted_names(case)?,
            jobs: BTreeMap::new(),
            ledger: Ledger::default(),
            now: 0,
        };
        if let Some(pools) = case.get("pools")? {
            for (name, pool) in pools.members()? {
                let number = cluster.pool(name);
                let listed = &mut cluster.pools[number];
                listed.weight = pool.maybe("weight", Input::amount)?.unwrap_or(1.0);
                listed.min = f64::from(pool.maybe("min", Input::whole)?.unwrap_or(0));
                cluster.pool_max[number - 1] = pool.maybe("max_jobs", Input::whole)?;
            }
        }
        Ok(cluster)
    }

    /// Returns the number of a pool; creates it on first use (FS-4).
    fn pool(&mut self, name: &str) -> usize {
        let number = self.pool_names.number(name) + 1;
        if number == self.pools.len() {
            self.pools.push(plain_pool(Some(0)));
            self.pool_max.push(None);
        }
        number
    }

    fn submit(&mut self, step: &Input<'_>) -> Result<(), CaseError> {
        let id = self.job_id(step)?;
        if self.jobs.contains_key(&id) {
            return Err(step.need("job")?.error("a job that was not submitted yet"));
        }
        let pool = step.maybe("pool", Input::name)?;
        let user = step.maybe("user", Input::name)?;
        let job = Job {
            pool: self.pool(pool.as_deref().unwrap_or(DEFAULT)),
            user: self.users.number(user.as_deref().unwrap_or(DEFAULT)) as u32,
            priority: step.maybe("priority", priority)?.unwrap_or(0),
            submitted_ms: self.now,
            waiting: step.need("tasks")?.whole()?,
            running: 0,
            runnable: false,
        };
        self.ledger.open(id, 0.0, self.now);
        self.jobs.insert(id, job);
        self.update();
        Ok(())
    }

    fn advance(&mut self, elapsed_ms: u32) {
        self.now += Millis::from(elapsed_ms);
        self.update();
    }

    fn update(&mut self) {
        self.set_runnable();
        let member = |(id, job): (&JobId, &Job)| Member {
            job: *id,
            submitted_ms: job.submitted_ms,
            new_since_ms: job.submitted_ms,
            pool: job.pool,
            priority: job.priority,
            runnable: job.runnable,
            waiting: job.waiting,
        };
        let mut members: Vec<Member> = self.jobs.iter().map(member).collect();
        members.sort_by_key(|member| (member.submitted_ms, member.job));
        let slots = f64::from(self.slots);
        self.ledger
            .update(self.now, slots, &self.pools, &members, &self.rules);
    }

    fn set_runnable(&mut self) {
        let candidate = |(id, job): (&JobId, &Job)| Candidate {
            job: *id,
            user: job.user,
            pool: job.pool as u32,
            priority: job.priority,
            submitted_ms: job.submitted_ms,
        };
        // A job without tasks left is over and takes no place under the limits.
        let is_over = |job: &Job| job.waiting + job.running == 0;
        let open = self.jobs.iter().filter(|(_, job)| !is_over(job));
        let candidates: Vec<Candidate> = open.map(candidate).collect();
        let runs = runnable(
            &candidates,
            self.rules.scale,
            |user| match &self.user_max {
                UserMax::All(max) => *max,
                UserMax::ByName(max) => max.get(&self.users.0[user as usize]).copied(),
            },
            |pool| self.pool_max[pool as usize - 1],
        );
        let runs: BTreeMap<JobId, bool> = candidates
            .iter()
            .map(|candidate| candidate.job)
            .zip(runs)
            .collect();
        for (id, job) in &mut self.jobs {
            job.runnable = runs.get(id).copied().unwrap_or(false);
        }
    }

    fn assign(&mut self, most: Option<u32>) -> Vec<String> {
        let running: u32 = self.jobs.values().map(|job| job.running).sum();
        let free = self.slots.saturating_sub(running);
        let mut assigned = Vec::new();
        for _ in 0..most.map_or(free, |most| most.min(free)) {
            let may_run = |(_, job): &(&JobId, &Job)| job.runnable && job.waiting > 0;
            let waiting = self.jobs.iter().filter(may_run);
            let waiting = waiting.map(|(id, job)| (*id, job.submitted_ms));
            let Some(next) = self.ledger.next(waiting) else {
                break;
            };
            self.ledger.started(next);
            let job = self.jobs.get_mut(&next).expect("it was among the waiting");
            job.waiting -= 1;
            job.running += 1;
            assigned.push(self.job_names[next.index()].clone());
        }
        assigned
    }

    fn finish(&mut self, step: &Input<'_>) -> Result<(), CaseError> {
        let id = self.job_id(step)?;
        let Some(job) = self.jobs.get_mut(&id) else {
            return Err(step.need("job")?.error("a job that was submitted before"));
        };
        let tasks = step.maybe("n", Input::whole)?.unwrap_or(job.running);
        if tasks > job.running {
            let expected = format!("at most the {} that run", job.running);
            return Err(step.need("n")?.error(&expected));
        }
        job.running -= tasks;
        self.ledger.ended(id, tasks, self.now);
        Ok(())
    }

    fn rows(&self) -> Value {
        let row = |(id, job): (&JobId, &Job)| {
            let account = self.ledger.account(*id).copied().unwrap_or_default();
            let row = json!({
                "deficit": account.deficit,
                "share": account.entitled.share,
                "min": account.entitled.min,
                "running": account.running,
                "runnable": job.runnable,
            });
            (self.job_names[id.index()].clone(), row)
        };
        Value::Object(self.jobs.iter().map(row).collect())
    }

    fn job_id(&self, step: &Input<'_>) -> Result<JobId, CaseError> {
        let at = step.need("job")?;
        let known = self.job_names.binary_search(&at.name()?);
        known
            .map(|i| JobId(i as u32))
            .map_err(|_| at.error("a job that a step submits"))
    }
}

fn submitted_names(case: &Input<'_>) -> Result<Vec<String>, CaseError> {
    let mut names = Vec::new();
    for step in case.need("steps")?.list()? {
        if step.need("op")?.text()? == "submit" {
            names.push(step.need("job")?.name()?);
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn plain_pool(parent: Option<usize>) -> Pool {
    Pool {
        parent,
        weight: 1.0,
        min: 0.0,
        max: f64::INFINITY,
        demand: 0.0,
    }
}

fn boost(at: &Input<'_>) -> Result<Boost, CaseError> {
    Ok(Boost {
        factor: at.maybe("factor", Input::amount)?.unwrap_or(BOOST.factor),
        duration_ms: match at.maybe("ms", Input::whole)? {
            Some(ms) => Millis::from(ms),
            None => BOOST.duration_ms,
        },
    })
}

fn user_max(at: &Input<'_>) -> Result<UserMax, CaseError> {
    if at.value().is_number() {
        return Ok(UserMax::All(Some(at.whole()?)));
    }
    let mut by_name = BTreeMap::new();
    for (user, max) in at.members()? {
        by_name.insert(user.to_string(), max.whole()?);
    }
    Ok(UserMax::ByName(by_name))
}

fn priority(at: &Input<'_>) -> Result<i32, CaseError> {
    let name = at.text()?;
    let named = PRIORITIES.iter().find(|(known, ..)| *known == name);
    named.map(|(_, number, _)| *number).ok_or_else(|| {
        let names: Vec<&str> = PRIORITIES.iter().map(|(known, ..)| *known).collect();
        at.error(&format!("one of {}", names.join(", ")))
    })
}
