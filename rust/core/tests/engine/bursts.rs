//! Jobs that arrive together on small clusters, each with its ApplicationMaster: all of them end,
//! under every preset and every way in which queues compare. A job's ApplicationMaster runs until
//! its last task has ended, so ApplicationMasters that fill the cluster wait for tasks for ever.

use crate::common::{Host, plain_ask};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, QueueId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MASTER: u32 = 0;
const TASKS: u32 = 1;

/// One job: when it comes, to which queue, and what it needs.
#[derive(Clone, Debug)]
struct Plan {
    at_s: i64,
    user: u32,
    queue: Option<String>,
    master_mb: i64,
    tasks: u32,
    task_mb: i64,
    task_s: i64,
}

#[derive(Debug, Default)]
struct Run {
    master: Option<u64>,
    asked: bool,
    left: u32,
    /// Ends of the running tasks, with their containers.
    tasks: Vec<(i64, u64)>,
}

/// Plays jobs second by second on nodes of the sizes in MB; returns the jobs that have ended, and
/// when, after at most `most_s` seconds.
fn play(config: &Value, nodes: &[i64], plans: &[Plan], most_s: i64) -> BTreeMap<u32, i64> {
    let mut host = Host::new(config.clone());
    for memory_mb in nodes {
        host.node(0, *memory_mb, 64);
    }
    let mut runs: BTreeMap<u32, Run> = BTreeMap::new();
    let mut ended = BTreeMap::new();
    for second in 0..most_s {
        host.now = second * 1_000;
        for (job, plan) in (0..).zip(plans).filter(|(_, plan)| plan.at_s == second) {
            let queue = host.queue(&format!("u{}", plan.user), plan.queue.as_deref());
            submit(&mut host, job, plan, queue);
            runs.insert(job, Run::default());
        }
        for (job, run) in &mut runs {
            go_on(&mut host, *job, &plans[*job as usize], run);
        }
        runs.retain(|job, run| {
            let over = run.asked && run.left == 0;
            if over {
                host.complete_all(*job);
                host.step(&[Event::JobRemoved(JobId(*job))]);
                ended.insert(*job, second);
            }
            !over
        });
        host.tick();
        for node in 0..nodes.len() as u32 {
            for grant in host.beat_unanswered(node) {
                let key = host.commit(grant);
                let run = runs.get_mut(&grant.job).expect("a live job");
                match grant.ask {
                    MASTER => run.master = Some(key),
                    _ => {
                        let length_s = plans[grant.job as usize].task_s;
                        run.tasks.push((second + length_s, key));
                    }
                }
            }
        }
        if ended.len() == plans.len() {
            break;
        }
    }
    ended
}

fn submit(host: &mut Host, job: u32, plan: &Plan, queue: QueueId) {
    host.user_job(job, queue, plan.user);
    host.ask_facts(AskFacts {
        am: true,
        priority: 0,
        ..plain_ask(job, MASTER, 1, plan.master_mb)
    });
}

/// Ends tasks that are due. An ApplicationMaster asks for its tasks a second after its start.
fn go_on(host: &mut Host, job: u32, plan: &Plan, run: &mut Run) {
    let now_s = host.now / 1_000;
    let due: Vec<u64> = run
        .tasks
        .iter()
        .filter(|t| t.0 <= now_s)
        .map(|t| t.1)
        .collect();
    run.tasks.retain(|task| task.0 > now_s);
    for key in due {
        host.complete(job, key);
        run.left -= 1;
    }
    if run.master.is_some() && !run.asked {
        run.asked = true;
        run.left = plan.tasks;
        host.ask(job, TASKS, plan.tasks, plan.task_mb);
    }
}

fn job(at_s: i64, user: u32) -> Plan {
    Plan {
        at_s,
        user,
        queue: None,
        master_mb: 1_024,
        tasks: 3,
        task_mb: 1_024,
        task_s: 5,
    }
}

/// Each preset, and the stock schedulers' ways to compare below `by-queue`.
fn configs() -> Vec<(String, Value)> {
    let preset = |preset: &str| (preset.to_owned(), json!({"policy": preset}));
    let mut configs: Vec<_> = PRESETS.iter().map(|each| preset(each.name)).collect();
    for compare in ["memory", "dominant", "capacity"] {
        let queues = json!([{"path": "root", "compare": compare}]);
        let config = json!({
            "policy": "by-queue", "queues": queues, "queue_defaults": {"compare": compare}
        });
        configs.push((format!("by-queue, {compare}"), config));
    }
    configs
}

/// Eight users with one MapReduce job each, on 8 GB; twelve users; and eight jobs of one user.
#[test]
fn jobs_that_arrive_together_all_end() {
    for (name, config) in configs() {
        for apart_s in [0, 1, 5] {
            for (jobs, users) in [(8, 8), (12, 12), (8, 1), (12, 4)] {
                let plans: Vec<Plan> = (0..jobs)
                    .map(|i| job(apart_s * i, i as u32 % users))
                    .collect();
                for nodes in [vec![8_192], vec![2_048; 4], vec![1_024; 8]] {
                    let ended = play(&config, &nodes, &plans, 600);
                    let case = format!("{jobs} of {users}, {apart_s} s apart on {nodes:?}");
                    assert_eq!(ended.len(), plans.len(), "{name}: {case}: {ended:?}");
                }
            }
        }
    }
}

/// Below one parent that may use 8 of 32 GB, the parent counts.
#[test]
fn a_parent_with_a_maximum_is_not_filled_by_masters() {
    for (name, mut config) in configs() {
        let parent = json!({
            "path": "root.p", "max_share": {"memory-mb": 8_192},
            "compare": config["queue_defaults"]["compare"]
        });
        let mut queues = vec![json!({
            "path": "root", "compare": config["queue_defaults"]["compare"]
        })];
        queues.push(parent);
        for i in 0..8 {
            queues.push(json!({"path": format!("root.p.q{i}")}));
        }
        config["queues"] = json!(queues);
        let plans: Vec<Plan> = (0..8)
            .map(|i| Plan {
                queue: Some(format!("root.p.q{i}")),
                ..job(0, i)
            })
            .collect();
        let ended = play(&config, &[8_192; 4], &plans, 600);
        assert_eq!(ended.len(), plans.len(), "{name}: {ended:?}");
    }
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A random small cluster, with its queues and jobs.
fn random_case(seed: u64) -> (String, Value, Vec<i64>, Vec<Plan>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
    for _ in 0..4 {
        random.below(2);
    }
    let configs = configs();
    let (name, mut config) = configs[random.below(configs.len() as u64) as usize].clone();
    let compare = config["queue_defaults"]["compare"].clone();
    let node_mb = random.of(&[2_048, 4_096, 8_192]);
    let nodes = vec![node_mb; random.of(&[1, 2, 3, 5, 8])];
    let mut paths = Vec::new();
    let mut queues = vec![json!({"path": "root", "compare": compare})];
    for parent in 0..random.below(4) {
        let path = format!("root.p{parent}");
        let mut queue = json!({"path": path, "compare": compare, "weight": 1 + random.below(3)});
        if random.below(2) == 0 {
            let most_mb = node_mb * (1 + random.below(nodes.len() as u64) as i64);
            queue["max_share"] = json!({"memory-mb": most_mb});
        }
        queues.push(queue);
        for leaf in 0..1 + random.below(5) {
            let path = format!("{path}.q{leaf}");
            queues.push(json!({"path": path, "weight": 1 + random.below(3),
                               "max_am_share": random.of(&[0.1, 0.5])}));
            paths.push(path);
        }
    }
    config["queues"] = json!(queues);
    let apart_s = random.of(&[0, 1, 3, 10]);
    // Half of a node has room for a task beside any ApplicationMaster.
    let plans = (0..2 + random.below(14) as i64).map(|i| Plan {
        at_s: i * apart_s,
        user: random.below(6) as u32,
        queue: match paths.is_empty() {
            true => None,
            false => Some(paths[random.below(paths.len() as u64) as usize].clone()),
        },
        master_mb: random.of(&[512, 1_024]),
        tasks: 1 + random.below(6) as u32,
        task_mb: random.of(&[512, 1_024]),
        task_s: 1 + random.below(8) as i64,
    });
    let plans = plans.collect();
    (name, config, nodes, plans)
}

/// How many random cases: `HEDDLE_CASES`, or few.
#[allow(
    clippy::disallowed_methods,
    reason = "a test may be told how much to play"
)]
fn cases() -> u64 {
    let given = std::env::var("HEDDLE_CASES").ok();
    given.map_or(200, |text| text.parse().expect("a whole number"))
}

#[test]
fn jobs_end_on_random_clusters_whatever_their_masters_take() {
    let mut failed = Vec::new();
    for seed in 0..cases() {
        let (name, config, nodes, plans) = random_case(seed);
        let ended = play(&config, &nodes, &plans, 2_000);
        let stuck = plans.len() - ended.len();
        if stuck > 0 {
            failed.push(format!(
                "seed {seed}: {stuck} of {} on {nodes:?} under {name}: {config}",
                plans.len()
            ));
        }
    }
    let count = failed.len();
    failed.truncate(5);
    assert!(count == 0, "jobs never end in {count} cases: {failed:#?}");
}

/// Of 8 GB four ApplicationMasters of 1 GB have half; the fifth user's waits for root.
#[test]
fn the_reason_names_the_queue_that_is_full_of_masters() {
    let mut host = Host::new(json!({}));
    host.node(0, 8_192, 64);
    for user in 0..8 {
        let queue = host.queue(&format!("u{user}"), None);
        submit(&mut host, user, &job(0, user), queue);
    }
    host.tick();
    host.beat_all();
    let waits: Vec<u32> = (0..8).filter(|job| host.running(*job) == 0).collect();
    assert_eq!(waits.len(), 4);
    let explained = host.request(json!({"op": "explain", "job": waits[0]}));
    let full = &explained["waits"][0]["reason"]["master_limit"];
    let numbers = ["queue", "used", "wanted", "max"].map(|key| full[key].as_i64());
    assert_eq!(numbers, [0, 4_096, 1_024, 4_096].map(Some), "{explained}");
}
