//! The words of the engine: ids, amounts, kinds, keys, events and decisions. Imports nothing of
//! the crate above itself.

pub mod credits;
pub mod event;
pub mod exit;
pub mod ids;
pub mod keys;
pub mod kind;
pub mod ledger;
pub mod resource;
pub(crate) mod table;
