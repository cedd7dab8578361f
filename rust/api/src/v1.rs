//! What the routes under `/heddle/v1/` answer, one file per group. Which there are and who may use
//! them is in `route`.

pub(crate) mod advice;
pub(crate) mod body;
pub(crate) mod jobs;
pub(crate) mod market;
pub(crate) mod queues;
pub(crate) mod server;

/// The description of the routes and their answers (OpenAPI 3.1), as it is served.
pub const OPENAPI: &str = include_str!("openapi.json");
