//! The table of an experiment: rows, remarks and plots, as they are printed, stored and shown in
//! `docs/evidence.md`.

use super::verdict::{Claim, Unit, Verdict};
use heddle_sim::plot::Plot;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One comparison with a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The compared quantity.
    pub what: String,
    /// The paper's figure.
    pub paper: String,
    /// Our figure.
    pub ours: String,
    /// Our figure with an engine that knows what the plug-in knows; empty if it was not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub live: String,
    /// How they compare.
    pub verdict: Verdict,
    /// The reason for a difference, or a remark on the figure.
    pub why: String,
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Remarks that a reader needs to judge them.
    pub notes: Vec<String>,
    /// Its figures, by the names of their files.
    pub plots: Vec<(String, Plot)>,
}

impl Table {
    /// Compares our figure with the paper's. `why` is one line; it may be empty if both agree.
    pub(super) fn row(&mut self, what: &str, claim: Claim, unit: Unit, ours: f64, why: &str) {
        self.row_with(what, claim, unit, ours, "", why);
    }

    /// The same with more about our figure, such as its parts.
    pub(super) fn row_with(
        &mut self,
        what: &str,
        claim: Claim,
        unit: Unit,
        ours: f64,
        more: &str,
        why: &str,
    ) {
        let text = unit.text(ours);
        self.rows.push(Row {
            what: what.to_string(),
            paper: claim.text(unit),
            ours: if more.is_empty() {
                text
            } else {
                format!("{text} ({more})")
            },
            live: String::new(),
            verdict: claim.judge(ours),
            why: why.to_string(),
        });
    }

    /// Puts the figures of the same experiment with live knowledge beside these.
    pub(super) fn beside(&mut self, live: &Table) {
        for row in &mut self.rows {
            let same = live.rows.iter().find(|other| other.what == row.what);
            row.live = same.map_or(String::new(), |other| other.ours.clone());
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn plot(&mut self, name: &str, plot: Plot) {
        self.plots.push((name.to_string(), plot));
    }

    /// Returns the worst verdict on a row.
    pub fn verdict(&self) -> Verdict {
        let order = [Verdict::Differs, Verdict::SameDirection, Verdict::Agrees];
        let has = |verdict: &Verdict| self.rows.iter().any(|row| row.verdict == *verdict);
        order.into_iter().find(has).unwrap_or(Verdict::Open)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:58} {:>18} {:>26}  verdict", "", "paper", "here")?;
        for Row {
            what,
            paper,
            ours,
            live,
            verdict,
            why,
        } in &self.rows
        {
            writeln!(f, "{what:58} {paper:>18} {ours:>26}  {verdict}")?;
            if !live.is_empty() {
                writeln!(f, "{:58} {:>18} {live:>26}", "", "live knowledge")?;
            }
            if !why.is_empty() && *verdict != Verdict::Agrees {
                writeln!(f, "    {why}")?;
            }
        }
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "  {note}"))
    }
}
