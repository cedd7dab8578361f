//! Checks that commands in documents exist, with the options shown. The help of `heddle` lists its
//! own. For `./x` the help lists the commands, and the programs that read the options prove those.

use super::{Document, Kind, code_spans, documents, files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;

/// Characters that end a command in a line of shell.
const ENDS: &[char] = &['|', ';', ')', '&', '>', '<', '"', '\'', '`', '#'];

/// Returns the arguments of each call of `program` in a line of shell or a code span.
fn calls<'a>(line: &'a str, program: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(program) {
        let before = line[..at].chars().next_back();
        let rest = &line[at + program.len()..];
        if before.is_some_and(|c| !" ($|!{".contains(c)) || !rest.starts_with(' ') {
            continue;
        }
        let end = rest.find(ENDS).unwrap_or(rest.len());
        let words: Vec<&str> = rest[..end].split_whitespace().collect();
        if words
            .first()
            .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        {
            found.push(words);
        }
    }
    found
}

/// Returns every call in the documents, with its place; fails if there are fewer than `least`.
fn all_calls(documents: &[Document], program: &str, least: usize) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for document in documents {
        for line in document.lines() {
            let parts: Vec<&str> = match &line.kind {
                // Output of a command.
                Kind::Code(language) if language == "text" => Vec::new(),
                Kind::Code(_) => vec![line.text],
                _ => code_spans(line.text)
                    .filter(|span| span.starts_with(program))
                    .collect(),
            };
            for words in parts.into_iter().flat_map(|part| calls(part, program)) {
                let words = words.into_iter().map(str::to_string).collect();
                found.push((format!("{}:{}", document.name, line.number), words));
            }
        }
    }
    assert!(
        found.len() >= least,
        "only {} calls of {program}",
        found.len()
    );
    found
}

/// Returns the options that a text names.
fn options(text: &str) -> BTreeSet<&str> {
    let in_option = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = text.split(|c| !in_option(c));
    words.filter(|word| word.starts_with("--")).collect()
}

/// The help of `heddle` and of its subcommands, fetched on demand.
#[derive(Default)]
struct Help(BTreeMap<Vec<String>, String>);

impl Help {
    fn of(&mut self, path: &[String]) -> &str {
        self.0.entry(path.to_vec()).or_insert_with(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
            let output = command.args(path).arg("--help").output().expect("it runs");
            assert!(output.status.success(), "heddle {path:?} --help fails");
            String::from_utf8(output.stdout).expect("help is UTF-8")
        })
    }

    /// Returns the commands that the help of `path` lists.
    fn commands(&mut self, path: &[String]) -> Vec<String> {
        let lines = self.of(path).lines();
        let listed = lines.skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| line.starts_with(' '));
        listed
            .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
            .map(str::to_string)
            .collect()
    }

    /// Returns the fault of a call, if it has one.
    fn fault(&mut self, words: &[String]) -> Option<String> {
        let mut path = Vec::new();
        for word in words {
            let commands = self.commands(&path);
            if commands.contains(word) {
                path.push(word.clone());
            } else if !commands.is_empty() && !word.starts_with('-') {
                return Some(format!("no command `{word}` in {path:?}"));
            } else {
                break;
            }
        }
        let known = options(self.of(&path));
        let unknown = |option: &&String| !known.contains(option.as_str());
        let mut options = words.iter().filter(|word| word.starts_with("--"));
        let option = options.find(unknown)?;
        Some(format!("heddle {} has no {option}", path.join(" ")))
    }
}

#[test]
fn commands_of_heddle_exist_with_their_options() {
    let mut help = Help::default();
    let mut faults = String::new();
    for (place, words) in all_calls(&documents(), "heddle", 50) {
        if let Some(fault) = help.fault(&words) {
            let _ = writeln!(faults, "{place}: {fault}");
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    assert!(help.fault(&words("bidd alice 3")).is_some());
    assert!(help.fault(&words("queue add carol")).is_none());
    assert!(help.fault(&words("queue lend carol")).is_some());
    assert!(help.fault(&words("ledger --form")).is_some());
}

/// Returns the programs that read the options of a command of `./x`.
fn readers(command: &str) -> Vec<Document> {
    let java = "integration/src/main/java/io/heddle/integration";
    let folder = match command {
        "demo" | "bench" | "grants" | "storm" => format!("{java}/{command}/"),
        "soak" => "integration/soak/".to_string(),
        "fuzz" => "scripts/fuzz".to_string(),
        _ => String::new(),
    };
    let all = files(&["/fuzz", ".java", ".py", "x"]);
    all.into_iter()
        .filter(|file| file.name == "x" || !folder.is_empty() && file.name.starts_with(&folder))
        .collect()
}

/// Returns the fault of a call of `./x`, by its help.
fn fault_of_x(words: &[String], help: &str) -> Option<String> {
    let command = words[0].as_str();
    let listed = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("./x "));
    let mut listed = listed.filter_map(|rest| rest.split(' ').next());
    if !listed.any(|known| known == command) {
        return Some(format!("./x has no command {command}"));
    }
    let readers = readers(command);
    // `--name` in scripts; "name" for libraries that add the dashes.
    let reads = |reader: &Document, option: &str, name: &str| {
        options(&reader.text).contains(option) || reader.text.contains(&format!("\"{name}\""))
    };
    let mut is_value = false;
    for word in &words[1..] {
        let known = match word.strip_prefix("--") {
            Some(name) => readers.iter().any(|reader| reads(reader, word, name)),
            None if command == "test" && !is_value => help.contains(word.as_str()),
            None => true,
        };
        is_value = word.starts_with("--");
        if !known {
            return Some(format!("./x {command} knows no {word}"));
        }
    }
    None
}

#[test]
fn commands_of_x_exist_with_their_options() {
    let mut command = Command::new("./x");
    let output = command.arg("help").current_dir(root()).output();
    let help = String::from_utf8(output.expect("./x runs").stdout).expect("help is UTF-8");
    let mut faults = String::new();
    for (place, words) in all_calls(&documents(), "./x", 20) {
        if let Some(fault) = fault_of_x(&words, &help) {
            let _ = writeln!(faults, "{place}: {fault}");
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    assert!(fault_of_x(&words("dance"), &help).is_some());
    assert!(fault_of_x(&words("demo --polizy fair"), &help).is_some());
    assert!(fault_of_x(&words("test rusty"), &help).is_some());
}

#[test]
fn packages_that_cargo_is_asked_for_exist() {
    let manifests = files(&["Cargo.toml"]);
    for (place, words) in all_calls(&documents(), "cargo", 3) {
        for pair in words.windows(2).filter(|pair| pair[0] == "-p") {
            let line = format!("name = \"{}\"", pair[1]);
            let known = manifests
                .iter()
                .any(|manifest| manifest.text.contains(&line));
            assert!(known, "{place}: there is no package {}", pair[1]);
        }
    }
}

#[test]
fn calls_are_found_in_shell_and_in_spans() {
    let words = |line| calls(line, "heddle");
    assert_eq!(words("until heddle jobs | grep x"), [["jobs"]]);
    assert_eq!(words("a=$(heddle info \"$1\")"), [["info"]]);
    assert_eq!(
        words("heddle sign --until +1h >signed"),
        [["sign", "--until", "+1h"]]
    );
    assert!(words("the heddle.json of heddle: 0.1.0").is_empty());
}
