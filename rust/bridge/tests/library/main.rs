//! The library as a host uses it: frames, requests, journals, accounts, the shadow. Beside it, what
//! must be the same as in the sources: generated constants and licences.

mod economy;
mod facts;
mod frames;
mod generated;
mod journal;
mod lessons;
mod manager;
mod purse;
mod replay;
#[path = "../../../economy/tests/support/server.rs"]
mod server;
mod shadow;
mod submissions;
#[path = "../support/mod.rs"]
mod support;
mod third_party;
