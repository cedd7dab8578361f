//! Properties of the whole scheduler that are defaults of queues and users (facts 2.1).

use super::setting::Setting;
use super::source::Source;
use super::tree::Creates;
use crate::{Fault, java};
use serde_json::{Map, Value as Json, json};

/// Defaults of queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    /// The part for ApplicationMasters.
    pub(super) am_percent: f64,
    /// `minimum-user-limit-percent`.
    pub(super) user_limit_percent: f32,
    pub(super) user_limit_factor: f32,
    /// Applications of the whole system.
    pub(super) applications: i32,
    /// Of a leaf, where set.
    pub(super) applications_of_leaf: Option<i32>,
}

/// Reads them, and writes those that `heddle.json` has as defaults, too.
pub(super) fn read(
    source: &mut Source<'_>,
    config: &mut Map<String, Json>,
) -> Result<Defaults, Fault> {
    let am = source.system("maximum-am-resource-percent");
    let percent = source.system("minimum-user-limit-percent");
    let defaults = Defaults {
        am_percent: am_percent(source, am)?.unwrap_or(0.1),
        user_limit_percent: user_limit_percent(source, percent)?.unwrap_or(100.0),
        user_limit_factor: number(source, "user-limit-factor", user_limit_factor, 1.0)?,
        applications: match source.system("maximum-applications") {
            Some(setting) => at_least(setting, 0)?,
            None => 10_000,
        },
        applications_of_leaf: match source.system("global-queue-max-application") {
            Some(setting) => Some(setting.whole()?).filter(|most| *most > 0),
            None => None,
        },
    };
    let mut queues = Map::new();
    // A leaf that a submission makes below `auto-queue-creation-v2` may be all masters (facts 5).
    let am_of_new = match source.tree.creates(Creates::Levels) {
        true => 1.0,
        false => defaults.am_percent,
    };
    queues.insert("max_am_share".to_owned(), json!(am_of_new));
    queues.insert("compare".to_owned(), json!("capacity"));
    queues.insert("order".to_owned(), json!("fifo"));
    if let Some(setting) = source.system("max-parallel-apps")
        && let Some(most) = parallel(setting)?
    {
        queues.insert("max_running_jobs".to_owned(), json!(most));
    }
    config.insert("queue_defaults".to_owned(), Json::Object(queues));
    read_users(source, config)?;
    Ok(defaults)
}

/// `user.max-parallel-apps`, and `user.NAME.max-parallel-apps`.
fn read_users(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    let (mut users, mut each) = (Map::new(), Map::new());
    for (rest, setting) in source.systems("user.") {
        let user = rest.strip_suffix("max-parallel-apps");
        let user = user.map(|user| user.strip_suffix('.').ok_or(user));
        let most = match user {
            Some(Ok(_)) => named_parallel(source, setting)?,
            Some(Err("")) => parallel(setting)?,
            _ => {
                source.approximate(
                    setting,
                    "stock ignores it; the only such property is user.NAME.max-parallel-apps",
                );
                continue;
            }
        };
        // Written even without a limit: it overrides the default of all users.
        let most = json!(most.unwrap_or(i32::MAX));
        match user {
            Some(Ok(name)) => {
                each.insert(name.to_owned(), json!({ "max_running_jobs": most }));
            }
            _ => {
                users.insert("max_running_jobs".to_owned(), most);
            }
        }
    }
    if !each.is_empty() {
        users.insert("each".to_owned(), Json::Object(each));
    }
    if !users.is_empty() {
        config.insert("users".to_owned(), Json::Object(users));
    }
    Ok(())
}

fn number(
    source: &mut Source<'_>,
    key: &str,
    read: fn(Setting<'_>) -> Result<f32, Fault>,
    absent: f32,
) -> Result<f32, Fault> {
    let setting = source.system(key);
    setting
        .map(read)
        .transpose()
        .map(|read| read.unwrap_or(absent))
}

/// `max-parallel-apps`: how many may run; none for no limit. A negative number counts as 0.
pub(super) fn parallel(setting: Setting<'_>) -> Result<Option<i32>, Fault> {
    let most = setting.whole()?.max(0);
    Ok(Some(most).filter(|most| *most != i32::MAX))
}

/// `max-parallel-apps` of a queue or of one user, where stock takes digits alone.
pub(super) fn named_parallel<'a>(
    source: &mut Source<'a>,
    setting: Setting<'a>,
) -> Result<Option<i32>, Fault> {
    if java::int(setting.value).is_none() {
        let what = "stock does not start with blanks or hexadecimal digits here; write the number \
                    alone";
        source.warn(setting, what);
    }
    parallel(setting)
}

pub(super) fn at_least(setting: Setting<'_>, least: i32) -> Result<i32, Fault> {
    let number = setting.whole()?;
    match number >= least {
        true => Ok(number),
        false => Err(setting.expected(&format!("a whole number of at least {least}"))),
    }
}

/// `maximum-am-resource-percent`, which is a fraction in spite of its name.
pub(super) fn am_percent<'a>(
    source: &mut Source<'a>,
    setting: Option<Setting<'a>>,
) -> Result<Option<f64>, Fault> {
    let Some(setting) = setting else {
        return Ok(None);
    };
    let part = setting.number_within(-1e6, 1e6)?;
    if part < 0.0 {
        let how = "counts as 0: one application at a time, as in stock";
        source.approximate(setting, how);
    } else if part > 1.0 {
        source.approximate(
            setting,
            "is a fraction: more than 1 counts as 1, the whole queue",
        );
    }
    Ok(Some(super::amount::decimal(part.clamp(0.0, 1.0))))
}

/// `minimum-user-limit-percent`.
pub(super) fn user_limit_percent<'a>(
    source: &mut Source<'a>,
    setting: Option<Setting<'a>>,
) -> Result<Option<f32>, Fault> {
    let Some(setting) = setting else {
        return Ok(None);
    };
    let percent = setting.number_within(0.0, 1e6)?;
    if percent > 100.0 {
        source.approximate(setting, "more than 100 counts as 100: one user at a time");
    }
    Ok(Some(percent.min(100.0)))
}

/// `user-limit-factor`; -1 for none.
pub(super) fn user_limit_factor(setting: Setting<'_>) -> Result<f32, Fault> {
    let factor = setting.number()?;
    match factor == -1.0 || (0.0..=1e6).contains(&factor) {
        true => Ok(factor),
        false => Err(setting.expected("a number from 0 to 1000000, or -1 for no limit")),
    }
}
