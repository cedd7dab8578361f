//! Migrates each kind of store to each other kind, and imports the original budget file.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::economy::Economy;
use crate::support::server::Server;
use crate::support::{check_conservation, refusal, seed, store_at, token};
use heddle_economy::record::{Batch, Interval, LedgerQuery};
use heddle_economy::store::{Commit, Refusal, Store, StoreError, import, migrate};

/// Returns a store with more than a page of the past.
fn filled(place: &str, seed: u64) -> Box<dyn Store> {
    let mut store = store_at(place);
    let epoch = store.take_over("rm1", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), seed);
    let changes = (0..12).flat_map(|_| economy.changes()).collect();
    let first = Batch {
        serial: 1,
        at_ms: 0,
        changes,
    };
    economy.serial = 1;
    store.commit_changes(epoch, &first).unwrap();
    for _ in 0..520 {
        if economy.below(20) == 0 {
            store.commit_changes(epoch, &economy.batch()).unwrap();
        }
        store.commit_interval(epoch, &economy.interval()).unwrap();
    }
    store
}

#[test]
fn everything_moves_between_any_two_kinds_of_store() {
    let seed = seed();
    let note = format!("HEDDLE_STORE_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start();
    let mut number = 0;
    let mut place = |kind: &str| {
        number += 1;
        match kind {
            "postgres" => server.place(),
            _ => format!("{kind}:{}/store{number}", folder.path().display()),
        }
    };
    let first = place("file");
    let mut from = filled(&first, seed);
    // A round trip with every kind as source and as target.
    for kind in ["sqlite", "postgres", "sqlite", "file", "postgres", "file"] {
        let mut to = store_at(&place(kind));
        let (rows, grants) = (
            from.ledger(&LedgerQuery::default()),
            from.grants(0, usize::MAX),
        );
        let moved = migrate(from.as_mut(), to.as_mut(), "heddle store migrate").unwrap();
        assert_eq!(moved.intervals, 520, "{note}: {kind}");
        assert_eq!(
            moved.rows,
            rows.as_ref().unwrap().len() as u64,
            "{note}: {kind}"
        );
        assert_eq!(
            moved.grants,
            grants.as_ref().unwrap().len() as u64,
            "{note}: {kind}"
        );
        assert_eq!(to.ledger(&LedgerQuery::default()), rows, "{note}: {kind}");
        assert_eq!(to.grants(0, usize::MAX), grants, "{note}: {kind}");
        assert_eq!(to.load().unwrap(), from.load().unwrap(), "{note}: {kind}");
        assert_eq!(check_conservation(to.as_mut(), &note), 520);
        from = to;
    }
    // The ledger continues after the last tick.
    let epoch = from.take_over("rm1", token()).unwrap();
    let mut economy = Economy::after(&from.load().unwrap(), seed + 1);
    let done = from.commit_interval(epoch, &economy.interval());
    assert_eq!(done, Ok(Commit::Applied));
    assert_eq!(check_conservation(from.as_mut(), &note), 521);
}

#[test]
fn the_scheduler_that_still_runs_on_the_old_store_is_fenced() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = store_at(&format!("sqlite:{}/a", folder.path().display()));
    let epoch = running.take_over("rm1", token()).unwrap();
    let mut from = store_at(&format!("sqlite:{}/a", folder.path().display()));
    let mut to = store_at(&format!("file:{}/b", folder.path().display()));
    migrate(from.as_mut(), to.as_mut(), "admin").unwrap();
    let interval = Interval {
        tick: 1,
        ticks: 1,
        ..Interval::default()
    };
    let late = running.commit_interval(epoch, &interval);
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    let late = to.commit_interval(epoch, &interval);
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

#[test]
fn a_store_that_is_not_empty_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["sqlite", "file"] {
        let mut from = store_at(&format!("{kind}:{}/{kind}-from", folder.path().display()));
        let mut to = store_at(&format!("{kind}:{}/{kind}-to", folder.path().display()));
        // A wrong name: there is no take-over, and the target stays unchanged.
        let result = migrate(from.as_mut(), to.as_mut(), "admin");
        assert_eq!(refusal(result), Refusal::Empty);
        assert_eq!(to.load().unwrap(), heddle_economy::store::Book::default());
        from.take_over("rm1", token()).unwrap();
        to.take_over("somebody", token()).unwrap();
        let before = (from.load().unwrap(), to.load().unwrap());
        let result = migrate(from.as_mut(), to.as_mut(), "admin");
        assert_eq!(refusal(result), Refusal::NotEmpty);
        // A refused migration does not fence off the source's holder either.
        assert_eq!((from.load().unwrap(), to.load().unwrap()), before);
    }
}

#[test]
fn a_target_that_cannot_be_written_to_is_found_before_the_source_is_fenced() {
    let folder = tempfile::tempdir().unwrap();
    let mut from = store_at(&format!("sqlite:{}/a", folder.path().display()));
    from.take_over("rm1", token()).unwrap();
    let before = from.load().unwrap();
    for place in [
        "file:/proc/no/such/folder",
        "sqlite:/proc/no/store.db",
        "postgres://heddle@127.0.0.1:1/x",
    ] {
        let result = migrate(from.as_mut(), store_at(place).as_mut(), "admin");
        assert!(
            result.is_err_and(|error| matches!(error, StoreError::Unavailable(_))),
            "{place}"
        );
        assert_eq!(from.load().unwrap(), before, "{place}");
    }
}

/// The source takes longer for a page than PostgreSQL's idle timeout for transactions.
#[test]
fn a_slow_source_does_not_end_the_transaction_of_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let mut from = store_at(&format!("sqlite:{}/a", folder.path().display()));
    from.take_over("rm1", token()).unwrap();
    let book = from.load().unwrap();
    let mut server = Server::start();
    let mut to = store_at(&server.place());
    let done = to.fill(&book, &mut || {
        std::thread::sleep(std::time::Duration::from_secs(7));
        Ok(None)
    });
    assert_eq!(done, Ok(()));
    assert_eq!(to.load().unwrap(), book);
}

/// The source fails midway: the target is as empty as before.
#[test]
fn a_migration_that_breaks_off_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut from = filled(&format!("file:{}/from", folder.path().display()), 7);
    let book = from.load().unwrap();
    for kind in ["sqlite", "file"] {
        let mut to = store_at(&format!("{kind}:{}/{kind}-to", folder.path().display()));
        let mut pages = 0;
        let broken = StoreError::Unavailable("unplugged".to_string());
        let result = to.fill(&book, &mut || {
            pages += 1;
            let page = heddle_economy::record::Page {
                intervals: from.intervals(0, 10)?,
                ..heddle_economy::record::Page::default()
            };
            if pages == 1 {
                Ok(Some(page))
            } else {
                Err(broken.clone())
            }
        });
        assert_eq!(result, Err(broken.clone()), "{kind}");
        assert_eq!(
            to.load().unwrap(),
            heddle_economy::store::Book::default(),
            "{kind}"
        );
        assert_eq!(to.intervals(0, 10), Ok(Vec::new()), "{kind}");
        migrate(from.as_mut(), to.as_mut(), "admin").unwrap();
        assert_eq!(check_conservation(to.as_mut(), kind), 520);
    }
}

/// The disk may be full because of what the move has written so far.
#[test]
fn a_move_that_breaks_off_leaves_no_file_beside_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut to = store_at(&format!("file:{}", folder.path().display()));
    let broken = StoreError::Unavailable("unplugged".to_string());
    let mut pages = vec![Err(broken.clone()), Ok(Some(Default::default()))];
    let result = to.fill(&Default::default(), &mut || pages.pop().unwrap());
    assert_eq!(result, Err(broken));
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ledger.log", "lock"]);
}

#[test]
fn the_original_budget_file_becomes_accounts() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store_at(&format!("sqlite:{}/a", folder.path().display()));
    let epoch = store.take_over("rm1", token()).unwrap();
    let text = "alice 100.5 0.25\nnonsense\nbob 7 0\n";
    let read = import(text, &store.load().unwrap(), "root.", "admin");
    let lines: Vec<usize> = read.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [2]);
    let (serial, at_ms, changes) = (1, 0, read.changes);
    let batch = Batch {
        serial,
        at_ms,
        changes,
    };
    store.commit_changes(epoch, &batch).unwrap();
    let book = store.load().unwrap();
    let alice = book.accounts["root.alice"];
    assert_eq!(
        (alice.budget.micro(), alice.rate.micro()),
        (100_500_000, 250_000)
    );
    let bob = book.accounts["root.bob"];
    assert_eq!((bob.budget.micro(), bob.rate.micro()), (7_000_000, 0));
    check_conservation(store.as_mut(), "imported");
    // A second import changes nothing and says so.
    let again = import(text, &book, "root.", "admin");
    assert_eq!((again.changes.len(), again.faults.len()), (0, 3));
}
