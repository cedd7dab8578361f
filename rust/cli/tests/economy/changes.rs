//! Tests the commands that change something, and who may give them.

use crate::site::{Site, words};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_bid_counts_from_the_next_interval() {
    let site = Site::market();
    let said = site.said("alice", &["bid", "alice", "0.5"]);
    assert_eq!(words(&said, "rate"), ["rate", "0.5"]);
    assert_eq!(site.account("root.alice")["spending_rate"], 0.5);
    site.until(20_500);
    assert_eq!(site.said("alice", &["price"]), "1.5\n");
    let json = site.json("root", &["bid", "root.bob", "1.25"]);
    assert_eq!(json["rate_micro"], 1_250_000);
}

#[test]
fn only_amounts_that_are_numbers_leave_the_machine() {
    let site = Site::market();
    let before = site.heard().len();
    for rate in [
        "NaN",
        "inf",
        "1e3",
        "-1",
        "0.0000001",
        "1000000001",
        "",
        "0x10",
        "1,5",
    ] {
        let refused = site.refused(2, "alice", &["bid", "alice", "--", rate]);
        assert!(refused.contains("credits"), "{rate}: {refused}");
    }
    for more in ["5", "-5", "+", "++5", "+-5", "+NaN"] {
        let refused = site.refused(2, "root", &["budget", "alice", more]);
        assert!(refused.contains("+CREDITS"), "{more}: {refused}");
    }
    assert_eq!(site.heard().len(), before);
}

#[test]
fn credits_are_added_by_an_administrator() {
    let site = Site::market();
    let refused = site.refused(1, "alice", &["budget", "alice", "+12"]);
    assert!(
        refused.contains("role or queue does not allow it"),
        "{refused}"
    );
    let before = site.account("root.alice")["budget_micro"].as_i64().unwrap();
    let said = site.said("root", &["budget", "alice", "+12.000001"]);
    assert!(said.starts_with("budget"), "{said}");
    let after = site.account("root.alice")["budget_micro"].as_i64();
    assert_eq!(after, Some(before + 12_000_001));
    // An account holds at most 1e9.
    let refused = site.refused(1, "root", &["budget", "alice", "+1000000000"]);
    assert!(refused.contains("value"), "{refused}");
    let refused = site.refused(1, "root", &["budget", "nobody", "+1"]);
    assert!(refused.contains("addQueue"), "{refused}");
}

#[test]
fn queues_come_and_go() {
    let site = Site::market();
    assert_eq!(
        site.said("root", &["queue", "add", "carol"]),
        "root.carol added, with nothing in its account\n"
    );
    assert_eq!(site.account("root.carol")["budget_micro"], 0);
    let refused = site.refused(1, "root", &["queue", "add", "root.carol"]);
    assert!(
        refused.contains("the queue has an account already"),
        "{refused}"
    );
    site.said("root", &["budget", "carol", "+2.5"]);
    assert_eq!(
        site.said("root", &["queue", "remove", "carol"]),
        "root.carol removed; 2.5 credits that it held are forfeited\n"
    );
    assert_eq!(site.account("root.carol"), Value::Null);
    site.refused(1, "root", &["queue", "remove", "carol"]);
    site.refused(1, "bob", &["queue", "add", "dave"]);
    let json = site.json("root", &["queue", "add", "dave"]);
    assert_eq!(json["queue"], "root.dave");
    let json = site.json("root", &["queue", "remove", "dave"]);
    assert_eq!(json["removed"]["queue"], "root.dave");
}

#[test]
fn what_was_sent_once_counts_once() {
    let site = Site::market();
    site.said("root", &["budget", "alice", "+5"]);
    let heard = site.heard().pop().expect("it was sent");
    let before = site.account("root.alice")["budget_micro"].clone();
    let mut stream = TcpStream::connect(site.url().trim_start_matches("http://")).expect("there");
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: rm\r\nConnection: close\r\nAuthorization: {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        heard.method,
        heard.target,
        heard.authorization.expect("it was signed"),
        heard.body.len()
    );
    stream.write_all(head.as_bytes()).expect("it listens");
    stream.write_all(&heard.body).expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("accepted before"), "{answer}");
    assert_eq!(site.account("root.alice")["budget_micro"], before);
    // The command creates a new signature each time.
    site.said("root", &["budget", "alice", "+5"]);
    let nonces: Vec<_> = site
        .heard()
        .into_iter()
        .filter_map(|heard| heard.authorization)
        .collect();
    assert_ne!(nonces[nonces.len() - 1], nonces[nonces.len() - 2]);
}

#[test]
fn a_configuration_is_applied_and_rolled_back() {
    let site = Site::market();
    let kept = site.path("heddle.json");
    let first = std::fs::read_to_string(&kept).expect("the site's own");
    let refused = site.refused(1, "root", &["rollback", "--yes"]);
    assert!(refused.contains("there is no earlier file"), "{refused}");
    let next = site.path("next.json");
    // Its form stays as well.
    let text = "{\n  \"policy\": \"hfsp\"\n}\n";
    std::fs::write(&next, text).expect("a scratch folder");
    let file = next.display().to_string();
    let order = || site.json("root", &["infos"])["policy"]["order"].clone();
    // The service may answer with a report that is a moment old.
    let until = |expected: &str| {
        let end = Instant::now() + Duration::from_secs(30);
        while order() != expected {
            assert!(Instant::now() < end, "{} is not {expected}", order());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let output = site.run("root", &["apply", &file]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let asked = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(asked.contains("`--yes`"), "{asked}");
    assert_eq!(order(), "fifo", "nobody said yes");
    let refused = site.refused(1, "alice", &["apply", "--yes", &file]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    let said = site.said("root", &["apply", "--yes", &file]);
    assert!(said.contains("`heddle rollback`"), "{said}");
    // The site started with a store and with rules for its interface.
    assert!(
        said.starts_with("in force except `api`, `store`, which changes at"),
        "{said}"
    );
    until("hfsp");
    assert_eq!(std::fs::read_to_string(&kept).expect("it is kept"), text);
    site.said("root", &["rollback", "--yes"]);
    until("fifo");
    assert_eq!(std::fs::read_to_string(&kept).expect("it is kept"), first);
    // A second roll back undoes the first.
    site.said("root", &["rollback", "--yes"]);
    until("hfsp");
    std::fs::write(&next, "{\"policy\": \"fare\"}").expect("a scratch folder");
    let refused = site.refused(1, "root", &["apply", "--yes", &file]);
    assert!(refused.contains("did you mean `fair`"), "{refused}");
    assert_eq!(std::fs::read_to_string(&kept).expect("it is kept"), text);
}
