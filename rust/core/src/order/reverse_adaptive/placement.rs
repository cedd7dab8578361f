//! The placement matrix P: how many tasks of each job every node is to run until the next
//! control cycle. RA-22, RA-27, RA-28. Pure arithmetic over plain numbers; knows nothing of time.
//!
//! First the division: the next slot to the job with the lowest utility, as long as something fits.
//! Then the layout: what runs stays where it runs, the rest goes where its data is, or around the
//! nodes in turn. With tasks of one size the division is lexicographically max-min by itself; with
//! sizes that differ one improvement pass follows.

use super::real::Real;
use super::utility::utility;
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// How often the improvement pass looks at a node, at the most: it is bounded work.
const LOOKS_MAX: u32 = 20_000;

/// What a job's goal asks of its neighbours (RA-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Its goal is ahead.
    #[default]
    OnTime,
    /// Its goal has passed: it gets what it can, but not what an on-time job needs.
    Late,
    /// It has no goal.
    BestEffort,
}

/// One job that wants slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bid {
    /// s_fit: how many slots it needs now.
    pub fit: f64,
    /// How many it could use at once: its pending and its running tasks.
    pub pending: u32,
    /// Whether its goal is ahead.
    pub class: Class,
    /// What one task takes of a node.
    pub size: Resource,
    /// Nodes where its tasks run, and how many.
    pub running: Vec<(usize, u32)>,
    /// Nodes that it would rather use, the best first, and for how many of its tasks.
    pub prefers: Vec<(usize, u32)>,
}

/// What a node has for these jobs: all that the foreign load leaves (RA-27), used or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Memory, cores and so on.
    pub resource: Resource,
    /// Slots.
    pub slots: u32,
}

/// The matrix, by job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Slots of each job over all nodes.
    pub alloc: Vec<u32>,
    /// The row of each job: nodes and tasks there, by node, without zeros.
    pub rows: Vec<Vec<(usize, u32)>>,
}

/// Where a job stands when the next slot is handed out; the least is next. Who still needs
/// slots for a goal that is ahead comes before all others, so that nobody is displaced by a late
/// job; then the utility decides, and at equal utility the class.
pub(super) type Standing = (bool, Real, Class);

/// Where the job stands with `alloc` slots.
pub(super) fn standing(bid: &Bid, alloc: u32) -> Standing {
    let pending = f64::from(bid.pending);
    // Adding 0 makes -0 a 0.
    let utility = utility(f64::from(alloc), bid.fit, pending) + 0.0;
    let contented = bid.class != Class::OnTime || utility >= 0.0;
    (contented, Real(utility), bid.class)
}

/// Divides the nodes' room among the jobs and lays the tasks out. Ties go to the earlier job and
/// the earlier node.
pub fn place(bids: &[Bid], rooms: &[Room]) -> Placement {
    let mut draft = Table::new(bids, rooms);
    draft.hand_out();
    if draft.sizes.len() > 1 {
        draft.improve();
    }
    let mut table = Table::new(bids, rooms);
    table.lay_out(&draft.alloc);
    // What the layout could not fit in the same places may leave room for others.
    table.hand_out();
    Placement {
        rows: table
            .rows
            .into_iter()
            .map(|row| row.into_iter().collect())
            .collect(),
        alloc: table.alloc,
    }
}

/// A matrix in the making.
struct Table<'a> {
    bids: &'a [Bid],
    left: Vec<Room>,
    alloc: Vec<u32>,
    rows: Vec<BTreeMap<usize, u32>>,
    /// The sizes of tasks, each with the nodes that may have room for one, in turn.
    sizes: BTreeMap<Resource, Ring>,
}

/// Nodes taken in turn; those that are full leave.
#[derive(Clone, Debug)]
struct Ring {
    nodes: Vec<usize>,
    next: usize,
}

impl<'a> Table<'a> {
    fn new(bids: &'a [Bid], rooms: &[Room]) -> Table<'a> {
        let ring = || Ring {
            nodes: (0..rooms.len()).collect(),
            next: 0,
        };
        // A ring for each size, not for each job: there are thousands of these, and of nodes.
        let mut sizes = BTreeMap::new();
        for bid in bids {
            sizes.entry(bid.size).or_insert_with(ring);
        }
        Table {
            bids,
            left: rooms.to_vec(),
            alloc: vec![0; bids.len()],
            rows: vec![BTreeMap::new(); bids.len()],
            sizes,
        }
    }

    fn fits(&self, job: usize, node: usize) -> bool {
        let room = &self.left[node];
        room.slots > 0 && self.bids[job].size.fits_in(&room.resource)
    }

    fn put(&mut self, job: usize, node: usize) {
        self.left[node].slots -= 1;
        self.left[node].resource -= self.bids[job].size;
        self.alloc[job] += 1;
        *self.rows[job].entry(node).or_insert(0) += 1;
    }

    fn take(&mut self, job: usize, node: usize) {
        self.left[node].slots += 1;
        self.left[node].resource += self.bids[job].size;
        self.alloc[job] -= 1;
        let count = self.rows[job]
            .get_mut(&node)
            .expect("taken where it was put");
        *count -= 1;
        if *count == 0 {
            self.rows[job].remove(&node);
        }
    }

    /// The next node in turn with room for a task of the job. Rooms only shrink while slots
    /// are handed out, so a node that is full once never comes back: all the calls together look
    /// at each node of each size once more than they place tasks.
    fn next_node(&mut self, job: usize) -> Option<usize> {
        let ring = self.sizes.get_mut(&self.bids[job].size)?;
        let size = &self.bids[job].size;
        while !ring.nodes.is_empty() {
            ring.next %= ring.nodes.len();
            let node = ring.nodes[ring.next];
            let room = &self.left[node];
            if room.slots > 0 && size.fits_in(&room.resource) {
                ring.next += 1;
                return Some(node);
            }
            ring.nodes.remove(ring.next);
        }
        None
    }

    /// Slot by slot to the job with the lowest utility. Among those that stand alike, to the
    /// one that gains the most by it: it leaves the others no worse, and itself better, than any
    /// other choice, which makes the division lexicographically max-min.
    fn hand_out(&mut self) {
        let jobs = (0..self.bids.len()).filter_map(|job| self.turn(job));
        let mut turns: BinaryHeap<Reverse<(Standing, Real, usize)>> = jobs.map(Reverse).collect();
        while let Some(mut first) = turns.peek_mut() {
            let Reverse((_, _, job)) = *first;
            // One that fits nowhere now fits nowhere later.
            let again = self.next_node(job).and_then(|node| {
                self.put(job, node);
                self.turn(job)
            });
            match again {
                Some(turn) => *first = Reverse(turn),
                None => drop(PeekMut::pop(first)),
            }
        }
    }

    /// When it is the job's turn, if it has a use for another slot.
    fn turn(&self, job: usize) -> Option<(Standing, Real, usize)> {
        let (bid, alloc) = (&self.bids[job], self.alloc[job]);
        let gained = -standing(bid, alloc + 1).1.0 + 0.0;
        (alloc < bid.pending).then(|| (standing(bid, alloc), Real(gained), job))
    }

    /// One pass over the jobs that fit nowhere, the least content first: each gets a slot on the
    /// first node where taking slots from the most content neighbours makes room for it and
    /// leaves those concerned better off.
    fn improve(&mut self) {
        let mut wanting: Vec<(Standing, usize)> = (0..self.bids.len())
            .filter(|job| self.alloc[*job] < self.bids[*job].pending)
            .map(|job| (standing(&self.bids[job], self.alloc[job]), job))
            .collect();
        wanting.sort();
        let mut neighbours = vec![BTreeSet::new(); self.left.len()];
        for (job, row) in self.rows.iter().enumerate() {
            for node in row.keys() {
                neighbours[*node].insert(job);
            }
        }
        let mut looks = 0;
        for (_, job) in wanting {
            for (node, here) in neighbours.iter_mut().enumerate() {
                looks += 1;
                if looks > LOOKS_MAX {
                    return;
                }
                if self.exchange(job, node, here) {
                    here.insert(job);
                    let rows = &self.rows;
                    here.retain(|job| rows[*job].contains_key(&node));
                    break;
                }
            }
        }
    }

    /// Puts a task of `job` on the node in the place of others, if that is better; else
    /// nothing is changed.
    fn exchange(&mut self, job: usize, node: usize, here: &BTreeSet<usize>) -> bool {
        let mut taken: Vec<usize> = Vec::new();
        while !self.fits(job, node) {
            let gives = |other: &&usize| **other != job && self.rows[**other].contains_key(&node);
            let most_content = here
                .iter()
                .filter(gives)
                .max_by_key(|other| standing(&self.bids[**other], self.alloc[**other]));
            let Some(&donor) = most_content else { break };
            self.take(donor, node);
            taken.push(donor);
        }
        let fits = self.fits(job, node);
        if fits {
            let after = self.contentment(&taken, job, 1);
            taken.iter().for_each(|donor| self.alloc[*donor] += 1);
            let before = self.contentment(&taken, job, 0);
            taken.iter().for_each(|donor| self.alloc[*donor] -= 1);
            if after > before {
                self.put(job, node);
                return true;
            }
        }
        taken.iter().for_each(|donor| self.put(*donor, node));
        false
    }

    /// The sorted contentments of `job` with `more` slots and of the donors, each once.
    fn contentment(&self, donors: &[usize], job: usize, more: u32) -> Vec<(bool, Real)> {
        let donors: BTreeSet<usize> = donors.iter().copied().collect();
        let others = donors.into_iter().map(|donor| (donor, self.alloc[donor]));
        let all = others.chain([(job, self.alloc[job] + more)]);
        let mut all: Vec<(bool, Real)> = all
            .map(|(job, alloc)| standing(&self.bids[job], alloc))
            .map(|(contented, utility, _)| (contented, utility))
            .collect();
        all.sort();
        all
    }

    /// Puts `targets` tasks of each job: first what runs, where it runs, then what has data
    /// somewhere, then the rest, large tasks before small ones, as those find room more easily.
    fn lay_out(&mut self, targets: &[u32]) {
        let mut jobs: Vec<usize> = (0..targets.len()).collect();
        jobs.sort_by_key(|job| (Reverse(self.bids[*job].size), *job));
        let bids = self.bids;
        for job in jobs.iter().copied() {
            self.put_up_to(targets[job], job, &bids[job].running);
        }
        for job in jobs.iter().copied() {
            self.put_up_to(targets[job], job, &bids[job].prefers);
        }
        for job in jobs {
            while self.alloc[job] < targets[job]
                && let Some(node) = self.next_node(job)
            {
                self.put(job, node);
            }
        }
    }

    /// Puts up to so many tasks on each of the nodes while it has room, until there are `target`.
    fn put_up_to(&mut self, target: u32, job: usize, nodes: &[(usize, u32)]) {
        for (node, count) in nodes {
            for _ in 0..*count {
                if self.alloc[job] >= target {
                    return;
                } else if !self.fits(job, *node) {
                    break;
                }
                self.put(job, *node);
            }
        }
    }
}
