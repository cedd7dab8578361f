//! `<QueueInfo>`, the document of all answers of the published interface (DP-34), laid out like the
//! servlet's: one element to a line. `quick-xml` escapes texts; in addition, every character
//! outside ASCII becomes a character reference. Readers have taken `text/xml` without a character
//! set for ASCII or for UTF-8, and references are the same in both.

use crate::http::account::Account;
use crate::http::credit;
use quick_xml::Writer;
use quick_xml::escape::escape;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use std::fmt::Write as _;
use std::net::IpAddr;

/// A document under construction.
pub(super) struct QueueInfo(Writer<Vec<u8>>);

impl QueueInfo {
    /// Begins with the host, by its short name as published; an IP address is not shortened.
    pub(super) fn new(host: &str) -> QueueInfo {
        let short = match host.parse::<IpAddr>() {
            Ok(_) => host,
            Err(_) => host.split('.').next().unwrap_or(host),
        };
        let mut info = QueueInfo(Writer::new(Vec::new()));
        info.event(Event::Start(BytesStart::new("QueueInfo")));
        info.element("host", short)
    }

    /// Adds an element with a text.
    pub(super) fn element(mut self, name: &'static str, text: &str) -> QueueInfo {
        let text = allowed(text);
        self.event(Event::Start(BytesStart::new(name)));
        self.event(Event::Text(BytesText::new(&text)));
        self.event(Event::End(BytesEnd::new(name)));
        self.line();
        self
    }

    /// Adds an element with an amount.
    pub(super) fn amount(self, name: &'static str, micro: i64) -> QueueInfo {
        self.element(name, &credit::published(micro))
    }

    /// Adds the contents of an account. Answers to changes have no share.
    pub(super) fn account(self, account: &Account, with_share: bool) -> QueueInfo {
        let mut info = self.amount("budget", account.budget_micro);
        info = info.amount("spending", account.rate_micro);
        if with_share {
            // The shortest text of a `float` that yields the same value.
            info = info.element("share", &format!("{:?}", account.share as f32));
        }
        info.element("used", &account.used_slots().to_string())
            .element("pending", &account.pending_slots().to_string())
    }

    /// Adds an account under the name of its queue.
    pub(super) fn named_account(mut self, account: &Account) -> QueueInfo {
        let name = allowed(name(&account.queue));
        let start = BytesStart::new("queue").with_attributes([("name", name.as_str())]);
        self.event(Event::Start(start));
        let mut info = self.account(account, true);
        info.event(Event::End(BytesEnd::new("queue")));
        info.line();
        info
    }

    /// Returns the whole document, in ASCII.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.event(Event::End(BytesEnd::new("QueueInfo")));
        self.line();
        let text = String::from_utf8(self.0.into_inner()).expect("only texts were written");
        let mut ascii = String::with_capacity(text.len());
        for letter in text.chars() {
            match letter.is_ascii() {
                true => ascii.push(letter),
                false => write!(ascii, "&#{};", u32::from(letter)).expect("a string takes all"),
            }
        }
        ascii.into_bytes()
    }

    fn event(&mut self, event: Event<'_>) {
        self.0.write_event(event).expect("memory takes all");
    }

    fn line(&mut self) {
        self.event(Event::Text(BytesText::new("\n")));
    }
}

/// Returns a queue's name for clients: right below the root it is the user's name. The name means
/// the same queue when it is sent back; a name that begins with `root.` would not.
fn name(path: &str) -> &str {
    path.strip_prefix("root.")
        .filter(|name| !name.starts_with("root."))
        .unwrap_or(path)
}

/// Returns a text of users for XML, HTML or SVG.
pub fn escaped(text: &str) -> String {
    escape(allowed(text)).into_owned()
}

/// Replaces characters that XML 1.0 cannot represent. Line ends and tabs are replaced, too, because
/// readers of an attribute get them as blanks. No name of a queue has any of these.
fn allowed(text: &str) -> String {
    let odd = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.replace(odd, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::account::Projection;
    use proptest::prelude::*;

    fn account(queue: &str) -> Account {
        Account {
            queue: queue.to_string(),
            budget_micro: 12_500_000,
            rate_micro: 1_000_000,
            income_micro: 0,
            debit_micro: 0,
            share: 1.0 / 3.0,
            quota: [3, 1],
            used: [2, 1],
            pending: [5, 0],
            projection: Projection::of(&serde_json::Value::Null),
        }
    }

    #[test]
    fn it_is_laid_out_as_published() {
        let info = QueueInfo::new("rm1.example.com").amount("price", 3_000_000);
        let text = info.named_account(&account("root.alice")).finish();
        let expected = "<QueueInfo><host>rm1</host>\n<price>3.0</price>\n\
             <queue name=\"alice\"><budget>12.5</budget>\n<spending>1.0</spending>\n\
             <share>0.33333334</share>\n<used>3</used>\n<pending>5</pending>\n</queue>\n\
             </QueueInfo>\n";
        assert_eq!(String::from_utf8(text).expect("ASCII"), expected);
    }

    #[test]
    fn hosts_are_shortened_and_addresses_are_not() {
        for (host, short) in [
            ("rm1", "rm1"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("", ""),
        ] {
            let text = String::from_utf8(QueueInfo::new(host).finish()).expect("ASCII");
            assert_eq!(
                text,
                format!("<QueueInfo><host>{short}</host>\n</QueueInfo>\n")
            );
        }
    }

    #[test]
    fn names_are_those_that_mean_the_queue() {
        for (path, shown) in [
            ("root.alice", "alice"),
            ("root.ads.eu", "ads.eu"),
            ("root.root.x", "root.root.x"),
            ("root", "root"),
        ] {
            assert_eq!(name(path), shown);
            if path != "root" {
                assert_eq!(crate::auth::role::queue_path(shown), path);
            }
        }
    }

    proptest! {
        /// An independent parser reads the output back, whatever the names are.
        #[test]
        fn any_name_is_one_element(queue in "(?s).{0,40}|[<>&\"'\\]\\[!-]{0,20}") {
            let path = format!("root.{queue}");
            let bytes = QueueInfo::new(&queue).named_account(&account(&path)).finish();
            prop_assert!(bytes.is_ascii());
            let text = String::from_utf8(bytes).expect("ASCII");
            let document = roxmltree::Document::parse(&text).expect("XML");
            let root = document.root_element();
            let elements: Vec<_> = root.children().filter(|child| child.is_element()).collect();
            let elements: [roxmltree::Node<'_, '_>; 2] = elements.try_into().expect("two of them");
            let read = elements.map(|element| element.attribute("name").or(element.text()));
            let [host, name_read] = read.map(|text| text.unwrap_or("").to_string());
            prop_assert_eq!(host, allowed(queue.split('.').next().unwrap_or("")));
            prop_assert_eq!(name_read, allowed(name(&path)));
        }
    }
}
