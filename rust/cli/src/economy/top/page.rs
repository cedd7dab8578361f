//! One page of jobs, queues or nodes: what the server is asked for, and how it fits a window. The
//! server pages jobs and nodes; it sends all queues with the head.

use super::super::jobs::{Choice, job_table};
use super::super::list;
use super::super::nodes::node_table;
use super::super::queues::market;
use super::head::Head;
use crate::failure::Failure;
use crate::remote::{Client, Holds};
use crate::terminal::clean;
use serde_json::{Value, json};

/// Lines beside the rows of a page: three of the head, a title, a heading, and the keys.
const OTHER_LINES: usize = 6;
/// The server's limit of jobs in an answer; no window is higher.
const ROWS_MAX: usize = 500;

/// The content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Jobs,
    Queues,
    Nodes,
}

impl View {
    /// The name in titles, and the key of the rows in the server's answer.
    fn name(self) -> &'static str {
        match self {
            View::Jobs => "jobs",
            View::Queues => "queues",
            View::Nodes => "nodes",
        }
    }

    pub(super) fn next(self) -> View {
        match self {
            View::Jobs => View::Queues,
            View::Queues => View::Nodes,
            View::Nodes => View::Jobs,
        }
    }
}

/// The start of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Start {
    /// For the server: a number of a job or node, or a number of rows to leave out.
    at: u64,
    /// Rows of the pages before.
    before: usize,
}

/// The page to fetch, and those before it. An answer names only the start of the page after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    view: View,
    start: Start,
    back: Vec<Start>,
}

impl Place {
    /// The first page of a view.
    pub(super) fn first(view: View) -> Place {
        Place {
            view,
            start: Start::default(),
            back: Vec::new(),
        }
    }

    pub(super) fn view(&self) -> View {
        self.view
    }

    /// Goes on to the page after this one; stays on the last.
    pub(super) fn forward(&mut self, shown: &Page) {
        // If this page could not be fetched, an older one is shown.
        let is_shown = (shown.view, shown.start) == (self.view, self.start);
        if let Some(at) = shown.next.filter(|_| is_shown) {
            self.back.push(self.start);
            self.start = Start {
                at,
                before: self.start.before + shown.rows,
            };
        }
    }

    /// Goes to the page before this one; stays on the first.
    pub(super) fn backward(&mut self) {
        if let Some(start) = self.back.pop() {
            self.start = start;
        }
    }
}

/// A page as it was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    view: View,
    start: Start,
    rows: usize,
    /// All rows on all pages, if the server says it.
    total: Option<usize>,
    next: Option<u64>,
    /// The table with its heading.
    lines: Vec<String>,
}

impl Page {
    /// Fetches a page for a window of this height. If its rows are gone, fetches the first.
    pub(super) fn fetch(
        client: &Client,
        choice: &Choice,
        head: &Head,
        place: &mut Place,
        height: usize,
    ) -> Result<Page, Failure> {
        let room = height.saturating_sub(OTHER_LINES).clamp(1, ROWS_MAX);
        let mut page = Page::at(client, choice, head, place, room)?;
        if page.rows == 0 && !place.back.is_empty() {
            *place = Place::first(place.view);
            page = Page::at(client, choice, head, place, room)?;
        }
        Ok(page.within(height))
    }

    /// Returns the page for a window of this height. Where no row is visible, none is passed over.
    fn within(mut self, height: usize) -> Page {
        self.next = self.next.filter(|_| height > OTHER_LINES);
        self
    }

    fn at(
        client: &Client,
        choice: &Choice,
        head: &Head,
        place: &Place,
        room: usize,
    ) -> Result<Page, Failure> {
        let at = place.start.at;
        Ok(match place.view {
            View::Jobs => {
                let mut page = Page::of(place, &jobs(client, choice, at, room)?, job_table);
                if choice.is_by_number() {
                    page.total = page
                        .total
                        .map(|rest| page.start.before.saturating_add(rest));
                }
                page
            }
            View::Nodes => Page::of(place, &nodes(client, at, room)?, node_table),
            View::Queues => Page::of_queues(place, &head.queues, room),
        })
    }

    fn of(place: &Place, answer: &Value, table: fn(&[Value]) -> String) -> Page {
        let rows = list(&answer[place.view.name()]);
        let next = answer["next"].as_u64();
        Page {
            view: place.view,
            start: place.start,
            rows: rows.len(),
            total: answer["total"]
                .as_u64()
                .map(|total| usize::try_from(total).unwrap_or(usize::MAX)),
            // A page that leads back would count rows twice.
            next: next.filter(|next| *next > place.start.at),
            lines: table(rows).lines().map(String::from).collect(),
        }
    }

    fn of_queues(place: &Place, queues: &Value, room: usize) -> Page {
        let all = list(&queues["queues"]);
        let from = place.start.before.min(all.len());
        let to = (from + room).min(all.len());
        let shown = json!({
            "queues": &all[from..to],
            "allocation_interval_ms": queues["allocation_interval_ms"],
        });
        Page {
            view: place.view,
            start: place.start,
            rows: to - from,
            total: Some(all.len()),
            next: (to < all.len()).then_some(to as u64),
            lines: market(&shown).lines().map(String::from).collect(),
        }
    }

    fn title(&self) -> String {
        let name = self.view.name();
        if self.rows == 0 {
            return format!("no {name}");
        }
        let first = self.start.before + 1;
        let last = self.start.before + self.rows;
        // The server counts no nodes: their number is known on the last page.
        let total = self.total.or(self.next.is_none().then_some(last));
        match total {
            Some(total) => format!("{name} {first} to {last} of {}", total.max(last)),
            None => format!("{name} {first} to {last}, and more"),
        }
    }

    /// Returns how far the table can be shifted in a window of this width.
    pub(super) fn shift_max(&self, columns: usize) -> usize {
        let widest = self.lines.iter().map(|line| line.chars().count()).max();
        widest.unwrap_or(0).saturating_sub(columns)
    }
}

/// Fetches jobs.
pub(super) fn jobs(
    client: &Client,
    choice: &Choice,
    at: u64,
    most: usize,
) -> Result<Value, Failure> {
    let query = choice.query(at, most);
    Ok(client.get("jobs", &query, Holds::List("jobs"))?.json)
}

/// Fetches nodes.
pub(super) fn nodes(client: &Client, from: u64, most: usize) -> Result<Value, Failure> {
    let query = format!("from={from}&max={most}");
    Ok(client.get("nodes", &query, Holds::List("nodes"))?.json)
}

const KEYS: &str = "q ends  j jobs  u queues  n nodes  PgUp PgDn pages  Left Right columns";

/// Lays out a window of this size. No line is too long, the lines fit, and the last names the keys.
/// The table is shifted to the left by `shift` columns.
pub(super) fn frame(
    (head, page): (&Head, &Page),
    trouble: Option<&Failure>,
    shift: usize,
    (columns, rows): (usize, usize),
) -> Vec<String> {
    let foot = match trouble {
        None => KEYS.to_string(),
        Some(failure) => format!("as it was; now: {}   (q ends)", clean(&failure.what)),
    };
    let mut lines = head.lines();
    lines.push(match rows > OTHER_LINES {
        true => page.title(),
        false => format!(
            "{} need a window of {} lines",
            page.view.name(),
            OTHER_LINES + 1
        ),
    });
    let shifted = |line: &String| line.chars().skip(shift).collect();
    lines.extend(page.lines.iter().map(shifted));
    lines.truncate(rows.saturating_sub(1));
    lines.push(foot);
    lines.truncate(rows);
    let cut = |line: &String| line.chars().take(columns).collect();
    lines.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::super::head::tests::head;
    use super::*;

    const NAME: &str = "a\u{1b}[2J\u{202e}";

    fn place(view: View, at: u64, before: usize) -> Place {
        Place {
            view,
            start: Start { at, before },
            back: Vec::new(),
        }
    }

    /// A page of jobs 7 and later, as the server answers.
    fn of_jobs(count: usize, next: Value) -> Page {
        let row = |i: usize| json!({"job": 7 + i, "queue": format!("root.{NAME}"), "name": NAME});
        let rows: Vec<Value> = (0..count).map(row).collect();
        let answer = json!({"jobs": rows, "next": next, "total": 240});
        Page::of(&place(View::Jobs, 7, 4), &answer, job_table)
    }

    fn of_nodes(count: usize, next: Value) -> Page {
        let rows: Vec<Value> = (0..count)
            .map(|i| json!({"node": i, "name": NAME}))
            .collect();
        let answer = json!({"nodes": rows, "next": next});
        Page::of(&place(View::Nodes, 0, 0), &answer, node_table)
    }

    fn queues(count: usize) -> Value {
        let row = |i: usize| json!({"queue": format!("root.q{i}.{NAME}"), "account": null});
        json!({"queues": (0..count).map(row).collect::<Vec<_>>()})
    }

    #[test]
    fn every_view_fits_every_window() {
        let pages = [
            of_jobs(50, json!(99)),
            of_nodes(50, Value::Null),
            Page::of_queues(&Place::first(View::Queues), &queues(50), 50),
        ];
        let sizes = [(80, 24), (20, 10), (10, 3), (1, 1), (0, 0), (300, 200)];
        for page in &pages {
            for (columns, rows) in sizes {
                for shift in [0, 5, 1_000] {
                    let lines = frame((&head(), page), None, shift, (columns, rows));
                    assert!(lines.len() <= rows, "{columns}x{rows}");
                    assert!(lines.iter().all(|line| line.chars().count() <= columns));
                    let text = lines.concat();
                    assert!(!text.contains(char::is_control) && !text.contains('\u{202e}'));
                }
            }
            let lines = frame((&head(), page), None, 0, (300, 200));
            let named = lines
                .iter()
                .filter(|line| line.contains("a\\u{1b}[2J\\u{202e}"));
            assert_eq!(named.count(), 50, "{lines:?}");
            // Three lines of the head, title, heading, rows, keys.
            assert_eq!(lines.len(), 56);
        }
    }

    #[test]
    fn a_title_says_which_rows_of_how_many() {
        assert_eq!(of_jobs(18, json!(99)).title(), "jobs 5 to 22 of 240");
        assert_eq!(of_jobs(0, Value::Null).title(), "no jobs");
        assert_eq!(of_nodes(2, json!(9)).title(), "nodes 1 to 2, and more");
        assert_eq!(of_nodes(2, Value::Null).title(), "nodes 1 to 2 of 2");
        let lies = json!({"jobs": [1, 2, 3], "total": 1, "next": 3});
        let page = Page::of(&place(View::Jobs, 7, 4), &lies, job_table);
        assert_eq!(page.title(), "jobs 5 to 7 of 7");
        assert_eq!(page.next, None, "it leads back");
    }

    #[test]
    fn pages_go_forward_to_the_last_and_back_to_the_first() {
        let (queues, mut place) = (queues(25), Place::first(View::Queues));
        let page = |place: &Place| Page::of_queues(place, &queues, 10);
        let mut titles = Vec::new();
        for _ in 0..4 {
            titles.push(page(&place).title());
            place.forward(&page(&place));
        }
        let [first, second, third] = [
            "queues 1 to 10 of 25",
            "queues 11 to 20 of 25",
            "queues 21 to 25 of 25",
        ];
        assert_eq!(titles, [first, second, third, third]);
        for title in [second, first, first] {
            place.backward();
            assert_eq!(page(&place).title(), title);
        }
        // Queues that are gone leave an empty page.
        let gone = Page::of_queues(
            &Place {
                start: Start { at: 30, before: 30 },
                ..place
            },
            &queues,
            10,
        );
        assert_eq!((gone.rows, gone.next), (0, None));
    }

    #[test]
    fn a_page_that_is_not_shown_leads_nowhere() {
        let shown = of_jobs(18, json!(25));
        let mut other = place(View::Nodes, 7, 4);
        other.forward(&shown);
        assert_eq!(other, place(View::Nodes, 7, 4));
        let mut jobs = place(View::Jobs, 7, 4);
        jobs.forward(&shown);
        assert_eq!(jobs.start, Start { at: 25, before: 22 });
        let next = jobs.clone();
        // The page from job 25 on could not be fetched.
        jobs.forward(&shown);
        assert_eq!(jobs, next);
    }

    #[test]
    fn a_table_is_shifted_as_far_as_it_is_wide() {
        let page = of_nodes(1, Value::Null);
        let heading = page.lines[0].clone();
        let width = page.lines.iter().map(String::len).max().expect("two lines");
        assert_eq!(page.shift_max(20), width - 20);
        assert_eq!(page.shift_max(1_000), 0);
        let lines = frame((&head(), &page), None, 5, (20, 24));
        assert_eq!(lines[4], heading[5..25]);
    }

    #[test]
    fn a_window_without_room_for_rows_says_so_and_stays() {
        let page = of_jobs(1, json!(9));
        let title = |rows: usize| frame((&head(), &page), None, 0, (80, rows))[3].clone();
        assert_eq!(title(6), "jobs need a window of 7 lines");
        assert_eq!(title(7), "jobs 5 to 5 of 240");
        assert_eq!(page.clone().within(6).next, None);
        assert_eq!(page.clone().within(7), page);
    }

    #[test]
    fn what_is_wrong_stands_at_the_foot() {
        let trouble = Failure::usage("gone\u{7}", "", "");
        let page = of_nodes(1, Value::Null);
        let lines = frame((&head(), &page), Some(&trouble), 0, (80, 24));
        let foot = "as it was; now: gone\\u{7}   (q ends)";
        assert_eq!(lines.last().map(String::as_str), Some(foot));
    }
}
