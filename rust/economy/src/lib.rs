//! Keeps the accounts of a ResourceManager's engine and outlives that engine. Stores and shows the
//! accounts, and decides who may change them.
//!
//! The crate decides nothing about slots. It runs on threads of its host and on those of its stores
//! and purses. It runs on the scheduling thread only in `Service::submit` and `Outbox::post`. It
//! knows no Java and serves no socket. In a ResourceManager the host is the bridge (`services`),
//! and the shim's `Economy` gives a thread and the time.
//!
//! # Modules
//!
//! From the ground up; `core/tests/house/layers.rs` has what each may import.
//!
//! - `record`: the values that stores, books and pages share: intervals, changes, states.
//! - `hints`: parses the claims of submissions about their jobs.
//! - `auth`: signatures, protection against replay, roles, limits, audit lines.
//! - `store`: the places for the books (files, SQLite, PostgreSQL), and their writer.
//! - `http`: what is answered, by route. Asks its host for the rest (`Backend`).
//! - `books`: the accounts' way from an engine into a store and back. The engine's host feeds them
//!   (`outbox`); `reader` reads ledger pages older than the in-memory window; `drawer` fills
//!   accounts from purses that several ResourceManagers share.
//! - `service`, `settings`: put these together for a host, from sections of `heddle.json`.
//!
//! ```text
//! engine (scheduling thread) -> ledger -> Outbox -> Books -> Writer -> store
//! web threads -> ApiHandler -> Service -> Api -> RequestContext -> Books -> engine
//! ```
//!
//! # A bid, from the filter to the account
//!
//! `PUT /heddle/v1/queues/alice/bid` passes these functions:
//!
//! 1. The shim's `HeddleFilter` and `ApiHandler` read it; JNI leads to the bridge's
//!    `services::serve`.
//! 2. `Service::serve` parses the head, and makes a `RequestContext`: the `Backend` of this
//!    request.
//! 3. `Api::answer` picks the interface: `route::answer`, or `published::answer` for `/scheduler`.
//! 4. `route::find` finds the route. `route::serve` makes its `Exchange`, and writes the audit line
//!    in the end.
//! 5. `Exchange::carry_out` checks the form; `http::books::open` checks that accounts are known.
//! 6. `Api::identify` proves the sender with `Gate::identify`; `Identity::may` checks the role.
//! 7. The route's handler, `queues::bid`, reads the body; `Exchange::change` and `account::change`
//!    turn it into an engine request.
//! 8. `RequestContext::change` adds the watermarks of the signature; `Books::change` locks the
//!    books and calls `Engine::request`. The engine's market changes the account, and its host
//!    posts that to the `Outbox`.
//! 9. `Inner::hand_over` takes it from there to `Writer::changes`, together with the watermarks.
//!    `Receipt::wait` waits for the disk, without the lock.
//! 10. `account::account` reads the account, which is the answer.
//!
//! # Rules
//!
//! - *The engine reports what happened to accounts*, in order: openings, grants, rates, and the
//!   rows of each interval. The host posts the entries under the engine's lock, so the books have
//!   them in that order. The scheduling thread does no more than that.
//! - *A new engine gets its accounts from the books* (`restoreAccounts`, at the next second) after
//!   a panic, a restart or a failover. Accounts that it opened itself are then replaced, or noted
//!   as new. The interval in between is free.
//! - *An engine that the books cannot follow is reset to them*: after dropped entries, or after
//!   entries that the writer refuses. If nothing is written any more (fenced, stopped), the engine
//!   goes on by itself, and the state says so.
//! - *A change holds the books' lock over engine and writer, and waits for the disk without it*,
//!   for 2 s at most. After that it is withdrawn. If it may have been written, or
//!   `store.while_down` accepts it, the answer has the header `Heddle-Stored: later` instead.
//!   Before the books were read, and after they were fenced, changes are refused (503).
//! - *Accounts are not shown before the books were read.* Until then the engine has opening
//!   budgets, and lacks the queues that only the store has. A 503 says what is wrong and what to
//!   do. It comes before the signature is checked, so the same request is valid afterwards. During
//!   an outage, accounts that were read once are shown, with the header `Heddle-Books`
//!   (`unreachable`, `fenced`, `stopped`). A new engine has none for a second. Clock, health,
//!   description, configuration and jobs always answer, and so does all that a policy without
//!   accounts shows.
//! - *The audit line is written before the answer is sent*: it comes with the answer to Java. A
//!   store in trouble is logged as an error once, with the remedy.
//! - *The past is read once*, by the writing thread, when the books are open and before the first
//!   interval is written. It has as many intervals as the interface remembers, and 200,000 rows at
//!   most. Only requests for an older ledger wait for the store. If the past cannot be read, that
//!   is logged, and answers are not `complete`.
//! - *Older ledger pages are read on the thread of the request* (`books/reader`,
//!   `store::extract`), with a connection of its own and without a lock that the writer or
//!   the engine takes. A page has at most 5,000 intervals and 10,000 rows, plus those of one more
//!   interval. Pages are numbered by interval because clocks may be set back. Memory answers from
//!   the number after which none is missing (`History::whole_from`). The store is first asked how
//!   far it reaches: intervals that memory has forgotten and the store has not yet written give a
//!   503. A merged interval counts as a whole, on the store's side of the seam. No transaction is
//!   needed because committed rows do not change.
//! - *Reports are cached for half a second* and shared by all callers, up to 64 different ones.
//!   Many open pages then cost the scheduler as much as one; a list of jobs asks for each job.
//! - *Without `store` in heddle.json* budgets last as long as the engine. There is no default
//!   place. The only folder that every installation has is a temporary one, where a second cluster
//!   on the machine would find the first one's accounts.
//! - *Lessons about jobs go the same way* (`Stage::lessons`, `Entry::Learnt`) under every policy:
//!   shuffle ratios by program, for example. A new engine gets them by `restoreLessons`.
//! - *A job's signature is checked at submission*, on the scheduling thread: no lock taken there is
//!   held over disk access. Its parameters are environment variables of the ApplicationMaster,
//!   named by `auth::job::variable`. The engine is told what the job may spend (`authorize`), and
//!   again after each failure and failover. A recovered job without an attempt arrives as a new
//!   one, but before the scheduler starts.
//! - *Locks* are taken in this order: drawer, books, engine, outbox. Of Java's locks, the
//!   scheduler's alone may be held while the gate's or that of `Books::note` is taken.
#![forbid(unsafe_code)]

pub mod auth;
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "readers of a store wait"
)]
mod books;
mod hints;
pub mod http;
pub mod record;
mod service;
mod settings;
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "its writer is a thread"
)]
pub mod store;

pub use books::{
    Books, ChangeOutcome, Engine, EntryBatch, Outbox, PostedEntry, RestoredMarks, SavedState,
    WhileDown,
};
pub use hints::{hint_variable, hints};
pub use service::{Service, Wanted};

use serde_json::Value;

/// Checks the sections `api` and `store` of `heddle.json` without a ResourceManager. Opens only the
/// files with passwords.
///
/// # Errors
/// Which setting is wrong, what was expected and what to do.
pub fn check(config: &Value) -> Result<(), String> {
    http::check(&settings::Settings::read(config)?.api)
}
