//! `heddle-lab papers`: prints the experiments of the papers as tables. `papers` defines them and
//! what counts as agreement.

use heddle_lab::papers::{EXPERIMENTS, Experiment};
use std::process::ExitCode;

fn wanted(name: &String) -> Result<&'static Experiment, &String> {
    let same = |experiment: &&Experiment| experiment.id.eq_ignore_ascii_case(name);
    EXPERIMENTS.iter().find(same).ok_or(name)
}

/// Runs the named experiments, or all. Fails only if one cannot run: a result that differs from the
/// paper's is a result.
pub(crate) fn main(names: &[String]) -> ExitCode {
    let chosen: Result<Vec<&Experiment>, &String> = match names {
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
    let mut failed = false;
    let mut verdicts = Vec::new();
    for experiment in chosen {
        println!("{}  {}", experiment.id, experiment.title);
        match (experiment.run)() {
            Ok(table) => {
                println!("{table}");
                verdicts.push((experiment.id, table.agrees()));
            }
            Err(failure) => {
                failed = true;
                eprintln!("heddle-lab papers: {}: {failure}", experiment.id);
            }
        }
    }
    for (id, agrees) in verdicts {
        println!("{id:6} {}", if agrees { "agrees" } else { "DIFFERS" });
    }
    match failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
