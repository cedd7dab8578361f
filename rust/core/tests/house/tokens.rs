//! Splits Rust, Java and JavaScript into names, marks and texts, without comments. Knows no
//! grammar beyond that.
#![allow(dead_code)] // Not every test needs every part.

/// Whose rules hold for quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Java,
    JavaScript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, a number or punctuation; `::` is one token.
    Code,
    /// A literal, without its quotes. `{}` stands for each `${..}` of a JavaScript template.
    Text,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// The code inside the `${..}` of a template.
    pub(crate) inner: Vec<Token>,
}

impl Token {
    pub(crate) fn is(&self, code: &str) -> bool {
        self.kind == Kind::Code && self.text == code
    }
}

pub(crate) fn tokens(text: &str, language: Language) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        line: 1,
        language,
        tokens: Vec::new(),
    };
    reader.read(None);
    reader.tokens
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    line: usize,
    language: Language,
    tokens: Vec<Token>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [char] {
        &self.chars[self.at..]
    }

    fn skip(&mut self, length: usize) -> &'a [char] {
        let end = self.chars.len().min(self.at + length);
        let skipped = &self.chars[self.at..end];
        self.line += skipped.iter().filter(|c| **c == '\n').count();
        self.at = end;
        skipped
    }

    /// Reads until the end, or until the brace that closes a `${`.
    fn read(&mut self, closing: Option<char>) {
        let mut depth = 0;
        while let [first, ..] = self.rest() {
            if Some(*first) == closing && depth == 0 {
                self.skip(1);
                return;
            }
            depth += i32::from(*first == '{') - i32::from(*first == '}');
            self.next();
        }
    }

    fn next(&mut self) {
        use Language::{Java, JavaScript, Rust};
        let rest = self.rest();
        let line = self.line;
        match (self.language, rest) {
            (_, ['/', '/', ..]) => {
                self.skip(length_to(rest, &['\n']));
            }
            (_, ['/', '*', ..]) => {
                let length = 2 + length_to(&rest[2..], &['*', '/']) + 2;
                self.skip(length);
            }
            (Rust, ['r', '"', ..] | ['r', '#', '"', ..]) => {
                let hashes = usize::from(rest[1] == '#');
                let end: &[char] = if hashes == 1 { &['"', '#'] } else { &['"'] };
                let length = length_to(&rest[2 + hashes..], end);
                let skipped = self.skip(2 + hashes + length + end.len());
                let inside = &skipped[2 + hashes..2 + hashes + length];
                self.text(line, shown(&inside.iter().collect::<String>()), Vec::new());
            }
            (Rust | Java, ['\'', '\\', ..]) => {
                let length = 3 + length_to(&rest[3..], &['\'']) + 1;
                self.skip(length);
            }
            (Rust | Java, ['\'', _, '\'', ..]) => {
                self.skip(3);
            }
            (JavaScript, ['/', ..]) if self.starts_expression() => {
                self.skip(1);
                self.quoted('/');
            }
            (_, ['"', ..]) | (JavaScript, ['\'' | '`', ..]) => {
                let quote = self.skip(1)[0];
                let (text, inner) = self.quoted(quote);
                self.text(line, text, inner);
            }
            _ => self.code(),
        }
    }

    fn code(&mut self) {
        let rest = self.rest();
        let line = self.line;
        let is_word = |c: &&char| c.is_alphanumeric() || **c == '_';
        let length = match rest {
            [':', ':', ..] => 2,
            _ => rest.iter().take_while(is_word).count().max(1),
        };
        let text: String = self.skip(length).iter().collect();
        if !text.trim().is_empty() {
            self.tokens.push(Token {
                line,
                kind: Kind::Code,
                text,
                inner: Vec::new(),
            });
        }
    }

    fn text(&mut self, line: usize, text: String, inner: Vec<Token>) {
        self.tokens.push(Token {
            line,
            kind: Kind::Text,
            text,
            inner,
        });
    }

    /// Whether a `/` here begins a regular expression.
    fn starts_expression(&self) -> bool {
        let value = |token: &Token| {
            token.kind == Kind::Text
                || token.is(")")
                || token.is("]")
                || token.text.ends_with(char::is_alphanumeric)
        };
        !self.tokens.last().is_some_and(value)
    }

    /// Reads up to the quote that closes a text, and returns it and the code inside it. An escaped
    /// line end takes the indentation of the next line with it.
    fn quoted(&mut self, quote: char) -> (String, Vec<Token>) {
        let mut text = String::new();
        let mut inner = Vec::new();
        loop {
            match self.rest() {
                [] => break,
                ['\\', '\n', ..] => {
                    self.skip(1);
                    let blank = self.rest().iter().take_while(|c| c.is_whitespace());
                    let length = blank.count();
                    self.skip(length);
                }
                ['\\', '"' | '\'' | '`', ..] => text.push(self.skip(2)[1]),
                ['\\', ..] => text.extend(self.skip(2)),
                ['$', '{', ..] if quote == '`' => {
                    self.skip(2);
                    text.push_str("{}");
                    let before = std::mem::take(&mut self.tokens);
                    self.read(Some('}'));
                    inner.extend(std::mem::replace(&mut self.tokens, before));
                }
                [c, ..] if *c == quote => {
                    self.skip(1);
                    break;
                }
                _ => text.extend(self.skip(1)),
            }
        }
        (shown(&text), inner)
    }
}

/// The text on one line.
fn shown(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// How far it is to these characters, or to the end.
fn length_to(rest: &[char], wanted: &[char]) -> usize {
    let found = rest
        .windows(wanted.len())
        .position(|window| window == wanted);
    found.unwrap_or(rest.len())
}

/// Drops what follows `#[cfg(test)]`, up to its `;` or its closing brace.
pub(crate) fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        let marked =
            rest.len() >= mark.len() && rest.iter().zip(mark).all(|(token, mark)| token.is(mark));
        if !marked {
            kept.push(first.clone());
            rest = after;
            continue;
        }
        rest = &rest[mark.len()..];
        let mut depth = 0;
        while let [first, after @ ..] = rest {
            depth += i32::from(first.is("{")) - i32::from(first.is("}"));
            rest = after;
            if depth == 0 && (first.is(";") || first.is("}")) {
                break;
            }
        }
    }
    kept
}
