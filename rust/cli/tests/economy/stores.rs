//! Tests the refusals of `heddle store migrate` and `heddle import-budget`, and that they change
//! nothing; `heddle purse` on a real PostgreSQL. `ledger` tests a real migration.

use crate::server::{PASSWORD, Server};
use crate::site::{failed, file, heddle, words};
use heddle_core::words::credits::Credits;
use heddle_economy::store::{Purse, SubCluster, Wish};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    heddle(arguments).output().expect("it starts")
}

fn place(kind: &str, folder: &Path, name: &str) -> String {
    format!("{kind}:{}", folder.join(name).display())
}

fn said(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn a_budget_file_becomes_accounts() {
    let folder = tempfile::tempdir().expect("a folder");
    let budgets = file(
        &folder.path().join("budget"),
        "alice 100 0.5\nroot.bob 7.25 2\n",
        0o644,
    );
    let budgets = budgets.display().to_string();
    for kind in ["sqlite", "file"] {
        let place = place(kind, folder.path(), kind);
        let text = said(&run(&["import-budget", &budgets, "--store", &place]));
        assert!(text.starts_with("2 accounts imported"), "{text}");
        let book = heddle_economy::store::open(&place, None)
            .expect("a place")
            .load()
            .expect("it is there");
        book.check().expect("grants - debits = budgets");
        let alice = &book.accounts["root.alice"];
        assert_eq!(
            (alice.budget.micro(), alice.rate.micro()),
            (100_000_000, 500_000)
        );
        assert_eq!(book.accounts["root.bob"].budget.micro(), 7_250_000);
        // A second import would grant the same credits twice.
        let again = failed(1, &run(&["import-budget", &budgets, "--store", &place]));
        assert!(
            again.contains("line 1: queue root.alice has an account already"),
            "{again}"
        );
        assert!(again.contains("nothing was imported"), "{again}");
        let skipped = [
            "import-budget",
            &budgets,
            "--store",
            &place,
            "--skip-faulty",
            "--json",
        ];
        let json: Value = serde_json::from_str(&said(&run(&skipped))).expect("JSON");
        assert_eq!(
            (&json["accounts"], &json["skipped_lines"]),
            (&0.into(), &2.into())
        );
        let after = heddle_economy::store::open(&place, None)
            .expect("a place")
            .load();
        assert_eq!(after.expect("it is there"), book);
    }
}

#[test]
fn lines_that_are_wrong_are_named_and_nothing_is_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "alice 100 0.5\nbob NaN 1\ncarol\ndave 1 2\u{1b}[2J\n";
    let budgets = file(&folder.path().join("budget"), text, 0o644)
        .display()
        .to_string();
    let place = place("sqlite", folder.path(), "economy");
    let refused = failed(1, &run(&["import-budget", &budgets, "--store", &place]));
    for line in ["line 2", "line 3", "line 4", "--skip-faulty"] {
        assert!(refused.contains(line), "{line}: {refused}");
    }
    assert!(!refused.contains('\u{1b}'), "{refused:?}");
    let book = heddle_economy::store::open(&place, None)
        .expect("a place")
        .load()
        .expect("it is there");
    assert!(book.accounts.is_empty());
    let output = run(&[
        "import-budget",
        &budgets,
        "--store",
        &place,
        "--skip-faulty",
    ]);
    assert!(said(&output).starts_with("1 accounts imported"));
}

#[test]
fn places_that_are_none_and_stores_that_are_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = place("sqlite", folder.path(), "to");
    let refused = failed(2, &run(&["store", "migrate", "mysql:x", &to]));
    assert!(refused.contains("sqlite:FILE"), "{refused}");
    // The store was never used, so its name is probably wrong.
    let refused = failed(
        1,
        &run(&["store", "migrate", &place("file", folder.path(), "no"), &to]),
    );
    assert!(refused.contains("is its name right?"), "{refused}");
    // A folder that is no store stays as it is.
    let other = folder.path().join("other");
    fs::create_dir(&other).expect("our folder");
    fs::write(other.join("hosts"), "127.0.0.1 localhost\n").expect("our folder");
    for from in [
        format!("file:{}", other.display()),
        place("file", folder.path(), "no"),
        place("sqlite", folder.path(), "none"),
    ] {
        let refused = failed(1, &run(&["store", "migrate", &from, &to]));
        assert!(refused.contains("is its name right?"), "{refused}");
    }
    let listed = |path: &Path| {
        let entries = fs::read_dir(path).expect("it is there");
        let mut names: Vec<_> = entries.map(|it| it.expect("a name").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(listed(&other), ["hosts"]);
    assert_eq!(listed(folder.path()), ["other"]);
    let nowhere = "sqlite:/nowhere/at/all/economy";
    let refused = failed(3, &run(&["store", "migrate", nowhere, &to]));
    assert!(refused.contains("/nowhere/at/all"), "{refused}");
    let missing = failed(
        2,
        &run(&["import-budget", "/nowhere/budget", "--store", &to]),
    );
    assert!(missing.contains("/nowhere/budget"), "{missing}");
    failed(2, &run(&["store"]));
}

#[test]
fn passwords_are_in_files_that_nobody_else_may_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = file(&folder.path().join("open"), "a-password\n", 0o644)
        .display()
        .to_string();
    let closed = file(&folder.path().join("closed"), "a-password\n", 0o600)
        .display()
        .to_string();
    let to = place("sqlite", folder.path(), "to");
    // No server listens on port 1.
    let from = "postgres://heddle@127.0.0.1:1/heddle";
    let migrate = |file: &str| run(&["store", "migrate", from, &to, "--from-password-file", file]);
    let refused = failed(2, &migrate(&open));
    assert!(
        refused.contains("mode 0644") && refused.contains("chmod 600"),
        "{refused}"
    );
    let refused = failed(3, &migrate(&closed));
    assert!(refused.contains("unavailable"), "{refused}");
    assert!(!refused.contains("a-password"), "{refused}");
    assert!(!fs::exists(folder.path().join("to")).expect("it can be looked at"));
}

#[test]
fn purses_are_filled_and_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start();
    let place = server.place();
    let secret = file(&folder.path().join("password"), PASSWORD, 0o600);
    let secret = secret.display().to_string();
    let purse = |more: &[&str]| {
        let first = ["purse", &place, "--password-file", &secret];
        run(&[&first, more].concat())
    };
    // Showing makes no tables: the name of the database may be wrong.
    let refused = failed(1, &purse(&[]));
    assert!(refused.contains("is its name right?"), "{refused}");
    for wrong in [
        ["root.a", "-1"],
        ["root.a", "0"],
        ["root.a", "much"],
        ["a", "1"],
    ] {
        failed(2, &purse(&["--add", wrong[0], wrong[1]]));
    }
    let text = said(&purse(&["--add", "root.a", "12.5", "--why", "spring"]));
    assert_eq!(text, "12.5 credits in the purse of root.a\n");
    let text = said(&purse(&["--add", "root.a", "0.5", "--json"]));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["left_micro"], 13_000_000);
    let mut shared = Purse::open(&place, Some(PASSWORD), false).expect("a place");
    let east = SubCluster {
        name: "east".to_string(),
        store: 1,
    };
    let wish = Wish {
        queue: "root.a".to_string(),
        number: 1,
        amount: Credits::from_micro(3_000_000),
    };
    shared.draw(&east, &[wish], 1).expect("it is there");
    let text = said(&purse(&[]));
    let expected = ["root.a", "13", "10", "east", "3"];
    assert_eq!(words(&text, "root.a"), expected);
    let json: Value = serde_json::from_str(&said(&purse(&["--json"]))).expect("JSON");
    assert_eq!(json[0]["left_micro"], 10_000_000);
    assert_eq!(json[0]["drawn_micro"]["east"], 3_000_000);
    let place = "postgres://heddle:secret@127.0.0.1:1/x";
    let refused = failed(2, &run(&["purse", place]));
    assert!(!refused.contains("secret"), "{refused}");
    failed(3, &run(&["purse", "postgres://heddle@127.0.0.1:1/x"]));
}
