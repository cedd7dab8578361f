//! What ShuffleWatcher knows of one job: where its input lies, where its maps should run, how
//! much they put out where, and on which racks its reduces are short. Hears nothing by itself.

use super::samp::Blocks;
use super::traffic::PerRack;
use super::{nass, sarp};
use crate::model::job::Job;
use crate::words::event::TaskFacts;
use crate::words::ids::{Millis, PlaceId};
use crate::words::kind::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of the racks that SAMP prefers for a job's maps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Preferred {
    pub(super) rack: PlaceId,
    /// The part of the map output that is predicted for it.
    pub(super) part: f64,
    /// Bytes of input that its maps have still to read, for the ties of later jobs.
    pub(super) left: u64,
}

/// The books of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct JobState {
    /// To know it again after a reload.
    pub(super) submitted_ms: Millis,
    /// SAMP's racks, once it was asked.
    pub(super) plan: Option<Vec<Preferred>>,
    /// `TentativeReducePerRack`, as parts of all reduces.
    pub(super) tentative: PerRack,
    /// Bytes that completed maps read and wrote.
    read: f64,
    written: f64,
    /// Bytes that all maps read and wrote, as the ApplicationMaster counts.
    pub(super) counted: (f64, f64),
    /// Racks that held any of its input when it was planned.
    #[serde(skip)]
    pub(super) sources: Vec<PlaceId>,
    /// What completed maps wrote by rack, and how many they are.
    output: PerRack,
    maps_on: PerRack,
    /// `PreferredReducesPerRack`, as parts of all reduces.
    basis: PerRack,
    finished: BTreeMap<PlaceId, u32>,
    #[serde(skip)]
    running: BTreeMap<PlaceId, u32>,
    /// Bytes of input by the racks that hold replicas.
    #[serde(skip)]
    blocks: BTreeMap<[PlaceId; 3], f64>,
    /// The ratio from which it starts: given, remembered, or the default.
    #[serde(skip)]
    pub(super) start_ratio: f64,
    /// The last answers: whether it is shuffle-heavy, and the racks whose numbers are not met.
    #[serde(skip)]
    pub(super) heavy: bool,
    #[serde(skip)]
    pub(super) unmet: Vec<PlaceId>,
}

impl JobState {
    /// A job of which nothing is known but when it came.
    pub(super) fn new(submitted_ms: Millis) -> JobState {
        JobState {
            submitted_ms,
            ..JobState::default()
        }
    }

    /// Blocks of its input that lie on these racks.
    pub(super) fn add_blocks(&mut self, mut racks: [PlaceId; 3], bytes: u64) {
        racks.sort_unstable();
        *self.blocks.entry(racks).or_default() += bytes as f64;
    }

    /// All blocks that are known.
    pub(super) fn blocks(&self) -> Vec<Blocks> {
        let known = |rack: &PlaceId| *rack != PlaceId::ANY;
        let blocks = |(racks, bytes): (&[PlaceId; 3], &f64)| Blocks {
            bytes: *bytes,
            racks: racks.iter().copied().filter(known).collect(),
        };
        self.blocks.iter().map(blocks).collect()
    }

    /// A map on `rack` succeeded.
    pub(super) fn map_done(&mut self, rack: PlaceId, task: &TaskFacts) {
        self.read += task.input_bytes as f64;
        self.written += task.output_bytes as f64;
        *self.output.entry(rack).or_default() += task.output_bytes as f64;
        *self.maps_on.entry(rack).or_default() += 1.0;
    }

    /// A reduce runs on `rack`, or does so no more.
    pub(super) fn reduce_runs(&mut self, rack: PlaceId, runs: bool) {
        let running = self.running.entry(rack).or_default();
        *running = if runs {
            *running + 1
        } else {
            running.saturating_sub(1)
        };
    }

    /// A reduce on `rack` succeeded.
    pub(super) fn reduce_done(&mut self, rack: PlaceId) {
        *self.finished.entry(rack).or_default() += 1;
    }

    /// Shuffle by input of the completed maps, once any has told (SW-10); else of all maps, once
    /// their ApplicationMaster has.
    pub(super) fn observed_ratio(&self) -> Option<f64> {
        let (read, written) = self.counted;
        let told = [(self.read, self.written), (read, written)];
        let some = told.iter().find(|(read, written)| read + written > 0.0);
        some.map(|(read, written)| written / read)
    }

    /// Where its map output lies and where its reduces run, as parts of the whole.
    pub(super) fn placed(&self) -> (PerRack, PerRack) {
        let running = self.running.iter().filter(|(_, reduces)| **reduces > 0);
        let running = running.map(|(rack, reduces)| (*rack, f64::from(*reduces)));
        (self.intermediate().clone(), running.collect())
    }

    /// `ShuffleInputRatio`.
    pub(super) fn ratio(&self) -> f64 {
        self.observed_ratio().unwrap_or(self.start_ratio)
    }

    /// The map output by rack; if nobody tells bytes, every map counts as one.
    fn intermediate(&self) -> &PerRack {
        if self.read + self.written > 0.0 {
            &self.output
        } else {
            &self.maps_on
        }
    }

    /// Works the answers out anew and says whether they changed.
    ///
    /// SARP is to be called when a slot is there for the first of the reduces (SW-20). Slots are
    /// offered through indexes, so its numbers follow the map output until the first reduce
    /// runs, and then stand: what counts is what was known at that moment.
    pub(super) fn refresh(&mut self, job: &Job, threshold: f64, sarp: bool) -> bool {
        let before = (self.heavy, std::mem::take(&mut self.unmet));
        self.heavy = nass::is_heavy(self.ratio());
        if job.running[Kind::Reduce as usize] + job.done[Kind::Reduce as usize] == 0 {
            self.basis = sarp::prefer(&sarp::Question {
                intermediate: self.intermediate(),
                reduces: 1.0,
                completed: f64::from(job.done[Kind::Map as usize])
                    / f64::from(tasks(job, Kind::Map).max(1)),
                threshold,
                tentative: &self.tentative,
            })
            .reduces;
        }
        if sarp && self.heavy {
            let reduces = f64::from(tasks(job, Kind::Reduce));
            let unmet = |(rack, part): (&PlaceId, &f64)| {
                sarp::is_unmet(reduces * part, self.reduces_on(*rack)).then_some(*rack)
            };
            self.unmet = self.basis.iter().filter_map(unmet).collect();
        }
        (before.0, &before.1) != (self.heavy, &self.unmet)
    }

    fn reduces_on(&self, rack: PlaceId) -> f64 {
        let count = |by_rack: &BTreeMap<PlaceId, u32>| by_rack.get(&rack).copied().unwrap_or(0);
        f64::from(count(&self.running)) + f64::from(count(&self.finished))
    }

    /// Whether its maps should run on `rack`.
    pub(super) fn prefers(&self, rack: PlaceId) -> bool {
        let mut racks = self.plan.iter().flatten();
        racks.any(|preferred| preferred.rack == rack)
    }
}

/// How many tasks of a kind the job has in all: what it said, or what was seen, if that is more.
pub(super) fn tasks(job: &Job, kind: Kind) -> u32 {
    let said = match kind {
        Kind::Map => job.hints.tasks[0],
        Kind::Reduce => job.hints.tasks[1],
        Kind::Other => None,
    };
    let seen = job.pending_of(kind) + job.running[kind as usize] + job.done[kind as usize];
    said.unwrap_or(0).max(seen)
}
