//! Joins the books and the interface over HTTP, which share accounts and accepted requests. Parses
//! requests for a host that speaks HTTP. `http` decides what to answer, `books` what to keep.

use crate::auth::job::Submission;
use crate::auth::replay::Watermarks;
use crate::auth::time::Now;
use crate::books::{Books, Drawer, Engine, Reader, marks};
use crate::hints::{self, Claims};
use crate::http::{Answer, Api, Backend, JobName, JobSubmission, NodeName, Request};
use crate::record::{BooksStatus, Change, Extract, NotChanged, Span};
use crate::settings::Settings;
use heddle_core::Engine as Core;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a stopping ResourceManager waits for the store.
const CLOSING: Duration = Duration::from_secs(3);
/// How long a report is cached for all callers, so that many open pages cost the scheduler as much
/// as one.
const REPORT_MS: i64 = 500;
/// Most reports cached at once.
const REPORTS_MAX: usize = 64;

/// The economy's service of one ResourceManager.
pub struct Service {
    api: Api,
    books: Books,
    /// None without a store.
    reader: Option<Reader>,
    /// None without purses that sub-clusters share.
    drawer: Option<Drawer>,
    reports: Mutex<Reports>,
    nodes: Mutex<ToldNodes>,
}

/// Recent reports of the engine, by request.
#[derive(Default)]
struct Reports {
    engine: u64,
    by_request: BTreeMap<String, (i64, Value)>,
}

/// A request as a host hands it over, without its body.
#[derive(Deserialize)]
struct Head {
    method: String,
    path: String,
    #[serde(default)]
    query: Option<String>,
    authorization: Option<String>,
    address: Option<String>,
    user: Option<String>,
    #[serde(default)]
    signed_only: bool,
    accept: Option<String>,
    #[serde(default)]
    host: String,
    #[serde(default)]
    config_file: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    managers: Vec<String>,
    #[serde(default)]
    below: Value,
    /// Whether the host has yet to look up `jobs`, `viewed` and `nodes`.
    #[serde(default)]
    names_later: bool,
    #[serde(default)]
    jobs: Vec<JobName>,
    #[serde(default)]
    viewed: BTreeSet<u32>,
    /// None if they are those of the last request with the same `nodes_mark`.
    #[serde(default)]
    nodes: Option<Vec<NodeName>>,
    #[serde(default)]
    nodes_mark: Option<String>,
}

/// What a host must send with a request, which has done nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The names that it has left for later: the sender is identified.
    Names,
    /// The names of nodes: they are not known by their mark.
    Nodes,
}

/// The names of nodes that a host told last, with its mark of them: a large cluster has a megabyte
/// of them, and they seldom change.
#[derive(Default)]
struct ToldNodes {
    mark: Option<String>,
    names: Arc<Vec<NodeName>>,
}

impl ToldNodes {
    /// Returns the names that came with a request, or those that were told with its mark before.
    fn take(
        &mut self,
        mark: Option<String>,
        names: Option<Vec<NodeName>>,
    ) -> Option<Arc<Vec<NodeName>>> {
        if mark.is_none() {
            return Some(Arc::new(names.unwrap_or_default()));
        }
        if let Some(names) = names {
            let names = Arc::new(names);
            *self = ToldNodes { mark, names };
        } else if self.mark != mark {
            return None;
        }
        Some(Arc::clone(&self.names))
    }
}

/// A job as a host hands it over.
#[derive(Deserialize)]
struct Job {
    user: String,
    queue: String,
    name: String,
    environment: BTreeMap<String, String>,
    recovering: bool,
    /// None if the host does not want its hints read.
    #[serde(default)]
    hints: Option<Claims>,
}

impl Service {
    /// Reads sections `api` and `store` of `heddle.json`, and `started_ms`. Opens only the ACL file
    /// and the files with passwords, not the store.
    ///
    /// # Errors
    /// Which setting is wrong, what was expected and what to do.
    pub fn new(settings: &Value) -> Result<Service, String> {
        let heddle_json = settings;
        let settings = Settings::read(settings)?;
        let api = Api::new(&settings.api, settings.started_ms)?.started_with(heddle_json);
        let while_down = settings.store.as_ref().map(|stores| stores.while_down);
        let (mut write, mut read, mut drawer) = (None, None, None);
        if let Some(stores) = settings.store {
            (write, read) = (Some(stores.write), Some(Reader::new(stores.read)));
            drawer = stores.drawer;
        }
        Ok(Service {
            books: Books::new(
                write,
                api.history_intervals(),
                while_down.unwrap_or_default(),
            ),
            reader: read,
            drawer,
            api,
            reports: Mutex::default(),
            nodes: Mutex::default(),
        })
    }

    /// Makes this ResourceManager the active one.
    pub fn activate(&self, owner: &str, now_ms: i64) {
        self.books.activate(owner, now_ms);
    }

    /// Does what is due; returns the state of the books.
    pub fn pump(&self, engine: &dyn Engine, now_ms: i64) -> BooksStatus {
        // The marks come first: once the books are open they accept changes.
        if let Some(restored) = self.books.restored() {
            self.api.merge_watermarks(&restored.watermarks);
            if restored.has_intervals {
                self.api.history_begins_late();
            }
        }
        if let Some(past) = self.books.past() {
            self.api.restore_history(past, now_ms);
        }
        let settled_ms = self.settled(engine, now_ms);
        // Before the books hand more over: a round begins when the store has all of them.
        if let Some(drawer) = &self.drawer {
            drawer.pump(&self.books, engine, settled_ms);
        }
        for closed in self.books.pump(engine, settled_ms) {
            self.api.interval(closed);
        }
        self.sample(engine, time(now_ms));
        self.api.poll(time(engine.now_ms()));
        self.books.status(engine)
    }

    /// Keeps what the cluster is used for, for plots over time. An engine that cannot tell is asked
    /// again the next time.
    fn sample(&self, engine: &dyn Engine, now_ms: u64) {
        if self.api.is_usage_due(now_ms)
            && let Ok(report) = engine.request(&json!({"op": "usage"}))
        {
            self.api.add_usage(now_ms, engine.id(), report);
        }
    }

    /// Answers a request. `head` is JSON: `method`, `path`, `query`, `authorization`, `address`,
    /// `user`, `signed_only`, `accept`, `host`, `config_file`, `below`, `warnings` about the stock
    /// file, the addresses of all `managers`, the lists `jobs` and `nodes`, whose members are
    /// described at [`JobName`] and [`NodeName`], and `viewed`, the numbers of the jobs that YARN
    /// lets `user` view. Instead of these three the host may send `names_later`: it need not look
    /// them up for senders who are nobody. Instead of `nodes` it may send `nodes_mark`, a text that
    /// differs whenever they do. If it must send more, the inner result says what, and the host
    /// repeats the request with that.
    ///
    /// # Errors
    /// Says what is wrong with `head`: the host's fault, not the sender's.
    pub fn serve(
        &self,
        engine: &dyn Engine,
        head: &str,
        body: &[u8],
        now_ms: i64,
    ) -> Result<Result<Answer, Wanted>, String> {
        let head: Head =
            serde_json::from_str(head).map_err(|error| format!("head of a request: {error}"))?;
        let nodes_mark = head.nodes_mark.filter(|_| !head.names_later);
        let Some(nodes) = self.nodes.lock().take(nodes_mark, head.nodes) else {
            return Ok(Err(Wanted::Nodes));
        };
        let request = Request {
            method: &head.method,
            path: &head.path,
            query: head.query.as_deref().unwrap_or(""),
            authorization: head.authorization.as_deref(),
            address: head.address.as_deref().and_then(address),
            user: head.user.as_deref(),
            signed_only: head.signed_only,
            accept: head.accept.as_deref(),
            host: &head.host,
            config_file: head.config_file.as_deref(),
            warnings: &head.warnings,
            managers: &head.managers,
            below: &head.below,
            jobs: &head.jobs,
            viewed: &head.viewed,
            nodes: &nodes,
            body,
            now_ms: time(now_ms),
            steady_ms: time(engine.now_ms()),
        };
        // No route that names jobs takes a body.
        if head.names_later && body.is_empty() && self.api.knows(&request) {
            return Ok(Err(Wanted::Names));
        }
        let asked = RequestContext {
            service: self,
            engine,
            now_ms,
            added: RefCell::default(),
            stored: Cell::new(true),
        };
        let mut answer = self.api.answer(&asked, &request);
        let added = asked.added.take();
        if !added.is_empty() {
            // The request changed nothing: its mark is kept, but the answer does not wait for that.
            self.books.note(added);
        }
        if !asked.stored.get() {
            answer.headers.push(("Heddle-Stored", "later".to_string()));
        }
        Ok(Ok(answer))
    }

    /// Accepts or refuses a job, and says what it may spend. `submitted` is JSON: `user`, `queue`
    /// (its full path), `name`, `environment` (variables of its ApplicationMaster), `recovering`,
    /// and `hints`, if they are wanted: `application`, `kind`, `submitted_ms` and `tags`.
    ///
    /// The answer is `{"refused": why}` or `{"bounds": ..}`. Bounds are null if the job spends what
    /// its queue has, else `credits_micro`, `rate_micro` and `until_ms`, on the engine's clock. If
    /// hints were wanted, `hints` has a number or null for each, in the order of [`hints::hints`].
    /// Runs on the scheduling thread and never waits for a disk.
    ///
    /// # Errors
    /// Says what is wrong with `submitted`: the host's fault, not the user's.
    pub fn submit(&self, submitted: &str, now_ms: i64, steady_ms: i64) -> Result<Value, String> {
        let job: Job = serde_json::from_str(submitted)
            .map_err(|error| format!("a job that is submitted: {error}"))?;
        let submitted = JobSubmission {
            job: Submission {
                user: &job.user,
                queue: &job.queue,
                name: &job.name,
            },
            environment: &job.environment,
            recovering: job.recovering,
        };
        let now = Now {
            wall_ms: time(now_ms),
            steady_ms: time(steady_ms),
        };
        Ok(match self.api.submit(&submitted, now) {
            Ok(taken) => {
                self.books.note(marks::changes(&taken.added));
                let bounds = taken.bounds.map(|bounds| {
                    let until_ms = i64::try_from(bounds.until_ms).unwrap_or(i64::MAX);
                    // A time before the machine started is over, whichever it is.
                    let until_ms = until_ms.saturating_sub(now_ms - steady_ms).max(0);
                    json!({
                        "credits_micro": bounds.credits.micro(),
                        "rate_micro": bounds.rate.micro(),
                        "until_ms": until_ms,
                    })
                });
                let mut answer = json!({ "bounds": bounds });
                if let Some(mut claims) = job.hints {
                    claims.user.clone_from(&job.user);
                    claims.epoch_ms = now_ms - steady_ms;
                    answer["hints"] = json!(hints::read(&claims, &job.name, &job.environment));
                }
                answer
            }
            Err(why) => json!({ "refused": why.to_string() }),
        })
    }

    /// Returns the time by which the books forget expired requests. It ignores jumps of the clock
    /// ahead: after one, the books would forget too early, and refuse requests that expire before
    /// that time.
    fn settled(&self, engine: &dyn Engine, now_ms: i64) -> i64 {
        let now = Now {
            wall_ms: time(now_ms),
            steady_ms: time(engine.now_ms()),
        };
        i64::try_from(self.api.settled_ms(now)).unwrap_or(now_ms)
    }

    /// Closes the books. Waits up to `CLOSING` for pending writes.
    pub fn close(&self, now_ms: i64) -> BooksStatus {
        self.books.close(CLOSING, now_ms)
    }

    /// Returns the engine's report, or one of the last `REPORT_MS`.
    fn report(&self, engine: &dyn Engine, request: &Value, now_ms: i64) -> Result<Value, String> {
        let key = request.to_string();
        {
            let mut reports = self.reports.lock();
            if reports.engine != engine.id() {
                reports.by_request.clear();
                reports.engine = engine.id();
            }
            let fresh = |at_ms: i64| (at_ms..at_ms + REPORT_MS).contains(&now_ms);
            reports.by_request.retain(|_, (at_ms, _)| fresh(*at_ms));
            if let Some((_, report)) = reports.by_request.get(&key) {
                return Ok(report.clone());
            }
        }
        let report = engine.request(request)?;
        let mut reports = self.reports.lock();
        if reports.engine == engine.id() && reports.by_request.len() < REPORTS_MAX {
            reports.by_request.insert(key, (now_ms, report.clone()));
        }
        Ok(report)
    }
}

/// The `Backend` of one request.
struct RequestContext<'a> {
    service: &'a Service,
    engine: &'a dyn Engine,
    now_ms: i64,
    /// Marks of the request that no change has stored yet.
    added: RefCell<Vec<Change>>,
    stored: Cell<bool>,
}

impl Backend for RequestContext<'_> {
    fn request(&self, request: &Value) -> Result<Value, String> {
        if ["plan", "shadow", "shadowReport", "journal"]
            .iter()
            .any(|op| request["op"] == *op)
        {
            // A plan is long, and asked for once; the others are ready. None is a change.
            return self.engine.request(request);
        }
        if !Core::is_mutating(request) {
            return self.service.report(self.engine, request, self.now_ms);
        }
        let changed = self.change(request, &Watermarks::default());
        changed.map_err(|why| why.to_string())
    }

    fn change(&self, request: &Value, signature: &Watermarks) -> Result<Value, NotChanged> {
        self.service.reports.lock().by_request.clear();
        let (books, marks) = (&self.service.books, marks::changes(signature));
        // A refused change leaves its marks in `added`: they are kept without it.
        let now_ms = self.service.settled(self.engine, self.now_ms);
        let changed = books.change(self.engine, request, marks, now_ms)?;
        self.added.borrow_mut().clear();
        // A report read during the change is outdated.
        self.service.reports.lock().by_request.clear();
        self.stored.set(changed.stored);
        Ok(changed.answer)
    }

    fn accepted(&self, signature: &Watermarks) {
        self.added.borrow_mut().extend(marks::changes(signature));
    }

    fn older(&self, span: &Span) -> Option<Result<Extract, String>> {
        let reader = self.service.reader.as_ref()?;
        let readable = self.service.books.readable();
        Some(readable.and_then(|()| reader.page(span)))
    }

    fn books(&self) -> BooksStatus {
        self.service.books.status(self.engine)
    }
}

/// Parses an address as web servers write it: IPv6 in brackets, or with its scope.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.trim_start_matches('[').trim_end_matches(']');
    plain.split('%').next()?.parse().ok()
}

fn time(now_ms: i64) -> u64 {
    u64::try_from(now_ms).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_told_once_for_each_mark() {
        let mut told = ToldNodes::default();
        let mark = |text: &str| Some(text.to_string());
        let nodes: Vec<NodeName> =
            serde_json::from_value(json!([[0, "host-0:1", 0, "/a", ""]])).expect("a row");
        assert_eq!(told.take(mark("1"), None), None, "nothing was told yet");
        let all = Some(Arc::new(nodes.clone()));
        assert_eq!(told.take(mark("1"), Some(nodes.clone())), all);
        assert_eq!(told.take(mark("1"), None), all);
        assert_eq!(told.take(mark("2"), None), None, "they changed since");
        // A host without marks.
        assert_eq!(told.take(None, Some(nodes)), all);
        assert_eq!(told.take(None, None), Some(Arc::default()));
        assert_eq!(told.take(mark("1"), None), all);
    }

    #[test]
    fn addresses_of_both_kinds_are_read_as_web_servers_write_them() {
        let loopback: IpAddr = "::1".parse().expect("an address");
        for text in ["::1", "[::1]", "[::1%lo]", "::1%lo"] {
            assert_eq!(address(text), Some(loopback), "{text}");
        }
        assert_eq!(address("10.0.0.7"), "10.0.0.7".parse().ok());
        assert_eq!(address("proxy"), None);
    }
}
