//! Proves that the checks can fail. Each test tampers with one thing on the line between engine and
//! host, like a bug in either. It expects the right check to find the fault. Where several checks
//! would, all others are switched off.

use crate::checks::Checks;
use crate::features::Features;
use crate::world::{Options, World};
use heddle_core::Resource;
use heddle_core::words::event::{Decision, Event, EvictReason};
use heddle_core::words::ids::{Locality, Millis, NodeId, PartitionId};
use heddle_sim::{Check, Policy, Tamper};
use serde_json::{Value, json};

/// The number of seeds without a finding after which a check counts as blind.
const SEEDS: u64 = 240;

type Events = fn(Millis, &mut Vec<Event>);
type Decisions = fn(Millis, &mut Vec<Decision>);
type Setup = fn(&mut Value);

/// Tampers with one of the three.
#[derive(Clone, Copy)]
struct Spoil {
    events: Events,
    decisions: Decisions,
    setup: Setup,
}

const NOTHING: Spoil = Spoil {
    events: |_, _| (),
    decisions: |_, _| (),
    setup: |_| (),
};

impl Tamper for Spoil {
    fn setup(&mut self, setup: &mut Value) {
        (self.setup)(setup);
    }
    fn events(&mut self, now: Millis, events: &mut Vec<Event>) {
        (self.events)(now, events);
    }
    fn decisions(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        (self.decisions)(now, decisions);
    }
}

/// Enables all usual features, except changes of the configuration and of the clock.
fn features() -> Features {
    Features {
        reloads: false,
        jumps: false,
        freezes: false,
        ..Features::all()
    }
}

/// Runs seeds under delay scheduling between queues until one fails. Returns the check and its
/// finding.
fn found(spoil: Spoil, features: Features, checks: Checks) -> Option<(Check, String)> {
    findings(spoil, features, checks).next()
}

/// Runs the seeds. Returns the check and the finding of each that fails.
fn findings(
    spoil: Spoil,
    features: Features,
    checks: Checks,
) -> impl Iterator<Item = (Check, String)> {
    let policy: Policy = "fair/fifo/delay".parse().expect("a policy");
    (0..SEEDS).filter_map(move |seed| {
        let mut options = Options::swarm(seed, policy);
        options.features = features;
        options.checks = checks;
        let tamper: Option<Box<dyn Tamper>> = Some(Box::new(spoil));
        let failure = World::new(options, tamper).and_then(World::run).err()?;
        Some((failure.check, failure.what))
    })
}

fn expect(spoil: Spoil, checks: Checks, check: Check, words: &str) {
    let (by, what) = found(spoil, features(), checks).expect("nothing was found");
    assert!(by == check && what.contains(words), "{by:?}: {what}");
}

fn only(switch: fn(&mut Checks)) -> Checks {
    let mut checks = Checks::none();
    switch(&mut checks);
    checks
}

fn decisions() -> Checks {
    only(|checks| checks.decisions = true)
}

/// Changes the first grant of every step.
fn first_grant(decisions: &mut [Decision], change: impl Fn(&mut NodeId, &mut Locality)) {
    for decision in decisions {
        if let Decision::Grant { node, locality, .. } = decision {
            return change(node, locality);
        }
    }
}

#[test]
fn nothing_is_found_where_nothing_is_spoilt() {
    assert_eq!(found(NOTHING, features(), Checks::all()), None);
}

#[test]
fn a_lost_completion_shows_in_the_books() {
    let events: Events = |_, events| {
        events.retain(|event| !matches!(event, Event::ContainerCompleted { .. }));
    };
    let spoil = Spoil { events, ..NOTHING };
    let checks = only(|checks| checks.books = true);
    expect(spoil, checks, Check::Books, "");
}

#[test]
fn a_lost_blacklist_shows_in_the_decisions() {
    let events: Events = |_, events| {
        events.retain(|event| !matches!(event, Event::Blacklist { .. }));
    };
    let spoil = Spoil { events, ..NOTHING };
    // Some seeds grant there first, some first count the room there.
    for words in ["Blacklisted", "that it may use"] {
        let mut findings = findings(spoil, features(), decisions());
        let named = findings.any(|(by, what)| by == Check::Decision && what.contains(words));
        assert!(named, "no finding says {words:?}");
    }
}

#[test]
fn a_heartbeat_that_tells_of_too_much_room_shows_in_the_decisions() {
    let events: Events = |_, events| {
        for event in events {
            if let Event::Heartbeat { free, .. } = event {
                *free += Resource::new(4_096, 4);
            }
        }
    };
    let spoil = Spoil { events, ..NOTHING };
    expect(spoil, decisions(), Check::Decision, "Room");
}

#[test]
fn a_heartbeat_that_tells_of_no_room_shows_as_room_that_is_kept() {
    let events: Events = |_, events| {
        for event in events {
            if let Event::Heartbeat { free, .. } = event {
                *free = Resource::ZERO;
            }
        }
    };
    let spoil = Spoil { events, ..NOTHING };
    let checks = only(|checks| checks.conservation = true);
    expect(spoil, checks, Check::Conservation, "may run");
    let checks = only(|checks| checks.starvation = true);
    expect(spoil, checks, Check::Starvation, "is not served");
}

#[test]
fn strict_asks_that_are_told_as_relaxed_show_in_the_decisions() {
    let events: Events = |_, events| {
        for event in events {
            match event {
                Event::Ask(facts) => facts.relax = true,
                Event::AskRow { relax, .. } => *relax = true,
                _ => (),
            }
        }
    };
    let spoil = Spoil { events, ..NOTHING };
    expect(spoil, decisions(), Check::Decision, "Elsewhere");
}

#[test]
fn labels_that_are_not_told_show_in_the_decisions() {
    let events: Events = |_, events| {
        for event in events {
            if let Event::Ask(facts) = event {
                facts.partition = PartitionId::DEFAULT;
            }
        }
    };
    let spoil = Spoil { events, ..NOTHING };
    expect(spoil, decisions(), Check::Decision, "Label");
}

#[test]
fn a_grant_on_another_node_shows() {
    let decisions: Decisions = |_, decisions| {
        first_grant(decisions, |node, _| node.0 = (node.0 + 1) % 3);
    };
    let spoil = Spoil {
        decisions,
        ..NOTHING
    };
    expect(spoil, self::decisions(), Check::Decision, "");
    let checks = only(|checks| checks.books = true);
    let (by, _) = found(spoil, features(), checks).expect("found");
    assert!(matches!(by, Check::Books | Check::Decision), "{by:?}");
}

#[test]
fn a_grant_that_is_lost_or_doubled_shows() {
    let lost: Decisions = |now, decisions| {
        if now > 2_000 {
            decisions.retain(|decision| !matches!(decision, Decision::Grant { .. }));
        }
    };
    let spoil = Spoil {
        decisions: lost,
        ..NOTHING
    };
    expect(spoil, only(|checks| checks.books = true), Check::Books, "");
    let doubled: Decisions = |_, decisions| {
        let again = decisions.clone();
        decisions.extend(again);
    };
    let spoil = Spoil {
        decisions: doubled,
        ..NOTHING
    };
    expect(spoil, decisions(), Check::Decision, "");
}

#[test]
fn a_wrong_locality_shows() {
    let decisions: Decisions = |_, decisions| {
        first_grant(decisions, |_, locality| {
            *locality = match *locality {
                Locality::NodeLocal => Locality::OffSwitch,
                _ => Locality::NodeLocal,
            };
        });
    };
    let spoil = Spoil {
        decisions,
        ..NOTHING
    };
    expect(spoil, self::decisions(), Check::Decision, "it is ");
}

#[test]
fn an_eviction_of_what_is_not_there_shows() {
    let decisions: Decisions = |_, decisions| {
        let to = decisions.iter().find_map(|decision| match decision {
            Decision::Headroom { job, .. } => Some(*job),
            _ => None,
        });
        decisions.extend(to.map(|job| Decision::Evict {
            job,
            key: 1 << 40,
            reason: EvictReason::MinShare,
            grace_ms: 1,
        }));
    };
    let spoil = Spoil {
        decisions,
        ..NOTHING
    };
    expect(
        spoil,
        self::decisions(),
        Check::Decision,
        "no such container",
    );
}

/// Hides a limit from the engine that the host knows.
fn without(key: &'static str) -> Setup {
    match key {
        "max_share" => |setup| forget(setup, "max_share", json!(null)),
        "max_running_jobs" => |setup| forget(setup, "max_running_jobs", json!(null)),
        _ => |setup| forget(setup, "max_am_share", json!(1.0)),
    }
}

fn forget(setup: &mut Value, key: &str, value: Value) {
    for queue in setup["config"]["queues"].as_array_mut().expect("a list") {
        queue[key] = value.clone();
    }
}

#[test]
fn limits_that_the_engine_does_not_know_show() {
    let spoil = |setup| Spoil { setup, ..NOTHING };
    expect(
        spoil(without("max_share")),
        decisions(),
        Check::Decision,
        "MaxShare",
    );
    expect(
        spoil(without("max_am_share")),
        decisions(),
        Check::Decision,
        "MaxAmShare",
    );
    let checks = only(|checks| checks.running_jobs = true);
    let setup = without("max_running_jobs");
    expect(spoil(setup), checks, Check::RunningJobs, "allowed");
    let idle: Setup = |setup| forget(setup, "max_running_jobs", json!(0));
    expect(spoil(idle), checks, Check::RunningJobs, "waits though");
}

#[test]
fn an_engine_that_waits_for_longer_or_less_than_stated_shows() {
    let longer: Setup = |setup| {
        // A wait lasts a round of reports at least, whatever the tasks are worth.
        setup["config"]["delay"] =
            json!({"node_wait_ms": 60_000, "rack_wait_ms": 60_000, "report_ms": 60_000});
    };
    let spoil = Spoil {
        setup: longer,
        ..NOTHING
    };
    let checks = only(|checks| checks.conservation = true);
    expect(spoil, checks, Check::Delay, "has insisted on");
    let less: Setup = |setup| {
        setup["config"]["delay"] = json!({"node_wait_ms": 0, "rack_wait_ms": 0});
    };
    let spoil = Spoil {
        setup: less,
        ..NOTHING
    };
    expect(spoil, decisions(), Check::Decision, "when waiting ends");
}

#[test]
fn a_node_that_is_held_for_longer_than_stated_shows() {
    let setup: Setup = |setup| {
        setup["config"]["reservation"] = json!({"after_ms": 100, "hold_ms": 600_000});
    };
    let spoil = Spoil { setup, ..NOTHING };
    let checks = only(|checks| checks.conservation = true);
    expect(spoil, checks, Check::Delay, "has been held");
}

#[test]
fn events_that_the_engine_must_know_and_ignores_show_at_the_end() {
    let events: Events = |_, events| events.retain(|event| !matches!(event, Event::JobAdded(_)));
    let spoil = Spoil { events, ..NOTHING };
    let checks = only(|checks| checks.left_over = true);
    let quiet = Features {
        noise: false,
        late_answers: false,
        ..features()
    };
    let (by, what) = found(spoil, quiet, checks).expect("nothing was found");
    assert!(by == Check::LeftOver && what.contains("ignored"), "{what}");
}

#[test]
fn a_panic_of_the_engine_is_a_failure_that_says_so() {
    let events: Events = |now, events| {
        if now > 3_000 {
            events.push(Event::Fault(7));
        }
    };
    let setup: Setup = |setup| setup["config"]["testing"] = json!({"faults": true});
    let spoil = Spoil {
        events,
        setup,
        ..NOTHING
    };
    let quiet = Features {
        noise: false,
        ..features()
    };
    let (by, what) = found(spoil, quiet, Checks::none()).expect("nothing was found");
    assert!(by == Check::Panic && what.contains("fault 7"), "{what}");
}
