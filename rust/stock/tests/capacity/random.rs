//! Random files. A good one is read, and its guarantees fit into each other; a spoilt one is read
//! or is a fault with a line. The same file always gives the same.
//!
//! `HEDDLE_SEEDS=n` reads n files, from `HEDDLE_FROM`. A failure prints its seed.

use super::{accepted, properties, read};
use heddle_stock::{Front, Properties};
use oorandom::Rand32;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 300;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a whole number"))
}

#[test]
fn random_files_have_guarantees_that_fit_or_a_fault_with_a_line() {
    let from = number("HEDDLE_FROM").unwrap_or(0);
    let (mut read_well, mut faults) = (0, 0);
    for seed in from..from + number("HEDDLE_SEEDS").unwrap_or(SEEDS) {
        let mut file = File::new(seed);
        file.queue("root", Kind::Percent, 0, 0);
        file.further();
        let good = properties(&file.all);
        match read(&good) {
            Ok(front) => check(seed, &good, &front),
            Err(fault) => panic!("seed {seed}: a good file: {fault}\n{:#?}", file.all),
        }
        file.spoil();
        let spoilt = properties(&file.all);
        let first = read(&spoilt);
        assert_eq!(first, read(&spoilt), "seed {seed}: not the same again");
        match first {
            Ok(front) => {
                read_well += 1;
                check(seed, &spoilt, &front);
            }
            Err(fault) => {
                faults += 1;
                // Nothing but the missing tree has no line.
                let root = spoilt.contains_key("yarn.scheduler.capacity.root.queues");
                let lines = u32::from(root)..=file.all.len() as u32;
                assert!(lines.contains(&fault.line), "seed {seed}: {fault}");
            }
        }
    }
    // Neither kind may be so rare that nothing is tested.
    assert!(
        read_well > faults / 9 && faults > read_well / 9,
        "{read_well} and {faults}"
    );
}

/// How the children of a queue are given.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Percent,
    Weight,
    Amount,
}

/// A file in the making.
struct File {
    random: Rand32,
    all: Vec<(String, String)>,
    queues: Vec<String>,
}

impl File {
    fn new(seed: u64) -> File {
        File {
            random: Rand32::new(seed),
            all: Vec::new(),
            queues: Vec::new(),
        }
    }

    fn below(&mut self, most: u32) -> u32 {
        self.random.rand_range(0..most)
    }

    fn set(&mut self, name: String, value: impl ToString) {
        self.all.push((name, value.to_string()));
    }

    /// Makes the queues below one of this kind; `mb` is its own amount of memory, 0 if it has none.
    fn queue(&mut self, path: &str, own: Kind, mb: u32, depth: u32) {
        let most = if depth == 0 { 4 } else { 3 };
        let count = match depth {
            0 => 1 + self.below(most),
            1..=3 => self.below(most),
            _ => 0,
        };
        if count == 0 || (own == Kind::Amount && mb < 10) {
            return;
        }
        let names: Vec<String> = (0..count).map(|at| format!("q{depth}{at}")).collect();
        self.set(format!("{path}.queues"), names.join(","));
        let kind = match (own, self.below(3)) {
            // Absolute amounts are for all levels below the root.
            (Kind::Amount, _) => Kind::Amount,
            (_, 0) if depth == 0 => Kind::Amount,
            (_, 1) => Kind::Weight,
            _ => Kind::Percent,
        };
        let whole = if mb == 0 { 100_000 } else { mb };
        let mut left = if kind == Kind::Percent { 100 } else { whole };
        for (at, name) in names.iter().enumerate() {
            let path = format!("{path}.{name}");
            let last = at + 1 == names.len();
            let part = match (kind, last) {
                (Kind::Percent, true) => left,
                // Nothing below nothing: each has something.
                (Kind::Percent, false) => 1 + self.below(left - (names.len() - at) as u32),
                (Kind::Weight, _) => 1 + self.below(20),
                (Kind::Amount, _) => 1 + self.below(whole / count),
            };
            left -= if kind == Kind::Weight { 0 } else { part };
            let (capacity, memory) = match kind {
                Kind::Percent => (format!("{part}"), 0),
                Kind::Weight => (format!("{part}w"), 0),
                Kind::Amount => (format!("[memory={part},vcores=0]"), part),
            };
            self.set(format!("{path}.capacity"), capacity);
            if kind != Kind::Amount && self.below(3) == 0 {
                let most = self.below(101);
                self.set(format!("{path}.maximum-capacity"), most);
            }
            self.queues.push(path.clone());
            self.queue(&path, kind, memory, depth + 1);
        }
    }

    /// Adds good properties of the system and of queues.
    fn further(&mut self) {
        for (key, values) in [
            ("maximum-applications", ["10000", "17", "0"]),
            ("maximum-am-resource-percent", ["0.1", "-1", "0.5f"]),
            (
                "resource-calculator",
                [
                    "a.DefaultResourceCalculator",
                    "a.DominantResourceCalculator",
                    "DefaultResourceCalculator",
                ],
            ),
            ("node-locality-delay", ["-1", "0", "40"]),
            ("user.max-parallel-apps", ["1", "0", "2147483647"]),
            (
                "queue-mappings-override.enable",
                ["true", "false", "perhaps"],
            ),
            (
                "queue-mappings",
                ["u:%user:root.q00.%user", "g:a:%primary_group", ""],
            ),
        ] {
            // The first child of root may be a leaf, below which no mapping goes on.
            let leaf = !self.all.iter().any(|(name, _)| name == "root.q00.queues");
            let pick = self.below(6) as usize;
            if let Some(value) = values.get(pick)
                && !(leaf && value.contains("q00"))
            {
                self.set(key.to_owned(), value);
            }
        }
        for queue in self.queues.clone() {
            for (key, values) in [
                ("user-limit-factor", ["1", "-1", "0.5"]),
                ("minimum-user-limit-percent", ["101", "25", "33.3"]),
                ("maximum-applications", ["-1", "5", "0"]),
                ("max-parallel-apps", [" 3 ", "-7", "1000000"]),
                ("state", ["STOPPED", "stopped", "Stopped"]),
                ("priority", ["1", "-1", "7"]),
                ("disable_preemption", ["true", "false", "TRUE"]),
                ("acl_submit_applications", ["*", " ", "a,b c"]),
                ("maximum-application-lifetime", ["-1", "0", "60"]),
                ("reservable", ["false", "no", ""]),
                ("auto-queue-creation-v2.enabled", ["true", "false", "yes"]),
                (
                    "auto-queue-creation-v2.maximum-queue-depth",
                    ["1", "3", "60"],
                ),
                (
                    "auto-queue-creation-v2.template.capacity",
                    ["2w", "1", "0.5w"],
                ),
                (
                    "auto-queue-creation-v2.parent-template.max-parallel-apps",
                    ["1", "-1", "9"],
                ),
                (
                    "*.auto-queue-creation-v2.leaf-template.state",
                    ["STOPPED", "running", "RUNNING"],
                ),
            ] {
                if let Some(value) = values.get(self.below(12) as usize) {
                    self.set(format!("{queue}.{key}"), value);
                }
            }
        }
    }

    /// Changes, takes out, repeats or misspells a few things.
    fn spoil(&mut self) {
        for _ in 0..1 + self.below(3) {
            let at = self.below(self.all.len() as u32) as usize;
            match self.below(8) {
                0 => self.all[at].0.push('x'),
                1 => {
                    self.all.remove(at);
                    if self.all.is_empty() {
                        self.set("root.queues".to_owned(), "a,a");
                    }
                }
                2 => self.all[at].1 = self.all[at].1.repeat(2),
                3 => self.all[at].1.insert(0, '-'),
                4 => {
                    let other = self.below(self.all.len() as u32) as usize;
                    self.all[at].1 = self.all[other].1.clone();
                }
                _ => {
                    let values = [
                        "NaN",
                        "1e30",
                        "-1",
                        "0",
                        "50",
                        "[memory=5]",
                        "3w",
                        "true",
                        "a,a",
                        "*",
                        "[memory=99999999999999999]",
                        "\u{0}",
                        "%user",
                        "0.0000001",
                        "100.04",
                        "root",
                        "[memory=50%,vcores=1w]",
                    ];
                    let value = values[self.below(values.len() as u32) as usize];
                    self.all[at].1 = value.to_owned();
                }
            }
        }
    }
}

/// What every front promises.
fn check(seed: u64, file: &Properties, front: &Front) {
    accepted(front);
    let queues = front.config["queues"].as_array().expect("a list");
    let mut seen = BTreeSet::new();
    let mut percent: BTreeMap<&str, f64> = BTreeMap::new();
    let mut amounts: BTreeMap<&str, i64> = BTreeMap::new();
    let mut own: BTreeMap<&str, i64> = BTreeMap::new();
    for queue in queues {
        let path = queue["path"].as_str().expect("a path");
        assert!(seen.insert(path), "seed {seed}: {path} twice");
        let Some((parent, _)) = path.rsplit_once('.') else {
            continue;
        };
        assert!(
            seen.contains(parent),
            "seed {seed}: {path} before its parent"
        );
        let [min, max] = ["min_share", "max_share"].map(|key| &queue[key]["memory-mb"]);
        // A capacity may be above the maximum, in stock too.
        for part in [part(min), part(max)].into_iter().flatten() {
            assert!((0.0..=100.0).contains(&part), "seed {seed}: {path}");
        }
        *percent.entry(parent).or_default() += part(min).unwrap_or(0.0);
        let mb = min.as_i64().unwrap_or(0);
        *amounts.entry(parent).or_default() += mb;
        own.insert(path, mb);
    }
    for (parent, sum) in percent {
        assert!(sum <= 100.05, "seed {seed}: {sum} % below {parent}");
    }
    for (parent, sum) in amounts {
        let own = own.get(parent).copied().filter(|own| *own > 0);
        assert!(
            own.is_none_or(|own| sum <= own),
            "seed {seed}: {sum} MB below {parent}"
        );
    }
    // Each property has one note, and each note a property or no line.
    let mut noted: Vec<&str> = front
        .notes
        .iter()
        .filter(|note| note.line > 0)
        .map(|note| note.element.as_str())
        .collect();
    noted.sort_unstable();
    let names: Vec<&str> = file.keys().map(String::as_str).collect();
    assert_eq!(noted, names, "seed {seed}");
}

/// The number before `% of parent`.
fn part(share: &Value) -> Option<f64> {
    let text = share.as_str()?.strip_suffix("% of parent")?;
    Some(text.parse().expect("a number"))
}
