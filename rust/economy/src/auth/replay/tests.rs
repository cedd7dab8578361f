//! Tests of replay: an accepted request is refused again, whatever happens in between.

use super::*;
use proptest::prelude::*;

const START: u64 = 1_000_000;
const CLOCK: Clock = Clock {
    skew_ms: 10_000,
    valid_max_ms: 100_000,
};

fn fresh() -> Replay {
    Replay::new(CLOCK, START)
}

fn validity(timestamp_ms: u64, expires_ms: u64, nonce: u64) -> Validity {
    Validity {
        timestamp_ms,
        expires_ms,
        nonce: format!("{nonce:016}"),
    }
}

/// Stores and reads the state as text.
fn stored(marks: &Watermarks) -> Watermarks {
    let text = serde_json::to_string(marks).expect("plain data");
    serde_json::from_str(&text).expect("what was written")
}

/// Stores the state in rows, like a store without fields for all of it.
fn in_rows(marks: &[Watermarks]) -> Watermarks {
    let (mut v1, mut nonces) = (BTreeMap::new(), BTreeMap::new());
    for marks in marks {
        for (user, v1_ms) in marks.v1_rows() {
            let row = v1.entry(user.to_string()).or_insert(v1_ms);
            *row = v1_ms.max(*row);
        }
        for (user, nonce, expires_ms) in marks.nonce_rows() {
            let row = nonces.entry((user.to_string(), nonce.to_string()));
            let row = row.or_insert(expires_ms);
            *row = expires_ms.max(*row);
        }
    }
    let nonces = nonces
        .into_iter()
        .map(|((user, nonce), expires_ms)| (user, nonce, expires_ms));
    Watermarks::of(v1, nonces)
}

#[test]
fn a_timestamp_must_be_larger_than_the_last_and_than_the_start() {
    let mut replay = fresh();
    let now = START + 5_000;
    assert_eq!(
        replay.accept_v1("a", START - 1, now),
        Err(Refusal::Replayed)
    );
    assert_eq!(replay.accept_v1("a", START, now), Err(Refusal::Replayed));
    assert!(replay.accept_v1("a", START + 1, now).is_ok());
    assert_eq!(
        replay.accept_v1("a", START + 1, now),
        Err(Refusal::Replayed)
    );
    assert!(
        replay.accept_v1("b", START + 1, now).is_ok(),
        "others have their own"
    );
    assert!(replay.accept_v1("a", START + 3, now).is_ok());
    assert_eq!(
        replay.accept_v1("a", START + 2, now),
        Err(Refusal::Replayed)
    );
}

#[test]
fn a_timestamp_is_near_the_clock() {
    let mut replay = fresh();
    let now = START + 50_000;
    assert_eq!(
        replay.accept_v1("a", now + 10_001, now),
        Err(Refusal::Skewed(now))
    );
    assert_eq!(
        replay.accept_v1("a", now - 10_001, now),
        Err(Refusal::Skewed(now))
    );
    assert_eq!(
        replay.accept_v1("a", u64::MAX, now),
        Err(Refusal::Skewed(now))
    );
    assert!(replay.accept_v1("a", now - 10_000, now).is_ok());
    assert!(replay.accept_v1("a", now + 10_000, now).is_ok());
}

#[test]
fn a_nonce_counts_once_while_it_is_valid_and_not_afterwards() {
    let mut replay = fresh();
    let now = START + 1;
    let request = validity(now, now + 100, 1);
    assert!(replay.accept_v2("a", &request, now).is_ok());
    assert_eq!(replay.accept_v2("a", &request, now), Err(Refusal::Replayed));
    let other_end = validity(now, now + 200, 1);
    assert_eq!(
        replay.accept_v2("a", &other_end, now),
        Err(Refusal::Replayed)
    );
    assert!(
        replay.accept_v2("b", &request, now).is_ok(),
        "others have their own"
    );
    assert_eq!(
        replay.accept_v2("a", &request, now + 100),
        Err(Refusal::Expired(now + 100))
    );
    // The clock is set back after the nonce was forgotten.
    assert!(
        replay
            .accept_v2("a", &validity(now, now + 900, 2), now + 500)
            .is_ok()
    );
    assert!(
        !replay.export().users["a"]
            .nonces
            .contains_key(&request.nonce)
    );
    assert_eq!(
        replay.accept_v2("a", &request, now),
        Err(Refusal::Forgotten(request.expires_ms))
    );
}

#[test]
fn the_times_of_version_2_are_bounded() {
    let mut replay = fresh();
    let now = START + 500_000;
    let mut accept = |from, to, nonce| replay.accept_v2("a", &validity(from, to, nonce), now);
    assert_eq!(
        accept(now + 10_001, now + 10_002, 1),
        Err(Refusal::Skewed(now))
    );
    assert_eq!(accept(now - 5, now, 2), Err(Refusal::Expired(now)));
    assert_eq!(
        accept(now, now + 100_001, 3),
        Err(Refusal::ValidTooLong(100_000))
    );
    assert_eq!(
        accept(now + 5, now + 5, 4),
        Err(Refusal::ValidTooLong(100_000))
    );
    assert_eq!(
        accept(now + 5, now + 4, 5),
        Err(Refusal::ValidTooLong(100_000))
    );
    assert_eq!(accept(1, u64::MAX, 6), Err(Refusal::ValidTooLong(100_000)));
    assert!(accept(now - 50_000, now + 50_000, 7).is_ok());
    assert!(accept(now + 10_000, now + 110_000, 8).is_ok());
}

#[test]
fn what_was_signed_before_an_unknown_past_ended_is_refused() {
    let before = validity(START - 10, START + 10_000, 1);
    let mut replay = fresh();
    assert_eq!(
        replay.accept_v2("a", &before, START + 1),
        Err(Refusal::Replayed)
    );
    replay.merge(&Watermarks::default());
    assert!(replay.accept_v2("a", &before, START + 1).is_ok());
    // Version 1 still needs a timestamp after the start (DP-38).
    assert_eq!(
        replay.accept_v1("a", START, START + 1),
        Err(Refusal::Replayed)
    );
}

#[test]
fn replay_is_refused_after_a_restart_and_a_failover() {
    let now = START + 1_000;
    let request = validity(now, now + 50_000, 1);
    let mut replay = fresh();
    replay.merge(&Watermarks::default());
    let mut kept = replay.accept_v2("a", &request, now).expect("accepted");
    let v1 = replay.accept_v1("a", now, now).expect("accepted");
    // A restart with the whole state. Its start is early, so that only the watermark refuses.
    let mut restarted = fresh();
    restarted.merge(&stored(&replay.export()));
    assert_eq!(
        restarted.accept_v2("a", &request, now + 1),
        Err(Refusal::Replayed)
    );
    assert_eq!(
        restarted.accept_v1("a", now, now + 1),
        Err(Refusal::Replayed)
    );
    // A failover with the added entries, as stored with their changes.
    let mut successor = fresh();
    kept.users.get_mut("a").expect("added").v1_ms = v1.users["a"].v1_ms;
    successor.merge(&stored(&kept));
    assert_eq!(
        successor.accept_v2("a", &request, now + 1),
        Err(Refusal::Replayed)
    );
    assert_eq!(
        successor.accept_v1("a", now, now + 1),
        Err(Refusal::Replayed)
    );
    assert!(successor.accept_v1("a", now + 1, now + 1).is_ok());
}

#[test]
fn too_many_nonces_are_forgotten_and_still_refused() {
    let mut replay = fresh();
    let now = START + 1;
    let many = 3 * NONCES_MAX as u64;
    let requests: Vec<Validity> = (1..=many).map(|i| validity(now, now + i, i)).collect();
    let mut rows = Vec::new();
    for request in &requests {
        let added = replay.accept_v2("a", request, now);
        rows.push(added.expect("later ones expire later"));
    }
    let mut from_rows = fresh();
    from_rows.merge(&in_rows(&rows));
    assert_eq!(from_rows.export(), replay.export());
    assert_eq!(replay.export().users["a"].nonces.len(), NONCES_MAX);
    let mut restarted = fresh();
    restarted.merge(&stored(&replay.export()));
    let forgotten = Err(Refusal::Forgotten(now + many - NONCES_MAX as u64));
    for request in &requests {
        let again = replay.accept_v2("a", request, now);
        let known = request.expires_ms > now + many - NONCES_MAX as u64;
        let expected = match known {
            true => Err(Refusal::Replayed),
            false => forgotten.clone(),
        };
        assert_eq!(again, expected);
        assert_eq!(restarted.accept_v2("a", request, now), expected);
    }
    let early = validity(now, now + 1, many + 1);
    assert_eq!(replay.accept_v2("a", &early, now), forgotten);
    assert!(
        replay.accept_v2("b", &early, now).is_ok(),
        "others do not suffer"
    );
}

/// Forgetting refuses every request that expires as early, and that must not last a day.
#[test]
fn requests_signed_for_long_do_not_keep_others_out() {
    let mut replay = fresh();
    let now = START + 1;
    let long = |nonce| validity(now, now + CLOCK.valid_max_ms - nonce, nonce);
    for nonce in 0..NONCES_MAX as u64 {
        assert!(replay.accept_v2("a", &long(nonce), now).is_ok());
    }
    let first = now + CLOCK.valid_max_ms - NONCES_MAX as u64 + 1;
    assert_eq!(
        replay.accept_v2("a", &long(NONCES_MAX as u64 - 1), now),
        Err(Refusal::Replayed),
        "not: too many"
    );
    assert_eq!(
        replay.accept_v2("a", &validity(now, first + 5, 1_000_999), now),
        Err(Refusal::TooManyUnexpired(first))
    );
    let edge = validity(now, now + CLOCK.skew_ms + 1, 1_000_998);
    let edge_ms = edge.expires_ms;
    assert_eq!(
        replay.accept_v2("a", &edge, now),
        Err(Refusal::TooManyUnexpired(edge_ms))
    );
    for later in 0..5_000 {
        let short = validity(now + later, now + later + CLOCK.skew_ms, 2_000_000 + later);
        assert!(
            replay.accept_v2("a", &short, now + later).is_ok(),
            "{later}"
        );
        let again = replay.accept_v2("a", &short, now + later);
        assert_eq!(again, Err(Refusal::Forgotten(short.expires_ms)));
    }
    for nonce in 0..NONCES_MAX as u64 {
        let again = replay.accept_v2("a", &long(nonce), now);
        assert_eq!(again, Err(Refusal::Replayed), "none is forgotten");
    }
}

#[test]
fn too_many_users_are_forgotten_and_still_refused() {
    let mut replay = fresh();
    let now = START + 100;
    let names: Vec<String> = (0..USERS_MAX + 20).map(|i| format!("user{i}")).collect();
    // Users alternate between the versions, with the same times; later users have later times.
    let v1_ms = |i: usize| now + 1 + i as u64 / 1_000;
    let v2 = |i: usize| validity(now, v1_ms(i), 1);
    for (i, name) in names.iter().enumerate() {
        let accepted = match i % 2 {
            0 => replay.accept_v1(name, v1_ms(i), now),
            _ => replay.accept_v2(name, &v2(i), now),
        };
        assert!(accepted.is_ok(), "{name}");
    }
    assert_eq!(replay.export().users.len(), USERS_MAX);
    let mut restarted = fresh();
    restarted.merge(&stored(&replay.export()));
    for (i, name) in names.iter().enumerate() {
        for replay in [&mut replay, &mut restarted] {
            let again = match i % 2 {
                0 => replay.accept_v1(name, v1_ms(i), now),
                _ => replay.accept_v2(name, &v2(i), now),
            };
            let refused = matches!(again, Err(Refusal::Replayed | Refusal::Forgotten(_)));
            assert!(refused, "{name}: {again:?}");
        }
    }
}

/// An event in a server's life.
#[derive(Clone, Debug)]
enum Happening {
    Request {
        user: u8,
        what: Sent,
    },
    Clock(i64),
    /// The whole state is written.
    Saved,
    /// The server restarts from the stored state.
    Restart,
}

/// A request of version 1 or 2, or a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    V1 { at_ms: u64 },
    V2 { good_for_ms: u64, nonce: u64 },
    Job { good_for_ms: u64, nonce: u64 },
}

impl Sent {
    fn send(self, replay: &mut Replay, user: u8, now: u64) -> Result<Watermarks, Refusal> {
        let (user, from) = (user.to_string(), START + 20_000);
        let valid = |good_for_ms, nonce| validity(from, from + good_for_ms, nonce);
        match self {
            Sent::V1 { at_ms } => replay.accept_v1(&user, at_ms, now),
            Sent::V2 { good_for_ms, nonce } => {
                replay.accept_v2(&user, &valid(good_for_ms, nonce), now)
            }
            Sent::Job { good_for_ms, nonce } => {
                replay.accept_job(&user, &valid(good_for_ms, nonce), now)
            }
        }
    }
}

fn happening() -> impl Strategy<Value = Happening> {
    let sent = prop_oneof![
        (START + 10_000..START + 40_000).prop_map(|at_ms| Sent::V1 { at_ms }),
        (1u64..3_000, 0u64..40).prop_map(|(good_for_ms, nonce)| Sent::V2 { good_for_ms, nonce }),
        (1u64..3_000, 0u64..40).prop_map(|(good_for_ms, nonce)| Sent::Job { good_for_ms, nonce }),
    ];
    let request = (0u8..3, sent);
    prop_oneof![
        9 => request.prop_map(|(user, what)| Happening::Request { user, what }),
        3 => (-500i64..1_000).prop_map(Happening::Clock),
        1 => Just(Happening::Saved),
        1 => Just(Happening::Restart),
    ]
}

proptest! {
    /// No request is accepted twice in any history of clock jumps, saves, restarts, and refused
    /// changes. The store gets the whole state now and then, and after each request its added
    /// entries.
    #[test]
    fn nothing_is_accepted_twice(
        history in prop::collection::vec(happening(), 1..200), as_rows: bool,
    ) {
        let mut replay = fresh();
        replay.merge(&Watermarks::default());
        let mut store = vec![Watermarks::default()];
        let mut accepted = BTreeSet::new();
        let mut now = START + 20_000;
        for happening in history {
            match happening {
                // Rows are only ever added.
                Happening::Saved if as_rows => {}
                Happening::Request { user, what } => {
                    if let Ok(added) = what.send(&mut replay, user, now) {
                        prop_assert!(accepted.insert((user, what)), "twice: {what:?}");
                        store.push(stored(&added));
                    }
                }
                Happening::Clock(by) => now = now.saturating_add_signed(by).max(START + 1_000),
                Happening::Saved => store = vec![stored(&replay.export())],
                Happening::Restart => {
                    replay = fresh();
                    if as_rows {
                        store = vec![in_rows(&store)];
                    }
                    store.iter().for_each(|marks| replay.merge(marks));
                }
            }
        }
        for (user, what) in accepted {
            prop_assert!(what.send(&mut replay, user, now).is_err(), "{what:?}");
        }
    }

    /// Stored parts may be merged in any order, and repeatedly.
    #[test]
    fn merging_has_no_order(
        parts in prop::collection::vec((0u8..3, 0u64..99, 0u64..99, 0u64..9, 1u64..99), 1..12),
        seed in any::<u64>(),
    ) {
        let marks: Vec<Watermarks> = parts.into_iter().map(|(user, v1, v2, nonce, expires)| {
            let mark = Watermark {
                v1_ms: v1,
                v2_expired_ms: v2,
                nonces: BTreeMap::from([(format!("{nonce:016}"), expires)]),
                jobs_expired_ms: v1 / 3,
                jobs: BTreeMap::from([(job_key(&format!("{nonce:016}")), expires)]),
            };
            Watermarks {
                v1_ms: v1 / 2,
                v2_expired_ms: v2 / 2,
                jobs_expired_ms: v1 / 4,
                users: BTreeMap::from([(user.to_string(), mark)]),
            }
        }).collect();
        let (mut once, mut other) = (fresh(), fresh());
        marks.iter().for_each(|mark| once.merge(mark));
        let mut shuffled: Vec<&Watermarks> = marks.iter().chain(&marks).collect();
        shuffled.sort_by_key(|mark| (mark.v1_ms ^ seed, mark.v2_expired_ms));
        shuffled.into_iter().for_each(|mark| other.merge(mark));
        other.merge(&once.export());
        prop_assert_eq!(once.export(), other.export());
    }
}
