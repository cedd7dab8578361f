//! An allocations file through the engine. It holds from the next decision on, takes nothing from
//! running jobs, and leaves nothing behind when it goes. Its parser has tests of its own.

use crate::common::{Host, plain_ask};
use heddle_core::config::Allocations;
use heddle_core::order::deficit::settings::settings;
use heddle_core::words::event::{AskFacts, Event, JobFacts};
use heddle_core::words::ids::{JobId, QueueId, UserId};
use heddle_core::{Decision, Setup};
use serde_json::{Value, json};

/// Builds two nodes with two map and two reduce slots each, and all jobs in one line.
fn cluster(queues: Value) -> Host {
    let mut host = Host::new(config(queues));
    for _ in 0..2 {
        host.node(0, 1 << 20, 1 << 10);
    }
    host
}

fn config(queues: Value) -> Value {
    json!({
        "policy": "fair-original",
        "slots": {"map_per_node": 2, "reduce_per_node": 2},
        "heartbeat_fill": 1.0,
        "queues": queues,
    })
}

fn submit(host: &mut Host, job: u32, queue: QueueId, user: u32, maps: u32) {
    let facts = JobFacts {
        job: JobId(job),
        queue,
        user: UserId(user),
        priority: 0,
        mapreduce: true,
        unmanaged_am: true,
        submitted_ms: host.now,
    };
    host.step(&[Event::JobAdded(facts)]);
    host.ask(job, 0, maps, 1024);
}

fn reload(host: &mut Host, config: Value, allocations: &str) {
    let users = json!({"alice": 7, "bob": 8});
    host.request(
        json!({"op": "reload", "config": config, "allocations": allocations, "users": users}),
    );
}

/// Returns the jobs that get a slot when both nodes report, in order.
fn assign(host: &mut Host) -> Vec<u32> {
    let grants: Vec<_> = (0..2).flat_map(|node| host.beat(node)).collect();
    grants.iter().map(|grant| grant.job).collect()
}

fn report(host: &mut Host, path: &str) -> Value {
    let queues = host.request(json!({"op": "queues"}));
    let all = queues["queues"].as_array().expect("a list").clone();
    let found = all.into_iter().find(|queue| queue["path"] == path);
    found.unwrap_or_else(|| panic!("no queue {path}"))
}

#[test]
fn a_guarantee_holds_at_once_and_takes_nothing_from_who_runs() {
    let mut host = cluster(json!([]));
    let a = host.queue("u", Some("a"));
    submit(&mut host, 1, a, 0, 20);
    assert_eq!(assign(&mut host), [1; 4]);

    reload(&mut host, config(json!([])), "b 3 0");
    let b = host.queue("u", Some("b"));
    submit(&mut host, 2, b, 0, 20);
    let decisions = host.tick();
    let evicts = |decision: &Decision| matches!(decision, Decision::Evict { .. });
    assert!(!decisions.iter().any(evicts), "{decisions:?}");
    assert_eq!((host.running(1), host.running(2)), (4, 0));

    // No time has passed, so no job is owed anything: without the guarantee the older goes first.
    host.complete_all(1);
    assert_eq!(assign(&mut host)[..3], [2; 3]);
    assert_eq!(report(&mut host, "root.b")["min_maps"], 3);

    // The other kind is independent.
    let ask = AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 20, 1024)
    };
    host.ask_facts(ask);
    reload(&mut host, config(json!([])), "a 0 4\nb 3 0");
    assert_eq!(report(&mut host, "root.a")["min_reduces"], 4);
    assert_eq!(assign(&mut host), [1; 4]);
}

#[test]
fn what_the_file_no_longer_says_is_again_as_configured() {
    let queues = json!([{"path": "root.a", "min_maps": 2, "weight": 3.0, "max_running_jobs": 9}]);
    let mut host = cluster(queues.clone());
    let values = |host: &mut Host, path: &str| {
        let queue = report(host, path);
        ["min_maps", "min_reduces", "weight", "max_running_jobs"].map(|key| queue[key].clone())
    };
    let [two, zero, three, nine] = [json!(2), json!(0), json!(3.0), json!(9)];
    let configured = [two.clone(), zero, three.clone(), nine.clone()];
    assert_eq!(values(&mut host, "root.a"), configured);
    reload(&mut host, config(queues.clone()), "a 5 6");
    assert_eq!(
        values(&mut host, "root.a"),
        [json!(5), json!(6), three, nine]
    );
    let xml = "<allocations><pool name='a'><weight>0.5</weight><maxRunningJobs>1</maxRunningJobs>\
               </pool></allocations>";
    reload(&mut host, config(queues.clone()), xml);
    assert_eq!(
        values(&mut host, "root.a"),
        [two, json!(0), json!(0.5), json!(1)]
    );
    reload(&mut host, config(queues.clone()), "# nothing");
    assert_eq!(values(&mut host, "root.a"), configured);
    reload(&mut host, config(queues.clone()), "a 5 6");
    host.request(json!({"op": "reload", "config": config(queues)}));
    assert_eq!(values(&mut host, "root.a"), configured);
}

#[test]
fn a_removed_pool_is_a_queue_that_nobody_configured() {
    let placed = |host: &mut Host, user: &str, queue: Option<&str>| {
        let request = json!({"op": "place", "user": user, "queue": queue});
        host.engine.request(host.now, &request)
    };
    let mut host = cluster(json!([]));
    reload(&mut host, config(json!([])), "group.a 1 0\nalice 1 0");
    let a = host.queue("u", Some("group.a"));
    submit(&mut host, 1, a, 0, 4);
    assert_eq!(assign(&mut host), [1; 4]);
    reload(&mut host, config(json!([])), "# nothing");
    assert_eq!(report(&mut host, "root.group.a")["draining"], true);
    assert_eq!(host.running(1), 4);
    // It appears on demand, as the same queue (FS-4).
    let again = placed(&mut host, "u", Some("group.a")).expect("queues may be made");
    assert_eq!(again["queue"], a.0);
    for path in ["root.group", "root.group.a"] {
        let queue = report(&mut host, path);
        assert_eq!(
            (&queue["draining"], &queue["dynamic"]),
            (&json!(false), &json!(true))
        );
    }
    assert!(placed(&mut host, "alice", None).is_ok());
    // A pool for jobs that name none (FS-4), as long as the file has one.
    let named_none = |host: &mut Host| {
        let reply = placed(host, "u", Some("default")).expect("there is a rule");
        reply["path"].as_str().expect("a path").to_owned()
    };
    assert_eq!(named_none(&mut host), "root.u");
    reload(&mut host, config(json!([])), "default 1 0");
    assert_eq!(named_none(&mut host), "root.default");
    reload(&mut host, config(json!([])), "# nothing");
    // In the file again, and out of it again.
    reload(&mut host, config(json!([])), "group.a 2 0");
    assert_eq!(report(&mut host, "root.group.a")["dynamic"], false);
    reload(&mut host, config(json!([])), "# nothing");
    assert!(placed(&mut host, "u", Some("group.a")).is_ok());

    // Without creation on demand it is gone, and so is a queue that heddle.json named.
    let mut strict = config(json!([{"path": "root.b"}]));
    strict["placement"] = json!([{"rule": "specified", "create": false}]);
    let mut host = Host::new(strict.clone());
    reload(&mut host, strict.clone(), "a 1 0");
    assert!(placed(&mut host, "u", Some("a")).is_ok());
    strict["queues"] = json!([]);
    reload(&mut host, strict, "# nothing");
    for name in ["a", "b"] {
        let refusal = placed(&mut host, "u", Some(name)).expect_err("it is gone");
        assert!(refusal.0.contains("is being removed"), "{refusal}");
    }
    let mut host = cluster(json!([{"path": "root.b"}]));
    reload(&mut host, config(json!([])), "# nothing");
    assert!(placed(&mut host, "u", Some("b")).is_err());
}

#[test]
fn pools_and_users_may_run_so_many_jobs() {
    let allocations = "<allocations>\n<poolMaxJobsDefault>1</poolMaxJobsDefault>\n\
                       <pool name='wide'><maxRunningJobs>2</maxRunningJobs></pool></allocations>";
    let queues = json!([{"path": "root.own", "max_running_jobs": 3}]);
    let mut host = cluster(queues.clone());
    reload(&mut host, config(queues.clone()), allocations);
    let mut job = 0;
    // Queues, and how many of their three jobs run: by default, by the file, by heddle.json. A
    // queue with children is no pool with jobs, so its limit does not hold for all its children
    // together.
    let expected = [("x", 1), ("wide", 2), ("own", 3), ("g.a", 1), ("g.b", 1)];
    for (name, _) in expected {
        let queue = host.queue("u", Some(name));
        for _ in 0..3 {
            job += 1;
            submit(&mut host, job, queue, job, 1);
        }
    }
    for (name, runnable) in expected {
        let queue = report(&mut host, &format!("root.{name}"));
        assert_eq!(queue["runnable_jobs"], runnable, "{name}");
    }
    let waits = host.request(json!({"op": "explain", "job": 2}));
    assert!(waits.to_string().contains("runs 1 of 1 jobs"), "{waits}");
    reload(&mut host, config(queues), "# nothing");
    assert_eq!(report(&mut host, "root")["runnable_jobs"], 15);
}

#[test]
fn named_users_have_limits_of_their_own() {
    let allocations = "<allocations><userMaxJobsDefault>1</userMaxJobsDefault>\
                       <user name='alice'><maxRunningJobs>2</maxRunningJobs></user>\
                       <user name='carol'><maxRunningJobs>0</maxRunningJobs></user></allocations>";
    let mut host = cluster(json!([]));
    let text = json!({"op": "allocations", "text": allocations});
    let read = host.request(text);
    assert_eq!(
        read,
        json!({"pools": 0, "users": ["alice", "carol"], "warnings": []})
    );
    let queue = host.queue("u", Some("p"));
    // Jobs 1 to 3 are alice's; 4 and 5 are bob's, who is not in the file.
    for (job, user) in [(1, 7), (2, 7), (3, 7), (4, 8), (5, 8)] {
        submit(&mut host, job, queue, user, 1);
    }
    reload(&mut host, config(json!([])), allocations);
    let mut granted = assign(&mut host);
    granted.sort_unstable();
    assert_eq!(granted, [1, 2, 4]);
    let waits = host.request(json!({"op": "explain", "job": 3}));
    assert!(
        waits.to_string().contains("its user runs 2 of 2 jobs"),
        "{waits}"
    );
    // The next file brings the numbers; one slot is left of four.
    reload(&mut host, config(json!([])), "# nothing");
    assert_eq!(assign(&mut host), [3]);
}

#[test]
fn a_wrong_file_changes_nothing() {
    let mut host = cluster(json!([]));
    reload(&mut host, config(json!([])), "a 3 2");
    let before = host.request(json!({"op": "queues"}));
    for (text, said) in [
        (
            "a 1 2\nb x 1",
            "key `allocations`: line 2: minimum of map slots: expected a whole",
        ),
        (
            "<allocations>",
            "key `allocations`: line 1: the root node was opened",
        ),
    ] {
        let request = json!({"op": "reload", "config": {}, "allocations": text});
        let refusal = host.engine.request(host.now, &request).expect_err(text);
        assert!(refusal.0.starts_with(said), "{refusal}");
        let alone = json!({"op": "allocations", "text": text});
        let refusal = host.engine.request(host.now, &alone).expect_err(text);
        assert!(refusal.0.starts_with("line "), "{refusal}");
    }
    assert_eq!(host.request(json!({"op": "queues"})), before);
}

/// A new engine has the state of the one before it.
#[test]
fn a_new_engine_begins_with_the_file() {
    let setup = json!({
        "config": config(json!([])),
        "allocations": "<allocations><user name='alice'><maxRunningJobs>5</maxRunningJobs></user>\
                        <pool name='a'><minMaps>3</minMaps></pool></allocations>",
        "users": {"alice": 7},
    });
    let setup = Setup::from_json(&setup).expect("a good setup");
    assert_eq!(settings(&setup.config).max_jobs_of(UserId(7)), Some(5));
    assert_eq!(settings(&setup.config).max_jobs_of(UserId(8)), None);
    let queue = &setup.config.queues[0];
    assert_eq!((queue.path.as_str(), queue.min_maps), ("root.a", 3));
}

/// The example files in the documents are valid, with the values expected here.
#[test]
fn the_files_in_the_documents_can_be_used() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let block = |from: &str| {
        let start = page.find(from).expect("the page shows it");
        let end = page[start..].find("```").expect("the block ends");
        Allocations::parse(&page[start..start + end]).expect("it is right")
    };
    let (xml, plain) = (block("<allocations>"), block("# pool maps reduces"));
    assert_eq!((&xml.warnings, &plain.warnings), (&vec![], &vec![]));
    let minimums = |allocations: &Allocations| -> Vec<_> {
        let pools = allocations.pools.iter();
        pools
            .map(|pool| {
                (
                    pool.path.clone(),
                    pool.min_maps,
                    pool.min_reduces.unwrap_or(0),
                )
            })
            .collect()
    };
    let expected = [
        ("root.ads".to_owned(), Some(10), 5),
        ("root.science.physics".to_owned(), Some(4), 0),
    ];
    assert_eq!(minimums(&xml), expected);
    assert_eq!(minimums(&plain), expected);
    assert_eq!((xml.user_max_jobs, xml.pool_max_jobs), (Some(3), Some(20)));
}

/// Under other orders than that of deficits, a user's further jobs wait as with `users`.
#[test]
fn users_of_the_file_are_limited_under_every_order() {
    for policy in ["fair", "fifo", "hfsp"] {
        let config = json!({"policy": policy, "heartbeat_fill": 1.0});
        let mut host = Host::new(config.clone());
        host.node(0, 1 << 20, 1 << 10);
        let text = "<allocations><userMaxJobsDefault>1</userMaxJobsDefault>\
                    <user name='alice'><maxRunningJobs>2</maxRunningJobs></user></allocations>";
        reload(&mut host, config, text);
        let queue = host.queue("u", None);
        for (job, user) in [(1, 7), (2, 7), (3, 7), (4, 8), (5, 8)] {
            submit(&mut host, job, queue, user, 1);
        }
        let mut served: Vec<u32> = host.beat(0).iter().map(|grant| grant.job).collect();
        served.sort_unstable();
        assert_eq!(served, [1, 2, 4], "{policy}");
        // The file is taken away.
        let bare = json!({"policy": policy, "heartbeat_fill": 1.0});
        reload(&mut host, bare, "<allocations/>");
        let mut served: Vec<u32> = host.beat(0).iter().map(|grant| grant.job).collect();
        served.sort_unstable();
        assert_eq!(served, [3, 5], "{policy}");
    }
}
