//! A changed byte anywhere is refused: in the request, in its header, in a job's parameters. Every
//! case also checks that the unchanged one passes, because otherwise it would prove nothing.

use heddle_core::words::credits::Credits;
use heddle_economy::auth::acl::Acl;
use heddle_economy::auth::canonical::{Body, Signed, Validity};
use heddle_economy::auth::gate::{Gate, Interface, Request, Settings};
use heddle_economy::auth::job::{self, Bounds, Submission};
use heddle_economy::auth::{Now, Secret, v1, v2};
use proptest::prelude::*;
use proptest::sample::Index;

const NOW: u64 = 1_700_000_000_000;
const AT: Now = Now {
    wall_ms: NOW,
    steady_ms: 5,
};
const SECRET: &str = "0123456789abcdef";

fn gate() -> Gate {
    let mut gate = Gate::new(Settings::default(), NOW - 1_000_000);
    let users = format!("alice user {SECRET}\nalicf user {SECRET}\nbob admin {SECRET}x\n");
    gate.set_acl(Acl::parse(users.as_bytes()).0);
    gate
}

fn secret() -> Secret {
    Secret::new(SECRET.as_bytes())
}

fn validity() -> Validity {
    Validity {
        timestamp_ms: NOW - 5,
        expires_ms: NOW + 60_000,
        nonce: "0123456789_-abcD".to_string(),
    }
}

/// Flips `bits` at one place of `text`; `None` if the result is no text.
fn flipped(text: &str, at: Index, bits: u8) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.is_empty() {
        return None;
    }
    let at = at.index(bytes.len());
    bytes[at] ^= bits;
    String::from_utf8(bytes).ok()
}

/// The parts of a request; each test changes one of them.
#[derive(Clone)]
struct Sent {
    method: String,
    path: String,
    query: String,
    body: Vec<u8>,
    header: String,
}

impl Sent {
    fn signed(&self) -> Signed<'_> {
        Signed {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            body: Body::of(&self.body),
        }
    }

    fn passes(&self, interface: Interface) -> bool {
        let request = Request {
            interface,
            signed: self.signed(),
            authorization: Some(&self.header),
            address: None,
        };
        gate().identify(&request, AT).is_ok()
    }
}

/// Generates queries without a parameter `user`, which a request has once.
fn query() -> impl Strategy<Value = String> {
    "([a-t]{1,5}=[a-zA-Z0-9._~%]{0,8}&){0,4}x=1".prop_map(|text| text.replace('%', "%20"))
}

proptest! {
    #[test]
    fn version_2_refuses_every_changed_bit(
        query in query(), body in prop::collection::vec(any::<u8>(), 0..40),
        part in 0..5, at: Index, bits in 1u8..,
    ) {
        let mut sent = Sent {
            method: "POST".to_string(),
            path: "/heddle/v1/queues/root.alice/rate".to_string(),
            query,
            body,
            header: String::new(),
        };
        sent.header = v2::header(&secret(), "alice", &sent.signed(), &validity());
        prop_assert!(sent.passes(Interface::Json));
        let mut other = sent.clone();
        let changed = match part {
            0 => flipped(&sent.method, at, bits).map(|text| other.method = text),
            1 => flipped(&sent.path, at, bits).map(|text| other.path = text),
            2 => flipped(&sent.query, at, bits).map(|text| other.query = text),
            3 if !sent.body.is_empty() => {
                other.body[at.index(sent.body.len())] ^= bits;
                Some(())
            }
            _ => flipped(&sent.header, at, bits).map(|text| other.header = text),
        };
        prop_assume!(changed.is_some());
        prop_assert!(!other.passes(Interface::Json));
    }

    /// A header has several spellings of the same bytes, which pass: `%2b` for `%2B`, `/` for
    /// `%2F`. They are the same request, and a second one is refused like any replay.
    #[test]
    fn version_1_refuses_every_changed_bit(
        query in query(), in_query: bool, at: Index, bits in 1u8..,
    ) {
        let query = v1::signed_text(&query, "alice", &NOW.to_string());
        let sent = Sent {
            method: "GET".to_string(),
            path: "/scheduler".to_string(),
            header: v1::header(&v1::signature(&secret(), &query)),
            query,
            body: Vec::new(),
        };
        prop_assert!(sent.passes(Interface::Published));
        let mut other = sent.clone();
        let changed = match in_query {
            true => flipped(&sent.query, at, bits).map(|text| other.query = text),
            false => flipped(&sent.header, at, bits).map(|text| other.header = text),
        };
        prop_assume!(changed.is_some());
        let same = !in_query && spelling(&other.header) == spelling(&sent.header);
        prop_assert_eq!(other.passes(Interface::Published), same);
    }

    #[test]
    fn a_job_of_either_version_refuses_every_changed_bit(
        name in "[ -~\u{e9}\n]{0,20}", version in 1..3, part: Index, at: Index, bits in 1u8..,
    ) {
        let job = Submission { user: "alice", queue: "root.alice", name: &name };
        let bounds = Bounds {
            credits: Credits::from_micro(12_345_678),
            rate: Credits::from_micro(90_100_000),
            until_ms: NOW + 5_000,
        };
        let mut given = match version {
            1 => job::sign_v1(&secret(), "alice", NOW),
            _ => job::sign_v2(&secret(), &job, &bounds, &validity()),
        };
        let submit = |job: &Submission<'_>, given: &[(&str, String)]| {
            let value = |key: &str| {
                given.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone())
            };
            gate().submit(job, value, None, AT).is_ok()
        };
        prop_assert!(submit(&job, &given));
        let part = part.index(given.len() + if version == 1 { 1 } else { 2 });
        if part < given.len() {
            let changed = flipped(&given[part].1, at, bits);
            prop_assume!(changed.is_some());
            let changed = changed.expect("assumed");
            let same = given[part].0 == job::SIGNATURE
                && spelling(&changed) == spelling(&given[part].1);
            given[part].1 = changed;
            prop_assert_eq!(submit(&job, &given), same);
        } else if part == given.len() {
            let user = flipped("alice", at, bits);
            prop_assume!(user.is_some());
            let user = user.expect("assumed");
            let queue = heddle_core::model::placement::user_queue(&user);
            let other = Submission { user: &user, queue: &queue, ..job };
            prop_assert!(!submit(&other, &given));
        } else {
            let name = flipped(&name, at, bits);
            prop_assume!(name.is_some());
            let name = name.expect("assumed");
            let other = Submission { name: &name, ..job };
            prop_assert!(!submit(&other, &given));
        }
    }

    /// No two requests have the same canonical text, so a signature of one text never fits another.
    #[test]
    fn parts_cannot_be_shifted(
        one in ("[A-Z]{1,3}", "/[a-z/%0-9]{0,6}", "[a-z=&]{0,6}"),
        other in ("[A-Z]{1,3}", "/[a-z/%0-9]{0,6}", "[a-z=&]{0,6}"),
    ) {
        prop_assume!(one != other);
        let text = |(method, path, query): &(String, String, String)| {
            let signed = Signed { method, path, query, body: Body::of(b"") };
            heddle_economy::auth::canonical::request(&signed, "alice", &validity())
        };
        prop_assert_ne!(text(&one), text(&other));
    }

    #[test]
    fn anything_is_taken_or_refused(
        method in ".{0,8}", path in ".{0,20}", query in ".{0,40}",
        header in "(Heddle-HMAC-SHA256 )?[ -~]{0,80}|\\PC{0,40}",
    ) {
        let sent = Sent { method, path, query, body: Vec::new(), header };
        prop_assert!(!sent.passes(Interface::Json) && !sent.passes(Interface::Published));
    }
}

/// Decodes the escapes of a quoted text by their definition, byte by byte.
fn spelling(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut plain, mut i) = (Vec::new(), 0);
    while i < bytes.len() {
        let escape = text.get(i + 1..i + 3).filter(|_| bytes[i] == b'%');
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                i += 3;
            }
            None => {
                plain.push(bytes[i]);
                i += 1;
            }
        }
    }
    plain
}
