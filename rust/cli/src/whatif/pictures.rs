//! Draws the pictures of a prediction as SVG. Their size is bounded for any number of jobs.

use super::figures::{Fate, Figures, Outcome, largest, queue_of, user_of};
use super::lines::thin;
use heddle_economy::http::escaped;
use heddle_sim::plot::{Line, Plot, colour};
use std::fmt::Write;
use std::path::Path;

/// Queues, or users, of a picture.
const NAMES_MAX: usize = 12;

/// The pictures.
#[derive(Default)]
pub(super) struct Pictures {
    /// Of all jobs.
    pub(super) all: String,
    pub(super) queues: String,
    pub(super) users: String,
}

/// Draws the pictures into a folder, and returns them.
pub(super) fn draw(outcomes: &[Outcome], folder: &Path) -> Result<Pictures, String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let mut pictures = Pictures::default();
    for (file, plot) in plots(outcomes) {
        let path = folder.join(file);
        plot.write(&path)?;
        pictures.all += &std::fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
    }
    let put = |file: &str, chart: &str| {
        let path = folder.join(file);
        std::fs::write(&path, chart).map_err(|error| failed(&path, error))
    };
    pictures.queues = chart("queues", outcomes, queue_of);
    put("queues.svg", &pictures.queues)?;
    pictures.users = chart("users", outcomes, user_of);
    put("users.svg", &pictures.users)?;
    Ok(pictures)
}

fn plots(outcomes: &[Outcome]) -> [(&'static str, Plot); 4] {
    let log = "log10 of seconds";
    let part = "part of the jobs";
    let waiting = "Waiting for the first container";
    let memory = "Memory held, each job's spread evenly over its life";
    let mut plots = [
        ("turn-around.svg", Plot::new("Turn-around", log, part)),
        ("waiting.svg", Plot::new(waiting, log, part)),
        (
            "open.svg",
            Plot::new("Jobs in the cluster", "hours", "jobs"),
        ),
        ("memory.svg", Plot::new(memory, "hours", "GB")),
    ];
    for outcome in outcomes {
        let distribution = |of: fn(&Fate) -> Option<f64>| {
            let mut times: Vec<f64> = outcome.fates.iter().filter_map(of).collect();
            times.sort_unstable_by(f64::total_cmp);
            let count = times.len() as f64;
            let points = times.into_iter().enumerate();
            let points = points.map(|(at, time)| (time.max(1.0).log10(), (at + 1) as f64 / count));
            thin(points.collect())
        };
        let lines = [
            distribution(|fate| fate.turn_s),
            distribution(|fate| fate.waited_s),
            outcome.open.clone(),
            outcome.memory.clone(),
        ];
        for ((_, plot), points) in plots.iter_mut().zip(lines) {
            // An unknown line stays in the legend: every candidate keeps its colour.
            plot.lines.push(Line::new(&outcome.name, points));
        }
    }
    plots
}

/// Widths of the picture, of its column of names, and of each panel, in pixels. Beside each panel
/// is room for half a label.
const WIDTH: usize = 900;
const NAMES: usize = 190;
const PANEL: usize = 310;
/// More labels of a panel would overlap.
const LABELS_MAX: usize = 9;
/// Height of a candidate's row in pixels.
const ROW: usize = 13;
/// Characters of a name in the column of names, and in tooltips and cells: a history may have names
/// of megabytes.
const SHORT_CHARS: usize = 24;
const NAME_CHARS: usize = 200;

/// Returns the median and the 95th percentile of a panel.
type Pair = fn(&Figures) -> [Option<f64>; 2];

/// The two panels.
const PANELS: [(&str, Pair); 2] = [
    ("Waiting for the first container", |figures| figures.waited),
    ("Turn-around", |figures| figures.turn),
];

/// Draws the median and the 95th percentile of waiting and turn-around under every candidate, on
/// an axis of powers of ten.
fn chart(what: &str, outcomes: &[Outcome], key: fn(&Fate) -> &str) -> String {
    let (names, count) = largest(outcomes, key, NAMES_MAX);
    let by: Vec<_> = outcomes.iter().map(|outcome| outcome.by(key)).collect();
    let (top, group) = (88 + ROW * outcomes.len(), ROW * outcomes.len() + 8);
    let height = top + group * names.len() + 8;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\">\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
    );
    let which = match count > names.len() {
        true => format!("The {} of {count} {what} with the most jobs", names.len()),
        false => format!("All {what}"),
    };
    let title = format!("{which}: median (full) and 95th percentile (ring)");
    svg += &text((12.0, 24), 15, &title);
    for (at, (outcome, colour)) in outcomes.iter().zip(colours()).enumerate() {
        let y = 44 + ROW * at;
        let _ = write!(svg, "<path d=\"M12 {}h14\" stroke=\"{colour}\"/>", y - 4);
        svg += &text((32.0, y), 11, &outcome.name);
    }
    for (row, name) in names.iter().enumerate() {
        svg += &text((12.0, top + row * group + 16), 11, &cut(name, SHORT_CHARS));
    }
    // Covers the rest of names with wide characters.
    let _ = write!(
        svg,
        "<path d=\"M{} {top}H{WIDTH}V{height}H{0}z\" fill=\"#fff\"/>",
        NAMES - 10
    );
    let rows = || {
        names
            .iter()
            .flat_map(|name| by.iter().map(|rows| (*name, rows.get(name))))
    };
    let known = || rows().filter_map(|(_, figures)| figures);
    let times = known().flat_map(|figures| PANELS.iter().flat_map(|(_, of)| of(figures)));
    let decades = times.flatten().fold(10.0, f64::max).log10().ceil();
    for (panel, (title, of)) in PANELS.iter().enumerate() {
        let left = (NAMES + panel * (PANEL + 60)) as f64;
        let x = |seconds: f64| left + PANEL as f64 * seconds.max(1.0).log10() / decades;
        svg += &text((left, top - 28), 12, title);
        for decade in (0..=decades as usize).step_by((decades as usize).div_ceil(LABELS_MAX)) {
            let at = left + (PANEL * decade) as f64 / decades;
            let _ = write!(svg, "<path d=\"M{at:.1} {top}V{height}\" stroke=\"#ddd\"/>");
            svg += &format!(
                "<g text-anchor=\"middle\">{}</g>",
                text((at, top - 8), 9, &label(decade))
            );
        }
        let marks = outcomes
            .iter()
            .zip(colours())
            .cycle()
            .zip(rows())
            .enumerate();
        for (at, ((outcome, colour), (name, figures))) in marks {
            let y = top + at / outcomes.len() * group + at % outcomes.len() * ROW + 12;
            if let Some([Some(median), Some(p95)]) = figures.map(of) {
                let (name, candidate) = (short(name), &outcome.name);
                let said = format!("{name}, {candidate}: {median:.1} s, {p95:.1} s");
                svg += &pair(y, [x(median), x(p95)], &colour, &said);
            }
        }
    }
    svg + "</svg>\n"
}

/// Returns the label of a power of ten.
fn label(decade: usize) -> String {
    match decade {
        0..=3 => format!("{} s", 10_u32.pow(decade as u32)),
        _ => format!("1e{decade} s"),
    }
}

/// The colours of `Plot`, so that a candidate has the same one in all pictures.
fn colours() -> impl Iterator<Item = String> + Clone {
    (0..).map(colour)
}

fn text((x, y): (f64, usize), size: usize, text: &str) -> String {
    let text = escaped(text);
    format!("<text x=\"{x:.1}\" y=\"{y}\" font-size=\"{size}\">{text}</text>")
}

/// Draws a median and a 95th percentile, with a tooltip.
fn pair(y: usize, [median, p95]: [f64; 2], colour: &str, said: &str) -> String {
    format!(
        "<g stroke=\"{colour}\" fill=\"{colour}\"><title>{}</title>\
         <path d=\"M{median:.1} {y}H{p95:.1}\"/><circle cx=\"{median:.1}\" cy=\"{y}\" r=\"4\"/>\
         <circle cx=\"{p95:.1}\" cy=\"{y}\" r=\"4\" fill=\"none\"/></g>",
        escaped(said),
    )
}

/// Returns a name for a tooltip or a cell.
pub(super) fn short(name: &str) -> String {
    cut(name, NAME_CHARS)
}

fn cut(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, fates: Vec<Fate>) -> Outcome {
        Outcome {
            name: name.to_string(),
            fates,
            ..Outcome::default()
        }
    }

    /// Waiting of 10 s is one decade of three: the longest time, 200 s, rounds up to 1,000 s.
    #[test]
    fn a_chart_has_a_row_for_each_name_and_candidate() {
        let fate = |user: &str, waited_s, turn_s| Fate {
            user: user.to_string(),
            waited_s,
            turn_s: Some(turn_s),
            ..Fate::default()
        };
        let fates = |turn_s| vec![fate("ann", Some(10.0), turn_s), fate("bob", None, turn_s)];
        let outcomes = [
            outcome("recorded", fates(200.0)),
            outcome("fair", fates(20.0)),
        ];
        let svg = chart("users", &outcomes, user_of);
        assert!(svg.contains("All users: median"), "{svg}");
        let at = NAMES as f64 + PANEL as f64 / 3.0;
        let circle = format!("<circle cx=\"{at:.1}\"");
        assert_eq!(
            svg.matches(&circle).count(),
            4,
            "two, of two candidates: {svg}"
        );
        assert!(
            svg.contains("<title>ann, fair: 20.0 s, 20.0 s</title>"),
            "{svg}"
        );
        // Nothing is known of bob's waiting.
        assert_eq!(svg.matches("<title>bob, ").count(), 2, "{svg}");
    }

    #[test]
    fn labels_of_any_time_stay_apart_and_inside() {
        let fate = Fate {
            turn_s: Some(2e9),
            ..Fate::default()
        };
        let svg = chart("users", &[outcome("fair", vec![fate])], user_of);
        // Ten decades, of which each panel names every second.
        for (at, label) in [(0, "1 s"), (2, "100 s"), (4, "1e4 s"), (10, "1e10 s")] {
            for left in [NAMES, NAMES + PANEL + 60] {
                let x = left + PANEL * at / 10;
                let text = format!("<g text-anchor=\"middle\"><text x=\"{x}.0\"");
                assert!(svg.contains(&text), "{label}: {svg}");
            }
            assert_eq!(svg.matches(&format!(">{label}<")).count(), 2, "{svg}");
        }
        assert!(!svg.contains("1e5 s") && !svg.contains(">10 s<"), "{svg}");
    }

    #[test]
    fn names_are_cut_and_have_no_characters_that_xml_forbids() {
        let name = "\u{4e00}\u{fffe}\u{ffff}\u{0}".repeat(1_000);
        assert_eq!(
            escaped(&name),
            "\u{4e00}\u{fffd}\u{fffd}\u{fffd}".repeat(1_000)
        );
        assert_eq!(short(&name).chars().count(), NAME_CHARS + 3);
        assert_eq!(short("ann"), "ann");
        let fate = Fate {
            user: name,
            turn_s: Some(1.0),
            ..Fate::default()
        };
        let svg = chart("users", &[outcome("fair", vec![fate])], user_of);
        assert!(svg.len() < 5_000, "{} bytes", svg.len());
    }

    #[test]
    fn a_chart_has_twelve_names_and_no_markup_of_them() {
        let fate = |number: usize| Fate {
            queue: format!("<script>\u{1b}\"{number:02} and a name beyond all bounds"),
            turn_s: Some(1.0),
            ..Fate::default()
        };
        let outcomes = [outcome("a&b", (0..13).map(fate).collect())];
        let svg = chart("queues", &outcomes, queue_of);
        assert!(
            svg.contains("The 12 of 13 queues with the most jobs"),
            "{svg}"
        );
        assert!(svg.contains("a&amp;b") && !svg.contains("<script"), "{svg}");
        assert!(!svg.trim_end().contains(char::is_control), "{svg}");
        assert!(svg.contains("11 and a name ..."), "{svg}");
        assert!(!svg.contains("12 and a name"), "{svg}");
    }
}
