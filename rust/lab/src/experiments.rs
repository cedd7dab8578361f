//! `heddle-lab papers`: prints the experiments of the papers as tables, and compares them with the
//! stored ones. `papers` defines them and what counts as agreement.

use clap::Args;
use heddle_lab::papers::stored::{FOLDER, Record};
use heddle_lab::papers::{EXPERIMENTS, Experiment, Runs};
use heddle_sim::cluster_sim::Knowledge;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

/// The experiments to run.
#[derive(Args)]
pub(crate) struct Papers {
    /// Which, such as DP-52; all if none is named.
    experiments: Vec<String>,
    /// Stores the results in place of the last ones.
    #[arg(long)]
    record: bool,
    /// The folder of the stored results.
    #[arg(long, default_value = FOLDER)]
    results: PathBuf,
    /// What engines know: full, live, or live with sources as in full, such as live+traffic. The
    /// tables are then not compared with the stored ones.
    #[arg(long, conflicts_with = "record")]
    knowledge: Option<Knowledge>,
}

fn wanted(name: &String) -> Result<&'static Experiment, &String> {
    let same = |experiment: &&Experiment| experiment.id.eq_ignore_ascii_case(name);
    EXPERIMENTS.iter().find(same).ok_or(name)
}

/// Runs the named experiments, or all. Fails if one cannot run, or is not as stored: a result that
/// differs from the paper's is a result.
pub(crate) fn main(papers: &Papers) -> ExitCode {
    let chosen: Result<Vec<&Experiment>, &String> = match &papers.experiments[..] {
        [] => Ok(EXPERIMENTS.iter().collect()),
        names => names.iter().map(wanted).collect(),
    };
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(name) => {
            let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
            eprintln!(
                "heddle-lab papers: no `{name}`; expected {}",
                known.join(", ")
            );
            return ExitCode::from(2);
        }
    };
    let runs = match &papers.knowledge {
        Some(knowledge) => Runs::new().with(knowledge.clone()),
        None => Runs::new(),
    };
    let mut verdicts = Vec::new();
    let mut failed = false;
    for experiment in chosen {
        match one(experiment, papers, &runs) {
            Ok(line) => verdicts.push(line),
            Err(why) => {
                failed = true;
                eprintln!("heddle-lab papers: {}: {why}", experiment.id);
            }
        }
    }
    for line in verdicts {
        println!("{line}");
    }
    match failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Runs an experiment and returns its line of the summary.
fn one(experiment: &Experiment, papers: &Papers, runs: &Runs) -> Result<String, String> {
    println!("{}  {}", experiment.id, experiment.title);
    runs.begin(experiment.id);
    let table = experiment.table(runs);
    runs.end();
    let table = table.map_err(|failure| failure.to_string())?;
    println!("{table}");
    let line = format!("{:6} {}", experiment.id, table.verdict());
    if papers.knowledge.is_some() {
        return Ok(line);
    }
    if papers.record {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let day = now.split('T').next().unwrap_or_default();
        Record::write(&papers.results, experiment, &table, day)?;
        return Ok(format!("{line}, recorded"));
    }
    let Some(stored) = Record::read(&papers.results, experiment.id)? else {
        return Ok(format!("{line}, nothing stored to compare with"));
    };
    match &stored.differences(&table)[..] {
        [] => Ok(format!("{line}, as stored on {}", stored.recorded)),
        differences => Err(format!(
            "not as stored on {}:\n    {}",
            stored.recorded,
            differences.join("\n    ")
        )),
    }
}
