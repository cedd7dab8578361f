//! Tests `heddle top` in a pseudo-terminal, of which the test holds the other end.

use crate::site::{Site, heddle};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long for a screen, short for a person.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal, and a command in it.
struct Terminal {
    ours: File,
    theirs: File,
    shown: Receiver<Vec<u8>>,
    text: String,
    child: Child,
}

impl Terminal {
    fn with(mut command: Command, rows: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).expect("it is ours");
        unlockpt(&ours).expect("it is ours");
        let name = ptsname(&ours, Vec::new()).expect("it has a name");
        let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let theirs = File::from(theirs.expect("its other end"));
        let size = Winsize {
            ws_row: rows,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&theirs, size).expect("it has a size");
        let end = || Stdio::from(theirs.try_clone().expect("a copy"));
        command.stdin(end()).stdout(end()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let ours = File::from(ours);
        let mut reader = ours.try_clone().expect("a copy");
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal {
            ours,
            theirs,
            shown,
            text: String::new(),
            child,
        }
    }

    /// Waits until the output since the last call contains this.
    fn until(&mut self, wanted: &str) {
        let end = Instant::now() + PATIENCE;
        self.text.clear();
        while !self.text.contains(wanted) {
            let left = end.saturating_duration_since(Instant::now());
            let bytes = self.shown.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("no `{wanted}` in {:?}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    fn press(&mut self, key: &[u8]) {
        self.ours.write_all(key).expect("it listens");
    }

    fn ends_at(&mut self, key: &[u8]) {
        self.press(key);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                assert_eq!(status.code(), Some(0));
                return;
            }
            assert!(Instant::now() < end, "it does not end at {key:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns whether the terminal is back in line mode, which a shell needs.
    fn is_given_back(&self) -> bool {
        let modes = tcgetattr(&self.theirs).expect("it has modes").local_modes;
        modes.contains(rustix::termios::LocalModes::ICANON)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn top(site: &Site) -> Terminal {
    top_of(site, 24)
}

fn top_of(site: &Site, rows: u16) -> Terminal {
    let mut command = heddle(&["top", "--every", "500ms", "--timeout", "2s"]);
    command
        .env("HEDDLE_URL", site.url())
        .env("HEDDLE_USER", "root")
        .env("TERM", "xterm");
    command.env("HEDDLE_SECRET_FILE", site.path("root.secret"));
    Terminal::with(command, rows)
}

#[test]
fn the_table_stays_up_to_date_until_a_key_ends_it() {
    let site = Site::market();
    for key in [&b"q"[..], b"\x03", b"\x1b"] {
        let mut terminal = top(&site);
        assert!(terminal.is_given_back());
        terminal.until("root.alice");
        terminal.until("q ends");
        assert!(!terminal.is_given_back(), "keys come one by one");
        terminal.ends_at(key);
        assert!(terminal.is_given_back());
    }
    let mut terminal = top(&site);
    terminal.until("jobs 1 to 2 of 2");
    terminal.press(b"u");
    terminal.until("root.bob");
    site.said("root", &["budget", "bob", "+123"]);
    // 1000 and 123, before the first interval has ended.
    terminal.until("1123");
    terminal.ends_at(b"q");
}

/// Seven rows leave one for a job: a head of three, a title, a heading, and the keys.
#[test]
fn keys_turn_pages_and_switch_views() {
    let site = Site::market();
    let mut terminal = top_of(&site, 7);
    terminal.until("jobs 1 to 1 of 2");
    for (key, title) in [
        (&b"\x1b[6~"[..], "jobs 2 to 2 of 2"),
        (b"\x1b[5~", "jobs 1 to 1 of 2"),
        (b"u", "queues 1 to 1 of 3"),
        (b"\x1b[B", "queues 2 to 2 of 3"),
        (b"n", "nodes 1 to 1 of 1"),
        (b"\t", "jobs 1 to 1 of 2"),
    ] {
        terminal.press(key);
        terminal.until(title);
    }
    let asked = |query: &str| {
        site.heard()
            .iter()
            .any(|heard| heard.target.ends_with(query))
    };
    assert!(asked("/jobs?max=1&from=0&sort=number"));
    assert!(asked("/jobs?max=1&from=2&sort=number"));
    assert!(asked("/nodes?from=0&max=1"));
    terminal.ends_at(b"q");
}

#[test]
fn a_server_that_goes_away_is_waited_for() {
    let site = Site::market();
    let mut terminal = top(&site);
    terminal.until("q ends");
    drop(site);
    terminal.until("as it was; now: ");
    terminal.ends_at(b"q");
}
