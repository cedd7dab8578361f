//! The division of slots and the placement matrix of the Reverse-Adaptive scheduler, against brute
//! force on small instances and by hand. Without the engine.

use heddle_core::Resource;
use heddle_core::order::reverse_adaptive::placement::{Bid, Class, Placement, Room, place};
use heddle_core::order::reverse_adaptive::utility::utility;
use proptest::prelude::*;

const SLOT: Resource = Resource([1, 0, 0, 0, 0, 0, 0, 0]);

fn bid(fit: f64, pending: u32) -> Bid {
    Bid {
        fit,
        pending,
        size: SLOT,
        ..Bid::default()
    }
}

/// Returns a node of that many slots.
fn slots(slots: u32) -> Room {
    Room {
        resource: Resource::UNBOUNDED,
        slots,
    }
}

/// Returns a node of that much memory.
fn memory(gb: i64) -> Room {
    Room {
        resource: Resource::new(gb, 0),
        slots: u32::MAX,
    }
}

fn utilities(bids: &[Bid], alloc: &[u32]) -> Vec<f64> {
    let of =
        |(bid, alloc): (&Bid, &u32)| utility(f64::from(*alloc), bid.fit, f64::from(bid.pending));
    let mut all: Vec<f64> = bids.iter().zip(alloc).map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Lists every way to give `slots` slots to jobs that can use `pending`.
fn divisions(slots: u32, pending: &[u32]) -> Vec<Vec<u32>> {
    let Some((first, rest)) = pending.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for mine in 0..=slots.min(*first) {
        for others in divisions(slots - mine, rest) {
            all.push([vec![mine], others].concat());
        }
    }
    all
}

fn check_matrix(placement: &Placement, bids: &[Bid], rooms: &[Room]) {
    let mut used = vec![(Resource::ZERO, 0); rooms.len()];
    for (job, row) in placement.rows.iter().enumerate() {
        let sum: u32 = row.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, placement.alloc[job], "row and total of job {job}");
        assert!(sum <= bids[job].pending, "no more than job {job} can use");
        for (node, count) in row {
            assert!(*count > 0);
            used[*node].0 += bids[job].size.times(i64::from(*count));
            used[*node].1 += count;
        }
    }
    for (room, (resource, count)) in rooms.iter().zip(&used) {
        assert!(resource.fits_in(&room.resource) && *count <= room.slots);
    }
    // Maximal: a job that wants more fits nowhere.
    for (job, bid) in bids.iter().enumerate() {
        for (room, (resource, count)) in rooms.iter().zip(&used) {
            let fits = *count < room.slots && (*resource + bid.size).fits_in(&room.resource);
            assert!(
                placement.alloc[job] == bid.pending || !fits,
                "room is wasted"
            );
        }
    }
}

#[test]
fn needs_first_and_the_rest_so_that_all_are_alike() {
    // Needs 4 + 2 of 12; beyond them the 6 left are in proportion to further demand, 16 and 8: 4
    // and 2.
    let bids = [bid(4.0, 20), bid(2.0, 10)];
    assert_eq!(place(&bids, &[slots(12)]).alloc, [8, 4]);
    // Needs above the slots: no job meets its need, and both fall short equally: log 2 / log 4 - 1.
    assert_eq!(
        place(&[bid(4.0, 9), bid(4.0, 9)], &[slots(4)]).alloc,
        [2, 2]
    );
    assert_eq!(place(&[], &[slots(4)]).alloc, [] as [u32; 0], "no jobs");
    assert_eq!(place(&[bid(1.0, 1)], &[slots(0)]).alloc, [0]);
}

#[test]
fn a_job_without_a_goal_gets_what_is_left_of_the_needs() {
    let best_effort = Bid {
        class: Class::BestEffort,
        ..bid(0.0, 100)
    };
    assert_eq!(
        place(&[best_effort.clone(), bid(6.0, 6)], &[slots(8)]).alloc,
        [2, 6]
    );
    assert_eq!(
        place(&[best_effort, bid(8.0, 90)], &[slots(8)]).alloc,
        [0, 8]
    );
}

#[test]
fn a_late_job_displaces_nobody_who_can_still_meet_a_goal() {
    let late = |pending| Bid {
        class: Class::Late,
        ..bid(f64::from(pending), pending)
    };
    // The on-time job needs 7 of 8 and is not at its need before; the late one gets the last.
    assert_eq!(place(&[late(50), bid(7.0, 50)], &[slots(8)]).alloc, [1, 7]);
    // Even without any slot it waits for the last need.
    assert_eq!(place(&[late(50), bid(8.0, 50)], &[slots(8)]).alloc, [0, 8]);
    // The late job gets the rest, before a job without a goal.
    let best_effort = Bid {
        class: Class::BestEffort,
        ..bid(0.0, 50)
    };
    assert_eq!(
        place(&[best_effort, late(3), bid(2.0, 2)], &[slots(8)]).alloc,
        [3, 3, 2]
    );
    // At equal utility (here 1 after it) the on-time job goes first.
    assert_eq!(place(&[late(1), bid(1.0, 1)], &[slots(1)]).alloc, [0, 1]);
}

#[test]
fn what_runs_stays_where_it_runs_and_data_is_preferred() {
    let first = Bid {
        running: vec![(2, 2)],
        ..bid(2.0, 2)
    };
    let second = Bid {
        prefers: vec![(1, 1)],
        ..bid(1.0, 1)
    };
    let placement = place(
        &[bid(2.0, 2), first, second],
        &[slots(2), slots(2), slots(2)],
    );
    assert_eq!(placement.rows[1], [(2, 2)]);
    assert_eq!(placement.rows[2], [(1, 1)]);
    assert_eq!(placement.alloc, [2, 2, 1]);
    // A job that runs more than its due keeps its due.
    let shrinking = Bid {
        running: vec![(0, 1), (1, 2)],
        ..bid(0.0, 3)
    };
    let placement = place(&[shrinking, bid(2.0, 2)], &[slots(1), slots(2)]);
    assert_eq!(placement.alloc, [1, 2]);
    assert_eq!(placement.rows[0], [(0, 1)]);
    assert_eq!(placement.rows[1], [(1, 2)]);
}

#[test]
fn tasks_spread_over_the_nodes_in_turn() {
    let placement = place(&[bid(3.0, 3)], &[slots(4), slots(4), slots(4)]);
    assert_eq!(placement.rows[0], [(0, 1), (1, 1), (2, 1)]);
}

/// Small tasks spread over three nodes of 2 GB leave no room for tasks of 2 GB. The second job
/// stays at 1 of 3 slots (-1) with the first at 4 of 3. One exchange gives 2 and 2.
#[test]
fn one_improvement_pass_makes_room_for_large_tasks() {
    let sized = |gb| Bid {
        size: Resource::new(gb, 0),
        ..bid(3.0, 10)
    };
    let bids = [sized(1), sized(2)];
    let rooms = [memory(2), memory(2), memory(2)];
    let placement = place(&bids, &rooms);
    check_matrix(&placement, &bids, &rooms);
    assert_eq!(placement.alloc, [2, 2]);
}

#[test]
fn a_node_that_the_foreign_load_fills_gets_nothing() {
    let running = Bid {
        running: vec![(0, 2)],
        ..bid(4.0, 4)
    };
    let placement = place(&[running], &[slots(0), slots(3)]);
    assert_eq!(placement.rows[0], [(1, 3)]);
}

proptest! {
    /// With tasks of one size the division is the best of all: no other has a greater sorted vector
    /// of utilities.
    #[test]
    fn no_division_is_better(
        jobs in prop::collection::vec((0u32..12, 1u32..8), 1..5),
        nodes in prop::collection::vec(0u32..4, 1..4),
    ) {
        let bids: Vec<Bid> =
            jobs.iter().map(|(fit, pend)| bid(f64::from(*fit) / 2.0, *pend)).collect();
        let rooms: Vec<Room> = nodes.iter().map(|n| slots(*n)).collect();
        let placement = place(&bids, &rooms);
        check_matrix(&placement, &bids, &rooms);
        let got = utilities(&bids, &placement.alloc);
        let pending: Vec<u32> = jobs.iter().map(|job| job.1).collect();
        for other in divisions(nodes.iter().sum(), &pending) {
            let other_got = utilities(&bids, &other);
            let differs = got.iter().zip(&other_got).find(|(a, b)| (**a - **b).abs() > 1e-9);
            prop_assert!(
                differs.is_none_or(|(mine, theirs)| mine > theirs),
                "{other:?} is better than {:?}", placement.alloc
            );
        }
    }

    /// With different sizes, on nodes with running tasks: the matrix fits into the rooms, wastes
    /// nothing, and is the same every time.
    #[test]
    fn a_matrix_keeps_within_the_rooms(
        jobs in prop::collection::vec(
            (0u32..12, 1u32..9, 1i64..4, 0usize..3, 0u32..3, 0usize..3), 1..7,
        ),
        nodes in prop::collection::vec((0i64..9, 0u32..5), 1..4),
    ) {
        let classes = [Class::OnTime, Class::Late, Class::BestEffort];
        let rooms: Vec<Room> = nodes.iter()
            .map(|(gb, slots)| Room { resource: Resource::new(*gb, 0), slots: *slots }).collect();
        let bids: Vec<Bid> = jobs.iter().map(|(fit, pend, gb, class, runs, at)| Bid {
            fit: f64::from(*fit) / 2.0,
            pending: *pend,
            class: classes[*class],
            size: Resource::new(*gb, 0),
            running: vec![(*at % nodes.len(), *runs)],
            prefers: vec![(*at % nodes.len(), 1)],
        }).collect();
        let placement = place(&bids, &rooms);
        check_matrix(&placement, &bids, &rooms);
        prop_assert_eq!(&placement, &place(&bids, &rooms), "the same again");
    }
}
