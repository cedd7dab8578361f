//! `heddle whatif`: the jobs of a history under other policies, configurations and sizes of the
//! cluster. Reads with `heddle_history`, simulates with `heddle_sim`; here are the arguments, the
//! candidates, and the order of things.

mod candidate;
mod figures;
mod lines;
mod page;
mod pictures;
mod text;

use crate::failure::{self, Failure, Kind};
use crate::simulate::{progress_bar, watch};
use crate::terminal::{print, print_json};
use candidate::Candidate;
use clap::Args;
use figures::Outcome;
use heddle_history::{Cluster, Fault, History};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Knowledge, Options, Workload};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Progress of tasks is told this often: it decides little here, and costs the most.
const PROGRESS_MS: i64 = 15_000;

/// The largest cluster to try. A simulation of more would take all memory.
const NODES_MAX: i64 = 100_000;

/// What to predict, and from what.
#[derive(Args)]
pub(crate) struct What {
    /// Histories: job histories (.jhist with their _conf.xml), the ResourceManager's apps.json and
    /// nodes.json, traces of SLS, Rumen or SWIM, Heddle journals; files, or folders of them.
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Policies to try: presets, or share/order/place.
    #[arg(long, value_delimiter = ',', default_value = "fifo,fair")]
    policies: Vec<String>,
    /// Configurations to try: heddle.json, fair-scheduler.xml or capacity-scheduler.xml.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Site files that a stock scheduler's configuration needs, yarn-site.xml last.
    #[arg(long, value_name = "FILE")]
    site: Vec<PathBuf>,
    /// The candidate that the others are compared with; the first unless this says another.
    #[arg(long)]
    baseline: Option<String>,
    /// Numbers of nodes to try; as recorded unless this says others.
    #[arg(long, value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=NODES_MAX))]
    nodes: Vec<u32>,
    /// Memory of every node for containers, in MB; as recorded unless this says another.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(i64).range(1..=1 << 40))]
    node_memory: Option<i64>,
    /// Virtual cores of every node; as recorded unless this says another.
    #[arg(long, value_name = "CORES", value_parser = clap::value_parser!(i64).range(1..=1 << 40))]
    node_vcores: Option<i64>,
    /// Number of racks; as recorded unless this says another.
    #[arg(long)]
    racks: Option<u32>,
    /// Every random number follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the page (HTML), pictures (SVG) and tables (CSV, JSON).
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(what: &What) -> ExitCode {
    failure::exit(run(what))
}

fn refused(fault: &Fault) -> Failure {
    let at = match fault.offset {
        Some(offset) => format!("{}, offset {offset}", fault.file),
        None => fault.file.clone(),
    };
    Failure::usage(&fault.problem, at, &fault.remedy)
}

fn run(what: &What) -> Result<(), Failure> {
    compare(
        what,
        &candidate::all(&what.policies, &what.config, &what.site)?,
    )
}

/// Predicts the jobs of a journal under two configurations; the first is the baseline.
pub(crate) fn of_journal(
    journal: &Path,
    configurations: [(&str, Value); 2],
    json: bool,
) -> Result<(), Failure> {
    let what = What {
        sources: vec![journal.to_path_buf()],
        policies: Vec::new(),
        config: Vec::new(),
        site: Vec::new(),
        baseline: None,
        nodes: Vec::new(),
        node_memory: None,
        node_vcores: None,
        racks: None,
        seed: 1,
        out: None,
        json,
    };
    let candidates = configurations.map(|(name, config)| Candidate {
        name: name.to_string(),
        config,
    });
    compare(&what, &candidates)
}

fn compare(what: &What, candidates: &[Candidate]) -> Result<(), Failure> {
    let mut history = read(what)?;
    let sizes: Vec<Option<u32>> = match what.nodes.is_empty() {
        true => vec![None],
        false => what.nodes.iter().copied().map(Some).collect(),
    };
    let mut outcomes = vec![Outcome::recorded(&history)];
    for nodes in &sizes {
        let cluster = Cluster {
            nodes: *nodes,
            memory_mb: what.node_memory,
            vcores: what.node_vcores,
            racks: what.racks,
        };
        let workload = history
            .workload(&cluster)
            .map_err(|fault| refused(&fault))?;
        for candidate in candidates {
            let name = match nodes {
                Some(nodes) if sizes.len() > 1 => format!("{}, {nodes} nodes", candidate.name),
                _ => candidate.name.clone(),
            };
            let config = candidate.config.clone();
            outcomes.push(simulate(what, &history, workload.clone(), name, config)?);
        }
    }
    let baseline = match &what.baseline {
        None => 1,
        Some(name) => {
            let found = outcomes.iter().position(|outcome| outcome.name == *name);
            let known: Vec<&str> = outcomes
                .iter()
                .map(|outcome| outcome.name.as_str())
                .collect();
            found.ok_or_else(|| {
                Failure::usage(format!("no `{name}`"), "--baseline", known.join(", "))
            })?
        }
    };
    let unknown: Vec<&str> = history.unknown.iter().map(String::as_str).collect();
    let answer = json!({
        "jobs": history.jobs.len(),
        "baseline": outcomes[baseline].name,
        "outcomes": outcomes.iter().map(Outcome::as_json).collect::<Value>(),
        "changes": figures::changes(&outcomes, baseline),
        "unknown": unknown,
    });
    match what.json {
        true => print_json(&answer)?,
        false => print(&text::report(&outcomes, baseline, &unknown))?,
    }
    match &what.out {
        Some(folder) => write(folder, &outcomes, baseline, &unknown, &answer).map_err(|error| {
            let expected = "a folder that can be written";
            Failure::new(Kind::Refused, error, folder.display().to_string(), expected)
        }),
        None => Ok(()),
    }
}

fn read(what: &What) -> Result<History, Failure> {
    let bar = progress_bar(
        "reading",
        "{prefix} {bar:30} {bytes}/{total_bytes}, {elapsed}",
    );
    let swim_nodes = what
        .nodes
        .first()
        .copied()
        .unwrap_or(Hardware::default().nodes);
    let mut heard = |_: &Path, done: u64, total: u64| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let history = heddle_history::read(&what.sources, swim_nodes.max(1), &mut heard);
    bar.finish_and_clear();
    history.map_err(|fault| refused(&fault))
}

fn simulate(
    what: &What,
    history: &History,
    workload: Workload,
    name: String,
    config: Value,
) -> Result<Outcome, Failure> {
    let mut options = Options::new(&name, config);
    options.seed = what.seed;
    options.knowledge = Knowledge::Live(Vec::new());
    options.progress_ms = PROGRESS_MS;
    options.traffic_ms = 4 * PROGRESS_MS;
    options.keep_samples = false;
    let bar = watch(&mut options, &name);
    let nodes = workload.nodes.clone();
    let results = ClusterSim::new(workload, options).and_then(ClusterSim::run);
    bar.finish_and_clear();
    let results = results.map_err(|failure| {
        let expected = "a configuration that the engine accepts; `heddle check-config` checks one";
        Failure::usage(failure.to_string(), name.as_str(), expected)
    })?;
    Ok(Outcome::simulated(name, history, &results, &nodes))
}

fn write(
    folder: &Path,
    outcomes: &[Outcome],
    baseline: usize,
    unknown: &[&str],
    answer: &Value,
) -> Result<(), String> {
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    put("whatif.json", format!("{answer:#}\n"))?;
    put("jobs.csv", figures::table(outcomes)?)?;
    let pictures = pictures::draw(outcomes, folder)?;
    put(
        "index.html",
        page::page(outcomes, baseline, unknown, &pictures),
    )
}
