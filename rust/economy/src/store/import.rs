//! Reads the budget file of the published scheduler (DP-30). Each line has a queue's name, its
//! budget and its spending rate, separated by blanks. Skips other lines, and reports the number of
//! each that is not blank. Existing accounts stay unchanged.

use crate::record::Change;
use crate::store::book::Book;
use heddle_core::words::credits::Credits;
use std::collections::BTreeMap;
use std::fmt;

/// The longest full path of a queue.
const NAME_BYTES_MAX: usize = 255;

/// The result of reading a budget file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The changes to commit: they open accounts, grant budgets, set rates.
    pub changes: Vec<Change>,
    /// The skipped lines.
    pub faults: Vec<Fault>,
}

/// A skipped line and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number, from 1.
    pub line: usize,
    /// The error, with the expected content.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Reads `text`, given the books. `prefix`, such as `root.`, is put before names that do not begin
/// with it; `by` is the importing user.
pub fn import(text: &str, book: &Book, prefix: &str, by: &str) -> Import {
    // An editor may have put a byte order mark first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut import = Import::default();
    let mut seen = BTreeMap::new();
    for (at, text) in text.lines().enumerate() {
        let line = at + 1;
        if text.trim().is_empty() {
            continue;
        }
        let read = parse(text, prefix).and_then(|(queue, budget, rate)| {
            if let Some(first) = seen.get(&queue) {
                return Err(format!("queue {queue} is already defined in line {first}"));
            }
            if book.accounts.contains_key(&queue) {
                return Err(format!("queue {queue} has an account already, which stays"));
            }
            Ok((queue, budget, rate))
        });
        match read {
            Ok((queue, amount, rate)) => {
                seen.insert(queue.clone(), line);
                let (by, why) = (by.to_string(), format!("budget file, line {line}"));
                let granted = queue.clone();
                import.changes.push(Change::Open {
                    queue: queue.clone(),
                });
                import.changes.push(Change::Grant {
                    queue: granted,
                    amount,
                    by,
                    why,
                });
                import.changes.push(Change::Rate { queue, rate });
            }
            Err(reason) => import.faults.push(Fault { line, reason }),
        }
    }
    import
}

fn parse(line: &str, prefix: &str) -> Result<(String, Credits, Credits), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, budget, rate] = words[..] else {
        let found = words.len();
        return Err(format!("expected `queue budget rate`, found {found} words"));
    };
    let queue = match name.strip_prefix(prefix) {
        Some(_) => name.to_string(),
        None => format!("{prefix}{name}"),
    };
    // The same rules as for requests: no request could name such an account.
    let odd = name.chars().any(char::is_control) || queue.split('.').any(str::is_empty);
    if queue.len() > NAME_BYTES_MAX || odd {
        return Err(format!(
            "expected a name of at most {NAME_BYTES_MAX} bytes, without control characters and \
             without empty parts between its dots"
        ));
    }
    Ok((queue, amount("budget", budget)?, amount("rate", rate)?))
}

fn amount(what: &str, word: &str) -> Result<Credits, String> {
    let wrong = || format!("{what}: expected a number of credits from 0 to 1e9, not {word}");
    let number: f64 = word.parse().map_err(|_| wrong())?;
    let credits = Credits::from_number(number).map_err(|_| wrong())?;
    if credits == Credits::ZERO && number > 0.0 {
        return Err(format!(
            "{what}: expected 0 or at least a millionth of a credit, not {word}"
        ));
    }
    Ok(credits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Account;

    fn open(queue: &str, amount: f64, rate: f64, line: usize) -> Vec<Change> {
        let credits = |number| Credits::from_number(number).unwrap();
        let queue = queue.to_string();
        let by = "admin".to_string();
        vec![
            Change::Open {
                queue: queue.clone(),
            },
            Change::Grant {
                queue: queue.clone(),
                amount: credits(amount),
                by,
                why: format!("budget file, line {line}"),
            },
            Change::Rate {
                queue,
                rate: credits(rate),
            },
        ]
    }

    #[test]
    fn lines_of_the_original_budget_file_are_read_and_bad_ones_named() {
        let text = "\u{feff}alice 100.5 0.25\n\n\
                    bob 7\n\
                    carol many 1\n\
                    dave -5 1\n\
                    erin NaN 1\n\
                    frank inf 1\n\
                    gina 1 1e10\n\
                    \troot.hal  3   0 \r\n\
                    alice 1 1\n\
                    known 5 5\n\
                    ivy 1 2 3\n\
                    judy 0.0000014 1E-6\n\
                    a..b 1 1\n\
                    ../x 1 1\n\
                    .kim 1 1\n\
                    leo 0.0000001 1\n\
                    mia 0 1e-7";
        let mut book = Book::default();
        let before = Account::default();
        book.accounts.insert("root.known".to_string(), before);
        let import = import(text, &book, "root.", "admin");
        let good = [
            open("root.alice", 100.5, 0.25, 1),
            open("root.hal", 3.0, 0.0, 9),
            // Rounded to the nearest millionth.
            open("root.judy", 0.000001, 0.000001, 13),
        ];
        assert_eq!(import.changes, good.concat());
        let bad: Vec<usize> = import.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(bad, [3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 16, 17, 18]);
        assert!(
            import.faults[6]
                .to_string()
                .contains("already defined in line 1")
        );
        assert!(import.faults[7].to_string().contains("stays"));
    }
}
