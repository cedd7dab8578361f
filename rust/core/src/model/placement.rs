//! Finds the queue of a submission by the rules of the configuration. Where a rule reads names as
//! a stock scheduler does, it also goes on and refuses where that scheduler does.

mod miss;

pub use miss::Unplaced;

use super::queue::{Maker, Queue, Queues, Target, full_path};
use crate::config::{
    Fallback, Matches, Names, Parent, PlacementRule, Source, VARIABLES, is_path_part,
};
use crate::words::ids::QueueId;
use miss::Miss;

/// The queue of jobs that come back after a restart and find no other: theirs is gone and must not
/// be made.
pub(super) const RECOVERY_QUEUE: &str = "root.recovery";

/// Longest path of a queue that a submission may make, in bytes.
const PATH_MAX: usize = 1_024;

/// Queues that a mapping may make above its own, as in the stock Capacity Scheduler.
const MAPPED_PARENTS_MAX: u32 = 1;

/// What the rules look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Submission<'a> {
    /// Its user.
    pub user: &'a str,
    /// The queue that it names, if any.
    pub requested: Option<&'a str>,
    /// The groups of the user, the primary one first.
    pub groups: &'a [&'a str],
    /// The name of the application.
    pub application: &'a str,
    /// Whether it comes back after a restart: no job may be lost for want of a queue.
    pub recovering: bool,
}

/// The name of a user or group as a part of a path. A dot would make a queue below another.
fn as_part(name: &str) -> String {
    name.replace('.', "_dot_")
}

/// The full path of the queue that a user has of their own.
pub fn user_queue(user: &str) -> String {
    format!("root.{}", as_part(user))
}

impl Queues {
    /// Finds or makes the queue of a submission; the second value tells whether it was made. While
    /// recovering it always finds one.
    pub fn place(&mut self, submission: &Submission<'_>) -> Result<(QueueId, bool), String> {
        let target = self.choose(submission).map_err(|none| none.why)?;
        Ok(self.take(target, submission.user))
    }

    /// Chooses the queue of a submission by the rules. Changes nothing.
    pub fn choose(&self, submission: &Submission<'_>) -> Result<Target, Unplaced> {
        if submission.recovering
            && let Some(name) = self.requested(submission, Names::Endings)
        {
            // A job comes back to its queue, whatever the rules say.
            return Ok(self.recorded(name, submission.user));
        }
        let (mut refusals, mut found) = (Vec::new(), Vec::new());
        let mut default = "root.default".to_string();
        for rule in self.rules() {
            let variables = Variables {
                queues: self,
                submission,
                default: &default,
            };
            if !variables.matches(&rule.matches) {
                continue;
            }
            if let Source::SetDefault(value) = &rule.source {
                default = variables.in_text(value);
                continue;
            }
            let miss = match self.find_by(rule, &variables) {
                Ok(Some(target)) => return Ok(target),
                Ok(None) => continue,
                Err(miss) => miss,
            };
            let fallback = match miss {
                Miss::Refused(_) => Fallback::Reject,
                _ => rule.fallback,
            };
            let why = miss.why(&mut found);
            match fallback {
                Fallback::Reject if !submission.recovering => return Err(Unplaced { why, found }),
                Fallback::PlaceDefault => match self.map(&default, None) {
                    Ok(target) => return Ok(target),
                    Err(again) if !submission.recovering => {
                        let why = format!("{why}; {}", again.why(&mut found));
                        return Err(Unplaced { why, found });
                    }
                    Err(_) => refusals.push(why),
                },
                _ => refusals.push(why),
            }
        }
        if submission.recovering {
            let known = self.by_path(RECOVERY_QUEUE).map(|queue| queue.id);
            return Ok(known.map_or(Target::New(RECOVERY_QUEUE.to_string()), Target::Exists));
        }
        let why = no_rule(submission, &refusals);
        Err(Unplaced { why, found })
    }

    /// The queue of a job that was in `name` before a restart. As in the stock schedulers, it is
    /// made if it may be; a job whose queue has become a parent has none.
    fn recorded(&self, name: &str, user: &str) -> Target {
        if let Ok(found) = self.look_up(name, Names::Endings, None) {
            return found;
        }
        let names = self
            .rules()
            .first()
            .map_or(Names::Endings, |rule| rule.names);
        let path = full_path(name);
        let bounded = false;
        let makes = self.rules().iter().any(|rule| rule.create);
        let may = self.by_path(&path).is_none()
            && self
                .check_new(&path, names, Maker { user, bounded })
                .is_ok()
            && match names {
                Names::Leaves => self.check_growth(&path).is_ok(),
                Names::Endings | Names::Paths => makes || names == Names::Paths,
            };
        match (may, self.by_path(RECOVERY_QUEUE)) {
            (true, _) => Target::New(path),
            (false, Some(known)) => Target::Exists(known.id),
            (false, None) => Target::New(RECOVERY_QUEUE.to_string()),
        }
    }

    /// Finds the queue of one rule; none if the rule is not for the submission.
    fn find_by(
        &self,
        rule: &PlacementRule,
        variables: &Variables<'_>,
    ) -> Result<Option<Target>, Miss> {
        let submission = variables.submission;
        let Some(name) = self.named(rule, variables)? else {
            return Ok(None);
        };
        let maker = Maker {
            user: submission.user,
            bounded: !submission.recovering,
        };
        let maker = rule.create.then_some(maker);
        if let Source::Mapping(_) = rule.source {
            return self.map(&name, maker).map(Some);
        }
        let found = self.look_up(&name, rule.names, maker)?;
        match rule.names {
            Names::Leaves => self.check_named(found).map(Some),
            _ => Ok(Some(found)),
        }
    }

    /// Refuses a queue that a submission names, if mappings alone lead to it.
    fn check_named(&self, target: Target) -> Result<Target, Miss> {
        let (path, above) = match &target {
            Target::Exists(id) | Target::Revived(id) => {
                let queue = self.get(*id).expect("it was just found");
                (
                    &queue.config.path,
                    queue.parent.and_then(|above| self.get(above)),
                )
            }
            Target::New(path) => (path, Some(self.nearest(path))),
        };
        match above.filter(|above| above.config.admission.mapped_only) {
            Some(above) => Err(Miss::Refused(format!(
                "queue {path} is reached by mappings alone (mapped_only of {}); add one",
                above.config.path
            ))),
            None => Ok(target),
        }
    }

    /// The name of a queue that a rule finds; none if the next rule has its turn.
    fn named(
        &self,
        rule: &PlacementRule,
        variables: &Variables<'_>,
    ) -> Result<Option<String>, Miss> {
        let submission = variables.submission;
        let below = |parent: &Parent, name: &str| {
            let name = as_part(name.trim());
            let Some(parent) = parent else {
                // A user called `root` has no queue of that name below root.
                return Ok(Some(full_path(&name)));
            };
            let above = self.named(parent, variables)?;
            // Below a leaf there is nothing to find.
            let above = above.map(|above| full_path(&above));
            let leaf = |above: &String| self.by_path(above).is_some_and(Queue::is_for_jobs);
            let above = above.filter(|above| !leaf(above));
            Ok(above.map(|above| format!("{above}.{name}")))
        };
        let path = match &rule.source {
            Source::Specified => match self.requested(submission, rule.names) {
                Some(name) => Some(checked(name, rule.names)?.to_string()),
                None => None,
            },
            Source::User(_) if rule.names == Names::Endings => Some(user_queue(submission.user)),
            Source::User(parent) => below(parent, submission.user)?,
            Source::PrimaryGroup(parent) => {
                let user = submission.user;
                let none =
                    || Miss::Refused(format!("user {user} has no group; add the user to one"));
                below(parent, submission.groups.first().ok_or_else(none)?)?
            }
            Source::SecondaryGroup {
                parent,
                primary_too,
            } => {
                let groups = submission.groups.iter().skip(usize::from(!primary_too));
                for group in groups {
                    let path = below(parent, group)?;
                    if let Some(path) = path.filter(|path| self.is_configured(path)) {
                        return Ok(Some(path));
                    }
                }
                None
            }
            Source::Default { queue, .. } => Some(queue.clone()),
            Source::Mapping(path) => Some(variables.in_path(path)?),
            Source::SetDefault(_) => None,
            Source::Reject => {
                return Err(Miss::Unusable("a placement rule refuses it".to_string()));
            }
        };
        // The stock Fair Scheduler goes on to the next rule if there is no such queue.
        let given = |name: &String| {
            rule.names != Names::Paths || rule.create || self.is_configured(&full_path(name))
        };
        Ok(path.filter(given))
    }

    /// The queue that a submission names, if that is not a way to name none.
    fn requested<'a>(&self, submission: &Submission<'a>, names: Names) -> Option<&'a str> {
        let name = submission.requested.filter(|name| !name.is_empty())?;
        let is_default = name == "default" || names == Names::Endings && name == "root.default";
        let counts = !is_default || names == Names::Endings && self.has_default();
        counts.then_some(name)
    }

    fn has_default(&self) -> bool {
        let default = self.by_path("root.default");
        default.is_some_and(|queue| !queue.dynamic)
    }

    /// Whether the configuration names the queue, which may have others below it.
    fn is_configured(&self, path: &str) -> bool {
        let queue = self.by_path(path);
        queue.is_some_and(|queue| !queue.dynamic && !queue.draining)
    }

    /// Finds the leaf of a name, or a path for `maker` to make it.
    fn look_up(&self, name: &str, names: Names, maker: Option<Maker<'_>>) -> Result<Target, Miss> {
        let found = match names {
            Names::Endings => self.find(name),
            Names::Paths => self.by_path(&full_path(name)),
            Names::Leaves => self.by_path(name).or_else(|| self.find_last(name)),
        };
        if let Some(queue) = found {
            let target = use_of(queue, names, maker.is_some())
                .map_err(|why| Miss::Useless(queue.id, why))?;
            if let Target::Revived(_) = target {
                self.check_never(&queue.config.path)
                    .map_err(Miss::Unusable)?;
            }
            return Ok(target);
        }
        let path = match names {
            Names::Leaves => name.to_string(),
            _ => full_path(name),
        };
        let Some(maker) = maker.filter(|_| path.starts_with("root.")) else {
            let unknown = format!("unknown queue {path}; name one that exists");
            return Err(Miss::Unusable(unknown));
        };
        self.check_new(&path, names, maker)
            .map_err(Miss::Unusable)?;
        if names == Names::Leaves {
            self.check_growth(&path).map_err(Miss::Unusable)?;
        }
        Ok(Target::New(path))
    }

    /// Like `look_up`, for the path that a mapping came to. Its first part may be the last part of
    /// the path of any queue.
    fn map(&self, name: &str, maker: Option<Maker<'_>>) -> Result<Target, Miss> {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let first = self.by_path(first).or_else(|| self.find_last(first));
        let Some(first) = first else {
            let unknown = format!("unknown queue {name}; name one that exists");
            return Err(Miss::Unusable(unknown));
        };
        let path = match rest {
            "" => first.config.path.clone(),
            rest => format!("{}.{rest}", first.config.path),
        };
        let nearest = self.nearest(&path);
        let missing = path[nearest.config.path.len()..].matches('.').count() as u32;
        if missing > 0 && (missing > MAPPED_PARENTS_MAX + 1 || !self.may_grow(nearest)) {
            let unknown = format!("unknown queue {path}; name one that exists");
            return Err(Miss::Unusable(unknown));
        }
        match self.look_up(&path, Names::Leaves, maker) {
            // The stock scheduler finds this out when its rules have decided.
            Err(Miss::Unusable(why)) if missing > 0 && maker.is_some() => Err(Miss::Refused(why)),
            found => found,
        }
    }

    /// The queue that the rules chose, or the nearest one above it that exists.
    pub(crate) fn nearest_of(&self, target: &Target) -> QueueId {
        match target {
            Target::Exists(id) | Target::Revived(id) => *id,
            Target::New(path) => self.nearest(path).id,
        }
    }

    /// The lists of users who may submit into a queue that does not exist yet: by its own rights
    /// and those of the queues that are made with it.
    pub(crate) fn rights_of_new(&self, path: &str) -> Vec<&str> {
        let nearest = self.nearest(path);
        let mut above = Some(&nearest.config);
        let mut rights = Vec::new();
        let missing = path[nearest.config.path.len()..].matches('.').count();
        for level in 1..=missing {
            above = above.and_then(|above| match level == missing {
                true => above.new_leaf.as_deref(),
                false => above.new_parent.as_deref(),
            });
            rights.extend(above.map(|new| [new.acl_submit.as_str(), new.acl_admin.as_str()]));
        }
        rights.concat()
    }

    /// The queue of a path, or the nearest one above.
    fn nearest(&self, path: &str) -> &Queue {
        let mut at = path;
        loop {
            match (self.by_path(at), at.rsplit_once('.')) {
                (Some(queue), _) => return queue,
                (None, Some((above, _))) => at = above,
                (None, None) => return self.get(QueueId(0)).expect("root is always there"),
            }
        }
    }

    /// Whether submissions may make queues below this one at all, by `dynamic_depth`.
    fn may_grow(&self, queue: &Queue) -> bool {
        let grown = queue.dynamic && !queue.is_for_jobs();
        grown || queue.config.admission.dynamic_depth > 0
    }

    /// Checks that `dynamic_depth` and `max_children` of the queues above allow a new one.
    fn check_growth(&self, path: &str) -> Result<(), String> {
        let nearest = self.nearest(path);
        let above = &nearest.config.path;
        if !self.may_grow(nearest) {
            return Err(format!(
                "unknown queue {path}; name one that exists, or let submissions make queues below \
                 {above} (dynamic_depth)"
            ));
        }
        let set = self.path_up(nearest.id).find(|queue| !queue.dynamic);
        let set = set.expect("root is not dynamic");
        let distance = path[set.config.path.len()..].matches('.').count() as u32;
        let depth = set.config.admission.dynamic_depth;
        if distance > depth {
            return Err(format!(
                "cannot make queue {path}: it would be {distance} below {}, and its dynamic_depth \
                 is {depth}",
                set.config.path
            ));
        }
        match nearest.config.admission.max_children {
            Some(most) if nearest.children.len() >= most as usize => Err(format!(
                "cannot make queue {path}: {above} has {} queues below it (max_children); wait \
                 until queues without applications expire",
                nearest.children.len()
            )),
            _ => Ok(()),
        }
    }

    /// Checks that `dynamic_queues.never` lets a submission make a queue.
    fn check_never(&self, path: &str) -> Result<(), String> {
        match self.never_made(path) {
            None => Ok(()),
            Some(at) => Err(format!(
                "queue {path} does not exist, and none is made at or below {at} \
                 (dynamic_queues.never; beside a fair-scheduler.xml: its schedulingPolicy may not \
                 stand there); name another"
            )),
        }
    }

    /// Checks that a submission may make a queue and the missing ones above it.
    fn check_new(&self, path: &str, names: Names, maker: Maker<'_>) -> Result<(), String> {
        self.check_never(path)?;
        if path.len() > PATH_MAX {
            let bytes = path.len();
            return Err(format!(
                "the queue's name has {bytes} bytes; at most {PATH_MAX} are allowed"
            ));
        }
        if !path.split('.').all(is_path_part) {
            return Err(format!(
                "queue name {path:?} has a part that is empty, begins or ends with a blank, or has \
                 a control character in it; correct it"
            ));
        }
        let mut more = 1;
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('.') {
            let known = self.by_path(parent);
            if let Some(queue) = known
                && queue.is_for_jobs()
                && (queue.jobs > 0 || names != Names::Endings)
            {
                let holds = match queue.jobs {
                    0 => "is for jobs",
                    _ => "runs jobs",
                };
                return Err(format!(
                    "queue {parent} {holds} and cannot have queues below it"
                ));
            }
            more += u32::from(known.is_none());
            above = parent;
        }
        let user = maker.user;
        let (made, most) = self.made_by(user);
        if maker.bounded && made + more > most {
            return Err(format!(
                "cannot make queue {path}: submissions of user {user} have made {made} queues, and \
                 {more} more would exceed dynamic_queues.max_per_user ({most}); name a queue that \
                 exists, or wait until queues without applications expire"
            ));
        }
        Ok(())
    }
}

fn no_rule(submission: &Submission<'_>, refusals: &[String]) -> String {
    let user = submission.user;
    let asked = submission.requested.filter(|name| !name.is_empty());
    let asked = asked.unwrap_or("(none)");
    format!(
        "no placement rule found a queue for user {user}, requested queue {asked}: {}",
        refusals.join("; ")
    )
}

/// Refuses a submission's queue name with a dot or a space at an end, as the stock Fair Scheduler
/// does.
fn checked(name: &str, names: Names) -> Result<&str, Miss> {
    let good = name == name.trim() && !name.starts_with('.') && !name.ends_with('.');
    if names == Names::Paths && !good {
        return Err(Miss::Refused(format!(
            "queue name `{name}` begins or ends with a dot or a space; correct it"
        )));
    }
    Ok(name)
}

/// Checks that a submission may use a queue that a rule found.
fn use_of(queue: &Queue, names: Names, creates: bool) -> Result<Target, String> {
    let path = &queue.config.path;
    // In the stock Fair Scheduler a queue that left the file is as good as made by a submission.
    let revives = queue.removed_pool || names == Names::Paths;
    if !queue.children.is_empty() || queue.parent.is_none() {
        Err(format!(
            "queue {path} has queues below it; name one of them"
        ))
    } else if !queue.is_leaf() {
        Err(format!(
            "queue {path} is for queues below it, and has none yet; name another"
        ))
    } else if queue.draining && revives && creates {
        Ok(Target::Revived(queue.id))
    } else if queue.draining {
        Err(format!("queue {path} is being removed; name another"))
    } else {
        Ok(Target::Exists(queue.id))
    }
}

/// The values of `VARIABLES` for one submission.
struct Variables<'a> {
    queues: &'a Queues,
    submission: &'a Submission<'a>,
    default: &'a str,
}

impl Variables<'_> {
    fn matches(&self, matches: &Matches) -> bool {
        let submission = self.submission;
        match matches {
            Matches::All => true,
            Matches::User(text) => self.in_text(text) == submission.user,
            Matches::Application(text) => self.in_text(text) == submission.application,
            Matches::Group(text) => {
                let name = self.in_text(text);
                submission.groups.contains(&name.as_str())
            }
        }
    }

    /// The value of a variable in a path, if it has one, after the parts `before` it.
    fn value(&self, variable: &str, before: &[String]) -> Option<String> {
        let submission = self.submission;
        let requested = self.queues.requested(submission, Names::Leaves);
        Some(match variable {
            "%user" => as_part(submission.user),
            "%primary_group" => as_part(submission.groups.first()?),
            "%secondary_group" => {
                let groups = submission.groups.get(1..)?;
                let mut groups = groups.iter().map(|group| as_part(group));
                let exists = |group: &String| {
                    let path = [before, std::slice::from_ref(group)].concat().join(".");
                    let queues = self.queues;
                    queues.by_path(&path).is_some() || queues.find_last(&path).is_some()
                };
                groups.find(exists).unwrap_or_default()
            }
            "%application" => submission.application.to_string(),
            "%specified" => requested.unwrap_or_default().to_string(),
            "%default" => self.default.to_string(),
            _ => return None,
        })
    }

    /// A path with its variables replaced. Only whole parts of a path are variables.
    fn in_path(&self, path: &str) -> Result<String, Miss> {
        let mut parts: Vec<String> = Vec::new();
        for part in path.split('.') {
            let value = self.value(part, &parts);
            parts.push(value.unwrap_or_else(|| part.to_string()));
        }
        let replaced = parts.join(".");
        if replaced.split('.').any(str::is_empty) {
            let problem = format!("the path `{path}` of a mapping has an empty part, `{replaced}`");
            return Err(Miss::Unusable(problem));
        }
        Ok(replaced)
    }

    /// A text with its variables replaced wherever they stand.
    fn in_text(&self, text: &str) -> String {
        let mut replaced = text.to_string();
        // The group that a path finds depends on the path; a text has none.
        let variables = VARIABLES.iter().filter(|name| **name != "%secondary_group");
        for name in variables.filter(|name| text.contains(**name)) {
            if let Some(value) = self.value(name, &[]) {
                replaced = replaced.replace(name, &value);
            }
        }
        replaced
    }
}

#[cfg(test)]
mod tests;
