//! The kill variant (HF-13): tasks to kill so that the first phases in the order get their slots
//! now. Off by default: the work of a killed task is lost.

use super::aging::PhaseId;
use crate::model::change::World;
use crate::model::job::{Container, Job};
use crate::words::ids::ContainerKey;
use crate::words::keys::{Claim, Reclaimed, Victim};
use crate::words::kind::Kind;

/// The most tasks that are looked at for room.
const LOOKED_AT_MAX: usize = 1_000;

/// Returns the tasks that may be killed for tasks of phases further in front that find no free
/// slot, and these. The phases furthest back come first, and there the latest started tasks,
/// because they lose the least work. Never takes a task that commits its output, or one that got
/// its own room by a kill: every kill thus leads to a task that ends.
pub(super) fn victims(
    order: impl Iterator<Item = PhaseId>,
    (pool, slots): (usize, u32),
    world: &World<'_>,
) -> Reclaimed {
    let mut reclaimed = Reclaimed::default();
    let mut free = slots;
    let mut idle = slots;
    let mut surplus: Vec<(&Job, Kind, u32)> = Vec::new();
    for id in order {
        let Some(job) = world.cluster.job(id.job).filter(|job| job.runnable) else {
            continue;
        };
        let running = tasks(job, id.kind, world).count() as u32;
        let waiting = match job.admitted[id.kind as usize] {
            true => job.pending_of(id.kind),
            false => 0,
        };
        let due = running.saturating_add(waiting).min(free);
        free -= due;
        idle = idle.saturating_sub(running);
        if due > running {
            reclaimed.claims.push(Claim {
                leaf: job.leaf,
                of: Some((id.job, id.kind)),
                pool,
                count: due - running,
            });
        }
        if running > due {
            surplus.push((job, id.kind, running - due));
        }
    }
    let wanted: u32 = reclaimed.claims.iter().map(|claim| claim.count).sum();
    reclaimed.missing = wanted.saturating_sub(idle);
    if reclaimed.missing == 0 {
        return reclaimed;
    }
    for (job, kind, most) in surplus.into_iter().rev() {
        let mut own: Vec<(ContainerKey, &Container)> = tasks(job, kind, world)
            .filter(|(_, task)| {
                !task.commits(world.now) && !task.by_kill && world.may_take(job, task)
            })
            .collect();
        own.sort_by_key(|(key, container)| (std::cmp::Reverse(container.started_ms), *key));
        let left = LOOKED_AT_MAX - reclaimed.victims.len();
        for (key, _) in own.into_iter().take(left.min(most as usize)) {
            let job = job.facts.job;
            reclaimed.victims.push(Victim { job, key });
        }
    }
    reclaimed
}

/// The tasks that stay: the slots of those on their way out count as idle.
fn tasks<'a>(
    job: &'a Job,
    kind: Kind,
    world: &'a World<'_>,
) -> impl Iterator<Item = (ContainerKey, &'a Container)> {
    let id = job.facts.job;
    let stays = move |key: ContainerKey| !world.evicting.contains(&(id, key));
    let of_kind = move |c: &Container| !c.am && job.kind(c.priority) == kind;
    let containers = job.containers.iter().map(|(key, c)| (*key, c));
    containers.filter(move |(key, c)| of_kind(c) && stays(*key))
}
