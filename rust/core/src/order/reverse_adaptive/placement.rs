//! The placement matrix P: the number of tasks of each job on every node until the next control
//! cycle. RA-22, RA-27, RA-28. Pure arithmetic over plain numbers; knows nothing of time.
//!
//! First comes the division: the next slot goes to the job with the lowest utility, as long as a
//! task fits. Then comes the layout: running tasks stay on their nodes, the rest goes to its data,
//! or around the nodes in turn. With tasks of one size the division is lexicographically max-min.
//! With different sizes one improvement pass follows.

use super::real::Real;
use super::utility::utility;
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Maximum number of nodes that the improvement pass examines, so that its work is bounded.
const LOOKS_MAX: u32 = 20_000;

/// Precedence of a job by its goal (RA-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Its goal is ahead.
    #[default]
    OnTime,
    /// Its goal has passed or is out of reach: it must not take slots that an on-time job needs.
    Late,
    /// It has no goal.
    BestEffort,
}

/// One job's bid for slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bid {
    /// s_fit: the slots it needs now.
    pub fit: f64,
    /// Slots it could use at once: its pending and its running tasks.
    pub pending: u32,
    /// State of its goal.
    pub class: Class,
    /// Resources of one task.
    pub size: Resource,
    /// Nodes where its tasks run, each with their number.
    pub running: Vec<(usize, u32)>,
    /// Preferred nodes, the best first, each with the number of tasks that prefer it.
    pub prefers: Vec<(usize, u32)>,
}

/// A node's room for these jobs, used or not: all that the foreign load leaves (RA-27).
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
    /// Row of each job: nodes and their numbers of tasks, in order of nodes, without zeros.
    pub rows: Vec<Vec<(usize, u32)>>,
}

/// Precedence for the next slot; the least is next. Jobs that still need slots for a goal ahead
/// come first, so that late jobs displace none of them. Then the utility decides, and at equal
/// utility the class.
pub(super) type Standing = (bool, Real, Class);

/// The slots with which a job without a goal is half content.
const FEW_SLOTS: f64 = 16.0;

/// Returns the job's precedence with `alloc` slots.
pub(super) fn standing(bid: &Bid, alloc: u32) -> Standing {
    let pending = f64::from(bid.pending);
    // Adding 0 turns -0 into 0.
    let utility = match bid.class {
        // Best effort is max-min of slots. By the part of tasks that have slots, a job of ten
        // thousand tasks would leave nothing to one of ten.
        Class::BestEffort if alloc < bid.pending => {
            f64::from(alloc) / (f64::from(alloc) + FEW_SLOTS)
        }
        _ => utility(f64::from(alloc), bid.fit, pending) + 0.0,
    };
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
    // Tasks that the layout could not fit may leave room for others.
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
    /// Sizes of tasks, each with the nodes that may have room for one, in turn.
    sizes: BTreeMap<Resource, Ring>,
}

/// Nodes taken in turn; full nodes leave.
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
        // One ring per size, not per job: there are thousands of jobs, and of nodes.
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

    /// Returns the next node in turn with room for a task of the job. Rooms only shrink while slots
    /// are handed out, so a full node never comes back. All calls together examine one node per
    /// task placed, and each node once more per size.
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

    /// Gives slot by slot to the job that stands lowest. Among equals it chooses the one that gains
    /// most. No other choice would leave that job better off and the others no worse, so the
    /// division is lexicographically max-min.
    fn hand_out(&mut self) {
        let jobs = (0..self.bids.len()).filter_map(|job| self.turn(job));
        let mut turns: BinaryHeap<Reverse<(Standing, Real, usize)>> = jobs.map(Reverse).collect();
        while let Some(mut first) = turns.peek_mut() {
            let Reverse((_, _, job)) = *first;
            // A job that fits nowhere now fits nowhere later.
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

    /// Returns the job's turn, if it can use another slot.
    fn turn(&self, job: usize) -> Option<(Standing, Real, usize)> {
        let (bid, alloc) = (&self.bids[job], self.alloc[job]);
        let gained = -standing(bid, alloc + 1).1.0 + 0.0;
        (alloc < bid.pending).then(|| (standing(bid, alloc), Real(gained), job))
    }

    /// Passes once over the jobs that want more slots, the least content first. Each gets a slot on
    /// the first node where the most content neighbours can make room for it, if the jobs concerned
    /// are then better off.
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

    /// Replaces other tasks on the node by a task of `job` if that is better; otherwise changes
    /// nothing.
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

    /// Returns the sorted contentments of `job` with `more` slots and of the donors, each once.
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

    /// Puts `targets` tasks of each job: first running tasks on their nodes, then tasks with data
    /// on a node, then the rest. Large tasks go before small ones, which find room more easily.
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

    /// Fills each of the nodes up to its count while it has room, until the job has `target` tasks.
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
