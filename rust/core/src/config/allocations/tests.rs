//! Both forms of the allocations file, precedence, and hostile files. All expected values are
//! written by hand beside the text that they are read from.

use super::*;
use crate::order::deficit::settings::settings;
use crate::setup::Setup;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write;

/// The published example's shape: two pools, a user, both defaults.
const XML: &str = r#"<?xml version="1.0"?>
<!-- who gets what -->
<allocations>
  <pool name="ads">
    <minMaps>10</minMaps>
    <minReduces> 5 </minReduces>
    <maxRunningJobs>3</maxRunningJobs>
    <weight>2.5</weight>
  </pool>
  <pool name="root.web.search"><minMaps>1<!-- one -->2</minMaps></pool>
  <user name="alice"><maxRunningJobs>6</maxRunningJobs></user>
  <user name="bob"/>
  <userMaxJobsDefault>4</userMaxJobsDefault>
  <poolMaxJobsDefault>7</poolMaxJobsDefault>
</allocations>
"#;

fn pool(path: &str, min_maps: u32, min_reduces: u32) -> Pool {
    Pool {
        path: path.to_owned(),
        min_maps: Some(min_maps),
        min_reduces: Some(min_reduces),
        max_running_jobs: None,
        weight: None,
    }
}

fn read(text: &str) -> Allocations {
    Allocations::parse(text).expect("a good file")
}

#[track_caller]
fn refused(text: &str) -> String {
    Allocations::parse(text)
        .expect_err("a file to refuse")
        .to_string()
}

fn body(inside: &str) -> String {
    format!("<allocations>\n{inside}\n</allocations>")
}

fn config(heddle_json: Value, allocations: Option<&str>, users: Value) -> Config {
    let setup = json!({"config": heddle_json, "allocations": allocations, "users": users});
    Setup::from_json(&setup).expect("a good setup").config
}

#[test]
fn the_xml_form_is_read() {
    let read = read(XML);
    let ads = Pool {
        max_running_jobs: Some(3),
        weight: Some(2.5),
        ..pool("root.ads", 10, 5)
    };
    let search = Pool {
        min_reduces: None,
        ..pool("root.web.search", 12, 0)
    };
    assert_eq!(read.pools, [ads, search]);
    let user = |name: &str, max_running_jobs| User {
        name: name.to_owned(),
        max_running_jobs,
    };
    assert_eq!(read.users, [user("alice", Some(6)), user("bob", None)]);
    assert_eq!((read.user_max_jobs, read.pool_max_jobs), (Some(4), Some(7)));
    assert_eq!(read.warnings, []);
}

#[test]
fn the_plain_form_is_read() {
    let read = read("# pool maps reduces\n\nads 10 5\r\n\troot.web.search  1\t0 # the site\n");
    assert_eq!(
        read.pools,
        [pool("root.ads", 10, 5), pool("root.web.search", 1, 0)]
    );
    assert_eq!(
        read,
        Allocations {
            pools: read.pools.clone(),
            ..Allocations::default()
        }
    );
}

#[test]
fn nothing_is_allocated_by_a_file_that_says_so_and_not_by_an_empty_one() {
    for text in [
        "<allocations/>",
        "\u{feff}\n <allocations></allocations>",
        "# none\n",
    ] {
        assert_eq!(read(text), Allocations::default(), "{text:?}");
    }
    for text in ["", "\n \t\r\n", "\u{feff}"] {
        assert!(refused(text).contains("write <allocations/>"), "{text:?}");
    }
}

#[test]
fn the_file_goes_before_heddle_json_value_by_value() {
    let heddle_json = json!({
        "policy": {"order": "deficit"},
        "queues": [
            {"path": "root.ads", "weight": 9.0, "min_maps": 1, "max_tasks_per_job": 8},
            {"path": "root.web.search", "weight": 3.0, "min_reduces": 4, "max_running_jobs": 2},
            {"path": "root.other", "min_maps": 6}],
        "deficit": {"user_max_jobs": 1},
    });
    let users = json!({"alice": 12, "bob": 13, "stranger": 14});
    let with = config(heddle_json.clone(), Some(XML), users);
    let found = |path: &str| {
        let queue = with.queues.iter().find(|queue| queue.path == path);
        let queue = queue.expect("it is configured");
        (
            queue.min_maps,
            queue.min_reduces,
            queue.max_running_jobs,
            queue.weight,
            queue.max_tasks_per_job,
            queue.only_allocated,
        )
    };
    assert_eq!(found("root.ads"), (10, 5, Some(3), 2.5, Some(8), false));
    assert_eq!(found("root.web.search"), (12, 4, Some(2), 3.0, None, false));
    assert_eq!(found("root.other"), (6, 0, None, 1.0, None, false));
    assert_eq!((with.queues.len(), with.pool_max_jobs), (3, Some(7)));
    let limits = [12, 13, 14].map(|user| settings(&with).max_jobs_of(UserId(user)));
    assert_eq!(limits, [Some(6), Some(4), Some(4)]);

    let without = config(heddle_json, None, json!({}));
    assert_eq!(settings(&without).max_jobs_of(UserId(12)), Some(1));
    assert_eq!(without.queues[0].weight, 9.0);
    let only = config(json!({}), Some("ads 1 2"), json!({}));
    assert!(only.queues[0].only_allocated);
    assert_eq!(settings(&only).max_jobs_of(UserId(0)), None);
}

/// Checks the errors of wrong texts: each begins with the line and contains the words.
#[track_caller]
fn check(cases: &[(&str, u32, &str)]) {
    for (text, line, words) in cases {
        let said = refused(text);
        let at = format!("line {line}: ");
        let right = said.starts_with(&at) && said.contains(words);
        assert!(right, "{text}: {said}");
    }
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_what_was_expected() {
    let whole = "expected a whole number from 0 to 4294967295, found";
    for (value, words) in [
        ("<minMaps>-1</minMaps>", format!("minMaps: {whole} \"-1\"")),
        ("<minMaps>+1</minMaps>", format!("{whole} \"+1\"")),
        ("<minMaps>1.5</minMaps>", format!("{whole} \"1.5\"")),
        (
            "<minMaps>4294967296</minMaps>",
            format!("{whole} \"4294967296\""),
        ),
        (
            "<maxRunningJobs>all</maxRunningJobs>",
            format!("{whole} \"all\""),
        ),
        ("<minReduces/>", format!("minReduces: {whole} \"\"")),
        (
            "<weight>NaN</weight>",
            "from 0 to 1000000000, found \"NaN\"".to_owned(),
        ),
        ("<weight>inf</weight>", "found \"inf\"".to_owned()),
        ("<weight>-0.5</weight>", "found \"-0.5\"".to_owned()),
        ("<weight>1e10</weight>", "found \"1e10\"".to_owned()),
        (
            "<minMaps><b>1</b></minMaps>",
            "found the element <b>".to_owned(),
        ),
    ] {
        let text = body(&format!("<pool name='a'>\n{value}</pool>"));
        check(&[(&text, 3, &words)]);
    }
    let zero = read(&body("<pool name='a'><weight>-0</weight></pool>"));
    let weight = zero.pools[0].weight.expect("it is given");
    assert_eq!(weight.to_bits(), 0, "no negative zero");
}

#[test]
fn wrong_names_and_structures_are_refused_with_their_line() {
    for (inside, line, words) in [
        ("<pool/>", 2, "such as <pool name=\"ads\">"),
        ("<pool name=' '/>", 2, "the name of a pool, found none"),
        ("<pool name='root'/>", 2, "write `root.root`"),
        ("<pool name='a..b'/>", 2, "found \"root.a..b\""),
        ("<pool name='a&#9;b'/>", 2, "no control characters"),
        (
            "<pool name='a'/>\n\n<pool name='root.a'/>",
            4,
            "`root.a` is already defined in line 2",
        ),
        (
            "<pool name='a'>\nmin=3</pool>",
            2,
            "elements in <pool>, found \"min=3\"",
        ),
        (
            "<pool name='a'><weight>1</weight>\n<weight>1</weight></pool>",
            3,
            "weight is already defined",
        ),
        (
            "<user name='u'/><user name='u'/>",
            2,
            "user `u` is already defined in line 2",
        ),
        ("<user/>", 2, "such as <user name=\"alice\">"),
        (
            "<userMaxJobsDefault>many</userMaxJobsDefault>",
            2,
            "found \"many\"",
        ),
        ("<pool name='a'>", 3, "expected XML"),
    ] {
        check(&[(&body(inside), line, words)]);
    }
    check(&[
        (
            "\n\n<configuration/>",
            3,
            "<configuration>; expected <allocations>",
        ),
        (
            "\n<allocations>\n<pool>",
            3,
            "expected </allocations>. Is the file whole?",
        ),
        ("<allocations>\n\u{fffd}</allocations>", 2, "expected UTF-8"),
    ]);
}

#[test]
fn a_wrong_plain_file_is_refused_with_its_line() {
    check(&[
        ("ads 1 2\nweb 3", 2, "such as `ads 10 5`, found \"web 3\""),
        ("ads 1 2 3", 1, "such as `ads 10 5`"),
        (
            "ads one 2",
            1,
            "minimum of map slots: expected a whole number",
        ),
        (
            "ads 1 -2",
            1,
            "minimum of reduce slots: expected a whole number",
        ),
        (
            "#\nads 1 2\nads 1 2",
            3,
            "pool `root.ads` is already defined in line 2",
        ),
        ("root 1 2", 1, "write `root.root`"),
    ]);
}

#[test]
fn what_is_not_known_is_left_out_with_a_warning() {
    let text = body(
        "<pool name='a' wieght='2'>\n<minmaps>1</minmaps><maxMaps>5</maxMaps>\n\
         <minReduces>2</minReduces></pool>\n<pol name='b'/>\n\
         <queueMaxJobs>1</queueMaxJobs>",
    );
    let read = read(&text);
    let only = Pool {
        min_maps: None,
        ..pool("root.a", 0, 2)
    };
    assert_eq!(read.pools, [only]);
    let said: Vec<String> = read.warnings.iter().map(Fault::to_string).collect();
    for (said, words) in said.iter().zip([
        "line 2: attribute \"wieght\" of <pool> is not known",
        "line 3: `minmaps` is not known; did you mean `minMaps`?",
        "line 3: <maxMaps> is of later versions",
        "line 5: `pol` is not known; did you mean `pool`?",
        "line 6: `queueMaxJobs` is not known; expected one of: pool, user,",
    ]) {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(said.len(), 5, "{said:?}");
}

/// Its limits and rights would be lost, and root is open.
#[test]
fn the_file_of_yarns_own_scheduler_is_refused_where_it_shows() {
    for (inner, line, element) in [
        ("<queue name='a'><weight>2</weight></queue>", 2, "<queue>"),
        (
            "<pool name='a'>\n<maxResources>1 mb</maxResources></pool>",
            3,
            "<maxResources>",
        ),
        (
            "<user name='a'>\n<maxRunningApps>1</maxRunningApps></user>",
            3,
            "<maxRunningApps>",
        ),
        ("<queuePlacementPolicy/>", 2, "<queuePlacementPolicy>"),
    ] {
        let fault = Allocations::parse(&body(inner)).expect_err(element);
        assert_eq!(fault.line, line, "{fault}");
        for words in [element, "fair-scheduler.xml", "heddle.queues.from"] {
            assert!(fault.problem.contains(words), "{fault}");
        }
    }
}

/// HADOOP-3746's users may have dots in their names, and queues are nested by dots.
#[test]
fn a_dot_in_the_name_of_a_pool_is_pointed_out_unless_the_path_is_given() {
    let read = read("john.smith 1 0\nroot.john.doe 2 0\n");
    let paths: Vec<&str> = read.pools.iter().map(|pool| pool.path.as_str()).collect();
    assert_eq!(paths, ["root.john.smith", "root.john.doe"]);
    assert_eq!(read.warnings.len(), 1);
    let said = read.warnings[0].to_string();
    assert!(
        said.contains("`smith` below `john`") && said.contains("`john_dot_smith`"),
        "{said}"
    );
}

#[test]
fn entities_and_document_types_are_refused() {
    let mut bomb = String::from("<!DOCTYPE allocations [<!ENTITY a 'aaaaaaaaaa'>\n");
    for level in 1..9 {
        let (name, below) = (char::from(b'a' + level), char::from(b'a' + level - 1));
        let _ = writeln!(
            bomb,
            "<!ENTITY {name} '{}'>",
            format!("&{below};").repeat(10)
        );
    }
    bomb.push_str("]>\n<allocations><pool name='&i;'/></allocations>");
    let file = "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]>\n\
                <allocations><pool name='&f;'/></allocations>";
    for (text, at) in [(bomb.as_str(), "line 1: "), (file, "line 2: ")] {
        let said = refused(text);
        assert!(
            said.starts_with(at) && said.contains("no entities"),
            "{said}"
        );
    }
    assert!(refused(&body("<pool name='&mine;'/>")).contains("expected XML"));
    // The entities of XML itself are not custom ones.
    assert_eq!(
        read(&body("<pool name='&#97;&amp;b'/>")).pools[0].path,
        "root.a&b"
    );
}

#[test]
fn huge_and_deep_files_are_refused_or_read_in_bounds() {
    let large = "ads 1 2\n".repeat(10 << 17);
    assert_eq!(large.len(), 10 << 20);
    assert!(refused(&large).contains("larger than 1048576 bytes"));

    let deep = body(&format!(
        "{}{}",
        "<a>".repeat(100_000),
        "</a>".repeat(100_000)
    ));
    assert!(read(&deep).warnings[0].problem.contains("`a` is not known"));

    let long = body(&format!("<pool name='{}'/>", "x".repeat(100_000)));
    assert!(refused(&long).len() < 300);
    let strange = format!("<{}/>", "y".repeat(100_000));
    assert!(read(&body(&strange)).warnings[0].problem.len() < 300);

    let mut many = String::new();
    for i in 0..=10_000 {
        let _ = writeln!(many, "p{i} 1 2");
    }
    assert!(refused(&many).starts_with("line 10001: more than 10000 pools"));
    let kept = many
        .lines()
        .take(10_000)
        .fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(read(&kept).pools.len(), 10_000);

    let warned = read(&body(&"<x/>\n".repeat(1_000)));
    assert_eq!(warned.warnings.len(), 21);
    assert_eq!(
        warned.warnings[20].to_string(),
        "line 1001: and 980 more warnings, the last in this line"
    );
}

#[test]
fn heddle_json_may_name_the_file_and_a_setup_may_have_its_text() {
    let key = |path: &str| Setup::with_config(&json!({ "allocations_file": path }));
    assert!(key("/etc/hadoop/conf/pools.xml").is_ok());
    assert_eq!(key(" ").expect_err("no path").key, "allocations_file");
    for (setup, words) in [
        (
            json!({"allocations": "ads x 1"}),
            "key `allocations`: line 1: minimum of map",
        ),
        (
            json!({"allocations": 5}),
            "key `allocations`: expected a text",
        ),
        (
            json!({"users": {"alice": -1}}),
            "key `users.alice`: expected the number",
        ),
    ] {
        let said = Setup::from_json(&setup)
            .expect_err("a wrong setup")
            .to_string();
        assert!(said.starts_with(words), "{said}");
    }
}

/// Names as people write them, some of them of users with dots or of queues below others.
fn names() -> impl Strategy<Value = Vec<String>> {
    let names = proptest::collection::btree_set("[a-zA-Z][a-zA-Z0-9_&'-]{0,8}", 0..12);
    names.prop_map(|names| {
        names
            .into_iter()
            .map(|name| format!("root.{name}"))
            .collect()
    })
}

proptest! {
    /// The same allocation in either form gives the same configuration.
    #[test]
    fn both_forms_mean_the_same(
        names in names(),
        numbers in proptest::collection::vec((any::<u32>(), any::<u32>()), 12),
        spaces in "[ \t]{1,3}",
        known in any::<bool>(),
    ) {
        let (mut plain, mut xml) = (String::from("# pools\n"), String::from("<allocations>\n"));
        for (name, (maps, reduces)) in names.iter().zip(&numbers) {
            let _ = writeln!(plain, "{name}{spaces}{maps}{spaces}{reduces}");
            let name = name.replace('&', "&amp;").replace('\'', "&apos;");
            let _ = writeln!(
                xml,
                "<pool name='{name}'>{spaces}<minReduces>{spaces}{reduces}</minReduces>\n\
                 <minMaps>{maps}</minMaps></pool>"
            );
        }
        xml.push_str("</allocations>");
        let base = match names.first() {
            Some(name) if known => {
                json!({"queues": [{"path": name, "weight": 2.0, "min_maps": 3}]})
            }
            _ => json!({}),
        };
        let from = |text: &str| config(base.clone(), Some(text), json!({}));
        prop_assert_eq!(from(&plain), from(&xml));
        let expected: Vec<Pool> = names
            .iter()
            .zip(&numbers)
            .map(|(name, (maps, reduces))| pool(name, *maps, *reduces))
            .collect();
        prop_assert_eq!(read(&plain).pools, expected);
    }

    /// Reading any text ends, with an answer or with a line that the text has.
    #[test]
    fn no_text_is_too_strange(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("<allocations>".to_owned()),
                Just("</allocations>".to_owned()),
                Just("<pool name='a'>".to_owned()),
                Just("</pool>".to_owned()),
                Just("<minMaps>1</minMaps>".to_owned()),
                Just("ads 1 2\n".to_owned()),
                Just("<![CDATA[".to_owned()),
                "\\PC{0,8}",
                "[\\x00-\\x7f]{0,8}",
            ],
            0..20,
        ),
    ) {
        let text = parts.concat();
        if let Err(fault) = Allocations::parse(&text) {
            prop_assert!(fault.line as usize <= 1 + text.matches('\n').count(), "{}", fault);
        }
    }
}
