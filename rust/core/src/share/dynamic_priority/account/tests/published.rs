//! Accounts in the published code's variants, and its defects that concern money, with our
//! behaviour instead.

use super::*;
use crate::words::credits::BadAmount;

/// DP-15: a high bid that is lowered just before the charge is not free.
#[test]
fn a_rate_lowered_before_the_tick_is_charged_as_granted() {
    let mut market = Market::new(10, Policy::PAPER)
        .user("gamer", 100.0, 9.0)
        .user("other", 100.0, 1.0);
    market.tick(&[("gamer", 9.0), ("other", 1.0)]);
    market.rate("gamer", 0.0);
    let outcome = market.tick(&[("gamer", 9.0), ("other", 1.0)]);
    assert_eq!(debit(&outcome, "gamer"), 81.0);
    assert_eq!(quota(&outcome, "gamer"), 0);
    // The published code charges the rate of the moment: 0.
    let mut published = Market::new(10, Policy::CONTRIB)
        .user("gamer", 100.0, 9.0)
        .user("other", 100.0, 1.0);
    published.tick(&[("gamer", 0.0), ("other", 0.0)]);
    published.rate("gamer", 0.0);
    let outcome = published.tick(&[("gamer", 9.0), ("other", 1.0)]);
    assert_eq!(debit(&outcome, "gamer"), 0.0);
}

/// Defect 4 of the published code: a negative rate minted credits, NaN spoilt every share.
#[test]
fn negative_and_non_finite_amounts_are_refused() {
    let wrong = [-1.0, -1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e9];
    for credits in wrong {
        assert_eq!(Credits::from_number(credits), Err(BadAmount), "{credits}");
    }
    assert_eq!(Credits::from_number(-0.0), Ok(Credits::ZERO));
    assert_eq!(Credits::from_number(1e9), Ok(Credits::MAX));
}

/// Defect 7: with 32-bit floats a charge below 1 was lost on a budget above 1.6e7.
#[test]
fn small_charges_on_large_budgets_are_not_lost() {
    let mut market = Market::new(1, Policy::PAPER).user("a", 20_000_000.0, 0.000001);
    market.tick(&[("a", 1.0)]);
    for _ in 0..1000 {
        market.tick(&[("a", 1.0)]);
    }
    assert_eq!(market.budget("a"), 19_999_999.999);
}

/// Defect 3: price and charge admitted by different rules, so that shares did not add up to 1.
#[test]
fn shares_add_up_to_1_when_budgets_run_out() {
    let full = [("a", 5.0), ("b", 5.0), ("broke", 0.0)];
    let market = |policy| {
        Market::new(10, policy)
            .user("a", 8.0, 2.0)
            .user("b", 100.0, 2.0)
            .user("broke", 0.0, 3.0)
    };
    let sum = |outcome: &Outcome| outcome.rows.values().map(|row| row.share).sum::<f64>();
    let mut ours = market(Policy::PAPER);
    for _ in 0..4 {
        assert_eq!(sum(&ours.tick(&full)), 1.0);
    }
    // Published: a's charge of 10 exceeds its 8, so a pays nothing and gets no share. Its rate
    // stays in the price, so half of the slots have no buyer.
    let mut published = market(Policy::CONTRIB);
    let outcome = published.tick(&full);
    assert_eq!(outcome.price.to_number(), 4.0);
    assert_eq!(sum(&outcome), 0.5);
    assert_eq!(published.budget("a"), 8.0);
    assert_eq!((quota(&outcome, "a"), quota(&outcome, "b")), (0, 5));
}

/// The published code's arithmetic: each tick charges rate times reported use at once, and a share
/// is rate over price.
#[test]
fn the_published_variant_charges_what_is_reported() {
    let mut market = Market::new(10, Policy::CONTRIB)
        .user("queue1", 100.0, 1.0)
        .user("queue2", 100.0, 3.0);
    let outcome = market.tick(&[("queue1", 1.0), ("queue2", 1.0)]);
    assert_eq!(
        (market.budget("queue1"), market.budget("queue2")),
        (99.0, 97.0)
    );
    let shares = ["queue1", "queue2"].map(|name| outcome.rows[name].share);
    assert_eq!(shares, [0.25, 0.75]);
    // 2.5 and 7.5, each rounded half up: 3 + 8 = 11 of 10.
    assert_eq!(
        (quota(&outcome, "queue1"), quota(&outcome, "queue2")),
        (3, 8)
    );
    // When queue2 is idle, queue1 has all slots and still pays its own rate.
    let outcome = market.tick(&[("queue1", 2.0)]);
    assert_eq!(outcome.rows["queue1"].share, 1.0);
    assert_eq!(market.budget("queue1"), 97.0);
}

/// Each knob alone, compared with the paper's. Only `Skip` comes with another, `ChargeCap::None`.
#[test]
fn knobs_act_alone() {
    let run = |policy: Policy| {
        let mut market = Market::new(3, policy)
            .user("a", 10.0, 4.0)
            .user("b", 100.0, 4.0);
        market.tick(&[("a", 1.0), ("b", 1.0)]);
        // 1.5 each: a, first by name, has 2 by largest remainder.
        market.rate("a", 3.0);
        let outcome = market.tick(&[("a", 3.0), ("b", 0.0)]);
        (
            debit(&outcome, "a"),
            quota(&outcome, "a"),
            outcome.price.to_number(),
        )
    };
    let paper = Policy::PAPER;
    // 2 slots at 4; 2 left are below the new rate of 3.
    assert_eq!(run(paper), (8.0, 0, 4.0));
    // 2 slots at 3; 4 left bid 3 against 4: 9/7 = 1.29 of 3 slots.
    let charge_rate = ChargeRate::Current;
    assert_eq!(
        run(Policy {
            charge_rate,
            ..paper
        }),
        (6.0, 1, 7.0)
    );
    // 3 slots at 4 exceed 10.
    let charge_cap = ChargeCap::None;
    assert_eq!(
        run(Policy {
            charge_cap,
            ..paper
        }),
        (10.0, 0, 4.0)
    );
    let overdraft = Overdraft::Skip;
    let skipping = Policy {
        charge_cap,
        overdraft,
        ..paper
    };
    assert_eq!(run(skipping), (0.0, 0, 7.0));
    // The 10 before the charge pay for a slot at 3.
    let solvent = Solvent::BeforeDebit;
    assert_eq!(run(Policy { solvent, ..paper }), (8.0, 1, 7.0));
    // 1.5 rounds to 1: 1 slot at 4; 6 left bid 3 of 7: 1.29.
    let rounding = Rounding::Floor;
    assert_eq!(run(Policy { rounding, ..paper }), (4.0, 1, 7.0));
}
