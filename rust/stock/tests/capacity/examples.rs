//! Files as Hadoop's own documentation shows them.

use super::{approximated, front, queue, verdict};
use heddle_stock::{Properties, Property, Verdict, capacity};
use serde_json::json;

/// The settings of the file that Hadoop ships.
const SHIPPED: &[(&str, &str)] = &[
    ("maximum-applications", "10000"),
    ("maximum-am-resource-percent", "0.1"),
    (
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
    ),
    ("root.queues", "default"),
    ("root.default.capacity", "100"),
    ("root.default.user-limit-factor", "1"),
    ("root.default.maximum-capacity", "100"),
    ("root.default.state", "RUNNING"),
    ("root.default.acl_submit_applications", "*"),
    ("root.default.acl_administer_queue", "*"),
    ("root.default.acl_application_max_priority", "*"),
    ("root.default.maximum-application-lifetime", "-1"),
    ("root.default.default-application-lifetime", "-1"),
    ("node-locality-delay", "40"),
    ("rack-locality-additional-delay", "-1"),
    ("queue-mappings", ""),
    ("queue-mappings-override.enable", "false"),
    ("per-node-heartbeat.maximum-offswitch-assignments", "1"),
    ("application.fail-fast", "false"),
    ("workflow-priority-mappings", ""),
    ("workflow-priority-mappings-override.enable", "false"),
];

#[test]
fn the_file_that_hadoop_ships_is_one_queue_for_everybody() {
    let front = front(SHIPPED);
    let expected = json!({
        "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
        "share": {"memory_only": true},
        "reload": "refuse",
        "queue_defaults": {"compare": "capacity", "order": "fifo", "max_am_share": 0.1},
        "delay": {"node_misses": 40, "rack_misses": 0},
        "heartbeat": {"off_switch_max": 1},
        "preemption": {
            "enabled": false, "min_share_timeout_ms": 3000, "fair_share_threshold": 0.0,
            "grace_ms": 15000, "round_ms": 3000, "round_max": 0.1, "round_part": 0.2,
            "dead_zone": 0.1},
        "placement": [
            {"rule": "specified", "names": "leaves"},
            {"rule": "default", "queue": "default", "names": "leaves"}],
        "queues": [
            {"path": "root", "compare": "capacity", "max_jobs": 10000},
            {"path": "root.default", "weight": 100.0,
             "min_share": {"memory-mb": "100% of parent"},
             "max_am_share": 0.1, "max_jobs": 10000, "user_limit_percent": 100.0,
             "user_limit_factor": 1.0, "order": "fifo",
             "acl_submit": "*", "acl_admin": "*", "state": "running"}],
    });
    assert_eq!(front.config, expected);
    let refused = heddle_stock::refused(&front.notes, &[]);
    assert!(refused.is_empty(), "{refused:?}");
    // Each property has one note, in the order of the file.
    let noted: Vec<u32> = front.notes.iter().map(|note| note.line).collect();
    let remarks = noted.iter().filter(|line| **line == 0).count();
    let lines: Vec<u32> = (1..=SHIPPED.len() as u32).collect();
    assert_eq!(noted[remarks..], lines);
    assert_eq!(verdict(&front, "root.default.capacity"), &Verdict::Exact);
    assert!(approximated(
        &front,
        "node-locality-delay",
        "that many nodes report"
    ));
}

/// The three queues with queues below them of the documentation's first example.
#[test]
fn a_tree_in_percent_has_parts_of_parents() {
    let front = front(&[
        ("root.queues", "a,b,c"),
        ("root.a.queues", "a1,a2"),
        ("root.b.queues", "b1,b2,b3"),
        ("root.a.capacity", "40"),
        ("root.a.maximum-capacity", "80"),
        ("root.b.capacity", "33.3"),
        ("root.c.capacity", "26.7"),
        ("root.a.a1.capacity", "30"),
        ("root.a.a2.capacity", "70"),
        ("root.a.a2.maximum-capacity", "70"),
        ("root.b.b1.capacity", "33.4"),
        ("root.b.b2.capacity", "33.3"),
        ("root.b.b3.capacity", "33.3"),
        (
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
    ]);
    let share = |percent: &str| {
        let share = format!("{percent}% of parent");
        json!({"memory-mb": share, "vcores": share})
    };
    let paths: Vec<_> = front.config["queues"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    let paths: Vec<_> = paths.iter().map(|queue| queue["path"].clone()).collect();
    let expected = [
        "root",
        "root.a",
        "root.b",
        "root.c",
        "root.a.a1",
        "root.a.a2",
        "root.b.b1",
        "root.b.b2",
        "root.b.b3",
    ];
    assert_eq!(paths, expected);
    let a = queue(&front, "root.a");
    assert_eq!(a["min_share"], share("40"));
    assert_eq!(a["max_share"], share("80"));
    assert_eq!(a["compare"], "capacity");
    assert_eq!(a["weight"], 40.0);
    // Limits of applications are those of leaves.
    assert_eq!((&a["max_jobs"], &a["order"]), (&json!(null), &json!(null)));
    assert_eq!(queue(&front, "root.b.b1")["min_share"], share("33.4"));
    assert_eq!(queue(&front, "root.a.a2")["max_share"], share("70"));
    assert_eq!(queue(&front, "root.b.b1")["max_share"], json!(null));
    assert_eq!(front.config["share"]["dominant"], true);
    // 10000 x 0.4f x 0.7f is 2800 in 32 bits; 10000 x 0.333f x 0.333f is 1108.89.
    assert_eq!(queue(&front, "root.a.a2")["max_jobs"], 2800);
    assert_eq!(queue(&front, "root.b.b2")["max_jobs"], 1108);
}

#[test]
fn weights_are_parts_of_their_sum() {
    let all = [
        ("root.queues", "a,b,c,d"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "2w"),
        ("root.c.capacity", "1w"),
        ("root.b.queues", "x,y,z"),
        ("root.b.x.capacity", "1w"),
        ("root.b.y.capacity", "1w"),
        ("root.b.z.capacity", "1w"),
        ("root.b.z.maximum-capacity", "50"),
        ("root.c.queues", "v,w"),
        ("root.c.v.capacity", "20"),
        ("root.c.w.capacity", "80"),
    ];
    let front = front(&all);
    let min = |path: &str| queue(&front, path)["min_share"]["memory-mb"].clone();
    assert_eq!(
        (min("root.a"), min("root.b")),
        (json!("25% of parent"), json!("50% of parent"))
    );
    // Cut, so that three thirds are not more than all.
    assert_eq!(min("root.b.x"), "33.333333% of parent");
    assert_eq!(min("root.c.w"), "80% of parent");
    assert_eq!(queue(&front, "root.b")["weight"], 2.0);
    // Without a capacity it has none, and its siblings keep their weights.
    assert_eq!(queue(&front, "root.d")["weight"], 0.0);
    let z = queue(&front, "root.b.z");
    assert_eq!(z["max_share"]["memory-mb"], "50% of parent");
    // Half of a third: 10000 x 0.5f x 0.333..f.
    assert_eq!(queue(&front, "root.b.x")["max_jobs"], 1666);
    assert!(approximated(&front, "Hadoop 3.3", "refuses weights"));
}

/// Each queue that a submission makes has a weight of 1 among its siblings (9.3).
#[test]
fn weights_stay_weights_beside_queues_made_by_submissions() {
    let front = front(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "3w"),
        ("root.auto-queue-creation-v2.enabled", "true"),
        ("root.b.queues", "x,y"),
        ("root.b.x.capacity", "20"),
        ("root.b.y.capacity", "80"),
    ]);
    for (path, weight) in [("root.a", 1.0), ("root.b", 3.0), ("root.b.y", 80.0)] {
        let queue = queue(&front, path);
        assert_eq!(
            (&queue["weight"], &queue["min_share"]),
            (&json!(weight), &json!(null)),
            "{path}"
        );
    }
    assert!(approximated(&front, "root.a.capacity", "as a weight"));
}

#[test]
fn absolute_amounts_are_written_as_numbers() {
    let front = front(&[
        ("resource-calculator", "x.DominantResourceCalculator"),
        ("yarn.resource-types", "gpu"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "[memory=10Gi,vcores=10,gpu=2]"),
        ("root.a.maximum-capacity", "[memory=20Gi,vcores=20,gpu=2]"),
        ("root.b.capacity", "[memory=4096,vcores=4]"),
        ("root.a.queues", "x"),
        ("root.a.x.capacity", "[memory=5120,vcores=5]"),
    ]);
    let a = queue(&front, "root.a");
    assert_eq!(
        a["min_share"],
        json!({"memory-mb": 10240, "vcores": 10, "gpu": 2})
    );
    assert_eq!(
        a["max_share"],
        json!({"memory-mb": 20480, "vcores": 20, "gpu": 2})
    );
    assert_eq!(a["weight"], 10240.0);
    assert_eq!(
        queue(&front, "root.b")["min_share"],
        json!({"memory-mb": 4096, "vcores": 4})
    );
    // How many applications fit depends on the cluster in stock (6.1).
    assert_eq!(queue(&front, "root.b")["max_jobs"], json!(null));
    assert_eq!(queue(&front, "root.b")["max_jobs_by_share"], 10_000);
}

/// Section 3.5: each type in its own way, with legacy mode off.
#[test]
fn types_may_have_percent_weights_and_amounts_side_by_side() {
    let front = front(&[
        ("legacy-queue-mode.enabled", "false"),
        ("resource-calculator", "x.DominantResourceCalculator"),
        ("root.queues", "a,b,c"),
        ("root.a.capacity", "[memory=50%,vcores=3w]"),
        ("root.b.capacity", "[memory=1w,vcores=1w]"),
        ("root.c.capacity", "[memory=1w,vcores=4]"),
        ("root.c.maximum-applications", "100"),
    ]);
    let min = |path: &str| queue(&front, path)["min_share"].clone();
    // Half of memory is left for the two weights.
    assert_eq!(min("root.a")["memory-mb"], "50% of parent");
    assert_eq!(min("root.b"), json!({"memory-mb": "25% of parent"}));
    assert_eq!(
        min("root.c"),
        json!({"memory-mb": "25% of parent", "vcores": 4})
    );
    assert!(approximated(
        &front,
        "root.a.capacity",
        "a sibling has an absolute amount"
    ));
    assert_eq!(verdict(&front, "root.c.capacity"), &Verdict::Exact);
}

#[test]
fn all_faults_of_a_file_are_found_sorted_by_line() {
    let line = |line: u32, name: &str, value: &str| {
        let name = format!("yarn.scheduler.capacity.{name}");
        let value = value.to_owned();
        (name, Property { value, line })
    };
    let of = |changed: &[(u32, &str, &str)]| {
        let good = [
            (1, "root.queues", "a,b"),
            (2, "root.a.capacity", "40"),
            (3, "root.b.capacity", "60"),
        ];
        let all = good.iter().chain(changed);
        let properties: Properties = all
            .map(|(at, name, value)| line(*at, name, value))
            .collect();
        let faults = capacity::read_all(&properties).expect_err("faults");
        faults.iter().map(|fault| fault.line).collect::<Vec<_>>()
    };
    // Values of several queues, of the scheduler and of its preemption.
    let values = of(&[
        (9, "root.a.maximum-applications", "many"),
        (5, "root.b.state", "ASLEEP"),
        (7, "node-locality-delay", "soon"),
        (8, "root.a.minimum-user-limit-percent", "most"),
    ]);
    assert_eq!(values, [5, 7, 8, 9]);
    // A sum is wrong, and a value besides. Of a sum with a wrong term nothing is said.
    let sum = [(3, "root.b.capacity", "70"), (6, "root.a.state", "ASLEEP")];
    assert!(
        of(&sum).contains(&6) && of(&sum).len() == 2,
        "{:?}",
        of(&sum)
    );
    assert_eq!(
        of(&[(3, "root.b.capacity", "x"), (6, "root.a.state", "ASLEEP")]),
        [3, 6]
    );
}
