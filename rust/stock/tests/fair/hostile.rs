//! Files that are broken, contradictory or hostile: refused with a line, or read as YARN reads
//! them. What the front end accepts, the reader of heddle.json accepts as well.

use heddle_core::setup::read_config;
use heddle_stock::{Fault, Front, Properties, Property, fair, refused};
use serde_json::Value;
use std::fmt::Write;

/// Levels of queues that a file may have.
const LEVELS_MAX: usize = 64;

const FILE: &str = "<?xml version=\"1.0\"?>
<allocations>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queue name=\"ads\">
    <minResources>1024 mb, 1 vcores</minResources>
    <maxResources>memory-mb=50%</maxResources>
    <queue name=\"web\"><weight>2.0</weight><aclSubmitApps> staff</aclSubmitApps></queue>
  </queue>
  <user name=\"alice\"><maxRunningApps>3</maxRunningApps></user>
  <queuePlacementPolicy>
    <rule name=\"nestedUserQueue\"><rule name=\"primaryGroup\"/></rule>
  </queuePlacementPolicy>
</allocations>
";

fn read(text: &str) -> Result<Front, Fault> {
    let types = Property {
        value: "gpu".to_owned(),
        line: 0,
    };
    let properties = Properties::from([("yarn.resource-types".to_owned(), types)]);
    fair::read(Some(text), &properties)
}

/// Reads a text to a fault in a line that it has, or to what the engine accepts.
#[track_caller]
fn check(text: &str) -> Option<Value> {
    let types = ["memory-mb", "vcores", "gpu"].map(str::to_owned);
    match read(text) {
        Ok(front) => {
            if let Err(error) = read_config(&front.config, &types) {
                panic!("{text}\n{error}");
            }
            Some(front.config)
        }
        Err(fault) => {
            let lines = text.matches('\n').count() as u32 + 1;
            assert!(fault.line <= lines, "{fault} of {lines} lines");
            assert!(!fault.problem.is_empty());
            None
        }
    }
}

#[track_caller]
fn fault(text: &str) -> String {
    read(text).expect_err("a file to refuse").to_string()
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let end = FILE.find("</allocations>").expect("it ends") + "</allocations>".len();
    for at in 0..end {
        assert!(check(&FILE[..at]).is_none(), "{}", &FILE[..at]);
    }
    assert!(check(FILE).is_some());
    let said = fault(&FILE[..FILE.len() / 2]);
    assert!(said.contains("line "), "{said}");
}

#[test]
fn a_file_without_a_character_is_refused_or_read() {
    for at in 0..FILE.len() {
        check(&format!("{}{}", &FILE[..at], &FILE[at + 1..]));
    }
}

#[test]
fn other_encodings_and_entities_are_refused() {
    // A host puts U+FFFD in the place of what is not UTF-8.
    let utf16: String = FILE.chars().flat_map(|c| ['\0', c]).collect();
    for (text, words) in [
        (FILE.replace("ads", "\u{fffd}ds"), "line 4: expected UTF-8"),
        (utf16, ""),
        (format!("<!DOCTYPE allocations>\n{FILE}"), "line 1: "),
        (
            FILE.replace(
                "<allocations>",
                "<!DOCTYPE a [<!ENTITY x \"y\">]><allocations>",
            ),
            "line 2: expected no <!DOCTYPE> and no entities",
        ),
        (FILE.replace("ads", "&lol9;"), "line 4: "),
        (
            FILE.replace("</allocations>", "</allocations><x/>"),
            "line 13: ",
        ),
        (
            FILE.replace("allocations", "configuration"),
            "line 2: the root is <configuration>",
        ),
        (
            String::new(),
            "is empty; to configure nothing write <allocations/>",
        ),
        (" \n".to_owned(), "is empty"),
        ("\u{feff}".to_owned(), "is empty"),
    ] {
        let said = fault(&text);
        assert!(said.starts_with(words), "{said}");
    }
    assert!(check(&format!("\u{feff}{FILE}")).is_some());
    // A character is no entity of its own.
    let config = check(&FILE.replace("ads", "a&#228;&amp;")).expect("good");
    assert_eq!(config["queues"][0]["path"], "root.a\u{e4}&");
}

/// Hostile numbers, in every notation of resources.
fn hostile_values() -> Vec<String> {
    let mut values = Vec::new();
    for number in [
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "0.5",
        "1e308",
        "1e309",
        "-1e309",
        "1e-400",
        "NaN",
        "-NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "0x10",
        "2147483647",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "99999999999999999999999999",
        "1_000",
        "+1",
        "",
        " ",
        "\u{661}",
        "1\u{0660}",
        "١",
    ] {
        values.push(number.to_owned());
        values.push(format!("{number}%"));
        values.push(format!("{number} mb, {number} vcores"));
        values.push(format!("{number}% memory, {number}% cpu"));
        values.push(format!("memory-mb={number},vcores={number},gpu={number}"));
        values.push(format!(
            "memory-mb={number}%,vcores={number}%,gpu={number}%"
        ));
    }
    let digits = "9".repeat(2_000);
    values.extend([format!("{digits}%"), format!("{digits}.{digits}%"), digits]);
    values
}

#[test]
fn hostile_numbers_are_refused_or_what_the_engine_accepts() {
    let names = [
        "weight",
        "minResources",
        "maxResources",
        "maxContainerAllocation",
        "maxRunningApps",
        "maxAMShare",
        "minSharePreemptionTimeout",
        "fairSharePreemptionTimeout",
        "fairSharePreemptionThreshold",
        "allowPreemptionFrom",
        "schedulingPolicy",
    ];
    let top = [
        "userMaxAppsDefault",
        "queueMaxAppsDefault",
        "queueMaxResourcesDefault",
        "queueMaxAMShareDefault",
        "defaultMinSharePreemptionTimeout",
        "defaultFairSharePreemptionTimeout",
        "defaultFairSharePreemptionThreshold",
    ];
    let values = hostile_values();
    let mut accepted = 0;
    for value in &values {
        for name in names {
            let text = format!(
                "<allocations><queue name=\"a\"><minResources>5 mb, 5 vcores</minResources>\
                 <{name}>{value}</{name}></queue></allocations>"
            );
            accepted += u32::from(check(&text).is_some());
        }
        for name in top {
            let text = format!("<allocations><{name}>{value}</{name}></allocations>");
            accepted += u32::from(check(&text).is_some());
        }
    }
    assert!(accepted > 100, "only {accepted}");
}

#[test]
fn names_are_refused_or_what_the_engine_accepts() {
    for name in [
        ".",
        "..",
        "a.b",
        "root",
        "ROOT",
        "root.a",
        " a ",
        "\u{a0}",
        "\u{2028}x",
        "a b",
        "a/b",
        "*",
        "%user",
        "&lt;x&gt;",
        "&#9;",
        "&#10;",
        "-",
        "\u{1f600}",
        "\u{202e}x",
        "\u{feff}",
        "\u{200b}",
        "default",
        "a&quot;b",
        "{",
        "\\",
    ] {
        check(&format!(
            "<allocations><queue name=\"{name}\"/></allocations>"
        ));
        check(&format!(
            "<allocations><queue name=\"r\"><pool name=\"{name}\"/></queue></allocations>"
        ));
        check(&format!(
            "<allocations><user name=\"{name}\"><maxRunningApps>1</maxRunningApps></user>\
             </allocations>"
        ));
        check(&format!(
            "<allocations><queuePlacementPolicy><rule name=\"default\" queue=\"{name}\"/>\
             </queuePlacementPolicy></allocations>"
        ));
    }
    let long = "x".repeat(256);
    let said = fault(&format!(
        "<allocations>\n<queue name=\"{long}\"/></allocations>"
    ));
    assert!(
        said.starts_with("line 2: ") && said.contains("more than 255 bytes"),
        "{said}"
    );
    assert!(said.len() < 200, "{said}");
}

/// Runs on a stack of 256 KiB, a quarter of a Java thread's.
#[track_caller]
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let thread = thread.spawn(run).expect("a thread");
    thread.join().expect("it ends well");
}

fn nested(levels: usize) -> String {
    let mut text = "<allocations>\n".to_owned();
    for _ in 0..levels {
        text += "<queue name=\"q\">\n";
    }
    text += &"</queue>".repeat(levels);
    text + "</allocations>"
}

#[test]
fn deep_nesting_does_not_overflow_a_stack() {
    on_a_small_stack(|| {
        assert!(check(&nested(LEVELS_MAX)).is_some());
        let said = fault(&nested(LEVELS_MAX + 1));
        assert!(
            said.starts_with("line 66: ") && said.contains("more than 64 levels"),
            "{said}"
        );
        let said = fault(&nested(50_000));
        assert!(said.contains("more than 64 levels"), "{said}");
        assert!(fair::is_fair(&nested(50_000)));
        // Elements that nothing reads.
        for tag in ["x", "rule", "user"] {
            let open = format!("<{tag} name=\"user\">").repeat(50_000);
            let close = format!("</{tag}>").repeat(50_000);
            for outer in [
                "queue name=\"a\"",
                "queuePlacementPolicy",
                "user name=\"a\"",
            ] {
                let name = outer.split(' ').next().unwrap_or_default();
                let text = format!("<allocations><{outer}>{open}{close}</{name}></allocations>");
                check(&text);
            }
        }
    });
}

#[test]
fn a_hundred_thousand_queues_are_read_in_seconds() {
    let mut text = "<allocations>\n".to_owned();
    for parent in 0..100 {
        let _ = write!(text, "<queue name=\"p{parent}\">");
        for leaf in 0..1_000 {
            let _ = writeln!(
                text,
                "<queue name=\"q{leaf}\"><weight>{leaf}</weight></queue>"
            );
        }
        text += "</queue>\n";
    }
    text += "</allocations>";
    let started = std::time::Instant::now();
    let config = check(&text).expect("good");
    let took = started.elapsed();
    assert_eq!(config["queues"].as_array().map(Vec::len), Some(100_100));
    assert!(took.as_secs() < 60, "{took:?}");
}

#[test]
fn a_queue_that_stands_in_many_places_is_one_queue() {
    let mut text = "<allocations>".to_owned();
    for number in 0..1_000 {
        let _ = writeln!(text, "<queue name=\"a\"><weight>{number}</weight></queue>");
    }
    text += "</allocations>";
    let front = read(&text).expect("good");
    assert_eq!(front.config["queues"].as_array().map(Vec::len), Some(1));
    assert_eq!(front.config["queues"][0]["weight"], 999.0);
    assert!(refused(&front.notes, &[]).is_empty());
}
