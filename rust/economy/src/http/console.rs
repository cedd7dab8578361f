//! Serves the console at `/heddle/`: a page and its scripts, the same for every caller and without
//! any data. The page requests its data under `/heddle/v1/`, like any client. Knows no engine.

use crate::http::Request;
use crate::http::answer::{Failure, Reply};
use heddle_core::config::unknown;

const BASE: &str = "/heddle/";
const METHODS: &str = "GET, HEAD, OPTIONS";

/// Allows no foreign source, no inline script, and no text that becomes markup. The browser itself
/// refuses `innerHTML` and similar (Trusted Types), whatever a script tries.
const POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// Lets the page ask whether another ResourceManager answers, once its own is gone.
fn policy(managers: &[String]) -> String {
    // The addresses are the operator's: a text with other characters would end the directive.
    let is_origin = |address: &&String| {
        let rest = address.split_once("://").map_or("", |(_, rest)| rest);
        !rest.is_empty()
            && address.starts_with("http")
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    };
    let others: Vec<&str> = managers
        .iter()
        .filter(is_origin)
        .map(String::as_str)
        .collect();
    match others.is_empty() {
        true => POLICY.to_string(),
        false => format!("{POLICY}; connect-src 'self' {}", others.join(" ")),
    }
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// A file, named by its path below `BASE`.
struct File {
    name: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

const fn file(name: &'static str, content_type: &'static str, content: &'static [u8]) -> File {
    File {
        name,
        content_type,
        content,
    }
}

const FILES: &[File] = &[
    file("", HTML, include_bytes!("../../console/index.html")),
    file(
        "style.css",
        STYLE,
        include_bytes!("../../console/style.css"),
    ),
    file(
        "icon.svg",
        PICTURE,
        include_bytes!("../../console/icon.svg"),
    ),
    file("main.js", SCRIPT, include_bytes!("../../console/main.js")),
    file("sign.js", SCRIPT, include_bytes!("../../console/sign.js")),
    file(
        "client.js",
        SCRIPT,
        include_bytes!("../../console/client.js"),
    ),
    file(
        "control.js",
        SCRIPT,
        include_bytes!("../../console/control.js"),
    ),
    file("jobs.js", SCRIPT, include_bytes!("../../console/jobs.js")),
    file("nodes.js", SCRIPT, include_bytes!("../../console/nodes.js")),
    file("usage.js", SCRIPT, include_bytes!("../../console/usage.js")),
    file("page.js", SCRIPT, include_bytes!("../../console/page.js")),
    file(
        "tables.js",
        SCRIPT,
        include_bytes!("../../console/tables.js"),
    ),
    file("plot.js", SCRIPT, include_bytes!("../../console/plot.js")),
    file(
        "dialog.js",
        SCRIPT,
        include_bytes!("../../console/dialog.js"),
    ),
    file(
        "actions.js",
        SCRIPT,
        include_bytes!("../../console/actions.js"),
    ),
];

/// Answers a request for a file of the console; `None` for other paths.
pub(crate) fn answer(request: &Request<'_>) -> Option<Result<Reply, Failure>> {
    if request.path == "/heddle" {
        let elsewhere = Reply::nothing().with("Location", BASE);
        return Some(Ok(Reply {
            status: 308,
            ..elsewhere
        }));
    }
    let name = request.path.strip_prefix(BASE)?;
    let found = FILES.iter().find(|file| file.name == name);
    match found {
        Some(file) => Some(send(file, request)),
        // The interface suggests a better path.
        None if name == "v1" || name.starts_with("v1/") => None,
        None => Some(Err(not_found(request.path))),
    }
}

fn send(file: &File, request: &Request<'_>) -> Result<Reply, Failure> {
    match request.method {
        "GET" | "HEAD" => {
            let reply = Reply::of(file.content_type, file.content.to_vec());
            // Another version of the library brings another page.
            let reply = reply.with("Cache-Control", "no-cache");
            Ok(reply.with("Content-Security-Policy", policy(request.managers)))
        }
        "OPTIONS" => Ok(Reply::nothing().with("Allow", METHODS)),
        _ => {
            let what = "the console's files are read-only";
            Err(Failure::new(405, what, "method", METHODS).with("Allow", METHODS))
        }
    }
}

fn not_found(path: &str) -> Failure {
    let known: Vec<String> = FILES
        .iter()
        .map(|file| format!("{BASE}{}", file.name))
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    // Cut to the length of a name: the comparison letter by letter needs short texts.
    let short: String = path.chars().take(60).collect();
    let expected = unknown(&short, &known);
    Failure::new(404, "there is nothing at this path", "path", expected)
}
