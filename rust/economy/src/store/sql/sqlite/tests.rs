//! Tests of reading a SQLite file while others write to it.

use super::super::SqlStore;
use super::*;
use crate::record::{Batch, Change};
use crate::store::Store;
use crate::store::sql::read::read_head;

/// A reader sees a snapshot from before the commit of a writer, and the mark from after it.
#[test]
fn a_commit_during_a_read_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut writer = SqlStore::new(Sqlite::new(&path, true));
    let epoch = writer.take_over("rm1", 1).unwrap();
    let mut reader = Sqlite::new(&path, false);
    reader.begin(false).unwrap();
    let seen = read_head(&mut reader, "").unwrap();
    let batch = Batch {
        serial: 1,
        at_ms: 1,
        changes: vec![Change::Seen {
            user: "ann".to_string(),
            timestamp_ms: 5,
        }],
    };
    writer.commit_changes(epoch, &batch).unwrap();
    assert!(reader.check_mark(&seen).is_ok());
    reader.commit().unwrap();
    reader.begin(false).unwrap();
    assert_eq!(read_head(&mut reader, "").unwrap().serial, 1);
    assert!(reader.check_mark(&seen).is_err(), "an end that got lost");
}
