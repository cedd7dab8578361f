//! The ledger of Dynamic Priority has all use: what was paid for, what nobody paid for, and that of
//! ApplicationMasters. Every expected figure is the test's own count of containers and time.

use crate::common::market::Market;
use crate::common::plain_ask;
use heddle_core::words::credits::Credits;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, Millis, QueueId};
use heddle_core::words::ledger::{ChargeRow, Entry};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn credits(credits: f64) -> Credits {
    Credits::from_number(credits).expect("an amount")
}

/// Takes the intervals that ended: when, and their rows.
fn intervals(market: &mut Market) -> Vec<(Millis, Vec<ChargeRow>)> {
    let taken = market.host.engine.take_ledger();
    assert!(!taken.dropped);
    let interval = |entry: Entry| match entry {
        Entry::Interval { at_ms, rows, .. } => Some((at_ms, rows)),
        _ => None,
    };
    taken.entries.into_iter().filter_map(interval).collect()
}

/// Alice bids 1 for 9 slots of which she needs 3; the others go to bob, who has no credits.
fn market() -> Market {
    let mut market = Market::new(9, &[("alice", 100.0, 1.0), ("bob", 0.0, 0.0)]);
    market.host.engine.keep_ledger();
    market.submit(1, "alice", 3);
    market.submit(2, "bob", 5);
    market
}

#[test]
fn use_that_nobody_pays_for_and_masters_have_columns_of_their_own() {
    let mut market = market();
    market.host.recovered(2, 0, 1_024, true);
    market.until(500);
    intervals(&mut market);
    assert_eq!(market.beat([1, 2]), [3, 6]);
    market.until(20_500);
    let alice = ChargeRow {
        queue: "root.alice".to_string(),
        rate: credits(1.0),
        quota: [8, 0],
        used_slot_ms: [60_000, 0],
        debit: credits(3.0),
        balance: credits(97.0),
        ..ChargeRow::default()
    };
    let bob = ChargeRow {
        queue: "root.bob".to_string(),
        unpaid_slot_ms: [100_000, 0],
        am_ms: 20_000,
        ..ChargeRow::default()
    };
    assert_eq!(intervals(&mut market), [(20_500, vec![alice, bob])]);
}

/// A removed account is charged nothing any more, not even for the interval in which it was
/// removed; its queue's tasks run on.
#[test]
fn a_queue_without_an_account_has_a_row_of_what_it_used() {
    let mut market = market();
    market.until(500);
    market.beat([1, 2]);
    market.until(10_500);
    market
        .host
        .request(json!({"op": "removeQueue", "queue": "alice"}));
    intervals(&mut market);
    market.until(20_500);
    let (_, rows) = intervals(&mut market).pop().expect("an interval");
    let alice = ChargeRow {
        queue: "root.alice".to_string(),
        unpaid_slot_ms: [60_000, 0],
        ..ChargeRow::default()
    };
    assert_eq!(rows[0], alice);
}

/// While the store is out of reach at a start, accounts are those of the configuration. What they
/// paid is forgotten once the saved ones are known; the use is not.
#[test]
fn use_before_the_saved_accounts_are_known_is_unpaid() {
    let saved = Market::new(9, &[("alice", 100.0, 1.0)]).host.engine.save()[0].clone();
    let mut market = Market::new(9, &[("alice", 100.0, 1.0)]);
    market.submit(1, "alice", 3);
    market.until(500);
    market.beat([1]);
    market.until(50_500);
    market.host.engine.keep_ledger();
    market
        .host
        .request(json!({"op": "restoreAccounts", "saved": saved}));
    market.until(51_000);
    let (_, rows) = intervals(&mut market).pop().expect("an interval");
    assert_eq!(rows[0].unpaid_slot_ms, [3 * 50_500, 0]);
    assert_eq!(rows[0].used_slot_ms, [0, 0]);
}

/// An account of the root is for jobs in the root. It bids for no slots that others want, and pays
/// for none that they use.
#[test]
fn an_account_of_the_root_pays_for_nobody_below() {
    let queues = json!([
        {"path": "root", "budget": 100.0, "spending_rate": 1.0},
        {"path": "root.alice", "budget": 100.0, "spending_rate": 1.0},
    ]);
    let mut market = Market::with(9, &[], json!({"queues": queues}));
    market.submit(1, "alice", 9);
    market.until(500);
    assert_eq!(market.quotas(["alice"]), [9]);
    assert_eq!(market.beat([1]), [9]);
    market.until(20_500);
    assert_eq!(market.number("alice", "debit"), 9.0);
    let accounts = market.accounts();
    assert_eq!(accounts["sums"]["debited_micro"], 9_000_000);
}

/// Length of a step in ms, its kind, its target, an amount.
type Step = (i64, u8, u32, u32);

const USERS: [&str; 4] = ["a", "b", "c", "free"];

/// The slots of each pool and the ApplicationMasters that a queue uses, times milliseconds.
type Used = [i64; 3];

struct Job {
    queue: usize,
    /// Keys of its ApplicationMasters.
    masters: BTreeSet<u64>,
}

/// A market with random events, and the test's own meter.
struct History {
    market: Market,
    settings: Value,
    queues: Vec<QueueId>,
    jobs: BTreeMap<u32, Job>,
    next_job: u32,
    /// Keys of reduces.
    reduces: BTreeSet<u64>,
    typed: bool,
    used: BTreeMap<String, Used>,
    closed: usize,
}

impl History {
    fn new(settings: Value, typed: bool) -> History {
        let mut history = History {
            market: Market::with(9, &[], config(&settings, typed)),
            settings,
            queues: Vec::new(),
            jobs: BTreeMap::new(),
            next_job: 1,
            reduces: BTreeSet::new(),
            typed,
            used: BTreeMap::new(),
            closed: 0,
        };
        let host = &mut history.market.host;
        host.engine.keep_ledger();
        history.queues = USERS.map(|user| host.queue(user, None)).into();
        history
    }

    fn is_sampled(&self) -> bool {
        self.settings["usage"] == "sampled" || self.settings["preset"] == "contrib"
    }

    /// Returns the containers that each queue runs now.
    fn running(&self) -> BTreeMap<String, Used> {
        let mut running: BTreeMap<String, Used> = BTreeMap::new();
        for (job, key, _, _) in &self.market.host.containers {
            let owner = &self.jobs[job];
            let column = match (owner.masters.contains(key), self.reduces.contains(key)) {
                (true, _) => 2,
                (_, reduce) => usize::from(reduce && self.typed),
            };
            let path = format!("root.{}", USERS[owner.queue]);
            running.entry(path).or_default()[column] += 1;
        }
        running
    }

    fn count(&mut self, elapsed_ms: i64) {
        for (queue, running) in self.running() {
            let used = self.used.entry(queue).or_default();
            for (sum, containers) in used.iter_mut().zip(running) {
                *sum += containers * elapsed_ms;
            }
        }
    }

    fn pass(&mut self, elapsed_ms: i64) {
        if !self.is_sampled() {
            self.count(elapsed_ms);
        }
        self.market.host.now += elapsed_ms;
    }

    /// Lets the engine end an interval, if one is due, and compares.
    fn tick(&mut self) {
        self.market.host.tick();
        let ended = intervals(&mut self.market);
        assert!(ended.len() <= 1, "missed intervals are charged together");
        for (_, rows) in ended {
            self.closed += 1;
            if self.is_sampled() {
                self.count(20_000);
            }
            let mut used = std::mem::take(&mut self.used);
            used.retain(|_, used| *used != [0; 3]);
            assert_eq!(booked(&rows), used, "interval {}", self.closed);
        }
    }

    fn start(&mut self, job: u32, amount: u32) {
        let node = amount % 3;
        let host = &mut self.market.host;
        if amount.is_multiple_of(4) && host.room_mb(node) > 0 {
            let key = host.recovered(job, node, 1_024, true);
            self.jobs
                .get_mut(&job)
                .expect("it is there")
                .masters
                .insert(key);
            return;
        }
        let reduce = amount.is_multiple_of(3);
        let facts = AskFacts {
            priority: if reduce { 10 } else { 20 },
            ..plain_ask(job, u32::from(reduce), 1 + amount % 5, 1_024)
        };
        host.ask_facts(facts);
    }

    fn beat(&mut self) {
        for node in 0..self.market.nodes {
            let before: BTreeSet<u64> = self.keys();
            let grants = self.market.host.beat(node);
            let started: Vec<u64> = self.keys().difference(&before).copied().collect();
            assert_eq!(grants.len(), started.len());
            for (grant, key) in grants.iter().zip(started) {
                if grant.ask == 1 {
                    self.reduces.insert(key);
                }
            }
        }
    }

    fn keys(&self) -> BTreeSet<u64> {
        self.market.host.containers.iter().map(|it| it.1).collect()
    }

    fn step(&mut self, (elapsed_ms, what, whom, amount): Step) {
        self.pass(elapsed_ms);
        let queue = whom as usize % USERS.len();
        let job = self
            .jobs
            .keys()
            .copied()
            .nth(whom as usize % self.jobs.len().max(1));
        let rate = f64::from(amount % 4);
        match (what, job) {
            (0, _) | (_, None) => {
                let job = self.next_job;
                self.next_job += 1;
                self.market.host.job(job, self.queues[queue]);
                let masters = BTreeSet::new();
                self.jobs.insert(job, Job { queue, masters });
                self.start(job, amount);
            }
            (1..=3, Some(job)) => self.start(job, amount),
            (4 | 5, Some(_)) => self.beat(),
            (6, Some(job)) => self.market.host.complete_all(job),
            (7, Some(job)) => {
                self.market.host.complete_all(job);
                self.market.host.step(&[Event::JobRemoved(JobId(job))]);
                self.jobs.remove(&job);
            }
            (8, Some(job)) => {
                let to = self.queues[amount as usize % USERS.len()];
                let job_id = JobId(job);
                self.market.host.step(&[Event::JobMoved {
                    job: job_id,
                    queue: to,
                }]);
                self.jobs.get_mut(&job).expect("it is there").queue = amount as usize % USERS.len();
            }
            (9, Some(job)) => self.request(
                json!({"op": "authorize", "job": job, "credits_micro": amount * 10_000,
                       "rate_micro": 2_000_000, "until_ms": self.market.host.now + 30_000}),
            ),
            (10, _) => {
                self.request(json!({"op": "setSpending", "queue": USERS[queue], "value": rate}))
            }
            (11, _) => self.request(json!({"op": "removeQueue", "queue": USERS[queue]})),
            (12, _) => self.request(json!({"op": "addQueue", "queue": USERS[queue]})),
            (13, _) => {
                self.request(json!({"op": "addBudget", "queue": USERS[queue], "value": rate * 5.0}))
            }
            (14, _) => {
                let config = config(&self.settings, self.typed);
                self.request(json!({"op": "reload", "config": config}));
            }
            (15, _) => self.restore(),
            _ => self.tick(),
        }
    }

    /// Serves a request, or refuses it: an account may not be there.
    fn request(&mut self, request: Value) {
        let now = self.market.host.now;
        let _refused = self.market.host.engine.request(now, &request);
    }

    /// Resets the accounts as a host does whose store lacks the last changes.
    fn restore(&mut self) {
        let mut saved = self.market.host.engine.save()[0].clone();
        saved.as_object_mut().expect("an object").remove("used");
        (saved["interval"], saved["slot_ms"]) = (Value::Null, json!({}));
        self.request(json!({"op": "restoreAccounts", "saved": saved}));
    }
}

/// Returns the configuration of three queues that bid and one that does not.
fn config(settings: &Value, typed: bool) -> Value {
    let queue = |(user, budget): (&&str, f64)| {
        json!({"path": format!("root.{user}"), "budget": budget, "spending_rate": budget / 20.0,
               "income": budget})
    };
    let queues = USERS.iter().zip([40.0, 20.0, 7.0, 0.0]).map(queue);
    let queues: Vec<Value> = queues.collect();
    let mut config = json!({"policy": "dynamic-priority", "dynamic_priority": settings,
                            "queues": queues, "heartbeat_fill": 1.0});
    if typed {
        config["slots"] = json!({"map_per_node": 2, "reduce_per_node": 1});
    }
    config
}

/// Returns the use of each queue by rows of the ledger, and checks each row alone.
fn booked(rows: &[ChargeRow]) -> BTreeMap<String, Used> {
    let mut booked = BTreeMap::new();
    for row in rows {
        let slots = |pool: usize| {
            let (paid, unpaid) = (row.used_slot_ms[pool], row.unpaid_slot_ms[pool]);
            assert!(paid >= 0 && unpaid >= 0, "{row:?}");
            paid + unpaid
        };
        let paid = row.rate > Credits::ZERO || row.debit > Credits::ZERO;
        assert!(paid || row.used_slot_ms == [0, 0], "{row:?}");
        assert!(
            row.debit == Credits::ZERO || row.used_slot_ms != [0, 0],
            "{row:?}"
        );
        let used = [slots(0), slots(1), row.am_ms];
        if used != [0; 3] {
            assert_eq!(
                booked.insert(row.queue.clone(), used),
                None,
                "one row a queue"
            );
        }
    }
    booked
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// In each interval, the rows of the ledger together have all that the cluster ran: by queue,
    /// pool and ApplicationMasters, exactly. Through late ticks, moves, reloads, accounts that are
    /// opened, closed and reset, and whatever the rules of charging are.
    #[test]
    fn every_container_is_in_the_ledger_for_all_of_its_time(
        variant in 0usize..5,
        typed: bool,
        steps in prop::collection::vec((0i64..9_000, 0u8..22, 0u32..30, 0u32..1_000), 1..120),
    ) {
        let settings = [
            json!({}),
            json!({"usage": "sampled"}),
            json!({"preset": "contrib"}),
            json!({"charge_cap": "none", "charge_rate": "current"}),
            json!({"overdraft": "skip"}),
        ];
        let mut history = History::new(settings[variant].clone(), typed);
        for step in steps {
            history.step(step);
        }
        history.pass(20_000);
        history.tick();
        prop_assert!(history.closed > 0);
    }
}
