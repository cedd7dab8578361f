//! ShuffleWatcher's state of one job: the places of its input, of its maps and of their output, and
//! the racks that still lack reduces. Receives no events itself.

use super::samp::Blocks;
use super::traffic::PerRack;
use super::{nass, sarp};
use crate::model::job::Job;
use crate::model::programs::Lesson;
use crate::words::event::{JobCounters, TaskFacts};
use crate::words::ids::{ContainerKey, Millis, PlaceId};
use crate::words::kind::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum number of a job's maps whose bytes are awaited. The host asks only about jobs with few.
const AWAITED_MAX: usize = 64;

/// Bytes shuffled per byte of input, learnt of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio(pub(super) f64);

impl Lesson for Ratio {
    const KEY: &'static str = "shuffle-ratio/";

    fn write(self) -> Value {
        json!(self.0)
    }

    fn read(value: &Value) -> Option<Ratio> {
        value.as_f64().filter(|ratio| *ratio >= 0.0).map(Ratio)
    }
}

/// A rack that SAMP prefers for a job's maps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Preferred {
    pub(super) rack: PlaceId,
    /// Predicted part of the map output on it.
    pub(super) part: f64,
    /// Bytes of input that its maps have yet to read, for the ties of later jobs.
    pub(super) left: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct JobState {
    /// Time of submission, which identifies the job after a reload.
    pub(super) submitted_ms: Millis,
    /// SAMP's racks, after planning.
    pub(super) plan: Option<Vec<Preferred>>,
    /// `TentativeReducePerRack`, as parts of all reduces.
    pub(super) tentative: PerRack,
    /// Bytes that completed maps read and wrote, of those that told.
    read: f64,
    written: f64,
    /// Bytes that all maps read and wrote, as the ApplicationMaster counts.
    counted: (f64, f64),
    /// Racks that held any of its input when it was planned.
    #[serde(skip)]
    pub(super) sources: Vec<PlaceId>,
    /// Output of completed maps by rack, of those that told, and the number of the others.
    output: PerRack,
    silent: PerRack,
    /// How many maps told their bytes.
    told: u32,
    /// The racks of the last maps that ended without telling: their bytes may still come.
    awaited: BTreeMap<ContainerKey, PlaceId>,
    /// `PreferredReducesPerRack`, as parts of all reduces.
    basis: PerRack,
    finished: BTreeMap<PlaceId, u32>,
    #[serde(skip)]
    running: BTreeMap<PlaceId, u32>,
    /// Bytes of input by the racks with replicas.
    #[serde(skip)]
    blocks: BTreeMap<[PlaceId; 3], f64>,
    /// Initial shuffle ratio: given, remembered, or the default.
    #[serde(skip)]
    pub(super) start_ratio: f64,
    /// Last answers: whether it is shuffle-heavy, and the racks that still lack reduces.
    #[serde(skip)]
    pub(super) heavy: bool,
    #[serde(skip)]
    pub(super) unmet: Vec<PlaceId>,
}

impl JobState {
    /// Creates the state of an otherwise unknown job.
    pub(super) fn new(submitted_ms: Millis) -> JobState {
        JobState {
            submitted_ms,
            ..JobState::default()
        }
    }

    /// Adds blocks of its input that lie on these racks.
    pub(super) fn add_blocks(&mut self, mut racks: [PlaceId; 3], bytes: u64) {
        racks.sort_unstable();
        *self.blocks.entry(racks).or_default() += bytes as f64;
    }

    /// Returns all known blocks.
    pub(super) fn blocks(&self) -> Vec<Blocks> {
        let known = |rack: &PlaceId| *rack != PlaceId::ANY;
        let blocks = |(racks, bytes): (&[PlaceId; 3], &f64)| Blocks {
            bytes: *bytes,
            racks: racks.iter().copied().filter(known).collect(),
        };
        self.blocks.iter().map(blocks).collect()
    }

    /// Records that a map on `rack` succeeded.
    pub(super) fn map_done(&mut self, key: ContainerKey, rack: PlaceId, task: &TaskFacts) {
        if task.input_bytes + task.output_bytes > 0 {
            return self.map_told(rack, task);
        }
        *self.silent.entry(rack).or_default() += 1.0;
        self.awaited.insert(key, rack);
        if self.awaited.len() > AWAITED_MAX {
            self.awaited.pop_first();
        }
    }

    /// Records the bytes of a map that has ended before; returns whether they were awaited.
    pub(super) fn map_reported(&mut self, key: ContainerKey, task: &TaskFacts) -> bool {
        let Some(rack) = self.awaited.remove(&key) else {
            return false;
        };
        *self.silent.entry(rack).or_default() -= 1.0;
        self.map_told(rack, task);
        true
    }

    fn map_told(&mut self, rack: PlaceId, task: &TaskFacts) {
        self.read += task.input_bytes as f64;
        self.written += task.output_bytes as f64;
        *self.output.entry(rack).or_default() += task.output_bytes as f64;
        self.told += 1;
    }

    /// Records the bytes of all maps.
    pub(super) fn counted(&mut self, counters: JobCounters) {
        self.counted = (
            counters.input_bytes as f64,
            counters.map_output_bytes as f64,
        );
    }

    /// Records that a reduce starts or stops running on `rack`.
    pub(super) fn reduce_runs(&mut self, rack: PlaceId, runs: bool) {
        let running = self.running.entry(rack).or_default();
        *running = if runs {
            *running + 1
        } else {
            running.saturating_sub(1)
        };
    }

    /// Records that a reduce on `rack` succeeded.
    pub(super) fn reduce_done(&mut self, rack: PlaceId) {
        *self.finished.entry(rack).or_default() += 1;
    }

    /// Returns shuffle divided by input, for the completed maps that report them (SW-10). Without
    /// reports it takes all maps, as the ApplicationMaster counts.
    pub(super) fn observed_ratio(&self) -> Option<f64> {
        let (read, written) = self.counted;
        let told = [(self.read, self.written), (read, written)];
        let some = told.iter().find(|(read, written)| read + written > 0.0);
        some.map(|(read, written)| written / read)
    }

    /// Returns its map output and its running reduces by rack.
    pub(super) fn placed(&self) -> (PerRack, PerRack) {
        let mut running = PerRack::new();
        self.add_running(&mut running);
        (self.intermediate(), running)
    }

    /// Adds its running reduces by rack.
    pub(super) fn add_running(&self, running: &mut PerRack) {
        for (rack, reduces) in self.running.iter().filter(|(_, reduces)| **reduces > 0) {
            *running.entry(*rack).or_default() += f64::from(*reduces);
        }
    }

    /// Tells whether any of its reduces runs.
    pub(super) fn is_shuffling(&self) -> bool {
        self.running.values().any(|reduces| *reduces > 0)
    }

    /// `ShuffleInputRatio`.
    pub(super) fn ratio(&self) -> f64 {
        self.observed_ratio().unwrap_or(self.start_ratio)
    }

    /// Returns the map output by rack. A map that did not tell counts as the mean of those that
    /// did; if none did, as one.
    fn intermediate(&self) -> PerRack {
        let mean = match self.told {
            0 => 1.0,
            told => self.written / f64::from(told),
        };
        let mut output = self.output.clone();
        for (rack, maps) in self.silent.iter().filter(|(_, maps)| **maps > 0.0) {
            *output.entry(*rack).or_default() += maps * mean;
        }
        output
    }

    /// Recomputes the answers and tells whether they changed.
    ///
    /// SARP is defined at the moment when the first reduce gets a slot (SW-20). Slots are offered
    /// through indexes, so SARP's numbers follow the map output until the first reduce runs. After
    /// that they stay as they were at that moment.
    pub(super) fn refresh(&mut self, job: &Job, threshold: f64, sarp: bool) -> bool {
        let before = (self.heavy, std::mem::take(&mut self.unmet));
        self.heavy = nass::is_heavy(self.ratio());
        if job.running[Kind::Reduce as usize] + job.done[Kind::Reduce as usize] == 0 {
            self.basis = sarp::prefer(&sarp::Question {
                intermediate: &self.intermediate(),
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

    /// Tells whether its maps should run on `rack`.
    pub(super) fn prefers(&self, rack: PlaceId) -> bool {
        let mut racks = self.plan.iter().flatten();
        racks.any(|preferred| preferred.rack == rack)
    }
}

/// Returns how many tasks of a kind the job has: those announced, or those seen, if these are more.
pub(super) fn tasks(job: &Job, kind: Kind) -> u32 {
    let said = match kind {
        Kind::Map => job.hints.tasks[0],
        Kind::Reduce => job.hints.tasks[1],
        Kind::Other => None,
    };
    let seen = job.pending_of(kind) + job.running[kind as usize] + job.done[kind as usize];
    said.unwrap_or(0).max(seen)
}
