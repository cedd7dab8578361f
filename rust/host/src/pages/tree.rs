//! The tree of queues as the stock page draws it: a bar for each queue, as wide as its maximum,
//! with its share framed and its use filled; details and the queues below unfold.

use super::applications::link;
use super::document::escaped;
use super::{Queue, Snapshot};
use serde_json::Value;

/// The part of the page's width that the whole cluster's bar takes, in percent.
const WIDTH_PERCENT: f64 = 80.0;
/// Deeper queues are not indented further, to leave room for the bars.
const INDENT_MAX: usize = 6;

/// Writes the tree, every queue followed by those below it.
pub(super) fn html(snapshot: &Snapshot) -> String {
    let share = match snapshot.by_weight {
        true => "Steady Fair Share",
        false => "Entitlement",
    };
    let mut html = format!(
        "<div class=\"ui-widget\"><h2 class=\"ui-widget-header ui-corner-top\">Application \
         Queues</h2><div class=\"ui-widget-content ui-corner-bottom queues\">\
         <p class=\"legend\"><b>Legend:</b> <span class=\"key steady\">{share}</span> \
         <span class=\"key now\">Instantaneous Fair Share</span> \
         <span class=\"key under\">Used</span> \
         <span class=\"key over\">Used (over fair share)</span> \
         <span class=\"key ui-state-default\">Max Capacity</span></p>\n"
    );
    let children = snapshot.children();
    let steady = super::info::steady_shares(snapshot, &children);
    // Only the next queue's depth says how many lists end before it.
    let mut open = 0;
    let mut waiting = vec![(0, 0)];
    while let Some((at, depth)) = waiting.pop() {
        while open > depth {
            html.push_str("</details>");
            open -= 1;
        }
        // The first level is open, as the stock page's is.
        let state = if depth == 0 { " open=\"open\"" } else { "" };
        let indent = if (1..=INDENT_MAX).contains(&depth) {
            " class=\"below\""
        } else {
            ""
        };
        html.push_str(&format!("<details{state}{indent}>"));
        html.push_str(&queue(snapshot, &snapshot.queues[at], &steady[at]));
        open += 1;
        waiting.extend(children[at].iter().rev().map(|&child| (child, depth + 1)));
    }
    html.push_str(&"</details>".repeat(open));
    html.push_str("</div></div>\n");
    html
}

/// Writes the line of a queue and its details.
fn queue(snapshot: &Snapshot, queue: &Queue, steady: &[i64]) -> String {
    let Queue(described, leaf, pending, running) = queue;
    let part = |amount: i64| part_of(amount, snapshot.amounts(&snapshot.capacity, 0)[0]);
    let of = |key: &str, absent| part(snapshot.amounts(&described[key], absent)[0]);
    let (max, used) = (of("max_share", i64::MAX).min(1.0), of("used", 0));
    let (fair, steady_part) = (of("fair_share", 0), part(steady[0]));
    let fill = if used > fair { "over" } else { "under" };
    let inside = |part: f64| 100.0 * part_of_parts(part, max);
    let width = WIDTH_PERCENT * max;
    let amounts = |key: &str, absent| amounts(snapshot, &snapshot.amounts(&described[key], absent));
    let steady = self::amounts(snapshot, steady);
    let max_jobs = described["max_running_jobs"].as_i64();
    let mut rows = vec![
        ("Weight", plain(queue.weight())),
        ("Used Resources", amounts("used", 0)),
        ("Demand Resources", amounts("demand", 0)),
        ("Min Resources", amounts("min_share", 0)),
        ("Max Resources", amounts("max_share", i64::MAX)),
        ("Steady Fair Share", steady),
        ("Instantaneous Fair Share", amounts("fair_share", 0)),
        (
            "Running Containers",
            queue.number("running_containers").to_string(),
        ),
        (
            "Pending Containers",
            queue.number("pending_containers").to_string(),
        ),
    ];
    // The page that this stands for has states of the Capacity Scheduler's queues only.
    if queue.state() != "RUNNING" {
        rows.push(("Queue State", queue.state()));
    }
    if let Some(most) = max_jobs {
        rows.push(("Max Running Applications", most.to_string()));
    }
    if *leaf {
        rows.push(("AM Used Resources", amounts("am_used", 0)));
        rows.push(("AM Max Resources", amounts("am_limit", 0)));
        rows.push(("Active Applications", running.to_string()));
        rows.push(("Pending Applications", pending.to_string()));
    }
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>"))
        .collect();
    format!(
        "<summary><span class=\"bar ui-state-default ui-corner-all\" style=\"width:{width:.1}%\" \
         aria-hidden=\"true\"><span class=\"{fill}\" style=\"width:{:.1}%\"></span>\
         <span class=\"steady\" style=\"width:{:.1}%\"></span>\
         <span class=\"now\" style=\"width:{:.1}%\"></span></span>\
         <span class=\"q\">{}</span> <span class=\"stats\">{:.1}% used</span> {}</summary>\
         <table class=\"info\"><tbody>{rows}</tbody></table>\n",
        inside(used).min(100.0),
        inside(steady_part),
        inside(fair),
        escaped(queue.path()),
        100.0 * used,
        link(queue.path()),
    )
}

/// Returns a part of the whole, 0 of nothing.
fn part_of(amount: i64, whole: i64) -> f64 {
    part_of_parts(amount as f64, whole as f64)
}

fn part_of_parts(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Writes a number with up to six digits behind the point.
fn plain(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Such as `8,192 MB, 8 vcores, 2 gpu`; further types only where there is any.
pub(super) fn amounts(snapshot: &Snapshot, values: &[i64]) -> String {
    let shown = |(kind, value): (&(String, String, String, i64, i64), &i64)| {
        let number = grouped(*value);
        match kind.0.as_str() {
            "memory-mb" => Some(format!("{number} MB")),
            "vcores" => Some(format!("{number} vcores")),
            _ if *value == 0 => None,
            name => Some(format!("{number} {} {}", escaped(&kind.1), escaped(name))),
        }
    };
    let shown = snapshot.types.iter().zip(values).filter_map(shown);
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the amounts under a key of the snapshot, for a sentence.
pub(super) fn sentence(snapshot: &Snapshot, of: &Value) -> String {
    amounts(snapshot, &snapshot.amounts(of, 0))
}

/// Writes a number with a comma before every three digits.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-" } else { "" }.to_string();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
