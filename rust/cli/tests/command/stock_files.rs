//! Tests `heddle check-config` and `heddle convert` on files of YARN's own schedulers, as
//! processes: a line for each element, faults and refusals with their lines, exit codes.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FAIR: &str = "<?xml version=\"1.0\"?>
<allocations>
  <queue name=\"ads\">
    <weight>2.0</weight>
    <minResources>50%</minResources>
  </queue>
  <userMaxAppsDefault>5</userMaxAppsDefault>
</allocations>
";

const REFUSED: &str = "<allocations>
  <queue name=\"ads\">
    <schedulingPolicy>org.example.Mine</schedulingPolicy>
  </queue>
</allocations>
";

/// Writes this test's own file.
fn file(test: &str, name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("stock-files")
        .join(test);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join(name);
    fs::write(&path, text).expect("the folder was made");
    path
}

fn site(test: &str, properties: &[(&str, &str)]) -> PathBuf {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let properties: String = properties.iter().map(property).collect();
    let text = format!("<configuration>\n{properties}</configuration>");
    file(test, "yarn-site.xml", &text)
}

fn heddle(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    for argument in arguments {
        command.arg(argument);
    }
    command.output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it speaks UTF-8")
}

#[test]
fn each_element_of_a_fair_file_has_a_line_with_its_verdict() {
    let path = file("lines", "fair-scheduler.xml", FAIR);
    let preemption = "yarn.scheduler.fair.preemption";
    let site = site("lines", &[(preemption, "${on}"), ("on", "true")]);
    let output = heddle(&[&"check-config", &path, &site]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let at = path.display();
    let expected = [
        format!("{at}:3: root.ads: exact"),
        format!("{at}:4: root.ads/weight: exact"),
        format!("{at}:5: root.ads/minResources: approximated: YARN takes no percentage"),
        format!("{at}:7: userMaxAppsDefault: exact"),
        format!("{}:2: {preemption}: exact", site.display()),
        "2 files checked, no fault".to_owned(),
    ];
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), expected.len(), "{said}");
    for (line, expected) in said.lines().zip(expected) {
        assert!(line.starts_with(&expected), "{expected}\n{line}");
    }
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_stops_a_start_is_a_fault_unless_it_is_tolerated() {
    let path = file("refused", "fair-scheduler.xml", REFUSED);
    let output = heddle(&[&"check-config", &path]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    let at = format!(
        "{}:3: root.ads/schedulingPolicy: refused: Heddle cannot",
        path.display()
    );
    assert!(said.starts_with(&at), "{said}");
    let output = heddle(&[&"check-config", &path, &"--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["faults"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["elements"][0]["verdict"], "exact");
    assert_eq!(found["elements"][1]["stops"], true);
    for name in ["schedulingPolicy", "weight , root.ads/schedulingPolicy"] {
        let site = site("refused", &[("heddle.queues.tolerate", name)]);
        let output = heddle(&[&"check-config", &path, &site]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains(":3: root.ads/schedulingPolicy: refused: "));
    }
}

/// YARN starts with such a file and does not do what it asks for.
#[test]
fn what_yarn_never_did_is_a_warning_that_names_the_queue() {
    let drf = FAIR.replace(
        "<weight>2.0</weight>",
        "<schedulingPolicy>drf</schedulingPolicy>",
    );
    let path = file("warned", "fair-scheduler.xml", &drf);
    let output = heddle(&[&"check-config", &path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let warning = format!(
        "{}:4: root.ads/schedulingPolicy: warning: queue root.ads does not exist",
        path.display()
    );
    assert!(text(&output.stdout).contains(&warning), "{output:?}");
    let output = heddle(&[&"convert", &path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains(&warning), "{output:?}");
    let output = heddle(&[&"check-config", &path, &"--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["elements"][1]["verdict"], "warning");
}

/// A file with `<queue>` is Fair's, though it has an element of Hadoop 1. The one of pools has
/// none, unless yarn-site.xml says whose file it is.
#[test]
fn elements_of_hadoop_1_do_not_make_a_fair_file_one_of_pools() {
    let old = FAIR.replace("userMaxApps", "userMaxJobs");
    let path = file("old", "fair-scheduler.xml", &old);
    for command in ["check-config", "convert"] {
        let output = heddle(&[&command, &path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(
            said.contains(":7: userMaxJobsDefault: approximated: "),
            "{said}"
        );
    }
    let pools = "<allocations><pool name='a'/><userMaxJobsDefault>5</userMaxJobsDefault>\
                 </allocations>";
    let path = file("old", "pools.xml", pools);
    let fair = site("old", &[("heddle.queues.from", "fair")]);
    for (files, expected) in [
        (vec![&path], "1 file checked"),
        (vec![&path, &fair], "pools.xml:1: root.a: exact"),
        (vec![&fair, &path], "pools.xml:1: root.a: exact"),
    ] {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"check-config"];
        arguments.extend(
            files
                .into_iter()
                .map(|file| file as &dyn AsRef<std::ffi::OsStr>),
        );
        let output = heddle(&arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains(expected), "{output:?}");
    }
}

#[test]
fn a_converted_file_passes_the_check_and_says_the_same() {
    let path = file("convert", "fair-scheduler.xml", FAIR);
    let site = site(
        "convert",
        &[("yarn.scheduler.fair.allow-undeclared-pools", "false")],
    );
    let output = heddle(&[&"convert", &path, &"--site", &site]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let converted: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        converted["queues"],
        json!([{"path": "root.ads", "weight": 2.0}])
    );
    assert_eq!(converted["users"]["max_running_jobs"], 5);
    assert_eq!(converted["placement"][0]["create"], false);
    let notes = text(&output.stderr);
    assert!(
        notes.contains(":5: root.ads/minResources: approximated: "),
        "{notes}"
    );
    assert_eq!(notes.lines().count(), 1, "{notes}");
    let again = file("convert", "heddle.json", &text(&output.stdout));
    let output = heddle(&[&"check-config", &again]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_file_that_cannot_be_converted_says_where_and_why() {
    let path = file("wrong", "fair-scheduler.xml", &FAIR.replace("2.0", "two"));
    for command in ["convert", "check-config"] {
        let output = heddle(&[&command, &path]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let said = text(&output.stderr);
        let at = format!(
            "{}:4: weight: expected a number, found \"two\"",
            path.display()
        );
        assert!(said.starts_with(&at), "{said}");
    }
    let refused = file("wrong", "refused.xml", REFUSED);
    let output = heddle(&[&"convert", &refused]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "what stops a start: {output:?}"
    );
    assert!(!output.stdout.is_empty(), "{output:?}");
    let output = heddle(&[&"convert", &path.with_extension("none")]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn heddle_json_is_checked_over_the_file_as_well() {
    let path = file("over", "fair-scheduler.xml", FAIR);
    // Alone the maximum is good; over the file it is below the minimum.
    let minimum = FAIR.replace("50%", "4096 mb, 4 vcores");
    let above = file("over", "fair-with-minimum.xml", &minimum);
    let json = r#"{"queues": [{"path": "root.ads", "max_share": {"vcores": 2}}]}"#;
    let json = file("over", "heddle.json", json);
    let good = heddle(&[&"check-config", &json, &path]);
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    let output = heddle(&[&"check-config", &json, &above]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("heddle.json over ") && said.contains("max_share"),
        "{said}"
    );
}

#[test]
fn a_capacity_file_is_checked_and_converted() {
    let root = "yarn.scheduler.capacity.root.";
    let property = |name: &str, value: &str| {
        format!("<property><name>{root}{name}</name><value>{value}</value></property>\n")
    };
    let text_of = |capacity: &str| {
        let properties = property("queues", "a,b")
            + &property("a.capacity", capacity)
            + &property("b.capacity", "40");
        format!("<configuration>\n{properties}</configuration>")
    };
    let path = file("capacity", "capacity-scheduler.xml", &text_of("60"));
    let output = heddle(&[&"check-config", &path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains(&format!("{}:3: {root}a.capacity: exact", path.display())),
        "{said}"
    );
    let output = heddle(&[&"convert", &path]);
    let converted: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let queues = converted["queues"].as_array().expect("a list");
    assert!(
        queues.iter().any(|queue| queue["path"] == "root.b"),
        "{converted}"
    );
    let wrong = file("capacity", "wrong-capacity.xml", &text_of("70"));
    let output = heddle(&[&"check-config", &wrong]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output.stderr).starts_with(&wrong.display().to_string()),
        "{output:?}"
    );
}
