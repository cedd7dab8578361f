//! House rules as a test: guarantees for a reader of every file in the repository. The compiler and
//! clippy check what they can (clippy.toml); this file checks the rest.

use crate::sources::{files, root};
use std::fmt::Write;

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;

/// Generated files, which their own tests keep current.
const GENERATED: &[&str] = &["FrameLayout.java", "heddle.h"];

fn is_generated(name: &str) -> bool {
    GENERATED.iter().any(|generated| name.ends_with(generated))
}

#[test]
fn files_are_short_narrow_and_say_what_they_are() {
    let mut faults = String::new();
    for (name, text) in files(&[".rs", ".java", ".c", ".h"]) {
        if is_generated(&name) {
            continue;
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            let _ = writeln!(faults, "{name}: {lines} lines; it holds two things");
        }
        for (i, line) in text.lines().enumerate() {
            // Java cannot wrap an import.
            if line.chars().count() > COLUMNS_MAX && !line.starts_with("import ") {
                let _ = writeln!(faults, "{name}:{}: more than {COLUMNS_MAX} columns", i + 1);
            }
        }
        let said = if name.ends_with(".rs") {
            text.starts_with("//!") || text.starts_with("#!/")
        } else if name.ends_with(".java") {
            has_class_comment(&text)
        } else {
            text.starts_with("/*") || text.starts_with("//")
        };
        if !said {
            let _ = writeln!(
                faults,
                "{name}: does not begin with what it is and what it is not"
            );
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Tells whether a Java file has a class comment before its type, or a package comment.
fn has_class_comment(text: &str) -> bool {
    let words = [
        "public ",
        "final ",
        "abstract ",
        "class ",
        "interface ",
        "enum ",
        "@interface ",
    ];
    let declares = |line: &&str| words.iter().any(|word| line.starts_with(word));
    let before = text.lines().take_while(|line| !declares(line));
    before.into_iter().any(|line| line.starts_with("/**"))
}

#[test]
fn functions_fit_a_screen() {
    let mut faults = String::new();
    for (name, text) in files(&[".rs", ".java"]) {
        if is_generated(&name) {
            continue;
        }
        for (line, length) in function_lengths(&text) {
            if length > FUNCTION_LINES_MAX {
                let _ = writeln!(faults, "{name}:{line}: a function of {length} lines");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Returns start and length of every function, by the indentation of its first and last line.
/// Formatted code closes a body in the column of its head.
fn function_lengths(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut lengths = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let head = line.trim_start();
        let rust = [
            "fn ",
            "pub fn ",
            "pub(crate) fn ",
            "pub(super) fn ",
            "unsafe fn ",
        ]
        .iter()
        .any(|word| head.starts_with(word));
        let words = ["public ", "private ", "protected ", "static ", "void "];
        let java = words.iter().any(|word| head.starts_with(word))
            && head.contains('(')
            && !head.contains(" class ")
            && !head.ends_with(';');
        // A declaration without a body ends in `;`, one on a single line in `}`.
        let opens = lines[i..]
            .iter()
            .find(|line| line.ends_with(['{', ';', '}']));
        if (rust || java) && opens.is_some_and(|line| line.ends_with('{')) {
            let closing = format!("{}}}", " ".repeat(indent));
            let inside = |line: &&&str| line.is_empty() || line.starts_with(&" ".repeat(indent));
            let length = lines[i..]
                .iter()
                .take_while(inside)
                .position(|line| **line == closing);
            lengths.extend(length.map(|length| (i + 1, length + 1)));
        }
    }
    lengths
}

#[test]
fn the_rule_about_functions_can_fail() {
    let long = format!("fn long() {{\n{}}}\n", "    line();\n".repeat(100));
    assert_eq!(function_lengths(&long), [(1, 102)]);
    let java = format!("  public void f() {{\n{}  }}\n", "    line();\n".repeat(80));
    assert_eq!(function_lengths(&java), [(1, 82)]);
}

#[test]
fn unsafe_code_is_in_the_bridge_only() {
    for (name, text) in files(&[".rs"]) {
        let bridge = name.starts_with("rust/bridge/") || name.ends_with("tidy.rs");
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let used = code.contains("unsafe {") || code.contains("unsafe fn");
            assert!(
                bridge || !used,
                "{name}:{}: unsafe outside the bridge",
                i + 1
            );
        }
    }
}

#[test]
fn nothing_ties_the_repository_to_the_place_it_was_written_in() {
    // In pieces, so that this file passes its own rule.
    let banned = [
        concat!("/wo", "rk/"),
        concat!("crates", ".io/"),
        concat!("repo1.maven", ".org"),
        concat!("repo.maven.apache", ".org"),
        concat!("pypi", ".org"),
        concat!("deb.debian", ".org"),
    ];
    let kinds = [
        ".rs", ".java", ".c", ".h", ".md", ".gradle", ".toml", ".sh", ".json", "x", "run",
    ];
    for (name, text) in files(&kinds) {
        for (i, line) in text.lines().enumerate() {
            for word in banned {
                assert!(!line.contains(word), "{name}:{}: names {word}", i + 1);
            }
        }
    }
}

#[test]
fn every_policy_has_a_file_of_its_name_and_every_preset_a_page() {
    use heddle_core::catalogue;
    let stages = [
        ("share", catalogue::share_names()),
        ("order", catalogue::order_names()),
        ("place", catalogue::place_names()),
        ("rank", catalogue::rank_names()),
    ];
    for (stage, names) in stages {
        for name in names {
            let file = format!("rust/core/src/{stage}/{}.rs", name.replace('-', "_"));
            assert!(root().join(&file).exists(), "{name} should live in {file}");
        }
    }
    for preset in catalogue::PRESETS {
        let page = format!("docs/policies/{}.md", preset.name);
        assert!(root().join(&page).exists(), "{page} is missing");
    }
}

/// Quoted words that are names of policies but mean something else there.
const OTHER_WORDS: &[(&str, &str)] = &[
    // A key of the published answers.
    ("rust/economy/src/http/account.rs", "fifo"),
    // A value of a setting: jobs one after another.
    ("hfsp/settings.rs", "fifo"),
    // Values of a queue's key, as YARN's Fair Scheduler names them.
    ("config/leaf_order.rs", "fifo"),
    ("config/leaf_order.rs", "fair"),
    ("config/leaf_order.rs", "drf"),
    // A value of a queue's key.
    ("config/queues.rs", "capacity"),
    // How much a cluster, a frame or a queue holds.
    ("queues/QueueReports.java", "capacity"),
    ("bridge/src/frame.rs", "capacity"),
    ("http/v1/market.rs", "capacity"),
    // Hadoop's own schedulers, and the head of a column.
    ("bench/SchedulerKind.java", "fair"),
    ("bench/SchedulerKind.java", "capacity"),
    ("demo/Picture.java", "fair"),
    // Whose file queues come from.
    ("demo/StockFile.java", "fair"),
    ("demo/StockFile.java", "capacity"),
    ("grants/Contender.java", "fair"),
    ("grants/Contender.java", "capacity"),
    ("config/StockSource.java", "fair"),
    ("config/StockSource.java", "capacity"),
    ("rust/host/src/config.rs", "fair"),
    ("rust/host/src/config.rs", "capacity"),
    ("rust/cli/src/stock.rs", "fair"),
    // Fields and words of the stock schedulers' answers.
    ("queues/QueueDetails.java", "capacity"),
    ("rust/host/src/pages.rs", "capacity"),
    ("rust/host/src/pages/capacity.rs", "capacity"),
    ("rust/host/src/pages/capacity.rs", "fifo"),
    ("rust/host/src/pages/capacity/figures.rs", "capacity"),
    ("rust/host/src/pages/capacity/nodes.rs", "capacity"),
    ("rust/host/src/pages/capacity/settings.rs", "capacity"),
];

/// Products know policies only by the catalogue. A quoted name stands in the policy's own file or
/// folder, and where a preset lists its stages. Sections of the configuration are no names.
/// `rust/lab` has the experiments of each policy, `rust/fuzz` only tests. `rust/stock` has the
/// words of YARN's files, and the compositions that stand for them.
#[test]
fn no_policy_is_named_outside_its_own_file_and_the_catalogue() {
    use heddle_core::catalogue;
    let stages = [
        ("share", catalogue::share_names()),
        ("order", catalogue::order_names()),
        ("place", catalogue::place_names()),
        ("rank", catalogue::rank_names()),
        (
            "preset",
            catalogue::PRESETS
                .iter()
                .map(|preset| preset.name)
                .collect(),
        ),
    ];
    let mut faults = String::new();
    for (file, text) in files(&[".rs", ".java", ".js"]) {
        let experiments = ["rust/lab/", "rust/fuzz/", "rust/stock/"];
        let experiment = experiments.iter().any(|folder| file.starts_with(folder));
        let test = ["/tests", "/test/", "/benches/"]
            .iter()
            .any(|part| file.contains(part));
        if test || experiment || file.ends_with("/catalogue.rs") {
            continue;
        }
        for (stage, name) in named(&text, &stages) {
            let other = OTHER_WORDS
                .iter()
                .any(|(at, word)| file.ends_with(at) && word == name);
            let own = |stage: &str| {
                file.starts_with(&format!("rust/core/src/{stage}/{}", name.replace('-', "_")))
            };
            // A preset belongs to the entry that lists it.
            let lists = || text.contains("pub(crate) const ENTRY:");
            let at_home = match stage {
                "preset" => lists() || own("share") || own("order") || own("place"),
                stage => own(stage),
            };
            if !at_home && !other {
                let _ = writeln!(faults, "{file}: names the {stage} `{name}`");
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Returns the policies that are quoted in code outside tests.
fn named<'a>(
    text: &str,
    stages: &'a [(&'static str, Vec<&'static str>)],
) -> Vec<(&'static str, &'a &'static str)> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let code: String = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .filter(|line| !line.trim_start().starts_with("stages: ["))
        .collect();
    let quoted = |name: &str| {
        let said = |quote: char| {
            let word = format!("{quote}{name}{quote}");
            let mut after = code.split(word.as_str()).skip(1);
            after.any(|rest| !rest.starts_with(':'))
        };
        said('"') || said('\'')
    };
    let all = stages
        .iter()
        .flat_map(|(stage, names)| names.iter().map(|name| (*stage, name)));
    all.filter(|(_, name)| quoted(name)).collect()
}

#[test]
fn the_rule_about_names_can_fail() {
    let stages = [("order", vec!["fifo", "lifo", "delay"])];
    let text = "// \"lifo\"\nlet order = \"fifo\";\nstages: [\"lifo\"],\n{\"lifo\": 1}\n'delay'";
    assert_eq!(
        named(text, &stages),
        [("order", &"fifo"), ("order", &"delay")]
    );
}
