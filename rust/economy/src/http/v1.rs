//! The answers of the routes under `/heddle/v1/`, one file per group. `route` has the routes and
//! their permissions.

pub(crate) mod advice;
pub(crate) mod body;
pub(crate) mod configuration;
pub(crate) mod jobs;
pub(crate) mod market;
pub(crate) mod nodes;
pub(crate) mod queues;
pub(crate) mod server;
pub(crate) mod shadow;

/// The served description of the routes and their answers (OpenAPI 3.1).
pub const OPENAPI: &str = include_str!("openapi.json");
