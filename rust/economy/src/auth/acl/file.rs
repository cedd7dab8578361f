//! Watches the ACL file: reads it again when it has changed and settled, like the allocations file
//! (FS-7). With `secret_file`, the only I/O of `auth`. An unusable file leaves the old users in
//! force, and is reported once per state.

use super::{Acl, Fault};
use crate::auth::stamp::Stamp;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest ACL file.
pub const FILE_BYTES_MAX: u64 = 4 << 20;
/// Bits of a file's mode that give rights to the group or to others.
const NOT_THE_OWNERS: u32 = 0o077;

/// The reason why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It cannot be read.
    Unreadable(PathBuf, String),
    /// Users other than the owner may read or write it; its mode.
    Exposed(PathBuf, u32),
    /// It belongs to another user, who could change it; that user's number, and ours.
    NotOurs(PathBuf, u32, u32),
    /// A folder, a pipe, a device.
    NotAFile(PathBuf),
    /// More than `FILE_BYTES_MAX` bytes.
    TooLarge(PathBuf),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Unusable::Unreadable(path, _)
        | Unusable::Exposed(path, _)
        | Unusable::NotOurs(path, ..)
        | Unusable::NotAFile(path)
        | Unusable::TooLarge(path)) = self;
        write!(f, "ACL file {}: ", path.display())?;
        match self {
            Unusable::Unreadable(_, why) => write!(f, "cannot be read: {why}")?,
            Unusable::Exposed(_, mode) => write!(
                f,
                "it holds secrets, and its mode {:04o} lets users other than its owner access it; \
                 run chmod 600",
                mode & 0o7777
            )?,
            Unusable::NotOurs(_, owner, ours) => write!(
                f,
                "it belongs to user {owner}, and this process runs as user {ours}; run chown {ours}"
            )?,
            Unusable::NotAFile(_) => f.write_str("expected a regular file")?,
            Unusable::TooLarge(_) => write!(f, "more than {FILE_BYTES_MAX} bytes")?,
        }
        f.write_str("; the users read before stay in force")
    }
}

impl std::error::Error for Unusable {}

/// The result of a poll.
#[derive(Debug)]
pub enum Polled {
    /// The file is unchanged, or has not settled yet.
    Unchanged,
    /// New users, and the faults in the lines.
    Read(Acl, Vec<Fault>),
    /// The file is unusable.
    Unusable(Unusable),
}

/// A polled file.
#[derive(Debug)]
pub struct AclFile {
    path: PathBuf,
    settle_ms: u64,
    /// The last state that was read or reported.
    done: Option<Stamp>,
    /// A state that has yet to settle, and the time of its first poll.
    seen: Option<(Option<Stamp>, u64)>,
    reported: Option<Unusable>,
    /// The required owner.
    ours: u32,
}

impl AclFile {
    /// Watches a file. Reads it when it has not changed for `settle_ms`, so that its writer can
    /// finish; the first time, at once.
    pub fn new(path: &Path, settle_ms: u64) -> AclFile {
        AclFile {
            path: path.to_path_buf(),
            settle_ms,
            done: None,
            seen: None,
            reported: None,
            ours: rustix::process::geteuid().as_raw(),
        }
    }

    /// Checks the file. `now_ms` is of a steady clock, ms since any moment.
    pub fn poll(&mut self, now_ms: u64) -> Polled {
        let metadata = std::fs::metadata(&self.path);
        let stamp = metadata.as_ref().ok().map(Stamp::of);
        // A file that was unreadable is read again, even in its former state: its users are back.
        let unreadable = matches!(self.reported, Some(Unusable::Unreadable(..)));
        if self.done.is_some() && self.done == stamp && !unreadable {
            (self.seen, self.reported) = (None, None);
            return Polled::Unchanged;
        }
        let since_ms = match self.seen {
            Some((seen, since_ms)) if seen == stamp && since_ms <= now_ms => since_ms,
            _ => now_ms,
        };
        self.seen = Some((stamp, since_ms));
        let settled = now_ms.saturating_sub(since_ms) >= self.settle_ms;
        if self.done.is_some() && !settled {
            return Polled::Unchanged;
        }
        let read = metadata
            .map_err(|error| self.unreadable(&error))
            .and_then(|metadata| self.read(&metadata));
        match read {
            // It changed during the reading: the next poll sees another state.
            Ok(None) => Polled::Unchanged,
            Ok(Some(contents)) => {
                (self.done, self.reported) = (stamp, None);
                let (acl, faults) = Acl::parse(&contents);
                Polled::Read(acl, faults)
            }
            Err(unusable) => self.report(unusable, stamp),
        }
    }

    /// Reports an unusable file. Tries unreadable ones again: descriptors may be scarce at the
    /// moment.
    fn report(&mut self, unusable: Unusable, stamp: Option<Stamp>) -> Polled {
        if !matches!(unusable, Unusable::Unreadable(..)) {
            self.done = stamp;
        }
        if self.reported.as_ref() == Some(&unusable) {
            return Polled::Unchanged;
        }
        self.reported = Some(unusable.clone());
        Polled::Unusable(unusable)
    }

    /// Reads the contents; `None` if the file is no longer in the state `expected`.
    fn read(&self, expected: &Metadata) -> Result<Option<Vec<u8>>, Unusable> {
        // Checked before opening: opening a pipe waits for its writer.
        self.check(expected)?;
        let stamp = Stamp::of(expected);
        let (contents, same) = stamp.read(
            &self.path,
            FILE_BYTES_MAX,
            |metadata| self.check(metadata),
            |error| self.unreadable(error),
        )?;
        Ok(same.then_some(contents))
    }

    fn check(&self, metadata: &Metadata) -> Result<(), Unusable> {
        let path = self.path.clone();
        if !metadata.is_file() {
            return Err(Unusable::NotAFile(path));
        }
        if metadata.uid() != self.ours {
            return Err(Unusable::NotOurs(path, metadata.uid(), self.ours));
        }
        if metadata.mode() & NOT_THE_OWNERS != 0 {
            return Err(Unusable::Exposed(path, metadata.mode()));
        }
        if metadata.size() > FILE_BYTES_MAX {
            return Err(Unusable::TooLarge(path));
        }
        Ok(())
    }

    fn unreadable(&self, error: &std::io::Error) -> Unusable {
        Unusable::Unreadable(self.path.clone(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    struct Place {
        _folder: TempDir,
        path: PathBuf,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hadoop.acl");
        Place {
            _folder: folder,
            path,
        }
    }

    impl Place {
        fn write(&self, contents: &str) {
            fs::write(&self.path, contents).expect("our folder");
            self.mode(0o600);
        }

        fn mode(&self, mode: u32) {
            fs::set_permissions(&self.path, Permissions::from_mode(mode)).expect("our file");
        }
    }

    fn users(polled: Polled) -> usize {
        match polled {
            Polled::Read(acl, _) => acl.len(),
            other => panic!("{other:?}"),
        }
    }

    fn refused(polled: Polled) -> String {
        match polled {
            Polled::Unusable(why) => why.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn unchanged(polled: Polled) -> bool {
        matches!(polled, Polled::Unchanged)
    }

    /// The host says that it is unusable until it is read again.
    #[test]
    fn a_file_that_was_away_and_is_back_is_read_again() {
        let place = place();
        place.write("a user 0123456789abcdef\n");
        let mut file = AclFile::new(&place.path, 100);
        assert_eq!(users(file.poll(1_000)), 1);
        let aside = place.path.with_extension("aside");
        fs::rename(&place.path, &aside).expect("our folder");
        assert!(unchanged(file.poll(2_000)), "it has not settled");
        assert!(refused(file.poll(3_000)).contains("hadoop.acl"));
        fs::rename(&aside, &place.path).expect("our folder");
        assert!(unchanged(file.poll(4_000)), "it has not settled");
        assert_eq!(users(file.poll(5_000)), 1);
        assert!(unchanged(file.poll(6_000)));
    }

    #[test]
    fn a_change_is_read_when_it_has_settled() {
        let place = place();
        place.write("a user 0123456789abcdef\n");
        let mut file = AclFile::new(&place.path, 100);
        assert_eq!(users(file.poll(1_000)), 1);
        assert!(unchanged(file.poll(5_000)));
        place.write("a user 0123456789abcdef\nb user");
        assert!(unchanged(file.poll(6_000)), "seen first");
        place.write("a user 0123456789abcdef\nb user 0123456789abcdef\n");
        assert!(unchanged(file.poll(6_099)), "changed again");
        assert!(unchanged(file.poll(6_198)));
        assert_eq!(users(file.poll(6_199)), 2);
        assert!(unchanged(file.poll(9_000)));
        // A clock that was set only starts the wait again.
        place.write("");
        assert!(unchanged(file.poll(9_000)));
        assert!(unchanged(file.poll(10)), "set back");
        assert!(unchanged(file.poll(109)));
        assert_eq!(users(file.poll(110)), 0);
    }

    #[test]
    fn a_file_that_others_may_read_or_write_is_refused_until_it_is_closed() {
        let place = place();
        place.write("a user 0123456789abcdef\n");
        let mut file = AclFile::new(&place.path, 0);
        assert_eq!(users(file.poll(1)), 1);
        for mode in [0o640, 0o620, 0o604, 0o602, 0o601, 0o610, 0o777] {
            place.mode(mode);
            let said = refused(file.poll(2));
            let named = format!("its mode {mode:04o} lets users other than its owner");
            assert!(
                said.contains(&named) && said.contains("chmod 600"),
                "{said}"
            );
            assert!(!said.contains("0123456789abcdef"), "{said}");
            assert!(unchanged(file.poll(3)), "reported once");
        }
        place.mode(0o400);
        assert_eq!(users(file.poll(4)), 1);
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        let place = place();
        place.write("a user 0123456789abcdef\n");
        let mut file = AclFile::new(&place.path, 0);
        let ours = file.ours;
        assert_eq!(users(file.poll(1)), 1);
        // As if this process ran as another user.
        let mut other = AclFile::new(&place.path, 0);
        other.ours = ours + 1;
        let said = refused(other.poll(1));
        let expected = format!("it belongs to user {ours}, and this process runs as user");
        assert!(said.contains(&expected), "{said}");
        assert!(said.contains(&format!("chown {}", ours + 1)), "{said}");
        assert!(unchanged(other.poll(2)), "reported once");
    }

    #[test]
    fn a_missing_or_strange_file_is_reported_once() {
        let place = place();
        let mut file = AclFile::new(&place.path, 0);
        assert!(refused(file.poll(1)).contains("cannot be read"));
        assert!(unchanged(file.poll(2)));
        place.write("a user 0123456789abcdef\n");
        assert_eq!(users(file.poll(3)), 1);
        fs::remove_file(&place.path).expect("our file");
        assert!(refused(file.poll(4)).contains("stay in force"));
        fs::create_dir(&place.path).expect("our folder");
        assert!(refused(file.poll(5)).contains("expected a regular file"));
        fs::remove_dir(&place.path).expect("our folder");
        place.write(&"#\n".repeat(FILE_BYTES_MAX as usize / 2 + 1));
        assert!(refused(file.poll(6)).contains("more than 4194304 bytes"));
        place.write("");
        assert_eq!(users(file.poll(7)), 0);
    }

    /// Opening a pipe without a writer would never return.
    #[test]
    fn a_pipe_is_not_opened() {
        let place = place();
        let made = std::process::Command::new("mkfifo")
            .arg(&place.path)
            .status();
        assert!(made.expect("mkfifo runs").success());
        let mut file = AclFile::new(&place.path, 0);
        assert!(refused(file.poll(1)).contains("expected a regular file"));
    }

    /// A file that is replaced by another of the same size and time, for instance by `mv`.
    #[test]
    fn a_replaced_file_is_another() {
        let place = place();
        place.write("a user 0123456789abcdef\n");
        let mut file = AclFile::new(&place.path, 0);
        assert_eq!(users(file.poll(1)), 1);
        let other = place.path.with_extension("new");
        fs::write(&other, "b user 0123456789abcdef\n").expect("our folder");
        fs::set_permissions(&other, Permissions::from_mode(0o600)).expect("our file");
        let time = fs::metadata(&place.path)
            .and_then(|m| m.modified())
            .expect("a time");
        let open = File::options().write(true).open(&other).expect("our file");
        open.set_modified(time).expect("our file");
        fs::rename(&other, &place.path).expect("our folder");
        match file.poll(2) {
            Polled::Read(acl, faults) => assert!(acl.get("b").is_some() && faults.is_empty()),
            other => panic!("{other:?}"),
        }
    }
}
