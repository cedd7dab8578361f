//! Targets for files that people write: heddle.json, allocations, ACL lines.

use crate::engine::{live, policies};
use heddle_core::Setup;
use heddle_core::config::Allocations;
use heddle_economy::auth::acl::Acl;
use serde_json::{Value, json};

/// Reads a configuration: refuses it with a sentence, or runs an engine under it.
pub(crate) fn config(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    match Setup::with_config(&value) {
        Ok(setup) => live(setup),
        Err(error) => assert!(
            !error.to_string().is_empty(),
            "a refusal without a sentence"
        ),
    }
}

pub(crate) fn config_seeds() -> Vec<Vec<u8>> {
    let queues = json!([
        {"path": "root.a", "weight": 2.0, "min_share": {"memory-mb": 4096, "vcores": 2},
         "max_running_jobs": 5, "max_am_share": 0.5, "acl_submit": "alice staff", "budget": 100,
         "spending_rate": 2, "income": 1},
        {"path": "root.b.c", "max_share": {"memory-mb": 65536, "vcores": 16}, "min_maps": 2,
         "min_reduces": 1, "max_tasks_per_job": 3, "preempt_opaque": false},
        {"path": "root.d", "min_share": {"memory-mb": "12.5%", "vcores": "50% of parent"},
         "max_share": "75%", "max_child_share": {"vcores": 2}, "max_container": {"vcores": 1},
         "parent": true, "compare": "dominant", "preempt_from": false,
         "preempt_inside": false,
         "preemption": {"min_share_timeout_ms": 1, "fair_share_threshold": 0.25}}
    ]);
    let defaults = json!({"max_share": "90%", "max_am_share": -1, "compare": "capacity"});
    let placement = json!([{"rule": "specified", "create": false}, {"rule": "user"},
        {"rule": "default", "queue": "root.a"}]);
    let preemption = json!({"enabled": true, "grace_ms": 1, "fair_share_threshold": 0.5,
        "cluster_threshold": 0.5, "masters": true, "observe_only": false,
        "round_ms": 1, "round_max": 0.5,
        "round_part": 0.5, "dead_zone": 0.5,
        "inside": {"first": "priorities", "usage_min": 0.5, "round_max": 0.2}});
    policies()
        .into_iter()
        .map(|policy| {
            let config = json!({
                "policy": policy, "queues": queues,
                "queue_defaults": defaults, "placement": placement,
                "preemption": preemption, "slots": {"map_per_node": 2, "reduce_per_node": 1},
                "delay": {"node_wait_ms": 10}, "reservation": {"after_ms": 1, "hold_ms": 2},
                "hfsp": {"samples": 2}, "deficit": {"new_job_boost": {"factor": 3.0}},
                "reverse_adaptive": {"foreign_load": [[0, 0.5], [1000, 0.1]]},
            });
            config.to_string().into_bytes()
        })
        .collect()
}

/// Reads allocations: refuses them at a line that the text has, or gives the values to an engine.
pub(crate) fn allocations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().count() as u32 + 1;
    match Allocations::parse(&text) {
        Ok(parsed) => {
            let again = Allocations::parse(&text).expect("the same text was taken before");
            assert_eq!(parsed, again, "one text, two readings");
            for warning in &parsed.warnings {
                assert!(warning.line <= lines, "a warning beyond the end: {warning}");
            }
            let setup = json!({"config": {"policy": "fair-original"}, "allocations": text});
            if let Ok(setup) = Setup::from_json(&setup) {
                live(setup);
            }
        }
        Err(fault) => {
            assert!(fault.line <= lines, "a fault beyond the end: {fault}");
            assert!(!fault.problem.is_empty(), "a fault without a sentence");
        }
    }
}

pub(crate) fn allocation_seeds() -> Vec<Vec<u8>> {
    let xml = "<?xml version=\"1.0\"?>\n<allocations>\n  <pool name=\"ads\"><minMaps>10</minMaps>\
               <minReduces>5</minReduces><maxRunningJobs>3</maxRunningJobs><weight>2.0</weight>\
               </pool>\n  <pool name=\"root.science.physics\"><minMaps>4</minMaps></pool>\n  \
               <user name=\"alice\"><maxRunningJobs>6</maxRunningJobs></user>\n  \
               <userMaxJobsDefault>3</userMaxJobsDefault><poolMaxJobsDefault>20\
               </poolMaxJobsDefault>\n</allocations>\n";
    let plain = "# pool maps reduces\nads 10 5\nroot.science.physics 4 0\n";
    let queue = "<allocations><queue name=\"a\"><minResources>1 mb,1 vcores</minResources>\
                 </queue></allocations>";
    let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]><allocations>&b;</allocations>";
    [xml, plain, queue, entity, "<allocations/>"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

/// Reads ACL lines, and takes or skips each. A fault names a line that the file has.
pub(crate) fn acl(data: &[u8]) {
    let (acl, faults) = Acl::parse(data);
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(acl.len() <= lines, "more users than lines");
    for fault in &faults {
        assert!((1..=lines).contains(&fault.line), "line {}", fault.line);
        assert!(!fault.to_string().is_empty(), "a fault without a sentence");
    }
}

pub(crate) fn acl_seeds() -> Vec<Vec<u8>> {
    let lines = "# user role secret\nalice user 0123456789abcdef\nroot admin 0123456789abcdefg\n\
                 bob user bobby's_16_bytes queues=root.b,root.c v1=off\n";
    let odd = "\u{feff}alice\tadmin\tshort\r\nalice user again_0123456789\r\nb..c x y\n\n";
    vec![lines.into(), odd.into(), b"a user \xff\xfe\n".to_vec()]
}
