//! Finds which file of a crate imports which, from the sources: `use` lines and paths in the code.
//! Ignores code that is compiled only for tests.

use crate::tokens::{Kind, Language, tokens, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files of one crate by their module's path (`["order", "fifo"]`; the root's is empty).
pub(crate) struct Crate {
    files: BTreeMap<Vec<String>, File>,
}

/// One file, and the paths in it.
struct File {
    name: String,
    paths: Vec<Vec<String>>,
    /// Those of `use` lines, which alone hand a name on.
    uses: Vec<Vec<String>>,
}

/// Upper bound on the modules that re-export a name.
const HOPS_MAX: u8 = 8;

/// Imports: a file, a file that it imports, and the names that it takes from it.
pub(crate) type Imports = BTreeMap<(String, String), BTreeSet<String>>;

impl Crate {
    /// Reads the sources below `src`.
    pub(crate) fn read(src: &Path) -> Crate {
        let mut texts = BTreeMap::new();
        collect(src, "", &mut texts);
        Crate::new(texts)
    }

    /// Builds a crate of these files, given by their path below `src`.
    pub(crate) fn new(texts: BTreeMap<String, String>) -> Crate {
        let read = |(name, text): (String, String)| {
            let (paths, uses) = paths(&code(&text));
            (module(&name), File { name, paths, uses })
        };
        Crate {
            files: texts.into_iter().map(read).collect(),
        }
    }

    /// Returns every import inside the crate. A module and the parts in its own folder count as
    /// one: imports between them are left out.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (here, file) in &self.files {
            for path in &file.paths {
                let Some((there, name)) = self.resolve(here, path, 0) else {
                    continue;
                };
                if !here.starts_with(&there) && !there.starts_with(here) {
                    let target = &self.files[&there].name;
                    let names: &mut BTreeSet<String> = imports
                        .entry((file.name.clone(), target.clone()))
                        .or_default();
                    names.insert(name);
                }
            }
        }
        imports
    }

    /// Returns the deepest module that the path enters, and the next name on the path. A
    /// re-exported name resolves to its definition.
    fn resolve(&self, here: &[String], path: &[String], hops: u8) -> Option<(Vec<String>, String)> {
        let mut module = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" => here.to_vec(),
            "super" => here[..here.len().checked_sub(1)?].to_vec(),
            _ => {
                let child = [here, &path[..1]].concat();
                self.files.contains_key(&child).then_some(child)?
            }
        };
        let mut rest = &path[1..];
        while let [name, after @ ..] = rest {
            if name == "super" {
                module.pop();
            } else {
                let child = [module.as_slice(), std::slice::from_ref(name)].concat();
                if !self.files.contains_key(&child) {
                    break;
                }
                module = child;
            }
            rest = after;
        }
        let file = self.files.get(&module)?;
        let name = rest.first().cloned().unwrap_or_default();
        let handed_on = file.uses.iter().find(|used| used.last() == Some(&name));
        let defined = handed_on
            .filter(|_| hops < HOPS_MAX)
            .and_then(|used| self.resolve(&module, used, hops + 1));
        Some(defined.unwrap_or((module, name)))
    }
}

/// Returns the groups of files that import each other in a circle, by Tarjan's rule. Two files
/// belong to one group if each reaches the other.
pub(crate) fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in imports.keys() {
        next.entry(from).or_default().push(to);
    }
    let reach = |from: &str| -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = next.get(from).cloned().unwrap_or_default();
        while let Some(file) = open.pop() {
            if seen.insert(file) {
                open.extend(next.get(file).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|&file| (file, reach(file))).collect();
    let mut groups: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (&file, all) in reached.iter().filter(|(file, all)| all.contains(*file)) {
        let mutual = all
            .iter()
            .filter(|&&other| reached.get(other).is_some_and(|back| back.contains(file)));
        groups.insert(mutual.map(|other| other.to_string()).collect());
    }
    groups.into_iter().collect()
}

fn collect(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of it").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), texts);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            texts.insert(name, fs::read_to_string(&path).expect("a text"));
        }
    }
}

fn module(file: &str) -> Vec<String> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" => Vec::new(),
        _ => stem.split('/').map(str::to_string).collect(),
    }
}

/// Returns identifiers and punctuation, `::` as one, without comments, strings and test code.
fn code(text: &str) -> Vec<String> {
    let tokens = without_tests(tokens(text, Language::Rust)).into_iter();
    let code = tokens.filter(|token| token.kind == Kind::Code);
    code.map(|token| token.text).collect()
}

/// Returns every path of two names or more, with the braces of `use` expanded, and those of `use`
/// lines. A first name that a `use` line of the file defines is replaced by its meaning.
fn paths(tokens: &[String]) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let mut found = Vec::new();
    let mut used = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `use<'a>` lists what a type captures.
        if tokens[at] == "use" && tokens[at + 1] != "<" {
            at = tree(tokens, at + 1, &[], &mut used);
        } else if is_name(&tokens[at]) && (at == 0 || tokens[at - 1] != "::") {
            let mut path = vec![tokens[at].clone()];
            while tokens.get(at + 1).is_some_and(|token| token == "::")
                && tokens.get(at + 2).is_some_and(|token| is_name(token))
            {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            if path.len() > 1 {
                found.push(path);
            }
            at += 1;
        } else {
            at += 1;
        }
    }
    let uses: BTreeMap<String, Vec<String>> = used
        .iter()
        .filter(|path| matches!(path[0].as_str(), "crate" | "super" | "self"))
        .map(|path| (path[path.len() - 1].clone(), path.clone()))
        .collect();
    let whole = |path: Vec<String>| match uses.get(&path[0]) {
        Some(stands_for) => [stands_for, &path[1..]].concat(),
        None => path,
    };
    let used: Vec<_> = used.iter().cloned().map(whole).collect();
    let mut all: Vec<_> = found.into_iter().map(whole).collect();
    all.extend_from_slice(&used);
    (all, used)
}

/// Reads one tree of a `use`, and returns where it ends.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "::" => at += 1,
            "," | "}" | ";" => break,
            "as" => at += 2,
            "self" if !path.is_empty() => at += 1,
            name => {
                path.push(name.to_string());
                at += 1;
            }
        }
    }
    found.push(path);
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
