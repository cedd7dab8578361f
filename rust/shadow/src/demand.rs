//! What a job wants of one kind of container, in both worlds.

use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, Locality, Millis, PlaceId};
use std::collections::{BTreeMap, BTreeSet};

/// A count that both worlds lower by their own grants.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pending: u32,
    live: u32,
    shadow: u32,
}

impl Count {
    /// What the shadow has still to grant.
    fn left(self) -> u32 {
        (self.pending + self.live).saturating_sub(self.shadow)
    }
}

/// One ask of a job.
#[derive(Debug)]
pub(crate) struct Demand {
    pub(crate) facts: AskFacts,
    all: Count,
    /// By place: whether the row relaxes, and its count.
    rows: BTreeMap<PlaceId, (bool, Count)>,
    /// By order of the live grants: how long each container lasted, once it has ended.
    lengths: Vec<Option<Millis>>,
    /// Sum and number of the known lengths.
    known: (Millis, Millis),
    /// Numbers of the shadow's containers that began before any length was known.
    waiting: BTreeSet<usize>,
    /// Numbers of containers that the shadow lost and has to start again.
    again: BTreeSet<usize>,
    /// The number of the shadow's next container.
    next: usize,
}

impl Demand {
    pub(crate) fn new(facts: AskFacts) -> Demand {
        Demand {
            facts,
            all: Count::default(),
            rows: BTreeMap::new(),
            lengths: Vec::new(),
            known: (0, 0),
            waiting: BTreeSet::new(),
            again: BTreeSet::new(),
            next: 0,
        }
    }

    /// Sets how many the job asks for now.
    pub(crate) fn asks(&mut self, facts: AskFacts) {
        self.facts = facts;
        self.all.pending = facts.count;
        if facts.count == 0 {
            for (_, row) in self.rows.values_mut() {
                row.pending = 0;
            }
        }
    }

    /// Sets how many of them would be local at a place.
    pub(crate) fn row(&mut self, place: PlaceId, count: u32, relax: bool) {
        let row = self.rows.entry(place).or_default();
        row.0 = relax;
        row.1.pending = count;
    }

    /// Counts a grant of the live engine; returns its number.
    pub(crate) fn live_grant(&mut self, at: (PlaceId, PlaceId), locality: Locality) -> usize {
        // The pending count is told again only when it differs from what the engine expects.
        self.all.live += 1;
        self.all.pending = self.all.pending.saturating_sub(1);
        self.each_row(at, locality, |row| {
            row.live += 1;
            row.pending = row.pending.saturating_sub(1);
        });
        self.lengths.push(None);
        self.lengths.len() - 1
    }

    /// The live container with this number has ended. Returns the numbers of the shadow's
    /// containers whose length was not known before and is now, at least as a mean.
    pub(crate) fn live_end(&mut self, number: usize, length_ms: Millis) -> BTreeSet<usize> {
        self.lengths[number] = Some(length_ms);
        self.known = (self.known.0 + length_ms, self.known.1 + 1);
        let mut now_known = std::mem::take(&mut self.waiting);
        now_known.insert(number);
        now_known
    }

    /// Uncounts a live container that failed, was taken, or lost its node. The job asks for it
    /// again, and so wants no more in all.
    pub(crate) fn live_failed(&mut self) {
        self.all.live -= 1;
    }

    /// Counts a grant of the shadow; returns its number.
    pub(crate) fn shadow_grant(&mut self, at: (PlaceId, PlaceId), locality: Locality) -> usize {
        self.all.shadow += 1;
        self.each_row(at, locality, |row| row.shadow += 1);
        self.again.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// The shadow lost the container with this number, and has to start it again. Where it was
    /// wanted is forgotten.
    pub(crate) fn shadow_lost(&mut self, number: usize) {
        self.all.shadow -= 1;
        self.waiting.remove(&number);
        self.again.insert(number);
    }

    fn each_row(
        &mut self,
        (host, rack): (PlaceId, PlaceId),
        locality: Locality,
        mut lower: impl FnMut(&mut Count),
    ) {
        // As YARN counts: a container on a host it named counts for its rack, too.
        let host = (locality == Locality::NodeLocal).then_some(host);
        let rack = (locality <= Locality::RackLocal).then_some(rack);
        for place in host.into_iter().chain(rack) {
            if let Some((_, row)) = self.rows.get_mut(&place) {
                lower(row);
            }
        }
    }

    /// The job has ended: it wants no more than it was granted.
    pub(crate) fn close(&mut self) {
        self.all.pending = 0;
        for (_, row) in self.rows.values_mut() {
            row.pending = 0;
        }
    }

    /// How many containers the shadow has still to grant.
    pub(crate) fn left(&self) -> u32 {
        self.all.left()
    }

    /// How long the container with this number lasts: as the live one with the same number; until
    /// that has ended, the mean of those that have. `None` before the first has.
    pub(crate) fn length_ms(&mut self, number: usize) -> Option<Millis> {
        let own = self.lengths.get(number).copied().flatten();
        let (sum, count) = self.known;
        let length_ms = own.or((count > 0).then(|| sum / count.max(1)));
        if length_ms.is_none() {
            self.waiting.insert(number);
        }
        length_ms
    }

    /// Appends the ask as the shadow's engine hears it, then its rows.
    pub(crate) fn events(&self, job: JobId, out: &mut Vec<Event>) {
        let count = self.left();
        out.push(Event::Ask(AskFacts {
            job,
            count,
            ..self.facts
        }));
        for (place, (relax, row)) in &self.rows {
            out.push(Event::AskRow {
                job,
                ask: self.facts.ask,
                place: *place,
                count: row.left().min(count),
                relax: *relax,
            });
        }
    }
}
