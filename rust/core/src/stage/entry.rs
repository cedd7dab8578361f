//! One line of the catalogue: what a policy says of itself, and how it is made.

use crate::config::{Config, ConfigError, Section};

/// One implementation of a stage.
pub struct Entry<Stage: ?Sized> {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// The composition that is named after it, if there is one.
    pub preset: Option<Preset>,
    /// The facts that it wants to hear of jobs and that only their ApplicationMasters know.
    pub wants: &'static [Wants],
    /// Keys of the configuration outside of its section that act only under an entry that lists
    /// them. Without a list of their own, keys act under every policy.
    pub reads: &'static [&'static str],
    /// The section of the configuration that it reads itself, if it has settings.
    pub own: Option<PolicySection>,
    /// Builds the stage.
    pub build: fn(&Config) -> Box<Stage>,
}

/// The keys of shares that divide the cluster among a tree of queues.
pub const DIVISION: &[&str] = &["queues.weight", "queues.min_share", "preemption.enabled"];

/// A name for a composition.
#[derive(Clone, Copy)]
pub struct Preset {
    /// The value of `policy` in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// The stages: share, order, place.
    pub stages: [&'static str; 3],
    /// The workload that shows what it does: `users`, `bids`, `shuffles`, `sizes` or `goals`.
    pub workload: &'static str,
}

/// Facts of a job that a host has to ask its ApplicationMaster for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// How many maps and reduces it has.
    Totals,
    /// The bytes that its tasks have read and shuffled.
    Traffic,
    /// How far samples of its running reduces are.
    Progress,
    /// How far each running task is, and which commit. Wanted only if a policy takes containers
    /// back by its settings.
    Tasks,
}

impl Wants {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Wants::Totals => "totals",
            Wants::Traffic => "traffic",
            Wants::Progress => "progress",
            Wants::Tasks => "tasks",
        }
    }
}

/// A section of the configuration that one policy reads.
pub struct PolicySection {
    /// Its key in `heddle.json`.
    pub section: &'static str,
    /// Every key in it.
    pub keys: &'static [Key],
    /// Checks the section. Returns whether the policy takes containers back with these settings.
    pub check: fn(&mut Section<'_>) -> Result<bool, ConfigError>,
}

/// One setting of a policy.
pub struct Key {
    /// Its name in the section.
    pub name: &'static str,
    /// Its default, as JSON; empty if there is none.
    pub default: &'static str,
    /// Its effect.
    pub says: &'static str,
}

impl Key {
    /// A setting: name, default, what it does.
    pub const fn new(name: &'static str, default: &'static str, says: &'static str) -> Key {
        Key {
            name,
            default,
            says,
        }
    }
}
