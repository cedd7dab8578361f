//! The simulated machines: nodes on racks, slots, speeds, and the placement of block replicas.
//! Holds no mutable state.

use crate::random::Random;
use heddle_core::words::ids::{Millis, NodeId, PlaceId};

/// The machines and their speeds. Rates are per task, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardware {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of racks; nodes are spread evenly.
    pub racks: u32,
    /// Map and reduce slots per node.
    pub slots: [u32; 2],
    /// Total slots of a node whose slots take either kind, up to `slots` of each. Without it, map
    /// and reduce slots are separate.
    pub slots_together: Option<u32>,
    /// Bandwidth of a rack's link in each direction.
    pub rack_bytes_per_s: u64,
    /// Length of an HDFS block.
    pub block_bytes: u64,
    /// Number of consecutive blocks of a file that one writer wrote: they share their first
    /// replica.
    pub blocks_per_writer: u32,
    /// Rate at which a map reads and processes.
    pub map_bytes_per_s: u64,
    /// Highest rate at which a reduce fetches, over all sources.
    pub copy_bytes_per_s: u64,
    /// Rate at which a reduce sorts and processes.
    pub reduce_bytes_per_s: u64,
    /// Rate at which a task writes to HDFS.
    pub write_bytes_per_s: u64,
    /// Overhead of every task: start of the JVM, set-up, commit.
    pub overhead_ms: Millis,
    /// Time between two reports of a node with room. A node with a newly freed slot reports at
    /// once.
    pub heartbeat_ms: Millis,
}

impl Default for Hardware {
    /// A hundred nodes of the papers' time: 10 racks of 10, 500 Mb/s per rack (SW-30), 2 map slots
    /// and 1 reduce slot (HF-33). A map processes a block of 128 MB in 28 s. HDFS writes at half
    /// the rate of a disk of that time.
    fn default() -> Hardware {
        Hardware {
            nodes: 100,
            racks: 10,
            slots: [2, 1],
            slots_together: None,
            rack_bytes_per_s: 62_500_000,
            block_bytes: 128 << 20,
            blocks_per_writer: 8,
            map_bytes_per_s: 5_000_000,
            copy_bytes_per_s: 25_000_000,
            reduce_bytes_per_s: 10_000_000,
            write_bytes_per_s: 25_000_000,
            overhead_ms: 1_000,
            heartbeat_ms: 1_000,
        }
    }
}

impl Hardware {
    /// Returns the rack of a node, from 0. The first racks are larger if nodes do not divide
    /// evenly.
    pub fn rack_of(&self, node: u32) -> usize {
        (u64::from(node) * u64::from(self.racks) / u64::from(self.nodes.max(1))) as usize
    }

    /// Returns the nodes of a rack.
    pub fn nodes_of(&self, rack: usize) -> std::ops::Range<u32> {
        let first = |rack: u64| (rack * u64::from(self.nodes)).div_ceil(u64::from(self.racks));
        first(rack as u64) as u32..first(rack as u64 + 1) as u32
    }

    /// Returns the name of a rack.
    pub fn rack_place(&self, rack: usize) -> PlaceId {
        PlaceId(1 + rack as u32)
    }

    /// Returns the name of a node's host.
    pub fn host_place(&self, node: NodeId) -> PlaceId {
        PlaceId(1 + self.racks + node.0)
    }

    /// Returns the slots of a node, of whatever kind.
    pub fn slots_per_node(&self) -> u32 {
        self.slots_together.unwrap_or(self.slots.iter().sum())
    }

    /// Tells whether every slot takes either kind, so that the engine has one pool of slots.
    pub fn takes_either_kind(&self) -> bool {
        self.slots_together
            .is_some_and(|all| self.slots == [all; 2])
    }

    /// Returns the slots of all nodes, by kind.
    pub fn slots_in_all(&self) -> [u32; 2] {
        self.slots.map(|slots| slots * self.nodes)
    }

    /// Places the replicas of one block as HDFS does by default: on the writer's node and on two
    /// nodes of one other rack, or fewer if there are fewer nodes. With one rack, on three nodes of
    /// it.
    pub fn place_block(&self, writer: u32, random: &mut Random) -> Block {
        let mut block = Block::default();
        block.add(writer);
        let home = self.rack_of(writer);
        let away = match self.racks {
            0 | 1 => home,
            racks => (home + 1 + random.below(racks as usize - 1)) % racks as usize,
        };
        let nodes = self.nodes_of(away);
        for _ in 0..2 {
            let free: u32 = nodes.clone().filter(|node| !block.holds(*node)).count() as u32;
            if free == 0 {
                break;
            }
            let pick = random.below(free as usize);
            let node = nodes.clone().filter(|node| !block.holds(*node)).nth(pick);
            block.add(node.expect("the pick is below their count"));
        }
        block
    }

    /// Places the blocks of a file whose writers are spread over the cluster.
    pub fn place_file(&self, blocks: u32, random: &mut Random) -> Vec<Block> {
        let mut writer = 0;
        let place = |i: u32| {
            if i.is_multiple_of(self.blocks_per_writer.max(1)) {
                writer = random.below(self.nodes as usize) as u32;
            }
            self.place_block(writer, random)
        };
        (0..blocks).map(place).collect()
    }
}

/// The nodes that hold replicas of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    nodes: [u32; 3],
    replicas: u8,
}

impl Block {
    /// A block with replicas on these nodes; those beyond the third are left out.
    pub fn on(nodes: impl IntoIterator<Item = u32>) -> Block {
        let mut block = Block::default();
        for node in nodes {
            if usize::from(block.replicas) < block.nodes.len() && !block.holds(node) {
                block.add(node);
            }
        }
        block
    }

    fn add(&mut self, node: u32) {
        self.nodes[usize::from(self.replicas)] = node;
        self.replicas += 1;
    }

    /// Returns the nodes, the writer's first.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[..usize::from(self.replicas)]
    }

    /// Returns whether the node has a replica.
    pub fn holds(&self, node: u32) -> bool {
        self.nodes().contains(&node)
    }

    /// Returns the racks, each once, the writer's first.
    pub fn racks(&self, hardware: &Hardware) -> impl Iterator<Item = usize> {
        let racks = self.nodes().iter().map(|node| hardware.rack_of(*node));
        let racks: Vec<usize> = racks.collect();
        let away = racks.iter().copied().find(|rack| *rack != racks[0]);
        racks.first().copied().into_iter().chain(away)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_rack_are_those_whose_rack_it_is() {
        for (nodes, racks) in [(100, 10), (7, 3), (3, 3), (5, 1)] {
            let hardware = Hardware {
                nodes,
                racks,
                ..Hardware::default()
            };
            let mut seen = 0;
            for rack in 0..racks as usize {
                for node in hardware.nodes_of(rack) {
                    assert_eq!(hardware.rack_of(node), rack, "{nodes} {racks}");
                    seen += 1;
                }
            }
            assert_eq!(seen, nodes);
        }
    }

    #[test]
    fn replicas_lie_as_hdfs_places_them() {
        let hardware = Hardware::default();
        let mut random = Random::new(3);
        let mut away = vec![0; 10];
        for i in 0..2_000 {
            let writer = i % 100;
            let block = hardware.place_block(writer, &mut random);
            let nodes = block.nodes();
            assert_eq!(nodes[0], writer);
            assert!(nodes[1] != nodes[2]);
            let racks: Vec<usize> = nodes.iter().map(|node| hardware.rack_of(*node)).collect();
            assert!(racks[0] != racks[1] && racks[1] == racks[2], "{racks:?}");
            assert_eq!(block.racks(&hardware).collect::<Vec<_>>(), racks[..2]);
            away[racks[1]] += 1;
        }
        // 2,000 blocks on 10 racks: 200 each on average (5 standard deviations are 67).
        assert!(
            away.iter().all(|count| (133..267).contains(count)),
            "{away:?}"
        );
    }

    #[test]
    fn small_clusters_hold_as_many_replicas_as_they_can() {
        let small = |nodes, racks| Hardware {
            nodes,
            racks,
            ..Hardware::default()
        };
        let mut random = Random::new(3);
        assert_eq!(small(1, 1).place_block(0, &mut random).nodes(), [0]);
        let two = small(2, 2).place_block(1, &mut random);
        assert_eq!(two.nodes(), [1, 0]);
        let one_rack = small(3, 1).place_block(1, &mut random);
        let mut nodes = one_rack.nodes().to_vec();
        nodes.sort_unstable();
        assert_eq!(nodes, [0, 1, 2]);
        assert_eq!(one_rack.racks(&small(3, 1)).count(), 1);
    }

    #[test]
    fn a_writer_writes_its_blocks_one_after_the_other() {
        let hardware = Hardware::default();
        let blocks = hardware.place_file(17, &mut Random::new(1));
        let writers: Vec<u32> = blocks.iter().map(|block| block.nodes()[0]).collect();
        assert!(writers[..8].iter().all(|writer| *writer == writers[0]));
        assert!(writers[8..16].iter().all(|writer| *writer == writers[8]));
        assert_ne!(writers[0], writers[8]);
    }
}
