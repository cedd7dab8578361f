//! Files that only their owner may read: accounts, who runs which jobs, and accepted signatures.
//! New files get this mode, whatever the umask. Existing files keep the mode that an administrator
//! gave them, and are reported. Creates and checks; repairs nothing.

use crate::store::error::{Refusal, StoreError};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// Bits that let group or others read or write a file. For a folder only writing counts, because
/// that allows replacing its files; they have modes of their own.
const FILE_OPEN: u32 = 0o066;
const FOLDER_OPEN: u32 = 0o022;

/// Returns options that create files for their owner only.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE);
    options
}

/// Checks that the `file` of the store at `place` exists, for callers that must not create one. An
/// inaccessible parent folder is an error of its own.
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

/// Creates an empty file that will replace `path`, with the mode of the existing one.
pub(crate) fn instead_of(path: &Path, aside: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(true).open(aside)?;
    let there = std::fs::metadata(path).map(|there| there.mode() & 0o777);
    // Set explicitly, because a crash may have left the file aside with another mode.
    file.set_permissions(Permissions::from_mode(there.unwrap_or(FILE)))?;
    Ok(file)
}

/// Creates a folder and its missing parents, and syncs its name to the disk.
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

/// Logs the files and folders that others can read or write.
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
                "{}: users other than its owner can read or write it (mode {found:03o}); expected \
                 {mode:03o}: chmod it unless that is meant",
                path.display()
            );
        }
    }
}
