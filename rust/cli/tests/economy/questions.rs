//! Tests the commands that ask and change nothing.

use crate::site::{NODE, Site, heddle, words};
use crate::support::client::{Answer, FrameWriter};
use crate::support::{DECISIONS_MAX, Library, journals};
use heddle::host::Host;
use heddle_core::words::event::{Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

#[test]
fn the_price_needs_no_secret() {
    let site = Site::market();
    let mut command = heddle(&["price", "--url", &site.url()]);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // The sum of the bids, 2 and 1.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3\n");
    assert_eq!(site.json("alice", &["price"])["price_micro"], 3_000_000);
    assert!(
        site.heard()
            .iter()
            .all(|heard| heard.authorization.is_none())
    );
}

#[test]
fn prices_over_time() {
    let site = Site::market();
    site.until(40_500);
    let said = site.said("alice", &["price", "--history"]);
    // Intervals end at the first tick, at 20.5 s and at 40.5 s; the test below asks for the last
    // two.
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(
        said.lines().skip(1).all(|line| line.ends_with("Z      3")),
        "{said}"
    );
    let last = site.said("alice", &["price", "--history", "2"]);
    assert_eq!(last.lines().count(), 3, "{last}");
    let intervals = &site.json("alice", &["price", "--history"])["intervals"];
    assert_eq!(intervals[2]["at_ms"], site.started_ms + 40_500);
}

#[test]
fn a_queue_and_its_account() {
    let site = Site::market();
    site.until(20_500);
    let said = site.said("alice", &["info", "alice"]);
    assert_eq!(words(&said, "queue"), ["queue", "root.alice"]);
    // The first interval begins at the first tick, so 20 s are paid: 100, and an income of 7.2 /
    // 3600 * 20, less 16 for eight slots at 2.
    assert_eq!(words(&said, "budget"), ["budget", "84.04"]);
    assert_eq!(words(&said, "rate"), ["rate", "2"]);
    assert_eq!(words(&said, "income per hour").last(), Some(&"7.2"));
    assert_eq!(words(&said, "last debit").last(), Some(&"16"));
    // 8 slots at 2, 180 times an hour; 84.04 credits last 105 s, less 7.2 of income.
    assert_eq!(words(&said, "spends per hour").last(), Some(&"2880"));
    assert_eq!(words(&said, "budget ends in").last(), Some(&"105s"));
    assert_eq!(words(&said, "share %").last(), Some(&"66.7"));
    assert_eq!(words(&said, "slots bought").last(), Some(&"8"));
    assert_eq!(words(&said, "slots used").last(), Some(&"8"));
    assert_eq!(words(&said, "slots pending").last(), Some(&"12"));
    let json = site.json("alice", &["info", "root.alice"]);
    assert_eq!(json["account"]["budget_micro"], 84_040_000);
    assert_eq!(site.account("root.alice")["budget_micro"], 84_040_000);
    let refused = site.refused(1, "alice", &["info", "bob"]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    let refused = site.refused(1, "root", &["info", "nobody"]);
    assert!(refused.contains("there is no such queue"), "{refused}");
    assert!(refused.contains("GET queues lists them"), "{refused}");
}

#[test]
fn advice_before_a_bid() {
    let site = Site::market();
    // 12 b / (b + 1) slots. 8.5 of them round up to 9, because alice comes before bob. That takes b
    // = 8.5 / 3.5, rounded up to a millionth.
    let said = site.said("alice", &["advise", "alice", "--slots", "9"]);
    let lines: Vec<&str> = said.lines().collect();
    let first = "root.alice bids 2 credits per slot and interval, which buys 8 of 12 slots at \
                 the price 3.";
    assert_eq!(lines[0], first);
    // 8 slots at 2 are 2880 an hour; less 7.2 of income, 100 credits last 125.3 s.
    let now = "It spends 2880 credits an hour and is given 7.2; its budget of 100 ends in 2m (";
    assert!(lines[1].starts_with(now), "{said}");
    let bid = "9 slots: bid 2.428572; the price is then 3.428572.";
    assert_eq!(lines[3], bid);
    // 9 * 2.428572 * 180 an hour, less 7.2: 91.67 s.
    let then = "That costs 3934.28664 credits an hour; the budget ends in 91s (";
    assert!(lines[4].starts_with(then), "{said}");
    assert!(lines[5].starts_with("A bid counts from the next interval on"));
    // The advised bid works.
    site.said("alice", &["bid", "alice", "2.428572"]);
    site.until(20_500);
    assert_eq!(site.account("root.alice")["quota"], json!([9, 0]));
    let json = site.json("root", &["advise", "root.alice", "--slots", "9"]);
    // Half a slot of the nine is deducted from the next interval. That takes a share of 9, so
    // b = 3, less a millionth that rounding forgives.
    assert_eq!(json["rate"], "2.428572");
    let again = json["bid_micro"].as_i64().expect("a bid");
    assert!((2_999_999..=3_000_000).contains(&again), "{json}");
    let bid = format!("{}.{:06}", again / 1_000_000, again % 1_000_000);
    site.said("alice", &["bid", "alice", &bid]);
    site.until(30_500);
    assert_eq!(site.account("root.alice")["quota"], json!([9, 0]));

    let too_many = site.said("alice", &["advise", "alice", "--slots", "13"]);
    let why = "13 slots: not available, because the cluster has 12 slots of that kind.";
    assert!(too_many.lines().any(|line| line == why), "{too_many}");
    let of_reduces = ["advise", "alice", "--slots", "1", "--pool", "1"];
    let none = site.said("alice", &of_reduces);
    assert!(none.contains("the cluster has 0 slots"), "{none}");
}

#[test]
fn advice_for_those_who_may_have_it() {
    let site = Site::market();
    let refused = site.refused(1, "bob", &["advise", "alice", "--slots", "1"]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    let refused = site.refused(1, "root", &["advise", "nobody", "--slots", "1"]);
    assert!(refused.contains("no account of that queue"), "{refused}");
    for slots in ["0", "-1", "4294967296", "NaN", "1.5", "", "x"] {
        site.refused(2, "alice", &["advise", "alice", "--slots", slots]);
    }
    site.refused(2, "alice", &["advise", "alice"]);
    site.refused(
        2,
        "alice",
        &["advise", "alice", "--slots", "1", "--pool", "2"],
    );
    let asked = site.heard();
    assert_eq!(asked.len(), 2, "what is no number is not asked: {asked:?}");
}

#[test]
fn all_queues_of_an_administrator_and_the_own_of_a_user() {
    let site = Site::market();
    site.until(20_500);
    let said = site.said("root", &["infos"]);
    // 84.04 credits pay 5 intervals of 16, which are 100 s. Bob's 1000 + 0.02 - 4 pay 249 intervals
    // of 4, which are 4,980 s: 83 minutes.
    let alice = ["root.alice", "84.04", "2", "66.7", "8", "8", "12", "100s"];
    let bob = ["root.bob", "996.02", "1", "33.3", "4", "4", "6", "83m"];
    assert_eq!(words(&said, "root.alice"), alice);
    assert_eq!(words(&said, "root.bob"), bob);
    let own = site.said("bob", &["infos"]);
    assert!(own.contains("root.bob") && !own.contains("alice"), "{own}");
    let json = site.json("bob", &["infos"]);
    assert_eq!(json["allocation_interval_ms"], 20_000);
}

#[test]
fn income_against_servers() {
    let site = Site::market();
    // 7.2 + 3.6 = 10.8 credits an hour: 90 % of twelve slots.
    let said = site.said("root", &["income"]);
    assert_eq!(words(&said, "root.alice"), ["root.alice", "7.2", "60.0"]);
    assert_eq!(words(&said, "root.bob"), ["root.bob", "3.6", "30.0"]);
    assert_eq!(words(&said, "in all"), ["in", "all", "10.8", "90.0"]);
    assert!(said.contains("% of 12 slots"), "{said}");
    let json = site.json("root", &["income", "--servers", "11"]);
    assert_eq!(json["exceeds"], false);
    assert_eq!(json["servers"], 11);
    let more = site.run("root", &["income", "--servers", "10"]);
    assert_eq!(more.status.code(), Some(0));
    let warning = String::from_utf8_lossy(&more.stderr);
    assert!(
        warning.contains("10.8 credits per hour are more than 10 servers"),
        "{warning}"
    );
}

#[test]
fn jobs_and_why_they_wait() {
    let site = Site::market();
    let said = site.said("root", &["jobs"]);
    // Eight of her twenty maps run, and four of his ten.
    let alice = ["1", "root.alice", "8", "12", "0"];
    assert_eq!(words(&said, "  1  ")[..5], alice);
    assert_eq!(words(&said, "  2  ")[..5], ["2", "root.bob", "4", "6", "0"]);
    let reversed = site.said("root", &["jobs", "--sort", "-queue", "--search", "ROOT."]);
    let [bob, alice] = ["root.bob", "root.alice"].map(|queue| reversed.find(queue));
    assert!(bob < alice, "{reversed}");
    let jobs = site.json("alice", &["jobs"]);
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
    let sentence = jobs["jobs"][0]["waits_for"]
        .as_str()
        .expect("12 of its maps wait");
    let explained = site.said("alice", &["explain", "1"]);
    assert!(explained.contains(sentence), "{explained}");
    let granted = explained.lines().filter(|line| line.contains("granted"));
    assert_eq!(granted.count(), 8, "{explained}");
    assert_eq!(site.json("alice", &["explain", "1"])["queue"], "root.alice");
    let refused = site.refused(1, "alice", &["explain", "2"]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    let refused = site.refused(1, "alice", &["explain", "77"]);
    assert!(refused.contains("there is no such job"), "{refused}");
    // The server has not been told of that application.
    let refused = site.refused(1, "alice", &["explain", "application_1_0001"]);
    assert!(refused.contains("there is no such job"), "{refused}");
    for odd in [
        "application_1",
        "application_",
        "job_1_1",
        "1_1",
        "+1",
        "-1",
        "1/..",
        "",
    ] {
        site.refused(2, "alice", &["explain", odd]);
    }
    // The host knows job 1.
    let id = "application_1800000000000_0001";
    let explained = site.said("alice", &["explain", id]);
    assert_eq!(words(&explained, "application"), ["application", id]);
    assert_eq!(words(&explained, "name"), ["name", "word", "count"]);
    assert_eq!(site.json("alice", &["explain", id])["job"], 1);
    assert!(site.said("alice", &["jobs"]).contains(id));
    let refused = site.refused(1, "bob", &["explain", id]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
}

/// Every sentence has the host's name for the node, which the engine knows only by number.
#[test]
fn reasons_and_grants_name_hosts() {
    let site = Site::pools();
    for said in [
        site.said("alice", &["jobs"]),
        site.said("alice", &["explain", "1"]),
        site.said("alice", &["top", "--once"]),
    ] {
        assert!(said.contains(&format!("{NODE} has")), "{said}");
        assert!(!said.contains("node#"), "{said}");
    }
    let explained = site.said("alice", &["explain", "1"]);
    assert!(
        explained.contains(&format!("granted on {NODE}")),
        "{explained}"
    );
}

/// Sums a column of running tasks over the rows that begin with these names.
fn sum(text: &str, column: usize, rows: &[&str]) -> u64 {
    let cell = |row: &&str| words(text, row)[column].parse::<u64>();
    rows.iter().map(|row| cell(row).expect("a number")).sum()
}

/// Two ApplicationMasters beside ten tasks, for every question and under either kind of policy.
#[test]
fn application_masters_are_counted_once_and_nowhere_else() {
    for (site, used, head) in [
        (Site::with_masters(), 5, "slots used 10, pending 20"),
        // An amount of resources is four words.
        (Site::pools(), 10, "tasks running 10, pending 20"),
    ] {
        let said = site.said("root", &["top", "--once"]);
        let first = said.lines().next().expect("a head");
        assert!(first.ends_with(head), "{said}");
        assert!(
            first.contains("ApplicationMasters 2 (counted nowhere below)"),
            "{said}"
        );
        let infos = site.said("root", &["infos"]);
        for text in [&said, &infos] {
            assert_eq!(sum(text, used, &["root "]), 10, "{text}");
            assert_eq!(sum(text, used, &["root.alice", "root.bob"]), 10, "{text}");
            assert_eq!(sum(text, used + 1, &["root "]), 20, "{text}");
        }
        let jobs = site.said("root", &["jobs"]);
        for text in [&said, &jobs] {
            assert_eq!(sum(text, 2, &["  1  ", "  2  "]), 10, "{text}");
        }
        let queue = site.said("root", &["info", "alice"]);
        assert!(queue.contains("(one is an ApplicationMaster)"), "{queue}");
    }
}

#[test]
fn a_policy_without_accounts_is_served_as_well() {
    let site = Site::pools();
    let said = site.said("root", &["top", "--once"]);
    let head = said.lines().next().expect("a head");
    assert!(head.contains("policy fair/by-queue/delay"), "{head}");
    // 12 GB in equal parts.
    let share = "1 6144 MB, 6 vcores 6144 MB, 6 vcores 5";
    for text in [&said, &site.said("root", &["infos"])] {
        let row = words(text, "root.alice").join(" ");
        assert!(row.contains(share), "{text}");
        assert_eq!(words(text, "queue")[..3], ["queue", "weight", "fair"]);
        assert!(!text.contains("budget"), "{text}");
    }
    assert_eq!(site.json("root", &["top", "--once"])["price"], Value::Null);
    assert!(
        site.heard()
            .iter()
            .all(|heard| !heard.target.contains("price"))
    );
    // A user sees only the user's own queue.
    let own = site.said("bob", &["top", "--once"]);
    assert!(own.contains("tasks running 5, pending 5"), "{own}");
    let info = site.said("bob", &["info", "bob"]);
    assert!(info.contains("it has no account\n"), "{info}");
    assert_eq!(words(&info, "fair share").last(), Some(&"vcores"), "{info}");
    let refused = site.refused(1, "root", &["income"]);
    assert!(refused.contains("no accounts"), "{refused}");
    let refused = site.refused(1, "root", &["price"]);
    assert!(refused.contains("no accounts"), "{refused}");
}

#[test]
fn every_policy_comes_first_in_the_help() {
    let output = heddle(&["--help"]).output().expect("it starts");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let at = |word: &str| help.find(&format!("  {word} ")).expect(word);
    for command in ["jobs", "explain", "infos", "top"] {
        assert!(at(command) < at("price"), "{help}");
    }
    for command in ["jobs", "explain"] {
        let line = help[at(command)..].lines().next().expect("a line");
        let more = help[at(command)..].lines().nth(1).expect("another");
        assert!(format!("{line}{more}").contains("under every"), "{help}");
    }
}

#[test]
fn top_once_and_not_in_a_terminal() {
    let site = Site::market();
    site.until(20_500);
    let said = site.said("root", &["top", "--once"]);
    let head = said.lines().next().expect("a head");
    assert!(
        head.ends_with("price 3  slots used 12, pending 18"),
        "{head}"
    );
    assert_eq!(words(&said, "root.bob")[1], "996.02");
    let job = said
        .lines()
        .find(|line| line.contains("application_1800000000000_0001"));
    assert!(
        job.is_some_and(|line| line.contains("word count")),
        "{said}"
    );
    // Four of his ten maps run.
    assert_eq!(words(&said, "  2  ")[..5], ["2", "root.bob", "4", "6", "0"]);
    let state = said.lines().nth(1).expect("a second line");
    assert!(state.starts_with("ok, journal off, shadow off"), "{state}");
    let found = site.said(
        "root",
        &["top", "--once", "--search", "BOB", "--sort", "-submitted"],
    );
    assert_eq!(words(&found, "  2  ")[1], "root.bob");
    assert!(!found.contains("word count"), "{found}");
    let json = site.json("root", &["top", "--once"]);
    assert_eq!(json["price"]["price"], json!("3"));
    assert_eq!(json["queues"]["queues"][0]["queue"], "root");
    assert_eq!(json["jobs"]["jobs"][1]["job"], 2);
    // All twelve slots of the one node are in use, and jobs wait for it.
    let node = "/rack - 12 12288/12288 12/12 - held for a large container";
    assert_eq!(words(&said, NODE)[1..].join(" "), node);
    assert_eq!(json["nodes"]["nodes"][0]["name"], NODE);
    assert!(!said.contains('\u{1b}'));
}

#[test]
fn a_plan_says_what_changes_and_changes_nothing() {
    let site = Site::market();
    let config = json!({"policy": "fifo", "queues": [{"path": "root.alice", "weight": 3.0}]});
    let file = site.path("next.json");
    std::fs::write(&file, config.to_string()).expect("a scratch folder");
    let file = file.display().to_string();
    let before = site.json("root", &["infos"]);
    let said = site.said("root", &["plan", &file]);
    let first = said.lines().next().expect("a line");
    assert!(first.contains("from dynamic-priority/"), "{said}");
    assert!(first.contains("to single/fifo/"), "{said}");
    assert!(!first.contains('\\'), "no escapes: {first}");
    assert!(
        said.contains("\nroot.alice weight: 1.0 > 3.0: counts for grants"),
        "{said}"
    );
    let bob = words(&said, "root.bob");
    assert_eq!(bob[1..3], ["drains", "1"], "{said}");
    let json = site.json("root", &["plan", &file]);
    assert_eq!(json["after"][0], "single");
    let after = site.json("root", &["infos"]);
    assert_eq!(before["queues"], after["queues"]);
    assert_eq!(before["policy"], after["policy"]);
    // It is for administrators, and a wrong file is named with its key.
    let refused = site.refused(1, "alice", &["plan", &file]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    std::fs::write(&file, "{\"policy\": \"fare\"}").expect("a scratch folder");
    let refused = site.refused(1, "root", &["plan", &file]);
    assert!(refused.contains("did you mean `fair`"), "{refused}");
    std::fs::write(&file, "<allocations/>").expect("a scratch folder");
    let refused = site.refused(2, "root", &["plan", &file]);
    assert!(refused.contains("heddle convert"), "{refused}");
}

#[test]
fn a_plan_with_a_journal_predicts_its_jobs_too() {
    let site = Site::pools();
    let journal = site.path("journal");
    journals::record(&json!({"path": journal}), 11, 150);
    let file = site.path("next.json");
    std::fs::write(&file, "{\"policy\": \"hfsp\"}").expect("a scratch folder");
    let (file, journal) = (file.display().to_string(), journal.display().to_string());
    let said = site.said("root", &["plan", &file, "--journal", &journal]);
    assert!(said.contains("the policy changes from fair/"), "{said}");
    // The recorded run, the configuration in force, and the candidate.
    for name in ["recorded", "in force", file.as_str()] {
        assert!(said.contains(name), "{name}: {said}");
    }
    let refused = site.run("root", &["plan", &file, "--journal", "/nowhere/journal"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

/// A day on a ResourceManager whose queues are configured: the shim finds the queue of a submission
/// by a dry run. Nothing names the first job's user; the shim names the second's.
fn recorded_day(site: &Site) -> String {
    let journal = site.path("day");
    let setup = journals::setup_with(&json!({"path": journal}));
    let placed = json!({"op": "place", "user": "named", "user_number": 2, "queue": "root.ads",
                        "recovering": true});
    // Its number is the same in every engine of this configuration.
    let mut other = Host::open(&journals::setup_with(&Value::Null)).expect("the setup is right");
    let number = Library::request(&mut other, 0, &placed.to_string());
    let number: Value = serde_json::from_str(&number).expect("JSON");
    let queue = QueueId(number["queue"].as_u64().expect("a number") as u32);
    let mut host = Host::open(&setup).expect("the setup is right");
    let (mut writer, mut sequence) = (FrameWriter::default(), 0);
    let mut at = |host: &mut Host, now_ms: i64, events: &[Event]| {
        sequence += 1;
        let frame = writer.frame(now_ms, sequence, DECISIONS_MAX, events);
        Answer::read(&Library::step(host, frame)).expect("a whole frame");
    };
    let job = |number: u32, user: u32, submitted_ms: i64| {
        Event::JobAdded(JobFacts {
            job: JobId(number),
            queue,
            user: UserId(user),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms,
        })
    };
    let node = NodeFacts {
        node: NodeId(0),
        host: PlaceId(1),
        rack: PlaceId(2),
        partition: PartitionId(0),
        capacity: Resource::new(8_192, 8),
        free: Resource::new(8_192, 8),
        schedulable: true,
        lends: false,
    };
    at(&mut host, 1_000, &[Event::NodeAdded(node)]);
    at(&mut host, 2_000, &[job(0, 1, 2_000)]);
    Library::request(&mut host, 3_000, &placed.to_string());
    at(&mut host, 3_000, &[job(1, 2, 3_000)]);
    at(
        &mut host,
        60_000,
        &[Event::JobRemoved(JobId(0)), Event::JobRemoved(JobId(1))],
    );
    journal.display().to_string()
}

#[test]
fn a_plan_with_a_journal_refuses_no_job_of_a_configured_queue() {
    let site = Site::pools();
    let journal = recorded_day(&site);
    let file = site.path("next.json");
    std::fs::write(&file, "{\"policy\": \"hfsp\"}").expect("a scratch folder");
    let out = site.path("out").display().to_string();
    let file = file.display().to_string();
    let said = site.said("root", &["plan", &file, "--journal", &journal]);
    let rows = said.lines().filter(|line| line.starts_with("in force  "));
    let refused: Vec<&str> = rows
        .filter_map(|row| row.split_whitespace().last())
        .collect();
    assert_eq!(refused, ["0"], "{said}");
    let mut whatif = heddle(&["whatif", &journal, "--policies", "fifo", "--out", &out]);
    let ran = whatif.output().expect("it starts");
    assert!(ran.status.success(), "{ran:?}");
    let table = std::fs::read_to_string(site.path("out/jobs.csv")).expect("the table");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows[1][2..4], ["user-1", "root.ads"], "{table}");
    assert_eq!(rows[2][2..4], ["named", "root.ads"], "{table}");
}
