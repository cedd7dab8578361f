//! Fills accounts from the purses that the sub-clusters of a federation share ([`Purse`]). An
//! account with less than half a tranche gets what is missing to a whole one. The purses' server
//! may be slow or away: a thread asks it, and accounts are spent and charged meanwhile.
//!
//! Each draw is a grant in the books, together with its number, which is kept like the timestamp of
//! an accepted request. So the rule that refuses a repeated request refuses a repeated draw, too.

use super::{Books, Engine};
use crate::record::Change;
use crate::store::{Book, Draw, Purse, Wish};
use heddle_core::words::credits::Credits;
use parking_lot::Mutex;
use serde_json::json;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// In the books as the one who grants.
const BY: &str = "purse";

/// One round: the thread draws once.
struct Round {
    wishes: Vec<Wish>,
    at_ms: i64,
    /// Whether draws of the round before were not booked.
    not_booked: bool,
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
    not_booked: bool,
    /// The trouble that was logged last.
    told: Option<String>,
    /// What the thread will own; it starts with the first round, so a standby never connects.
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
                not_booked: false,
                told: None,
                thread: Some((purse, theirs, answers)),
            }),
        }
    }

    /// Books what was drawn, and asks for what accounts lack now. Waits for no server but that of
    /// the books, as every change does.
    pub(crate) fn pump(&self, books: &Books, engine: &dyn Engine, now_ms: i64) {
        let mut state = self.state.lock();
        if state.asked {
            match state.drawn.try_recv() {
                Ok(Ok(draws)) => {
                    state.not_booked = !self.book(&mut state, books, engine, draws, now_ms)
                }
                Ok(Err(why)) => self.tell(&mut state, why),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.tell(&mut state, "its thread has ended".to_string());
                    return;
                }
            }
            state.asked = false;
        }
        let wishes = books.followed(engine, |book| self.wishes(book));
        let Some(wishes) = wishes.filter(|wishes| !wishes.is_empty()) else {
            return;
        };
        if let Some((purse, theirs, answers)) = state.thread.take() {
            let cluster = self.cluster.clone();
            thread::spawn(move || draw(purse, &cluster, &theirs, &answers));
        }
        let not_booked = state.not_booked;
        let round = Round {
            wishes,
            at_ms: now_ms,
            not_booked,
        };
        state.asked = state.rounds.send(round).is_ok();
    }

    fn wishes(&self, book: &Book) -> Vec<Wish> {
        let tranche = self.tranche.micro();
        let short = book.accounts.iter().filter_map(|(queue, account)| {
            let micro = account.budget.micro();
            let last = book.watermarks.get(&mark(queue)).copied().unwrap_or(0);
            (micro < tranche / 2).then(|| Wish {
                queue: queue.clone(),
                number: last + 1,
                amount: Credits::from_micro(tranche - micro),
            })
        });
        short.collect()
    }

    /// Returns whether all were booked. The others are drawn again, under the same numbers.
    fn book(
        &self,
        state: &mut State,
        books: &Books,
        engine: &dyn Engine,
        draws: Vec<Draw>,
        now_ms: i64,
    ) -> bool {
        for draw in draws {
            let request = json!({
                "op": "addBudget",
                "queue": draw.queue,
                "value": draw.amount.to_number(),
                "by": BY,
                "why": format!("draw {} of {}", draw.number, self.cluster),
            });
            let marks = vec![Change::Seen {
                user: mark(&draw.queue),
                timestamp_ms: draw.number,
            }];
            match books.change(engine, &request, marks, now_ms) {
                Ok(done) if done.stored => {}
                // Each further one would wait for the store as well.
                Ok(_) => return false,
                Err(why) => {
                    self.tell(state, format!("{}: not booked: {why}", draw.queue));
                    return false;
                }
            }
        }
        if state.told.take().is_some() {
            log::info!("purses {}: accounts are filled again", self.place);
        }
        true
    }

    fn tell(&self, state: &mut State, why: String) {
        if state.told.as_ref() != Some(&why) {
            log::error!(
                "purses {}: {why}; accounts are spent on, and filled when that is over",
                self.place
            );
            state.told = Some(why);
        }
    }
}

/// The name under which the number of a queue's last draw is kept. No user has a name with blanks.
fn mark(queue: &str) -> String {
    format!("purse of {queue}")
}

fn draw(mut purse: Purse, cluster: &str, rounds: &Receiver<Round>, drawn: &Sender<Drawn>) {
    for round in rounds {
        if round.not_booked {
            purse.not_booked();
        }
        let draws = purse.draw(cluster, &round.wishes, round.at_ms);
        if drawn
            .send(draws.map_err(|error| error.to_string()))
            .is_err()
        {
            return;
        }
    }
}
