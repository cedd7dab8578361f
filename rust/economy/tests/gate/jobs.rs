//! Submissions: their bounds, and the remainder of these after a failover.

use super::*;
use heddle_economy::auth::gate::Accepted;
use heddle_economy::auth::replay::{JOBS_MAX, Watermarks};

/// With one parameter of version 2, version 1 no longer counts.
#[test]
fn a_submission_cannot_be_weakened_to_version_1() {
    let mut gate = gate();
    let weaker = parameters(job::sign_v1(&secret("alice"), "alice", NOW));
    let both = |name: &str| match name {
        "heddle.job.rate" => Some("1".to_string()),
        _ => weaker.get(name).cloned(),
    };
    let alice = Submission {
        user: "alice",
        queue: "root.alice",
        name: "j",
    };
    assert!(matches!(
        why(gate.submit(&alice, both, address(9), at(NOW))),
        Refusal::Malformed(_)
    ));
    let value = |name: &str| weaker.get(name).cloned();
    assert!(gate.submit(&alice, value, address(9), at(NOW)).is_ok());
}

#[test]
fn a_submission_of_version_2_bounds_what_the_job_spends() {
    let mut gate = gate();
    let own = Submission {
        user: "new",
        queue: "root.shared",
        name: "word count",
    };
    let bounds = Bounds {
        credits: Credits::from_micro(5_000_000),
        rate: Credits::from_micro(250_000),
        until_ms: NOW + 3_600_000,
    };
    let given = parameters(job::sign_v2(&secret("new"), &own, &bounds, &validity(1)));
    let value = |name: &str| given.get(name).cloned();
    for other in [
        Submission {
            name: "word counts",
            ..own
        },
        Submission {
            queue: "root.new",
            ..own
        },
        Submission {
            user: "alice",
            ..own
        },
    ] {
        assert_eq!(
            why(gate.submit(&other, value, None, at(NOW))),
            Refusal::WrongSignature
        );
    }
    let more = |name: &str| match name {
        "heddle.job.credits" => Some("50".to_string()),
        _ => value(name),
    };
    assert_eq!(
        why(gate.submit(&own, more, None, at(NOW))),
        Refusal::WrongSignature
    );
    let accepted = gate
        .submit(&own, value, address(8), at(NOW))
        .expect("passes");
    let authority = accepted.authority.expect("bounded");
    assert_eq!(authority.bounds, bounds);
    assert_eq!(
        why(gate.submit(&own, value, address(8), at(NOW))),
        Refusal::Replayed
    );
    let over = Bounds {
        until_ms: NOW,
        ..bounds
    };
    let given = parameters(job::sign_v2(&secret("new"), &own, &over, &validity(2)));
    let value = |name: &str| given.get(name).cloned();
    assert_eq!(
        why(gate.submit(&own, value, address(7), at(NOW))),
        Refusal::Expired(NOW)
    );
}

/// The engine finds the only leaf of a name: the check must apply to that queue.
#[test]
fn a_submission_to_what_is_no_full_path_is_refused() {
    for queue in ["shared", "new", "root", "", "root.", "root..a", "default"] {
        let unresolved = Submission { queue, ..OWN };
        let bounds = Bounds {
            credits: Credits::from_micro(5),
            rate: Credits::from_micro(5),
            until_ms: NOW + 5,
        };
        let signed = job::sign_v2(&secret("new"), &unresolved, &bounds, &validity(9));
        for given in [signed, job::sign_v1(&secret("new"), "new", NOW)] {
            let given = parameters(given);
            let value = |name: &str| given.get(name).cloned();
            let refused = why(gate().submit(&unresolved, value, None, at(NOW)));
            assert!(
                matches!(refused, Refusal::Malformed(_)),
                "{queue}: {refused}"
            );
        }
    }
}

/// A job of the user `new`, signed with this nonce and this validity.
struct SignedJob {
    given: BTreeMap<&'static str, String>,
}

const OWN: Submission<'static> = Submission {
    user: "new",
    queue: "root.new",
    name: "word count",
};

impl SignedJob {
    fn new(nonce: u64, good_for_ms: u64) -> SignedJob {
        let bounds = Bounds {
            credits: Credits::from_micro(5_000_000),
            rate: Credits::from_micro(250_000),
            until_ms: NOW + 100_000_000,
        };
        let validity = Validity {
            expires_ms: NOW + good_for_ms,
            ..validity(nonce)
        };
        let given = parameters(job::sign_v2(&secret("new"), &OWN, &bounds, &validity));
        SignedJob { given }
    }

    fn value(&self, name: &str) -> Option<String> {
        self.given.get(name).cloned()
    }

    fn submit(&self, gate: &mut Gate, now: Now) -> Result<Accepted, Rejection> {
        gate.submit(&OWN, |name| self.value(name), None, now)
    }
}

fn request_passes(gate: &mut Gate, nonce: u64, now_ms: u64) -> Result<Accepted, Rejection> {
    let signed = published("", "").signed;
    let validity = Validity {
        timestamp_ms: now_ms,
        expires_ms: now_ms + 60_000,
        ..validity(nonce)
    };
    let header = v2::header(&secret("new"), "new", &signed, &validity);
    let request = Request {
        signed,
        ..published("", &header)
    };
    gate.identify(&request, at(now_ms))
}

const DAY: u64 = 86_400_000;

#[test]
fn jobs_signed_for_a_day_leave_room_for_requests() {
    let mut gate = gate();
    let (first, rest) = (SignedJob::new(0, DAY / 2), 1..JOBS_MAX as u64);
    first.submit(&mut gate, at(NOW)).expect("there is room");
    for nonce in rest {
        let job = SignedJob::new(nonce, DAY);
        job.submit(&mut gate, at(NOW)).expect("there is room");
    }
    request_passes(&mut gate, 1, NOW).expect("of a nonce that a job has, too");
    let full = why(SignedJob::new(5_000, DAY).submit(&mut gate, at(NOW)));
    assert_eq!(full, Refusal::TooManyUnexpired(NOW + DAY / 2));
    assert_eq!((full.status(), full.word()), (429, "too-many-unexpired"));
    assert!(full.to_string().contains("first expires at"), "{full}");
    // It is not forgotten to make room for another.
    assert_eq!(why(first.submit(&mut gate, at(NOW))), Refusal::Replayed);
    request_passes(&mut gate, 2, NOW + 1).expect("requests go on");
    // A successor that starts from rows behaves the same.
    let kept = gate.export();
    let own = |(user, v1_ms): (&str, u64)| (user.to_string(), v1_ms);
    let owned = |(user, nonce, ms): (&str, &str, u64)| (user.to_string(), nonce.to_string(), ms);
    let rows = Watermarks::of(kept.v1_rows().map(own), kept.nonce_rows().map(owned));
    assert_eq!(rows, kept);
    let mut successor = gate_with(Settings::default());
    successor.merge(&rows);
    for gate in [&mut gate, &mut successor] {
        assert_eq!(why(first.submit(gate, at(NOW))), Refusal::Replayed);
        assert_eq!(why(request_passes(gate, 2, NOW + 1)), Refusal::Replayed);
        request_passes(gate, 3, NOW + 2).expect("requests go on");
        let later = at(NOW + DAY / 2);
        let more = SignedJob::new(6_000, DAY).submit(gate, later);
        more.expect("one has expired");
    }
}

/// A crash after YARN's store has kept the job, and before Heddle's store has kept its nonce.
#[test]
fn a_recovered_job_is_the_only_one_of_its_signature() {
    let mut gate = gate();
    let job = SignedJob::new(1, DAY);
    let accepted = job.submit(&mut gate, at(NOW)).expect("passes");
    let authority = accepted.authority.expect("bounded");
    let mut successor = gate_with(Settings::default());
    successor.merge(&Watermarks::default());
    // Its authority was not stored, so it is proven again from the parameters.
    let again = successor.prove_again(&OWN, |name| job.value(name));
    assert_eq!(again, Ok(Some(authority.clone())));
    let added = successor.recover(&authority);
    assert_eq!(added, accepted.added, "to be stored now");
    assert_eq!(
        why(job.submit(&mut successor, at(NOW + 1))),
        Refusal::Replayed
    );
    let known = successor.recover(&authority);
    assert_eq!(known, Watermarks::default(), "nothing is new");
    // The entries stored in between remain valid after the next failover.
    let mut next = gate_with(Settings::default());
    next.merge(&added);
    assert_eq!(why(job.submit(&mut next, at(NOW + 1))), Refusal::Replayed);
}

#[test]
fn a_recovered_job_is_proven_again_though_its_signature_expired() {
    let gate = gate();
    let job = SignedJob::new(1, 1);
    let other = Submission {
        name: "word counts",
        ..OWN
    };
    let value = |name: &str| job.value(name);
    assert!(matches!(gate.prove_again(&OWN, value), Ok(Some(_))));
    let wrong = gate.prove_again(&other, value);
    assert_eq!(wrong, Err(Refusal::WrongSignature));
    let unsigned = gate.prove_again(&OWN, |_| None);
    assert_eq!(unsigned, Err(Refusal::Unsigned));
    let alice = Submission {
        user: "alice",
        queue: "root.alice",
        ..OWN
    };
    let given = parameters(job::sign_v1(&secret("alice"), "alice", 5));
    let v1 = gate.prove_again(&alice, |name| given.get(name).cloned());
    assert_eq!(v1, Ok(None), "as published, bounded by nothing");
}

/// A launch script on a node shows signature and nonce to anyone who can read it there. They are
/// useless for anything else, with whatever they are sent, here and after a failover.
#[test]
fn what_a_launch_script_shows_starts_no_other_job() {
    let mut gate = gate();
    let job = SignedJob::new(1, DAY);
    let accepted = job.submit(&mut gate, at(NOW)).expect("the job itself");
    let kept = accepted.added;
    let mut successor = gate_with(Settings::default());
    successor.merge(&kept);
    let own = || OWN;
    let others = [
        (own(), "heddle.job.none", "", Refusal::Replayed),
        (
            Submission {
                name: "other",
                ..OWN
            },
            "",
            "",
            Refusal::WrongSignature,
        ),
        (
            Submission {
                queue: "root.alice",
                ..OWN
            },
            "",
            "",
            Refusal::WrongSignature,
        ),
        (
            Submission {
                user: "alice",
                ..OWN
            },
            "",
            "",
            Refusal::WrongSignature,
        ),
        (
            own(),
            "heddle.job.nonce",
            "another0nonce000",
            Refusal::WrongSignature,
        ),
        (own(), "heddle.job.rate", "9", Refusal::WrongSignature),
        (own(), "heddle.job.credits", "9", Refusal::WrongSignature),
    ];
    for gate in [&mut gate, &mut successor] {
        for (submission, name, value, expected) in &others {
            let given = |asked: &str| match asked == *name {
                true => Some((*value).to_string()),
                false => job.value(asked),
            };
            let refused = why(gate.submit(submission, given, None, at(NOW + 1)));
            assert_eq!(&refused, expected, "{submission:?}, {name} = {value}");
        }
    }
    // The signature does not sign a request either.
    let signature = job.given.values().max_by_key(|value| value.len());
    let header = format!(
        "Heddle-HMAC-SHA256 user=new, timestamp={NOW}, expires={}, nonce={}, signature={}",
        NOW + DAY,
        job.value("heddle.job.nonce").unwrap_or_default(),
        signature.expect("it has some"),
    );
    let request = published("setSpending=9&queue=new", &header);
    assert!(gate.identify(&request, at(NOW + 2)).is_err());
}
