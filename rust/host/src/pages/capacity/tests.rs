//! Numbers are those that Hadoop 3.5.0's own scheduler answered for the same files and a node of
//! 8,192 MB and 8 vcores.

use super::super::{PageRequest, answer};
use heddle_stock::{Properties, Property, capacity};
use serde_json::{Value, json};

const DOMINANT: (&str, &str) = (
    "resource-calculator",
    "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
);

fn answered(file: &[(&str, &str)], vectors: bool, queues: &[Value]) -> Value {
    let property = |(name, value): &(&str, &str)| {
        let value = value.to_string();
        let name = format!("yarn.scheduler.capacity.{name}");
        (name, Property { value, line: 1 })
    };
    let properties: Properties = file.iter().map(property).collect();
    let shown = capacity::shown(&properties).expect("a good file");
    let snapshot = json!({
        "types": [["memory-mb", "Mi", "COUNTABLE", 0, i64::MAX],
            ["vcores", "", "COUNTABLE", 0, i64::MAX]],
        "largest": {"memory-mb": 8192, "vcores": 4},
        "capacity": {"memory-mb": 8192, "vcores": 8},
        "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
        "by_weight": true,
        "empty_maps": false,
        "queues": queues,
        "stock": {"kind": "capacity", "shown": shown, "vectors": vectors, "users": {"7": "alice"},
            "largest": {"memory-mb": 8192, "vcores": 4}},
    });
    let request = json!({"method": "GET", "accept": "application/json", "page": false,
        "queues": snapshot});
    let request: PageRequest = serde_json::from_value(request).expect("a request");
    let text = String::from_utf8(answer(&request).body).expect("UTF-8");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    answer["scheduler"]["schedulerInfo"].clone()
}

fn queue(path: &str, leaf: bool, more: Value) -> Value {
    let mut described = json!({"path": path});
    for (key, value) in more.as_object().into_iter().flatten() {
        described[key] = value.clone();
    }
    json!([described, leaf, 0, 0])
}

fn amount(of: &Value) -> (i64, i64) {
    let number = |key: &str| of[key].as_i64().unwrap_or(-1);
    (number("memory"), number("vCores"))
}

/// A row for each label with usage, as with the stock scheduler; none for one that is only named.
#[test]
fn usage_has_a_row_for_each_label() {
    let file = [("root.queues", "a"), ("root.a.capacity", "100")];
    let user = |used: i64| {
        json!({"user": 7, "weight": 1.0, "used": {"memory-mb": used},
        "masters_used": {"memory-mb": used / 2}})
    };
    let more = json!({"used": {"memory-mb": 1024}, "users": [user(1024)],
        "labels": {"gpu": {"used": {"memory-mb": 4096}, "demand": {"memory-mb": 5120},
            "users": [user(4096)]}, "ssd": {"used": {"memory-mb": 0}}}});
    let queues = [queue("root", false, json!({})), queue("root.a", true, more)];
    let info = answered(&file, true, &queues);
    let a = &info["queues"]["queue"][0];
    let memory = |rows: &Value, what: &str| -> Vec<(String, i64)> {
        let rows = rows["resourceUsagesByPartition"].as_array().expect("rows");
        let row = |row: &Value| {
            (
                row["partitionName"].as_str().unwrap_or("?").to_owned(),
                amount(&row[what]).0,
            )
        };
        rows.iter().map(row).collect()
    };
    let rows =
        |plain: i64, labelled: i64| vec![(String::new(), plain), ("gpu".to_owned(), labelled)];
    assert_eq!(memory(&a["resources"], "used"), rows(1024, 4096));
    assert_eq!(memory(&a["resources"], "pending"), rows(0, 1024));
    let of_user = &a["users"]["user"][0]["resources"];
    assert_eq!(memory(of_user, "used"), rows(1024, 4096));
    assert_eq!(memory(of_user, "amUsed"), rows(512, 2048));
}

#[test]
fn percent_of_percent_are_worked_out_in_32_bits() {
    let file = [
        ("root.queues", "batch,rest"),
        ("root.batch.capacity", "40"),
        ("root.rest.capacity", "60"),
        ("root.batch.queues", "daily,nightly"),
        ("root.batch.daily.capacity", "75"),
        ("root.batch.daily.maximum-capacity", "80"),
        ("root.batch.daily.minimum-user-limit-percent", "25"),
        ("root.batch.daily.user-limit-factor", "2"),
        ("root.batch.nightly.capacity", "25"),
    ];
    let none = || json!({});
    let users = json!({"jobs": 2, "runnable_jobs": 2, "pending_masters": 1,
        "used": {"memory-mb": 1024, "vcores": 1}, "am_limit": {"memory-mb": 2048},
        "users": [{"user": 7, "jobs": 2, "starting": 1, "weight": 1.0, "active": false,
            "limit": {"memory-mb": 3072}, "masters_limit": {"memory-mb": 1024}}]});
    let queues = [
        queue("root", false, none()),
        queue("root.batch", false, none()),
        queue("root.rest", true, none()),
        queue("root.batch.daily", true, users),
        queue("root.batch.nightly", true, none()),
    ];
    let info = answered(&file, true, &queues);
    let below = &info["queues"]["queue"];
    assert_eq!(below[0]["queueName"], "rest", "leaves come first");
    let daily = &below[1]["queues"]["queue"][0];
    assert_eq!(daily["absoluteCapacity"].to_string(), "30.000002");
    assert_eq!(daily["usedCapacity"].to_string(), "41.67684");
    assert_eq!(daily["maxCapacity"].to_string(), "80.0");
    assert_eq!(amount(&daily["minEffectiveCapacity"]), (2457, 2));
    assert_eq!(amount(&daily["maxEffectiveCapacity"]), (6553, 6));
    assert_eq!(
        (&daily["maxApplications"], &daily["maxApplicationsPerUser"]),
        (&json!(3000), &json!(1500))
    );
    assert_eq!(daily["numActiveApplications"], 1);
    assert_eq!(daily["numPendingApplications"], 1);
    assert_eq!(below[1]["numApplications"], 2);
    // Of memory alone a limit has one vcore, and nothing has none.
    assert_eq!(amount(&daily["AMResourceLimit"]), (2048, 1));
    let user = &daily["users"]["user"][0];
    assert_eq!(
        (&user["username"], &user["isActive"]),
        (&json!("alice"), &json!(true))
    );
    assert_eq!(amount(&user["userResourceLimit"]), (3072, 1));
    assert_eq!(daily["userLimit"].to_string(), "25.0");
    let older = answered(&file, false, &queues);
    let daily = &older["queues"]["queue"][1]["queues"]["queue"][0];
    assert_eq!(daily["userLimit"].to_string(), "25");
    assert_eq!(daily.get("mode"), None);
}

#[test]
fn weights_are_parts_of_all_siblings_and_templates_make_more() {
    let file = [
        DOMINANT,
        ("root.queues", "default,people,tenants"),
        ("root.default.capacity", "1w"),
        ("root.people.capacity", "3w"),
        ("root.tenants.capacity", "2w"),
        ("root.tenants.auto-queue-creation-v2.enabled", "true"),
        (
            "root.tenants.auto-queue-creation-v2.template.capacity",
            "2w",
        ),
    ];
    let none = || json!({});
    let queues = [
        queue("root", false, none()),
        queue("root.default", true, none()),
        queue("root.people", true, none()),
        queue("root.tenants", false, none()),
        queue("root.tenants.x", true, none()),
        queue("root.tenants.y", true, none()),
    ];
    let info = answered(&file, true, &queues);
    let below = &info["queues"]["queue"];
    let default = &below[0];
    assert_eq!(default["capacity"].to_string(), "0.0");
    assert_eq!(default["absoluteCapacity"].to_string(), "16.666668");
    assert_eq!(default["normalizedWeight"].to_string(), "0.16666667");
    assert_eq!(amount(&default["minEffectiveCapacity"]), (1365, 1));
    assert_eq!(default["maxApplications"], 1666);
    assert_eq!(default["mode"], "weight");
    let tenants = &below[2];
    assert_eq!(tenants["autoCreationEligibility"], "flexible");
    let template = json!({"property": [{"name": "capacity", "value": "2w"}]});
    assert_eq!(tenants["autoQueueTemplateProperties"], template);
    let made = &tenants["queues"]["queue"][1];
    assert_eq!(
        (&made["weight"], &made["normalizedWeight"]),
        (&json!(2.0), &json!(0.5))
    );
    assert_eq!(made["creationMethod"], "dynamicFlexible");
}

/// A template holds one level down, and further by `*` alone. Root has the weight that is written.
#[test]
fn a_template_gives_its_weight_to_its_own_level() {
    const LEAF: &str = "auto-queue-creation-v2.leaf-template.capacity";
    let [own, further] = ["root", "root.*"].map(|path| format!("{path}.{LEAF}"));
    let queues = [
        queue("root", false, json!({})),
        queue("root.a", true, json!({})),
        queue("root.new", false, json!({})),
        queue("root.x", true, json!({})),
        queue("root.new.deep", true, json!({})),
    ];
    for (stars, deep) in [(None, 1.0), (Some((further.as_str(), "5w")), 5.0)] {
        let mut file = vec![
            ("root.queues", "a"),
            ("root.capacity", "1w"),
            ("root.a.capacity", "1w"),
            ("root.auto-queue-creation-v2.enabled", "true"),
            (own.as_str(), "4w"),
        ];
        file.extend(stars);
        let info = answered(&file, true, &queues);
        assert_eq!(info["weight"], 1.0);
        let below = info["queues"]["queue"].as_array().expect("a list");
        let of = |name: &str| {
            let found = below.iter().find(|queue| queue["queueName"] == name);
            found.expect(name)
        };
        assert_eq!(of("x")["weight"], 4.0);
        assert_eq!(of("new")["weight"], 1.0);
        assert_eq!(of("new")["queues"]["queue"][0]["weight"], deep);
    }
}

/// By its name it comes before the capacity that is meant.
#[test]
fn a_labels_capacity_in_a_template_is_not_the_queues() {
    const TEMPLATE: &str = "root.tenants.auto-queue-creation-v2.template";
    let [own, labels] =
        ["", ".accessible-node-labels.gpu"].map(|of| format!("{TEMPLATE}{of}.capacity"));
    let file = [
        ("root.queues", "default,tenants"),
        ("root.default.capacity", "1w"),
        ("root.tenants.capacity", "2w"),
        ("root.tenants.auto-queue-creation-v2.enabled", "true"),
        (own.as_str(), "2w"),
        (labels.as_str(), "7w"),
    ];
    let queues = [
        queue("root", false, json!({})),
        queue("root.default", true, json!({})),
        queue("root.tenants", false, json!({})),
        queue("root.tenants.x", true, json!({})),
    ];
    let info = answered(&file, true, &queues);
    let made = &info["queues"]["queue"][1]["queues"]["queue"][0];
    assert_eq!(made["weight"], 2.0);
}

#[test]
fn amounts_are_parts_of_the_cluster_and_hand_their_maximum_down() {
    let file = [
        DOMINANT,
        ("root.queues", "default,people"),
        ("root.default.capacity", "[memory=2048,vcores=2]"),
        ("root.people.capacity", "[memory=4096,vcores=5]"),
        ("root.people.maximum-capacity", "[memory=6144,vcores=6]"),
        ("root.people.queues", "ana"),
        ("root.people.ana.capacity", "[memory=3072,vcores=3]"),
    ];
    let guaranteed =
        |memory: i64, vcores: i64| json!({"guaranteed": {"memory-mb": memory, "vcores": vcores}});
    let queues = [
        queue("root", false, json!({})),
        queue("root.default", true, guaranteed(2048, 2)),
        queue("root.people", false, guaranteed(4096, 5)),
        queue("root.people.ana", true, guaranteed(3072, 3)),
    ];
    let info = answered(&file, true, &queues);
    let people = &info["queues"]["queue"][1];
    assert_eq!(people["capacity"].to_string(), "62.5");
    assert_eq!(people["maxCapacity"].to_string(), "75.0");
    let ana = &people["queues"]["queue"][0];
    assert_eq!(ana["capacity"].to_string(), "60.000004");
    assert_eq!(ana["absoluteMaxCapacity"].to_string(), "75.0");
    assert_eq!(ana["mode"], "absolute");
    let of_partition = &ana["capacities"]["queueCapacitiesByPartition"][0];
    assert_eq!(amount(&of_partition["configuredMaxResource"]), (6144, 6));
    let vector = &of_partition["queueCapacityVectorInfo"]["configuredCapacityVector"];
    assert_eq!(vector, "[memory-mb=3072.0,vcores=3.0]");
}
