//! An operator's settings for the service: sections `api` and `store` of `heddle.json`. Opens only
//! the files with passwords.

use crate::auth::secret_file;
use crate::books::{Drawer, WhileDown};
use crate::store::{Purse, Store};
use heddle_core::config::{ConfigError, Section};
use heddle_core::words::credits::Credits;
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

pub(crate) struct Settings {
    /// Section `api`, for `http`.
    pub(crate) api: Value,
    /// None: budgets last as long as the engine.
    pub(crate) store: Option<Stores>,
    /// When the ResourceManager started, in milliseconds since 1970.
    pub(crate) started_ms: u64,
}

/// The same place opened twice, so that readers do not block the writer.
pub(crate) struct Stores {
    pub(crate) write: Box<dyn Store>,
    pub(crate) read: Box<dyn Store>,
    pub(crate) while_down: WhileDown,
    /// Fills accounts from purses that sub-clusters share.
    pub(crate) drawer: Option<Drawer>,
}

impl Settings {
    /// Reads `{"api": .., "store": .., "started_ms": ..}`; other keys are the engine's.
    pub(crate) fn read(settings: &Value) -> Result<Settings, String> {
        let started_ms = settings.get("started_ms").and_then(Value::as_u64);
        let store = settings.get("store").filter(|store| !store.is_null());
        Ok(Settings {
            api: settings.get("api").cloned().unwrap_or(Value::Null),
            store: store.map(read_store).transpose()?,
            started_ms: started_ms.unwrap_or(0),
        })
    }
}

/// `"store": "PLACE"`, or `{"place": .., "password_file": .., "while_down": ..}`.
fn read_store(store: &Value) -> Result<Stores, String> {
    let short = store.as_str().map(|place| json!({ "place": place }));
    let mut section = Section::new("store", short.as_ref().unwrap_or(store))
        .map_err(|error| error.to_string())?;
    let place = section.text("place").map_err(|error| error.to_string())?;
    let place =
        place.ok_or("key `store.place`: expected sqlite:FILE, file:FOLDER or postgres://..")?;
    let file = section
        .text("password_file")
        .map_err(|error| error.to_string())?;
    let password = file.map(|file| read_password("store.password_file", file));
    let password = password.transpose()?;
    let place = place.to_string();
    let while_down = section
        .text("while_down")
        .map_err(|error| error.to_string())?;
    let while_down = match while_down {
        None => WhileDown::default(),
        Some("refuse") => WhileDown::Refuse,
        Some("refuse-budgets") => WhileDown::RefuseBudgets,
        Some("accept") => WhileDown::Accept,
        Some(other) => {
            let expected = "`refuse`, `refuse-budgets` or `accept`";
            return Err(format!(
                "key `store.while_down`: expected {expected}, not `{other}`"
            ));
        }
    };
    let purse = section
        .section("purse")
        .map_err(|error| error.to_string())?;
    let drawer = purse.map(read_purse).transpose()?;
    section.finish().map_err(|error| error.to_string())?;
    let open = || {
        crate::store::open(&place, password.as_deref())
            .map_err(|error| format!("key `store.place`: {error}"))
    };
    Ok(Stores {
        write: open()?,
        read: open()?,
        while_down,
        drawer,
    })
}

/// The longest name of a sub-cluster.
const NAME_BYTES_MAX: usize = 255;

/// `{"place": .., "password_file": .., "cluster": .., "tranche": ..}`.
fn read_purse(mut section: Section<'_>) -> Result<Drawer, String> {
    let wrong = |error: ConfigError| error.to_string();
    let missing = |key: &str, what: &str| format!("key `store.purse.{key}`: expected {what}");
    let place = section.text("place").map_err(wrong)?;
    let place = place.ok_or_else(|| missing("place", "postgres://USER@HOST:PORT/NAME"))?;
    let file = section.text("password_file").map_err(wrong)?;
    let password = file.map(|file| read_password("store.purse.password_file", file));
    let cluster = section.text("cluster").map_err(wrong)?;
    let fits = |name: &&str| (1..=NAME_BYTES_MAX).contains(&name.len());
    let cluster = cluster.filter(|name| fits(name) && !name.contains(char::is_control));
    let cluster = cluster.ok_or_else(|| missing("cluster", "a name of at most 255 bytes"))?;
    let least = Credits::from_micro(2).to_number();
    let tranche = section
        .number("tranche", least, Credits::MAX.to_number())
        .map_err(wrong)?;
    let tranche = tranche.ok_or_else(|| missing("tranche", "a number of credits"))?;
    let tranche =
        Credits::from_number(tranche).map_err(|_| missing("tranche", "a number of credits"))?;
    section.finish().map_err(wrong)?;
    // A wrong database name must not create purses there.
    let purse = Purse::open(place, password.transpose()?.as_deref(), false);
    let purse = purse.map_err(|error| format!("key `store.purse.place`: {error}"))?;
    Ok(Drawer::new(purse, cluster, tranche))
}

fn read_password(key: &str, path: &str) -> Result<String, String> {
    let wrong = |why: &dyn fmt::Display| format!("key `{key}`: {path}: {why}");
    let line = secret_file::first_line(Path::new(path)).map_err(|why| wrong(&why))?;
    match line.is_empty() {
        true => Err(wrong(&"expected the password in its first line")),
        false => Ok(line),
    }
}
