//! Checks that a heartbeat's path through the bridge allocates nothing once it is warm.
//!
//! Counts the allocations of this one test on its thread. The test is alone in its binary, because
//! the counter is the allocator of the whole process.

mod client;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use client::FrameWriter;
use heddle::frame::{self, Logs, Summary, output_bytes_max};
use heddle::host::Host;
use heddle_core::words::event::{Decision, Event, NodeFacts};
use heddle_core::words::ids::{AskId, JobId, Locality, NodeId, PartitionId, PlaceId};
use heddle_core::words::resource::Resource;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: passes every call unchanged to the system's allocator. The counter is a plain cell
// without a destructor, so touching it cannot allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are those that System requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those that System requires.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are those that System requires.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(call: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    call();
    ALLOCATIONS.get() - before
}

/// Without this, the other tests of this file would prove nothing.
#[test]
fn the_counter_counts() {
    assert_eq!(
        allocations_of(|| drop(std::hint::black_box(Box::new(7)))),
        1
    );
}

#[test]
fn decoding_and_encoding_reuse_their_memory() {
    let free = Resource::new(1_024, 1);
    let beats: Vec<Event> = (0..1_000)
        .map(|node| Event::Heartbeat {
            node: NodeId(node),
            free,
        })
        .collect();
    let mut writer = FrameWriter::default();
    let input = writer.frame(1, 1, 1_000, &beats).to_vec();
    let grant = |seq| Decision::Grant {
        job: JobId(1),
        ask: AskId(2),
        node: NodeId(3),
        locality: Locality::RackLocal,
        seq,
    };
    let decisions: Vec<Decision> = (0..1_000).map(grant).collect();
    let summary = Summary {
        sequence: 1,
        flags: 0,
        next_tick_ms: 0,
        ignored: 0,
    };
    let mut events = Vec::new();
    let mut out = vec![0; output_bytes_max(1_000)];
    let mut round = || {
        frame::decode(&input, &mut events).unwrap();
        frame::encode(summary, &decisions, Logs::default(), &mut out).unwrap();
        writer.frame(1, 1, 1_000, &beats);
    };
    round();
    assert_eq!(allocations_of(round), 0);
}

#[test]
fn a_heartbeat_through_a_warm_host_allocates_nothing() {
    let mut host = Host::open("{}").unwrap();
    let mut writer = FrameWriter::default();
    let mut out = vec![0; output_bytes_max(64)];
    let free = Resource::new(8_192, 8);
    let added = |node| {
        Event::NodeAdded(NodeFacts {
            node: NodeId(node),
            host: PlaceId(10 + node),
            rack: PlaceId(1),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity: free,
            free,
        })
    };
    let nodes: Vec<Event> = (0..100).map(added).collect();
    host.step(writer.frame(1_000, 0, 64, &nodes), &mut out)
        .unwrap();
    let beats: Vec<[Event; 1]> = (0..100)
        .map(|node| {
            [Event::Heartbeat {
                node: NodeId(node),
                free,
            }]
        })
        .collect();
    let mut round = || {
        for beat in &beats {
            host.step(writer.frame(1_001, 1, 64, beat), &mut out)
                .unwrap();
        }
    };
    round();
    assert_eq!(allocations_of(round), 0);
}
