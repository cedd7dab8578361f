//! Targets for journals: as they are, and with right checksums around what was mutated.

use crate::engine::{DECISIONS_MAX, beat, beginning, client::FrameWriter, config};
use heddle::host::Host;
use heddle::journal::Reader;
use heddle::replay::replay;
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::Event;
use serde_json::json;

const SEGMENT_HEADER_BYTES: usize = 48;
const BLOCK_HEADER_BYTES: usize = 16;

/// Replays or refuses a journal. Writes no file and holds no more memory than the answers need.
/// Repeats it with right checksums, without which no mutation gets further than the first block.
pub(crate) fn journal(data: &[u8]) {
    for bytes in [data, &mended(data)] {
        let Err(fault) = Reader::new(bytes).and_then(replay) else {
            continue;
        };
        assert!(
            !fault.to_string().is_empty(),
            "a refusal without a sentence"
        );
    }
}

/// Puts right checksums into a journal, as far as its lengths lead.
fn mended(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let Some(header) = bytes.get_mut(..SEGMENT_HEADER_BYTES) else {
        return bytes;
    };
    let mut before = crc32fast::hash(&header[..44]);
    header[44..].copy_from_slice(&before.to_le_bytes());
    let after = |before, bytes: &[u8]| {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(bytes);
        hasher.finalize()
    };
    let mut rest = &mut bytes[SEGMENT_HEADER_BYTES..];
    while let Some((header, stored)) = rest.split_at_mut_checked(BLOCK_HEADER_BYTES) {
        let claimed = u32::from_le_bytes(header[4..8].try_into().expect("four bytes"));
        let Some((stored, further)) = stored.split_at_mut_checked(claimed as usize) else {
            break;
        };
        let checksum = after(before, stored);
        header[8..12].copy_from_slice(&checksum.to_le_bytes());
        let own = after(before, &header[..12]);
        header[12..].copy_from_slice(&own.to_le_bytes());
        before = checksum;
        rest = further;
    }
    bytes
}

pub(crate) fn journal_seeds() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder for journals");
    (0..PRESETS.len())
        .map(|policy| {
            let path = folder.path().join(policy.to_string());
            let journal = json!({"path": path, "compress": policy % 2 == 0});
            let setup = json!({"config": config(policy), "journal": journal}).to_string();
            let mut host = Host::open(&setup).expect("the setup is right");
            let mut out = vec![0; heddle::frame::output_bytes_max(DECISIONS_MAX)];
            let mut writer = FrameWriter::default();
            let frame = writer.frame(0, 1, DECISIONS_MAX, &beginning());
            host.step(frame, &mut out).expect("a right frame");
            host.request(100, r#"{"op": "queues"}"#).expect("a report");
            let frame = writer.frame(700, 2, DECISIONS_MAX, &[Event::Tick, beat(1)]);
            host.step(frame, &mut out).expect("a right frame");
            drop(host);
            let file = path.with_extension("000001.000001");
            std::fs::read(&file).expect("it was written")
        })
        .collect()
}
