//! Damages a small store of each kind in every way: cuts at each byte, flips bits, removes or
//! changes rows. Either the damage is found, or reading returns what was written. It never returns
//! an empty store, a wrong balance or a plausible wrong row of the ledger.
//!
//! One bit of each byte is flipped; `HEDDLE_STORE_EVERY_BIT=1` flips all of them, one by one.

// Clippy does not treat helpers of tests as tests.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod support;

use heddle_economy::record::{Batch, Change, Interval, LedgerQuery};
use heddle_economy::store::{Store, StoreError};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use support::server::Server;
use support::{closed, grant, micro, opened, row, store_at, token};
use tempfile::TempDir;

/// Uses memory where possible: a hundred thousand disk syncs would take too long.
fn folder() -> TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Writes books with something of every kind. Returns the last interval, which is not written yet.
fn write_some(store: &mut dyn Store) -> (heddle_economy::record::Epoch, Interval) {
    let epoch = store.take_over("rm1", token()).unwrap();
    let user = || "ann".to_string();
    let changes = vec![
        opened("root.a"),
        grant("root.a", 9_000_000),
        opened("root.b"),
        grant("root.b", 5_000_000),
        Change::Rate {
            queue: "root.a".to_string(),
            rate: micro(7),
        },
        Change::Seen {
            user: user(),
            timestamp_ms: 5,
        },
        Change::Nonce {
            user: user(),
            nonce: "n1".to_string(),
            expires_ms: 1_000_000,
        },
        Change::Learn {
            key: "job".to_string(),
            value: "{\"ratio\":0.5}".to_string(),
        },
    ];
    let batch = |serial, changes| Batch {
        serial,
        at_ms: 1,
        changes,
    };
    store.commit_changes(epoch, &batch(1, changes)).unwrap();
    let rows = vec![
        row("root.a", 0, 1_000_000, 8_000_000),
        row("root.b", 0, 500_000, 4_500_000),
    ];
    store
        .commit_interval(epoch, &support::interval(1, rows))
        .unwrap();
    let changes = vec![closed("root.b")];
    store.commit_changes(epoch, &batch(2, changes)).unwrap();
    let rows = vec![row("root.a", 10, 1_000_010, 7_000_000)];
    store
        .commit_interval(epoch, &support::interval(2, rows))
        .unwrap();
    let rows = vec![row("root.a", 0, 2_000_000, 5_000_000)];
    (epoch, support::interval(3, rows))
}

fn made(place: &str) {
    let mut store = store_at(place);
    let (epoch, last) = write_some(store.as_mut());
    store.commit_interval(epoch, &last).unwrap();
}

/// Asks a store every question.
fn answers(store: &mut dyn Store) -> Vec<Result<String, StoreError>> {
    fn said(answer: Result<impl Debug, StoreError>) -> Result<String, StoreError> {
        answer.map(|answer| format!("{answer:?}"))
    }
    let of = |queue: &str| LedgerQuery {
        queue: Some(queue.to_string()),
        ..LedgerQuery::default()
    };
    let page = LedgerQuery {
        after: (1, "root.a".to_string()),
        limit: 2,
        ..LedgerQuery::default()
    };
    vec![
        said(store.load()),
        said(store.intervals(0, usize::MAX)),
        said(store.intervals_between(0, 30_000..=70_000, 1)),
        said(store.ledger(&LedgerQuery::default())),
        said(store.ledger(&of("root.a"))),
        said(store.ledger(&of("root.b"))),
        said(store.ledger(&page)),
        said(store.grants(0, usize::MAX)),
    ]
}

/// Returns the answers of an undamaged store.
fn good(store: &mut dyn Store) -> Vec<String> {
    answers(store).into_iter().map(Result::unwrap).collect()
}

/// Tells whether damage was found. Panics with the details if a wrong answer was given.
fn found(damaged: Vec<Result<String, StoreError>>, good: &[String], note: &str) -> bool {
    let mut found = false;
    for (answer, good) in damaged.into_iter().zip(good) {
        match answer {
            Ok(answer) => assert_eq!(&answer, good, "{note}: not what was written"),
            Err(_) => found = true,
        }
    }
    found
}

/// Files that are restored before each damage.
struct Files {
    place: String,
    folder: TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
    good: Vec<String>,
}

impl Files {
    /// Reads all files in `folder`; `place` is a store in it.
    fn of(folder: TempDir, place: String) -> Files {
        let all = fs::read_dir(folder.path()).unwrap();
        let all = all.map(|entry| entry.unwrap().path());
        let shared = |path: &Path| path.to_string_lossy().ends_with("-shm");
        let files = all
            .filter(|path| path.is_file() && !shared(path))
            .map(|path| (path.clone(), fs::read(&path).unwrap()))
            .collect();
        let mut files = Files {
            place,
            folder,
            files,
            good: Vec::new(),
        };
        files.put_back();
        files.good = good(store_at(&files.place).as_mut());
        files
    }

    fn put_back(&self) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (path, bytes) in &self.files {
            fs::write(path, bytes).unwrap();
        }
    }

    /// Tells whether it is found that `name` has these bytes.
    fn finds(&self, name: &str, bytes: &[u8], note: &str) -> bool {
        self.put_back();
        fs::write(self.folder.path().join(name), bytes).unwrap();
        let damaged = answers(store_at(&self.place).as_mut());
        found(damaged, &self.good, &format!("{}: {note}", self.place))
    }

    /// Cuts the file at each byte, and flips bits. Returns how many cuts and flips were found.
    fn damage(&self, name: &str) -> (usize, usize) {
        let path = self.folder.path().join(name);
        let (_, whole) = self.files.iter().find(|(file, _)| *file == path).unwrap();
        let cuts = (0..whole.len()).filter(|cut| {
            let note = format!("{name} cut at {cut} of {}", whole.len());
            self.finds(name, &whole[..*cut], &note)
        });
        let cuts = cuts.count();
        let every = std::env::var_os("HEDDLE_STORE_EVERY_BIT").is_some();
        let bits = (0..whole.len() * 8).filter(|bit| every || bit % 8 == bit / 8 % 8);
        let flips = bits.filter(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let note = format!("{name}, bit {} of byte {} flipped", bit % 8, bit / 8);
            self.finds(name, &bytes, &note)
        });
        (cuts, flips.count())
    }

    fn length(&self, name: &str) -> usize {
        let path = self.folder.path().join(name);
        let found = self.files.iter().find(|(file, _)| *file == path);
        found.unwrap().1.len()
    }

    fn remove(&mut self, name: &str) {
        let path = self.folder.path().join(name);
        self.files.retain(|(file, _)| *file != path);
    }
}

fn of_files() -> Files {
    let folder = folder();
    let place = format!("file:{}", folder.path().display());
    made(&place);
    Files::of(folder, place)
}

#[test]
fn a_folder_of_files_finds_every_cut_and_every_flipped_bit() {
    let mut files = of_files();
    let length = files.length("ledger.log");
    // With the accounts, and from the log alone. A hexadecimal digit may change its case
    // undetected.
    for _ in 0..2 {
        let (cuts, flips) = files.damage("ledger.log");
        assert_eq!(cuts, length, "all cuts");
        assert!(flips * 100 > length * 95, "{flips} flips found of {length}");
        files.remove("accounts.json");
    }
    // Without these two the log is read, and gives the same answers.
    let mut files = of_files();
    assert_eq!(files.damage("accounts.json").0, 0);
    assert_eq!(files.damage("ledger.end").0, 0);
    // Only the mark reveals a log that ends early after a whole line.
    files.remove("accounts.json");
    files.remove("ledger.end");
    let (_, log) = files
        .files
        .iter()
        .find(|(p, _)| p.ends_with("ledger.log"))
        .unwrap();
    let torn = &log[..log.len() - 1];
    files.put_back();
    fs::write(files.folder.path().join("ledger.log"), torn).unwrap();
    assert_eq!(store_at(&files.place).load().unwrap().head.tick, 2);
}

/// Drops, doubles or exchanges whole lines.
#[test]
fn a_log_without_one_of_its_lines_is_damaged() {
    let mut files = of_files();
    let path = files.folder.path().join("ledger.log");
    let (_, whole) = files.files.iter().find(|(file, _)| *file == path).unwrap();
    let lines: Vec<Vec<u8>> = whole
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..2 {
        for at in 0..lines.len() {
            let mut dropped = lines.clone();
            dropped.remove(at);
            let note = format!("line {} dropped", at + 1);
            assert!(
                files.finds("ledger.log", &dropped.concat(), &note),
                "{note}"
            );
            let mut doubled = lines.clone();
            doubled.insert(at, lines[at].clone());
            let note = format!("line {} doubled", at + 1);
            assert!(
                files.finds("ledger.log", &doubled.concat(), &note),
                "{note}"
            );
            let mut moved = lines.clone();
            moved.swap(at, (at + 1) % lines.len());
            let note = format!("line {} exchanged with the next", at + 1);
            assert!(files.finds("ledger.log", &moved.concat(), &note), "{note}");
        }
        files.remove("accounts.json");
    }
}

/// Cuts a migrated log in its pages, where no write can have been torn, with and without the mark.
#[test]
fn a_cut_in_the_first_page_of_a_moved_store_is_no_empty_store() {
    let (from, to) = (folder(), folder());
    let source = format!("sqlite:{}", from.path().join("store.db").display());
    made(&source);
    let place = format!("file:{}", to.path().display());
    heddle_economy::store::migrate(
        store_at(&source).as_mut(),
        store_at(&place).as_mut(),
        "admin",
    )
    .unwrap();
    let mut files = Files::of(to, place);
    let length = files.length("ledger.log");
    assert_eq!(files.damage("ledger.log").0, length);
    files.remove("ledger.end");
    let path = files.folder.path().join("ledger.log");
    let (_, whole) = files.files.iter().find(|(file, _)| *file == path).unwrap();
    let page = whole.windows(7).position(|it| it == b"{\"Page\"").unwrap() + 7;
    for cut in page..whole.len() {
        let note = format!("without a mark, cut at {cut}");
        assert!(files.finds("ledger.log", &whole[..cut], &note), "{note}");
    }
}

/// Uses small pages, so that there are few bytes to damage, all in one file.
fn with_small_pages(path: &Path) {
    let other = rusqlite::Connection::open(path).unwrap();
    let sql = "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM; PRAGMA journal_mode=WAL";
    other.execute_batch(sql).unwrap();
}

#[test]
fn sqlite_finds_every_cut_and_every_flipped_bit_that_matters() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let place = format!("sqlite:{}", path.display());
    made(&place);
    with_small_pages(&path);
    let files = Files::of(folder, place);
    let length = files.length("store.db");
    let (cuts, flips) = files.damage("store.db");
    // Bytes after the last page are irrelevant.
    assert_eq!(cuts, length, "all cuts");
    assert!(flips > length / 10, "{flips} flips found of {length}");
    files.damage("store.db-end");
}

/// As after `kill -9`: the last commits are in the write-ahead log only.
#[test]
fn sqlite_finds_a_write_ahead_log_that_lost_its_end() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let place = format!("sqlite:{}", path.display());
    let (epoch, last) = write_some(store_at(&place).as_mut());
    with_small_pages(&path);
    let mut store = store_at(&place);
    store.commit_interval(epoch, &last).unwrap();
    let copy = self::folder();
    for name in ["store.db", "store.db-wal", "store.db-end"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(store);
    let place = format!("sqlite:{}", copy.path().join("store.db").display());
    let files = Files::of(copy, place);
    let length = files.length("store.db-wal");
    let (cuts, flips) = files.damage("store.db-wal");
    assert!(cuts * 2 > length, "{cuts} cuts found of {length}");
    assert!(flips * 2 > length, "{flips} flips found of {length}");
}

/// The server guards its own files, so only SQL can lose or change rows.
#[test]
fn postgres_finds_every_row_that_was_removed_or_changed() {
    let mut server = Server::start();
    let place = server.place();
    made(&place);
    let mut client = server.client("db1");
    // This test needs no durability.
    client
        .batch_execute("ALTER SYSTEM SET fsync = off")
        .unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    let mut store = store_at(&place);
    let good = good(store.as_mut());
    let sql = "SELECT table_name::text, column_name::text, data_type::text \
               FROM information_schema.columns WHERE table_schema = 'heddle' ORDER BY 1, 2";
    let columns: Vec<(String, String, bool)> = client
        .query(sql, &[])
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get::<_, String>(2) == "bigint"))
        .collect();
    let mut tables: Vec<&str> = columns.iter().map(|(table, ..)| table.as_str()).collect();
    tables.dedup();
    assert!(tables.len() > 9, "{tables:?}");
    let mut silent = Vec::new();
    for table in tables {
        client
            .batch_execute(&format!(
                "CREATE TABLE saved_{table} AS TABLE heddle.{table}"
            ))
            .unwrap();
        let mut damages = vec![format!("DELETE FROM heddle.{table}")];
        let rows = client.query(&format!("SELECT ctid::text FROM heddle.{table}"), &[]);
        for row in rows.unwrap() {
            let at = format!("WHERE ctid = '{}'", row.get::<_, String>(0));
            damages.push(format!("DELETE FROM heddle.{table} {at}"));
            for (_, column, is_number) in columns.iter().filter(|(of, ..)| of == table) {
                for change in match is_number {
                    true => ["+ 1", "# 1024", "* -1"],
                    false => ["|| 'x'", "|| '0'", "|| ' '"],
                } {
                    let set = format!("SET {column} = {column} {change}");
                    damages.push(format!("UPDATE heddle.{table} {set} {at}"));
                }
            }
        }
        for sql in damages {
            match client.execute(&sql, &[]) {
                Ok(0) | Err(_) => continue,
                Ok(_) => {}
            }
            // The version is read on connecting.
            if table == "version" {
                store = store_at(&place);
            }
            if !found(answers(store.as_mut()), &good, &sql) {
                silent.push(sql);
            }
            client
                .batch_execute(&format!(
                    "TRUNCATE heddle.{table}; INSERT INTO heddle.{table} TABLE saved_{table}"
                ))
                .unwrap();
        }
    }
    // 0 times -1 changes nothing.
    silent.retain(|sql| !sql.contains("* -1"));
    assert_eq!(silent, Vec::<String>::new(), "damage that nobody notices");
}
