//! Tests of the parser: every kind of malformed line, hostile bytes, and secrecy of the contents.

use super::*;
use crate::auth::secret::Hash;
use proptest::prelude::*;

const LONG: &str = "0123456789abcdef";

fn same_secret(user: &User, secret: &str) -> bool {
    let signature = Secret::new(secret.as_bytes()).sign(Hash::Sha256, b"text");
    user.secret.proves(Hash::Sha256, b"text", &signature)
}

#[test]
fn the_published_form_is_read() {
    let file = "alice user 0123456789abcdef\nroot admin fedcba9876543210\n";
    let (acl, faults) = Acl::parse(file.as_bytes());
    assert_eq!(faults, []);
    assert_eq!(acl.len(), 2);
    let alice = acl.get("alice").expect("there");
    assert_eq!((alice.role, alice.v1), (Role::User, true));
    assert!(same_secret(alice, "0123456789abcdef") && alice.queues.is_empty());
    assert_eq!(acl.get("root").expect("there").role, Role::Admin);
    assert!(acl.get("Alice").is_none() && acl.get("").is_none());
}

#[test]
fn our_extensions_are_read() {
    let file = format!(
        "\u{feff}# people\r\n\r\n \t# more\n\talice\tuser  {LONG}# queues=a,root.b.c v1=off \r\n\
         bob user {LONG} v1=off\ncarol user {LONG} queues=x"
    );
    let (acl, faults) = Acl::parse(file.as_bytes());
    assert_eq!(faults, []);
    let alice = acl.get("alice").expect("there");
    assert_eq!(alice.queues, ["root.a", "root.b.c"]);
    assert!(!alice.v1 && same_secret(alice, &format!("{LONG}#")));
    assert!(!acl.get("bob").expect("there").v1);
    let carol = acl.get("carol").expect("there");
    assert!(carol.v1 && carol.queues == ["root.x"]);
}

/// Puts a malformed line between a good one and an empty one: it is reported, and only it is
/// skipped.
fn assert_skipped(line: &[u8], what: What) {
    assert!(what.is_skipped());
    let file = [b"\n\n", line, b"\nbob user 0123456789abcdef"].concat();
    let (acl, faults) = Acl::parse(&file);
    let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
    assert_eq!(faults, [Fault { line: 3, what }], "{shown}");
    assert!(acl.get("bob").is_some() && acl.len() == 1, "{shown}");
}

#[test]
fn malformed_lines_are_reported_by_number_and_skipped() {
    for line in [
        "alice",
        "alice 0123456789abcdef",
        "alice user ",
        "\talice\tuser\t",
    ] {
        assert_skipped(line.as_bytes(), What::TooFewFields);
    }
    let not_text = [
        b"alice user \xff\xfe0123456789abcdef".as_slice(),
        b"alice\0 user 0123456789abcdef",
        b"alice user 0123456789abcdef\rbob admin x",
        b"\xff",
        b"# \xff",
    ];
    for line in not_text {
        assert_skipped(line, What::NotText);
    }
    let long = [
        format!("{} user {LONG}", "a".repeat(256)),
        format!("alice user {}", "s".repeat(9000)),
    ];
    for line in long {
        assert_skipped(line.as_bytes(), What::TooLong);
    }
}

#[test]
fn lines_with_other_options_are_skipped_as_these_may_restrict() {
    let options = [
        ("x", What::UnknownOption),
        ("V1=off", What::UnknownOption),
        ("v1=on", What::UnknownOption),
        ("v1=", What::UnknownOption),
        ("queues =a", What::UnknownOption),
        ("queues", What::UnknownOption),
        ("# a note", What::UnknownOption),
        ("queues=", What::BadQueues),
        ("queues=a,,b", What::BadQueues),
        ("queues=a, b", What::BadQueues),
        ("queues=root.", What::BadQueues),
        ("queues=a queues=b", What::OptionTwice),
        ("v1=off v1=off", What::OptionTwice),
    ];
    for (option, what) in options {
        assert_skipped(format!("alice user {LONG} {option}").as_bytes(), what);
    }
}

/// The unreadable line may have been meant to take the right away.
#[test]
fn a_skipped_line_takes_away_what_an_earlier_one_gave_its_user() {
    let long = format!("alice user {}", "s".repeat(9_000));
    let faulty: [(&[u8], What); 7] = [
        (b"alice", What::TooFewFields),
        (b" \talice\tuser", What::TooFewFields),
        (b"alice user 0123456789abcdef v1=of", What::UnknownOption),
        (b"alice user 0123456789abcdef queues=", What::BadQueues),
        (
            b"alice user 0123456789abcdef v1=off v1=off",
            What::OptionTwice,
        ),
        (b"alice user \xff0123456789abcdef", What::NotText),
        (long.as_bytes(), What::TooLong),
    ];
    let good = b"bob user 0123456789abcdef\nalice admin 0123456789abcdef queues=a\n";
    for (line, what) in faulty {
        let (acl, faults) = Acl::parse(&[good.as_slice(), line, b"\n"].concat());
        let shut_out = What::ShutOut(2);
        let expected = [what, shut_out].map(|what| Fault { line: 3, what });
        assert_eq!(faults, expected, "{what:?}");
        assert!(!shut_out.is_skipped());
        assert!(acl.get("alice").is_none() && acl.get("bob").is_some());
        let mended = [good, line, b"\nalice user fedcba9876543210\n"].concat();
        let (acl, _) = Acl::parse(&mended);
        let alice = acl.get("alice").expect("a later line counts");
        assert!(alice.role == Role::User && alice.queues.is_empty());
    }
    let (acl, faults) = Acl::parse(&[good, b"# alice\n\nALICE\n".as_slice()].concat());
    assert!(
        acl.get("alice").is_some() && faults.len() == 1,
        "not of alice"
    );
}

#[test]
fn odd_lines_are_reported_and_count() {
    let file = format!("a Admin {LONG}\nb user short\na admin {LONG}2\n");
    let (acl, faults) = Acl::parse(file.as_bytes());
    let expected = [
        Fault {
            line: 1,
            what: What::OddRole,
        },
        Fault {
            line: 2,
            what: What::ShortSecret,
        },
        Fault {
            line: 3,
            what: What::Again(1),
        },
    ];
    assert_eq!(faults, expected);
    let a = acl.get("a").expect("there");
    assert!(a.role == Role::Admin && same_secret(a, &format!("{LONG}2")));
    assert_eq!(acl.get("b").expect("there").role, Role::User);
}

/// The core puts the jobs of both into one queue.
#[test]
fn two_users_of_one_queue_are_reported() {
    let file = format!("a_dot_b user {LONG}\nx.y user {LONG}\n\na.b user {LONG}\n");
    let (acl, faults) = Acl::parse(file.as_bytes());
    let what = What::SameQueue(1);
    assert_eq!(faults, [Fault { line: 4, what }]);
    assert!(!what.is_skipped() && acl.len() == 3);
    let said = faults[0].to_string();
    assert!(
        said.starts_with("line 4: the user's queue is that of line 1"),
        "{said}"
    );
}

#[test]
fn files_are_bounded() {
    let mut file = String::new();
    for i in 0..USERS_MAX + 3 {
        file += &format!("user{i} user {LONG}\n");
    }
    file += &format!("user0 admin {LONG}\n");
    let (acl, faults) = Acl::parse(file.as_bytes());
    assert_eq!(acl.len(), USERS_MAX);
    assert_eq!(faults.len(), 4);
    assert_eq!(
        acl.get("user0").expect("there").role,
        Role::Admin,
        "changes still count"
    );
    let (acl, faults) = Acl::parse("broken\n".repeat(100_000).as_bytes());
    assert!(acl.is_empty() && faults.len() == FAULTS_MAX);
}

#[test]
fn nothing_of_a_line_is_shown() {
    let file = "hunter2\nhunter2 hunter2\nalice hunter2 hunter2 hunter2\nbob hunter2 hunter2\n\
                bob user hunter2\ncarol user hunter2hunter2hunter2";
    let (acl, faults) = Acl::parse(file.as_bytes());
    let said: Vec<String> = faults.iter().map(Fault::to_string).collect();
    let shown = format!("{acl:?} {acl:#?} {faults:?} {said:?}");
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(said[0].starts_with("line 1: expected `<user> <role> <secret>`"));
}

proptest! {
    /// Any text can be parsed. Each line is a user, reported as skipped, empty or a comment.
    #[test]
    fn every_line_is_a_user_or_reported(
        lines in prop::collection::vec("[ -~\\t\u{e9}\u{0}\u{85}]{0,30}", 0..40),
    ) {
        let (acl, faults) = Acl::parse(lines.join("\n").as_bytes());
        let faulty = |line: usize| faults.iter().any(|f| f.line == line && f.what.is_skipped());
        let mut users = BTreeSet::new();
        for (i, line) in lines.iter().enumerate() {
            let mut fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
            match fields.next() {
                Some(name) if faulty(i + 1) => {
                    users.remove(name);
                }
                Some(name) if !name.starts_with('#') => {
                    users.insert(name);
                }
                _ => {}
            }
        }
        prop_assert_eq!(acl.users.keys().map(String::as_str).collect::<Vec<_>>(),
            users.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = Acl::parse(&bytes);
    }
}
