//! Whether accounts can be shown yet. Between the start of a ResourceManager and the moment at
//! which its store was read, the engine has the accounts of its configuration: opening budgets, and
//! none of the queues that only the store has. For the usual second that takes, no answer is better
//! than that one. But whoever watches an outage must see the cluster, so once an attempt to reach
//! the store has failed, the engine's state is shown, and a header says what it is. Changes are
//! refused by the host until the books are open.

use crate::Engine;
use crate::answer::{Failure, Reply};

/// Says that what is shown was not read from the store, or is not written there.
const HEADER: &str = "Heddle-Books";

/// Nothing, or why accounts are neither shown nor changed at this moment.
pub(crate) fn open(engine: &dyn Engine) -> Result<(), Failure> {
    let books = engine.books();
    match books["state"].as_str() {
        // No attempt has ended, or the engine is given its accounts in a moment.
        Some("opening" | "standby") => {
            let what = "the books are being opened: accounts are known in a moment, and \
                        scheduling goes on meanwhile";
            let expected = "books that are open; try again in a moment, GET health says how it is";
            Err(Failure::new(503, what, "store", expected).with("Retry-After", "1"))
        }
        _ => Ok(()),
    }
}

/// With what there is to say about accounts that the store does not have like this.
pub(crate) fn marked(engine: &dyn Engine, reply: Reply) -> Reply {
    let books = engine.books();
    let state = match books["state"].as_str() {
        Some("unreachable") => "unreachable",
        Some("fenced") => "fenced",
        Some("stopped") => "stopped",
        _ => return reply,
    };
    match books["read"].as_bool() {
        Some(false) => reply.with(HEADER, format!("{state}; not read since the start")),
        _ => reply.with(HEADER, state),
    }
}
