//! What can go on in a simulation besides plain jobs. Each seed switches on a random subset
//! (swarm testing: Groce et al., ISSTA 2012), as some faults hide others.

use crate::random::Random;

macro_rules! features {
    (
        usual { $($(#[$doc:meta])* $name:ident,)* }
        hostile { $($(#[$what:meta])* $hostile:ident,)* }
    ) => {
        /// Which of them are on.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Features {
            $($(#[$doc])* pub $name: bool,)*
            $($(#[$what])* pub $hostile: bool,)*
        }

        impl Features {
            /// A random half of those that are not hostile.
            pub fn random(random: &mut Random) -> Features {
                Features { $($name: random.percent(50),)* ..Features::default() }
            }

            /// A random half of them, the hostile ones too.
            pub fn hostile(random: &mut Random) -> Features {
                let usual = Features::random(random);
                Features { $($hostile: random.percent(50),)* ..usual }
            }

            /// All that are not hostile.
            pub fn all() -> Features {
                Features { $($name: true,)* ..Features::default() }
            }

            /// Their names, for messages.
            pub fn names(&self) -> Vec<&'static str> {
                let all = [
                    $((stringify!($name), self.$name),)* $((stringify!($hostile), self.$hostile),)*
                ];
                all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
            }
        }
    };
}

features! {
    usual {
        /// Events are collected until a node reports, as the Java shim does; else one per step.
        batching,
        /// The host accepts few decisions per step.
        few_decisions,
        /// Nodes are lost and come back, perhaps with another size, label or rack.
        node_loss,
        /// Nodes change size, label or rack while they run; a smaller one may be overcommitted.
        node_changes,
        /// Nodes drain for a while.
        draining,
        /// The host refuses grants for reasons that the engine cannot know.
        refusals,
        /// Things change between a decision and its answer.
        races,
        /// Answers come after the events of such a race instead of before.
        late_answers,
        /// Asks change size, or are withdrawn for a while.
        ask_changes,
        /// Asks that fit no node.
        impossible_asks,
        /// Asks that insist on hosts or racks for good.
        strict_asks,
        /// Asks that keep off racks but for named hosts.
        rack_vetoes,
        /// Labelled nodes, and asks for them.
        labels,
        /// A third resource type that only some nodes have.
        third_type,
        /// Jobs are killed at any moment.
        kills,
        /// ApplicationMasters die; the next attempt starts without containers.
        restarts,
        /// As `restarts`, with the containers kept.
        kept_containers,
        /// ApplicationMasters that run outside the cluster.
        unmanaged,
        /// Tasks fail.
        failures,
        /// Containers grow and shrink.
        resizes,
        /// Application priorities change.
        priorities,
        /// Jobs move between queues.
        moves,
        /// The configuration changes.
        reloads,
        /// Jobs blacklist hosts and racks.
        blacklists,
        /// The engine is made anew from the host's state.
        rebuilds,
        /// Duplicates, and events that name nothing known.
        noise,
        /// Time jumps ahead.
        jumps,
        /// Time stands still, or goes back.
        freezes,
        /// The host corrects counts that the ApplicationMaster sent before it knew of its grants.
        corrected_asks,
        /// A stopped container's room comes free only when its node reports next.
        lingering,
        /// Preemption is on.
        preemption,
        /// Queues have limits.
        limits,
        /// Ids of ended jobs and asks are used again.
        reused_ids,
    }
    hostile {
        /// Asks for no, one, a million and 2^31 - 1 containers, tiny ones among them.
        extreme_counts,
        /// Asks larger than any node, up to the largest number.
        giant_asks,
        /// Asks that name hosts that nobody knows.
        unknown_hosts,
        /// Hundreds of queues are made, left and removed again; jobs move through them.
        many_queues,
        /// All nodes get a label at once, or lose theirs.
        label_storms,
        /// ApplicationMasters that start and never register, until they are taken for dead.
        silent_masters,
        /// Attempts beyond the 255th.
        many_attempts,
        /// Priorities from one end of their range to the other.
        extreme_priorities,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_subset_is_neither_none_nor_all() {
        let mut random = Random::new(3);
        let some = Features::random(&mut random).names().len();
        assert!(some > 5 && some < Features::all().names().len());
        assert!(Features::default().names().is_empty());
        let more = Features::hostile(&mut Random::new(3)).names().len();
        assert!(more > some);
    }
}
