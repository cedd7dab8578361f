//! States, rights, priorities and lifetimes of queues (facts 6.3, 6.4 and 11).

use super::setting::Setting;
use super::source::Source;
use crate::Fault;
use serde_json::{Map, Value as Json, json};

/// Writes whether a queue takes applications, if the file says it. Without `state` the queue above
/// decides at the start, and a reload changes nothing.
pub(super) fn write_state(
    source: &mut Source<'_>,
    queue: usize,
    runs_above: bool,
    sheet: &mut Map<String, Json>,
) -> Result<bool, Fault> {
    let mut runs = runs_above;
    if let Some(setting) = source.of(queue, "state") {
        runs = match setting.value.to_ascii_uppercase().as_str() {
            "RUNNING" => true,
            "STOPPED" => false,
            _ => return Err(setting.expected("RUNNING or STOPPED")),
        };
        if runs && !runs_above && source.reads_templates() {
            // No queue is made while the one above is stopped.
            runs = false;
        } else if runs && !runs_above {
            let problem = "is RUNNING below a queue that is STOPPED; stop it, too, or start the \
                           queue above";
            return Err(setting.fault(problem));
        }
        let state = if runs { "running" } else { "stopped" };
        sheet.insert("state".to_owned(), json!(state));
    }
    Ok(runs)
}

/// The lists of users and groups, in Hadoop's notation.
pub(super) fn write_rights(source: &mut Source<'_>, queue: usize, sheet: &mut Map<String, Json>) {
    for (property, key) in [
        ("acl_submit_applications", "acl_submit"),
        ("acl_administer_queue", "acl_admin"),
    ] {
        if let Some(setting) = source.of(queue, property) {
            sheet.insert(key.to_owned(), json!(setting.value));
        }
    }
}

/// `priority` of a queue, which counts below a parent with priority-utilization alone.
pub(super) fn write_priority(
    source: &mut Source<'_>,
    queue: usize,
    counts: bool,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    let Some(setting) = source.of(queue, "priority") else {
        return Ok(());
    };
    let priority = setting.whole()?;
    if counts {
        sheet.insert("priority".to_owned(), json!(priority));
    } else {
        source.approximate(
            setting,
            "has no effect, in stock either: ordering-policy of the queue above is not \
             priority-utilization",
        );
    }
    Ok(())
}

/// Priorities of the applications of a leaf.
pub(super) fn write_application_priority(
    source: &mut Source<'_>,
    queue: usize,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    if let Some(setting) = source.of(queue, "default-application-priority") {
        sheet.insert("default_priority".to_owned(), json!(setting.whole()?));
    }
    let Some(setting) = source.of(queue, "acl_application_max_priority") else {
        return Ok(());
    };
    let groups = priority_groups(setting)?;
    if groups.iter().any(|group| group.swapped) {
        let how = "a group is meant where the file says group; stock takes the first of user and \
                   group for users, and the second for groups";
        source.approximate(setting, how);
    }
    let rule = |group: &PriorityGroup<'_>| {
        let who = format!("{} {}", group.users.join(","), group.groups.join(","));
        json!({"who": who.trim_end(), "max": group.max, "default": group.default})
    };
    let rules: Vec<Json> = groups.iter().map(rule).collect();
    if !rules.is_empty() {
        sheet.insert("max_priorities".to_owned(), json!(rules));
    }
    Ok(())
}

/// What some users and groups may have.
#[derive(Default)]
struct PriorityGroup<'a> {
    users: Vec<&'a str>,
    groups: Vec<&'a str>,
    max: i32,
    default: Option<i32>,
    /// Whether stock takes groups for users: they come first.
    swapped: bool,
}

/// Reads `[user=a,b group=g max_priority=9 default_priority=1] [...]`; `*` and blank admit all.
fn priority_groups<'a>(setting: Setting<'a>) -> Result<Vec<PriorityGroup<'a>>, Fault> {
    let text = setting.value.trim();
    if text.is_empty() || text == "*" {
        return Ok(Vec::new());
    }
    let expected = || setting.expected("groups such as [user=a,b group=g max_priority=9]");
    let mut groups = Vec::new();
    for group in text.split_inclusive(']') {
        let inside = group.trim().strip_prefix('[');
        let inside = inside.and_then(|group| group.strip_suffix(']'));
        let (mut read, mut most) = (PriorityGroup::default(), None);
        for pair in inside.ok_or_else(expected)?.split_whitespace() {
            let (key, value) = pair.split_once('=').ok_or_else(expected)?;
            let number = || value.parse::<i32>().map_err(|_| expected());
            match key.to_ascii_lowercase().as_str() {
                "user" => read.users.extend(value.split(',')),
                "group" => {
                    read.swapped |= read.users.is_empty();
                    read.groups.extend(value.split(','));
                }
                "max_priority" => most = Some(number()?),
                "default_priority" => read.default = Some(number()?.max(0)),
                _ => return Err(expected()),
            }
        }
        // Stock ends with errors of its own without one of the two (facts 6.4).
        let named = !read.users.is_empty() || !read.groups.is_empty();
        read.max = most.filter(|_| named).ok_or_else(expected)?;
        groups.push(read);
    }
    Ok(groups)
}

/// How long applications may live, as a queue hands it down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    most: i64,
    default: i64,
    /// Whether a default was written here or above.
    given: bool,
}

impl Lifetime {
    pub(super) const NONE: Lifetime = Lifetime {
        most: -1,
        default: -1,
        given: false,
    };

    /// Reads the lifetimes of a queue below `self`; root's are taken as they are.
    pub(super) fn below(self, source: &mut Source<'_>, queue: usize) -> Result<Lifetime, Fault> {
        let mut seconds = |key: &str| {
            let setting = source.of(queue, key);
            Ok((
                setting
                    .map(|setting| setting.long())
                    .transpose()?
                    .unwrap_or(-1),
                setting,
            ))
        };
        let (most, most_at) = seconds("maximum-application-lifetime")?;
        let (default, default_at) = seconds("default-application-lifetime")?;
        let given = default >= 0 || self.given;
        if queue == 0 {
            return Ok(Lifetime {
                most,
                default,
                given,
            });
        }
        let most = if most >= 0 { most } else { self.most };
        let mut own = match default {
            0.. => default,
            // An inherited default without a maximum is lost in stock, too (facts 6.3).
            _ if given => self.default.min(most),
            _ => most,
        };
        if most > 0 && own > most {
            let at = default_at.or(most_at);
            let problem = format!("the default lifetime, {own}, is above the maximum, {most}");
            return Err(match at {
                Some(setting) => setting.fault(problem),
                None => Fault { line: 0, problem },
            });
        }
        if own <= 0 {
            own = most;
        }
        Ok(Lifetime {
            most,
            default: own,
            given,
        })
    }

    /// Writes what holds in a leaf.
    pub(super) fn write(self, sheet: &mut Map<String, Json>) {
        for (key, seconds) in [("lifetime_s", self.default), ("max_lifetime_s", self.most)] {
            if seconds > 0 {
                sheet.insert(key.to_owned(), json!(seconds));
            }
        }
    }
}
