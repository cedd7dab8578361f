//! Random small clusters with waiting jobs, the same for the same seed, and the changes that
//! remedies name.

use crate::common::town::Dice;
use crate::common::{Grant, Host, host_of, plain_ask, rack_place, row};
use heddle_core::model::job::Standing;
use heddle_core::words::event::{AskFacts, Event, Refusal};
use heddle_core::words::ids::{JobId, NodeId, PartitionId, QueueId};
use heddle_core::words::keys::POOLS;
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

const LEAVES: [&str; 3] = ["root.a", "root.b.x", "root.b.y"];
const QUEUES: [&str; 5] = ["root", "root.a", "root.b", "root.b.x", "root.b.y"];
const GB: i64 = 1_024;

/// A cluster in which jobs wait.
pub(super) struct Case {
    pub(super) host: Host,
    pub(super) policy: Value,
    config: Value,
    labels: Vec<u32>,
    pub(super) jobs: Vec<u32>,
    pub(super) was_reloaded: bool,
    /// What was granted since the cluster was made, for a failure.
    grants: Vec<Grant>,
}

impl Case {
    pub(super) fn play(seed: u64) -> Case {
        Case::played(seed, false)
    }

    /// The same again, in a fraction of the time.
    pub(super) fn replay(seed: u64) -> Case {
        Case::played(seed, true)
    }

    fn played(seed: u64, again: bool) -> Case {
        let mut dice = Dice(seed);
        let policy = policy(&mut dice);
        let config = config(&mut dice, &policy);
        let users = json!({"ann": 1, "ben": 2, "cid": 3});
        let mut host = Host::from_setup(&json!({"config": config, "users": users}));
        host.trusted = again;
        let mut case = Case {
            host,
            policy,
            config,
            labels: Vec::new(),
            jobs: Vec::new(),
            was_reloaded: false,
            grants: Vec::new(),
        };
        for _ in 0..1 + dice.below(4) {
            let label = u32::from(dice.one_in(8));
            let (gb, vcores) = (dice.one(&[2, 4, 6]), dice.one(&[2, 4, 8]));
            case.node(Resource::new(gb * GB, vcores), label);
        }
        let waits_for_time = dice.below(6);
        for job in 0..4 + dice.below(6) as u32 {
            case.submit(&mut dice, job);
            if dice.one_in(2) {
                case.round(&mut dice, 1_000);
            }
        }
        for _ in 0..waits_for_time {
            case.round(&mut dice, 1_500);
        }
        case.host.beat_all();
        case.host.beat_all();
        if dice.one_in(4) {
            // Room that the engine knows of, and no node has reported since.
            let next = case.jobs.len() as u32;
            case.submit(&mut dice, next);
            case.submit(&mut dice, next + 1);
        }
        case.host.tick();
        // What is changed next is new.
        case.host.trusted = false;
        case
    }

    fn node(&mut self, size: Resource, label: u32) -> u32 {
        let rack = self.labels.len() as u32 % 2;
        self.labels.push(label);
        self.host.labelled_node(rack, size[0], size[1], label)
    }

    fn submit(&mut self, dice: &mut Dice, job: u32) {
        let queue = self.host.queue("ann", Some(dice.one(&LEAVES)));
        let (user, priority) = (1 + dice.below(3) as u32, dice.below(3) as i32);
        self.host.now += 1;
        self.host.submit(job, queue, user, priority);
        self.jobs.push(job);
        let label = u32::from(dice.one_in(8));
        if dice.one_in(8) {
            let place = host_of(dice.below(self.labels.len() as u64) as u32);
            let (job, added) = (JobId(job), true);
            self.host.step(&[Event::Blacklist { job, place, added }]);
        }
        if dice.one_in(3) {
            let mb = dice.one(&[512, 1_024, 2_048]);
            return self.ask(AskFacts {
                am: true,
                priority: 0,
                partition: PartitionId(label),
                ..plain_ask(job, 0, 1, mb)
            });
        }
        for (ask, priority) in [(1, 20), (2, 10)] {
            if ask == 2 && !dice.one_in(4) {
                continue;
            }
            let mb = match dice.one_in(40) {
                true => 7_168,
                false => dice.one(&[512, 1_024, 1_536, 2_048, 3_072]),
            };
            let count = 1 + dice.below(5) as u32;
            let facts = AskFacts {
                priority,
                partition: PartitionId(label),
                resource: Resource::new(mb, dice.one(&[1, 1, 1, 2])),
                ..plain_ask(job, ask, count, mb)
            };
            let near = dice.below(self.labels.len() as u64) as u32;
            match dice.below(12) {
                0 => {
                    self.ask(AskFacts {
                        relax: false,
                        ..facts
                    });
                    let place = host_of(near);
                    self.host.step(&[row(job, ask, place, count)]);
                }
                1 | 2 => {
                    self.ask(facts);
                    let rack = rack_place(near % 2);
                    let rows = [host_of(near), rack].map(|place| row(job, ask, place, count));
                    self.host.step(&rows);
                }
                _ => self.ask(facts),
            }
        }
    }

    fn ask(&mut self, facts: AskFacts) {
        self.host.ask_facts(facts);
    }

    /// Lets time pass: containers end, a node reports, the host refuses a grant.
    fn round(&mut self, dice: &mut Dice, time_ms: i64) {
        self.host.now += time_ms;
        if !self.host.containers.is_empty() && dice.one_in(3) {
            let at = dice.below(self.host.containers.len() as u64) as usize;
            let (job, key, _, _) = self.host.containers[at];
            self.host.complete(job, key);
        }
        self.host.tick();
        let node = dice.below(self.labels.len() as u64) as u32;
        for grant in self.host.beat_unanswered(node) {
            match dice.one_in(20) {
                true => self.host.refuse(grant, Refusal::Other),
                false => drop(self.host.commit(grant)),
            }
        }
    }

    /// What the job waits for first; none if it waits for nothing.
    pub(super) fn wait(&mut self, job: u32) -> Option<Value> {
        let reply = self.host.request(json!({"op": "explain", "job": job}));
        let mut wait = reply["waits"].get(0)?.clone();
        wait["sentence"] = reply["sentence"].clone();
        wait["ask"] = json!(self.ask_of(job, &wait)?.facts.ask.0);
        Some(wait)
    }

    /// Lets every node report what it has.
    pub(super) fn report_all(&mut self) {
        for node in 0..self.host.nodes() as u32 {
            self.report(node);
        }
    }

    /// The same in the other order.
    pub(super) fn report_from_last(&mut self) {
        for node in (0..self.host.nodes() as u32).rev() {
            self.report(node);
        }
    }

    fn report(&mut self, node: u32) -> Vec<Grant> {
        let grants = self.host.beat(node);
        self.grants.extend(&grants);
        grants
    }

    /// Lets the node on which the job waits have room for one more container of its first ask.
    /// Returns what it grants.
    pub(super) fn make_room(&mut self, job: u32, wait: &Value) -> Vec<Grant> {
        let told = wait["reason"]["room"]["node"].as_u64();
        let told = told.map(|node| node as u32);
        let node = told.or_else(|| self.roomiest(job, wait));
        let (Some(size), Some(node)) = (self.size(job, wait), node) else {
            return Vec::new();
        };
        self.host.make_room(node, size);
        self.report(node)
    }

    /// How many containers the job has got of the ask that waits.
    pub(super) fn got(&self, job: u32, wait: &Value) -> usize {
        let counts = |grant: &&Grant| grant.job == job && wait["ask"] == grant.ask;
        self.grants.iter().filter(counts).count()
    }

    /// How many containers the jobs of its queue have got.
    pub(super) fn queue_got(&self, job: u32) -> usize {
        let queue = |job: u32| Some(self.host.engine.cluster().job(JobId(job))?.facts.queue);
        let grants = self.grants.iter();
        grants
            .filter(|grant| queue(grant.job) == queue(job))
            .count()
    }

    /// Who got containers where since the cluster was made, for a failure.
    pub(super) fn granted(&self) -> String {
        let grants = self.grants.iter();
        let grants = grants.map(|grant| format!("{}.{} on {}", grant.job, grant.ask, grant.node));
        grants.collect::<Vec<_>>().join(", ")
    }

    /// The nodes and jobs, for a failure.
    pub(super) fn describe(&self) -> String {
        let cluster = self.host.engine.cluster();
        let held: Vec<_> = self.host.engine.held_nodes().collect();
        let nodes = cluster.nodes().map(|node| {
            let (facts, label) = (&node.facts, node.facts.partition.0);
            format!(
                "node {}: label {label}, {:?} of {:?} free\n",
                facts.node.0,
                &node.free.0[..2],
                &facts.capacity.0[..2]
            )
        });
        let jobs = cluster.jobs().map(|job| {
            let asks = job.pending().map(|ask| {
                let facts = &ask.facts;
                format!(
                    "[{} x {:?} am {} prio {} label {} {:?}]",
                    facts.count,
                    &facts.resource.0[..2],
                    facts.am,
                    facts.priority,
                    facts.partition.0,
                    ask.standing
                )
            });
            format!(
                "job {} in {} of {} prio {}: runs {} asks {} not on {:?}\n",
                job.facts.job.0,
                self.path(&json!(job.facts.queue.0)),
                job.facts.user.0,
                job.facts.priority,
                job.running_containers(),
                asks.collect::<Vec<_>>().join(" "),
                job.blacklist
            )
        });
        let lines: String = nodes.chain(jobs).collect();
        format!("{lines}held: {held:?}\n{}", self.config)
    }

    fn ask_of<'a>(&'a self, job: u32, wait: &Value) -> Option<&'a heddle_core::model::job::Ask> {
        let job = self.host.engine.cluster().job(JobId(job))?;
        let am = wait["am"] == true;
        let kind = wait["kind"].as_str()?;
        let named = |ask: &&heddle_core::model::job::Ask| {
            let kinds = ["map", "reduce", "other"];
            ask.facts.am == am && kinds[job.kind(ask.facts.priority) as usize] == kind
        };
        job.pending()
            .filter(named)
            .min_by_key(|ask| ask.facts.priority)
    }

    fn size(&self, job: u32, wait: &Value) -> Option<Resource> {
        Some(self.ask_of(job, wait)?.facts.resource)
    }

    /// The node with the most free memory that may serve the first ask of a job.
    fn roomiest(&self, id: u32, wait: &Value) -> Option<u32> {
        let (ask, job) = (
            self.ask_of(id, wait)?,
            self.host.engine.cluster().job(JobId(id))?,
        );
        let now = self.host.now;
        let mut nodes: Vec<_> = self.host.engine.cluster().nodes().collect();
        nodes.retain(|node| {
            let facts = &node.facts;
            let refused = job.refused.get(&facts.node);
            let mut held = self.host.engine.held_nodes();
            facts.partition == ask.facts.partition
                && ask.facts.resource.fits_in(&facts.capacity)
                && ask.may_run_on(facts.host, facts.rack)
                && !job.blacklist.contains(&facts.host)
                && refused.is_none_or(|until| *until <= now)
                && !held.any(|(at, by, size)| {
                    at == facts.node && by != JobId(id) && size != ask.facts.resource
                })
        });
        nodes.sort_by_key(|node| (-node.free.memory_mb(), node.facts.node));
        Some(nodes.first()?.facts.node.0)
    }

    /// Whether its first ask insists on places for a while.
    pub(super) fn is_locked(&self, job: u32, wait: &Value) -> bool {
        let ask = self.ask_of(job, wait);
        ask.is_some_and(|ask| ask.standing == Standing::Locked)
    }

    fn path(&self, queue: &Value) -> String {
        let id = QueueId(queue.as_u64().expect("a queue") as u32);
        let queue = self.host.engine.cluster().queues.get(id);
        queue.expect("it is there").config.path.clone()
    }

    fn limits_users(&self, path: &str) -> bool {
        let mut queues = self.config["queues"].as_array().expect("a list").iter();
        let queue = queues.find(|queue| queue["path"] == path);
        queue.is_some_and(|queue| !queue["user_limit_percent"].is_null())
    }

    fn set(&mut self, path: &str, key: &str, value: Value) {
        let queues = self.config["queues"].as_array_mut().expect("a list");
        let at = queues.iter().position(|queue| queue["path"] == path);
        let at = at.unwrap_or_else(|| {
            queues.push(json!({"path": path}));
            queues.len() - 1
        });
        queues[at][key] = value;
    }

    /// Whether a node could serve the job's first ask if it had room.
    pub(super) fn has_a_node(&self, job: u32, wait: &Value) -> bool {
        self.roomiest(job, wait).is_some()
    }

    pub(super) fn reload(&mut self) {
        self.was_reloaded = true;
        self.host
            .request(json!({"op": "reload", "config": self.config}));
    }

    /// Makes the changes that remedies of a job name. Returns false for what a test cannot change.
    pub(super) fn apply(&mut self, job: u32, wait: &Value, remedies: &[Value]) -> bool {
        let mut node = self.size(job, wait);
        let (mut new_node, config) = (false, self.config.clone());
        for remedy in remedies {
            let (name, what) = remedy
                .as_object()
                .expect("one key")
                .iter()
                .next()
                .expect("one");
            match name.as_str() {
                "priority" => {
                    let priority = what["priority"].as_i64().expect("a number") as i32;
                    let job = JobId(job);
                    self.host.step(&[Event::JobPriority { job, priority }]);
                }
                "time" => {
                    let at_ms = what["at_ms"].as_i64().expect("a time");
                    self.host.now = self.host.now.max(at_ms);
                    self.host.tick();
                }
                "node" => {
                    let at = what["resource"].as_u64().expect("an index") as usize;
                    if let Some(node) = &mut node {
                        node.0[at] = what["amount"].as_i64().expect("an amount");
                    }
                    new_node = true;
                }
                "bid" | "interval" => return self.bid(name, what),
                name if self.configure(name, what) => {}
                _ => return false,
            }
        }
        // What is told of one type is what the named node lacks; of both, any node will do.
        let told = wait["remedies"].as_array().map_or(0, Vec::len);
        if new_node && told == 1 && wait["reason"]["room"]["node"].is_u64() {
            self.make_room(job, wait);
            return true;
        }
        if let (Some(size), true) = (node, new_node) {
            let label = self
                .ask_of(job, wait)
                .map_or(0, |ask| ask.facts.partition.0);
            self.labels.push(label);
            let node = self.host.labelled_node(900, size[0], size[1], label);
            assert_eq!(NodeId(node).0 as usize + 1, self.labels.len());
            self.report(node);
            return true;
        }
        if self.config != config {
            self.reload();
        }
        true
    }

    /// Sets the key of the file that a remedy names, if it names one.
    fn configure(&mut self, name: &str, what: &Value) -> bool {
        let path = || self.path(&what["queue"]);
        match name {
            "running_jobs" => {
                let path = path();
                self.set(&path, "max_running_jobs", what["limit"].clone());
            }
            "user_running_jobs" => match what["everywhere"].as_bool() {
                Some(true) => self.config["users"]["max_running_jobs"] = what["limit"].clone(),
                _ => {
                    let path = path();
                    self.set(&path, "max_running_jobs_per_user", what["limit"].clone());
                }
            },
            "user_percent" => {
                let path = path();
                self.set(&path, "user_limit_percent", what["percent"].clone());
            }
            "user_factor" => {
                let path = path();
                let factor = what["tenths"].as_f64().expect("a number") / 10.0;
                self.set(&path, "user_limit_factor", json!(factor));
            }
            "max_share" => {
                let path = path();
                let name = ["memory-mb", "vcores"][what["resource"].as_u64().unwrap_or(0) as usize];
                let queues = self.config["queues"].as_array().expect("a list");
                let queue = queues.iter().find(|queue| queue["path"] == path);
                let mut limits = queue.map_or(json!({}), |queue| queue["max_share"].clone());
                limits[name] = what["limit"].clone();
                self.set(&path, "max_share", limits);
            }
            "master_share" => {
                let path = path();
                let part = what["per_mille"].as_f64().expect("a number") / 1_000.0;
                self.set(&path, "max_am_share", json!(part));
            }
            "weight" => {
                let path = path();
                self.set(&path, "weight", what["weight"].clone());
            }
            "max_tasks" => self.config["deficit"]["max_tasks_per_job"] = what["limit"].clone(),
            "user_jobs" => self.config["deficit"]["user_max_jobs"] = what["limit"].clone(),
            _ => return false,
        }
        true
    }

    /// Bids, and waits for the interval in which that counts.
    fn bid(&mut self, name: &str, what: &Value) -> bool {
        if name == "bid" {
            let (path, micro) = (self.path(&what["queue"]), &what["rounded"][0]);
            let rate = micro.as_f64().expect("credits") / 1e6;
            for (op, value) in [("addBudget", 1e6), ("setSpending", rate)] {
                self.host
                    .request(json!({"op": op, "queue": path, "value": value}));
            }
        }
        let until = match name {
            "interval" => what["at_ms"].as_i64().expect("a time"),
            _ => self.host.now + 20_000,
        };
        while self.host.now < until {
            self.host.now = (self.host.now + 500).min(until);
            self.host.tick();
        }
        true
    }

    /// Single changes of every kind, each as far as it goes.
    pub(super) fn changes(&self, job: u32, wait: &Value) -> Vec<Value> {
        let engine = &self.host.engine;
        let id = engine
            .cluster()
            .job(JobId(job))
            .expect("it waits")
            .facts
            .queue;
        let mut changes = vec![
            json!({"priority": {"priority": 20}}),
            json!({"user_running_jobs": {"queue": 0, "everywhere": true, "limit": 1_000}}),
            json!({"max_tasks": {"limit": 1_000}}),
            json!({"user_jobs": {"limit": 1_000}}),
        ];
        // Elsewhere these settings would not raise a limit: they would begin to hold others.
        if self.limits_users(&self.path(&json!(id.0))) {
            changes.extend([
                json!({"user_percent": {"queue": id.0, "percent": 100}}),
                json!({"user_factor": {"queue": id.0, "tenths": 10_000}}),
            ]);
        }
        for queue in engine.cluster().queues.path_up(id) {
            let at = queue.id.0;
            changes.extend([
                json!({"running_jobs": {"queue": at, "limit": 1_000}}),
                json!({"max_share": {"queue": at, "resource": 0, "limit": 1_000_000}}),
                json!({"max_share": {"queue": at, "resource": 1, "limit": 1_000}}),
                json!({"master_share": {"queue": at, "per_mille": 1_000}}),
            ]);
            changes.push(json!({"user_running_jobs": {"queue": at, "limit": 1_000}}));
            if at != 0 {
                changes.push(json!({"weight": {"queue": at, "weight": 100_000.0}}));
            }
        }
        if let Some(size) = self.size(job, wait) {
            changes.push(json!({"node": {"resource": 0, "amount": size[0], "free": true}}));
        }
        changes
    }
}

fn policy(dice: &mut Dice) -> Value {
    let mut policies: Vec<Value> = heddle_core::catalogue::PRESETS
        .iter()
        .map(|preset| json!(preset.name))
        .collect();
    policies.push(json!({"share": "capacity", "order": "by-queue", "place": "delay"}));
    policies.push(json!({"share": "drf", "order": "fifo", "place": "local-first"}));
    dice.one(&policies)
}

fn config(dice: &mut Dice, policy: &Value) -> Value {
    let names_of_slots = ["map_per_node", "reduce_per_node"];
    assert_eq!(POOLS, names_of_slots.len());
    let mut config = json!({
        "policy": policy,
        "heartbeat_fill": 1.0,
        "queues": QUEUES.map(|path| queue(dice, path, policy)),
        "share": {"dominant": dice.one_in(3)},
    });
    if dice.one_in(6) {
        config["slots"] = json!({"map_per_node": 1 + dice.below(3), "reduce_per_node": 1});
    }
    if dice.one_in(12) {
        config["users"] = json!({"max_running_jobs": 1 + dice.below(2)});
    }
    if dice.one_in(4) {
        config["deficit"] = match dice.below(3) {
            0 => json!({"max_tasks_per_job": 2}),
            1 => json!({"user_max_jobs": 1}),
            _ => json!({"slow_start": 0.5}),
        };
    }
    config
}

fn queue(dice: &mut Dice, path: &str, policy: &Value) -> Value {
    let mut queue = json!({"path": path});
    let is_parent = ["root", "root.b"].contains(&path);
    if path != "root" && dice.one_in(3) {
        queue["weight"] = json!(dice.one(&[0.5, 2.0, 3.0]));
    }
    if dice.one_in(7) {
        queue["max_share"] = match dice.one_in(3) {
            true => json!({"vcores": 1 + dice.below(5)}),
            false => json!({"memory-mb": GB * (1 + dice.below(6) as i64)}),
        };
    }
    if path != "root" && dice.one_in(5) {
        queue["min_share"] = json!({"memory-mb": GB});
    }
    if dice.one_in(15) {
        queue["max_running_jobs"] = json!(1 + dice.below(3));
    }
    if dice.one_in(20) {
        queue["max_running_jobs_per_user"] = json!(1);
    }
    if dice.one_in(3) {
        queue["max_am_share"] = json!(dice.one(&[0.1, 0.3, 0.8]));
    }
    if is_parent && policy["share"] != "drf" && dice.one_in(3) {
        queue["compare"] = json!(dice.one(&["memory", "dominant", "capacity"]));
    }
    if !is_parent && dice.one_in(5) {
        queue["user_limit_percent"] = json!(dice.one(&[20, 50, 100]));
        queue["user_limit_factor"] = json!(dice.one(&[0.5, 1.0, 2.0]));
    }
    if policy == "dynamic-priority" && !is_parent {
        queue["budget"] = json!(dice.one(&[0, 100, 10_000]));
        queue["spending_rate"] = json!(dice.one(&[0.0, 0.5, 1.0, 3.0]));
    }
    queue
}
