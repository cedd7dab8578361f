//! The audit line of every request: JSON in ASCII without control characters. So no name can begin
//! a new line, move a terminal's cursor or turn text around. Contains no signature and no secret;
//! writes to no file.

use crate::auth::refusal::Refusal;
use crate::auth::role::{Caller, Role, Version};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::net::IpAddr;

/// Limit of one text, in bytes of the line; a longer one is cut off and gets three points. Every
/// name in the ACL file fits, unless it has many unusual letters.
const TEXT_BYTES_MAX: usize = 512;
/// The same limit in the line of a refused request: any caller can cause such lines.
const REFUSED_BYTES_MAX: usize = 192;

/// A request and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The sender's address, if known.
    pub address: Option<IpAddr>,
    /// The proven sender, or the claimed name, if one was given.
    pub who: Who<'a>,
    /// The action: a command, or a method and a path.
    pub action: &'a str,
    /// The queue of the action, if it has one.
    pub queue: Option<&'a str>,
    /// The outcome.
    pub outcome: Result<(), &'a Refusal>,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    /// The request names no user.
    Unknown,
    /// A user name without proof.
    Claimed(&'a str),
    /// A proven user.
    Proven(&'a Caller),
}

impl Record<'_> {
    /// Formats the line, without its end. Keys are always in the same order; unknown ones are
    /// absent.
    pub fn to_line(&self) -> String {
        let most = match self.outcome {
            Ok(()) => TEXT_BYTES_MAX,
            Err(_) => REFUSED_BYTES_MAX,
        };
        let shortened = |text| shortened(text, most);
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| line.insert(key.to_string(), value);
        put("at_ms", self.at_ms.into());
        if let Some(address) = self.address {
            put("address", address.to_string().into());
        }
        match self.who {
            Who::Unknown => {}
            Who::Claimed(user) => {
                put("claimed_user", shortened(user).into());
            }
            Who::Proven(caller) => {
                put("user", shortened(&caller.user).into());
                let (role, version) = (caller.role, caller.version);
                put(
                    "role",
                    if role == Role::Admin { "admin" } else { "user" }.into(),
                );
                put(
                    "signature",
                    if version == Version::V1 { 1 } else { 2 }.into(),
                );
            }
        }
        put("action", shortened(self.action).into());
        if let Some(queue) = self.queue {
            put("queue", shortened(queue).into());
        }
        put("allowed", self.outcome.is_ok().into());
        if let Err(refusal) = self.outcome {
            put("refused", refusal.word().into());
            put("reason", shortened(&refusal.to_string()).into());
        }
        ascii(&Value::Object(line).to_string())
    }
}

/// Cuts a text to the letters that fit into this number of bytes of the line.
fn shortened(text: &str, most: usize) -> String {
    let mut bytes = 0;
    let end = text.char_indices().find(|(_, letter)| {
        bytes += escaped_bytes(*letter);
        bytes > most
    });
    match end {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Returns the largest length of a letter in the line.
fn escaped_bytes(letter: char) -> usize {
    match letter {
        '"' | '\\' => 2,
        _ if is_plain(letter) => 1,
        _ => 6 * letter.len_utf16(),
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_graphic() || letter == ' '
}

/// Escapes everything outside visible ASCII in JSON. Such characters occur only in strings, where
/// an escape means the same.
fn ascii(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_plain(letter) {
            line.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(line, "\\u{unit:04x}").expect("a string takes all");
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The longest line of a refused request, which has a user, an action, a queue and a reason.
    const REFUSED_LINE_BYTES_MAX: usize = 1024;

    fn record<'a>(user: &'a str, action: &'a str) -> Record<'a> {
        Record {
            at_ms: 1_700_000_000_000,
            address: Some(IpAddr::from([192, 0, 2, 1])),
            who: Who::Claimed(user),
            action,
            queue: None,
            outcome: Err(&Refusal::WrongSignature),
        }
    }

    #[test]
    fn a_line_says_who_did_what() {
        let caller = Caller {
            user: "alice".to_string(),
            role: Role::Admin,
            queues: Vec::new(),
            version: Version::V1,
        };
        let allowed = Record {
            who: Who::Proven(&caller),
            queue: Some("root.alice"),
            outcome: Ok(()),
            ..record("", "setSpending")
        };
        let line: Value = serde_json::from_str(&allowed.to_line()).expect("JSON");
        let expected = serde_json::json!({
            "at_ms": 1_700_000_000_000u64, "address": "192.0.2.1", "user": "alice",
            "role": "admin", "signature": 1, "action": "setSpending", "queue": "root.alice",
            "allowed": true,
        });
        assert_eq!(line, expected);
        let refused: Value = serde_json::from_str(&record("bob", "infos").to_line()).expect("JSON");
        assert_eq!(refused["claimed_user"], "bob");
        assert_eq!(
            (&refused["user"], &refused["allowed"]),
            (&Value::Null, &false.into())
        );
        assert_eq!(refused["refused"], "wrong-signature");
    }

    #[test]
    fn hostile_names_stay_in_their_line() {
        let names = [
            "a\n{\"at_ms\":1,\"user\":\"root\",\"allowed\":true}",
            "\u{1b}[2Jcleared",
            "\u{202e}gnirts",
            "\u{2028}\u{2029}\u{85}\u{7f}\0",
            "\"},\"allowed\":true,\"x\":{\"",
            "\\u0022,\\",
            "\u{1f980}",
        ];
        for name in names {
            let line = record(name, name).to_line();
            assert!(line.bytes().all(|b| (0x20..0x7f).contains(&b)), "{line}");
            let read: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(read["claimed_user"], name);
            assert_eq!(read["allowed"], false);
        }
    }

    /// Any caller can cause lines of refused requests, without limit.
    #[test]
    fn the_line_of_a_refused_request_is_short() {
        let addresses = ["255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"];
        for letter in [
            "a",
            "\"",
            "\\",
            "\n",
            "\0",
            "\u{e9}",
            "\u{2028}",
            "\u{1f980}",
        ] {
            let name = letter.repeat(100_000);
            let refusal = Refusal::Malformed(name.clone());
            for address in addresses {
                let refused = Record {
                    at_ms: u64::MAX,
                    address: Some(address.parse().expect("an address")),
                    queue: Some(&name),
                    outcome: Err(&refusal),
                    ..record(&name, &name)
                };
                let line = refused.to_line();
                assert!(line.len() <= REFUSED_LINE_BYTES_MAX, "{}", line.len());
                let read: Value = serde_json::from_str(&line).expect("JSON");
                let kept = read["claimed_user"].as_str().expect("a text");
                let kept = kept.strip_suffix("...").expect("cut off");
                assert!(!kept.is_empty() && name.starts_with(kept));
            }
        }
        let name = "n".repeat(255);
        let allowed = Record {
            outcome: Ok(()),
            ..record(&name, "price")
        };
        assert!(allowed.to_line().contains(&name), "whole");
    }

    proptest! {
        #[test]
        fn every_name_is_kept_or_cut_off(name in "(?s).{0,400}") {
            let line = record(&name, "price").to_line();
            prop_assert!(line.bytes().all(|b| (0x20..0x7f).contains(&b)));
            prop_assert!(line.len() <= REFUSED_LINE_BYTES_MAX);
            let read: Value = serde_json::from_str(&line).expect("JSON");
            let read = read["claimed_user"].as_str().expect("a text");
            let kept = read.strip_suffix("...").unwrap_or(read);
            prop_assert!(name.starts_with(kept));
            // No letter takes more than twelve bytes.
            let least = REFUSED_BYTES_MAX / 12;
            prop_assert!(read == name || kept.chars().count() >= least);
        }
    }
}
