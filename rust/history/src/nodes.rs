//! The nodes of a cluster: the ResourceManager's list, `GET /ws/v1/cluster/nodes` saved as JSON,
//! and the nodes file of SLS.

use crate::fault::Fault;
use crate::limits::{AMOUNT_MAX, NODES_MAX, check_nodes};
use crate::model::Node;
use crate::objects::{Limited, Number, Text, each, whole};
use heddle_core::words::resource::Resource;
use serde::Deserialize;
use std::io::BufRead;

const REMEDY: &str = "save it again: `curl -o nodes.json http://RM:8088/ws/v1/cluster/nodes`";

#[derive(Deserialize)]
struct Answer {
    nodes: Option<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    node: Limited<ListedNode, NODES_MAX>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedNode {
    #[serde(default)]
    rack: Text,
    #[serde(default)]
    state: Text,
    node_host_name: String,
    #[serde(default, rename = "usedMemoryMB")]
    used_memory_mb: Number,
    #[serde(default, rename = "availMemoryMB")]
    avail_memory_mb: Number,
    #[serde(default)]
    used_virtual_cores: Number,
    #[serde(default)]
    available_virtual_cores: Number,
}

/// Reads the ResourceManager's list.
///
/// # Errors
/// What is wrong with the file, with its offset.
pub(crate) fn read_listed(source: &mut dyn BufRead) -> Result<Vec<Node>, Fault> {
    let answer: Answer = whole(source, REMEDY)?;
    let listed = answer.nodes.map(|nodes| nodes.node.0).unwrap_or_default();
    let runs = |node: &ListedNode| matches!(node.state.0.as_deref(), None | Some("RUNNING"));
    let sum = |a: Number, b: Number| {
        let sum = a.0.unwrap_or(0).saturating_add(b.0.unwrap_or(0));
        sum.clamp(0, AMOUNT_MAX)
    };
    let node = |node: ListedNode| {
        let memory = sum(node.used_memory_mb, node.avail_memory_mb);
        let cores = sum(node.used_virtual_cores, node.available_virtual_cores);
        Node {
            rack: node.rack.0.unwrap_or_default(),
            host: node.node_host_name,
            capacity: (memory > 0).then(|| Resource::new(memory, cores)),
        }
    };
    Ok(listed.into_iter().filter(runs).map(node).collect())
}

#[derive(Deserialize)]
struct Rack {
    rack: String,
    nodes: Vec<SlsNode>,
}

#[derive(Deserialize)]
struct SlsNode {
    node: String,
    #[serde(default, rename = "memory-mb")]
    memory_mb: Number,
    #[serde(default)]
    vcores: Number,
}

/// Reads the nodes file of SLS.
///
/// # Errors
/// What is wrong with the file, with its offset.
pub(crate) fn read_sls(source: &mut dyn BufRead) -> Result<Vec<Node>, Fault> {
    let mut nodes = Vec::new();
    each(
        source,
        "expected racks as SLS's nodes file has them",
        |rack: Rack, _| {
            for node in rack.nodes {
                let amount = |number: Number| number.0.map(|number| number.clamp(1, AMOUNT_MAX));
                let capacity = amount(node.memory_mb).zip(amount(node.vcores));
                nodes.push(Node {
                    rack: rack.rack.clone(),
                    host: node.node,
                    capacity: capacity.map(|(memory, cores)| Resource::new(memory, cores)),
                });
            }
            check_nodes(nodes.len())
        },
    )?;
    Ok(nodes)
}
