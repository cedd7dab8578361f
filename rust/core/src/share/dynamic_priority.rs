//! Dynamic Priority (Sandholm and Lai, JSSPP 2010): users hold budgets of credits and bid a rate
//! per slot and interval; slots are divided in proportion to the bids and paid for if used.

pub mod account;
pub mod policy;
pub mod quota;
pub mod reclaim;
