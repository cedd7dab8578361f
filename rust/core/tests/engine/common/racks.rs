//! Racks, blocks, tasks and traffic for the tests of ShuffleWatcher: events only, no checks.
#![allow(dead_code, unreachable_pub)]

use super::{Grant, Host, host_of, plain_ask, rack_place, row};
use heddle_core::words::event::{AskFacts, Event, JobHints, TaskFacts};
use heddle_core::words::ids::*;
use serde_json::{Value, json};

pub const GB: u64 = 1_000_000_000;
pub const MAP: u32 = 0;
pub const REDUCE: u32 = 1;

/// Builds a cluster of `racks` racks, each with one node of `slots` slots; node and rack have the
/// same number.
pub fn cluster(racks: u32, slots: i64, settings: Value) -> Host {
    let mut host = Host::new(json!({
        "policy": "shufflewatcher", "heartbeat_fill": 1.0, "shuffle_watcher": settings,
    }));
    for rack in 0..racks {
        host.node(rack, slots * 1024, slots);
    }
    host
}

/// Builds a cluster in which `share` chooses between ann and bob, who bid alike if it is a market.
pub fn cluster_under(share: &str, racks: u32, slots: i64) -> Host {
    let account = |path| json!({"path": path, "budget": 1e6, "spending_rate": 1.0});
    let mut host = Host::new(json!({
        "policy": {"share": share, "order": "fifo", "place": "shuffle-watcher"},
        "heartbeat_fill": 1.0,
        "queues": [account("root.ann"), account("root.bob")],
        "shuffle_watcher": {"ties_ms": 0},
    }));
    for rack in 0..racks {
        host.node(rack, slots * 1024, slots);
    }
    host
}

/// Adds a job of the user without any asks.
pub fn job(host: &mut Host, id: u32, user: &str, hints: JobHints) {
    let queue = host.queue(user, None);
    host.job(id, queue);
    let job = JobId(id);
    host.step(&[Event::JobHints { job, hints }]);
}

/// Returns hints for a job's shuffle, per 1,000 bytes read.
pub fn ratio(per_mille: u32) -> JobHints {
    JobHints {
        shuffle_per_mille: Some(per_mille),
        ..JobHints::default()
    }
}

pub const HEAVY: u32 = 2_000;
pub const LIGHT: u32 = 500;

/// Reports blocks of 1 GB each with replicas on these racks.
pub fn blocks(host: &mut Host, id: u32, list: &[(u32, &[u32])]) {
    let event = |(blocks, racks): &(u32, &[u32])| {
        let rack = |i: usize| racks.get(i).map_or(PlaceId::ANY, |rack| rack_place(*rack));
        Event::InputBlocks {
            job: JobId(id),
            racks: [0, 1, 2].map(rack),
            blocks: *blocks,
            bytes: u64::from(*blocks) * GB,
        }
    };
    let events: Vec<Event> = list.iter().map(event).collect();
    host.step(&events);
}

/// Asks in one step for maps whose data is on the given nodes.
pub fn maps(host: &mut Host, id: u32, count: u32, on: &[u32]) {
    host.ask(id, MAP, 0, 1024);
    let rows = on
        .iter()
        .flat_map(|node| [host_of(*node), rack_place(*node)]);
    let rows: Vec<Event> = rows.map(|place| row(id, MAP, place, count)).collect();
    let mut events = vec![Event::Ask(plain_ask(id, MAP, count, 1024))];
    events.extend(rows);
    host.step(&events);
}

pub fn reduces(host: &mut Host, id: u32, count: u32) {
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(id, REDUCE, count, 1024)
    });
}

/// Sets the load of the racks' links, in percent of their capacity.
pub fn traffic(host: &mut Host, percent: &[u64]) {
    let event = |(rack, percent): (usize, &u64)| Event::RackTraffic {
        rack: rack_place(rack as u32),
        up_bytes_per_s: *percent,
        down_bytes_per_s: 1,
        bandwidth_bytes_per_s: 100,
    };
    let events: Vec<Event> = percent.iter().enumerate().map(event).collect();
    host.step(&events);
}

/// Runs maps of a job on a node to their end, each of which read 10 GB and wrote `out` GB.
pub fn ran(host: &mut Host, id: u32, node: u32, count: u32, out: u64) {
    for _ in 0..count {
        let key = host.recovered(id, node, 1024, false);
        let facts = TaskFacts {
            input_bytes: 10 * GB,
            output_bytes: out * GB,
            ..TaskFacts::default()
        };
        let job = JobId(id);
        host.step(&[Event::Task { job, key, facts }]);
        host.complete(id, key);
    }
}

/// Returns job and ask of each grant.
pub fn what(grants: &[Grant]) -> Vec<(u32, u32)> {
    grants.iter().map(|grant| (grant.job, grant.ask)).collect()
}

/// Counts the grants of that job and ask.
pub fn count(grants: &[Grant], job: u32, ask: u32) -> usize {
    what(grants).iter().filter(|of| **of == (job, ask)).count()
}

pub fn book(host: &Host, job: u32) -> Value {
    host.engine.save()[2]["jobs"][job.to_string()].clone()
}

/// Returns the racks that a job's maps prefer.
pub fn preferred(host: &mut Host, job: u32) -> Vec<u64> {
    host.tick();
    let plan = book(host, job)["plan"].clone();
    let racks = plan.as_array().expect("there is a plan").iter();
    racks
        .map(|rack| rack["rack"].as_u64().expect("a rack") - 1000)
        .collect()
}
