//! Tests of the rules: Heddle's own, and those of the stock schedulers by their sources.

mod stock;

use super::*;
use crate::setup::Setup;
use serde_json::{Value, json};

fn queues(config: Value) -> Queues {
    Queues::new(
        &Setup::with_config(&config)
            .expect("a good configuration")
            .config,
    )
}

fn path(queues: &mut Queues, user: &str, requested: Option<&str>) -> Result<String, String> {
    let submission = Submission {
        user,
        requested,
        ..Submission::default()
    };
    path_of(queues, &submission)
}

fn path_of(queues: &mut Queues, submission: &Submission<'_>) -> Result<String, String> {
    let (id, _) = queues.place(submission)?;
    let queue = queues.get(id).expect("it was placed there");
    Ok(queue.config.path.clone())
}

#[test]
fn without_configuration_every_user_has_a_queue_and_default_means_none_named() {
    let mut queues = queues(json!({}));
    assert_eq!(
        path(&mut queues, "alice", Some("default")).as_deref(),
        Ok("root.alice")
    );
    assert_eq!(path(&mut queues, "bob", None).as_deref(), Ok("root.bob"));
    assert_eq!(
        path(&mut queues, "bob", Some("ads.east")).as_deref(),
        Ok("root.ads.east")
    );
    assert_eq!(
        path(&mut queues, "eve", Some("east")).as_deref(),
        Ok("root.ads.east")
    );
    assert_eq!(
        path(&mut queues, "a.b", None).as_deref(),
        Ok("root.a_dot_b")
    );
}

#[test]
fn a_named_queue_that_cannot_be_had_is_an_error_not_another_queue() {
    let mut queues = queues(json!({
        "queues": [{"path": "root.ads.east"}],
        "placement": [{"rule": "specified", "create": false}, {"rule": "user"}]
    }));
    let refusal = path(&mut queues, "alice", Some("root.abs")).expect_err("no such queue");
    assert!(refusal.contains("root.abs"), "{refusal}");
    let refusal = path(&mut queues, "alice", Some("root.ads")).expect_err("not a leaf");
    assert!(refusal.contains("below it"), "{refusal}");
    assert_eq!(
        path(&mut queues, "alice", None).as_deref(),
        Ok("root.alice")
    );
}

/// YARN's metrics drop blanks at the ends of a part and would take the queue for another.
#[test]
fn parts_with_blanks_at_an_end_are_refused_in_submissions_and_files() {
    for name in [
        "root.a ",
        "root. a",
        "root.a\u{a0}",
        "root.b .c",
        "root.a\tb",
        "root.a..b",
    ] {
        let mut queues = queues(json!({}));
        let refusal = path(&mut queues, "alice", Some(name)).expect_err(name);
        assert!(refusal.contains("correct it"), "{refusal}");
        let config = json!({"queues": [{"path": name}]});
        let refusal = Setup::with_config(&config).err().map(|e| e.to_string());
        assert!(refusal.is_some_and(|why| why.contains("blanks")), "{name}");
    }
    for name in ["root.a b", "root.a,b=c", "root.a:b"] {
        let mut queues = queues(json!({}));
        assert_eq!(path(&mut queues, "alice", Some(name)).as_deref(), Ok(name));
    }
}

/// A job of alice that comes back after a restart.
fn back(queue: &str) -> Submission<'_> {
    Submission {
        user: "alice",
        requested: Some(queue),
        recovering: true,
        ..Submission::default()
    }
}

#[test]
fn recovering_finds_the_queue_that_a_job_was_moved_to() {
    let mut queues = queues(json!({
        "queues": [{"path": "root.moved"}], "placement": [{"rule": "user"}]
    }));
    let found = queues.place(&back("root.moved")).expect("it is there");
    assert_eq!(
        queues.get(found.0).expect("found").config.path,
        "root.moved"
    );
    assert_eq!(
        path(&mut queues, "alice", Some("root.moved")).as_deref(),
        Ok("root.alice")
    );
}

#[test]
fn recovering_never_fails() {
    let mut queues = queues(json!({
        "placement": [{"rule": "specified", "create": false}]
    }));
    let (id, made) = queues.place(&back("root.gone")).expect("recovering");
    assert!(made);
    assert_eq!(queues.get(id).expect("made").config.path, RECOVERY_QUEUE);
    assert!(path(&mut queues, "alice", Some("root.gone")).is_err());
}

#[test]
fn a_reload_keeps_ids_and_lets_vanished_queues_drain() {
    let mut queues = queues(json!({"queues": [{"path": "root.a"}, {"path": "root.b"}]}));
    let b = queues.find("root.b").expect("configured").id;
    let config = json!({"queues": [{"path": "root.a", "weight": 3.0}]});
    queues.reload(&Setup::with_config(&config).expect("good").config);
    assert!(queues.get(b).expect("still there").draining);
    assert_eq!(
        queues.find("root.a").expect("configured").config.weight,
        3.0
    );
    assert!(path(&mut queues, "alice", Some("root.b")).is_err());
}
