//! The engine by its events and answers, one file for each part of it. One program, because each
//! would be linked alone otherwise.

mod common;

mod allocations;
mod basics;
mod by_queue;
mod compositions;
mod deficit;
mod dynamic_priority;
mod dynamic_priority_accounts;
mod dynamic_priority_authority;
mod dynamic_priority_ledger;
mod dynamic_priority_spent;
mod dynamic_queues;
mod explain;
mod explain_traces;
mod extremes;
mod facts;
mod foresee;
mod found;
mod hfsp;
mod hfsp_reloads;
mod holds;
mod labels;
mod limits;
mod listing;
mod masters;
mod offers;
mod opaque;
mod placed;
mod plan;
mod policies;
mod predictions;
mod preemption;
mod preemption_budget;
mod preemption_inside;
mod queue_model;
mod reverse_adaptive;
mod reverse_execution;
mod reverse_placement;
mod shuffle_watcher;
mod shuffle_watcher_rules;
mod slots;
mod subject;
mod switch;
mod users;
