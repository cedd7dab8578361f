//! The sentences that a user or an operator can see, as a list in `docs/develop/messages.txt`: a
//! reviewer reads it as a whole, and a change of a sentence shows up there.
//!
//! After a change of a sentence, `UPDATE=1 cargo test -p heddle-core --test house messages::`
//! writes it.

use crate::sources;
use crate::tokens::{self, Kind, Language, Token, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

const LIST: &str = "docs/develop/messages.txt";
const UPDATE: &str = "UPDATE=1 cargo test -p heddle-core --test house messages::";

/// Where messages are, and in what language.
const SOURCES: &[(&str, &str, Language)] = &[
    ("rust/", ".rs", Language::Rust),
    ("java/src/main/", ".java", Language::Java),
    ("rust/economy/console/", ".js", Language::JavaScript),
];

/// Tools and checks for developers: of these, only what they print counts.
const TOOLS: &[&str] = &[
    "rust/lab/",
    "rust/fuzz/",
    "rust/core/src/engine/invariants.rs",
    "rust/core/src/engine/users/check.rs",
    "rust/sim/src/check",
    "rust/sim/src/host.rs",
    "rust/sim/src/link.rs",
    "rust/sim/src/world",
];
const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Calls and macros whose text says to a developer why something cannot happen.
const FOR_DEVELOPERS: &[&str] = &[
    "expect",
    "expect_err",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
];

/// How SQL, style sheets, headers and patterns begin, which are no sentences.
const CODE: &[&str] = &[
    "ALTER ",
    "BEGIN ",
    "CREATE ",
    "DELETE ",
    "DROP ",
    "FOR UPDATE",
    "INSERT ",
    "ON CONFLICT ",
    "PRAGMA ",
    "SELECT ",
    "SET ",
    "TEXT COLLATE ",
    "UPDATE ",
    ":root{",
    "default-src ",
    "[\\\\w",
    "{head} VALUES",
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sentence {
    line: usize,
    text: String,
}

/// The sentences by file; each file's in their order, repeated ones once.
type Sentences = BTreeMap<String, Vec<Sentence>>;

#[test]
fn every_sentence_for_users_is_in_the_list() {
    let found = sentences();
    let path = sources::root().join(LIST);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, written(&found)).expect("the list can be written");
    }
    let faults = compare(&found, &fs::read_to_string(&path).unwrap_or_default());
    assert!(
        faults.is_empty(),
        "\n{faults}Read each of them once as its user will; then `{UPDATE}` writes the list."
    );
}

fn sentences() -> Sentences {
    let mut all = Sentences::new();
    for (folder, ending, language) in SOURCES {
        let mut count = 0;
        for (name, text) in sources::files(&[ending]) {
            let rust = *language == Language::Rust;
            let product = !rust || name.split('/').nth(2) == Some("src");
            let test = name.ends_with("tests.rs") || name.contains("/tests/");
            if name.starts_with(folder) && product && !test {
                let tool = TOOLS.iter().any(|tool| name.starts_with(tool));
                let found = in_text(&text, *language, tool);
                count += found.len();
                all.insert(name, found);
            }
        }
        assert!(count > 0, "no sentence in {folder}**{ending}");
    }
    all.retain(|_, found| !found.is_empty());
    all
}

/// The sentences of one file; of a tool, only those that it prints.
fn in_text(text: &str, language: Language, tool: bool) -> Vec<Sentence> {
    let mut tokens = tokens::tokens(text, language);
    if language == Language::Rust {
        tokens = without_tests(tokens);
    }
    let mut found = Vec::new();
    if tool {
        let prints = |at: &usize| PRINTS.iter().any(|name| called(&tokens, *at) == Some(name));
        for at in (0..tokens.len()).filter(prints) {
            collect(&tokens[at + 2..end(&tokens, at + 2)], language, &mut found);
        }
    } else {
        collect(&tokens, language, &mut found);
    }
    let mut seen = BTreeSet::new();
    found.retain(|sentence| is_sentence(&sentence.text) && seen.insert(sentence.text.clone()));
    found
}

fn collect(tokens: &[Token], language: Language, found: &mut Vec<Sentence>) {
    let rust = language == Language::Rust;
    let mut at = 0;
    while at < tokens.len() {
        let developers = |name: &str| FOR_DEVELOPERS.contains(&name);
        let attribute = tokens[at].is("#");
        if rust && (attribute || called(tokens, at).is_some_and(developers)) {
            let open = at + 1 + usize::from(tokens[at + 1].is("!"));
            at = end(tokens, open);
        } else if rust && called(tokens, at) == Some("concat") {
            let close = end(tokens, at + 2);
            let parts = tokens[at..close].iter().filter(|t| t.kind == Kind::Text);
            found.push(Sentence {
                line: tokens[at].line,
                text: parts.map(|part| part.text.as_str()).collect(),
            });
            at = close;
        } else if tokens[at].kind == Kind::Text {
            at = joined(tokens, at, language, found);
        } else {
            at += 1;
        }
    }
}

/// Pushes the text that begins here with all that `+` joins to it, `{}` for each value, then the
/// texts inside those values. Returns where it ends.
fn joined(tokens: &[Token], from: usize, language: Language, found: &mut Vec<Sentence>) -> usize {
    let adds = |at: usize| language != Language::Rust && tokens.get(at).is_some_and(|t| t.is("+"));
    let mut text = tokens[from].text.clone();
    if from > 0 && adds(from - 1) {
        text.insert_str(0, "{}");
    }
    let mut inside = Vec::new();
    collect(&tokens[from].inner, language, &mut inside);
    let mut at = from + 1;
    while adds(at) {
        let operand = &tokens[at + 1..operand_end(tokens, at + 1)];
        match operand {
            [part] if part.kind == Kind::Text => {
                text.push_str(&part.text);
                collect(&part.inner, language, &mut inside);
            }
            _ => {
                text.push_str("{}");
                collect(operand, language, &mut inside);
            }
        }
        at += 1 + operand.len();
    }
    let line = tokens[from].line;
    found.push(Sentence { line, text });
    found.extend(inside);
    at
}

/// Where a value that `+` joins ends.
fn operand_end(tokens: &[Token], from: usize) -> usize {
    let mut at = from;
    while at < tokens.len() {
        let token = &tokens[at];
        if [")", "]", "}", ",", ";", ":", "?", "+"]
            .iter()
            .any(|mark| token.is(mark))
        {
            break;
        }
        at = match token.text.as_str() {
            "(" | "[" | "{" if token.kind == Kind::Code => end(tokens, at),
            _ => at + 1,
        };
    }
    at
}

/// The name of the function or macro that is called here.
fn called(tokens: &[Token], at: usize) -> Option<&str> {
    let open = tokens.get(at + 1)?;
    let is_macro = open.is("!") && tokens.get(at + 2).is_some_and(|token| token.is("("));
    (tokens[at].kind == Kind::Code && (open.is("(") || is_macro)).then_some(&tokens[at].text)
}

/// Behind the bracket that closes the one here.
fn end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        let is_any = |marks: [&str; 3]| marks.iter().any(|mark| token.is(mark));
        depth += i32::from(is_any(["(", "[", "{"])) - i32::from(is_any([")", "]", "}"]));
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Two words, or one and a value, with a blank between them; no code.
fn is_sentence(text: &str) -> bool {
    let value = |part: &str| part.contains(['{', '%']);
    let word = |part: &str| {
        let part = part.trim_matches(|c: char| c.is_ascii_punctuation());
        !part.is_empty() && part.chars().all(|c| c.is_alphabetic() || "-'".contains(c))
    };
    let parts: Vec<&str> = text.split_whitespace().collect();
    let values = parts.iter().filter(|part| value(part)).count();
    let words = parts.iter().filter(|part| !value(part) && word(part));
    let words = words.count();
    let code = CODE
        .iter()
        .any(|start| text.trim_start().starts_with(start));
    words > 0 && words + values > 1 && !code
}

fn written(found: &Sentences) -> String {
    let mut list = format!(
        "# The sentences that a user or an operator can see, by file, in the file's order. `{{}}`\n\
         # stands for a value. After a change: {UPDATE}\n"
    );
    for (file, sentences) in found {
        let _ = writeln!(list, "\n{file}");
        for sentence in sentences {
            let _ = writeln!(list, "  {}", sentence.text);
        }
    }
    list
}

/// What the list lacks, has without reason, or has in another order.
fn compare(found: &Sentences, list: &str) -> String {
    let mut faults = String::new();
    let mut listed: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    let mut file = "";
    for (at, line) in list.lines().enumerate() {
        match line.strip_prefix("  ") {
            Some(sentence) => listed.entry(file).or_default().push((at + 1, sentence)),
            None if line.is_empty() || line.starts_with('#') => {}
            None => file = line,
        }
    }
    for (file, sentences) in found {
        let listed = listed.remove(file.as_str()).unwrap_or_default();
        let texts: Vec<&str> = sentences.iter().map(|s| s.text.as_str()).collect();
        let lines: Vec<&str> = listed.iter().map(|(_, text)| *text).collect();
        let faults_before = faults.len();
        for sentence in sentences {
            if !lines.contains(&sentence.text.as_str()) {
                let Sentence { line, text } = sentence;
                let _ = writeln!(faults, "{file}:{line}: {LIST} lacks \"{text}\"");
            }
        }
        for (at, text) in listed {
            if !texts.contains(&text) {
                let _ = writeln!(faults, "{LIST}:{at}: gone from {file}: \"{text}\"");
            }
        }
        if faults.len() == faults_before && texts != lines {
            let _ = writeln!(faults, "{file}: {LIST} has its sentences in another order");
        }
    }
    for (file, sentences) in listed {
        for (at, text) in sentences {
            let _ = writeln!(faults, "{LIST}:{at}: gone from {file}: \"{text}\"");
        }
    }
    faults
}

fn texts(text: &str, language: Language) -> Vec<String> {
    let found = in_text(text, language, false);
    found.into_iter().map(|sentence| sentence.text).collect()
}

#[test]
fn what_only_developers_see_is_left_out() {
    let rust = r##"
        //! no comment
        /// nor /* that */
        #[must_use = "no attribute"]
        fn f<'a>() {
            g("one sentence \
               on two lines", 'x', "nothing");
            let raw = r#"in "raw" quotes"#;
            concat!("joined ", "by concat");
            x.expect("it cannot fail");
            assert!(x, "nor here {x}");
            "SELECT no FROM sql";
            "an \"escaped\" {name}";
            "{}: {}";
            "file:{}";
            "no {}";
        }
        #[cfg(test)]
        mod tests { const A: &str = "in a test"; }
        const B: &str = "after it";
    "##;
    let found = [
        "one sentence on two lines",
        "in \"raw\" quotes",
        "joined by concat",
        "an \"escaped\" {name}",
        "no {}",
        "after it",
    ];
    assert_eq!(texts(rust, Language::Rust), found);
    let tool = "fn f() { let x = \"not printed\"; println!(\"is printed\"); g(\"nor this\"); }";
    let printed = in_text(tool, Language::Rust, true);
    assert_eq!(printed.len(), 1);
    assert_eq!(printed[0].text, "is printed");
}

#[test]
fn joined_texts_are_one_sentence() {
    let java = "f(name + \" is not \" + (yes ? \"a queue\" : \"one of them\") + x.y(\"a, b\", 1)\n\
                + \"; \"\n + \"no more\"); char c = '\"';";
    assert_eq!(
        texts(java, Language::Java),
        ["{} is not {}{}; no more", "a queue", "one of them", "a, b"]
    );
    let script = "f(`a ${g('b c', `d ${e}`)} f` + ' g', /'\"/.test(a) / 2, 'it\\'s h');";
    assert_eq!(
        texts(script, Language::JavaScript),
        ["a {} f g", "b c", "d {}", "it's h"]
    );
}

#[test]
fn a_list_that_is_not_current_is_found_out() {
    let text = "f(\"one thing\");\ng(\"two things\");";
    let found = Sentences::from([("a.rs".into(), in_text(text, Language::Rust, false))]);
    let list = written(&found);
    assert_eq!(compare(&found, &list), "");
    assert_eq!(
        compare(&found, &list.replace("two", "three")),
        format!(
            "a.rs:2: {LIST} lacks \"two things\"\n\
             {LIST}:6: gone from a.rs: \"three things\"\n"
        )
    );
    assert_eq!(
        compare(&found, &(list + "\nb.rs\n  old words\n")),
        format!("{LIST}:9: gone from b.rs: \"old words\"\n")
    );
    let turned = "a.rs\n  two things\n  one thing\n";
    assert!(compare(&found, turned).contains("another order"));
    assert!(compare(&found, "").contains("lacks \"one thing\""));
}
