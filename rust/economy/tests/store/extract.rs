//! Pages of a ledger with merged intervals. Each counts as a whole, on one side of any border; no
//! reader gets both a part of a sum and the sum.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::{grant, interval, opened, row, store_at, token};
use heddle_economy::record::{Extract, Span};
use heddle_economy::store::{Store, extract};

/// Writes intervals 1, 2, one for 3 to 5, and 6; in all of them `b` pays 1, in the last `a` does,
/// too.
fn merged(place: &str) -> Box<dyn Store> {
    let mut store = store_at(place);
    let epoch = store.take_over("rm", token()).unwrap();
    for (tick, ticks) in [(1, 1), (2, 1), (5, 3), (6, 1)] {
        let mut next = interval(tick, vec![]);
        next.ticks = ticks;
        if tick == 1 {
            for queue in ["root.a", "root.b"] {
                next.changes.extend([opened(queue), grant(queue, 100)]);
            }
        }
        if tick == 6 {
            next.rows.push(row("root.a", 0, 1, 99));
        }
        let paid = [1, 2, 5, 6].iter().position(|it| *it == tick).unwrap() as i64 + 1;
        next.rows.push(row("root.b", 0, 1, 100 - paid));
        store.commit_interval(epoch, &next).unwrap();
    }
    store
}

fn span(from: u64, before: u64, rows: usize) -> Span {
    Span {
        from,
        before,
        from_ms: 0,
        to_ms: i64::MAX,
        queues: None,
        rows,
    }
}

fn ticks(page: &Extract) -> Vec<u64> {
    page.intervals
        .iter()
        .map(|interval| interval.tick)
        .collect()
}

fn in_both(test: impl Fn(&mut dyn Store, &str)) {
    for kind in ["sqlite", "file"] {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("{kind}:{}/store", folder.path().display());
        test(merged(&place).as_mut(), kind);
    }
}

#[test]
fn what_stands_for_several_is_told_whole_on_one_side_of_a_border() {
    in_both(|store, kind| {
        // The start of the in-memory window, the expected ticks, and how far they reach.
        for (before, told, reaches) in [
            (2, vec![1], 1),
            (3, vec![1, 2], 2),
            (4, vec![1, 2, 5], 5),
            (5, vec![1, 2, 5], 5),
            (6, vec![1, 2, 5], 5),
            (7, vec![1, 2, 5, 6], 6),
        ] {
            let page = extract(store, &span(1, before, 100)).unwrap();
            let found = (ticks(&page), page.reaches, page.next);
            assert_eq!(found, (told, Some(reaches), None), "{kind}, {before}");
        }
        // Out of the in-memory window, but not written yet.
        let early = extract(store, &span(1, 8, 100)).unwrap();
        assert_eq!(
            (ticks(&early), early.reaches),
            (vec![1, 2, 5, 6], None),
            "{kind}"
        );
        let all = extract(store, &span(1, u64::MAX, 100)).unwrap();
        assert_eq!(ticks(&all), [1, 2, 5, 6], "{kind}");
    });
}

#[test]
fn a_page_does_not_begin_inside_of_a_sum() {
    in_both(|store, kind| {
        for from in [4, 5] {
            let page = extract(store, &span(from, u64::MAX, 100)).unwrap();
            let cut = page.cut.map(|head| (head.first(), head.tick));
            assert_eq!(
                (cut, page.intervals.len()),
                (Some((3, 5)), 0),
                "{kind}, {from}"
            );
        }
        for (from, told) in [(3, vec![5, 6]), (6, vec![6]), (7, vec![])] {
            let page = extract(store, &span(from, u64::MAX, 100)).unwrap();
            assert_eq!((ticks(&page), page.cut), (told, None), "{kind}, {from}");
        }
    });
}

#[test]
fn a_page_ends_with_a_whole_interval() {
    in_both(|store, kind| {
        let last = extract(store, &span(6, u64::MAX, 1)).unwrap();
        assert_eq!(
            (last.intervals[0].rows.len(), last.next),
            (2, None),
            "{kind}"
        );
        let first = extract(store, &span(1, u64::MAX, 2)).unwrap();
        let next = first.next.map(|head| (head.tick, head.at_ms));
        assert_eq!(
            (ticks(&first), next),
            (vec![1, 2], Some((5, 100_000))),
            "{kind}"
        );
        // For a queue that pays late, all earlier intervals are empty.
        let mut rare = span(1, u64::MAX, 1);
        rare.queues = Some(vec!["root.a".to_string(), "root.a".to_string()]);
        let page = extract(store, &rare).unwrap();
        let rows: Vec<usize> = page.intervals.iter().map(|it| it.rows.len()).collect();
        assert_eq!((rows, page.next), (vec![0, 0, 0, 1], None), "{kind}");
    });
}

#[test]
fn times_choose_whatever_the_order() {
    in_both(|store, kind| {
        let mut page = span(1, u64::MAX, 100);
        (page.from_ms, page.to_ms) = (40_000, 100_000);
        let page = extract(store, &page).unwrap();
        assert_eq!(ticks(&page), [2, 5], "{kind}");
    });
}
