//! `heddle simulate` and `heddle compare`: workloads by name or from a file, one policy or several,
//! tables and files. The simulator does the rest.

use crate::{plots, report};
use clap::Args;
use heddle_sim::cluster_sim::workload::{self, Burst, DataSets, Mix, PiUser};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Knowledge, Options};
use heddle_sim::cluster_sim::{Results, Trouble, Workload};
use heddle_sim::{policies, swim};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The simulation, apart from the policy.
#[derive(Args, Clone)]
pub(crate) struct What {
    /// swim, pi, long-short, shuffle, pigmix-small, pigmix-large, goals, or a file: NAME.json of
    /// the form in docs/develop/workloads.md, or a SWIM trace NAME.tsv.
    #[arg(long, default_value = "swim")]
    workload: String,
    /// `heddle.json`, put over the policy's configuration key by key.
    #[arg(long)]
    config: Option<PathBuf>,
    /// How many nodes; the workload says if this does not. A SWIM trace is scaled to them.
    #[arg(long)]
    nodes: Option<u32>,
    #[arg(long)]
    racks: Option<u32>,
    /// Every random number follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Per mille of the maps that must be done before reduces are asked for.
    #[arg(long, default_value_t = 50)]
    slow_start: u32,
    /// How much the length of tasks varies, in per mille.
    #[arg(long, default_value_t = 0)]
    jitter: u32,
    /// Per mille of attempts that take five times as long.
    #[arg(long, default_value_t = 0)]
    stragglers: u32,
    /// Per mille of attempts that fail.
    #[arg(long, default_value_t = 0)]
    failures: u32,
    /// Mean time in s between losses of a node; it stays away for ten minutes.
    #[arg(long)]
    node_loss: Option<u32>,
    /// Second attempts of slow tasks.
    #[arg(long)]
    speculation: bool,
    /// What the engine knows: full, live as on a real cluster, or live with sources as in full,
    /// such as live+traffic; see docs/develop/facts.md.
    #[arg(long, default_value_t = Knowledge::Full)]
    knowledge: Knowledge,
    /// Asks at each job's submission when it will start and end, and says how that came true.
    #[arg(long)]
    predict: bool,
    /// Checks the engine's invariants after every step: slow.
    #[arg(long)]
    check: bool,
}

/// The trace that comes with the project.
const FB_2010: &str = include_str!("../../sim/traces/FB-2010_samples_24_times_1hr_0.tsv");

impl What {
    fn workload(&self) -> Result<Workload, String> {
        let mut hardware = Hardware::default();
        hardware.nodes = self.nodes.unwrap_or(hardware.nodes);
        hardware.racks = self.racks.unwrap_or(hardware.racks.min(hardware.nodes));
        let mut workload = match self.workload.as_str() {
            "swim" => from_trace("FB-2010", FB_2010, hardware)?,
            "pi" => {
                let user = |n: u32| PiUser {
                    name: format!("user{n}"),
                    budget: 1e6,
                    rate: 0.01 * f64::from(n),
                    jobs: Some(10),
                    boost: None,
                };
                let users: Vec<PiUser> = (1..=10).map(user).collect();
                workload::pi_streams(hardware, &users, 60_000)
            }
            "long-short" => workload::long_short(hardware, 20, 120_000),
            "shuffle" => workload::shuffle_mix(&Mix::default(), self.seed),
            "pigmix-small" => workload::pigmix(DataSets::Small, self.seed),
            "pigmix-large" => workload::pigmix(DataSets::Large, self.seed),
            "goals" => workload::goals(80, Burst::Sine, self.seed),
            file => from_file(Path::new(file), hardware)?,
        };
        workload.hardware.nodes = self.nodes.unwrap_or(workload.hardware.nodes);
        workload.hardware.racks = self.racks.unwrap_or(workload.hardware.racks);
        if workload.hardware.racks == 0 || workload.hardware.racks > workload.hardware.nodes {
            return Err("expected at least one rack, and a node for each".to_string());
        }
        Ok(workload)
    }

    fn options(&self, policy: &str) -> Result<Options, String> {
        let mut options = Options::new(policy, policies::by_name(policy)?);
        if let Some(path) = &self.config {
            heddle_sim::cluster_sim::merge(&mut options.config, &read_json(path)?);
        }
        options.seed = self.seed;
        options.slow_start_per_mille = self.slow_start;
        options.check = self.check;
        options.predict = self.predict;
        options.knowledge = self.knowledge.clone();
        options.trouble = Trouble {
            jitter_per_mille: self.jitter,
            straggler_per_mille: self.stragglers,
            straggler_factor: 5,
            failure_per_mille: self.failures,
            node_loss_ms: self.node_loss.map(|seconds| i64::from(seconds) * 1_000),
            node_back_ms: 600_000,
            speculation: self.speculation,
        };
        Ok(options)
    }
}

fn from_file(path: &Path, hardware: Hardware) -> Result<Workload, String> {
    let name = path
        .file_stem()
        .map(|name| name.to_string_lossy().to_string());
    let name = name.unwrap_or_default();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            let value = read_json(path)?;
            let workload = workload::from_json(&name, &value);
            workload.map_err(|error| format!("{}: {error}", path.display()))
        }
        Some("tsv") => from_trace(&name, &read(path)?, hardware),
        _ => Err(format!(
            "`{}` is no workload; expected swim, pi, long-short, shuffle, pigmix-small, \
             pigmix-large, goals, or a file ending in .json or .tsv",
            path.display()
        )),
    }
}

fn from_trace(name: &str, text: &str, hardware: Hardware) -> Result<Workload, String> {
    let trace = swim::parse(text).map_err(|error| format!("{name}: {error}"))?;
    Ok(workload::from_swim(name, &trace, hardware))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_json(path: &Path) -> Result<Value, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs one policy, with a progress bar on a terminal.
fn run(what: &What, workload: Workload, policy: &str) -> Result<Results, String> {
    let mut options = what.options(policy)?;
    log::info!(
        "simulating {} under {policy}, seed {}",
        what.workload,
        what.seed
    );
    let bar = watch(&mut options, policy);
    let sim = ClusterSim::new(workload, options).map_err(|failure| failure.to_string())?;
    let results = sim.run();
    bar.finish_and_clear();
    results.map_err(|failure| failure.to_string())
}

/// Shows the progress of a simulation: jobs, and hours of its time.
pub(crate) fn watch(options: &mut Options, prefix: &str) -> ProgressBar {
    let form = "{prefix} {bar:30} {pos}/{len} jobs, {msg}, {elapsed}";
    let bar = progress_bar(prefix, form);
    let watched = bar.clone();
    options.watcher = Some(Box::new(move |now, ended, known| {
        watched.set_length(known as u64);
        watched.set_position(ended as u64);
        watched.set_message(format!("{:.1} h", now as f64 / 3_600_000.0));
    }));
    bar
}

/// Returns a bar of this form, which shows on a terminal only.
pub(crate) fn progress_bar(prefix: &str, form: &str) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target).with_prefix(prefix.to_string());
    let style = ProgressStyle::with_template(form);
    bar.with_style(style.expect("the template is good"))
}

pub(crate) fn simulate(what: &What, policy: &str, out: Option<&Path>) -> ExitCode {
    let outcome = what.workload().and_then(|workload| {
        let results = run(what, workload, policy)?;
        println!("{:#}", results.summary());
        if let Some(folder) = out {
            write_all(&results, folder)?;
        }
        Ok(())
    });
    exit(outcome)
}

fn write_all(results: &Results, folder: &Path) -> Result<(), String> {
    let failed = |error: String| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    report::write(results, folder).map_err(failed)?;
    plots::write(results, folder).map_err(failed)
}

/// `heddle compare`: prints one line per policy as it ends, or all in one JSON list.
pub(crate) fn compare(what: &What, names: &[String], out: Option<&Path>, json: bool) -> ExitCode {
    let outcome = what.workload().and_then(|workload| {
        // Reject a wrong name before the first simulation.
        for name in names {
            what.options(name)?;
        }
        let mut summaries = Vec::new();
        if !json {
            println!("{}", report::heading());
        }
        for name in names {
            let results = run(what, workload.clone(), name)?;
            if !json {
                println!("{}", report::row(&results));
            }
            summaries.push(results.summary());
            if let Some(folder) = out {
                write_all(&results, &folder.join(name.replace('/', "-")))?;
            }
        }
        let text = format!("{:#}\n", json!(summaries));
        if json {
            print!("{text}");
        }
        if let Some(folder) = out {
            let path = folder.join("comparison.json");
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    });
    exit(outcome)
}

fn exit(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("heddle: {problem}");
            ExitCode::from(2)
        }
    }
}
