//! What runs beside the engine in a ResourceManager: the books, which follow the engine's
//! accounts into a store (`books`), fed by the engine's host (`outbox`), and its answers over HTTP
//! (`service`), some of them out of the store (`reader`). Decides nothing about slots, runs on
//! threads of its host's that are not the scheduling thread, and knows neither Java nor sockets.
#![forbid(unsafe_code)]

mod books;
mod lessons;
mod marks;
mod outbox;
mod reader;
mod service;
mod settings;

pub use books::{Books, Changed, WhileDown};
pub use outbox::{Collected, Outbox, Posted};
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
