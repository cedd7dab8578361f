//! Makes a simulator's workload of a history, for the recorded cluster or another.

use crate::fault::Fault;
use crate::limits::{AMOUNT_MAX, time};
use crate::model::{History, Job};
use heddle_core::words::resource::Resource;
use heddle_sim::cluster_sim::hardware::Block;
use heddle_sim::cluster_sim::workload::{JobPlan, Master, Recorded};
use heddle_sim::cluster_sim::{Hardware, Workload};
use std::collections::{BTreeMap, BTreeSet};

const REMEDY: &str = "give the ResourceManager's nodes.json, or --nodes, --node-memory and \
                      --node-vcores";

/// A cluster to simulate; what is not given is as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// How many nodes.
    pub nodes: Option<u32>,
    /// Memory of a node for containers, in MB.
    pub memory_mb: Option<i64>,
    /// Virtual cores of a node.
    pub vcores: Option<i64>,
    /// How many racks.
    pub racks: Option<u32>,
}

impl History {
    /// Returns the number of the simulated nodes, if it is known.
    fn count(&self, cluster: &Cluster) -> Option<u32> {
        let recorded = (!self.nodes.is_empty()).then_some(self.nodes.len() as u32);
        cluster.nodes.or(recorded)
    }

    /// Makes a workload, and notes what this cluster adds to the unknown.
    ///
    /// # Errors
    /// If the size of the cluster is not known.
    pub fn workload(&mut self, cluster: &Cluster) -> Result<Workload, Fault> {
        let count = self.count(cluster).filter(|count| *count > 0);
        let count =
            count.ok_or_else(|| Fault::whole("the number of nodes is not known", REMEDY))?;
        let capacities = self.capacities(cluster, count)?;
        let racks: BTreeSet<&str> = self.nodes.iter().map(|node| node.rack.as_str()).collect();
        let racks = cluster.racks.unwrap_or(racks.len() as u32).clamp(1, count);
        let hardware = Hardware {
            nodes: count,
            racks,
            ..Hardware::default()
        };
        // Nodes are in order of their racks, so that neighbours by number share one.
        let same = self.nodes.len() == count as usize;
        let numbers = self.nodes.iter().zip(0..count);
        let numbers = numbers.map(|(node, number)| (node.host.as_str(), number));
        let numbers: BTreeMap<&str, u32> = numbers.collect();
        let origin = self
            .jobs
            .iter()
            .map(|job| job.submitted_ms)
            .min()
            .unwrap_or(0);
        let plan = |job: &Job| plan(job, origin, &numbers, count);
        let jobs = self.jobs.iter().map(plan).collect();
        let has_hosts = |job: &Job| job.tasks[0].iter().any(|task| !task.hosts.is_empty());
        if !same && self.jobs.iter().any(has_hosts) {
            self.lacks(
                "With another number of nodes, replicas on hosts that it lacks are spread over the \
                 nodes by the hosts' names.",
            );
        }
        Ok(Workload {
            name: "history".to_string(),
            hardware,
            nodes: capacities,
            jobs,
            ..Workload::default()
        })
    }

    fn capacities(&self, cluster: &Cluster, count: u32) -> Result<Vec<Resource>, Fault> {
        let known: Vec<Resource> = self.nodes.iter().filter_map(|node| node.capacity).collect();
        let of = |i: u32| {
            let recorded = known.get(i as usize % known.len().max(1)).copied();
            let pick = |given: Option<i64>, part: fn(&Resource) -> i64| {
                given.or(recorded.as_ref().map(part))
            };
            let memory = pick(cluster.memory_mb, Resource::memory_mb)?;
            let vcores = pick(cluster.vcores, Resource::vcores)?;
            Some(Resource::new(
                memory.clamp(1, AMOUNT_MAX),
                vcores.clamp(1, AMOUNT_MAX),
            ))
        };
        let all: Option<Vec<Resource>> = (0..count).map(of).collect();
        all.ok_or_else(|| Fault::whole("the sizes of the nodes are not known", REMEDY))
    }
}

/// Returns the node for a host: its own, or one by its name.
fn number(host: &str, numbers: &BTreeMap<&str, u32>, count: u32) -> u32 {
    let hashed = || {
        let hash = host.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        hash % count
    };
    numbers.get(host).copied().unwrap_or_else(hashed)
}

fn plan(job: &Job, origin: i64, numbers: &BTreeMap<&str, u32>, count: u32) -> JobPlan {
    let tasks = [0, 1].map(|kind| job.tasks[kind].len() as u32);
    let block = |hosts: &[String]| Block::on(hosts.iter().map(|host| number(host, numbers, count)));
    let has_hosts = job.tasks[0].iter().any(|task| !task.hosts.is_empty());
    let blocks = match has_hosts {
        true => job.tasks[0].iter().map(|task| block(&task.hosts)).collect(),
        false => Vec::new(),
    };
    let master = |size: Resource| Master {
        size,
        start_ms: job.start_ms,
        commit_ms: job.commit_ms,
        linger_ms: job.linger_ms,
    };
    JobPlan {
        submit_ms: time(job.submitted_ms.saturating_sub(origin)),
        user: match job.user.is_empty() {
            true => "unknown".to_string(),
            false => job.user.clone(),
        },
        class: job.name.clone(),
        priority: job.priority,
        tasks,
        recorded: Some(Box::new(Recorded {
            queue: job.queue.clone(),
            task_ms: [0, 1].map(|kind| job.tasks[kind].iter().map(|task| task.length_ms).collect()),
            sizes: job.sizes,
            blocks,
            master: job.master.map(master),
            slow_start_per_mille: job.slow_start_per_mille,
        })),
        ..JobPlan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Node;

    fn sized(host: &str, memory: i64) -> Node {
        Node {
            rack: "/r".to_string(),
            host: host.to_string(),
            capacity: Some(Resource::new(memory, 1)),
        }
    }

    #[test]
    fn times_of_submission_never_overflow() {
        let at = |submitted_ms: i64| Job {
            submitted_ms,
            ..Job::default()
        };
        let mut history = History {
            jobs: vec![at(i64::MIN), at(i64::MAX)],
            nodes: vec![sized("a", 1)],
            ..History::default()
        };
        let workload = history.workload(&Cluster::default()).expect("it is known");
        let times = workload.jobs.iter().map(|job| job.submit_ms);
        assert_eq!(times.collect::<Vec<_>>(), [0, time(i64::MAX)]);
    }

    #[test]
    fn a_larger_cluster_repeats_the_sizes_of_the_recorded_one() {
        let mut history = History {
            nodes: vec![sized("a", 1), sized("b", 2)],
            ..History::default()
        };
        let memory = |history: &mut History, cluster: Cluster| {
            let workload = history.workload(&cluster).expect("it is known");
            let nodes = workload.nodes.iter().map(Resource::memory_mb);
            nodes.collect::<Vec<_>>()
        };
        assert_eq!(memory(&mut history, Cluster::default()), [1, 2]);
        let five = Cluster {
            nodes: Some(5),
            ..Cluster::default()
        };
        assert_eq!(memory(&mut history, five), [1, 2, 1, 2, 1]);
        history.nodes.clear();
        let error = history.workload(&five).expect_err("no size is known");
        assert!(error.remedy.contains("--node-memory"), "{error}");
    }
}
