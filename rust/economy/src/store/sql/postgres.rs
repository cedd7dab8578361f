//! PostgreSQL, for a pair of ResourceManagers that take turns. Its row lock on the table `head`
//! excludes a second writer; its transactions do the rest. Speaks without TLS: the server belongs
//! on the loopback address, or behind a tunnel. `fsync` is up to the administrator;
//! `synchronous_commit` is set here.

mod session;

use super::sqlite::check_version;
use super::{Cell, Database, VERSIONS, empty_is_sealed};
use crate::store::error::{Refusal, StoreError};
use postgres::config::Host;
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, Row};
use session::{Answer, Session, Sessions};
use std::str::FromStr;
use std::time::Duration;

/// Limit for connecting: after this time the server counts as lost.
const SILENCE: Duration = Duration::from_secs(10);
/// Limit for a statement: after this time the session counts as lost. Longer than the server's own
/// `statement_timeout`.
const STATEMENT_SILENCE: Duration = Duration::from_secs(70);
/// Settings of each session, in the server's syntax. The last one frees the lock of a process that
/// stops in the middle of a transaction. So the next active ResourceManager need not wait.
const SESSION: &str = "-c synchronous_commit=on -c client_encoding=UTF8 -c statement_timeout=60s \
                       -c lock_timeout=10s -c idle_in_transaction_session_timeout=5s";
/// A lock with an arbitrary, fixed number: two processes that create the tables do so in turn.
const SCHEMA_LOCK: &str = "SELECT pg_advisory_xact_lock(4862461305432)";

/// The tables that a connection works on.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// Where they are, with a table `version`.
    pub(crate) schema: &'static str,
    /// Statements from each version to the next; entries are only ever appended.
    pub(crate) versions: &'static [&'static [&'static str]],
    /// The last statement of new tables; may be empty.
    pub(crate) new: fn() -> String,
}

/// The tables of a store.
const STORE: Tables = Tables {
    schema: "heddle",
    versions: VERSIONS,
    new: empty_is_sealed,
};

pub(crate) struct Postgres {
    server: Server,
    sessions: Sessions,
    session: Option<Session>,
    silence: Duration,
    statement_silence: Duration,
}

/// The server's address and settings.
#[derive(Clone)]
struct Server {
    config: Config,
    place: String,
    tables: Tables,
    /// Whether to create missing tables.
    create: bool,
}

impl Postgres {
    /// Returns the store at `url`. Connects at the first use.
    pub(crate) fn new(url: &str, password: Option<&str>, create: bool) -> Result<Postgres, String> {
        Postgres::with_tables(STORE, url, password, create)
    }

    /// Returns these tables at `url`. Connects at the first use.
    pub(crate) fn with_tables(
        tables: Tables,
        url: &str,
        password: Option<&str>,
        create: bool,
    ) -> Result<Postgres, String> {
        let mut config = Config::from_str(url).map_err(|error| unreadable(Some(&error)))?;
        // An unescaped @ in a parameter makes the parser take part of it for the user's name.
        let user = config.get_user().unwrap_or_default();
        if user.contains(['/', '?', '=', '&']) {
            return Err(unreadable(None));
        }
        if config.get_password().is_some() {
            let place = without_password(&config);
            return Err(format!("{place}: the password does not belong in here"));
        }
        if let Some(password) = password {
            config.password(password);
        }
        config
            .application_name("heddle")
            .options(&format!("-c search_path={} {SESSION}", tables.schema))
            .connect_timeout(SILENCE)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        let place = url.to_string();
        Ok(Postgres {
            server: Server {
                config,
                place,
                tables,
                create,
            },
            sessions: Sessions::default(),
            session: None,
            silence: SILENCE,
            statement_silence: STATEMENT_SILENCE,
        })
    }

    fn unavailable(&self, why: &str) -> StoreError {
        StoreError::Unavailable(format!("{}: {why}", self.server.place))
    }

    fn connect(&self) -> Result<Session, StoreError> {
        let server = self.server.clone();
        let began = self.sessions.start(move || server.connect(), self.silence);
        match began {
            Ok(Answer::Given(session)) => session,
            Ok(Answer::None) => Err(self.unavailable("it accepts connections and does not answer")),
            Err(why) => Err(self.unavailable(&why)),
        }
    }

    /// Runs `work` on the connection. An error or a timeout drops the connection and its
    /// transaction.
    fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(session) = self.session.take() else {
            return Err(self.unavailable("the connection was lost in a transaction"));
        };
        match session.ask(work, self.statement_silence) {
            Answer::Given(Ok(value)) => {
                self.session = Some(session);
                Ok(value)
            }
            Answer::Given(Err(error)) => Err(self.server.error(&error)),
            Answer::None => Err(self.unavailable("no answer")),
        }
    }
}

impl Server {
    fn connect(&self) -> Result<Client, StoreError> {
        let mut client = self.config.connect(NoTls).map_err(|e| self.error(&e))?;
        let found = self.version(&mut client)?;
        let newest = self.tables.versions.len() as u32;
        check_version(found, newest)?;
        if found == 0 && !self.create {
            return Err(StoreError::Refused(Refusal::Empty));
        }
        if found < newest {
            self.migrate(&mut client)?;
        }
        Ok(client)
    }

    /// Reads the version of the tables; 0 if there are none.
    fn version(&self, client: &mut Client) -> Result<u32, StoreError> {
        let schema = self.tables.schema;
        let there = format!("SELECT to_regclass('{schema}.version') IS NOT NULL");
        let there = client.query_one(&there, &[]).map_err(|e| self.error(&e))?;
        if !there.get::<_, bool>(0) {
            return Ok(0);
        }
        let number = client.query_one(&format!("SELECT number FROM {schema}.version"), &[]);
        let number: i64 = number.map_err(|error| self.error(&error))?.get(0);
        u32::try_from(number).map_err(|_| StoreError::Corrupt {
            place: format!("{}, table version", self.place),
            reason: format!("{number} is no version"),
        })
    }

    fn migrate(&self, client: &mut Client) -> Result<(), StoreError> {
        let mut run = |sql: &str| client.batch_execute(sql).map_err(|e| self.error(&e));
        run("BEGIN")?;
        run(SCHEMA_LOCK)?;
        let found = self.version(client)?;
        // Text sorts by its bytes, as in the other stores.
        let dialect = |sql: &str| {
            let sql = sql.replace("INTEGER", "BIGINT");
            sql.replace("TEXT", "TEXT COLLATE \"C\"")
        };
        let (schema, versions) = (self.tables.schema, self.tables.versions);
        let newest = versions.len();
        let mut sql = String::new();
        if found == 0 {
            sql.push_str(&format!(
                "CREATE SCHEMA IF NOT EXISTS {schema};\
                 CREATE TABLE {schema}.version (number BIGINT NOT NULL);\
                 INSERT INTO {schema}.version VALUES (0);",
            ));
        }
        for statement in versions[newest.min(found as usize)..].concat() {
            sql.push_str(&dialect(statement));
            sql.push(';');
        }
        if found == 0 {
            sql.push_str(&(self.tables.new)());
            sql.push(';');
        }
        sql.push_str(&format!(
            "UPDATE {schema}.version SET number = {newest};COMMIT"
        ));
        client.batch_execute(&sql).map_err(|e| self.error(&e))
    }

    fn error(&self, error: &postgres::Error) -> StoreError {
        let corrupt = [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED];
        let why = match error.as_db_error() {
            Some(told) => told.to_string(),
            None => {
                let cause = std::error::Error::source(error);
                cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
            }
        };
        if error.code().is_some_and(|code| corrupt.contains(code)) {
            let (place, reason) = (self.place.clone(), why);
            return StoreError::Corrupt { place, reason };
        }
        StoreError::Unavailable(format!("{}: {why}", self.place))
    }
}

/// Describes the error in a URL by its part alone. Quotes none of it: any piece may contain a
/// password.
fn unreadable(error: Option<&postgres::Error>) -> String {
    let cause = error.and_then(|error| std::error::Error::source(error));
    let told = cause.map_or(String::new(), ToString::to_string);
    let parts = ["host", "port", "user", "dbname", "sslmode"];
    let part = parts
        .iter()
        .find(|part| told.contains(&format!("`{part}`")));
    let part = part.map_or(String::new(), |part| format!(" (its {part} is wrong)"));
    format!("postgres: expected postgres://USER@HOST:PORT/NAME{part}, found something else")
}

/// Rebuilds the URL from its public parts.
fn without_password(config: &Config) -> String {
    let user = config.get_user().unwrap_or_default();
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let name = config.get_dbname().unwrap_or_default();
    format!("postgres://{user}@{}/{name}", hosts.join(","))
}

fn parameters(cells: &[Cell]) -> Vec<&(dyn ToSql + Sync)> {
    let cells = cells.iter();
    cells
        .map(|cell| match cell {
            Cell::Integer(value) => value as &(dyn ToSql + Sync),
            Cell::Text(value) => value,
        })
        .collect()
}

fn cells(row: &Row) -> Result<Vec<Cell>, postgres::Error> {
    let columns = row.columns().iter().enumerate();
    columns
        .map(|(at, column)| match *column.type_() {
            Type::INT8 => row.try_get(at).map(Cell::Integer),
            _ => row.try_get(at).map(Cell::Text),
        })
        .collect()
}

impl Database for Postgres {
    const LOCK: &'static str = " FOR UPDATE";

    fn describe(&self) -> String {
        self.server.place.clone()
    }

    fn begin(&mut self, writes: bool) -> Result<(), StoreError> {
        if self.session.as_ref().is_none_or(Session::is_closed) {
            self.session = Some(self.connect()?);
        }
        let sql = if writes {
            "BEGIN"
        } else {
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        };
        self.with(|client| client.batch_execute(sql))
    }

    fn expect_pauses(&mut self) -> Result<(), StoreError> {
        let sql = "SET LOCAL idle_in_transaction_session_timeout = '1h'";
        self.with(|client| client.batch_execute(sql))
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.with(|client| client.batch_execute("COMMIT"))
    }

    fn rollback(&mut self) {
        if self.session.is_some() {
            let _dropped_then = self.with(|client| client.batch_execute("ROLLBACK"));
        }
    }

    fn execute(&mut self, sql: &str, cells: &[Cell]) -> Result<u64, StoreError> {
        let (sql, cells) = (sql.to_string(), cells.to_vec());
        self.with(move |client| client.execute(&sql, &parameters(&cells)))
    }

    fn query(&mut self, sql: &str, parameter_cells: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError> {
        let (sql, given) = (sql.to_string(), parameter_cells.to_vec());
        self.with(move |client| {
            let rows = client.query(&sql, &parameters(&given))?;
            rows.iter().map(cells).collect()
        })
    }
}

#[cfg(test)]
mod tests;
