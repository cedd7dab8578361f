//! The layers of the sources, and the imports each allows. No crate has files that import each
//! other in a circle; in the core and in the economy a part imports only parts below it.

use crate::imports::{Crate, Imports, circles};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Parts of a crate and their allowed imports beside themselves, from the ground up.
type Layers = &'static [(&'static str, &'static [&'static str])];

const LAYERS: Layers = &[
    ("words", &[]),
    ("config", &["words"]),
    ("model", &["words", "config"]),
    ("backlog", &["words", "model"]),
    ("stage", &["words", "config", "model"]),
    ("share", &["words", "config", "model", "stage"]),
    ("order", &["words", "config", "model", "stage"]),
    ("place", &["words", "config", "model", "stage"]),
    ("rank", &["words", "config", "model", "stage"]),
    ("explain", &["words", "config", "model", "backlog", "stage"]),
    (
        "catalogue",
        &[
            "words", "config", "stage", "share", "order", "place", "rank",
        ],
    ),
    ("setup", &["words", "config", "catalogue"]),
    ("predict", &["words", "model"]),
    (
        "engine",
        &[
            "words",
            "config",
            "model",
            "backlog",
            "explain",
            "stage",
            "catalogue",
            "setup",
            "predict",
        ],
    ),
];

const ECONOMY: Layers = &[
    ("record", &[]),
    ("hints", &[]),
    ("auth", &[]),
    ("store", &["record"]),
    ("http", &["record", "auth"]),
    ("books", &["record", "auth", "store"]),
    ("settings", &["auth", "store", "books"]),
    (
        "service",
        &["record", "hints", "auth", "http", "books", "settings"],
    ),
];

/// Parts in which one file or folder is one policy.
const POLICIES: &[&str] = &["share", "order", "place", "rank"];

fn sources(name: &str) -> PathBuf {
    let rust = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    rust.join(name).join("src")
}

/// Every crate of the workspace.
fn crates() -> Vec<String> {
    let rust = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(rust).expect("the folder of the crates");
    let names = folders.map(|entry| entry.expect("an entry of it").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| sources(name).is_dir()).collect()
}

#[test]
fn no_crate_has_files_that_import_each_other_in_a_circle() {
    let mut faults = String::new();
    for name in crates() {
        let imports = Crate::read(&sources(&name)).imports();
        faults += &in_circles(&name, &imports);
    }
    assert!(faults.is_empty(), "\n{faults}");
}

fn in_circles(name: &str, imports: &Imports) -> String {
    let mut faults = String::new();
    for circle in circles(imports) {
        let _ = writeln!(
            faults,
            "rust/{name}/src: {} files in a circle:",
            circle.len()
        );
        for ((from, to), names) in imports {
            if circle.contains(from) && circle.contains(to) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let _ = writeln!(faults, "  {from} imports {to} ({})", names.join(", "));
            }
        }
    }
    faults
}

#[test]
fn the_core_imports_downward_and_no_policy_imports_another() {
    let faults = against_layers(&Crate::read(&sources("core")).imports(), LAYERS);
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn the_economy_imports_downward() {
    let faults = against_layers(&Crate::read(&sources("economy")).imports(), ECONOMY);
    assert!(faults.is_empty(), "\n{faults}");
}

fn against_layers(imports: &Imports, layers: Layers) -> String {
    let layers: BTreeMap<&str, &[&str]> = layers.iter().copied().collect();
    let mut faults = String::new();
    for ((from, to), names) in imports {
        let (layer, below) = (part(from, 0), part(to, 0));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let import = format!("{from} imports {} of {to}", names.join(", "));
        let _ = match layers.get(layer) {
            // The crate's root re-exports names.
            None if layer == "lib" => Ok(()),
            None => writeln!(
                faults,
                "{from}: `{layer}` stands in no layer; add it to the crate's list"
            ),
            Some(_) if layer == below && POLICIES.contains(&layer) => {
                match part(from, 1) == part(to, 1) {
                    true => Ok(()),
                    false => writeln!(faults, "{import}: a policy imports no other policy"),
                }
            }
            Some(_) if layer == below => Ok(()),
            Some(allowed) if allowed.contains(&below) => Ok(()),
            Some(allowed) => writeln!(
                faults,
                "{import}: `{layer}` may import {}",
                match allowed {
                    [] => "nothing above itself".to_string(),
                    allowed => format!("only {}", allowed.join(", ")),
                }
            ),
        };
    }
    faults
}

/// Returns one part of a file's path, without its extension.
fn part(file: &str, at: usize) -> &str {
    let part = file.split('/').nth(at).unwrap_or_default();
    part.strip_suffix(".rs").unwrap_or(part)
}

fn example(files: &[(&str, &str)]) -> Imports {
    let files = files
        .iter()
        .map(|(name, text)| (name.to_string(), text.to_string()));
    Crate::new(files.collect()).imports()
}

#[test]
fn the_rule_about_circles_can_fail() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; pub use c::C;"),
        ("a.rs", "use crate::{b::{self, B}, C};"),
        ("b.rs", "fn f() { super::c::g(\"crate::b\") } // crate::b"),
        // A variant `C` of another type hands nothing on.
        (
            "c.rs",
            "use crate::d::D; pub struct C; const E: D = D::C;
             #[cfg(test)] mod tests { use crate::b; }",
        ),
        ("d.rs", "pub enum D { C }"),
    ];
    let imports = example(&files);
    let found: Vec<_> = imports
        .keys()
        .map(|(from, to)| format!("{from} {to}"))
        .collect();
    assert_eq!(found, ["a.rs b.rs", "a.rs c.rs", "b.rs c.rs", "c.rs d.rs"]);
    assert!(circles(&imports).is_empty());

    let mut closed = files;
    closed[3].1 = "pub struct C; impl crate::a::A {}";
    let said = in_circles("x", &example(&closed));
    assert!(
        said.starts_with("rust/x/src: 3 files in a circle:\n"),
        "{said}"
    );
    assert!(said.contains("  c.rs imports a.rs (A)\n"), "{said}");
}

#[test]
fn the_rules_about_layers_can_fail() {
    let cases = [
        (
            ("words/ids.rs", "use crate::config::Config;"),
            "words/ids.rs imports Config of config.rs: `words` may import nothing above itself",
        ),
        (
            ("config.rs", "use crate::order::fifo::Fifo;"),
            "config.rs imports Fifo of order/fifo.rs: `config` may import only words",
        ),
        (
            ("order/lifo.rs", "use super::fifo::Fifo;"),
            "order/lifo.rs imports Fifo of order/fifo.rs: a policy imports no other policy",
        ),
        (
            ("other.rs", "use crate::config::Config;"),
            "other.rs: `other` stands in no layer",
        ),
    ];
    for ((file, text), words) in cases {
        let rest = ["config.rs", "order.rs", "order/fifo.rs"].map(|name| (name, ""));
        let rest = rest.into_iter().filter(|(name, _)| *name != file);
        let files: Vec<_> = rest.chain([(file, text)]).collect();
        let said = against_layers(&example(&files), LAYERS);
        assert!(said.contains(words), "{said}");
    }
}
