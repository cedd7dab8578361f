//! Tests accounts that outlive engines and ResourceManagers: real engines by handle, a real store,
//! and requests signed like those of clients. Expected values follow by hand from bids and
//! intervals.

use crate::manager::*;
use heddle::constant::FAULT_PANIC;
use heddle::host::{self, ENGINES};
use heddle_core::words::event::Event;
use heddle_economy::auth::{Secret, v1};
use serde_json::json;
use std::fs;

#[test]
fn accounts_and_accepted_requests_outlive_a_resource_manager() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut first = Manager::active(&config, 0);
    first.run(500);
    let bid_ms = first.wall_ms() + 1;
    let (status, text) = first.published("setSpending=0.5&queue=alice", bid_ms);
    assert_eq!(status, 200, "{text}");
    // The first tick granted six slots at 1 credit, the later ones at 0.5.
    first.run(20_500);
    assert_eq!(first.budget(), 94_000_000);
    first.run(60_500);
    assert_eq!(first.budget(), 88_000_000);
    let books = first.until_books_are("connected");
    assert_eq!(books["interval"], 4, "{books}");
    assert_eq!(first.end()["intervals_behind"], 0);

    // A second ResourceManager, whose engine knows only the configuration.
    let mut second = Manager::new(&config, 100_000);
    second.run(1_000);
    assert_eq!(second.budget(), 100_000_000, "not active, nothing read");
    second.activate();
    second.until_books_are("connected");
    assert_eq!(second.budget(), 88_000_000);
    let (status, text) = second.published("setSpending=0.5&queue=alice", bid_ms);
    assert_eq!(status, 401, "a request of the first one, again: {text}");
    // The bid is the stored one: six slots at 0.5, in an interval that begins at the next tick.
    second.run(21_500);
    assert_eq!(second.budget(), 85_000_000);
    second.until_books_are("connected");
    second.end();

    let place = format!("sqlite:{}", folder.path().join("economy").display());
    let mut store = heddle_economy::store::open(&place, None).expect("a good place");
    let book = store.load().expect("it can be read");
    book.check().expect("grants - debits = budgets");
    assert_eq!(book.accounts["root.alice"].budget.micro(), 85_000_000);
    let debits: i64 = store
        .ledger(&heddle_economy::record::LedgerQuery::default())
        .expect("it can be read")
        .iter()
        .map(|row| row.row.debit.micro())
        .sum();
    assert_eq!(debits, 15_000_000, "each interval once");
}

/// A host names nodes only where they are not known by its mark of them.
#[test]
fn names_of_nodes_are_wanted_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    config["api"]["trust_web_user"] = json!(true);
    let mut manager = Manager::active(&config, 0);
    manager.run(1_000);
    let mut head = json!({"method": "GET", "path": "/heddle/v1/nodes", "host": "h",
        "user": "root", "names_later": true});
    let names = (json!({"names_wanted": true}), String::new());
    assert_eq!(manager.answered(&head), names);
    let mut nobody = head.clone();
    nobody["user"] = json!(null);
    assert_eq!(manager.answered(&nobody).0["status"], 401);
    head.as_object_mut()
        .expect("an object")
        .remove("names_later");
    head["nodes_mark"] = json!("7");
    let wanted = (json!({"nodes_wanted": true}), String::new());
    assert_eq!(manager.answered(&head), wanted);
    head["nodes"] = json!([[0, "host-0:1", 0, "/a", ""]]);
    let told = manager.answered(&head);
    assert_eq!(told.0["status"], 200, "{}", told.1);
    assert!(told.1.contains("host-0:1"), "{}", told.1);
    head["nodes"] = json!(null);
    assert!(manager.answered(&head).1.contains("host-0:1"));
    head["nodes_mark"] = json!("8");
    assert_eq!(manager.answered(&head), wanted);
    manager.end();
}

/// After a restart the store answers questions about earlier prices and charges.
#[test]
fn prices_and_charges_outlive_a_resource_manager() {
    for kind in ["sqlite", "file"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(folder.path());
        config["store"] = json!(format!("{kind}:{}", folder.path().join("past").display()));
        config["api"]["trust_web_user"] = json!(true);
        let mut first = Manager::active(&config, 0);
        // An interval ends with the first tick, then one every 20 s.
        first.run(40_500);
        first.until_books_are("connected");
        assert_eq!(first.remembers(3), [500, 20_500, 40_500], "{kind}");
        let (ledger, prices) = (first.shown("ledger"), first.shown("price/history"));
        assert_eq!(ledger["complete"], true);
        let charged = ledger["rows"].as_array().expect("a list").iter();
        let charged: Vec<_> = charged
            .filter_map(|row| row["debit_micro"].as_i64())
            .collect();
        assert_eq!(
            charged.iter().sum::<i64>(),
            12_000_000,
            "six slots at 1, twice"
        );
        first.end();

        let mut second = Manager::active(&config, 100_000);
        second.remembers(3);
        assert_eq!(second.shown("ledger"), ledger, "{kind}");
        assert_eq!(second.shown("price/history"), prices, "{kind}");
        second.run(20_500);
        second.until_books_are("connected");
        let times = [500, 20_500, 40_500, 100_500, 120_500];
        assert_eq!(second.remembers(5), times, "{kind}: none twice");
        let prices = second.shown("price/history");
        assert_eq!(prices["complete"], true);

        // The second stays alive but stuck while a third takes over with a smaller history.
        config["api"]["history_intervals"] = json!(2);
        let mut third = Manager::active(&config, 200_000);
        assert_eq!(third.remembers(2), times[3..], "{kind}");
        let last = third.shown("price/history");
        assert_eq!(last["complete"], false, "{kind}: there were three before");
        assert_eq!(last["intervals"][0], prices["intervals"][3]);
        third.run(500);
        third.until_books_are("connected");
        assert_eq!(third.remembers(2), [120_500, 200_500]);
        third.end();
        second.end();
    }
}

#[test]
fn an_engine_that_is_made_anew_has_its_accounts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    config["testing"] = json!({"faults": true});
    let mut manager = Manager::active(&config, 0);
    manager.run(20_500);
    assert_eq!(manager.budget(), 94_000_000);
    let fault = Event::Fault(FAULT_PANIC);
    let frame = manager.writer.frame(20_500, 999, 64, &[fault]).to_vec();
    let mut out = vec![0; heddle::frame::output_bytes_max(64)];
    let lost = ENGINES.with(manager.engine, |host| host.step(&frame, &mut out));
    lost.expect("it is there").expect_err("it panics");
    host::close(manager.engine).expect("it is there");
    let (status, _) = manager.published("infos", manager.wall_ms() + 1);
    assert!(status >= 400, "no engine answers");
    // Without an engine the host has no handle. That is nothing to warn of: the next one is filled.
    manager.engine = 0;
    let told = manager.pump()["log"].to_string();
    assert!(!told.contains("accounts"), "{told}");
    manager.engine = host::open(&manager.setup.clone()).expect("a good setup");
    manager.tell_engine();
    assert_eq!(
        manager.budget(),
        100_000_000,
        "a new one knows the configuration"
    );
    manager.pump();
    assert_eq!(manager.budget(), 94_000_000);
    manager.end();
}

#[test]
fn without_its_store_the_cluster_goes_on_and_changes_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let place = folder.path().join("not-there-yet");
    config["store"] = json!({"place": format!("sqlite:{}", place.join("economy").display())});
    let mut manager = Manager::new(&config, 0);
    manager.activate();
    manager.run(20_500);
    manager.until_books_are("unreachable");
    assert_eq!(manager.budget(), 94_000_000, "slots are given and charged");
    let (status, text) = manager.published("setSpending=0.5&queue=alice", START_MS + 30_000);
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("store"), "{text}");
    // The folder appears: from then on the store keeps everything.
    fs::create_dir(&place).expect("a folder");
    manager.until_books_are("connected");
    let (status, text) = manager.published("setSpending=0.5&queue=alice", START_MS + 30_001);
    assert_eq!(status, 200, "{text}");
    manager.end();
}

/// The answer carries the audit line, because a ResourceManager may be killed right after it.
#[test]
fn the_audit_line_of_a_change_comes_with_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manager = Manager::active(&config(folder.path()), 0);
    manager.run(500);
    let bid = manager.signed("setSpending=0.5&queue=alice", manager.wall_ms() + 1);
    let (head, text) = manager.answered(&bid);
    assert_eq!(head["status"], 200, "{text}");
    let lines = head["log"].as_array().expect("lines").iter();
    let mut lines = lines.filter_map(|line| line[1].as_str());
    let is_audit = |line: &str| line.starts_with("heddle.audit ") && line.contains("setSpending");
    assert!(lines.any(is_audit), "{head}");
    let books = manager.pump();
    let told = books["log"].to_string();
    assert!(!told.contains("setSpending"), "told once: {told}");
    manager.end();
}

#[test]
fn a_former_active_one_is_fenced_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut former = Manager::active(&config, 0);
    let active = Manager::active(&config, 50_000);
    former.run(500);
    former.until_books_are("fenced");
    let (status, text) = former.published("setSpending=2&queue=alice", START_MS + 70_000);
    assert_eq!(status, 503, "{text}");
    let (status, text) = active.published("setSpending=2&queue=alice", START_MS + 70_001);
    assert_eq!(status, 200, "{text}");
    former.end();
    active.end();
}

/// A former active ResourceManager that does not know it yet accepts no change that it cannot
/// store.
#[test]
fn a_former_active_one_that_does_not_know_yet_keeps_no_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let former = Manager::active(&config, 0);
    let active = Manager::active(&config, 50_000);
    let (status, text) = former.published("setSpending=2&queue=alice", START_MS + 70_000);
    assert_eq!(status, 503, "{text}");
    former.end();
    active.end();
}

#[test]
fn thousands_of_accounts_are_not_too_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let queues = config["queues"].as_array_mut().expect("a list");
    for i in 0..5_000 {
        queues.push(json!({"path": format!("root.user{i}"), "budget": 1.0, "income": 1.0}));
    }
    let mut first = Manager::active(&config, 0);
    let (status, text) = first.published("setSpending=0.5&queue=alice", START_MS + 1);
    assert_eq!(status, 200, "{text}");
    first.run(20_500);
    let books = first.until_books_are("connected");
    assert_eq!(books["lost_intervals"], 0, "{books}");
    assert_eq!(books["interval"], 2, "{books}");
    first.end();
    // They are in the books now; another engine lists them again.
    let mut second = Manager::new(&config, 100_000);
    second.activate();
    second.until_books_are("connected");
    second.run(500);
    let books = second.until_books_are("connected");
    assert_eq!(books["lost_intervals"], 0, "{books}");
    second.end();
}

#[test]
fn a_queue_that_no_book_can_name_costs_the_others_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut manager = Manager::active(&config, 0);
    let placed = |queue: &str| {
        let place = json!({"op": "place", "user": "bob", "queue": queue}).to_string();
        let reply = ENGINES.with(manager.engine, |host| host.request(0, &place));
        reply.expect("it is there")
    };
    placed("root.a\tb").expect_err("nor one with a control character");
    let long = format!("root.{}", "x".repeat(2_000));
    placed(&long).expect_err("the engine makes none that the books do not take");
    manager.run(20_500);
    assert_eq!(manager.budget(), 94_000_000);
    let books = manager.until_books_are("connected");
    assert_eq!(
        (&books["lost_intervals"], &books["interval"]),
        (&json!(0), &json!(2))
    );
    manager.end();
}

#[test]
fn signed_questions_do_not_take_the_room_of_charges_while_the_store_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let place = folder.path().join("comes-and-goes");
    fs::create_dir(&place).expect("a folder");
    config["store"] = json!(format!("sqlite:{}", place.join("economy").display()));
    let mut manager = Manager::active(&config, 0);
    manager.run(500);
    manager.until_books_are("connected");
    // The folder is missing, so no transaction can begin.
    let away = folder.path().join("away");
    fs::rename(&place, &away).expect("a folder moves");
    for i in 0..2_000 {
        let (status, text) = manager.published("info=alice", manager.wall_ms() + i);
        assert_eq!(status, 200, "{text}");
        if i % 100 == 0 {
            manager.pump();
        }
    }
    manager.run(40_500);
    manager.reach("unreachable");
    assert_eq!(manager.budget(), 88_000_000, "charged twice 6");
    fs::rename(&away, &place).expect("a folder moves");
    let books = manager.until_books_are("connected");
    assert_eq!(
        (&books["lost_intervals"], &books["interval"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(manager.budget(), 88_000_000);
    manager.end();
}

#[test]
fn auditors_read_who_did_what_and_the_books_say_who_granted() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut manager = Manager::active(&config, 0);
    let text = v1::signed_text(
        "addBudget=5&queue=alice",
        "root",
        &(START_MS + 1).to_string(),
    );
    let signature = v1::signature(&Secret::new(b"roots-secret"), &text);
    let head = json!({"method": "GET", "path": "/scheduler", "query": text, "host": "h",
        "authorization": v1::header(&signature), "address": "[::1]"});
    let (head, _) = manager.answered(&head);
    assert_eq!(head["status"], 200);
    let log = head["log"].to_string();
    assert!(
        log.contains("heddle.audit {") && log.contains("addBudget 5"),
        "{log}"
    );
    assert!(log.contains("::1"), "{log}");
    let later = manager.pump()["log"].to_string();
    assert!(!later.contains("heddle.audit"), "told once: {later}");
    manager.end();
    let place = format!("sqlite:{}", folder.path().join("economy").display());
    let mut store = heddle_economy::store::open(&place, None).expect("a good place");
    let grants = store.grants(0, 10).expect("it can be read");
    let by: Vec<&str> = grants.iter().map(|grant| grant.by.as_str()).collect();
    assert_eq!(by, ["configuration", "root"]);
}
