//! Runs beside an engine in a ResourceManager and outlives it. The books follow the engine's
//! accounts into a store (`books`), fed by the engine's host (`outbox`). Answers over HTTP
//! (`service`) come from the same accounts, older ones from the store (`reader`). `hints` parses
//! what submissions claim of their jobs, `replies` what MapReduce's web services answer.
//!
//! The crate decides nothing about slots. It runs on threads of its host, never on the scheduling
//! thread, and knows neither Java nor sockets. In a ResourceManager the host is the bridge
//! (`services`), and the shim's `Economy` gives a thread and the time.
//!
//! ```text
//! engine (scheduling thread) -> ledger -> Outbox -> Books -> Writer -> store
//! web threads -> ApiHandler -> Service -> heddle_api -> engine, Books
//! ```
//!
//! # Rules
//!
//! - *The engine says what happened to accounts*, in order: openings, grants, rates, and the rows
//!   of each interval. The host posts that under the engine's lock, so it is written in the order
//!   in which it happened. The scheduling thread does no more than that.
//! - *A new engine has its accounts from the books* (`restoreAccounts`, at the next second) after
//!   a panic, a restart or a failover. Accounts that it opened itself are then replaced, or noted
//!   as new. The interval in between is free.
//! - *When the books cannot follow, the engine goes back to them*: after dropped entries, or ones
//!   that the writer refuses. When nothing is written any more (fenced, stopped), it goes on by
//!   itself, and the state says so.
//! - *A change holds the books' lock over engine and writer, and waits for the disk without it*,
//!   for 2 s at most. Then it is withdrawn; or, if it may have been written or `store.while_down`
//!   accepts it, the answer has the header `Heddle-Stored: later`. Before the books were read, and
//!   after they were fenced, changes are refused (503).
//! - *Accounts are not shown before the books were read.* The engine has opening budgets then, and
//!   none of the queues that only the store has. A 503 says what is wrong and what to do. It comes
//!   before the signature is looked at, so the same request is valid afterwards. During an outage
//!   accounts that were read once are shown, with the header `Heddle-Books` (`unreachable`,
//!   `fenced`, `stopped`). A new engine has none for a second. Clock, health, description,
//!   configuration and jobs answer always, and so does all that a policy without accounts shows.
//! - *The audit line is written before the answer is sent*: it comes with the answer to Java. A
//!   store in trouble is an error in the log once, with the remedy.
//! - *The past is read once*, when the books are open and before the first interval is written, by
//!   the writing thread. It has as many intervals as the interface remembers, and 200,000 rows at
//!   the most. Only requests for an older ledger wait for the store. A past that cannot be read is
//!   logged and told as not `complete`.
//! - *The ledger before that is read by the thread that asks* (`reader`, `heddle_store::extract`),
//!   with a connection of its own, without a lock that a writer or the engine takes. A page has at
//!   most 5,000 intervals and 10,000 rows, and those of one interval more. Pages go by the numbers
//!   of intervals, since clocks may be set back; the memory counts from where no number is missing
//!   (`History::whole_from`). The store is asked first how far it reaches: intervals forgotten and
//!   not yet written give a 503. A merged interval counts as a whole, on the store's side of the
//!   seam. No transaction is needed: committed rows do not change.
//! - *Reports are half a second old at most*, and the same for all callers, up to 64 kinds. So
//!   many pages cost the scheduler what one does; a list of jobs asks for each.
//! - *Without `store` in heddle.json* budgets last as long as the engine. There is no default
//!   place. The only folder that every installation has is a temporary one; a second cluster on
//!   the machine would find the first one's accounts there.
//! - *Lessons about jobs go the same way* (`Place::lessons`, `Entry::Learnt`), under every policy:
//!   shuffle ratios by program. A new engine is told (`restoreLessons`).
//! - *A job's signature is checked when it is submitted*, on the scheduling thread: no lock that
//!   this takes is held over a disk. The parameters are variables of the ApplicationMaster's
//!   environment, named by `auth::job::variable`. The engine is told what the job may spend
//!   (`authorize`), again after each failure and failover. A job that comes back without an
//!   attempt comes as new, but before the scheduler is started.
//! - *Locks*: books, then engine, then outbox. Of Java's, the scheduler's is held over the gate's
//!   and that of `Books::note`, and no other.
#![forbid(unsafe_code)]

mod books;
mod hints;
mod lessons;
mod marks;
mod outbox;
mod reader;
mod replies;
mod service;
mod settings;

pub use books::{Books, Changed, WhileDown};
pub use hints::{hint_variable, hints};
pub use outbox::{Collected, Outbox, Posted};
pub use replies::reply;
pub use service::Service;

use serde_json::Value;
use std::sync::Arc;

/// What is wrong with sections `api` and `store` of `heddle.json`, for who wants to know before a
/// ResourceManager does. Opens nothing but the file with a store's password.
///
/// # Errors
/// Which setting is wrong, what was expected and what to do.
pub fn check(config: &Value) -> Result<(), String> {
    heddle_api::check(&settings::Settings::read(config)?.api)
}

/// The engine behind its host's lock. What is done with it must not wait for a disk or a network.
pub trait Engine: Send + Sync {
    /// What tells this engine from one that was made before or after it.
    fn id(&self) -> u64;

    /// What the engine's clock shows, which nobody sets: milliseconds since any moment.
    fn now_ms(&self) -> i64;

    /// Serves one request of the control plane.
    ///
    /// # Errors
    /// What is wrong with the request, or that there is no engine to serve it.
    fn request(&self, request: &Value) -> Result<Value, String>;

    /// Gives the engine what was saved, if anything was: `accounts` as its `restoreAccounts` takes
    /// them, if it keeps any, and `lessons` for `restoreLessons`. From then on posts what happens
    /// to accounts and what it learns. In one piece, so that nothing comes between.
    ///
    /// # Errors
    /// As [`Engine::request`]; nothing is posted then.
    fn attach(&self, saved: Option<&Value>, outbox: &Arc<Outbox>) -> Result<(), String>;
}
