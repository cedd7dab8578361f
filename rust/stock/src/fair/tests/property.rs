//! The properties `yarn.scheduler.fair.*`.

use super::*;

fn fair(list: &[(&str, &str)]) -> Front {
    let names: Vec<String> = list
        .iter()
        .map(|(name, _)| format!("yarn.scheduler.fair.{name}"))
        .collect();
    let named = names.iter().zip(list);
    let list: Vec<(&str, &str)> = named
        .map(|(name, (_, value))| (&name[..], *value))
        .collect();
    with("", &list)
}

/// The verdict on a property.
#[track_caller]
fn said(front: &Front, name: &str) -> String {
    verdict(front, &format!("yarn.scheduler.fair.{name}"))
}

#[test]
fn preemption_is_translated() {
    let front = fair(&[
        ("preemption", "true"),
        ("preemption.cluster-utilization-threshold", "0.7f"),
        ("waitTimeBeforeKill", "5000"),
        ("waitTimeBeforeNextStarvationCheck", "1"),
        ("am.preemption", "true"),
    ]);
    let preemption = &front.config["preemption"];
    assert_eq!(preemption["enabled"], true);
    assert_eq!(preemption["cluster_threshold"], 0.7);
    assert_eq!(preemption["grace_ms"], 5_000);
    assert_eq!(preemption["masters"], true);
    assert_eq!(said(&front, "am.preemption"), "exact");
    assert!(said(&front, "waitTimeBeforeNextStarvationCheck").contains("next tick"));
}

#[test]
fn one_switch_for_masters_stands_for_that_of_each_queue() {
    let front = fair(&[
        ("am.preemption", "true"),
        ("am.preemption.root.a", "false"),
        ("am.preemption.root.b", "true"),
    ]);
    assert_eq!(front.config["preemption"]["masters"], false);
    assert!(said(&front, "am.preemption.root.a").contains("one switch for all"));
    assert_eq!(said(&front, "am.preemption.root.b"), "exact");
    let front = fair(&[("am.preemption.root.b", "false")]);
    assert_eq!(front.config["preemption"]["masters"], false);
    assert_eq!(said(&front, "am.preemption.root.b"), "exact");
}

#[test]
fn what_a_heartbeat_gives_out_is_translated() {
    let multiple = ("assignmultiple", "true");
    let bounded = ("dynamic.max.assign", "false");
    for (list, most, part) in [
        (vec![], Value::Null, Value::Null),
        (vec![("assignmultiple", "false")], json!(1), Value::Null),
        (vec![multiple], Value::Null, json!(0.5)),
        (vec![multiple, bounded], Value::Null, Value::Null),
        (
            vec![multiple, bounded, ("max.assign", "-1")],
            Value::Null,
            Value::Null,
        ),
        (
            vec![multiple, bounded, ("max.assign", "4")],
            json!(4),
            Value::Null,
        ),
        (vec![multiple, ("max.assign", "4")], Value::Null, json!(0.5)),
        (vec![("max.assign", "4")], Value::Null, Value::Null),
    ] {
        let config = fair(&list).config;
        assert_eq!(config["heartbeat"]["containers_max"], most, "{list:?}");
        assert_eq!(config["heartbeat"]["node_part_max"], part, "{list:?}");
    }
    let front = fair(&[multiple, ("max.assign", "4")]);
    assert!(said(&front, "max.assign").contains("no effect"));
}

#[test]
fn locality_is_a_wait() {
    let node = ("locality.threshold.node", "0.5");
    let rack = ("locality.threshold.rack", "7");
    let by_time = [
        ("continuous-scheduling-enabled", "true"),
        ("locality-delay-node-ms", "200"),
        ("locality-delay-rack-ms", "0x10"),
    ];
    let off = || json!({"node_wait_ms": 0, "rack_wait_ms": 0});
    for (list, expected) in [
        (vec![], off()),
        (vec![node], off()),
        (vec![node, ("locality.threshold.rack", "-1.0")], off()),
        (
            vec![node, rack],
            json!({"node_misses": "50%", "rack_misses": "100%"}),
        ),
        (
            vec![
                ("locality.threshold.rack", "0"),
                ("locality.threshold.node", "0.07f"),
            ],
            json!({"node_misses": "7%", "rack_misses": "0%"}),
        ),
        (
            by_time.to_vec(),
            json!({"node_wait_ms": 200, "rack_wait_ms": 16}),
        ),
        (by_time[..2].to_vec(), off()),
        (by_time[1..].to_vec(), off()),
    ] {
        assert_eq!(fair(&list).config["delay"], expected, "{list:?}");
    }
    let interval = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
    let front = with(
        "",
        &[
            (interval, "3000"),
            ("yarn.scheduler.fair.locality.threshold.node", "0.5"),
            ("yarn.scheduler.fair.locality.threshold.rack", "0"),
        ],
    );
    let expected = json!({"node_misses": "50%", "rack_misses": "0%", "report_ms": 3_000});
    assert_eq!(front.config["delay"], expected);
    assert!(said(&front, "locality.threshold.node").contains("in which so many report"));
    assert_eq!(said(&front, "locality.threshold.rack"), "exact");
    let front = fair(&by_time);
    assert!(said(&front, "continuous-scheduling-enabled").contains("no such thread"));
}

#[test]
fn the_rest_is_translated() {
    let front = fair(&[
        ("sizebasedweight", "true"),
        ("reservable-nodes", "0.25"),
        ("update-interval-ms", "100"),
        ("allocation.file", "x.xml"),
    ]);
    assert_eq!(front.config["queue_defaults"]["size_weight"], true);
    assert_eq!(front.config["reservation"], json!({"nodes_max": 0.25}));
    assert!(said(&front, "update-interval-ms").contains("heddle.tick-ms"));
    assert_eq!(said(&front, "allocation.file"), "exact");
    let stopped = fair(&[("update-interval-ms", "0")]);
    assert!(said(&stopped, "update-interval-ms").starts_with("refused: with 0"));
    let increment = "yarn.scheduler.increment-allocation-mb";
    let front = with("", &[(increment, "512"), ("yarn.acl.enable", "true")]);
    assert_eq!(verdict(&front, increment), "exact");
    assert_eq!(front.notes.len(), 1);
}

#[test]
fn a_wrong_number_stops_a_start_and_a_wrong_switch_is_its_default() {
    let front = fair(&[
        ("waitTimeBeforeKill", "15s"),
        ("locality.threshold.node", "half"),
        ("reservable-nodes", "NaN"),
        ("max.assign", ""),
        ("preemption", "yes"),
        ("continuous-scheduling-enabled", "on"),
        ("preemtion", "true"),
    ]);
    let stops = crate::refused(&front.notes, &[]);
    let stops = stops
        .iter()
        .map(|note| &note.element["yarn.scheduler.fair.".len()..]);
    let expected = [
        "waitTimeBeforeKill",
        "locality.threshold.node",
        "reservable-nodes",
        "max.assign",
    ];
    assert_eq!(stops.collect::<Vec<_>>(), expected);
    assert_eq!(front.config["preemption"]["enabled"], false);
    assert!(said(&front, "preemption").contains("\"yes\" counts as false"));
    assert!(said(&front, "continuous-scheduling-enabled").contains("counts as false"));
    assert!(said(&front, "preemtion").contains("did you mean `preemption`"));
    let lines: Vec<u32> = front.notes.iter().map(|note| note.line).collect();
    assert!(lines.is_sorted(), "{lines:?}");
}
