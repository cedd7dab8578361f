//! HFSP after reloads and failovers: nothing learnt is lost, and no phase is done again.

use crate::common::timed::*;
use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use serde_json::json;

/// Sizes and virtual time outlive a reload of the configuration, and no job is sampled again,
/// whether or not it has told how many tasks it has.
#[test]
fn a_reload_keeps_sizes_and_virtual_time() {
    let mut cluster = Cluster::new(2, json!({}));
    cluster.submit(1, 40, 10);
    cluster.submit(2, 40, 30);
    cluster.hint(
        2,
        JobHints {
            tasks: [Some(40), None],
            ..JobHints::default()
        },
    );
    cluster.beat();
    // Two samples of job 2 must wait for those of job 1: they end at 40 s.
    cluster.run(41);
    let keys = ["size_ms", "left_ms", "trained"];
    let told = |c: &Cluster| [1, 2].map(|job| keys.map(|key| c.phase(0, job, key)));
    let before = told(&cluster);
    assert_eq!(before[1][2], true);
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "hfsp": {"late": "sharing"}});
    cluster
        .host
        .request(json!({"op": "reload", "config": config}));
    assert_eq!(told(&cluster), before);
    assert_eq!(cluster.state(0)["sampling"], 0);
    cluster.second();
    assert_eq!(cluster.state(0)["sampling"], 0);
    cluster.end_of(1, 400);
    cluster.end_of(2, 400);
}

/// A phase that ended takes no virtual slots after a reload.
#[test]
fn a_phase_that_ended_does_not_come_back_with_a_reload() {
    let mut cluster = Cluster::new(2, json!({}));
    cluster.submit(1, 4, 10);
    cluster.ask(1, REDUCE, 2, 500);
    cluster.submit(2, 100, 100);
    cluster.beat();
    cluster.run(30);
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "hfsp": {"late": "sharing"}});
    cluster
        .host
        .request(json!({"op": "reload", "config": config}));
    cluster.second();
    let state = cluster.state(0);
    let phases = state["phases"].as_array().expect("a list");
    let kinds = |job: u32| -> Vec<&str> {
        let phases = phases.iter().filter(|phase| phase["job"] == job);
        phases.filter_map(|phase| phase["kind"].as_str()).collect()
    };
    assert_eq!((kinds(1), kinds(2)), (vec!["reduce"], vec!["map"]));
}

/// After a failover the ApplicationMaster's counters tell how many maps had ended: the reduces that
/// waited for them start.
#[test]
fn counters_of_ended_maps_let_reduces_start() {
    let mut cluster = Cluster::new(2, json!({"slow_start_percent": 95}));
    cluster.host.job(1, cluster.queue);
    let hints = JobHints {
        tasks: [Some(20), None],
        ..JobHints::default()
    };
    cluster.hint(1, hints);
    cluster.ask(1, REDUCE, 2, 50);
    cluster.second();
    assert_eq!(cluster.of(1), 0);
    let counters = JobCounters {
        done: [20, 0],
        ..JobCounters::default()
    };
    let job = JobId(1);
    cluster.host.step(&[Event::JobCounters { job, counters }]);
    cluster.second();
    assert_eq!(cluster.of(1), 2);
}

/// A job that waits through reloads still needs samples, however often it was estimated.
#[test]
fn reloads_train_no_job() {
    let mut cluster = Cluster::new(1, json!({"samples": 2}));
    cluster.submit(1, 40, 10);
    for _ in 0..2 {
        let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "hfsp": {"samples": 2}});
        cluster
            .host
            .request(json!({"op": "reload", "config": config}));
        assert_eq!(cluster.phase(0, 1, "trained"), false);
    }
    cluster.beat();
    assert_eq!(cluster.state(0)["sampling"], 2);
}
