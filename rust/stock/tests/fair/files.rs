//! Random fair-scheduler.xml files. What heddle.json says must be what was written, in whatever
//! notation; converting must lose nothing.
//!
//! `HEDDLE_SEEDS` is the number of files, `HEDDLE_SEED` the only one.

use crate::random::{Expected, File, TYPES};
use heddle_core::config::{Config, Source};
use heddle_core::model::placement::Submission;
use heddle_core::model::queue::Queues;
use heddle_core::setup::{Setup, read_config};
use heddle_stock::{Front, Verdict, fair, merge, refused};
use serde_json::{Value, json};

/// Files of an ordinary run.
const SEEDS: u64 = 300;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

fn each_file(check: impl Fn(&File)) {
    let seeds = match number("HEDDLE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HEDDLE_SEEDS").unwrap_or(SEEDS),
    };
    for seed in seeds {
        let file = File::random(seed);
        let checked = std::panic::AssertUnwindSafe(|| check(&file));
        if let Err(panic) = std::panic::catch_unwind(checked) {
            eprintln!(
                "HEDDLE_SEED={seed}, properties {:?}:\n{}",
                file.properties, file.text
            );
            std::panic::resume_unwind(panic);
        }
    }
}

fn read(file: &File) -> Front {
    fair::read(Some(&file.text), &file.properties).expect("a good file")
}

fn types() -> Vec<String> {
    TYPES.iter().map(|name| name.to_string()).collect()
}

/// What an engine makes of a configuration.
fn config(heddle_json: &Value) -> Config {
    let setup = json!({"resource_types": TYPES, "config": heddle_json,
                       "users": {"alice": 7, "bob": 8}});
    Setup::from_json(&setup)
        .expect("a good configuration")
        .config
}

#[test]
fn converting_a_file_and_reading_it_directly_are_the_same() {
    each_file(|file| {
        let front = read(file);
        assert_eq!(
            refused(&front.notes, &[]),
            Vec::<&heddle_stock::Note>::new()
        );
        let printed = format!("{:#}", front.config);
        let converted: Value = serde_json::from_str(&printed).expect("JSON");
        let direct = merge(front.config, &json!({}));
        assert_eq!(config(&converted), config(&direct));
    });
}

#[test]
fn the_engine_sees_what_a_file_says() {
    each_file(|file| {
        let config = config(&read(file).config);
        for Expected { path, values } in &file.queues {
            let queue = config.queues.iter().find(|queue| queue.path == *path);
            let queue = queue.unwrap_or_else(|| panic!("{path} is missing"));
            assert_eq!(queue.weight, values.weight, "{path}");
            assert_eq!(queue.max_running_jobs, values.max_running_jobs, "{path}");
            assert_eq!(queue.max_am_share, values.max_am_share, "{path}");
            assert_eq!(queue.min_share, values.min_share, "{path}");
            assert_eq!(queue.max_share, values.max_share, "{path}");
            assert_eq!(queue.preempt_from, values.preempt_from, "{path}");
            assert_eq!(queue.acl_submit, values.acl_submit, "{path}");
            assert_eq!(queue.patience, values.patience, "{path}");
        }
        assert_eq!(config.queues.len(), file.queues.len());
        let mut queues = Queues::new(&config);
        for path in &file.left_out {
            let submission = Submission {
                user: "alice",
                requested: Some(path),
                ..Submission::default()
            };
            let names_it = config.placement[0].source == Source::Specified;
            let (placed, never) = (queues.place(&submission), &config.dynamic_queues.never);
            assert!(never.contains(path), "{path}");
            assert!(
                !names_it || placed.is_err() || !config.placement[0].create,
                "{path}"
            );
            assert!(
                queues.iter().all(|queue| queue.config.path != *path),
                "{path}"
            );
        }
    });
}

/// DI-2: whatever a stock file can say, heddle.json can say, also piece by piece over the file.
#[test]
fn heddle_json_over_a_file_changes_what_it_names_and_nothing_else() {
    each_file(|file| {
        let front = read(file).config;
        let Some(first) = file.queues.last() else {
            return;
        };
        let over = json!({"queues": [{"path": first.path, "weight": 77.0}], "policy": "hfsp"});
        let merged = config(&merge(front.clone(), &over));
        let plain = config(&front);
        let mut queues = plain.queues.clone();
        let at = queues.iter().position(|queue| queue.path == first.path);
        queues[at.expect("it is in the file")].weight = 77.0;
        assert_eq!(merged.queues, queues);
        assert_eq!(merged.preemption, plain.preemption);
        assert_eq!(merged.placement, plain.placement);
        assert_eq!(merged.composition.order, "hfsp");
    });
}

#[test]
fn every_element_and_property_has_a_note_in_its_line() {
    each_file(|file| {
        let front = read(file);
        let blank = file.text.len() - file.text.trim_start().len();
        let document = roxmltree::Document::parse(&file.text[blank..]).expect("XML");
        let elements = document.root_element().descendants().skip(1);
        let mut lines: Vec<u32> = elements
            .filter(|node| node.is_element() && !node.has_tag_name("user"))
            .map(|node| document.text_pos_at(node.range().start).row + blank as u32)
            .collect();
        let (properties, elements): (Vec<_>, Vec<_>) = front
            .notes
            .iter()
            .partition(|note| note.element.starts_with("yarn."));
        let elements = elements.iter().filter(|note| note.element != "allocations");
        let mut noted: Vec<u32> = elements.map(|note| note.line).collect();
        lines.sort_unstable();
        noted.sort_unstable();
        // A queue that is not made has a second note.
        noted.dedup();
        assert_eq!(noted, lines);
        let mut named: Vec<&String> = properties.iter().map(|note| &note.element).collect();
        named.sort();
        let given = file.properties.keys();
        assert!(
            named
                .into_iter()
                .eq(given.filter(|name| *name != "yarn.resource-types"))
        );
    });
}

/// A generator that wrote the same file again and again would show nothing.
#[test]
fn the_files_differ_and_have_everything_in_them() {
    let files: Vec<File> = (0..SEEDS).map(File::random).collect();
    for word in [
        "<queue",
        "<pool",
        "type=\"parent\"",
        "<weight",
        "<minResources",
        "<maxResources",
        "mb,",
        "memory-mb=",
        "% cpu",
        "gpu=",
        "<maxChildResources",
        "<maxContainerAllocation",
        "<maxRunningApps",
        "<maxAMShare",
        "<schedulingPolicy",
        "<schedulingMode",
        "fifo",
        "drf",
        "<minSharePreemptionTimeout",
        "<fairSharePreemptionTimeout",
        "<aclSubmitApps",
        "<fairSharePreemptionThreshold",
        "<allowPreemptionFrom",
        "<aclAdministerApps",
        "<user ",
        "<userMaxAppsDefault",
        "<queueMaxAppsDefault",
        "<queueMaxResourcesDefault",
        "<queueMaxAMShareDefault",
        "<defaultQueueSchedulingPolicy",
        "<defaultMinSharePreemptionTimeout",
        "<defaultFairSharePreemptionTimeout",
        "<defaultFairSharePreemptionThreshold",
        "<queuePlacementPolicy",
        "nestedUserQueue",
        "<reservation/>",
        "<reservation-agent",
        "<userMaxJobsDefault",
        "<!-- none -->",
        "\n\n<?xml",
    ] {
        let having = files.iter().filter(|file| file.text.contains(word)).count();
        assert!(
            (3..300).contains(&having),
            "{word}: in {having} of {SEEDS} files"
        );
    }
    let approximated = |file: &File| {
        let notes = read(file).notes;
        notes
            .iter()
            .any(|note| matches!(note.verdict, Verdict::Approximated(_)))
    };
    assert!(files.iter().any(approximated));
    let with_gaps = files.iter().filter(|file| !file.left_out.is_empty());
    assert!((10..200).contains(&with_gaps.count()));
}

/// The reader of heddle.json accepts every type of the cluster, and no other.
#[test]
fn the_types_of_a_file_are_those_of_the_cluster() {
    let text = "<allocations><queue name=\"a\"><maxResources>tpu=1,vcores=1</maxResources></queue>\
                </allocations>";
    let front = fair::read(Some(text), &Default::default()).expect("types are not known");
    let error = read_config(&front.config, &types()).expect_err("no tpu");
    assert_eq!(error.key, "queues[0].max_share.tpu");
}
