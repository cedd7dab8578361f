//! The API from a host's view: signed requests in, answers out, with a real engine behind it.

mod advice;
mod common;
mod configuration;
mod console;
mod documented;
mod hostile;
mod json;
mod market;
mod names;
mod opening;
mod published;
mod roles;
mod signed_only;
