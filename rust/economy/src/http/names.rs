//! The host's names for the jobs and nodes that the engine knows by number. A request carries the
//! names that it may need. The only place where names replace numbers in sentences. Asks the engine
//! nothing and decides nothing; a job without a name keeps its number.

use crate::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

/// A job's name. In JSON a list: `[7, "application_1_0007", "alice", "word count"]`. A job that is
/// put aside then has `["root.alice", "The application is put aside: ..."]`. One that lost its
/// queue at a restart has that queue at its end, after null if it is not put aside.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JobName {
    /// The engine's number.
    pub number: u32,
    /// YARN's application id.
    pub application: String,
    /// The submitting user.
    pub user: String,
    /// The user's name for it.
    pub name: String,
    /// Its queue, and the reason why it is kept from the engine.
    #[serde(default)]
    pub aside: Option<(String, String)>,
    /// The queue in which it ran before a restart, if it could not go on there.
    #[serde(default)]
    pub lost_queue: Option<String>,
}

/// A node's name. In JSON a list: `[3, "host-3.example.com:45454", 1700, "/rack-1", "gpu"]`, and a
/// reason if it is put aside.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NodeName {
    /// The engine's number.
    pub number: u32,
    /// YARN's name: host and port.
    pub name: String,
    /// The time at which it got the number, by the engine's clock: another node had the number
    /// before.
    pub since_ms: i64,
    /// Its rack.
    pub rack: String,
    /// Its node label; empty without one.
    pub label: String,
    /// The reason why it is kept from the engine.
    #[serde(default)]
    pub aside: Option<String>,
}

/// The names that came with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    jobs: &'a [JobName],
    nodes: &'a [NodeName],
}

impl<'a> Names<'a> {
    pub(crate) fn of(request: &Request<'a>) -> Names<'a> {
        Names {
            jobs: request.jobs,
            nodes: request.nodes,
        }
    }

    fn job(self, number: u64) -> Option<&'a JobName> {
        self.jobs.iter().find(|job| u64::from(job.number) == number)
    }

    /// Returns the name of a node at a moment of the engine's clock; `None` means now.
    pub(crate) fn node(self, number: u64, at_ms: Option<i64>) -> Option<&'a str> {
        let mut nodes = self.nodes.iter();
        let node = nodes.find(|node| u64::from(node.number) == number)?;
        at_ms
            .is_none_or(|at_ms| node.since_ms <= at_ms)
            .then_some(node.name.as_str())
    }

    /// Returns the number of an application.
    pub(crate) fn number(self, application: &str) -> Option<u32> {
        let mut jobs = self.jobs.iter();
        let job = jobs.find(|job| job.application == application);
        job.map(|job| job.number)
    }

    /// Returns the queue of a job that is put aside, and the reason.
    pub(crate) fn aside(self, number: u64) -> Option<&'a (String, String)> {
        self.job(number).and_then(|job| job.aside.as_ref())
    }

    /// Returns the nodes that are put aside, with the reasons.
    pub(crate) fn nodes_aside(self) -> Vec<Value> {
        let nodes = self.nodes.iter().filter(|node| node.aside.is_some());
        nodes
            .map(|node| json!({"node": node.name, "reason": node.aside}))
            .collect()
    }

    /// Adds `application`, `user`, `name` and `lost_queue` to the description of the job `number`;
    /// null without a name.
    pub(crate) fn put(self, job: &mut Value, number: &Value) {
        let known = number.as_u64().and_then(|number| self.job(number));
        job["application"] = known.map(|job| job.application.as_str()).into();
        job["user"] = known.map(|job| job.user.as_str()).into();
        job["name"] = known.map(|job| job.name.as_str()).into();
        job["lost_queue"] = known.and_then(|job| job.lost_queue.as_deref()).into();
    }

    /// Replaces `job#N` by applications and `node#N` by hosts in a sentence that the engine wrote
    /// at that moment of its clock; `None` means now.
    pub(crate) fn put_into(self, sentence: &mut Value, at_ms: Option<i64>) {
        if let Some(text) = sentence.as_str().filter(|text| text.contains('#')) {
            *sentence = self.named(text, at_ms).into();
        }
    }

    fn named(self, text: &str, at_ms: Option<i64>) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('#') {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let (number, left) = after.split_at(digits);
            let word = [JOB, NODE].into_iter().find(|word| before.ends_with(word));
            // Skips matches inside a queue's name, which may have any characters except blanks.
            let word = word.filter(|word| {
                let begin = &before[..before.len() - word.len()];
                let last = begin.chars().next_back().or(named.chars().next_back());
                last.is_none_or(|last| " (".contains(last))
            });
            let name = word.and_then(|word| self.name(word, number.parse().ok()?, at_ms));
            match word.zip(name) {
                Some((word, name)) => {
                    named.push_str(&before[..before.len() - word.len()]);
                    named.push_str(name);
                }
                None => named.push_str(&rest[..at + 1 + digits]),
            }
            rest = left;
        }
        named + rest
    }

    fn name(self, word: &str, number: u64, at_ms: Option<i64>) -> Option<&'a str> {
        match word {
            JOB => self.job(number).map(|job| job.application.as_str()),
            // Without any names of nodes, the engine's number stays.
            _ if self.nodes.is_empty() => None,
            _ => self.node(number, at_ms).or(Some(GONE)),
        }
    }
}

/// Tells whether a text is an application id of YARN: the start of the cluster, and a number with
/// at least four digits.
pub(crate) fn is_application(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.strip_prefix("application_");
    let parts = parts.and_then(|parts| parts.split_once('_'));
    parts.is_some_and(|(start, number)| {
        !start.is_empty() && number.len() >= 4 && digits(start) && digits(number)
    })
}

/// The words for a job and a node in the engine's sentences, before `#` and the number.
const JOB: &str = "job";
const NODE: &str = "node";

/// Stands for a node that has left: its number may belong to another one by now.
const GONE: &str = "a node that has left";

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Vec<JobName> {
        let json = r#"[[7, "application_1_0007", "alice", "word count"],
                       [71, "application_1_0071", "bob", "job#7"]]"#;
        serde_json::from_str(json).expect("rows")
    }

    #[test]
    fn numbers_in_sentences_become_applications() {
        let jobs = jobs();
        let names = Names {
            jobs: &jobs,
            nodes: &[],
        };
        let named = |text: &str| names.named(text, None);
        for (told, expected) in [
            ("job#7 goes first", "application_1_0007 goes first"),
            (
                "2 go first, next job#71, job#7: 3",
                "2 go first, next application_1_0071, application_1_0007: 3",
            ),
            ("(job#7)", "(application_1_0007)"),
            // An unknown job, no number, a too large one, and queues with such names.
            ("job#8", "job#8"),
            ("job#", "job#"),
            ("job#x job#7", "job#x application_1_0007"),
            ("job#99999999999999999999", "job#99999999999999999999"),
            ("root.job#7 of \u{e9}job#7", "root.job#7 of \u{e9}job#7"),
            ("node#7 (node#1)", "node#7 (node#1)"),
            ("job#71 \u{1f980}", "application_1_0071 \u{1f980}"),
            ("", ""),
        ] {
            assert_eq!(named(told), expected);
        }
    }

    #[test]
    fn numbers_of_nodes_become_hosts_as_long_as_they_are_theirs() {
        let nodes =
            r#"[[0, "rack1-a:45454", 10, "/1", ""], [7, "rack2-b:45454", 500, "/2", "gpu"]]"#;
        let (jobs, nodes) = (jobs(), serde_json::from_str::<Vec<NodeName>>(nodes));
        let names = Names {
            jobs: &jobs,
            nodes: &nodes.expect("rows"),
        };
        let named = |text: &str, at_ms| names.named(text, at_ms);
        for (told, at_ms, expected) in [
            ("node#0 has 0 MB free", None, "rack1-a:45454 has 0 MB free"),
            ("(node#0)", Some(10), "(rack1-a:45454)"),
            (
                "on node#7, job#7",
                Some(500),
                "on rack2-b:45454, application_1_0007",
            ),
            // Another node had the number; a number without a node.
            ("on node#7", Some(499), "on a node that has left"),
            ("; node#70 is held", None, "; a node that has left is held"),
            // No number, and queues with such names.
            ("node# node#x #7", None, "node# node#x #7"),
            ("`root.node#7` xnode#0", None, "`root.node#7` xnode#0"),
        ] {
            assert_eq!(named(told, at_ms), expected);
        }
    }

    #[test]
    fn a_job_without_a_name_has_none() {
        let jobs = jobs();
        let names = Names {
            jobs: &jobs,
            nodes: &[],
        };
        let mut job = serde_json::json!({});
        names.put(&mut job, &7.into());
        assert_eq!(
            (&job["user"], &job["name"]),
            (&"alice".into(), &"word count".into())
        );
        for none in [8.into(), Value::Null, (-7).into(), "7".into()] {
            names.put(&mut job, &none);
            assert_eq!(job["application"], Value::Null, "{none}");
        }
        assert_eq!(names.number("application_1_0071"), Some(71));
        assert_eq!(names.number("application_1_007"), None);
    }
}
