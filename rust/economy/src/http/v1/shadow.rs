//! The shadow: what a candidate configuration would do with the jobs of this cluster.

use crate::http::answer::{Failure, Reply};
use crate::http::clock::Clock;
use crate::http::exchange::Exchange;
use serde_json::{Value, json};

/// `GET shadow`: the shadow's state and its last report.
pub(crate) fn report(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let mut shadow = exchange.ask(&json!({"op": "shadowReport"}))?;
    if shadow.is_null() {
        return Ok(Reply::json(&json!({"state": "off"})));
    }
    // Its times are the engine's.
    let now_ms = i64::try_from(exchange.request.steady_ms).unwrap_or(i64::MAX);
    let clock = Clock::new(&json!(now_ms), exchange.request.now_ms);
    if let Value::Object(report) = &mut shadow["report"] {
        for key in ["since_ms", "now_ms"] {
            report.entry(key).and_modify(|at| clock.put_right(at));
        }
        for key in ["jobs", "running"] {
            let rows = report.get_mut(key).and_then(Value::as_array_mut);
            for row in rows.into_iter().flatten() {
                clock.put_right(&mut row["submitted_ms"]);
            }
        }
    }
    Ok(Reply::json(&shadow))
}
