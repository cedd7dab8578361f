//! SQLite, compiled in: one file, for one ResourceManager, without a server. Its write-ahead log is
//! synced at every commit, so that a power cut loses no commit. The file must be on a local disk:
//! its locks do not work on most network file systems.

use super::{Cell, Database, VERSION, VERSIONS, empty_is_sealed};
use crate::record::Head;
use crate::store::error::StoreError;
use crate::store::mark::{Mark, Reached};
use crate::store::private;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long to wait while another process, such as a backup, holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Sqlite {
    path: PathBuf,
    /// Whether to create a missing store.
    create: bool,
    /// The file beside it: a write-ahead log that lost its end does not reveal the loss.
    mark: Mark,
    /// The mark from before the transaction began: the transaction does not see later commits.
    reached: Reached,
    connection: Option<Connection>,
    /// Device and inode of the open file.
    file: Option<(u64, u64)>,
    /// Whether the permissions of the files were checked.
    looked: bool,
}

impl Sqlite {
    pub(crate) fn new(path: &Path, create: bool) -> Sqlite {
        Sqlite {
            path: path.to_path_buf(),
            create,
            mark: Mark::at(beside(path, "-end")),
            reached: Reached::default(),
            connection: None,
            file: None,
            looked: false,
        }
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let wrong = |error| self.error(&error);
        self.find()?;
        let connection = open(&self.path).map_err(wrong)?;
        // Read before any change, so that a newer file stays unchanged.
        let found = version(&connection).map_err(wrong)?;
        check_version(found, VERSION)?;
        if found == 0 {
            return Err(self.damaged("this is not a store of Heddle"));
        }
        connection
            .pragma_update(None, "journal_mode", "WAL")
            .map_err(wrong)?;
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(wrong)?;
        if found < VERSION {
            self.migrate(&connection).map_err(wrong)?;
        }
        Ok(connection)
    }

    /// Makes sure that the file exists. SQLite takes a file that lost its content for an empty
    /// database. So a new store gets its name only after its tables are in it.
    fn find(&self) -> Result<(), StoreError> {
        let unavailable =
            |error| StoreError::Unavailable(format!("{}: {error}", self.path.display()));
        match fs::metadata(&self.path) {
            Ok(there) if there.len() > 0 => Ok(()),
            Ok(_) => Err(self.damaged("the file is empty; if it never was a store, remove it")),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unavailable(error)),
            Err(_) if self.mark.exists() => {
                let mark = self.mark.path().display();
                Err(self.damaged(&format!("the file is not there, but {mark} is")))
            }
            Err(_) if !self.create => private::check_there(&self.path, &self.path),
            Err(_) => self.make().map_err(unavailable),
        }
    }

    /// Creates an empty store; of several processes the first wins.
    fn make(&self) -> std::io::Result<()> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let aside = beside(&self.path, &format!("-{}-{number}", std::process::id()));
        // SQLite itself would create the file with the mode of the umask.
        private::options()
            .create(true)
            .truncate(true)
            .open(&aside)?;
        let made = open(&aside).and_then(|connection| self.migrate(&connection));
        let linked = made.map_err(std::io::Error::other).and_then(|()| {
            match fs::hard_link(&aside, &self.path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                linked => linked,
            }
        });
        fs::remove_file(&aside)?;
        linked?;
        let folder = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn damaged(&self, reason: &str) -> StoreError {
        StoreError::Corrupt {
            place: self.path.display().to_string(),
            reason: reason.to_string(),
        }
    }

    /// Logs the files that others can read or write, once, and only in a process that writes.
    fn warn(&self) {
        let files = ["", "-wal", "-shm", "-end"].map(|end| beside(&self.path, end));
        private::warn_of(files.iter().map(PathBuf::as_path));
    }

    /// Returns device and inode of the current file.
    fn identity(&self) -> Option<(u64, u64)> {
        let file = fs::metadata(&self.path).ok()?;
        Some((file.dev(), file.ino()))
    }

    /// Fails if the file was removed or replaced: writes to it would be lost with it. The next use
    /// opens the current file, whose counters then show the difference.
    fn check_file(&mut self) -> Result<(), StoreError> {
        if self.identity() == self.file {
            return Ok(());
        }
        self.connection = None;
        Err(self.damaged("another file was put in its place, or it was removed"))
    }

    /// Migrates the tables to the newest version; of several processes the first does it.
    fn migrate(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let steps = || {
            let found = version(connection)?.min(VERSION);
            for statement in VERSIONS[found as usize..].concat() {
                let strict = statement.starts_with("CREATE TABLE");
                let tail = if strict { " STRICT" } else { "" };
                connection.execute_batch(&format!("{statement}{tail}"))?;
            }
            if found == 0 {
                connection.execute_batch(&empty_is_sealed())?;
            }
            connection.pragma_update(None, "user_version", VERSION)?;
            connection.execute_batch("COMMIT")
        };
        steps().inspect_err(|_| {
            let _over_anyway = connection.execute_batch("ROLLBACK");
        })
    }

    /// Converts an error. Heddle's statements are right, so a statement that SQLite cannot execute
    /// or a value of the wrong type means damaged tables.
    fn error(&self, error: &rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
            | None => self.damaged(&error.to_string()),
            _ => StoreError::Unavailable(format!("{}: {error}", self.path.display())),
        }
    }

    /// Runs `work` on the connection; an error drops the connection and its transaction.
    fn with<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let Some(connection) = &self.connection else {
            let path = self.path.display();
            let why = format!("{path}: the connection was lost in a transaction");
            return Err(StoreError::Unavailable(why));
        };
        work(connection).map_err(|error| {
            let error = self.error(&error);
            self.connection = None;
            error
        })
    }
}

/// Opens an existing file.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Returns the path with a suffix after its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    PathBuf::from(name)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Checks that this Heddle knows the version of the tables.
pub(super) fn check_version(found: u32, known: u32) -> Result<(), StoreError> {
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    Ok(())
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Integer(value) => ValueRef::Integer(*value),
            Cell::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

/// Makes SQLite number the parameters explicitly, not in order of appearance.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Database for Sqlite {
    /// Empty: a writing transaction locks the whole file from its beginning.
    const LOCK: &'static str = "";

    fn describe(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn set_mark(&self, head: &Head) {
        self.mark.set(head);
    }

    fn check_mark(&self, head: &Head) -> Result<(), StoreError> {
        let place = self.path.display().to_string();
        self.mark.check(&self.reached, head, &place)
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        if self.connection.is_none() || !self.path.exists() {
            self.connection = Some(self.connect()?);
            self.file = self.identity();
        }
        if writes && !self.looked {
            self.looked = true;
            self.warn();
        }
        self.reached = self.mark.read();
        let sql = if writes { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.with(|connection| connection.execute_batch(sql))?;
        self.check_file()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.with(|connection| connection.execute_batch("COMMIT"))?;
        // A file that was put there meanwhile lacks this commit.
        self.check_file()
    }

    fn rollback(&mut self) {
        if self.connection.is_some() {
            let _dropped_then = self.with(|connection| connection.execute_batch("ROLLBACK"));
        }
    }

    fn execute(&mut self, sql: &str, parameters: &[Cell]) -> Result<u64, StoreError> {
        self.with(|connection| {
            let touched = connection.execute(&numbered(sql), params_from_iter(parameters))?;
            Ok(touched as u64)
        })
    }

    fn query(&mut self, sql: &str, parameters: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError> {
        self.with(|connection| {
            let mut statement = connection.prepare(&numbered(sql))?;
            let width = statement.column_count();
            let mut rows = statement.query(params_from_iter(parameters))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let cell = |column| match row.get_ref(column)? {
                    ValueRef::Integer(value) => Ok(Cell::Integer(value)),
                    // Tables are strict, so anything else is a text.
                    _ => row.get(column).map(Cell::Text),
                };
                found.push((0..width).map(cell).collect::<rusqlite::Result<_>>()?);
            }
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests;
