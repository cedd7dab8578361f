//! Decides whether accounts can be shown and changed. Between the start of a ResourceManager and
//! the reading of its store, the engine has the accounts of its configuration. They have opening
//! budgets, and lack the queues that only the store has. These are no real accounts, so they are
//! never shown. Accounts that were read once are shown even while the store is out of reach, with a
//! header that says so. The host refuses changes until the books are open, and has the last word on
//! them.

use crate::http::Backend;
use crate::http::account;
use crate::http::answer::{Failure, Reply};
use crate::record::BooksState;

/// Reports that the shown accounts may not be in the store.
const HEADER: &str = "Heddle-Books";

/// Returns the error if accounts cannot be shown (or `changed`) now. It names no place of a store,
/// because the caller is not identified yet.
pub(crate) fn open(backend: &dyn Backend, changed: bool) -> Result<(), Failure> {
    let books = backend.books();
    let read = books.read;
    let (what, expected, retry) = match books.state {
        // The first attempt is under way, or the engine is about to get its accounts.
        BooksState::Opening | BooksState::Standby => (
            "the books are being opened: accounts are known in a moment, and scheduling goes on \
             meanwhile",
            "books that are open; try again in a moment, GET health says how it is",
            Some("1"),
        ),
        BooksState::Unreachable if !read => (
            "the store cannot be read, and was not since the start: accounts are not known, and \
             scheduling goes on meanwhile",
            "a store that can be reached, which is tried by itself; the ResourceManager's log \
             names the cause",
            Some("5"),
        ),
        BooksState::Stopped if changed || !read => (
            "the store is damaged or of another version: nothing is written to it, and scheduling \
             goes on meanwhile",
            "a copy of the store in its place, and a restart of the ResourceManager; its log names \
             the place and the cause",
            None,
        ),
        BooksState::Fenced if changed || !read => (
            "another ResourceManager has taken the store over",
            "the address of the ResourceManager that is active",
            None,
        ),
        _ => return Ok(()),
    };
    // A policy without accounts shows none, whatever the state of the store.
    if retry != Some("1") && account::price(backend).is_err_and(|why| why.status == 404) {
        return Ok(());
    }
    let failure = Failure::new(503, what, "store", expected);
    Err(match retry {
        Some(seconds) => failure.with("Retry-After", seconds),
        None => failure,
    })
}

/// Adds the header if the store may lack the current accounts.
pub(crate) fn marked(backend: &dyn Backend, reply: Reply) -> Reply {
    match backend.books().state {
        state @ (BooksState::Unreachable | BooksState::Fenced | BooksState::Stopped) => {
            reply.with(HEADER, state.to_string())
        }
        _ => reply,
    }
}
