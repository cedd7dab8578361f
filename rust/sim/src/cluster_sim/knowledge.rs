//! What the engine is told of jobs and machines: all that the simulator knows, or what the plug-in
//! knows on a real cluster. `docs/develop/facts.md` compares both, source by source. Produces no
//! facts.

use super::sources::Source;
use std::fmt;
use std::str::FromStr;

/// How much the engine is told. YARN's books are the same in both: jobs, rows of asks, containers
/// and the room of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// Every fact of every source at once and exactly: profiles as measured, input block by block,
    /// progress and bytes of each task, bytes on each link.
    #[default]
    Full,
    /// What `java/` tells with its default properties and with MapReduce's totals in the
    /// submissions, and these sources as under `Full`:
    ///
    /// - submission: totals, goal and signature; no size of the input, no ratio, no lengths;
    /// - rows of the asks instead of blocks;
    /// - reports of nodes: launches, ends, and the load of others, in steps of 5 %;
    /// - polls of ApplicationMasters: progress and commits of running tasks, a job's counters;
    /// - nothing of links: the engine models them from counters.
    ///
    /// Answers come at once and are not lost, and measurements of load have no noise.
    Live(Vec<Source>),
}

impl Knowledge {
    /// Returns whether the engine is told all of a source, at once.
    pub fn is_exact(&self, source: Source) -> bool {
        match self {
            Knowledge::Full => true,
            Knowledge::Live(exact) => exact.contains(&source),
        }
    }

    /// Returns whether the engine is told nothing of a source.
    pub(super) fn lacks(&self, source: Source) -> bool {
        let untold = matches!(source, Source::Profile | Source::Blocks | Source::Traffic);
        untold && !self.is_exact(source)
    }
}

impl fmt::Display for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Knowledge::Full => f.write_str("full"),
            Knowledge::Live(exact) => {
                f.write_str("live")?;
                exact.iter().try_for_each(|source| write!(f, "+{source}"))
            }
        }
    }
}

impl FromStr for Knowledge {
    type Err = String;

    /// Reads `full`, `live`, or `live` with sources as under `full`, such as `live+blocks+traffic`.
    fn from_str(text: &str) -> Result<Knowledge, String> {
        let mut parts = text.split('+');
        let first = parts.next().unwrap_or_default();
        let named = |name: &str| {
            let found = Source::ALL
                .into_iter()
                .find(|source| source.to_string() == name);
            let known = Source::ALL.map(|source| source.to_string()).join(", ");
            found.ok_or_else(|| format!("no source `{name}`; expected {known}"))
        };
        let exact: Vec<Source> = parts.map(named).collect::<Result<_, _>>()?;
        match first {
            "full" if exact.is_empty() => Ok(Knowledge::Full),
            "live" => Ok(Knowledge::Live(exact)),
            _ => Err("expected full, live, or live+SOURCE, such as live+traffic".to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["full", "live", "live+blocks", "live+profile+traffic"] {
            let read: Knowledge = text.parse().expect("it is a name");
            assert_eq!(read.to_string(), text);
        }
        for text in ["", "half", "full+blocks", "live+", "live+rumours", "Live"] {
            assert!(text.parse::<Knowledge>().is_err(), "{text}");
        }
    }
}
