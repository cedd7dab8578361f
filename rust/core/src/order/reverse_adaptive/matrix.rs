//! The present placement matrix and the running tasks. The difference is the tasks that a node
//! still owes. RA-8, RA-9. Keeps counts; the numbers come from `placement`.

use crate::words::ids::{JobId, NodeId};

/// One job's tasks of one pool on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) job: JobId,
    pub(super) pool: usize,
    /// Tasks that the matrix assigns there.
    pub(super) planned: u32,
    /// Tasks that run there, including grants in flight.
    pub(super) running: u32,
}

/// The matrix, by node. A node's row is short: it holds only running and planned tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Matrix {
    nodes: Vec<Vec<Cell>>,
    /// Whether any task was planned since the last `clear_plan`.
    planned: bool,
}

impl Matrix {
    /// Counts a task of the job that started or ended on the node.
    pub(super) fn count(&mut self, node: NodeId, job: JobId, pool: usize, started: bool) {
        let cell = self.cell(node, job, pool);
        cell.running = if started {
            cell.running + 1
        } else {
            cell.running.saturating_sub(1)
        };
        // Drops empty cells to keep rows short.
        let row = &mut self.nodes[node.index()];
        row.retain(|cell| cell.planned > 0 || cell.running > 0);
    }

    /// Returns jobs to which the node owes tasks of the pool, in the order of the plan.
    pub(super) fn owed(&self, node: NodeId, pool: usize) -> impl Iterator<Item = JobId> {
        let row = self.nodes.get(node.index()).map_or(&[][..], Vec::as_slice);
        row.iter()
            .filter(move |cell| cell.pool == pool && cell.planned > cell.running)
            .map(|cell| cell.job)
    }

    /// Returns all running and planned tasks.
    pub(super) fn cells(&self) -> impl Iterator<Item = (NodeId, &Cell)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.flat_map(|(node, row)| row.iter().map(move |cell| (NodeId(node as u32), cell)))
    }

    /// Forgets the plan, and nodes that are gone; running tasks stay.
    pub(super) fn clear_plan(&mut self, is_there: impl Fn(NodeId) -> bool) {
        let planned = std::mem::take(&mut self.planned);
        for (node, row) in self.nodes.iter_mut().enumerate() {
            if !is_there(NodeId(node as u32)) {
                row.clear();
            } else if planned {
                row.iter_mut().for_each(|cell| cell.planned = 0);
                row.retain(|cell| cell.running > 0);
            }
        }
    }

    /// Plans tasks. Called in the order in which jobs are served.
    pub(super) fn plan(&mut self, node: NodeId, job: JobId, pool: usize, tasks: u32) {
        self.planned = true;
        let planned = {
            let cell = self.cell(node, job, pool);
            cell.planned += tasks;
            *cell
        };
        // Moves the cell to the end: the order of the row is the order of service.
        let row = &mut self.nodes[node.index()];
        row.retain(|cell| (cell.job, cell.pool) != (job, pool));
        row.push(planned);
    }

    fn cell(&mut self, node: NodeId, job: JobId, pool: usize) -> &mut Cell {
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, Vec::new);
        }
        let row = &mut self.nodes[node.index()];
        let at = row
            .iter()
            .position(|cell| (cell.job, cell.pool) == (job, pool));
        let at = at.unwrap_or_else(|| {
            row.push(Cell {
                job,
                pool,
                planned: 0,
                running: 0,
            });
            row.len() - 1
        });
        &mut row[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_owes_what_is_planned_and_does_not_run() {
        let mut matrix = Matrix::default();
        let (node, a, b) = (NodeId(3), JobId(1), JobId(2));
        let owed = |matrix: &Matrix| matrix.owed(node, 0).map(|job| job.0).collect::<Vec<_>>();
        matrix.count(node, a, 0, true);
        matrix.plan(node, b, 0, 1);
        matrix.plan(node, a, 0, 2);
        assert_eq!(owed(&matrix), [2, 1], "in the order of planning");
        matrix.count(node, a, 0, true);
        matrix.count(node, b, 0, true);
        assert_eq!(owed(&matrix), [0; 0]);
        // A task that ends within the cycle is replaced.
        matrix.count(node, b, 0, false);
        assert_eq!(owed(&matrix), [2]);
        assert_eq!(matrix.owed(node, 1).count(), 0, "pools are apart");
        assert_eq!(matrix.owed(NodeId(9), 0).count(), 0);
        matrix.clear_plan(|_| true);
        assert_eq!(owed(&matrix), [0; 0]);
        let cells: Vec<_> = matrix
            .cells()
            .map(|(at, cell)| (at, cell.job, cell.running))
            .collect();
        assert_eq!(cells, [(node, a, 2)]);
        matrix.clear_plan(|_| false);
        assert_eq!(matrix.cells().count(), 0);
    }
}
