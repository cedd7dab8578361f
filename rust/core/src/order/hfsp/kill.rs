//! The kill variant (HF-13): tasks to kill so that the first phases in the order get their slots
//! now. Off by default: the work of a killed task is lost.

use super::aging::PhaseId;
use crate::model::change::World;
use crate::model::job::{Container, Job};
use crate::words::ids::ContainerKey;
use crate::words::keys::Victim;
use crate::words::kind::Kind;

/// Returns the containers to kill, one for each task of a phase further in front that finds no free
/// slot. Takes from the phases furthest back first, and there the latest started first, because
/// they lose the least work. Never takes a task that commits its output.
pub(super) fn victims(
    order: impl Iterator<Item = PhaseId>,
    slots: u32,
    world: &World<'_>,
) -> Vec<Victim> {
    let mut free = slots;
    let (mut wanted, mut idle) = (0u32, slots);
    let mut surplus: Vec<(&Job, Kind, u32)> = Vec::new();
    for id in order {
        let Some(job) = world.cluster.job(id.job).filter(|job| job.runnable) else {
            continue;
        };
        let running = tasks(job, id.kind).count() as u32;
        let waiting = match job.admitted[id.kind as usize] {
            true => job.pending_of(id.kind),
            false => 0,
        };
        let due = running.saturating_add(waiting).min(free);
        free -= due;
        idle = idle.saturating_sub(running);
        wanted += due.saturating_sub(running);
        if running > due {
            surplus.push((job, id.kind, running - due));
        }
    }
    let mut missing = wanted.saturating_sub(idle);
    let mut victims = Vec::new();
    for (job, kind, most) in surplus.into_iter().rev() {
        let mut own: Vec<(ContainerKey, &Container)> = tasks(job, kind)
            .filter(|(_, task)| !task.commits(world.now) && world.may_take(job, task))
            .collect();
        own.sort_by_key(|(key, container)| (std::cmp::Reverse(container.started_ms), *key));
        for (key, _) in own.into_iter().take(most.min(missing) as usize) {
            missing -= 1;
            let job = job.facts.job;
            victims.push(Victim { job, key });
        }
    }
    victims
}

fn tasks(job: &Job, kind: Kind) -> impl Iterator<Item = (ContainerKey, &Container)> {
    let of_kind = move |c: &Container| !c.am && job.kind(c.priority) == kind;
    let containers = job.containers.iter().map(|(key, c)| (*key, c));
    containers.filter(move |(_, c)| of_kind(c))
}
