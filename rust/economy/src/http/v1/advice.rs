//! Advice before a bid (DP-27, DP-44 to DP-48): the cost of some slots for a queue now, and the end
//! of its budget. The engine computes it; this module formats it. Places no bid.

use crate::http::account::{self, Projection};
use crate::http::answer::{Failure, Reply};
use crate::http::credit;
use crate::http::exchange::Exchange;
use serde_json::{Map, Value};

/// The engine's highest number of a pool.
const POOL_MAX: u64 = 1;

/// `GET queues/{queue}/advice`: the least bid that buys `slots` slots if the others keep their
/// bids.
pub(crate) fn advice(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let path = account::checked_queue(&exchange.variables[0])?;
    let most = u64::from(u32::MAX);
    let slots = exchange.number("slots", 1, most)?.ok_or_else(|| {
        let expected = format!("how many are wanted, from 1 to {most}: ?slots=5");
        let what = "the number of slots is missing";
        Failure::new(400, what, "query, `slots`", expected)
    })?;
    let pool = exchange.number("pool", 0, POOL_MAX)?.unwrap_or(0);
    let told = account::advice(exchange.backend, &path, slots, pool)?;
    Ok(Reply::json(&answer(&told, exchange.request.now_ms)))
}

/// Formats the advice. If no bid suffices, its consequences are null, and `why` names the obstacle.
fn answer(told: &Value, now_ms: u64) -> Value {
    let mut answer = Map::new();
    for key in ["queue", "slots", "pool", "cluster_slots", "quota"] {
        answer.insert(key.to_string(), told[key].clone());
    }
    let budget_micro = told["budget_micro"].as_i64().unwrap_or(0);
    credit::put(&mut answer, "budget", budget_micro);
    for (key, credits) in [("rate", &told["spending_rate"]), ("price", &told["price"])] {
        credit::put(&mut answer, key, credit::micro_of(credits));
    }
    let now = Projection::of(&told["now"]).to_json();
    answer.insert("now".to_string(), now);
    for (key, credits) in [("bid", &told["bid"]), ("price_then", &told["price_then"])] {
        match credits.is_null() {
            false => credit::put(&mut answer, key, credit::micro_of(credits)),
            true => credit::put_nothing(&mut answer, key),
        }
    }
    let then = Some(&told["then"]).filter(|then| !then.is_null());
    let then = then.map(|then| Projection::of(then).to_json());
    answer.insert("then".to_string(), then.into());
    let affordable = told["unpaid"].as_bool().map(|unpaid| !unpaid);
    answer.insert("affordable".to_string(), affordable.into());
    for key in ["slots_given", "counts_in_ms", "why"] {
        answer.insert(key.to_string(), told[key].clone());
    }
    answer.insert("now_ms".to_string(), now_ms.into());
    Value::Object(answer)
}
