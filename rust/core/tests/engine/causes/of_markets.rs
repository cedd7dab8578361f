//! Bids, quotas and the authorities of jobs.

use super::{Cause, MARKET};
use crate::common::Host;
use crate::common::market::Market;
use serde_json::json;

/// Lets a job spend so much, at a bid of at most 2.
fn authorize(market: &mut Market, job: u32, credits: i64) {
    market.host.request(
        json!({"op": "authorize", "job": job, "rate_micro": 2_000_000,
        "credits_micro": credits * 1_000_000, "until_ms": 1_i64 << 40}),
    );
}

/// Two users with equal bids have three of six slots each, and want more.
fn equal_bids() -> (Host, u32) {
    let mut market = Market::new(6, &[("a", 100.0, 1.0), ("b", 100.0, 1.0)]);
    market.submit(1, "a", 9);
    market.submit(2, "b", 9);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [3, 3]);
    (market.host, 2)
}

/// A user without a bid came first and has all slots. Two others have bought three each since.
fn bought_and_not_free() -> (Host, u32) {
    let users = [("a", 100.0, 1.0), ("b", 100.0, 1.0), ("c", 0.0, 0.0)];
    let mut market = Market::new(6, &users);
    market.submit(3, "c", 6);
    assert_eq!(market.beat([3]), [6]);
    for (job, user) in [(1, "a"), (2, "b")] {
        market.host.now += 1;
        market.submit(job, user, 3);
    }
    market.until(20_000);
    (market.host, 2)
}

/// Six slots at 2 cost 12 in each interval: 24 credits are spent after two.
fn authority_spent() -> (Host, u32) {
    let mut market = Market::new(6, &[("a", 1_000.0, 2.0)]);
    market.submit(1, "a", 10);
    authorize(&mut market, 1, 24);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    market.until(60_000);
    (market.host, 1)
}

/// The queue's bid has gone above what the job may pay.
fn authority_outbid() -> (Host, u32) {
    let mut market = Market::new(6, &[("a", 1_000.0, 2.0), ("b", 1_000.0, 1.0)]);
    market.submit(1, "a", 9);
    market.submit(2, "b", 9);
    authorize(&mut market, 1, 100);
    market.host.tick();
    market.beat([1, 2]);
    market.set("setSpending", "a", 3.0);
    market.until(20_000);
    (market.host, 1)
}

pub(super) fn causes() -> Vec<Cause> {
    let policies = &[MARKET];
    vec![
        Cause {
            name: "a quota that is used up",
            policies,
            plant: |_| equal_bids(),
            reason: json!({"quota": {"queue": 2, "used": 3, "quota": 3, "bid": 1_000_000,
                "price": 2_000_000}}),
        },
        Cause {
            name: "a job of another queue that came first",
            policies,
            plant: |_| bought_and_not_free(),
            reason: json!({"arrival": {"queue": 2, "first": 1}}),
        },
        Cause {
            name: "an authority that is spent",
            policies,
            plant: |_| authority_spent(),
            reason: json!({"authority": {"bound": "credits", "credits": 24_000_000,
                "spent": 24_000_000}}),
        },
        Cause {
            name: "an authority whose rate is outbid",
            policies,
            plant: |_| authority_outbid(),
            reason: json!({"authority": {"bound": "rate", "rate": 2_000_000,
                "bid": 3_000_000}}),
        },
    ]
}
