//! The commands that run an economy, as processes of the built binary, against the real service
//! around a real engine and a real store, behind a small HTTP server. What is expected follows by
//! hand from bids, slots and intervals.

mod changes;
mod guarded;
mod hostile;
mod ledger;
mod offline;
mod questions;
mod site;
mod stores;
mod trouble;
mod window;
