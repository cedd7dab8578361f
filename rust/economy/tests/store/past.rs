//! A writer reads the last intervals before its start, so that a host can report yesterday's costs.
//! It reads them whole, once, in bounded memory, and never at the expense of the books.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::economy::Economy;
use crate::support::faulty::{Mood, PATIENCE, start, until};
use crate::support::{seed, store_at, token};
use heddle_economy::record::{Interval, RecentLedger};
use heddle_economy::store::{Options, State, Store, Writer};
use std::time::Duration;

/// Creates a store whose past includes an interval that stands for three; returns all intervals.
fn lived(place: &str, intervals: usize) -> Vec<Interval> {
    let mut store = store_at(place);
    let epoch = store.take_over("rm0", token()).unwrap();
    let mut economy = Economy::after(&store.load().unwrap(), seed());
    let mut written = Vec::new();
    for i in 0..intervals {
        store.commit_changes(epoch, &economy.batch()).unwrap();
        let mut interval = economy.interval();
        if i == intervals - 2 {
            economy.tick += 2;
            (interval.tick, interval.ticks) = (economy.tick, 3);
        }
        store.commit_interval(epoch, &interval).unwrap();
        interval.changes.clear();
        written.push(interval);
    }
    written
}

fn read_by_a_writer(
    store: Box<dyn Store>,
    past_intervals: usize,
    past_rows: usize,
) -> RecentLedger {
    let options = Options {
        past_intervals,
        past_rows,
        ..Options::default()
    };
    let writer = Writer::start(store, "rm1", token(), options);
    let past = until("the past", || writer.past());
    assert_eq!(writer.past(), None, "once");
    assert_eq!(writer.close(PATIENCE).state, State::Connected);
    past
}

#[test]
fn the_last_intervals_come_with_their_rows() {
    for kind in ["sqlite", "file"] {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("{kind}:{}/store", folder.path().display());
        let written = lived(&place, 30);
        let note = format!("HEDDLE_STORE_SEED={}, {kind}", seed());
        let rows = |past: &[Interval]| past.iter().map(|it| it.rows.len()).sum::<usize>();
        assert!(rows(&written) > 30, "{note}: there is something to read");

        let all = read_by_a_writer(store_at(&place), 1_000, 10_000);
        assert_eq!((&all.intervals, all.whole), (&written, true), "{note}");
        // Ticks 23 to 32; the last but one stands for 29 to 31.
        let ten = read_by_a_writer(store_at(&place), 10, 10_000);
        assert_eq!(ten.intervals, written[22..], "{note}");
        assert_eq!((ten.intervals[0].tick, ten.whole), (23, false), "{note}");
        // A span of one tick is one interval, even after a merged one.
        let one = read_by_a_writer(store_at(&place), 1, 10_000);
        assert_eq!(one.intervals, written[29..], "{note}");
        // With few rows: the last intervals, without a gap.
        for rows_max in [1, 20, 60] {
            let few = read_by_a_writer(store_at(&place), 1_000, rows_max);
            assert!(rows(&few.intervals) <= rows_max, "{note}, {rows_max}");
            assert!(written.ends_with(&few.intervals), "{note}, {rows_max}");
            assert!(!few.whole, "{note}, {rows_max}");
        }
    }
}

#[test]
fn a_new_store_has_no_past_and_says_that_this_is_all() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("sqlite:{}/store", folder.path().display());
    let past = read_by_a_writer(store_at(&place), 10, 10);
    assert_eq!((past.intervals.len(), past.whole), (0, true));
}

#[test]
fn nobody_who_does_not_ask_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("sqlite:{}/store", folder.path().display());
    let last = lived(&place, 5).last().unwrap().tick;
    let writer = Writer::start(store_at(&place), "rm1", token(), Options::default());
    let (_, book) = until("the books", || writer.opened());
    let mut economy = Economy::after(&book, 1);
    writer.interval(economy.interval()).unwrap();
    let end = writer.close(PATIENCE);
    assert_eq!((end.tick, end.behind), (last + 1, 0));
}

/// Items that are handed over during a slow or failing read are written all the same.
#[test]
fn a_past_that_cannot_be_read_stops_nothing() {
    for mood in [Mood::Illegible, Mood::Good] {
        let setup = start(mood, 1, 12);
        let mut economy = setup.economy(1);
        for _ in 0..20 {
            setup.writer.interval(economy.interval()).unwrap();
        }
        let end = setup.until("they are written", |status| status.behind == 0);
        assert_eq!((end.state, end.tick), (State::Connected, 20));
        // It would have been there before the first write.
        assert_eq!(setup.writer.past().is_some(), mood == Mood::Good);
    }
    // A slow reading stops nothing either.
    let setup = start(Mood::Silent, 1, 12);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(setup.writer.past(), None);
    setup.moods.set(Mood::Good);
    assert!(until("the past", || setup.writer.past()).whole);
}
