//! Watches the allocations file (FS-7) and Fair's file (DI-1): tells whether it has changed and
//! settled. The host keeps the state between two looks.
//!
//! YARN's FairScheduler compares a file's date with the time of its last load, so it misses a file
//! that was put in place with an older date. Here any other state of the file is a change.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use heddle_economy::auth::stamp::Stamp;
use heddle_stock::fair;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The engine takes no more bytes. One more is read, so that it can say so.
const BYTES_MAX: u64 = 1 << 20;
/// Fair's reader takes no larger file. One byte more is read, so that it can say so.
const STOCK_BYTES_MAX: u64 = fair::BYTES_MAX as u64;
/// A file that changed more lately than this may be half written.
const SETTLING_MS: i64 = 5_000;

/// A look at the file.
#[derive(Deserialize)]
pub(crate) struct Look {
    #[serde(flatten)]
    file: Followed,
    /// Whether it is a stock scheduler's file.
    #[serde(default)]
    stock: bool,
    /// The wall clock; none to read the file in any case.
    now_ms: Option<i64>,
    state: Option<State>,
}

/// A followed file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Followed {
    /// On this machine.
    Local { path: PathBuf },
    /// On a file system that only the host can read: what it says of the file.
    Elsewhere { modified_ms: i64, bytes: u64 },
}

/// What earlier looks found.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct State {
    /// The last state that was read.
    read: Option<Stamp>,
    /// The last state that was seen.
    seen: Option<Stamp>,
}

/// Returns the next `state`, and `text` if there is one to take over, or `wrong`. Bytes that are
/// not UTF-8 become a character that the engine refuses, with its line. For a file elsewhere
/// returns `bytes` instead of a text: how many the host reads at most, if there is a text.
pub(crate) fn look(look: &Look) -> Value {
    let mut state = look.state.unwrap_or_default();
    let bytes_max = match look.stock {
        true => STOCK_BYTES_MAX,
        false => BYTES_MAX,
    };
    let path = match &look.file {
        Followed::Local { path } => path,
        Followed::Elsewhere { modified_ms, bytes } => {
            let stamp = Stamp::elsewhere(*modified_ms, *bytes);
            let due = is_due(look, &mut state, stamp);
            if due {
                state.read = Some(stamp);
            }
            return json!({ "state": state, "bytes": due.then_some(bytes_max + 1) });
        }
    };
    match read(look, path, bytes_max, &mut state) {
        Ok(text) => json!({ "state": state, "text": text }),
        Err(wrong) => json!({ "state": state, "wrong": wrong }),
    }
}

fn read(
    look: &Look,
    path: &Path,
    bytes_max: u64,
    state: &mut State,
) -> Result<Option<String>, String> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(&error))?;
    check(&metadata)?;
    let stamp = Stamp::of(&metadata);
    if !is_due(look, state, stamp) {
        return Ok(None);
    }
    let (contents, same) = stamp.read(path, bytes_max, check, unreadable)?;
    if !same && look.now_ms.is_some() {
        return Ok(None);
    }
    state.read = Some(stamp);
    decode(look.stock, &contents).map(Some)
}

/// The text of a file. A stock scheduler's has the encoding that its XML says, as for stock.
fn decode(stock: bool, bytes: &[u8]) -> Result<String, String> {
    match stock {
        true => heddle_stock::decode(bytes).map_err(|fault| fault.to_string()),
        false => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// The bytes of a file that only the host can read, in base 64.
#[derive(Deserialize)]
pub(crate) struct Bytes {
    bytes: String,
    #[serde(default)]
    stock: bool,
}

/// Returns `text`, or `wrong`.
pub(crate) fn text(file: &Bytes) -> Value {
    let bytes = BASE64
        .decode(&file.bytes)
        .map_err(|error| error.to_string());
    match bytes.and_then(|bytes| decode(file.stock, &bytes)) {
        Ok(text) => json!({ "text": text }),
        Err(wrong) => json!({ "wrong": wrong }),
    }
}

/// Whether to read a file in this state: in any case, or because it has changed and settled.
fn is_due(look: &Look, state: &mut State, stamp: Stamp) -> bool {
    let still = state.seen.replace(stamp) == Some(stamp);
    look.now_ms.is_none_or(|now_ms| {
        state.read != Some(stamp) && settled(now_ms - stamp.modified_ms(), still)
    })
}

/// A date in the future comes from another machine's clock. Such a file has settled if it is the
/// same as at the last look.
fn settled(age_ms: i64, still: bool) -> bool {
    match age_ms < 0 {
        true => still,
        false => age_ms > SETTLING_MS,
    }
}

/// Refuses pipes and devices: reading them might never end.
fn check(metadata: &Metadata) -> Result<(), String> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err("expected a file, found a folder or a device".to_string()),
    }
}

fn unreadable(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_string(),
        ErrorKind::PermissionDenied => "this user may not read it".to_string(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, SystemTime};
    use tempfile::TempDir;

    /// In 2001, before any file of a test was written.
    const T0: i64 = 1_000_000_000_000;

    struct Watch {
        folder: TempDir,
        path: PathBuf,
        state: Value,
    }

    impl Watch {
        fn new() -> Watch {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("pools.txt");
            Watch {
                folder,
                path,
                state: Value::Null,
            }
        }

        fn write(&self, text: &str, modified_ms: i64) {
            write(&self.path, text, modified_ms);
        }

        fn look(&mut self, now_ms: Option<i64>) -> Value {
            let question = json!({ "path": self.path, "now_ms": now_ms, "state": self.state });
            let answer = look(&serde_json::from_value(question).expect("a look"));
            self.state = answer["state"].clone();
            answer
        }

        fn text(&mut self, now_ms: i64) -> Option<String> {
            let answer = self.look(Some(now_ms));
            assert_eq!(answer.get("wrong"), None);
            answer["text"].as_str().map(str::to_string)
        }

        fn wrong(&mut self) -> String {
            let answer = self.look(Some(T0 + 10_000));
            answer["wrong"].as_str().expect("an error").to_string()
        }
    }

    fn write(path: &PathBuf, text: &str, modified_ms: i64) {
        fs::write(path, text).expect("our folder");
        let since = Duration::from_millis(modified_ms.try_into().expect("after 1970"));
        let file = File::options().write(true).open(path).expect("our file");
        file.set_modified(SystemTime::UNIX_EPOCH + since)
            .expect("our file");
    }

    #[test]
    fn a_change_is_read_once_when_it_is_older_than_five_seconds() {
        let mut file = Watch::new();
        file.write("a 1 0", T0);
        assert_eq!(file.look(None)["text"], "a 1 0");
        assert_eq!(file.text(T0 + 60_000), None, "nothing has changed");
        assert_eq!(file.look(None)["text"], "a 1 0", "at once, changed or not");

        file.write("a 2 0", T0 + 70_000);
        assert_eq!(file.text(T0 + 70_000), None);
        assert_eq!(file.text(T0 + 75_000), None);
        assert_eq!(file.text(T0 + 75_001).as_deref(), Some("a 2 0"));
        assert_eq!(file.text(T0 + 85_000), None);

        // A second change within the wait starts it again.
        file.write("a 3", T0 + 90_000);
        assert_eq!(file.text(T0 + 94_000), None);
        file.write("a 3 0", T0 + 94_500);
        assert_eq!(file.text(T0 + 99_000), None);
        assert_eq!(file.text(T0 + 104_000).as_deref(), Some("a 3 0"));
    }

    #[test]
    fn a_file_of_any_date_takes_the_others_place() {
        let mut file = Watch::new();
        file.write("a 1 0", T0);
        file.look(None);
        // As long and as old, moved over it: only its inode differs.
        let other = file.folder.path().join("other");
        write(&other, "a 2 0", T0);
        fs::rename(&other, &file.path).expect("our folder");
        assert_eq!(file.text(T0 + 10_000).as_deref(), Some("a 2 0"));
        // Older than the one before.
        file.write("a 3 0", T0 - 3_600_000);
        assert_eq!(file.text(T0 + 20_000).as_deref(), Some("a 3 0"));
        // From the future, by another machine's clock.
        file.write("a 4 0", T0 + 3_600_000);
        assert_eq!(file.text(T0 + 30_000), None);
        assert_eq!(file.text(T0 + 40_000).as_deref(), Some("a 4 0"));
        // The host could not use what was read.
        file.state["read"] = Value::Null;
        assert_eq!(file.text(T0 + 50_000).as_deref(), Some("a 4 0"));
    }

    #[test]
    fn a_file_elsewhere_is_judged_by_what_its_file_system_says() {
        let mut state = Value::Null;
        let mut bytes = |modified_ms: i64, size: u64, now_ms: Option<i64>| {
            let question = json!({
                "modified_ms": modified_ms, "bytes": size, "stock": true,
                "now_ms": now_ms, "state": state,
            });
            let answer = look(&serde_json::from_value(question).expect("a look"));
            state = answer["state"].clone();
            answer["bytes"].as_u64()
        };
        let most = Some((128 << 20) + 1);
        assert_eq!(bytes(T0, 9, None), most, "at the start");
        assert_eq!(bytes(T0, 9, Some(T0 + 60_000)), None, "nothing has changed");
        assert_eq!(bytes(T0 + 60_000, 9, Some(T0 + 65_000)), None);
        assert_eq!(bytes(T0 + 60_000, 9, Some(T0 + 65_001)), most);
        // With an older date, which YARN's FairScheduler does not notice.
        assert_eq!(bytes(T0 - 60_000, 9, Some(T0 + 75_000)), most);
        assert_eq!(bytes(T0 - 60_000, 9, Some(T0 + 85_000)), None);
        assert_eq!(
            bytes(T0 - 60_000, 8, Some(T0 + 95_000)),
            most,
            "another size"
        );
    }

    #[test]
    fn a_path_without_a_file_is_an_error() {
        let mut file = Watch::new();
        assert_eq!(file.wrong(), "there is no such file");
        file.write("a 1 0", T0);
        assert_eq!(file.text(T0 + 10_000).as_deref(), Some("a 1 0"));
        fs::remove_file(&file.path).expect("our file");
        assert_eq!(file.wrong(), "there is no such file");
        file.path = file.folder.path().to_path_buf();
        assert!(file.wrong().starts_with("expected a file, found a folder"));
    }

    #[test]
    fn the_engine_sees_bytes_that_are_no_text_and_files_that_are_too_long() {
        let mut file = Watch::new();
        fs::write(&file.path, b"a\n\xe4").expect("our folder");
        assert_eq!(file.look(None)["text"], "a\n\u{fffd}");
        file.write(&"x".repeat(BYTES_MAX as usize + 5), T0);
        let text = file.text(T0 + 10_000).expect("it has settled");
        assert_eq!(text.len() as u64, BYTES_MAX + 1);
    }

    #[test]
    fn a_stock_file_is_read_in_its_encoding_here_and_elsewhere() {
        let text = "<?xml version='1.0' encoding='ISO-8859-1'?><allocations>\u{fc}</allocations>";
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fair-scheduler.xml");
        fs::write(&path, &latin).expect("it is ours");
        let look_at = json!({"path": path, "stock": true});
        let found = look(&serde_json::from_value(look_at).expect("a look"));
        assert_eq!(found["text"], text);
        let sent = json!({"bytes": BASE64.encode(&latin), "stock": true});
        let found = super::text(&serde_json::from_value(sent).expect("bytes"));
        assert_eq!(found, json!({ "text": text }));
        let unknown = "<?xml version='1.0' encoding='KLINGON'?><allocations/>";
        let sent = json!({"bytes": BASE64.encode(unknown), "stock": true});
        let found = super::text(&serde_json::from_value(sent).expect("bytes"));
        assert!(
            found["wrong"]
                .as_str()
                .is_some_and(|why| why.contains("KLINGON")),
            "{found}"
        );
    }
}
