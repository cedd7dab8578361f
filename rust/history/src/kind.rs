//! Tells what a file is by how it starts.

use crate::jhist;
use heddle::journal::MAGIC;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MapReduce's job history.
    JobHistory,
    /// The configuration of a job.
    Configuration,
    /// The ResourceManager's list of applications.
    Applications,
    /// The ResourceManager's list of nodes.
    Nodes,
    /// A trace of SLS.
    Sls,
    /// A nodes file of SLS.
    SlsNodes,
    /// A trace of Rumen.
    Rumen,
    /// A SWIM trace.
    Swim,
    /// A journal of Heddle.
    Journal,
}

/// Returns the kind of a file with this start, if it is a known one.
pub(crate) fn kind_of(head: &[u8]) -> Option<Kind> {
    if head.starts_with(&MAGIC) {
        return Some(Kind::Journal);
    }
    let text = String::from_utf8_lossy(head);
    if text.starts_with(jhist::JSON) || text.starts_with(jhist::BINARY) {
        return Some(Kind::JobHistory);
    }
    let start = text.trim_start();
    if start.starts_with('<') && text.contains("<configuration") {
        return Some(Kind::Configuration);
    }
    if has_first_key(start, "apps") {
        return Some(Kind::Applications);
    }
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if start.starts_with('{') {
        // The order matters: a job of SLS has no `rack`.
        let kinds = [
            (
                has("nodes") && has("node") && has("rack") && has("id"),
                Kind::Nodes,
            ),
            (has("job.tasks") || has("job.start.ms"), Kind::Sls),
            (has("rack") && has("nodes"), Kind::SlsNodes),
            (has("nodes"), Kind::Nodes),
            (has("jobID"), Kind::Rumen),
        ];
        return kinds.into_iter().find(|(is, _)| *is).map(|(_, kind)| kind);
    }
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    (line.split('\t').count() >= 6).then_some(Kind::Swim)
}

/// Whether an object begins with this key. A key anywhere would not do: a queue of a trace may have
/// the same name.
fn has_first_key(text: &str, key: &str) -> bool {
    let inside = text.strip_prefix('{').map(str::trim_start);
    let rest = inside.and_then(|inside| inside.strip_prefix('"')?.strip_prefix(key));
    rest.is_some_and(|rest| rest.starts_with('"'))
}
