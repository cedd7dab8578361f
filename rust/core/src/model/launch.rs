//! How much of a container's time its launch takes: localization, a JVM, the first word to its
//! master. Learnt over the whole cluster from the shortest containers; knows nothing of tasks.
//!
//! A container's time is its task's and its launch's, and only their sum is visible. The shortest
//! containers are nearly all launch, so the median of the shortest twentieth, which is at a
//! fortieth of all, estimates it. If even those are long, they say nothing, and the estimate is 0.

use crate::words::ids::Millis;

/// The longest launch that this believes in: a JVM's start and a small localization. A cluster
/// whose shortest containers last longer runs no short tasks.
const MAX_MS: Millis = 3_000;

/// Width of a bucket: much less than the length of any task, from which the estimate is subtracted.
const STEP_MS: Millis = 50;

const BUCKETS: usize = (MAX_MS / STEP_MS) as usize;

/// The shortest of fewer containers may all be of one odd job.
const SAMPLES_MIN: u32 = 40;

/// At this number all counts are halved, so that older containers count less and less.
const SAMPLES_MAX: u32 = 8_192;

/// How long launches take.
#[derive(Clone, Debug)]
pub struct LaunchOverhead {
    /// Containers by how long they ran; only the short ones.
    short: [u32; BUCKETS],
    /// All containers, the long ones too.
    all: u32,
    /// The estimate.
    learnt_ms: Millis,
}

impl Default for LaunchOverhead {
    fn default() -> LaunchOverhead {
        LaunchOverhead {
            short: [0; BUCKETS],
            all: 0,
            learnt_ms: 0,
        }
    }
}

impl LaunchOverhead {
    /// The length of a launch in ms; 0 until it is known.
    pub fn ms(&self) -> Millis {
        self.learnt_ms
    }

    /// Learns from a container whose task succeeded `ran_ms` after its launch was seen.
    pub(crate) fn learn(&mut self, ran_ms: Millis) {
        if self.all >= SAMPLES_MAX {
            self.all = 0;
            let long = SAMPLES_MAX - self.short.iter().sum::<u32>();
            for bucket in &mut self.short {
                *bucket /= 2;
                self.all += *bucket;
            }
            self.all += long / 2;
        }
        self.all += 1;
        if let Some(bucket) = self.short.get_mut((ran_ms.max(0) / STEP_MS) as usize) {
            *bucket += 1;
        }
        self.learnt_ms = self.median_of_the_shortest();
    }

    fn median_of_the_shortest(&self) -> Millis {
        if self.all < SAMPLES_MIN {
            return 0;
        }
        let rank = self.all.div_ceil(40);
        let mut below = 0;
        let bucket = self.short.iter().position(|count| {
            below += count;
            below >= rank
        });
        bucket.map_or(0, |bucket| bucket as Millis * STEP_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 95 containers of 20 s and 5 that do next to nothing: the third shortest of 100 decides.
    #[test]
    fn the_shortest_containers_tell() {
        let mut overhead = LaunchOverhead::default();
        (0..95).for_each(|_| overhead.learn(20_000));
        assert_eq!(overhead.ms(), 0, "nothing short was seen");
        for ran_ms in [2_900, 1_420, 1_210, 1_630, 1_060] {
            overhead.learn(ran_ms);
        }
        assert_eq!(overhead.ms(), 1_400);
    }

    #[test]
    fn too_few_containers_or_only_long_ones_tell_nothing() {
        let mut overhead = LaunchOverhead::default();
        (1..SAMPLES_MIN).for_each(|_| overhead.learn(1_000));
        assert_eq!(overhead.ms(), 0);
        overhead.learn(1_000);
        assert_eq!(overhead.ms(), 1_000);
        (0..10_000).for_each(|_| overhead.learn(4_000));
        assert_eq!(overhead.ms(), 0, "one in two hundred is no twentieth");
    }

    /// Ten thousand with 1 s, then as many with 2 s: the old ones fade.
    #[test]
    fn what_was_long_ago_fades() {
        let mut overhead = LaunchOverhead::default();
        (0..10_000).for_each(|_| overhead.learn(1_000));
        (0..100_000).for_each(|_| overhead.learn(2_000));
        assert_eq!(overhead.ms(), 2_000);
        overhead.learn(Millis::MIN);
        overhead.learn(Millis::MAX);
        assert_eq!(overhead.ms(), 2_000);
    }
}
