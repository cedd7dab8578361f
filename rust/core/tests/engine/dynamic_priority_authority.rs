//! Jobs with bounds on amount, rate and time of their spending (version 2 of DP-39), under Dynamic
//! Priority in the engine. Signatures are tested elsewhere. Comments beside the statements derive
//! the expected numbers.

use crate::common::market::{Market, evicted, reduces};
use heddle_core::Engine;
use heddle_core::words::event::{Decision, Event};
use heddle_core::words::ids::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const FAR: i64 = 1 << 40;

fn request(job: u32, credits: f64, rate: f64, until_ms: i64) -> Value {
    json!({"op": "authorize", "job": job, "credits_micro": (credits * 1e6) as i64,
           "rate_micro": (rate * 1e6) as i64, "until_ms": until_ms})
}

fn authorize(market: &mut Market, job: u32, credits: f64, rate: f64, until_ms: i64) -> i64 {
    let answer = market.host.request(request(job, credits, rate, until_ms));
    assert_eq!(answer["job"], job);
    answer["remaining_micro"].as_i64().expect("a whole number")
}

fn authority(market: &mut Market, job: u32) -> Value {
    let report = market.host.request(json!({"op": "job", "job": job}));
    report["authority"].clone()
}

/// Returns the credits spent, and the bound that stops more.
fn spent(market: &mut Market, job: u32) -> (f64, Value) {
    let authority = authority(market, job);
    let micro = |key: &str| authority[key].as_i64().expect("a whole number");
    let (spent, left) = (micro("spent_micro"), micro("remaining_micro"));
    assert_eq!(left, (micro("credits_micro") - spent).max(0));
    (spent as f64 / 1e6, authority["exhausted"].clone())
}

fn sentence(market: &mut Market, job: u32) -> String {
    let explained = market.host.request(json!({"op": "explain", "job": job}));
    let wait = &explained["waits"][0];
    assert_eq!(wait["stage"], "share", "{explained}");
    wait["sentence"].as_str().expect("a text").to_string()
}

/// 6 slots at 2 are 12 an interval. Of 30 credits the first two intervals leave 6, which pay for 3
/// slots.
#[test]
fn credits_end_and_not_one_more_is_charged() {
    let mut market = Market::new(6, &[("a", 1000.0, 2.0)]);
    market.submit(1, "a", 10);
    assert_eq!(authorize(&mut market, 1, 30.0, 2.0, FAR), 30_000_000);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    let mut history = Vec::new();
    for interval in 1..=4 {
        market.until(interval * 20_000);
        history.push((spent(&mut market, 1).0, market.number("a", "debit")));
    }
    assert_eq!(
        history,
        [(12.0, 12.0), (24.0, 12.0), (30.0, 6.0), (30.0, 0.0)]
    );
    assert_eq!(spent(&mut market, 1).1, "credits");
    assert_eq!(market.number("a", "budget"), 970.0);
    // No job is left that could pay: slots are free, and none is evicted.
    assert_eq!(market.quotas(["a"]), [0]);
    assert_eq!(market.beat([1]), [6]);
    let text = sentence(&mut market, 1);
    let expected = "waits: its authority of 30 credits is spent; it gets unsold slots only";
    assert_eq!(text, expected);
}

/// A bid above the bound makes the job unpaid from the tick on; a lower one makes it paid again.
#[test]
fn a_rate_above_the_bound_is_not_paid() {
    let mut market = Market::new(6, &[("a", 1000.0, 2.0), ("b", 1000.0, 1.0)]);
    market.submit(1, "a", 9);
    market.submit(2, "b", 9);
    authorize(&mut market, 1, 100.0, 2.0, FAR);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [4, 2]);
    market.set("setSpending", "a", 2.000_001);
    market.until(20_000);
    assert_eq!(spent(&mut market, 1), (8.0, json!("rate")));
    // Without a job that can pay, a does not bid: all slots are b's.
    assert_eq!(market.quotas(["a", "b"]), [0, 6]);
    assert_eq!(market.accounts()["price"], 1.0);
    let expected = "waits: its authority allows a rate of at most 2, and its queue's is 2.000001; \
                    it gets unsold slots only";
    assert_eq!(sentence(&mut market, 1), expected);
    market.host.complete_all(1);
    assert_eq!(market.beat([1, 2]), [0, 6]);
    market.set("setSpending", "a", 2.0);
    market.until(40_000);
    assert_eq!(spent(&mut market, 1), (8.0, Value::Null));
    assert_eq!(market.quotas(["a", "b"]), [4, 2]);
    market.host.complete_all(2);
    assert_eq!(market.beat([1, 2]), [4, 2]);
    market.until(60_000);
    assert_eq!(spent(&mut market, 1), (16.0, Value::Null));
    assert_eq!(market.number("a", "budget"), 984.0);
}

/// 6 slots at 2 for an interval and a half.
#[test]
fn an_authority_ends_in_the_middle_of_an_interval() {
    let mut market = Market::new(6, &[("a", 1000.0, 2.0)]);
    market.submit(1, "a", 9);
    authorize(&mut market, 1, 100.0, 2.0, 30_250);
    market.host.tick();
    market.beat([1]);
    market.until(30_000);
    assert_eq!(spent(&mut market, 1), (12.0, Value::Null));
    market.until(30_500);
    assert_eq!(spent(&mut market, 1), (12.0, json!("time")));
    let expected = "waits: its authority to spend has ended; it gets unsold slots only";
    assert_eq!(sentence(&mut market, 1), expected);
    market.until(60_000);
    // 10.25 s of the second interval: 12 * 10.25 / 20 = 6.15.
    assert_eq!(spent(&mut market, 1), (18.15, json!("time")));
    assert_eq!(market.number("a", "budget"), 981.85);
    assert_eq!(market.beat([1]), [6]);
}

/// One slot runs at 1 from the beginning; eleven more are wanted in the middle of the interval. 5
/// credits less the 0.5 used pay for 9 slots of half an interval. The rest come by the fill pass.
#[test]
fn several_that_start_between_ticks_are_as_strict_as_one() {
    let mut market = Market::new(12, &[("a", 1000.0, 1.0), ("b", 1000.0, 1.0)]);
    market.submit(1, "a", 1);
    authorize(&mut market, 1, 5.0, 1.0, FAR);
    market.host.tick();
    assert_eq!(market.beat([1]), [1]);
    market.until(10_000);
    market.host.ask(1, 0, 11, 1024);
    market.submit(2, "b", 2);
    // Paid: 9; then by arrival: the first job's other 3.
    assert_eq!(market.beat([1, 2]), [12, 0]);
    market.until(20_000);
    assert_eq!(spent(&mut market, 1), (5.0, json!("credits")));
    assert_eq!(market.number("a", "debit"), 5.0);
    // Its slots are beyond any quota; b has them all.
    assert_eq!(market.quotas(["a", "b"]), [0, 12]);
}

/// Maps and reduces are paid for from the same credits. Of the 9 that run, 7 are paid for the
/// interval. An eighth is paid as soon as the remainder covers it to the end: for half of it.
#[test]
fn both_kinds_of_slots_spend_the_same_credits() {
    let extra = json!({"slots": {"map_per_node": 2, "reduce_per_node": 1}});
    let mut market = Market::with(9, &[("a", 1000.0, 1.0)], extra);
    market.submit(1, "a", 6);
    market.host.ask_facts(reduces(1, 3));
    authorize(&mut market, 1, 7.5, 1.0, FAR);
    market.host.tick();
    assert_eq!(market.account("a")["quota"], json!([6, 3]));
    assert_eq!(market.beat([1]), [9]);
    market.until(20_000);
    assert_eq!(spent(&mut market, 1), (7.5, json!("credits")));
    market.until(40_000);
    assert_eq!(spent(&mut market, 1), (7.5, json!("credits")));
    assert_eq!(market.number("a", "budget"), 992.5);
}

/// A tick that comes an interval late charges for two, but not beyond the bound.
#[test]
fn a_late_tick_charges_what_is_left() {
    for (usage, late) in [("averaged", 7.0), ("sampled", 6.0)] {
        let extra = json!({"dynamic_priority": {"usage": usage}});
        let mut market = Market::with(6, &[("a", 1000.0, 1.0)], extra);
        market.submit(1, "a", 6);
        authorize(&mut market, 1, 7.0, 1.0, FAR);
        market.host.tick();
        assert_eq!(market.beat([1]), [6]);
        market.host.now = 47_000;
        market.host.tick();
        assert_eq!(spent(&mut market, 1).0, late, "{usage}");
        assert_eq!(market.number("a", "budget"), 1000.0 - late, "{usage}");
    }
}

/// Of 6 slots of one queue at 1, a job of 2 credits pays for two, and its neighbour has the others.
/// Once the credits are spent, its slots count against no quota.
#[test]
fn two_jobs_of_a_queue_one_bounded() {
    let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 20_000}});
    let mut market = Market::with(6, &[("a", 1000.0, 1.0)], extra);
    market.submit(1, "a", 6);
    authorize(&mut market, 1, 2.0, 1.0, FAR);
    market.host.now = 1;
    market.submit(2, "a", 6);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [2, 4]);
    let gone = evicted(&market.until(20_001));
    assert_eq!(market.number("a", "debit"), 6.0);
    assert_eq!(spent(&mut market, 1), (2.0, json!("credits")));
    // The queue owns 6 and its other job wants 2 more: the unpaid ones go, though that job is
    // older.
    assert_eq!(gone.iter().map(|(job, _)| *job).collect::<Vec<_>>(), [1, 1]);
    for (job, key) in gone {
        market.host.complete(job, key);
    }
    assert_eq!(market.beat([1, 2]), [0, 6]);
    market.until(40_001);
    assert_eq!(market.number("a", "debit"), 6.0);
    assert_eq!(spent(&mut market, 1).0, 2.0);
}

/// It runs on unbought slots and gives them back first, before slots within another user's quota.
#[test]
fn an_exhausted_job_runs_on_unbought_slots_and_is_reclaimed() {
    let extra = json!({"dynamic_priority": {"reclaim_interval_ms": 20_000}});
    let users = &[("a", 1000.0, 1.0), ("b", 1000.0, 1.0), ("c", 1000.0, 1.0)];
    let mut market = Market::with(6, users, extra);
    market.submit(1, "a", 9);
    authorize(&mut market, 1, 0.0, 1.0, FAR);
    market.host.now = 500;
    market.submit(2, "b", 3);
    market.host.tick();
    assert_eq!(market.quotas(["a", "b"]), [0, 6]);
    // First the paying job, then the order of arrival.
    assert_eq!(market.beat([1, 2]), [3, 3]);
    market.until(10_000);
    market.submit(3, "c", 9);
    assert_eq!(market.beat([1, 2, 3]), [3, 3, 0]);
    // 3 each of b and c: c lacks what a has.
    let gone = evicted(&market.until(41_000));
    assert_eq!(market.quotas(["a", "b", "c"]), [0, 3, 3]);
    assert_eq!(
        gone.iter().map(|(job, _)| *job).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    for (job, key) in gone {
        market.host.complete(job, key);
    }
    assert_eq!(market.beat([1, 2, 3]), [0, 3, 3]);
    assert_eq!(spent(&mut market, 1).0, 0.0);
    assert_eq!(market.number("a", "budget"), 1000.0);
}

/// More credits for an exhausted job: it is paid from then on. Fewer do not give back credits
/// spent.
#[test]
fn authorized_anew_what_is_spent_stays_spent() {
    let mut market = Market::new(3, &[("a", 1000.0, 1.0), ("b", 1000.0, 1.0)]);
    market.submit(1, "a", 3);
    authorize(&mut market, 1, 3.0, 1.0, FAR);
    market.host.tick();
    market.beat([1]);
    market.until(20_000);
    assert_eq!(spent(&mut market, 1), (3.0, json!("credits")));
    assert_eq!(authorize(&mut market, 1, 9.0, 1.0, FAR), 6_000_000);
    market.until(30_000);
    // The queue had no share from 20 s on.
    market.until(50_000);
    // 10 s of 3 slots are used but not charged yet: they count at once.
    assert_eq!(authorize(&mut market, 1, 1.0, 1.0, FAR), 0);
    assert_eq!(spent(&mut market, 1), (4.5, json!("credits")));
    market.until(60_000);
    assert_eq!(market.number("a", "budget"), 1000.0 - 4.5);
    let more = json!({"op": "authorize", "job": 1, "credits_micro": 9_000_000, "until_ms": FAR,
                      "rate_micro": 1_000_000, "spent_micro": 5_000_000});
    assert_eq!(market.host.request(more)["remaining_micro"], 4_000_000);
}

/// A queue pays for the use of its jobs, even after a job has moved or ended.
#[test]
fn use_is_charged_where_it_was_also_of_jobs_that_left() {
    let mut market = Market::new(6, &[("a", 1000.0, 2.0), ("b", 1000.0, 1.0)]);
    market.submit(1, "a", 4);
    market.submit(2, "b", 2);
    authorize(&mut market, 1, 100.0, 2.0, FAR);
    authorize(&mut market, 2, 100.0, 2.0, FAR);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [4, 2]);
    market.until(5_000);
    let queue = market.host.queue("b", None);
    market.host.step(&[Event::JobMoved {
        job: JobId(1),
        queue,
    }]);
    // Of b's 2 slots its own job pays for both; the other job's 4 are beyond its quota.
    market.until(10_000);
    market.host.complete_all(2);
    market.host.step(&[Event::JobRemoved(JobId(2))]);
    market.until(20_000);
    // 4 at 2 for a quarter of the interval. 2 at 1 for a half, and then as many of job 1, from the
    // engine's tick that saw it: 2 * 9.5 / 20.
    assert_eq!(market.number("a", "debit"), 2.0);
    assert_eq!(market.number("b", "debit"), 1.0 + 0.95);
    assert_eq!(spent(&mut market, 1).0, 2.0 + 0.95);
}

#[test]
fn a_reload_keeps_what_is_spent_and_used() {
    let users = json!([{"path": "root.a", "budget": 1000.0, "spending_rate": 1.0}]);
    let config = json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": users});
    let mut market = Market::new(6, &[("a", 1000.0, 1.0)]);
    market.submit(1, "a", 6);
    market.submit(2, "a", 6);
    authorize(&mut market, 1, 8.0, 1.0, FAR);
    market.host.tick();
    assert_eq!(market.beat([1, 2]), [6, 0]);
    for half in [30_000, 35_000] {
        market.until(half);
        let reload = json!({"op": "reload", "config": config});
        let reload = market.host.engine.request(half, &reload);
        reload.expect("the same configuration");
    }
    // 2 of 8 credits are left after the first interval: 2 slots stay paid, 4 are beyond the bound.
    assert_eq!(spent(&mut market, 1), (6.0, Value::Null));
    market.until(40_000);
    assert_eq!(spent(&mut market, 1), (8.0, json!("credits")));
    assert_eq!(market.number("a", "budget"), 992.0);
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    let mut market = Market::new(3, &[("a", 1000.0, 1.0)]);
    market.submit(1, "a", 3);
    let good = json!({"op": "authorize", "job": 1, "credits_micro": 5, "rate_micro": 5,
                      "until_ms": 5, "spent_micro": 1});
    let cases = [
        ("job", json!(2)),
        ("job", json!("1")),
        ("job", Value::Null),
        ("job", json!(-1)),
        ("credits_micro", json!(-1)),
        ("credits_micro", json!(0.5)),
        ("credits_micro", Value::Null),
        ("credits_micro", json!(i64::MAX)),
        ("rate_micro", json!(-1)),
        ("rate_micro", json!([])),
        ("rate_micro", Value::Null),
        ("until_ms", json!(-1)),
        ("until_ms", json!(true)),
        ("until_ms", Value::Null),
        ("spent_micro", json!(-1)),
        ("application", json!("application_1_1")),
        ("application", json!(7)),
        ("credit", json!(1)),
    ];
    for (key, value) in cases {
        let mut wrong = good.clone();
        wrong[key] = value;
        let refused = market.host.engine.request(0, &wrong);
        let error = refused.expect_err(&format!("{wrong} is wrong")).to_string();
        assert!(error.contains(&format!("key `{key}`")), "{error}");
        assert_eq!(authority(&mut market, 1), Value::Null, "{wrong}");
    }
    assert!(Engine::is_mutating(&good));
    assert_eq!(market.host.request(good)["remaining_micro"], 4);
}

/// Under any share the job keeps its authority and takes it along.
#[test]
fn other_shares_remember_and_do_not_care() {
    let mut market = Market::with(3, &[], json!({"policy": "fair"}));
    market.submit(1, "a", 3);
    assert_eq!(authorize(&mut market, 1, 2.0, 1.0, FAR), 2_000_000);
    market.host.tick();
    assert_eq!(market.beat([1]), [3]);
    assert_eq!(spent(&mut market, 1), (0.0, Value::Null));
    let told = json!({"op": "authorize", "job": 1, "credits_micro": 3, "rate_micro": 1,
                      "until_ms": 1, "spent_micro": 2});
    assert_eq!(market.host.request(told)["remaining_micro"], 1);
    assert_eq!(authorize(&mut market, 1, 2.0, 1.0, FAR), 1_999_998);
    market.host.complete_all(1);
    market.host.step(&[Event::JobRemoved(JobId(1))]);
    market.submit(1, "a", 3);
    assert_eq!(authority(&mut market, 1), Value::Null);
}

/// Next step of a random history: elapsed milliseconds, operation, target, amount.
type Step = (i64, u8, u32, i64);

/// A market of two queues with random jobs, most of them bounded.
struct History {
    market: Market,
    /// Queue and credits of each present job.
    jobs: std::collections::BTreeMap<u32, (usize, Option<i64>)>,
    next_job: u32,
    /// Spending of each job at the last interval.
    before: std::collections::BTreeMap<u32, i64>,
    /// All decisions and reports.
    log: Vec<String>,
    interval: Value,
    /// By queue: its rate, the rate at which the last interval granted slots, and all slots that
    /// its jobs have used since, times milliseconds.
    meters: [(f64, f64, i64); 2],
    /// Whether a debit must not exceed `meters`.
    metered: bool,
}

const QUEUES: [&str; 2] = ["a", "b"];

impl History {
    fn new(budgets: [i64; 2], settings: &Value) -> History {
        let users = [
            ("a", budgets[0] as f64 / 1e6, 1.0),
            ("b", budgets[1] as f64 / 1e6, 0.7),
        ];
        let market = Market::with(9, &users, json!({"dynamic_priority": settings}));
        History {
            market,
            jobs: Default::default(),
            next_job: 1,
            before: Default::default(),
            log: Vec::new(),
            interval: Value::Null,
            meters: [(1.0, 0.0, 0), (0.7, 0.0, 0)],
            metered: settings.get("reclaim_interval_ms").is_some(),
        }
    }

    fn step(&mut self, &(pause_ms, what, whom, amount): &Step) {
        self.market.host.now += pause_ms;
        for (job, (queue, _)) in &self.jobs {
            self.meters[*queue].2 += pause_ms * self.market.host.running(*job) as i64;
        }
        let job = self
            .jobs
            .keys()
            .copied()
            .nth(whom as usize % self.jobs.len().max(1));
        match (what, job) {
            (0 | 1, _) => self.submit(whom as usize % 2, amount),
            (2, Some(job)) => {
                let queue = self.jobs[&job].0;
                let rate = (amount / 4) as f64 / 1e6;
                self.meters[queue].0 = rate;
                self.market.set("setSpending", QUEUES[queue], rate);
            }
            (3, Some(job)) => self.market.host.complete_all(job),
            (4, Some(job)) => self.bound(job, amount),
            (5, Some(job)) if whom % 3 == 0 => {
                self.market.host.complete_all(job);
                self.market.host.step(&[Event::JobRemoved(JobId(job))]);
                self.jobs.remove(&job);
                self.before.remove(&job);
            }
            _ => {
                let mut beaten = Vec::new();
                for node in 0..3 {
                    beaten.push(self.market.host.beat(node));
                }
                self.log.push(format!("{beaten:?}"));
            }
        }
    }

    fn submit(&mut self, queue: usize, amount: i64) {
        let job = self.next_job;
        self.next_job += 1;
        self.market
            .submit(job, QUEUES[queue], 1 + (amount % 7) as u32);
        self.jobs.insert(job, (queue, None));
        if amount % 5 > 0 {
            self.bound(job, amount);
        }
    }

    fn bound(&mut self, job: u32, amount: i64) {
        let until_ms = self.market.host.now + amount % 100_000;
        let credits = amount * 3;
        self.market.host.request(
            json!({"op": "authorize", "job": job, "credits_micro": credits,
            "rate_micro": 400_000 + amount % 1_500_000, "until_ms": until_ms}),
        );
        let most = self.jobs[&job].1.unwrap_or(0).max(credits);
        self.jobs.get_mut(&job).expect("it is there").1 = Some(most);
    }

    /// Checks at every tick that no job has spent more than its bound. After an interval, the
    /// queues have paid what their jobs report, and no credit is lost or made.
    fn tick(&mut self) {
        let decisions: Vec<Decision> = self.market.host.tick();
        self.log.push(format!("{decisions:?}"));
        let accounts = self.market.accounts();
        let mut more = [0; 2];
        let mut now = self.before.clone();
        for (job, (queue, most)) in self.jobs.clone() {
            let report = authority(&mut self.market, job);
            self.log.push(report.to_string());
            let Some(most) = most else {
                assert_eq!(report, Value::Null);
                continue;
            };
            let spent = report["spent_micro"].as_i64().expect("a whole number");
            assert!(spent <= most, "job {job} spent {spent} of {most}");
            more[queue] += spent - self.before.get(&job).copied().unwrap_or(0);
            now.insert(job, spent);
        }
        if accounts["next_ms"] == self.interval {
            return;
        }
        self.interval = accounts["next_ms"].clone();
        self.before = now;
        for queue in accounts["queues"].as_array().expect("a list") {
            let name = queue["queue"].as_str().expect("a text");
            if let Some(at) = QUEUES.iter().position(|short| name.ends_with(short)) {
                let debit = (queue["debit"].as_f64().expect("a number") * 1e6).round() as i64;
                assert!(
                    more[at] <= debit,
                    "{name} paid {debit}, its jobs {}",
                    more[at]
                );
                let (rate, granted, slot_ms) = self.meters[at];
                let most = slot_ms as f64 / 20_000.0 * granted * 1e6 + 1.0;
                assert!(!self.metered || debit as f64 <= most, "{debit} of {most}");
                self.meters[at] = (rate, rate, 0);
            }
        }
        let sum = |key: &str| accounts["sums"][key].as_i64().expect("a whole number");
        let gone = sum("debited_micro") + sum("forfeited_micro");
        assert_eq!(sum("granted_micro") - gone, sum("held_micro"));
    }
}

fn run(budgets: [i64; 2], settings: &Value, steps: &[Step]) -> Vec<String> {
    let mut history = History::new(budgets, settings);
    for step in steps {
        history.step(step);
        if step.1 % 2 == 0 {
            history.tick();
        }
    }
    history.log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Over random histories of bids, bounds and late ticks, no job spends more than its bound. The
    /// queues pay what the jobs spent, and the same history gives the same decisions.
    #[test]
    fn nobody_spends_more_than_the_bound(
        budgets in prop::array::uniform2(0i64..60_000_000),
        variant in 0usize..4,
        steps in prop::collection::vec((0i64..9_000, 0u8..9, 0u32..30, 0i64..6_000_000), 1..120),
    ) {
        let settings = [
            json!({"reclaim_interval_ms": 20_000}),
            json!({"usage": "sampled"}),
            json!({"preset": "contrib"}),
            json!({"charge_cap": "none", "charge_rate": "current"}),
        ];
        let once = run(budgets, &settings[variant], &steps);
        prop_assert!(once == run(budgets, &settings[variant], &steps), "it decided otherwise");
    }
}
