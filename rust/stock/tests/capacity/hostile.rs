//! Files of people who mean harm, or whose program went wrong: a fault, and never a panic.

use super::{PREFIX, fault, front, properties, queue, read};
use heddle_stock::{Properties, Property, site};
use serde_json::Value;

#[test]
fn queues_twice_blank_or_with_dots_are_refused() {
    for (names, expected) in [
        ("a,a", "\"a\" stands here twice"),
        ("a, a", "stands here twice"),
        ("a, ,b", "none of them blank"),
        ("a.b", "without dots"),
        ("", "expected yarn.scheduler.capacity.root.queues"),
        (",", "expected yarn.scheduler.capacity.root.queues"),
        ("a\nb", "without control"),
    ] {
        let fault = fault(&[("root.queues", names)]);
        assert!(fault.to_string().contains(expected), "{names}: {fault}");
    }
    assert!(read(&Properties::new()).is_err());
}

/// A queue that names one above it is just another queue below (paths are no references), so the
/// file ends, however often names come again.
#[test]
fn names_that_come_again_below_are_other_queues() {
    let all = properties(&[
        ("root.queues", "root"),
        ("root.root.queues", "root"),
        ("root.root.capacity", "100"),
        ("root.root.root.capacity", "100"),
    ]);
    let front = read(&all).expect("a tree");
    assert_eq!(front.config["queues"].as_array().map(Vec::len), Some(3));
}

/// No numbers, or numbers that no property takes.
const NUMBERS: &[&str] = &[
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "1e39",
    "-1e39",
    "-5",
    "",
    " ",
    "x",
    "0x",
    "1,5",
    "٣",
    "99999999999999999999999",
    "--1",
    "+-1",
    "1e",
    "5%",
    "[",
    "[]",
    "[memory]",
];

/// Properties that take numbers.
const NAMES: &[&str] = &[
    "root.a.capacity",
    "maximum-am-resource-percent",
    "root.a.maximum-am-resource-percent",
    "root.a.minimum-user-limit-percent",
    "root.a.user-limit-factor",
    "root.user-settings.u.weight",
    "root.a.user-settings.u.weight",
    "root.a.accessible-node-labels.gpu.capacity",
];

/// Properties that take whole numbers.
const WHOLES: &[&str] = &[
    "maximum-applications",
    "max-parallel-apps",
    "user.max-parallel-apps",
    "user.u.max-parallel-apps",
    "node-locality-delay",
    "root.a.maximum-applications",
    "root.a.max-parallel-apps",
    "root.a.priority",
    "root.a.default-application-priority",
    "root.a.maximum-allocation-mb",
    "root.a.maximum-application-lifetime",
];

#[test]
fn numbers_out_of_range_are_refused() {
    for &name in NAMES {
        // A negative part for ApplicationMasters counts as 0.
        let counts = |number: &&&str| **number == "-5" && name.ends_with("am-resource-percent");
        for &number in NUMBERS.iter().filter(|number| !counts(number)) {
            let fault = fault(&[
                ("root.queues", "a"),
                (
                    if name == "root.a.capacity" {
                        "other"
                    } else {
                        "root.a.capacity"
                    },
                    "100",
                ),
                (name, number),
            ]);
            assert_eq!(fault.line, 3, "{name} {number}: {fault}");
        }
    }
    for &name in WHOLES {
        for number in ["NaN", "1.5", "", "9223372036854775808", "0x", "x", "1e3"] {
            let fault = fault(&[
                ("root.queues", "a"),
                ("root.a.capacity", "100"),
                (name, number),
            ]);
            assert_eq!(fault.line, 3, "{name} {number}");
        }
    }
}

/// Stock does not start with the first, and a queue with the second takes no ask.
#[test]
fn limits_that_let_nothing_in_are_refused() {
    for (name, number) in [
        ("maximum-applications", "-1"),
        ("root.a.maximum-allocation-vcores", "0"),
    ] {
        let fault = fault(&[
            ("root.queues", "a"),
            ("root.a.capacity", "100"),
            (name, number),
        ]);
        assert_eq!(fault.line, 3, "{fault}");
        assert!(fault.to_string().contains(name), "{fault}");
    }
}

/// No node is so large; heddle.json takes at most 10^12.
#[test]
fn a_largest_container_of_any_size_is_one() {
    const MEMORY: &str = "yarn.scheduler.maximum-allocation-mb";
    let tree = [("root.queues", "a"), ("root.a.capacity", "100")];
    for (cluster, own, expected) in [
        (None, "1000000000001", 1_000_000_000_000_i64),
        (Some("9223372036854775807"), "5", 5),
        (
            Some("9223372036854775807"),
            "9223372036854775806",
            1_000_000_000_000,
        ),
    ] {
        let mut all = tree.to_vec();
        all.extend(cluster.map(|most| (MEMORY, most)));
        all.push(("root.a.maximum-allocation-mb", own));
        let front = front(&all);
        let most = &queue(&front, "root.a")["max_container"]["memory-mb"];
        assert_eq!(*most, expected, "{cluster:?} {own}");
    }
    let mut all = tree.to_vec();
    all.extend([(MEMORY, "-5"), ("root.a.maximum-allocation-vcores", "1")]);
    let fault = fault(&all);
    assert!(
        fault.line == 3 && fault.problem.contains("at least 1"),
        "{fault}"
    );
}

/// Stock does not read them there. Pages show what is in force.
#[test]
fn wrong_values_of_leaves_in_a_parent_are_shown_as_none() {
    let all = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.maximum-applications", "x"),
        ("root.default-application-priority", "x"),
        ("root.minimum-user-limit-percent", "x"),
        ("root.user-limit-factor", "x"),
        ("root.maximum-am-resource-percent", "x"),
    ];
    front(&all);
    let shown = heddle_stock::capacity::shown(&properties(&all)).expect("it is in force");
    assert_eq!(shown["queues"]["root"]["max_jobs"], Value::Null);
    assert_eq!(shown["queues"]["root"]["user_limit"], 100.0);
    let leaf = [all[0], all[1], ("root.a.maximum-applications", "x")];
    assert!(heddle_stock::capacity::shown(&properties(&leaf)).is_err());
}

#[test]
fn a_hundred_thousand_queues_are_read_in_time_and_more_are_refused() {
    let file = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("q{at}")).collect();
        let mut all = vec![("root.queues".to_owned(), names.join(","))];
        all.extend(
            names
                .iter()
                .map(|name| (format!("root.{name}.capacity"), "1w".to_owned())),
        );
        properties(&all)
    };
    let front = read(&file(100_000)).expect("queues enough");
    assert_eq!(
        front.config["queues"].as_array().map(Vec::len),
        Some(100_001)
    );
    let fault = read(&file(100_001)).expect_err("one too many");
    assert!(
        fault.line == 1 && fault.problem.contains("more than 100000 queues"),
        "{fault}"
    );
}

#[test]
fn a_deep_tree_is_refused_before_its_paths_fill_the_memory() {
    let file = |depth: usize| {
        let mut all = Vec::new();
        let mut path = "root".to_owned();
        for _ in 0..depth {
            all.push((format!("{path}.queues"), "a".to_owned()));
            path.push_str(".a");
            all.push((format!("{path}.capacity"), "100".to_owned()));
        }
        properties(&all)
    };
    assert!(read(&file(50)).is_ok());
    let fault = read(&file(2_000)).expect_err("too deep");
    assert!(
        fault.line == 101 && fault.problem.contains("more than 50 levels"),
        "{fault}"
    );
}

#[test]
fn thousands_of_unknown_names_are_noted_in_time() {
    let mut all = vec![("root.queues".to_owned(), "a".to_owned())];
    all.push(("root.a.capacity".to_owned(), "100".to_owned()));
    all.extend((0..50_000).map(|at| (format!("root.a.capacitee{at}"), "1".to_owned())));
    all.extend((0..50_000).map(|at| (format!("maximum-applikations{at}"), "1".to_owned())));
    let front = read(&properties(&all)).expect("unknown names alone");
    let noted = front.notes.iter().filter(|note| note.line > 0).count();
    assert_eq!(noted, all.len());
}

#[test]
fn names_of_other_letters_and_lengths_are_names() {
    let long = "q".repeat(255);
    let capacity = format!("root.{long}.capacity");
    let all = [
        ("root.queues".to_owned(), format!("größe,{long}")),
        ("root.größe.capacity".to_owned(), "1w".to_owned()),
        (capacity, "1w".to_owned()),
        ("root.größe.".to_owned(), "x".to_owned()),
        ("root..capacity".to_owned(), "x".to_owned()),
        ("root.".to_owned(), "x".to_owned()),
        (".".to_owned(), "x".to_owned()),
        ("user.".to_owned(), "1".to_owned()),
        ("user..max-parallel-apps".to_owned(), "1".to_owned()),
        (
            "root.größe.user-settings..weight".to_owned(),
            "1".to_owned(),
        ),
    ];
    let front = read(&properties(&all)).expect("names");
    assert_eq!(front.config["queues"][1]["path"], "root.größe");
    let longer = format!("{long}q");
    let fault = fault(&[("root.queues", &longer)]);
    assert!(fault.problem.contains("at most 255 bytes"));
    assert!(fault.to_string().len() < 400);
}

#[test]
fn entities_and_includes_of_the_file_are_refused_by_its_reader() {
    let bomb = "<!DOCTYPE c [<!ENTITY a \"aaaa\">]>\n<configuration/>";
    assert!(site::properties(bomb).is_err());
    let text = format!(
        "<configuration>\n<property><name>{PREFIX}root.queues</name>\n<value>a</value></property>\n\
         <property>\n<name>{PREFIX}root.a.capacity</name><value>99</value></property>\n\
         </configuration>"
    );
    let properties = site::properties(&text).expect("a good file");
    let fault = read(&properties).expect_err("99 of 100");
    assert_eq!(fault.line, 4);
    let queues = properties.get(&format!("{PREFIX}root.queues"));
    assert_eq!(
        queues,
        Some(&Property {
            value: "a".to_owned(),
            line: 2
        })
    );
}
