//! XML files with the lines of their elements. Refuses DTDs, and with them custom entities:
//! otherwise a file of a few lines could expand to gigabytes, or include another file of the host.

use super::text::{Fault, line_of, shown};
use roxmltree::{Document, Error, Node, ParsingOptions};

/// A parsed file.
pub struct Xml<'t> {
    document: Document<'t>,
    /// Where lines end. The document would count from its beginning for each element, which takes
    /// seconds in a file of 10,000 pools, under the scheduler's lock.
    newlines: Vec<usize>,
    lines_skipped: u32,
    /// Whether blanks stand before the text.
    skipped: bool,
}

impl<'t> Xml<'t> {
    /// Parses `text`, whose root must be the element `root`. Refuses more than `nodes_max`
    /// elements, texts and comments together.
    ///
    /// # Errors
    /// The first fault, with its line.
    pub fn parse(text: &'t str, root: &str, nodes_max: u32) -> Result<Xml<'t>, Fault> {
        let options = ParsingOptions {
            allow_dtd: false,
            nodes_limit: nodes_max,
            ..ParsingOptions::default()
        };
        // XML allows nothing before its declaration, but a file written by hand may begin with an
        // empty line.
        let skipped = text.len() - text.trim_start().len();
        let lines_skipped = line_of(text, skipped) - 1;
        let document = Document::parse_with_options(&text[skipped..], options)
            .map_err(|error| refused(text, root, lines_skipped, nodes_max, &error))?;
        let newlines = text[skipped..].match_indices('\n').map(|(at, _)| at);
        let xml = Xml {
            document,
            newlines: newlines.collect(),
            lines_skipped,
            skipped: skipped > 0,
        };
        let found = xml.root().tag_name().name();
        if found != root {
            let problem = format!("the root is <{}>; expected <{root}>", name(xml.root()));
            return Err(Fault::new(xml.line(xml.root()), problem));
        }
        Ok(xml)
    }

    /// The element that holds all others.
    pub fn root(&self) -> Node<'_, 't> {
        self.document.root_element()
    }

    /// Whether blanks stand before an XML declaration, which XML does not allow.
    pub fn begins_late(&self) -> bool {
        self.skipped && self.document.input_text().starts_with("<?xml")
    }

    /// Whether the name of an element has a prefix. A reader that knows no namespaces takes it for
    /// another name.
    pub fn is_prefixed(&self, element: Node<'_, '_>) -> bool {
        let from = element.range().start + 1;
        let text = &self.document.input_text()[from..];
        let end = text.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
        text[..end.unwrap_or(text.len())].contains(':')
    }

    /// The line in which `node` begins.
    pub fn line(&self, node: Node<'_, '_>) -> u32 {
        let start = node.range().start;
        let before = self.newlines.partition_point(|newline| *newline < start);
        1 + before as u32 + self.lines_skipped
    }
}

/// The name of an element for a message, cut if it is long.
pub fn name(element: Node<'_, '_>) -> String {
    let name = shown(element.tag_name().name());
    name.replace('"', "")
}

/// The texts of an element together, without those of elements in it.
pub fn texts(element: Node<'_, '_>) -> String {
    let texts = element.children().filter(Node::is_text);
    texts.filter_map(|text| text.text()).collect()
}

fn refused(text: &str, root: &str, lines_skipped: u32, nodes_max: u32, error: &Error) -> Fault {
    match error {
        Error::DtdDetected => {
            let at = text.find("<!DOCTYPE").unwrap_or(0);
            let problem = "expected no <!DOCTYPE> and no entities; remove them";
            Fault::new(line_of(text, at), problem)
        }
        Error::NodesLimitReached => {
            Fault::new(0, format!("has more than {nodes_max} elements and texts"))
        }
        Error::UnclosedRootNode | Error::NoRootNode => {
            let problem = format!("{error}; expected </{root}>. Is the file whole?");
            Fault::new(line_of(text, text.trim_end().len()), problem)
        }
        error => {
            let line = error.pos().row + lines_skipped;
            Fault::new(line, format!("{error}; expected XML"))
        }
    }
}
