//! The console as a browser gets it: its files and headers, and that the files keep to the policy
//! in those headers. A browser on a cluster tests its behaviour.

use crate::common::{NOW, Site, header, json_of, text};
use heddle_economy::http::{Answer, Request};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("console")
}

/// Returns the names and contents of all files in the folder.
fn files() -> Vec<(String, String)> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.to_string(), fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

fn path_of(name: &str) -> String {
    let name = if name == "index.html" { "" } else { name };
    format!("/heddle/{name}")
}

fn directive<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let policy = header(answer, "Content-Security-Policy")?;
    let mut directives = policy.split(';').map(str::trim);
    directives.find_map(|one| one.strip_prefix(name).map(str::trim))
}

#[test]
fn every_file_is_served_to_everybody_with_its_type_and_a_strict_policy() {
    let site = Site::market();
    assert!(files().len() > 5);
    for (name, content) in files() {
        let answer = site.get(&path_of(&name));
        assert_eq!((answer.status, text(&answer)), (200, content), "{name}");
        let expected = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "a type that the console knows",
        };
        assert_eq!(answer.content_type, expected, "{name}");
        assert_eq!(directive(&answer, "default-src"), Some("'self'"));
        assert_eq!(directive(&answer, "frame-ancestors"), Some("'none'"));
        assert_eq!(directive(&answer, "base-uri"), Some("'none'"));
        assert_eq!(
            directive(&answer, "require-trusted-types-for"),
            Some("'script'")
        );
        let policy = header(&answer, "Content-Security-Policy").unwrap_or("");
        assert!(!policy.contains("unsafe") && !policy.contains("http"));
        assert_eq!(header(&answer, "X-Content-Type-Options"), Some("nosniff"));
        assert_eq!(header(&answer, "Referrer-Policy"), Some("no-referrer"));
    }
    let signed_in = site.get("/heddle/?user.name=alice");
    assert_eq!(
        signed_in.status, 200,
        "the ResourceManager's own sign-in is in the query"
    );
}

/// The page may ask the other ResourceManagers whether they answer, and no other server.
#[test]
fn the_page_may_reach_the_other_resource_managers() {
    let site = Site::market();
    let managers = [
        "http://rm0:8088",
        "https://[::1]:8090",
        "http://x; script-src *",
        "ftp://x",
        "http://",
    ];
    let managers = managers.map(str::to_string);
    let asked = |path: &str| {
        site.send(&Request {
            path,
            managers: &managers,
            ..site.plain()
        })
    };
    let page = asked("/heddle/");
    assert_eq!(
        directive(&page, "connect-src"),
        Some("'self' http://rm0:8088 https://[::1]:8090")
    );
    assert_eq!(directive(&page, "script-src"), None);
    assert_eq!(directive(&page, "default-src"), Some("'self'"));
    let health = json_of(&asked("/heddle/v1/health"));
    assert_eq!(health["managers"][0], "http://rm0:8088");
}

#[test]
fn the_folders_name_leads_to_it_and_nothing_else_is_there() {
    let site = Site::market();
    let moved = site.get("/heddle");
    assert_eq!(
        (moved.status, header(&moved, "Location")),
        (308, Some("/heddle/"))
    );
    for path in [
        "/heddle/index.html",
        "/heddle/main.j",
        "/heddle//main.js",
        "/heddle/../main.js",
        "/heddle/%6dain.js",
        "/heddle/main.js/",
        "/heddlex/",
        "/heddle/\u{1f980}\u{1f980}",
    ] {
        assert_eq!(site.get(path).status, 404, "{path}");
    }
    let suggested = text(&site.get("/heddle/main.j"));
    assert!(suggested.contains("/heddle/main.js"), "{suggested}");
    assert_eq!(site.get(&"/heddle/a".repeat(5_000)).status, 404);
    // Unknown paths below v1 are answered by the interface.
    let none = text(&site.get("/heddle/v1/pric"));
    assert!(none.contains("/heddle/v1/price"), "{none}");
}

#[test]
fn it_is_only_read() {
    let site = Site::market();
    let send = |method| {
        site.send(&Request {
            method,
            path: "/heddle/",
            now_ms: NOW,
            ..site.plain()
        })
    };
    for method in ["POST", "PUT", "DELETE", "PATCH", "get"] {
        let refused = send(method);
        let allowed = header(&refused, "Allow");
        assert_eq!(
            (refused.status, allowed),
            (405, Some("GET, HEAD, OPTIONS")),
            "{method}"
        );
    }
    assert_eq!(
        header(&send("OPTIONS"), "Allow"),
        Some("GET, HEAD, OPTIONS")
    );
    let head = send("HEAD");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.content_type, "text/html; charset=utf-8");
}

/// Returns the names after `name="` in markup, or after `from '` in a script.
fn named<'a>(text: &'a str, before: &str, after: char) -> Vec<&'a str> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|rest| rest.split(after).next()).collect()
}

#[test]
fn all_that_its_files_name_is_served() {
    let site = Site::market();
    let mut used = BTreeSet::new();
    for (name, content) in files() {
        let links = [
            named(&content, "href=\"", '"'),
            named(&content, "src=\"", '"'),
        ];
        let links = links.concat();
        // Links may lead to YARN's own pages on the same server, but nothing is loaded from there.
        let own = |link: &&str| !link.starts_with('#') && !link.starts_with("/cluster");
        for link in links.into_iter().filter(own) {
            assert!(
                link.starts_with("/heddle/"),
                "{name} names {link}: only what is here"
            );
            used.insert(link.to_string());
        }
        for module in named(&content, "from './", '\'') {
            used.insert(format!("/heddle/{module}"));
        }
    }
    for link in &used {
        assert_eq!(site.get(link).status, 200, "{link}");
    }
    for (name, _) in files().iter().filter(|(name, _)| name != "index.html") {
        assert!(used.contains(&path_of(name)), "nobody uses {name}");
    }
}

/// The browser would refuse all of these, and the page would not work.
#[test]
fn its_files_keep_to_the_policy() {
    let never = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "setAttribute('style'",
        "localStorage",
        "sessionStorage",
        "document.cookie",
        "indexedDB",
        "javascript:",
        " style=",
        " onclick=",
        " onload=",
        "<style",
        "@import",
        "url(",
    ];
    for (name, content) in files() {
        for word in never {
            assert!(!content.contains(word), "{name} has {word}");
        }
        // The name space of SVG is only a name; nothing is fetched from there.
        let hosts = content.replace("http://www.w3.org/2000/svg", "");
        assert!(!hosts.contains("://"), "{name} names another host");
        if name.ends_with(".html") {
            let inline = content.split("<script").skip(1);
            for script in inline {
                assert!(script.contains("></script>"), "{name}: an inline script");
            }
        }
        let long = content.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{name}: more than 100 columns");
        assert!(
            content.lines().count() <= 600,
            "{name}: it holds two things"
        );
    }
}
