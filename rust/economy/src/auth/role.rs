//! The commands of the published interface (DP-32, DP-33), and the role that each one needs.
//! Decides permissions only; identities are proven elsewhere.

use crate::auth::amount::published_credits;
use crate::auth::query::Parameters;
use crate::auth::refusal::{Refusal, malformed};
use heddle_core::model::placement::user_queue;
use heddle_core::words::credits::Credits;

const QUEUE_BYTES_MAX: usize = 255;

/// The role of a user in the ACL file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sees their own queues and bids for them.
    User,
    /// May do everything.
    Admin,
}

/// The permission that an action needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// None: unsigned requests are allowed.
    Nothing,
    /// The user of this queue, given by its full path, or an administrator.
    Queue(&'a str),
    /// An administrator.
    Admin,
}

/// The version of the signature that proved an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HMAC-SHA1, as published.
    V1,
    /// HMAC-SHA256.
    V2,
}

/// The proven sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name in the ACL file.
    pub user: String,
    /// The role in the ACL file.
    pub role: Role,
    /// Queues besides the user's own, as full paths.
    pub queues: Vec<String>,
    /// The version of the signature.
    pub version: Version,
}

impl Caller {
    /// Tells whether a queue is the user's. That is the one in which the core puts their jobs, and
    /// each that the ACL file adds (DP-40, without sharing a secret). `path` is full, as the engine
    /// resolved it. Any other name matches none: the engine may find another queue of that name.
    pub fn has(&self, path: &str) -> bool {
        path == user_queue(&self.user) || self.queues.iter().any(|queue| queue == path)
    }
}

/// Tells whether a name is the full path of a queue below the root.
pub fn is_full_path(queue: &str) -> bool {
    let below = queue.strip_prefix("root.");
    below.is_some_and(|below| !below.split('.').any(str::is_empty))
}

/// Returns the full path of a new queue: as in the core, a name without `root.` is below the root.
/// For an existing queue, `Queues::find` of the core gives the path.
pub fn queue_path(queue: &str) -> String {
    match queue.starts_with("root.") {
        true => queue.to_string(),
        false => format!("root.{queue}"),
    }
}

/// Checks that `caller` has the permission `need`; `None` is an unproven caller.
///
/// # Errors
///
/// `Unsigned` or `NotAllowed`.
pub fn allow(need: Need<'_>, caller: Option<&Caller>) -> Result<(), Refusal> {
    let allowed = |caller: &Caller| match need {
        Need::Nothing => true,
        Need::Queue(queue) => caller.role == Role::Admin || caller.has(queue),
        Need::Admin => caller.role == Role::Admin,
    };
    match caller {
        _ if need == Need::Nothing => Ok(()),
        None => Err(Refusal::Unsigned),
        Some(caller) if allowed(caller) => Ok(()),
        Some(_) => Err(Refusal::NotAllowed),
    }
}

/// A command of the published interface, with checked parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The current price.
    Price,
    /// The start of the server, and its clock (DP-33).
    Time,
    /// The use of one queue.
    Info(String),
    /// The use of all queues.
    Infos,
    /// Sets the spending rate of a queue.
    SetSpending(String, Credits),
    /// Adds credits to a queue.
    AddBudget(String, Credits),
    /// Adds a queue.
    AddQueue(String),
    /// Removes a queue.
    RemoveQueue(String),
}

impl Command {
    /// The names of the commands in a query.
    pub const NAMES: [&'static str; 8] = [
        "price",
        "time",
        "info",
        "infos",
        "setSpending",
        "addBudget",
        "addQueue",
        "removeQueue",
    ];

    /// Reads the command of a query; `None` if it has none. Ignores unknown parameters, as
    /// published.
    ///
    /// # Errors
    ///
    /// Two commands (the published server did both), a repeated parameter, no queue, no amount.
    pub fn of(query: &Parameters) -> Result<Option<Command>, Refusal> {
        let mut given = None;
        for name in Command::NAMES {
            if query.get(name)?.is_some() && given.replace(name).is_some() {
                return Err(malformed("query", "one command at a time"));
            }
        }
        let queue = |name: &str| queue_name(name, query.need(name)?);
        let amount = |name: &str| {
            let what = format!("parameter `{name}`");
            published_credits(&what, query.need(name)?)
        };
        Ok(Some(match given {
            None => return Ok(None),
            Some("price") => Command::Price,
            Some("time") => Command::Time,
            Some("infos") => Command::Infos,
            Some("info") => Command::Info(queue("info")?),
            Some("addQueue") => Command::AddQueue(queue("addQueue")?),
            Some("removeQueue") => Command::RemoveQueue(queue("removeQueue")?),
            Some("setSpending") => Command::SetSpending(queue("queue")?, amount("setSpending")?),
            Some(_) => Command::AddBudget(queue("queue")?, amount("addBudget")?),
        }))
    }

    /// Returns the command with the full path of its queue. `path` looks a name up like the core's
    /// `Queues::find`, under the same lock as the later execution of the command. An unknown queue
    /// gets the path that it would be created with.
    #[must_use]
    pub fn resolved(self, path: impl FnOnce(&str) -> Option<String>) -> Command {
        let full = |queue: String| path(&queue).unwrap_or_else(|| queue_path(&queue));
        match self {
            Command::Price | Command::Time | Command::Infos => self,
            Command::Info(queue) => Command::Info(full(queue)),
            Command::SetSpending(queue, rate) => Command::SetSpending(full(queue), rate),
            Command::AddBudget(queue, more) => Command::AddBudget(full(queue), more),
            Command::AddQueue(queue) => Command::AddQueue(full(queue)),
            Command::RemoveQueue(queue) => Command::RemoveQueue(full(queue)),
        }
    }

    /// Returns the permission that a `resolved` command needs: the table of DP-32. In an unresolved
    /// command, only a full path matches a user's queue.
    pub fn need(&self) -> Need<'_> {
        match self {
            Command::Price | Command::Time => Need::Nothing,
            Command::Info(queue) | Command::SetSpending(queue, _) => Need::Queue(queue),
            Command::Infos
            | Command::AddBudget(..)
            | Command::AddQueue(_)
            | Command::RemoveQueue(_) => Need::Admin,
        }
    }
}

/// Checks a queue's name or path: no part is empty or has blanks or control characters.
fn queue_name(parameter: &str, name: &str) -> Result<String, Refusal> {
    let fits = |part: &str| {
        let odd = |letter: char| letter.is_control() || letter.is_whitespace();
        !part.is_empty() && !part.contains(odd)
    };
    if name.len() <= QUEUE_BYTES_MAX && name.split('.').all(fits) {
        return Ok(name.to_string());
    }
    Err(malformed(
        &format!("parameter `{parameter}`"),
        "the name of a queue, without blanks, in at most 255 bytes",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_core::Setup;
    use heddle_core::model::placement::Submission;
    use heddle_core::model::queue::Queues;
    use serde_json::{Value, json};

    fn caller(user: &str, role: Role) -> Caller {
        Caller {
            user: user.to_string(),
            role,
            queues: vec!["root.shared".to_string()],
            version: Version::V2,
        }
    }

    fn command(query: &str) -> Result<Option<Command>, Refusal> {
        Command::of(&Parameters::of(query)?)
    }

    /// DP-32, row by row: the query; then whether an unsigned caller, the user of the queue,
    /// another user and an administrator may.
    #[test]
    fn the_table_of_commands_and_roles() {
        let table = [
            ("price", [true, true, true, true]),
            ("time", [true, true, true, true]),
            ("info=alice", [false, true, false, true]),
            ("infos", [false, false, false, true]),
            ("setSpending=1&queue=alice", [false, true, false, true]),
            ("addBudget=1&queue=alice", [false, false, false, true]),
            ("addQueue=alice", [false, false, false, true]),
            ("removeQueue=alice", [false, false, false, true]),
        ];
        assert_eq!(table.len(), Command::NAMES.len());
        let callers = [
            None,
            Some(caller("alice", Role::User)),
            Some(caller("bob", Role::User)),
            Some(caller("root", Role::Admin)),
        ];
        for (query, expected) in table {
            let command = command(query).expect("well-formed").expect("a command");
            let command = command.resolved(|_| None);
            let allowed = callers
                .clone()
                .map(|who| allow(command.need(), who.as_ref()).is_ok());
            assert_eq!(allowed, expected, "{query}");
        }
    }

    #[test]
    fn own_queues_are_those_of_the_name_and_those_that_were_added() {
        let alice = caller("alice", Role::User);
        for queue in ["root.alice", "root.shared"] {
            assert!(alice.has(queue), "{queue}");
        }
        // Names that are no full path may belong to others: `shared` may be `root.ads.shared`.
        for queue in [
            "",
            "alice",
            "shared",
            "root",
            "root.",
            "root.Alice",
            "alice.sub",
            "root.alice.sub",
            "root.root.alice",
            "root.alice ",
        ] {
            assert!(!alice.has(queue), "{queue}");
        }
        // A user whose name is a path owns no queue of another user.
        for queue in ["root.alice", "root.root.alice"] {
            assert!(!caller("root.alice", Role::User).has(queue), "{queue}");
        }
    }

    /// As the core places their jobs: there, a dot would mean a queue below another user's.
    #[test]
    fn a_user_with_a_dot_has_the_queue_that_the_core_gives_them() {
        let dotted = caller("bob.alice", Role::User);
        assert!(dotted.has("root.bob_dot_alice"));
        assert!(!dotted.has("root.bob.alice"), "bob's");
        let mut queues = queues(&[]);
        for user in ["alice", "bob.alice", "a.b.c", "root.alice"] {
            let submission = Submission {
                user,
                ..Submission::default()
            };
            let (id, _) = queues.place(&submission).expect("rule `user`");
            let path = &queues.get(id).expect("just placed").config.path;
            assert!(caller(user, Role::User).has(path), "{user}: {path}");
        }
    }

    fn queues(paths: &[&str]) -> Queues {
        let paths: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
        let setup = Setup::with_config(&json!({ "queues": paths }));
        Queues::new(&setup.expect("a good configuration").config)
    }

    /// The core finds the only leaf of a name; the check applies to that queue.
    #[test]
    fn a_command_is_about_the_queue_that_the_core_finds() {
        let queues = queues(&["root.ads.alice", "root.bob"]);
        let find = |name: &str| Some(queues.find(name)?.config.path.clone());
        let may = |user: &str, query: &str| {
            let command = command(query).expect("well-formed").expect("a command");
            let command = command.resolved(find);
            allow(command.need(), Some(&caller(user, Role::User))).is_ok()
        };
        assert!(!may("alice", "setSpending=1&queue=alice"), "of the ads");
        assert!(may("bob", "setSpending=1&queue=bob"));
        assert!(may("bob", "info=root.bob"));
        assert!(!may("alice", "info=bob"));
        // A new queue has no other path.
        assert!(may("carol", "info=carol"));
        let owner = Caller {
            queues: vec!["root.ads.alice".to_string()],
            ..caller("eve", Role::User)
        };
        let command = command("info=alice").expect("well-formed").expect("one");
        assert!(allow(command.need(), Some(&owner)).is_err(), "not resolved");
        assert_eq!(allow(command.resolved(find).need(), Some(&owner)), Ok(()));
    }

    #[test]
    fn amounts_and_queues_are_checked() {
        let set = command("queue=root.a&setSpending=0.000001&x=y").expect("well-formed");
        let rate = Credits::from_micro(1);
        assert_eq!(set, Some(Command::SetSpending("root.a".to_string(), rate)));
        let set = command("queue=root.a&setSpending=5.0E-4").expect("as Java writes it");
        let rate = Credits::from_micro(500);
        assert_eq!(set, Some(Command::SetSpending("root.a".to_string(), rate)));
        assert_eq!(command("user=a&timestamp=1"), Ok(None));
        let refused = [
            "price&time",
            "price&price",
            "info",
            "info=",
            "info=a..b",
            "info=.a",
            "info=a%20b",
            "info=a%0Ab",
            "info=a%E2%80%A8b",
            "setSpending=1",
            "setSpending=&queue=a",
            "setSpending=-1&queue=a",
            "setSpending=NaN&queue=a",
            "setSpending=1e10&queue=a",
            "setSpending=1&queue=a&queue=b",
            "setSpending=1&setSpending=2&queue=a",
            "addBudget=1&setSpending=1&queue=a",
            "addBudget=1000000001&queue=a",
            "addBudget=1&queue=",
            "addQueue=%FF",
            "addQueue=a%00",
        ];
        for query in refused {
            assert!(
                matches!(command(query), Err(Refusal::Malformed(_))),
                "{query}"
            );
        }
        assert!(command(&format!("addQueue={}", "a".repeat(256))).is_err());
    }
}
