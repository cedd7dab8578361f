//! SWIM traces (Statistical Workload Injector for MapReduce): reading the tab-separated files,
//! and the one-number size by which the HFSP paper's simulator knows a job. How tasks are made
//! of the bytes is the workload's affair, not this file's.

use crate::fluid;
use std::fmt;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwimJob {
    /// Its name in the trace.
    pub name: String,
    /// Submission, in seconds since the trace began.
    pub submit_s: u64,
    /// Bytes that its maps read.
    pub map_input_bytes: u64,
    /// Bytes that move from maps to reduces.
    pub shuffle_bytes: u64,
    /// Bytes that its reduces write.
    pub reduce_output_bytes: u64,
    /// Anonymised path of the input, in traces that have one: equal paths are one data set.
    pub input_path: Option<String>,
}

/// A line that is none of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwimError {
    /// From 1.
    pub line: usize,
    /// What was expected and what was found.
    pub problem: String,
}

impl fmt::Display for SwimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for SwimError {}

/// The jobs of a trace in the order of their submission; empty lines are passed over.
pub fn parse(text: &str) -> Result<Vec<SwimJob>, SwimError> {
    let mut jobs = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if !line.trim().is_empty() {
            let job = parse_line(line).map_err(|problem| SwimError {
                line: i + 1,
                problem,
            })?;
            jobs.push(job);
        }
    }
    jobs.sort_by_key(|job: &SwimJob| job.submit_s);
    Ok(jobs)
}

fn parse_line(line: &str) -> Result<SwimJob, String> {
    let fields: Vec<&str> = line.trim_end().split('\t').collect();
    if !(6..=7).contains(&fields.len()) {
        return Err(format!(
            "expected 6 or 7 fields separated by tabs, found {}",
            fields.len()
        ));
    }
    let number = |at: usize, what: &str| {
        let text = fields[at].trim();
        text.parse::<u64>()
            .map_err(|_| format!("expected {what} as a whole number, found `{text}`"))
    };
    // The gap to the job before says nothing that the submissions do not; it must be a number.
    number(2, "the gap")?;
    Ok(SwimJob {
        name: fields[0].to_string(),
        submit_s: number(1, "the submission")?,
        map_input_bytes: number(3, "the map input")?,
        shuffle_bytes: number(4, "the shuffle")?,
        reduce_output_bytes: number(5, "the reduce output")?,
        input_path: fields.get(6).map(|path| path.to_string()),
    })
}

/// The jobs as the one server sees them (HF-7): work = map input + (1 + `d_over_n`) * shuffle +
/// reduce output, scaled so that all work together is `load` times the last submission.
/// `d_over_n` is disk bandwidth over network bandwidth. Estimates are the sizes.
pub fn fluid_jobs(jobs: &[SwimJob], d_over_n: f64, load: f64) -> Vec<fluid::Job> {
    let work = |job: &SwimJob| {
        job.map_input_bytes as f64
            + (1.0 + d_over_n) * job.shuffle_bytes as f64
            + job.reduce_output_bytes as f64
    };
    let total: f64 = jobs.iter().map(work).sum();
    let last = jobs.last().map_or(0.0, |job| job.submit_s as f64);
    // A trace without work has jobs of size 0, whatever the scale.
    let scale = if total > 0.0 {
        load * last / total
    } else {
        0.0
    };
    jobs.iter()
        .map(|job| fluid::Job::exact(job.submit_s as f64, work(job) * scale))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_faulty_ones_named() {
        let jobs = parse("b\t20\t2\t10\t20\t30\t/in/7\n\na\t9\t9\t1\t0\t0\r\n").expect("good");
        assert_eq!(jobs[0].name, "a");
        assert_eq!(jobs[1].input_path.as_deref(), Some("/in/7"));
        assert_eq!(jobs[1].reduce_output_bytes, 30);
        let error = parse("a\t9\t9\t1\t0\t0\nb\t1\t-\t0\t0\t0").expect_err("`-` is no number");
        assert_eq!(error.line, 2);
        assert!(error.problem.contains("the gap"), "{error}");
        assert!(parse("a 9 9 1 0 0").is_err());
    }

    /// By hand: work 10 + 5 * 20 + 30 = 140 and 60, in all 200; 0.5 * 40 / 200 = 0.1.
    #[test]
    fn sizes_are_scaled_to_the_load() {
        let jobs = parse("a\t0\t0\t10\t20\t30\nb\t40\t40\t60\t0\t0").expect("good");
        let fluid = fluid_jobs(&jobs, 4.0, 0.5);
        assert!((fluid[0].size - 14.0).abs() < 1e-9 && (fluid[1].size - 6.0).abs() < 1e-9);
        assert_eq!(fluid[1].arrival, 40.0);
        assert!(fluid_jobs(&parse("a\t5\t5\t0\t0\t0").expect("good"), 4.0, 0.9)[0].size == 0.0);
    }
}
