//! Section `hfsp` of `heddle.json`.

use crate::config::{Config, ConfigError, Section};
use crate::stage::entry::Key;
use crate::words::ids::Millis;

/// Service of phases that have ended virtually but not really (HF-10). They go before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// One after another, by their virtual ends, as in the authors' scheduler.
    Fifo,
    /// Side by side, so that a badly underestimated phase does not stop the others.
    Sharing,
}

/// Settings; defaults are the paper's (HF-32) where it gives any.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of a phase's sample tasks (s). With 0, sizes keep their first estimates.
    pub samples: u32,
    /// Running time after which an executing reduce is extrapolated (Delta).
    pub delta_ms: Millis,
    /// Factor on the estimated size of an unknown phase (xi).
    pub xi: f64,
    /// Percentage of the slots on which sample tasks may run before all others (t).
    pub training_percent: u32,
    /// Assumed length of a task while none of its kind has ended.
    pub default_task_ms: Millis,
    /// Service of late phases.
    pub late: Late,
    /// Whether phases age by weight, doubled by each step of YARN's application priority (HF-23).
    pub weigh_priorities: bool,
    /// Percentage of a job's maps that must have ended before its reduces may start (HF-16). None
    /// leaves that to the ApplicationMaster, which waits before it asks.
    pub slow_start_percent: Option<u32>,
    /// Whether to kill tasks in favour of phases that come before theirs (HF-13).
    pub kill: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            samples: 5,
            delta_ms: 10_000,
            xi: 1.0,
            training_percent: 100,
            default_task_ms: 60_000,
            late: Late::Fifo,
            weigh_priorities: false,
            slow_start_percent: None,
            kill: false,
        }
    }
}

/// Limit above which waits and lengths are typing errors (about 11 days).
const MILLIS_MAX: i64 = 1_000_000_000;

/// Key in the configuration.
pub(super) const SECTION: &str = "hfsp";

/// Settings of the section, as the request `policies` lists them.
pub(super) const KEYS: &[Key] = &[
    Key::new(
        "samples",
        "5",
        "number of sample tasks for a job's maps and for its reduces; 0 learns nothing",
    ),
    Key::new(
        "training_percent",
        "100",
        "percentage of the slots on which samples go before all other tasks",
    ),
    Key::new(
        "xi",
        "1.0",
        "factor on the estimated size of an unknown job",
    ),
    Key::new(
        "default_task_ms",
        "60000",
        "assumed length of a task before any has ended",
    ),
    Key::new(
        "delta_ms",
        "10000",
        "running time after which a sample reduce is extrapolated from its progress",
    ),
    Key::new(
        "late",
        "\"fifo\"",
        "jobs that take longer than estimated: one after another, or side by side \
         (`\"sharing\"`)",
    ),
    Key::new(
        "weigh_priorities",
        "false",
        "each step of application priority doubles the speed at which a job ages",
    ),
    Key::new(
        "slow_start_percent",
        "",
        "hold reduces until this percentage of the maps has ended; MapReduce's own slow \
         start does that already",
    ),
    Key::new(
        "kill",
        "false",
        "kill tasks of overtaken jobs, after `preemption.grace_ms`",
    ),
];

/// Returns the settings in force under a configuration.
pub fn settings(config: &Config) -> Settings {
    config.own(SECTION, read)
}

/// Reads the section; every key is optional.
pub(super) fn read(section: &mut Section<'_>) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    if let Some(samples) = section.whole("samples", 0, 1_000)? {
        settings.samples = samples as u32;
    }
    if let Some(delta_ms) = section.whole("delta_ms", 1, MILLIS_MAX)? {
        settings.delta_ms = delta_ms;
    }
    settings.xi = section.number("xi", 1.0, 1e6)?.unwrap_or(settings.xi);
    if let Some(percent) = section.whole("training_percent", 0, 100)? {
        settings.training_percent = percent as u32;
    }
    if let Some(task_ms) = section.whole("default_task_ms", 1, MILLIS_MAX)? {
        settings.default_task_ms = task_ms;
    }
    let late = [("fifo", Late::Fifo), ("sharing", Late::Sharing)];
    settings.late = section.choice("late", &late)?.unwrap_or(Late::Fifo);
    settings.weigh_priorities = section.boolean("weigh_priorities")?.unwrap_or(false);
    let percent = section.whole("slow_start_percent", 0, 100)?;
    settings.slow_start_percent = percent.map(|percent| percent as u32);
    settings.kill = section.boolean("kill")?.unwrap_or(false);
    Ok(settings)
}
