//! Work that must grow no faster than its input: twice the input, at most 2.5 times the time.
// The engine has no clock; its tests measure it.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use crate::common::{Host, plain_ask};
use heddle_core::Resource;
use heddle_core::words::event::{AskFacts, Event};
use serde_json::json;
use std::time::{Duration, Instant};

/// The shortest of several runs of `work`, which gets what `setup` made.
fn shortest<T>(setup: impl Fn() -> T, work: impl Fn(&mut T)) -> Duration {
    let times = (0..7).map(|_| {
        let mut made = setup();
        let from = Instant::now();
        work(&mut made);
        from.elapsed()
    });
    times.min().expect("it ran")
}

fn assert_linear(time: impl Fn(u32) -> Duration, size: u32) {
    let ratio = |_| time(2 * size).as_secs_f64() / time(size).as_secs_f64();
    // A busy machine may disturb all runs of one size.
    let ratios: Vec<f64> = (0..9).map(ratio).take_while(|ratio| *ratio > 2.5).collect();
    assert!(
        ratios.len() < 9,
        "twice the input takes {ratios:?} times as long"
    );
}

fn asks(job: u32, count: u32, size_mb: impl Fn(u32) -> i64) -> Vec<Event> {
    let ask = |i| {
        Event::Ask(AskFacts {
            resource: Resource::new(size_mb(i), 1),
            ..plain_ask(job, i, 1, 1024)
        })
    };
    (0..count).map(ask).collect()
}

fn host(memory_mb: i64) -> Host {
    let mut host = Host::new(json!({"policy": "fair-original", "heartbeat_fill": 1.0}));
    host.node(0, memory_mb, 64);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host
}

#[test]
fn each_ask_of_many_costs_the_same() {
    let time = |count| {
        let events = asks(1, count, |_| 1024);
        let setup = || (host(1024), events.clone());
        shortest(setup, |(host, events)| {
            host.engine.step(0, events, 1024, &mut Vec::new());
        })
    };
    assert_linear(time, 2_000);
}

#[test]
fn each_size_of_many_costs_a_tick_the_same() {
    let time = |count| {
        let events = asks(1, count, |i| 2048 + i64::from(i));
        let setup = || {
            let mut host = host(1_000_000);
            host.recovered(1, 0, 999_000, false);
            host.engine.step(0, &events, 1024, &mut Vec::new());
            host
        };
        shortest(setup, |host| {
            host.engine
                .step(60_000, &[Event::Tick], 1024, &mut Vec::new());
        })
    };
    assert_linear(time, 1_000);
}
