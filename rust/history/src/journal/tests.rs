//! Journals with hostile numbers, jobs without tasks, and containers that are left out.

use super::*;
use crate::model::History;
use crate::workload::Cluster;
use heddle_core::words::event::NodeFacts;
use heddle_core::words::exit::LOST;
use heddle_core::words::ids::{PartitionId, PlaceId, QueueId};
use heddle_sim::cluster_sim::{ClusterSim, Options};

const EPOCH_MS: i64 = 1_700_000_000_000;

fn replay() -> Replay {
    let setup = json!({"resource_types": ["memory-mb", "vcores"], "epoch_ms": EPOCH_MS,
        "decided_by": "FairScheduler"});
    Replay::open(setup.to_string().as_bytes()).expect("it is a setup")
}

/// Under Heddle itself.
fn own() -> Replay {
    let setup = json!({"resource_types": ["memory-mb", "vcores"], "epoch_ms": EPOCH_MS});
    Replay::open(setup.to_string().as_bytes()).expect("it is a setup")
}

fn hear(replay: &mut Replay, now: Millis, events: &[Event]) {
    replay.now = now;
    for event in events {
        replay.hear(event).expect("it is within the limits");
    }
}

fn submitted(job: u32, submitted_ms: Millis) -> Event {
    Event::JobAdded(JobFacts {
        job: JobId(job),
        queue: QueueId(0),
        user: UserId(0),
        priority: 0,
        mapreduce: false,
        unmanaged_am: false,
        submitted_ms,
    })
}

fn runs(key: u64, am: bool, started_ms: Millis) -> Event {
    sized(key, am, started_ms, Resource::new(1_024, 1))
}

fn sized(key: u64, am: bool, started_ms: Millis, resource: Resource) -> Event {
    Event::ContainerAdded(ContainerFacts {
        job: JobId(0),
        key,
        node: NodeId(0),
        priority: 0,
        am,
        started_ms,
        resource,
    })
}

fn ended(key: u64, exit: i32) -> Event {
    Event::ContainerCompleted {
        job: JobId(0),
        key,
        exit,
    }
}

fn removed() -> Event {
    Event::JobRemoved(JobId(0))
}

#[test]
fn hostile_numbers_are_bounded() {
    for (submitted_ms, started_ms) in [(i64::MAX, i64::MIN), (i64::MIN, i64::MAX)] {
        let mut replay = replay();
        let facts = NodeFacts {
            node: NodeId(0),
            host: PlaceId(1),
            rack: PlaceId(2),
            partition: PartitionId(0),
            capacity: Resource::new(i64::MAX, i64::MAX),
            free: Resource::new(i64::MAX, i64::MAX),
            schedulable: true,
            lends: false,
        };
        hear(&mut replay, 5, &[Event::NodeAdded(facts)]);
        let job = submitted(0, submitted_ms);
        let master = runs(1, true, started_ms);
        let size = Resource::new(i64::MAX, i64::MIN);
        let task = sized(2, false, -started_ms.saturating_add(1), size);
        hear(&mut replay, 10, &[job, master, task]);
        hear(&mut replay, 20, &[ended(2, 0), ended(1, 0), removed()]);
        let read = replay.finish(false);
        let job = &read.jobs[0];
        assert!(job.waited_ms().is_some() && job.turn_around_ms().is_some());
        assert_eq!(job.sizes[0].memory_mb(), AMOUNT_MAX);
        assert_eq!(job.sizes[0].vcores(), 0);
    }
}

/// Its ApplicationMaster starts at 3 s, and the job ends at 60 s.
#[test]
fn a_job_without_tasks_lasts_as_long_as_its_master() {
    let mut replay = replay();
    hear(
        &mut replay,
        3_000,
        &[submitted(0, 1_000), runs(1, true, 3_000)],
    );
    hear(&mut replay, 60_000, &[ended(1, 0), removed()]);
    let read = replay.finish(false);
    assert_eq!(read.jobs[0].commit_ms, 57_000);
    assert_eq!(read.jobs[0].turn_around_ms(), Some(59_000));
    assert_eq!((read.running, read.badly), (0, 0));
    let mut history = History {
        jobs: read.jobs,
        ..History::default()
    };
    let one = Cluster {
        nodes: Some(1),
        memory_mb: Some(4_096),
        vcores: Some(8),
        racks: None,
    };
    let workload = history.workload(&one).expect("its size is given");
    let options = Options::new("fair", json!({"policy": "fair"}));
    let results = ClusterSim::new(workload, options).and_then(ClusterSim::run);
    let lasted = results.expect("it runs").jobs[0].sojourn_ms();
    assert!(
        lasted.is_some_and(|ms| (57_000..60_000).contains(&ms)),
        "{lasted:?}"
    );
}

/// Of six tasks, two end well, three otherwise, and one runs on; masters do not count.
#[test]
fn tasks_that_are_left_out_are_counted() {
    let mut replay = replay();
    let tasks: Vec<Event> = (2..8).map(|key| runs(key, false, 2)).collect();
    hear(&mut replay, 2, &[submitted(0, 1), runs(1, true, 1)]);
    hear(&mut replay, 2, &tasks);
    let ends = [
        ended(2, 0),
        ended(3, ENDED_WELL[1]),
        ended(4, PREEMPTED),
        ended(5, LOST),
        ended(6, 1),
    ];
    hear(&mut replay, 9, &ends);
    let read = replay.finish(false);
    assert_eq!((read.running, read.badly), (1, 3));
    let job = &read.jobs[0];
    assert_eq!((job.tasks[0].len(), job.preempted), (2, Some(1)));
}

#[test]
fn jobs_that_share_a_number_have_names_of_their_own() {
    let mut replay = replay();
    hear(&mut replay, 2_000, &[submitted(0, 2_000), removed()]);
    hear(&mut replay, 9_000, &[submitted(0, 9_000), removed()]);
    let read = replay.finish(false);
    let names: Vec<&str> = read.jobs.iter().map(|job| job.id.as_str()).collect();
    let known = ["job 0 @2023-11-14T22:13:22Z", "job 0 @2023-11-14T22:13:29Z"];
    assert_eq!(names, known);
}

/// The master holds 1 GB for 10 s, a task 2 GB for 5 s, one that is preempted 1 GB for 2 s, and one
/// that still runs when its job is removed 1 GB for 2 s; a core goes with every GB.
#[test]
fn a_job_held_what_its_containers_held() {
    let mut replay = replay();
    let two = Resource::new(2_048, 2);
    hear(&mut replay, 1_000, &[submitted(0, 0), runs(1, true, 1_000)]);
    hear(&mut replay, 2_000, &[sized(2, false, 2_000, two)]);
    hear(&mut replay, 3_000, &[runs(3, false, 3_000)]);
    hear(&mut replay, 5_000, &[ended(3, PREEMPTED)]);
    hear(&mut replay, 7_000, &[ended(2, 0)]);
    hear(&mut replay, 9_000, &[runs(4, false, 9_000)]);
    hear(&mut replay, 11_000, &[ended(1, 0), removed()]);
    let read = replay.finish(false);
    let held_ms = 10_000 + 2 * 5_000 + 2_000 + 2_000;
    assert_eq!(read.jobs[0].held, Some([1_024 * held_ms, held_ms]));
    assert_eq!(read.jobs[0].seen_ms, None);
}

/// It holds 2 GB for 2 s and 8 GB for 5 s. Heddle tells of a larger container in two events.
#[test]
fn a_container_that_grows_holds_more_from_then_on() {
    let [two, eight] = [2_048, 8_192].map(|mb| Resource::new(mb, 1));
    let resized = Event::ContainerResized {
        job: JobId(0),
        key: 2,
        resource: eight,
    };
    for mut replay in [replay(), own()] {
        hear(&mut replay, 1_000, &[submitted(0, 1_000)]);
        hear(&mut replay, 2_000, &[sized(2, false, 2_000, two)]);
        let grown = [sized(2, false, 2_000, eight), resized];
        hear(&mut replay, 4_000, &grown);
        hear(&mut replay, 9_000, &[ended(2, 0), removed()]);
        let job = &replay.finish(false).jobs[0];
        assert_eq!(job.held, Some([2_048 * 2_000 + 8_192 * 5_000, 7_000]));
        assert_eq!(job.tasks[0][0].length_ms, 7_000);
        assert_eq!(job.sizes[0].memory_mb(), 8_192);
    }
}

/// An opportunistic container of 3 s is promoted at 5 s and ends at 9 s.
#[test]
fn a_promoted_container_is_a_task_and_held_from_then_on() {
    let mut replay = own();
    hear(&mut replay, 1_000, &[submitted(0, 1_000)]);
    hear(&mut replay, 5_000, &[runs(2, false, 3_000)]);
    hear(&mut replay, 9_000, &[ended(2, 0), removed()]);
    let job = &replay.finish(false).jobs[0];
    assert_eq!(job.held, Some([1_024 * 4_000, 4_000]));
    assert_eq!(job.tasks[0][0].length_ms, 6_000);
}

/// It ran before the recording began at 5 s, and the job still runs when it ends at 12 s.
#[test]
fn a_container_of_an_engine_before_is_held_and_is_no_task() {
    let mut replay = own();
    hear(
        &mut replay,
        5_000,
        &[submitted(0, 1_000), runs(2, false, 2_000)],
    );
    hear(&mut replay, 9_000, &[ended(2, 0)]);
    replay.now = 12_000;
    let read = replay.finish(false);
    assert_eq!((read.running, read.badly), (0, 0));
    let job = &read.jobs[0];
    assert_eq!(
        (job.held, job.tasks[0].len()),
        (Some([4_096_000, 4_000]), 0)
    );
    assert_eq!((job.end, job.seen_ms), (End::Open, Some(EPOCH_MS + 12_000)));
}
