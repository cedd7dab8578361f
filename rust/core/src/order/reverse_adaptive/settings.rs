//! Section `reverse_adaptive` of the configuration, and its optional foreign load over time, f(t)
//! (RA-2). Reads and evaluates; decides nothing.

use super::capacity::Capacity;
use crate::config::{Config, ConfigError, Section};
use crate::stage::entry::Key;
use crate::words::ids::Millis;

/// Limit above which times are typing errors (about 31 years).
const TIME_MAX_MS: i64 = 1_000_000_000_000;

/// Maximum number of load changes in a plan; beyond it the plan uses the load's mean. A day's curve
/// of 24 points reaches three weeks.
const CHANGES_MAX: usize = 512;

/// The schedulers that the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// s_fit by reversed execution, with the foreign load (RA-14).
    Reverse,
    /// s_req of the Adaptive Scheduler, blind to the foreign load (RA-36).
    Adaptive,
}

const VARIANTS: &[(&str, Variant)] = &[
    ("reverse", Variant::Reverse),
    ("adaptive", Variant::Adaptive),
];

/// Settings; each names its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `control_period_ms`: time for which a placement holds, T. RA-29.
    pub control_period_ms: Millis,
    /// `default_task_ms`: assumed length of an unknown task (RA-39).
    pub default_task_ms: Millis,
    /// `variant`: `reverse` or `adaptive`.
    pub variant: Variant,
    /// `evict`: whether to stop the newest tasks where the foreign load takes their slots (RA-28).
    /// Off by default, because a stopped task loses its work; tasks then run to their ends.
    pub evict: bool,
    /// `margin_tasks`: time kept before a goal, in lengths of a task.
    pub margin_tasks: f64,
    /// `goals_per_user`: number of a user's goals that count at once, the earliest first.
    pub goals_per_user: u32,
    /// `goal_share_per_user`: part of the slots up to which a user's goals go before jobs without a
    /// goal. 1, all of them, is the paper's, whose users are one firm.
    pub goal_share_per_user: f64,
    /// `foreign_load`, and `foreign_load_repeat_ms`.
    pub foreign_load: Option<Forecast>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            control_period_ms: 10_000,
            default_task_ms: 30_000,
            variant: Variant::Reverse,
            evict: false,
            goals_per_user: 256,
            margin_tasks: 1.0,
            goal_share_per_user: 1.0,
            foreign_load: None,
        }
    }
}

/// Key in the configuration.
pub(super) const SECTION: &str = "reverse_adaptive";

/// Settings of the section, as the request `policies` lists them.
pub(super) const KEYS: &[Key] = &[
    Key::new(
        "control_period_ms",
        "10000",
        "time for which a placement holds",
    ),
    Key::new(
        "default_task_ms",
        "30000",
        "assumed length of an unknown task",
    ),
    Key::new(
        "foreign_load",
        "",
        "the part of the cluster that other workloads take, as a list of `[from_ms, part]`",
    ),
    Key::new(
        "foreign_load_repeat_ms",
        "",
        "time after which the list begins again (86400000: a day, times count from its \
         beginning); otherwise times count from the epoch",
    ),
    Key::new(
        "goals_per_user",
        "256",
        "maximum number of a user's goals that count at once, the earliest first",
    ),
    Key::new(
        "goal_share_per_user",
        "1.0",
        "part of the slots up to which a user's goals go before jobs without a goal. Any user \
         may claim a goal: on a shared cluster set a part",
    ),
    Key::new(
        "margin_tasks",
        "1.0",
        "time that is kept before a goal, in lengths of a task: tasks are whole, and the last \
         begins a length before the goal; 0 as published",
    ),
    Key::new(
        "variant",
        "\"reverse\"",
        "`\"adaptive\"` is the scheduler that the paper compares with; it ignores future load",
    ),
    Key::new(
        "evict",
        "false",
        "stop the newest containers where the foreign load takes their slots; otherwise wait \
         until their tasks end",
    ),
];

/// Returns the settings in force; times of day are those of the configuration's wall clock.
pub(super) fn settings(config: &Config) -> Settings {
    let mut settings = config.own(SECTION, read);
    if let Some(forecast) = &mut settings.foreign_load {
        forecast.set_epoch(config.epoch_ms);
    }
    settings
}

/// Reads the section; every key is optional.
pub(super) fn read(section: &mut Section<'_>) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    if let Some(period_ms) = section.whole("control_period_ms", 1, TIME_MAX_MS)? {
        settings.control_period_ms = period_ms;
    }
    if let Some(task_ms) = section.whole("default_task_ms", 1, TIME_MAX_MS)? {
        settings.default_task_ms = task_ms;
    }
    if let Some(variant) = section.choice("variant", VARIANTS)? {
        settings.variant = variant;
    }
    settings.evict = section.boolean("evict")?.unwrap_or(false);
    if let Some(margin) = section.number("margin_tasks", 0.0, 100.0)? {
        settings.margin_tasks = margin;
    }
    if let Some(goals) = section.whole("goals_per_user", 0, 1_000_000)? {
        settings.goals_per_user = u32::try_from(goals).expect("it is in the range asked for");
    }
    if let Some(share) = section.number("goal_share_per_user", 0.0, 1.0)? {
        settings.goal_share_per_user = share;
    }
    settings.foreign_load = read_forecast(section)?;
    Ok(settings)
}

fn read_forecast(section: &mut Section<'_>) -> Result<Option<Forecast>, ConfigError> {
    let repeat_ms = section.whole("foreign_load_repeat_ms", 1, TIME_MAX_MS)?;
    let mut points: Vec<(Millis, f64)> = Vec::new();
    for (path, value) in section.list("foreign_load")? {
        let point = match value.as_array().map(Vec::as_slice) {
            Some([from, part]) => from.as_i64().zip(part.as_f64()),
            _ => None,
        };
        let in_order = |at: Millis| points.last().is_none_or(|last: &(Millis, f64)| last.0 < at);
        let in_time = |at: Millis| repeat_ms.is_none_or(|repeat_ms| (0..repeat_ms).contains(&at));
        let good = |p: &(i64, f64)| in_order(p.0) && in_time(p.0) && (0.0..=1.0).contains(&p.1);
        match point.filter(good) {
            Some(point) => points.push(point),
            None => {
                let problem = format!(
                    "expected [from_ms, part of the cluster from 0 to 1], later than the one \
                     before and within `foreign_load_repeat_ms`, found {value}"
                );
                return Err(ConfigError::new(path, problem));
            }
        }
    }
    Ok((!points.is_empty()).then_some(Forecast {
        points,
        repeat_ms,
        epoch_ms: 0,
    }))
}

/// The foreign load over time as a part of the cluster: constant between points.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Beginnings and parts; ascending, not empty.
    points: Vec<(Millis, f64)>,
    /// Time after which it repeats, such as a day; None if it never does.
    repeat_ms: Option<Millis>,
    /// Time of the points' clock when the engine's clock was 0.
    epoch_ms: Millis,
}

impl Forecast {
    /// Sets the time that the points' clock showed when the engine's was 0.
    fn set_epoch(&mut self, epoch_ms: Millis) {
        self.epoch_ms = epoch_ms;
    }

    /// Returns the part of the cluster that is taken at `now`. Before the first point, the last
    /// point of the previous round holds; without rounds the part is 0.
    pub fn at(&self, now: Millis) -> f64 {
        let now = now + self.epoch_ms;
        let (t, before) = match self.repeat_ms {
            Some(repeat_ms) => (
                now.rem_euclid(repeat_ms),
                self.points[self.points.len() - 1].1,
            ),
            None => (now, 0.0),
        };
        let upto = self.points.partition_point(|(from, _)| *from <= t);
        if upto == 0 {
            before
        } else {
            self.points[upto - 1].1
        }
    }

    /// Returns its changes after `now`, up to `until`, as beginnings and parts.
    fn changes(&self, now: Millis, until: Millis) -> Vec<(Millis, f64)> {
        let epoch_ms = self.epoch_ms;
        let changes = self.changes_by_its_clock(now + epoch_ms, until.saturating_add(epoch_ms));
        let to_ours = |(at, part): (Millis, f64)| (at - epoch_ms, part);
        changes.into_iter().map(to_ours).collect()
    }

    fn changes_by_its_clock(&self, now: Millis, until: Millis) -> Vec<(Millis, f64)> {
        let mut changes = Vec::new();
        let mut round_ms = self
            .repeat_ms
            .map_or(0, |repeat_ms| now - now.rem_euclid(repeat_ms));
        loop {
            for (from, part) in &self.points {
                let at = round_ms + from;
                if at > until {
                    return changes;
                } else if changes.len() >= CHANGES_MAX {
                    changes.push((at, self.mean()));
                    return changes;
                } else if at > now {
                    changes.push((at, *part));
                }
            }
            match self.repeat_ms {
                Some(repeat_ms) => round_ms += repeat_ms,
                None => return changes,
            }
        }
    }

    /// Returns the mean over one round; without rounds, the last part.
    fn mean(&self) -> f64 {
        let last = self.points[self.points.len() - 1];
        let Some(repeat_ms) = self.repeat_ms else {
            return last.1;
        };
        let ends = self
            .points
            .iter()
            .skip(1)
            .map(|(from, _)| *from)
            .chain([repeat_ms]);
        let area = |((from, part), to): (&(Millis, f64), Millis)| part * (to - from) as f64;
        let sum: f64 = self.points.iter().zip(ends).map(area).sum();
        (sum + last.1 * self.points[0].0 as f64) / repeat_ms as f64
    }
}

/// Returns the slots left of `slots` from `now` to `until`, over ms. An observation `free_now`
/// holds for `observed_ms` (0 if there is none), then the forecast. Without a forecast the
/// observation holds throughout.
pub(super) fn capacity(
    forecast: Option<&Forecast>,
    (now, until): (Millis, Millis),
    slots: f64,
    free_now: f64,
    observed_ms: Millis,
) -> Capacity {
    let mut steps = vec![(now as f64, free_now)];
    if let Some(forecast) = forecast {
        let from = now + observed_ms;
        let mut step = |at: Millis, part: f64| steps.push((at as f64, slots * (1.0 - part)));
        if observed_ms > 0 {
            step(from, forecast.at(from));
        }
        for (at, part) in forecast.changes(from, until) {
            step(at, part);
        }
    }
    Capacity::steps(&steps).expect("each step is later than the one before")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn settings(section: Value) -> Result<Settings, ConfigError> {
        Section::all(SECTION, &section, read)
    }

    fn forecast(section: Value) -> Forecast {
        let settings = settings(section).expect("a good section");
        settings.foreign_load.expect("it has a load")
    }

    #[test]
    fn everything_has_a_default_and_what_is_wrong_is_told() {
        let read = settings(json!({})).expect("an empty section");
        assert_eq!(read, Settings::default());
        assert_eq!(read.control_period_ms, 10_000, "RA-29");
        let read = settings(json!({"variant": "adaptive", "evict": true})).expect("known keys");
        assert_eq!((read.variant, read.evict), (Variant::Adaptive, true));
        let key = |section| settings(section).map_err(|error| error.key);
        let error = |key: &str| Err(format!("reverse_adaptive.{key}"));
        assert_eq!(key(json!({"variant": "revers"})), error("variant"));
        assert_eq!(
            key(json!({"control_period_ms": 0})),
            error("control_period_ms")
        );
        assert_eq!(
            key(json!({"foreign_load": [[0, 0.1], [0, 0.2]]})),
            error("foreign_load[1]")
        );
        assert_eq!(
            key(json!({"foreign_load": [[0, 1.1]]})),
            error("foreign_load[0]")
        );
        let beyond = json!({"foreign_load": [[9, 0.1]], "foreign_load_repeat_ms": 9});
        assert_eq!(key(beyond), error("foreign_load[0]"));
        assert_eq!(key(json!({"evicts": true})), error("evicts"));
    }

    #[test]
    fn a_load_that_is_given_once_holds_from_its_first_point_to_the_end() {
        let once = forecast(json!({"foreign_load": [[100, 0.5], [200, 0.25]]}));
        assert_eq!(
            [50, 100, 199, 200, 9_999].map(|t| once.at(t)),
            [0.0, 0.5, 0.5, 0.25, 0.25]
        );
        let capacity = capacity(Some(&once), (50, 1_000), 8.0, 8.0, 0);
        // 50 ms of 8, 100 of 4, 800 of 6.
        assert_eq!(capacity.integral(50.0, 1_000.0), 400.0 + 400.0 + 4_800.0);
    }

    /// The wall clock showed 1,030 when the engine's showed 0.
    #[test]
    fn points_are_by_the_wall_clock() {
        let mut once = forecast(json!({"foreign_load": [[1_100, 0.5], [1_200, 0.25]]}));
        once.set_epoch(1_030);
        let parts = [69, 70, 169, 170].map(|t| once.at(t));
        assert_eq!(parts, [0.0, 0.5, 0.5, 0.25]);
        assert_eq!(once.changes(0, 500), [(70, 0.5), (170, 0.25)]);
        assert_eq!(once.changes(70, 169), []);
        let daily = json!({"foreign_load": [[20, 0.5], [60, 0.0]], "foreign_load_repeat_ms": 100});
        let mut daily = forecast(daily);
        daily.set_epoch(1_030);
        // The wall clock's 20 and 60 past are the engine's 90 and 30 past.
        let parts = [0, 29, 30, 89, 90, 130].map(|t| daily.at(t));
        assert_eq!(parts, [0.5, 0.5, 0.0, 0.0, 0.5, 0.0]);
        assert_eq!(daily.changes(0, 100), [(30, 0.0), (90, 0.5)]);
    }

    #[test]
    fn a_daily_load_begins_again_every_day() {
        let daily = json!({"foreign_load": [[20, 0.5], [60, 0.0]], "foreign_load_repeat_ms": 100});
        let daily = forecast(daily);
        assert_eq!(
            [0, 19, 20, 59, 60, 119, 120, 460].map(|t| daily.at(t)),
            [0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.0]
        );
        // 40 of every 100 ms at half.
        let capacity = capacity(Some(&daily), (1_000, 2_000), 10.0, 10.0, 0);
        assert_eq!(capacity.integral(1_000.0, 2_000.0), 10_000.0 - 10.0 * 200.0);
        // Far away the mean replaces it: a fifth.
        let far = (CHANGES_MAX as Millis) * 100;
        let capacity = super::capacity(Some(&daily), (0, far), 10.0, 10.0, 0);
        let last = far as f64;
        assert!((capacity.at(last) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_observed_holds_for_a_cycle_before_what_was_forecast() {
        let once = forecast(json!({"foreign_load": [[0, 0.5]]}));
        let capacity = capacity(Some(&once), (0, 100), 8.0, 1.0, 10);
        assert_eq!(capacity.integral(0.0, 100.0), 10.0 + 90.0 * 4.0);
        let capacity = super::capacity(None, (0, 100), 8.0, 1.0, 10);
        assert_eq!(
            capacity.integral(0.0, 100.0),
            100.0,
            "nothing else is known"
        );
    }
}
