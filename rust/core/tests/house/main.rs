//! The house rules as tests, and the tables and lists that are written from the sources.

mod imports;
mod java_packages;
mod layers;
mod messages;
mod requirements;
mod sources;
mod tables;
mod tidy;
mod tokens;
