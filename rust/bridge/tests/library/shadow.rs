//! A shadow beside an engine: it changes no decision, and none of its failures reaches the engine.

use crate::support::{Cluster, Library, SETUP};
use heddle::host::Host;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Keeps every answer of the library.
struct Heard {
    host: Host,
    answers: Vec<Vec<u8>>,
}

impl Library for Heard {
    fn step(&mut self, frame: &[u8]) -> Vec<u8> {
        let answer = Library::step(&mut self.host, frame);
        self.answers.push(answer.clone());
        answer
    }

    fn request(&mut self, now_ms: i64, json: &str) -> String {
        let reply = Library::request(&mut self.host, now_ms, json);
        self.answers.push(reply.clone().into_bytes());
        reply
    }
}

fn host() -> Heard {
    Heard {
        host: Host::open(SETUP).expect("the setup is right"),
        answers: Vec::new(),
    }
}

/// Has a host begin a shadow; returns its state.
fn cast(heard: &mut Heard, now_ms: i64, shadow: &Value) -> Value {
    let request = json!({"op": "castShadow", "shadow": shadow}).to_string();
    let reply = heard.host.request(now_ms, &request).expect("it is there");
    serde_json::from_str(&reply).expect("JSON")
}

fn candidate(config: &Value) -> Value {
    json!({"name": "next.json", "config": config, "users": {}, "labels": {}})
}

fn status(heard: &mut Heard) -> Value {
    let reply = heard.host.request(0, "{\"op\": \"shadow\"}");
    serde_json::from_str(&reply.expect("it is there")).expect("JSON")
}

/// The last report, which a status does not have: it may be large.
fn report(heard: &Heard) -> Value {
    Value::clone(&heard.host.shadow_report().1)
}

/// Waits until the shadow has heard everything, or was dropped.
fn settled(heard: &mut Heard) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let status = status(heard);
        if status["state"] == "dropped" || status["waiting_bytes"] == 0 {
            return status;
        }
        assert!(Instant::now() < end, "{status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn rounds(cluster: &mut Cluster, heard: &mut Heard, rounds: u32) {
    for _ in 0..rounds {
        cluster.round(heard);
    }
}

#[test]
fn it_changes_no_answer_of_the_engine() {
    for (seed, policy) in [
        "fifo",
        "fair",
        "hfsp",
        "dynamic-priority",
        "shufflewatcher",
        "reverse-adaptive",
    ]
    .iter()
    .enumerate()
    {
        let (mut alone, mut with) = (host(), host());
        let mut cluster = Cluster::new(seed as u64);
        rounds(&mut cluster, &mut alone, 80);
        let begun = cast(&mut with, 1_000, &candidate(&json!({"policy": policy})));
        assert_eq!(begun["state"], "on", "{begun}");
        let mut cluster = Cluster::new(seed as u64);
        rounds(&mut cluster, &mut with, 80);
        assert!(cluster.grants > 50, "{policy}: {}", cluster.grants);
        let differs = (0..alone.answers.len()).find(|at| alone.answers[*at] != with.answers[*at]);
        assert_eq!(differs, None, "{policy}, seed {seed}");
        let settled = settled(&mut with);
        assert_eq!(settled["state"], "on", "{policy}, seed {seed}: {settled}");
        let report = report(&with);
        let grants = &report["grants"];
        assert!(grants[0].as_u64() > Some(20), "{grants}");
        assert!(grants[1].as_u64() > Some(20), "{grants}");
        assert_eq!(settled["grants"], grants[1], "{settled}");
        for (counts, of) in [("starts", "start"), ("ends", "end")] {
            let ended = &report["ended"][of];
            let expected = json!([ended["earlier"], ended["later"], ended["equal"]]);
            assert_eq!(settled[counts], expected, "{settled}");
        }
        assert_eq!(settled["report"], Value::Null, "{settled}");
    }
}

/// Ignores invalid numbers, and names without a shadow.
#[test]
fn the_application_behind_a_number_reaches_the_report() {
    let mut heard = host();
    let mut cluster = Cluster::new(6);
    let named = |heard: &mut Heard, job: u64| {
        let id = format!("application_1_{job:04}");
        let request = json!({"op": "shadowJob", "job": job, "application": id});
        let answer = heard.host.request(0, &request.to_string());
        assert_eq!(answer.expect("it is there"), "null");
    };
    named(&mut heard, 0);
    cast(
        &mut heard,
        cluster.now_ms,
        &candidate(&json!({"policy": "fifo"})),
    );
    named(&mut heard, u64::MAX);
    (0..1_000).for_each(|job| named(&mut heard, job));
    rounds(&mut cluster, &mut heard, 200);
    settled(&mut heard);
    let report = report(&heard);
    let [ended, running] = ["jobs", "running"].map(|key| report[key].as_array().expect("a list"));
    let first = ended.iter().chain(running).next();
    let first = first.unwrap_or_else(|| panic!("no job: {report:#}"));
    let id = format!("application_1_{:04}", first["job"].as_u64().expect("one"));
    assert_eq!(first["application"], id);
}

#[test]
fn one_that_panics_is_dropped_alone() {
    let mut heard = host();
    let mut cluster = Cluster::new(1);
    let setup: Value = serde_json::from_str(SETUP).expect("JSON");
    let mut config = setup["config"].clone();
    config["testing"]["faults"] = json!(false);
    let reload = json!({"op": "reload", "config": config}).to_string();
    heard.request(1_000, &reload);
    config["testing"]["faults"] = json!(true);
    cast(&mut heard, 1_000, &candidate(&config));
    // The live engine ignores the fault, the shadow obeys it.
    cluster.send(&mut heard, &[heddle_core::Event::Fault(1)]);
    let end = Instant::now() + Duration::from_secs(60);
    while status(&mut heard)["state"] != "dropped" {
        assert!(Instant::now() < end, "{}", status(&mut heard));
        // Frames go over together.
        cluster.round(&mut heard);
    }
    let why = status(&mut heard)["why"].clone();
    assert!(
        why.as_str().is_some_and(|why| why.contains("panicked")),
        "{why}"
    );
    rounds(&mut cluster, &mut heard, 20);
    assert!(cluster.grants > 10);
    let waiting = status(&mut heard)["waiting_bytes"].clone();
    let name = json!({"op": "shadowJob", "job": 1, "application": "application_1_0001"});
    heard.request(1_000, &name.to_string());
    assert_eq!(
        status(&mut heard)["waiting_bytes"],
        waiting,
        "it hears nothing"
    );
}

#[test]
fn one_that_falls_behind_is_dropped_alone() {
    let mut heard = host();
    let mut slow = candidate(&json!({"policy": "fair"}));
    slow["queue_bytes_max"] = json!(0);
    cast(&mut heard, 1_000, &slow);
    let mut cluster = Cluster::new(1);
    rounds(&mut cluster, &mut heard, 20);
    let status = status(&mut heard);
    assert_eq!(status["state"], "dropped");
    assert_eq!(status["why"], "it could not keep up with the cluster");
    assert!(cluster.grants > 10);
}

#[test]
fn a_wrong_candidate_is_said_and_changes_nothing() {
    let mut heard = host();
    let refused = cast(&mut heard, 0, &candidate(&json!({"policy": "fare"})));
    assert_eq!(refused["state"], "dropped");
    let why = refused["why"].as_str().expect("a reason");
    assert!(why.contains("did you mean `fair`"), "{why}");
    rounds(&mut Cluster::new(3), &mut heard, 10);
}

/// The host could not read it.
#[test]
fn a_candidate_without_a_text_is_said_too() {
    let mut heard = host();
    let wrong = "heddle.shadow names /nowhere, which is not a readable file";
    let dropped = cast(&mut heard, 0, &json!({"name": "/nowhere", "wrong": wrong}));
    assert_eq!(dropped["state"], "dropped");
    assert_eq!(dropped["name"], "/nowhere");
    assert_eq!(dropped["why"], wrong);
    rounds(&mut Cluster::new(3), &mut heard, 10);
}

/// Jobs that never get room under the candidate would fill the ResourceManager's memory.
#[test]
fn one_in_which_ended_jobs_pile_up_is_dropped_alone() {
    let mut heard = host();
    let mut closed = candidate(&json!({
        "policy": "fair",
        "queues": [{"path": "root", "max_share": {"memory-mb": 0, "vcores": 0}}],
    }));
    closed["unfinished_max"] = json!(3);
    cast(&mut heard, 0, &closed);
    let mut cluster = Cluster::new(4);
    let end = Instant::now() + Duration::from_secs(60);
    while status(&mut heard)["state"] != "dropped" {
        assert!(Instant::now() < end, "{}", status(&mut heard));
        cluster.round(&mut heard);
    }
    let why = status(&mut heard)["why"].clone();
    let said = why
        .as_str()
        .is_some_and(|why| why.starts_with("3 jobs that have ended wait on"));
    assert!(said, "{why}");
}

#[test]
fn the_same_candidate_goes_on_and_another_begins_anew() {
    let mut heard = host();
    let mut cluster = Cluster::new(5);
    let fair = candidate(&json!({"policy": "fair"}));
    cast(&mut heard, cluster.now_ms, &fair);
    rounds(&mut cluster, &mut heard, 40);
    settled(&mut heard);
    let before = report(&heard)["since_ms"].clone();
    cast(&mut heard, cluster.now_ms, &fair);
    settled(&mut heard);
    assert_eq!(report(&heard)["since_ms"], before);
    cast(
        &mut heard,
        cluster.now_ms,
        &candidate(&json!({"policy": "fifo"})),
    );
    rounds(&mut cluster, &mut heard, 40);
    settled(&mut heard);
    let report = report(&heard);
    assert_ne!(report["since_ms"], before, "{report}");
    assert_eq!(report["policy"][1], "fifo");
    assert_eq!(cast(&mut heard, cluster.now_ms, &Value::Null), Value::Null);
}

#[test]
fn times_at_the_ends_of_their_range_do_not_reach_the_engine() {
    let mut heard = host();
    cast(&mut heard, 0, &candidate(&json!({"policy": "fair"})));
    let mut cluster = Cluster::new(8);
    for now_ms in [i64::MIN, 0, i64::MAX, i64::MAX, 5_000] {
        cluster.now_ms = now_ms;
        cluster.send(&mut heard, &[heddle_core::Event::Tick]);
        cluster.send(&mut heard, &[heddle_core::Event::Tick]);
    }
    heard.request(6_000, "{\"op\": \"queues\"}");
}
