//! A bar for a replay that takes longer than people wait without one.

use heddle::journal::Reader;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};

/// A shorter replay shows none.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// The clock is read once in so many inputs.
const EVERY: u32 = 1_024;

/// How far a replay is, on standard error if that is a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    calls: u32,
}

impl Progress {
    /// Begins to read a journal, opened at this path.
    pub(super) fn of(journal: &Reader<BufReader<File>>, path: &Path) -> Progress {
        let alone = || fs::metadata(path).map_or(0, |metadata| metadata.len());
        let total = journal.bytes_total().unwrap_or_else(alone);
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
        bar.set_style(style.expect("the template is right"));
        Progress {
            bar,
            begun: Instant::now(),
            calls: 0,
        }
    }

    /// Notes that so many bytes are done.
    pub(super) fn at(&mut self, bytes: u64) {
        self.calls += 1;
        if self.calls < EVERY {
            return;
        }
        self.calls = 0;
        if self.bar.is_hidden() && self.begun.elapsed() > SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
