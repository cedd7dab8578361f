//! The command line as a user types it: each test starts `heddle`. `economy` has its commands that
//! speak to a ResourceManager.

mod check_config;
mod pseudonyms;
mod recorded;
mod replay;
mod simulate;
mod stock_files;
#[path = "../../../bridge/tests/support/mod.rs"]
mod support;
mod whatif;
