//! The fluid model with slots: a job may use up to `width` of them, in any fraction, and gains or
//! loses them at once. Between the one server and the cluster of tasks, it shows how narrow jobs
//! affect an order of service. O(n) per event.

use super::mean_sojourn_of;
use heddle_core::model::waterfill::{Claim, waterfill_exact};
use std::cmp::Ordering;

/// A job of the fluid model with slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WideJob {
    /// When it is submitted, in seconds.
    pub arrival: f64,
    /// The work, in slot-seconds.
    pub work: f64,
    /// The number of slots that it can use at once; above 0.
    pub width: f64,
    /// The scheduler's estimate of the work.
    pub estimate: f64,
}

/// An order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// First come, first served: each job takes as many slots as it can use of those left.
    Fcfs,
    /// Max-min fair.
    Fair,
    /// By the least remaining work, as estimated.
    Srpt,
    /// By the least work left in a virtual max-min fair system of the same slots. Late jobs go
    /// first, by their virtual ends.
    Hfsp,
    /// Like `Hfsp`, but late jobs share.
    HfspSharing,
}

impl Policy {
    /// Every policy with its name in cases and tables.
    pub const ALL: [(&'static str, Policy); 5] = [
        ("fcfs", Policy::Fcfs),
        ("fair", Policy::Fair),
        ("srpt", Policy::Srpt),
        ("hfsp", Policy::Hfsp),
        ("hfsp_ps", Policy::HfspSharing),
    ];
}

/// Returns when each job ends, in the order of `jobs`, which must be sorted by arrival. `slots`
/// must be above 0. A job without work needs no slot: it ends at its submission.
pub fn completions(policy: Policy, slots: f64, jobs: &[WideJob]) -> Vec<f64> {
    let mut system = System::new(policy, slots, jobs);
    loop {
        system.arrive();
        if system.unfinished == 0 {
            break;
        }
        system.allocate();
        let step = system.next_event();
        system.run(step);
    }
    system.jobs.iter().map(|job| job.end).collect()
}

/// Returns the mean time from arrival to end; 0 without jobs.
pub fn mean_sojourn(jobs: &[WideJob], completions: &[f64]) -> f64 {
    mean_sojourn_of(jobs.iter().map(|job| job.arrival), completions)
}

#[derive(Clone, Copy, Debug)]
struct Running {
    job: WideJob,
    /// Work left: the true amount, and by the estimate. A low estimate falls below 0.
    left: f64,
    estimated_left: f64,
    /// Work left in the virtual system, and when that ended.
    virtual_left: f64,
    virtual_end: f64,
    end: f64,
    /// Slots, in the true and the virtual system.
    rate: f64,
    virtual_rate: f64,
}

impl Running {
    fn new(job: WideJob) -> Running {
        Running {
            job,
            left: job.work,
            estimated_left: job.estimate,
            virtual_left: job.estimate,
            virtual_end: f64::INFINITY,
            end: f64::INFINITY,
            rate: 0.0,
            virtual_rate: 0.0,
        }
    }

    fn is_late(&self) -> bool {
        self.virtual_end.is_finite()
    }
}

struct System {
    policy: Policy,
    slots: f64,
    now: f64,
    jobs: Vec<Running>,
    /// Number of jobs submitted so far, in the order of `jobs`.
    arrived: usize,
    unfinished: usize,
    /// Submitted and unfinished jobs, in order of service.
    order: Vec<usize>,
}

impl System {
    fn new(policy: Policy, slots: f64, jobs: &[WideJob]) -> System {
        System {
            policy,
            slots,
            now: jobs.first().map_or(0.0, |job| job.arrival),
            jobs: jobs.iter().map(|job| Running::new(*job)).collect(),
            arrived: 0,
            unfinished: jobs.len(),
            order: Vec::new(),
        }
    }

    /// Adds the jobs submitted now, and removes those without work left.
    fn arrive(&mut self) {
        while self.arrived < self.jobs.len() && self.jobs[self.arrived].job.arrival <= self.now {
            self.order.push(self.arrived);
            self.arrived += 1;
        }
        let now = self.now;
        for job in &mut self.jobs[..self.arrived] {
            // Steps are rounded like the clock; rounding must not keep a job alive.
            let nothing = 1e-13 * (now.abs() + job.job.work);
            if job.virtual_left <= nothing && !job.is_late() {
                job.virtual_end = now;
            }
            if job.left <= nothing && job.end.is_infinite() {
                job.end = now;
                self.unfinished -= 1;
            }
        }
        self.order.retain(|i| self.jobs[*i].end.is_infinite());
    }

    fn allocate(&mut self) {
        let ended = |i: &usize| self.jobs[*i].is_late();
        let virtually: Vec<usize> = (0..self.arrived).filter(|i| !ended(i)).collect();
        for job in &mut self.jobs {
            (job.rate, job.virtual_rate) = (0.0, 0.0);
        }
        for (i, part) in self.shared(&virtually, self.slots) {
            self.jobs[i].virtual_rate = part;
        }
        let mut order = std::mem::take(&mut self.order);
        order.sort_by(|a, b| self.compare(*a, *b));
        self.settle_ties(&mut order);
        let late = |i: &&usize| self.jobs[**i].is_late();
        let sharing = match self.policy {
            Policy::Fair => order.len(),
            Policy::HfspSharing => order.iter().take_while(late).count(),
            _ => 0,
        };
        let mut free = self.slots;
        for (i, part) in self.shared(&order[..sharing], free) {
            self.jobs[i].rate = part;
            free -= part;
        }
        for i in &order[sharing..] {
            let job = &mut self.jobs[*i];
            job.rate = job.job.width.min(free);
            free -= job.rate;
        }
        self.order = order;
    }

    fn shared(&self, members: &[usize], slots: f64) -> Vec<(usize, f64)> {
        let claim = |i: &usize| Claim {
            weight: 1.0,
            least: 0.0,
            most: self.jobs[*i].job.width,
        };
        let claims: Vec<Claim<f64>> = members.iter().map(claim).collect();
        let parts = waterfill_exact(slots, &claims);
        members.iter().copied().zip(parts).collect()
    }

    /// Returns the value that the policy compares, and how fast it falls.
    fn key(&self, i: usize) -> (f64, f64) {
        let job = &self.jobs[i];
        match self.policy {
            Policy::Fcfs | Policy::Fair => (i as f64, 0.0),
            Policy::Srpt => (job.estimated_left, job.rate),
            Policy::Hfsp | Policy::HfspSharing if job.is_late() => (f64::NEG_INFINITY, 0.0),
            Policy::Hfsp | Policy::HfspSharing => (job.virtual_left, job.virtual_rate),
        }
    }

    /// Orders two jobs. With equal keys, late jobs go by their virtual ends, and others by which
    /// falls faster: it would be first a moment later. Under SRPT that depends on the order itself;
    /// `settle_ties` sees to it.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let keys = self.key(a).0.total_cmp(&self.key(b).0);
        let ties = match self.policy {
            Policy::Hfsp | Policy::HfspSharing => {
                let end = |i: usize| self.jobs[i].virtual_end;
                let late = end(a).total_cmp(&end(b));
                late.then(self.key(b).1.total_cmp(&self.key(a).1))
            }
            _ => Ordering::Equal,
        };
        keys.then(ties).then(a.cmp(&b))
    }

    /// Under SRPT, lets a job overtake an equal one that falls more slowly although it is served
    /// first. Others stay in the order of submission. Only wider jobs overtake, so this ends.
    fn settle_ties(&self, order: &mut [usize]) {
        if self.policy != Policy::Srpt {
            return;
        }
        let (mut free, mut at) = (self.slots, 0);
        while at + 1 < order.len() {
            let (a, b) = (order[at], order[at + 1]);
            let first = self.jobs[a].job.width.min(free);
            let second = self.jobs[b].job.width.min(free - first);
            if self.key(a).0 == self.key(b).0 && second > first {
                order.swap(at, at + 1);
                // The job that moved up may overtake further.
                (free, at) = (self.slots, 0);
            } else {
                free -= first;
                at += 1;
            }
        }
    }

    /// Returns the time to the next change: an arrival, an end, or one job overtaking another.
    fn next_event(&mut self) -> Step {
        let mut step = Step::default();
        if let Some(next) = self.jobs.get(self.arrived) {
            step.sooner(next.job.arrival - self.now, What::Arrival(next.job.arrival));
        }
        for (i, job) in self.jobs[..self.arrived].iter().enumerate() {
            if job.rate > 0.0 {
                step.sooner(job.left / job.rate, What::End(i));
            }
            if job.virtual_rate > 0.0 {
                let what = What::VirtualEnd(i);
                step.sooner(job.virtual_left / job.virtual_rate, what);
            }
        }
        for pair in self.order.windows(2) {
            let ((before, slow), (after, fast)) = (self.key(pair[0]), self.key(pair[1]));
            if before.is_finite() && fast > slow && after > before {
                let what = What::Overtaking(pair[0], pair[1]);
                step.sooner((after - before) / (fast - slow), what);
            }
        }
        step
    }

    fn run(&mut self, step: Step) {
        self.now += step.length;
        for job in &mut self.jobs[..self.arrived] {
            job.left -= job.rate * step.length;
            job.estimated_left -= job.rate * step.length;
            job.virtual_left -= job.virtual_rate * step.length;
        }
        // The event that ends the step happens exactly, regardless of rounding.
        match step.what {
            What::Nothing => unreachable!("an unfinished job either runs or is yet to come"),
            What::Arrival(at) => self.now = at,
            What::End(i) => self.jobs[i].left = 0.0,
            What::VirtualEnd(i) => self.jobs[i].virtual_left = 0.0,
            What::Overtaking(before, after) => {
                let (estimated, virtually) = {
                    let job = &self.jobs[before];
                    (job.estimated_left, job.virtual_left)
                };
                match self.policy {
                    Policy::Srpt => self.jobs[after].estimated_left = estimated,
                    _ => self.jobs[after].virtual_left = virtually,
                }
            }
        }
    }
}

/// The event that ends a step.
#[derive(Clone, Copy, Debug, Default)]
enum What {
    #[default]
    Nothing,
    Arrival(f64),
    End(usize),
    VirtualEnd(usize),
    Overtaking(usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct Step {
    length: f64,
    what: What,
}

impl Default for Step {
    fn default() -> Step {
        Step {
            length: f64::INFINITY,
            what: What::Nothing,
        }
    }
}

impl Step {
    fn sooner(&mut self, length: f64, what: What) {
        if length < self.length {
            *self = Step {
                length: length.max(0.0),
                what,
            };
        }
    }
}
