//! Accounts over intervals: the paper's numbers, the edge cases of DP-49, and the published code's
//! defects that concern money. A comment derives every expected number.

use super::*;
use crate::share::dynamic_priority::quota::Rounding;
use proptest::prelude::*;

mod published;

const UNIT_MS: i64 = 20_000;

/// Accounts in a cluster of `slots` map slots, driven interval by interval.
struct Market {
    accounts: Accounts,
    slots: [u32; POOLS],
    policy: Policy,
}

impl Market {
    fn new(slots: u32, policy: Policy) -> Market {
        Market {
            accounts: Accounts::default(),
            slots: [slots, 0],
            policy,
        }
    }

    fn user(mut self, name: &str, budget: f64, rate: f64) -> Market {
        self.accounts.add(name).expect("a new name");
        self.accounts
            .add_budget(name, amount(budget))
            .expect("it was added");
        self.rate(name, rate);
        self
    }

    fn rate(&mut self, name: &str, rate: f64) {
        self.accounts
            .set_rate(name, amount(rate))
            .expect("it was added");
    }

    /// Ends an interval in which the named users had pending tasks and used these numbers of map
    /// slots throughout.
    fn tick(&mut self, used: &[(&str, f64)]) -> Outcome {
        let usage = |slots: f64| Usage {
            slot_ms: [(slots * UNIT_MS as f64) as i64, 0],
            active: true,
        };
        let usage = used
            .iter()
            .map(|(name, slots)| (name.to_string(), usage(*slots)))
            .collect();
        let interval = Interval {
            elapsed_ms: UNIT_MS,
            unit_ms: UNIT_MS,
            slots: self.slots,
        };
        self.accounts.tick(&usage, &interval, &self.policy)
    }

    fn budget(&self, name: &str) -> f64 {
        let account = self.accounts.get(name).expect("it was added");
        account.budget.to_number()
    }
}

fn amount(credits: f64) -> Credits {
    Credits::from_number(credits).expect("a valid amount")
}

fn quota(outcome: &Outcome, name: &str) -> u32 {
    outcome.rows[name].quota[0]
}

fn debit(outcome: &Outcome, name: &str) -> f64 {
    outcome.rows[name].debit.to_number()
}

/// Figure 1 of the paper: 15 slots, bids of 4, 1.5 and 2.
fn figure_1(policy: Policy) -> Market {
    Market::new(15, policy)
        .user("alice", 1000.0, 4.0)
        .user("bob", 1000.0, 1.5)
        .user("sam", 1000.0, 2.0)
}

#[test]
fn figure_1_price_quotas_and_charges() {
    let mut market = figure_1(Policy::PAPER);
    let all = [("alice", 8.0), ("bob", 3.0), ("sam", 4.0)];
    let first = market.tick(&all);
    assert_eq!(first.price.to_number(), 7.5);
    let quotas = ["alice", "bob", "sam"].map(|name| quota(&first, name));
    assert_eq!(quotas, [8, 3, 4]);
    // No quota was in force, so nothing is charged (DP-15).
    assert_eq!(market.budget("alice"), 1000.0);
    let second = market.tick(&all);
    // 8 * 4, 3 * 1.5, 4 * 2 (DP-6).
    let debits = ["alice", "bob", "sam"].map(|name| debit(&second, name));
    assert_eq!(debits, [32.0, 4.5, 8.0]);
    assert_eq!(market.budget("bob"), 995.5);
}

#[test]
fn both_kinds_get_the_same_share() {
    let mut market = figure_1(Policy::PAPER);
    market.slots = [15, 30];
    let outcome = market.tick(&[("alice", 1.0), ("bob", 1.0), ("sam", 1.0)]);
    assert_eq!(outcome.rows["alice"].quota, [8, 16]);
    assert_eq!(outcome.rows["bob"].quota, [3, 6]);
    assert_eq!(outcome.rows["sam"].exact, [4.0, 8.0]);
}

/// DP-52: at twice the rate a user gets twice the slots, and pays four times as much.
#[test]
fn twice_the_rate_is_four_times_the_spending() {
    let mut market = Market::new(120, Policy::PAPER)
        .user("queue1", 10_000.0, 2.0)
        .user("queue2", 10_000.0, 1.0);
    let full = [("queue1", 80.0), ("queue2", 40.0)];
    market.tick(&full);
    let outcome = market.tick(&full);
    assert_eq!(
        (quota(&outcome, "queue1"), quota(&outcome, "queue2")),
        (80, 40)
    );
    assert_eq!(debit(&outcome, "queue1"), 160.0);
    assert_eq!(debit(&outcome, "queue1") / debit(&outcome, "queue2"), 4.0);
}

/// DP-52: when the higher bidder's budget ends, the other takes over the whole cluster.
#[test]
fn an_exhausted_budget_hands_the_cluster_over() {
    let mut market = Market::new(120, Policy::PAPER)
        .user("queue1", 1000.0, 2.0)
        .user("queue2", 10_000.0, 1.0);
    let full = [("queue1", 80.0), ("queue2", 40.0)];
    // 160 a tick: 1000 = 6 * 160 + 40, so the 7th charge takes the rest.
    let mut outcome = market.tick(&full);
    for charged in 1..=7 {
        assert_eq!(quota(&outcome, "queue1"), 80, "before charge {charged}");
        outcome = market.tick(&full);
    }
    assert_eq!(debit(&outcome, "queue1"), 40.0);
    assert_eq!(market.budget("queue1"), 0.0);
    assert_eq!(
        (quota(&outcome, "queue1"), quota(&outcome, "queue2")),
        (0, 120)
    );
    assert_eq!(outcome.price.to_number(), 1.0);
    assert!(!outcome.fifo);
}

/// DP-12: when no user has credits, there are no quotas: first come, first served.
#[test]
fn nobody_with_credits_is_fifo() {
    let mut market = Market::new(10, Policy::PAPER)
        .user("a", 1.0, 1.0)
        .user("b", 1.0, 1.0);
    let full = [("a", 5.0), ("b", 5.0)];
    assert!(!market.tick(&full).fifo);
    let outcome = market.tick(&full);
    assert!(outcome.fifo);
    assert_eq!(outcome.price, Credits::ZERO);
    assert_eq!((quota(&outcome, "a"), quota(&outcome, "b")), (0, 0));
    // One of them gets credits: the next tick is no FIFO.
    market.accounts.add_budget("b", amount(5.0)).expect("known");
    assert_eq!(quota(&market.tick(&full), "b"), 10);
}

/// DP-13: equal rates are a static fair share.
#[test]
fn equal_rates_share_evenly() {
    let mut market = Market::new(12, Policy::PAPER)
        .user("a", 9.0, 1.0)
        .user("b", 9.0, 1.0)
        .user("c", 9.0, 1.0);
    let outcome = market.tick(&[("a", 0.0), ("b", 0.0), ("c", 0.0)]);
    assert!(outcome.rows.values().all(|row| row.quota[0] == 4));
}

#[test]
fn nobody_active_is_price_0_and_no_division_by_zero() {
    let mut market = figure_1(Policy::PAPER);
    let outcome = market.tick(&[]);
    assert_eq!(outcome.price, Credits::ZERO);
    assert!(outcome.fifo);
    assert!(
        outcome
            .rows
            .values()
            .all(|row| row.share == 0.0 && row.exact == [0.0, 0.0])
    );
}

#[test]
fn one_active_user_has_everything() {
    let mut market = figure_1(Policy::PAPER);
    let outcome = market.tick(&[("bob", 0.0)]);
    assert_eq!(outcome.rows["bob"].share, 1.0);
    assert_eq!(quota(&outcome, "bob"), 15);
    assert_eq!(outcome.price.to_number(), 1.5);
}

#[test]
fn a_rate_of_0_or_a_budget_of_0_buys_nothing() {
    let mut market = Market::new(10, Policy::PAPER)
        .user("no_budget", 0.0, 1.0)
        .user("no_rate", 100.0, 0.0)
        .user("payer", 100.0, 1.0);
    let outcome = market.tick(&[("no_budget", 0.0), ("no_rate", 0.0), ("payer", 0.0)]);
    assert_eq!(outcome.price.to_number(), 1.0);
    let quotas = ["no_budget", "no_rate", "payer"].map(|name| quota(&outcome, name));
    assert_eq!(quotas, [0, 0, 10]);
}

/// DP-14: a charge takes at most the budget, and the rest must pay for one slot.
#[test]
fn a_budget_below_the_charge_goes_to_exactly_0() {
    let mut market = Market::new(10, Policy::PAPER)
        .user("poor", 15.5, 2.0)
        .user("rich", 1000.0, 2.0);
    let full = [("poor", 5.0), ("rich", 5.0)];
    market.tick(&full);
    assert_eq!(debit(&market.tick(&full), "poor"), 10.0);
    let outcome = market.tick(&full);
    assert_eq!(debit(&outcome, "poor"), 5.5);
    assert_eq!(market.budget("poor"), 0.0);
    assert_eq!((quota(&outcome, "poor"), quota(&outcome, "rich")), (0, 10));
}

#[test]
fn what_is_left_must_pay_for_one_slot() {
    let mut market = Market::new(10, Policy::PAPER).user("a", 2.0, 1.5);
    assert_eq!(quota(&market.tick(&[("a", 1.0)]), "a"), 10);
    // 2 - 1.5 = 0.5 is below the rate.
    let outcome = market.tick(&[("a", 1.0)]);
    assert_eq!(market.budget("a"), 0.5);
    assert_eq!(quota(&outcome, "a"), 0);
    // It can pay a lower rate.
    market.rate("a", 0.5);
    assert_eq!(quota(&market.tick(&[("a", 1.0)]), "a"), 10);
}

#[test]
fn whoever_turns_active_has_a_share_from_the_next_tick_only() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 8.0)]);
    // Bob came in between and got 2 fill slots: no quota, no charge.
    let outcome = market.tick(&[("alice", 13.0), ("bob", 2.0)]);
    assert_eq!(debit(&outcome, "bob"), 0.0);
    // 4 / 5.5 * 15 = 10.9 and 1.5 / 5.5 * 15 = 4.09: 10 and 4, the last slot to the fraction .9.
    assert_eq!((quota(&outcome, "alice"), quota(&outcome, "bob")), (11, 4));
    // Alice was alone before: all 15 were granted, and she pays for the 13 that she used.
    assert_eq!(debit(&outcome, "alice"), 52.0);
    // Now she is idle; her use until then is charged, up to the quota of 11.
    let mut usage = BTreeMap::new();
    let used = Usage {
        slot_ms: [5 * UNIT_MS, 0],
        active: false,
    };
    usage.insert("alice".to_string(), used);
    let interval = Interval {
        elapsed_ms: UNIT_MS,
        unit_ms: UNIT_MS,
        slots: [15, 0],
    };
    let outcome = market.accounts.tick(&usage, &interval, &Policy::PAPER);
    assert_eq!(debit(&outcome, "alice"), 20.0);
    assert_eq!(quota(&outcome, "alice"), 0);
}

#[test]
fn of_two_changes_of_a_rate_the_last_counts_at_the_tick() {
    let mut market = figure_1(Policy::PAPER);
    let all = [("alice", 8.0), ("bob", 3.0), ("sam", 4.0)];
    market.tick(&all);
    market.rate("bob", 100.0);
    market.rate("bob", 4.0);
    let outcome = market.tick(&all);
    assert_eq!(
        debit(&outcome, "bob"),
        4.5,
        "at the rate that bought the slots"
    );
    // 4 + 4 + 2: 6, 6 and 3 of 15.
    assert_eq!(outcome.price.to_number(), 10.0);
    assert_eq!(quota(&outcome, "bob"), 6);
}

/// DP-10, DP-11: slots beyond the quota are free.
#[test]
fn the_excess_is_free() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 0.0), ("bob", 0.0), ("sam", 0.0)]);
    let outcome = market.tick(&[("alice", 0.0), ("bob", 11.0), ("sam", 4.0)]);
    assert_eq!(debit(&outcome, "bob"), 4.5);
}

/// DP-11: use is the time average. 8 slots for a quarter of the interval are 2.
#[test]
fn use_is_averaged_over_the_interval() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 0.0)]);
    assert_eq!(debit(&market.tick(&[("alice", 2.0)]), "alice"), 8.0);
    assert_eq!(debit(&market.tick(&[("alice", 0.05)]), "alice"), 0.2);
}

/// A late tick charges for the elapsed time, at the rate per configured interval.
#[test]
fn a_late_tick_charges_for_the_time_that_passed() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 0.0)]);
    let used = Usage {
        slot_ms: [15 * 50_000, 0],
        active: true,
    };
    let usage = BTreeMap::from([("alice".to_string(), used)]);
    let interval = Interval {
        elapsed_ms: 50_000,
        unit_ms: UNIT_MS,
        slots: [15, 0],
    };
    let outcome = market.accounts.tick(&usage, &interval, &Policy::PAPER);
    // 15 slots * 2.5 intervals * 4.
    assert_eq!(debit(&outcome, "alice"), 150.0);
}

#[test]
fn when_slots_come_or_go_shares_stay_and_quotas_follow() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 8.0), ("bob", 3.0), ("sam", 4.0)]);
    market.accounts.set_quotas([30, 15], &Policy::PAPER);
    let quota = |name: &str| market.accounts.get(name).expect("known").grant;
    let grant = |rate: f64, quota: [u32; POOLS]| {
        Some(Grant {
            rate: amount(rate),
            quota,
        })
    };
    assert_eq!(quota("alice"), grant(4.0, [16, 8]));
    assert_eq!(quota("bob"), grant(1.5, [6, 3]));
    market.accounts.set_quotas([0, 15], &Policy::PAPER);
    let sam = market.accounts.get("sam").expect("known");
    assert_eq!(sam.quotas(), [0, 4]);
}

#[test]
fn unknown_and_doubled_names_and_wrong_amounts_are_refused() {
    let mut accounts = Accounts::default();
    assert_eq!(
        accounts.set_rate("x", amount(1.0)),
        Err(AccountError::Unknown)
    );
    assert_eq!(
        accounts.add_budget("x", amount(1.0)),
        Err(AccountError::Unknown)
    );
    assert_eq!(accounts.remove("x"), Err(AccountError::Unknown));
    assert_eq!(accounts.add("x"), Ok(()));
    assert_eq!(accounts.add("x"), Err(AccountError::Exists));
    let new = accounts.get("x").expect("it was added");
    assert_eq!((new.budget, new.rate), (Credits::ZERO, Credits::ZERO));
    assert_eq!(accounts.add_budget("x", Credits::MAX), Ok(()));
    assert_eq!(
        accounts.add_budget("x", amount(0.000001)),
        Err(AccountError::TooMuch)
    );
    assert_eq!(accounts.get("x").expect("known").budget, Credits::MAX);
}

/// DP-45: income by the hour is exact to the last unit, whatever the intervals.
#[test]
fn income_is_exact_over_uneven_steps() {
    let mut accounts = Accounts::default();
    accounts.add("a").expect("new");
    accounts.set_income("a", amount(10.000_001)).expect("known");
    let mut left = 3_600_000;
    for step in (1i64..).map(|i| i * 997 % 20_011 + 1) {
        let step = step.min(left);
        accounts.pay_income(step, |_, _| {});
        left -= step;
        if left == 0 {
            break;
        }
    }
    assert_eq!(accounts.get("a").expect("known").budget.micro(), 10_000_001);
    assert_eq!(accounts.totals().granted, 10_000_001);
}

#[test]
fn a_removed_account_forfeits_its_budget() {
    let mut market = figure_1(Policy::PAPER);
    market.tick(&[("alice", 8.0), ("bob", 3.0), ("sam", 4.0)]);
    market.accounts.remove("sam").expect("known");
    // Its tasks run on without a charge.
    let outcome = market.tick(&[("alice", 8.0), ("bob", 3.0), ("sam", 4.0)]);
    assert!(!outcome.rows.contains_key("sam"));
    assert_eq!(outcome.price.to_number(), 5.5);
    assert_eq!(market.accounts.totals().forfeited, 1_000_000_000);
    assert_conserved(&market.accounts);
}

fn assert_conserved(accounts: &Accounts) {
    let totals = accounts.totals();
    let held: i128 = accounts
        .iter()
        .map(|(_, a)| i128::from(a.budget.micro()))
        .sum();
    assert_eq!(totals.granted - totals.debited - totals.forfeited, held);
}

proptest! {
    /// Over random markets in both presets. Grants less debits and forfeits equal the budgets, no
    /// budget is below 0, and the debits are the sum of the rows. Shares add up to 1 or there are
    /// none, except with the published overdraft.
    #[test]
    fn credits_are_conserved_to_the_last_unit(
        users in prop::collection::vec((0i64..90_000_000, 0i64..5_000_000), 1..8),
        steps in prop::collection::vec((0usize..8, 0i64..5_000_000, 0i64..400_000, 0u8..6), 1..40),
        slots in 0u32..40,
        contrib in any::<bool>(),
        rounding in 0usize..3,
    ) {
        let mut policy = if contrib { Policy::CONTRIB } else { Policy::PAPER };
        policy.rounding = Rounding::NAMES[rounding].1;
        let mut accounts = Accounts::default();
        let name = |i: usize| format!("u{i}");
        for (i, (budget, rate)) in users.iter().enumerate() {
            accounts.add(&name(i)).expect("new");
            accounts.add_budget(&name(i), Credits::from_micro(*budget)).expect("small");
            accounts.set_rate(&name(i), Credits::from_micro(*rate)).expect("known");
        }
        let mut debits = 0i128;
        for (who, amount, slot_ms, what) in steps {
            let credits = Credits::from_micro(amount);
            // Some name accounts that are gone by then: these are refused and change nothing.
            let _ = match what {
                0 => accounts.set_rate(&name(who), credits),
                1 => accounts.add_budget(&name(who), credits),
                2 => accounts.remove(&name(who)),
                3 => accounts.set_income(&name(who), credits),
                _ => Ok(()),
            };
            accounts.pay_income(UNIT_MS, |_, _| {});
            let usage = (0..8).map(|i| {
                let used = Usage { slot_ms: [slot_ms * i / 3, slot_ms / 2], active: i % 3 > 0 };
                (name(i as usize), used)
            }).collect();
            let interval = Interval { elapsed_ms: UNIT_MS, unit_ms: UNIT_MS, slots: [slots, 5] };
            let outcome = accounts.tick(&usage, &interval, &policy);
            debits += outcome.rows.values().map(|r| i128::from(r.debit.micro())).sum::<i128>();
            prop_assert_eq!(accounts.totals().debited, debits);
            assert_conserved(&accounts);
            prop_assert!(accounts.iter().all(|(_, account)| account.budget >= Credits::ZERO));
            let shares: f64 = outcome.rows.values().map(|row| row.share).sum();
            if policy.overdraft == Overdraft::Clamp {
                prop_assert!((shares - 1.0).abs() < 1e-9 || (shares == 0.0 && outcome.fifo));
            } else {
                prop_assert!(shares < 1.0 + 1e-9);
            }
        }
    }
}
