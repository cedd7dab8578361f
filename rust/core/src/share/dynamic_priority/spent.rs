//! Spending of jobs with an authority, by application names that outlive the engine. The books keep
//! it for the next engine. `authority` decides what a job may spend and is charged.
//!
//! Without these records a job could spend its authority again after each restart of the
//! ResourceManager.

use crate::model::job::ApplicationName;
use crate::words::credits::Credits;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prefix of a lesson's key; the name of an application follows.
const KEY: &str = "spent/";

/// Maximum number of applications in memory. Beyond it, those of the smallest names are forgotten,
/// which are mostly the oldest.
const APPLICATIONS_MAX: usize = 10_000;

/// Sums by application.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Sums that changed since the last call of `lessons`.
    news: BTreeMap<ApplicationName, Credits>,
    /// Charges of an earlier engine to applications that are not known yet.
    before: BTreeMap<ApplicationName, Credits>,
}

fn put(sums: &mut BTreeMap<ApplicationName, Credits>, of: ApplicationName, spent: Credits) {
    sums.insert(of, spent);
    if sums.len() > APPLICATIONS_MAX {
        sums.pop_first();
    }
}

impl Spent {
    /// Notes the total spending of an application.
    pub(super) fn note(&mut self, of: Option<ApplicationName>, spent: Credits) {
        if let Some(of) = of {
            put(&mut self.news, of, spent);
        }
    }

    /// Takes the changes for books that outlive the engine.
    pub(super) fn lessons(&mut self) -> Vec<(String, String)> {
        let news = std::mem::take(&mut self.news).into_iter();
        news.map(|(of, spent)| (format!("{KEY}{of}"), json!(spent.micro()).to_string()))
            .collect()
    }

    /// Parses a lesson; None if it is another policy's.
    pub(super) fn read(key: &str, value: &Value) -> Option<(ApplicationName, Credits)> {
        let of = key.strip_prefix(KEY)?.parse().ok()?;
        let spent = value.as_i64().filter(|micro| *micro >= 0)?;
        Some((of, Credits::from_micro(spent)))
    }

    /// Keeps the spending of an application that may still appear.
    pub(super) fn expect(&mut self, of: ApplicationName, spent: Credits) {
        put(&mut self.before, of, spent);
    }

    /// Takes the earlier spending of an application that has appeared.
    pub(super) fn before(&mut self, of: Option<ApplicationName>) -> Credits {
        let before = of.and_then(|of| self.before.remove(&of));
        before.unwrap_or_default()
    }

    /// Saves the spending of applications that may still appear, for the next stage.
    pub(super) fn save(&self) -> BTreeMap<String, Credits> {
        let text = |(of, spent): (&ApplicationName, &Credits)| (of.to_string(), *spent);
        self.before.iter().map(text).collect()
    }

    pub(super) fn load(&mut self, saved: BTreeMap<String, Credits>) {
        for (of, spent) in saved {
            if let Ok(of) = of.parse() {
                self.expect(of, spent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> ApplicationName {
        ApplicationName {
            cluster_ms: 1_732_212_345_678,
            number,
        }
    }

    #[test]
    fn what_is_told_is_understood_and_nothing_else() {
        let mut spent = Spent::default();
        spent.note(Some(name(7)), Credits::from_micro(1_500_000));
        spent.note(None, Credits::from_micro(9));
        let lessons = spent.lessons();
        let expected = ("spent/1732212345678_0007", "1500000");
        assert_eq!(lessons.len(), 1);
        assert_eq!((lessons[0].0.as_str(), lessons[0].1.as_str()), expected);
        assert!(spent.lessons().is_empty(), "they were told");
        let value = json!(1_500_000);
        let read = Spent::read(expected.0, &value);
        assert_eq!(read, Some((name(7), Credits::from_micro(1_500_000))));
        for key in [
            "spent/",
            "spent/x_1",
            "spent/1_",
            "spent/1_-1",
            "shuffle-ratio/1_1",
        ] {
            assert_eq!(Spent::read(key, &value), None, "{key}");
        }
        for value in [json!(-1), json!("1"), json!(1.5), Value::Null] {
            assert_eq!(Spent::read("spent/1_1", &value), None, "{value}");
        }
    }

    #[test]
    fn too_many_push_out_the_oldest() {
        let mut spent = Spent::default();
        for number in 0..APPLICATIONS_MAX as u32 + 1 {
            spent.note(Some(name(number)), Credits::from_micro(1));
            spent.expect(name(number), Credits::from_micro(1));
        }
        assert_eq!(spent.lessons().len(), APPLICATIONS_MAX);
        assert_eq!(spent.before(Some(name(0))), Credits::ZERO);
        assert_eq!(spent.before(Some(name(1))), Credits::from_micro(1));
        assert_eq!(spent.before(Some(name(1))), Credits::ZERO, "it has come");
    }
}
