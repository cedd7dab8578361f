//! Checks links between documents. Does not request addresses outside the repository.

use super::{Document, Kind, code_spans, documents, files, root, without_code};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

/// Returns the targets of the links in a line, pictures included.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut found = Vec::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let end = rest.find(')').unwrap_or(rest.len());
        found.push(rest[..end].to_string());
    }
    found.extend(line.split("src=\"").skip(1).filter_map(|rest| {
        let end = rest.find('"')?;
        Some(rest[..end].to_string())
    }));
    found
}

/// Returns a heading's anchor by GitHub's rule: lower case, blanks to hyphens, no other
/// punctuation.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(document: &Document) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let lines = document.lines();
    let headings = lines.iter().filter(|line| line.kind == Kind::Heading);
    headings
        .map(|line| {
            let anchor = anchor(line.text);
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            match *count {
                1 => anchor,
                n => format!("{anchor}-{}", n - 1),
            }
        })
        .collect()
}

/// Resolves `path` in the document `from` to a path from the root.
fn resolved(from: &str, path: &str) -> PathBuf {
    let folder = Path::new(from).parent().expect("a file is in a folder");
    let mut parts = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => {
                assert!(parts.pop(), "{from}: {path} leads out of the repository");
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

fn is_outside(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// Returns each link within the repository: document, line, path from the root, anchor.
fn links(documents: &[Document]) -> Vec<(&str, usize, PathBuf, String)> {
    let mut links = Vec::new();
    for document in documents {
        for line in document.lines() {
            if matches!(line.kind, Kind::Code(_)) {
                continue;
            }
            for target in targets(line.text) {
                if is_outside(&target) {
                    continue;
                }
                let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
                let path = match path {
                    "" => PathBuf::from(&document.name),
                    path => resolved(&document.name, path),
                };
                let anchor = anchor.to_string();
                links.push((document.name.as_str(), line.number, path, anchor));
            }
        }
    }
    links
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let documents = documents();
    let mut faults = String::new();
    let links = links(&documents);
    assert!(links.len() > 100, "the search for links finds nothing");
    for (name, line, path, anchor) in links {
        let shown = path.display();
        if !root().join(&path).exists() {
            let _ = writeln!(faults, "{name}:{line}: there is no {shown}");
        } else if !anchor.is_empty() {
            let target = documents
                .iter()
                .find(|other| Path::new(&other.name) == path);
            if !target.is_some_and(|target| anchors(target).contains(&anchor)) {
                let _ = writeln!(faults, "{name}:{line}: {shown} has no heading #{anchor}");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Documents name source files by the end of their paths, which reads well.
#[test]
fn source_files_that_are_named_exist() {
    let endings = [".rs", ".java", ".js", ".py", ".bash"];
    let sources = files(&endings);
    let mut count = 0;
    for document in documents() {
        for line in document.lines() {
            if matches!(line.kind, Kind::Code(_)) {
                continue;
            }
            for span in code_spans(line.text) {
                // A span names a test after its file.
                let path = span.split("::").next().unwrap_or_default();
                let relative = path.contains('/') && !path.starts_with('/');
                if !relative || !endings.iter().any(|ending| path.ends_with(ending)) {
                    continue;
                }
                count += 1;
                let end = format!("/{path}");
                let known = sources
                    .iter()
                    .any(|source| source.name == path || source.name.ends_with(&end));
                assert!(known, "{}:{}: no {path}", document.name, line.number);
            }
        }
    }
    assert!(count > 50, "the search for source files finds nothing");
}

/// Readers do not find a page without a link to it.
#[test]
fn every_document_is_reached_from_the_readme() {
    let documents = documents();
    let links = links(&documents);
    let mut reached = BTreeSet::from([PathBuf::from("README.md")]);
    loop {
        let next = links
            .iter()
            .filter(|(from, ..)| reached.contains(Path::new(from)));
        let next: BTreeSet<PathBuf> = next.map(|(.., to, _)| to.clone()).collect();
        let before = reached.len();
        reached.extend(next);
        if reached.len() == before {
            break;
        }
    }
    let names = documents.iter().map(|document| document.name.as_str());
    let lost: Vec<_> = names
        .filter(|name| !reached.contains(Path::new(name)))
        .collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
}

#[test]
fn links_and_anchors_are_read_as_github_does() {
    assert_eq!(
        targets("[a](b.md#c) `[d](e)` ![f](g.svg)"),
        ["b.md#c", "g.svg"]
    );
    assert_eq!(targets("<img src=\"h.svg\" alt=\"\">"), ["h.svg"]);
    assert_eq!(anchor("## Why does my job wait?"), "why-does-my-job-wait");
    assert_eq!(anchor("### `dynamic_queues`"), "dynamic_queues");
    assert_eq!(
        anchor("## Properties in yarn-site.xml"),
        "properties-in-yarn-sitexml"
    );
    assert_eq!(resolved("docs/a/b.md", "../c.md"), Path::new("docs/c.md"));
}
