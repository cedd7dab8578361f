//! Exchanges events and decisions with the engine, by the rules of the host's side: it reports room
//! as it is, answers grants in order, and tells what ended before it offers the freed room.

use super::job::{ASK_MASTER, MAP};
use super::workload::slot;
use super::{ClusterSim, Due, sources};
use crate::failure::{Check, Checked, Failure};
use heddle_core::words::event::{Decision, Event, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId};
use heddle_core::words::resource::Resource;

/// The limit on decisions per step, which no step reaches.
const DECISIONS_MAX: usize = 100_000;

impl ClusterSim {
    /// Returns the free room of a node.
    pub(super) fn free(&self, node: u32) -> Resource {
        let machine = &self.machines[node as usize];
        // Negative while tasks still run on slots that foreign load has taken.
        let foreign = slot().times(i64::from(machine.foreign_slots));
        self.capacity(node) - machine.taken - foreign
    }

    /// Returns the free room as asks are compared with it.
    fn room(&self, node: u32) -> Resource {
        let free = self.free(node);
        match self.link.engine.config().memory_only {
            true => free.in_memory_alone(),
            false => free,
        }
    }

    fn capacity(&self, node: u32) -> Resource {
        let slots = self.workload.hardware.slots_per_node();
        let recorded = self.workload.nodes.get(node as usize).copied();
        recorded.unwrap_or_else(|| slot().times(i64::from(slots)))
    }

    /// Notes whether a node has room for the smallest container of the workload. Call it after
    /// every change of the node's room: `report_due` reads the result at every turn.
    pub(super) fn note_room(&mut self, node: u32) {
        let up = self.machines[node as usize].up;
        let has_room = up && self.smallest.fits_in(&self.room(node));
        let before = std::mem::replace(&mut self.machines[node as usize].has_room, has_room);
        self.with_room = self.with_room + u32::from(has_room) - u32::from(before);
    }

    fn has_room(&self, node: u32) -> bool {
        let machine = &self.machines[node as usize];
        debug_assert_eq!(
            machine.has_room,
            machine.up && self.smallest.fits_in(&self.room(node)),
            "every change of its room was noted"
        );
        machine.has_room
    }

    /// Adds a node to the cluster.
    pub(super) fn join_node(&mut self, node: u32) {
        let hardware = self.workload.hardware;
        let id = NodeId(node);
        self.machines[node as usize].up = true;
        self.note_room(node);
        self.outbox.push(Event::NodeAdded(NodeFacts {
            node: id,
            host: hardware.host_place(id),
            rack: hardware.rack_place(hardware.rack_of(node)),
            partition: PartitionId::DEFAULT,
            lends: false,
            schedulable: true,
            capacity: self.capacity(node),
            free: self.free(node),
        }));
        self.plan_reports();
    }

    /// Sends the pending events to the engine.
    pub(super) fn flush(&mut self) -> Checked {
        self.step(None)
    }

    fn step(&mut self, last: Option<Event>) -> Checked {
        let mut events = std::mem::take(&mut self.outbox);
        events.extend(last);
        let lacks = |source| self.options.lacks(source);
        events.retain_mut(|event| sources::hear(event, lacks));
        if events.is_empty() {
            self.outbox = events;
            return Ok(());
        }
        let decisions = self.link.step(self.now, &mut events, DECISIONS_MAX)?;
        events.clear();
        self.outbox = events;
        for decision in decisions {
            self.obey(decision)?;
        }
        if self.options.check {
            let found = self.link.engine.check_invariants();
            found.map_err(|what| Failure::new(Check::Invariants, what))?;
        }
        Ok(())
    }

    fn obey(&mut self, decision: Decision) -> Checked {
        match decision {
            Decision::Grant {
                job,
                ask,
                node,
                locality,
                seq,
            } => {
                let size = self.job(job).size(ask.index());
                if !self.machines[node.index()].up || !size.fits_in(&self.room(node.0)) {
                    let what = format!("{decision:?} where there is no room");
                    return Err(Failure::new(Check::Decision, what));
                }
                let hardware = self.workload.hardware;
                let running = self.job(job);
                if ask.index() == ASK_MASTER {
                    let key = running.next_key();
                    self.outbox.push(Event::Ack { job, seq, key });
                    self.start_master(job, key, node.0);
                    return Ok(());
                }
                let task = running.take(ask.index(), node, locality, &hardware);
                let Some((kind, index)) = task else {
                    let what = format!("{decision:?} that nobody asked for");
                    return Err(Failure::new(Check::Decision, what));
                };
                let key = running.next_key();
                self.outbox.push(Event::Ack { job, seq, key });
                self.start_attempt(job, key, kind, index, node.0);
                let running = self.job(job);
                if running.reduces_asked && running.wanted()[MAP] == 0 {
                    self.ask_for_reduces(job);
                }
                self.tell_asks(job);
                let slots = self.workload.hardware.slots[kind];
                let has_slots = self.workload.nodes.is_empty();
                if has_slots && self.machines[node.index()].running[kind] > slots {
                    let what = format!("{decision:?} beyond the slots of the node");
                    return Err(Failure::new(Check::Decision, what));
                }
            }
            Decision::Evict {
                job, key, grace_ms, ..
            } => {
                let at = self.now + i64::from(grace_ms);
                self.agenda.plan(at, Due::Eviction(job, key));
            }
            Decision::Headroom { .. } => {}
        }
        Ok(())
    }

    /// Queues the changes of a job's asks for the engine, and plans reports that may serve them.
    pub(super) fn tell_asks(&mut self, job: JobId) {
        let job = self.jobs[job.index()].as_deref_mut();
        let job = job.expect("callers name jobs that have not ended");
        let before = self.outbox.len();
        job.tell_asks(&mut self.outbox, &self.workload.hardware);
        if self.outbox.len() > before {
            self.plan_reports();
        }
    }

    /// Lets the nodes on which something ended report at once.
    pub(super) fn report_freed(&mut self) -> Checked {
        while !self.freed.is_empty() {
            let mut freed = std::mem::take(&mut self.freed);
            freed.dedup();
            for node in freed {
                self.report(node)?;
            }
        }
        Ok(())
    }

    fn report(&mut self, node: u32) -> Checked {
        if !self.machines[node as usize].up {
            return self.flush();
        }
        self.tell_unreported(node);
        let free = self.free(node);
        let node = NodeId(node);
        self.step(Some(Event::Heartbeat { node, free }))?;
        if self.has_room(node.0) {
            self.plan_reports();
        }
        Ok(())
    }

    /// Starts the reports: nodes report in turn while asks are pending and some nodes have room.
    pub(super) fn plan_reports(&mut self) {
        if !std::mem::replace(&mut self.reporting, true) {
            self.agenda.plan(self.now, Due::Report);
        }
    }

    pub(super) fn report_due(&mut self) -> Checked {
        self.flush()?;
        let hardware = &self.workload.hardware;
        let (nodes, heartbeat_ms) = (hardware.nodes, hardware.heartbeat_ms.max(1));
        let pending = !self.link.engine.is_idle();
        if !pending || self.with_room == 0 {
            self.reporting = false;
            return Ok(());
        }
        // Spread the reports evenly over a heartbeat; large clusters need several at a time.
        let at_once = u64::from(nodes).div_ceil(heartbeat_ms as u64);
        for _ in 0..at_once {
            let node = self.cursor;
            self.cursor = (self.cursor + 1) % nodes;
            if self.has_room(node) {
                self.report(node)?;
            }
        }
        let pause_ms = (heartbeat_ms / i64::from(nodes)).max(1);
        self.agenda.plan(self.now + pause_ms, Due::Report);
        Ok(())
    }

    pub(super) fn tick(&mut self) -> Checked {
        self.ticking = false;
        self.step(Some(Event::Tick))?;
        self.foresee()?;
        // The tick may have changed what is pending.
        if !self.link.engine.is_idle() {
            self.plan_reports();
        }
        self.plan_tick(self.options.tick_ms);
        Ok(())
    }

    /// Plans the next tick while there are jobs.
    pub(super) fn plan_tick(&mut self, wait_ms: i64) {
        if !self.ticking && !self.active.is_empty() {
            self.ticking = true;
            self.agenda.plan(self.now + wait_ms, Due::Tick);
        }
    }
}
