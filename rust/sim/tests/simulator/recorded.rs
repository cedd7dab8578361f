//! Recorded jobs: containers of their own sizes, ApplicationMasters that take room, queues by name.

use heddle_core::words::resource::Resource;
use heddle_sim::cluster_sim::workload::{JobPlan, Master, Recorded};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Knowledge, Options, Results, Workload};
use serde_json::{Value, json};

fn recorded(tasks_s: [&[i64]; 2], master: bool) -> JobPlan {
    let size = Resource::new(512, 1);
    JobPlan {
        user: "ann".to_string(),
        tasks: tasks_s.map(|tasks| tasks.len() as u32),
        recorded: Some(Box::new(Recorded {
            queue: Some("root.a".to_string()),
            task_ms: tasks_s.map(|tasks| tasks.iter().map(|s| s * 1_000).collect()),
            sizes: [size; 2],
            master: master.then_some(Master {
                size,
                start_ms: 10_000,
                commit_ms: 1_000,
                linger_ms: 5_000,
            }),
            slow_start_per_mille: Some(0),
            ..Recorded::default()
        })),
        ..JobPlan::default()
    }
}

fn run(jobs: Vec<JobPlan>, nodes: Vec<Resource>, config: Value) -> Results {
    let workload = Workload {
        hardware: Hardware {
            nodes: nodes.len() as u32,
            racks: 1,
            ..Hardware::default()
        },
        nodes,
        jobs,
        ..Workload::default()
    };
    let mut options = Options::new("test", config);
    options.knowledge = Knowledge::Live(Vec::new());
    options.check = true;
    let sim = ClusterSim::new(workload, options).expect("the configuration is good");
    sim.run().expect("every check holds")
}

/// Eight containers fit; one is the ApplicationMaster's. Fourteen maps are two waves of 20 s and
/// 1 s of overhead each, after 10 s and before 1 s; reports of nodes take up to a second each.
#[test]
fn a_job_takes_as_long_as_its_waves_and_its_master() {
    let jobs = vec![recorded([&[20; 14], &[]], true)];
    let results = run(
        jobs,
        vec![Resource::new(4_096, 8)],
        json!({"policy": "fifo"}),
    );
    let job = &results.jobs[0];
    let took_ms = job.sojourn_ms().expect("it ends");
    assert!((53_000..57_000).contains(&took_ms), "{took_ms}");
    assert_eq!(job.queue, "root.a");
    // Fourteen maps for 21 s; the ApplicationMaster for all of it and 5 s more.
    let maps_ms = 14 * 21_000;
    let held_ms = job.held[1];
    let expected_ms = maps_ms + took_ms + 5_000;
    assert!(
        (held_ms - expected_ms).abs() < 3_000,
        "{held_ms} {expected_ms}"
    );
    assert_eq!(job.held[0], 512 * held_ms);
}

/// Without its ApplicationMaster the job has all eight containers.
#[test]
fn without_a_master_the_room_is_the_tasks() {
    let jobs = vec![recorded([&[20; 16], &[]], false)];
    let results = run(
        jobs,
        vec![Resource::new(4_096, 8)],
        json!({"policy": "fifo"}),
    );
    let took_ms = results.jobs[0].sojourn_ms().expect("it ends");
    assert!((42_000..45_000).contains(&took_ms), "{took_ms}");
}

/// Three containers fit: the ApplicationMaster and two. Reduces that took both would wait for maps
/// for ever.
#[test]
fn reduces_make_way_for_maps() {
    let jobs = vec![recorded([&[20; 6], &[5; 4]], true)];
    let results = run(
        jobs,
        vec![Resource::new(1_536, 8)],
        json!({"policy": "fifo"}),
    );
    let took_ms = results.jobs[0].sojourn_ms().expect("it ends");
    // Six maps and four reduces on two containers, and no more than twice that.
    assert!((85_000..170_000).contains(&took_ms), "{took_ms}");
}

#[test]
fn a_queue_that_the_policy_refuses_is_said_and_stops_nothing() {
    let mut other = recorded([&[1], &[]], false);
    other.recorded.as_mut().expect("it is recorded").queue = Some("root.b".to_string());
    let config = json!({
        "policy": "fair",
        "queues": [{"path": "root.b"}],
        "placement": [{"rule": "specified", "create": false}],
    });
    let jobs = vec![recorded([&[1], &[]], false), other];
    let results = run(jobs, vec![Resource::new(4_096, 8)], config);
    assert!(results.jobs[0].refused.is_some(), "{:?}", results.jobs[0]);
    assert!(results.jobs[0].finished_ms.is_none());
    assert!(results.jobs[1].finished_ms.is_some());
}

#[test]
fn a_container_larger_than_every_node_waits_for_ever_without_a_failure() {
    let mut large = recorded([&[1], &[]], false);
    large.recorded.as_mut().expect("it is recorded").sizes[0] = Resource::new(9_000, 1);
    let jobs = vec![large, recorded([&[1], &[]], false)];
    let results = run(
        jobs,
        vec![Resource::new(4_096, 8)],
        json!({"policy": "fair"}),
    );
    assert!(results.jobs[0].finished_ms.is_none());
    assert!(results.jobs[1].finished_ms.is_some());
}

/// Nodes of two sizes: the large one alone can hold the container.
#[test]
fn nodes_have_their_own_sizes() {
    let mut large = recorded([&[5], &[]], false);
    large.recorded.as_mut().expect("it is recorded").sizes[0] = Resource::new(3_000, 1);
    let nodes = vec![Resource::new(1_024, 8), Resource::new(4_096, 8)];
    let results = run(vec![large], nodes, json!({"policy": "fair"}));
    assert!(results.jobs[0].finished_ms.is_some());
}

/// A policy that takes an ApplicationMaster's room back: the job begins again with what is not
/// done, and ends.
#[test]
fn an_evicted_master_comes_back() {
    let config = json!({
        "policy": "fair",
        "queues": [{"path": "root.a"}, {"path": "root.b", "min_share": {"memory-mb": 1_024}}],
        "preemption": {"enabled": true, "grace_ms": 1, "masters": true},
    });
    let mut late = recorded([&[20; 2], &[]], false);
    late.submit_ms = 15_000;
    late.recorded.as_mut().expect("it is recorded").queue = Some("root.b".to_string());
    let jobs = vec![
        recorded([&[400], &[]], true),
        recorded([&[400], &[]], true),
        late,
    ];
    let results = run(jobs, vec![Resource::new(2_048, 8)], config);
    assert!(
        results.jobs.iter().all(|job| job.finished_ms.is_some()),
        "{:?}",
        results.jobs
    );
}
