//! Tests of the three documents, read back by other parsers.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

fn asked(page: bool, accept: &str, queues: &[Value]) -> PageRequest {
    let snapshot = json!({
        "types": [["memory-mb", "Mi", "COUNTABLE", 0, i64::MAX], ["vcores", "", "COUNTABLE", 0, 9],
            ["gpu", "m", "COUNTABLE", 0, 9]],
        "largest": {"memory-mb": 4096, "vcores": 2},
        "capacity": {"memory-mb": 8192, "vcores": 8, "gpu": 3000},
        "policy": {"share": "fair", "order": "fifo", "place": "delay"},
        "by_weight": true,
        "empty_maps": false,
        "queues": queues,
    });
    serde_json::from_value(
        json!({"method": "GET", "accept": accept, "page": page, "queues": snapshot}),
    )
    .expect("a request")
}

fn queue(path: &str, weight: f64, leaf: bool) -> Value {
    let policy = if leaf { "fifo" } else { "fair" };
    let limit = json!({"memory-mb": 5000});
    let described = json!({
        "path": path, "weight": weight, "max_share": limit, "scheduling_policy": policy,
    });
    json!([described, leaf, 3, 4])
}

fn tree() -> Vec<Value> {
    vec![
        queue("root", 1.0, false),
        queue("root.a", 3.0, false),
        queue("root.b", 1.0, true),
        queue("root.a.c", 0.5, true),
    ]
}

fn text(answer: Answer) -> String {
    assert_eq!(answer.status, 200);
    String::from_utf8(answer.body).expect("UTF-8")
}

#[test]
fn types_are_chosen_by_quality() {
    let (json, xml) = (Some(JSON), Some(XML));
    let cases = [
        ("", json),
        (" ", json),
        ("*/*", json),
        ("application/*", json),
        (XML, xml),
        ("application/json;q=0.2,application/xml;q=0.3", xml),
        ("application/xml;q=0.3,application/json;q=0.3", xml),
        ("text/html,*/*;q=0.1", json),
        ("application/xml;q=0,application/json", json),
        ("*/*;q=0.5, application/json;q=0.3", json),
        ("application/*;q=0.8, application/json;q=0.1", json),
        ("application/json;q=0", None),
        ("application/json;q=NaN", None),
        ("application/json;q=x", None),
        ("text/html", None),
        ("garbage", None),
        ("*", None),
        (",,;;q=,", None),
        ("APPLICATION/XML; CharSet=utf-8 ; Q=1.0", xml),
        ("application/json;q=-1", None),
    ];
    for (accept, expected) in cases {
        assert_eq!(choose(accept), expected, "{accept:?}");
    }
}

#[test]
fn only_reads_are_answered() {
    for page in [false, true] {
        let mut request = asked(page, "", &tree());
        for (method, status) in [("HEAD", 200), ("OPTIONS", 200), ("POST", 405), ("X", 405)] {
            request.method = method.to_string();
            let answer = answer(&request);
            assert_eq!(answer.status, status, "{method}");
            let allow = answer.headers.contains(&("Allow", READS.to_string()));
            assert_eq!(allow, method != "HEAD");
        }
    }
    assert_eq!(answer(&asked(false, "image/png", &tree())).status, 406);
    assert_eq!(answer(&asked(true, "image/png", &tree())).status, 200);
    let early = answer(&asked(true, "", &[]));
    assert_eq!(
        (early.status, early.headers),
        (503, vec![("Retry-After", "1".to_string())])
    );
}

/// The fields of the root of an answer, of 8192 MB, 8 vcores and 3000 gpu in all.
fn root(queues: &[Value]) -> Value {
    let body = text(answer(&asked(false, "", queues)));
    let document: Value = serde_json::from_str(&body).expect("JSON");
    document["scheduler"]["schedulerInfo"]["rootQueue"].clone()
}

#[test]
fn parts_by_weight_end_at_the_maximum() {
    let steady = |queue: &Value| {
        let list =
            queue["steadyFairResources"]["resourceInformations"]["resourceInformation"].clone();
        [0, 1, 2].map(|at| list[at]["value"].as_i64().expect("a number"))
    };
    let root = root(&tree());
    assert_eq!(steady(&root), [8192, 8, 3000]);
    let children = &root["childQueues"]["queue"];
    // Three quarters are 6144 MB.
    assert_eq!(steady(&children[0]), [5000, 6, 2250]);
    assert_eq!(steady(&children[1]), [2048, 2, 750]);
    assert_eq!(
        steady(&children[0]["childQueues"]["queue"][0]),
        [5000, 6, 2250]
    );
    assert_eq!(children[0]["schedulingPolicy"], "fair");
    assert_eq!(children[1]["schedulingPolicy"], "fifo");
    assert_eq!(children[1]["type"], "fairSchedulerLeafQueueInfo");
    assert_eq!(
        (
            &children[1]["numPendingApps"],
            &children[1]["numActiveApps"]
        ),
        (&json!(3), &json!(4))
    );
    assert_eq!(root["maxApps"], i32::MAX);
    assert_eq!(root["maxResources"]["vCores"], i32::MAX);
}

/// The details of each queue on a page, by its path: names and values.
fn details(body: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let page = roxmltree::Document::parse_with_options(body, html()).expect("XML");
    let queues = page
        .descendants()
        .filter(|node| node.has_tag_name("details"));
    let read = |queue: roxmltree::Node<'_, '_>| {
        let name = queue
            .descendants()
            .find(|node| node.attribute("class") == Some("q"));
        let table = queue.children().find(|node| node.has_tag_name("table"));
        let rows = table.expect("a table").descendants();
        let row = |row: roxmltree::Node<'_, '_>| {
            let mut cells = row.children().map(|cell| words(&cell));
            let mut next = || cells.next().expect("two cells");
            (next(), next())
        };
        let rows = rows.filter(|node| node.has_tag_name("tr")).map(row);
        (words(&name.expect("a name")), rows.collect())
    };
    queues.map(read).collect()
}

#[test]
fn limits_of_a_queue_are_shown() {
    let mut leaf = queue("root.b", 1.0, true);
    leaf[0]["am_used"] = json!({"memory-mb": 512, "vcores": 1});
    leaf[0]["am_limit"] = json!({"memory-mb": 1024, "vcores": 4});
    leaf[0]["max_container"] = json!({"memory-mb": 2048});
    leaf[0]["preemptable"] = json!(false);
    let root = root(&[queue("root", 1.0, false), leaf]);
    let leaf = &root["childQueues"]["queue"][0];
    assert_eq!(leaf["amUsedResources"]["memory"], 512);
    assert_eq!(leaf["amMaxResources"]["vCores"], 4);
    // The cluster's largest container has 4096 MB and 2 vcores.
    assert_eq!(leaf["maxContainerAllocation"]["memory"], 2048);
    assert_eq!(leaf["maxContainerAllocation"]["vCores"], 2);
    assert_eq!(
        (&leaf["preemptable"], &root["preemptable"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(root["amMaxResources"]["memory"], 0);
}

#[test]
fn the_page_shows_the_tree() {
    let body = text(answer(&asked(true, "", &tree())));
    let queues = details(&body);
    let names: Vec<&str> = queues.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["root", "root.a", "root.a.c", "root.b"]);
    let most = "5,000 MB, 2,147,483,647 vcores, 9,223,372,036,854,775,807 m gpu";
    let leaf = &queues[2].1;
    assert_eq!(leaf["Weight"], "0.5");
    assert_eq!(leaf["Max Resources"], most);
    // Three quarters of the root's, and all of that.
    assert_eq!(leaf["Steady Fair Share"], "5,000 MB, 6 vcores, 2,250 m gpu");
    assert_eq!(leaf["Active Applications"], "4");
    assert_eq!(queues[1].1["Weight"], "3");
    assert!(!queues[1].1.contains_key("Active Applications"));
    assert!(body.contains("Cluster: 8,192 MB, 8 vcores, 3,000 m gpu."));
}

/// 5000 of 8192 MB are the maximum, 2500 are used, 1250 are the share.
#[test]
fn bars_are_as_wide_as_their_amounts() {
    let mut leaf = queue("root.b", 1.0, true);
    leaf[0]["used"] = json!({"memory-mb": 2500});
    leaf[0]["fair_share"] = json!({"memory-mb": 1250});
    let body = text(answer(&asked(true, "", &[queue("root", 1.0, false), leaf])));
    assert!(
        body.contains("style=\"width:48.8%\" aria-hidden=\"true\">"),
        "80 % of 5000 / 8192"
    );
    assert!(body.contains("<span class=\"over\" style=\"width:50.0%\">"));
    assert!(body.contains("<span class=\"now\" style=\"width:25.0%\">"));
    assert!(body.contains("30.5% used"), "2500 / 8192");
}

/// Neither the depth of the tree nor an empty cluster stops the page.
#[test]
fn deep_trees_and_no_nodes_are_shown() {
    let mut queues = vec![queue("root", 1.0, false)];
    let mut path = "root".to_string();
    for _ in 0..10_000 {
        path.push_str(".a");
        queues.push(queue(&path, 1.0, false));
    }
    let mut request = asked(true, "", &queues);
    request.queues.as_mut().expect("there").capacity = json!({});
    let body = text(answer(&request));
    assert_eq!(body.matches("<details").count(), 10_001);
    assert_eq!(body.matches("</details>").count(), 10_001);
    assert!(body.contains("0.0% used"));
}

fn html<'a>() -> roxmltree::ParsingOptions<'a> {
    roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    }
}

fn words(node: &roxmltree::Node<'_, '_>) -> String {
    let texts = node.descendants().filter(roxmltree::Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

proptest! {
    /// Other parsers read the three documents back, and they say the same where they can.
    #[test]
    fn any_name_stays_text(
        name in "(?s)[^.]{0,40}|[<>&\"'\\]\\[!-]{0,20}|[\u{0}-\u{180}\u{fffe}\u{ffff}&&[^.]]{0,40}",
    ) {
        let path = format!("root.{name}");
        let queues = [queue("root", 1.0, false), queue(&path, 1.0, true)];
        prop_assert_eq!(&root(&queues)["childQueues"]["queue"][0]["queueName"], path.as_str());
        let odd = |c: char| (c < ' ' && !"\t\r\n".contains(c)) || "\u{fffe}\u{ffff}".contains(c);
        // Readers may take every end of a line for one.
        let lines = |text: String| text.replace("\r\n", "\n").replace('\r', "\n");
        let speakable = lines(path.replace(odd, "\u{fffd}"));
        let xml = text(answer(&asked(false, XML, &queues)));
        let document = roxmltree::Document::parse(&xml).expect("XML");
        let named = document.descendants().filter(|node| node.has_tag_name("queueName"));
        prop_assert_eq!(named.map(|node| lines(words(&node))).nth(1), Some(speakable.clone()));
        let page = text(answer(&asked(true, "", &queues)));
        let page = roxmltree::Document::parse_with_options(&page, html()).expect("XML");
        let rows = page.descendants().filter(|node| node.attribute("class") == Some("q"));
        prop_assert_eq!(rows.map(|node| lines(words(&node))).nth(1), Some(speakable));
    }
}
