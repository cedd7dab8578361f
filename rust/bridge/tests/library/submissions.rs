//! Tests submissions to a ResourceManager by handle, with the shim's questions: the signature in
//! the ApplicationMaster's environment, and what outlives a restart.

use heddle::services;
use heddle_core::words::credits::Credits;
use heddle_economy::auth::Secret;
use heddle_economy::auth::canonical::Validity;
use heddle_economy::auth::job::{self, Bounds, Submission};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const START_MS: i64 = 1_800_000_000_000;
const NOW_MS: u64 = START_MS as u64 + 1_000;
/// What the engine's clock shows then.
const STEADY_MS: i64 = 5;
const PATIENCE: Duration = Duration::from_secs(20);

type Variables = BTreeMap<String, String>;

fn settings(folder: &Path, more: &Value) -> Value {
    let acl = folder.join("acl");
    if !acl.exists() {
        let users = "alice user alices-16-bytes.\nbob user bobs-16-bytes...\n";
        fs::write(&acl, users).expect("a file");
        fs::set_permissions(&acl, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    let mut api = json!({"acl_file": acl, "acl_settle_ms": 0});
    for (key, value) in more.as_object().into_iter().flatten() {
        api[key] = value.clone();
    }
    json!({
        "api": api,
        "store": format!("sqlite:{}", folder.join("economy").display()),
        "started_ms": START_MS,
    })
}

fn secret(user: &str) -> Secret {
    let text = match user {
        "alice" => "alices-16-bytes.",
        _ => "bobs-16-bytes...",
    };
    Secret::new(text.as_bytes())
}

const ALICES: Submission<'static> = Submission {
    user: "alice",
    queue: "root.alice",
    name: "word count",
};

/// Builds the environment like `heddle sign` and the template: an unset variable is `none`.
fn carried(parameters: Vec<(&'static str, String)>) -> Variables {
    let mut variables: Variables = job::parameters()
        .map(|name| (job::variable(name), "none".to_string()))
        .collect();
    let set = parameters.into_iter();
    variables.extend(set.map(|(name, value)| (job::variable(name), value)));
    variables
}

fn bounded(nonce: u64, job: &Submission<'_>) -> Variables {
    let bounds = Bounds {
        credits: Credits::from_micro(12_500_000),
        rate: Credits::from_micro(2_000_000),
        until_ms: NOW_MS + 7_200_000,
    };
    let validity = Validity {
        timestamp_ms: NOW_MS,
        expires_ms: NOW_MS + 3_600_000,
        nonce: format!("{nonce:016}"),
    };
    carried(job::sign_v2(&secret(job.user), job, &bounds, &validity))
}

/// A minimal ResourceManager for submissions.
struct Manager {
    service: u64,
    engine: u64,
}

impl Manager {
    fn new(settings: &Value) -> Manager {
        let setup = json!({
            "resource_types": ["memory-mb", "vcores"],
            "minimum_allocation": {"memory-mb": 1024, "vcores": 1},
            "epoch_ms": START_MS,
            "config": {"policy": "dynamic-priority"},
        });
        Manager {
            service: services::open(&settings.to_string()).expect("good settings"),
            engine: heddle::host::open(&setup.to_string()).expect("a good setup"),
        }
    }

    fn active(settings: &Value) -> Manager {
        let manager = Manager::new(settings);
        services::activate(manager.service, "rm", START_MS).expect("it is there");
        manager.until(|state| state["state"] == "connected");
        manager
    }

    fn pump(&self) -> Value {
        let engine = services::EngineHandle {
            handle: self.engine,
            now_ms: 0,
        };
        let state = services::pump(self.service, engine, NOW_MS as i64).expect("it is there");
        serde_json::from_str(&state).expect("JSON")
    }

    fn until(&self, good: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let state = self.pump();
            if good(&state) {
                return state;
            }
            assert!(begun.elapsed() < PATIENCE, "{state}");
            sleep(Duration::from_millis(10));
        }
    }

    fn ask(&self, job: &Submission<'_>, environment: &Variables, recovering: bool) -> Value {
        self.logged(job, environment, recovering).0
    }

    /// Returns the answer, and the log lines that come with it.
    fn logged(
        &self,
        job: &Submission<'_>,
        environment: &Variables,
        recovering: bool,
    ) -> (Value, String) {
        let submitted = json!({"user": job.user, "queue": job.queue, "name": job.name,
                               "environment": environment, "recovering": recovering});
        let answer = services::submit(
            self.service,
            &submitted.to_string(),
            NOW_MS as i64,
            STEADY_MS,
        );
        let answer = answer.expect("a good question");
        let mut answer: Value = serde_json::from_str(&answer).expect("JSON");
        let log = answer.as_object_mut().and_then(|it| it.remove("log"));
        (answer, log.unwrap_or_default().to_string())
    }

    /// Returns the reason for the refusal.
    fn refused(&self, job: &Submission<'_>, environment: &Variables) -> String {
        let answer = self.ask(job, environment, false);
        let reason = answer["refused"].as_str();
        reason
            .unwrap_or_else(|| panic!("taken: {answer}"))
            .to_string()
    }

    fn end(self) {
        services::close(self.service, NOW_MS as i64).expect("it is there");
        heddle::host::close(self.engine).expect("it is there");
    }
}

fn bounds() -> Value {
    json!({"bounds": {"credits_micro": 12_500_000, "rate_micro": 2_000_000,
                      "until_ms": STEADY_MS + 7_200_000}})
}

#[test]
fn a_signed_job_is_taken_once_with_its_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = Manager::active(&settings(folder.path(), &json!({})));
    let job = bounded(1, &ALICES);
    let (answer, log) = manager.logged(&ALICES, &job, false);
    assert_eq!(answer, bounds());
    // Logged before the acceptance is final, because the process may be killed.
    assert!(
        log.contains("heddle.audit ") && log.contains("submit"),
        "{log}"
    );
    assert!(manager.refused(&ALICES, &job).contains("accepted before"));
    // Validly signed, but for another user's queue: this uses up nothing (DP-39).
    let bobs = Submission {
        queue: "root.bob",
        ..ALICES
    };
    let why = manager.refused(&bobs, &bounded(4, &bobs));
    assert!(why.contains("role or queue"), "{why}");
    manager.end();
}

#[test]
fn every_change_of_what_was_signed_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path(), &json!({}));
    // A new one each time: after some failures it would only report too many failures.
    let refused = |job: &Submission<'_>, variables: &Variables| {
        let manager = Manager::new(&settings);
        let why = manager.refused(job, variables);
        manager.end();
        why
    };
    for name in job::V2 {
        let mut other = bounded(2, &ALICES);
        let value = other.get_mut(&job::variable(name)).expect("it is signed");
        let last = value.pop().expect("a value");
        value.push(if last == '1' { '2' } else { '1' });
        let why = refused(&ALICES, &other);
        assert!(why.contains("not the signature"), "{name}: {why}");
        other.insert(job::variable(name), "none".to_string());
        let why = refused(&ALICES, &other);
        assert!(why.contains(name), "{name}: {why}");
    }
    for other in [
        Submission {
            name: "word counts",
            ..ALICES
        },
        Submission {
            user: "bob",
            ..ALICES
        },
        Submission {
            queue: "root.bob",
            ..ALICES
        },
    ] {
        let why = refused(&other, &bounded(3, &ALICES));
        assert!(why.contains("not the signature"), "{other:?}: {why}");
    }
}

#[test]
fn jobs_without_a_signature_are_taken_unless_it_is_required() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = Manager::active(&settings(folder.path(), &json!({})));
    let unbounded = json!({ "bounds": null });
    for environment in [Variables::new(), carried(Vec::new())] {
        assert_eq!(plain.ask(&ALICES, &environment, false), unbounded);
    }
    let long = "n".repeat(1 << 20);
    let odd = Submission {
        user: &long,
        queue: "default",
        name: &long,
    };
    assert_eq!(plain.ask(&odd, &carried(Vec::new()), false), unbounded);
    plain.end();
    let strict = settings(
        folder.path(),
        &json!({"require_signed_jobs": true, "v1": false}),
    );
    let strict = Manager::active(&strict);
    assert!(
        strict
            .refused(&ALICES, &carried(Vec::new()))
            .contains("not signed")
    );
    let v1 = carried(job::sign_v1(&secret("alice"), "alice", NOW_MS));
    assert!(strict.refused(&ALICES, &v1).contains("switched off"));
    assert_eq!(strict.ask(&ALICES, &bounded(1, &ALICES), false), bounds());
    // Running jobs continue, signed or not.
    assert_eq!(strict.ask(&ALICES, &Variables::new(), true), unbounded);
    strict.end();
}

#[test]
fn version_1_says_who_submits_and_bounds_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = Manager::active(&settings(folder.path(), &json!({})));
    let v1 = carried(job::sign_v1(&secret("alice"), "alice", NOW_MS));
    assert_eq!(manager.ask(&ALICES, &v1, false), json!({"bounds": null}));
    assert!(manager.refused(&ALICES, &v1).contains("accepted before"));
    let bobs = carried(job::sign_v1(&secret("bob"), "alice", NOW_MS + 1));
    assert!(
        manager
            .refused(&ALICES, &bobs)
            .contains("not the signature")
    );
    manager.end();
}

#[test]
fn a_signature_starts_one_job_whatever_becomes_of_the_resource_manager() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path(), &json!({}));
    let first = Manager::active(&settings);
    let (job, lost) = (bounded(1, &ALICES), bounded(2, &ALICES));
    assert_eq!(first.ask(&ALICES, &job, false), bounds());
    first.end();
    // YARN's store has the second job; its ResourceManager died before our store had it.
    let second = Manager::new(&settings);
    assert_eq!(second.ask(&ALICES, &lost, true), bounds());
    services::activate(second.service, "rm", START_MS + 1).expect("it is there");
    second.until(|state| state["state"] == "connected");
    for job in [&job, &lost] {
        assert!(second.refused(&ALICES, job).contains("accepted before"));
    }
    assert_eq!(second.ask(&ALICES, &bounded(3, &ALICES), false), bounds());
    second.end();
    let third = Manager::new(&settings);
    services::activate(third.service, "rm", START_MS + 2).expect("it is there");
    third.until(|state| state["state"] == "connected");
    for nonce in 1..=3 {
        let job = bounded(nonce, &ALICES);
        assert!(
            third.refused(&ALICES, &job).contains("accepted before"),
            "{nonce}"
        );
    }
    third.end();
}

/// The bounds hold for one queue and one secret, also after a failover.
#[test]
fn a_recovered_job_whose_bounds_are_not_proven_any_more_spends_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = Manager::active(&settings(folder.path(), &json!({})));
    let nothing = json!({"bounds": {"credits_micro": 0, "rate_micro": 0, "until_ms": 0}});
    let moved = Submission {
        queue: "root.bob",
        ..ALICES
    };
    assert_eq!(manager.ask(&moved, &bounded(1, &ALICES), true), nothing);
    let mut cut = bounded(2, &ALICES);
    cut.remove(&job::variable(job::V2[6]));
    let (answer, log) = manager.logged(&ALICES, &cut, true);
    assert_eq!(answer, nothing);
    assert!(log.contains("spends nothing"), "{log}");
    let later = manager.pump()["log"].to_string();
    assert!(!later.contains("spends nothing"), "told once: {later}");
    manager.end();
}

#[test]
fn hostile_environments_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = Manager::active(&settings(folder.path(), &json!({})));
    for value in [
        "9".repeat(1 << 20),
        "\u{202e}".to_string(),
        "NaN".to_string(),
        "-1".to_string(),
    ] {
        for name in job::V2 {
            let mut environment = bounded(1, &ALICES);
            environment.insert(job::variable(name), value.clone());
            let why = manager.refused(&ALICES, &environment);
            assert!(!why.contains(&value) && why.len() < 300, "{name}: {why}");
        }
    }
    for submitted in ["", "{}", "[]", "{\"user\": 1}"] {
        let answer = services::submit(manager.service, submitted, 0, 0);
        assert!(answer.is_err(), "{submitted}");
    }
    assert!(
        services::submit(u64::MAX, "{}", 0, 0).is_err(),
        "no such service"
    );
    manager.end();
}
