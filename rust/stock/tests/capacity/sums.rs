//! The sums that stock checks (sections 1.4 and 3.3): a file that it would not start with is a
//! fault with line, queue and what was expected.

use super::{fault, front, queue};

/// Capacities of two children of root, and what the fault says.
#[test]
fn children_in_percent_have_100_or_nothing() {
    for (a, b, expected) in [
        (
            "40",
            "50",
            "line 3: yarn.scheduler.capacity.root.b.capacity: the capacities of the \
                      children of root must sum to 100, found 90",
        ),
        ("70", "70", "found 140"),
        // More than 0.05 above and below.
        ("50", "50.06", "must sum to 100"),
        ("50", "49.94", "must sum to 100"),
        ("0", "0", "must sum to 100, found 0"),
    ] {
        let fault = fault(&[
            ("root.queues", "a,b"),
            ("root.a.capacity", a),
            ("root.b.capacity", b),
        ]);
        assert!(fault.to_string().contains(expected), "{a} and {b}: {fault}");
        assert_eq!(fault.line, 3, "{a} and {b}");
    }
    for (a, b) in [("50", "50.04"), ("50", "49.96"), ("100", "0")] {
        front(&[
            ("root.queues", "a,b"),
            ("root.a.capacity", a),
            ("root.b.capacity", b),
        ]);
    }
    // A fault without a property has the line of the queues.
    let fault = fault(&[("root.queues", "a,b")]);
    assert_eq!(fault.line, 1);
}

#[test]
fn a_sum_of_zero_needs_a_parent_of_zero_or_leave() {
    let below = |own: &str, x: &str, allow: &str| {
        let all = [
            ("root.queues", "a,b"),
            ("root.a.capacity", own),
            ("root.b.capacity", if own == "0" { "100" } else { "50" }),
            ("root.a.queues", "x"),
            ("root.a.x.capacity", x),
            ("root.a.allow-zero-capacity-sum", allow),
        ];
        super::read(&super::properties(&all)).map_err(|fault| (fault.line, fault.problem))
    };
    assert!(below("50", "100", "false").is_ok());
    assert!(below("0", "0", "false").is_ok());
    assert!(below("50", "0", "true").is_ok());
    assert!(below("0", "100", "true").is_ok());
    let (line, problem) = below("50", "0", "false").expect_err("nothing below something");
    assert!(
        line == 5 && problem.contains("must sum to 100, found 0"),
        "{problem}"
    );
    let (line, problem) = below("0", "100", "false").expect_err("something below nothing");
    assert!(
        line == 5 && problem.contains("the parent itself has 0"),
        "{problem}"
    );
}

#[test]
fn children_of_one_parent_have_one_kind() {
    for (a, b) in [
        ("50", "1w"),
        ("1w", "[memory=1024]"),
        ("[memory=1024]", "50"),
    ] {
        let fault = fault(&[
            ("root.queues", "a,b"),
            ("root.a.capacity", a),
            ("root.b.capacity", b),
        ]);
        assert_eq!(fault.line, 3);
        assert!(
            fault
                .problem
                .contains("in line 2 (yarn.scheduler.capacity.root.a.capacity)")
        );
    }
    // Weights may stand below percent, and percent below weights.
    let front = front(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "3w"),
        ("root.b.queues", "x,y"),
        ("root.b.x.capacity", "20"),
        ("root.b.y.capacity", "80"),
        ("root.b.y.queues", "z"),
        ("root.b.y.z.capacity", "1w"),
    ]);
    let min = |path: &str| queue(&front, path)["min_share"]["memory-mb"].clone();
    assert_eq!(
        (min("root.b.y"), min("root.b.y.z")),
        ("80% of parent".into(), "100% of parent".into())
    );
    // Absolute amounts below the root are for all levels.
    let fault = fault(&[
        ("root.queues", "a"),
        ("root.a.capacity", "[memory=1024]"),
        ("root.a.queues", "x"),
        ("root.a.x.capacity", "100"),
    ]);
    assert_eq!(fault.line, 4);
    assert!(
        fault
            .problem
            .contains("root.a and its children must all have absolute amounts")
    );
}

#[test]
fn absolute_amounts_fit_into_the_parent_and_under_the_maximum() {
    let all = |x: &'static str, y: &'static str| {
        [
            ("root.queues", "a"),
            ("root.a.capacity", "[memory=4096,vcores=4]"),
            ("root.a.maximum-capacity", "[memory=8192,vcores=8]"),
            ("root.a.queues", "x"),
            ("root.a.x.capacity", x),
            ("root.a.x.maximum-capacity", y),
        ]
    };
    front(&all("[memory=4096,vcores=4]", "[memory=8192,vcores=8]"));
    let more = fault(&all("[memory=4097,vcores=1]", "-1"));
    assert_eq!(more.line, 2);
    assert!(
        more.problem
            .contains("children of root.a sum to [memory-mb=4097,vcores=1]")
    );
    let lower = fault(&all("[memory=4096]", "[memory=4095]"));
    assert_eq!(lower.line, 6);
    assert!(
        lower
            .problem
            .contains("is below the capacity, [memory-mb=4096]")
    );
    let higher = fault(&all("[memory=4096]", "[memory=8193]"));
    assert!(
        higher
            .problem
            .contains("above the parent's maximum, [memory-mb=8192,vcores=8]")
    );
}

#[test]
fn labels_have_sums_of_their_own() {
    let all = |b: &'static str| {
        [
            ("root.queues", "a,b"),
            ("root.a.capacity", "50"),
            ("root.b.capacity", "50"),
            ("root.a.accessible-node-labels.gpu.capacity", "30"),
            ("root.b.accessible-node-labels.gpu.capacity", b),
        ]
    };
    front(&all("70"));
    let fault = fault(&all("60"));
    assert_eq!(fault.line, 5);
    assert!(
        fault
            .problem
            .contains("children of root for label gpu must sum to 100, found 90")
    );
}

/// Without legacy mode stock checks nothing (3.5).
#[test]
fn no_sum_is_checked_without_legacy_mode() {
    let front = front(&[
        ("legacy-queue-mode.enabled", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "70"),
        ("root.b.capacity", "2w"),
    ]);
    assert_eq!(
        queue(&front, "root.a")["min_share"]["memory-mb"],
        "70% of parent"
    );
}
