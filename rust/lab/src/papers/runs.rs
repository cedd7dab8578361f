//! Runs the simulations of an experiment, as many at a time as there are processors, with a
//! progress bar. Results come in the order of the plans, whatever ends first.

use heddle_sim::cluster_sim::{ClusterSim, Knowledge, Options, Results, Workload};
use heddle_sim::failure::Checked;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde_json::Value;

/// A workload and how to simulate it.
pub struct Plan {
    /// The workload.
    pub workload: Workload,
    /// The policy and its settings.
    pub options: Options,
}

impl Plan {
    /// A run of a workload under a configuration.
    pub(super) fn new(workload: Workload, name: &str, config: Value) -> Plan {
        Plan {
            workload,
            options: Options::new(name, config),
        }
    }

    /// The same with a seed, and with tasks whose lengths vary by 30 %.
    pub(super) fn uneven(workload: Workload, name: &str, config: Value, seed: u64) -> Plan {
        let mut plan = Plan::new(workload, name, config);
        plan.options.seed = seed;
        plan.options.trouble.jitter_per_mille = 300;
        plan
    }
}

/// The settings of an experiment's runs: the terminal's progress bar, and what engines know.
pub struct Runs {
    bar: ProgressBar,
    pub(super) knowledge: Knowledge,
}

impl Runs {
    /// Runs with a bar on standard error, if that is a terminal.
    pub fn new() -> Runs {
        let style = "{prefix:6} {bar:40} {pos} of {len} runs, {elapsed}";
        let style = ProgressStyle::with_template(style);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Runs {
            bar: ProgressBar::new(0).with_style(style),
            knowledge: Knowledge::Full,
        }
    }

    /// The same bar for engines that know this.
    pub fn with(&self, knowledge: Knowledge) -> Runs {
        Runs {
            bar: self.bar.clone(),
            knowledge,
        }
    }

    /// Begins an experiment.
    pub fn begin(&self, id: &'static str) {
        self.bar.reset();
        self.bar.set_length(0);
        self.bar.set_prefix(id);
    }

    /// Ends it, and clears the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Runs the plans.
    ///
    /// # Errors
    /// A failure of one of the plans.
    pub(super) fn all(&self, plans: Vec<Plan>) -> Checked<Vec<Results>> {
        self.bar.inc_length(plans.len() as u64);
        let run = |mut plan: Plan| {
            plan.options.knowledge = self.knowledge.clone();
            let result = ClusterSim::new(plan.workload, plan.options).and_then(ClusterSim::run);
            self.bar.inc(1);
            result
        };
        plans.into_par_iter().map(run).collect()
    }
}

impl Default for Runs {
    fn default() -> Runs {
        Runs::new()
    }
}
