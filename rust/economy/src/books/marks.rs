//! Translates between the interface and the store: the marks that an accepted request leaves
//! behind. Keeps nothing.

use super::drawer;
use crate::auth::replay::Watermarks;
use crate::record::Change;
use crate::store::{Book, NONCES_MAX};
use std::collections::BTreeMap;

/// Lists what the store must keep so that it refuses a replay of the request.
pub(crate) fn changes(added: &Watermarks) -> Vec<Change> {
    let seen = added.v1_rows().map(|(user, v1_ms)| Change::Seen {
        user: user.to_string(),
        timestamp_ms: signed(v1_ms),
    });
    let nonces = added
        .nonce_rows()
        .map(|(user, nonce, expires_ms)| Change::Nonce {
            user: user.to_string(),
            nonce: nonce.to_string(),
            expires_ms: signed(expires_ms),
        });
    seen.chain(nonces).collect()
}

/// Keeps the latest timestamp of each user, and each nonce once.
pub(crate) fn merged(marks: Vec<Change>) -> Vec<Change> {
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    let mut nonces: BTreeMap<(String, String), i64> = BTreeMap::new();
    for mark in marks {
        match mark {
            Change::Seen { user, timestamp_ms } => {
                let last = seen.entry(user).or_insert(timestamp_ms);
                *last = timestamp_ms.max(*last);
            }
            Change::Nonce {
                user,
                nonce,
                expires_ms,
            } => {
                nonces.insert((user, nonce), expires_ms);
            }
            _ => {}
        }
    }
    let seen = seen.into_iter();
    let seen = seen.map(|(user, timestamp_ms)| Change::Seen { user, timestamp_ms });
    let nonces = nonces
        .into_iter()
        .map(|((user, nonce), expires_ms)| Change::Nonce {
            user,
            nonce,
            expires_ms,
        });
    seen.chain(nonces).collect()
}

/// Returns those of `marks` that these books lack.
///
/// # Errors
/// If one cannot be kept: the books have forgotten nonces that expire as early, or have too many.
pub(crate) fn wanting(book: &Book, marks: Vec<Change>) -> Result<Vec<Change>, &'static str> {
    let mut wanting = Vec::new();
    for mark in marks {
        match &mark {
            Change::Seen { user, timestamp_ms } => {
                let last = book.watermarks.get(user);
                if last.is_some_and(|last| timestamp_ms <= last) {
                    continue;
                }
            }
            Change::Nonce {
                user,
                nonce,
                expires_ms,
            } => {
                let known = book.nonces.get(user);
                if known.is_some_and(|known| known.contains_key(nonce)) {
                    continue;
                }
                if book
                    .floors
                    .get(user)
                    .is_some_and(|floor| expires_ms <= floor)
                {
                    return Err("the request expires too early; sign it again");
                }
                if known.is_some_and(|known| known.len() >= NONCES_MAX) {
                    return Err("too many signed requests of this user have not expired");
                }
            }
            _ => {}
        }
        wanting.push(mark);
    }
    Ok(wanting)
}

/// Reads the marks of accepted requests from a store's book.
pub(crate) fn of_book(book: &Book) -> Watermarks {
    let unsigned = |ms: i64| u64::try_from(ms).unwrap_or(0);
    let seen = book.watermarks.iter();
    let seen = seen.filter(|(user, _)| !user.starts_with(drawer::MARK));
    let nonces = book.nonces.iter().flat_map(|(user, nonces)| {
        let row = move |(nonce, ms): (&String, &i64)| (user.clone(), nonce.clone(), unsigned(*ms));
        nonces.iter().map(row)
    });
    let seen = seen.map(|(user, ms)| (user.clone(), unsigned(*ms)));
    let mut marks = Watermarks::of(seen, nonces);
    // The store has forgotten nonces that expired by then, and refuses such requests.
    for (user, expired_ms) in &book.floors {
        let mark = marks.users.entry(user.clone()).or_default();
        mark.v2_expired_ms = mark.v2_expired_ms.max(unsigned(*expired_ms));
        mark.jobs_expired_ms = mark.jobs_expired_ms.max(unsigned(*expired_ms));
    }
    marks
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(user: &str, timestamp_ms: i64) -> Change {
        Change::Seen {
            user: user.to_string(),
            timestamp_ms,
        }
    }

    fn nonce(nonce: &str, expires_ms: i64) -> Change {
        Change::Nonce {
            user: "a".to_string(),
            nonce: nonce.to_string(),
            expires_ms,
        }
    }

    /// Nonces of requests and of jobs are in one table, and so are the times up to which they are
    /// forgotten.
    #[test]
    fn a_forgotten_signature_stays_refused() {
        let mut book = Book::default();
        book.floors.insert("a".to_string(), 100);
        let mark = of_book(&book).users["a"].clone();
        assert_eq!((mark.v2_expired_ms, mark.jobs_expired_ms), (100, 100));
    }

    #[test]
    fn of_several_requests_the_last_timestamp_and_every_nonce_is_kept() {
        let marks = vec![
            seen("a", 5),
            nonce("x", 9),
            seen("b", 1),
            seen("a", 3),
            nonce("y", 7),
        ];
        let expected = [seen("a", 5), seen("b", 1), nonce("x", 9), nonce("y", 7)];
        assert_eq!(merged(marks), expected);
    }

    #[test]
    fn what_the_books_have_is_not_written_again_and_what_they_cannot_keep_is_refused() {
        let mut book = Book::default();
        book.watermarks.insert("a".to_string(), 5);
        book.floors.insert("a".to_string(), 100);
        let nonces = book.nonces.entry("a".to_string()).or_default();
        nonces.insert("x".to_string(), 200);
        let marks = vec![seen("a", 4), seen("a", 6), nonce("x", 200), nonce("y", 101)];
        assert_eq!(
            wanting(&book, marks),
            Ok(vec![seen("a", 6), nonce("y", 101)])
        );
        assert!(
            wanting(&book, vec![nonce("z", 100)]).is_err(),
            "forgotten by then"
        );
        let nonces = book.nonces.entry("a".to_string()).or_default();
        nonces.extend((0..NONCES_MAX).map(|i| (i.to_string(), 300)));
        assert!(wanting(&book, vec![nonce("z", 300)]).is_err(), "too many");
    }
}
