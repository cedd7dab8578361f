//! Takes a node's room for a container that the host has placed itself, as YARN's processor of
//! placement constraints does. The limits of grants hold for these containers as well.

use super::control::{RequestError, no_job, numbered, refused};
use super::{Engine, bounds};
use crate::config::Section;
use crate::model::change::pool;
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::words::event::ContainerFacts;
use crate::words::ids::{JobId, NodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use serde_json::{Value, json};

impl Engine {
    /// `{"op": "take", "job": N, "node": N, "key": N, "priority": N, "resource": [MB, vcores...]}`:
    /// starts a container there. Answers `"why"` if it must not start; nothing has changed then.
    pub(super) fn take(&mut self, mut section: Section<'_>) -> Result<Value, RequestError> {
        self.settle();
        let facts = self.read_placed(&mut section)?;
        section.finish().map_err(refused)?;
        let job = self
            .cluster
            .job(facts.job)
            .ok_or_else(|| no_job(facts.job))?;
        let node = self.cluster.node(facts.node);
        let node = node.ok_or_else(|| RequestError("key `node`: no such node".to_string()))?;
        if job.containers.contains_key(&facts.key) {
            return Err(RequestError("key `key`: such a container runs".to_string()));
        }
        if let Some(why) = self.why_not(job, node, &facts) {
            return Ok(json!({ "taken": false, "why": why }));
        }
        self.cluster.take_room(facts.node, &facts.resource);
        self.add_container(&facts);
        self.settle();
        Ok(json!({ "taken": true }))
    }

    fn read_placed(&self, section: &mut Section<'_>) -> Result<ContainerFacts, RequestError> {
        let (job, node) = (numbered(section, "job")?, numbered(section, "node")?);
        let key = section.whole("key", 0, i64::MAX).map_err(refused)?;
        let key = key.ok_or_else(|| RequestError("key `key`: expected a number".to_string()))?;
        let lowest = i64::from(i32::MIN);
        let priority = section.whole("priority", lowest, i64::from(i32::MAX));
        let priority = priority.map_err(refused)?.unwrap_or(0);
        let mut resource = Resource::ZERO;
        for (i, (path, amount)) in section
            .list("resource")
            .map_err(refused)?
            .iter()
            .enumerate()
        {
            let amount = amount.as_i64().filter(|_| i < RESOURCE_TYPES_MAX);
            resource.0[i] =
                amount.ok_or_else(|| RequestError(format!("key `{path}`: expected an amount")))?;
        }
        let resource = bounds::amount(&resource);
        if resource.is_zero() {
            return Err(RequestError("key `resource`: expected amounts".to_string()));
        }
        Ok(ContainerFacts {
            job: JobId(job),
            key: key as u64,
            node: NodeId(node),
            priority: priority as i32,
            am: false,
            started_ms: self.now,
            resource,
        })
    }

    /// Why a container must not start now, if it must not.
    fn why_not(&self, job: &Job, node: &Node, facts: &ContainerFacts) -> Option<&'static str> {
        let at = &node.facts;
        let pool = pool(&self.setup.config, job.kind(facts.priority), false);
        let refusals = [
            (!job.runnable, "a limit of running applications"),
            (job.over.on(at.partition), "its user's limit in the queue"),
            (
                !job.admitted[job.kind(facts.priority) as usize],
                "the order of applications",
            ),
            (!at.schedulable, "the node takes no containers"),
            (
                self.reservations.contains_key(&at.node),
                "the node is held for another container",
            ),
            (
                job.blacklists(at.host, at.rack),
                "its application blacklists the node",
            ),
            (
                !facts.resource.fits_in(&self.open_room(node)),
                "the node's free room",
            ),
            (
                pool.is_some_and(|pool| self.full_pools(node)[pool]),
                "the node's free slots",
            ),
            (
                !self
                    .tree_of(at.partition)
                    .within_limits(job.leaf, &facts.resource),
                "a limit of its queue",
            ),
            (!self.is_paid_for(job, pool), "the credits of its account"),
        ];
        let refusal = refusals.iter().find(|(applies, _)| *applies);
        refusal.map(|(_, why)| *why)
    }

    /// Whether the market, if there is one, admits one more slot in any of its passes.
    pub(super) fn is_paid_for(&self, job: &Job, pool: Option<usize>) -> bool {
        let Some(market) = self.share.market() else {
            return true;
        };
        let leaf = self.tree.node(job.leaf);
        market.passes().iter().any(|pass| {
            market.admits(job.leaf, leaf, pool, *pass)
                && (job.authority.is_none() || market.affords(job, *pass, self.now))
        })
    }
}
