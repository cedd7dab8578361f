//! Checks the variables that site files give MapReduce's ApplicationMasters. One unresolved
//! reference is enough to keep every ApplicationMaster from starting: the shell that exports the
//! variable takes `${heddle.deadline}` for a substitution that it cannot do, and gives up.

use crate::site::{Expanded, Property, Site};
use heddle_core::config::unknown;
use heddle_economy::auth::job;

/// The properties that hold such variables: a list, or one each with the name after a dot.
const PROPERTIES: &[&str] = &[
    "yarn.app.mapreduce.am.env",
    "yarn.app.mapreduce.am.admin.user.env",
];

/// Variables that the ResourceManager reads: hints, and a job's signature.
fn variables() -> Vec<String> {
    let hints = heddle_economy::hints().map(heddle_economy::hint_variable);
    hints.chain(job::parameters().map(job::variable)).collect()
}

/// Other properties that begin with `heddle.`, of yarn-site.xml.
const OF_THE_SCHEDULER: &[&str] = &[
    "heddle.am-poll.counters-interval-ms",
    "heddle.am-poll.enable",
    "heddle.am-poll.in-flight",
    "heddle.am-poll.interval-ms",
    "heddle.audit.interval-ms",
    "heddle.config.file",
    "heddle.hints.enable",
    "heddle.immediate-grants.enable",
    "heddle.journal.bytes-max",
    "heddle.journal.path",
    "heddle.journal.renew-interval-ms",
    "heddle.link-check.enable",
    "heddle.native.path",
    "heddle.nm-poll.enable",
    "heddle.nm-poll.interval-ms",
    "heddle.node-load.enable",
    "heddle.progress.enable",
    "heddle.queues.from",
    "heddle.queues.tolerate",
    "heddle.shadow",
    "heddle.tick-ms",
    "heddle.user-metrics.enable",
    "heddle.web.enable",
    "heddle.web.signature-suffices",
];

/// The results of the check.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The faults, each with its place.
    pub(super) faults: Vec<String>,
    /// How many variables were checked.
    pub(super) variables: usize,
    /// How many of them Heddle reads.
    pub(super) heddles: usize,
}

/// Checks every variable, and the names of Heddle's own properties.
pub(super) fn check(site: &Site) -> Report {
    let mut report = Report::default();
    for (name, property) in site.properties() {
        if let Some(own) = name.strip_prefix("heddle.") {
            check_name(own, property, &mut report);
        }
        for prefix in PROPERTIES {
            let Some(rest) = name.strip_prefix(prefix) else {
                continue;
            };
            if let Some(variable) = rest.strip_prefix('.') {
                check_variable(site, variable, (&property.value, &property.at), &mut report);
            } else if rest.is_empty() {
                for item in property
                    .value
                    .split(',')
                    .filter(|item| !item.trim().is_empty())
                {
                    check_item(site, item, property, &mut report);
                }
            }
        }
    }
    report
}

/// One `NAME=VALUE` of a list.
fn check_item(site: &Site, item: &str, property: &Property, report: &mut Report) {
    match item.split_once('=') {
        Some((variable, value)) => {
            check_variable(site, variable.trim(), (value, &property.at), report);
        }
        None => report.faults.push(format!(
            "{}: `{}` sets no variable; expected NAME=VALUE, with commas between",
            property.at,
            item.trim()
        )),
    }
}

/// One variable, with its value and where that is defined.
fn check_variable(site: &Site, name: &str, (value, at): (&str, &str), report: &mut Report) {
    report.variables += 1;
    let heddles = name.starts_with("HEDDLE_");
    if heddles {
        report.heddles += 1;
        let known = variables();
        if !known.iter().any(|known| known == name) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            report
                .faults
                .push(format!("{at}: variable {}", unknown(name, &known)));
        }
    }
    let (text, stuck) = match site.expand(value) {
        Expanded::Whole(text) => (text, None),
        Expanded::Stuck {
            text,
            variable,
            why,
        } => (text, Some((variable, why))),
        Expanded::Endless => {
            report.faults.push(format!(
                "{at}: variable {name}: its references form a circle or are more than 20 deep; \
                 no job of this client could be submitted"
            ));
            return;
        }
    };
    if let Some(left) = bad_substitution(&text) {
        let why = match stuck {
            Some((variable, why)) => format!("property `{variable}` {why}"),
            None => "write ${property} without spaces".to_owned(),
        };
        report.faults.push(format!(
            "{at}: variable {name} would be {left:?} in the shell that starts the \
             ApplicationMaster, which ends there: no MapReduce job of this client would start. \
             {why}"
        ));
    } else if heddles && let Some(found) = text.chars().find(|found| !is_of_a_hint(*found)) {
        report.faults.push(format!(
            "{at}: variable {name} is {text:?}; expected letters, digits and any of + / = % . _ : \
             -, found {found:?}, which no hint has and the shell may act upon"
        ));
    }
}

/// Returns the first reference that a POSIX shell cannot substitute. It can substitute `${NAME}`
/// and `${NAME-WORD}` if NAME is a name for a shell's variable.
fn bad_substitution(text: &str) -> Option<&str> {
    text.match_indices("${").find_map(|(from, opening)| {
        let rest = &text[from + opening.len()..];
        let of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = rest.find(|c| !of_a_name(c)).unwrap_or(rest.len());
        let starts_well = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let goes_on_well = rest[name..].starts_with(['}', '-', ':', '+', '?', '=', '#', '%']);
        let end = rest
            .find('}')
            .map_or(text.len(), |end| from + opening.len() + end + 1);
        (!starts_well || !goes_on_well).then(|| &text[from..end])
    })
}

fn is_of_a_hint(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=%._:-".contains(c)
}

/// A property of Heddle's own, the part after `heddle.`.
fn check_name(own: &str, property: &Property, report: &mut Report) {
    let mut known: Vec<String> = OF_THE_SCHEDULER
        .iter()
        .map(|&name| name.to_owned())
        .collect();
    known.extend(heddle_economy::hints().map(|hint| format!("heddle.{hint}")));
    known.extend(job::V2.map(str::to_owned));
    let name = format!("heddle.{own}");
    if !known.contains(&name) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        report.faults.push(format!(
            "{}: property {}",
            property.at,
            unknown(&name, &known)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_properties_are_those_of_the_documented_table() {
        let page = include_str!("../../../../docs/configuration.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let names = rows.filter_map(|row| row.split('`').next());
        let documented: BTreeSet<&str> = names.filter(|name| name.starts_with("heddle.")).collect();
        assert_eq!(
            BTreeSet::from_iter(OF_THE_SCHEDULER.iter().copied()),
            documented
        );
    }
}
