//! Two sub-clusters of a federation that spend from one purse: each has an engine, a market and a
//! store of its own, and one is replaced in a failover on the way. No credit is lost and none is
//! spent twice.

use crate::manager::{Manager, START_MS, config};
use crate::server::{PASSWORD, Server};
use heddle_core::words::credits::Credits;
use heddle_economy::store::{Balance, Purse, open_existing};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const FILLED_MICRO: i64 = 200_000_000;
/// Long for a server on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A sub-cluster whose queue has nothing of its own.
fn sub_cluster(folder: &Path, place: &str, name: &str) -> Value {
    let folder = folder.join(name);
    fs::create_dir(&folder).expect("a new folder");
    let password = folder.join("password");
    fs::write(&password, PASSWORD).expect("a file");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut config = config(&folder);
    config["queues"][0]["budget"] = json!(0.0);
    config["store"] = json!({
        "place": config["store"],
        "purse": {
            "place": place,
            "password_file": password,
            "cluster": name,
            "tranche": 10.0,
        },
    });
    config
}

fn purse(place: &str) -> Purse {
    Purse::open(place, Some(PASSWORD), true).expect("a place")
}

fn balance(purse: &mut Purse) -> Balance {
    let mut balances = purse.balances().expect("figures that add up");
    assert_eq!(balances.len(), 1);
    balances.remove(0)
}

/// Runs interval after interval until at most so much is left in the purse.
fn spend(manager: &mut Manager, place: &str, left_micro: i64) {
    let mut purse = purse(place);
    let end = Instant::now() + PATIENCE;
    while balance(&mut purse).left.micro() > left_micro {
        manager.run(manager.now_ms + 20_000);
        manager.pump();
        sleep(Duration::from_millis(5));
        assert!(Instant::now() < end, "nothing is drawn any more");
    }
}

/// Pumps until the store has all that was drawn. Returns what it says: granted, debited, left.
fn totals(manager: &mut Manager, config: &Value, drawn_micro: i64) -> (i128, i128, i128) {
    let place = config["store"]["place"].as_str().expect("a place");
    let mut store = open_existing(place, None).expect("a place");
    let end = Instant::now() + PATIENCE;
    loop {
        manager.until_books_are("connected");
        let book = store.load().expect("a store");
        let totals = &book.head.totals;
        if totals.granted >= i128::from(drawn_micro) {
            let held: i64 = book.accounts.values().map(|a| a.budget.micro()).sum();
            return (totals.granted, totals.debited, i128::from(held));
        }
        assert!(Instant::now() < end, "{} of {drawn_micro}", totals.granted);
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn two_sub_clusters_spend_one_purse_and_not_a_credit_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start();
    let place = server.place();
    let mut filled = purse(&place);
    let amount = Credits::from_micro(FILLED_MICRO);
    filled
        .add("root.alice", amount, ("root", "spring"), START_MS)
        .expect("it is added");
    let east = sub_cluster(folder.path(), &place, "east");
    let west = sub_cluster(folder.path(), &place, "west");
    let (mut one, mut two) = (Manager::active(&east, 0), Manager::active(&west, 0));
    assert_eq!((one.budget(), two.budget()), (0, 0), "nothing of their own");
    scope(|threads| {
        threads.spawn(|| spend(&mut one, &place, FILLED_MICRO / 2));
        threads.spawn(|| spend(&mut two, &place, FILLED_MICRO / 2));
    });
    // A failover: the former active one does not know it yet, and asks for credits as well.
    let mut next = Manager::active(&east, one.wall_ms() - START_MS + 1_000);
    scope(|threads| {
        threads.spawn(|| spend(&mut next, &place, 0));
        threads.spawn(|| spend(&mut two, &place, 0));
        threads.spawn(|| spend(&mut one, &place, 0));
    });
    let balance = balance(&mut filled);
    assert_eq!(balance.left, Credits::ZERO);
    let drawn: Vec<i64> = balance.drawn_micro.iter().map(|(_, sum)| *sum).collect();
    let east = totals(&mut next, &east, drawn[0]);
    let west = totals(&mut two, &west, drawn[1]);
    let granted = [east.0 as i64, west.0 as i64];
    assert_eq!(drawn, granted, "what was drawn was booked, once");
    assert_eq!(east.0 + west.0, i128::from(FILLED_MICRO));
    for (granted, debited, held) in [east, west] {
        assert!(debited > 0, "both have spent");
        assert_eq!(
            granted - debited,
            held,
            "what is booked was spent or is there"
        );
    }
    for manager in [one, two, next] {
        manager.end();
    }
}

#[test]
fn a_purse_that_is_away_is_told_once_and_fills_accounts_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start();
    let place = server.place();
    let amount = Credits::from_micro(FILLED_MICRO);
    let why = ("root", "spring");
    purse(&place)
        .add("root.alice", amount, why, START_MS)
        .expect("it is added");
    server.kill();
    let east = sub_cluster(folder.path(), &place, "east");
    let mut manager = Manager::active(&east, 0);
    let mut log = String::new();
    let end = Instant::now() + PATIENCE;
    while !log.contains("accounts can still spend, and are filled again when it is over") {
        manager.run(manager.now_ms + 500);
        log += &manager.pump()["log"].to_string();
        sleep(Duration::from_millis(10));
        assert!(Instant::now() < end, "{log}");
    }
    server.restart();
    while manager.budget() == 0 {
        manager.run(manager.now_ms + 500);
        log += &manager.pump()["log"].to_string();
        sleep(Duration::from_millis(10));
        assert!(Instant::now() < end, "{log}");
    }
    assert!(log.contains("they answer again"), "{log}");
    assert_eq!(
        log.matches("filled again when it is over").count(),
        1,
        "told once: {log}"
    );
    manager.end();
}
