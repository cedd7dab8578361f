//! Dynamic Priority in the engine: users bid, jobs arrive and end, and each gets the slots that the
//! paper promises. `dynamic_priority_accounts.rs` tests the payments. Comments beside the
//! statements derive the expected numbers.

use crate::common::market::{FIGURE_1, Market, Users, evicted, reduces};
use crate::common::plain_ask;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::*;
use heddle_core::words::resource::Resource;
use serde_json::json;

/// DP-17, figure 1: bids of 4, 1.5 and 2 for 15 slots get 8, 3 and 4, in any order of arrival.
#[test]
fn figure_1_gives_8_3_and_4_slots_and_charges_for_them() {
    let mut market = Market::new(15, FIGURE_1);
    market.submit(1, "sam", 20);
    market.submit(2, "bob", 20);
    market.submit(3, "alice", 20);
    market.host.tick();
    assert_eq!(market.quotas(["alice", "bob", "sam"]), [8, 3, 4]);
    assert_eq!(market.beat([3, 2, 1]), [8, 3, 4]);
    assert_eq!(market.accounts()["price"], 7.5);
    market.until(20_000);
    // The slots were in use all the time: 8 * 4, 3 * 1.5, 4 * 2.
    assert_eq!(market.number("alice", "budget"), 968.0);
    assert_eq!(market.number("bob", "budget"), 995.5);
    assert_eq!(market.number("sam", "budget"), 992.0);
}

/// DP-12: without any credits, jobs are served in order of arrival across queues.
#[test]
fn without_credits_it_is_fifo() {
    let mut market = Market::new(9, &[("a", 0.0, 5.0), ("b", 0.0, 1.0)]);
    market.submit(1, "b", 4);
    market.host.now = 10;
    market.submit(2, "a", 4);
    market.host.now = 20;
    market.submit(3, "b", 4);
    market.host.tick();
    assert_eq!(market.accounts()["fifo"], true);
    assert_eq!(market.accounts()["price"], 0.0);
    assert_eq!(market.beat([1, 2, 3]), [4, 4, 1]);
    // The same without any account.
    let mut plain = Market::new(3, &[]);
    plain.submit(1, "x", 2);
    plain.submit(2, "y", 2);
    plain.host.tick();
    assert_eq!(plain.beat([1, 2]), [2, 1]);
}

/// DP-21: the fill pass goes by arrival, whether or not a user has quota left for the other kind of
/// slot.
#[test]
fn the_fill_pass_goes_by_arrival_alone() {
    let extra = json!({"slots": {"map_per_node": 2, "reduce_per_node": 1}});
    let users: Users<'_> = &[
        ("poor", 0.0, 1.0),
        ("rich", 100.0, 1.0),
        ("other", 100.0, 1.0),
    ];
    let mut market = Market::with(9, users, extra);
    market.submit(1, "poor", 2);
    market.host.now = 10;
    market.submit(2, "rich", 9);
    market.submit(3, "other", 0);
    market.host.ask_facts(reduces(3, 1));
    market.host.tick();
    // Of 6 map and 3 reduce slots; `other` is first by name for the odd one.
    assert_eq!(market.account("rich")["quota"], json!([3, 1]));
    assert_eq!(market.account("other")["quota"], json!([3, 2]));
    // Rich's 3. Of the slots that `other` leaves, poor is served first because he came first, then
    // rich.
    assert_eq!(market.beat([1, 2, 3]), [2, 4, 1]);
}

/// DP-19: a freed slot goes to the user below quota, not to the first to arrive.
#[test]
fn a_freed_slot_goes_to_who_is_below_quota() {
    let mut market = Market::new(6, &[("a", 100.0, 1.0), ("b", 100.0, 1.0)]);
    market.submit(1, "a", 50);
    market.host.now = 1;
    market.submit(2, "b", 50);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [3, 3]);
    let of_b = market
        .host
        .containers
        .iter()
        .find(|c| c.0 == 2)
        .expect("3 run")
        .1;
    market.host.complete(2, of_b);
    assert_eq!(market.beat([1, 2]), [3, 3]);
}

/// DP-10, and defect 2 of the published code. Slots beyond quotas are filled in both kinds, even in
/// a heartbeat that has already served the other kind.
#[test]
fn nothing_stays_idle_while_anything_is_pending() {
    let extra = json!({"slots": {"map_per_node": 1, "reduce_per_node": 2}});
    let mut market = Market::with(3, &[("a", 100.0, 3.0), ("b", 100.0, 1.0)], extra);
    market.submit(1, "a", 5);
    market.submit(2, "b", 0);
    market.host.ask_facts(reduces(2, 5));
    market.host.tick();
    // Of 2 reduce slots b owns 0.5 and a 1.5: a is first by name for the remaining one.
    assert_eq!(market.account("b")["quota"], json!([0, 0]));
    // One heartbeat: a map within the quota, two reduces beyond it.
    assert_eq!(market.beat([1, 2]), [1, 2]);
    market.until(20_000);
    assert_eq!(market.number("b", "debit"), 0.0);
}

/// DP-22 to DP-24: at the reclaim interval the latest of the unpaid tasks go, as many as the others
/// lack. Their slots go to paying users.
#[test]
fn preemption_gives_a_bidder_its_slots() {
    let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 60_000}});
    let mut market = Market::with(12, &[("old", 1e6, 1.0), ("new", 1e6, 3.0)], extra);
    market.submit(1, "old", 50);
    market.host.tick();
    assert_eq!(market.beat([1]), [12]);
    market.until(10_000);
    market.submit(2, "new", 7);
    assert_eq!(evicted(&market.until(59_500)), []);
    assert_eq!(market.quotas(["old", "new"]), [3, 9]);
    assert_eq!(market.beat([1, 2]), [12, 0]);
    let gone = evicted(&market.until(60_000));
    // New could use 7 of its 9.
    assert_eq!(gone.len(), 7);
    assert!(gone.iter().all(|(job, _)| *job == 1));
    // While these go, no more are evicted.
    assert_eq!(evicted(&market.until(61_000)), []);
    for (job, key) in gone {
        market.host.complete(job, key);
    }
    assert_eq!(market.beat([1, 2]), [5, 7]);
    assert_eq!(evicted(&market.until(200_000)), []);
}

/// A job begins with its ApplicationMaster, which takes room but no slot. If tasks hold all the
/// room and do not end, only a reclaimed slot gives it some. If slots are only a part of the room
/// (one pool of each kind), there is room beside them.
#[test]
fn preemption_makes_room_for_a_bidders_master() {
    for (slots, taken) in [
        (json!(null), 1),
        (json!({"map_per_node": 3, "reduce_per_node": 1}), 0),
    ] {
        let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 20_000}, "slots": slots});
        let mut market = Market::with(12, &[("old", 1e6, 1.0), ("new", 1e6, 3.0)], extra);
        market.submit(1, "old", 50);
        market.host.tick();
        assert_eq!(market.beat([1]), [12]);
        let queue = market.host.queue("new", None);
        market.host.job(2, queue);
        market.host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(2, 0, 1, 1024)
        });
        let gone = evicted(&market.until(60_000));
        assert_eq!(gone.len(), taken, "{slots}");
        for (job, key) in gone {
            market.host.complete(job, key);
        }
        assert_eq!(market.beat([1, 2]), [12 - taken, taken], "{slots}");
    }
}

/// DP-23: the least progress is lost; a committing task stays.
#[test]
fn the_least_progressed_go_and_none_that_commits() {
    let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 20_000}});
    let mut market = Market::with(3, &[("a", 1e6, 1.0), ("b", 1e6, 2.0)], extra);
    market.submit(1, "a", 3);
    market.host.tick();
    market.beat([1]);
    let keys: Vec<u64> = market.host.containers.iter().map(|c| c.1).collect();
    let progress = |key: u64, progress_per_mille: u32, committing: bool| Event::Task {
        job: JobId(1),
        key,
        facts: heddle_core::words::event::TaskFacts {
            progress_per_mille,
            committing,
            ..Default::default()
        },
    };
    let told = [
        progress(keys[0], 500, false),
        progress(keys[1], 900, false),
        progress(keys[2], 100, true),
    ];
    market.host.step(&told);
    market.submit(2, "b", 5);
    let gone = evicted(&market.until(40_000));
    // B owns 2 of 3: both candidates go, the less progressed first.
    assert_eq!(gone, [(1, keys[0]), (1, keys[1])]);
}

/// A commit is a claim of users' code: it spares a task for two minutes, however often it is told.
#[test]
fn a_task_that_commits_for_ever_is_taken_after_two_minutes() {
    let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 20_000}});
    let mut market = Market::with(3, &[("a", 1e6, 1.0), ("b", 1e6, 2.0)], extra);
    market.submit(1, "a", 3);
    market.host.tick();
    market.beat([1]);
    let keys: Vec<u64> = market.host.containers.iter().map(|c| c.1).collect();
    market.submit(2, "b", 5);
    let mut gone = Vec::new();
    for second in (0..=120_000).step_by(20_000) {
        for committing in [true, false, true] {
            for key in &keys {
                market.host.step(&[Event::Task {
                    job: JobId(1),
                    key: *key,
                    facts: heddle_core::words::event::TaskFacts {
                        committing,
                        ..Default::default()
                    },
                }]);
            }
        }
        assert_eq!(gone, [], "at {second}");
        gone = evicted(&market.until(second + 19_999));
    }
    assert_eq!(gone.len(), 2, "120 s after the first claim");
}

/// Defect 1: the time of the last kill was shared by both kinds, so reduces were never taken.
#[test]
fn maps_and_reduces_are_taken_in_one_round() {
    let extra = json!({"slots": {"map_per_node": 2, "reduce_per_node": 1},
                       "dynamic_priority": {"reclaim_interval_ms": 60_000}});
    let mut market = Market::with(9, &[("a", 1e6, 1.0), ("b", 1e6, 2.0)], extra);
    market.submit(1, "a", 9);
    market.host.ask_facts(reduces(1, 9));
    market.host.tick();
    assert_eq!(market.beat([1]), [9]);
    market.submit(2, "b", 9);
    market.host.ask_facts(reduces(2, 9));
    let gone = evicted(&market.until(60_000));
    // 2/3 of 6 and of 3 slots: 4 maps and 2 reduces.
    assert_eq!(gone.len(), 6);
}

/// DP-18: quotas are counts over the cluster, not parts of its nodes. A has all of node 0 when B
/// arrives, so B's three are all on node 1, although A waits for slots, too.
#[test]
fn quotas_are_of_the_cluster_not_of_its_nodes() {
    let mut market = Market::new(6, &[("a", 1e3, 1.0), ("b", 1e3, 1.0)]);
    market.submit(1, "a", 50);
    market.host.tick();
    market.host.beat(0);
    market.submit(2, "b", 50);
    market.until(20_000);
    assert_eq!(market.quotas(["a", "b"]), [3, 3]);
    let jobs: Vec<u32> = market.host.beat(1).iter().map(|grant| grant.job).collect();
    assert_eq!(jobs, [2; 3]);
    market.host.complete_all(1);
    market.host.complete_all(2);
    assert_eq!(market.beat([1, 2]), [3, 3]);
}

/// DP-49, DP-61: a quota of 0.
#[test]
fn a_quota_of_0_is_served_by_the_fill_pass_only() {
    // 0.1 / 10.1 of 6 slots is 0.06.
    let mut market = Market::new(6, &[("small", 100.0, 0.1), ("big", 100.0, 10.0)]);
    market.submit(1, "small", 6);
    market.host.now = 1;
    market.submit(2, "big", 4);
    market.host.tick();
    assert_eq!(market.quotas(["small", "big"]), [0, 6]);
    assert_eq!(market.beat([1, 2]), [2, 4]);
    market.until(20_000);
    assert_eq!(market.number("small", "debit"), 0.0);
}

/// DP-49: when capacity comes or goes between ticks, shares stay and quotas follow.
#[test]
fn quotas_follow_the_nodes_between_ticks() {
    let mut market = Market::new(6, &[("a", 1e3, 1.0), ("b", 1e3, 2.0)]);
    market.submit(1, "a", 50);
    market.submit(2, "b", 50);
    market.host.tick();
    assert_eq!(market.quotas(["a", "b"]), [2, 4]);
    market.host.node(0, 3 * 1024, 3);
    market.host.tick();
    assert_eq!(market.quotas(["a", "b"]), [3, 6]);
    market.host.step(&[Event::NodeRemoved(NodeId(0))]);
    market.host.tick();
    assert_eq!(market.quotas(["a", "b"]), [2, 4]);
    assert_eq!(market.number("a", "share"), 1.0 / 3.0);
}

/// DP-49: no slots of one kind at all.
#[test]
fn a_kind_without_slots_has_no_quotas() {
    let extra = json!({"slots": {"map_per_node": 3, "reduce_per_node": 0}});
    let mut market = Market::with(3, &[("a", 1e3, 1.0)], extra);
    market.submit(1, "a", 9);
    market.host.tick();
    assert_eq!(market.account("a")["quota"], json!([3, 0]));
    assert_eq!(market.beat([1]), [3]);
}

/// ApplicationMasters take room but no slot: their room is divided among no users.
#[test]
fn the_room_of_application_masters_is_no_slots() {
    let mut market = Market::new(15, FIGURE_1);
    for (job, user) in [(1, "alice"), (2, "bob"), (3, "sam")] {
        market.submit(job, user, 20);
        market.host.recovered(job, job, 1024, true);
    }
    market.host.tick();
    // 12 slots are left: 6.4, 2.4 and 3.2; the last goes to the first of the fractions .4.
    assert_eq!(market.quotas(["alice", "bob", "sam"]), [7, 2, 3]);
    // The masters count among the running containers.
    assert_eq!(market.beat([1, 2, 3]), [8, 3, 4]);
}

/// DP-13: equal rates and one long interval are a static fair share.
#[test]
fn equal_rates_are_a_fair_share() {
    let extra = json!({"dynamic_priority": {"allocation_interval_ms": 86_400_000}});
    let users: Users<'_> = &[("a", 1e6, 1.0), ("b", 1e6, 1.0), ("c", 1e6, 1.0)];
    let mut market = Market::with(12, users, extra);
    for (job, user) in [(1, "a"), (2, "b"), (3, "c")] {
        market.submit(job, user, 100);
    }
    market.host.tick();
    for _ in 0..5 {
        assert_eq!(market.beat([1, 2, 3]), [4, 4, 4]);
        market.until(market.host.now + 60_000);
        market.host.complete_all(2);
        assert_eq!(market.beat([1, 2, 3]), [4, 4, 4]);
    }
}

/// DP-25, DP-26: a user of low budget waits until the others are out of credits or idle.
#[test]
fn a_low_budget_runs_in_cheap_periods() {
    let mut market = Market::new(6, &[("low", 20.0, 0.5), ("high", 100.0, 50.0)]);
    market.submit(1, "high", 100);
    market.submit(2, "low", 100);
    market.host.tick();
    assert_eq!(market.quotas(["low", "high"]), [0, 6]);
    assert_eq!(market.beat([1, 2]), [6, 0]);
    // 6 slots at 50 take the 100 in one tick.
    market.until(20_000);
    assert_eq!(market.quotas(["low", "high"]), [6, 0]);
    market.host.complete_all(1);
    assert_eq!(market.beat([1, 2]), [0, 6]);
}

/// DP-20: inside the chosen user local tasks come first, then remote ones; shares come before
/// locality.
#[test]
fn local_tasks_first_but_shares_before_locality() {
    let mut market = Market::new(6, &[("a", 1e3, 1.0), ("b", 1e3, 1.0)]);
    market.submit(1, "a", 0);
    let queue = market.host.queue("b", None);
    market.host.job(2, queue);
    market
        .host
        .ask_on(1, 1, 1024, &[(1, 0), (1, 0), (1, 0), (0, 0)]);
    market
        .host
        .ask_on(2, 1, 1024, &[(0, 0), (0, 0), (0, 0), (0, 0)]);
    market.host.tick();
    let first = market.host.beat(0);
    let local = |job: u32| {
        let mut levels: Vec<Locality> = first
            .iter()
            .filter(|g| g.job == job)
            .map(|g| g.locality)
            .collect();
        levels.sort();
        levels
    };
    // Job 1 came first and has 3 slots: one task is local here, two are not.
    assert_eq!(local(1)[0], Locality::NodeLocal);
    assert_eq!(local(1).len(), 3);
    market.host.beat(1);
    assert_eq!([market.host.running(1), market.host.running(2)], [3, 3]);
}

/// Queues below queues have accounts of their own; parents only name them.
#[test]
fn every_leaf_queue_bids_for_itself() {
    let users: Users<'_> = &[("dept", 0.0, 0.0), ("dept.x", 10.0, 2.0), ("y", 10.0, 1.0)];
    let mut market = Market::new(6, users);
    let x = market.host.queue("u", Some("root.dept.x"));
    market.host.job(1, x);
    market.host.ask(1, 0, 50, 1024);
    market.submit(2, "y", 50);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [4, 2]);
    let capacity = Resource::new(6 * 1024, 6);
    assert_eq!(market.host.engine.cluster().capacity, capacity);
}
