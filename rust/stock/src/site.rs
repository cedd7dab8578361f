//! Hadoop's site files: `<configuration>` with a `<property>` for each name. Knows the format, but
//! not what a property means. Values are as written: a host expands references.

use crate::{Fault, Properties, Property};
use heddle_core::config::text::checked;
use heddle_core::config::xml::{Xml, texts};
use roxmltree::Node;

/// Larger files are refused unread.
const BYTES_MAX: usize = 64 << 20;

/// Elements, texts and comments together.
const NODES_MAX: u32 = 4_000_000;

/// One `<property>` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, trimmed.
    pub name: String,
    /// Its value, as written.
    pub value: String,
    /// Whether no later entry may change it.
    pub is_final: bool,
    /// Its line, from 1.
    pub line: u32,
}

/// Reads the entries of a file, in their order.
///
/// # Errors
/// The first fault, with its line.
pub fn entries(text: &str) -> Result<Vec<Entry>, Fault> {
    let text = checked(text, BYTES_MAX, "properties")?;
    let xml = Xml::parse(text, "configuration", NODES_MAX)?;
    let properties = xml
        .root()
        .descendants()
        .filter(|node| node.has_tag_name("property"));
    let read = |element: Node<'_, '_>| {
        let line = xml.line(element);
        let name = part(element, "name");
        let name = name.ok_or_else(|| Fault::new(line, "a <property> without <name>"))?;
        Ok(Entry {
            name: name.trim().to_owned(),
            value: part(element, "value").unwrap_or_default(),
            is_final: part(element, "final").is_some_and(|word| word.trim() == "true"),
            line,
        })
    };
    properties.map(read).collect()
}

/// Reads the properties of a file. Of entries with the same name the last counts, up to one that is
/// final.
///
/// # Errors
/// The first fault, with its line.
pub fn properties(text: &str) -> Result<Properties, Fault> {
    let mut properties = Properties::new();
    let mut finals = std::collections::BTreeSet::new();
    for entry in entries(text)? {
        if finals.contains(&entry.name) {
            continue;
        }
        if entry.is_final {
            finals.insert(entry.name.clone());
        }
        let Entry { value, line, .. } = entry;
        properties.insert(entry.name, Property { value, line });
    }
    Ok(properties)
}

/// Returns a part of a property: a child element's text, or an attribute in the short form.
fn part(property: Node<'_, '_>, name: &str) -> Option<String> {
    let child = property.children().find(|node| node.has_tag_name(name));
    let text = child.map(texts);
    text.or_else(|| property.attribute(name).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entry_of_a_name_counts_up_to_one_that_is_final() {
        let text = "\n<configuration>\n<property name='a' value='1'/>
            <property><name> b </name><value>1<!-- one --></value><final>true</final></property>
            <property name='a' value='2'/>
            <property name='b' value='2'/><property><name>c</name></property>
            </configuration>";
        let properties = properties(text).expect("a good file");
        let read: Vec<_> = properties
            .iter()
            .map(|(name, property)| (name.as_str(), property.value.as_str(), property.line))
            .collect();
        assert_eq!(read, [("a", "2", 5), ("b", "1", 4), ("c", "", 6)]);
    }

    #[test]
    fn what_is_no_site_file_is_refused_with_its_line() {
        for (text, expected) in [
            (
                "<allocations/>",
                "line 1: the root is <allocations>; expected <configuration>",
            ),
            ("<configuration>\n<property/>", "line 2: "),
            (
                "<configuration>\n<property/></configuration>",
                "line 2: a <property> without <name>",
            ),
            (
                "<!DOCTYPE x [<!ENTITY e 'e'>]>\n<configuration/>",
                "line 1: expected no <!DOCTYPE>",
            ),
            (
                "<configuration>\n\u{fffd}</configuration>",
                "line 2: expected UTF-8",
            ),
        ] {
            let fault = properties(text).expect_err(text).to_string();
            assert!(fault.starts_with(expected), "{text}: {fault}");
        }
    }
}
