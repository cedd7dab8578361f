//! Tests the economy's commands as processes of the built binary. A small HTTP server fronts the
//! real service with a real engine and a real store. Expected values follow by hand from bids,
//! slots and intervals.

mod changes;
mod guarded;
mod hostile;
mod ledger;
mod offline;
mod questions;
#[path = "../../../economy/tests/support/server.rs"]
mod server;
mod site;
mod stores;
#[path = "../../../bridge/tests/support/mod.rs"]
mod support;
mod trouble;
mod window;
