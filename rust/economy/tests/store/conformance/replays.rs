//! A request is accepted only once, even if the clock goes back.

use super::{batch, begun, interval};
use crate::support::{micro, refusal, store_at, token};
use heddle_economy::record::{Batch, Change};
use heddle_economy::store::{Commit, Refusal, Store};

pub(super) fn replays_are_refused(place: &str) {
    let (mut store, epoch) = begun(place);
    let seen = |timestamp_ms| Change::Seen {
        user: "alice".to_string(),
        timestamp_ms,
    };
    let nonce = |nonce: &str, expires_ms| Change::Nonce {
        user: "alice".to_string(),
        nonce: nonce.to_string(),
        expires_ms,
    };
    let changes = vec![seen(100), nonce("x", 40_000), nonce("y", 70_000)];
    store.commit_changes(epoch, &batch(2, changes)).unwrap();
    // After a failover too: another object, another epoch.
    let mut store = store_at(place);
    let epoch = store.take_over("rm2", token()).unwrap();
    for replay in [seen(100), seen(99), nonce("x", 90_000)] {
        let refused = refusal(store.commit_changes(epoch, &batch(3, vec![replay])));
        assert_eq!(refused, Refusal::Replay("alice".to_string()));
    }
    let twice = vec![nonce("z", 1), nonce("z", 1)];
    refusal(store.commit_changes(epoch, &batch(3, twice)));
    store
        .commit_changes(epoch, &batch(3, vec![seen(101)]))
        .unwrap();
    // Both are kept to the very end of their time, and forgotten after it.
    for (tick, kept) in [(1, 2), (2, 2), (3, 1), (4, 0)] {
        store
            .commit_interval(epoch, &interval(tick, Vec::new()))
            .unwrap();
        let book = store_at(place).load().unwrap();
        assert_eq!(book, store.load().unwrap());
        let nonces = book.nonces.get("alice").map_or(0, |nonces| nonces.len());
        assert_eq!(nonces, kept, "after interval {tick}");
        assert_eq!(book.watermarks["alice"], 101);
    }
}

pub(super) fn nonces_are_bounded_by_user(place: &str) {
    let (mut store, epoch) = begun(place);
    let nonce = |user: &str, at: u32| Change::Nonce {
        user: user.to_string(),
        nonce: at.to_string(),
        expires_ms: 20_000,
    };
    let many = (0..10_000).map(|at| nonce("mallory", at)).collect();
    store.commit_changes(epoch, &batch(2, many)).unwrap();
    let more = vec![nonce("mallory", 10_000)];
    let refused = refusal(store.commit_changes(epoch, &batch(3, more)));
    assert_eq!(refused, Refusal::TooManyNonces("mallory".to_string()));
    let other = batch(3, vec![nonce("alice", 0)]);
    assert_eq!(store.commit_changes(epoch, &other), Ok(Commit::Applied));
    // Expiry makes room again, but not for the same nonce: the clock may have run ahead, and the
    // request may still be valid.
    for tick in 1..=2 {
        store
            .commit_interval(epoch, &interval(tick, Vec::new()))
            .unwrap();
    }
    let again = refusal(store.commit_changes(epoch, &batch(4, vec![nonce("mallory", 0)])));
    assert_eq!(again, Refusal::Replay("mallory".to_string()));
    let later = Change::Nonce {
        user: "mallory".to_string(),
        nonce: "0".to_string(),
        expires_ms: 20_001,
    };
    let later = batch(4, vec![later]);
    assert_eq!(store.commit_changes(epoch, &later), Ok(Commit::Applied));
    assert_eq!(store_at(place).load().unwrap().nonces["mallory"].len(), 1);
}

/// Policies without intervals commit changes only.
pub(super) fn nonces_go_without_intervals(place: &str) {
    let (mut store, epoch) = begun(place);
    let nonce = |user: &str, nonce: &str, expires_ms| Change::Nonce {
        user: user.to_string(),
        nonce: nonce.to_string(),
        expires_ms,
    };
    let commit = |store: &mut dyn Store, serial, at_ms, changes| {
        let batch = Batch {
            serial,
            at_ms,
            changes,
        };
        store.commit_changes(epoch, &batch)
    };
    let first = vec![
        nonce("alice", "a", 100),
        nonce("alice", "b", 200),
        nonce("bob", "c", 300),
    ];
    assert_eq!(commit(store.as_mut(), 2, 50, first), Ok(Commit::Applied));
    // Even an unrelated change forgets expired nonces.
    let rate = Change::Rate {
        queue: "root.a".to_string(),
        rate: micro(1),
    };
    assert_eq!(
        commit(store.as_mut(), 3, 201, vec![rate]),
        Ok(Commit::Applied)
    );
    let mut store = store_at(place);
    let book = store.load().unwrap();
    let users: Vec<&String> = book.nonces.keys().collect();
    assert_eq!(users, ["bob"]);
    assert_eq!(book.floors, [("alice".to_string(), 200)].into());
    // The clock goes back to 60, when requests up to 200 would still be valid.
    for old in [
        nonce("alice", "a", 100),
        nonce("alice", "b", 200),
        nonce("alice", "d", 200),
    ] {
        let refused = refusal(commit(store.as_mut(), 4, 60, vec![old]));
        assert_eq!(refused, Refusal::Replay("alice".to_string()));
    }
    let others = vec![nonce("alice", "b", 201), nonce("bob", "a", 100)];
    assert_eq!(commit(store.as_mut(), 4, 60, others), Ok(Commit::Applied));
    // One commit acts like two: forgotten in between, and refused or accepted after it.
    let before_ms = 250;
    let mut two = vec![nonce("bob", "e", 240), Change::Forget { before_ms }];
    two.push(nonce("bob", "a", 240));
    refusal(commit(store.as_mut(), 5, 60, two.clone()));
    two.pop();
    two.push(nonce("bob", "a", 241));
    assert_eq!(commit(store.as_mut(), 5, 60, two), Ok(Commit::Applied));
    let book = store_at(place).load().unwrap();
    assert_eq!(book, store.load().unwrap());
    let floors = [("alice".to_string(), 201), ("bob".to_string(), 240)];
    assert_eq!(book.floors, floors.into());
    let kept = [("a".to_string(), 241), ("c".to_string(), 300)];
    assert_eq!(book.nonces["bob"], kept.into());
    assert_eq!(book.nonces.len(), 1);
}
