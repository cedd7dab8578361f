//! The stores of the accounts, file, SQLite and PostgreSQL, and what reads and writes them.

mod conformance;
mod crash;
mod damage;
mod engine;
mod extract;
mod ledger;
mod migrate;
mod older;
mod order;
mod past;
mod purse;
#[path = "../support/mod.rs"]
mod support;
mod writer;
