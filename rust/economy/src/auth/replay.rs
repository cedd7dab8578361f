//! Rejects replays: remembers per user the last timestamp of version 1 (DP-38) and the unexpired
//! nonces of version 2. Memory is bounded: the oldest entries are forgotten, and from then on every
//! request as old or older is refused. Jobs may be signed for a day, so beyond `JOBS_MAX` new ones
//! are refused instead. Checks no signature: callers pass only proven requests.
//!
//! The state is plain data (`Watermarks`) that a store keeps over restarts and failovers. An
//! acceptance returns the entries that the request adds, to be stored together with its change. So
//! a server that does not know of the request does not know of its change either.

use crate::auth::canonical::Validity;
use crate::auth::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Limit of remembered nonces per user. Beyond it the nonces that expire first are forgotten, and
/// requests that expire as early are refused. A client whose later requests expire later notices
/// nothing. If all would expire later than the clock skew allows, a new request is refused instead:
/// forgetting would refuse every shorter request until then.
pub const NONCES_MAX: usize = 4096;

/// Limit of remembered, unexpired jobs per user. They are never forgotten earlier; beyond it,
/// submissions are refused.
pub const JOBS_MAX: usize = 1024;

/// The prefix in the rows of a store: no nonce of a request has a colon.
const JOB: &str = "job:";

/// Limit of remembered users: at least as many as an ACL file may have.
pub const USERS_MAX: usize = 10_000;

/// Limits on times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The largest difference between a client's clock and the server's; in version 1 also the
    /// validity of a signature, ms.
    pub skew_ms: u64,
    /// The longest validity of a signature of version 2, ms.
    pub valid_max_ms: u64,
}

impl Default for Clock {
    /// A quarter of an hour, as in the service that version 1 was modelled after (DP-36). A day for
    /// version 2, because a job may be signed long before it is submitted.
    fn default() -> Clock {
        Clock {
            skew_ms: 15 * 60_000,
            valid_max_ms: 24 * 3_600_000,
        }
    }
}

/// The watermarks of one user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// Version 1: the last accepted timestamp, ms.
    pub v1_ms: u64,
    /// Version 2: requests that expire at this time or earlier are refused, ms.
    pub v2_expired_ms: u64,
    /// Version 2: unexpired accepted nonces with their expiry, ms.
    pub nonces: BTreeMap<String, u64>,
    /// Jobs: like `v2_expired_ms`, ms.
    #[serde(default)]
    pub jobs_expired_ms: u64,
    /// Jobs: like `nonces`, kept apart because jobs may be signed for a day. Each with the prefix
    /// `job:`.
    #[serde(default)]
    pub jobs: BTreeMap<String, u64>,
}

/// The whole state, or the part that one request added: `Replay::merge` takes both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermarks {
    /// Like `Watermark::v1_ms`, for all users.
    pub v1_ms: u64,
    /// Like `Watermark::v2_expired_ms`, for all users.
    pub v2_expired_ms: u64,
    /// Like `Watermark::jobs_expired_ms`, for all users.
    #[serde(default)]
    pub jobs_expired_ms: u64,
    /// The users' watermarks, by name.
    pub users: BTreeMap<String, Watermark>,
}

impl Watermarks {
    /// Builds the state from the rows of a store: (user, last timestamp of version 1) and (user,
    /// nonce, expiry). Complete if the store drops no nonce before it expires.
    pub fn of(
        v1: impl IntoIterator<Item = (String, u64)>,
        nonces: impl IntoIterator<Item = (String, String, u64)>,
    ) -> Watermarks {
        let mut marks = Watermarks::default();
        for (user, v1_ms) in v1 {
            marks.users.entry(user).or_default().v1_ms = v1_ms;
        }
        for (user, nonce, expires_ms) in nonces {
            let mark = marks.users.entry(user).or_default();
            let seen = if nonce.starts_with(JOB) {
                &mut mark.jobs
            } else {
                &mut mark.nonces
            };
            seen.insert(nonce, expires_ms);
        }
        marks
    }

    /// Returns the rows of version 1, as for `of`.
    pub fn v1_rows(&self) -> impl Iterator<Item = (&str, u64)> {
        let rows = self
            .users
            .iter()
            .map(|(user, mark)| (user.as_str(), mark.v1_ms));
        rows.filter(|(_, v1_ms)| *v1_ms > 0)
    }

    /// Returns the rows of nonces, as for `of`; those of jobs have the prefix `job:`.
    pub fn nonce_rows(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.users.iter().flat_map(|(user, mark)| {
            let rows = mark.nonces.iter().chain(&mark.jobs);
            rows.map(move |(nonce, expires_ms)| (user.as_str(), nonce.as_str(), *expires_ms))
        })
    }
}

/// The state of one user, with the nonces in order of expiry.
#[derive(Debug, Default)]
struct User {
    mark: Watermark,
    by_expiry: BTreeSet<(u64, String)>,
}

impl User {
    /// Adds a nonce; when two states are merged, the later expiry holds.
    fn insert(&mut self, nonce: &str, expires_ms: u64) {
        let expiry = self.mark.nonces.entry(nonce.to_string()).or_default();
        self.by_expiry.remove(&(*expiry, nonce.to_string()));
        *expiry = expires_ms.max(*expiry);
        self.by_expiry.insert((*expiry, nonce.to_string()));
    }

    /// Forgets expired nonces, and beyond `NONCES_MAX` those that expire first.
    fn forget(&mut self, now_ms: u64) {
        while let Some((expires_ms, _)) = self.by_expiry.first()
            && (*expires_ms <= now_ms.max(self.mark.v2_expired_ms)
                || self.by_expiry.len() > NONCES_MAX)
        {
            let (expires_ms, nonce) = self.by_expiry.pop_first().expect("there is a first");
            self.mark.nonces.remove(&nonce);
            // Expired ones count, too: a clock may be set back.
            self.mark.v2_expired_ms = self.mark.v2_expired_ms.max(expires_ms);
        }
    }

    /// Adds a job, like `insert`.
    fn insert_job(&mut self, key: &str, expires_ms: u64) {
        let expiry = self.mark.jobs.entry(key.to_string()).or_default();
        *expiry = expires_ms.max(*expiry);
    }

    /// Forgets the jobs with expired signatures.
    fn forget_jobs(&mut self, now_ms: u64) {
        let mark = &mut self.mark;
        let over_ms = now_ms.max(mark.jobs_expired_ms);
        let over = mark.jobs.values().filter(|expiry| **expiry <= over_ms);
        mark.jobs_expired_ms = over.max().map_or(0, |last| *last).max(mark.jobs_expired_ms);
        mark.jobs.retain(|_, expires_ms| *expires_ms > over_ms);
    }

    /// Like `last_expiry_ms`, for jobs.
    fn last_job_ms(&self) -> u64 {
        let last = self.mark.jobs.values().max();
        last.map_or(0, |last| *last).max(self.mark.jobs_expired_ms)
    }

    /// Returns the time up to which every request of this user is refused after the user is
    /// forgotten.
    fn last_expiry_ms(&self) -> u64 {
        let last = self
            .by_expiry
            .last()
            .map_or(0, |(expires_ms, _)| *expires_ms);
        last.max(self.mark.v2_expired_ms)
    }
}

/// The accepted requests and submissions.
#[derive(Debug)]
pub struct Replay {
    clock: Clock,
    started_ms: u64,
    /// Whether nothing is known of requests before the start.
    fresh: bool,
    v1_ms: u64,
    v2_expired_ms: u64,
    jobs_expired_ms: u64,
    users: BTreeMap<String, User>,
}

impl Replay {
    /// Starts without knowledge, for a server that started (or took over) at `started_ms`: refuses
    /// everything that was signed earlier, until a `merge`.
    pub fn new(clock: Clock, started_ms: u64) -> Replay {
        Replay {
            clock,
            started_ms,
            fresh: true,
            v1_ms: 0,
            v2_expired_ms: 0,
            jobs_expired_ms: 0,
            users: BTreeMap::new(),
        }
    }

    /// Adds the state from a store. Version 1 still needs timestamps after the start, as published;
    /// from now on, requests of version 2 may have been signed before it.
    pub fn merge(&mut self, marks: &Watermarks) {
        self.fresh = false;
        self.v1_ms = self.v1_ms.max(marks.v1_ms);
        self.v2_expired_ms = self.v2_expired_ms.max(marks.v2_expired_ms);
        self.jobs_expired_ms = self.jobs_expired_ms.max(marks.jobs_expired_ms);
        for (name, mark) in &marks.users {
            let user = self.users.entry(name.clone()).or_default();
            user.mark.v1_ms = user.mark.v1_ms.max(mark.v1_ms);
            user.mark.jobs_expired_ms = user.mark.jobs_expired_ms.max(mark.jobs_expired_ms);
            user.mark.v2_expired_ms = user.mark.v2_expired_ms.max(mark.v2_expired_ms);
            for (nonce, expires_ms) in &mark.nonces {
                user.insert(nonce, *expires_ms);
            }
            for (key, expires_ms) in &mark.jobs {
                user.insert_job(key, *expires_ms);
            }
            user.forget(0);
            user.forget_jobs(0);
            self.forget_user(name);
        }
    }

    /// Returns the whole state.
    pub fn export(&self) -> Watermarks {
        let users = self.users.iter();
        Watermarks {
            v1_ms: self.v1_ms,
            v2_expired_ms: self.v2_expired_ms,
            jobs_expired_ms: self.jobs_expired_ms,
            users: users
                .map(|(name, user)| (name.clone(), user.mark.clone()))
                .collect(),
        }
    }

    /// Accepts a proven request of version 1. Its timestamp must be near the clock, and later than
    /// the start and the last one of its user (DP-38).
    ///
    /// # Errors
    ///
    /// `Skewed`, `Replayed`; then nothing is changed.
    pub fn accept_v1(
        &mut self,
        user: &str,
        at_ms: u64,
        now_ms: u64,
    ) -> Result<Watermarks, Refusal> {
        if at_ms.abs_diff(now_ms) > self.clock.skew_ms {
            return Err(Refusal::Skewed(now_ms));
        }
        let last_ms = self.users.get(user).map_or(0, |user| user.mark.v1_ms);
        if at_ms <= last_ms.max(self.v1_ms).max(self.started_ms) {
            return Err(Refusal::Replayed);
        }
        let known = self.users.entry(user.to_string()).or_default();
        known.mark.v1_ms = at_ms;
        let added = Watermark {
            v1_ms: at_ms,
            ..Watermark::default()
        };
        Ok(self.accepted(user, added))
    }

    /// Accepts a proven, unexpired request of version 2 with a new nonce.
    ///
    /// # Errors
    ///
    /// `Skewed`, `Expired`, `ValidTooLong`, `Replayed`, `Forgotten`, `TooManyUnexpired`; then
    /// nothing is accepted.
    pub fn accept_v2(
        &mut self,
        user: &str,
        validity: &Validity,
        now_ms: u64,
    ) -> Result<Watermarks, Refusal> {
        self.check_times(validity, now_ms)?;
        let (expires_ms, nonce) = (validity.expires_ms, &validity.nonce);
        let unknown = User::default();
        let seen = self.users.get(user).unwrap_or(&unknown);
        if seen.mark.nonces.contains_key(nonce) {
            return Err(Refusal::Replayed);
        }
        let forgotten_ms = self.v2_expired_ms.max(seen.mark.v2_expired_ms);
        if expires_ms <= forgotten_ms {
            return Err(Refusal::Forgotten(forgotten_ms));
        }
        let known = self.users.entry(user.to_string()).or_default();
        known.forget(now_ms);
        if let Some((first_ms, _)) = known.by_expiry.first()
            && known.by_expiry.len() >= NONCES_MAX
            && expires_ms.min(*first_ms) > now_ms.saturating_add(self.clock.skew_ms)
        {
            let first_ms = expires_ms.min(*first_ms);
            return Err(Refusal::TooManyUnexpired(first_ms));
        }
        known.insert(nonce, expires_ms);
        known.forget(now_ms);
        let added = Watermark {
            nonces: BTreeMap::from([(nonce.clone(), expires_ms)]),
            ..Watermark::default()
        };
        Ok(self.accepted(user, added))
    }

    /// Accepts a proven submission of a job, like `accept_v2` a request. Its nonce takes no room
    /// from requests, and is kept until the signature expires.
    ///
    /// # Errors
    ///
    /// Like `accept_v2`; then nothing is accepted.
    pub fn accept_job(
        &mut self,
        user: &str,
        validity: &Validity,
        now_ms: u64,
    ) -> Result<Watermarks, Refusal> {
        self.check_times(validity, now_ms)?;
        let (expires_ms, key) = (validity.expires_ms, job_key(&validity.nonce));
        if self.is_job_known(user, &key, expires_ms) {
            return Err(Refusal::Replayed);
        }
        let known = self.users.entry(user.to_string()).or_default();
        known.forget_jobs(now_ms);
        if known.mark.jobs.len() >= JOBS_MAX {
            let first = known.mark.jobs.values().min();
            return Err(Refusal::TooManyUnexpired(*first.expect("there are many")));
        }
        Ok(self.add_job(user, key, expires_ms))
    }

    /// Registers a job that was accepted before a failover, and returns the unknown part to store.
    /// Never refuses: the job exists.
    pub fn recover_job(&mut self, user: &str, nonce: &str, expires_ms: u64) -> Watermarks {
        let key = job_key(nonce);
        if self.is_job_known(user, &key, expires_ms) {
            return Watermarks::default();
        }
        self.add_job(user, key, expires_ms)
    }

    fn is_job_known(&self, user: &str, key: &str, expires_ms: u64) -> bool {
        let seen = self.users.get(user).map(|user| &user.mark);
        expires_ms <= self.jobs_expired_ms
            || seen.is_some_and(|mark| {
                expires_ms <= mark.jobs_expired_ms || mark.jobs.contains_key(key)
            })
    }

    fn add_job(&mut self, user: &str, key: String, expires_ms: u64) -> Watermarks {
        let known = self.users.entry(user.to_string()).or_default();
        known.insert_job(&key, expires_ms);
        let added = Watermark {
            jobs: BTreeMap::from([(key, expires_ms)]),
            ..Watermark::default()
        };
        self.accepted(user, added)
    }

    fn check_times(&self, validity: &Validity, now_ms: u64) -> Result<(), Refusal> {
        let (timestamp_ms, expires_ms) = (validity.timestamp_ms, validity.expires_ms);
        if timestamp_ms.saturating_sub(now_ms) > self.clock.skew_ms {
            return Err(Refusal::Skewed(now_ms));
        }
        if expires_ms <= now_ms {
            return Err(Refusal::Expired(now_ms));
        }
        let good_for = expires_ms
            .checked_sub(timestamp_ms)
            .filter(|good_for| *good_for > 0);
        if good_for.is_none_or(|good_for| good_for > self.clock.valid_max_ms) {
            return Err(Refusal::ValidTooLong(self.clock.valid_max_ms));
        }
        if self.fresh && timestamp_ms <= self.started_ms {
            return Err(Refusal::Replayed);
        }
        Ok(())
    }

    /// Returns the added entries. Forgotten ones are left out: they follow when the parts are
    /// merged.
    fn accepted(&mut self, user: &str, added: Watermark) -> Watermarks {
        self.forget_user(user);
        Watermarks {
            users: BTreeMap::from([(user.to_string(), added)]),
            ..Watermarks::default()
        }
    }

    /// Beyond `USERS_MAX`, forgets the user who was silent for longest; never `but`.
    fn forget_user(&mut self, but: &str) {
        if self.users.len() <= USERS_MAX {
            return;
        }
        let others = self.users.iter().filter(|(name, _)| *name != but);
        let oldest = others.min_by_key(|(_, user)| {
            let v2_ms = user.last_expiry_ms().max(user.last_job_ms());
            v2_ms.max(user.mark.v1_ms)
        });
        if let Some(name) = oldest.map(|(name, _)| name.clone())
            && let Some(user) = self.users.remove(&name)
        {
            self.v1_ms = self.v1_ms.max(user.mark.v1_ms);
            self.v2_expired_ms = self.v2_expired_ms.max(user.last_expiry_ms());
            self.jobs_expired_ms = self.jobs_expired_ms.max(user.last_job_ms());
        }
    }
}

fn job_key(nonce: &str) -> String {
    format!("{JOB}{nonce}")
}

#[cfg(test)]
mod tests;
