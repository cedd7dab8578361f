//! Requests for explanations: why one job waits and what was decided of it, and the sentences of
//! many jobs in turn, for hosts that show them. Changes nothing.

use super::control::{RequestError, numbered, refused};
use super::why::Surveys;
use super::{Engine, Subject};
use crate::config::Section;
use crate::explain::{Wait, json};
use crate::words::ids::JobId;
use serde_json::{Value, json};

/// How many asks before one are counted, for one job and for many.
const AHEAD_MAX: u32 = 1_000;
const AHEAD_OF_EACH_MAX: u32 = 100;

/// How many jobs one request for sentences tells of at the most, and how many it looks at.
const WAITS_MAX: i64 = 1_000;
const LOOKED_AT_MAX: u32 = 2_000;

impl Engine {
    /// `{"op": "explain", "job": N}`: why the job waits, if it does, with what would change that,
    /// and its last decisions, the oldest first.
    pub(super) fn explain(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let id = JobId(numbered(&mut section, "job")?);
        let Some(job) = self.cluster.job(id) else {
            let problem = format!("key `job`: no job has number {}", id.0);
            return Err(RequestError(problem));
        };
        let (names, ring) = (self.names(), self.rings.get(id));
        let waits = self.waits(job, &mut Surveys::new(), AHEAD_MAX);
        let since_ms = |wait: &Wait| {
            let noted = ring.and_then(|ring| ring.waits());
            noted.filter(|(_, reason)| reason.is_like(&wait.reason))
        };
        let reports = waits.iter().map(|wait| {
            let since_ms = since_ms(wait).map(|(since_ms, _)| since_ms);
            json::wait(wait, since_ms, &names)
        });
        let by_arrival = self.tree.keeps_arrivals();
        let entries = ring.iter().flat_map(|ring| ring.entries());
        let queue = self.cluster.queues.get(job.facts.queue);
        Ok(json!({
            "job": id.0,
            "queue": queue.map(|queue| &queue.config.path),
            "now_ms": self.now,
            "sentence": self.summary(&waits),
            "waits": reports.collect::<Vec<_>>(),
            "noted": ring.map_or(0, |ring| ring.noted()),
            "trace": entries
                .map(|entry| json::entry(entry, by_arrival, &names))
                .collect::<Vec<_>>(),
        }))
    }

    /// `{"op": "waits", "from": N, "max": M}`: of jobs from number N on the sentence, `null` if the
    /// job waits for nothing (or `explain.entries` is 0), and the number to go on from; 0 when all
    /// have been told of.
    pub(super) fn waits_report(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let from = section
            .whole("from", 0, i64::from(u32::MAX))
            .map_err(refused)?;
        let max = section.whole("max", 1, WAITS_MAX).map_err(refused)?;
        let (from, max) = (from.unwrap_or(0) as u32, max.unwrap_or(WAITS_MAX));
        let end = self.cluster.jobs_end();
        let mut surveys = Surveys::new();
        let mut jobs = Vec::new();
        let mut explained = 0;
        let mut at = from;
        while at < end && explained < max && at - from < LOOKED_AT_MAX {
            if let Some(job) = self.cluster.job(JobId(at)) {
                self.subject.set(Some(Subject::Job(job.facts.job)));
                let waits = match self.rings.is_on() {
                    true => self.waits(job, &mut surveys, AHEAD_OF_EACH_MAX),
                    false => Vec::new(),
                };
                explained += i64::from(!waits.is_empty());
                jobs.push(json!([at, self.summary(&waits)]));
            }
            at += 1;
        }
        Ok(json!({ "jobs": jobs, "next": if at < end { at } else { 0 } }))
    }

    /// One sentence for all that a job waits for: the first, as a rule the rest waits for the same.
    fn summary(&self, waits: &[Wait]) -> Option<String> {
        waits.first().map(|wait| self.sentence(wait))
    }
}
