//! What others say about jobs: `hints` parses the claims of submissions, `replies` the answers of
//! MapReduce's web services. Both come from users, so nothing of it is believed.

pub(crate) mod hints;
mod replies;

pub use hints::{hint_variable, hints};
pub use replies::reply;
