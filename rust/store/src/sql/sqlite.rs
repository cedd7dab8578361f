//! SQLite, compiled in: one file, for one ResourceManager, no server. Write-ahead log with a
//! sync at every commit, so that a power cut loses nothing that was committed. The file must be
//! on a local disk: its locks do not work on most network file systems.

use super::{Cell, Database, VERSION, VERSIONS};
use crate::error::StoreError;
use crate::private;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Another process, a backup for instance, may hold the file for so long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Option<Connection>,
    /// Device and inode of the file that the connection is to.
    file: Option<(u64, u64)>,
    /// Whether it was said who else can read the files.
    looked: bool,
}

impl Sqlite {
    pub(crate) fn new(path: &Path) -> Sqlite {
        let path = path.to_path_buf();
        Sqlite {
            path,
            connection: None,
            file: None,
            looked: false,
        }
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let wrong = |error| self.error(&error);
        if !self.path.exists() {
            // SQLite would make it by the umask; the files beside it have its mode. What keeps us
            // from it, SQLite says better. One that is there is left alone: closing it would take
            // away the locks that this process has on it.
            let _refused = private::options().create_new(true).open(&self.path);
        }
        let connection = Connection::open(&self.path).map_err(wrong)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(wrong)?;
        // Read before anything is changed, so that a newer file stays as it is.
        let found = version(&connection).map_err(wrong)?;
        check_version(found)?;
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

    /// Says who else can read the files, once, and by who writes only.
    fn warn(&self) {
        let beside = |end: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        let files = ["", "-wal", "-shm"].map(beside);
        private::warn_of(files.iter().map(PathBuf::as_path));
    }

    /// Device and inode of the file that is there now.
    fn identity(&self) -> Option<(u64, u64)> {
        let file = fs::metadata(&self.path).ok()?;
        Some((file.dev(), file.ino()))
    }

    /// What is written to a file that was removed, or that another one was put in the place of,
    /// is lost with it. The next use opens the one that is there, whose counters then tell.
    fn check_file(&mut self) -> Result<(), StoreError> {
        if self.identity() == self.file {
            return Ok(());
        }
        self.connection = None;
        Err(StoreError::Corrupt {
            place: self.path.display().to_string(),
            reason: "another file was put in its place, or it was removed".to_string(),
        })
    }

    /// Brings the tables to the newest version; whoever comes first does it.
    fn migrate(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let steps = || {
            let found = version(connection)?.min(VERSION);
            for statement in VERSIONS[found as usize..].concat() {
                let strict = statement.starts_with("CREATE TABLE");
                let tail = if strict { " STRICT" } else { "" };
                connection.execute_batch(&format!("{statement}{tail}"))?;
            }
            connection.pragma_update(None, "user_version", VERSION)?;
            connection.execute_batch("COMMIT")
        };
        steps().inspect_err(|_| {
            let _over_anyway = connection.execute_batch("ROLLBACK");
        })
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt {
                place: self.path.display().to_string(),
                reason: error.to_string(),
            },
            _ => StoreError::Unavailable(format!("{}: {error}", self.path.display())),
        }
    }

    /// Does `work` on the connection; after an error that is dropped, and the transaction with it.
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

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether we know this version of the tables.
pub(super) fn check_version(found: u32) -> Result<(), StoreError> {
    let known = VERSION;
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

/// Numbers the parameters as they are, not in order of appearance.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Database for Sqlite {
    /// A transaction that writes has the file to itself from its beginning.
    const LOCK: &'static str = "";

    fn describe(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        // One that was removed is begun anew: its counters say that it is another one.
        if self.connection.is_none() || !self.path.exists() {
            self.connection = Some(self.connect()?);
            self.file = self.identity();
        }
        if writes && !self.looked {
            self.looked = true;
            self.warn();
        }
        let sql = if writes { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.with(|connection| connection.execute_batch(sql))?;
        self.check_file()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.with(|connection| connection.execute_batch("COMMIT"))?;
        // What was put there meanwhile has not got what was just written.
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
                    // Tables are strict: anything else is a text.
                    _ => row.get(column).map(Cell::Text),
                };
                found.push((0..width).map(cell).collect::<rusqlite::Result<_>>()?);
            }
            Ok(found)
        })
    }
}
