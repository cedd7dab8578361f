//! Files that only their owner reads: accounts, who runs what, and signatures that were accepted.
//! What a store makes is made so, whatever the umask; what is there already keeps the mode that
//! somebody gave it, and is spoken of. Makes and looks, and repairs nothing.

use crate::error::{Refusal, StoreError};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// Reading or writing by the group or by anybody; for a folder, whose files have modes of their
/// own, only writing, with which they could be replaced.
const FILE_OPEN: u32 = 0o066;
const FOLDER_OPEN: u32 = 0o022;

/// Options that make a file for its owner, if they make one.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE);
    options
}

/// Whether the `file` of the store at `place` is there, for who must not make one. A folder above
/// `place` that cannot be looked into says so.
pub(crate) fn check_there(place: &Path, file: &Path) -> Result<(), StoreError> {
    let above = place.parent().filter(|above| !above.as_os_str().is_empty());
    let looked = std::fs::metadata(above.unwrap_or(Path::new("."))).and_then(|_| file.try_exists());
    match looked {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::Refused(Refusal::Empty)),
        Err(error) => {
            let why = format!("{}: {error}", place.display());
            Err(StoreError::Unavailable(why))
        }
    }
}

/// An empty file that will take the place of `path`: with the mode of what is there.
pub(crate) fn instead_of(path: &Path, aside: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(true).open(aside)?;
    let there = std::fs::metadata(path).map(|there| there.mode() & 0o777);
    // Also where a crash has left the one aside.
    file.set_permissions(Permissions::from_mode(there.unwrap_or(FILE)))?;
    Ok(file)
}

/// Makes a folder and those above it that are not there, and makes sure that its name is on the
/// disk.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER)
        .create(folder)?;
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Says which of these files and folders others can read or write.
pub(crate) fn warn_of<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    for path in paths {
        let Ok(there) = std::fs::metadata(path) else {
            continue;
        };
        let (open, mode) = match there.is_dir() {
            true => (FOLDER_OPEN, FOLDER),
            false => (FILE_OPEN, FILE),
        };
        let found = there.mode() & 0o777;
        if found & open != 0 {
            log::warn!(
                "{}: others than its owner can read or write it (mode {found:03o}); expected \
                 {mode:03o}: chmod it unless that is meant",
                path.display()
            );
        }
    }
}
