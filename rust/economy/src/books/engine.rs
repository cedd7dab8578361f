//! What the books ask of the engine that they serve. Implemented by its host.

use super::Outbox;
use serde_json::Value;
use std::sync::Arc;

/// What the books saved for a new engine, as its requests take it.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedState {
    /// Accounts, for `restoreAccounts`. An engine without a market takes none.
    pub accounts: Value,
    /// Lessons, for `restoreLessons`.
    pub lessons: Value,
}

/// The engine behind its host's lock. Callers must not wait for a disk or a network under that
/// lock.
pub trait Engine: Send + Sync {
    /// Identifies this engine among those made before and after it.
    fn id(&self) -> u64;

    /// Reads the engine's monotonic clock: milliseconds from an arbitrary start.
    fn now_ms(&self) -> i64;

    /// Serves one request of the control plane.
    ///
    /// # Errors
    /// What is wrong with the request, or that there is no engine to serve it.
    fn request(&self, request: &Value) -> Result<Value, String>;

    /// Gives the engine the saved state, if there is one. From then on posts changes of accounts
    /// and lessons to `outbox`. Atomic: no change comes between the two. Returns false if there is
    /// no engine, because it was lost and the next one is not made yet.
    ///
    /// # Errors
    /// Why the engine refuses what was saved; nothing is posted then.
    fn attach(&self, saved: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String>;
}
