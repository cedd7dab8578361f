//! Every element and property, and how it is said in heddle.json. Expected values are written by
//! hand from docs/develop/stock-fair.md.

mod placement;
mod property;

use super::*;
use crate::{Property, Verdict};

fn properties(list: &[(&str, &str)]) -> Properties {
    let property = |line: usize, value: &str| Property {
        value: value.to_owned(),
        line: line as u32,
    };
    let numbered = list.iter().zip(1..);
    numbered
        .map(|((name, value), line)| (name.to_string(), property(line, value)))
        .collect()
}

#[track_caller]
fn front(inside: &str) -> Front {
    with(inside, &[])
}

#[track_caller]
fn with(inside: &str, list: &[(&str, &str)]) -> Front {
    let text = format!("<allocations>\n{inside}\n</allocations>");
    read(Some(&text), &properties(list)).expect("a good file")
}

#[track_caller]
fn fault(inside: &str) -> String {
    let text = format!("<allocations>\n{inside}\n</allocations>");
    let fault = read(Some(&text), &Properties::new()).expect_err("a file to refuse");
    fault.to_string()
}

/// The entry of a queue.
#[track_caller]
fn queue(front: &Front, path: &str) -> Value {
    let queues = front.config["queues"].as_array().expect("a list");
    let found = queues.iter().find(|queue| queue["path"] == path);
    found.expect(path).clone()
}

/// The entry of the only queue, `root.a`, with these elements.
#[track_caller]
fn leaf(inside: &str) -> Value {
    queue(
        &front(&format!("<queue name=\"a\">{inside}</queue>")),
        "root.a",
    )
}

#[track_caller]
fn verdict(front: &Front, element: &str) -> String {
    let notes: Vec<String> = front
        .notes
        .iter()
        .filter(|note| note.element == element)
        .map(ToString::to_string)
        .collect();
    let [only] = &notes[..] else {
        panic!("{element}: {notes:?} of {:?}", front.notes);
    };
    only[element.len() + 2..].to_owned()
}

#[test]
fn a_file_with_every_element_of_a_queue_is_translated() {
    let front = front(
        "<queue name=\"ads\">
           <minResources>4096 mb, 4 vcores</minResources>
           <maxResources>memory-mb=50%, vcores=25.5%</maxResources>
           <maxContainerAllocation>vcores=2, memory-mb=2048</maxContainerAllocation>
           <maxRunningApps>7</maxRunningApps>
           <maxAMShare>0.1</maxAMShare>
           <weight>2.5</weight>
           <schedulingPolicy>FIFO</schedulingPolicy>
           <minSharePreemptionTimeout>30</minSharePreemptionTimeout>
           <fairSharePreemptionTimeout>60</fairSharePreemptionTimeout>
           <fairSharePreemptionThreshold>0.25</fairSharePreemptionThreshold>
           <allowPreemptionFrom>False</allowPreemptionFrom>
           <aclSubmitApps> staff</aclSubmitApps>
           <aclAdministerApps>alice</aclAdministerApps>
         </queue>
         <pool name=\"web\" type=\"parent\">
           <maxChildResources>40%</maxChildResources>
         </pool>
         <queue name=\"science\"><queue name=\"physics\"/></queue>",
    );
    assert_eq!(
        front.config["queues"],
        json!([
            {"path": "root.ads", "min_share": {"memory-mb": 4096, "vcores": 4},
             "max_share": {"memory-mb": "50%", "vcores": "25.5%"},
             "max_container": {"memory-mb": 2048, "vcores": 2},
             "max_running_jobs": 7, "max_am_share": 0.1, "weight": 2.5, "order": "fifo",
             "preemption": {"min_share_timeout_ms": 30_000, "fair_share_timeout_ms": 60_000,
                            "fair_share_threshold": 0.25},
             "preempt_from": false, "acl_submit": " staff", "acl_admin": "alice"},
            {"path": "root.web", "max_child_share": "40%", "parent": true},
            {"path": "root.science"},
            {"path": "root.science.physics"},
        ])
    );
    assert!(
        front
            .notes
            .iter()
            .all(|note| note.verdict == Verdict::Exact)
    );
    let noted: Vec<_> = front.notes.iter().map(|note| note.line).collect();
    assert_eq!(noted, (2..=15).chain([17, 18, 20, 20]).collect::<Vec<_>>());
    assert_eq!(front.notes[1].to_string(), "root.ads/minResources: exact");
}

#[test]
fn nothing_in_a_file_is_what_yarn_takes_it_for() {
    for text in [Some("<allocations/>"), None] {
        let front = read(text, &Properties::new()).expect("good");
        let expire_ms = if text.is_some() { 10_000 } else { NEVER_MS };
        let expected = json!({
            "policy": {"share": "fair", "order": "by-queue", "place": "delay"},
            "queue_defaults": {"compare": "memory", "order": "fair", "max_priority": 0},
            "queues": [],
            "preemption": {"enabled": false, "cluster_threshold": 0.8, "masters": false,
                "min_share_timeout_ms": NEVER_MS, "fair_share_timeout_ms": NEVER_MS,
                "fair_share_threshold": 0.5},
            "placement": [
                {"rule": "specified", "create": true, "names": "paths"},
                {"rule": "user", "create": true, "names": "paths"}],
            "delay": {"node_wait_ms": 0, "rack_wait_ms": 0},
            "dynamic_queues": {"expire_ms": expire_ms, "max_per_user": 10_000},
        });
        assert_eq!(front.config, expected);
        assert_eq!(front.notes, []);
    }
}

#[test]
fn defaults_of_queues_and_users_are_translated() {
    let front = front(
        "<queueMaxResourcesDefault>60% memory, 70% cpu</queueMaxResourcesDefault>
         <queueMaxAppsDefault>40</queueMaxAppsDefault>
         <queueMaxAMShareDefault>-1</queueMaxAMShareDefault>
         <defaultQueueSchedulingMode>Drf</defaultQueueSchedulingMode>
         <userMaxAppsDefault>5</userMaxAppsDefault>
         <user name=\"alice\"><maxRunningApps>30</maxRunningApps></user>
         <user name=\"b.c\"><maxRunningApps>-1</maxRunningApps></user>
         <defaultMinSharePreemptionTimeout>10</defaultMinSharePreemptionTimeout>
         <fairSharePreemptionTimeout>20</fairSharePreemptionTimeout>
         <defaultFairSharePreemptionThreshold>1.5</defaultFairSharePreemptionThreshold>",
    );
    assert_eq!(
        front.config["queue_defaults"],
        json!({"compare": "dominant", "order": "drf", "max_priority": 0, "max_running_jobs": 40,
               "max_am_share": -1.0, "max_share": {"memory-mb": "60%", "vcores": "70%"}})
    );
    assert_eq!(
        front.config["users"],
        json!({"max_running_jobs": 5,
               "each": {"alice": {"max_running_jobs": 30}, "b.c": {"max_running_jobs": 0}}})
    );
    let preemption = &front.config["preemption"];
    assert_eq!(preemption["min_share_timeout_ms"], 10_000);
    assert_eq!(preemption["fair_share_timeout_ms"], 20_000);
    assert_eq!(preemption["fair_share_threshold"], 1.0);
    assert_eq!(verdict(&front, "user alice/maxRunningApps"), "exact");
    assert!(verdict(&front, "user b.c/maxRunningApps").contains("none may run"));
}

#[test]
fn the_timeouts_of_root_are_those_of_all() {
    let front = front(
        "<defaultMinSharePreemptionTimeout>1</defaultMinSharePreemptionTimeout>
         <defaultFairSharePreemptionTimeout>2</defaultFairSharePreemptionTimeout>
         <fairSharePreemptionTimeout>9</fairSharePreemptionTimeout>
         <queue name=\"root\">
           <minSharePreemptionTimeout>3</minSharePreemptionTimeout>
           <maxRunningApps>4</maxRunningApps>
           <queue name=\"a\"/>
         </queue>",
    );
    let preemption = &front.config["preemption"];
    assert_eq!(preemption["min_share_timeout_ms"], 3_000);
    assert_eq!(preemption["fair_share_timeout_ms"], 2_000);
    let expected = json!([{"path": "root", "max_running_jobs": 4}, {"path": "root.a"}]);
    assert_eq!(front.config["queues"], expected);
    assert!(verdict(&front, "fairSharePreemptionTimeout").contains("no effect"));
}

#[test]
fn numbers_out_of_range_are_what_yarn_takes_them_for() {
    for (inside, expected) in [
        ("<weight>-3</weight>", json!({"weight": 0.0})),
        ("<weight>-0.0</weight>", json!({"weight": 0.0})),
        ("<weight>Infinity</weight>", json!({"weight": 1e9})),
        ("<weight>1e-5f</weight>", json!({"weight": 1e-5})),
        (
            "<maxRunningApps>-1</maxRunningApps>",
            json!({"max_running_jobs": 0}),
        ),
        ("<maxAMShare>7</maxAMShare>", json!({"max_am_share": 1.0})),
        (
            "<maxAMShare>-1.00001</maxAMShare>",
            json!({"max_am_share": -1.0}),
        ),
        (
            "<maxAMShare>-0.5</maxAMShare>",
            json!({"max_am_share": 0.0}),
        ),
        (
            "<minSharePreemptionTimeout>9223372036854775807</minSharePreemptionTimeout>",
            json!({"preemption": {"min_share_timeout_ms": NEVER_MS}}),
        ),
        (
            "<fairSharePreemptionTimeout>-1</fairSharePreemptionTimeout>",
            json!({"preemption": {"fair_share_timeout_ms": 0}}),
        ),
        (
            "<fairSharePreemptionThreshold>-2</fairSharePreemptionThreshold>",
            json!({"preemption": {"fair_share_threshold": 0.0}}),
        ),
        (
            "<maxResources>vcores=9223372036854775807</maxResources>",
            json!({"max_share": {"vcores": 1_000_000_000_000i64}}),
        ),
    ] {
        let mut entry = leaf(inside);
        entry.as_object_mut().expect("an entry").remove("path");
        assert_eq!(entry, expected, "{inside}");
    }
}

#[test]
fn resources_that_yarn_reads_in_an_unexpected_way_are_read_in_that_way_and_noted() {
    let text = "<queue name=\"a\">
        <minResources>50%</minResources><maxContainerAllocation>vcores=50%</maxContainerAllocation>
        <maxResources>memory-mb=4096</maxResources></queue>
        <queue name=\"b\"><minResources>2048 mb, 8 vcores</minResources>
        <maxResources>1024 mb, 9 vcores</maxResources>
        <maxChildResources>1 mb, 1 vcores</maxChildResources></queue>
        <queue name=\"c\"><minResources>2048 mb, 8 vcores</minResources>
        <maxResources>10%</maxResources></queue>";
    let front = front(text);
    assert_eq!(
        front.config["queues"],
        json!([
            {"path": "root.a", "max_share": {"memory-mb": 4096, "vcores": 0}},
            {"path": "root.b", "min_share": {"memory-mb": 2048, "vcores": 8},
             "max_share": {"memory-mb": 2048, "vcores": 9}},
            {"path": "root.c", "min_share": {"memory-mb": 2048, "vcores": 8}, "max_share": "10%"},
        ])
    );
    for (element, words) in [
        ("root.a/minResources", "no percentage"),
        ("root.a/maxContainerAllocation", "no percentage"),
        ("root.a/maxResources", "takes for 0"),
        ("root.b/maxResources", "below minResources"),
        ("root.b/maxChildResources", "no effect at a leaf"),
        ("root.c/maxResources", "exact"),
    ] {
        let said = verdict(&front, element);
        assert!(said.contains(words), "{element}: {said}");
    }
}

#[test]
fn further_resource_types_are_those_of_the_property() {
    let list = [("yarn.resource-types", "gpu, memory-mb,fpga")];
    let text = "<queue name=\"a\"><maxResources>50% memory, 60% cpu</maxResources></queue>";
    assert_eq!(
        queue(&with(text, &list), "root.a")["max_share"],
        json!({"memory-mb": "50%", "vcores": "60%", "gpu": 0, "fpga": 0})
    );
    let text = "<allocations><queue name=\"a\"><maxResources>tpu=1</maxResources></queue>\
                </allocations>";
    let fault = read(Some(text), &properties(&list))
        .expect_err("no tpu")
        .to_string();
    assert!(fault.contains("\"tpu\" is no resource type"), "{fault}");
}

#[test]
fn a_policy_is_an_order_at_a_leaf_and_a_comparison_at_a_parent() {
    let front = front(
        "<queue name=\"root\"><schedulingPolicy>drf</schedulingPolicy>
         <queue name=\"a\"><schedulingPolicy>drf</schedulingPolicy>
           <queue name=\"b\"><schedulingPolicy>fifo</schedulingPolicy></queue></queue>
         <queue name=\"c\"/>
         <queue name=\"d\" type=\"parent\"><schedulingMode>fair</schedulingMode></queue></queue>",
    );
    assert_eq!(
        front.config["queues"],
        json!([
            {"path": "root", "compare": "dominant"},
            {"path": "root.a", "compare": "dominant"},
            {"path": "root.a.b", "order": "fifo"},
            {"path": "root.c"},
            {"path": "root.d", "compare": "memory", "parent": true},
        ])
    );
    assert_eq!(verdict(&front, "root.d/schedulingMode"), "exact");
}

/// Such a queue does not exist, and a submission must not make it.
#[test]
fn queues_that_yarn_does_not_make_because_of_their_policy_are_warned_of() {
    let read = front(
        "<queue name=\"a\"><schedulingPolicy>drf</schedulingPolicy><queue name=\"b\"/></queue>
         <queue name=\"c\"><schedulingPolicy>fifo</schedulingPolicy><queue name=\"d\"/></queue>
         <queue name=\"e\"><schedulingPolicy>org.example.Mine</schedulingPolicy></queue>",
    );
    let expected = json!([{"path": "root.e", "order": "fair"}]);
    assert_eq!(read.config["queues"], expected);
    let never = &read.config["dynamic_queues"]["never"];
    assert_eq!(*never, json!(["root.a", "root.c"]));
    for (element, words) in [
        ("root.a", "queue root.a does not exist"),
        ("root.a", "(Hadoop 2.7 took it)"),
        ("root.a.b", "it is below root.a"),
        ("root.c", "fifo is for leaves"),
        ("root.c.d", "queue root.c.d does not exist"),
    ] {
        let said = verdict(&read, &format!("{element}/schedulingPolicy"));
        assert!(
            said.starts_with("warning: ") && said.contains(words),
            "{said}"
        );
    }
    let stops = crate::refused(&read.notes, &[]);
    let stops: Vec<_> = stops.iter().map(|note| note.element.as_str()).collect();
    assert_eq!(stops, ["root.e/schedulingPolicy"]);

    let fifo = "<schedulingPolicy>fifo</schedulingPolicy>";
    let fifo_root = front(&format!(
        "<queue name=\"root\">{fifo}<queue name=\"a\"/></queue>"
    ));
    assert_eq!(
        fifo_root.config["queues"],
        json!([{"path": "root", "compare": "memory"}])
    );
    let never = |front: &Front| front.config["dynamic_queues"]["never"].clone();
    assert_eq!(never(&fifo_root), json!(["root", "root.a"]));
    // A submission's queue has the default policy, which may not stand below fair either.
    let fair_root = front(
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy><queue name=\"root\">
         <schedulingPolicy>fair</schedulingPolicy><queue name=\"a\">
         <schedulingPolicy>fifo</schedulingPolicy></queue><queue name=\"b\"/></queue>",
    );
    assert_eq!(never(&fair_root), json!(["root", "root.b"]));
    assert_eq!(queue(&fair_root, "root.a")["order"], "fifo");
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FifoPolicy";
    let own = format!("<schedulingPolicy>{class}</schedulingPolicy>");
    assert_eq!(leaf(&own)["order"], "fifo");
}

#[test]
fn two_entries_of_a_queue_and_two_values_are_merged_the_last_one_wins() {
    let front = front(
        "<queue name=\"a\"><weight>1</weight><weight>2</weight><maxRunningApps>3</maxRunningApps>
         </queue>
         <pool name=\"a\"><weight>4</weight><queue name=\"b\"/></pool>",
    );
    let a = json!({"path": "root.a", "weight": 4.0, "max_running_jobs": 3});
    assert_eq!(front.config["queues"], json!([a, {"path": "root.a.b"}]));
    let said: Vec<String> = front.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        said.iter()
            .filter(|said| said.contains("and counts"))
            .count(),
        2
    );
    assert!(
        said.iter()
            .any(|said| said.starts_with("root.a: approximated: is already in line 2"))
    );
}

#[test]
fn what_yarn_ignores_is_noted_and_what_only_heddle_lacks_stops_a_start() {
    let front = front(
        "<maxRunningApps>1</maxRunningApps>
         <queue name=\"a\" color=\"red\" type=\"leaf\">words<maxRunningJobs>1</maxRunningJobs>
           <aclSubmitReservations>x</aclSubmitReservations><reservation/></queue>
         <queue name=\"b\"><eue name=\"c\"/></queue>
         <user name=\"u\"><weight>1</weight></user>
         <reservation-agent>x</reservation-agent>",
    );
    for (element, words) in [
        ("maxRunningApps", "YARN ignores it"),
        ("root.a/@color", "YARN ignores the attribute"),
        ("root.a/@type", "YARN ignores the attribute"),
        ("root.a/maxRunningJobs", "did you mean `maxRunningApps`"),
        ("user u/weight", "YARN ignores it"),
        ("user u", "has no effect: expected <maxRunningApps>"),
    ] {
        let said = verdict(&front, element);
        assert!(said.contains(words), "{element}: {said}");
    }
    let text = front
        .notes
        .iter()
        .find(|note| note.to_string().contains("words"));
    assert_eq!(text.map(|note| note.element.as_str()), Some("root.a"));
    let stops = crate::refused(&front.notes, &[]);
    let stops: Vec<_> = stops
        .iter()
        .map(|note| (note.line, note.element.as_str()))
        .collect();
    assert_eq!(stops, [(5, "root.b/eue")]);
}

#[test]
fn elements_of_reservations_do_nothing_unless_the_reservation_system_is_on() {
    let inside = "<queue name=\"a\"><aclSubmitReservations>x</aclSubmitReservations>
         <reservation/></queue>
         <reservation-agent>x</reservation-agent>";
    let off = front(inside);
    assert_eq!(off.config["queues"], json!([{"path": "root.a"}]));
    assert_eq!(crate::refused(&off.notes, &[]), Vec::<&crate::Note>::new());
    for (element, words) in [
        ("root.a/aclSubmitReservations", "is off"),
        (
            "root.a/reservation",
            "root.a.a-default, and here root.a stays",
        ),
        ("reservation-agent", "is off"),
    ] {
        let said = verdict(&off, element);
        assert!(
            said.starts_with("warning: ") && said.contains(words),
            "{said}"
        );
    }
    let switch = "yarn.resourcemanager.reservation-system.enable";
    let on = with(inside, &[(switch, "true")]);
    let stops = crate::refused(&on.notes, &[]);
    let stops: Vec<_> = stops.iter().map(|note| note.line).collect();
    assert_eq!(stops, [2, 3, 4]);
}

/// YARN's parser knows no namespaces, and takes nothing before the declaration.
#[test]
fn files_with_which_yarn_does_not_start_are_read_with_a_warning() {
    for text in [
        "\n<?xml version='1.0'?><allocations><queue name='a'/></allocations>",
        "<x:allocations xmlns:x='y'><queue name='a'/></x:allocations>",
    ] {
        let read = read(Some(text), &Properties::new()).expect(text);
        assert_eq!(read.config["queues"], json!([{"path": "root.a"}]));
        let said = verdict(&read, "allocations");
        assert!(said.contains("does not start with"), "{text}: {said}");
    }
    let prefixed = read(
        Some("<allocations xmlns:x='y'><x:queue name='a'/><queue name='b'/></allocations>"),
        &Properties::new(),
    );
    let queues = prefixed.expect("YARN ignores it").config["queues"].clone();
    assert_eq!(queues, json!([{"path": "root.b"}]));
    let weight = front("<queue name='a'><weight>Infinity</weight></queue>");
    assert!(verdict(&weight, "root.a/weight").contains("own scheduler fails"));
}

/// A file may have elements of Hadoop 1 left; the reader of stock ignores them.
#[test]
fn a_file_with_a_queue_is_fairs_whatever_else_is_in_it() {
    let old = "<userMaxJobsDefault>5</userMaxJobsDefault>";
    for (inside, expected) in [
        (format!("<queue name='a'/>{old}"), true),
        (
            format!("{old}<pool name='a'><weight>2</weight></pool>"),
            false,
        ),
        (
            "<pool name='a'><maxRunningApps>2</maxRunningApps></pool>".to_owned(),
            true,
        ),
    ] {
        let text = format!("<allocations>{inside}</allocations>");
        assert_eq!(is_fair(&text), expected, "{text}");
    }
}

#[test]
fn what_stops_yarn_is_a_fault_with_its_line() {
    for (inside, expected) in [
        (
            "<queue name=\"a.b\"/>",
            "line 2: queue \"a.b\": a name has no dot",
        ),
        ("\n<queue name=\" \u{2003}\"/>", "line 3: expected a name"),
        ("<queue/>", "line 2: expected a name"),
        (
            "<queue name=\"root\"/><pool name=\"a\"/>",
            "line 2: a queue beside `root`",
        ),
        (
            "<queue name=\"root\"/><pool name=\"ROOT\"/>",
            "line 2: a queue beside `root`",
        ),
        (
            "<queueMaxAppsDefault>ten</queueMaxAppsDefault>",
            "line 2: queueMaxAppsDefault: ",
        ),
        (
            "<userMaxAppsDefault>1.0</userMaxAppsDefault>",
            "line 2: userMaxAppsDefault: ",
        ),
        (
            "<userMaxAppsDefault/>",
            "line 2: <userMaxAppsDefault> is empty",
        ),
        (
            "<userMaxAppsDefault><b/></userMaxAppsDefault>",
            "line 2: userMaxAppsDefault: expected",
        ),
    ] {
        let said = fault(inside);
        assert!(said.starts_with(expected), "{inside}:\n{said}");
    }
}

#[test]
fn a_value_that_stops_yarn_is_a_fault_with_its_line() {
    for (inside, expected) in [
        (
            "<defaultQueueSchedulingPolicy>fifo</defaultQueueSchedulingPolicy>",
            "line 2: defaultQueueSchedulingPolicy: expected fair or drf",
        ),
        (
            "<queue name=\"a\"><schedulingPolicy>drff</schedulingPolicy></queue>",
            "line 2: schedulingPolicy: expected fair, drf or fifo, found \"drff\"",
        ),
        (
            "<queue name=\"a\">\n<maxAMShare>0.1</maxAMShare><queue name=\"b\"/></queue>",
            "line 3: maxAMShare: expected at a leaf, and `root.a` is the parent",
        ),
        (
            "<queue name=\"a\" type=\"parent\"><reservation/></queue>",
            "line 2: reservation: expected at a leaf",
        ),
        (
            "<queue name=\"a\"><weight>NaN</weight></queue>",
            "line 2: weight: expected a number",
        ),
        (
            "<queue name=\"a\"><weight>inf</weight></queue>",
            "line 2: weight: expected a number",
        ),
        (
            "<queue name=\"a\"><weight></weight></queue>",
            "line 2: <weight> is empty",
        ),
        (
            "<queue name=\"a\"><aclSubmitApps/></queue>",
            "line 2: <aclSubmitApps> is empty",
        ),
        (
            "<queue name=\"a\"><maxResources>5120 mb</maxResources></queue>",
            "line 2: maxResources: expected memory and vcores, such as 5120 mb, 2 vcores, found",
        ),
        (
            "<queue name=\"a\"><fairSharePreemptionTimeout>1.5</fairSharePreemptionTimeout>\
             </queue>",
            "line 2: fairSharePreemptionTimeout: expected a whole number of seconds",
        ),
    ] {
        let said = fault(inside);
        assert!(said.starts_with(expected), "{inside}:\n{said}");
    }
}

#[test]
fn all_faults_of_a_file_are_found_sorted_by_line() {
    let text = "<allocations>
<queue name='a'>
  <weight>heavy</weight>
  <maxRunningApps>1.5</maxRunningApps>
  <queue name='b.c'><weight>2</weight></queue>
  <queue name='d'><maxAMShare><x/></maxAMShare></queue>
</queue>
<userMaxAppsDefault>few</userMaxAppsDefault>
<user name='alice'><maxRunningApps/></user>
<queuePlacementPolicy>
  <rule name='nobody'/>
  <rule name='specified'/>
</queuePlacementPolicy>
<defaultQueueSchedulingPolicy>fifo</defaultQueueSchedulingPolicy>
</allocations>";
    let faults = read_all(Some(text), &Properties::new()).expect_err("nine faults");
    let lines: Vec<u32> = faults.iter().map(|fault| fault.line).collect();
    // Line 11 has an unknown rule, 12 a last rule that may find no queue.
    assert_eq!(lines, [3, 4, 5, 6, 8, 9, 11, 12, 14], "{faults:?}");
    let first = read(Some(text), &Properties::new()).expect_err("the first");
    assert_eq!(first, faults[0]);
}
