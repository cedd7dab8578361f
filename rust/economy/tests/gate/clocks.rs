//! A server's clock that is set back or forward locks no user out and accepts nothing twice.

use super::*;

const HOUR: u64 = 3_600_000;

/// Returns clocks whose wall time differs from the time that has passed.
fn set_by(by_ms: i64, passed_ms: u64) -> Now {
    Now {
        wall_ms: (NOW + passed_ms).saturating_add_signed(by_ms),
        ..at(NOW + passed_ms)
    }
}

fn request_v2(nonce: u64, signed_ms: u64) -> (Signed<'static>, String) {
    let signed = published("", "").signed;
    let signed = Signed {
        query: "x=1",
        path: "/p",
        method: "GET",
        ..signed
    };
    let validity = Validity {
        timestamp_ms: signed_ms,
        expires_ms: signed_ms + 60_000,
        nonce: format!("nonce{nonce:016}"),
    };
    let header = v2::header(&secret("alice"), "alice", &signed, &validity);
    (signed, header)
}

fn passes_v2(gate: &mut Gate, (signed, header): &(Signed<'_>, String), now: Now) -> bool {
    let request = Request {
        signed: *signed,
        ..published("", header)
    };
    gate.identify(&request, now).is_ok()
}

fn passes_v1(gate: &mut Gate, signed_ms: u64, now: Now) -> bool {
    let (query, header) = sign_v1("price", "alice", signed_ms);
    gate.identify(&published(&query, &header), now).is_ok()
}

/// Clients have the correct time, or ask for the server's (DP-33).
#[test]
fn a_clock_that_is_set_keeps_nobody_out_and_lets_nothing_in_twice() {
    for by_ms in [-5 * HOUR as i64, -60_000, 60_000, 5 * HOUR as i64] {
        let mut gate = gate();
        assert!(passes_v1(&mut gate, NOW, at(NOW)));
        let before = request_v2(1, NOW);
        assert!(passes_v2(&mut gate, &before, at(NOW)));
        let now = set_by(by_ms, 1_000);
        assert!(passes_v1(&mut gate, NOW + 1_000, now), "{by_ms}: own clock");
        let asked_ms = gate.now_ms(set_by(by_ms, 10_000));
        let now = set_by(by_ms, 10_000);
        assert!(passes_v1(&mut gate, asked_ms, now), "{by_ms}: as asked");
        let fresh = request_v2(2, NOW + 10_000);
        assert!(passes_v2(&mut gate, &fresh, now), "{by_ms}");
        for again in [&before, &fresh] {
            assert!(!passes_v2(&mut gate, again, now), "{by_ms}");
        }
        assert!(!passes_v1(&mut gate, NOW, now), "{by_ms}");
        // The clock is corrected after a while: everything continues.
        let now = at(NOW + 50_000);
        assert!(passes_v1(&mut gate, NOW + 50_000, now), "{by_ms}: right");
        assert!(passes_v2(&mut gate, &request_v2(3, NOW + 49_000), now));
        for again in [&before, &fresh] {
            assert!(!passes_v2(&mut gate, again, now), "{by_ms}");
        }
    }
}

/// A request that expired and was forgotten would be valid again on a clock that goes back.
#[test]
fn what_has_expired_stays_expired() {
    let mut gate = gate();
    let before = request_v2(1, NOW);
    assert!(passes_v2(&mut gate, &before, at(NOW)));
    let other = request_v2(2, NOW + 100_000);
    assert!(passes_v2(&mut gate, &other, at(NOW + 100_000)));
    assert!(!passes_v2(&mut gate, &before, set_by(-100_000, 100_000)));
    // Clients that sign with the correct time pass meanwhile.
    let now = set_by(-100_000, 101_000);
    assert!(passes_v2(&mut gate, &request_v2(3, NOW + 101_000), now));
}

#[test]
fn waits_go_by_the_steady_clock() {
    let (query, header) = sign_v1("price", "alice", NOW);
    let wrong = header.replace(&header[..3], "AAA");
    let refused = |gate: &mut Gate, now| why(gate.identify(&published(&query, &wrong), now));
    for by_ms in [-5 * HOUR as i64, 5 * HOUR as i64] {
        let mut gate = gate();
        for _ in 0..10 {
            assert_eq!(refused(&mut gate, at(NOW)), Refusal::WrongSignature);
        }
        let limited = Refusal::TooManyFailures(6_000);
        assert_eq!(refused(&mut gate, at(NOW)), limited);
        // Setting a clock does not shorten a wait...
        assert_eq!(refused(&mut gate, set_by(by_ms, 0)), limited, "{by_ms}");
        let almost = refused(&mut gate, set_by(by_ms, 5_999));
        let soon = matches!(almost, Refusal::TooManyFailures(1..=6));
        assert!(soon, "{by_ms}: {almost}");
        // ... and does not lengthen one.
        let now = set_by(by_ms, 6_000);
        assert_eq!(refused(&mut gate, now), Refusal::WrongSignature, "{by_ms}");
    }
    // A host whose steady clock is not steady behaves the same.
    let mut gate = gate();
    for _ in 0..10 {
        refused(&mut gate, at(NOW));
    }
    let back = |passed_ms| Now {
        wall_ms: NOW + passed_ms,
        steady_ms: passed_ms,
    };
    let limited = refused(&mut gate, back(0));
    assert_eq!(limited, Refusal::TooManyFailures(6_000));
    assert_eq!(refused(&mut gate, back(6_000)), Refusal::WrongSignature);
}
