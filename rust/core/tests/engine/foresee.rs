//! The request `foresee` tells what `place` does with a submission, for every kind of rule.

use crate::common::Host;
use serde_json::{Value, json};

const RULES: [&str; 5] = [
    r#"[]"#,
    r#"[{"rule": "specified", "create": false}, {"rule": "user"}]"#,
    r#"[{"rule": "user", "create": false}, {"rule": "specified"}]"#,
    r#"[{"rule": "default", "queue": "root.b"}]"#,
    r#"[{"rule": "specified"}, {"rule": "default"}]"#,
];
const NAMES: [Option<&str>; 15] = [
    None,
    Some(""),
    Some("default"),
    Some("root.default"),
    Some("a"),
    Some("root.a"),
    Some("b"),
    Some("b.c"),
    Some("x.b"),
    Some("c"),
    Some("root"),
    Some("root.new"),
    Some("new.one"),
    Some("x.new"),
    Some("empty..part"),
];

fn hosts(rules: &str) -> Host {
    let rules: Value = serde_json::from_str(rules).expect("JSON");
    let queues = ["root.a", "root.b", "root.x.b", "root.y.b.c"].map(|path| json!({ "path": path }));
    Host::new(json!({ "queues": queues, "placement": rules }))
}

#[test]
fn it_tells_what_place_does() {
    let mut foreseen = [0; 3];
    for rules in RULES {
        let mut host = hosts(rules);
        for user in ["a", "j.doe"] {
            for queue in NAMES {
                let ask = |op: &str| json!({ "op": op, "user": user, "queue": queue });
                let before = host.engine.request(host.now, &ask("foresee"));
                let again = host.engine.request(host.now, &ask("foresee"));
                assert_eq!(before, again, "asking changes nothing");
                let placed = host.engine.request(host.now, &ask("place"));
                let case = format!("{rules}, {user}, {queue:?}: {before:?}, {placed:?}");
                match (before, placed) {
                    (Ok(said), Err(done)) => {
                        foreseen[2] += 1;
                        assert_eq!(said["refused"], json!(done.to_string()), "{case}");
                        assert!(said["about"][0].is_string(), "{case}");
                    }
                    (Ok(said), Ok(done)) => {
                        let made = done["created"] == true;
                        foreseen[usize::from(made)] += 1;
                        assert_eq!(
                            said[if made { "made" } else { "leaf" }],
                            done["path"],
                            "{case}"
                        );
                        assert_eq!(said.as_object().map(|all| all.len()), Some(1), "{case}");
                    }
                    _ => panic!("{case}"),
                }
            }
        }
    }
    assert!(foreseen.iter().all(|&times| times > 5), "{foreseen:?}");
}

/// A rule may lead to a queue that the submission did not name. Its rights count before the reason
/// is told, as well as those of the queue that was named.
#[test]
fn a_refusal_is_about_the_queues_that_rules_led_to() {
    let mut host = hosts(r#"[{"rule": "primary_group", "create": false}]"#);
    let ask = json!({"op": "foresee", "user": "ann", "queue": "root.a", "groups": ["x"]});
    let said = host.engine.request(host.now, &ask).expect("an answer");
    assert_eq!(said["about"], json!(["root.a", "root.x"]), "{said}");
}
