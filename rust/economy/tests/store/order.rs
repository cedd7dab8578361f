//! Items are checked at once, in their order of arrival, against the projected books. Every
//! accepted item is written, whatever is merged or written together.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::faulty::{Mood, PATIENCE, Setup, start, until};
use crate::support::server::Server;
use crate::support::{
    check_conservation, closed, grant, interval, micro, opened, row, seed, store_at, token,
};
use heddle_core::words::credits::Credits;
use heddle_economy::record::{Batch, Change, Row};
use heddle_economy::store::{
    Book, Lost, NotAccepted, Options, Receipt, Refusal, State, Status, Store, StoreError, Writer,
};
use oorandom::Rand64;
use std::collections::BTreeMap;
use std::time::Duration;

fn silent(status: &Status) -> bool {
    matches!(&status.state, State::Unreachable { why, .. } if why.contains("no answer"))
}

/// The engine granted, then ticked; two threads hand the items over in reverse order.
#[test]
fn a_grant_that_a_tick_overtakes_stops_nothing() {
    for mood in [Mood::Good, Mood::Down] {
        let setup = start(Mood::Good, 1, 100);
        setup.economy(1);
        let first = vec![opened("root.a"), grant("root.a", 10)];
        assert_eq!(setup.make(first), Some(Ok(())));
        setup.moods.set(mood);
        let tick = interval(1, vec![row("root.a", 0, 3, 12)]);
        let early = setup.writer.interval(tick.clone());
        let wrong = Refusal::Balance {
            queue: "root.a".to_string(),
            expected_micro: 7,
            given_micro: 12,
        };
        assert_eq!(early, Err(NotAccepted::Refused(wrong)));
        let granted = setup.writer.changes(0, vec![grant("root.a", 5)]).unwrap();
        assert_eq!(setup.writer.interval(tick), Ok(()));
        let budget = |book: &Book| book.accounts["root.a"].budget;
        assert_eq!(setup.writer.with_book(budget), Some(micro(12)));
        setup.moods.set(Mood::Good);
        assert_eq!(granted.wait(PATIENCE), Some(Ok(())));
        let end = setup.writer.close(PATIENCE);
        assert_eq!((end.state, end.tick), (State::Connected, 1));
        let mut store = store_at(&setup.place);
        assert_eq!(check_conservation(store.as_mut(), "overtaken"), 1);
        assert_eq!(budget(&store.load().unwrap()), micro(12));
    }
}

/// Input from a confused host: clocks that jump, accounts at their limits, repeated nonces,
/// everything that opens and closes; about half of it cannot follow.
struct Chaos {
    random: Rand64,
    clock_ms: i64,
}

impl Chaos {
    fn below(&mut self, end: u64) -> i64 {
        self.random.rand_range(0..end) as i64
    }

    fn queue(&mut self) -> String {
        format!("root.q{}", self.below(4))
    }

    fn at_ms(&mut self) -> i64 {
        self.clock_ms += self.below(30);
        // The clock steps back, or ahead for a moment.
        match self.below(8) {
            0 => self.clock_ms -= 40,
            1 => return self.clock_ms + 60,
            _ => {}
        }
        self.clock_ms
    }

    fn change(&mut self) -> Change {
        let queue = self.queue();
        let user = format!("user-{}", self.below(2));
        match self.below(10) {
            0 | 1 => opened(&queue),
            2 => closed(&queue),
            3 | 4 => grant(&queue, Credits::MAX.micro() / 10 * (1 + self.below(9))),
            5 => Change::Rate {
                queue,
                rate: micro(self.below(100)),
            },
            6 => Change::Seen {
                user,
                timestamp_ms: self.clock_ms + self.below(50),
            },
            7 => Change::Learn {
                key: queue,
                value: self.below(100).to_string(),
            },
            _ => Change::Nonce {
                user,
                nonce: self.below(6).to_string(),
                expires_ms: self.clock_ms + self.below(80) - 10,
            },
        }
    }

    fn changes(&mut self) -> Vec<Change> {
        (0..=self.below(2)).map(|_| self.change()).collect()
    }

    /// Rows that follow, except for one in ten.
    fn rows(&mut self, book: &Book) -> Vec<Row> {
        let mut rows = Vec::new();
        for (queue, account) in &book.accounts {
            // Half of the queues get no row, so changes in the same interval often meet none.
            if self.below(2) == 0 {
                continue;
            }
            let budget = account.budget.micro();
            let income = self.below(1_000).min(Credits::MAX.micro() - budget);
            let debit = match self.below(3) {
                0 => self.below(1_000).min(budget),
                1 => budget,
                _ => budget / 2,
            };
            let wrong = i64::from(self.below(10) == 0);
            rows.push(row(queue, income, debit, budget + income - debit + wrong));
        }
        rows
    }
}

/// Clears the fields that depend on how much was written at a time.
fn comparable(book: &Book) -> Book {
    let mut book = book.clone();
    (book.head.serial, book.head.lesson) = (0, 0);
    (book.head.epoch, book.head.token) = Default::default();
    book.head.owner.clear();
    book.learnt.clear();
    book
}

/// A store that never fails, for the same items one by one.
struct Plain {
    store: Box<dyn Store>,
    epoch: heddle_economy::record::Epoch,
    serial: u64,
}

impl Plain {
    fn changes(&mut self, at_ms: i64, changes: Vec<Change>) -> Result<(), StoreError> {
        let serial = self.serial + 1;
        let batch = Batch {
            serial,
            at_ms,
            changes,
        };
        self.store.commit_changes(self.epoch, &batch)?;
        self.serial = serial;
        Ok(())
    }
}

fn same(handed: Result<(), NotAccepted>, plain: Result<(), StoreError>) -> bool {
    match (handed, plain) {
        (Ok(()), Ok(())) => true,
        (Err(NotAccepted::Refused(one)), Err(StoreError::Refused(other))) => one == other,
        _ => false,
    }
}

/// Hands an item to the writer and to the plain store: both accept it or refuse it for the same
/// reason. Returns whether they accepted it; `None` if the queue was full.
fn hand_over(
    setup: &Setup,
    plain: &mut Plain,
    chaos: &mut Chaos,
    receipts: &mut Vec<Receipt>,
    note: &str,
) -> Option<bool> {
    let at_ms = chaos.at_ms();
    let (handed, expected) = if chaos.below(3) == 0 {
        if setup.writer.status().waiting >= 8 {
            return None;
        }
        let changes = chaos.changes();
        let handed = setup.writer.changes(at_ms, changes.clone());
        if matches!(handed, Err(NotAccepted::Full)) {
            return None;
        }
        let handed = handed.map(|receipt| receipts.push(receipt));
        (handed, plain.changes(at_ms, changes))
    } else {
        let book = setup.writer.with_book(Book::clone).expect(note);
        let mut one = interval(book.head.tick + 1, chaos.rows(&book));
        one.at_ms = at_ms;
        if chaos.below(3) == 0 {
            one.changes = vec![chaos.change()];
        }
        let expected = plain.store.commit_interval(plain.epoch, &one).map(drop);
        (setup.writer.interval(one), expected)
    };
    let same = same(handed.clone(), expected.clone());
    assert!(same, "{note}: {handed:?}, but {expected:?}");
    Some(handed.is_ok())
}

#[test]
fn what_was_accepted_is_written_whatever_was_merged() {
    let seed = seed();
    let (mut accepted, mut refused, mut merged) = (0, 0, 0);
    for round in 0..8 {
        let note = format!("HEDDLE_STORE_SEED={seed}, round {round}");
        let setup = start(Mood::Good, seed + round, 24);
        setup.economy(1);
        let mut store = store_at(&format!("{}-plain", setup.place));
        let epoch = store.take_over("plain", 1).unwrap();
        let mut plain = Plain {
            store,
            epoch,
            serial: 0,
        };
        let mut chaos = Chaos {
            random: Rand64::new(u128::from(seed + round)),
            clock_ms: 1_000,
        };
        let mut receipts = Vec::new();
        for _ in 0..250 {
            let mood = match chaos.below(16) {
                0..=2 => Mood::Moody,
                3 => Mood::Good,
                _ => Mood::Down,
            };
            setup.moods.set(mood);
            let Some(ok) = hand_over(&setup, &mut plain, &mut chaos, &mut receipts, &note) else {
                continue;
            };
            accepted += u32::from(ok);
            refused += u32::from(!ok);
        }
        setup.moods.set(Mood::Good);
        let end = setup.until(&note, |status| status.behind == 0 && status.waiting == 0);
        assert_eq!(end.state, State::Connected, "{note}");
        for receipt in receipts {
            assert_eq!(receipt.wait(PATIENCE), Some(Ok(())), "{note}");
        }
        let expected = comparable(&plain.store.load().unwrap());
        let projected = setup.writer.with_book(comparable).expect(&note);
        assert_eq!(projected, expected, "{note}");
        let mut store = store_at(&setup.place);
        assert_eq!(comparable(&store.load().unwrap()), expected, "{note}");
        check_conservation(store.as_mut(), &note);
        merged += end.merged;
    }
    eprintln!("{accepted} accepted, {refused} refused, {merged} merged");
    assert!(accepted > 400 && refused > 200 && merged > 50);
}

/// Blocks one call for good; all later items wait.
fn stuck() -> Setup {
    let setup = start(Mood::Good, 1, 100);
    setup.economy(1);
    setup.moods.set(Mood::Silent);
    setup.writer.changes(0, vec![opened("root.sent")]).unwrap();
    let status = setup.until("silent", silent);
    assert_eq!((status.waiting, status.behind), (1, 0));
    setup
}

#[test]
fn a_wish_that_nobody_waits_for_can_be_taken_back() {
    let setup = stuck();
    let wish = |changes| setup.writer.changes(0, changes).unwrap();
    let open = wish(vec![opened("root.a")]);
    let nonce = Change::Nonce {
        user: "alice".to_string(),
        nonce: "x".to_string(),
        expires_ms: 9,
    };
    let grant = wish(vec![grant("root.a", 5), nonce.clone()]);
    assert!(!open.withdraw(), "the grant follows from it");
    assert!(grant.withdraw());
    assert!(!grant.withdraw(), "it is gone");
    assert!(open.withdraw());
    let queues = |book: &Book| book.accounts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(setup.writer.with_book(queues).unwrap(), ["root.sent"]);
    // As if they had never been: the nonce is valid again, and the queue can be opened.
    let again = wish(vec![opened("root.a"), nonce]);
    setup
        .writer
        .interval(interval(1, vec![row("root.a", 2, 0, 2)]))
        .unwrap();
    assert!(!again.withdraw(), "the row follows from it");
    let heard = grant.wait(PATIENCE);
    assert!(matches!(heard, Some(Err(_))), "{heard:?}");
    setup.moods.set(Mood::Good);
    assert_eq!(again.wait(PATIENCE), Some(Ok(())));
    assert!(!again.withdraw(), "it is written");
    setup.until("written", |status| status.behind == 0);
    let book = store_at(&setup.place).load().unwrap();
    assert_eq!(queues(&book), ["root.a", "root.sent"]);
    assert_eq!(book.accounts["root.a"].budget, micro(2));
}

#[test]
fn a_wish_that_was_sent_cannot_be_taken_back() {
    let setup = start(Mood::Good, 1, 100);
    setup.economy(1);
    setup.moods.set(Mood::Silent);
    let sent = setup.writer.changes(0, vec![opened("root.a")]).unwrap();
    setup.until("silent", silent);
    assert!(!sent.withdraw());
    setup.moods.set(Mood::Good);
    assert_eq!(sent.wait(PATIENCE), Some(Ok(())));
    let end = setup.until("back", |status| status.waiting == 0);
    assert_eq!(end.state, State::Connected);
}

#[test]
fn what_is_lost_is_told() {
    let setup = stuck();
    for tick in 1..=3 {
        setup.writer.interval(interval(tick, Vec::new())).unwrap();
    }
    let waits = setup.writer.changes(0, vec![opened("root.b")]).unwrap();
    store_at(&setup.place).take_over("rm2", token()).unwrap();
    setup.moods.set(Mood::Good);
    let end = setup.until("fenced", |status| {
        matches!(status.state, State::Fenced { .. })
    });
    let lost = Lost {
        ticks: 3,
        batches: 2,
    };
    assert_eq!(end.lost, lost);
    let heard = waits.wait(PATIENCE);
    assert!(matches!(heard, Some(Err(StoreError::Fenced { .. }))));
    assert_eq!(setup.writer.with_book(|_| ()), None);
}

/// A writer starts late, with the token of an ended activation.
#[test]
fn a_writer_of_a_former_activation_is_fenced_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("sqlite:{}/store.db", folder.path().display());
    let epoch = store_at(&place).take_over("rm2", 20).unwrap();
    let late = Writer::start(store_at(&place), "rm1", 10, Default::default());
    let state = until("fenced", || {
        Some(late.status().state).filter(|state| *state != State::Opening)
    });
    let owner = "rm2".to_string();
    assert_eq!(state, State::Fenced { owner });
    assert_eq!(store_at(&place).load().unwrap().head.epoch, epoch);
}

/// The clock of the former holder was ahead: the one that stays active takes over after a while.
#[test]
fn a_writer_whose_clock_is_behind_takes_the_token_from_the_books() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("sqlite:{}/store.db", folder.path().display());
    store_at(&place).take_over("rm2", 2_000).unwrap();
    let options = Options {
        fenced_retry: Duration::from_millis(50),
        ..Options::default()
    };
    let behind = Writer::start(store_at(&place), "rm1", 10, options);
    until("open", || behind.opened());
    let head = store_at(&place).load().unwrap().head;
    assert_eq!((head.owner.as_str(), head.token), ("rm1", 2_001));
}

/// Large batches take memory like rows, and items that cannot be merged are limited as well.
#[test]
fn what_waits_is_bounded_whatever_it_is() {
    let setup = stuck();
    let learn = |at: u32| Change::Learn {
        key: at.to_string(),
        value: "1".repeat(4_000),
    };
    // 5 of them are some 20 KB, which is 105 rows; batches may use half of 500.
    let some = |from: u32| (from..from + 5).map(learn).collect::<Vec<_>>();
    assert!(setup.writer.changes(0, some(0)).is_ok());
    assert!(setup.writer.changes(0, some(5)).is_ok());
    let full = setup.writer.changes(0, some(10)).unwrap_err();
    assert_eq!(full, NotAccepted::Full);
    // Grants of several intervals are never merged into one.
    let mut one = interval(1, Vec::new());
    one.changes = vec![opened("root.a")];
    setup.writer.interval(one).unwrap();
    let mut taken = 1;
    let error = loop {
        let mut next = interval(taken + 1, Vec::new());
        next.changes = (0..50).map(|_| grant("root.a", 1)).collect();
        match setup.writer.interval(next) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1_000, "there is no end");
    };
    assert_eq!(error, NotAccepted::Full);
    setup.moods.set(Mood::Good);
    setup.until("written", |status| status.behind == 0);
    assert_eq!(
        setup.writer.interval(interval(taken + 1, Vec::new())),
        Ok(())
    );
    let end = setup.writer.close(PATIENCE);
    assert_eq!((end.state, end.tick), (State::Connected, taken + 1));
    let grants = store_at(&setup.place).grants(0, usize::MAX).unwrap();
    assert_eq!(grants.len() as u64, (taken - 1) * 50);
    let budgets: BTreeMap<_, _> = store_at(&setup.place).load().unwrap().accounts;
    assert_eq!(budgets["root.a"].budget.micro() as u64, (taken - 1) * 50);
}

/// The server accepts connections and does nothing more, like a stalled machine.
#[test]
fn a_postgres_that_stands_still_is_shown_as_out_of_reach() {
    let mut server = Server::start();
    let place = server.place();
    let options = Options {
        silence: Duration::from_millis(200),
        ..Options::default()
    };
    server.signal("STOP");
    let writer = Writer::start(store_at(&place), "rm1", token(), options);
    until("silent", || silent(&writer.status()).then_some(()));
    server.signal("CONT");
    until("back", || {
        (writer.status().state == State::Connected).then_some(())
    });
    assert_eq!(writer.interval(interval(1, Vec::new())), Ok(()));
    assert_eq!(writer.close(PATIENCE).behind, 0);
}
