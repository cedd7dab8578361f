//! `heddle store migrate` and `heddle import-budget`: work on the stored books without a
//! ResourceManager. Both take the store over: a running ResourceManager is fenced off until it
//! becomes active again. `heddle_economy::store` decides what is moved and what a budget file
//! means.

use crate::failure::{Failure, Kind, exit};
use crate::remote::{now_ms, secret};
use crate::terminal::{clean, print, print_json};
use clap::{Args, Subcommand};
use heddle_economy::record::Batch;
use heddle_economy::store::{Store, StoreError};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The owner named in the books and in messages.
const OWNER: &str = "heddle command line";
/// The forms of a store's address, for help.
const PLACES: &str = "sqlite:FILE, file:FOLDER or postgres://USER@HOST:PORT/NAME";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Moves everything from one store to an empty one and compares the two afterwards. The
    /// ResourceManager should not run: it is fenced off the old one, which keeps what it has.
    Migrate {
        /// sqlite:FILE, file:FOLDER or postgres://USER@HOST:PORT/NAME, as in heddle.json.
        from: String,
        /// Likewise; it must be empty.
        to: String,
        /// A file (mode 600) with the password of FROM in its first line.
        #[arg(long, value_name = "FILE")]
        from_password_file: Option<PathBuf>,
        /// A file (mode 600) with the password of TO in its first line.
        #[arg(long, value_name = "FILE")]
        to_password_file: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// A budget file of the published scheduler, and where it goes.
#[derive(Args)]
pub(crate) struct Import {
    /// Lines of `queue budget rate`, as the published scheduler kept them.
    file: PathBuf,
    /// The store: sqlite:FILE, file:FOLDER or postgres://USER@HOST:PORT/NAME. The ResourceManager
    /// should not run.
    #[arg(long, value_name = "PLACE")]
    store: String,
    /// A file (mode 600) with the store's password in its first line.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Put before names that do not begin with it.
    #[arg(long, default_value = "root.")]
    prefix: String,
    /// Import the good lines even if others cannot be read or have an account already.
    #[arg(long)]
    skip_faulty: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(command: &Command) -> ExitCode {
    let Command::Migrate {
        from,
        to,
        from_password_file,
        to_password_file,
        json,
    } = command;
    let from = (from.as_str(), from_password_file.as_deref());
    let to = (to.as_str(), to_password_file.as_deref());
    exit(migrate(from, to, *json))
}

type Open = fn(&str, Option<&str>) -> Result<Box<dyn Store>, String>;

fn opened(
    open: Open,
    (place, password_file): (&str, Option<&Path>),
) -> Result<Box<dyn Store>, Failure> {
    let password = password_file.map(secret::first_line).transpose()?;
    open(place, password.as_deref()).map_err(|error| Failure::usage(error, shown(place), PLACES))
}

/// Hides a possible password in a place: a malformed URL may end anywhere.
pub(crate) fn shown(place: &str) -> String {
    let kind = place.split(':').next().unwrap_or("");
    match kind {
        "file" | "sqlite" => place.to_string(),
        "postgres" | "postgresql" => format!("{kind}:..."),
        _ => "the place of a store".to_string(),
    }
}

pub(crate) fn failed(error: &StoreError, at: &str, expected: &str) -> Failure {
    let (kind, remedy) = match error {
        StoreError::Unavailable(_) => (
            Kind::Unreachable,
            "a store that can be reached and written to",
        ),
        StoreError::Refused(_) => (Kind::Refused, expected),
        _ => (Kind::Refused, ""),
    };
    Failure::new(kind, error.to_string(), at, remedy)
}

fn migrate(
    from: (&str, Option<&Path>),
    to: (&str, Option<&Path>),
    as_json: bool,
) -> Result<(), Failure> {
    // Open FROM only if it exists, so that a typo creates no store there.
    let mut source = opened(heddle_economy::store::open_existing, from)?;
    let mut target = opened(heddle_economy::store::open, to)?;
    let at = format!("{} to {}", source.describe(), target.describe());
    let moved = heddle_economy::store::migrate(source.as_mut(), target.as_mut(), OWNER)
        .map_err(|error| failed(&error, &at, "FROM a store with data, TO an empty one"))?;
    if as_json {
        return print_json(&json!({
            "accounts": moved.accounts,
            "intervals": moved.intervals,
            "rows": moved.rows,
            "grants": moved.grants,
        }));
    }
    print(&format!(
        "{}: {} accounts, {} intervals, {} rows of the ledger, {} grants; both hold the same. Now \
         name the new one in heddle.json (store.place)\n",
        clean(&at),
        moved.accounts,
        moved.intervals,
        moved.rows,
        moved.grants
    ))
}

/// `heddle import-budget`.
pub(crate) fn import(import: &Import) -> ExitCode {
    exit(import.main())
}

impl Import {
    fn main(&self) -> Result<(), Failure> {
        let file = self.file.display().to_string();
        let text = fs::read_to_string(&self.file).map_err(|error| {
            Failure::usage(error.to_string(), file.as_str(), "a budget file in UTF-8")
        })?;
        let place = (self.store.as_str(), self.password_file.as_deref());
        let mut store = opened(heddle_economy::store::open, place)?;
        let at = store.describe();
        let wrong = |error| failed(&error, &at, "a store without another writer");
        let book = store.load().map_err(wrong)?;
        let import = heddle_economy::store::import(&text, &book, &self.prefix, OWNER);
        for fault in &import.faults {
            eprintln!("heddle: {}", clean(&format!("{file}, {fault}")));
        }
        if !import.faults.is_empty() && !self.skip_faulty {
            let what = format!(
                "{} lines do not count; nothing was imported",
                import.faults.len()
            );
            let remedy = "lines of `queue budget rate`; --skip-faulty imports the others";
            return Err(Failure::new(Kind::Refused, what, file, remedy));
        }
        // Three changes make an account: opened, granted its budget, given its rate.
        let accounts = import.changes.len() / 3;
        if accounts > 0 {
            let token = book.head.token.saturating_add(1);
            let epoch = store.take_over(OWNER, token).map_err(wrong)?;
            let batch = Batch {
                serial: book.head.serial + 1,
                at_ms: i64::try_from(now_ms()).unwrap_or(i64::MAX),
                changes: import.changes,
            };
            store.commit_changes(epoch, &batch).map_err(wrong)?;
        }
        let skipped = import.faults.len();
        if self.json {
            return print_json(&json!({"accounts": accounts, "skipped_lines": skipped}));
        }
        let into = clean(&at);
        print(&format!(
            "{accounts} accounts imported into {into}, {skipped} lines skipped\n"
        ))
    }
}
