//! Journals for tests: recorded ones, and ones written entry by entry, by an encoder of their own.

use std::path::{Path, PathBuf};

use heddle::constant::ABI_VERSION;
use heddle::host::Host;
use heddle::journal::{EntryKind, JournalError, Reader};
use heddle::replay::{Replay, replay};
use serde_json::{Value, json};

use super::{Cluster, SETUP};

/// One entry with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: u32,
    pub(crate) now_ms: i64,
    pub(crate) payload: Vec<u8>,
}

/// The setup of the tests with this journal.
pub(crate) fn setup_with(journal: &Value) -> String {
    let mut setup: Value = serde_json::from_str(SETUP).expect("the setup is JSON");
    setup["journal"] = journal.clone();
    setup.to_string()
}

/// Records a script as the next recording of a journal. Returns its first file.
pub(crate) fn record(journal: &Value, seed: u64, rounds: u32) -> (PathBuf, Cluster) {
    let mut host = Host::open(&setup_with(journal)).expect("the setup is right");
    let mut cluster = Cluster::new(seed);
    for _ in 0..rounds {
        cluster.round(&mut host);
    }
    let status = host.request(0, r#"{"op":"journal"}"#).expect("a status");
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let number = status["recording"].as_u64().expect("a journal");
    let base = journal["path"].as_str().expect("a path");
    (PathBuf::from(format!("{base}.{number:06}.000001")), cluster)
}

/// A journal at a path, uncompressed so that its bytes are where a test looks for them.
pub(crate) fn plain(path: &Path) -> Value {
    json!({"path": path, "compress": false})
}

pub(crate) fn replay_file(path: &Path) -> Replay {
    let replayed = Reader::open(path).and_then(replay);
    replayed.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All entries of a journal.
pub(crate) fn entries(path: &Path) -> Result<Vec<Entry>, JournalError> {
    let mut reader = Reader::open(path)?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(Entry {
            kind: entry.kind as u32,
            now_ms: entry.now_ms,
            payload: reader.payload().to_vec(),
        });
    }
    Ok(entries)
}

/// A setup entry of this JSON.
pub(crate) fn setup_entry(json: &str) -> Entry {
    Entry {
        kind: EntryKind::Setup as u32,
        now_ms: 0,
        payload: json.as_bytes().to_vec(),
    }
}

/// Writes a journal of one segment, one block for each entry, from the description of the format
/// alone.
pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let (mut journal, mut before) = segment(1, 0);
    for entry in entries {
        let (block, checksum) = block(&entry_bytes(entry), before);
        journal.extend(block);
        before = checksum;
    }
    journal
}

/// The header of a segment, and its checksum.
pub(crate) fn segment(number: u32, before: u32) -> (Vec<u8>, u32) {
    let mut header = b"HEDDLEJ\n".to_vec();
    for number in [2, ABI_VERSION, 1, number, before] {
        header.extend(number.to_le_bytes());
    }
    header.extend([0; 16]);
    let checksum = crc32fast::hash(&header);
    header.extend(checksum.to_le_bytes());
    (header, checksum)
}

/// A block that is stored as it is, and its checksum.
pub(crate) fn block(raw: &[u8], before: u32) -> (Vec<u8>, u32) {
    let length = u32::try_from(raw.len()).expect("a short block");
    block_of(length, raw, before)
}

/// A block whose bytes are said to be `raw` before compression.
pub(crate) fn block_of(raw: u32, stored: &[u8], before: u32) -> (Vec<u8>, u32) {
    let after = |bytes: &[u8]| {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(bytes);
        hasher.finalize()
    };
    let checksum = after(stored);
    let mut block = raw.to_le_bytes().to_vec();
    block.extend((stored.len() as u32).to_le_bytes());
    block.extend(checksum.to_le_bytes());
    block.extend(after(&block).to_le_bytes());
    block.extend(stored);
    (block, checksum)
}

pub(crate) fn entry_bytes(entry: &Entry) -> Vec<u8> {
    let mut bytes = entry.kind.to_le_bytes().to_vec();
    bytes.extend((entry.payload.len() as u32).to_le_bytes());
    bytes.extend(entry.now_ms.to_le_bytes());
    bytes.extend(&entry.payload);
    bytes
}
