//! The ACL file: who there is, with which role and secret (DP-37), as HADOOP-4768 has it, and a
//! little more. A line is
//!
//! ```text
//! <user> <role> <secret> [queues=<queue>,<queue>...] [v1=off]
//! ```
//!
//! with blanks or tabs between the fields; the role is `admin`, or anything else for `user`. Ours:
//! empty lines, comments (`#` first), more queues of a user, and no signatures of version 1 from a
//! user who has a client of version 2. A line that is malformed is reported by its number and
//! skipped; the published reader never came to its end after one. It may have been meant to take
//! a right from its user: what an earlier line gave them ends there, until a later one. No report
//! repeats what stands in a line: in a malformed one, anything may be the secret. Reads no file:
//! `file` does.

pub mod file;

use crate::role::{Role, queue_path};
use crate::secret::Secret;
use heddle_core::model::queue::user_queue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many users a file may have; more than `replay` remembers would be forgotten there.
pub const USERS_MAX: usize = crate::replay::USERS_MAX;
/// How many reports are kept of one file.
pub const FAULTS_MAX: usize = 100;
const LINE_BYTES_MAX: usize = 8192;
const NAME_BYTES_MAX: usize = 255;

/// One user.
#[derive(Clone, Debug)]
pub struct User {
    /// What the user is.
    pub role: Role,
    /// What the user signs with.
    pub secret: Secret,
    /// Full paths of queues besides the user's own (DP-40).
    pub queues: Vec<String>,
    /// Whether signatures of version 1 count.
    pub v1: bool,
    line: usize,
}

/// All users, by name.
#[derive(Clone, Default)]
pub struct Acl {
    users: BTreeMap<String, User>,
    /// Names that a skipped line begins with, and no later line gives anything.
    shut_out: BTreeSet<String>,
}

/// How many are shut out only: what a malformed line begins with may be a secret.
impl fmt::Debug for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acl")
            .field("users", &self.users)
            .field("shut_out", &self.shut_out.len())
            .finish()
    }
}

/// Something about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub what: What,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Fewer than three fields. Skipped.
    TooFewFields,
    /// A field after the secret that is none of ours. Skipped: it may restrict.
    UnknownOption,
    /// A list of queues that is empty or has an empty or doubly pointed name. Skipped.
    BadQueues,
    /// An option that is given twice. Skipped.
    OptionTwice,
    /// Not UTF-8, or with control characters. Skipped.
    NotText,
    /// A line or a name that is too long. Skipped.
    TooLong,
    /// More users than there may be. Skipped.
    TooMany,
    /// The user stands on an earlier line too, this one. The later one counts, as published.
    Again(usize),
    /// The user stands on an earlier line too, this one, which counts no more: what this line was
    /// meant to take away is not known.
    ShutOut(usize),
    /// The user has the same queue as the one of this line: the core takes a dot in a name for
    /// `_dot_`. Counts: so do their jobs.
    SameQueue(usize),
    /// A role that is neither `admin` nor `user`. Counts as `user`, as published.
    OddRole,
    /// A secret below 16 bytes. Counts.
    ShortSecret,
}

impl What {
    /// Whether the line counts for nothing.
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
                    "the user of line {earlier} again, who is shut out until this line is mended"
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
    /// Reads the contents of a file, and reports on its lines: the first `FAULTS_MAX` faults.
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

    /// Users who have a queue that an earlier line's user has.
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

    /// The user of this name.
    pub fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// Whether a skipped line names somebody, so that nothing is known of their rights.
    pub fn is_shut_out(&self, name: &str) -> bool {
        self.shut_out.contains(name)
    }

    /// How many users there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Shuts out the user whom a skipped line names; gives what a line before it gave them.
    fn shut_out(&mut self, line: &[u8]) -> Option<User> {
        let mut fields = line.split(|byte| matches!(byte, b' ' | b'\t'));
        let name = fields.find(|field| !field.is_empty())?;
        let name = std::str::from_utf8(name).ok()?;
        self.shut_out.insert(name.to_string());
        self.users.remove(name)
    }

    /// Takes one line; `Err` where it is skipped.
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

/// What stands after the secret: more queues, and whether version 1 counts.
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
