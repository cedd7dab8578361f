//! The fluid model: one server of rate 1 that any job may use as a whole, with free preemption. A
//! job is only an arrival and a size (HF-4). The model shows the value of an order of service apart
//! from tasks, slots and data.
//!
//! Each discipline is O(n log n). All are exact except for floating-point rounding, because they
//! compute events instead of stepping through time.

pub mod multislot;

use heddle_sim::swim::SwimJob;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A job of the fluid model. Times in seconds of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// When it is submitted.
    pub arrival: f64,
    /// The work, in seconds of service.
    pub size: f64,
    /// The scheduler's estimate of the size.
    pub estimate: f64,
}

impl Job {
    /// Creates a job whose size is known.
    pub fn exact(arrival: f64, size: f64) -> Job {
        Job {
            arrival,
            size,
            estimate: size,
        }
    }
}

/// Converts a trace to jobs for one server (HF-7). Work = map input + (1 + `d_over_n`) * shuffle +
/// reduce output, scaled so that all work together is `load` times the last submission. `d_over_n`
/// is disk bandwidth over network bandwidth. Estimates equal the sizes.
pub fn of_trace(jobs: &[SwimJob], d_over_n: f64, load: f64) -> Vec<Job> {
    let work = |job: &SwimJob| {
        job.map_input_bytes as f64
            + (1.0 + d_over_n) * job.shuffle_bytes as f64
            + job.reduce_output_bytes as f64
    };
    let total: f64 = jobs.iter().map(work).sum();
    let last = jobs.last().map_or(0.0, |job| job.submit_s as f64);
    // A trace without work has jobs of size 0 at any scale.
    let scale = if total > 0.0 {
        load * last / total
    } else {
        0.0
    };
    jobs.iter()
        .map(|job| Job::exact(job.submit_s as f64, work(job) * scale))
        .collect()
}

/// An order of service (HF-2, HF-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served.
    Fcfs,
    /// Processor sharing: all jobs at once, at equal rates.
    Ps,
    /// Shortest remaining processing time, by the estimate.
    Srpt,
    /// HFSP's order (the paper's SRVT): by the end in a virtual processor sharing of the estimates.
    /// Late jobs, which ended virtually but not really, go first, by their virtual ends.
    FspFifo,
    /// Like `FspFifo`, but late jobs share the server.
    FspPs,
}

impl Discipline {
    /// Every discipline with its name in cases and tables.
    pub const ALL: [(&'static str, Discipline); 5] = [
        ("fcfs", Discipline::Fcfs),
        ("ps", Discipline::Ps),
        ("srpt", Discipline::Srpt),
        ("fsp_fifo", Discipline::FspFifo),
        ("fsp_ps", Discipline::FspPs),
    ];
}

/// Returns when each job ends, in the order of `jobs`, which must be sorted by arrival.
pub fn completions(discipline: Discipline, jobs: &[Job]) -> Vec<f64> {
    debug_assert!(jobs.is_sorted_by_key(|job| job.arrival), "sort by arrival");
    match discipline {
        Discipline::Fcfs => by_priority(jobs, |i| i as f64, false),
        Discipline::Ps => processor_sharing(jobs, |job| job.size),
        Discipline::Srpt => by_priority(jobs, |i| jobs[i].estimate, true),
        Discipline::FspFifo => {
            // Late jobs come first, in order of lateness, then the others by virtual end. That is
            // the order of virtual ends altogether, which no later arrival changes.
            let ends = processor_sharing(jobs, |job| job.estimate);
            by_priority(jobs, |i| ends[i], false)
        }
        Discipline::FspPs => late_jobs_share(jobs),
    }
}

/// Returns the mean time from arrival to end; 0 without jobs.
pub fn mean_sojourn(jobs: &[Job], completions: &[f64]) -> f64 {
    mean_sojourn_of(jobs.iter().map(|job| job.arrival), completions)
}

fn mean_sojourn_of(arrivals: impl Iterator<Item = f64>, completions: &[f64]) -> f64 {
    let sojourns = arrivals
        .zip(completions)
        .map(|(arrival, end)| end - arrival);
    sojourns.sum::<f64>() / completions.len().max(1) as f64
}

/// An entry of a min-heap by key; arrival breaks ties.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    key: f64,
    job: usize,
}

impl Eq for Tag {}

impl Ord for Tag {
    fn cmp(&self, other: &Tag) -> Ordering {
        let key = other.key.total_cmp(&self.key);
        key.then(other.job.cmp(&self.job))
    }
}

impl PartialOrd for Tag {
    fn partial_cmp(&self, other: &Tag) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Jobs that share the server evenly. A job ends when the service per job since the group was last
/// empty reaches its tag.
#[derive(Default)]
struct Sharing {
    heap: BinaryHeap<Tag>,
    served: f64,
}

impl Sharing {
    fn add(&mut self, job: usize, left: f64) {
        if self.heap.is_empty() {
            // Resetting keeps the numbers small, and small numbers stay exact for longer.
            self.served = 0.0;
        }
        let key = self.served + left;
        self.heap.push(Tag { key, job });
    }

    /// Serves from `now` until `until` or a job's end. Returns the time then, and the ended job.
    fn run(&mut self, now: f64, until: f64) -> (f64, Option<usize>) {
        let jobs = self.heap.len() as f64;
        match self.heap.peek().copied() {
            Some(first) if now + (first.key - self.served) * jobs <= until => {
                let end = now + (first.key - self.served) * jobs;
                self.served = first.key;
                self.heap.pop();
                (end, Some(first.job))
            }
            Some(_) => {
                self.served += (until - now) / jobs;
                (until, None)
            }
            None => (until, None),
        }
    }
}

fn processor_sharing(jobs: &[Job], size: impl Fn(&Job) -> f64) -> Vec<f64> {
    let mut ends = vec![0.0; jobs.len()];
    let (mut group, mut now) = (Sharing::default(), 0.0);
    let arrivals = jobs.iter().map(|job| job.arrival);
    for (next, until) in arrivals.chain([f64::INFINITY]).enumerate() {
        while now < until && !group.heap.is_empty() {
            let (then, ended) = group.run(now, until);
            now = then;
            if let Some(job) = ended {
                ends[job] = now;
            }
        }
        now = until;
        if next < jobs.len() {
            group.add(next, size(&jobs[next]));
        }
    }
    ends
}

/// Jobs served one at a time, the smallest key first; a new arrival preempts at once.
struct Line {
    heap: BinaryHeap<Tag>,
    /// The remaining work of each job.
    left: Vec<f64>,
    /// Whether the key of the job in service falls with its service.
    falling: bool,
}

impl Line {
    fn new(jobs: &[Job], falling: bool) -> Line {
        Line {
            heap: BinaryHeap::new(),
            left: jobs.iter().map(|job| job.size).collect(),
            falling,
        }
    }

    /// Serves like `Sharing::run`.
    fn run(&mut self, now: f64, until: f64) -> (f64, Option<usize>) {
        let Some(mut first) = self.heap.peek_mut() else {
            return (until, None);
        };
        let job = first.job;
        let end = now + self.left[job];
        if end <= until {
            self.left[job] = 0.0;
            PeekMut::pop(first);
            return (end, Some(job));
        }
        self.left[job] -= until - now;
        if self.falling {
            // The key falls below 0 once a low estimate is used up. The job stays first, as in
            // the authors' simulator.
            first.key -= until - now;
        }
        (until, None)
    }
}

fn by_priority(jobs: &[Job], key: impl Fn(usize) -> f64, falling: bool) -> Vec<f64> {
    let mut ends = vec![0.0; jobs.len()];
    let (mut line, mut now) = (Line::new(jobs, falling), 0.0);
    let arrivals = jobs.iter().map(|job| job.arrival);
    for (next, until) in arrivals.chain([f64::INFINITY]).enumerate() {
        while now < until && !line.heap.is_empty() {
            let (then, ended) = line.run(now, until);
            now = then;
            if let Some(job) = ended {
                ends[job] = now;
            }
        }
        now = until;
        if next < jobs.len() {
            let key = key(next);
            line.heap.push(Tag { key, job: next });
        }
    }
    ends
}

fn late_jobs_share(jobs: &[Job]) -> Vec<f64> {
    let virtual_ends = processor_sharing(jobs, |job| job.estimate);
    let mut ends = vec![f64::NAN; jobs.len()];
    let (mut line, mut late, mut now) = (Line::new(jobs, false), Sharing::default(), 0.0);
    // Arrivals and virtual ends in the order of time; a job's arrival precedes its end.
    let arrivals = jobs.iter().map(|job| job.arrival).enumerate();
    let mut events: Vec<(f64, bool, usize)> = arrivals
        .map(|(job, at)| (at, false, job))
        .chain(
            virtual_ends
                .iter()
                .enumerate()
                .map(|(j, at)| (*at, true, j)),
        )
        .collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for (until, is_end, job) in events
        .into_iter()
        .chain([(f64::INFINITY, false, jobs.len())])
    {
        while now < until && !(late.heap.is_empty() && line.heap.is_empty()) {
            let (then, ended) = if late.heap.is_empty() {
                line.run(now, until)
            } else {
                late.run(now, until)
            };
            now = then;
            if let Some(job) = ended {
                ends[job] = now;
            }
        }
        now = until;
        if is_end && ends[job].is_nan() {
            // The line is in the order of virtual ends, so the newly late job is its head.
            let first = line.heap.pop().expect("an unfinished job stands in line");
            late.add(first.job, line.left[first.job]);
        } else if !is_end && job < jobs.len() {
            let key = virtual_ends[job];
            line.heap.push(Tag { key, job });
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_sim::swim::parse;

    /// By hand: work 10 + 5 * 20 + 30 = 140 and 60, in all 200; 0.5 * 40 / 200 = 0.1.
    #[test]
    fn sizes_are_scaled_to_the_load() {
        let jobs = parse("a\t0\t0\t10\t20\t30\nb\t40\t40\t60\t0\t0").expect("good");
        let fluid = of_trace(&jobs, 4.0, 0.5);
        assert!((fluid[0].size - 14.0).abs() < 1e-9 && (fluid[1].size - 6.0).abs() < 1e-9);
        assert_eq!(fluid[1].arrival, 40.0);
        assert!(of_trace(&parse("a\t5\t5\t0\t0\t0").expect("good"), 4.0, 0.9)[0].size == 0.0);
    }
}
