//! Parses SWIM traces (Statistical Workload Injector for MapReduce) from tab-separated files.
//! `cluster_sim::workload` turns the bytes of a trace into tasks; the fluid model of `heddle_lab`
//! turns them into sizes.

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
}

/// A malformed line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwimError {
    /// Line number, from 1.
    pub line: usize,
    /// The expected and the found text.
    pub problem: String,
}

impl fmt::Display for SwimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for SwimError {}

/// A century: no sum of times overflows.
const SECONDS_MAX: u64 = 100 * 366 * 86_400;
/// A petabyte a job: no number of tasks overflows.
const BYTES_MAX: u64 = 1 << 50;

/// Parses the jobs of a trace in the order of their submission; skips empty lines.
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
    let number = |at: usize, what: &str, most: u64| {
        let text = fields[at].trim();
        let number = text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| {
            format!("expected {what} as a whole number of at most {most}, found `{text}`")
        })
    };
    // The gap repeats what the submissions say, but it must be a number.
    number(2, "the gap", SECONDS_MAX)?;
    Ok(SwimJob {
        name: fields[0].to_string(),
        submit_s: number(1, "the submission", SECONDS_MAX)?,
        map_input_bytes: number(3, "the map input", BYTES_MAX)?,
        shuffle_bytes: number(4, "the shuffle", BYTES_MAX)?,
        reduce_output_bytes: number(5, "the reduce output", BYTES_MAX)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_faulty_ones_named() {
        let jobs = parse("b\t20\t2\t10\t20\t30\t/in/7\n\na\t9\t9\t1\t0\t0\r\n").expect("good");
        assert_eq!(jobs[0].name, "a");
        assert_eq!(jobs[1].reduce_output_bytes, 30);
        let error = parse("a\t9\t9\t1\t0\t0\nb\t1\t-\t0\t0\t0").expect_err("`-` is no number");
        assert_eq!(error.line, 2);
        assert!(error.problem.contains("the gap"), "{error}");
        assert!(parse("a 9 9 1 0 0").is_err());
        for huge in [
            "a\t9223372036854775807\t1\t1\t0\t0",
            "a\t9\t1\t9007199254740993\t0\t0",
        ] {
            let error = parse(huge).expect_err("sums of it would overflow");
            assert!(error.problem.contains("at most"), "{error}");
        }
    }
}
