//! One holder at a time: a former or late one writes nothing.

use super::{batch, begun, budget, interval, row};
use crate::support::economy::Economy;
use crate::support::{check_conservation, grant, opened, store_at, token};
use heddle_economy::record::Epoch;
use heddle_economy::store::{Commit, StoreError};
use std::time::{Duration, Instant};

pub(super) fn a_former_holder_is_fenced(place: &str) {
    let (mut first, old) = begun(place);
    let mut second = store_at(place);
    let new = second.take_over("rm2", token()).unwrap();
    assert!(new > old);
    let fenced = StoreError::Fenced {
        ours: old,
        current: new,
        owner: "rm2".to_string(),
    };
    let late = interval(1, vec![row("root.a", 0, 1, 9_999_999)]);
    assert_eq!(first.commit_interval(old, &late), Err(fenced.clone()));
    let wish = batch(2, vec![grant("root.a", 1)]);
    assert_eq!(first.commit_changes(old, &wish), Err(fenced.clone()));
    assert_eq!(second.commit_interval(new, &late), Ok(Commit::Applied));
    // The former holder gets no confirmation, even for an interval that is there.
    assert_eq!(first.commit_interval(old, &late), Err(fenced));
    // It can still read the books, and may take over again.
    assert_eq!(budget(first.as_mut(), "root.a"), Some(9_999_999));
    let newest = first.take_over("rm1", token()).unwrap();
    let next = interval(2, vec![row("root.a", 0, 1, 9_999_998)]);
    assert_eq!(first.commit_interval(newest, &next), Ok(Commit::Applied));
    assert!(
        second
            .commit_interval(new, &interval(3, Vec::new()))
            .is_err()
    );
    // An epoch that this store never gave out: an old copy was restored.
    let alien = first.commit_interval(Epoch(99), &interval(3, Vec::new()));
    assert!(
        matches!(alien, Err(StoreError::Corrupt { .. })),
        "{alien:?}"
    );
    assert_eq!(check_conservation(first.as_mut(), "after fencing"), 2);
}

/// A former holder's stuck call arrives while another activation holds the store.
pub(super) fn a_late_take_over_is_fenced(place: &str) {
    let mut store = store_at(place);
    let first = store.take_over("rm1", 1_000).unwrap();
    let second = store_at(place).take_over("rm2", 2_000).unwrap();
    assert!(second > first);
    let fenced = StoreError::Fenced {
        ours: Epoch(0),
        current: second,
        owner: "rm2".to_string(),
    };
    for token in [1, 1_000, 1_999, 2_000] {
        let late = store.take_over("rm1", token);
        assert_eq!(late, Err(fenced.clone()), "{token}");
    }
    let mut active = store_at(place);
    let batch = batch(1, vec![opened("root.a")]);
    assert_eq!(active.commit_changes(second, &batch), Ok(Commit::Applied));
    // The same activation again, after a lost answer: its earlier epoch can write nothing more.
    let again = store_at(place).take_over("rm2", 2_000).unwrap();
    assert!(again > second);
    let old = active.commit_interval(second, &interval(1, Vec::new()));
    assert!(matches!(old, Err(StoreError::Fenced { .. })), "{old:?}");
    let book = store.load().unwrap();
    assert_eq!((book.head.token, book.head.epoch), (2_000, again));
    assert!(store.take_over("rm1", 2_001).unwrap() > again);
}

/// Retries while another process holds the lock for long, as on a slow disk.
fn patiently<T>(mut call: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let until = Instant::now() + Duration::from_secs(300);
    loop {
        match call() {
            Err(StoreError::Unavailable(_)) if Instant::now() < until => {}
            done => return done,
        }
    }
}

/// Two writers take over from each other; each commits as long as it can.
pub(super) fn two_writers_race(place: &str) {
    begun(place);
    let worker = |name: &'static str| {
        let place = place.to_string();
        std::thread::spawn(move || {
            let mut store = store_at(&place);
            let mut fenced = 0;
            for round in 0..6 {
                let token = token();
                let epoch = match patiently(|| store.take_over(name, token)) {
                    Ok(epoch) => epoch,
                    // The other one drew a higher token and was faster.
                    Err(StoreError::Fenced { .. }) => continue,
                    Err(other) => panic!("{name}: {other}"),
                };
                let book = patiently(|| store.load()).unwrap();
                if book.head.epoch != epoch {
                    continue;
                }
                let mut economy = Economy::after(&book, round);
                for _ in 0..20 {
                    let interval = economy.interval();
                    let mut attempts = 0;
                    let done = patiently(|| {
                        attempts += 1;
                        store.commit_interval(epoch, &interval)
                    });
                    match done {
                        Ok(Commit::Applied) => {}
                        // After an error the outcome is unknown.
                        Ok(Commit::AlreadyThere) => assert!(attempts > 1, "{name}"),
                        Err(StoreError::Fenced { .. }) => {
                            fenced += 1;
                            break;
                        }
                        Err(other) => panic!("{name}: {other}"),
                    }
                }
            }
            fenced
        })
    };
    let threads = [worker("rm1"), worker("rm2")];
    let fenced: u32 = threads.map(|thread| thread.join().unwrap()).iter().sum();
    eprintln!("fenced {fenced} times");
    check_conservation(store_at(place).as_mut(), "two writers");
}
