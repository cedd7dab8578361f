//! Another configuration for a running engine, whichever stages it has: jobs, containers, asks and
//! accounts stay.

use super::Engine;
use super::control::{RequestError, refused};
use crate::catalogue::{build, build_rank};
use crate::config::{Config, Section, State};
use crate::model::by_label::ByLabel;
use crate::model::queue::States;
use crate::model::share_tree::ShareTree;
use crate::setup;
use crate::words::ids::{Millis, NodeId};
use serde_json::{Value, json};

impl Engine {
    /// Replaces the configuration, whole or not at all. Rebuilds the stages; jobs, containers and
    /// asks stay.
    pub(super) fn reload(
        &mut self,
        section: &mut Section<'_>,
        epoch_ms: Millis,
    ) -> Result<Value, RequestError> {
        let mut config = setup::read(section, &self.setup.resource_types).map_err(refused)?;
        config.epoch_ms = epoch_ms;
        let states = self.states_after(&mut config)?;
        let (mut share, mut order, mut place) = build(&config);
        let relaid = share.layout() != self.share.layout();
        let world = world!(self);
        if let Some(market) = self.share.market_mut() {
            market.meter(&world);
        }
        let before = &self.setup.config.composition;
        let entered = config.composition.share != before.share && share.market().is_some();
        if config.composition.share == before.share {
            share.load(&self.share.save());
            if let (Some(new), Some(old)) = (share.market_mut(), self.share.market_mut()) {
                std::mem::swap(new.ledger(), old.ledger());
            }
        }
        if config.composition.order == before.order {
            order.load(&self.order.save());
        }
        if config.composition.place == before.place {
            place.load(&self.place.save());
        }
        if config.composition.share != before.share {
            self.leave_market();
        }
        if let Some(market) = share.market_mut().filter(|_| entered && self.keeps_ledger) {
            market.keep_ledger();
        }
        self.reindex(|engine| {
            engine.setup.config = config;
            engine.setup.epoch_ms = epoch_ms;
            (engine.share, engine.order, engine.place) = (share, order, place);
            engine.rank = build_rank(&engine.setup.config);
            engine
                .cluster
                .queues
                .take_over(&engine.setup.config, &states);
            engine.count_types();
            match relaid {
                true => engine.restart_tree(),
                false => engine.grow_tree(),
            }
            engine.recount_pools();
            engine.restart_partitions();
            engine.count_slots();
            engine.restart_users();
            engine.forget_lines();
            engine.tell_all();
            engine.settle();
            engine.resize_trace();
        });
        if let Some(saved) = self.accounts.take_if(|_| entered) {
            let request = json!({"op": "restoreAccounts", "saved": saved});
            if let Err(why) = self.share_request("restoreAccounts", &request) {
                log::error!("accounts are kept, but not in force: {why}");
                self.accounts = Some(saved);
            }
        }
        self.entitle();
        self.admit_waiting();
        self.cluster.renew_tallies();
        Ok(self.report(0, u32::MAX))
    }

    /// The states of queues after a reload, if nothing keeps it from being taken over. Notes in the
    /// configuration which queues are stopped.
    fn states_after(&self, config: &mut Config) -> Result<States, RequestError> {
        let queues = &self.cluster.queues;
        // A standby takes over whatever has changed: it has nothing to lose.
        let states = match self.cluster.node_count > 0 || self.cluster.job_count > 0 {
            true => queues.check_reload(config).map_err(RequestError)?,
            false => config.kept_stopped(),
        };
        let stopped = states.iter().filter(|(_, state)| **state == State::Stopped);
        config.stopped = stopped.map(|(path, _)| path.clone()).collect();
        Ok(states)
    }

    /// Keeps the accounts of a market that goes out of force, and what jobs have spent there. They
    /// stand still until a market is in force again: no income, no charge. The interval that is
    /// open is free, as it is after a failover.
    fn leave_market(&mut self) {
        if self.share.market().is_none() {
            return;
        }
        self.accounts = Some(self.share.save());
        let spent = self.cluster.jobs().filter_map(|job| {
            let spending = self.spending(job)?;
            Some((job.facts.job, spending.spent))
        });
        for (id, spent) in spent.collect::<Vec<_>>() {
            let job = self.cluster.job_mut(id).expect("it was just listed");
            if let Some(authority) = &mut job.authority {
                authority.spent = spent;
            }
        }
    }

    /// Lets the room of nodes count, and their rank be, as the configuration says. It may have come
    /// without a report.
    fn count_types(&mut self) {
        let memory_only = self.setup.config.memory_only;
        self.cluster.count_memory_only(memory_only);
        let nodes = self.cluster.nodes().map(|node| node.facts.node);
        let nodes: Vec<NodeId> = nodes.collect();
        nodes.into_iter().for_each(|node| self.file(node));
    }

    /// Rebuilds the tree of shares for a share stage with another layout. No ask may be in the
    /// backlog.
    fn restart_tree(&mut self) {
        // Accounts belong to queues, so a market needs ids that never go to another queue.
        let reuses_ids = self.share.market().is_none();
        self.cluster.queues.reuse_ids(reuses_ids);
        self.partitions.clear();
        self.partitioned = false;
        self.starving.clear();
        self.promises.clear();
        self.promised.clear();
        self.tree = ShareTree::new(self.share.layout(), self.setup.minimum_allocation);
        self.grow_tree();
        let jobs: Vec<_> = self.cluster.jobs().map(|job| job.facts).collect();
        for facts in jobs {
            let leaf = self.leaf_of(facts.queue);
            let job = self.cluster.job_mut(facts.job).expect("it was just listed");
            (job.leaf, job.labelled_used) = (leaf, ByLabel::default());
        }
        let containers: Vec<_> = self.all_containers().map(|(job, of)| (job, *of)).collect();
        for (job, container) in containers {
            self.charge_tree(job, &container, self.pool_of(job, &container), true);
        }
    }

    /// Whether a reload may have left more jobs running than the limits now admit.
    pub(super) fn limits_were_lowered(&self) -> bool {
        self.cluster.queues.reloads() > 1
    }
}
