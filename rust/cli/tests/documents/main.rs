//! Checks what a program can check in the documents: links and anchors resolve, commands and
//! options exist, the readers know the settings, and examples work. Only a human can check whether
//! a sentence is right.

mod commands;
mod links;
mod prose;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One document: its path from the root, and its text.
struct Document {
    name: String,
    text: String,
}

/// The kind of a document's line.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Heading,
    Table,
    Prose,
    /// Inside a fence, with the fence's language.
    Code(String),
}

struct Line<'a> {
    number: usize,
    text: &'a str,
    kind: Kind,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root is there")
}

/// Returns the files with one of these endings that git tracks or would track.
fn files(endings: &[&str]) -> Vec<Document> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of a checkout");
    let names = String::from_utf8(listed.stdout).expect("our names are UTF-8");
    let wanted = |name: &&str| endings.iter().any(|ending| name.ends_with(ending));
    let read = |name: &str| {
        let text = fs::read_to_string(root().join(name)).ok()?;
        let name = name.to_string();
        Some(Document { name, text })
    };
    let found: Vec<_> = names.lines().filter(wanted).filter_map(read).collect();
    assert!(
        !found.is_empty(),
        "no {endings:?}: nothing would be checked"
    );
    found
}

/// Excludes recorded results, which are not written by hand.
fn documents() -> Vec<Document> {
    let mut documents = files(&[".md"]);
    documents.retain(|document| !document.name.contains("-results/"));
    documents
}

fn document(name: &str) -> Document {
    let text = fs::read_to_string(root().join(name)).expect("the document is there");
    let name = name.to_string();
    Document { name, text }
}

impl Document {
    /// Returns its lines without the fences themselves.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut inside: Option<String> = None;
        let mut lines = Vec::new();
        for (i, text) in self.text.lines().enumerate() {
            if let Some(language) = text.trim_start().strip_prefix("```") {
                inside = match inside {
                    Some(_) => None,
                    None => Some(language.to_string()),
                };
                continue;
            }
            let kind = match &inside {
                Some(language) => Kind::Code(language.clone()),
                None if text.starts_with('#') => Kind::Heading,
                None if text.starts_with('|') => Kind::Table,
                None => Kind::Prose,
            };
            let number = i + 1;
            lines.push(Line { number, text, kind });
        }
        assert!(inside.is_none(), "{}: a fence is not closed", self.name);
        lines
    }

    /// Returns the code blocks of this language.
    fn blocks(&self, language: &str) -> Vec<String> {
        let mut blocks: Vec<(usize, String)> = Vec::new();
        for line in self.lines() {
            if line.kind != Kind::Code(language.to_string()) {
                continue;
            }
            match blocks.last_mut() {
                Some((last, text)) if *last + 1 == line.number => {
                    *last = line.number;
                    text.push('\n');
                    text.push_str(line.text);
                }
                _ => blocks.push((line.number, line.text.to_string())),
            }
        }
        blocks.into_iter().map(|(_, text)| text).collect()
    }
}

/// Returns the spans of a line between single backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

#[test]
fn lines_spans_and_blocks_are_told_apart() {
    let name = String::new();
    let text = "# A\ntext `b c` d\n```json\n{\n}\n```\n| `e` |\n```json\n1\n```\n".to_string();
    let document = Document { name, text };
    let kinds: Vec<_> = document.lines().into_iter().map(|line| line.kind).collect();
    let code = || Kind::Code("json".to_string());
    let expected = [
        Kind::Heading,
        Kind::Prose,
        code(),
        code(),
        Kind::Table,
        code(),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(document.blocks("json"), ["{\n}", "1"]);
    assert_eq!(
        code_spans("text `b c` d `e`").collect::<Vec<_>>(),
        ["b c", "e"]
    );
    assert_eq!(without_code("a `[b](c)` d"), "a `` d");
}
