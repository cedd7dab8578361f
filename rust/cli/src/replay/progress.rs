//! A progress bar for replays of more than two seconds.

use heddle::journal::Reader;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};

/// A shorter replay shows none.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// The clock is read once in this many inputs.
const EVERY: u32 = 1_024;

/// Shows how far a replay is, on standard error if that is a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes of the passes that are done.
    before: u64,
    /// Bytes of a pass.
    total: u64,
    begun: Instant,
    calls: u32,
}

impl Progress {
    /// Makes the bar for `passes` readings of the journal at this path.
    pub(super) fn of(journal: &Reader<BufReader<File>>, path: &Path, passes: u64) -> Progress {
        let alone = || fs::metadata(path).map_or(0, |metadata| metadata.len());
        let total = journal.bytes_total().unwrap_or_else(alone);
        let all = total.saturating_mul(passes);
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
        bar.set_style(style.expect("the template is right"));
        Progress {
            bar,
            before: 0,
            total,
            begun: Instant::now(),
            calls: 0,
        }
    }

    /// Returns how many bytes the bar shows as done, and of how many.
    #[cfg(test)]
    pub(super) fn done(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }

    /// Begins the next pass.
    pub(super) fn again(&mut self) {
        self.before += self.total;
    }

    /// Sets how many bytes of this pass are done.
    pub(super) fn at(&mut self, bytes: u64) {
        self.calls += 1;
        if self.calls < EVERY {
            return;
        }
        self.calls = 0;
        if self.bar.is_hidden() && self.begun.elapsed() > SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(self.before.saturating_add(bytes));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
