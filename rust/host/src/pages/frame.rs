//! The frame of the ResourceManager's own pages: header, menu and styles from its `/static`, so
//! that the page about queues stands among the others. Static and well-formed; no script.

use super::document::escaped;

const STYLE: &str = include_str!("style.css");

/// The states of applications for which the menu has a page each, in YARN's order.
const STATES: [&str; 8] = [
    "NEW",
    "NEW_SAVING",
    "SUBMITTED",
    "ACCEPTED",
    "RUNNING",
    "FINISHED",
    "FAILED",
    "KILLED",
];

const TOOLS: [(&str, &str); 5] = [
    ("/heddle/", "Heddle console"),
    ("/conf", "Configuration"),
    ("/logs/", "Local logs"),
    ("/stacks", "Server stacks"),
    ("/jmx?qry=Hadoop:*", "Server metrics"),
];

/// Writes a page with a title, the user who is logged in, if one is, and content, which is HTML.
pub(super) fn page(title: &str, user: Option<&str>, content: &str) -> String {
    let user = user.map_or(String::new(), |user| {
        format!("Logged in as: {}", escaped(user))
    });
    let link = |(to, name): &(&str, &str)| format!("<li><a href=\"{to}\">{name}</a></li>");
    let states: String = STATES
        .iter()
        .map(|state| format!("<li><a href=\"/cluster/apps/{state}\">{state}</a></li>"))
        .collect();
    let tools: String = TOOLS.iter().map(link).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <title>{title}</title><link rel=\"stylesheet\" href=\"/static/yarn.css\"/>\
         <link rel=\"stylesheet\" href=\"/static/jquery/themes-1.9.1/base/jquery-ui.css\"/>\
         <style>{STYLE}</style></head><body>\n\
         <table id=\"layout\" class=\"ui-widget-content\" role=\"presentation\">\
         <thead><tr><td colspan=\"2\"><div id=\"header\" class=\"ui-widget\">\
         <div id=\"user\">{user}</div>\
         <div id=\"logo\"><img src=\"/static/hadoop-st.png\" alt=\"Hadoop\"/></div>\
         <h1>{title}</h1></div></td></tr></thead>\n\
         <tbody><tr><td id=\"navcell\"><nav id=\"nav\" aria-label=\"ResourceManager\">\
         <h3>Cluster</h3><ul><li><a href=\"/cluster/cluster\">About</a></li>\
         <li><a href=\"/cluster/nodes\">Nodes</a></li>\
         <li><a href=\"/cluster/nodelabels\">Node Labels</a></li>\
         <li><a href=\"/cluster/apps\">Applications</a><ul>{states}</ul></li>\
         <li><a href=\"/cluster/scheduler\">Scheduler</a></li></ul>\
         <h3>Tools</h3><ul>{tools}</ul></nav></td>\n\
         <td class=\"content\"><main>{content}</main></td></tr></tbody></table></body></html>\n"
    )
}
