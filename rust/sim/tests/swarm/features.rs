//! What happens in a simulation besides plain jobs. Each seed switches on a random subset (swarm
//! testing: Groce et al., ISSTA 2012), because some faults hide others.

use heddle_sim::random::Random;

macro_rules! features {
    (
        usual { $($(#[$doc:meta])* $name:ident,)* }
        hostile { $($(#[$what:meta])* $hostile:ident,)* }
    ) => {
        /// The enabled features.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Features {
            $($(#[$doc])* pub $name: bool,)*
            $($(#[$what])* pub $hostile: bool,)*
        }

        impl Features {
            /// Enables a random half of the features that are not hostile.
            pub fn random(random: &mut Random) -> Features {
                Features { $($name: random.percent(50),)* ..Features::default() }
            }

            /// Enables a random half of all features.
            pub fn hostile(random: &mut Random) -> Features {
                let usual = Features::random(random);
                Features { $($hostile: random.percent(50),)* ..usual }
            }

            /// Enables all features that are not hostile.
            pub fn all() -> Features {
                Features { $($name: true,)* ..Features::default() }
            }

            /// Returns the names of the enabled features, for messages.
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
        /// The host batches events until a node reports, like the Java shim; otherwise each event
        /// is a step.
        batching,
        /// The host accepts few decisions per step.
        few_decisions,
        /// Nodes are lost and return, perhaps with another size, label or rack.
        node_loss,
        /// Nodes change size, label or rack while they run; a smaller one may be overcommitted.
        node_changes,
        /// Nodes drain for a while.
        draining,
        /// The host refuses grants for reasons that the engine cannot know.
        refusals,
        /// The host's state changes between a decision and its answer.
        races,
        /// Answers follow the events of such a race instead of preceding them.
        late_answers,
        /// Asks change size, or are withdrawn for a while.
        ask_changes,
        /// Asks that fit no node.
        impossible_asks,
        /// Asks that insist on hosts or racks and never relax.
        strict_asks,
        /// Asks that exclude racks except for named hosts.
        rack_vetoes,
        /// Labelled nodes, and asks for them.
        labels,
        /// A third resource type that only some nodes have.
        third_type,
        /// Jobs are killed at any moment.
        kills,
        /// ApplicationMasters die; the next attempt starts without containers.
        restarts,
        /// Like `restarts`, but the containers survive.
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
        /// The engine is rebuilt from the host's state.
        rebuilds,
        /// Duplicate events, and events with unknown ids.
        noise,
        /// Time jumps ahead.
        jumps,
        /// Time stands still, or goes back.
        freezes,
        /// The host corrects counts that the ApplicationMaster sent before it knew of its grants.
        corrected_asks,
        /// The room of a stopped container becomes free only at the node's next report.
        lingering,
        /// Preemption is on.
        preemption,
        /// Queues have limits.
        limits,
        /// Ids of ended jobs and asks are reused.
        reused_ids,
        /// The host offers jobs what they ask for, as the shim does for immediate grants.
        offers,
    }
    hostile {
        /// Asks for 0, 1, a million and 2^31 - 1 containers, tiny ones among them.
        extreme_counts,
        /// Asks larger than any node, up to the largest number.
        giant_asks,
        /// Asks that name unknown hosts.
        unknown_hosts,
        /// Hundreds of queues are created, abandoned and removed; jobs move through them.
        many_queues,
        /// All nodes get a label at once, or lose theirs.
        label_storms,
        /// ApplicationMasters that start and never register, until the host gives them up.
        silent_masters,
        /// Attempts beyond the 255th.
        many_attempts,
        /// Priorities over their whole range.
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
