//! Hostile events: numbers at the ends of their range, ids that are taken or unknown, in any order,
//! under every preset and every single stage. Nothing may overflow or panic, and the engine's state
//! stays consistent. Decisions are not judged here.

use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use heddle_core::words::resource::RESOURCE_TYPES_MAX;
use heddle_core::{Decision, Engine, Resource, Setup};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates mostly ordinary numbers, otherwise ends of the range.
fn number(ends: &'static [i64]) -> impl Strategy<Value = i64> + Clone {
    prop_oneof![3 => 0i64..100, 2 => prop::sample::select(ends)]
}

fn signed() -> impl Strategy<Value = i64> + Clone {
    number(&[
        i64::MIN,
        i64::MIN + 1,
        -1,
        1 << 20,
        1 << 43,
        1 << 53,
        i64::MAX - 1,
        i64::MAX,
    ])
}

fn unsigned() -> impl Strategy<Value = u64> + Clone {
    signed().prop_map(|n| n as u64)
}

fn word() -> impl Strategy<Value = u32> + Clone {
    number(&[
        1 << 16,
        1 << 20,
        1 << 31,
        u32::MAX as i64 - 1,
        u32::MAX as i64,
    ])
    .prop_map(|n| n as u32)
}

fn small() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![8 => 0u32..6, 1 => word()]
}

fn resource() -> impl Strategy<Value = Resource> {
    let plain = (0i64..8192, 0i64..8).prop_map(|(mb, vcores)| Resource::new(mb, vcores));
    let wild = prop::array::uniform8(signed()).prop_map(Resource);
    assert_eq!(RESOURCE_TYPES_MAX, 8);
    prop_oneof![3 => plain, 1 => wild]
}

fn priority() -> impl Strategy<Value = i32> {
    prop_oneof![
        4 => prop::sample::select(&[0, 5, 10, 20][..]),
        1 => prop::sample::select(&[i32::MIN, -1, 1, i32::MAX][..]),
    ]
}

fn node() -> impl Strategy<Value = NodeFacts> {
    let ids = (small(), small(), small(), 0u32..2);
    (ids, any::<bool>(), resource(), resource()).prop_map(|(ids, schedulable, capacity, free)| {
        NodeFacts {
            node: NodeId(ids.0),
            host: PlaceId(ids.1.saturating_add(1)),
            rack: PlaceId(ids.2.saturating_add(10)),
            partition: PartitionId(ids.3),
            lends: false,
            schedulable,
            capacity,
            free,
        }
    })
}

fn job() -> impl Strategy<Value = JobFacts> {
    let flags = (any::<bool>(), any::<bool>());
    (small(), 0u32..4, small(), priority(), flags, signed()).prop_map(
        |(job, queue, user, priority, (mapreduce, unmanaged_am), submitted_ms)| JobFacts {
            job: JobId(job),
            queue: QueueId(queue),
            user: UserId(user),
            priority,
            mapreduce,
            unmanaged_am,
            submitted_ms,
        },
    )
}

fn hints() -> impl Strategy<Value = JobHints> {
    let counts = prop::array::uniform2(prop::option::of(word()));
    let lengths = prop::array::uniform2(prop::option::of(signed()));
    (
        counts,
        prop::option::of(unsigned()),
        prop::option::of(word()),
        prop::option::of(signed()),
        lengths,
        prop::option::of(0u64..3),
    )
        .prop_map(
            |(tasks, input_bytes, shuffle_per_mille, deadline_ms, task_ms, signature)| JobHints {
                tasks,
                input_bytes,
                shuffle_per_mille,
                deadline_ms,
                task_ms,
                signature,
            },
        )
}

fn task() -> impl Strategy<Value = TaskFacts> {
    let since = prop::option::of(signed());
    (word(), unsigned(), unsigned(), since, any::<bool>()).prop_map(
        |(progress_per_mille, input_bytes, output_bytes, executing_since_ms, committing)| {
            TaskFacts {
                progress_per_mille,
                input_bytes,
                output_bytes,
                executing_since_ms,
                committing,
            }
        },
    )
}

fn ask() -> impl Strategy<Value = Event> {
    let flags = (
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.1),
    );
    (
        small(),
        small(),
        word(),
        priority(),
        0u32..2,
        flags,
        resource(),
    )
        .prop_map(
            |(job, ask, count, priority, partition, (relax, am, update), resource)| {
                Event::Ask(AskFacts {
                    job: JobId(job),
                    // Ask ids are dense per job: an id near the bound makes a table of that length.
                    ask: AskId(if ask > 100 { u32::MAX } else { ask }),
                    count,
                    priority,
                    partition: PartitionId(partition),
                    relax,
                    am,
                    update,
                    resource,
                })
            },
        )
}

fn of_job() -> impl Strategy<Value = Event> {
    let id = || small().prop_map(JobId);
    prop_oneof![
        6 => job().prop_map(Event::JobAdded),
        2 => (id(), hints()).prop_map(|(job, hints)| Event::JobHints { job, hints }),
        1 => id().prop_map(Event::JobRemoved),
        1 => id().prop_map(Event::JobReset),
        2 => id().prop_map(Event::Offer),
        1 => (id(), 0u32..5).prop_map(|(job, queue)| {
            Event::JobMoved { job, queue: QueueId(queue) }
        }),
        1 => (id(), priority()).prop_map(|(job, priority)| Event::JobPriority { job, priority }),
        1 => (id(), small(), any::<bool>()).prop_map(|(job, place, added)| {
            Event::Blacklist { job, place: PlaceId(place), added }
        }),
        8 => ask(),
        3 => (id(), small(), small(), word(), any::<bool>()).prop_map(
            |(job, ask, place, count, relax)| Event::AskRow {
                job,
                ask: AskId(ask),
                place: PlaceId(place),
                count,
                relax,
            }
        ),
        2 => (id(), prop::array::uniform3(8u32..14), word(), unsigned()).prop_map(
            |(job, racks, blocks, bytes)| Event::InputBlocks {
                job,
                racks: racks.map(PlaceId),
                blocks,
                bytes,
            }
        ),
    ]
}

fn of_container() -> impl Strategy<Value = Event> {
    let id = || small().prop_map(JobId);
    let key = || prop_oneof![6 => 0u64..8, 1 => unsigned()];
    let started = (
        id(),
        key(),
        small(),
        priority(),
        any::<bool>(),
        signed(),
        resource(),
    );
    prop_oneof![
        3 => started.prop_map(|(job, key, node, priority, am, started_ms, resource)| {
            Event::ContainerAdded(ContainerFacts {
                job,
                key,
                node: NodeId(node),
                priority,
                am,
                started_ms,
                resource,
            })
        }),
        2 => (id(), key(), -1i32..2).prop_map(|(job, key, exit)| {
            Event::ContainerCompleted { job, key, exit }
        }),
        1 => (id(), key(), resource()).prop_map(|(job, key, resource)| {
            Event::ContainerResized { job, key, resource }
        }),
        3 => (id(), key(), task()).prop_map(|(job, key, facts)| Event::Task { job, key, facts }),
        1 => (id(), key(), signed()).prop_map(|(job, key, launched_ms)| {
            Event::ContainerLaunched { job, key, launched_ms }
        }),
        1 => (id(), word(), unsigned(), unsigned()).prop_map(|(job, done, read, moved)| {
            let counters = JobCounters {
                done: [done, 3],
                input_bytes: read,
                map_output_bytes: moved,
                shuffled_bytes: moved,
                written_bytes: read,
            };
            Event::JobCounters { job, counters }
        }),
        1 => (id(), unsigned(), key()).prop_map(|(job, seq, key)| Event::Ack { job, seq, key }),
        1 => (id(), unsigned()).prop_map(|(job, seq)| {
            Event::Nack { job, seq, refusal: Refusal::Other }
        }),
    ]
}

fn of_cluster() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => node().prop_map(Event::NodeAdded),
        1 => node().prop_map(Event::NodeChanged),
        1 => small().prop_map(|node| Event::NodeRemoved(NodeId(node))),
        6 => (small(), resource()).prop_map(|(node, free)| {
            Event::Heartbeat { node: NodeId(node), free }
        }),
        1 => (small(), resource()).prop_map(|(node, free)| {
            Event::Room { node: NodeId(node), free }
        }),
        1 => (8u32..14, unsigned(), unsigned(), unsigned()).prop_map(|(rack, up, down, width)| {
            Event::RackTraffic {
                rack: PlaceId(rack),
                up_bytes_per_s: up,
                down_bytes_per_s: down,
                bandwidth_bytes_per_s: width,
            }
        }),
        1 => (small(), word()).prop_map(|(node, load)| {
            Event::NodeLoad { node: NodeId(node), foreign_per_mille: load }
        }),
        1 => (small(), unsigned()).prop_map(|(node, sent_bytes)| {
            Event::NodeShuffle { node: NodeId(node), sent_bytes }
        }),
        4 => Just(Event::Tick),
    ]
}

/// Generates steps, each with a time and its events.
fn history() -> impl Strategy<Value = Vec<(i64, Vec<Event>)>> {
    let event = prop_oneof![of_cluster(), of_job(), of_container()];
    let moment = prop_oneof![12 => 0i64..20_000, 1 => signed()];
    prop::collection::vec((moment, prop::collection::vec(event, 1..12)), 1..24)
}

/// Returns every preset, and every stage together with the default's others.
fn policies() -> Vec<Value> {
    let mut policies: Vec<Value> = PRESETS.iter().map(|preset| json!(preset.name)).collect();
    let of = |share, order, place| json!({"share": share, "order": order, "place": place});
    policies.extend(
        heddle_core::catalogue::share_names()
            .into_iter()
            .map(|name| of(name, "deficit", "delay")),
    );
    policies.extend(
        heddle_core::catalogue::order_names()
            .into_iter()
            .map(|name| of("fair", name, "delay")),
    );
    policies.extend(
        heddle_core::catalogue::place_names()
            .into_iter()
            .map(|name| of("drf", "hfsp", name)),
    );
    policies
}

fn config(policy: &Value, slots: bool) -> Value {
    let mut config = json!({
        "policy": policy,
        "queues": [
            {"path": "root.a", "budget": 1_000_000_000, "spending_rate": 1_000_000},
            {"path": "root.b", "weight": 1e9, "min_share": {"memory-mb": 4096, "vcores": 2}},
        ],
    });
    if slots {
        config["slots"] = json!({"map_per_node": 2, "reduce_per_node": 1});
    }
    config
}

/// Steps the engine through a history and refuses every third grant.
fn live(config: &Value, history: &[(i64, Vec<Event>)]) -> Result<(), TestCaseError> {
    let setup = Setup::with_config(config).expect("a good configuration");
    let mut engine = Engine::new(setup).expect("a good setup");
    let mut answers: Vec<Event> = Vec::new();
    for (now, events) in history {
        let mut decisions = Vec::new();
        answers.extend(events);
        engine.step(*now, &std::mem::take(&mut answers), 64, &mut decisions);
        let books = engine.check_invariants().err();
        // A host that takes back room which it has just reported causes this error rightly.
        let books = books.filter(|error| !error.contains("gave out more than it had"));
        prop_assert!(books.is_none(), "{config} at {now}: {books:?}");
        let granted = decisions.iter().filter_map(|decision| match decision {
            Decision::Grant { job, seq, .. } => Some((*job, *seq)),
            _ => None,
        });
        answers.extend(granted.map(|(job, seq)| match seq % 3 {
            0 => Event::Nack {
                job,
                seq,
                refusal: Refusal::NoFit,
            },
            _ => Event::Ack {
                job,
                seq,
                key: 1_000 + seq,
            },
        }));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn numbers_at_the_ends_of_their_range_break_no_policy(history in history()) {
        for policy in policies() {
            for slots in [false, true] {
                live(&config(&policy, slots), &history)?;
            }
        }
    }
}

/// A user may ask for as many kinds of containers as there are numbers: their sum is bounded, too.
#[test]
fn a_job_may_ask_for_more_than_a_count_holds() {
    let mut events = vec![
        one_node(),
        Event::JobAdded(JobFacts {
            job: JobId(1),
            queue: QueueId(1),
            user: UserId(0),
            priority: 0,
            mapreduce: false,
            unmanaged_am: true,
            submitted_ms: 0,
        }),
    ];
    events.extend((0..5_000).map(|ask| asked(JobId(1), AskId(ask), u32::MAX, 1)));
    let beat = Event::Heartbeat {
        node: NodeId(0),
        free: Resource::new(65_536, 64),
    };
    let history = [(0, events), (1_000, vec![Event::Tick, beat, Event::Tick])];
    for policy in policies() {
        live(&config(&policy, false), &history).expect("the books are right");
    }
}

/// Many users may each claim the largest input that a hint holds, all on one rack: the sum over the
/// jobs is bounded, too.
#[test]
fn all_jobs_may_claim_the_largest_input() {
    let mut events = vec![one_node()];
    for job in (1..=2_100).map(JobId) {
        events.push(Event::JobAdded(JobFacts {
            job,
            queue: QueueId(1),
            user: UserId(0),
            priority: 0,
            mapreduce: true,
            unmanaged_am: true,
            submitted_ms: 0,
        }));
        let hints = JobHints {
            input_bytes: Some(u64::MAX),
            ..JobHints::default()
        };
        events.push(Event::JobHints { job, hints });
        events.push(asked(job, AskId(0), 1, 20));
        events.push(Event::AskRow {
            job,
            ask: AskId(0),
            place: PlaceId(10),
            count: 1,
            relax: true,
        });
    }
    let history = [(0, events), (1_000, vec![Event::Tick, Event::Tick])];
    let policy = Value::from("shufflewatcher");
    live(&config(&policy, false), &history).expect("the books are right");
}

fn one_node() -> Event {
    Event::NodeAdded(NodeFacts {
        node: NodeId(0),
        host: PlaceId(1),
        rack: PlaceId(10),
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity: Resource::new(65_536, 64),
        free: Resource::new(65_536, 64),
    })
}

fn asked(job: JobId, ask: AskId, count: u32, priority: i32) -> Event {
    Event::Ask(AskFacts {
        job,
        ask,
        count,
        priority,
        partition: PartitionId(0),
        relax: true,
        am: false,
        update: false,
        resource: Resource::new(1_024, 1),
    })
}
