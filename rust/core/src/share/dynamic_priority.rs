//! Dynamic Priority (Sandholm and Lai, JSSPP 2010). Users hold budgets of credits and bid a rate
//! per slot and interval. Slots are divided in proportion to the bids, and paid for if used.
//!
//! This file is the stage, with one account per leaf queue. At each allocation interval it charges
//! for the slots used (`account`) and sets price and quotas (`quota`). In between, the engine fills
//! slots in two passes, within the quotas first (DP-21). Slots used beyond a quota may be reclaimed
//! (`reclaim`). The spending of single jobs is bounded (`authority`). Budgets outlive the stage by
//! `save` and `load`. The host provides durable storage and the signed remote interface.

pub mod account;
mod advice;
pub mod authority;
mod booked;
mod control;
mod debt;
mod explain;
mod holdings;
mod market;
mod meter;
pub mod policy;
pub mod quota;
pub mod reclaim;
mod settings;
mod spent;

pub use settings::Settings;

use crate::config::Config;
use crate::model::change::{Change, Stale, World};
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::model::waterfill::{Claim, waterfill};
use crate::stage::behind::Passed;
use crate::stage::common::Stage;
use crate::stage::entry::{PolicySection, Preset, Wants};
use crate::stage::market::Market;
use crate::stage::share::{Share, ShareEntry};
use crate::words::credits::Credits;
use crate::words::ids::Millis;
use crate::words::keys::{Layout, POOLS, ShareKey, ShareNodeId};
use crate::words::ledger::{Entry, Ledger};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use account::{Accounts, Interval, Outcome, Usage};
use authority::{Authorities, SavedJob};
use booked::{Booked, rows};
use debt::Debt;
use holdings::running;
use meter::{Meter, Use};
use policy::{ChargeCap, Policy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spent::Spent;
use std::collections::{BTreeMap, BTreeSet};

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "dynamic-priority",
    summary: "queues hold budgets of credits and bid a rate per slot; slots follow the bids, and \
              used slots are paid for",
    preset: Some(Preset {
        name: "dynamic-priority",
        summary: "queues hold budgets and bid for slots",
        stages: ["dynamic-priority", "fifo", "local-first"],
        workload: "bids",
    }),
    wants: &[Wants::Tasks],
    reads: &["queues.budget", "queues.spending_rate", "queues.income"],
    own: Some(PolicySection {
        section: settings::SECTION,
        keys: settings::KEYS,
        check: |section| Ok(settings::read(section)?.reclaim_interval_ms > 0),
    }),
    build: |config| Box::new(DynamicPriority::new(config)),
};

struct DynamicPriority {
    settings: Settings,
    accounts: Accounts,
    /// Queues whose account was opened once; a removed account is not opened again.
    opened: BTreeSet<String>,
    leaves: Vec<Leaf>,
    /// Jobs with bounded spending.
    authorities: Authorities,
    spent: Spent,
    /// Use that an earlier stage metered in this interval, for leaves yet to appear.
    metered: BTreeMap<String, [i64; POOLS]>,
    /// All its use that is in no row of the ledger, of this interval and of those before.
    used: BTreeMap<String, [Use; 2]>,
    /// Slots that the present quotas divide.
    slots: [u32; POOLS],
    /// Beginning and end of the interval.
    interval: Option<(Millis, Millis)>,
    /// Outcome of the last tick.
    last: Outcome,
    reclaim_at: Millis,
    /// Whether a round of reclaiming is in progress.
    reclaiming: bool,
    /// Whether the log has warned that incomes exceed the servers.
    warned: bool,
    ledger: Ledger,
}

#[derive(Clone, Debug)]
struct Leaf {
    name: String,
    /// Part of the price, for entitlements.
    share: f64,
    meter: Meter,
    /// Use in earlier intervals that is in no row of the ledger.
    unbooked: Use,
}

/// State that must survive a restart or a reload.
#[derive(Serialize, Deserialize)]
struct Saved {
    accounts: Accounts,
    opened: BTreeSet<String>,
    interval: Option<(Millis, Millis)>,
    /// Slots times milliseconds used since the last tick.
    slot_ms: BTreeMap<String, [i64; POOLS]>,
    /// All use that is in no row of the ledger, of this interval and of those before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    used: BTreeMap<String, [Use; 2]>,
    /// Jobs with an authority, by number. For a reload only: after a restart jobs have other
    /// numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    jobs: BTreeMap<u32, SavedJob>,
    /// Debts for such jobs that ended, moved or got another authority, by queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    owed: BTreeMap<String, Debt>,
    /// Spending under an earlier engine of applications that may still appear.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    spent: BTreeMap<String, Credits>,
}

impl DynamicPriority {
    fn new(config: &Config) -> DynamicPriority {
        DynamicPriority::of(config.own(settings::SECTION, settings::read))
    }

    fn of(settings: Settings) -> DynamicPriority {
        DynamicPriority {
            settings,
            accounts: Accounts::default(),
            opened: BTreeSet::new(),
            leaves: Vec::new(),
            authorities: Authorities::default(),
            spent: Spent::default(),
            metered: BTreeMap::new(),
            used: BTreeMap::new(),
            slots: [0; POOLS],
            interval: None,
            last: Outcome::default(),
            reclaim_at: 0,
            reclaiming: false,
            warned: false,
            ledger: Ledger::default(),
        }
    }

    /// Makes a leaf for every new queue. The first time, it also opens an account with the
    /// configured budget, 0 by default (DP-41).
    fn grow(&mut self, world: &World<'_>) {
        for queue in world.cluster.queues.all().iter().skip(self.leaves.len()) {
            let config = &queue.config;
            let mut meter = Meter::new(world.now);
            meter.slot_ms = self.metered.remove(&config.path).unwrap_or_default();
            let [whole, unbooked] = self.used.remove(&config.path).unwrap_or_default();
            meter.whole = whole;
            self.authorities.add_leaf(self.leaves.len(), &config.path);
            self.leaves.push(Leaf {
                name: config.path.clone(),
                share: 0.0,
                meter,
                unbooked,
            });
            if queue.is_removed() {
                continue;
            }
            let bids = config.budget > Credits::ZERO || config.income > Credits::ZERO;
            let leaf = queue.parent.is_some() && queue.is_leaf();
            let named = account::check_name(&config.path);
            if let (true, Err(why)) = (leaf || bids, &named) {
                log::warn!("a queue has no account: {why}: {:.80?}", config.path);
            }
            if (leaf || bids) && named.is_ok() && self.opened.insert(config.path.clone()) {
                let new = "the name was not opened before";
                self.accounts.add(&config.path).expect(new);
                self.accounts
                    .add_budget(&config.path, config.budget)
                    .expect("a new account takes any amount");
                self.accounts
                    .set_rate(&config.path, config.spending_rate)
                    .expect("it was just added");
                let account = self.accounts.get(&config.path).expect("it was just added");
                self.ledger
                    .note_account(&config.path, [account.budget, account.rate, account.income]);
            }
            self.follow_income(&config.path, config.income);
        }
    }

    /// Applies the configured income, also after a reload or a restart.
    fn follow_income(&mut self, path: &str, income: Credits) {
        // An administrator may have removed the account.
        let account = self.accounts.get(path);
        if account.is_none_or(|account| account.income == income) {
            return;
        }
        let _known = self.accounts.set_income(path, income);
        let queue = path.to_string();
        self.ledger.note(|| Entry::Income { queue, income });
    }

    /// Restores accounts that an earlier run of the ResourceManager saved. Accounts that it never
    /// opened stay. The clocks of the two runs are unrelated, so a new interval begins, and the old
    /// one is free: its use is in the ledger with that of the new one, unpaid.
    fn restore(&mut self, saved: Saved, world: &World<'_>) {
        let before = std::mem::replace(&mut self.accounts, saved.accounts);
        self.accounts.forget_grants();
        // The host's books contain the saved accounts. Entries noted since concern the replaced
        // ones; accounts that stay are noted again below.
        self.ledger.forget();
        for (name, account) in before.iter() {
            if !saved.opened.contains(name) {
                self.accounts.adopt(name, account);
                self.ledger
                    .note_account(name, [account.budget, account.rate, account.income]);
            }
        }
        self.opened.extend(saved.opened);
        for queue in world.cluster.queues.iter() {
            self.follow_income(&queue.config.path, queue.config.income);
        }
        self.last = Outcome::default();
        self.interval = None;
        for leaf in &mut self.leaves {
            leaf.meter.slot_ms = [0; POOLS];
            for used in saved.used.get(&leaf.name).into_iter().flatten() {
                leaf.unbooked.add(used);
            }
            if self.settings.averaged {
                leaf.unbooked.add(&std::mem::take(&mut leaf.meter.whole));
            }
        }
        self.forgive(world.now);
        self.take_over_quotas();
    }

    fn beyond(&self) -> bool {
        self.settings.policy.charge_cap == ChargeCap::None
    }

    /// Reads every meter.
    fn read_meters(&mut self, world: &World<'_>) {
        self.grow(world);
        let beyond = self.beyond();
        for (i, leaf) in self.leaves.iter_mut().enumerate() {
            leaf.meter.read(world.now, running(world, i), beyond);
        }
    }

    /// Runs the market's tick: charges, price, quotas.
    fn allocate(&mut self, world: &World<'_>, began: Millis) {
        let unit_ms = self.settings.allocation_interval_ms;
        let elapsed_ms = world.now - began;
        let mut incomes = BTreeMap::new();
        self.accounts.pay_income(elapsed_ms, |name, paid| {
            incomes.insert(name.to_string(), paid);
        });
        self.warn_of_inflation(world);
        let beyond = self.beyond();
        let (jobs, owed) = self.owed(world.now);
        let dormant = self.dormant(world);
        let active = |leaf: usize| self.is_active(leaf, &dormant, world);
        let active: Vec<bool> = (0..self.leaves.len()).map(active).collect();
        let mut usage = BTreeMap::new();
        for (leaf, active) in self.leaves.iter_mut().zip(active) {
            let meter = &mut leaf.meter;
            let sampled =
                std::array::from_fn(|pool| i64::from(meter.counted(pool, beyond)) * unit_ms);
            let averaged = std::mem::take(&mut meter.slot_ms);
            let whole = std::mem::take(&mut meter.whole);
            let (slot_ms, whole) = match self.settings.averaged {
                true => (averaged, whole),
                false => (sampled, Use::of(&meter.running, unit_ms)),
            };
            leaf.unbooked.add(&whole);
            usage.insert(leaf.name.clone(), Usage { slot_ms, active });
        }
        self.slots = DynamicPriority::usable_slots(world);
        let interval = Interval {
            elapsed_ms,
            unit_ms,
            slots: self.slots,
        };
        // The meters applied the cap at each moment. The final quota was not in force all the time
        // if slots came or went.
        let metered = Policy {
            charge_cap: ChargeCap::None,
            ..self.settings.policy
        };
        let micro = owed.iter().map(|(name, owed)| (name.clone(), owed.micro));
        let micro: BTreeMap<String, i64> = micro.collect();
        self.last = self
            .accounts
            .tick_owing(&usage, &micro, &interval, &metered);
        self.attribute(jobs, &owed, world.now);
        self.book(world.now, &usage, &owed, &incomes);
        self.take_over_quotas();
    }

    /// Notes the interval in the ledger. Without one, its use waits for the first row.
    fn book(
        &mut self,
        at_ms: Millis,
        usage: &BTreeMap<String, Usage>,
        owed: &BTreeMap<String, Debt>,
        incomes: &BTreeMap<String, Credits>,
    ) {
        if !self.ledger.is_kept() {
            return;
        }
        let mut used: BTreeMap<String, Use> = BTreeMap::new();
        for leaf in &mut self.leaves {
            // Books cannot have a queue of such a name.
            let name = account::check_name(&leaf.name).map_or("root", |()| &leaf.name);
            let unbooked = std::mem::take(&mut leaf.unbooked);
            used.entry(name.to_string()).or_default().add(&unbooked);
        }
        let last = &self.last;
        self.ledger.note(|| Entry::Interval {
            at_ms,
            price: last.price,
            rows: rows(
                last,
                used,
                &Booked {
                    usage,
                    owed,
                    incomes,
                },
            ),
        });
    }

    fn take_over_quotas(&mut self) {
        let price = self.accounts.price();
        for leaf in &mut self.leaves {
            let grant = self.accounts.get(&leaf.name).and_then(|a| a.grant);
            leaf.meter.quota = grant.map_or([0; POOLS], |grant| grant.quota);
            leaf.share = grant.map_or(0.0, |grant| quota::share(grant.rate, price));
        }
    }

    /// Warns if incomes exceed one credit per server and hour, which is inflation (DP-45).
    fn warn_of_inflation(&mut self, world: &World<'_>) {
        let income = self.income();
        let servers = f64::from(world.cluster.node_count);
        let inflated = income.to_number() > servers;
        if inflated && !self.warned {
            log::warn!(
                "incomes of {} credits an hour exceed the {servers} servers: prices will rise",
                income.to_number()
            );
        }
        self.warned = inflated;
    }

    fn income(&self) -> Credits {
        let incomes = self.accounts.iter().map(|(_, account)| account.income);
        incomes.fold(Credits::ZERO, |sum, income| sum + income)
    }

    fn on_tick(&mut self, world: &World<'_>, stale: &mut Stale) {
        self.read_meters(world);
        let unit_ms = self.settings.allocation_interval_ms;
        let (began, ends) = self.interval.unwrap_or((world.now, world.now));
        if world.now >= ends {
            self.allocate(world, began);
            // Missed intervals were charged together; the next one ends on the original beat.
            let missed = (world.now - ends) / unit_ms;
            self.interval = Some((world.now, ends + (missed + 1) * unit_ms));
            stale.shares();
        } else {
            self.follow_slots(world, stale);
        }
        self.settle_payers(world.now, stale);
    }

    /// Recomputes quotas after nodes or ApplicationMasters came or went; shares stay (DP-49).
    fn follow_slots(&mut self, world: &World<'_>, stale: &mut Stale) {
        let slots = DynamicPriority::usable_slots(world);
        if slots != self.slots {
            self.divide_among(slots);
            stale.shares();
        }
    }

    fn divide_among(&mut self, slots: [u32; POOLS]) {
        self.slots = slots;
        self.accounts.set_quotas(slots, &self.settings.policy);
        self.take_over_quotas();
    }

    fn has_quota_left(&self, leaf: usize, node: &ShareNode) -> bool {
        let leaf = self.leaves.get(leaf);
        leaf.is_some_and(|leaf| (0..POOLS).any(|i| leaf.meter.below_quota(i, node.running[i])))
    }
}

impl Stage for DynamicPriority {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        match change {
            Change::Started { job, .. }
            | Change::Ended { job, .. }
            | Change::Withdrawn { job, .. } => {
                let beyond = self.beyond();
                if let Some(leaf) = self.leaves.get_mut(job.leaf.index()) {
                    let running = running(world, job.leaf.index());
                    leaf.meter.read(world.now, running, beyond);
                }
                self.follow(job, world, stale);
            }
            // A job that moves takes its slots along.
            Change::JobAdded(job) | Change::JobChanged(job) => {
                self.read_meters(world);
                self.follow(job, world, stale);
            }
            Change::JobRemoved(job) => {
                self.read_meters(world);
                self.forget(job, world.now, stale);
            }
            Change::Authorized(job) => {
                self.read_meters(world);
                self.follow(job, world, stale);
                self.settle_payers(world.now, stale);
            }
            Change::Reloaded => {
                self.read_meters(world);
                self.take_over_quotas();
                self.follow_slots(world, stale);
            }
            Change::Nodes => {
                self.read_meters(world);
                self.follow_slots(world, stale);
                self.settle_payers(world.now, stale);
            }
            Change::Tick => self.on_tick(world, stale),
            _ => {}
        }
    }

    fn save(&self) -> Value {
        let slot_ms = |leaf: &Leaf| (leaf.name.clone(), leaf.meter.slot_ms);
        let used = |leaf: &Leaf| (leaf.name.clone(), [leaf.meter.whole, leaf.unbooked]);
        let (jobs, owed) = self.keep_authorities();
        let saved = Saved {
            accounts: self.accounts.clone(),
            opened: self.opened.clone(),
            interval: self.interval,
            slot_ms: self.leaves.iter().map(slot_ms).collect(),
            used: self.leaves.iter().map(used).collect(),
            jobs,
            owed,
            spent: self.spent.save(),
        };
        serde_json::to_value(saved).expect("sums of credits are far below 2^63")
    }

    fn load(&mut self, saved: &Value) {
        if let Ok(saved) = Saved::deserialize(saved) {
            self.accounts = saved.accounts;
            self.opened = saved.opened;
            self.interval = saved.interval;
            self.last = Outcome::default();
            self.metered = saved.slot_ms;
            self.used = saved.used;
            self.authorities.resume(saved.jobs, saved.owed);
            self.spent.load(saved.spent);
        }
    }

    fn lessons(&mut self) -> Vec<(String, String)> {
        self.spent.lessons()
    }

    fn restore_lesson(&mut self, key: &str, value: &Value) -> bool {
        let lesson = Spent::read(key, value);
        if let Some((of, spent)) = lesson {
            self.restore_spent(of, spent);
        }
        lesson.is_some()
    }
}

impl Keys for DynamicPriority {
    fn key(&self, node: &ShareNode, _capacity: &Resource) -> ShareKey {
        let class = u8::from(!self.has_quota_left(node.queue.index(), node));
        ShareKey::by_arrival(class, node.first_arrival.unwrap_or_default())
    }
}

impl Share for DynamicPriority {
    fn layout(&self) -> Layout {
        Layout::Flat
    }

    fn market(&self) -> Option<&dyn Market> {
        Some(self)
    }

    fn market_mut(&mut self) -> Option<&mut dyn Market> {
        Some(self)
    }

    /// Entitles each leaf to its share of the cluster's room, and to an even part of unused room.
    /// For reports and the room of ApplicationMasters; slots follow quotas.
    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        let root = tree.root_mut();
        root.fair_share = root.max_share.component_min(capacity);
        root.active_share = root.fair_share;
        let total = root.fair_share;
        let leaves = root.children.clone();
        for i in 0..RESOURCE_TYPES_MAX {
            let claim = |id: &ShareNodeId, demand: i64| {
                let share = self.leaves.get(id.index()).map_or(0.0, |leaf| leaf.share);
                let most = tree.node(*id).max_share[i].min(demand).max(0);
                Claim {
                    weight: 1.0,
                    least: ((total[i] as f64 * share) as i64).min(most),
                    most,
                }
            };
            let wanted = |id: &ShareNodeId| tree.node(*id).demand[i];
            let fair: Vec<Claim> = leaves.iter().map(|id| claim(id, wanted(id))).collect();
            let all = |id: &ShareNodeId| if wanted(id) > 0 { total[i] } else { 0 };
            let active: Vec<Claim> = leaves.iter().map(|id| claim(id, all(id))).collect();
            let (fair, active) = (waterfill(total[i], &fair), waterfill(total[i], &active));
            for (at, id) in leaves.iter().enumerate() {
                let node = tree.node_mut(*id);
                node.fair_share.0[i] = fair[at];
                node.active_share.0[i] = active[at];
            }
        }
    }

    fn with_slots(
        &self,
        slots: [u32; POOLS],
        room: &Resource,
        world: &World<'_>,
    ) -> Option<Box<dyn Share>> {
        let mut other = DynamicPriority {
            accounts: self.accounts.clone(),
            leaves: self.leaves.clone(),
            authorities: self.authorities.clone(),
            interval: self.interval,
            ..DynamicPriority::of(self.settings)
        };
        other.divide_among(DynamicPriority::usable_of(slots, room, world));
        other.settle_payers(world.now, &mut Stale::default());
        Some(Box::new(other))
    }

    fn explain(
        &self,
        asked: &PendingAsk<'_>,
        passed: &Passed,
        world: &World<'_>,
    ) -> Option<Reason> {
        self.why(asked, passed, world)
    }

    fn remedies(&self, asked: &PendingAsk<'_>, _passed: &Passed, world: &World<'_>) -> Vec<Remedy> {
        self.better_bid(asked, world).into_iter().collect()
    }
}
