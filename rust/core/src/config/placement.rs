//! Section `placement`: the rules by which a job finds its queue. Reads them; the model follows
//! them.

use super::queues::check_queue_path;
use super::{ConfigError, Section, unknown};
use serde::Serialize;

/// One rule. The first that finds a queue decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacementRule {
    /// How it finds the name of a queue.
    pub source: Source,
    /// The submissions that it is for.
    pub matches: Matches,
    /// Whether a queue that does not exist is made.
    pub create: bool,
    /// How it reads names.
    pub names: Names,
    /// What happens if its queue cannot be used.
    pub fallback: Fallback,
}

/// How a rule finds the name of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The queue that the submission names; `default` counts as none.
    Specified,
    /// A queue of the user's name.
    User(Parent),
    /// A queue of the name of the user's first group.
    PrimaryGroup(Parent),
    /// The first of the user's groups whose queue is configured.
    SecondaryGroup {
        /// The queue above.
        parent: Parent,
        /// Whether the first group counts.
        primary_too: bool,
    },
    /// A fixed queue.
    Default {
        /// Its path, or its name if the rule reads names of leaves.
        queue: String,
        /// Whether the configuration makes it; otherwise `create` decides.
        configured: bool,
    },
    /// A path with variables, such as `root.%primary_group.%user`.
    Mapping(String),
    /// No queue; replaces the value of `%default` for the rules that follow.
    SetDefault(String),
    /// No queue: refuses.
    Reject,
}

/// The rule that finds the queue above; without one it is root.
pub type Parent = Option<Box<PlacementRule>>;

/// How a rule reads names of queues, and the queues that it finds without `create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// Paths, and ends of the path of one leaf. Finds every leaf.
    Endings,
    /// Paths, `root.` left out or not, as the stock Fair Scheduler. Finds configured queues.
    Paths,
    /// Paths and last parts of paths, as the stock Capacity Scheduler. Finds every leaf; makes
    /// queues only where `dynamic_depth` of a queue allows it.
    Leaves,
}

/// The submissions that a rule is for. A text may have variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Matches {
    /// All.
    All,
    /// Those of a user.
    User(String),
    /// Those of the members of a group.
    Group(String),
    /// Those of applications of a name.
    Application(String),
}

/// What happens if the queue of a rule cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The next rule is tried.
    Skip,
    /// The queue `%default` is tried instead, and then none.
    PlaceDefault,
    /// The submission is refused.
    Reject,
}

const RULES: [&str; 9] = [
    "specified",
    "user",
    "primary_group",
    "secondary_group",
    "nested_user",
    "default",
    "mapping",
    "set_default",
    "reject",
];

/// Rules that find a queue below that of another rule.
const OUTER: [&str; 4] = ["user", "primary_group", "secondary_group", "nested_user"];

/// Variables of paths and of texts to match.
pub const VARIABLES: [&str; 6] = [
    "%secondary_group",
    "%primary_group",
    "%application",
    "%specified",
    "%default",
    "%user",
];

/// Without rules a job goes into the queue that it names, or else into that of its user.
pub(super) fn read_placement(root: &mut Section<'_>) -> Result<Vec<PlacementRule>, ConfigError> {
    let mut rules = Vec::new();
    for (path, value) in root.list("placement")? {
        rules.push(Section::all(&path, value, |section| {
            read_rule(section, None)
        })?);
    }
    if rules.is_empty() {
        let user = Source::User(None);
        rules.push(rule(Source::Specified, true, Names::Endings));
        rules.push(rule(user, true, Names::Endings));
    }
    Ok(rules)
}

/// A rule for all submissions, which goes on or refuses as rules of its kind do.
fn rule(source: Source, create: bool, names: Names) -> PlacementRule {
    // A job that names a queue must not run somewhere else unnoticed.
    let fallback = match (&source, names) {
        (Source::Specified, _) | (_, Names::Paths) => Fallback::Reject,
        _ => Fallback::Skip,
    };
    PlacementRule {
        source,
        matches: Matches::All,
        create,
        names,
        fallback,
    }
}

/// Reads a rule; `outer` is the rule that finds its queue below that of this one.
fn read_rule(section: &mut Section<'_>, outer: Option<&str>) -> Result<PlacementRule, ConfigError> {
    let name = section.text("rule")?.unwrap_or("");
    let same = |a: &str, b: &str| a == b || (a == "user" && b == "nested_user");
    if !RULES.contains(&name) {
        return Err(ConfigError::new(section.key("rule"), unknown(name, &RULES)));
    }
    if let Some(outer) = outer
        && (same(name, outer)
            || matches!(name, "nested_user" | "mapping" | "set_default" | "reject"))
    {
        let problem = format!(
            "a rule inside `{outer}` finds the queue above; expected another than `{outer}`, \
             such as primary_group or default, found `{name}`"
        );
        return Err(ConfigError::new(section.key("rule"), problem));
    }
    if matches!(name, "mapping" | "set_default" | "reject") {
        return read_mapping(section, name);
    }
    let parent = if OUTER.contains(&name) && outer.is_none() {
        read_inner(section, name)?
    } else {
        None
    };
    let stock = parent.is_some() || outer.is_some() || name.ends_with("_group");
    let names = match stock {
        true => Names::Paths,
        false => read_names(section)?,
    };
    let create = section.boolean("create")?;
    let source = match name {
        "specified" => Source::Specified,
        "primary_group" => Source::PrimaryGroup(parent),
        "secondary_group" => Source::SecondaryGroup {
            parent,
            primary_too: section.boolean("primary_too")?.unwrap_or(true),
        },
        "default" => Source::Default {
            queue: read_default(section, names)?,
            configured: create.is_none() && names == Names::Endings,
        },
        _ => Source::User(parent),
    };
    Ok(rule(source, create.unwrap_or(true), names))
}

fn read_inner(section: &mut Section<'_>, outer: &str) -> Result<Parent, ConfigError> {
    let path = section.key("inner");
    if let Some(value) = section.value("inner") {
        let inner = Section::all(&path, value, |inner| read_rule(inner, Some(outer)))?;
        return Ok(Some(Box::new(inner)));
    }
    if outer == "nested_user" {
        let problem = "expected the rule that finds the queue above, such as {\"rule\": \
                       \"primary_group\"}; to have none, use the rule `user`";
        return Err(ConfigError::new(path, problem));
    }
    Ok(None)
}

fn read_names(section: &mut Section<'_>) -> Result<Names, ConfigError> {
    let choices = [
        ("endings", Names::Endings),
        ("paths", Names::Paths),
        ("leaves", Names::Leaves),
    ];
    Ok(section.choice("names", &choices)?.unwrap_or(Names::Endings))
}

fn read_default(section: &mut Section<'_>, names: Names) -> Result<String, ConfigError> {
    let queue = section.text("queue")?.unwrap_or("root.default");
    if names != Names::Leaves || queue.contains('.') {
        check_queue_path(&section.key("queue"), queue)?;
    }
    Ok(queue.to_string())
}

/// Reads a rule for some submissions.
fn read_mapping(section: &mut Section<'_>, name: &str) -> Result<PlacementRule, ConfigError> {
    let mut matches = Matches::All;
    let mut given = 0;
    for (key, wrap) in [
        ("user", Matches::User as fn(String) -> Matches),
        ("group", Matches::Group),
        ("application", Matches::Application),
    ] {
        if let Some(text) = section.text(key)? {
            given += 1;
            if (key, text) != ("user", "*") {
                matches = wrap(text.to_string());
            }
        }
    }
    if given > 1 {
        let problem = "expected one of `user`, `group` and `application`; write a rule for each";
        return Err(ConfigError::new(section.key("rule"), problem));
    }
    if name == "reject" {
        let fallback = Fallback::Reject;
        let rule = rule(Source::Reject, false, Names::Paths);
        return Ok(PlacementRule {
            matches,
            fallback,
            ..rule
        });
    }
    let queue = section.text("queue")?.filter(|queue| !queue.is_empty());
    let queue = queue.map(str::to_string).ok_or_else(|| {
        let problem = "expected a path, which may have variables: \"root.users.%user\"";
        ConfigError::new(section.key("queue"), problem)
    })?;
    if name == "set_default" {
        let rule = rule(Source::SetDefault(queue), false, Names::Leaves);
        return Ok(PlacementRule { matches, ..rule });
    }
    let choices = [
        ("skip", Fallback::Skip),
        ("place_default", Fallback::PlaceDefault),
        ("reject", Fallback::Reject),
    ];
    let fallback = section.choice("fallback", &choices)?;
    let create = section.boolean("create")?.unwrap_or(true);
    Ok(PlacementRule {
        matches,
        fallback: fallback.unwrap_or(Fallback::Skip),
        ..rule(Source::Mapping(queue), create, Names::Leaves)
    })
}
