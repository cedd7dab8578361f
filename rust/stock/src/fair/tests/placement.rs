//! Rules of placement, in the file and made of properties.

use super::*;

#[test]
fn rules_of_placement_are_translated() {
    let front = front(
        "<queuePlacementPolicy>
           <rule name=\"specified\" create=\"false\"/>
           <Rule name=\"nestedUserQueue\" create=\"\">
             <rule name=\"primaryGroup\" create=\"False\"/></Rule>
           <rule name=\"nestedUserQueue\" create=\"no\">
             <rule name=\"default\" queue=\"x.y\"/></rule>
           <rule name=\"secondaryGroupExistingQueue\"/>
           <rule name=\"user\" create=\"false\"/>
           <rule name=\"default\" queue=\"sample\"/>
         </queuePlacementPolicy>",
    );
    assert_eq!(
        front.config["placement"],
        json!([
            {"rule": "specified", "create": false, "names": "paths"},
            {"rule": "nested_user", "create": true,
             "inner": {"rule": "primary_group", "create": false}},
            {"rule": "nested_user", "create": false,
             "inner": {"rule": "default", "create": true, "queue": "root.x.y"}},
            {"rule": "secondary_group", "create": true},
            {"rule": "user", "create": false, "names": "paths"},
            {"rule": "default", "create": true, "queue": "root.sample", "names": "paths"},
        ])
    );
    assert_eq!(
        verdict(&front, "queuePlacementPolicy/rule[6] default"),
        "exact"
    );
    let reject = "<queuePlacementPolicy><rule name=\"reject\"/></queuePlacementPolicy>";
    assert_eq!(
        self::front(reject).config["placement"],
        json!([{"rule": "reject"}])
    );
}

#[test]
fn wrong_rules_of_placement_are_faults() {
    let rule = |name: &str| format!("<rule name=\"{name}\"/>");
    let within =
        |outer: &str, inner: &str| format!("<rule name=\"{outer}\">{}</rule>", rule(inner));
    for (rules, expected) in [
        (rule("Default"), "did you mean `default`"),
        (
            rule("specified"),
            "the last rule, specified, may find no queue",
        ),
        (rule("secondaryGroupExistingQueue"), "may find no queue"),
        (
            "<rule name=\"user\" create=\"false\"/>".to_owned(),
            "may find no queue",
        ),
        (rule("user") + &rule("reject"), "remove the rules after it"),
        (
            rule("reject") + &rule("reject"),
            "remove the rules after it",
        ),
        (rule("nestedUserQueue"), "expected a rule in it"),
        (
            within("nestedUserQueue", "user"),
            "another rule than this one",
        ),
        (within("user", "user"), "another rule than this one"),
        (
            within("user", "reject"),
            "neither reject nor nestedUserQueue",
        ),
        (within("default", "user"), "expected no rule in this one"),
        (within("primaryGroup", "nobody"), "`nobody` is not known"),
    ] {
        let list = format!("<queuePlacementPolicy>{rules}</queuePlacementPolicy>");
        let said = fault(&list);
        assert!(
            said.starts_with("line 2: ") && said.contains(expected),
            "{rules}: {said}"
        );
    }
    for empty in ["", "<!-- no rule -->"] {
        let list = format!("<queuePlacementPolicy>{empty}</queuePlacementPolicy>");
        assert!(fault(&list).contains("is empty"), "{list}");
    }
    for blank in [" ", "\n<!-- no rule -->\n"] {
        let blank = front(&format!(
            "<queuePlacementPolicy>{blank}</queuePlacementPolicy>"
        ));
        assert!(verdict(&blank, "queuePlacementPolicy").starts_with("warning: has no rule"));
        assert_eq!(blank.config["placement"], front("").config["placement"]);
    }
}

/// The table of docs/develop/stock-fair.md, section 5.2.
#[test]
fn rules_without_any_in_the_file_are_those_of_two_properties() {
    let rule = |name: &str, create: bool| {
        let mut rule = json!({"rule": name, "create": create, "names": "paths"});
        if name == "default" {
            rule["queue"] = json!("root.default");
        }
        rule
    };
    for (undeclared, by_user, expected) in [
        ("true", "maybe", vec![("specified", true), ("user", true)]),
        (
            "true",
            "false",
            vec![("specified", true), ("default", true)],
        ),
        (
            "false",
            "TRUE",
            vec![("specified", false), ("user", false), ("default", true)],
        ),
        (
            "false",
            "false",
            vec![("specified", false), ("default", true)],
        ),
    ] {
        let list = [
            ("yarn.scheduler.fair.allow-undeclared-pools", undeclared),
            ("yarn.scheduler.fair.user-as-default-queue", by_user),
        ];
        let rules: Vec<_> = expected
            .iter()
            .map(|(name, create)| rule(name, *create))
            .collect();
        assert_eq!(
            with("", &list).config["placement"],
            json!(rules),
            "{list:?}"
        );
    }
}
