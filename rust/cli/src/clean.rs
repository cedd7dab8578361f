//! Escapes text from a server before it reaches a terminal. An answer may hold any character; no
//! output of this file moves a cursor, changes colours or reverses the direction of writing.

use std::fmt::Write as _;

/// Characters that are invisible but change how a terminal shows what follows, or hide that two
/// texts differ: control characters, direction marks, zero-width spaces and tags.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns the text on one line, with every harmful character as its number, `\u{1b}`.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match is_harmful(c) {
            true => cleaned.extend(c.escape_unicode()),
            false => cleaned.push(c),
        }
    }
    cleaned
}

/// Cleans a server's JSON and keeps its meaning. Tabs and carriage returns, which JSON allows only
/// between values, become blanks. Other harmful characters become escapes.
pub(crate) fn clean_json(json: &str) -> String {
    let mut cleaned = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => cleaned.push(c),
            '\r' | '\t' => cleaned.push(' '),
            c if is_harmful(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(cleaned, "\\u{unit:04x}");
                }
            }
            c => cleaned.push(c),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hostile = "a\u{1b}[2J\u{9b}31m\r\n\u{7}\u{202e}b\u{200b}\u{7f}\u{e0041}c";
        let cleaned = clean(hostile);
        assert_eq!(
            cleaned,
            "a\\u{1b}[2J\\u{9b}31m\\u{d}\\u{a}\\u{7}\\u{202e}b\\u{200b}\\u{7f}\\u{e0041}c"
        );
        assert_eq!(clean("root.\u{e9}\u{4e2d} x"), "root.\u{e9}\u{4e2d} x");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let sent = "{\"a\":\r\n\t\"\u{9b}31m\u{202e}\u{7f}\u{e0041}\\u001b\"}";
        let shown = clean_json(sent);
        assert!(
            !shown.chars().any(|c| is_harmful(c) && c != '\n'),
            "{shown}"
        );
        let values: [Value; 2] = [sent, &shown].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(values[0], values[1]);
    }
}
