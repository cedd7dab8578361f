//! Texts of configuration files: a fault with its line, what a reader refuses unread, and how a
//! message quotes what was found.

use std::fmt;

/// How many characters of a wrong text a message repeats.
const SHOWN_MAX: usize = 60;

/// A fault of a file, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 when it is the whole file.
    pub line: u32,
    /// What was expected there, what was found, and what to do.
    pub problem: String,
}

impl Fault {
    /// A fault in `line`.
    pub fn new(line: u32, problem: impl Into<String>) -> Fault {
        let problem = problem.into();
        Fault { line, problem }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for Fault {}

/// Returns a file's text without its byte order mark. Refuses a text larger than `bytes_max`, and
/// bytes that are not UTF-8. `expected` completes the message for a large file.
///
/// # Errors
/// The first fault.
pub fn checked<'t>(text: &'t str, bytes_max: usize, expected: &str) -> Result<&'t str, Fault> {
    if text.len() > bytes_max {
        let problem = format!("is larger than {bytes_max} bytes; expected {expected}");
        return Err(Fault::new(0, problem));
    }
    // Hosts put this in the place of bytes that are not UTF-8.
    if let Some(at) = text.find('\u{fffd}') {
        let problem = "expected UTF-8, found other bytes; save the file as UTF-8";
        return Err(Fault::new(line_of(text, at), problem));
    }
    Ok(text.trim_start_matches('\u{feff}'))
}

/// Quotes what was found for a message, cut to 60 characters.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The line in which the byte at `at` stands.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes()[..at].iter();
    1 + before.filter(|byte| **byte == b'\n').count() as u32
}
