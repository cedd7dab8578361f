//! Stores that an older Heddle wrote: they are brought to the present version, and keep all they
//! have.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::economy::Economy;
use crate::support::server::Server;
use crate::support::{check_conservation, store_at, token};
use heddle_economy::record::LedgerQuery;
use heddle_economy::store::{Commit, Store};
use std::fs;
use std::path::Path;

/// A store of the first version has no tokens and no floors; they start empty. Its rows and lines
/// have no checksums; they get some.
#[test]
fn a_store_of_the_first_version_is_brought_to_ours() {
    let older = [
        "ALTER TABLE head DROP COLUMN token",
        "DROP TABLE nonce_floors",
        "ALTER TABLE head DROP COLUMN checksum",
        "ALTER TABLE intervals DROP COLUMN row_count",
        "ALTER TABLE intervals DROP COLUMN row_sum",
        "ALTER TABLE intervals DROP COLUMN checksum",
        "ALTER TABLE ledger DROP COLUMN checksum",
        "ALTER TABLE grants DROP COLUMN checksum",
        "ALTER TABLE ledger DROP COLUMN map_unpaid_ms",
        "ALTER TABLE ledger DROP COLUMN reduce_unpaid_ms",
        "ALTER TABLE ledger DROP COLUMN am_ms",
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut server = Server::start();
    let files = folder.path().join("files");
    let places = [
        format!("sqlite:{}", path.display()),
        server.place(),
        format!("file:{}", files.display()),
    ];
    for (at, place) in places.iter().enumerate() {
        let mut store = store_at(place);
        let epoch = store.take_over("rm1", token()).unwrap();
        let mut economy = Economy::after(&store.load().unwrap(), 1);
        store.commit_changes(epoch, &economy.batch()).unwrap();
        store.commit_interval(epoch, &economy.interval()).unwrap();
        let mut expected = store.load().unwrap();
        expected.head.token = 0;
        drop(store);
        match at {
            0 => {
                let other = rusqlite::Connection::open(&path).unwrap();
                other.execute_batch(&older.join(";")).unwrap();
                other.pragma_update(None, "user_version", 1).unwrap();
            }
            1 => {
                let sql = older.join(";");
                let sql = sql.replace("TABLE ", "TABLE heddle.");
                let sql = format!("{sql};UPDATE heddle.version SET number = 1");
                server.client("db1").batch_execute(&sql).unwrap();
            }
            _ => as_first_version(&files),
        }
        let mut store = store_at(place);
        assert_eq!(store.load().unwrap(), expected, "{place}");
        let epoch = store.take_over("rm1", 1).unwrap();
        let next = economy.interval();
        assert_eq!(store.commit_interval(epoch, &next), Ok(Commit::Applied));
        assert_eq!(store_at(place).load().unwrap().head.token, 1, "{place}");
        check_conservation(store_at(place).as_mut(), place);
    }
    let log = fs::read_to_string(files.join("ledger.log")).unwrap();
    let first = log.lines().next().unwrap();
    assert!(first.ends_with("{\"Version\":4}"), "{first}");
}

/// The ledger of version 3 has no use that nobody paid for. It stays as it is, checksums included;
/// what it lacks reads as 0.
#[test]
fn a_ledger_of_the_third_version_keeps_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut server = Server::start();
    let files = folder.path().join("files");
    let places = [
        format!("sqlite:{}", path.display()),
        server.place(),
        format!("file:{}", files.display()),
    ];
    for (at, place) in places.iter().enumerate() {
        let mut store = store_at(place);
        let epoch = store.take_over("rm1", token()).unwrap();
        let mut economy = Economy::after(&store.load().unwrap(), 1);
        store.commit_changes(epoch, &economy.batch()).unwrap();
        for _ in 0..20 {
            store.commit_changes(epoch, &economy.batch()).unwrap();
            let mut next = economy.interval();
            next.rows.retain(|row| row.quota != [0, 0]);
            for row in &mut next.rows {
                (row.unpaid_slot_ms, row.am_ms) = ([0, 0], 0);
            }
            store.commit_interval(epoch, &next).unwrap();
        }
        let whole = |store: &mut dyn Store| {
            let ledger = store.ledger(&LedgerQuery::default()).unwrap();
            (store.load().unwrap(), ledger)
        };
        let expected = whole(store.as_mut());
        assert!(expected.1.len() > 20);
        drop(store);
        let columns = ["map_unpaid_ms", "reduce_unpaid_ms", "am_ms"];
        let older = columns.map(|column| format!("ALTER TABLE ledger DROP COLUMN {column}"));
        match at {
            0 => {
                let other = rusqlite::Connection::open(&path).unwrap();
                check_sums_of_version_3(&other);
                other.execute_batch(&older.join(";")).unwrap();
                other.pragma_update(None, "user_version", 3).unwrap();
            }
            1 => {
                let sql = older.join(";").replace("TABLE ", "TABLE heddle.");
                let sql = format!("{sql};UPDATE heddle.version SET number = 3");
                server.client("db1").batch_execute(&sql).unwrap();
            }
            _ => as_third_version(&files),
        }
        let mut store = store_at(place);
        assert_eq!(whole(store.as_mut()), expected, "{place}");
        let epoch = store.take_over("rm1", token()).unwrap();
        let next = economy.interval();
        assert_eq!(store.commit_interval(epoch, &next), Ok(Commit::Applied));
        let (_, mut ledger) = whole(store_at(place).as_mut());
        let rows = ledger.split_off(expected.1.len());
        assert_eq!(ledger, expected.1, "{place}");
        let rows: Vec<_> = rows.into_iter().map(|row| row.row).collect();
        assert_eq!(rows, next.rows, "{place}");
        check_conservation(store_at(place).as_mut(), place);
    }
    let log = fs::read_to_string(files.join("ledger.log")).unwrap();
    let first = log.lines().next().unwrap();
    assert!(first.ends_with("{\"Version\":4}"), "{first}");
}

/// Checks that rows have the checksums that version 3 gave them: of each column a letter for its
/// kind, then the number, or the length and the text.
fn check_sums_of_version_3(database: &rusqlite::Connection) {
    let sql = "SELECT tick, queue, rate, map_quota, reduce_quota, map_used_ms, reduce_used_ms, \
               income, debit, balance, checksum FROM ledger";
    let mut query = database.prepare(sql).unwrap();
    let mut rows = query.query([]).unwrap();
    let mut count = 0;
    while let Some(row) = rows.next().unwrap() {
        let mut bytes = Vec::new();
        for column in 0..10 {
            if column == 1 {
                let queue: String = row.get(column).unwrap();
                bytes.push(b't');
                bytes.extend((queue.len() as u64).to_le_bytes());
                bytes.extend(queue.bytes());
            } else {
                bytes.push(b'i');
                bytes.extend(row.get::<_, i64>(column).unwrap().to_le_bytes());
            }
        }
        assert_eq!(row.get(10), Ok(i64::from(crc32fast::hash(&bytes))));
        count += 1;
    }
    assert!(count > 20);
}

/// Rewrites a log in the format of the third version: lines name the line before them.
fn as_third_version(files: &Path) {
    let log = fs::read_to_string(files.join("ledger.log")).unwrap();
    let mut older = String::new();
    let mut before = None;
    for line in log.lines() {
        let json = &line[line.find('{').unwrap()..];
        let json = json.replace("{\"Version\":4}", "{\"Version\":3}");
        let json = json.replace(",\"unpaid_slot_ms\":[0,0],\"am_ms\":0", "");
        assert!(!json.contains("am_ms"), "{json}");
        let text = match before {
            Some(before) => format!("{before:08x} {json}"),
            None => json,
        };
        let sum = crc32fast::hash(text.as_bytes());
        older += &format!("{sum:08x} {text}\n");
        before = Some(sum);
    }
    fs::write(files.join("ledger.log"), older).unwrap();
    fs::remove_file(files.join("accounts.json")).unwrap();
}

/// Rewrites a log in the format of the first version.
fn as_first_version(files: &Path) {
    let log = fs::read_to_string(files.join("ledger.log")).unwrap();
    let mut older = String::new();
    for line in log.lines() {
        let json = &line[line.find('{').unwrap()..];
        let mut json: serde_json::Value = serde_json::from_str(json).unwrap();
        if let Some(version) = json.get_mut("Version") {
            *version = 1.into();
        }
        if let Some(taken) = json.get_mut("TakeOver") {
            taken.as_object_mut().unwrap().remove("token").unwrap();
        }
        let json = json.to_string();
        older += &format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
    }
    fs::write(files.join("ledger.log"), older).unwrap();
    fs::remove_file(files.join("accounts.json")).unwrap();
}
