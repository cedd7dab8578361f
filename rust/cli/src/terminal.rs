//! Formats text for people: tables, times and single values. Does not query the terminal.

pub(crate) use crate::clean::{clean, clean_json};
use crate::failure::Failure;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Writes to standard output. A reader that closes early, such as `head`, is no fault.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.map_err(|error| Failure::output(&error)),
    }
}

/// Formats names and values in two columns.
pub(crate) fn pairs(lines: &[(&str, String)]) -> String {
    let line = |(name, value): &(&str, String)| format!("{name:<16} {}\n", clean(value));
    lines.iter().map(line).collect()
}

/// Prints a JSON value of our own, indented.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&clean_json(&format!("{value:#}\n")))
}

/// Cells wider than this overflow their column. A longer name would pad every row of a table with
/// as many blanks.
const WIDE_MAX: usize = 200;

/// Formats rows under a heading. Columns are as wide as they need; numbers align right.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| clean(cell)).collect())
        .collect();
    // Measure each column once: scanning all rows for every row takes seconds with thousands of
    // queues.
    let column = |(column, title): (usize, &&str)| {
        let cells = || rows.iter().filter_map(move |row| row.get(column));
        let width = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let wide = title.len().max(width).min(WIDE_MAX);
        (wide, cells().all(|cell| is_number(cell)))
    };
    let columns: Vec<(usize, bool)> = heading.iter().enumerate().map(column).collect();
    let mut text = String::new();
    let mut line = |row: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, &(wide, is_right)) in row.zip(&columns) {
            let _ = match is_right {
                true => write!(line, "{cell:>wide$}  "),
                false => write!(line, "{cell:<wide$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(&mut heading.iter().copied());
    for row in &rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

fn is_number(cell: &str) -> bool {
    !cell.is_empty()
        && cell
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-./%".contains(&byte))
}

/// Formats a value of an answer: numbers and texts as they are, null as `-`.
pub(crate) fn said(value: &Value) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_string(),
        Value::Bool(false) => "no".to_string(),
        other => other.to_string(),
    }
}

/// RFC 3339 has no text for later years.
const YEAR_10000_MS: u64 = 253_402_300_800_000;

fn instant(ms: u64) -> Option<SystemTime> {
    let since = Some(ms).filter(|&ms| ms < YEAR_10000_MS)?;
    UNIX_EPOCH.checked_add(Duration::from_millis(since))
}

/// Formats milliseconds since 1970 as a time in UTC.
pub(crate) fn time(value: &Value) -> String {
    match value.as_u64().and_then(instant) {
        Some(time) => humantime::format_rfc3339_seconds(time).to_string(),
        None => said(value),
    }
}

/// Formats ms since 1970 as a time in UTC with its milliseconds; as a number if it is no time.
pub(crate) fn time_ms(ms: i64) -> String {
    match u64::try_from(ms).ok().and_then(instant) {
        Some(time) => humantime::format_rfc3339_millis(time).to_string(),
        None => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_of_numbers_stand_to_the_right() {
        let rows = [["a", "10", "x"], ["bcd", "-", "yz"]].map(|row| row.map(String::from).to_vec());
        let expected = "queue   n  what\na      10  x\nbcd     -  yz\n";
        assert_eq!(table(&["queue", "n", "what"], &rows), expected);
    }

    /// Eight times the rows may take eight times as long, and three times that on a busy machine. A
    /// scan of all rows for every row would take 64 times as long.
    #[test]
    fn a_table_costs_what_its_rows_cost() {
        let time = |count: usize| {
            let row = |i: usize| (0..8).map(|c| format!("root.queue-{i}.{c}")).collect();
            let rows: Vec<Vec<String>> = (0..count).map(row).collect();
            let once = |_| {
                let start = std::time::Instant::now();
                let text = table(&["h"; 8], &rows);
                assert_eq!(text.lines().count(), count + 1);
                start.elapsed()
            };
            (0..5).map(once).min().expect("five times")
        };
        // One undisturbed round is enough.
        let fits = (0..10).any(|_| time(8_000) < time(1_000) * 24);
        assert!(fits, "8,000 rows take 24 times as long as 1,000");
    }

    #[test]
    fn a_cell_of_any_length_pads_no_other() {
        let long = "x".repeat(70_000);
        let rows = [vec![long.clone(), "1".into()], vec!["a".into(), "2".into()]];
        let text = table(&["name", "n"], &rows);
        assert!(text.contains(&long));
        assert!(
            text.lines().last().is_some_and(|line| line.len() == 203),
            "{text:.10}"
        );
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        // date -u -d @1700000000
        assert_eq!(time(&json!(1_700_000_000_999_u64)), "2023-11-14T22:13:20Z");
        assert_eq!(time(&json!(u64::MAX)), u64::MAX.to_string());
        assert_eq!(time(&Value::Null), "-");
    }
}
