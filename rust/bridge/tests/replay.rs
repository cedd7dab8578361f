//! Checks that a journal has one digest: recorded, replayed, and the same in C and in Java.
//!
//! The journals are in `native-tests/data`, each with its digest beside it in hexadecimal. C
//! (`native-tests/replay_test.c`) and Java replay the same files. When the engine's decisions
//! change, `UPDATE=1 cargo test -p heddle-bridge --test replay` records the scripted journal again
//! and computes all digests. Journals of real clusters are never recorded again.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use heddle::host::Host;
use heddle::journal::{Digest, Reader};
use heddle::replay::{Replay, replay};
use support::{Cluster, SETUP};

const SCRIPTED: &str = "scripted.journal";
const SCRIPT_SEED: u64 = 7;
const SCRIPT_ROUNDS: u32 = 60;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../native-tests/data")
}

fn setup_with_journal(path: &Path) -> String {
    let mut setup: serde_json::Value = serde_json::from_str(SETUP).expect("the setup is JSON");
    setup["journal"] = path.to_str().expect("test paths are UTF-8").into();
    setup.to_string()
}

/// Records the script. Returns the number of grants.
fn record(path: &Path, seed: u64, rounds: u32) -> u64 {
    let mut host = Host::open(&setup_with_journal(path)).expect("the setup is right");
    let mut cluster = Cluster::new(seed);
    for _ in 0..rounds {
        cluster.round(&mut host);
    }
    cluster.grants
}

fn replay_file(path: &Path) -> Replay {
    let reader = Reader::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    replay(reader).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn committed_journals_give_their_digests() {
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        let path = data().join(SCRIPTED);
        let _ = fs::remove_file(&path);
        record(&path, SCRIPT_SEED, SCRIPT_ROUNDS);
    }
    let mut journals: Vec<PathBuf> = fs::read_dir(data())
        .expect("native-tests/data is there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "journal")
        })
        .collect();
    journals.sort();
    assert!(
        journals.iter().any(|path| path.ends_with(SCRIPTED)),
        "{journals:?}"
    );
    for path in journals {
        let replayed = replay_file(&path);
        assert!(
            replayed.frames > 100 && replayed.errors == 0,
            "{}: {replayed:?}",
            path.display()
        );
        let digest = format!("{:016x}\n", replayed.digest.value());
        let beside = path.with_extension("digest");
        if update {
            fs::write(&beside, &digest).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(
            digest,
            expected,
            "{}: see the head of tests/replay.rs",
            path.display()
        );
    }
}

/// A replay gives the recorded answers, for any seed.
#[test]
fn a_replay_gives_the_answers_that_were_recorded() {
    let directory = tempfile("recorded");
    for seed in 0..10 {
        let path = directory.join(format!("{seed}.journal"));
        let grants = record(&path, seed, 40);
        assert!(
            grants > 50,
            "seed {seed}: a script that grants {grants} times tests nothing"
        );
        let replayed = replay_file(&path);
        assert_eq!(
            Some(replayed.digest.value()),
            replayed.recorded,
            "seed {seed}: {replayed:?}"
        );
        assert!(
            !replayed.torn && replayed.requests > 0,
            "seed {seed}: {replayed:?}"
        );
    }
    fs::remove_dir_all(directory).unwrap();
}

/// A digest that ignored the answers would be equal for every script.
#[test]
fn another_script_gives_another_digest() {
    let directory = tempfile("another");
    let digest_of = |seed| {
        let path = directory.join(format!("{seed}.journal"));
        record(&path, seed, 10);
        replay_file(&path).digest
    };
    assert_ne!(digest_of(1), digest_of(2));
    fs::remove_dir_all(directory).unwrap();
}

/// Like after a kill of the process: every whole frame counts, wherever the file is cut.
#[test]
fn a_journal_that_was_cut_short_replays_up_to_the_cut() {
    let directory = tempfile("cut");
    let path = directory.join("whole.journal");
    record(&path, 3, 3);
    let whole = fs::read(&path).unwrap();
    let frames_of_whole = replay_file(&path).frames;
    let cut = |length: usize| Reader::new(&whole[..length]).and_then(replay);
    let mut frames_before = 0;
    for length in 0..whole.len() {
        match cut(length) {
            Ok(replayed) => {
                assert!(replayed.recorded.is_none(), "cut at {length}: {replayed:?}");
                assert!(
                    replayed.frames >= frames_before,
                    "cut at {length}: {replayed:?}"
                );
                frames_before = replayed.frames;
            }
            // Without a whole setup there is nothing to replay.
            Err(error) => assert!(frames_before == 0 && length < 2_000, "at {length}: {error}"),
        }
    }
    assert_eq!(frames_before, frames_of_whole);
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_is_no_journal_is_refused_with_its_place() {
    let refused = |bytes: &[u8]| Reader::new(bytes).and_then(replay).unwrap_err().to_string();
    let mut header = b"HEDDLEJ\n".to_vec();
    header.extend([1, 0, 0, 0, 2, 0, 0, 0]);
    let entry = |kind: u32, length: u32| {
        let mut bytes = header.clone();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(b"{}");
        bytes
    };
    assert!(refused(b"PK\x03\x04 a jar, not a journal").contains("not a journal"));
    let mut newer = header.clone();
    newer[8] = 2;
    assert!(refused(&newer).contains("offset 8: expected journal version 1, found 2"));
    newer[8] = 1;
    newer[12] = 9;
    assert!(refused(&newer).contains("offset 12: expected ABI version 2, found 9"));
    assert!(refused(&entry(9, 2)).contains("offset 16: expected an entry of kind 1 to 4, found 9"));
    assert!(refused(&entry(1, u32::MAX)).contains("offset 20: expected at most"));
    assert!(refused(&entry(2, 2)).contains("offset 16: expected a setup"));
    let mut twice = entry(1, 2);
    twice.extend_from_within(16..);
    assert!(refused(&twice).contains("second setup"));
}

/// Published values of FNV-1a 64 (the test vectors of its reference implementation), so that C and
/// Java can be written from its description.
#[test]
fn the_digest_is_fnv_1a() {
    let digest_of = |text: &str| {
        let mut digest = Digest::EMPTY;
        digest.update(text.as_bytes());
        digest.value()
    };
    assert_eq!(digest_of(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest_of("a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(digest_of("foobar"), 0x8594_4171_f739_67e8);
}

/// Creates this test's own directory.
fn tempfile(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("replay-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("the target directory is writable");
    directory
}
