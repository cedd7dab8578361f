//! The gate for every signed request and submission. Checks form, signature and replay, in this
//! order, and limits failures. It proves identity; `role` decides permissions. Its state is the
//! users, the accepted requests, the failures, and its clock.
//!
//! For each request, a host reads the body. Unless the command needs no permission (`price`, and
//! `time`, which answers `Gate::now_ms`), it calls `Gate::admit`, hashes the body (`Body`) while
//! the gate is not locked, and calls `Gate::identify`, and then `role::allow`. It stores
//! `Accepted::added` together with the change of the request, and writes an `audit::Record`
//! whatever the outcome.

use crate::auth::acl::{Acl, User};
use crate::auth::canonical::Signed;
use crate::auth::job::{self, Authority, Submission};
use crate::auth::limit::{Limiter, Limits};
use crate::auth::query::{QUERY_BYTES_MAX, is_visible_ascii};
use crate::auth::refusal::{Refusal, malformed};
use crate::auth::replay::{Clock, Replay, Watermarks};
use crate::auth::role::{Caller, Version};
use crate::auth::secret::Secret;
use crate::auth::time::{Now, Reading, Timekeeper};
use crate::auth::{v1, v2};
use std::net::IpAddr;

/// The longest accepted body; a host stops reading one byte later.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// The longest body that is accepted from an address that fails too often. Changes of rates and
/// budgets are shorter, so correct signatures from behind it still pass.
pub const FAILING_BODY_BYTES_MAX: usize = 4096;
/// The longest accepted path.
pub const PATH_BYTES_MAX: usize = 2048;
/// The longest accepted header `Authorization`: over twice the longest user name, percent-encoded.
pub const HEADER_BYTES_MAX: usize = 2048;

const BLANKS: [char; 2] = [' ', '\t'];

/// The interface that received a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The published one (DP-32, DP-33), for clients of both versions.
    Published,
    /// Heddle's own, for version 2 only: version 1 covers neither path nor body, so a signature for
    /// one interface would be valid on the other.
    Json,
}

/// A request as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The interface that received it.
    pub interface: Interface,
    /// Method, path, query and body, as sent.
    pub signed: Signed<'a>,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
    /// The sender's address, if known.
    pub address: Option<IpAddr>,
}

/// The operator's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether signatures of version 1 are accepted.
    pub v1: bool,
    /// Limits on times.
    pub clock: Clock,
    /// Limits on failures.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            v1: true,
            clock: Clock::default(),
            limits: Limits::default(),
        }
    }
}

/// An accepted request or submission.
#[derive(Debug)]
pub struct Accepted {
    /// The sender.
    pub caller: Caller,
    /// The authority of a job of version 2. A job of version 1 may spend all that its user has.
    pub authority: Option<Authority>,
    /// The watermarks to store, so that it is not accepted again.
    pub added: Watermarks,
}

/// A refused request or submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The reason.
    pub why: Refusal,
    /// The unproven user name, if one was given.
    pub user: Option<String>,
}

impl From<Refusal> for Rejection {
    fn from(why: Refusal) -> Rejection {
        Rejection { why, user: None }
    }
}

/// The state of the gate; see the module.
#[derive(Debug)]
pub struct Gate {
    settings: Settings,
    acl: Acl,
    replay: Replay,
    limiter: Limiter,
    time: Timekeeper,
    nobody: Secret,
}

impl Gate {
    /// Starts without users, for a server that started (or took over) at `started_ms`.
    pub fn new(settings: Settings, started_ms: u64) -> Gate {
        Gate {
            settings,
            acl: Acl::default(),
            replay: Replay::new(settings.clock, started_ms),
            limiter: Limiter::new(settings.limits),
            time: Timekeeper::new(started_ms),
            nobody: Secret::of_nobody(),
        }
    }

    /// Replaces the users. Accepted requests of the remaining users are not forgotten; the
    /// published server forgot them at each reading, and accepted them again.
    pub fn set_acl(&mut self, acl: Acl) {
        self.acl = acl;
    }

    /// Adds the watermarks from a store.
    pub fn merge(&mut self, marks: &Watermarks) {
        self.replay.merge(marks);
    }

    /// Returns all watermarks for a store.
    pub fn export(&self) -> Watermarks {
        self.replay.export()
    }

    /// Returns the time that clients' times are compared with, ms since 1970: the answer to `time`
    /// (DP-33).
    pub fn now_ms(&mut self, now: Now) -> u64 {
        self.time.read(now).at_ms
    }

    /// Refuses a request whose body of that many bytes need not be hashed, as `identify` would
    /// refuse it: an unsigned one, and a long one from an address that fails too often.
    ///
    /// # Errors
    ///
    /// `Unsigned`, `TooManyFailures`.
    pub fn admit(
        &mut self,
        authorization: Option<&str>,
        body_bytes: usize,
        address: Option<IpAddr>,
        now: Now,
    ) -> Result<(), Rejection> {
        ours(authorization)?;
        if body_bytes > FAILING_BODY_BYTES_MAX {
            let now = self.time.read(now);
            self.limiter.check_address(address, now.passed_ms)?;
        }
        Ok(())
    }

    /// Identifies the sender of a request.
    ///
    /// # Errors
    ///
    /// Any `Refusal` except `NotAllowed`; `Unsigned` also for headers of other schemes, which are
    /// not meant for Heddle. Counts every failure except `Unsigned`. Beyond the limit of an address
    /// or of a user's name, unproven callers get `TooManyFailures`. A correct signature passes even
    /// then, unless the secret is short enough to be guessed.
    pub fn identify(&mut self, request: &Request<'_>, now: Now) -> Result<Accepted, Rejection> {
        let header = ours(request.authorization)?;
        let now = self.time.read(now);
        let outcome = self.identify_ours(request, header, now);
        self.count(outcome, request.address, now)
    }

    /// Tells whether a request has a right signature of version 2. Uses up nothing and counts no
    /// failure, for a host that looks things up only for those who may be answered: `identify`
    /// decides afterwards.
    pub fn proves(&mut self, request: &Request<'_>, now: Now) -> bool {
        let now = self.time.read(now);
        let claim = ours(request.authorization)
            .and_then(|header| check_form(&request.signed, header).map(|()| header))
            .and_then(v2::Claim::of_header);
        claim.is_ok_and(|claim| {
            let proven = self.proven(&claim.user, |secret| {
                claim.is_proven(secret, &request.signed)
            });
            proven
                .and_then(|user| self.check_guesses(&claim.user, user, request.address, now))
                .is_ok()
        })
    }

    /// Identifies the submitter of a job, and the bounds of its spending; `value` looks up
    /// parameters of its configuration. An unknown address is limited by user alone.
    ///
    /// # Errors
    ///
    /// Like `identify`; `NotAllowed` if the queue is not the user's (DP-39), without using up the
    /// nonce.
    pub fn submit(
        &mut self,
        submission: &Submission<'_>,
        value: impl Fn(&str) -> Option<String>,
        address: Option<IpAddr>,
        now: Now,
    ) -> Result<Accepted, Rejection> {
        let now = self.time.read(now);
        let outcome = self.submit_unlimited(submission, value, address, now);
        let outcome = outcome.map_err(|why| Rejection {
            why,
            user: Some(submission.user.to_string()),
        });
        self.count(outcome, address, now)
    }

    /// Registers the authority of a job that a ResourceManager recovered, before it accepts any
    /// submission. From then on its signature starts no other job, even if its nonce was never
    /// stored. Returns the watermarks to store, empty if all are known.
    pub fn recover(&mut self, authority: &Authority) -> Watermarks {
        let Authority {
            user,
            nonce,
            expires_ms,
            ..
        } = authority;
        self.replay.recover_job(user, nonce, *expires_ms)
    }

    /// Proves the authority of a recovered job again, from its submission; for `recover`.
    /// Skips the checks of time and replay, which were made when it was submitted. `None` for a job
    /// of version 1, which has no bounds.
    ///
    /// # Errors
    ///
    /// `Malformed`, `Unsigned`, `WrongSignature`; the last also if its user is gone or has a new
    /// secret.
    pub fn prove_again(
        &self,
        submission: &Submission<'_>,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Authority>, Refusal> {
        match job::Claim::of(submission, value)? {
            job::Claim::V1(claim) => {
                self.proven(&claim.user, |secret| claim.is_proven(secret))?;
                Ok(None)
            }
            job::Claim::V2(claim) => {
                self.proven(submission.user, |secret| claim.is_proven(secret))?;
                Ok(Some(claim.authority))
            }
        }
    }

    /// Counts a failure, or turns it into `TooManyFailures`.
    fn count(
        &mut self,
        outcome: Result<Accepted, Rejection>,
        address: Option<IpAddr>,
        now: Reading,
    ) -> Result<Accepted, Rejection> {
        let Err(Rejection { why, user }) = outcome else {
            return outcome;
        };
        if matches!(why, Refusal::Unsigned | Refusal::TooManyFailures(_)) {
            return Err(Rejection { why, user });
        }
        let by_address = self.limiter.check_address(address, now.passed_ms);
        let name = user.as_deref();
        let by_user = name.map(|user| self.limiter.check_user(user, address, now.passed_ms));
        let why = match by_address.and(by_user.unwrap_or(Ok(()))) {
            Err(too_many) if !why.is_of_proven() => too_many,
            Err(_) => why,
            Ok(()) => {
                self.limiter.fail(name, address, now.passed_ms);
                why
            }
        };
        Err(Rejection { why, user })
    }

    fn identify_ours(
        &mut self,
        request: &Request<'_>,
        header: &str,
        now: Reading,
    ) -> Result<Accepted, Rejection> {
        check_form(&request.signed, header)?;
        if request.signed.body.len() > FAILING_BODY_BYTES_MAX {
            self.limiter.check_address(request.address, now.passed_ms)?;
        }
        if header.contains(BLANKS) {
            let claim = v2::Claim::of_header(header)?;
            let of_claim = |why| Rejection {
                why,
                user: Some(claim.user.clone()),
            };
            return self.accept_v2(request, &claim, now).map_err(of_claim);
        }
        if !self.settings.v1 {
            return Err(Refusal::V1Off.into());
        }
        if request.interface != Interface::Published || !request.signed.body.is_empty() {
            return Err(Refusal::V1SignsTheQueryOnly.into());
        }
        let claim = v1::Claim::of_request(request.signed.query, header)?;
        let of_claim = |why| Rejection {
            why,
            user: Some(claim.user.clone()),
        };
        self.accept_v1(&claim, None, request.address, now)
            .map_err(of_claim)
    }

    fn submit_unlimited(
        &mut self,
        submission: &Submission<'_>,
        value: impl Fn(&str) -> Option<String>,
        address: Option<IpAddr>,
        now: Reading,
    ) -> Result<Accepted, Refusal> {
        match job::Claim::of(submission, value)? {
            job::Claim::V1(_) if !self.settings.v1 => Err(Refusal::V1Off),
            job::Claim::V1(claim) => self.accept_v1(&claim, Some(submission.queue), address, now),
            job::Claim::V2(claim) => {
                let user = self.proven(submission.user, |secret| claim.is_proven(secret))?;
                self.check_guesses(submission.user, user, address, now)?;
                let caller = caller(submission.user, user, Version::V2);
                check_queue(&caller, Some(submission.queue))?;
                if claim.authority.bounds.until_ms <= now.at_ms {
                    return Err(Refusal::Expired(now.at_ms));
                }
                let added = self
                    .replay
                    .accept_job(submission.user, &claim.validity, now.at_ms)?;
                let authority = Some(claim.authority);
                Ok(Accepted {
                    caller,
                    authority,
                    added,
                })
            }
        }
    }

    fn accept_v1(
        &mut self,
        claim: &v1::Claim,
        queue: Option<&str>,
        address: Option<IpAddr>,
        now: Reading,
    ) -> Result<Accepted, Refusal> {
        let user = self.proven(&claim.user, |secret| claim.is_proven(secret))?;
        self.check_guesses(&claim.user, user, address, now)?;
        if !user.v1 {
            return Err(Refusal::V1Off);
        }
        let caller = caller(&claim.user, user, Version::V1);
        check_queue(&caller, queue)?;
        let added = self
            .replay
            .accept_v1(&claim.user, claim.timestamp_ms, now.at_ms)?;
        Ok(Accepted {
            caller,
            authority: None,
            added,
        })
    }

    fn accept_v2(
        &mut self,
        request: &Request<'_>,
        claim: &v2::Claim,
        now: Reading,
    ) -> Result<Accepted, Refusal> {
        let user = self.proven(&claim.user, |secret| {
            claim.is_proven(secret, &request.signed)
        })?;
        self.check_guesses(&claim.user, user, request.address, now)?;
        let caller = caller(&claim.user, user, Version::V2);
        let added = self
            .replay
            .accept_v2(&claim.user, &claim.validity, now.at_ms)?;
        Ok(Accepted {
            caller,
            authority: None,
            added,
        })
    }

    /// Limits guessing: for a short secret, a correct signature counts no more than the guesses
    /// before it. Called after the proof, so that every outcome takes the same time.
    fn check_guesses(
        &self,
        name: &str,
        user: &User,
        address: Option<IpAddr>,
        now: Reading,
    ) -> Result<(), Refusal> {
        match user.secret.is_short() {
            true => self.limiter.check_user(name, address, now.passed_ms),
            false => Ok(()),
        }
    }

    /// Returns the user of this name if their secret proves the signature. Computes as much for an
    /// unknown user.
    fn proven(&self, name: &str, proves: impl Fn(&Secret) -> bool) -> Result<&User, Refusal> {
        let user = self.acl.get(name);
        let proven = proves(user.map_or(&self.nobody, |user| &user.secret));
        user.filter(|_| proven).ok_or(Refusal::WrongSignature)
    }
}

/// Tells whether a header may be Heddle's. Headers of other schemes, such as `Negotiate`, are not,
/// at any length. Nor is a scheme alone, because every signature of version 1 ends in `=` or its
/// escape.
pub fn is_ours(header: &str) -> bool {
    match header.split_once(BLANKS) {
        Some((scheme, _)) => scheme.eq_ignore_ascii_case(v2::SCHEME.trim_end()),
        None => header.contains(['=', '%']),
    }
}

fn ours(authorization: Option<&str>) -> Result<&str, Refusal> {
    let header = authorization.filter(|header| is_ours(header));
    header.ok_or(Refusal::Unsigned)
}

fn caller(name: &str, user: &User, version: Version) -> Caller {
    Caller {
        user: name.to_string(),
        role: user.role,
        queues: user.queues.clone(),
        version,
    }
}

/// Checks that a job may go into a queue: administrators, too, may use only their own (DP-39).
fn check_queue(caller: &Caller, queue: Option<&str>) -> Result<(), Refusal> {
    match queue {
        Some(queue) if !caller.has(queue) => Err(Refusal::NotAllowed),
        _ => Ok(()),
    }
}

/// Checks the sizes, and that no part reaches into the next line of a canonical text.
fn check_form(signed: &Signed<'_>, header: &str) -> Result<(), Refusal> {
    let parts = [
        ("body", signed.body.len(), BODY_BYTES_MAX),
        ("path", signed.path.len(), PATH_BYTES_MAX),
        ("query", signed.query.len(), QUERY_BYTES_MAX),
        ("header `Authorization`", header.len(), HEADER_BYTES_MAX),
    ];
    for (what, length, most) in parts {
        if length > most {
            return Err(Refusal::TooLarge(what, most));
        }
    }
    let (method, path) = (signed.method, signed.path);
    if method.is_empty() || method.len() > 16 || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(malformed("method", "a word in capitals"));
    }
    if !path.starts_with('/') || !is_visible_ascii(path) || path.contains(['?', '#']) {
        return Err(malformed(
            "path",
            "one that begins with `/`, as it was sent",
        ));
    }
    if !is_visible_ascii(signed.query) || signed.query.contains('#') {
        return Err(malformed("query", "visible ASCII characters and escapes"));
    }
    Ok(())
}
