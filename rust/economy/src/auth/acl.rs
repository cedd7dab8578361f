//! The ACL file: the users with their roles and secrets (DP-37), as in HADOOP-4768 with a few
//! additions. A line is
//!
//! ```text
//! <user> <role> <secret> [queues=<queue>,<queue>...] [v1=off]
//! ```
//!
//! with blanks or tabs between the fields; the role is `admin`, or anything else for `user`. Heddle
//! adds empty lines, comments (`#` first), more queues for a user, and `v1=off` for a user whose
//! client uses version 2. A malformed line is reported by its number and skipped; the published
//! reader never finished after one. The line may have been meant to take a right from its user. So
//! the rights from an earlier line end there, until a later one. No report repeats text of a line:
//! in a malformed one, any field may be the secret. Does not read the file: `file` does.

pub mod file;

use crate::auth::role::{Role, queue_path};
use crate::auth::secret::Secret;
use heddle_core::model::placement::user_queue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Limit of users in a file: `replay` would forget more than that.
pub const USERS_MAX: usize = crate::auth::replay::USERS_MAX;
/// Limit of faults reported for one file.
pub const FAULTS_MAX: usize = 100;
const LINE_BYTES_MAX: usize = 8192;
const NAME_BYTES_MAX: usize = 255;

/// A user in the file.
#[derive(Clone, Debug)]
pub struct User {
    /// The role of the user.
    pub role: Role,
    /// The secret for the user's signatures.
    pub secret: Secret,
    /// Full paths of queues besides the user's own (DP-40).
    pub queues: Vec<String>,
    /// Whether signatures of version 1 are accepted.
    pub v1: bool,
    line: usize,
}

/// All users, by name.
#[derive(Clone, Default)]
pub struct Acl {
    users: BTreeMap<String, User>,
    /// Names from skipped lines, unless a later line is valid.
    shut_out: BTreeSet<String>,
}

/// Shows only the number of shut out names: the first word of a malformed line may be a secret.
impl fmt::Debug for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acl")
            .field("users", &self.users)
            .field("shut_out", &self.shut_out.len())
            .finish()
    }
}

/// A fault in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number, from 1.
    pub line: usize,
    /// The kind of fault.
    pub what: What,
}

/// The kind of fault in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Fewer than three fields. Skipped.
    TooFewFields,
    /// An unknown field after the secret. Skipped: it may restrict.
    UnknownOption,
    /// A list of queues that is empty or has an empty name or an empty part between dots. Skipped.
    BadQueues,
    /// A repeated option. Skipped.
    OptionTwice,
    /// Not UTF-8, or with control characters. Skipped.
    NotText,
    /// A line or a name that is too long. Skipped.
    TooLong,
    /// More users than `USERS_MAX`. Skipped.
    TooMany,
    /// Repeats the user of this earlier line. The later line counts, as published.
    Again(usize),
    /// Repeats the user of this earlier line, which no longer counts: this line may have been meant
    /// to take a right away.
    ShutOut(usize),
    /// Has the same queue as the user of this earlier line: the core takes a dot in a name for
    /// `_dot_`. Counts, because their jobs share the queue, too.
    SameQueue(usize),
    /// A role other than `admin` and `user`. Counts as `user`, as published.
    OddRole,
    /// A secret below 16 bytes. Counts.
    ShortSecret,
}

impl What {
    /// Tells whether the line is skipped.
    pub fn is_skipped(self) -> bool {
        !matches!(
            self,
            What::Again(_)
                | What::ShutOut(_)
                | What::SameQueue(_)
                | What::OddRole
                | What::ShortSecret
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        f.write_str(match self.what {
            What::TooFewFields => "expected `<user> <role> <secret>`",
            What::UnknownOption => "after the secret expected `queues=a,b` or `v1=off`",
            What::BadQueues => "`queues=` expects names with commas between them",
            What::OptionTwice => "an option is given twice",
            What::NotText => "not UTF-8, or with control characters",
            What::TooLong => "the line or the name of the user is too long",
            What::TooMany => "too many users",
            What::Again(earlier) => {
                return write!(f, "the user of line {earlier} again; this line counts");
            }
            What::ShutOut(earlier) => {
                return write!(
                    f,
                    "the user of line {earlier} once more, shut out until this line is corrected"
                );
            }
            What::SameQueue(other) => {
                return write!(
                    f,
                    "the user's queue is that of line {other} too, as a dot counts as `_dot_`"
                );
            }
            What::OddRole => "a role other than `admin` and `user`; it counts as `user`",
            What::ShortSecret => "a secret of fewer than 16 bytes can be guessed",
        })?;
        f.write_str(if self.what.is_skipped() {
            "; skipped"
        } else {
            ""
        })
    }
}

impl Acl {
    /// Parses the contents of a file, and reports the first `FAULTS_MAX` faults in its lines.
    pub fn parse(contents: &[u8]) -> (Acl, Vec<Fault>) {
        let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
        let (mut acl, mut faults) = (Acl::default(), Vec::new());
        for (i, bytes) in contents.split(|byte| *byte == b'\n').enumerate() {
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let mut report = |what| {
                if faults.len() < FAULTS_MAX {
                    faults.push(Fault { line: i + 1, what });
                }
            };
            if let Err(what) = acl.add_line(i + 1, bytes, &mut report) {
                report(what);
                if let Some(earlier) = acl.shut_out(bytes) {
                    report(What::ShutOut(earlier.line));
                }
            }
        }
        faults.extend(acl.same_queues());
        faults.truncate(FAULTS_MAX);
        (acl, faults)
    }

    /// Finds users who have the queue of an earlier line's user.
    fn same_queues(&self) -> Vec<Fault> {
        let mut users: Vec<_> = self.users.iter().collect();
        users.sort_by_key(|(_, user)| user.line);
        let mut owners = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, user) in users {
            let first = *owners.entry(user_queue(name)).or_insert(user.line);
            if first != user.line {
                let (line, what) = (user.line, What::SameQueue(first));
                faults.push(Fault { line, what });
            }
        }
        faults
    }

    /// Returns the user of this name.
    pub fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// Tells whether a skipped line names this user, so that their rights are unknown.
    pub fn is_shut_out(&self, name: &str) -> bool {
        self.shut_out.contains(name)
    }

    /// Returns the number of users.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Tells whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Shuts out the user that a skipped line names; returns the user from an earlier line.
    fn shut_out(&mut self, line: &[u8]) -> Option<User> {
        let mut fields = line.split(|byte| matches!(byte, b' ' | b'\t'));
        let name = fields.find(|field| !field.is_empty())?;
        let name = std::str::from_utf8(name).ok()?;
        self.shut_out.insert(name.to_string());
        self.users.remove(name)
    }

    /// Adds the user of one line; `Err` if the line is skipped.
    fn add_line(
        &mut self,
        line: usize,
        bytes: &[u8],
        report: &mut impl FnMut(What),
    ) -> Result<(), What> {
        if bytes.len() > LINE_BYTES_MAX {
            return Err(What::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| What::NotText)?;
        if text.contains(|letter: char| letter.is_control() && letter != '\t') {
            return Err(What::NotText);
        }
        let mut fields = text.split([' ', '\t']).filter(|field| !field.is_empty());
        let Some(name) = fields.next().filter(|name| !name.starts_with('#')) else {
            return Ok(());
        };
        let (Some(role), Some(secret)) = (fields.next(), fields.next()) else {
            return Err(What::TooFewFields);
        };
        let (queues, v1) = options(fields)?;
        if name.len() > NAME_BYTES_MAX {
            return Err(What::TooLong);
        }
        if !self.users.contains_key(name) && self.users.len() >= USERS_MAX {
            return Err(What::TooMany);
        }
        if !["admin", "user"].contains(&role) {
            report(What::OddRole);
        }
        let role = if role == "admin" {
            Role::Admin
        } else {
            Role::User
        };
        let secret = Secret::new(secret.as_bytes());
        if secret.is_short() {
            report(What::ShortSecret);
        }
        let user = User {
            role,
            secret,
            queues,
            v1,
            line,
        };
        self.shut_out.remove(name);
        if let Some(earlier) = self.users.insert(name.to_string(), user) {
            report(What::Again(earlier.line));
        }
        Ok(())
    }
}

/// Parses the options after the secret: more queues, and whether version 1 is accepted.
fn options<'a>(fields: impl Iterator<Item = &'a str>) -> Result<(Vec<String>, bool), What> {
    let (mut queues, mut v1) = (Vec::new(), true);
    for field in fields {
        if let Some(names) = field.strip_prefix("queues=") {
            if !queues.is_empty() {
                return Err(What::OptionTwice);
            }
            for name in names.split(',') {
                if name.split('.').any(str::is_empty) {
                    return Err(What::BadQueues);
                }
                queues.push(queue_path(name));
            }
        } else if field == "v1=off" {
            if !v1 {
                return Err(What::OptionTwice);
            }
            v1 = false;
        } else {
            return Err(What::UnknownOption);
        }
    }
    Ok((queues, v1))
}

#[cfg(test)]
mod tests;
