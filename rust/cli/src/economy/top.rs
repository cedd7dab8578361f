//! `heddle top`: shows queues, jobs, use and health live, and the market if the policy has one. In
//! a terminal it redraws the screen until a key ends it; elsewhere it prints plain tables. Changes
//! nothing.

use super::jobs::{Choice, job_table};
use super::list;
use super::queues::{has_accounts, market, sums};
use crate::failure::Failure;
use crate::remote::{Client, Holds, Server};
use crate::terminal::{clean, clean_json, print, said, time};
use clap::Args;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, event, execute, queue, style, terminal};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

/// A shorter period would fetch the same report again.
const LEAST: Duration = Duration::from_millis(500);

/// More jobs than a screen holds.
const JOBS_MAX: usize = 100;

#[derive(Args)]
pub(crate) struct Top {
    /// Once, as a plain table.
    #[arg(long)]
    once: bool,
    /// How often the table is brought up to date.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    #[arg(value_parser = humantime::parse_duration)]
    every: Duration,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    server: Server,
}

/// One snapshot of what the screen shows.
struct Seen {
    /// Null under a policy without accounts.
    price: Value,
    queues: Value,
    jobs: Value,
    health: Value,
    /// The last sample of what the cluster is used for; null before the first.
    usage: Value,
}

/// Samples of the last minute are enough for the newest.
const RECENT_MS: u64 = 60_000;

impl Seen {
    fn now(client: &Client, choice: &Choice) -> Result<Seen, Failure> {
        let queues = client.get("queues", "", Holds::List("queues"))?.json;
        let price = match has_accounts(&queues) {
            true => client.open("price", Holds::Text("price"))?.json,
            false => Value::Null,
        };
        let since_ms = queues["now_ms"].as_u64().unwrap_or(0);
        let since = format!("from_ms={}", since_ms.saturating_sub(RECENT_MS));
        let usage = client.get("usage", &since, Holds::List("samples"))?.json;
        Ok(Seen {
            price,
            queues,
            jobs: client
                .get("jobs", &choice.query(0, JOBS_MAX), Holds::List("jobs"))?
                .json,
            health: client.open("health", Holds::Text("status"))?.json,
            usage: list(&usage["samples"]).last().cloned().unwrap_or_default(),
        })
    }

    fn head(&self) -> String {
        let (running, pending, masters) = sums(&self.queues);
        let masters = match masters {
            0 => String::new(),
            masters => format!("  ApplicationMasters {masters} (counted nowhere below)"),
        };
        let now = time(&self.queues["now_ms"]);
        let head = match self.price.is_null() {
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
        };
        clean(&head)
    }

    /// Health, and what was granted and taken back in the time of one sample.
    fn state(&self) -> String {
        let health = &self.health;
        let words = ["status", "journal", "shadow"].map(|key| said(&health[key]));
        let mut text = format!("{}, journal {}, shadow {}", words[0], words[1], words[2]);
        let sample = &self.usage;
        if let Some(granted) = sample["granted"].as_object() {
            let of = |key: &str| granted.get(key).and_then(Value::as_u64).unwrap_or(0);
            let (host, rack, away) = (of("host"), of("rack"), of("away"));
            text.push_str(&format!(
                "  granted {} ({host} on their host, {rack} on their rack, {away} elsewhere), \
                 taken back {}  waiting jobs {}, longest {} s",
                host + rack + away + of("anywhere"),
                said(&sample["evicted"]),
                said(&sample["waiting"]["jobs"]),
                sample["waiting"]["longest_ms"].as_u64().unwrap_or(0) / 1_000,
            ));
        }
        clean(&text)
    }

    fn plain(&self) -> String {
        let (head, state) = (self.head(), self.state());
        let mut text = format!("{head}\n{state}\n\n{}", market(&self.queues));
        let jobs = list(&self.jobs["jobs"]);
        if !jobs.is_empty() {
            text.push('\n');
            text.push_str(&job_table(jobs));
        }
        text
    }

    fn json(&self) -> String {
        let all = json!({
            "price": self.price, "queues": self.queues, "jobs": self.jobs,
            "health": self.health, "usage": self.usage,
        });
        format!("{}\n", clean_json(&all.to_string()))
    }
}

impl Top {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        let first = Seen::now(&client, &self.choice)?;
        if stdout().is_terminal() && !self.once && !self.server.json {
            return self
                .live(&client, first)
                .map_err(|error| Failure::output(&error));
        }
        let mut seen = first;
        loop {
            let text = if self.server.json {
                seen.json()
            } else {
                seen.plain()
            };
            print(&text)?;
            if self.once {
                return Ok(());
            }
            std::thread::sleep(self.every.max(LEAST));
            if !self.server.json {
                print("\n")?;
            }
            seen = Seen::now(&client, &self.choice)?;
        }
    }

    /// Draws until a key ends it. Keeps trying while the server cannot be reached.
    fn live(&self, client: &Client, first: Seen) -> std::io::Result<()> {
        let screen = Screen::open()?;
        let mut seen = first;
        let mut trouble = None;
        loop {
            draw(&seen, trouble.as_ref())?;
            let due = Instant::now() + self.every.max(LEAST);
            while let Some(left) = due.checked_duration_since(Instant::now()) {
                if event::poll(left)? {
                    match event::read()? {
                        Event::Key(key) if ends(&key) => {
                            drop(screen);
                            return Ok(());
                        }
                        Event::Resize(..) => draw(&seen, trouble.as_ref())?,
                        _ => {}
                    }
                }
            }
            match Seen::now(client, &self.choice) {
                Ok(now) => (seen, trouble) = (now, None),
                Err(failure) => trouble = Some(failure),
            }
        }
    }
}

/// Returns whether a key ends the display: q, Escape, Control-C or Control-D. In raw mode keys no
/// longer make signals.
fn ends(key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Esc => true,
            KeyCode::Char('q') => true,
            KeyCode::Char('c' | 'd') => control,
            _ => false,
        }
}

/// Holds the terminal in raw mode and restores it on drop.
struct Screen;

impl Screen {
    fn open() -> std::io::Result<Screen> {
        terminal::enable_raw_mode()?;
        let screen = Screen;
        execute!(stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

fn draw(seen: &Seen, trouble: Option<&Failure>) -> std::io::Result<()> {
    let (columns, rows) = terminal::size()?;
    let lines = frame(seen, trouble, usize::from(columns), usize::from(rows));
    let mut out = stdout().lock();
    queue!(out, cursor::MoveTo(0, 0), Clear(ClearType::All))?;
    for (row, line) in (0..).zip(&lines) {
        queue!(out, cursor::MoveTo(0, row), style::Print(line))?;
    }
    out.flush()
}

/// Lays out a screen of that size. No line is too long, the lines fit, and the last names the keys.
fn frame(seen: &Seen, trouble: Option<&Failure>, columns: usize, rows: usize) -> Vec<String> {
    let foot = match trouble {
        None => "q ends".to_string(),
        Some(failure) => format!("as it was; now: {}   (q ends)", clean(&failure.what)),
    };
    let mut lines: Vec<String> = seen.plain().lines().map(String::from).collect();
    let room = rows.saturating_sub(1);
    if lines.len() > room {
        let more = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(format!("... and {more} more; a higher window shows them"));
    }
    lines.push(foot);
    lines.truncate(rows);
    let cut = |line: &String| line.chars().take(columns).collect();
    lines.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(queues: usize) -> Seen {
        let row = |i: usize| json!({"queue": format!("root.q{i}\u{1b}[2J"), "account": null});
        Seen {
            price: json!({"price": "0.5"}),
            queues: json!({"queues": (0..queues).map(row).collect::<Vec<_>>(), "now_ms": 0}),
            jobs: json!({"jobs": []}),
            health: json!({"status": "ok", "journal": "off\u{7}", "shadow": "off"}),
            usage: json!({"granted": {"host": 3}, "evicted": 2,
                          "waiting": {"jobs": 1, "longest_ms": 7_500}}),
        }
    }

    #[test]
    fn a_frame_fits_its_window_whatever_that_is() {
        for (columns, rows) in [(80, 24), (10, 3), (1, 1), (0, 0), (300, 200)] {
            let lines = frame(&seen(50), None, columns, rows);
            assert!(lines.len() <= rows, "{columns}x{rows}");
            assert!(lines.iter().all(|line| line.chars().count() <= columns));
            assert!(!lines.concat().contains('\u{1b}'));
        }
        // Head, state, blank, heading and 50 queues are 54 lines. 22 of them and a line about the
        // other 32 leave the 24th for the keys.
        let lines = frame(&seen(50), None, 80, 24);
        assert_eq!(lines.len(), 24);
        assert!(lines[22].starts_with("... and 32 more"), "{}", lines[22]);
        assert_eq!(lines[23], "q ends");
    }

    #[test]
    fn health_and_use_are_one_line() {
        assert_eq!(
            seen(1).state(),
            "ok, journal off\\u{7}, shadow off  granted 3 (3 on their host, 0 on their rack, \
             0 elsewhere), taken back 2  waiting jobs 1, longest 7 s"
        );
    }

    #[test]
    fn what_is_wrong_stands_at_the_foot() {
        let trouble = Failure::usage("gone\u{7}", "", "");
        let lines = frame(&seen(1), Some(&trouble), 80, 24);
        assert_eq!(
            lines.last().unwrap(),
            "as it was; now: gone\\u{7}   (q ends)"
        );
    }
}
