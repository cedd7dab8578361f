//! Names of jobs come with a request: they are shown to the jobs' users, who can also ask by them.

use crate::common::{Site, header, json_of, v2_header};
use heddle_economy::http::{Answer, JobName, NodeName, Request};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn names() -> Vec<JobName> {
    let of = |number: u32, user: &str| JobName {
        number,
        application: format!("application_1700000000000_000{number}"),
        user: user.to_string(),
        name: "</script>\u{202e}=1+1".to_string(),
        aside: None,
        lost_queue: None,
    };
    vec![of(1, "alice"), of(2, "bob")]
}

fn asked(site: &Site, user: &str, path: &str, jobs: &[JobName]) -> Answer {
    asked_with(site, user, path, jobs, &[])
}

fn asked_with(site: &Site, user: &str, path: &str, jobs: &[JobName], nodes: &[NodeName]) -> Answer {
    let path = format!("/heddle/v1/{path}");
    let header = v2_header(user, "GET", &path, "", b"");
    site.send(&Request {
        path: &path,
        authorization: Some(&header),
        jobs,
        nodes,
        ..site.plain()
    })
}

#[test]
fn jobs_are_shown_and_found_by_their_applications() {
    let site = Site::market();
    let jobs = names();
    let list = json_of(&asked(&site, "root", "jobs", &jobs));
    for (row, name) in list["jobs"].as_array().expect("a list").iter().zip(&jobs) {
        assert_eq!(row["job"], name.number);
        assert_eq!(row["application"], name.application.as_str());
        assert_eq!(row["user"], name.user.as_str());
        assert_eq!(row["name"], name.name.as_str());
        assert_eq!(row["lost_queue"], Value::Null);
    }
    for route in ["jobs", "explain"] {
        let by_number = json_of(&asked(&site, "alice", &format!("{route}/1"), &jobs));
        let id = &jobs[0].application;
        let by_id = json_of(&asked(&site, "alice", &format!("{route}/{id}"), &jobs));
        assert_eq!(by_id, by_number, "{route}");
        assert_eq!(by_id["application"], id.as_str(), "{route}");
        assert_eq!(by_id["job"], 1, "{route}");
    }
}

/// Twelve slots on nodes 0 to 3 are taken, each with a grant in a trace.
#[test]
fn sentences_name_hosts_and_entries_too() {
    let site = Site::market();
    let node = |number: u32, since_ms: i64| NodeName {
        number,
        name: format!("host-{number}.example.com:45454"),
        since_ms,
        rack: format!("/rack-{number}"),
        label: String::new(),
        aside: None,
    };
    // The fourth node got its number after the grants, which were made at 0 ms.
    let nodes = [node(0, 0), node(1, 0), node(2, 0), node(3, 1)];
    let explained = json_of(&asked_with(&site, "alice", "explain/1", &names(), &nodes));
    assert!(!explained.to_string().contains("node#"), "{explained}");
    let trace = explained["trace"].as_array().expect("a list");
    let granted = trace.iter().filter(|entry| entry["what"] == "granted");
    let mut named = 0;
    for entry in granted {
        let sentence = entry["sentence"].as_str().expect("a text");
        match entry["node"].as_u64().expect("a number") {
            3 => {
                assert!(sentence.contains("on a node that has left"), "{sentence}");
                assert_eq!(entry["host"], Value::Null);
            }
            number => {
                let host = format!("host-{number}.example.com:45454");
                assert!(sentence.contains(&format!("on {host}")), "{sentence}");
                assert_eq!(entry["host"], host.as_str());
                named += 1;
            }
        }
    }
    assert!(named > 0, "{explained}");

    // Under `fifo` no bid matters, so the full nodes are the reason.
    let config = json!({"policy": "fifo", "heartbeat_fill": 1.0});
    let site = Site::with(&config, &json!({}));
    site.cluster().submit(1, "alice", 20);
    site.cluster().beat();
    site.cluster().tick();
    let said = |path: &str, key: &str| {
        let answer = json_of(&asked_with(&site, "alice", path, &names(), &nodes));
        let found = answer.pointer(key).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{answer}")).to_string()
    };
    for sentence in [
        said("jobs", "/jobs/0/waits_for"),
        said("jobs/1", "/waits_for"),
        said("explain/1", "/sentence"),
        said("explain/1", "/waits/0/sentence"),
    ] {
        assert!(
            sentence.contains("host-0.example.com:45454 has"),
            "{sentence}"
        );
    }
}

/// The host knows it, because it looked for the queue when it recovered the job.
#[test]
fn a_job_names_the_queue_that_it_lost() {
    let site = Site::market();
    let jobs = r#"[[1, "application_1700000000000_0001", "alice", "wc", null, "root.old"],
                   [2, "application_1700000000000_0002", "bob", "wc", ["root.bob", "it failed"],
                    "root.older"]]"#;
    let jobs: Vec<JobName> = serde_json::from_str(jobs).expect("rows");
    let list = json_of(&asked(&site, "root", "jobs", &jobs));
    assert_eq!(list["jobs"][0]["lost_queue"], "root.old");
    for route in ["jobs/1", "explain/1"] {
        let told = json_of(&asked(&site, "alice", route, &jobs));
        assert_eq!(told["lost_queue"], "root.old", "{route}");
    }
    let aside = json_of(&asked(&site, "bob", "explain/2", &jobs));
    assert_eq!(aside["aside"], "it failed");
    assert_eq!(aside["lost_queue"], "root.older");
}

/// The engine knows neither any more; the names carry the host's reasons.
#[test]
fn jobs_and_nodes_that_are_put_aside_are_explained() {
    let site = Site::market();
    let jobs = r#"[[7, "application_1700000000000_0007", "alice", "wc",
                    ["root.alice", "The application is put aside: it failed"]]]"#;
    let jobs: Vec<JobName> = serde_json::from_str(jobs).expect("rows");
    let nodes =
        r#"[[0, "host-0:1", 0, "/a", "", "it failed twice"], [1, "host-1:1", 0, "/b", "gpu"]]"#;
    let nodes: Vec<NodeName> = serde_json::from_str(nodes).expect("rows");
    let ask = |user: &str| {
        let path = "explain/application_1700000000000_0007";
        asked_with(&site, user, path, &jobs, &nodes)
    };
    assert_eq!(ask("bob").status, 403);
    let explained = json_of(&ask("alice"));
    for key in ["aside", "sentence"] {
        assert_eq!(explained[key], "The application is put aside: it failed");
    }
    assert_eq!(explained["job"], 7);
    assert_eq!(explained["user"], "alice");
    assert_eq!(explained["now_ms"], site.plain().now_ms);
    let aside = json!([{"node": "host-0:1", "reason": "it failed twice"}]);
    assert_eq!(explained["nodes_aside"], aside);
    let other = json_of(&asked_with(&site, "alice", "explain/1", &names(), &nodes));
    assert_eq!(other["nodes_aside"], aside);
    assert_eq!(other["aside"], Value::Null);
}

#[test]
fn a_name_gives_no_rights_and_finds_nothing_that_is_not_there() {
    let site = Site::market();
    let jobs = names();
    for route in ["jobs", "explain"] {
        let of = |user: &str, job: &str, jobs: &[JobName]| {
            let answer = asked(&site, user, &format!("{route}/{job}"), jobs);
            assert_eq!(header(&answer, "Cache-Control"), Some("no-store"));
            answer.status
        };
        let id = "application_1700000000000_0002";
        assert_eq!(of("alice", id, &jobs), 403, "{route}");
        assert_eq!(of("alice", id, &[]), 404, "{route}: nobody told its number");
        assert_eq!(of("bob", id, &jobs), 200, "{route}");
        for none in ["application_1700000000000_0003", "application_1_12345"] {
            assert_eq!(of("root", none, &jobs), 404, "{route}/{none}");
        }
        for odd in [
            "Application_1700000000000_0002",
            "application_",
            "application_1_1",
            "application__0001",
            "application_1_0001x",
            "application_1_0001_2",
            "job_1_0002",
            "-1",
            "1.0",
        ] {
            assert_eq!(of("root", odd, &jobs), 400, "{route}/{odd}");
        }
        // The host has a name for it, but the engine does not know it yet.
        let mut early = names();
        early[0].number = 77;
        assert_eq!(of("root", &early[0].application, &early), 404, "{route}");
    }
    let own = json_of(&asked(&site, "alice", "jobs", &jobs));
    assert!(!own.to_string().contains("_0002\""), "{own}");
}

/// In a queue that several share, a job's owner sees it, and whoever YARN lets view it.
#[test]
fn a_job_in_a_shared_queue_is_seen_by_its_owner_and_by_whom_yarn_lets_view_it() {
    let site = Site::market();
    let (nobodys, viewed) = (BTreeSet::new(), BTreeSet::from([2]));
    let see = |owner: &str, web: Option<&str>, viewed: &BTreeSet<u32>| {
        let mut jobs = names();
        jobs[1].user = owner.to_string();
        ["jobs", "jobs/2", "explain/2"].map(|route| {
            let path = format!("/heddle/v1/{route}");
            let answer = site.send(&Request {
                path: &path,
                authorization: Some(&v2_header("alice", "GET", &path, "", b"")),
                user: web,
                jobs: &jobs,
                viewed,
                ..site.plain()
            });
            let list = json_of(&answer)["jobs"].take();
            let listed = list
                .as_array()
                .map(|list| list.iter().any(|job| job["job"] == 2));
            answer.status == 200 && listed.unwrap_or(true)
        })
    };
    // The queue is bob's.
    assert_eq!(see("alice", None, &nobodys), [true; 3]);
    assert_eq!(see("carol", Some("alice"), &nobodys), [false; 3]);
    assert_eq!(see("carol", Some("alice"), &viewed), [true; 3]);
    // YARN's list is about bob then, and alice signed.
    assert_eq!(see("carol", Some("bob"), &viewed), [false; 3]);
}

#[test]
fn without_names_jobs_have_numbers() {
    let site = Site::market();
    let list = json_of(&asked(&site, "root", "jobs", &[]));
    assert_eq!(list["jobs"][0]["job"], 1);
    for key in ["application", "user", "name"] {
        assert_eq!(list["jobs"][0][key], Value::Null, "{key}");
        let explained = json_of(&asked(&site, "root", "explain/1", &[]));
        assert_eq!(explained[key], json!(null), "{key}");
    }
}

/// Three jobs with names that the engine does not know.
fn three_jobs(site: &Site) -> [JobName; 3] {
    site.cluster().submit(3, "alice", 1);
    let of = |number: u32, user: &str, name: &str| JobName {
        number,
        application: format!("application_1700000000000_{number:04}"),
        user: user.to_string(),
        name: name.to_string(),
        aside: None,
        lost_queue: None,
    };
    [
        of(1, "alice", "Word Count"),
        of(2, "bob", "\u{c4}rger & <b>"),
        of(3, "alice", "a sort"),
    ]
}

/// Asks for a list of jobs.
fn listed(site: &Site, user: &str, query: &str, jobs: &[JobName]) -> Answer {
    let path = "/heddle/v1/jobs";
    let header = v2_header(user, "GET", path, query, b"");
    site.send(&Request {
        path,
        query,
        authorization: Some(&header),
        jobs,
        ..site.plain()
    })
}

/// The engine does not know them; whoever looks for a job that gets nothing looks here.
#[test]
fn jobs_that_are_put_aside_are_listed_for_those_who_may_see_them() {
    let site = Site::market();
    let [mut one, two, three] = three_jobs(&site);
    one.number = 7;
    one.aside = Some(("root.alice".to_string(), "it failed".to_string()));
    let jobs = [one, two, three];
    let aside =
        |user: &str, query: &str| json_of(&listed(&site, user, query, &jobs))["aside"].take();
    let row = json!([{
        "job": 7, "application": "application_1700000000000_0001", "user": "alice",
        "name": "Word Count", "queue": "root.alice", "reason": "it failed",
    }]);
    for query in [
        "",
        "from=3&max=1",
        "search=word",
        "search=root.alice",
        "sort=-name",
    ] {
        assert_eq!(aside("root", query), row, "{query}");
        assert_eq!(aside("alice", query), row, "{query}");
        assert_eq!(aside("bob", query), json!([]), "{query}");
    }
    assert_eq!(aside("root", "search=sort"), json!([]));
}

#[test]
fn jobs_are_found_and_sorted_by_names() {
    let site = Site::market();
    let jobs = three_jobs(&site);
    let found = |user: &str, query: &str| {
        let list = json_of(&listed(&site, user, query, &jobs));
        let rows = list["jobs"].as_array().expect("a list").iter();
        let numbers: Vec<u64> = rows.filter_map(|row| row["job"].as_u64()).collect();
        (numbers, list["total"].as_u64(), list["next"].as_u64())
    };
    for (user, query, expected) in [
        ("root", "sort=name", (vec![1, 3, 2], Some(3), None)),
        ("root", "sort=-name", (vec![2, 3, 1], Some(3), None)),
        ("root", "sort=user", (vec![1, 3, 2], Some(3), None)),
        (
            "root",
            "sort=-application&max=2",
            (vec![3, 2], Some(3), Some(2)),
        ),
        (
            "root",
            "sort=-application&max=2&skip=2",
            (vec![1], Some(3), None),
        ),
        ("root", "search=wORD", (vec![1], Some(1), None)),
        ("root", "search=%C3%A4rger%20%26", (vec![2], Some(1), None)),
        ("root", "search=root.bob", (vec![2], Some(1), None)),
        ("root", "search=_0003", (vec![3], Some(1), None)),
        (
            "root",
            "search=alice&sort=-submitted",
            (vec![1, 3], Some(2), None),
        ),
        ("root", "search=nothing", (vec![], Some(0), None)),
        // A page of a user is full, whatever others have before.
        ("alice", "max=1", (vec![1], Some(2), Some(3))),
        ("alice", "max=1&from=3", (vec![3], Some(1), None)),
        ("alice", "search=rger", (vec![], Some(0), None)),
        ("bob", "max=1", (vec![2], Some(1), None)),
        ("modern", "", (vec![], Some(0), None)),
    ] {
        assert_eq!(found(user, query), expected, "{user} {query}");
    }
    let long = format!("search={}", "x".repeat(201));
    assert_eq!(listed(&site, "root", &long, &jobs).status, 400);
}

#[test]
fn nodes_have_names_racks_and_room() {
    let site = Site::market();
    let nodes =
        r#"[[0, "host-0:1", 0, "/a", "", "it failed twice"], [1, "host-1:1", 0, "/b", "gpu"]]"#;
    let nodes: Vec<NodeName> = serde_json::from_str(nodes).expect("rows");
    let list = json_of(&asked_with(&site, "alice", "nodes", &[], &nodes));
    let rows = list["nodes"].as_array().expect("a list");
    assert_eq!(rows.len(), 4, "all that the engine has: {list}");
    assert_eq!(
        (&rows[0]["name"], &rows[0]["rack"]),
        (&json!("host-0:1"), &json!("/a"))
    );
    assert_eq!(rows[0]["aside"], "it failed twice");
    assert_eq!(
        (&rows[0]["label"], &rows[1]["label"]),
        (&json!(""), &json!("gpu"))
    );
    assert_eq!(
        (&rows[1]["aside"], &rows[2]["name"]),
        (&Value::Null, &Value::Null)
    );
    // Three slots of 1 GB, all taken.
    assert_eq!(
        (&rows[1]["memory_mb"], &rows[1]["free_mb"]),
        (&json!(3_072), &json!(0))
    );
    assert_eq!(rows[1]["containers"], 3);
}
