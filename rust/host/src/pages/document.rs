//! A document whose fields keep their order, and its text in JSON and in XML.

use quick_xml::escape::escape;
use serde::{Serialize, Serializer};

/// A value of a document.
#[derive(Clone)]
pub(super) enum Node {
    Flag(bool),
    Number(i64),
    /// Written as Java writes it.
    Float(f32),
    Text(String),
    Object(Vec<(&'static str, Node)>),
    List(Vec<Node>),
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Flag(flag) => to.serialize_bool(*flag),
            Node::Number(number) => to.serialize_i64(*number),
            Node::Float(number) => to.serialize_f32(*number),
            Node::Text(text) => to.serialize_str(text),
            Node::Object(fields) => to.collect_map(fields.iter().map(|(name, node)| (name, node))),
            Node::List(items) => to.collect_seq(items),
        }
    }
}

impl Node {
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("names are strings, and memory takes all")
    }

    /// Writes the document like the ResourceManager's REST: a field is an element, a list is
    /// repeated elements, and the field `type` of an object is an attribute `xsi:type`. The one
    /// field of the document is the root.
    pub(super) fn xml(&self) -> String {
        let mut text = "<?xml version='1.0' encoding='UTF-8'?>".to_string();
        if let Node::Object(fields) = self {
            for (name, root) in fields {
                let space = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
                root.element(name, space, &mut text);
            }
        }
        text
    }

    fn element(&self, name: &str, attributes: &str, to: &mut String) {
        if let Node::List(items) = self {
            for item in items {
                item.element(name, "", to);
            }
            return;
        }
        to.extend(["<", name, attributes]);
        if let Node::Object(fields) = self {
            for (_, kind) in fields.iter().filter(|(name, _)| *name == "type") {
                to.extend([" xsi:type=\"", &escaped(&kind.plain()), "\""]);
            }
        }
        to.push('>');
        match self {
            Node::Object(fields) => {
                for (name, node) in fields.iter().filter(|(name, _)| *name != "type") {
                    node.element(name, "", to);
                }
            }
            _ => to.push_str(&escaped(&self.plain())),
        }
        to.extend(["</", name, ">"]);
    }

    /// Returns the text of a value without parts.
    fn plain(&self) -> String {
        match self {
            Node::Flag(flag) => flag.to_string(),
            Node::Number(number) => number.to_string(),
            Node::Float(number) => format!("{number:?}"),
            Node::Text(text) => text.clone(),
            Node::Object(_) | Node::List(_) => String::new(),
        }
    }
}

/// Escapes a text for XML and HTML. Replaces what XML 1.0 cannot hold, escaped or not.
pub(super) fn escaped(text: &str) -> String {
    let odd = |c: char| {
        c < ' ' && !matches!(c, '\t' | '\n' | '\r') || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    escape(text.replace(odd, "\u{fffd}")).into_owned()
}
