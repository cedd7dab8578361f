//! The report as one HTML page that loads nothing from anywhere.

use super::figures::{self, Change, Fate, Outcome};
use super::pictures::{Pictures, short};
use super::text::{FIGURES, all_jobs, rows};
use heddle_economy::http::escaped;

const HEAD: &str = include_str!("head.html");

/// Jobs, or users, that win the most, and that lose the most; queues, or users, with figures.
const LISTED_MAX: usize = 1_000;

/// Returns the page.
pub(crate) fn page(
    outcomes: &[Outcome],
    baseline: usize,
    unknown: &[&str],
    pictures: &Pictures,
) -> String {
    let mut page = HEAD.to_string();
    page += "<h1>What if</h1><p>Times in seconds. <em>recorded</em> is what happened; every other \
             candidate is simulated from it. Click a heading to sort.</p>";
    let (heading, all) = all_jobs(outcomes);
    page += &titled("All jobs");
    page += &table(&heading, all);
    page += &pictures.all;
    for (title, name, picture, key) in [
        (
            "By queue",
            "queue",
            &pictures.queues,
            figures::queue_of as fn(&Fate) -> &str,
        ),
        ("By user", "user", &pictures.users, figures::user_of),
    ] {
        let heading: Vec<&str> = [name, "candidate"].into_iter().chain(FIGURES).collect();
        let (names, count) = figures::largest(outcomes, key, LISTED_MAX);
        page += &titled(title);
        if count > names.len() {
            page += &format!(
                "<p>Of {count} {name}s the {LISTED_MAX} with the most jobs; whatif.json has \
                 all.</p>"
            );
        }
        page += picture;
        page += &table(&heading, rows(outcomes, key, names));
    }
    for (at, other) in outcomes.iter().enumerate().skip(1) {
        if at == baseline {
            continue;
        }
        let before = &outcomes[baseline];
        let title = format!("{} instead of {}", other.name, before.name);
        page += &changes(
            &format!("Users: {title}"),
            ("user", "whatif.json"),
            &figures::users(before, other),
        );
        page += &changes(
            &format!("Jobs: {title}"),
            ("job", "jobs.csv"),
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

/// Returns a table of changes; of many, those at both ends, and the file that has all.
fn changes(title: &str, (name, file): (&str, &str), changes: &[Change]) -> String {
    let row = |change: &Change| {
        let numbers = [change.before_s, change.after_s, change.by_s()];
        let numbers = numbers.map(|number| format!("{number:.1}"));
        [change.name.clone()].into_iter().chain(numbers).collect()
    };
    let heading = [name, "before", "after", "change"];
    let title = titled(title);
    if changes.len() <= 2 * LISTED_MAX {
        return title + &table(&heading, changes.iter().map(row).collect());
    }
    let (winners, losers) = (
        &changes[..LISTED_MAX],
        &changes[changes.len() - LISTED_MAX..],
    );
    let rows = winners.iter().chain(losers).map(row).collect();
    title
        + &table(&heading, rows)
        + &format!(
            "<p>Of {} {name}s the {LISTED_MAX} that win and the {LISTED_MAX} that lose the most; \
             {file} has all.</p>",
            changes.len(),
        )
}

fn titled(title: &str) -> String {
    format!("<h2>{}</h2>", escaped(title))
}

fn table(heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| -> String {
        let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(&short(cell))));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let mut text = "<div><table><thead>".to_string();
    text += &cells("th", &mut heading.iter().copied());
    text += "</thead><tbody>";
    for row in &rows {
        text += &cells("td", &mut row.iter().map(String::as_str));
    }
    text += "</tbody></table></div>";
    text
}

#[cfg(test)]
mod tests {
    use super::super::lines::thin;
    use super::super::pictures::draw;
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
        let page = page(
            &[outcome.clone(), outcome],
            1,
            &["<b>"],
            &Pictures::default(),
        );
        assert_eq!(page.matches("<script>").count(), 1, "the page's own");
        assert!(page.contains("a&amp;b") && page.contains("&lt;b&gt;"));
        assert!(!page.contains("\" onload"));
        for foreign in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    /// A user has one job, which wins or loses as many seconds as its number says.
    #[test]
    fn the_page_of_many_jobs_is_short_and_says_where_all_are() {
        const JOBS: usize = 20_000;
        let outcome = |name: &str, by_s: f64| {
            let fate = |number: usize| Fate {
                id: format!("job_{number:05}"),
                user: format!("user{number:05}"),
                waited_s: Some(1.0),
                turn_s: Some(1e5 + by_s * (number as f64 - 1e4)),
                ..Fate::default()
            };
            let line = || (0..JOBS).map(|at| (at as f64, (at % 7) as f64)).collect();
            Outcome {
                name: name.to_string(),
                fates: (0..JOBS).map(fate).collect(),
                open: thin(line()),
                memory: thin(line()),
                ..Outcome::default()
            }
        };
        let outcomes = [("recorded", 0.0), ("fifo", 0.0), ("fair", 1.0)];
        let outcomes = outcomes.map(|(name, by_s)| outcome(name, by_s));
        let folder = tempfile::tempdir().expect("a folder");
        let pictures = draw(&outcomes, folder.path()).expect("it can be written");
        let page = page(&outcomes, 1, &[], &pictures);
        let (_, by_user) = page.split_once("<h2>By user</h2>").expect("a heading");
        assert!(
            by_user.starts_with("<p>Of 20000 users"),
            "before note and picture"
        );
        // 2,000 jobs and as many users, figures of 1,000 users, and 12 lines.
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
        for words in [
            "Of 20000 jobs the 1000 that win and the 1000 that lose the most; jobs.csv has all.",
            "Of 20000 users the 1000 that win and the 1000 that lose the most; whatif.json has",
            "Of 20000 users the 1000 with the most jobs; whatif.json has all.",
            "The 12 of 20000 users with the most jobs",
        ] {
            assert!(page.contains(words), "{words}");
        }
        let of_job = |number: usize| format!("<td>job_{number:05} (user{number:05})</td>");
        for (number, is_listed) in [(0, true), (999, true), (1_000, false), (18_999, false)] {
            assert_eq!(page.contains(&of_job(number)), is_listed, "{number}");
        }
        assert!(page.contains(&of_job(19_000)) && page.contains(&of_job(19_999)));
    }
}
