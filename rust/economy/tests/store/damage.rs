//! Files that are torn, damaged, from a newer version, restored from old copies or changed by hand:
//! each is recognised, named, and never made worse.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::economy::Economy;
use crate::support::server::Server;
use crate::support::{check_conservation, seed, store_at, token};
use heddle_economy::record::{Epoch, LedgerQuery};
use heddle_economy::store::{Commit, Store, StoreError};
use oorandom::Rand64;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder with the log of some intervals and changes.
struct Made {
    folder: tempfile::TempDir,
    /// Length of the log and the books after each commit.
    states: Vec<(u64, heddle_economy::store::Book)>,
}

impl Made {
    fn new(seed: u64, intervals: u32) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let mut made = Made {
            folder,
            states: Vec::new(),
        };
        let mut store = made.store();
        let epoch = store.take_over("rm1", token()).unwrap();
        let mut economy = Economy::after(&store.load().unwrap(), seed);
        made.note(store.as_mut());
        for _ in 0..intervals {
            store.commit_changes(epoch, &economy.batch()).unwrap();
            made.note(store.as_mut());
            store.commit_interval(epoch, &economy.interval()).unwrap();
            made.note(store.as_mut());
        }
        made
    }

    fn note(&mut self, store: &mut dyn Store) {
        let length = fs::metadata(self.log()).unwrap().len();
        self.states.push((length, store.load().unwrap()));
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("ledger.log")
    }

    fn accounts(&self) -> PathBuf {
        self.folder.path().join("accounts.json")
    }

    fn store(&self) -> Box<dyn Store> {
        store_at(&format!("file:{}", self.folder.path().display()))
    }
}

fn is_corrupt<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Corrupt { .. }))
}

/// Cuts the log at every byte of the last three commits, also with rubbish after it. Whole lines
/// stay, a torn line is cut off, and the next commit finds a good log.
#[test]
fn a_torn_tail_is_cut_off_wherever_it_tore() {
    let made = Made::new(1, 4);
    let whole = fs::read(made.log()).unwrap();
    let from = made.states[made.states.len() - 4].0 as usize;
    for cut in from..=whole.len() {
        // As if the files had never been written after the first commit.
        let _absent = fs::remove_file(made.accounts());
        let _absent = fs::remove_file(made.folder.path().join("ledger.end"));
        let rubbish: &[u8] = match cut % 3 {
            0 => b"",
            1 => &[0; 300],
            _ => b"ffffffff {\"Interval\"\n\n\x80\n",
        };
        fs::write(made.log(), [&whole[..cut], rubbish].concat()).unwrap();
        let expected = made.states.iter().rev().find(|(end, _)| *end <= cut as u64);
        let (end, expected) = expected.expect("the first three quarters are whole");
        let mut store = made.store();
        assert_eq!(&store.load().unwrap(), expected, "cut at {cut}");
        assert_eq!(
            fs::metadata(made.log()).unwrap().len(),
            *end,
            "cut at {cut}"
        );
        let torn = (cut as u64) > *end || !rubbish.is_empty();
        if torn {
            let kept = fs::read(made.folder.path().join("ledger.torn")).unwrap();
            assert_eq!(kept, [&whole[*end as usize..cut], rubbish].concat());
        }
        let mut economy = Economy::after(expected, 2);
        let epoch = store.take_over("rm2", token()).unwrap();
        let next = economy.interval();
        assert_eq!(store.commit_interval(epoch, &next), Ok(Commit::Applied));
        check_conservation(made.store().as_mut(), &format!("cut at {cut}"));
    }
}

/// A flipped byte anywhere before the end is found, and nothing is cut off.
#[test]
fn damage_in_the_middle_of_the_log_is_an_error_that_names_the_line() {
    let made = Made::new(3, 4);
    let whole = fs::read(made.log()).unwrap();
    let accounts = fs::read(made.accounts()).unwrap();
    let last = made.states[made.states.len() - 2].0 as usize;
    for at in (0..last).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(made.log(), &bytes).unwrap();
        fs::remove_file(made.accounts()).unwrap();
        let result = made.store().load();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let Err(StoreError::Corrupt { place, .. }) = &result else {
            panic!("byte {at} of line {line}: {result:?}");
        };
        // A flipped line feed makes one line of two.
        let named = place.ends_with(&format!("line {line}"));
        assert!(named, "byte {at} of line {line}: {place}");
        assert_eq!(fs::read(made.log()).unwrap(), bytes, "nothing was changed");
        // With the accounts file, the books load; queries of the ledger report the damage.
        fs::write(made.accounts(), &accounts).unwrap();
        let mut store = made.store();
        let header = at < whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        if !header {
            assert_eq!(store.load().unwrap(), made.states.last().unwrap().1);
        }
        assert!(
            is_corrupt(&store.ledger(&LedgerQuery::default())),
            "byte {at}"
        );
    }
}

#[test]
fn a_damaged_or_missing_accounts_file_is_read_from_the_log_instead() {
    let made = Made::new(4, 5);
    let expected = &made.states.last().unwrap().1;
    let accounts = fs::read(made.accounts()).unwrap();
    let contents: [&[u8]; 5] = [
        b"",
        b"{}",
        &accounts[..accounts.len() / 2],
        &accounts[..accounts.len() - 1],
        &[0; 100],
    ];
    for content in contents {
        fs::write(made.accounts(), content).unwrap();
        assert_eq!(&made.store().load().unwrap(), expected);
    }
    fs::remove_file(made.accounts()).unwrap();
    // A file that a crash may leave beside the log.
    fs::write(made.folder.path().join("accounts.new"), b"half").unwrap();
    assert_eq!(&made.store().load().unwrap(), expected);
}

#[test]
fn a_log_that_is_missing_or_an_old_copy_is_not_begun_anew() {
    let made = Made::new(5, 3);
    let whole = fs::read(made.log()).unwrap();
    let early = made.states[2].0 as usize;
    fs::write(made.log(), &whole[..early]).unwrap();
    assert!(is_corrupt(&made.store().load()));
    assert_eq!(fs::read(made.log()).unwrap().len(), early);
    fs::remove_file(made.log()).unwrap();
    assert!(is_corrupt(&made.store().load()));
    assert!(!made.log().exists());
}

/// An administrator restores an old copy of the store under a running scheduler.
#[test]
fn a_store_that_was_swapped_for_an_old_copy_is_not_written_to() {
    for kind in ["file", "sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("{kind}:{}/store", folder.path().display());
        let mut store = store_at(&place);
        store.take_over("rm1", token()).unwrap();
        let epoch = store.take_over("rm1", token()).unwrap();
        let mut economy = Economy::after(&store.load().unwrap(), 1);
        store.commit_changes(epoch, &economy.batch()).unwrap();
        let files = folder.path().join("store");
        if files.is_dir() {
            fs::remove_dir_all(&files).unwrap();
        } else {
            fs::remove_file(&files).unwrap();
            for tail in ["-wal", "-shm", "-end"] {
                let _absent = fs::remove_file(folder.path().join(format!("store{tail}")));
            }
        }
        let result = store.commit_interval(epoch, &economy.interval());
        assert!(is_corrupt(&result), "{kind}: {result:?}");
        assert_eq!(store.load().unwrap().head.epoch, Epoch(0), "{kind}");
    }
}

/// A copy with the same counters replaces an open file: writes to the open one would be lost with
/// it.
#[test]
fn a_sqlite_file_that_was_replaced_is_not_written_to_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let place = format!("sqlite:{}", path.display());
    let mut store = store_at(&place);
    let epoch = store.take_over("rm1", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), 1);
    store.commit_changes(epoch, &economy.batch()).unwrap();
    let copy = folder.path().join("copy.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    let into = copy.display().to_string();
    other.execute("VACUUM INTO ?1", [into]).unwrap();
    drop(other);
    fs::rename(&copy, &path).unwrap();
    for tail in ["-wal", "-shm"] {
        let _absent = fs::remove_file(folder.path().join(format!("store.db{tail}")));
    }
    let next = economy.interval();
    let result = store.commit_interval(epoch, &next);
    assert!(is_corrupt(&result), "{result:?}");
    assert_eq!(store_at(&place).load().unwrap().head.tick, 0);
    // From now on the current file is in use, as other processes see it.
    assert_eq!(store.commit_interval(epoch, &next), Ok(Commit::Applied));
    assert_eq!(store_at(&place).load().unwrap().head.tick, 1);
}

fn flip_pages(path: &Path, random: &mut Rand64) {
    let mut bytes = fs::read(path).unwrap();
    for _ in 0..8 {
        let at = random.rand_range(0..bytes.len() as u64 - 64) as usize;
        for byte in &mut bytes[at..at + 64] {
            *byte ^= random.rand_range(0..256) as u8;
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Random damage to a database yields some answer or some error, never a panic, and never books
/// that do not add up. (`harness` flips each single bit.)
#[test]
fn a_damaged_sqlite_file_never_gives_wrong_books_unseen() {
    let seed = seed();
    let mut random = Rand64::new(u128::from(seed));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let place = format!("sqlite:{}", path.display());
    let mut store = store_at(&place);
    let epoch = store.take_over("rm1", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), 1);
    for _ in 0..20 {
        store.commit_changes(epoch, &economy.batch()).unwrap();
        store.commit_interval(epoch, &economy.interval()).unwrap();
    }
    // The last connection moves the write-ahead log into the file.
    drop(store);
    let whole = fs::read(&path).unwrap();
    let next = &economy.interval();
    let mut errors = 0;
    for round in 0..40 {
        let note = format!("HEDDLE_STORE_SEED={seed}, round {round}");
        fs::write(&path, &whole).unwrap();
        match round {
            0 => fs::write(&path, b"this is no database, whatever its name says").unwrap(),
            1 => fs::write(&path, &whole[..whole.len() / 2]).unwrap(),
            _ => flip_pages(&path, &mut random),
        }
        let mut store = store_at(&place);
        match store.load() {
            Ok(book) => book
                .check()
                .unwrap_or_else(|error| panic!("{note}: {error}")),
            Err(_) => errors += 1,
        }
        let _some_answer = store.ledger(&LedgerQuery::default());
        let _some_answer = store.grants(0, usize::MAX);
        let _some_answer = store.commit_interval(epoch, next);
        drop(store);
        for tail in ["-wal", "-shm"] {
            let _absent = fs::remove_file(folder.path().join(format!("store.db{tail}")));
        }
    }
    assert!(errors >= 2, "no damage was noticed in 40 rounds");
}

#[test]
fn a_budget_that_was_changed_by_hand_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut store = store_at(&format!("sqlite:{}", path.display()));
    let epoch = store.take_over("rm1", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), 1);
    store.commit_changes(epoch, &economy.batch()).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let sql = "UPDATE queues SET budget = budget + 1";
    assert_eq!(other.execute(sql, ()), Ok(1));
    let result = store.load();
    assert!(is_corrupt(&result), "{result:?}");
    let sql = "UPDATE queues SET budget = -5";
    other.execute(sql, ()).unwrap();
    let Err(StoreError::Corrupt { place, .. }) = store.load() else {
        panic!("a budget below 0 was taken");
    };
    assert_eq!(place, "table queues");
}

fn is_newer<T>(result: Result<T, StoreError>) -> bool {
    let newer = StoreError::Newer {
        found: 99,
        known: 4,
    };
    result.err() == Some(newer)
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let place = format!("sqlite:{}", path.display());
    store_at(&place).take_over("rm1", token()).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    other.execute_batch("PRAGMA journal_mode=DELETE").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let mut store = store_at(&place);
    assert!(is_newer(store.take_over("rm1", token())));
    assert!(is_newer(store.load()));
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);

    let made = Made::new(6, 1);
    let json = br#"{"Version":99}"#;
    let line = format!("{:08x} ", crc32fast::hash(json));
    let mut log = fs::File::create(made.log()).unwrap();
    log.write_all(&[line.as_bytes(), json, b"\nwhat we cannot know\n"].concat())
        .unwrap();
    assert!(is_newer(made.store().load()));
    assert!(is_newer(made.store().take_over("rm1", token())));

    let mut server = Server::start();
    let place = server.place();
    store_at(&place).take_over("rm1", token()).unwrap();
    let mut client = server.client("db1");
    client
        .batch_execute("UPDATE heddle.version SET number = 99")
        .unwrap();
    assert!(is_newer(store_at(&place).take_over("rm1", token())));
    assert!(is_newer(store_at(&place).load()));
}

#[test]
fn places_that_cannot_be_are_refused_with_what_was_expected() {
    for wrong in [
        "",
        "store.db",
        "mysql://x",
        "file:",
        "sqlite:",
        "postgres://h:nonsense/x",
    ] {
        let error = heddle_economy::store::open(wrong, None).err();
        assert!(error.is_some_and(|error| error.len() > 10), "{wrong}");
    }
    // A password in a place would appear wherever the place is shown.
    let error = heddle_economy::store::open("postgres://u:geheim@h/x", None)
        .err()
        .unwrap();
    assert!(!error.contains("geheim"), "{error}");
    let mut nowhere = store_at("sqlite:/proc/no/such/folder/store.db");
    assert!(
        nowhere
            .load()
            .is_err_and(|error| matches!(error, StoreError::Unavailable(_)))
    );
    let mut nowhere = store_at("file:/proc/no/such/folder");
    assert!(
        nowhere
            .load()
            .is_err_and(|error| matches!(error, StoreError::Unavailable(_)))
    );
    // No server listens there.
    let mut nowhere = store_at("postgres://heddle@127.0.0.1:1/x");
    assert!(
        nowhere
            .load()
            .is_err_and(|error| matches!(error, StoreError::Unavailable(_)))
    );
}
