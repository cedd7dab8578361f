//! The page: the tree of queues as one table. Static HTML without script, and well-formed XML.

use super::document::escaped;
use super::{Queue, Snapshot};
use serde_json::Value;

const STYLE: &str = include_str!("style.css");
const INFO_PATH: &str = "/ws/v1/cluster/scheduler";
const COLUMNS: [&str; 7] = [
    "Weight",
    "Min share",
    "Max share",
    "Fair share",
    "Used",
    "Running containers",
    "Pending containers",
];
/// Deeper rows are not indented further, to leave room for the names.
const INDENT_MAX: usize = 6;

/// Writes the page.
pub(super) fn page(snapshot: &Snapshot) -> String {
    let stage = |name: &str| escaped(snapshot.stage(name));
    let (share, order, place) = (stage("share"), stage("order"), stage("place"));
    let cluster = escaped(&amounts(snapshot, &snapshot.capacity, 0));
    let column = |name: &str| format!("<th scope=\"col\" role=\"columnheader\">{name}</th>");
    let columns: String = COLUMNS.map(column).concat();
    let children = snapshot.children();
    let mut rows = String::new();
    let mut waiting = vec![(0, 0)];
    while let Some((at, depth)) = waiting.pop() {
        rows.push_str(&row(snapshot, &snapshot.queues[at], depth));
        waiting.extend(children[at].iter().rev().map(|&child| (child, depth + 1)));
    }
    // Laid out as blocks, on a phone, a table is none to a screen reader; hence the roles.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <title>Queues - Heddle</title><style>{STYLE}</style></head><body>\n\
         <nav aria-label=\"ResourceManager\"><a href=\"/cluster/cluster\">Cluster</a>\
         <a href=\"/cluster/apps\">Applications</a><a href=\"/cluster/nodes\">Nodes</a>\
         <a href=\"/heddle/\">Heddle console</a></nav>\n\
         <main><h1>Queues</h1>\n<p>Policy: share <b>{share}</b>, order <b>{order}</b>, \
         place <b>{place}</b>. Cluster: {cluster}.</p>\n\
         <div class=\"scroll\" role=\"region\" aria-label=\"Queues\" tabindex=\"0\">\
         <table role=\"table\"><caption>Every queue is followed by those below it. \
         Containers include ApplicationMasters.</caption>\
         <thead role=\"rowgroup\"><tr role=\"row\">\
         <th scope=\"col\" role=\"columnheader\">Queue</th>{columns}</tr></thead>\n\
         <tbody role=\"rowgroup\">\n{rows}</tbody></table></div>\n\
         <p>The same for programs: <a href=\"{INFO_PATH}\">{INFO_PATH}</a></p></main>\
         </body></html>\n"
    )
}

fn row(snapshot: &Snapshot, queue: &Queue, depth: usize) -> String {
    let dot = queue.path().rfind('.').map_or(0, |dot| dot + 1);
    let (above, name) = queue.path().split_at(dot);
    let weight = format!("{:.6}", queue.weight());
    let shown = |key: &str, absent| amounts(snapshot, &queue.0[key], absent);
    let cells = [
        weight
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string(),
        shown("min_share", 0),
        shown("max_share", i64::MAX),
        shown("fair_share", 0),
        shown("used", 0),
        queue.number("running_containers").to_string(),
        queue.number("pending_containers").to_string(),
    ];
    let cell = |(column, text): (&&str, &String)| {
        let text = escaped(text);
        format!("<td role=\"cell\" data-name=\"{column}\"><span>{text}</span></td>")
    };
    format!(
        "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\" style=\"padding-left:{}.6rem\">\
         <span class=\"above\">{}</span>{}</th>{}</tr>\n",
        depth.min(INDENT_MAX),
        escaped(above),
        escaped(name),
        COLUMNS.iter().zip(&cells).map(cell).collect::<String>()
    )
}

/// Such as `8,192 MB, 8 vcores, 2 gpu`; further types only where there is any.
fn amounts(snapshot: &Snapshot, of: &Value, absent: i64) -> String {
    let values = snapshot.amounts(of, absent);
    let shown = snapshot
        .types
        .iter()
        .zip(values)
        .filter_map(|(kind, value)| {
            let number = grouped(value);
            match kind.0.as_str() {
                "memory-mb" => Some(format!("{number} MB")),
                "vcores" => Some(format!("{number} vcores")),
                _ if value == 0 => None,
                name => Some(format!("{number} {} {name}", kind.1)),
            }
        });
    shown.collect::<Vec<_>>().join(", ")
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
