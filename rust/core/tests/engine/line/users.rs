//! The limit of a leaf's users, below a limit of the leaf or without: jobs of one user stand in
//! line, and the first one's containers are the larger ones.

use super::{Steady, numbers, seeds};
use heddle_core::Resource;
use serde_json::{Value, json};

/// A leaf that limits its users, and jobs in the order of submission, each of endless asks.
struct Leaf {
    nodes: Vec<(i64, i64)>,
    leaf: Value,
    /// User, GB and vcores.
    jobs: Vec<(u32, i64, i64)>,
}

impl Leaf {
    fn draw(seed: u64) -> Leaf {
        let mut draw = numbers(seed);
        let nodes = vec![(24 * 1024 * (1 + draw(2)), 24); 3 + draw(3) as usize];
        let memory_mb: i64 = nodes.iter().map(|node| node.0).sum();
        let vcores = nodes.iter().map(|node| node.1).sum::<i64>();
        let part = |amount: i64, tenths: i64| amount * tenths / 10;
        // Half of the cluster at most: nodes have room for large ones.
        let guaranteed = 2 + draw(3);
        let percent = [25, 34, 50, 100][draw(4) as usize];
        let mut leaf = json!({"path": "root.a", "order": "fifo", "min_share":
            {"memory-mb": part(memory_mb, guaranteed), "vcores": part(vcores, guaranteed)},
            "user_limit_percent": percent});
        if draw(3) > 0 {
            let factor = [0.5, 0.7, 1.0, 1.5][draw(4) as usize];
            leaf["user_limit_factor"] = json!(factor);
        }
        if draw(2) == 0 {
            let most = guaranteed + draw(2);
            leaf["max_share"] =
                json!({"memory-mb": part(memory_mb, most), "vcores": part(vcores, most)});
        }
        let large = 2 + draw(5);
        let mut jobs = vec![(0, large, 1 + draw(large)), (0, 1, 1)];
        if draw(2) == 0 {
            jobs.push((1, 1 + draw(3), 1));
        }
        if draw(2) == 0 {
            jobs.push((1, 1, 1));
        }
        Leaf { nodes, leaf, jobs }
    }

    /// The containers' memory and vcores that each job has in the mean, with its own size or with
    /// the smallest of all.
    fn play(&self, alike: bool) -> Vec<Resource> {
        let policy = json!({"share": "capacity", "order": "by-queue", "place": "local-first"});
        let config = json!({"policy": policy, "heartbeat_fill": 1.0, "share": {"dominant": true},
            "queues": [{"path": "root", "compare": "capacity"}, self.leaf, {"path": "root.b"}]});
        let mut steady = Steady::new(config, &self.nodes, 20);
        let queue = steady.host.queue("u", Some("a"));
        for (job, (user, gb, vcores)) in self.jobs.iter().enumerate() {
            let size = if alike {
                (1024, 1)
            } else {
                (gb * 1024, *vcores)
            };
            steady.host.user_job(job as u32, queue, *user);
            steady.ask(job as u32, 0, 1_000_000, size);
        }
        let means = steady.means([0, 1, 2, 3]);
        means[..self.jobs.len()].to_vec()
    }

    /// What is wrong with the first job: it has less than with small containers, by more than 5 %
    /// and one container, of the type of which its containers are the larger part.
    fn fault(&self) -> Option<String> {
        let (alike, mixed) = (self.play(true), self.play(false));
        let sum = |i: usize| self.nodes.iter().map(|it| [it.0, it.1][i]).sum::<i64>();
        let whole = Resource::new(sum(0), sum(1));
        let (_, gb, vcores) = self.jobs[0];
        let size = Resource::new(gb * 1024, vcores).dominant_share(&whole);
        let share = |it: &Resource| it.dominant_share(&whole);
        let behind = share(&mixed[0]) < share(&alike[0]) * 0.95 - size;
        behind.then(|| {
            format!(
                "{} beside {:?} on {:?}: {mixed:?}, of one size {alike:?}",
                self.leaf, self.jobs, self.nodes
            )
        })
    }
}

#[test]
fn the_first_job_of_a_user_keeps_the_user_s_limit() {
    let fault = |seed| Some(format!("seed {seed}: {}", Leaf::draw(seed).fault()?));
    let faults: Vec<String> = (1..=seeds(8)).filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
