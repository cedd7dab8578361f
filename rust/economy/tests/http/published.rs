//! The published interface (DP-32 to DP-34), with requests of clients of the original scheduler and
//! the answers that they expect.

use crate::common::{NOW, START, Site, audit_of, header, text, write_acl};
use heddle_economy::http::{Answer, Request};
use serde_json::json;

fn info(inner: &str) -> String {
    format!("<QueueInfo><host>rm1</host>\n{inner}</QueueInfo>\n")
}

fn denied(answer: &Answer) -> bool {
    text(answer).contains("<error>ACCESS DENIED")
}

#[test]
fn price_and_time_need_no_signature() {
    let site = Site::market();
    let price = site.get("/scheduler?price");
    assert_eq!((price.status, price.content_type), (200, "text/xml"));
    assert_eq!(text(&price), info("<price>3.0</price>\n"));
    let time = site.get("/scheduler?time");
    let expected = format!("<start>{START}</start>\n<time>{NOW}</time>\n");
    assert_eq!(text(&time), info(&expected));
    // As published, a missing command is no error.
    assert_eq!(text(&site.get("/scheduler")), info(""));
    // An unknown parameter is one: nothing was executed.
    let none = site.get("/scheduler?user=alice&timestamp=1");
    let said = text(&none);
    assert_eq!(none.status, 400, "{said}");
    assert!(said.contains("there is no such command"), "{said}");
    let post = site.send(&Request {
        method: "POST",
        path: "/scheduler",
        query: "price=",
        ..site.plain()
    });
    assert_eq!(text(&post), text(&price));
}

#[test]
fn an_administrator_sees_all_queues() {
    let site = Site::market();
    let infos = site.command("GET", "infos", "root", NOW);
    // 2 / 3 and 1 / 3 as `float`s; 20 - 8 and 10 - 4 tasks wait.
    let expected = info(
        "<price>3.0</price>\n<queue name=\"alice\"><budget>100.0</budget>\n\
         <spending>2.0</spending>\n<share>0.6666667</share>\n<used>8</used>\n\
         <pending>12</pending>\n</queue>\n<queue name=\"bob\"><budget>1000.0</budget>\n\
         <spending>1.0</spending>\n<share>0.33333334</share>\n<used>4</used>\n\
         <pending>6</pending>\n</queue>\n",
    );
    assert_eq!(text(&infos), expected);
}

#[test]
fn a_user_sees_and_bids_for_the_own_queue() {
    let site = Site::market();
    let shown = site.command("GET", "info=alice", "alice", NOW);
    let expected = "<budget>100.0</budget>\n<spending>2.0</spending>\n<share>0.6666667</share>\n\
                    <used>8</used>\n<pending>12</pending>\n";
    assert_eq!(text(&shown), info(expected));
    // Answers to changes have no share (DP-34). POST is GET.
    for (method, rate, at_ms) in [("GET", "0.25", NOW + 1), ("POST", "0.000001", NOW + 2)] {
        let query = format!("setSpending={rate}&queue=alice");
        let set = site.command(method, &query, "alice", at_ms);
        let expected = format!(
            "<budget>100.0</budget>\n<spending>{rate}</spending>\n<used>8</used>\n\
             <pending>12</pending>\n"
        );
        assert_eq!(text(&set), info(&expected));
        assert_eq!(site.rate("root.alice"), rate.parse().ok());
    }
    // Her full path is the same queue.
    let path = site.command("GET", "info=root.alice", "alice", NOW + 3);
    assert_eq!(path.status, 200);
}

#[test]
fn an_administrator_adds_queues_and_credits_and_takes_queues_away() {
    let site = Site::market();
    let empty = "<budget>0.0</budget>\n<spending>0.0</spending>\n<used>0</used>\n\
                 <pending>0</pending>\n";
    let added = site.command("GET", "addQueue=carol", "root", NOW);
    assert_eq!(text(&added), info(empty));
    let paid = site.command("POST", "addBudget=4800.5&queue=carol", "root", NOW + 1);
    assert_eq!(
        text(&paid),
        info(&empty.replace("<budget>0.0", "<budget>4800.5"))
    );
    assert_eq!(site.budget_micro("root.carol"), Some(4_800_500_000));
    // The published server emptied the account.
    let again = site.command("GET", "addQueue=carol", "root", NOW + 2);
    assert_eq!(again.status, 409);
    assert_eq!(site.budget_micro("root.carol"), Some(4_800_500_000));
    let removed = site.command("GET", "removeQueue=carol", "root", NOW + 3);
    assert_eq!(text(&removed), info(""));
    assert_eq!(site.budget_micro("root.carol"), None);
    // DP-41: an error for the caller.
    for (i, query) in [
        "removeQueue=carol",
        "addBudget=1&queue=carol",
        "setSpending=1&queue=carol",
        "info=carol",
    ]
    .into_iter()
    .enumerate()
    {
        let unknown = site.command("GET", query, "root", NOW + 10 + i as u64);
        assert_eq!(unknown.status, 404, "{query}");
        assert!(
            text(&unknown).contains("<error>there is no account"),
            "{query}"
        );
    }
}

/// DP-32, row by row, through the whole interface: an unsigned caller, the user of the queue,
/// another user, an administrator.
#[test]
fn the_table_of_commands_and_roles() {
    let table = [
        ("price", [200, 200, 200, 200]),
        ("time", [200, 200, 200, 200]),
        ("info=alice", [401, 200, 403, 200]),
        ("infos", [401, 403, 403, 200]),
        ("setSpending=1&queue=alice", [401, 200, 403, 200]),
        ("addBudget=1&queue=alice", [401, 403, 403, 200]),
        ("addQueue=carol", [401, 403, 403, 200]),
        ("removeQueue=carol", [401, 403, 403, 200]),
    ];
    let site = Site::market();
    for (row, (query, expected)) in table.into_iter().enumerate() {
        let at_ms = NOW + 10 * row as u64;
        let answers = [
            site.get(&format!("/scheduler?{query}")),
            site.command("GET", query, "alice", at_ms),
            site.command("GET", query, "bob", at_ms),
            site.command("GET", query, "root", at_ms),
        ];
        for (answer, expected) in answers.iter().zip(expected) {
            assert_eq!(answer.status, expected, "{query}: {}", text(answer));
            assert_eq!(denied(answer), expected != 200, "{query}");
        }
    }
    // 100 and the administrator's 1; no other grant.
    assert_eq!(site.budget_micro("root.alice"), Some(101_000_000));
}

#[test]
fn refusals_say_access_denied_and_change_nothing() {
    let site = Site::market();
    let bid = "setSpending=0.5&queue=alice";
    assert_eq!(site.command("GET", bid, "alice", NOW).status, 200);
    // A replay, an older one, one not later than the start, and one beyond the skew.
    for at_ms in [NOW, NOW - 1, START, NOW + 3_600_000] {
        let refused = site.command("GET", "setSpending=9&queue=alice", "alice", at_ms);
        assert!(refused.status == 401 && denied(&refused), "{at_ms}");
        assert!(header(&refused, "WWW-Authenticate").is_some());
    }
    // An unknown user, and one who may not use version 1.
    for user in ["mallory", "modern"] {
        let refused = site.command("GET", "info=alice", user, NOW + 5);
        assert!(refused.status == 401 && denied(&refused), "{user}");
    }
    assert_eq!(site.rate("root.alice"), Some(0.5));
    let lines = audit_of(&site);
    assert_eq!(lines.len(), 7, "{lines:?}");
    assert_eq!(lines[0]["action"], "setSpending 0.5");
    assert_eq!(
        (&lines[0]["allowed"], &lines[0]["user"]),
        (&json!(true), &json!("alice"))
    );
    assert_eq!(lines[0]["queue"], "root.alice");
    let refused = |line: &serde_json::Value| line["allowed"] == false && line["user"].is_null();
    assert!(lines[1..].iter().all(refused), "{lines:?}");
    assert_eq!(lines[1]["refused"], "replayed");
}

#[test]
fn a_method_that_should_change_nothing_does_not() {
    let site = Site::market();
    let head = site.command("HEAD", "addBudget=5&queue=alice", "root", NOW);
    assert_eq!((head.status, header(&head, "Allow").is_some()), (405, true));
    for method in ["PUT", "DELETE", "PATCH", "TRACE", "get"] {
        let refused = site.command(method, "addBudget=5&queue=alice", "root", NOW);
        assert_eq!(refused.status, 405, "{method}");
    }
    assert_eq!(site.budget_micro("root.alice"), Some(100_000_000));
    let head = site.command("HEAD", "price", "root", NOW);
    assert_eq!((head.status, head.body.len()), (200, 0));
    let options = site.command("OPTIONS", "addBudget=5&queue=alice", "root", NOW);
    assert_eq!((options.status, options.body.len()), (204, 0));
    assert_eq!(header(&options, "Allow"), Some("GET, HEAD, POST, OPTIONS"));
}

/// Version 1 does not cover the body, where the published server also looked for parameters.
#[test]
fn a_body_carries_no_commands() {
    let site = Site::market();
    let text = heddle_economy::auth::v1::signed_text("price2", "root", &NOW.to_string());
    let secret = crate::common::secret("root");
    let signature =
        heddle_economy::auth::v1::header(&heddle_economy::auth::v1::signature(&secret, &text));
    let sent = site.send(&Request {
        method: "POST",
        path: "/scheduler",
        query: &text,
        authorization: Some(&signature),
        body: b"addBudget=1000&queue=alice",
        ..site.plain()
    });
    assert_eq!(sent.status, 400, "no command in the query");
    assert_eq!(site.budget_micro("root.alice"), Some(100_000_000));
}

#[test]
fn two_commands_at_once_are_refused() {
    let site = Site::market();
    for (i, query) in [
        "setSpending=1&info=bob&queue=alice",
        "addBudget=1&addBudget=2&queue=alice",
        "setSpending=NaN&queue=alice",
        "setSpending=-1&queue=alice",
        "setSpending=1&queue=%zz",
    ]
    .into_iter()
    .enumerate()
    {
        let refused = site.command("GET", query, "root", NOW + i as u64);
        assert_eq!(refused.status, 400, "{query}");
    }
    assert_eq!(site.rate("root.alice"), Some(2.0));
}

#[test]
fn a_policy_without_accounts_has_no_price() {
    let site = Site::with(&json!({"policy": "fair"}), &json!({}));
    assert_eq!(site.get("/scheduler?price").status, 404);
    assert_eq!(site.command("GET", "infos", "root", NOW).status, 404);
    assert_eq!(site.get("/scheduler?time").status, 200);
}

#[test]
fn version_1_can_be_switched_off() {
    let config = crate::common::market_config();
    let site = Site::with(&config, &json!({"v1": false}));
    let refused = site.command("GET", "info=alice", "alice", NOW);
    assert!(refused.status == 401 && denied(&refused));
    // Clients of version 2 may use the commands, too.
    let shown = site.signed("alice", "GET", "/scheduler?info=alice", "");
    assert_eq!(shown.status, 200, "{}", text(&shown));
}

#[test]
fn the_acl_file_is_read_again_when_it_has_settled() {
    let site = Site::with(
        &crate::common::market_config(),
        &json!({"acl_settle_ms": 1_000}),
    );
    assert_eq!(site.command("GET", "infos", "bob", NOW).status, 403);
    write_acl(&site.acl(), "bob admin bobby's_16_bytes\nmalformed\n");
    site.api.poll(NOW);
    assert_eq!(site.command("GET", "infos", "bob", NOW + 1).status, 403);
    site.api.poll(NOW + 1_000);
    assert_eq!(site.command("GET", "infos", "bob", NOW + 2).status, 200);
    assert_eq!(
        site.command("GET", "info=alice", "alice", NOW + 2).status,
        401
    );
    // An unusable file leaves the old users in force.
    std::fs::remove_file(site.acl()).expect("it was there");
    site.api.poll(NOW + 2_000);
    site.api.poll(NOW + 9_000);
    assert_eq!(site.command("GET", "infos", "bob", NOW + 3).status, 200);
    assert!(text(&site.get("/heddle/v1/health")).contains("\"degraded\""));
}

/// A request accepted before a restart or failover is refused after it.
#[test]
fn watermarks_outlast_the_service() {
    let (one, other) = (Site::market(), Site::market());
    assert_eq!(one.command("GET", "info=alice", "alice", NOW).status, 200);
    other.api.merge_watermarks(&one.api.export_watermarks());
    assert_eq!(other.command("GET", "info=alice", "alice", NOW).status, 401);
    assert_eq!(
        other.command("GET", "info=alice", "alice", NOW + 1).status,
        200
    );
}
