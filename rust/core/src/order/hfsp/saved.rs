//! HFSP's state as JSON, for reports and for the stage after a reload.

use super::Hfsp;
use super::aging::PhaseId;
use crate::words::ids::JobId;
use crate::words::kind::Kind;
use serde_json::{Value, json};

/// State of a phase from before a reload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SavedPhase {
    /// Size divided by the number of tasks.
    pub(super) mean_task: f64,
    /// Virtual work done.
    pub(super) done: f64,
    /// Slot-time of the tasks that succeeded.
    pub(super) spent: f64,
    /// Whether all its samples were known.
    pub(super) trained: bool,
}

const KINDS: [&str; 3] = ["map", "reduce", "other"];

/// Saves the phases of each pool, first to last, the estimator's past and the programs' lengths.
pub(super) fn save(hfsp: &Hfsp) -> Value {
    let pools = hfsp.pools.iter().map(|pool| {
        let phases = pool.aging.order().map(|id| phase(hfsp, id));
        json!({
            "slots": pool.slots,
            "sampling": pool.sampling,
            "phases": phases.collect::<Vec<Value>>(),
        })
    });
    json!({
        "past": hfsp.estimator.save(),
        "lengths": hfsp.lengths.save(),
        "pools": pools.collect::<Vec<Value>>(),
    })
}

fn phase(hfsp: &Hfsp, id: PhaseId) -> Value {
    let phase = hfsp.phases.get(id).expect("the caller listed it");
    let aging = &hfsp.pools[phase.pool].aging;
    json!({
        "job": id.job.0,
        "kind": KINDS[id.kind as usize],
        "tasks": phase.tasks,
        "running": phase.running,
        "size_ms": aging.size(id),
        "done_ms": aging.done(id),
        "left_ms": aging.left(id),
        "spent_ms": phase.spent,
        "late": aging.is_late(id),
        "trained": phase.trained || phase.samples.complete().is_some(),
    })
}

/// Takes over what it can read. Phases that it cannot read start without a past.
pub(super) fn load(hfsp: &mut Hfsp, saved: &Value) {
    hfsp.estimator.load(&saved["past"]);
    hfsp.lengths.load(&saved["lengths"]);
    let pools = saved["pools"].as_array().into_iter().flatten();
    for item in pools.flat_map(|pool| pool["phases"].as_array().into_iter().flatten()) {
        if let Some((id, known)) = known(item) {
            hfsp.known.insert(id, known);
        }
    }
}

fn known(item: &Value) -> Option<(PhaseId, SavedPhase)> {
    let kind = item["kind"].as_str()?;
    let kind = Kind::ALL.into_iter().find(|k| KINDS[*k as usize] == kind)?;
    let job = JobId(u32::try_from(item["job"].as_u64()?).ok()?);
    let amount = |key: &str| item[key].as_f64().filter(|amount| *amount >= 0.0);
    let tasks = amount("tasks").filter(|tasks| *tasks > 0.0)?;
    let known = SavedPhase {
        mean_task: amount("size_ms")? / tasks,
        done: amount("done_ms")?,
        spent: amount("spent_ms")?,
        trained: item["trained"].as_bool()?,
    };
    Some((PhaseId { job, kind }, known))
}
