//! Reports about many jobs, nodes and queues: pages of jobs by text and order, rows of nodes,
//! and use by queue.

use crate::common::{Host, host_of, row};
use serde_json::{Value, json};

/// Two jobs of ann and three of bob, on a node where two containers fit.
fn cluster() -> Host {
    let mut host = Host::new(json!({"policy": "fair", "heartbeat_fill": 1.0}));
    let node = host.node(0, 2_048, 8);
    for (job, user, count) in [(0, "ann", 3), (1, "bob", 0), (2, "bob", 1), (5, "ann", 1)] {
        let queue = host.queue(user, None);
        host.job(job, queue);
        host.ask(job, 0, count, 1_024);
        host.now += 100;
    }
    let queue = host.queue("bob", None);
    host.prioritised_job(6, queue, 7);
    host.ask(6, 0, 2, 1_024);
    host.tick();
    host.beat(node);
    host
}

fn listed(host: &mut Host, mut request: Value) -> Value {
    request["op"] = json!("jobs");
    host.request(request)
}

fn numbers(list: &Value) -> Vec<u64> {
    let rows = list["jobs"].as_array().expect("a list").iter();
    rows.map(|job| job["job"].as_u64().expect("a number"))
        .collect()
}

#[test]
fn jobs_come_in_pages_by_number() {
    let mut host = cluster();
    let (mut told, mut from) = (Vec::new(), json!(0));
    while !from.is_null() {
        let page = listed(&mut host, json!({"from": from, "max": 2}));
        told.extend(numbers(&page));
        from = page["next"].clone();
    }
    assert_eq!(told, [0, 1, 2, 5, 6]);
    let all = listed(&mut host, json!({}));
    assert_eq!(all["total"], 5);
    let waits = |i: usize| all["jobs"][i]["waits_for"].as_str();
    assert_eq!(waits(1), None, "it asks for nothing");
    assert!(
        waits(4).is_some_and(|why| why.starts_with("waits: ")),
        "{all}"
    );
}

#[test]
fn every_order_is_the_one_that_is_asked_for() {
    let mut host = cluster();
    for (sort, descending, expected) in [
        ("submitted", true, [6, 5, 2, 1, 0]),
        ("priority", true, [6, 0, 1, 2, 5]),
        ("queue", false, [0, 5, 1, 2, 6]),
        ("queue", true, [1, 2, 6, 0, 5]),
    ] {
        let list = listed(&mut host, json!({"sort": sort, "descending": descending}));
        assert_eq!(numbers(&list), expected, "{sort}");
    }
    for sort in ["running", "pending", "memory"] {
        let list = listed(&mut host, json!({"sort": sort, "descending": true}));
        let value = |job: &Value| match sort {
            "running" => job["running"]
                .as_array()
                .map(|all| all.iter().filter_map(Value::as_i64).sum()),
            "pending" => job["pending"].as_i64(),
            _ => job["used"]["memory-mb"].as_i64(),
        };
        let values: Vec<i64> = list["jobs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|job| value(job).expect("a number"))
            .collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{sort}: {values:?}");
        assert_ne!(values.first(), values.last(), "{sort}");
    }
    let list = listed(&mut host, json!({"sort": "given", "ranks": [5, 1, 6]}));
    assert_eq!(
        numbers(&list),
        [5, 1, 6, 0, 2],
        "what has no rank comes last"
    );
}

/// Jobs that have started come first in the order of starts.
#[test]
fn jobs_are_sorted_by_when_they_are_expected() {
    let mut host = cluster();
    for sort in ["start", "end"] {
        let list = listed(&mut host, json!({"sort": sort}));
        let rows = list["jobs"].as_array().expect("a list").iter();
        let time = |job: &Value| job["prediction"][sort]["expected_ms"].as_i64();
        let times: Vec<Option<i64>> = rows.map(time).collect();
        assert!(times.is_sorted(), "{sort}: {times:?}");
        assert_ne!(times.first(), times.last(), "{sort}");
        let reversed = listed(&mut host, json!({"sort": sort, "descending": true}));
        let rows = reversed["jobs"].as_array().expect("a list").iter();
        let times: Vec<Option<i64>> = rows.map(time).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "{sort}: {times:?}");
    }
}

/// Parents and children are on different pages.
#[test]
fn queues_on_pages_are_as_in_the_whole_report() {
    let mut host = cluster();
    let whole = host.request(json!({"op": "queues"}));
    let mut rows = Vec::new();
    let mut from = json!(0);
    while !from.is_null() {
        let mut page = host.request(json!({"op": "queues", "from": from, "max": 1}));
        assert_eq!(page["cluster"], whole["cluster"]);
        rows.append(page["queues"].as_array_mut().expect("a list"));
        from = page["next"].take();
    }
    assert_eq!(Value::Array(rows), whole["queues"]);
    assert_eq!(
        whole["queues"][0]["running_containers"],
        json!(2),
        "{whole}"
    );
}

#[test]
fn jobs_are_found_by_queue_and_by_what_the_host_found() {
    let mut host = cluster();
    for (request, expected) in [
        (json!({"text": "ANN"}), vec![0, 5]),
        (json!({"text": "ann", "matching": [2, 99]}), vec![0, 2, 5]),
        (json!({"text": "nobody"}), vec![]),
        (json!({"queues": ["root.bob"]}), vec![1, 2, 6]),
        (
            json!({"queues": ["root.bob"], "text": "ann", "matching": [0, 6]}),
            vec![6],
        ),
        (json!({"queues": []}), vec![]),
        (
            json!({"queues": ["root.bob"], "skip": 1, "max": 1}),
            vec![2],
        ),
        (json!({"skip": 4_294_967_295u32}), vec![]),
    ] {
        assert_eq!(
            numbers(&listed(&mut host, request.clone())),
            expected,
            "{request}"
        );
    }
    let none = listed(
        &mut host,
        json!({"queues": ["root.bob"], "skip": 1, "max": 1}),
    );
    assert_eq!((&none["total"], &none["next"]), (&json!(3), &json!(6)));
}

#[test]
fn what_cannot_be_listed_is_refused_with_the_key() {
    let mut host = cluster();
    for (request, key) in [
        (json!({"sort": "age"}), "key `sort`"),
        (json!({"max": 0}), "max"),
        (json!({"max": 1_001}), "max"),
        (json!({"ranks": [-1]}), "ranks[0]"),
        (json!({"matching": "all"}), "matching"),
        (json!({"text": 7}), "text"),
        (json!({"colour": 7}), "colour"),
    ] {
        let mut request = request;
        request["op"] = json!("jobs");
        let now = host.now;
        let refused = host
            .engine
            .request(now, &request)
            .expect_err(&request.to_string());
        assert!(refused.to_string().contains(key), "{refused}");
    }
}

/// The numbers ahead are counted by hand: fifo, one slot, and each of the three asks for one.
#[test]
fn a_row_has_place_in_line_expected_times_and_progress() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    let node = host.node(0, 1_024, 8);
    let queue = host.queue("u", None);
    for job in 0..3 {
        host.job(job, queue);
        host.ask(job, 0, 2, 1_024);
        host.now += 10;
    }
    host.tick();
    let granted = host.beat(node);
    assert_eq!(granted.len(), 1);
    let list = listed(&mut host, json!({}));
    let row = |i: usize| &list["jobs"][i];
    assert_eq!(row(2)["ahead"]["jobs"], 2);
    assert_eq!(
        row(2)["ahead"]["tasks"],
        3,
        "one of the first and two of the second"
    );
    assert_eq!(
        row(0)["ahead"],
        json!({"jobs": 0, "tasks": 0, "more": false})
    );
    assert_eq!(row(0)["pending"], 1);
    assert_eq!(row(0)["progress_per_mille"], 0);
    let end = |i: usize| row(i)["prediction"]["end"]["expected_ms"].as_i64();
    assert!(end(0) < end(1) && end(1) < end(2), "{list}");
    assert_eq!(row(0)["prediction"]["start"], Value::Null, "it has begun");
    assert!(row(2)["prediction"]["start"]["expected_ms"].is_i64());
    // The same as the request about one job says.
    let alone = host.request(json!({"op": "predict", "job": 2}));
    assert_eq!(alone["jobs"][0], row(2)["prediction"]);
    host.complete_all(0);
    let list = listed(&mut host, json!({}));
    assert_eq!(list["jobs"][0]["progress_per_mille"], 500, "one of two");
}

#[test]
fn nodes_come_in_pages_with_their_room() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    let nodes: Vec<u32> = (0..5).map(|rack| host.node(rack, 2_048, 4)).collect();
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 1, 1_536);
    host.tick();
    host.beat(nodes[3]);
    let (mut rows, mut from) = (Vec::new(), json!(0));
    while !from.is_null() {
        let page = host.request(json!({"op": "nodes", "from": from, "max": 2}));
        rows.extend(page["nodes"].as_array().expect("a list").iter().cloned());
        from = page["next"].clone();
    }
    assert_eq!(rows.len(), 5);
    assert_eq!(
        rows[0],
        json!([nodes[0], true, 0, 2_048, 2_048, 4, 4, false, null])
    );
    assert_eq!(
        rows[3],
        json!([nodes[3], true, 1, 2_048, 512, 4, 3, false, null])
    );
}

#[test]
fn use_is_by_queue_and_counts_go_on() {
    let mut host = Host::new(json!({"policy": "fair", "heartbeat_fill": 1.0}));
    let node = host.node(0, 4_096, 8);
    let (ann, bob) = (host.queue("ann", None), host.queue("bob", None));
    host.job(0, ann);
    host.job(1, bob);
    host.ask(0, 0, 1, 1_024);
    host.step(&[row(0, 0, host_of(node), 1)]);
    host.ask(1, 0, 9, 1_024);
    host.now = 5_000;
    host.tick();
    let before = host.request(json!({"op": "usage"}));
    assert_eq!(
        before["waiting"],
        json!({"jobs": 2, "mean_ms": 5_000, "longest_ms": 5_000})
    );
    assert_eq!(
        (&before["granted"], &before["pending"]),
        (&json!([0, 0, 0, 0]), &json!(10))
    );
    assert_eq!(host.beat(node).len(), 4);
    let after = host.request(json!({"op": "usage"}));
    assert_eq!(after["granted"], json!([1, 0, 0, 3]));
    assert_eq!(
        (&after["running"], &after["pending"]),
        (&json!(4), &json!(6))
    );
    assert_eq!(after["waiting"]["jobs"], 0);
    assert_eq!(after["capacity_mb"], 4_096);
    // bob wants the most; ann's entitlement is what she wants or half of the cluster.
    assert_eq!(after["queues"][0][0], "root.bob");
    assert_eq!(after["queues"][0][1], 3_072);
    assert_eq!(after["queues"][1][1], 1_024);
    assert!(after["queues"][1][2].is_i64());
    assert_eq!(after["others_mb"], 0);
}

/// One line for each of the fifty that use most, whatever the number of queues.
#[test]
fn many_queues_make_a_short_report() {
    let mut host = Host::new(json!({"policy": "fair", "heartbeat_fill": 1.0}));
    let node = host.node(0, 60 * 1_024, 64);
    for user in 0..180u32 {
        let queue = host.queue(&format!("u{user}"), None);
        host.job(user, queue);
        host.ask(user, 0, u32::from(user % 3 == 0), 1_024);
    }
    host.tick();
    let granted = host.beat(node);
    assert_eq!(granted.len(), 60);
    let report = host.request(json!({"op": "usage"}));
    assert_eq!(report["queues"].as_array().map(Vec::len), Some(50));
    assert_eq!(report["others_mb"], 10 * 1_024);
}

/// A page of many jobs does not look at all others for each of them: its first jobs have remedies.
/// Asked for by itself, each job has one.
#[test]
fn a_long_page_has_remedies_for_its_first_jobs_only() {
    let queue = json!({"path": "root.q", "max_share": {"memory-mb": 1_024}});
    let mut host = Host::new(json!({"policy": "fair", "heartbeat_fill": 1.0, "queues": [queue]}));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("ann", Some("root.q"));
    for job in 0..300 {
        host.job(job, queue);
        host.ask(job, 0, 1, 1_024);
    }
    host.tick();
    host.beat(node);
    let page = listed(&mut host, json!({"max": 300}));
    let why = |row: &Value| row["waits_for"].as_str().unwrap_or_default().to_string();
    let rows: Vec<String> = page["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(why)
        .collect();
    let rows: Vec<&String> = rows.iter().filter(|why| !why.is_empty()).collect();
    assert_eq!(rows.len(), 299, "all but one wait: {page}");
    let helped = |why: &&&String| why.contains("max_share") && why.contains("would");
    let first = rows.iter().take_while(helped).count();
    assert!(
        (20..200).contains(&first),
        "{first} have a remedy: {rows:?}"
    );
    assert_eq!(rows.iter().filter(helped).count(), first);
    let last = host.request(json!({"op": "explain", "job": 299}));
    let remedies = &last["waits"][0]["remedies"];
    assert!(remedies[0].is_object(), "{last}");
}
