//! The names of a journal's files, and which there are.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Digits of each number in a name, so that names sort like their numbers.
const DIGITS: usize = 6;

/// One recording that is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The start of its segments' names.
    pub base: PathBuf,
    /// Its number; a later one has a higher number.
    pub number: u32,
    /// Its segments by their number, ascending, with their sizes in bytes.
    pub segments: Vec<(u32, u64)>,
}

impl Recording {
    /// Size of all its segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Path of a segment.
    pub fn path(&self, segment: u32) -> PathBuf {
        segment_path(&self.base, self.number, segment)
    }
}

pub(super) fn segment_path(base: &Path, recording: u32, segment: u32) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push(format!(".{recording:0DIGITS$}.{segment:0DIGITS$}"));
    PathBuf::from(path)
}

/// Splits a segment's path into base, recording and segment; `None` if it is not named like one.
pub(super) fn split(path: &Path) -> Option<(PathBuf, u32, u32)> {
    let name = path.file_name()?.to_str()?;
    let (rest, segment) = name.rsplit_once('.')?;
    let (base, recording) = rest.rsplit_once('.')?;
    let number = |text: &str| {
        let digits = text.len() >= DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let (recording, segment) = (number(recording)?, number(segment)?);
    (!base.is_empty()).then(|| (path.with_file_name(base), recording, segment))
}

/// Lists the recordings of a journal, the oldest first. `at` is what the names of its files begin
/// with (`heddle.journal.path`), or a folder, whose journals are then all listed.
///
/// # Errors
/// When the folder cannot be read.
pub fn recordings(at: &Path) -> io::Result<Vec<Recording>> {
    let is_folder = at.is_dir();
    let folder = match at.parent() {
        _ if is_folder => at,
        Some(parent) if parent.as_os_str() != OsStr::new("") => parent,
        _ => Path::new("."),
    };
    let mut found: Vec<(PathBuf, u32, u32, u64)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let Some((base, recording, segment)) = split(&path) else {
            continue;
        };
        if is_folder || base.file_name() == at.file_name() {
            // A file that was removed meanwhile has no size.
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            found.push((base, recording, segment, bytes));
        }
    }
    found.sort();
    let mut list: Vec<Recording> = Vec::new();
    for (base, number, segment, bytes) in found {
        match list.last_mut() {
            Some(last) if last.number == number && last.base == base => {
                last.segments.push((segment, bytes));
            }
            _ => list.push(Recording {
                base,
                number,
                segments: vec![(segment, bytes)],
            }),
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_segments_are_taken_for_ones() {
        let path = segment_path(Path::new("/var/log/rm.journal"), 3, 12);
        assert_eq!(path, Path::new("/var/log/rm.journal.000003.000012"));
        assert_eq!(
            split(&path),
            Some((PathBuf::from("/var/log/rm.journal"), 3, 12))
        );
        for foreign in [
            "rm.journal",
            "rm.journal.1",
            "rm.journal.000001",
            "rm.journal.1.2",
            "rm.journal.000001.00000x",
            "rm.journal.000001.000002.gz",
            ".000001.000002",
            "rm.journal.999999999999.000001",
        ] {
            assert_eq!(split(Path::new(foreign)), None, "{foreign}");
        }
    }
}
