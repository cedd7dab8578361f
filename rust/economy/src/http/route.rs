//! The routes under `/heddle/v1/`: their table, their permissions, the matching of paths, and the
//! errors for unknown ones. `v1` has the answers, one file per group.

use crate::auth::Refusal;
use crate::auth::gate::{Interface, PATH_BYTES_MAX};
use crate::auth::query::{Parameters, QUERY_BYTES_MAX, unquoted};
use crate::auth::role::Need;
use crate::http::answer::{CSV, Failure, JSON, Reply};
use crate::http::caller::{Identity, audit, record};
use crate::http::exchange::Exchange;
use crate::http::{
    Api, BODY_BYTES_MAX, Backend, CONFIGURATION_BYTES_MAX, Request, accept, account, books,
    console, v1,
};
use heddle_core::config::unknown;

/// The prefix of all routes.
const BASE: &str = "/heddle/v1/";
/// Limit of bytes of an unknown path that are compared with the known ones.
const COMPARED_BYTES: usize = 120;

/// The permission that a route needs, before anything is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// None: unsigned requests are allowed.
    Anybody,
    /// Any proven caller; they see only their own queues, or the route checks further.
    Known,
    /// The user of the queue that is the path's first variable, or an administrator.
    Queue,
    Admin,
}

pub(crate) struct Route {
    method: &'static str,
    /// The path below `BASE`, with variables in braces.
    path: &'static str,
    access: Access,
    /// Names of parameters in the query; others are refused.
    parameters: &'static [&'static str],
    /// The longest body, in bytes.
    body_bytes_max: usize,
    types: &'static [&'static str],
    /// Whether it shows or changes accounts, or results of them.
    accounts: bool,
    handle: fn(&mut Exchange<'_>) -> Result<Reply, Failure>,
}

impl Route {
    const fn get(path: &'static str, access: Access, handle: Handler) -> Route {
        Route {
            method: "GET",
            path,
            access,
            parameters: &[],
            body_bytes_max: 0,
            types: &[JSON],
            accounts: false,
            handle,
        }
    }

    /// Creates a route that shows accounts, or results of them.
    const fn of_accounts(path: &'static str, access: Access, handle: Handler) -> Route {
        Route {
            accounts: true,
            ..Route::get(path, access, handle)
        }
    }

    const fn change(
        method: &'static str,
        path: &'static str,
        access: Access,
        to: Handler,
    ) -> Route {
        Route {
            method,
            body_bytes_max: match method.as_bytes() {
                b"PUT" | b"POST" => BODY_BYTES_MAX,
                _ => 0,
            },
            ..Route::of_accounts(path, access, to)
        }
    }

    /// Creates a route with a configuration in its body, for administrators.
    const fn of_configuration(method: &'static str, path: &'static str, to: Handler) -> Route {
        Route {
            accounts: false,
            body_bytes_max: CONFIGURATION_BYTES_MAX,
            ..Route::change(method, path, Access::Admin, to)
        }
    }

    const fn with(self, parameters: &'static [&'static str]) -> Route {
        Route { parameters, ..self }
    }

    fn changes(&self) -> bool {
        self.method != "GET"
    }
}

type Handler = fn(&mut Exchange<'_>) -> Result<Reply, Failure>;

const LEDGER: Route = Route {
    types: &[JSON, CSV],
    ..Route::of_accounts("ledger", Access::Known, v1::market::ledger)
};

/// All routes. A test compares them with the description in `openapi.json`.
const ROUTES: &[Route] = &[
    Route::of_accounts("queues", Access::Known, v1::queues::list),
    Route::change("POST", "queues", Access::Admin, v1::queues::add),
    Route::of_accounts("queues/{queue}", Access::Queue, v1::queues::one),
    Route::change(
        "DELETE",
        "queues/{queue}",
        Access::Admin,
        v1::queues::remove,
    ),
    Route::change("PUT", "queues/{queue}/bid", Access::Queue, v1::queues::bid),
    Route::change(
        "POST",
        "queues/{queue}/budget",
        Access::Admin,
        v1::queues::add_budget,
    ),
    Route::of_accounts("queues/{queue}/advice", Access::Queue, v1::advice::advice)
        .with(&["slots", "pool"]),
    Route::get("jobs", Access::Known, v1::jobs::list)
        .with(&["from", "skip", "max", "search", "sort"]),
    Route::get("jobs/{id}", Access::Known, v1::jobs::one),
    Route::get("explain/{job}", Access::Known, v1::jobs::explain),
    Route::get("nodes", Access::Known, v1::nodes::list).with(&["from", "max"]),
    Route::get("usage", Access::Known, v1::server::usage).with(&["from_ms"]),
    Route::of_accounts("shares", Access::Known, v1::market::shares),
    Route::of_accounts("price", Access::Anybody, v1::market::price),
    Route::of_accounts("price/history", Access::Known, v1::market::history)
        .with(&["from_ms", "to_ms", "max"]),
    LEDGER.with(&["queue", "from_ms", "to_ms", "from_interval", "max"]),
    Route::get("configuration", Access::Admin, v1::server::configuration),
    Route::get("configuration/file", Access::Admin, v1::configuration::file),
    Route::of_configuration("PUT", "configuration/file", v1::configuration::replace),
    Route::of_configuration(
        "POST",
        "configuration/rollback",
        v1::configuration::roll_back,
    ),
    // Changes nothing, but the configuration comes in a body.
    Route::of_configuration("POST", "plan", v1::server::plan),
    Route::get("shadow", Access::Admin, v1::shadow::report),
    Route::get("health", Access::Anybody, v1::server::health),
    Route::get("time", Access::Anybody, v1::server::time),
    Route::get("openapi.json", Access::Anybody, v1::server::openapi),
];

/// The description of a route, for documentation and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// `GET` (and with it `HEAD`), `PUT`, `POST` or `DELETE`.
    pub method: &'static str,
    /// The path below `/heddle/v1/`, with variables in braces.
    pub path: &'static str,
    /// Whether it answers without a signature.
    pub is_open: bool,
    /// Names of parameters in the query.
    pub parameters: &'static [&'static str],
}

/// Returns all routes under `/heddle/v1/`.
pub fn routes() -> impl Iterator<Item = RouteInfo> {
    ROUTES.iter().map(|route| RouteInfo {
        method: route.method,
        path: route.path,
        is_open: route.access == Access::Anybody,
        parameters: route.parameters,
    })
}

/// Answers a request for any path outside the published interface; `who` is set if identity was
/// proven first.
pub(crate) fn answer(
    api: &Api,
    backend: &dyn Backend,
    request: &Request<'_>,
    who: Identity,
) -> Reply {
    let outcome = console::answer(request).unwrap_or_else(|| match find(request)? {
        Found::Allowed(methods) => Ok(Reply::nothing().with("Allow", methods)),
        Found::Route(route, variables) => serve(api, backend, request, who, route, variables),
    });
    outcome.unwrap_or_else(Reply::refused)
}

enum Found {
    Route(&'static Route, Vec<String>),
    /// The allowed methods, for an `OPTIONS` request.
    Allowed(String),
}

/// Finds the route for a method and a path.
fn find(request: &Request<'_>) -> Result<Found, Failure> {
    if request.path.len() > PATH_BYTES_MAX {
        let expected = format!("at most {PATH_BYTES_MAX} bytes");
        return Err(Failure::new(414, "the path is too long", "path", expected));
    }
    let Some(below) = request.path.strip_prefix(BASE) else {
        return Err(not_found(request.path));
    };
    let given: Vec<&str> = below.split('/').collect();
    let here: Vec<&Route> = ROUTES.iter().filter(|r| matches(r.path, &given)).collect();
    let Some(any) = here.first() else {
        return Err(not_found(request.path));
    };
    let methods = allowed(&here);
    if request.method == "OPTIONS" {
        return Ok(Found::Allowed(methods));
    }
    let method = if request.method == "HEAD" {
        "GET"
    } else {
        request.method
    };
    let Some(route) = here.iter().find(|route| route.method == method) else {
        let what = "this route does not have this method";
        return Err(Failure::new(405, what, "method", &methods).with("Allow", methods));
    };
    let variables = any
        .path
        .split('/')
        .zip(&given)
        .filter(|(name, _)| name.starts_with('{'));
    let variables = variables
        .map(|(_, value)| decoded(value))
        .collect::<Result<_, _>>()?;
    Ok(Found::Route(route, variables))
}

fn matches(path: &str, given: &[&str]) -> bool {
    let fits = |(name, value): (&str, &&str)| match name.starts_with('{') {
        true => !value.is_empty(),
        false => name == *value,
    };
    path.split('/').count() == given.len() && path.split('/').zip(given).all(fits)
}

fn allowed(routes: &[&Route]) -> String {
    let mut methods: Vec<&str> = routes.iter().map(|route| route.method).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.join(", ")
}

/// Decodes a part of the path.
fn decoded(part: &str) -> Result<String, Failure> {
    unquoted(part).ok_or_else(|| {
        let expected = "escapes of two hexadecimal digits, in UTF-8";
        Failure::new(400, "the path has a broken escape", "path", expected)
    })
}

/// Returns the error for an unknown path, with the most similar known path.
fn not_found(path: &str) -> Failure {
    let end = (0..=path.len().min(COMPARED_BYTES))
        .rev()
        .find(|end| path.is_char_boundary(*end));
    let path = &path[..end.unwrap_or(0)];
    let given: Vec<&str> = path.strip_prefix(BASE).unwrap_or(path).split('/').collect();
    // Variables take the given values, so that they count for no difference.
    let like = |route: &Route| {
        let parts = route.path.split('/').enumerate().map(|(i, name)| {
            let value = given.get(i).filter(|value| !value.is_empty());
            value
                .filter(|_| name.starts_with('{'))
                .unwrap_or(&name)
                .to_string()
        });
        format!("{BASE}{}", parts.collect::<Vec<_>>().join("/"))
    };
    let known: Vec<String> = ROUTES.iter().map(like).collect();
    let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
    known.dedup();
    Failure::new(
        404,
        "there is nothing at this path",
        "path",
        unknown(path, &known),
    )
}

/// Serves a request with its route, and writes the audit line.
fn serve(
    api: &Api,
    backend: &dyn Backend,
    request: &Request<'_>,
    who: Identity,
    route: &Route,
    variables: Vec<String>,
) -> Result<Reply, Failure> {
    let mut exchange = Exchange {
        api,
        backend,
        request,
        query: Parameters::of("").expect("an empty query has no faults"),
        variables,
        who,
        content_type: JSON,
        action: None,
        queue: None,
    };
    let mut outcome = exchange.carry_out(route);
    let refusal = outcome.as_ref().err().and_then(|failure| {
        let noted = route.changes() || failure.refusal.is_some();
        noted.then(|| failure.refusal())
    });
    if route.changes() || refusal.is_some() {
        let plain = format!("{} {}", request.method, request.path);
        let action = exchange.action.as_deref().unwrap_or(&plain);
        let queue = exchange.queue.as_deref();
        let line = |outcome| record(request, &exchange.who, action, queue, outcome).to_line();
        match outcome.as_mut().map(|reply| reply.written.as_mut()) {
            // The outcome is open until the host has reloaded: it writes one of the two lines.
            Ok(Some(written)) => {
                written.done = line(Ok(()));
                let why = "the configuration was refused when it was reloaded";
                written.refused = line(Err(&Refusal::Malformed(why.to_string())));
            }
            _ => {
                let outcome = refusal.as_ref().map_or(Ok(()), Err);
                audit(request, &exchange.who, action, queue, outcome);
            }
        }
    }
    outcome
}

/// Parses the query; parameters other than `known` are an error.
fn parameters(query: &str, known: &[&str]) -> Result<Parameters, Failure> {
    if query.len() > QUERY_BYTES_MAX {
        let expected = format!("at most {QUERY_BYTES_MAX} bytes");
        return Err(Failure::new(
            414,
            "the query is too long",
            "query",
            expected,
        ));
    }
    let parameters = Parameters::of(query)?;
    let names = query.split('&').filter(|part| !part.is_empty());
    for name in names.map(|part| part.split('=').next().unwrap_or(part)) {
        if !known.contains(&name) {
            let expected = match known.is_empty() {
                true => "no parameters".to_string(),
                false => unknown(&name[..name.len().min(COMPARED_BYTES)], known),
            };
            return Err(Failure::new(
                400,
                "a parameter is not known",
                "query",
                expected,
            ));
        }
    }
    Ok(parameters)
}

impl Exchange<'_> {
    fn carry_out(&mut self, route: &Route) -> Result<Reply, Failure> {
        self.query = parameters(self.request.query, route.parameters)?;
        let wanted = accept::choose(self.request.accept, route.types);
        self.content_type = wanted.ok_or_else(|| {
            let expected = route.types.join(" or ");
            Failure::new(
                406,
                "this route has no such content type",
                "header `Accept`",
                expected,
            )
        })?;
        // Checked before `identify` hashes it.
        let most = route.body_bytes_max;
        match self.request.body.len() {
            length if length <= most => {}
            _ if most == 0 => {
                let what = "this request takes no body";
                return Err(Failure::new(400, what, "body", "no body"));
            }
            _ => return Err(Refusal::TooLarge("body", most).into()),
        }
        // Checked before the signature, which counts once: the same request may succeed in a
        // moment.
        if route.accounts {
            books::open(self.backend, route.changes())?;
        }
        if route.access != Access::Anybody {
            let json = Interface::Json;
            let who = &mut self.who;
            let known = self.api.identify(json, self.backend, self.request, who);
            known
                .and_then(|()| who.known().map(drop))
                .map_err(|failure| self.api.without_users(failure))?;
        }
        match route.access {
            Access::Anybody | Access::Known => {}
            Access::Admin => self.who.may(Need::Admin)?,
            Access::Queue => {
                let queue = account::checked_queue(&self.variables[0])?;
                self.queue = Some(queue.clone());
                self.who.may(Need::Queue(&queue))?;
            }
        }
        let reply = (route.handle)(self)?;
        Ok(match route.accounts {
            true => books::marked(self.backend, reply),
            false => reply,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_routes_are_one() {
        for (i, route) in ROUTES.iter().enumerate() {
            for other in &ROUTES[i + 1..] {
                let same = other.path == route.path && other.method == route.method;
                assert!(!same, "{} {}", route.method, route.path);
            }
            // If several paths matched a request, the variables of the first would be used.
            let given: Vec<&str> = route.path.split('/').collect();
            let fitting = ROUTES.iter().filter(|other| matches(other.path, &given));
            assert!(fitting.into_iter().all(|other| other.path == route.path));
        }
    }

    #[test]
    fn variables_are_found_where_a_route_relies_on_them() {
        for route in ROUTES {
            assert!(route.access != Access::Queue || route.path.contains("{queue}"));
            assert!(!route.changes() || route.access != Access::Anybody);
        }
    }
}
