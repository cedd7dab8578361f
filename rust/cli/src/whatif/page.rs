//! The report as one HTML page that loads nothing from anywhere.

use super::figures::{self, Change, Fate, Outcome};
use super::text::{FIGURES, all_jobs, rows};

const HEAD: &str = include_str!("head.html");

/// Rows of the table of jobs; `jobs.csv` has all.
const JOBS_MAX: usize = 1_000;

/// Returns the page.
pub(crate) fn page(
    outcomes: &[Outcome],
    baseline: usize,
    unknown: &[&str],
    pictures: &[String],
) -> String {
    let mut page = HEAD.to_string();
    page += "<h1>What if</h1><p>Times in seconds. <em>recorded</em> is what happened; every other \
             candidate is simulated from it. Click a heading to sort.</p>";
    let (heading, all) = all_jobs(outcomes);
    page += &table("All jobs", &heading, all);
    page += &pictures.concat();
    for (title, name, key) in [
        ("By queue", "queue", figures::queue_of as fn(&Fate) -> &str),
        ("By user", "user", figures::user_of),
    ] {
        let heading: Vec<&str> = [name, "candidate"].into_iter().chain(FIGURES).collect();
        page += &table(title, &heading, rows(outcomes, key));
    }
    for (at, other) in outcomes.iter().enumerate().skip(1) {
        if at == baseline {
            continue;
        }
        let before = &outcomes[baseline];
        let title = format!("{} instead of {}", other.name, before.name);
        page += &changes(
            &format!("Users: {title}"),
            "user",
            &figures::users(before, other),
        );
        page += &changes(
            &format!("Jobs: {title}"),
            "job",
            &figures::jobs(before, other),
        );
    }
    page += "<h2>What this does not know</h2><ul>";
    for line in unknown {
        page += &format!("<li>{}</li>", escaped(line));
    }
    page += "</ul></main></body></html>\n";
    page
}

/// Returns a table of changes; of many, those at both ends.
fn changes(title: &str, name: &str, changes: &[Change]) -> String {
    let row = |change: &Change| {
        let numbers = [change.before_s, change.after_s, change.by_s()];
        let numbers = numbers.map(|number| format!("{number:.1}"));
        [change.name.clone()].into_iter().chain(numbers).collect()
    };
    let shown: Vec<Vec<String>> = match changes.len() > JOBS_MAX {
        true => {
            let ends = changes.iter().take(JOBS_MAX / 2);
            ends.chain(changes.iter().skip(changes.len() - JOBS_MAX / 2))
                .map(row)
                .collect()
        }
        false => changes.iter().map(row).collect(),
    };
    table(title, &[name, "before", "after", "change"], shown)
}

fn table(title: &str, heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let mut text = format!("<h2>{}</h2><div><table><thead>", escaped(title));
    text += &cells("th", &mut heading.iter().copied());
    text += "</thead><tbody>";
    for row in &rows {
        text += &cells("td", &mut row.iter().map(String::as_str));
    }
    text += "</tbody></table></div>";
    text
}

/// Returns a text of users for HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_cannot_become_markup() {
        let fate = Fate {
            user: "<script>alert(1)</script>".to_string(),
            queue: "\" onload=\"x".to_string(),
            turn_s: Some(1.0),
            ..Fate::default()
        };
        let outcome = Outcome {
            name: "a&b".to_string(),
            fates: vec![fate],
            ..Outcome::default()
        };
        let page = page(&[outcome.clone(), outcome], 1, &["<b>"], &[]);
        assert_eq!(page.matches("<script>").count(), 1, "the page's own");
        assert!(page.contains("a&amp;b") && page.contains("&lt;b&gt;"));
        assert!(!page.contains("\" onload"));
        for foreign in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}
