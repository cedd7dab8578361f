//! Checks what must hold after every event and at the end. One file per kind of check. Each can be
//! switched off, so that a test can prove that each one alone finds its faults.

mod books;
mod decisions;
pub(crate) mod waiting;

use crate::world::World;
use heddle_core::words::ids::Millis;
use heddle_sim::failure::{Check, Checked, Failure};

/// How long the engine skips a node for a job after a refusal.
pub(crate) const REFUSED_MS: Millis = 1_000;

impl World {
    pub(crate) fn check_nothing_is_left(&self) -> Checked {
        if !self.options.checks.left_over {
            return Ok(());
        }
        let engine = &self.link.engine;
        let left = |what: String| Err(Failure::new(Check::LeftOver, what));
        let cluster = engine.cluster();
        if cluster.job_count > 0 || !cluster.used.is_zero() {
            let (jobs, used) = (cluster.job_count, cluster.used);
            return left(format!("{jobs} jobs and {used:?} are left"));
        } else if engine.grants_in_flight() > 0 {
            return left(format!("{} grants are left", engine.grants_in_flight()));
        } else if !engine.is_idle() && engine.held_nodes().next().is_none() {
            return left("asks are pending without a job".to_string());
        }
        // The engine must understand every event of the host, except for noise and late answers.
        let features = self.options.features;
        if engine.ignored() > 0 && !features.noise && !features.late_answers {
            return left(format!("{} events were ignored", engine.ignored()));
        }
        Ok(())
    }
}
