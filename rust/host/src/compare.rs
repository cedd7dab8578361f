//! Compares the engine's books with its host's: containers, resources and pending counts of every
//! job, containers and resources of every node. Mends nothing.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Both books, of the same range of numbers.
#[derive(Deserialize)]
pub(crate) struct Books {
    /// The engine's reply to `audit`.
    engine: String,
    jobs: Vec<HostJob>,
    nodes: Vec<HostRow>,
}

/// A job or node in the host's books: number, containers, their resources by type, and whether the
/// engine should know it.
#[derive(Deserialize)]
struct HostRow(u32, u64, Vec<i64>, bool);

/// A job; then how many asks the host has numbered, and number and count of those that are pending,
/// with whether their size is counted as pending. None: the engine has not heard of the latest.
#[derive(Deserialize)]
struct HostJob(HostRow, Option<HostAsks>);

#[derive(Deserialize)]
struct HostAsks(u32, Vec<(u32, i64, bool)>);

#[derive(Deserialize)]
struct Reply {
    jobs: Vec<EngineJob>,
    nodes: Vec<(u32, u64, Vec<i64>)>,
}

/// A job in the engine's books: number, containers, resources, and count by pending ask.
#[derive(Deserialize)]
struct EngineJob(u32, u64, Vec<i64>, Vec<(u32, i64)>);

/// Returns the differences, each as a list: what it is about, whether it is a node's, the number of
/// the job or node, and a sentence.
pub(crate) fn differences(books: &Books) -> Result<Value, String> {
    let engine: Reply = serde_json::from_str(&books.engine).map_err(|error| error.to_string())?;
    let mut found = Differences(Vec::new());
    let mut jobs: BTreeMap<u32, &HostJob> = BTreeMap::new();
    jobs.extend(books.jobs.iter().map(|job| (job.0.0, job)));
    for EngineJob(id, containers, used, asks) in &engine.jobs {
        let Some(HostJob(row, host_asks)) = jobs.remove(id) else {
            found.differ("job", false, *id, "exists", "unknown");
            continue;
        };
        if let Some(HostAsks(end, host_asks)) = host_asks {
            found.asks(*id, asks, *end, host_asks);
        }
        found.used("job", false, (*containers, used), row);
    }
    found.missing("job", false, jobs.values().map(|job| &job.0));
    let mut nodes: BTreeMap<u32, &HostRow> = BTreeMap::new();
    nodes.extend(books.nodes.iter().map(|node| (node.0, node)));
    for (id, containers, used) in &engine.nodes {
        match nodes.remove(id) {
            Some(row) => found.used("node", true, (*containers, used), row),
            None => found.differ("node", true, *id, "exists", "unknown"),
        }
    }
    found.missing("node", true, nodes.into_values());
    Ok(json!(found.0))
}

struct Differences(Vec<Value>);

impl Differences {
    fn differ(
        &mut self,
        what: &str,
        of_node: bool,
        id: u32,
        engine: impl Display,
        host: impl Display,
    ) {
        let text = format!("{what} {id}: engine {engine}, ResourceManager {host}");
        self.0.push(json!([what, of_node, id, text]));
    }

    fn used(&mut self, what: &str, of_node: bool, engine: (u64, &[i64]), row: &HostRow) {
        let HostRow(id, containers, used, _) = row;
        if engine.0 != *containers {
            self.differ(
                &format!("containers of {what}"),
                of_node,
                *id,
                engine.0,
                containers,
            );
        }
        let mut other = engine.1.to_vec();
        other.resize(used.len(), 0);
        if other != *used {
            let (other, used) = (format!("{other:?}"), format!("{used:?}"));
            self.differ(&format!("resources of {what}"), of_node, *id, other, used);
        }
    }

    fn asks(&mut self, job: u32, engine: &[(u32, i64)], end: u32, host: &[(u32, i64, bool)]) {
        let mut counts: BTreeMap<u32, (i64, i64, bool)> = BTreeMap::new();
        for &(ask, count) in engine {
            if ask < end {
                counts.entry(ask).or_default().0 = count;
            } else {
                let told = format!("{ask}: {count}");
                self.differ("ask of job", false, job, told, "unknown");
            }
        }
        for &(ask, pending, counted) in host {
            let entry = counts.entry(ask).or_default();
            (entry.1, entry.2) = (pending, counted);
        }
        for (ask, (count, pending, counted)) in counts {
            if count != pending {
                self.differ("ask of job", false, job, format!("{ask}: {count}"), pending);
            } else if pending > 0 && !counted {
                // Nodes with room for it might be left alone.
                let told = format!("{ask}: pending");
                self.differ("size of ask of job", false, job, told, "not counted");
            }
        }
    }

    /// Reports jobs or nodes that the engine should know.
    fn missing<'a>(&mut self, what: &str, of_node: bool, rows: impl Iterator<Item = &'a HostRow>) {
        for HostRow(id, .., expected) in rows {
            if *expected {
                self.differ(what, of_node, *id, "unknown", "exists");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(engine: &Value, jobs: &Value, nodes: &Value) -> Vec<String> {
        let books = json!({ "engine": engine.to_string(), "jobs": jobs, "nodes": nodes });
        let books: Books = serde_json::from_value(books).expect("books");
        let found = differences(&books).expect("books");
        let rows = found.as_array().expect("a list");
        for row in rows {
            let start = format!("{} {}: ", row[0].as_str().expect("a kind"), row[2]);
            assert!(row[3].as_str().expect("a text").starts_with(&start));
            assert_eq!(
                row[1],
                row[0].as_str().is_some_and(|what| what.ends_with("node"))
            );
        }
        rows.iter()
            .map(|row| row[3].as_str().expect("a text").to_string())
            .collect()
    }

    #[test]
    fn equal_books_have_no_difference() {
        let engine = json!({
            "jobs": [[3, 2, [2048, 2], [[0, 5]]], [4, 0, [], []]],
            "nodes": [[1, 2, [2048, 2]]],
        });
        let jobs = json!([
            [
                [3, 2, [2048, 2, 0, 0], true],
                [2, [[0, 5, true], [1, 0, false]]]
            ],
            [[4, 0, [0, 0, 0, 0], true], null],
            // The engine is told nothing of one that is put aside.
            [[5, 7, [1, 1, 0, 0], false], null],
        ]);
        let nodes = json!([[1, 2, [2048, 2, 0, 0], true]]);
        assert_eq!(texts(&engine, &jobs, &nodes), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_difference_is_told() {
        let engine = json!({
            "jobs": [
                [3, 2, [2048, 2], [[0, 5], [1, 1], [2, 4], [9, 1]]],
                [4, 0, [], [[0, 1]]],
                [8, 0, [], []],
            ],
            "nodes": [[1, 2, [2048, 2]], [2, 0, []]],
        });
        let jobs = json!([
            [
                [3, 1, [1024, 1], true],
                [4, [[0, 6, true], [2, 4, false], [3, 7, true]]]
            ],
            // Its asks have changed since.
            [[4, 0, [0, 0], true], null],
            [[5, 0, [0, 0], true], null],
        ]);
        let nodes = json!([
            [1, 2, [2048, 3], true],
            [6, 0, [0, 0], true],
            [7, 0, [0, 0], false]
        ]);
        assert_eq!(
            texts(&engine, &jobs, &nodes),
            [
                "ask of job 3: engine 9: 1, ResourceManager unknown",
                "ask of job 3: engine 0: 5, ResourceManager 6",
                "ask of job 3: engine 1: 1, ResourceManager 0",
                "size of ask of job 3: engine 2: pending, ResourceManager not counted",
                "ask of job 3: engine 3: 0, ResourceManager 7",
                "containers of job 3: engine 2, ResourceManager 1",
                "resources of job 3: engine [2048, 2], ResourceManager [1024, 1]",
                "job 8: engine exists, ResourceManager unknown",
                "job 5: engine unknown, ResourceManager exists",
                "resources of node 1: engine [2048, 2], ResourceManager [2048, 3]",
                "node 2: engine exists, ResourceManager unknown",
                "node 6: engine unknown, ResourceManager exists",
            ]
        );
    }
}
