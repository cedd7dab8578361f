//! The shim's packages import each other in one direction only.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "io.heddle.yarn.";

/// Each package below [`ROOT`], and the other packages it may import: earlier lines only, so that
/// no two can depend on each other. The scheduler's own package may import all but the simulator's.
const ALLOWED: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("compat", &["engine"]),
    ("queues", &["engine", "compat"]),
    ("config", &["engine", "queues"]),
    ("web", &["engine", "queues"]),
    ("economy", &["engine", "config", "web"]),
    ("facts", &["engine", "queues", "config"]),
    (
        "",
        &[
            "engine", "compat", "queues", "config", "web", "economy", "facts",
        ],
    ),
    ("recording", &["engine"]),
    ("sls", &[""]),
];

#[test]
fn packages_import_what_they_may() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java/src/main/java");
    let folder = sources.join(ROOT.replace('.', "/"));
    let mut files = Vec::new();
    java_files(&folder, &mut files);
    assert!(files.len() > 60, "{} files in {folder:?}", files.len());
    let mut found = Vec::new();
    for file in files {
        let below = file.strip_prefix(&folder).expect("the folder is above it");
        let parent = below.parent().expect("a file is in a folder");
        let package = parent.to_string_lossy().replace('/', ".");
        let text = fs::read_to_string(&file).expect("a source file is text");
        found.extend(offences(&below.to_string_lossy(), &package, &text));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_list_has_no_circle() {
    for (at, (package, imports)) in ALLOWED.iter().enumerate() {
        for import in *imports {
            assert!(
                ALLOWED[..at].iter().any(|(name, _)| name == import),
                "`{package}` may import `{import}`, which is not in a line before it"
            );
        }
    }
}

#[test]
fn an_offending_import_is_named() {
    let text = "package io.heddle.yarn.queues;\n\nimport io.heddle.yarn.facts.Fact;\n";
    assert_eq!(
        offences("queues/A.java", "queues", text),
        ["queues/A.java:3: `queues` may not import io.heddle.yarn.facts.Fact"]
    );
    let scheduler = "  io.heddle.yarn.HeddleScheduler scheduler;\n";
    assert_eq!(offences("queues/A.java", "queues", scheduler).len(), 1);
    let engine = "import static io.heddle.yarn.engine.FrameLayout.ACK;\n";
    assert_eq!(offences("queues/A.java", "queues", engine).len(), 0);
    assert_eq!(offences("new/A.java", "new", engine).len(), 1);
}

/// Returns the lines of a file that name a class of a forbidden package.
fn offences(file: &str, package: &str, text: &str) -> Vec<String> {
    let entry = ALLOWED.iter().find(|(name, _)| *name == package);
    let allowed = entry.map_or(&[][..], |(_, imports)| imports);
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices(ROOT) {
            let Some((used, class)) = package_and_class(&line[at + ROOT.len()..]) else {
                continue;
            };
            if used != package && !allowed.contains(&used) {
                found.push(format!(
                    "{file}:{}: `{package}` may not import {ROOT}{class}",
                    number + 1
                ));
            }
        }
    }
    found
}

/// Finds `facts` and `facts.Fact` at the start of `facts.Fact.NAME;`, nothing in `facts;`.
fn package_and_class(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut start = 0;
    loop {
        let rest = &text[start..];
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if rest.starts_with(|c: char| c.is_ascii_uppercase()) {
            let package = text[..start].trim_end_matches('.');
            return Some((package, &text[..start + end]));
        }
        if !rest[end..].starts_with('.') {
            return None;
        }
        start += end + 1;
    }
}

fn java_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the shim's sources are there") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            java_files(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "java")
        {
            files.push(path);
        }
    }
}
