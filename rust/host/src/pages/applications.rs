//! The table of applications below the tree: those of one queue and below it, or of all, page by
//! page, the newest first. The stock page filters in the browser; without script, the server does.

use super::document::escaped;
use serde::Deserialize;
use std::cmp::Reverse;

const PATH: &str = "/cluster/scheduler";
const ROWS_MAX: usize = 200;
/// More digits than a number of a page has.
const DIGITS_MAX: usize = 9;

/// The columns, in the order of an application's texts.
const COLUMNS: [&str; 15] = [
    "ID",
    "User",
    "Name",
    "Application Type",
    "Queue",
    "StartTime",
    "LaunchTime",
    "FinishTime",
    "State",
    "FinalStatus",
    "Running Containers",
    "Allocated CPU VCores",
    "Allocated Memory MB",
    "Progress",
    "Tracking UI",
];
const QUEUE: usize = 4;

/// One application: a text for each column, then the address of its own page, if it has one.
#[derive(Deserialize)]
pub(super) struct Application(Vec<String>, Option<String>);

/// What the address of the page asks for.
pub(super) struct Wanted {
    queue: String,
    page: usize,
}

impl Wanted {
    /// Reads `queue=root.a&page=2`. Anything else in it is for others.
    pub(super) fn read(query: &str) -> Wanted {
        let mut wanted = Wanted {
            queue: "root".to_string(),
            page: 0,
        };
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("queue", queue)) => wanted.queue = decoded(queue),
                Some(("page", page)) if page.len() <= DIGITS_MAX => {
                    wanted.page = page.parse().unwrap_or(0);
                }
                _ => {}
            }
        }
        wanted
    }

    fn shows(&self, queue: &str) -> bool {
        let below = queue.strip_prefix(self.queue.as_str());
        self.queue == "root" || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    fn address(&self, page: usize) -> String {
        format!("{PATH}?queue={}&amp;page={page}", encoded(&self.queue))
    }
}

/// Writes a link to the applications of a queue.
pub(super) fn link(queue: &str) -> String {
    let address = encoded(queue);
    format!("<a href=\"{PATH}?queue={address}#apps\">Applications</a>")
}

/// Writes the table.
pub(super) fn html(applications: &[Application], wanted: &Wanted) -> String {
    let shown = |app: &&Application| wanted.shows(app.0.get(QUEUE).map_or("", String::as_str));
    let mut listed: Vec<&Application> = applications.iter().filter(shown).collect();
    // A longer number is the newer one: YARN writes at least four digits.
    let id = |app: &Application| app.0.first().map(|id| (id.len(), id.clone()));
    listed.sort_by_cached_key(|app| Reverse(id(app)));
    let all = listed.len();
    let first = (wanted.page.saturating_mul(ROWS_MAX)).min(all);
    let last = (first + ROWS_MAX).min(all);
    let heads: String = COLUMNS
        .iter()
        .map(|name| format!("<th scope=\"col\" class=\"ui-state-default\">{name}</th>"))
        .collect();
    let rows: String = listed[first..last].iter().map(|app| row(app)).collect();
    let mut turn = String::new();
    if first > 0 {
        let back = wanted.address(wanted.page.min(all / ROWS_MAX + 1) - 1);
        turn.push_str(&format!("<a href=\"{back}#apps\">Previous</a> "));
    }
    if last < all {
        let next = wanted.address(wanted.page + 1);
        turn.push_str(&format!("<a href=\"{next}#apps\">Next</a>"));
    }
    let from = if first < last { first + 1 } else { first };
    format!(
        "<h2 id=\"apps\">Applications of {}</h2><p>Showing {from} to {last} of {all} entries. \
         {turn}</p><div class=\"scroll\"><table class=\"apps\"><thead><tr>{heads}</tr></thead>\n\
         <tbody>{rows}</tbody></table></div>\n",
        escaped(&wanted.queue)
    )
}

fn row(app: &Application) -> String {
    let cell = |(at, text): (usize, &String)| {
        let text = escaped(text);
        match (at, &app.1) {
            (0, _) => format!("<td><a href=\"/cluster/app/{text}\">{text}</a></td>"),
            (at, Some(to)) if at + 1 == COLUMNS.len() && is_safe(to) => {
                format!("<td><a href=\"{}\">{text}</a></td>", escaped(to))
            }
            _ => format!("<td>{text}</td>"),
        }
    };
    let cells: String = app
        .0
        .iter()
        .take(COLUMNS.len())
        .enumerate()
        .map(cell)
        .collect();
    format!("<tr>{cells}</tr>\n")
}

/// Whether an address that an ApplicationMaster gave opens a page and runs nothing.
fn is_safe(address: &str) -> bool {
    ["http://", "https://", "/"]
        .iter()
        .any(|start| address.starts_with(start))
}

/// Percent-encodes a text for the query of an address, except letters, digits and `.-_`.
fn encoded(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                address.push(char::from(byte));
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                high.zip(low)
                    .map_or(b'?', |(high, low)| (16 * high + low) as u8)
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: usize, queue: &str) -> Application {
        let mut texts = vec![format!("application_1_{number:04}")];
        texts.extend((1..COLUMNS.len()).map(|at| format!("<{at}>")));
        texts[QUEUE] = queue.to_string();
        Application(texts, Some("http://host:1/x?a=1&b=2".to_string()))
    }

    #[test]
    fn a_page_shows_the_newest_of_a_queue_and_those_below_it() {
        let apps: Vec<Application> = (0..500)
            .map(|i| {
                app(
                    9_900 + i,
                    ["root.a", "root.a.b", "root.ab", "root.c"][i % 4],
                )
            })
            .collect();
        let all = html(&apps, &Wanted::read(""));
        assert!(all.contains("Showing 1 to 200 of 500 entries."));
        assert!(all.contains("application_1_10399") && !all.contains("application_1_10199"));
        assert!(all.contains("queue=root&amp;page=1#apps"));
        let third = html(&apps, &Wanted::read("user.name=x&queue=root&page=2"));
        assert!(third.contains("Showing 401 to 500 of 500 entries."));
        assert!(third.contains("page=1#apps") && !third.contains("Next"));
        let one = html(&apps, &Wanted::read("queue=root.a"));
        assert!(one.contains("Showing 1 to 200 of 250 entries."));
        let past = html(&apps, &Wanted::read("queue=root%2Ec&page=999999999"));
        assert!(
            past.contains("Showing 125 to 125 of 125 entries."),
            "{past}"
        );
        assert!(html(&apps, &Wanted::read("queue=%3Cx&page=-1")).contains("of &lt;x</h2>"));
    }

    #[test]
    fn texts_of_users_stay_texts() {
        let mut bad = app(1, "root.a");
        let page = html(&[app(1, "root.a")], &Wanted::read(""));
        assert!(page.contains("<td>&lt;1&gt;</td>"));
        assert!(page.contains("<a href=\"http://host:1/x?a=1&amp;b=2\">&lt;14&gt;</a>"));
        bad.1 = Some("javascript:alert(1)".to_string());
        let page = html(&[bad], &Wanted::read(""));
        assert!(page.contains("<td>&lt;14&gt;</td>"));
    }

    #[test]
    fn any_queue_comes_back_from_its_address() {
        for queue in ["root.a b", "root.\u{e9}%25&x=1#", "root.+"] {
            let wanted = Wanted::read(&format!("queue={}", encoded(queue)));
            assert_eq!(wanted.queue, queue);
        }
        assert_eq!(decoded("a+b%2"), "a b?");
    }
}
