//! Tests malicious names: from a real server as far as it accepts them, and from one that cannot be
//! trusted.

use crate::site::{Site, heddle};
use crate::trouble::{answering, answering_in_turn};
use serde_json::{Value, json};
use std::process::Output;

/// Clears the screen, sets the title and reverses the direction of writing, all in a queue's name.
const NAME: &str = "root.\u{1b}[2J\u{1b}]0;gone\u{7}\u{9b}31m\r\n\u{202e}gpj\u{200b}";

/// Asserts that a command's output has no character that a terminal obeys.
fn harmless(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(all).expect("UTF-8");
    let odd = |c: &char| (c.is_control() && *c != '\n') || "\u{202e}\u{200b}".contains(*c);
    assert_eq!(text.chars().find(odd), None, "{text:?}");
    text
}

fn serving(body: &Value) -> String {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    answering(Some(Box::leak(
        format!("{head}{body}").into_bytes().into_boxed_slice(),
    )))
}

fn run(url: &str, arguments: &[&str]) -> Output {
    let mut command = heddle(arguments);
    command
        .env("HEDDLE_URL", url)
        .env("HEDDLE_USER", "root")
        .env("HEDDLE_SECRET", "s");
    command.output().expect("it starts")
}

/// A server's complete answer, with one name and one text in all places.
fn lies() -> Value {
    let account = json!({
        "queue": NAME, "budget": NAME, "rate": NAME, "income_per_hour": NAME, "last_debit": NAME,
        "share": NAME, "quota": [NAME], "used_slots": NAME, "pending_slots": NAME,
        "used_slots_by_pool": NAME,
    });
    json!({
        "price": NAME, "now_ms": NAME, "queue": NAME, "job": NAME, "sentence": NAME,
        "account": account, "scheduling": {"jobs": NAME, "runnable_jobs": [NAME]},
        "queues": [{"queue": NAME, "account": account, "scheduling": null},
                   {"queue": [NAME], "account": null, "scheduling": {"running_containers": NAME}},
                   NAME, null],
        "application": NAME, "user": NAME, "name": NAME,
        "jobs": [{"job": NAME, "queue": NAME, "waits_for": NAME, "name": NAME,
                  "application": NAME, "user": NAME, "pending": NAME, "ahead": [NAME],
                  "prediction": {"start": NAME, "end": {"calibrated": true, "expected_ms": NAME}},
                  "progress_per_mille": NAME}, 7],
        "waits": [{"sentence": NAME, "since_ms": NAME}, {}],
        "trace": [{"at_ms": NAME, "stage": NAME, "what": NAME, "sentence": NAME}],
        "rows": [{"queue": NAME, "at_ms": NAME, "quota": NAME, "debit": NAME}, 3],
        "intervals": [{"at_ms": NAME, "price": NAME}],
        "status": NAME, "journal": NAME, "shadow": [NAME],
        "samples": [7, {"granted": {"host": NAME}, "evicted": NAME, "waiting": {"jobs": NAME}}],
        "nodes": [{"name": NAME, "rack": NAME, "label": NAME, "containers": NAME, "aside": NAME,
                   "memory_mb": NAME, "vcores": [NAME]}, {"node": NAME}, 7],
        "complete": true, "next": null, "next_from_ms": null, "slots": [NAME], "budget": NAME,
    })
}

/// Every command that asks a server.
const COMMANDS: [&[&str]; 16] = [
    &["price"],
    &["price", "--history"],
    &["info", "x"],
    &["infos"],
    &["bid", "x", "1"],
    &["advise", "x", "--slots", "1"],
    &["budget", "x", "+1"],
    &["queue", "add", "x"],
    &["queue", "remove", "x"],
    &["income"],
    &["ledger"],
    &["jobs"],
    &["explain", "1"],
    &["explain", "application_1_0001"],
    &["top", "--once"],
    &["ledger", "--format", "json"],
];

/// Status 200 without an answer of Heddle's: a proxy's, or a server's that has lost it.
#[test]
fn no_command_takes_an_answer_without_content_for_success() {
    for body in ["", "null", "[]", "{}", "7", "\"ok\"", "{\"error\": null}"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = format!("{head}{body}").into_bytes().into_boxed_slice();
        let url = answering(Some(Box::leak(answer)));
        for command in COMMANDS {
            for json in [&[][..], &["--json"][..]] {
                let output = run(&url, &[command, json].concat());
                let note = format!("{command:?} {json:?} {body:?}: {output:?}");
                assert_eq!(output.status.code(), Some(3), "{note}");
                assert!(output.stdout.is_empty(), "{note}");
                let told = harmless(&output);
                assert!(
                    told.contains("the answer is not Heddle's (HTTP status 200)"),
                    "{note}"
                );
                assert!(told.contains("a ResourceManager with Heddle"), "{note}");
                let is_change =
                    ["bid", "budget"].contains(&command[0]) || command[1..].first() == Some(&"add");
                assert_eq!(
                    told.contains("whether it was done is not known"),
                    is_change,
                    "{note}"
                );
            }
        }
    }
}

/// A removal has no body, so its status must prove it.
#[test]
fn a_removal_is_done_only_where_the_status_says_so() {
    let body = lies().to_string();
    let queue = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let empty = |status: &str| {
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    };
    for (answer, code) in [(empty("200 OK"), 3), (empty("204 No Content"), 0)] {
        let answers = [queue.clone(), answer];
        let output = run(
            &answering_in_turn(answers.to_vec()),
            &["queue", "remove", "x"],
        );
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let unknown = harmless(&output).contains("whether it was done is not known");
        assert_eq!(unknown, code == 3, "{output:?}");
    }
}

#[test]
fn no_command_passes_on_what_a_terminal_obeys() {
    let url = serving(&lies());
    for command in COMMANDS {
        let output = run(&url, command);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {output:?}");
        let text = harmless(&output);
        assert!(
            text.contains("u{1b}") || text.contains("u001b"),
            "{command:?}: {text}"
        );
        if command[0] == "ledger" {
            continue;
        }
        let json = run(&url, &[command, &["--json"]].concat());
        assert_eq!(json.status.code(), Some(0), "{command:?}: {json:?}");
        harmless(&json);
        serde_json::from_slice::<Value>(&json.stdout).expect("JSON");
    }
}

#[test]
fn json_means_what_the_server_meant() {
    let output = run(&serving(&lies()), &["infos", "--json"]);
    harmless(&output);
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON"),
        lies()
    );
}

#[test]
fn errors_are_no_better_than_answers() {
    let body = json!({"error": {"what": NAME, "where": NAME, "expected": NAME}}).to_string();
    let head = format!(
        "HTTP/1.1 409 No\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer: &'static [u8] = Box::leak(format!("{head}{body}").into_bytes().into_boxed_slice());
    let output = run(&answering(Some(answer)), &["infos"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(harmless(&output).matches("\\u{202e}").count(), 3);
}

#[test]
fn pages_that_lead_back_are_not_followed_for_ever() {
    let mut lies = lies();
    (lies["next"], lies["next_from_ms"]) = (json!(5), json!(5));
    lies["next_from_interval"] = json!(5);
    let url = serving(&lies);
    // First page 5, then page 5 again.
    let output = run(&url, &["ledger"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("leads back"));
    assert_eq!(run(&url, &["jobs"]).status.code(), Some(0));
}

#[test]
fn deep_and_huge_answers_are_refused_and_not_died_of() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        deep.len()
    );
    let answer: &'static [u8] = Box::leak(format!("{head}{deep}").into_bytes().into_boxed_slice());
    assert_eq!(
        run(&answering(Some(answer)), &["infos"]).status.code(),
        Some(3)
    );
}

#[test]
fn a_real_server_and_a_queue_that_reads_backwards() {
    let site = Site::market();
    let name = "ev\u{202e}il";
    let added = site.run("root", &["queue", "add", name]);
    assert_eq!(added.status.code(), Some(0), "{added:?}");
    assert_eq!(
        harmless(&added),
        "root.ev\\u{202e}il added, with nothing in its account\n"
    );
    assert!(harmless(&site.run("root", &["infos"])).contains("root.ev\\u{202e}il"));
    let json = site.run("root", &["info", name, "--json"]);
    harmless(&json);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["queue"], format!("root.{name}"));
    for odd in ["a b", "a\u{1b}[2J", "a..b", "", "a\nb", &"x".repeat(300)] {
        let refused = site.run("root", &["queue", "add", odd]);
        assert_eq!(refused.status.code(), Some(1), "{odd:?}: {refused:?}");
        harmless(&refused);
    }
    // A name with characters of a path or a query is still only a name.
    for odd in ["x/../configuration", "a/b", "a?x=1", "a%2e", "a#b"] {
        let refused = site.run("root", &["info", odd]);
        assert_eq!(refused.status.code(), Some(1), "{odd:?}: {refused:?}");
        // No name contains two consecutive dots.
        let said = if odd.contains("..") {
            "no name of a queue"
        } else {
            "no such queue"
        };
        assert!(harmless(&refused).contains(said), "{odd}: {refused:?}");
    }
}
