//! Failures limit the failing callers, and no others behind their address.

use super::*;
use heddle_economy::auth::gate::FAILING_BODY_BYTES_MAX;

/// Returns a signature of another text.
fn wrong() -> String {
    v1::header(&v1::signature(&Secret::new(b"alice's_16_bytes"), "no"))
}

/// Fails `times` times from address 1 in a user's name.
fn fail(gate: &mut Gate, user: &str, times: usize) {
    let (query, _) = sign_v1("price", user, NOW);
    for _ in 0..times {
        assert!(
            gate.identify(&published(&query, &wrong()), at(NOW))
                .is_err()
        );
    }
}

#[test]
fn whoever_fails_too_often_is_told_to_wait() {
    let mut gate = gate();
    let (query, _) = sign_v1("price", "alice", NOW);
    let mut limited = 0;
    for _ in 0..100 {
        match why(gate.identify(&published(&query, &wrong()), at(NOW))) {
            Refusal::WrongSignature => {}
            Refusal::TooManyFailures(wait_ms) => {
                assert!(wait_ms > 0);
                limited += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(limited, 90, "10 in the name of a user");
    // A new name each time: the limit of the address ends the attempts.
    let mut tried = 0;
    for i in 0..100 {
        let (query, _) = sign_v1("price", &format!("guess{i}"), NOW);
        let header = wrong();
        let request = Request {
            address: address(3),
            ..published(&query, &header)
        };
        tried += usize::from(why(gate.identify(&request, at(NOW))) == Refusal::WrongSignature);
    }
    assert_eq!(tried, 20);
    // An unproven request gets the same answer, whatever is wrong with it.
    let malformed = Request {
        address: address(3),
        ..published("user=%ff", "a=")
    };
    let refused = why(gate.identify(&malformed, at(NOW)));
    assert!(matches!(refused, Refusal::TooManyFailures(_)), "{refused}");
}

/// Behind a proxy or NAT, all clients have one address.
#[test]
fn failures_of_others_keep_nobody_out_who_signs_rightly() {
    let mut gate = gate();
    // The address and both users have used up their failures: 10 each and 20 in all.
    for user in ["alice", "new"] {
        fail(&mut gate, user, 100);
    }
    let (query, _) = sign_v1("price", "guess", NOW);
    let refused = why(gate.identify(&published(&query, &wrong()), at(NOW)));
    assert!(matches!(refused, Refusal::TooManyFailures(_)), "{refused}");
    let (query, header) = sign_v1("price", "alice", NOW);
    assert!(gate.identify(&published(&query, &header), at(NOW)).is_ok());
    // A proven sender learns the reason, however many others failed.
    let again = why(gate.identify(&published(&query, &header), at(NOW)));
    assert_eq!(again, Refusal::Replayed);
    let (query, header) = sign_v1("price", "alice", NOW - 3_600_000);
    let late = why(gate.identify(&published(&query, &header), at(NOW)));
    assert_eq!(late, Refusal::Skewed(NOW));
    let signed = Signed {
        body: Body::of(&[b'x'; FAILING_BODY_BYTES_MAX]),
        ..published("", "").signed
    };
    let header = v2::header(&secret("new"), "new", &signed, &validity(1));
    let request = Request {
        signed,
        ..published("", &header)
    };
    assert!(gate.identify(&request, at(NOW)).is_ok());
    let own = Submission {
        user: "alice",
        queue: "root.alice",
        name: "j",
    };
    let given = parameters(job::sign_v1(&secret("alice"), "alice", NOW + 1));
    let value = |name: &str| given.get(name).cloned();
    assert!(gate.submit(&own, value, address(1), at(NOW)).is_ok());
}

/// A secret of a few letters can be guessed, unless guessing is slow.
#[test]
fn guesses_of_a_short_secret_are_limited_and_a_right_one_too() {
    let mut gate = gate();
    fail(&mut gate, "weak", 10);
    let (query, header) = sign_v1("price", "weak", NOW);
    let guessed = why(gate.identify(&published(&query, &header), at(NOW)));
    assert!(matches!(guessed, Refusal::TooManyFailures(_)), "{guessed}");
    let elsewhere = Request {
        address: address(2),
        ..published(&query, &header)
    };
    assert!(gate.identify(&elsewhere, at(NOW)).is_ok(), "the real one");
    let (query, header) = sign_v1("price", "weak", NOW + 6_000);
    let later = gate.identify(&published(&query, &header), at(NOW + 6_000));
    assert!(later.is_ok(), "one more after 6 s");
}

/// Long bodies are accepted only from addresses that do not fail.
#[test]
fn of_an_address_that_fails_no_long_body_is_accepted() {
    let mut gate = gate();
    for i in 0..20 {
        fail(&mut gate, &format!("guess{i}"), 1);
    }
    let signed = Signed {
        body: Body::of(&[b'x'; FAILING_BODY_BYTES_MAX + 1]),
        ..published("", "").signed
    };
    let header = v2::header(&secret("new"), "new", &signed, &validity(1));
    let request = Request {
        signed,
        ..published("", &header)
    };
    let refused = why(gate.identify(&request, at(NOW)));
    assert!(matches!(refused, Refusal::TooManyFailures(_)), "{refused}");
    // `admit` refuses it too, before the body is hashed, and refuses no other signed request.
    let long = FAILING_BODY_BYTES_MAX + 1;
    let mut admit = |header, bytes, from| {
        let admitted = gate.admit(header, bytes, address(from), at(NOW));
        admitted.map_err(|rejection| rejection.why)
    };
    assert_eq!(admit(Some(&header), long, 1), Err(refused));
    assert_eq!(admit(Some(&header), long - 1, 1), Ok(()));
    assert_eq!(admit(Some(&header), long, 2), Ok(()));
    assert_eq!(admit(None, 0, 2), Err(Refusal::Unsigned));
    let elsewhere = Request {
        address: address(2),
        ..request
    };
    assert!(gate.identify(&elsewhere, at(NOW)).is_ok());
}
