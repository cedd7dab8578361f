//! Talks to a ResourceManager: its address, the user, requests signed with version 2, and the
//! checks of answers, none of which is trusted. Uses plain HTTP only, and no proxy from the
//! environment. Knows no command.

mod address;
pub(crate) mod secret;

use crate::failure::{Failure, Kind};
use crate::terminal::clean_json;
use address::Address;
use clap::Args;
use heddle_economy::auth::canonical::{Body, Signed, Validity};
use heddle_economy::auth::{Secret, v2};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use ureq::http;

/// The path that all of Heddle's resources share.
const BASE: &str = "/heddle/v1/";
/// Longer answers are rejected.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// How long a signature is valid: longer than an answer takes.
const VALID_MS: u64 = 60_000;
/// The remedy for an answer that is not Heddle's.
const NO_HEDDLE: &str = "a ResourceManager with Heddle, at the address of its web interface";

/// The user of a request.
#[derive(Args, Clone)]
pub(crate) struct Who {
    /// In whose name: the user's name in the ACL file.
    #[arg(long, env = "HEDDLE_USER", value_name = "NAME")]
    user: Option<String>,
    /// The file with the user's secret in its first line, readable only by its owner (mode 600).
    /// Without one, the secret is taken from the environment, HEDDLE_SECRET.
    #[arg(long, env = "HEDDLE_SECRET_FILE", value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl Who {
    /// Returns whether a user name is given.
    fn is_said(&self) -> bool {
        self.user.as_ref().is_some_and(|user| !user.is_empty())
    }

    /// Returns the user and the secret.
    pub(crate) fn known(&self) -> Result<(String, Secret), Failure> {
        let user = self.user.clone().filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| {
            let remedy = "--user NAME, or HEDDLE_USER in the environment";
            Failure::usage("no user is given", "user", remedy)
        })?;
        Ok((user, secret::read(self.secret_file.as_deref())?))
    }
}

/// The ResourceManager and the user.
#[derive(Args, Clone)]
pub(crate) struct Server {
    /// The ResourceManager's web address, http://HOST:PORT. For https, use the near end of a
    /// tunnel or of a proxy.
    #[arg(long, env = "HEDDLE_URL", value_name = "URL")]
    #[arg(default_value = "http://localhost:8088")]
    url: String,
    #[command(flatten)]
    who: Who,
    /// How long to wait for an answer, such as 10s or 500ms.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// Print the server's JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The content that a successful answer must have, so that another server's is rejected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// No body, after a removal.
    Nothing,
    /// An object with a text under this key.
    Text(&'static str),
    /// An object with a list under this key.
    List(&'static str),
}

impl Holds {
    /// Says what the answer lacks.
    fn lacking(self, status: http::StatusCode, json: &Value) -> Option<String> {
        let has = match self {
            Holds::Nothing => status == http::StatusCode::NO_CONTENT || json.is_object(),
            Holds::Text(key) => json[key].is_string(),
            Holds::List(key) => json[key].is_array(),
        };
        (!has).then(|| match self {
            Holds::Nothing => "its status is not 204".to_string(),
            Holds::Text(key) | Holds::List(key) => format!("it has no `{key}`"),
        })
    }
}

/// A successful answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The body as it was sent, for printing.
    pub(crate) text: String,
    /// Null if there is no body.
    pub(crate) json: Value,
    /// Whether a change is in force but not yet written down.
    later: bool,
}

impl Answer {
    /// Fails if a change is not written down yet.
    pub(crate) fn written(&self) -> Result<(), Failure> {
        if !self.later {
            return Ok(());
        }
        let what = "in force, but not stored yet: a kill of the ResourceManager would lose it";
        let remedy =
            "a reachable store, which then receives the change automatically; do not repeat it";
        Err(Failure::new(Kind::Later, what, "store", remedy))
    }

    /// Returns the body as it was sent, without control characters for a terminal.
    pub(crate) fn shown(&self) -> String {
        let mut shown = clean_json(&self.text);
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        shown
    }
}

/// A connection to a ResourceManager.
pub(crate) struct Client {
    agent: ureq::Agent,
    address: Address,
    timeout: Duration,
    who: Who,
    /// Read on first use.
    known: std::cell::OnceCell<(String, Secret)>,
    /// Whether Kerberos guards the web server: then only signed requests pass.
    is_guarded: std::cell::Cell<bool>,
}

/// A request, before it is signed.
struct Call<'a> {
    method: &'a str,
    path: String,
    query: String,
    body: Option<String>,
    signed: bool,
    holds: Holds,
}

impl Client {
    pub(crate) fn new(server: &Server) -> Result<Client, Failure> {
        if server.timeout.is_zero() {
            let remedy = "a time above 0, such as 10s";
            return Err(Failure::usage("the timeout is 0", "--timeout", remedy));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(server.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("heddle/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Client {
            agent: config.new_agent(),
            address: Address::read(&server.url)?,
            timeout: server.timeout,
            who: server.who.clone(),
            known: std::cell::OnceCell::new(),
            is_guarded: std::cell::Cell::new(false),
        })
    }

    /// Reads public data: unsigned, because that needs no secret; then again, signed, if Kerberos
    /// guards the server.
    pub(crate) fn open(&self, path: &str, holds: Holds) -> Result<Answer, Failure> {
        let asked = |signed| {
            self.ask(&Call {
                method: "GET",
                path: path.to_string(),
                query: String::new(),
                body: None,
                signed,
                holds,
            })
        };
        let knew = self.is_guarded.get();
        let answer = asked(knew);
        // Without a user name there is no signature; then the first answer says what is lacking.
        match !knew && self.is_guarded.get() && self.who.is_said() {
            true => asked(true),
            false => answer,
        }
    }

    /// Sends a signed read.
    pub(crate) fn get(&self, path: &str, query: &str, holds: Holds) -> Result<Answer, Failure> {
        self.ask(&Call {
            method: "GET",
            path: path.to_string(),
            query: query.to_string(),
            body: None,
            signed: true,
            holds,
        })
    }

    /// Sends a signed change.
    pub(crate) fn change(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        holds: Holds,
    ) -> Result<Answer, Failure> {
        self.change_text(method, path, body.map(Value::to_string), holds)
    }

    /// Sends a signed change with a body as it is written.
    pub(crate) fn change_text(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        holds: Holds,
    ) -> Result<Answer, Failure> {
        self.ask(&Call {
            method,
            path: path.to_string(),
            query: String::new(),
            body,
            signed: true,
            holds,
        })
    }

    fn ask(&self, asked: &Call<'_>) -> Result<Answer, Failure> {
        let path = format!("{BASE}{}", asked.path);
        let target = match asked.query.is_empty() {
            true => path.clone(),
            false => format!("{path}?{}", asked.query),
        };
        let at = format!("{} {}{target}", asked.method, self.address);
        let mut request = http::Request::builder()
            .method(asked.method)
            .uri(format!("{}{target}", self.address))
            .header("Accept", "application/json");
        if asked.signed {
            request = request.header("Authorization", self.signature(asked, &path)?);
        }
        let sent = match &asked.body {
            None => request.body(()).map(|request| self.agent.run(request)),
            Some(body) => request
                .header("Content-Type", "application/json")
                .body(body.as_bytes())
                .map(|request| self.agent.run(request)),
        };
        let sent = sent.map_err(|error| {
            let remedy = "names that fit into a request";
            Failure::usage(error.to_string(), at.as_str(), remedy)
        })?;
        // A plan is sent, and changes nothing.
        let is_change = asked.method != "GET" && asked.path != "plan";
        let mut response = sent.map_err(|error| self.no_answer(&error, &at, is_change))?;
        log::info!("{at}: {}", response.status());
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let body = body.read_to_vec();
        let body = body.map_err(|error| self.no_answer(&error, &at, is_change))?;
        if let Some(state) = response.headers().get("Heddle-Books")
            && !is_change
        {
            let state = crate::terminal::clean(state.to_str().unwrap_or("unknown"));
            eprintln!("heddle: the store is {state}; accounts are as the scheduler remembers them");
        }
        if wants_kerberos(&response) {
            self.is_guarded.set(true);
            return Err(guarded(asked.signed, &at));
        }
        let answer = judged(&response, body, &at)?;
        match asked.holds.lacking(response.status(), &answer.json) {
            None => Ok(answer),
            Some(lacking) => {
                let status = response.status().as_u16();
                let what = format!("the answer is not Heddle's (HTTP status {status}): {lacking}");
                let what = unsure(what, is_change);
                Err(Failure::new(Kind::Unreachable, what, at, NO_HEDDLE))
            }
        }
    }

    fn signature(&self, asked: &Call<'_>, path: &str) -> Result<String, Failure> {
        if self.known.get().is_none() {
            let _ = self.known.set(self.who.known()?);
        }
        let (user, secret) = self.known.get().expect("it was just set");
        let signed = Signed {
            method: asked.method,
            path,
            query: &asked.query,
            body: Body::of(asked.body.as_deref().unwrap_or("").as_bytes()),
        };
        Ok(v2::header(secret, user, &signed, &validity(VALID_MS)?))
    }

    /// Reports that the server is not there, or does not speak HTTP.
    fn no_answer(&self, error: &ureq::Error, at: &str, is_change: bool) -> Failure {
        let (what, remedy) = match error {
            ureq::Error::Timeout(_) => (
                format!(
                    "no answer within {}",
                    humantime::format_duration(self.timeout)
                ),
                "a server that answers, or a longer --timeout",
            ),
            ureq::Error::BodyExceedsLimit(_) => (
                format!("the answer is longer than {ANSWER_BYTES_MAX} bytes"),
                NO_HEDDLE,
            ),
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => {
                (format!("the answer is not HTTP: {error}"), NO_HEDDLE)
            }
            other => (
                format!("not reachable: {other}"),
                "a ResourceManager that runs there; check --url or HEDDLE_URL",
            ),
        };
        Failure::new(Kind::Unreachable, unsure(what, is_change), at, remedy)
    }
}

/// Adds to an error that a change may have been carried out nevertheless.
fn unsure(what: String, is_change: bool) -> String {
    match is_change {
        true => format!("{what}; whether it was done is not known, so look before repeating it"),
        false => what,
    }
}

/// Returns whether the web server's Kerberos filter answered instead of Heddle.
fn wants_kerberos(response: &http::Response<ureq::Body>) -> bool {
    let asks = response.headers().get_all("WWW-Authenticate");
    let mut asks = asks.iter().filter_map(|asks| asks.to_str().ok());
    let is_negotiate = |asks: &str| {
        let scheme = asks.split([' ', ',']).next().unwrap_or("");
        scheme.eq_ignore_ascii_case("Negotiate")
    };
    response.status().as_u16() == 401 && asks.any(is_negotiate)
}

/// Explains a Kerberos challenge. No ticket is ever sent: the signature is the login.
fn guarded(signed: bool, at: &str) -> Failure {
    let (kind, what, remedy) = match signed {
        true => (
            Kind::Unreachable,
            "Kerberos guards this web server, and no filter there accepts a signature instead",
            "the active ResourceManager's own address in --url, and there \
             `heddle.web.signature-suffices` not set to false",
        ),
        false => (
            Kind::Refused,
            "Kerberos guards this web server: only signed requests pass",
            "--user NAME, or HEDDLE_USER in the environment, and a secret",
        ),
    };
    Failure::new(kind, what, at, remedy)
}

/// Sorts an answer into success, refusal, or one that cannot be understood.
fn judged(
    response: &http::Response<ureq::Body>,
    body: Vec<u8>,
    at: &str,
) -> Result<Answer, Failure> {
    let status = response.status();
    if status.is_redirection() {
        let location = response.headers().get("Location");
        let location = location
            .and_then(|to| to.to_str().ok())
            .unwrap_or("nowhere");
        let what = format!("it answers {status} and points to {location}");
        let remedy =
            "the active ResourceManager's own address in --url: requests are not passed on";
        return Err(Failure::new(Kind::Unreachable, what, at, remedy));
    }
    let text = String::from_utf8(body).ok();
    let json = text.as_deref().and_then(|text| match text.is_empty() {
        true => Some(Value::Null),
        false => serde_json::from_str::<Value>(text).ok(),
    });
    let (Some(text), Some(json)) = (text, json) else {
        let what = format!(
            "the answer is not Heddle's (HTTP status {})",
            status.as_u16()
        );
        return Err(Failure::new(Kind::Unreachable, what, at, NO_HEDDLE));
    };
    if status.is_success() {
        let later = response.headers().get("Heddle-Stored").is_some();
        return Ok(Answer { text, json, later });
    }
    let error = &json["error"];
    let Some(what) = error["what"].as_str() else {
        let what = format!("HTTP status {}, without a reason", status.as_u16());
        return Err(Failure::new(Kind::Unreachable, what, at, NO_HEDDLE));
    };
    // 502 to 504: the engine is being rebuilt, or this is not the active ResourceManager. Every
    // other error is a refusal.
    let kind = match status.as_u16() {
        502..=504 => Kind::Unreachable,
        _ => Kind::Refused,
    };
    let part = error["where"].as_str().unwrap_or("request");
    let remedy = error["expected"].as_str().unwrap_or("");
    Err(Failure::new(kind, what, format!("{part}, {at}"), remedy))
}

/// Returns the validity of a signature made now, with an unpredictable nonce.
pub(crate) fn validity(valid_ms: u64) -> Result<Validity, Failure> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        let remedy = "a system that gives random numbers";
        Failure::new(Kind::Refused, error.to_string(), "nonce", remedy)
    })?;
    let timestamp_ms = now_ms();
    Ok(Validity {
        timestamp_ms,
        expires_ms: timestamp_ms.saturating_add(valid_ms),
        nonce: random.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// Milliseconds since 1970 by this machine's clock.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
