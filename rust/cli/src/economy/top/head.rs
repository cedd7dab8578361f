//! The lines above every view of `heddle top`: time, price or policy, use, health and grants.

use super::super::list;
use super::super::queues::{has_accounts, sums};
use crate::failure::Failure;
use crate::remote::{Client, Holds};
use crate::terminal::{clean, said, time};
use serde_json::Value;

/// Samples of the last minute are enough for the newest.
const RECENT_MS: u64 = 60_000;

/// The answers that the head shows.
pub(super) struct Head {
    /// Null under a policy without accounts.
    pub(super) price: Value,
    pub(super) queues: Value,
    pub(super) health: Value,
    /// The last sample of what the cluster is used for; null before the first.
    pub(super) usage: Value,
}

impl Head {
    pub(super) fn now(client: &Client) -> Result<Head, Failure> {
        let queues = client.get("queues", "", Holds::List("queues"))?.json;
        let price = match has_accounts(&queues) {
            true => client.open("price", Holds::Text("price"))?.json,
            false => Value::Null,
        };
        let since_ms = queues["now_ms"].as_u64().unwrap_or(0);
        let since = format!("from_ms={}", since_ms.saturating_sub(RECENT_MS));
        let usage = client.get("usage", &since, Holds::List("samples"))?.json;
        Ok(Head {
            price,
            queues,
            health: client.open("health", Holds::Text("status"))?.json,
            usage: list(&usage["samples"]).last().cloned().unwrap_or_default(),
        })
    }

    /// Returns the head: three lines, or two before the first sample.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = [self.first(), self.state()]
            .into_iter()
            .chain(self.granted());
        lines.map(|line| clean(&line)).collect()
    }

    fn first(&self) -> String {
        let (running, pending, masters) = sums(&self.queues);
        let masters = match masters {
            0 => String::new(),
            masters => format!("  ApplicationMasters {masters} (counted nowhere below)"),
        };
        let now = time(&self.queues["now_ms"]);
        match self.price.is_null() {
            false => format!(
                "{now}{masters}  price {}  slots used {running}, pending {pending}",
                said(&self.price["price"]),
            ),
            true => {
                let policy = &self.queues["policy"];
                let stages = ["share", "order", "place"].map(|stage| said(&policy[stage]));
                format!(
                    "{now}{masters}  policy {}  tasks running {running}, pending {pending}",
                    stages.join("/"),
                )
            }
        }
    }

    /// Health, and the jobs that wait.
    fn state(&self) -> String {
        let health = &self.health;
        let words = ["status", "journal", "shadow"].map(|key| said(&health[key]));
        let mut text = format!("{}, journal {}, shadow {}", words[0], words[1], words[2]);
        let waiting = &self.usage["waiting"];
        if !waiting.is_null() {
            text.push_str(&format!(
                "  waiting jobs {}, longest {} s",
                said(&waiting["jobs"]),
                waiting["longest_ms"].as_u64().unwrap_or(0) / 1_000,
            ));
        }
        text
    }

    /// Containers granted and taken back in the time of one sample.
    fn granted(&self) -> Option<String> {
        let granted = self.usage["granted"].as_object()?;
        let of = |key: &str| granted.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (host, rack, away) = (of("host"), of("rack"), of("away"));
        let all = [host, rack, away, of("anywhere")];
        Some(format!(
            "granted {} ({host} on their host, {rack} on their rack, {away} elsewhere), \
             taken back {}",
            all.into_iter().fold(0, u64::saturating_add),
            said(&self.usage["evicted"]),
        ))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub(in super::super) fn head() -> Head {
        Head {
            price: json!({"price": "0.5\u{9b}"}),
            queues: json!({"queues": [], "now_ms": 0}),
            health: json!({"status": "ok", "journal": "off\u{7}", "shadow": "off"}),
            usage: json!({"granted": {"host": 3}, "evicted": 2,
                          "waiting": {"jobs": 1, "longest_ms": 7_500}}),
        }
    }

    #[test]
    fn a_head_fits_eighty_columns() {
        let state = "ok, journal off\\u{7}, shadow off  waiting jobs 1, longest 7 s";
        let granted = "granted 3 (3 on their host, 0 on their rack, 0 elsewhere), taken back 2";
        let first = "1970-01-01T00:00:00Z  price 0.5\\u{9b}  slots used 0, pending 0";
        assert_eq!(head().lines(), [first, state, granted]);
        let fresh = Head {
            usage: Value::Null,
            ..head()
        };
        assert_eq!(fresh.lines(), [first, "ok, journal off\\u{7}, shadow off"]);
    }
}
