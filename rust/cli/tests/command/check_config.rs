//! Tests `heddle check-config` as a process. The shipped template passes. Each change to it that
//! would stop every ApplicationMaster is rejected, with its place and a remedy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn template() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conf/mapred-site.xml")
}

fn template_text() -> String {
    fs::read_to_string(template()).expect("the template is in the repository")
}

fn check(files: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command
        .arg("check-config")
        .args(files)
        .output()
        .expect("it starts")
}

/// Writes this test's own file.
fn file(test: &str, name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("check-config")
        .join(test);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join(name);
    fs::write(&path, text).expect("the folder was made");
    path
}

/// Returns the message of a refusal.
fn refused(files: &[&Path]) -> String {
    let output = check(files);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).expect("it speaks UTF-8")
}

fn passed(files: &[&Path]) -> String {
    let output = check(files);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it speaks UTF-8")
}

fn properties(items: &[(&str, &str)]) -> String {
    let items = items.iter().map(|(name, value)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    });
    format!(
        "<configuration>\n{}</configuration>",
        items.collect::<String>()
    )
}

#[test]
fn one_variable_is_not_variables() {
    let name = "yarn.app.mapreduce.am.env.HEDDLE_MAPS";
    let path = file("one", "mapred-site.xml", &properties(&[(name, "4")]));
    assert_eq!(
        passed(&[&path]),
        "1 file checked, no fault; 1 variable of ApplicationMasters, 1 of them for Heddle\n"
    );
}

#[test]
fn the_template_passes() {
    let said = passed(&[&template()]);
    assert_eq!(
        said,
        "1 file checked, no fault; 17 variables of ApplicationMasters, 17 of them for Heddle\n"
    );
}

/// Hadoop treats all three forms as empty; a removed value does not exist at all.
#[test]
fn every_empty_default_is_refused() {
    let text = template_text();
    let default = "<value>none</value>";
    let places: Vec<usize> = text.match_indices(default).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 15);
    for at in places {
        let name_end = text[..at]
            .rfind("</name>")
            .expect("a name comes before its value");
        let name_start = text[..name_end].rfind('>').expect("it has a tag") + 1;
        let name = &text[name_start..name_end];
        // Hadoop reports a property by the line of its opening tag.
        let line = 1 + text[..at]
            .rfind("<property>")
            .map_or(0, |end| text[..end].matches('\n').count());
        for empty in ["<value></value>", "<value/>", ""] {
            let changed = format!("{}{empty}{}", &text[..at], &text[at + default.len()..]);
            let path = file("empty", "mapred-site.xml", &changed);
            let said = refused(&[&path]);
            let variable = name.strip_prefix("heddle.").unwrap_or(name);
            let variable = variable.replace(['-', '.'], "_").to_uppercase();
            let variable = format!("HEDDLE_{variable}");
            for part in [
                format!("variable {variable} would be \"${{{name}}}\""),
                "no MapReduce job of this client would start".to_owned(),
                format!("property `{name}` is empty ({}:{line})", path.display()),
                "give it the value `none`".to_owned(),
            ] {
                assert!(said.contains(&part), "{part:?} is not in: {said}");
            }
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        let renamed = text.replacen(&format!("<name>{name}</name>"), "<name>other</name>", 1);
        let said = refused(&[&file("empty", "mapred-site.xml", &renamed)]);
        assert!(said.contains("is defined in none of these files"), "{said}");
    }
}

#[test]
fn references_may_point_to_another_file() {
    let env = "yarn.app.mapreduce.am.env.TEAM";
    let mapred = file(
        "two",
        "mapred-site.xml",
        &properties(&[(env, "${our.team}")]),
    );
    assert!(refused(&[&mapred]).contains("mapred-site.xml:2: variable TEAM"));
    let core = file("two", "core-site.xml", &properties(&[("our.team", "etl")]));
    let said = passed(&[&core, &mapred]);
    assert!(
        said.starts_with("2 files checked, no fault; 1 variable of"),
        "{said}"
    );
}

#[test]
fn what_the_shell_cannot_do_or_should_not_is_refused() {
    let env = "yarn.app.mapreduce.am.env";
    for (name, value, words) in [
        (".HEDDLE_MAPS", "${ mapreduce.job.maps }", "without spaces"),
        (".HEDDLE_MAPS", "$(reboot)", "found '$'"),
        (".HEDDLE_SIGNATURE", "`id`", "found '`'"),
        (".HEDDLE_DEADLNE", "none", "did you mean `HEDDLE_DEADLINE`"),
        (".A", "${env.NO_SUCH}", "write ${env.NO_SUCH:-none}"),
        ("", "A=1,B", "`B` sets no variable"),
        (
            "",
            "A=1,HEDDLE_DEADLINE=${heddle.deadline}",
            "variable HEDDLE_DEADLINE would be",
        ),
        (".A", "${yarn.app.mapreduce.am.env.A}", "form a circle"),
    ] {
        let name = format!("{env}{name}");
        let path = file("shell", "mapred-site.xml", &properties(&[(&name, value)]));
        let said = refused(&[&path]);
        assert!(
            said.contains(words) && said.contains(":2: "),
            "{value}: {said}"
        );
    }
    for value in [
        "$HOME/lib:${PATH}",
        "${PATH:-/bin}",
        "${user.name}",
        "${env.TEAM:-none}",
        "",
    ] {
        let name = format!("{env}.A");
        passed(&[&file(
            "shell",
            "mapred-site.xml",
            &properties(&[(&name, value)]),
        )]);
    }
}

#[test]
fn a_property_that_nobody_reads_is_refused() {
    let path = file(
        "names",
        "mapred-site.xml",
        &properties(&[("heddle.dead-line", "none")]),
    );
    assert!(refused(&[&path]).contains("did you mean `heddle.deadline`"));
    let own = properties(&[("heddle.tick-ms", "500"), ("heddle.map-ms", "none")]);
    passed(&[&file("names", "yarn-site.xml", &own)]);
}

#[test]
fn a_file_that_is_none_is_refused_with_its_place() {
    let missing = Path::new("no-such-file.xml");
    assert!(refused(&[missing]).starts_with("no-such-file.xml: No such file"));
    for (text, words) in [
        ("<configuration>\n<property></configuration>", ":2: "),
        (
            "<allocations/>",
            ":1: the root is <allocations>; expected <configuration>",
        ),
        (
            "<configuration>\n<property><value>1</value></property></configuration>",
            ":2: a <prop",
        ),
        ("", "expected </configuration>. Is the file whole?"),
    ] {
        let said = refused(&[&file("none", "mapred-site.xml", text)]);
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn heddle_json_is_read_by_the_engines_reader() {
    passed(&[&file("json", "heddle.json", r#"{"policy": "hfsp"}"#)]);
    let said = refused(&[&file("json", "heddle.json", r#"{"policy": "hfps"}"#)]);
    assert!(said.contains("did you mean `hfsp`"), "{said}");
    let said = refused(&[&file("json", "heddle.json", "{\n\"policy\" \"hfsp\"}")]);
    assert!(said.contains("heddle.json:2: "), "{said}");
}

#[test]
fn programs_are_told_the_same() {
    let good = file("told", "heddle.json", "{}");
    let bad = file("told", "bad.json", r#"{"policy": "hfps"}"#);
    for (path, code, faults) in [(&good, 0, 0), (&bad, 1, 1)] {
        let arguments = ["check-config".as_ref(), path.as_os_str(), "--json".as_ref()];
        let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
        let output = command.args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found["files"], 1);
        let said = found["faults"].as_array().expect("a list");
        assert_eq!(said.len(), faults, "{found}");
        let path = path.display().to_string();
        assert!(
            said.iter()
                .all(|fault| fault.as_str().is_some_and(|text| text.contains(&path)))
        );
    }
}

#[test]
fn sections_of_the_service_are_checked_without_a_store_or_users() {
    let text = r#"{"api": {"acl_file": "/nowhere/acl", "v1": false},
                   "store": "sqlite:/nowhere/economy"}"#;
    passed(&[&file("service", "heddle.json", text)]);
    for (text, words) in [
        (r#"{"api": {"acl_fil": "x"}}"#, "did you mean `acl_file`"),
        (
            r#"{"api": {"v1": "no"}}"#,
            "key `api.v1`: expected true or false",
        ),
        (r#"{"api": []}"#, "expected an object"),
        (
            r#"{"store": "mysql:x"}"#,
            "key `store.place`: expected file:FOLDER",
        ),
        (r#"{"store": {"plaec": "file:x"}}"#, "`store.place`"),
        (
            r#"{"store": {"place": "postgres://a@b/c", "password_file": "/nowhere/p"}}"#,
            "key `store.password_file`: /nowhere/p: ",
        ),
    ] {
        let said = refused(&[&file("service", "heddle.json", text)]);
        assert!(
            said.contains("heddle.json: ") && said.contains(words),
            "{text}: {said}"
        );
    }
}

/// Where a web server asks only for a name, every user can claim to be the administrator.
#[test]
fn a_web_user_that_nobody_proves_is_warned_of() {
    let json = r#"{"api": {"acl_file": "/etc/acl", "trust_web_user": true}}"#;
    let json = file("trust", "heddle.json", json);
    let key = "hadoop.http.authentication.type";
    let site = |name: &str, value: &str| file("trust", name, &properties(&[(key, value)]));
    let simple = site("simple-site.xml", "simple");
    let kerberos = site("core-site.xml", "kerberos");
    let warned = |files: &[&Path]| {
        let output = check(files);
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8(output.stderr).expect("it speaks UTF-8");
        told.contains("key `api.trust_web_user`") && told.contains("expected kerberos")
    };
    assert!(warned(&[&json]));
    assert!(warned(&[&json, &simple]));
    assert!(!warned(&[&json, &kerberos]));
    let plain = file("trust", "plain.json", "{}");
    assert!(!warned(&[&plain, &simple]));
}

/// The engine writes the messages; the places have the same form as for all other files.
#[test]
fn an_allocations_file_is_read_by_the_engines_reader() {
    let xml = "<allocations>\n<pool name='ads'><minMaps>3</minMaps></pool>\n</allocations>";
    for (name, text) in [
        ("pools.xml", xml),
        (
            "fair-scheduler.xml",
            "<?xml version='1.0'?>\n<allocations/>",
        ),
        ("pools", "# pool maps reduces\nads 10 5\n"),
    ] {
        let path = file("allocations", name, text);
        assert_eq!(passed(&[&path]), "1 file checked, no fault\n");
    }
    for (name, text, words) in [
        (
            "pools.xml",
            xml.replace('3', "NaN"),
            ":2: minMaps: expected a whole number",
        ),
        ("pools.xml", xml.replace("<pool", "<!-- "), ":3: "),
        (
            "pools.xml",
            format!("<!DOCTYPE a>\n{xml}"),
            ":1: expected no <!DOCTYPE>",
        ),
        (
            "pools",
            "ads 10 5\nweb 10".to_owned(),
            ":2: expected a pool, its minimum of map",
        ),
        (
            "pools",
            String::new(),
            ": is empty; to allocate nothing write <allocations/>",
        ),
    ] {
        let path = file("wrong-allocations", name, &text);
        let said = refused(&[&path]);
        let at = format!("{}{words}", path.display());
        assert!(said.starts_with(&at), "{at}: {said}");
    }
    let path = file("allocations", "latin.xml", "");
    fs::write(&path, b"<allocations>\n<!-- \xe4 --></allocations>").expect("it can be written");
    assert!(refused(&[&path]).contains("latin.xml:2: expected UTF-8"));

    // An ignored element causes a warning, and the file is valid.
    let text = xml.replace("minMaps", "minMap");
    let output = check(&[&file("allocations", "warned.xml", &text)]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("it speaks UTF-8");
    let words = "warned.xml:2: `minMap` is not known; did you mean `minMaps`?";
    assert!(
        said.contains(words) && said.ends_with("(a warning)\n"),
        "{said}"
    );
}

#[test]
fn all_faults_of_a_file_are_said_in_one_run() {
    let text = r#"{
      "polcy": "fair",
      "queues": [
        {"path": "root.a", "weight": -1, "max_share": {"gpus": 2}},
        {"path": "root.a"},
        {"path": "root.b", "max_am_share": "half"}
      ],
      "placement": [{"rule": "nobody"}, {"rule": "reject"}],
      "store": {"place": "nowhere"}
    }"#;
    let json = file("all-faults", "heddle.json", text);
    let said = refused(&[&json]);
    for key in [
        "polcy",
        "queues[0].weight",
        "queues[0].max_share.gpus",
        "queues[1].path",
        "queues[2].max_am_share",
        "placement[0].rule",
        "store.place",
    ] {
        let count = said.matches(&format!("key `{key}")).count();
        assert_eq!(count, 1, "{key}: {said}");
    }
    assert_eq!(said.lines().count(), 7, "{said}");
    let fair = "<allocations>\n<queue name='a'>\n<weight>x</weight>\n<maxRunningApps>y\
                </maxRunningApps>\n</queue>\n</allocations>";
    let fair = file("all-faults", "fair-scheduler.xml", fair);
    let said = refused(&[&fair]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("fair-scheduler.xml:3: weight"), "{said}");
    assert!(
        lines[1].contains("fair-scheduler.xml:4: maxRunningApps"),
        "{said}"
    );
    assert_eq!(lines.len(), 2, "{said}");
}

#[test]
fn a_stock_file_is_read_in_the_encoding_that_it_declares() {
    let text = "<?xml version='1.0' encoding='UTF-16'?>\n<allocations>\n<queue name='b\u{fc}ro'>\
                <weight>2.0</weight></queue>\n</allocations>";
    let path = file("encodings", "fair-scheduler.xml", "");
    let mark = std::iter::once(0xfeff);
    let bytes = mark.chain(text.encode_utf16()).flat_map(u16::to_be_bytes);
    fs::write(&path, bytes.collect::<Vec<u8>>()).expect("it is ours");
    assert!(passed(&[&path]).contains("root.b\u{fc}ro/weight: exact"));
    let convert = Command::new(env!("CARGO_BIN_EXE_heddle"))
        .arg("convert")
        .arg(&path)
        .output();
    let json = String::from_utf8(convert.expect("it starts").stdout).expect("UTF-8");
    assert!(json.contains("root.b\u{fc}ro"), "{json}");
}

#[test]
fn settings_that_the_policy_does_not_read_are_warned_of() {
    let text = r#"{"policy": {"order": "hfsp", "place": "local-first"},
                   "delay": {"node_wait_ms": 1},
                   "queues": [{"path": "root.a", "min_maps": 3, "max_running_jobs": 2}]}"#;
    let path = file("idle", "heddle.json", text);
    let output = check(&[&path]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("it speaks UTF-8");
    let keys = [
        "key `min_maps` of queue `root.a` has no effect: ",
        "key `delay` has no effect: ",
    ];
    assert_eq!(said.lines().count(), keys.len(), "{said}");
    for (line, key) in said.lines().zip(keys) {
        assert!(
            line.starts_with(&format!("{}: {key}", path.display())),
            "{said}"
        );
        assert!(line.ends_with(" (a warning)"), "{said}");
    }
}
