//! Compares the engine's books with the host's: every node, job, ask, row and container, and the
//! answer to the control plane's `audit`.

use crate::host::{HostAsk, HostJob, HostRow};
use crate::world::World;
use heddle_core::model::job::{Ask, Job};
use heddle_core::words::ids::{AskId, PlaceId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::{Check, Checked, Failure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;

impl World {
    /// Compares both books. The caller must have applied the grants in flight to the host's books.
    pub(crate) fn check_books(&mut self) -> Checked {
        if !self.options.checks.books {
            return Ok(());
        }
        self.compare_nodes()?;
        self.compare_jobs()?;
        let reply = self.link.request(self.engine_now, json!({"op": "audit"}))?;
        let reply = reply.map_err(|refusal| Failure::new(Check::Books, refusal))?;
        same("audit", &reply, &self.audit())
    }

    fn compare_nodes(&self) -> Checked {
        let cluster = self.link.engine.cluster();
        let engine: Vec<_> = cluster.nodes().map(|node| node.facts.node).collect();
        let host: Vec<_> = self.host.nodes.keys().copied().collect();
        same("nodes", &engine, &host)?;
        for node in cluster.nodes() {
            let known = &self.host.nodes[&node.facts.node];
            let told = heddle_core::words::event::NodeFacts {
                free: node.facts.free,
                ..known.facts
            };
            same("facts of a node", &node.facts, &told)?;
            let engine = (node.used, node.containers as usize);
            let host = (known.used, known.containers.len());
            let id = node.facts.node.0;
            same(&format!("containers of node {id}"), &engine, &host)?;
        }
        Ok(())
    }

    fn compare_jobs(&self) -> Checked {
        let cluster = self.link.engine.cluster();
        let engine: Vec<_> = cluster.jobs().map(|job| job.facts.job).collect();
        let host: Vec<_> = self.host.jobs.keys().copied().collect();
        same("jobs", &engine, &host)?;
        for job in cluster.jobs() {
            let known = &self.host.jobs[&job.facts.job];
            let of = format!("of job {}", job.facts.job.0);
            same(&format!("facts {of}"), &job.facts, &known.facts)?;
            same(&format!("usage {of}"), &job.used, &known.used)?;
            same(&format!("blacklist {of}"), &job.blacklist, &known.blacklist)?;
            compare_containers(job, known)?;
            compare_asks(job, known)?;
        }
        Ok(())
    }

    fn audit(&self) -> Value {
        let jobs = self.host.jobs.iter().map(|(job, owner)| {
            let asks = owner.asks.values().filter(|ask| ask.facts.count > 0);
            let asks: Vec<Value> = asks
                .map(|ask| json!([ask.facts.ask.0, ask.facts.count]))
                .collect();
            json!([job.0, owner.containers.len(), owner.used.0, asks])
        });
        let nodes = self.host.nodes.iter();
        let nodes = nodes.map(|(id, node)| json!([id.0, node.containers.len(), node.used.0]));
        json!({"jobs": jobs.collect::<Vec<_>>(), "nodes": nodes.collect::<Vec<_>>()})
    }
}

/// Matches containers by their properties, not by key: those in flight have no key in the engine.
fn compare_containers(job: &Job, known: &HostJob) -> Checked {
    type Container = (u32, Resource, i32, bool);
    let mut running: BTreeMap<Container, i64> = BTreeMap::new();
    for container in known.containers.values() {
        let container = (
            container.node.0,
            container.resource,
            container.priority,
            container.am,
        );
        *running.entry(container).or_default() += 1;
    }
    let of = format!("of job {}", job.facts.job.0);
    for (key, container) in &job.containers {
        let what = (
            container.node.0,
            container.resource,
            container.priority,
            container.am,
        );
        *running.entry(what).or_default() -= 1;
        if !known.containers.contains_key(key) {
            let what = format!("container {key} {of} is unknown to the host");
            return Err(Failure::new(Check::Books, what));
        }
    }
    running.retain(|_, count| *count != 0);
    let in_flight: i64 = running.values().sum();
    let engine = i64::from(job.running_containers()) - job.containers.len() as i64;
    same(&format!("containers in flight {of}"), &engine, &in_flight)?;
    match running.values().any(|count| *count < 0) {
        true => Err(Failure::new(
            Check::Books,
            format!("containers {of} differ: {running:?}"),
        )),
        false => Ok(()),
    }
}

fn compare_asks(job: &Job, known: &HostJob) -> Checked {
    let ids = |pending: bool, id: AskId| pending.then_some(id);
    let engine: Vec<AskId> = job.pending().map(|ask| ask.facts.ask).collect();
    let host = known.asks.iter();
    let host: Vec<AskId> = host
        .filter_map(|(id, ask)| ids(ask.facts.count > 0, *id))
        .collect();
    let of = format!("of job {}", job.facts.job.0);
    same(&format!("pending asks {of}"), &engine, &host)?;
    for ask in job.pending() {
        compare_ask(ask, &known.asks[&ask.facts.ask], &of)?;
    }
    Ok(())
}

fn compare_ask(ask: &Ask, known: &HostAsk, of: &str) -> Checked {
    let of = format!("of ask {} {of}", ask.facts.ask.0);
    same(&format!("facts {of}"), &ask.facts, &known.facts)?;
    let rows: BTreeMap<PlaceId, HostRow> = ask
        .rows
        .iter()
        .map(|(place, row)| {
            let (count, relax) = (row.count, row.relax);
            (*place, HostRow { count, relax })
        })
        .collect();
    same(&format!("rows {of}"), &rows, &known.rows)
}

fn same<T: PartialEq + Debug>(what: &str, engine: &T, host: &T) -> Checked {
    match engine == host {
        true => Ok(()),
        false => Err(Failure::new(
            Check::Books,
            format!("{what}: engine {engine:?}, host {host:?}"),
        )),
    }
}
