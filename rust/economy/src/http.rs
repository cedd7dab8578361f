//! The ResourceManager's answers over HTTP, as a function of a request and the engine. The
//! published XML commands are at `/scheduler`, the same and more as JSON under `/heddle/v1/`. The
//! console at `/heddle/` is a page in front of the JSON.
//!
//! The module opens no socket, starts no thread, and reads no clock. A host hands over plain
//! requests and sends plain answers, from any number of threads. It calls `poll` once a second, and
//! `interval` when an allocation interval has ended. It also checks the signatures of submitted
//! jobs. It reads the ACL file through `auth`, and writes the audit through `log`. Of other files
//! it reads and writes only `heddle.json` and the previous one. It decides nothing about slots.
//!
//! # Modules
//!
//! - `published`: `/scheduler`, its commands and `<QueueInfo>`.
//! - `route`: the table of routes under `/heddle/v1/`, with the role that each needs.
//! - `v1`: the answers of the routes: `queues`, `advice`, `jobs`, `nodes`, `market` (shares,
//!   prices, ledger), `server` (clock, health, use, plan), `configuration`, `shadow`, `body`.
//! - `submission`: the check of a submitted job's signature, and the bounds of its spending.
//! - `caller`, `answer`, `accept`: identity and audit; statuses, errors, headers; `Accept`.
//! - `books`: the state of the books.
//! - `account`, `history`, `usage`, `names`, `credit`, `clock`: accounts and their commands, for
//!   both interfaces; the last intervals; use in the last hour; names of jobs and nodes; formats of
//!   amounts, times.
//! - `exchange`, `settings`: a request while a route processes it; section `api` of `heddle.json`.
//! - `console`: the files of the folder `console`.
//!
//! `openapi.json` is the served description. Tests compare it with the table of routes, both ways,
//! and with answers of every route, good and bad.
//!
//! # Rules
//!
//! - *One table lists the role of each route*, and changes are checked again with the permission of
//!   the published command. A route that is missing in the tests' table of roles fails a test.
//! - *Form first, then identity, then rights, then the engine.* A signature counts once. So a
//!   request for a path that does not exist does not use it up. A body above 16 KB
//!   (`BODY_BYTES_MAX`), or 1 MiB for a configuration, is refused before it is hashed.
//! - *Hosts supply names of jobs and nodes.* A request about jobs carries applications, users and
//!   names: for a list those of all jobs, because it may be searched and sorted by them. The core
//!   has numbers. A number may belong to another job by the time the engine is asked; the answer is
//!   about the job whose queue was checked. Names of all nodes come too, because only the answer
//!   determines which it mentions. `names` puts them for `node#N` in sentences, and as `host`
//!   beside `node` in a trace. A node's name has the time since which the node holds its number. An
//!   older entry is about another node, and says that it has left.
//! - *Lists show an administrator everything and a user their own queues*; single items of others
//!   are refused. Price, clock, health and description are open.
//! - *Amounts go out as decimals and as millionths, and come in as texts or as numbers*; the digits
//!   are read as sent. A repeated key, an unknown key, or a list instead of an object is an error.
//! - *XML is ASCII*: readers have taken `text/xml` without a character set for ASCII or for UTF-8.
//!   Numbers look like Java's `Float.toString`: with a point, but exact and without exponents. A
//!   queue below the root is named like its user, and a host by its short name, as published.
//! - *Differences to the original at `/scheduler`*: one command at a time; an unknown queue, or one
//!   added twice, is an error; `HEAD` changes nothing. Statuses name the error instead of 500, and
//!   the body begins with `ACCESS DENIED` as before. `<spending>` is the bid even of a queue that
//!   cannot pay it; the original showed 0 then.
//! - *A user whom the web server authenticated may read unsigned only with `trust_web_user`*, and
//!   never change anything. Without Kerberos a client can claim any name there, and a browser sends
//!   its credentials along with any page's request. The role is the one in the ACL file.
//! - *A host may ask for signed requests only* (`Request::signed_only`), where its own
//!   authentication was skipped. Then the signature is checked first of all; without it, even open
//!   routes, the console and 404 are refused. There a request for a path that does not exist uses
//!   up its signature, too.
//! - *The watermark of a signature goes with the change* (`Backend::change`), so that a host can
//!   store both in one transaction.
//! - *The body itself shows whether it is JSON* (415 for forms, XML, compressed ones): a request
//!   carries no `Content-Type` here.
//! - *Threads share five locks, never two at a time except while the ACL is read*: the gate,
//!   users, history, usage, file. Intervals are shared, so that adding one does not wait while
//!   others are written out.
//!
//! # Known gaps
//!
//! Prices older than the in-memory window are in the store, and no route reads them. Each answer
//! about one account asks the engine for all of them, which looks at every job. Times inside the
//! reasons of an explanation are the engine's. Dots in names of users are treated as in `role`.

mod accept;
mod account;
mod answer;
mod books;
mod caller;
mod clock;
mod console;
mod credit;
mod exchange;
mod history;
mod names;
mod published;
mod route;
mod settings;
mod submission;
mod usage;
mod v1;

pub use answer::{Answer, Written};
pub use names::{JobName, NodeName};
pub use published::escaped;
pub use route::{RouteInfo, routes};
pub use submission::{Acceptance, JobSubmission};
pub use v1::OPENAPI;
pub use v1::configuration::reloaded;
pub use v1::queues::QUEUES_PAGE;

use crate::auth::acl::file::{AclFile, Polled};
use crate::auth::acl::{Acl, Fault};
use crate::auth::gate::Gate;
use crate::auth::replay::Watermarks;
use crate::auth::time::Now;
use crate::record::{BooksState, BooksStatus, Extract, Interval, NotChanged, RecentLedger, Span};
use answer::Reply;
use caller::Identity;
use history::History;
use parking_lot::Mutex;
use serde_json::Value;
use settings::Settings;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usage::Usage;

/// The longest accepted body: the largest command needs a few hundred bytes.
pub const BODY_BYTES_MAX: usize = 16 << 10;

/// The longest accepted body that is a configuration. A host stops reading one byte later.
pub const CONFIGURATION_BYTES_MAX: usize = 1 << 20;

/// What the answer to one request may ask for: the engine behind its host's lock, and its books.
pub trait Backend {
    /// Makes one request of the control plane: `heddle_core::Engine::request`.
    ///
    /// # Errors
    ///
    /// The engine's own message (one that begins with "key `" is about the request), or the reason
    /// why no engine is running.
    fn request(&self, request: &Value) -> Result<Value, String>;

    /// Makes a request that changes an account, together with the watermarks of its signature. A
    /// host with a store writes the two in one transaction: then no crash loses the one and keeps
    /// the other. Without a store it is a request like any other.
    ///
    /// # Errors
    ///
    /// The reason why nothing was changed.
    fn change(&self, request: &Value, signature: &Watermarks) -> Result<Value, NotChanged> {
        let _ = signature;
        self.request(request).map_err(NotChanged::Refused)
    }

    /// Reports an accepted signature, before the request is processed: for a host that stores
    /// watermarks even if nothing changes.
    fn accepted(&self, _signature: &Watermarks) {}

    /// Reads a ledger page older than the in-memory window; `None` without a store. May wait for a
    /// disk.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot be read now.
    fn older(&self, _span: &Span) -> Option<Result<Extract, String>> {
        None
    }

    /// Returns the status of the books.
    fn books(&self) -> BooksStatus {
        BooksStatus::of(BooksState::InMemory)
    }
}

/// A request as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path as sent, with its escapes.
    pub path: &'a str,
    /// The query as sent, without the question mark; may be empty.
    pub query: &'a str,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
    /// The sender's address, if known.
    pub address: Option<IpAddr>,
    /// The user found by the ResourceManager's own web authentication.
    pub user: Option<&'a str>,
    /// Whether that authentication was skipped because a signature seems to be there. Without a
    /// valid signature, even open routes are then refused.
    pub signed_only: bool,
    /// The header `Accept`.
    pub accept: Option<&'a str>,
    /// The host name that the sender used.
    pub host: &'a str,
    /// The whole body.
    pub body: &'a [u8],
    /// The host's `heddle.json`, if it has one that is a file.
    pub config_file: Option<&'a str>,
    /// Warnings about the stock scheduler's file in use, for operators.
    pub warnings: &'a [String],
    /// Addresses of the web servers of all ResourceManagers, as `http://host:port`; empty without
    /// high availability.
    pub managers: &'a [String],
    /// The stock scheduler's file that it lies over, as the host read it; null without one.
    pub below: &'a Value,
    /// Names of the jobs that it may be about; empty without names.
    pub jobs: &'a [JobName],
    /// Numbers of the jobs that YARN lets `user` view; empty without its access control.
    pub viewed: &'a BTreeSet<u32>,
    /// Names of the nodes that an answer about jobs may mention.
    pub nodes: &'a [NodeName],
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// The time by a steady clock, in milliseconds since any moment.
    pub steady_ms: u64,
}

impl Request<'_> {
    pub(crate) fn now(&self) -> Now {
        Now {
            wall_ms: self.now_ms,
            steady_ms: self.steady_ms,
        }
    }
}

/// Checks section `api` of `heddle.json`. Opens nothing.
///
/// # Errors
///
/// The wrong key, and its expected value.
pub fn check(section: &Value) -> Result<(), String> {
    let settings = Settings::read(section).map_err(|error| error.to_string());
    settings.map(drop)
}

/// The last content of the ACL file.
#[derive(Debug, Default)]
struct AclState {
    users: Acl,
    faults: Vec<Fault>,
    /// The reason why the current file is not used.
    unusable: Option<String>,
}

/// The sections of `heddle.json` that only a start reads.
const AT_START: [&str; 2] = ["api", "store"];

/// The state behind the answers, except for the engine. One per active ResourceManager.
#[derive(Debug)]
pub struct Api {
    settings: Settings,
    /// The sections of `AT_START`, as they were then.
    at_start: [Value; 2],
    started_ms: u64,
    gate: Mutex<Gate>,
    /// Locked for as long as a disk takes, and only by `poll`.
    acl_file: Mutex<Option<AclFile>>,
    acl: Mutex<AclState>,
    history: Mutex<History>,
    usage: Mutex<Usage>,
}

impl Api {
    /// Creates the service from section `api` of `heddle.json`, for a server that started (or took
    /// over) at `started_ms`. Reads the ACL file once. An unusable file is reported and read again
    /// by `poll`, because it must not keep the ResourceManager from starting.
    ///
    /// # Errors
    ///
    /// The wrong key of the section, and its expected value.
    pub fn new(settings: &Value, started_ms: u64) -> Result<Api, String> {
        let settings = Settings::read(settings).map_err(|error| error.to_string())?;
        let path = settings.acl_file.as_deref();
        let acl_file = path.map(|path| AclFile::new(path, settings.acl_settle_ms));
        let api = Api {
            gate: Mutex::new(Gate::new(settings.gate(), started_ms)),
            acl_file: Mutex::new(acl_file),
            acl: Mutex::new(AclState::default()),
            history: Mutex::new(History::new(settings.history_intervals)),
            usage: Mutex::default(),
            settings,
            at_start: Default::default(),
            started_ms,
        };
        api.poll(0);
        Ok(api)
    }

    /// Notes the sections of `heddle.json` that only a start reads.
    pub(crate) fn started_with(mut self, heddle_json: &Value) -> Api {
        self.at_start = AT_START.map(|section| heddle_json[section].clone());
        self
    }

    /// The sections of a `heddle.json` that differ from those which the start has read.
    pub(crate) fn awaiting_start(&self, heddle_json: &Value) -> Vec<&'static str> {
        let sections = AT_START.iter().zip(&self.at_start);
        let differ = sections.filter(|(section, before)| heddle_json[**section] != **before);
        differ.map(|(section, _)| *section).collect()
    }

    /// Reads the ACL file again if it changed. A host calls it about once a second, never on the
    /// scheduling thread: it may wait for a disk. `steady_ms` is `Request::steady_ms`.
    pub fn poll(&self, steady_ms: u64) {
        let mut acl_file = self.acl_file.lock();
        let polled = acl_file.as_mut().map(|file| file.poll(steady_ms));
        match polled.unwrap_or(Polled::Unchanged) {
            Polled::Unchanged => {}
            Polled::Read(users, faults) => {
                for fault in &faults {
                    log::warn!("ACL file, {fault}");
                }
                log::info!("ACL file: {} users", users.len());
                self.gate.lock().set_acl(users.clone());
                *self.acl.lock() = AclState {
                    users,
                    faults,
                    unusable: None,
                };
            }
            Polled::Unusable(why) => {
                log::error!("{why}");
                self.acl.lock().unusable = Some(why.to_string());
            }
        }
    }

    /// Answers a request. Foreign paths get 404; a host passes on only `/scheduler`, `/heddle` and
    /// the paths below it.
    pub fn answer(&self, backend: &dyn Backend, request: &Request<'_>) -> Answer {
        let is_published = request.path == published::PATH;
        let mut who = Identity::Unknown;
        let proven = match request.signed_only {
            true => self.prove(is_published, backend, request, &mut who),
            false => Ok(()),
        };
        let reply = match (proven, is_published) {
            (Ok(()), true) => published::answer(self, backend, request, who),
            (Ok(()), false) => route::answer(self, backend, request, who),
            (Err(failure), true) => published::refused(request.host, failure),
            (Err(failure), false) => Reply::refused(failure),
        };
        let mut answer = reply.secured();
        if request.method == "HEAD" {
            answer.body.clear();
        }
        answer
    }

    /// Returns the time that clients' times are compared with: the answer to `time` (DP-33).
    fn now_ms(&self, request: &Request<'_>) -> u64 {
        self.gate.lock().now_ms(request.now())
    }

    /// Returns the gate's time, ms since 1970: it ignores short jumps of the wall clock. The expiry
    /// of stored nonces uses it, too.
    pub fn settled_ms(&self, now: Now) -> u64 {
        self.gate.lock().now_ms(now)
    }

    /// Adds an ended allocation interval. One that does not follow is logged and left out. Its
    /// `tick` is 0 if it is in no store.
    pub fn interval(&self, closed: Interval) {
        if let Err(problem) = self.history.lock().add(closed) {
            log::warn!("history of prices: {problem}");
        }
    }

    /// Whether a sample of what the cluster is used for is due.
    pub fn is_usage_due(&self, now_ms: u64) -> bool {
        self.usage.lock().is_due(now_ms)
    }

    /// Adds the answer of an engine, one of those after the other, to `{"op": "usage"}`.
    pub fn add_usage(&self, now_ms: u64, engine: u64, report: Value) {
        self.usage.lock().add(now_ms, engine, report);
    }

    /// Notes that there were intervals before the first call of `interval`: answers about them are
    /// incomplete.
    pub fn history_begins_late(&self) {
        self.history.lock().begins_late();
    }

    /// Returns the limit of intervals in memory.
    pub fn history_intervals(&self) -> usize {
        self.settings.history_intervals
    }

    /// Adds the intervals from before the first call of `interval`. `now_ms` is since 1970. Unless
    /// they are in order, the store is asked for any range of times.
    pub fn restore_history(&self, past: RecentLedger, now_ms: i64) {
        let faulty = self.history.lock().restore(past, now_ms);
        if faulty > 0 {
            log::warn!("history of prices: {faulty} intervals with wrong times are left out");
        }
    }

    /// Returns the watermarks of all accepted requests, for a store.
    pub fn export_watermarks(&self) -> Watermarks {
        self.gate.lock().export()
    }

    /// Adds the watermarks from a store.
    pub fn merge_watermarks(&self, marks: &Watermarks) {
        self.gate.lock().merge(marks);
    }
}
