//! The allocations file of the original Fair Scheduler (FS-5, FS-7, FS-8): guarantees and limits of
//! pools, in XML or in the older plain form. A pure function of its text; the host reads the file.
//!
//! The file's values for a pool override `queues` of `heddle.json`, one by one. A pool or value
//! that leaves the file falls back to `heddle.json`. The reader refuses the whole file for one
//! unreadable value. It leaves unknown names out with a warning, because files of later versions of
//! the scheduler have more of them. It refuses the file of YARN's own Fair Scheduler, which is
//! another format.

mod plain;
#[cfg(test)]
mod tests;
mod xml;

pub use xml::is_of_yarn;

use super::queues::check_queue_path;
use super::text::{Fault, checked as checked_text, shown};
use super::{Config, ConfigError, QueueConfig, Section};
use crate::words::ids::UserId;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Larger files are refused unread: 10,000 pools take less.
const BYTES_MAX: usize = 1 << 20;

/// The most pools, and the most users. Bounded because queues stay once they are made.
const NAMES_MAX: usize = 10_000;

/// Longer names are typing errors.
const NAME_BYTES_MAX: usize = 255;

/// Further warnings are only counted.
const WARNINGS_MAX: usize = 20;

/// The order that itself limits the jobs of users.
const DEFICIT: &str = "deficit";

/// The file's values for one pool; `None` where it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The path of its queue.
    pub path: String,
    /// Map slots that are guaranteed to its jobs.
    pub min_maps: Option<u32>,
    /// Reduce slots that are guaranteed to its jobs.
    pub min_reduces: Option<u32>,
    /// How many jobs may run at once.
    pub max_running_jobs: Option<u32>,
    /// Its share against other pools.
    pub weight: Option<f64>,
}

/// The file's values for one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    /// How many jobs may run at once; `None` for the default of all users.
    pub max_running_jobs: Option<u32>,
}

/// The contents of an allocations file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocations {
    /// In the order of the file, each path once.
    pub pools: Vec<Pool>,
    /// In the order of the file, each name once.
    pub users: Vec<User>,
    /// `userMaxJobsDefault`: how many jobs a user without their own limit runs at once.
    pub user_max_jobs: Option<u32>,
    /// `poolMaxJobsDefault`: how many jobs a pool without a limit runs at once.
    pub pool_max_jobs: Option<u32>,
    /// The unknown parts that were left out.
    pub warnings: Vec<Fault>,
}

impl Allocations {
    /// Reads the text of a file; its first character tells which form it has.
    ///
    /// # Errors
    /// The first fault, with its line. Nothing of such a file may be used.
    pub fn parse(text: &str) -> Result<Allocations, Fault> {
        let text = checked_text(text, BYTES_MAX, "a list of pools")?;
        let mut draft = Draft::default();
        match text.trim_start().chars().next() {
            Some('<') => xml::read(text, &mut draft)?,
            Some(_) => plain::read(text, &mut draft)?,
            None => {
                // An empty file is more often a full disk than a decision.
                let problem = "is empty; to allocate nothing write <allocations/>";
                return Err(Fault::new(0, problem));
            }
        }
        Ok(draft.finish())
    }

    /// Overrides `config` with what the file says. `users` are the host's numbers of the users
    /// named here; a user without one has no jobs.
    pub(crate) fn apply(&self, config: &mut Config, users: &BTreeMap<String, UserId>) {
        let known = config.queues.iter().enumerate();
        let known: BTreeMap<String, usize> =
            known.map(|(at, queue)| (queue.path.clone(), at)).collect();
        for pool in &self.pools {
            let at = known.get(&pool.path).copied().unwrap_or_else(|| {
                config.queues.push(QueueConfig {
                    only_allocated: true,
                    ..config.queue_defaults.queue(&pool.path)
                });
                config.queues.len() - 1
            });
            let queue = &mut config.queues[at];
            queue.min_maps = pool.min_maps.unwrap_or(queue.min_maps);
            queue.min_reduces = pool.min_reduces.unwrap_or(queue.min_reduces);
            queue.max_running_jobs = pool.max_running_jobs.or(queue.max_running_jobs);
            queue.weight = pool.weight.unwrap_or(queue.weight);
        }
        config.pool_max_jobs = self.pool_max_jobs;
        let limited = self.users.iter().filter_map(|user| {
            let number = users.get(&user.name)?;
            Some((*number, user.max_running_jobs?))
        });
        if config.composition.order == DEFICIT {
            // As in the original: their ApplicationMasters run, and get no tasks (FS-8).
            config.user_max_jobs = self.user_max_jobs;
            config.user_limits = limited.collect();
            return;
        }
        config.users.max_running_jobs = self.user_max_jobs.or(config.users.max_running_jobs);
        for (user, max) in limited {
            let own = config.users.each.entry(user).or_default();
            own.max_running_jobs = Some(max);
        }
    }
}

/// An allocations file that is being read.
#[derive(Default)]
struct Draft {
    read: Allocations,
    /// The line in which each pool and each user stands.
    pool_lines: BTreeMap<String, u32>,
    user_lines: BTreeMap<String, u32>,
    warnings: usize,
    last_warning: u32,
}

impl Draft {
    fn warn(&mut self, line: u32, problem: impl Into<String>) {
        self.warnings += 1;
        self.last_warning = line;
        if self.warnings <= WARNINGS_MAX {
            self.read.warnings.push(Fault::new(line, problem));
        }
    }

    /// A pool for `name`, without values yet.
    fn pool(&mut self, line: u32, name: &str) -> Result<Pool, Fault> {
        let name = checked(line, "pool", name)?;
        if name == "root" {
            let problem = "`root` is the queue above all pools; write `root.root` for the pool of \
                           the user of that name";
            return Err(Fault::new(line, problem));
        }
        let path = if name.starts_with("root.") {
            name.to_owned()
        } else {
            format!("root.{name}")
        };
        check_queue_path("name", &path).map_err(|error| Fault::new(line, error.problem))?;
        once(&mut self.pool_lines, "pool", &path, line)?;
        if path.len() > name.len()
            && let Some((above, last)) = name.rsplit_once('.')
        {
            let own = name.replace('.', "_dot_");
            let problem = format!(
                "pool `{name}` is the pool `{last}` below `{above}`; write `{path}` to say so, or \
                 `{own}` for the pool of the user `{name}`"
            );
            self.warn(line, problem);
        }
        Ok(Pool {
            path,
            min_maps: None,
            min_reduces: None,
            max_running_jobs: None,
            weight: None,
        })
    }

    /// A user for `name`, without values yet.
    fn user(&mut self, line: u32, name: &str) -> Result<User, Fault> {
        let name = checked(line, "user", name)?.to_owned();
        once(&mut self.user_lines, "user", &name, line)?;
        Ok(User {
            name,
            max_running_jobs: None,
        })
    }

    fn finish(mut self) -> Allocations {
        if let Some(more) = self.warnings.checked_sub(WARNINGS_MAX).filter(|n| *n > 0) {
            let problem = format!("and {more} more warnings, the last in this line");
            self.read
                .warnings
                .push(Fault::new(self.last_warning, problem));
        }
        self.read
    }
}

/// Trims a name, and checks that it can be one.
fn checked<'a>(line: u32, what: &str, name: &'a str) -> Result<&'a str, Fault> {
    let name = name.trim();
    let problem = if name.is_empty() {
        format!("expected the name of a {what}, found none")
    } else if name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        format!(
            "expected the name of a {what}, at most {NAME_BYTES_MAX} bytes and no control \
             characters, found {}",
            shown(name)
        )
    } else {
        return Ok(name);
    };
    Err(Fault::new(line, problem))
}

/// Records the line of a name. Refuses a second line for it, and names beyond `NAMES_MAX`.
fn once(lines: &mut BTreeMap<String, u32>, what: &str, name: &str, line: u32) -> Result<(), Fault> {
    if lines.len() >= NAMES_MAX {
        let problem = format!("more than {NAMES_MAX} {what}s; remove unused ones");
        return Err(Fault::new(line, problem));
    }
    match lines.entry(name.to_owned()) {
        Entry::Vacant(vacant) => {
            vacant.insert(line);
            Ok(())
        }
        Entry::Occupied(before) => {
            let problem = format!(
                "{what} `{name}` is already defined in line {}; merge the two",
                before.get()
            );
            Err(Fault::new(line, problem))
        }
    }
}

/// Reads a number of slots or jobs.
fn count(line: u32, what: &str, text: &str) -> Result<u32, Fault> {
    let digits = text.trim();
    let parsed = digits.parse().ok();
    // `parse` would take a sign, too.
    parsed
        .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| {
            let problem = format!(
                "{what}: expected a whole number from 0 to {}, found {}",
                u32::MAX,
                shown(digits)
            );
            Fault::new(line, problem)
        })
}

/// Reads the weight of a pool; the bounds are those of `heddle.json`.
fn weight(line: u32, text: &str) -> Result<f64, Fault> {
    let digits = text.trim();
    let parsed = digits.parse::<f64>().ok();
    parsed
        .filter(|weight| (0.0..=1e9).contains(weight))
        // No negative zero.
        .map(|weight| weight + 0.0)
        .ok_or_else(|| {
            let problem = format!(
                "weight: expected a number from 0 to 1000000000, found {}",
                shown(digits)
            );
            Fault::new(line, problem)
        })
}

/// `allocations_file` of heddle.json: where the host finds the file. Only its form is checked.
pub(super) fn read_key(root: &mut Section<'_>) -> Result<(), ConfigError> {
    match root.text("allocations_file")? {
        Some(path) if path.trim().is_empty() => Err(ConfigError::new(
            "allocations_file",
            "expected the path of a file, found none; remove the key to have no such file",
        )),
        _ => Ok(()),
    }
}

/// `users` of a setup or of a reload: the host's number of each name.
pub(crate) fn read_users(
    section: &mut Section<'_>,
) -> Result<BTreeMap<String, UserId>, ConfigError> {
    let mut users = BTreeMap::new();
    if let Some(object) = section.value("users") {
        let key = section.key("users");
        let numbers = object.as_object().into_iter().flatten();
        for (name, number) in numbers {
            let number = number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or_else(|| {
                ConfigError::new(format!("{key}.{name}"), "expected the number of a user")
            })?;
            users.insert(name.clone(), UserId(number));
        }
    }
    Ok(users)
}
