//! Reloads that take queues away, stop them or make them parents, while jobs are there: by the
//! rules of the stock schedulers, and never at the cost of a running job.

use crate::common::Host;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{JobId, QueueId};
use serde_json::{Value, json};

/// 32 containers of 1 GB on four nodes.
fn host(config: &Value) -> Host {
    let mut host = Host::new(config.clone());
    for rack in 0..4 {
        host.node(rack, 8_192, 64);
    }
    host
}

fn capacity(queues: Value) -> Value {
    json!({"policy": {"share": "capacity", "order": "fifo", "place": "local-first"},
           "heartbeat_fill": 1.0, "reload": "refuse", "queues": queues})
}

fn reload(host: &mut Host, config: &Value) -> Result<(), String> {
    let request = json!({"op": "reload", "config": config});
    let reply = host.engine.request(host.now, &request);
    host.engine.check_invariants().expect("the books are right");
    reply.map(|_| ()).map_err(|why| why.to_string())
}

fn row(host: &mut Host, path: &str) -> Option<Value> {
    let mut report = host.request(json!({"op": "queues"}));
    let rows = report["queues"].as_array_mut().expect("a list");
    let row = rows.iter_mut().find(|row| row["path"] == path);
    row.map(Value::take)
}

fn state(host: &mut Host, path: &str) -> String {
    let row = row(host, path).expect(path);
    row["state"].as_str().unwrap_or("running").to_string()
}

fn submit(host: &mut Host, job: u32, path: &str) -> Result<(), String> {
    let request = json!({"op": "place", "user": "u", "queue": path});
    let reply = host.engine.request(host.now, &request);
    let id = reply.map_err(|why| why.to_string())?["queue"].as_u64();
    host.job(job, QueueId(id.expect("an id") as u32));
    Ok(())
}

fn end(host: &mut Host, job: u32) {
    host.complete_all(job);
    host.step(&[Event::JobRemoved(JobId(job))]);
}

/// Ticks, and lets the engine remove empty queues.
fn tick(host: &mut Host) {
    host.now += 1_000;
    host.tick();
    host.request(json!({"op": "expireQueues"}));
    host.engine.check_invariants().expect("the books are right");
}

/// How many containers a job has after some rounds in which another queue is hungry and one of its
/// containers ends in each.
fn held(host: &mut Host, job: u32) -> usize {
    for _ in 0..40 {
        let key = host.containers.iter().find(|of| of.0 == job);
        let key = key.expect("it runs").1;
        host.complete(job, key);
        host.now += 500;
        host.tick();
        host.beat_all();
    }
    host.running(job)
}

#[test]
fn an_empty_queue_that_left_goes_at_the_next_tick() {
    let (before, after) = (
        json!({"queues": [{"path": "root.a.k"}, {"path": "root.b"}]}),
        json!({"queues": [{"path": "root.a"}, {"path": "root.b"}]}),
    );
    let mut host = host(&before);
    submit(&mut host, 1, "root.a.k").expect("it is there");
    reload(&mut host, &after).expect("it drains");
    tick(&mut host);
    assert_eq!(
        row(&mut host, "root.a.k").expect("it has a job")["draining"],
        true
    );
    end(&mut host, 1);
    tick(&mut host);
    assert_eq!(row(&mut host, "root.a.k"), None);
    submit(&mut host, 2, "root.a").expect("it is a leaf now");
    // It comes back under another id or the same.
    end(&mut host, 2);
    reload(&mut host, &before).expect("it comes back");
    submit(&mut host, 3, "root.a.k").expect("it is back");
}

/// `a` is guaranteed three quarters. The file that has lost it is refused as by stock; where a
/// queue may drain, it keeps its guarantee. Its job would else fall to nothing.
#[test]
fn a_busy_queue_that_leaves_keeps_what_its_job_has() {
    let queue = |path: &str, part: &str| json!({"path": path, "min_share": part});
    let root = json!({"path": "root", "compare": "capacity"});
    let both = json!([
        root,
        queue("root.a", "75% of parent"),
        queue("root.b", "25% of parent")
    ]);
    let one = json!([root, queue("root.b", "25% of parent")]);
    for drains in [false, true] {
        let [before, after] = [&both, &one].map(|queues| {
            let mut config = capacity(queues.clone());
            config["reload"] = json!(if drains { "drain" } else { "refuse" });
            config
        });
        let mut host = host(&before);
        for (job, path) in [(1, "root.a"), (2, "root.b")] {
            submit(&mut host, job, path).expect(path);
            host.ask(job, 0, 1_000, 1_024);
        }
        host.tick();
        host.beat_all();
        let had = held(&mut host, 1);
        assert_eq!(had, 24);
        let reply = reload(&mut host, &after);
        assert_eq!(reply.is_ok(), drains, "{reply:?}");
        if let Err(why) = reply {
            let words = "queue root.a left the file while it is running, with 1 applications";
            assert!(why.contains(words), "{why}");
        }
        assert_eq!(held(&mut host, 1), had, "drains: {drains}");
        end(&mut host, 1);
        tick(&mut host);
        assert_eq!(row(&mut host, "root.a").is_none(), drains);
    }
}

#[test]
fn a_queue_leaves_a_capacity_file_only_when_it_is_stopped() {
    let queue = |state: &str| json!([{"path": "root.a", "state": state}, {"path": "root.b"}]);
    let without = capacity(json!([{"path": "root.b"}]));
    let mut host = host(&capacity(queue("running")));
    submit(&mut host, 1, "root.a").expect("it runs");
    assert!(reload(&mut host, &without).is_err());
    reload(&mut host, &capacity(queue("stopped"))).expect("it may be stopped");
    assert_eq!(state(&mut host, "root.a"), "draining");
    let why = submit(&mut host, 2, "root.a").expect_err("it takes none");
    assert!(why.contains("root.a is stopped"), "{why}");
    let why = reload(&mut host, &without).expect_err("its job runs");
    assert!(why.contains("while it is draining"), "{why}");
    end(&mut host, 1);
    assert_eq!(state(&mut host, "root.a"), "stopped");
    reload(&mut host, &without).expect("it is stopped");
    tick(&mut host);
    assert_eq!(row(&mut host, "root.a"), None);
}

/// `QueueStateHelper`: a state that is not written changes nothing, in queues below either.
#[test]
fn a_stopped_queue_stays_stopped_until_running_is_written() {
    let queues = |p: Value, k: Value| {
        let with = |path: &str, state: Value| match state {
            Value::Null => json!({"path": path}),
            state => json!({"path": path, "state": state}),
        };
        capacity(json!([with("root.p", p), with("root.p.k", k), {"path": "root.b"}]))
    };
    let (none, run, stop) = (json!(null), json!("running"), json!("stopped"));
    let mut host = host(&queues(none.clone(), stop.clone()));
    reload(&mut host, &queues(none.clone(), none.clone())).expect("it stays stopped");
    assert_eq!(state(&mut host, "root.p.k"), "stopped");
    reload(&mut host, &queues(none.clone(), run.clone())).expect("it runs");
    assert_eq!(state(&mut host, "root.p.k"), "running");
    reload(&mut host, &queues(stop.clone(), none.clone())).expect("both stop");
    reload(&mut host, &queues(none.clone(), none.clone())).expect("both stay stopped");
    assert_eq!(state(&mut host, "root.p"), "stopped");
    let why = reload(&mut host, &queues(none.clone(), run.clone())).expect_err("as stock");
    assert!(
        why.contains("below queue root.p, which is STOPPED"),
        "{why}"
    );
    reload(&mut host, &queues(run.clone(), none.clone())).expect("the parent runs");
    assert_eq!(state(&mut host, "root.p"), "running");
    assert_eq!(
        state(&mut host, "root.p.k"),
        "stopped",
        "nothing is written for it"
    );
    // An engine that is built again is told; a restart is not.
    let last = queues(run, none);
    let setup = json!({"config": last, "stopped": ["root.p.k"]});
    assert_eq!(state(&mut Host::from_setup(&setup), "root.p.k"), "stopped");
    assert_eq!(state(&mut Host::new(last), "root.p.k"), "running");
}

#[test]
fn a_capacity_file_lowers_no_largest_container() {
    let queues = |mb: i64| {
        capacity(
            json!([{"path": "root", "max_container": {"memory-mb": 8_192}},
                        {"path": "root.a", "max_container": {"memory-mb": mb}}]),
        )
    };
    let mut host = host(&queues(6_144));
    let why = reload(&mut host, &queues(4_096)).expect_err("as stock");
    assert!(why.contains("queue root.a: its largest container"), "{why}");
    reload(&mut host, &queues(8_192)).expect("a larger one");
}

/// As in the stock Fair Scheduler; by the Capacity Scheduler's rules the file is refused.
#[test]
fn a_leaf_with_a_job_stays_a_leaf_until_it_has_ended() {
    let before = json!([{"path": "root.a", "min_share": {"memory-mb": 24_576}},
                        {"path": "root.b"}]);
    let after = json!([{"path": "root.a", "min_share": {"memory-mb": 24_576}},
                       {"path": "root.a.k"}, {"path": "root.b"}]);
    let mut refusing = host(&capacity(before.clone()));
    submit(&mut refusing, 1, "root.a").expect("a leaf");
    let why = reload(&mut refusing, &capacity(after.clone())).expect_err("as stock");
    assert!(
        why.contains("queue root.a became a parent while it is running"),
        "{why}"
    );

    let mut host = host(&json!({"heartbeat_fill": 1.0, "queues": before}));
    submit(&mut host, 1, "root.a").expect("a leaf");
    host.ask(1, 0, 1_000, 1_024);
    host.tick();
    host.beat_all();
    assert_eq!(host.running(1), 32, "all of the cluster");
    reload(&mut host, &json!({"heartbeat_fill": 1.0, "queues": after})).expect("it waits");
    assert_eq!(held(&mut host, 1), 32);
    submit(&mut host, 9, "root.b").expect("a leaf");
    host.ask(9, 0, 1_000, 1_024);
    assert_eq!(held(&mut host, 1), 24, "its minimum, beside a hungry queue");
    end(&mut host, 9);
    tick(&mut host);
    assert_eq!(row(&mut host, "root.a.k"), None);
    assert_eq!(row(&mut host, "root.a").expect("it stays")["leaf"], true);
    submit(&mut host, 2, "root.a.k").expect_err("no queue below a job");
    end(&mut host, 1);
    tick(&mut host);
    submit(&mut host, 3, "root.a.k").expect("it is made");
}

/// A standby has no node and no job, and takes over what changed while it waited.
#[test]
fn a_standby_takes_over_any_file() {
    let mut host = Host::new(capacity(json!([{"path": "root.a"}, {"path": "root.b"}])));
    reload(&mut host, &capacity(json!([{"path": "root.b"}]))).expect("nothing is lost");
}

/// A generator of small numbers: the same seed, the same case.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }

    /// A random tree of at most seven queues with states, limits of jobs, labels and guarantees.
    fn queues(&mut self) -> Value {
        let mut queues = vec![json!({"path": "root", "compare": "capacity"})];
        let mut stopped = Vec::new();
        for path in [
            "root.a", "root.a.x", "root.a.y", "root.b", "root.c", "root.c.z",
        ] {
            let above = path.rsplit_once('.').map_or("", |(above, _)| above);
            let has_above = above == "root" || queues.iter().any(|of| of["path"] == above);
            if !has_above || self.below(4) == 0 {
                continue;
            }
            let mut queue = json!({"path": path, "min_share": "20% of parent"});
            match self.below(6) {
                0 => {
                    queue["state"] = json!("stopped");
                    stopped.push(path);
                }
                1 if !stopped.contains(&above) => queue["state"] = json!("running"),
                _ => {}
            }
            if self.below(3) == 0 {
                queue["max_jobs"] = json!(1 + self.below(3));
            }
            match self.below(4) {
                0 => queue["accessible_labels"] = json!([]),
                1 if may_use(&queues, above) => queue["accessible_labels"] = json!(["gpu"]),
                _ => {}
            }
            queues.push(queue);
        }
        json!(queues)
    }
}

/// Whether a queue of a configuration may use the label `gpu`: as the nearest that says so.
fn may_use(queues: &[Value], path: &str) -> bool {
    let own = queues.iter().find(|of| of["path"] == path);
    let said = own.and_then(|own| own["accessible_labels"].as_array());
    match (said, path.rsplit_once('.')) {
        (Some(labels), _) => labels.contains(&json!("gpu")),
        (None, Some((above, _))) => may_use(queues, above),
        (None, None) => true,
    }
}

/// What reports say of a job that would enter a queue: refused if it, or one above, is stopped, is
/// being removed or is full. The queues above `from` have the job already.
fn admits(rows: &[Value], path: &str, from: Option<&str>) -> bool {
    rows.iter().all(|row| {
        let at = row["path"].as_str().expect("a path");
        let on = |path: &str| path == at || path.starts_with(&format!("{at}."));
        let jobs = row["jobs"].as_u64().expect("a number");
        let full = row["max_jobs"].as_u64().is_some_and(|max| jobs >= max);
        let open = row["state"].is_null() && row["draining"] == false;
        !on(path) || open && (!full || from.is_some_and(on))
    })
}

/// All pairs of an event (submission, move, reload, end) and a limit (state, `max_jobs` here or
/// above, removal, and labels of a move): one answer for all, and no reload takes from a job what
/// it has. A restart is the one exception: it asks for no limit, because the jobs run.
#[test]
fn every_event_meets_every_limit() {
    const CASES: u64 = 150;
    for seed in 0..CASES {
        for rules in ["refuse", "drain"] {
            play(seed, rules);
        }
    }
}

fn play(seed: u64, rules: &str) {
    let mut dice = Dice(seed * 2 + 1);
    let config = |queues: Value| {
        let mut config = capacity(queues);
        config["reload"] = json!(rules);
        config["placement"] = json!([{"rule": "specified", "create": false}]);
        config
    };
    let first = dice.queues();
    let mut host = host(&config(first.clone()));
    // The queues of the file, and those that left it and are still there.
    let mut named = first.as_array().expect("a list").clone();
    let mut in_force = first;
    let mut jobs: Vec<(u32, String)> = Vec::new();
    for step in 0..30 {
        let why = format!("seed {seed}, {rules}, step {step}");
        let report = host.request(json!({"op": "queues"}));
        let rows = report["queues"].as_array().expect("a list");
        let leaves: Vec<&str> = rows
            .iter()
            .filter(|row| row["leaf"] == true && row["path"] != "root")
            .filter_map(|row| row["path"].as_str())
            .collect();
        let any = |dice: &mut Dice| {
            let at = dice.below(leaves.len().max(1) as u64) as usize;
            leaves.get(at).copied()
        };
        match (dice.below(7), any(&mut dice)) {
            (0 | 1, Some(path)) => {
                let done = submit(&mut host, step, path);
                let may = admits(rows, path, None);
                assert_eq!(done.is_ok(), may, "{why}: {path}: {done:?}");
                if done.is_ok() {
                    jobs.push((step, path.to_string()));
                }
            }
            (2, Some(path)) if !jobs.is_empty() => {
                let at = dice.below(jobs.len() as u64) as usize;
                let label = ["", "gpu"][dice.below(2) as usize];
                let may_use = label.is_empty() || may_use(&named, path);
                move_job(&mut host, rows, &mut jobs[at], path, (label, may_use), &why);
            }
            (3, _) if !jobs.is_empty() => {
                let at = dice.below(jobs.len() as u64) as usize;
                end(&mut host, jobs.remove(at).0);
            }
            (4, _) => tick(&mut host),
            (5, _) => {
                host = restart(&config(in_force.clone()), &mut jobs, &why);
                named = in_force.as_array().expect("a list").clone();
            }
            _ => {
                let next = dice.queues();
                let done = reload(&mut host, &config(next.clone()));
                if done.is_ok() {
                    let next = next.as_array().expect("a list");
                    named.retain(|old| next.iter().all(|new| new["path"] != old["path"]));
                    named.extend(next.iter().cloned());
                    in_force = json!(next);
                }
                check_reload(&mut host, rows, &next, (rules, done), &why);
            }
        }
    }
    for (job, _) in jobs {
        end(&mut host, job);
    }
    check_empty(&mut host, &format!("seed {seed}, {rules}"));
}

/// Moves a job that asks for a label, if that is allowed.
fn move_job(
    host: &mut Host,
    rows: &[Value],
    job: &mut (u32, String),
    path: &str,
    (label, may_use): (&str, bool),
    why: &str,
) {
    let from = &job.1;
    let request = json!({"op": "enter", "queue": path, "from": from, "user": 0,
                         "labels": [label]});
    let done = host.engine.request(host.now, &request);
    let may = may_use && (from == path || admits(rows, path, Some(from)));
    assert_eq!(done.is_ok(), may, "{why}: {from} to {path}: {done:?}");
    if may {
        let row = rows.iter().find(|row| row["path"] == path).expect(path);
        let queue = QueueId(row["id"].as_u64().expect("an id") as u32);
        let moved = JobId(job.0);
        host.step(&[Event::JobMoved { job: moved, queue }]);
        job.1 = path.to_string();
    }
}

/// Starts an engine with the file in force and has the jobs come back: each in its queue, or if
/// that is no leaf of the file, in the queue of recovery. No limit refuses one.
fn restart(config: &Value, jobs: &mut [(u32, String)], why: &str) -> Host {
    let mut host = host(config);
    let queues = config["queues"].as_array().expect("a list");
    for (job, path) in jobs {
        let request = json!({"op": "place", "user": "u", "queue": path, "recovering": true});
        let reply = host.engine.request(host.now, &request);
        let reply = reply.unwrap_or_else(|refused| panic!("{why}: {path}: {refused}"));
        let mut of_file = queues.iter().filter_map(|queue| queue["path"].as_str());
        let is_leaf = of_file.clone().any(|of| of == path)
            && !of_file.any(|of| of.starts_with(&format!("{path}.")));
        let expected = if is_leaf {
            path.as_str()
        } else {
            "root.recovery"
        };
        assert_eq!(reply["path"], expected, "{why}: {path}");
        *path = expected.to_string();
        let id = reply["queue"].as_u64().expect("an id");
        host.job(*job, QueueId(id as u32));
    }
    host
}

/// Checks that no queue drains once no job is left.
fn check_empty(host: &mut Host, why: &str) {
    tick(host);
    let report = host.request(json!({"op": "queues"}));
    let rows = report["queues"].as_array().expect("a list");
    assert!(rows.iter().all(|row| row["draining"] == false), "{why}");
}

/// Checks a reload against the rows before it. A queue with jobs stays a leaf; by the Capacity
/// Scheduler's rules it stays, and a stopped one runs only if that is written.
fn check_reload(
    host: &mut Host,
    before: &[Value],
    next: &Value,
    (rules, done): (&str, Result<(), String>),
    why: &str,
) {
    assert!(rules == "refuse" || done.is_ok(), "{why}: {done:?}");
    for old in before.iter().filter(|old| old["path"] != "root") {
        let path = old["path"].as_str().expect("a path");
        let busy = old["leaf"] == true && old["jobs"] != 0;
        let new = row(host, path);
        if busy {
            let new = new
                .as_ref()
                .unwrap_or_else(|| panic!("{why}: {path} is lost"));
            assert_eq!(new["leaf"], true, "{why}: {path}");
            // The queue of recovery is in no file: it is promised nothing but what others leave.
            if path != "root.recovery" {
                assert_eq!(new["guaranteed"], old["guaranteed"], "{why}: {path}");
            }
            assert!(
                rules == "drain" || new["draining"] == old["draining"],
                "{why}: {path}"
            );
        }
        let stopped = !old["state"].is_null() && old["draining"] == false;
        if rules == "refuse" && done.is_ok() && stopped {
            let named = next
                .as_array()
                .expect("a list")
                .iter()
                .find(|of| of["path"] == path);
            let runs = |new: Value| new["state"].is_null() && new["draining"] == false;
            let runs = new.is_some_and(runs);
            let written = named.is_some_and(|of| of["state"] == "running");
            assert!(!runs || written, "{why}: {path} runs again");
        }
    }
}
