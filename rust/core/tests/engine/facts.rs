//! Facts beyond YARN's state, event by event: launches, counters of ApplicationMasters, bytes that
//! nodes send, and the resulting model of the links. Comments derive the numbers.

use crate::common::racks::{self, LIGHT, MAP, blocks, cluster, job, maps, ratio, reduces};
use crate::common::{self, Host, plain_ask, rack_place};
use heddle_core::words::event::{Event, JobCounters, JobHints, TaskFacts};
use heddle_core::words::ids::*;
use serde_json::{Value, json};

fn launched(host: &mut Host, job: u32, key: u64) {
    let launched_ms = host.now;
    host.step(&[Event::ContainerLaunched {
        job: JobId(job),
        key,
        launched_ms,
    }]);
}

/// Returns Reverse-Adaptive's lengths of maps: their sum and number.
fn learnt(host: &Host) -> (i64, i64) {
    let lengths = host.engine.save()[1]["cluster"][0].clone();
    let number = |i: usize| lengths[i].as_i64().expect("a number");
    (number(0), number(1))
}

/// Runs one map on the node: granted, launched after `launch_ms`, ended `ran_ms` after that.
fn run_map(host: &mut Host, node: u32, launch_ms: i64, ran_ms: i64) {
    let grant = host.beat(node)[0];
    let key = host.containers.last().expect("it was just granted").1;
    host.now += launch_ms;
    launched(host, grant.job, key);
    host.now += ran_ms;
    host.complete(grant.job, key);
}

/// 60 trivial maps run for 1.5 s from their launch. All of it counts as overhead, of which at most
/// half is deducted. Then one of 21.5 s counts as 20 s, not as the 23.5 since its grant.
#[test]
fn lengths_are_of_tasks_not_of_containers() {
    let mut host = Host::new(json!({"policy": "reverse-adaptive", "heartbeat_fill": 1.0}));
    let node = host.node(0, 1024, 1);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 1_000, 1024);
    for _ in 0..60 {
        run_map(&mut host, node, 2_000, 1_500);
    }
    let (before_ms, number) = learnt(&host);
    assert_eq!(number, 60);
    // The first 39 in full, the others less half.
    assert_eq!(before_ms, 39 * 1_500 + 21 * 750);
    run_map(&mut host, node, 2_000, 21_500);
    assert_eq!(learnt(&host), (before_ms + 20_000, 61));
}

/// Simulators and hosts without launch events: time counts from the grant, without deduction.
#[test]
fn without_launches_the_whole_time_counts() {
    let mut host = Host::new(json!({"policy": "reverse-adaptive", "heartbeat_fill": 1.0}));
    let node = host.node(0, 1024, 1);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 1_000, 1024);
    for _ in 0..60 {
        host.beat(node);
        host.now += 1_500;
        host.complete_all(1);
    }
    assert_eq!(learnt(&host), (60 * 1_500, 60));
}

fn count(host: &mut Host, job: u32, counters: JobCounters) {
    host.step(&[Event::JobCounters {
        job: JobId(job),
        counters,
    }]);
}

/// After a restart of the ResourceManager only the ApplicationMaster knows which tasks ended
/// before.
#[test]
fn tasks_that_ended_before_the_engine_was_made_count_as_done() {
    let mut host = Host::new(json!({"policy": "hfsp"}));
    let node = host.node(0, 8 * 1024, 8);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.recovered(1, node, 1024, false);
    let done = |host: &mut Host| host.request(json!({"op": "job", "job": 1}))["done"].clone();
    let of = |maps: u32| JobCounters {
        done: [maps, 0],
        ..JobCounters::default()
    };
    // A task may have ended a moment ago: its own end is still to be reported.
    count(&mut host, 1, of(1));
    assert_eq!(done(&mut host), json!([0, 0, 0]));
    count(&mut host, 1, of(61));
    assert_eq!(done(&mut host), json!([61, 0, 0]));
    count(&mut host, 1, of(7));
    assert_eq!(done(&mut host), json!([61, 0, 0]), "nothing is undone");
}

const MB: u64 = 1_000_000;

/// Builds two racks and one job, with 4 maps that ran on rack 0 and one reduce that runs on rack 1.
fn shuffling(settings: Value) -> Host {
    let mut host = cluster(2, 8, settings);
    job(&mut host, 1, "ann", ratio(LIGHT));
    for _ in 0..4 {
        let key = host.recovered(1, 0, 1024, false);
        host.complete(1, key);
    }
    reduces(&mut host, 1, 1);
    host.now += 1_000;
    assert_eq!(host.beat(1).len(), 1, "the reduce runs on rack 1");
    host
}

fn shuffled(host: &mut Host, bytes: u64) {
    let counters = JobCounters {
        shuffled_bytes: bytes,
        ..JobCounters::default()
    };
    count(host, 1, counters);
}

/// Returns the rates modelled last: by rack, out and in.
fn modelled(host: &Host) -> Value {
    host.engine.save()[2]["modelled_rates"].clone()
}

fn saturated(host: &Host) -> Value {
    host.engine.save()[2]["saturated_racks"].clone()
}

/// 900 MB in 10 s are 90 MB/s out of rack 0 and into rack 1, of links of 100.
#[test]
fn links_are_modelled_from_counters_where_nobody_measures() {
    let mut host = shuffling(json!({"uplink_bytes_per_s": 100 * MB}));
    shuffled(&mut host, 100 * MB);
    host.tick();
    assert_eq!(modelled(&host), json!([[1000, 0.0, 0.0], [1001, 0.0, 0.0]]));
    host.now += 10_000;
    shuffled(&mut host, 1_000 * MB);
    host.tick();
    assert_eq!(modelled(&host), json!([[1000, 9e7, 0.0], [1001, 0.0, 9e7]]));
    assert_eq!(saturated(&host), json!([1000, 1001]));
    // The job reports nothing more: after twice the time the links are free.
    for _ in 0..30 {
        host.now += 1_000;
        host.tick();
    }
    assert_eq!(modelled(&host), json!([[1000, 0.0, 0.0], [1001, 0.0, 0.0]]));
    assert_eq!(saturated(&host), json!([]));
}

/// Reports what the nodes of rack 0 have sent; those of rack 1 have sent nothing.
fn sent(host: &mut Host, bytes: u64) {
    let events = [0, 1].map(|node| Event::NodeShuffle {
        node: NodeId(node),
        sent_bytes: if node == 0 { bytes } else { 0 },
    });
    host.step(&events);
}

/// NodeManagers on rack 0 sent 450 MB in the 10 s, not 900: half of the model.
#[test]
fn what_nodes_measure_corrects_the_model() {
    let mut host = shuffling(json!({"uplink_bytes_per_s": 100 * MB}));
    shuffled(&mut host, 0);
    sent(&mut host, 5_000 * MB);
    host.now += 10_000;
    shuffled(&mut host, 900 * MB);
    sent(&mut host, 5_450 * MB);
    host.tick();
    assert_eq!(
        modelled(&host),
        json!([[1000, 4.5e7, 0.0], [1001, 0.0, 4.5e7]])
    );
    assert_eq!(saturated(&host), json!([]));
}

#[test]
fn without_a_capacity_or_where_a_link_is_measured_the_model_says_nothing() {
    let mut host = shuffling(json!({}));
    shuffled(&mut host, 0);
    host.now += 10_000;
    shuffled(&mut host, 900 * MB);
    host.tick();
    assert_eq!((modelled(&host), saturated(&host)), (json!([]), json!([])));
    assert_eq!(uplink(&host), json!(null));
    let mut host = shuffling(json!({"uplink_bytes_per_s": 100 * MB}));
    shuffled(&mut host, 0);
    host.now += 10_000;
    shuffled(&mut host, 900 * MB);
    racks::traffic(&mut host, &[10, 10]);
    host.tick();
    assert_eq!(saturated(&host), json!([]), "measured at a tenth");
}

/// Returns the capacity of links.
fn uplink(host: &Host) -> Value {
    host.engine.save()[2]["uplink_bytes_per_s"].clone()
}

/// Nodes of rack 0 send `rate` bytes each second, for some seconds, to the reduce on rack 1.
fn send(host: &mut Host, total: &mut u64, rate: u64, seconds: u32) {
    for _ in 0..seconds {
        host.now += 1_000;
        *total += rate;
        sent(host, *total);
        host.tick();
    }
}

/// No ApplicationMaster answers and no capacity is set. A link that carried 300 MB/s for a minute
/// has that capacity, so 200 do not fill it and 250, above 80 %, do.
#[test]
fn nodes_alone_tell_the_load_and_the_capacity() {
    let mut host = shuffling(json!({}));
    let mut total = 7_000 * MB;
    sent(&mut host, total);
    host.tick();
    send(&mut host, &mut total, 200 * MB, 30);
    assert_eq!(modelled(&host), json!([[1000, 2e8, 0.0], [1001, 0.0, 2e8]]));
    assert_eq!((uplink(&host), saturated(&host)), (json!(null), json!([])));
    // Up to two windows of a minute pass until one has this rate only.
    send(&mut host, &mut total, 300 * MB, 125);
    assert_eq!(uplink(&host), json!(3e8));
    assert_eq!(saturated(&host), json!([1000, 1001]));
    send(&mut host, &mut total, 200 * MB, 11);
    assert_eq!(saturated(&host), json!([]));
    send(&mut host, &mut total, 250 * MB, 11);
    assert_eq!(saturated(&host), json!([1000, 1001]));
    let config = json!({"policy": "shufflewatcher"});
    host.request(json!({"op": "reload", "config": config}));
    assert_eq!(uplink(&host), json!(3e8), "kept by a reload");
}

/// Less than 80 % of a gigabit never fills a link whose capacity is not configured.
#[test]
fn a_link_is_estimated_at_its_floor_at_least() {
    let mut host = shuffling(json!({}));
    let mut total = 0;
    sent(&mut host, total);
    send(&mut host, &mut total, 99 * MB, 130);
    assert_eq!(
        (uplink(&host), saturated(&host)),
        (json!(1.25e8), json!([]))
    );
    send(&mut host, &mut total, 101 * MB, 11);
    assert_eq!(saturated(&host), json!([1000, 1001]));
    let mut host = shuffling(json!({"uplink_floor_bytes_per_s": MB}));
    let mut total = 0;
    sent(&mut host, total);
    send(&mut host, &mut total, 50 * MB, 130);
    assert_eq!(uplink(&host), json!(5e7));
    assert_eq!(
        saturated(&host),
        json!([1000, 1001]),
        "a lower floor errs sooner"
    );
}

/// Users' code writes counters: a claim of terabytes makes no link look wide.
#[test]
fn counters_alone_do_not_widen_a_link() {
    let mut host = shuffling(json!({}));
    let mut total = 0;
    sent(&mut host, total);
    shuffled(&mut host, 0);
    for second in 1..=130 {
        shuffled(&mut host, second * 1_000_000 * MB);
        send(&mut host, &mut total, 0, 1);
    }
    assert_eq!(uplink(&host), json!(1.25e8));
}

/// Starts one of the job's two maps of 10 s where none of its input is.
fn reading_across(input_bytes: u64) -> Host {
    let mut host = cluster(2, 1, json!({"uplink_bytes_per_s": 100 * MB}));
    let hints = JobHints {
        tasks: [Some(2), Some(0)],
        input_bytes: Some(input_bytes),
        task_ms: [Some(10_000), None],
        ..JobHints::default()
    };
    job(&mut host, 1, "ann", hints);
    maps(&mut host, 1, 2, &[0]);
    assert_eq!(host.beat(0).len(), 1);
    host.tick();
    assert_eq!(modelled(&host), json!([[1000, 0.0, 0.0], [1001, 0.0, 0.0]]));
    assert_eq!(host.beat(1).len(), 1, "rather far than idle");
    host.now += 1_000;
    host.tick();
    host
}

/// 128 MB in 10 s: 12.8 MB/s cross for 10 s.
#[test]
fn a_map_far_from_its_input_reads_across() {
    let mut host = reading_across(2 * 128 * MB);
    assert_eq!(
        modelled(&host),
        json!([[1000, 1.28e7, 0.0], [1001, 0.0, 1.28e7]])
    );
    host.now += 10_000;
    host.tick();
    assert_eq!(modelled(&host), json!([[1000, 0.0, 0.0], [1001, 0.0, 0.0]]));
}

/// No counter shows that the job reads so much: eight blocks of 128 MiB in 10 s, not 4 PB.
#[test]
fn a_claim_does_not_fill_the_links_for_everybody() {
    let host = reading_across(8 << 50);
    assert_eq!(
        modelled(&host),
        json!([[1000, 107_374_182.4, 0.0], [1001, 0.0, 107_374_182.4]])
    );
}

/// Clocks of nodes differ: execution neither starts before the task ran, nor in the future.
#[test]
fn the_clock_of_a_node_is_believed_within_the_life_of_its_task() {
    let mut host = cluster(1, 1, json!({}));
    job(&mut host, 1, "ann", JobHints::default());
    host.now = 5_000;
    let key = host.recovered(1, 0, 1024, false);
    host.now = 9_000;
    for (said, believed) in [(1_000, 5_000), (7_000, 7_000), (60_000, 9_000)] {
        let facts = TaskFacts {
            executing_since_ms: Some(said),
            ..TaskFacts::default()
        };
        let job = JobId(1);
        host.step(&[Event::Task { job, key, facts }]);
        let job = host.engine.cluster().job(job).expect("it runs");
        assert_eq!(job.containers[&key].task.executing_since_ms, Some(believed));
    }
}

/// ShuffleInputRatio by the ApplicationMaster's counters, without reports of single tasks.
#[test]
fn counters_tell_whether_a_job_is_shuffle_heavy() {
    let mut host = cluster(2, 8, json!({}));
    job(&mut host, 1, "ann", ratio(LIGHT));
    let moved = |read: u64, written: u64| JobCounters {
        input_bytes: read,
        map_output_bytes: written,
        ..JobCounters::default()
    };
    count(&mut host, 1, moved(10 * MB, 30 * MB));
    host.tick();
    assert_eq!(racks::book(&host, 1)["counted"], json!([1e7, 3e7]));
    // Remembered for the next run of the program.
    let hints = JobHints {
        signature: Some(7),
        ..JobHints::default()
    };
    job(&mut host, 2, "ann", hints);
    count(&mut host, 2, moved(10 * MB, 30 * MB));
    host.step(&[Event::JobRemoved(JobId(2))]);
    assert_eq!(host.engine.save()[2]["ratios"], json!([[7, 3.0]]));
}

/// Rows of asks for two racks give exactly the input that neither a rack alone nor both hold. Of 10
/// maps, 7 have input on rack 0, 6 on rack 1. Reported block by block it is 3 on both, 4 and 3 on
/// one.
#[test]
fn rows_of_two_racks_are_as_good_as_blocks() {
    let plan = |told: bool| {
        let mut host = cluster(2, 8, json!({}));
        job(&mut host, 1, "ann", ratio(LIGHT));
        if told {
            blocks(&mut host, 1, &[(4, &[0]), (3, &[1]), (3, &[0, 1])]);
        }
        let mut events = vec![Event::Ask(plain_ask(1, MAP, 10, 1024))];
        events.push(common::row(1, MAP, rack_place(0), 7));
        events.push(common::row(1, MAP, rack_place(1), 6));
        host.step(&events);
        racks::preferred(&mut host, 1)
    };
    assert_eq!(plan(false), plan(true));
}
