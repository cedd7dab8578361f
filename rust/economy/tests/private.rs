//! Files of the stores are readable by their owner only, even under a permissive umask; files that
//! others can read are reported. One test, because the log belongs to the process.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

mod support;

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use support::economy::Economy;
use support::{seed, store_at, token};

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Heard;

impl Log for Heard {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if record.level() == Level::Warn {
            WARNINGS.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn warnings() -> Vec<String> {
    std::mem::take(&mut WARNINGS.lock().unwrap())
}

/// Returns the modes of everything below a folder.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        let name = entry.file_name().into_string().unwrap();
        found.insert(name, meta.permissions().mode() & 0o777);
        if meta.is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}

/// Makes some commits as a new holder. Returns the modes while the store is open, because `-wal`
/// and `-shm` are gone afterwards.
fn used(place: &str, folder: &Path) -> BTreeMap<String, u32> {
    let mut store = store_at(place);
    let epoch = store.take_over("rm", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), seed());
    for _ in 0..3 {
        store.commit_changes(epoch, &economy.batch()).unwrap();
        store.commit_interval(epoch, &economy.interval()).unwrap();
    }
    modes(folder)
}

#[test]
fn only_the_owner_reads_what_a_store_makes() {
    log::set_logger(&Heard).unwrap();
    log::set_max_level(LevelFilter::Warn);
    let named = |pairs: &[(&str, u32)]| -> BTreeMap<String, u32> {
        pairs
            .iter()
            .map(|(name, mode)| (name.to_string(), *mode))
            .collect()
    };

    let folder = tempfile::tempdir().unwrap();
    let place = format!("file:{}/deep/books", folder.path().display());
    let own = [
        ("deep", 0o700),
        ("books", 0o700),
        ("lock", 0o600),
        ("ledger.log", 0o600),
        ("ledger.end", 0o600),
        ("accounts.json", 0o600),
    ];
    assert_eq!(used(&place, folder.path()), named(&own));
    let filled = format!("file:{}/filled", folder.path().display());
    heddle_economy::store::migrate(store_at(&place).as_mut(), store_at(&filled).as_mut(), "rm")
        .unwrap();
    let copy = fs::metadata(folder.path().join("filled/ledger.log")).unwrap();
    assert_eq!(copy.permissions().mode() & 0o777, 0o600);

    let database = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}/books", database.path().display());
    let own = ["books", "books-wal", "books-shm", "books-end"].map(|name| (name, 0o600));
    assert_eq!(used(&sqlite, database.path()), named(&own));
    assert_eq!(warnings(), [""; 0], "there is nothing to warn of");

    what_is_open_is_named(&folder.path().join("deep/books"), &place);
    opened(&database.path().join("books"), 0o644);
    let found = used(&sqlite, database.path());
    assert_eq!(found["books"], 0o644);
    let told = warnings();
    assert!(
        told[0].contains("/books:") && told[0].contains("644"),
        "{told:?}"
    );
}

fn opened(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Files that an operator opened to others stay open, and are named.
fn what_is_open_is_named(books: &Path, place: &str) {
    opened(&books.join("ledger.log"), 0o640);
    opened(&books.join("accounts.json"), 0o604);
    opened(books, 0o755);
    let found = used(place, books);
    assert_eq!(
        (found["ledger.log"], found["accounts.json"]),
        (0o640, 0o604)
    );
    assert_eq!(
        fs::metadata(books).unwrap().permissions().mode() & 0o777,
        0o755
    );
    let told = warnings();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("ledger.log") && told[0].contains("640"),
        "{told:?}"
    );
    assert!(
        told[1].contains("accounts.json") && told[1].contains("604"),
        "{told:?}"
    );
    opened(books, 0o777);
    used(place, books);
    let told = warnings();
    assert!(
        told[0].contains("deep/books:") && told[0].contains("777"),
        "{told:?}"
    );
}
