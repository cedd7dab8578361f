//! The whole gate from a host's view: attacks are refused, clients pass.

use heddle_core::words::credits::Credits;
use heddle_economy::auth::acl::Acl;
use heddle_economy::auth::canonical::{Body, Signed, Validity};
use heddle_economy::auth::gate::{BODY_BYTES_MAX, Gate, Interface, Rejection, Request, Settings};
use heddle_economy::auth::job::{self, Bounds, Submission};
use heddle_economy::auth::query::Parameters;
use heddle_economy::auth::role::{Command, Version, allow};
use heddle_economy::auth::{Now, Refusal, Secret, v1, v2};
use std::collections::BTreeMap;
use std::net::IpAddr;

mod clocks;
mod flips;
mod jobs;
mod limits;

const START: u64 = 1_700_000_000_000;
const NOW: u64 = START + 100_000;
const USERS: &str = "alice user alice's_16_bytes\nroot admin root's_16_bytes!\n\
                     new user new's_16_bytes!! v1=off queues=shared\nweak user guess\n";

fn secret(user: &str) -> Secret {
    let name = match user {
        "root" => "root's_16_bytes!",
        "new" => "new's_16_bytes!!",
        "weak" => "guess",
        _ => "alice's_16_bytes",
    };
    Secret::new(name.as_bytes())
}

fn gate_with(settings: Settings) -> Gate {
    let mut gate = Gate::new(settings, START);
    let (acl, faults) = Acl::parse(USERS.as_bytes());
    assert_eq!(faults.len(), 1, "a short secret");
    gate.set_acl(acl);
    gate
}

fn gate() -> Gate {
    gate_with(Settings::default())
}

/// Returns clocks that agree.
fn at(ms: u64) -> Now {
    Now {
        wall_ms: ms,
        steady_ms: ms - START,
    }
}

fn address(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

fn published<'a>(query: &'a str, header: &'a str) -> Request<'a> {
    Request {
        interface: Interface::Published,
        signed: Signed {
            method: "GET",
            path: "/scheduler",
            query,
            body: Body::of(b""),
        },
        authorization: Some(header),
        address: address(1),
    }
}

/// Returns query and header like a published client.
fn sign_v1(query: &str, user: &str, at_ms: u64) -> (String, String) {
    let text = v1::signed_text(query, user, &at_ms.to_string());
    let header = v1::header(&v1::signature(&secret(user), &text));
    (text, header)
}

fn validity(nonce: u64) -> Validity {
    Validity {
        timestamp_ms: NOW,
        expires_ms: NOW + 60_000,
        nonce: format!("nonce{nonce:016}"),
    }
}

fn why(refused: Result<heddle_economy::auth::gate::Accepted, Rejection>) -> Refusal {
    refused.expect_err("refused").why
}

#[test]
fn a_published_client_passes_and_its_replay_does_not() {
    let mut gate = gate();
    let (query, header) = sign_v1("setSpending=0.5&queue=alice", "alice", NOW);
    let accepted = gate
        .identify(&published(&query, &header), at(NOW))
        .expect("passes");
    assert_eq!(
        (accepted.caller.user.as_str(), accepted.caller.version),
        ("alice", Version::V1)
    );
    let parameters = Parameters::of(&query).expect("a query");
    let command = Command::of(&parameters)
        .expect("well-formed")
        .expect("a command")
        .resolved(|_| None);
    assert_eq!(allow(command.need(), Some(&accepted.caller)), Ok(()));
    let rate = Credits::from_micro(500_000);
    assert_eq!(
        command,
        Command::SetSpending("root.alice".to_string(), rate)
    );
    assert_eq!(
        why(gate.identify(&published(&query, &header), at(NOW))),
        Refusal::Replayed
    );
    let (query, header) = sign_v1("addBudget=1&queue=alice", "alice", NOW + 1);
    let accepted = gate
        .identify(&published(&query, &header), at(NOW + 1))
        .expect("passes");
    let parameters = Parameters::of(&query).expect("a query");
    let command = Command::of(&parameters)
        .expect("well-formed")
        .expect("a command")
        .resolved(|_| None);
    let refused = allow(command.need(), Some(&accepted.caller)).expect_err("a user");
    assert!(refused.to_string().starts_with("ACCESS DENIED"));
    assert_eq!(refused.status(), 403);
}

/// A host asks this before it looks up names, and asks `identify` afterwards.
#[test]
fn a_signature_is_proved_without_being_used_up() {
    let mut gate = gate();
    let signed = Signed {
        method: "GET",
        path: "/heddle/v1/jobs",
        query: "max=9",
        body: Body::of(b""),
    };
    let header = v2::header(&secret("alice"), "alice", &signed, &validity(1));
    let right = Request {
        interface: Interface::Json,
        signed,
        authorization: Some(&header),
        address: address(1),
    };
    assert!(gate.proves(&right, at(NOW)));
    assert!(gate.proves(&right, at(NOW)));
    assert!(gate.identify(&right, at(NOW)).is_ok());
    let mut other = right;
    other.signed.query = "max=8";
    let mut unsigned = right;
    unsigned.authorization = None;
    let guess = v2::header(&secret("weak"), "alice", &signed, &validity(2));
    let mut guessed = right;
    guessed.authorization = Some(&guess);
    for wrong in [other, unsigned, guessed] {
        assert!(!gate.proves(&wrong, at(NOW)));
    }
}

/// A short secret may be guessed: beyond the limit a right signature counts no more than a guess.
#[test]
fn no_short_secret_is_proved_beyond_the_limit_of_failures() {
    let mut gate = gate();
    let signed = Signed {
        method: "GET",
        path: "/heddle/v1/jobs",
        query: "",
        body: Body::of(b""),
    };
    let header = v2::header(&secret("weak"), "weak", &signed, &validity(1));
    let right = Request {
        interface: Interface::Json,
        signed,
        authorization: Some(&header),
        address: address(1),
    };
    assert!(gate.proves(&right, at(NOW)));
    let guess = v2::header(&secret("alice"), "weak", &signed, &validity(2));
    let mut wrong = right;
    wrong.authorization = Some(&guess);
    let mut guesses = 0;
    while !matches!(
        why(gate.identify(&wrong, at(NOW))),
        Refusal::TooManyFailures(_)
    ) {
        guesses += 1;
        assert!(guesses < 10_000, "there is a limit");
    }
    assert!(!gate.proves(&right, at(NOW)));
}

/// The published server also read parameters from the body, which version 1 does not sign.
#[test]
fn version_1_covers_no_body_and_no_other_interface() {
    let mut gate = gate();
    let (query, header) = sign_v1("price", "alice", NOW);
    let mut request = published(&query, &header);
    request.signed.body = Body::of(b"addBudget=1000&queue=alice");
    assert_eq!(
        why(gate.identify(&request, at(NOW))),
        Refusal::V1SignsTheQueryOnly
    );
    let mut request = published(&query, &header);
    request.interface = Interface::Json;
    assert_eq!(
        why(gate.identify(&request, at(NOW))),
        Refusal::V1SignsTheQueryOnly
    );
    assert!(gate.identify(&published(&query, &header), at(NOW)).is_ok());
}

#[test]
fn version_1_can_be_switched_off_for_all_and_for_one() {
    let (query, header) = sign_v1("price", "alice", NOW);
    let mut off = gate_with(Settings {
        v1: false,
        ..Settings::default()
    });
    assert_eq!(
        why(off.identify(&published(&query, &header), at(NOW))),
        Refusal::V1Off
    );
    let parameters = job::sign_v1(&secret("alice"), "alice", NOW);
    let parameters: BTreeMap<_, _> = parameters.into_iter().collect();
    let submission = Submission {
        user: "alice",
        queue: "root.alice",
        name: "j",
    };
    let value = |name: &str| parameters.get(name).cloned();
    assert_eq!(
        why(off.submit(&submission, value, None, at(NOW))),
        Refusal::V1Off
    );
    let mut gate = gate();
    let (query, header) = sign_v1("price", "new", NOW);
    assert_eq!(
        why(gate.identify(&published(&query, &header), at(NOW))),
        Refusal::V1Off
    );
}

#[test]
fn an_unknown_user_is_told_what_a_wrong_signature_is_told() {
    let mut gate = gate();
    let (query, header) = sign_v1("price", "mallory", NOW);
    let unknown = gate
        .identify(&published(&query, &header), at(NOW))
        .expect_err("unknown");
    let (query, _) = sign_v1("price", "alice", NOW);
    let wrong = gate
        .identify(&published(&query, &header), at(NOW))
        .expect_err("wrong");
    assert_eq!(
        (&unknown.why, &wrong.why),
        (&Refusal::WrongSignature, &Refusal::WrongSignature)
    );
    assert_eq!(unknown.user.as_deref(), Some("mallory"));
    // The stand-in for an unknown user's secret is public in the source: it must prove nothing.
    let stand_in = Secret::new(&[0x5a; 32]);
    let text = v1::signed_text("price", "mallory", &NOW.to_string());
    let header = v1::header(&v1::signature(&stand_in, &text));
    let refused = gate.identify(&published(&text, &header), at(NOW));
    assert_eq!(why(refused), Refusal::WrongSignature);
    let signed = Signed {
        method: "GET",
        path: "/",
        query: "",
        body: Body::of(b""),
    };
    let header = v2::header(&stand_in, "mallory", &signed, &validity(1));
    let request = Request {
        signed,
        ..published("", &header)
    };
    assert_eq!(
        why(gate.identify(&request, at(NOW))),
        Refusal::WrongSignature
    );
}

#[test]
fn a_client_of_version_2_passes_once_also_when_the_users_are_read_again() {
    let mut gate = gate();
    let signed = Signed {
        method: "POST",
        path: "/heddle/v1/queues/root.shared/rate",
        query: "",
        body: Body::of(b"{\"rate\":\"1\"}"),
    };
    let header = v2::header(&secret("new"), "new", &signed, &validity(1));
    let request = Request {
        interface: Interface::Json,
        signed,
        authorization: Some(&header),
        address: None,
    };
    let accepted = gate.identify(&request, at(NOW)).expect("passes");
    assert!(accepted.caller.has("root.shared") && accepted.caller.has("root.new"));
    gate.set_acl(Acl::parse(USERS.as_bytes()).0);
    assert_eq!(why(gate.identify(&request, at(NOW))), Refusal::Replayed);
    let mut successor = gate_with(Settings::default());
    successor.merge(&accepted.added);
    assert_eq!(
        why(successor.identify(&request, at(NOW))),
        Refusal::Replayed
    );
    gate.set_acl(Acl::default());
    let header = v2::header(&secret("new"), "new", &signed, &validity(2));
    let request = Request {
        authorization: Some(&header),
        ..request
    };
    assert_eq!(
        why(gate.identify(&request, at(NOW))),
        Refusal::WrongSignature,
        "removed"
    );
}

#[test]
fn what_is_not_ours_or_not_signed_is_unsigned_and_counts_as_no_failure() {
    let mut gate = gate();
    // Kerberos tickets of a user in many groups have tens of kilobytes.
    let ticket = format!("Negotiate {}", "YIIabc+/".repeat(8_000));
    let long = "/".repeat(100_000);
    let others = [
        ticket.as_str(),
        "Negotiate YIIabc==",
        "negotiate\tYIIabc==",
        "Negotiate",
        "Basic YWxpY2U6eA==",
        "Bearer a.b%3D=",
        "",
    ];
    for header in others.into_iter().cycle().take(1_000) {
        let mut request = published("infos", header);
        assert_eq!(why(gate.identify(&request, at(NOW))), Refusal::Unsigned);
        request.signed.path = &long;
        assert_eq!(why(gate.identify(&request, at(NOW))), Refusal::Unsigned);
        request.authorization = None;
        assert_eq!(why(gate.identify(&request, at(NOW))), Refusal::Unsigned);
    }
    // Such headers are not limited: an address that fails too often may serve users of Kerberos,
    // too.
    for _ in 0..100 {
        let _ = gate.identify(&published("infos", "wrong%3D"), at(NOW));
    }
    let request = published("infos", &ticket);
    assert_eq!(why(gate.identify(&request, at(NOW))), Refusal::Unsigned);
    // Heddle's scheme in another spelling is malformed, not foreign.
    let spelt = published("infos", "heddle-hmac-sha256 user=alice");
    let mut elsewhere = gate_with(Settings::default());
    let refused = why(elsewhere.identify(&spelt, at(NOW)));
    assert!(matches!(refused, Refusal::Malformed(_)), "{refused}");
    let (query, header) = sign_v1("price", "alice", NOW);
    assert!(gate.identify(&published(&query, &header), at(NOW)).is_ok());
}

#[test]
fn sizes_are_bounded() {
    let body = vec![0; BODY_BYTES_MAX + 1];
    let long = "/".repeat(10_000);
    let (query, header) = sign_v1("price", "alice", NOW);
    let whole = published(&query, &header);
    let large = [
        Signed {
            body: Body::of(&body),
            ..whole.signed
        },
        Signed {
            path: &long,
            ..whole.signed
        },
        Signed {
            query: &long,
            ..whole.signed
        },
    ];
    for signed in large {
        let refused = why(gate().identify(&Request { signed, ..whole }, at(NOW)));
        assert!(matches!(refused, Refusal::TooLarge(..)), "{refused}");
        assert_eq!(refused.status(), 413);
    }
    for header in [format!("{}{long}", v2::SCHEME), format!("{long}=")] {
        let request = Request {
            authorization: Some(&header),
            ..whole
        };
        let refused = why(gate().identify(&request, at(NOW)));
        assert!(matches!(refused, Refusal::TooLarge(..)), "{refused}");
    }
}

#[test]
fn parts_that_no_request_has_are_malformed() {
    let (query, header) = sign_v1("price", "alice", NOW);
    let whole = published(&query, &header);
    let odd = [
        Signed {
            method: "",
            ..whole.signed
        },
        Signed {
            method: "get",
            ..whole.signed
        },
        Signed {
            method: "GET\n/",
            ..whole.signed
        },
        Signed {
            path: "",
            ..whole.signed
        },
        Signed {
            path: "scheduler",
            ..whole.signed
        },
        Signed {
            path: "/a\nb",
            ..whole.signed
        },
        Signed {
            path: "/a?b",
            ..whole.signed
        },
        Signed {
            path: "/\u{e9}",
            ..whole.signed
        },
        Signed {
            query: "a\nb",
            ..whole.signed
        },
        Signed {
            query: "a#b",
            ..whole.signed
        },
        Signed {
            query: "user=%ff&timestamp=1",
            ..whole.signed
        },
        Signed {
            query: "user=a&user=a&timestamp=1",
            ..whole.signed
        },
    ];
    for signed in odd {
        let refused = why(gate().identify(&Request { signed, ..whole }, at(NOW)));
        assert!(
            matches!(refused, Refusal::Malformed(_)),
            "{signed:?}: {refused}"
        );
        assert_eq!(refused.status(), 400);
    }
}

fn parameters(pairs: Vec<(&'static str, String)>) -> BTreeMap<&'static str, String> {
    pairs.into_iter().collect()
}

#[test]
fn a_submission_of_version_1_is_for_the_users_own_queue() {
    let mut gate = gate();
    let own = Submission {
        user: "alice",
        queue: "root.alice",
        name: "word count",
    };
    let given = parameters(job::sign_v1(&secret("alice"), "alice", NOW));
    let value = |name: &str| given.get(name).cloned();
    let foreign = Submission {
        queue: "root.root",
        ..own
    };
    assert_eq!(
        why(gate.submit(&foreign, value, None, at(NOW))),
        Refusal::NotAllowed
    );
    let pretended = Submission {
        user: "root",
        queue: "root.root",
        ..own
    };
    assert_eq!(
        why(gate.submit(&pretended, value, None, at(NOW))),
        Refusal::WrongSignature
    );
    assert_eq!(
        why(gate.submit(&own, |_| None, None, at(NOW))),
        Refusal::Unsigned
    );
    let half = |name: &str| value(name).filter(|_| name == job::TIMESTAMP);
    assert!(matches!(
        why(gate.submit(&own, half, None, at(NOW))),
        Refusal::Malformed(_)
    ));
    let accepted = gate.submit(&own, value, None, at(NOW)).expect("passes");
    assert_eq!(accepted.authority, None);
    assert_eq!(
        why(gate.submit(&own, value, None, at(NOW))),
        Refusal::Replayed
    );
}

#[test]
fn nothing_that_the_gate_shows_holds_a_secret() {
    let mut gate = gate();
    let (query, header) = sign_v1("price", "alice", NOW);
    let _ = gate.identify(&published(&query, &header), at(NOW));
    let shown = format!("{gate:?} {gate:#?}");
    assert!(
        shown.contains("alice") && !shown.contains("16_bytes"),
        "{shown}"
    );
}
