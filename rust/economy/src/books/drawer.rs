//! Fills accounts from the purses that the sub-clusters of a federation share ([`Purse`]). Fills an
//! account with less than half a tranche up to a whole one. The purses' server may be slow or away:
//! a thread asks it, and accounts are spent and charged meanwhile.
//!
//! Each draw is a grant in the books, in one commit with its number. The number is kept like the
//! timestamp of an accepted request, under a name that no user can have. So the books say which
//! draw is next, whatever happened to the last one. A round begins only when the store has all of
//! the books.

use super::{Books, Engine, StoreState, not_stored};
use crate::record::{Change, NotChanged};
use crate::store::{Book, Draw, Purse, Refusal, State as Store, StoreError, SubCluster, Wish};
use heddle_core::words::credits::Credits;
use heddle_core::words::ledger::Entry;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// The prefix of marks of draws. Names of users have no blank.
pub(super) const MARK: &str = "purse of ";
/// The mark that has the number of the store.
const STORE_MARK: &str = "purse of this store";

/// One round: the thread draws once.
struct Round {
    cluster: SubCluster,
    wishes: Vec<Wish>,
    at_ms: i64,
}

type Drawn = Result<Vec<Draw>, String>;

pub(crate) struct Drawer {
    cluster: String,
    tranche: Credits,
    place: String,
    state: Mutex<State>,
}

struct State {
    rounds: Sender<Round>,
    drawn: Receiver<Drawn>,
    /// Whether a round is under way.
    asked: bool,
    /// Whether there is trouble that was logged.
    told: bool,
    /// Moved into the thread with the first round, so a standby never connects.
    thread: Option<(Purse, Receiver<Round>, Sender<Drawn>)>,
}

impl Drawer {
    /// Fills accounts up to `tranche` in the name of the sub-cluster.
    pub(crate) fn new(purse: Purse, cluster: &str, tranche: Credits) -> Drawer {
        let (rounds, theirs) = channel();
        let (answers, drawn) = channel();
        Drawer {
            cluster: cluster.to_string(),
            tranche,
            place: purse.describe(),
            state: Mutex::new(State {
                rounds,
                drawn,
                asked: false,
                told: false,
                thread: Some((purse, theirs, answers)),
            }),
        }
    }

    /// Books what was drawn, and asks for what accounts lack now. Waits for no server.
    pub(crate) fn pump(&self, books: &Books, engine: &dyn Engine, now_ms: i64) {
        let mut state = self.state.lock();
        if state.asked {
            match state.drawn.try_recv() {
                Ok(Ok(draws)) => self.book(&mut state, books, engine, (draws, now_ms)),
                Ok(Err(why)) => self.tell(&mut state, &why),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.tell(&mut state, "the thread that asks for them has ended");
                    return;
                }
            }
            state.asked = false;
            // The next round begins when these draws are stored.
            return;
        }
        let asking = books.settled(engine, |book| {
            let store = book.watermarks.get(STORE_MARK).copied();
            (store, self.wishes(book))
        });
        let Some((store, wishes)) = asking else {
            return;
        };
        let Some(store) = store else {
            if let Err(why) = books.keep(number_of_store(), now_ms) {
                self.tell(&mut state, &why);
            }
            return;
        };
        if !wishes.is_empty() {
            let cluster = SubCluster {
                name: self.cluster.clone(),
                store,
            };
            let at_ms = now_ms;
            self.ask(
                &mut state,
                Round {
                    cluster,
                    wishes,
                    at_ms,
                },
            );
        }
    }

    fn ask(&self, state: &mut State, round: Round) {
        if let Some((purse, theirs, answers)) = state.thread.take() {
            let thread = thread::Builder::new().name("heddle-purse".to_string());
            if let Err(error) = thread.spawn(move || draw(purse, &theirs, &answers)) {
                self.tell(state, &format!("no thread to ask for them: {error}"));
            }
        }
        // Without the thread, the next `pump` finds the channel closed.
        let _ = state.rounds.send(round);
        state.asked = true;
    }

    fn wishes(&self, book: &Book) -> Vec<Wish> {
        let tranche = self.tranche.micro();
        let short = book.accounts.iter().filter_map(|(queue, account)| {
            let micro = account.budget.micro();
            (micro < tranche / 2).then(|| Wish {
                queue: queue.clone(),
                number: book.watermarks.get(&mark(queue)).copied().unwrap_or(0) + 1,
                amount: Credits::from_micro(tranche - micro),
            })
        });
        short.collect()
    }

    fn book(
        &self,
        state: &mut State,
        books: &Books,
        engine: &dyn Engine,
        (draws, now_ms): (Vec<Draw>, i64),
    ) {
        let mut trouble = false;
        for draw in draws {
            let granted = DrawnGrant {
                why: format!("draw {} of {}", draw.number, self.cluster),
                draw,
            };
            match books.add_draw(engine, &granted, now_ms) {
                Ok(()) => {}
                Err(why) => {
                    self.tell(state, &format!("{}: not booked: {why}", granted.draw.queue));
                    trouble = true;
                    // The others of this round would not be stored either. They come again.
                    if !matches!(why, NotChanged::Refused(_)) {
                        break;
                    }
                }
            }
        }
        if !trouble && std::mem::take(&mut state.told) {
            log::info!("purses {}: they answer again", self.place);
        }
    }

    /// Logs trouble once, until it is over.
    fn tell(&self, state: &mut State, why: &str) {
        if !std::mem::replace(&mut state.told, true) {
            log::error!(
                "purses {}: {why}; accounts can still spend, and are filled again when it is over",
                self.place
            );
        }
    }
}

impl Books {
    /// Reads the books that this engine follows; `None` while there are none, or while the store
    /// does not have all of them.
    fn settled<T>(&self, engine: &dyn Engine, read: impl FnOnce(&Book) -> T) -> Option<T> {
        let inner = self.inner.lock();
        match &inner.store {
            StoreState::Writing(writer, true) if inner.attached == Some(engine.id()) => {
                let status = writer.status();
                let written = (status.behind, status.waiting) == (0, 0);
                let all = status.state == Store::Connected && written;
                all.then(|| writer.with_book(read)).flatten()
            }
            _ => None,
        }
    }

    /// Hands a mark over that no request brings.
    fn keep(&self, mark: Change, now_ms: i64) -> Result<(), String> {
        let inner = self.inner.lock();
        let handed = inner.changes(now_ms, vec![mark]);
        handed.map(|_| ()).map_err(|why| why.to_string())
    }

    /// Makes the engine add a draw to a budget. Hands that over together with the draw's number, in
    /// one commit, and does not wait for the store: a draw that is lost is made again.
    ///
    /// # Errors
    /// As for [`Books::change`].
    fn add_draw(
        &self,
        engine: &dyn Engine,
        draw: &DrawnGrant,
        now_ms: i64,
    ) -> Result<(), NotChanged> {
        let mut inner = self.inner.lock();
        let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        inner.check(engine, true).map_err(not_stored)?;
        engine
            .request(&draw.request())
            .map_err(NotChanged::Refused)?;
        let handed = inner.hand_over_with(&self.outbox, Vec::new(), Some(draw), now_ms);
        handed.map(|_| ()).map_err(not_stored)
    }
}

/// A draw as a grant.
pub(super) struct DrawnGrant {
    draw: Draw,
    why: String,
}

impl DrawnGrant {
    /// In the books as the one who grants; with a blank, unlike users.
    const BY: &str = "shared purse";

    pub(super) fn request(&self) -> Value {
        json!({
            "op": "addBudget",
            "queue": self.draw.queue,
            "value": self.draw.amount.to_number(),
            "by": Self::BY,
            "why": self.why,
        })
    }

    /// The mark, if `entry` is this grant.
    pub(super) fn mark_of(&self, entry: &Entry) -> Option<Change> {
        match entry {
            Entry::Granted { queue, by, why, .. }
                if *queue == self.draw.queue && by == Self::BY && *why == self.why =>
            {
                Some(Change::Seen {
                    user: mark(queue),
                    timestamp_ms: self.draw.number,
                })
            }
            _ => None,
        }
    }
}

fn mark(queue: &str) -> String {
    format!("{MARK}{queue}")
}

/// A number by which the purses know this store, kept in it. Small, like all numbers of marks:
/// those of users are times.
fn number_of_store() -> Change {
    let random = RandomState::new().build_hasher().finish();
    Change::Seen {
        user: STORE_MARK.to_string(),
        timestamp_ms: i64::from(random as u32) + 1,
    }
}

fn draw(mut purse: Purse, rounds: &Receiver<Round>, drawn: &Sender<Drawn>) {
    for round in rounds {
        let draws = purse.draw(&round.cluster, &round.wishes, round.at_ms);
        let draws = draws.map_err(|error| match error {
            StoreError::Refused(Refusal::Empty) => {
                "there are none in this database: `heddle purse PLACE --add` makes them".to_string()
            }
            StoreError::Unavailable(why) => why,
            other => other.to_string(),
        });
        if drawn.send(draws).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::{Outbox, SavedState, WhileDown};
    use heddle_core::words::ledger::LedgerBatch;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// An engine in which an interval ends before each grant.
    #[derive(Default)]
    struct Late(Mutex<Option<Arc<Outbox>>>);

    impl Late {
        fn post(&self, entries: Vec<Entry>) {
            let dropped = false;
            let outbox = self.0.lock();
            let outbox = outbox.as_ref().expect("it is attached");
            outbox.post(LedgerBatch { entries, dropped }, 0);
        }
    }

    impl Engine for Late {
        fn id(&self) -> u64 {
            1
        }

        fn now_ms(&self) -> i64 {
            0
        }

        fn request(&self, request: &Value) -> Result<Value, String> {
            let text = |key: &str| request[key].as_str().unwrap_or_default().to_string();
            let interval = Entry::Interval {
                at_ms: 1,
                price: Credits::ZERO,
                rows: Vec::new(),
            };
            let granted = Entry::Granted {
                queue: text("queue"),
                amount: Credits::from_micro(5),
                by: text("by"),
                why: text("why"),
            };
            self.post(vec![interval, granted]);
            Ok(json!({}))
        }

        fn attach(&self, saved: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String> {
            *self.0.lock() = Some(Arc::clone(outbox));
            let accounts = &saved.expect("there is a store").accounts;
            let queue = "root.a".to_string();
            if accounts["accounts"]["accounts"][&queue].is_null() {
                self.post(vec![Entry::Opened { queue }]);
            }
            Ok(true)
        }
    }

    fn draw_of(queue: &str) -> DrawnGrant {
        DrawnGrant {
            draw: Draw {
                queue: queue.to_string(),
                number: 1,
                amount: Credits::from_micro(5),
            },
            why: "draw 1 of east".to_string(),
        }
    }

    /// Pumps until the store has all, and returns the marks of draws.
    fn marks(books: &Books, engine: &Late) -> Vec<(String, i64)> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            books.pump(engine, 1);
            let settled = books.settled(engine, |book| book.watermarks.clone());
            if let Some(marks) = settled {
                return marks.into_iter().collect();
            }
            assert!(Instant::now() < end, "{:?}", books.status(engine));
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_number_is_stored_with_its_grant_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = format!("sqlite:{}", folder.path().join("economy").display());
        let store = crate::store::open(&place, None).expect("a place");
        let books = Books::new(Some(store), 0, WhileDown::default());
        let engine = Late::default();
        books.activate("rm", 1);
        assert_eq!(marks(&books, &engine), []);
        // The books refuse the grant, and take the interval before it.
        let refused = books.add_draw(&engine, &draw_of("root.closed"), 1);
        assert!(
            matches!(refused, Err(NotChanged::NotStored(_))),
            "{refused:?}"
        );
        assert_eq!(marks(&books, &engine), []);
        assert_eq!(books.add_draw(&engine, &draw_of("root.a"), 1), Ok(()));
        let stored = [("purse of root.a".to_string(), 1)];
        assert_eq!(marks(&books, &engine), stored);
        let restored = books.restored().expect("the books were read");
        assert_eq!(
            restored.watermarks.v1_rows().count(),
            0,
            "they are no user's"
        );
    }
}
