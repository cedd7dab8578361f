//! Reads a secret, such as a user's or a password, from the first line of its own file. Only the
//! owner may have access to the file. No message repeats any of it. The ACL file has other rules
//! (`acl`).

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// The longest secret or password.
const BYTES_MAX: u64 = 4096;

/// The reason why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The fault.
    pub what: String,
    /// The expected state, or the remedy.
    pub expected: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.what, self.expected)
    }
}

impl std::error::Error for Unusable {}

/// Reads the first line of a file that only its owner may read.
///
/// # Errors
///
/// The file is unreadable, is no file (or pipe), or is open to others; or its first line is too
/// long.
pub fn first_line(path: &Path) -> Result<String, Unusable> {
    let unreadable = |error: std::io::Error| {
        let expected = "a file with the secret in its first line";
        unusable(error.to_string(), expected)
    };
    check(&fs::metadata(path).map_err(unreadable)?)?;
    let file = File::open(path).map_err(unreadable)?;
    // Checked again, because it may be a different file by now.
    check(&file.metadata().map_err(unreadable)?)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(line) if line.len() as u64 <= BYTES_MAX => Ok(line.to_string()),
        _ => {
            let expected = format!("at most {BYTES_MAX} bytes of UTF-8 in the first line");
            Err(unusable(
                "its first line is too long, or not UTF-8",
                expected,
            ))
        }
    }
}

fn check(facts: &fs::Metadata) -> Result<(), Unusable> {
    let kind = facts.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(unusable(
            "that is neither a file nor a pipe",
            "a file with a secret",
        ));
    }
    let mode = facts.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        let what = format!("its mode {mode:04o} lets users other than its owner access a secret");
        let expected = "mode 600 (chmod 600), and a new secret if others may have read this one";
        return Err(unusable(what, expected));
    }
    Ok(())
}

fn unusable(what: impl Into<String>, expected: impl Into<String>) -> Unusable {
    Unusable {
        what: what.into(),
        expected: expected.into(),
    }
}
