//! One line of the catalogue: what a policy says of itself, and how it is made.

use crate::config::{Config, ConfigError, Section};

/// One implementation of a stage.
pub struct Entry<Stage: ?Sized> {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// The section of the configuration that it reads itself, if it has settings.
    pub own: Option<Own>,
    /// Makes it.
    pub build: fn(&Config) -> Box<Stage>,
}

/// A section of the configuration that one policy reads.
pub struct Own {
    /// Its key in `heddle.json`.
    pub section: &'static str,
    /// Reads it for its faults. Tells whether the policy takes containers back under it.
    pub check: fn(&mut Section<'_>) -> Result<bool, ConfigError>,
}
