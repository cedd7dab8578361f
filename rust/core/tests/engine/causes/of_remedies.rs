//! Planted remedies: each cluster has one reason for which the obvious remedy would not do. Numbers
//! follow by hand from each set-up.

use super::{asks, cluster, job, master, policy};
use crate::common::{Host, host_of, plain_ask};
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};

/// What would let the nth kind of container of a job run.
fn remedies(host: &mut Host, job: u32, nth: usize) -> Value {
    let explained = host.request(json!({"op": "explain", "job": job}));
    explained["waits"][nth]["remedies"].clone()
}

fn reduce(job: u32, mb: i64) -> AskFacts {
    AskFacts {
        priority: 10,
        ..plain_ask(job, 1, 1, mb)
    }
}

/// All queues together may use 1 GB, and a container of job 1 does.
fn at_the_limit_of_root() -> Host {
    let queues = json!([{"path": "root", "max_share": {"memory-mb": 1_024}}, {"path": "root.a"}]);
    let mut host = cluster(json!("fifo"), json!({"queues": queues}));
    host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.a", (1, 1_024));
    host.beat(0);
    host
}

fn max_share(limit: i64) -> Value {
    json!([{"max_share": {"queue": 0, "resource": 0, "limit": limit}}])
}

/// The container of job 3 is smaller: it takes room that is of no use to job 2. 1024 + 512 + 2048.
#[test]
fn a_limit_leaves_room_for_a_smaller_container_behind() {
    let mut host = at_the_limit_of_root();
    asks(&mut host, 2, "root.a", (1, 2_048));
    asks(&mut host, 3, "root.a", (1, 512));
    assert_eq!(remedies(&mut host, 2, 0), max_share(3_584));
}

/// The reduce of job 2 is served before its map. 1024 + 1024 + 2048.
#[test]
fn a_limit_leaves_room_for_the_jobs_own_other_containers() {
    let mut host = at_the_limit_of_root();
    asks(&mut host, 2, "root.a", (1, 2_048));
    host.ask_facts(reduce(2, 1_024));
    assert_eq!(remedies(&mut host, 2, 0), max_share(4_096));
}

/// A container of the same size behind it gets nothing before. 1024 + 2048.
#[test]
fn a_limit_leaves_no_room_for_an_equal_container_behind() {
    let mut host = at_the_limit_of_root();
    asks(&mut host, 2, "root.a", (1, 2_048));
    asks(&mut host, 3, "root.a", (1, 2_048));
    assert_eq!(remedies(&mut host, 2, 0), max_share(3_072));
}

/// The guarantee of 1 GB is what a user may have. Two have started, and one more of 512 MB may
/// come before 2 GB: 2560 MB are up to three smallest containers, which a factor above 2 gives.
#[test]
fn a_users_limit_leaves_room_for_the_users_other_containers() {
    let queues = json!([{"path": "root.a", "min_share": {"memory-mb": 1_024},
        "user_limit_percent": 100, "user_limit_factor": 1}]);
    let mut host = cluster(json!("fair"), json!({"queues": queues}));
    host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.a", (1, 2_048));
    host.beat(0);
    asks(&mut host, 2, "root.a", (1, 2_048));
    asks(&mut host, 3, "root.a", (1, 512));
    host.tick();
    let factor = json!([{"user_factor": {"queue": 1, "tenths": 21}}]);
    assert_eq!(remedies(&mut host, 2, 0), factor);
}

/// Without a guarantee the maximum of 2560 MB bounds a user, down to two smallest containers. The
/// user has five halves of one; the next maximum for which that is not too much has three.
#[test]
fn the_maximum_of_a_leaf_may_be_what_bounds_a_user() {
    let queues = json!([{"path": "root.a", "max_share": {"memory-mb": 2_560},
        "user_limit_percent": 100, "user_limit_factor": 1}]);
    let mut host = cluster(json!("fair"), json!({"queues": queues}));
    host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.a", (6, 512));
    host.beat(0);
    assert_eq!(host.running(1), 5);
    let maximum = json!([{"max_share": {"queue": 1, "resource": 0, "limit": 3_072}}]);
    assert_eq!(remedies(&mut host, 1, 0), maximum);
}

/// ApplicationMasters may take half: 2 of 4 GB, of which 1 is in use. With a node of 2 GB more it
/// is 3 GB, and the second fits.
#[test]
fn limits_that_are_parts_grow_with_a_new_node() {
    let queues = json!([{"path": "root", "max_am_share": 0.5}, {"path": "root.a"}]);
    let mut host = cluster(json!("fifo"), json!({"queues": queues}));
    host.node(0, 4_096, 4);
    job(&mut host, 1, "root.a");
    host.ask_facts(master(1, 1_024));
    host.beat(0);
    job(&mut host, 2, "root.a");
    let (id, place, added) = (JobId(2), host_of(0), true);
    host.step(&[Event::Blacklist {
        job: id,
        place,
        added,
    }]);
    host.ask_facts(master(2, 2_048));
    let node = |resource: u8, amount: i64| {
        let what = json!({"resource": resource, "amount": amount, "free": false});
        json!({ "node": what })
    };
    assert_eq!(
        remedies(&mut host, 2, 0),
        json!([node(0, 2_048), node(1, 1)])
    );
}

/// The weight that puts `root.b` first gives its ApplicationMasters more, too: 0.8 of 3 GB instead
/// of 2. Job 2, of a higher priority, then starts a second one.
#[test]
fn a_weight_does_not_help_who_stands_behind_a_master() {
    let queues = json!([{"path": "root.a"}, {"path": "root.b", "max_am_share": 0.8}]);
    let mut host = cluster(policy("drf"), json!({"queues": queues}));
    let node = host.node(0, 4_096, 8);
    for (id, queue) in [(90, "root.a"), (91, "root.b")] {
        job(&mut host, id, queue);
        host.recovered(id, node, 1_024, true);
    }
    host.recovered(91, node, 2_048, false);
    host.beat(node);
    asks(&mut host, 90, "root.a", (4, 1_024));
    asks(&mut host, 1, "root.b", (4, 1_024));
    let queue = host.queue("ann", Some("root.b"));
    host.submit(2, queue, 1, 5);
    host.ask_facts(master(2, 1_024));
    host.tick();
    let explained = host.request(json!({"op": "explain", "job": 1}));
    assert_eq!(
        explained["waits"][0]["reason"]["share"]["first"], 1,
        "{explained}"
    );
    assert_eq!(remedies(&mut host, 1, 0), json!([]));
}

/// Reduces go before maps, whatever the priority of their jobs.
#[test]
fn a_priority_does_not_put_maps_before_reduces() {
    let mut host = cluster(
        json!("shufflewatcher"),
        json!({"queues": [{"path": "root.a"}]}),
    );
    let node = host.node(0, 4_096, 4);
    job(&mut host, 90, "root.a");
    host.recovered(90, node, 4_096, false);
    host.beat(node);
    job(&mut host, 1, "root.a");
    host.ask_facts(reduce(1, 1_024));
    asks(&mut host, 2, "root.a", (1, 1_024));
    host.tick();
    let explained = host.request(json!({"op": "explain", "job": 2}));
    assert_eq!(
        explained["waits"][0]["reason"]["behind"]["ahead"]["first"],
        1
    );
    assert_eq!(remedies(&mut host, 2, 0), json!([]));
}

/// On a node with 2 GB free the reduce of the job would go first, and the map still lack room.
#[test]
fn room_for_a_map_does_not_help_while_a_reduce_goes_first() {
    let mut host = cluster(json!("fifo"), json!({"queues": [{"path": "root.a"}]}));
    let node = host.node(0, 4_096, 4);
    job(&mut host, 90, "root.a");
    host.recovered(90, node, 3_584, false);
    host.beat(node);
    asks(&mut host, 1, "root.a", (1, 2_048));
    host.ask_facts(reduce(1, 1_024));
    assert_eq!(remedies(&mut host, 1, 0), json!([]));
    let of_reduce = json!([{"node": {"resource": 0, "amount": 1_024, "free": true}}]);
    assert_eq!(remedies(&mut host, 1, 1), of_reduce);
}
