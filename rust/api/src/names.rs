//! What a host calls the jobs that the engine knows by number: with a request come the names of
//! those that it may be about. Looks nothing up in the engine and decides nothing; a job without a
//! name keeps its number.

use serde::Deserialize;
use serde_json::Value;

/// One job. In JSON a list: `[7, "application_1_0007", "alice", "word count"]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JobName {
    /// The engine's.
    pub number: u32,
    /// YARN's.
    pub application: String,
    /// Who submitted it.
    pub user: String,
    /// What that user calls it.
    pub name: String,
}

/// The names that came with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a>(pub(crate) &'a [JobName]);

impl<'a> Names<'a> {
    fn of(self, number: u64) -> Option<&'a JobName> {
        self.0.iter().find(|job| u64::from(job.number) == number)
    }

    /// The number of an application.
    pub(crate) fn number(self, application: &str) -> Option<u32> {
        let job = self.0.iter().find(|job| job.application == application);
        job.map(|job| job.number)
    }

    /// Adds `application`, `user` and `name` to what is said of the job `number`; null if it has
    /// none.
    pub(crate) fn put(self, job: &mut Value, number: &Value) {
        let known = number.as_u64().and_then(|number| self.of(number));
        job["application"] = known.map(|job| job.application.as_str()).into();
        job["user"] = known.map(|job| job.user.as_str()).into();
        job["name"] = known.map(|job| job.name.as_str()).into();
    }

    /// Puts applications for `job#N` in a sentence of the engine's.
    pub(crate) fn put_into(self, sentence: &mut Value) {
        if let Some(text) = sentence.as_str().filter(|text| text.contains(JOB)) {
            *sentence = self.named(text).into();
        }
    }

    fn named(self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(JOB) {
            let (before, from) = rest.split_at(at);
            let after = &from[JOB.len()..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            named.push_str(before);
            // Not in the midst of a queue's name, which may be anything but blank.
            let begins = named.chars().next_back().is_none_or(|c| " (".contains(c));
            let job = after[..digits].parse().ok().and_then(|it| self.of(it));
            match job.filter(|_| begins) {
                Some(job) => named.push_str(&job.application),
                None => named.push_str(&from[..JOB.len() + digits]),
            }
            rest = &after[digits..];
        }
        named + rest
    }
}

/// Whether a text is an application's id as YARN writes it: the cluster's start, and the number
/// with four digits at the least.
pub(crate) fn is_application(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.strip_prefix("application_");
    let parts = parts.and_then(|parts| parts.split_once('_'));
    parts.is_some_and(|(start, number)| {
        !start.is_empty() && number.len() >= 4 && digits(start) && digits(number)
    })
}

/// How the engine's sentences speak of a job, before its number.
const JOB: &str = "job#";

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
        let named = |text: &str| Names(&jobs).named(text);
        for (told, expected) in [
            ("job#7 goes first", "application_1_0007 goes first"),
            (
                "2 go first, next job#71, job#7: 3",
                "2 go first, next application_1_0071, application_1_0007: 3",
            ),
            ("(job#7)", "(application_1_0007)"),
            // No such job, no number, one that is too large, and queues that are called so.
            ("job#8", "job#8"),
            ("job#", "job#"),
            ("job#x job#7", "job#x application_1_0007"),
            ("job#99999999999999999999", "job#99999999999999999999"),
            ("root.job#7 of \u{e9}job#7", "root.job#7 of \u{e9}job#7"),
            ("job#71 \u{1f980}", "application_1_0071 \u{1f980}"),
            ("", ""),
        ] {
            assert_eq!(named(told), expected);
        }
    }

    #[test]
    fn a_job_without_a_name_has_none() {
        let jobs = jobs();
        let names = Names(&jobs);
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
