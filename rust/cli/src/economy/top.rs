//! `heddle top`: shows jobs, queues or nodes live, a page at a time, below the health and use of
//! the cluster. In a terminal keys switch views and turn pages; elsewhere it prints plain tables.
//! Changes nothing.

mod head;
mod page;

use super::jobs::{Choice, job_table};
use super::list;
use super::nodes::node_table;
use super::queues::market;
use crate::failure::Failure;
use crate::remote::{Client, Server};
use crate::terminal::{clean_json, print};
use clap::Args;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::terminal::{DisableLineWrap, EnableLineWrap};
use crossterm::{cursor, event, execute, queue, style, terminal};
use head::Head;
use page::{Page, Place, View, frame};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

/// A shorter period would fetch the same report again.
const LEAST: Duration = Duration::from_millis(500);

/// Jobs, and nodes, of a plain table.
const PLAIN_MAX: usize = 100;

/// Columns by which one key shifts a table.
const SHIFT: usize = 20;

#[derive(Args)]
pub(crate) struct Top {
    /// Once, as plain tables.
    #[arg(long)]
    once: bool,
    /// How often the tables are brought up to date.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    #[arg(value_parser = humantime::parse_duration)]
    every: Duration,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    server: Server,
}

/// A snapshot for plain output.
struct All {
    head: Head,
    jobs: Value,
    nodes: Value,
}

impl All {
    fn now(client: &Client, choice: &Choice) -> Result<All, Failure> {
        Ok(All {
            head: Head::now(client)?,
            jobs: page::jobs(client, choice, 0, PLAIN_MAX)?,
            nodes: page::nodes(client, 0, PLAIN_MAX)?,
        })
    }

    fn plain(&self) -> String {
        let mut text = format!("{}\n\n", self.head.lines().join("\n"));
        let jobs = list(&self.jobs["jobs"]);
        if !jobs.is_empty() {
            text += &job_table(jobs);
            if !self.jobs["next"].is_null() {
                text += "... and more jobs; `heddle jobs` prints all\n";
            }
            text.push('\n');
        }
        text += &market(&self.head.queues);
        let nodes = list(&self.nodes["nodes"]);
        if !nodes.is_empty() {
            text.push('\n');
            text += &node_table(nodes);
            if !self.nodes["next"].is_null() {
                text += "... and more nodes; `heddle top` in a terminal shows all\n";
            }
        }
        text
    }

    fn json(&self) -> String {
        let head = &self.head;
        let all = json!({
            "price": head.price, "queues": head.queues, "jobs": self.jobs, "nodes": self.nodes,
            "health": head.health, "usage": head.usage,
        });
        format!("{}\n", clean_json(&all.to_string()))
    }
}

/// The content of a window.
struct Shown {
    head: Head,
    page: Page,
}

impl Shown {
    fn now(
        client: &Client,
        choice: &Choice,
        place: &mut Place,
        height: u16,
    ) -> Result<Shown, Failure> {
        let head = Head::now(client)?;
        let page = Page::fetch(client, choice, &head, place, height.into())?;
        Ok(Shown { head, page })
    }
}

/// Ends the wait between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It is time for the next snapshot, or the window has another size.
    Again,
    Show(View),
    NextView,
    Forward,
    Backward,
    First,
    Left,
    Right,
    End,
}

impl Top {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        if stdout().is_terminal() && !self.once && !self.server.json {
            let output = |error: std::io::Error| Failure::output(&error);
            let mut place = Place::first(View::Jobs);
            let (_, height) = terminal::size().map_err(output)?;
            let first = Shown::now(&client, &self.choice, &mut place, height)?;
            return self.live(&client, place, first).map_err(output);
        }
        let mut all = All::now(&client, &self.choice)?;
        loop {
            let text = if self.server.json {
                all.json()
            } else {
                all.plain()
            };
            print(&text)?;
            if self.once {
                return Ok(());
            }
            std::thread::sleep(self.every.max(LEAST));
            if !self.server.json {
                print("\n")?;
            }
            all = All::now(&client, &self.choice)?;
        }
    }

    /// Draws until a key ends it. Keeps trying while the server cannot be reached.
    fn live(&self, client: &Client, mut place: Place, first: Shown) -> std::io::Result<()> {
        let screen = Screen::open()?;
        let (mut shown, mut trouble, mut shift) = (first, None, 0_usize);
        let mut due = Instant::now() + self.every.max(LEAST);
        loop {
            let (columns, rows) = terminal::size()?;
            let shift_max = shown.page.shift_max(columns.into());
            shift = shift.min(shift_max);
            draw(&shown, trouble.as_ref(), shift, (columns, rows))?;
            match wait(due)? {
                Step::End => {
                    drop(screen);
                    return Ok(());
                }
                Step::Left => {
                    shift = shift.saturating_sub(SHIFT);
                    continue;
                }
                Step::Right => {
                    shift += SHIFT;
                    continue;
                }
                Step::Again => {}
                Step::Show(view) => (place, shift) = (Place::first(view), 0),
                Step::NextView => (place, shift) = (Place::first(place.view().next()), 0),
                Step::Forward => place.forward(&shown.page),
                Step::Backward => place.backward(),
                Step::First => place = Place::first(place.view()),
            }
            let (_, height) = terminal::size()?;
            match Shown::now(client, &self.choice, &mut place, height) {
                Ok(now) => (shown, trouble) = (now, None),
                Err(failure) => trouble = Some(failure),
            }
            due = Instant::now() + self.every.max(LEAST);
        }
    }
}

/// Waits for a key that means something or another size of the window, at most until `due`.
fn wait(due: Instant) -> std::io::Result<Step> {
    while let Some(left) = due.checked_duration_since(Instant::now()) {
        if event::poll(left)? {
            match event::read()? {
                Event::Key(key) => {
                    if let Some(step) = step(&key) {
                        return Ok(step);
                    }
                }
                Event::Resize(..) => return Ok(Step::Again),
                _ => {}
            }
        }
    }
    Ok(Step::Again)
}

/// Returns what a key does. In raw mode keys no longer make signals.
fn step(key: &KeyEvent) -> Option<Step> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c' | 'd') if control => Step::End,
        _ if control => return None,
        KeyCode::Esc | KeyCode::Char('q') => Step::End,
        KeyCode::Char('j') => Step::Show(View::Jobs),
        KeyCode::Char('u') => Step::Show(View::Queues),
        KeyCode::Char('n') => Step::Show(View::Nodes),
        KeyCode::Tab => Step::NextView,
        KeyCode::PageDown | KeyCode::Down | KeyCode::Char(' ') => Step::Forward,
        KeyCode::PageUp | KeyCode::Up => Step::Backward,
        KeyCode::Home => Step::First,
        KeyCode::Left => Step::Left,
        KeyCode::Right => Step::Right,
        _ => return None,
    })
}

/// Holds the terminal in raw mode and restores it on drop.
struct Screen;

impl Screen {
    fn open() -> std::io::Result<Screen> {
        terminal::enable_raw_mode()?;
        let screen = Screen;
        // Lines are cut by characters, so wide characters would wrap.
        execute!(
            stdout(),
            EnterAlternateScreen,
            DisableLineWrap,
            cursor::Hide
        )?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stdout(), cursor::Show, EnableLineWrap, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

fn draw(
    shown: &Shown,
    trouble: Option<&Failure>,
    shift: usize,
    (columns, rows): (u16, u16),
) -> std::io::Result<()> {
    let size = (usize::from(columns), usize::from(rows));
    let lines = frame((&shown.head, &shown.page), trouble, shift, size);
    let mut out = stdout().lock();
    queue!(out, cursor::MoveTo(0, 0), Clear(ClearType::All))?;
    for (row, line) in (0..).zip(&lines) {
        queue!(out, cursor::MoveTo(0, row), style::Print(line))?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_switch_views_turn_pages_and_end() {
        let plain = |code| step(&KeyEvent::new(code, KeyModifiers::NONE));
        let control = |key| step(&KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL));
        for key in ['c', 'd'] {
            assert_eq!(control(key), Some(Step::End));
            assert_eq!(plain(KeyCode::Char(key)), None);
        }
        // A line feed arrives as Control-J.
        assert_eq!(control('j'), None);
        assert_eq!(plain(KeyCode::Char('j')), Some(Step::Show(View::Jobs)));
        assert_eq!(plain(KeyCode::PageDown), Some(Step::Forward));
        assert_eq!(plain(KeyCode::Enter), None);
        let mut view = View::Jobs;
        for next in [View::Queues, View::Nodes, View::Jobs] {
            view = view.next();
            assert_eq!(view, next);
        }
    }

    #[test]
    fn plain_tables_begin_with_jobs_and_say_that_there_are_more() {
        let mut head = head::tests::head();
        head.queues["queues"] = json!([{"queue": "root.q"}]);
        let all = |next: Value| All {
            head: head::tests::head(),
            jobs: json!({"jobs": [{"job": 1}], "next": next}),
            nodes: json!({"nodes": [{"node": 1, "name": "n1\u{1b}"}], "next": next}),
        };
        let text = All {
            head,
            ..all(json!(2))
        }
        .plain();
        let at = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("no {words} in {text}"))
        };
        let parts = [
            "price",
            "\njob ",
            "more jobs",
            "root.q",
            "n1\\u{1b}",
            "more nodes",
        ];
        assert!(parts.map(at).is_sorted(), "{text}");
        assert!(!all(Value::Null).plain().contains("more"), "{text}");
    }
}
