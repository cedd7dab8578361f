//! Checks that a journal has one digest: recorded, replayed, and the same in C and in Java.
//!
//! The journals are in `native-tests/data`, each with its digest beside it in hexadecimal. C
//! (`native-tests/replay_test.c`) and Java replay the same files. When the engine's decisions
//! change, `UPDATE=1 cargo test -p heddle-bridge --test library replay::` records the scripted
//! journal again and computes all digests. Journals of real clusters are never recorded again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::SETUP;
use crate::support::journals::{
    block, block_of, encode, entries, entry_bytes, plain, record, replay_file, segment, setup_entry,
};
use heddle::journal::{Digest, Reader};
use heddle::replay::{Recorded, replay};
use serde_json::json;

const SCRIPTED: &str = "scripted.journal";
const SCRIPT_SEED: u64 = 7;
const SCRIPT_ROUNDS: u32 = 60;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../native-tests/data")
}

#[test]
fn committed_journals_give_their_digests() {
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        // C and Java read blocks that are not compressed.
        let directory = tempfile("scripted");
        let journal = plain(&directory.join("journal"));
        let (path, _) = record(&journal, SCRIPT_SEED, SCRIPT_ROUNDS);
        fs::copy(path, data().join(SCRIPTED)).unwrap();
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
            replayed.counts.frames > 100 && replayed.counts.errors == 0,
            "{}: {replayed:?}",
            path.display()
        );
        assert!(replayed.same(), "{}: {replayed:?}", path.display());
        let digest = format!("{:016x}\n", replayed.digest.value());
        let beside = path.with_extension("digest");
        if update {
            fs::write(&beside, &digest).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(
            digest,
            expected,
            "{}: see the head of tests/library/replay.rs",
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
        let (_, cluster) = record(&json!({"path": path}), seed, 40);
        assert!(
            cluster.grants > 50,
            "seed {seed}: a script that grants {} times tests nothing",
            cluster.grants
        );
        let replayed = replay_file(&path);
        assert!(replayed.same(), "seed {seed}: {replayed:?}");
        assert_eq!(replayed.end.as_deref(), Some("closed"));
        assert!(
            !replayed.torn && replayed.counts.requests > 0,
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
        replay_file(&record(&plain(&path), seed, 10).0).digest
    };
    assert_ne!(digest_of(1), digest_of(2));
    fs::remove_dir_all(directory).unwrap();
}

/// The replay of a recording with one other answer stops at its input, and has both answers.
#[test]
fn the_first_other_answer_is_found_with_its_input() {
    let directory = tempfile("difference");
    let (path, _) = record(&plain(&directory.join("journal")), 5, 10);
    let recorded = entries(&path).unwrap();
    let answers: Vec<usize> = (0..recorded.len())
        .filter(|&at| recorded[at].kind == 4)
        .collect();
    for at in [
        answers[0],
        answers[answers.len() / 2],
        *answers.last().unwrap(),
    ] {
        let mut changed = recorded.clone();
        *changed[at].payload.last_mut().expect("an answer has bytes") ^= 1;
        let replayed = Reader::new(&encode(&changed)[..]).and_then(replay).unwrap();
        assert!(!replayed.same());
        let step = replayed.difference.expect("one answer differs");
        assert_eq!(step.input, recorded[at - 1].payload);
        assert_eq!(step.now_ms, recorded[at - 1].now_ms);
        assert_eq!(step.answer.unwrap(), recorded[at].payload);
        assert_eq!(step.recorded, Recorded::Bytes(changed[at].payload.clone()));
        let inputs = recorded[..at]
            .iter()
            .filter(|entry| (2..=3).contains(&entry.kind));
        let counts = replayed.counts;
        assert_eq!(counts.frames + counts.requests, inputs.count() as u64);
    }
    fs::remove_dir_all(directory).unwrap();
}

/// Like after a kill of the process: every whole block counts, wherever the file is cut.
#[test]
fn a_journal_that_was_cut_short_replays_up_to_the_cut() {
    let directory = tempfile("cut");
    let (path, _) = record(&plain(&directory.join("journal")), 3, 3);
    let whole = encode(&entries(&path).unwrap());
    let frames_of_whole = replay_file(&path).counts.frames;
    let cut = |length: usize| Reader::new(&whole[..length]).and_then(replay);
    let mut frames_before = 0;
    for length in 0..whole.len() {
        match cut(length) {
            Ok(replayed) => {
                assert_eq!(replayed.end, None, "cut at {length}");
                assert!(replayed.difference.is_none(), "cut at {length}");
                let frames = replayed.counts.frames;
                assert!(frames >= frames_before, "cut at {length}: {replayed:?}");
                frames_before = frames;
            }
            // Without a whole setup there is nothing to replay.
            Err(error) => assert!(frames_before == 0 && length < 2_000, "at {length}: {error}"),
        }
    }
    assert_eq!(frames_before, frames_of_whole);
    fs::remove_dir_all(directory).unwrap();
}

/// One bit anywhere: a checksum has it, or an entry's length, or the magic bytes.
#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let directory = tempfile("flipped");
    for compress in [true, false] {
        let path = directory.join(format!("{compress}"));
        let (path, _) = record(&json!({"path": path, "compress": compress}), 3, 2);
        let whole = fs::read(path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            let read = Reader::new(&flipped[..]).and_then(|mut reader| {
                while reader.next_entry()?.is_some() {}
                Ok(())
            });
            let error = read.expect_err(&format!("byte {at} of {}", whole.len()));
            assert!(!error.to_string().is_empty());
        }
    }
    fs::remove_dir_all(directory).unwrap();
}

/// Expects these bytes to be refused with this text.
fn expect(bytes: &[u8], expected: &str) {
    let read = Reader::new(bytes).and_then(replay);
    let found = read.expect_err("it is no journal").to_string();
    assert!(found.contains(expected), "{expected:?} is not in {found:?}");
}

#[test]
fn what_does_not_begin_like_a_journal_is_refused_with_its_place() {
    expect(b"", "shorter than its header");
    expect(&[b'x'; 60], "not a journal");
    let (header, _) = segment(1, 0);
    let changed = |at: usize, byte: u8, expected: &str| {
        let mut changed = header.clone();
        changed[at] = byte;
        expect(&changed, expected);
    };
    changed(8, 3, "offset 8: expected journal version 2, found 3");
    changed(8, 1, "replay it with the Heddle that recorded it");
    changed(12, 9, "offset 12: expected ABI version 2, found 9");
    changed(30, 9, "offset 0: the header of a segment is damaged");
    let second = "segment 2 of recording 1: a replay starts with segment 1";
    expect(&segment(2, 0).0, second);
    let alone = "segment 1, the block at offset 48: expected a setup";
    expect(&header, alone);
}

#[test]
fn entries_that_cannot_be_are_refused_with_their_place() {
    let (header, before) = segment(1, 0);
    let with = |raw: &[&[u8]], expected: &str| {
        let journal = [header.clone(), block(&raw.concat(), before).0].concat();
        expect(&journal, expected);
    };
    let entry = |kind: u32, claimed: u32, payload: &[u8]| {
        let mut bytes = [kind.to_le_bytes(), claimed.to_le_bytes(), [0; 4], [0; 4]].concat();
        bytes.extend(payload);
        bytes
    };
    let kinds = "offset 48, is damaged: expected an entry of kind 1 to 7";
    with(&[&entry(9, 2, b"{}")], kinds);
    let long = "expected an entry of at most 2 bytes";
    with(&[&entry(1, u32::MAX, b"{}")], long);
    let left = "1 bytes are left where an entry starts";
    with(&[&entry(1, 2, b"{}x")], left);
    with(&[&entry(2, 2, b"{}")], "expected a setup");
    with(&[&entry(1, 1, b"{")], "setup: EOF");
    let setup = entry_bytes(&setup_entry(SETUP));
    with(&[&setup, &setup], "a second setup");
    with(
        &[&setup, &entry(4, 2, b"{}")],
        "an answer without its input",
    );
    let end = entry(7, 0, b"");
    with(&[&setup, &end, &end], "an entry after the end");
    let short = [&setup[..], &entry(3, 2, b"{}"), &entry(6, 3, b"abc")];
    with(&short, "3 bytes are no recorded answer");
}

#[test]
fn blocks_that_claim_what_cannot_be_are_refused() {
    let (header, before) = segment(1, 0);
    let claims = |raw: u32, stored: &[u8], expected: &str| {
        let journal = [header.clone(), block_of(raw, stored, before).0].concat();
        expect(&journal, expected);
    };
    let most = "expected 16 to 67108864 bytes, found 4294967295";
    claims(u32::MAX, b"x", most);
    claims(1 << 20, b"x", "to be stored in 4113 to 1048576, found 1");
    claims(16, &[7; 17], "found 17");
    claims(100, b"\xff\xff\xff\xff", "its compressed bytes are wrong");
}

/// Segments in files of their own and in one file give the same; a lost, foreign or swapped one is
/// named.
#[test]
fn segments_belong_together() {
    let directory = tempfile("segments");
    let (path, _) = record(&plain(&directory.join("journal")), 5, 30);
    let recorded = entries(&path).unwrap();
    let at = |segment: u32| directory.join(format!("split.000001.{segment:06}"));
    let mut before = 0;
    let mut all = Vec::new();
    for (number, part) in (1..).zip(recorded.chunks(recorded.len() / 3 + 1)) {
        let (mut bytes, checksum) = segment(number, before);
        let raw: Vec<u8> = part.iter().flat_map(entry_bytes).collect();
        let (block, checksum) = block(&raw, checksum);
        bytes.extend(block);
        fs::write(at(number), &bytes).unwrap();
        all.extend(bytes);
        before = checksum;
    }
    let expected = replay_file(&path);
    assert!(expected.same());
    for whole in [at(1), directory.join("split")] {
        assert_eq!(entries(&whole).unwrap(), recorded, "{}", whole.display());
    }
    assert_eq!(
        Reader::new(&all[..]).and_then(replay).unwrap().digest,
        expected.digest
    );
    assert_eq!(
        Reader::open(&at(1)).unwrap().bytes_total(),
        Some(all.len() as u64)
    );
    let refused = |path: &Path| entries(path).unwrap_err().to_string();
    assert!(refused(&at(2)).contains("a replay starts with segment 1"));
    let second = fs::read(at(2)).unwrap();
    fs::copy(at(3), at(2)).unwrap();
    let swapped = refused(&at(1));
    assert!(
        swapped.contains("expected its segment 2, found segment 3"),
        "{swapped}"
    );
    fs::write(at(2), &second[..second.len() - 1]).unwrap();
    let cut = refused(&at(1));
    assert!(
        cut.contains("segment 2, the block at offset 48, is damaged: cut short"),
        "{cut}"
    );
    // The last file may be cut: the process was killed, or is writing right now.
    fs::remove_file(at(3)).unwrap();
    let first = fs::read(at(1)).unwrap();
    for length in [0, 10, 48, 100, second.len() - 1] {
        fs::write(at(2), &second[..length]).unwrap();
        let mut reader = Reader::open(&at(1)).unwrap();
        while reader.next_entry().unwrap().is_some() {}
        assert_eq!(reader.torn(), length != 48, "cut at {length}");
        assert!(reader.bytes() >= first.len() as u64);
    }
    fs::remove_dir_all(directory).unwrap();
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
