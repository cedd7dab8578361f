//! Demand and headroom of every job, kept close together for ticks. A tick looks at all jobs twice
//! a second, and few have changed since. A walk through the jobs themselves would wait for their
//! asks and containers to come from memory.

use super::job::Job;
use crate::words::ids::{JobId, PartitionId, QueueId};
use crate::words::keys::ShareNodeId;
use crate::words::kind::Kind;
use crate::words::resource::Resource;

/// Extracts of all jobs, and which of them are out of date.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// By job: the place of its extracts, if it has any. Numbers have holes, extracts have none.
    places: Vec<Option<u32>>,
    wants: Vec<Want>,
    tells: Vec<Tell>,
    /// Places of jobs that have gone.
    free: Vec<u32>,
    changed: Changed,
}

/// The jobs that may have changed since the last look at them, each once.
#[derive(Debug, Default)]
pub(super) struct Changed {
    jobs: Vec<JobId>,
    /// By job: whether it is among them.
    has: Vec<bool>,
}

impl Changed {
    pub(super) fn add(&mut self, id: JobId) {
        let at = id.index();
        if self.has.len() <= at {
            self.has.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.has[at], true) {
            self.jobs.push(id);
        }
    }

    fn has(&self, id: JobId) -> bool {
        self.has.get(id.index()).is_some_and(|has| *has)
    }

    /// Takes them all out. `put_back` keeps the list's memory for the next ones.
    pub(super) fn take(&mut self) -> Vec<JobId> {
        for id in &self.jobs {
            self.has[id.index()] = false;
        }
        std::mem::take(&mut self.jobs)
    }

    pub(super) fn put_back(&mut self, mut taken: Vec<JobId>) {
        taken.clear();
        self.jobs = taken;
    }
}

/// The demand of a job, and what weighs it against others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) job: JobId,
    pub(crate) leaf: ShareNodeId,
    pub(crate) queue: QueueId,
    pub(crate) priority: i32,
    pub(crate) runnable: bool,
    /// The sum of the pending asks that may run, over all labels.
    pub(crate) amount: Resource,
    /// The label of these asks; none if there are several.
    pub(crate) label: Option<PartitionId>,
    /// See `Job::pending_by_kind`.
    pub(crate) pending: [u32; 3],
    /// See `Job::active`.
    pub(crate) active: [bool; 3],
}

/// The inputs of a job's headroom, and the last headroom that it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tell {
    pub(crate) leaf: ShareNodeId,
    /// The only label that matters to it. None if there are several, or if it excludes nodes.
    pub(crate) label: Option<PartitionId>,
    /// See `keeps_reduces`.
    pub(crate) least: Resource,
    pub(crate) told: Option<Resource>,
}

impl Noted {
    /// Notes that a job may change, has come, or has gone.
    pub(super) fn change(&mut self, id: JobId) {
        self.changed.add(id);
    }

    /// Brings the extracts up to date.
    pub(super) fn renew<'a>(&mut self, mut job: impl FnMut(JobId) -> Option<&'a Job>) {
        let changed = self.changed.take();
        for id in &changed {
            match job(*id) {
                Some(job) => self.keep(*id, Want::of(job), Tell::of(job)),
                None => self.forget(*id),
            }
        }
        self.changed.put_back(changed);
    }

    fn keep(&mut self, id: JobId, want: Want, tell: Tell) {
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, None);
        }
        let place = self.places[id.index()].or_else(|| self.free.pop());
        let place = place.unwrap_or(self.wants.len() as u32);
        self.places[id.index()] = Some(place);
        if place as usize == self.wants.len() {
            self.wants.push(want);
            self.tells.push(tell);
        } else {
            self.wants[place as usize] = want;
            self.tells[place as usize] = tell;
        }
    }

    fn forget(&mut self, id: JobId) {
        if let Some(place) = self.places.get_mut(id.index()).and_then(Option::take) {
            self.wants[place as usize].amount = Resource::ZERO;
            self.free.push(place);
        }
    }

    /// The demands of jobs, in no order. Jobs that have gone leave demands of nothing.
    pub(crate) fn wants(&self) -> &[Want] {
        &self.wants
    }

    fn place(&self, id: JobId) -> Option<usize> {
        let place = self.places.get(id.index()).copied().flatten();
        place.map(|place| place as usize)
    }

    /// The inputs of a job's headroom, if the job is there.
    pub(crate) fn tell(&self, id: JobId) -> Option<&Tell> {
        self.place(id).map(|place| &self.tells[place])
    }

    /// The demand of a job, if it is up to date.
    pub(super) fn current(&self, id: JobId) -> Option<&Want> {
        let place = self.place(id).filter(|_| !self.changed.has(id));
        place.map(|at| &self.wants[at])
    }

    /// Notes the headroom that a job was told. Nothing else of it changes.
    pub(super) fn told(&mut self, id: JobId, headroom: Resource) {
        if let Some(place) = self.place(id) {
            self.tells[place].told = Some(headroom);
        }
    }

    /// Whether the extract of a job is as it would be made now, or known to be out of date. For
    /// tests.
    pub(crate) fn is_right(&self, id: JobId, job: Option<&Job>) -> bool {
        let kept = self.place(id).map(|at| (self.wants[at], self.tells[at]));
        self.changed.has(id) || kept == job.map(|job| (Want::of(job), Tell::of(job)))
    }
}

impl Want {
    pub(super) fn of(job: &Job) -> Want {
        let pending = job.pending_by_kind();
        let mut labels = job.wanted().map(|(label, _)| label);
        let first = labels.next().unwrap_or(PartitionId::DEFAULT);
        Want {
            job: job.facts.job,
            leaf: job.leaf,
            queue: job.facts.queue,
            priority: job.facts.priority,
            runnable: job.runnable,
            amount: job
                .wanted()
                .fold(Resource::ZERO, |sum, (_, amount)| sum + amount),
            label: labels.all(|label| label == first).then_some(first),
            pending,
            active: job.active(pending),
        }
    }
}

impl Tell {
    fn of(job: &Job) -> Tell {
        Tell {
            leaf: job.leaf,
            label: only_label(job).filter(|_| job.blacklist.is_empty()),
            least: keeps_reduces(job),
            told: job.headroom,
        }
    }
}

/// The label that a job asks for, or asked for last; none if there are several.
fn only_label(job: &Job) -> Option<PartitionId> {
    let mut labels = job.labels();
    let first = labels.next()?;
    labels.all(|other| other == first).then_some(first)
}

/// The headroom below which MapReduce's ApplicationMaster would kill its own reduces.
///
/// With reduces running, maps pending and none running, the master wants room for a map beside the
/// reduces that it still asks for (`RMContainerAllocator.preemptReducesIfNeeded`). It judges by the
/// answer to the very call in which it asks for the map, so it must know the headroom before:
/// - while no map is pending, because a running one may fail;
/// - while maps are pending and one runs, because the master may hear of its end before it hears
///   what follows from that.
///
/// While maps are pending and more than one runs, the master kills nothing, and with this headroom
/// it would plan too many reduces.
pub(crate) fn keeps_reduces(job: &Job) -> Resource {
    let [maps, reduces] = [Kind::Map, Kind::Reduce].map(|kind| job.running[kind as usize]);
    if reduces == 0 || maps > 1 && job.pending_of(Kind::Map) > 0 {
        return Resource::ZERO;
    }
    let (mut map, mut reduce) = (Resource::ZERO, Resource::ZERO);
    let mut reduces = Resource::ZERO;
    for ask in job.asks.iter().flatten() {
        match job.kind(ask.facts.priority) {
            // Served asks count too: the master may ask for their tasks again.
            Kind::Map => map = map.component_max(&ask.facts.resource),
            Kind::Reduce => {
                reduce = reduce.component_max(&ask.facts.resource);
                reduces += ask.facts.resource.times(i64::from(ask.facts.count));
            }
            Kind::Other => {}
        }
    }
    // After a restart the size of maps may be unknown, but they are hardly larger than reduces.
    let map = if map.is_zero() { reduce } else { map };
    map + reduces
}
