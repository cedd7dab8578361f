//! The ResourceManager's answers over HTTP, as a function of a request and the engine. The
//! published XML commands are at `/scheduler`, the same and more as JSON under `/heddle/v1/`. The
//! console at `/heddle/` is a page in front of the JSON.
//!
//! The crate opens no socket, starts no thread, and reads no clock. A host hands over plain
//! requests and sends plain answers, from any number of threads. It calls `poll` once a second,
//! and `interval` when an allocation interval has ended. The crate also says whether a submitted
//! job is signed as it must be. It reads the ACL file, through `heddle_auth`, and writes the
//! audit, through `log`. It decides nothing about slots.
//!
//! # Modules
//!
//! - `published`: `/scheduler`, its commands and `<QueueInfo>`.
//! - `route`: the table of routes under `/heddle/v1/`, with the role that each needs.
//! - `v1`: what the routes answer: `queues`, `advice`, `jobs`, `market` (shares, prices, ledger),
//!   `server` (clock, health, configuration), `body`.
//! - `submission`: whether a submitted job is signed as it must be, and what it may spend.
//! - `caller`, `answer`, `accept`: identity and audit; statuses, errors, headers; `Accept`.
//! - `books`, `older`: whether accounts can be shown yet; requests to the store beyond the memory.
//! - `account`, `history`, `names`, `credit`, `clock`: accounts and their commands, for both
//!   interfaces; the last intervals; names of jobs and nodes; amounts and times as they are shown.
//! - `console`: the files of the folder `console`.
//!
//! `openapi.json` is the description that is served. Tests compare it with the table of routes,
//! both ways, and with answers of every route, good and bad.
//!
//! # Rules
//!
//! - *One table says which role a route needs, and changes are checked again* by the need of the
//!   published command that they are. A route that is not in the tests' table of roles fails a
//!   test.
//! - *Form first, then identity, then rights, then the engine.* A signature counts once, so a
//!   request for a path that does not exist does not use it up. A body above 16 KB is refused
//!   before the gate hashes it.
//! - *Hosts give names of jobs and nodes.* With a request about jobs come application, user and
//!   name of those on its page; the core has numbers. A number may be another job's by the time
//!   the engine is asked; the answer is about the job whose queue was checked. Names of all nodes
//!   come too, since only the answer tells which it speaks of: `names` puts them for `node#N` in
//!   sentences, and as `host` beside `node` in a trace. A node's name says since when it has its
//!   number: an older entry is about another node, and says that it has left.
//! - *Lists show an administrator everything and a user the own queues*; single things of others
//!   are refused. Price, clock, health and description are open.
//! - *Amounts go out as decimals and as millionths, and come in as texts or as numbers*; the
//!   digits that were sent are read. A key given twice, an unknown key, or a list instead of an
//!   object is an error.
//! - *XML is ASCII*: `text/xml` without a character set has been read as ASCII and as UTF-8.
//!   Numbers look like Java's `Float.toString`: with a point, but exact and without exponents. A
//!   queue below the root is called like its user, and a host by its short name, as published.
//! - *Differences to the original at `/scheduler`*: one command at a time; an unknown queue, or
//!   one added twice, is an error; `HEAD` changes nothing. Statuses say what is wrong instead of
//!   500, and the body begins with `ACCESS DENIED` as before. `<spending>` is the bid even of a
//!   queue that cannot pay it; the original showed 0 then.
//! - *A user whom the web server authenticated may read unsigned only with `trust_web_user`*, and
//!   never change anything. Without Kerberos a client can claim any name there, and a browser
//!   sends its credentials along with any page's request. The role is the one in the ACL file.
//! - *A host may ask for signed requests only* (`Request::signed_only`), where its own
//!   authentication was not asked. Then the signature is proven first of all, and no open route,
//!   console or 404 is answered without. There a request for a path that does not exist uses a
//!   signature up, too.
//! - *The watermark of a signature goes with the change* (`Engine::change`), so that a host can
//!   store both in one transaction.
//! - *The body tells whether it is JSON* (415 for forms, XML, compressed ones): a request carries
//!   no `Content-Type` here.
//! - *Threads share four locks, never two at a time except while the ACL is read*: the gate,
//!   users, history, file. Intervals are shared, so that adding one does not wait while others are
//!   written out.
//!
//! # Known gaps
//!
//! Prices beyond the remembered intervals are in the store, and no route reads them. Each answer
//! about one account asks the engine for all of them, which looks at every job. Times inside the
//! reasons of an explanation are the engine's. Dots in names of users are treated as in `role`.
#![forbid(unsafe_code)]

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
mod older;
mod published;
mod route;
mod settings;
mod submission;
mod v1;

pub use answer::Answer;
pub use names::{JobName, NodeName};
pub use older::{Older, Wanted};
pub use route::{RouteInfo, routes};
pub use submission::{Submitted, Taken};
pub use v1::OPENAPI;

use caller::Identity;
use heddle_auth::acl::file::{AclFile, Polled};
use heddle_auth::acl::{Acl, Fault};
use heddle_auth::gate::Gate;
use heddle_auth::replay::Watermarks;
use heddle_auth::time::Now;
use history::History;
use parking_lot::Mutex;
use serde_json::Value;
use settings::Settings;
use std::net::IpAddr;

/// A body that is longer is refused; the longest that anything needs is a few hundred bytes. A
/// host stops reading one byte later.
pub const BODY_BYTES_MAX: usize = 16 << 10;

/// With this begins what `Engine::change` says of a change that its host cannot keep.
pub const NOT_KEPT: &str = "accounts cannot be changed now";

/// The engine behind its host's lock.
pub trait Engine {
    /// One request of the control plane: `heddle_core::Engine::request`.
    ///
    /// # Errors
    ///
    /// The engine's own sentence (one that begins with "key `" is about the request), or why
    /// there is no engine now.
    fn request(&self, request: &Value) -> Result<Value, String>;

    /// A request that changes an account, and what must be remembered of the signature under it.
    /// A host with a store writes the two in one transaction: then no crash loses the one and
    /// keeps the other. Without a store it is a request like any other.
    ///
    /// # Errors
    ///
    /// As `request`; then nothing was changed.
    fn change(&self, request: &Value, signature: &Watermarks) -> Result<Value, String> {
        let _ = signature;
        self.request(request)
    }

    /// A signed request was accepted, whatever it asks for and before that: for a host that
    /// remembers it also where nothing changes.
    fn accepted(&self, _signature: &Watermarks) {}

    /// A page of the ledger of before what is remembered; none where nothing is stored. May wait
    /// for a disk.
    ///
    /// # Errors
    ///
    /// Why the store cannot be read now.
    fn older(&self, _wanted: &Wanted) -> Option<Result<Older, String>> {
        None
    }

    /// How the books get on with their store: an object with `state`, and `read`: whether the
    /// engine's accounts are those of the store, if it has one.
    fn books(&self) -> Value {
        serde_json::json!({"state": "in memory only"})
    }
}

/// A request as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// In capitals.
    pub method: &'a str,
    /// As sent, with its escapes.
    pub path: &'a str,
    /// As sent, without the question mark; may be empty.
    pub query: &'a str,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
    /// From where.
    pub address: Option<IpAddr>,
    /// Whom the ResourceManager's own web authentication found.
    pub user: Option<&'a str>,
    /// That authentication was not asked, as there seems to be a signature: without a right one
    /// nothing is answered, not even what else anybody may know.
    pub signed_only: bool,
    /// The header `Accept`.
    pub accept: Option<&'a str>,
    /// The host that the sender asked.
    pub host: &'a str,
    /// All of it.
    pub body: &'a [u8],
    /// What the host calls the jobs that it may be about; none where there are no names.
    pub jobs: &'a [JobName],
    /// The same of the nodes that an answer about jobs may speak of.
    pub nodes: &'a [NodeName],
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// The time by a clock that nobody sets, in milliseconds since any moment.
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

/// What is wrong with section `api` of `heddle.json`. Opens nothing.
///
/// # Errors
///
/// Where, and what was expected.
pub fn check(section: &Value) -> Result<(), String> {
    let settings = Settings::read(section).map_err(|error| error.to_string());
    settings.map(drop)
}

/// What was read from the ACL file.
#[derive(Debug, Default)]
struct AclState {
    users: Acl,
    faults: Vec<Fault>,
    /// Why the file is not used, while that is so.
    unusable: Option<String>,
}

/// All that answers need besides the engine. One per ResourceManager that is active.
#[derive(Debug)]
pub struct Service {
    settings: Settings,
    started_ms: u64,
    gate: Mutex<Gate>,
    /// Locked for as long as a disk takes, and by `poll` only.
    acl_file: Mutex<Option<AclFile>>,
    acl: Mutex<AclState>,
    history: Mutex<History>,
}

impl Service {
    /// From section `api` of `heddle.json`, of a server that started (or took over) at
    /// `started_ms`. Reads the ACL file once; one that cannot be used is reported and looked at
    /// again by `poll`, as it must not keep the ResourceManager from starting.
    ///
    /// # Errors
    ///
    /// The section is wrong: where, and what was expected.
    pub fn new(settings: &Value, started_ms: u64) -> Result<Service, String> {
        let settings = Settings::read(settings).map_err(|error| error.to_string())?;
        let path = settings.acl_file.as_deref();
        let acl_file = path.map(|path| AclFile::new(path, settings.acl_settle_ms));
        let service = Service {
            gate: Mutex::new(Gate::new(settings.gate(), started_ms)),
            acl_file: Mutex::new(acl_file),
            acl: Mutex::new(AclState::default()),
            history: Mutex::new(History::new(settings.history_intervals)),
            settings,
            started_ms,
        };
        service.poll(0);
        Ok(service)
    }

    /// Reads the ACL file again if it changed. To be called about once a second, never by the
    /// thread that schedules: it may have to wait for a disk. `steady_ms` is `Request::steady_ms`.
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

    /// Answers a request. Paths that are not ours have status 404; a host asks only for
    /// `/scheduler`, `/heddle` and what is below it.
    pub fn answer(&self, engine: &dyn Engine, request: &Request<'_>) -> Answer {
        let is_published = request.path == published::PATH;
        let mut who = Identity::Unknown;
        let proven = match request.signed_only {
            true => self.prove(is_published, engine, request, &mut who),
            false => Ok(()),
        };
        let reply = match (proven, is_published) {
            (Ok(()), true) => published::answer(self, engine, request, who),
            (Ok(()), false) => route::answer(self, engine, request, who),
            (Err(failure), true) => published::refused(request.host, failure),
            (Err(failure), false) => route::refused(failure),
        };
        let mut answer = reply.secured();
        if request.method == "HEAD" {
            answer.body.clear();
        }
        answer
    }

    /// The time that clients' times are compared with, which is what `time` answers (DP-33).
    fn now_ms(&self, request: &Request<'_>) -> u64 {
        self.gate.lock().now_ms(request.now())
    }

    /// The gate's time, ms since 1970: it follows no jump of the wall's clock that does not last.
    /// What forgets requests that expired goes by it, too.
    pub fn settled_ms(&self, now: Now) -> u64 {
        self.gate.lock().now_ms(now)
    }

    /// An allocation interval ended: `{"at_ms": ms since 1970, "price_micro", "rows": [{"queue",
    /// "rate_micro", "quota": [..], "used_slot_ms": [..], "income_micro", "debit_micro",
    /// "balance_micro"}]}`. One that cannot be read or does not follow is logged and left out.
    /// A host with a store adds `interval`, its number there, and `intervals`, if it stands for
    /// several that end with it.
    pub fn interval(&self, closed: &Value) {
        if let Err(problem) = self.history.lock().add(closed) {
            log::warn!("history of prices: {problem}");
        }
    }

    /// There were intervals before the first that `interval` tells of: what is asked of them cannot
    /// be answered in full.
    pub fn history_begins_late(&self) {
        self.history.lock().begins_late();
    }

    /// All that was before what `restore_history` told of ended before it. Else a store is asked
    /// for whatever may have ended in the time that somebody asks for.
    pub fn history_begins_in_order(&self) {
        self.history.lock().begins_in_order();
    }

    /// How many intervals are remembered at the most.
    pub fn history_intervals(&self) -> usize {
        self.settings.history_intervals
    }

    /// Intervals from before the first that `interval` told of, in the form that it takes, the
    /// oldest first; `whole` if there was none before them. `now_ms` is since 1970.
    pub fn restore_history(&self, past: &[Value], whole: bool, now_ms: u64) {
        let faulty = self.history.lock().restore(past, whole, now_ms);
        if faulty > 0 {
            log::warn!("history of prices: {faulty} intervals that the clock denies are left out");
        }
    }

    /// All that a store must keep of signed requests that were accepted.
    pub fn export_watermarks(&self) -> Watermarks {
        self.gate.lock().export()
    }

    /// Adds what a store kept of them.
    pub fn merge_watermarks(&self, marks: &Watermarks) {
        self.gate.lock().merge(marks);
    }
}
