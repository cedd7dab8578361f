//! MapReduce's slots over time: the rest after the foreign workload's demand f(t) (RA-2). A step
//! function and its integrals; knows nothing of jobs or of the source of f.

/// Slots over time, constant between steps. The first step also holds before its beginning. Never
/// negative: f can only take slots that exist (RA-39).
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Beginning and slots of each step, in order of beginning.
    steps: Vec<(f64, f64)>,
}

impl Capacity {
    /// Returns a constant capacity.
    pub fn constant(slots: f64) -> Capacity {
        Capacity {
            steps: vec![(0.0, slots.max(0.0))],
        }
    }

    /// Builds a capacity from steps of (from, slots). None unless there is a step and each begins
    /// after the previous one.
    pub fn steps(steps: &[(f64, f64)]) -> Option<Capacity> {
        let ascends = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let steps: Vec<(f64, f64)> = steps.iter().map(|(at, s)| (*at, s.max(0.0))).collect();
        (ascends && !steps.is_empty()).then_some(Capacity { steps })
    }

    /// Returns the slots at `t`.
    pub fn at(&self, t: f64) -> f64 {
        self.steps[self.step_at(t)].1
    }

    /// Returns the slot-time between two instants. It integrates instead of averaging over a longer
    /// stretch, because f may change inside a period (RA-A6).
    pub fn integral(&self, from: f64, to: f64) -> f64 {
        self.pieces(from, to)
            .map(|piece| piece.slots * (piece.to - piece.from))
            .sum()
    }

    /// Returns the stretches of constant capacity between two instants, the last first.
    pub fn pieces(&self, from: f64, to: f64) -> impl Iterator<Item = Piece> {
        let last = self.step_at(to);
        let piece = move |step: usize| {
            let end = self.steps.get(step + 1).map_or(to, |next| next.0.min(to));
            let begin = self.steps[step].0;
            (end > from).then_some(Piece {
                from: if step == 0 { from } else { begin.max(from) },
                to: end,
                slots: self.steps[step].1,
            })
        };
        // A step that begins where the stretch ends has no length.
        let pieces = (0..=last).rev().map_while(piece);
        pieces.filter(|piece| piece.to > piece.from)
    }

    fn step_at(&self, t: f64) -> usize {
        self.steps.partition_point(|(from, _)| *from <= t).max(1) - 1
    }
}

/// A stretch of time with the same number of slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Beginning.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Slots during the stretch.
    pub slots: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_add_up_the_steps_that_they_cross() {
        let capacity = Capacity::steps(&[(0.0, 10.0), (5.0, 2.0), (8.0, 0.0), (9.0, 4.0)])
            .expect("the steps ascend");
        assert_eq!(capacity.integral(0.0, 5.0), 50.0);
        // 2 s of 10, 3 s of 2, 1 s of 0, 1 s of 4.
        assert_eq!(capacity.integral(3.0, 10.0), 20.0 + 6.0 + 0.0 + 4.0);
        assert_eq!(capacity.integral(6.0, 7.0), 2.0);
        assert_eq!(capacity.integral(6.0, 6.0), 0.0);
        // The first step also holds before its beginning.
        assert_eq!(capacity.integral(-2.0, 1.0), 30.0);
        assert_eq!((capacity.at(4.9), capacity.at(5.0)), (10.0, 2.0));
    }

    #[test]
    fn pieces_come_from_the_last_backwards_and_cover_the_stretch() {
        let capacity = Capacity::steps(&[(0.0, 1.0), (4.0, 2.0)]).expect("the steps ascend");
        let piece = |from, to, slots| Piece { from, to, slots };
        let pieces: Vec<Piece> = capacity.pieces(1.0, 6.0).collect();
        assert_eq!(pieces, [piece(4.0, 6.0, 2.0), piece(1.0, 4.0, 1.0)]);
        let pieces: Vec<Piece> = capacity.pieces(1.0, 4.0).collect();
        assert_eq!(pieces, [piece(1.0, 4.0, 1.0)]);
    }

    #[test]
    fn a_load_above_the_capacity_leaves_nothing_not_less() {
        let capacity = Capacity::steps(&[(0.0, -3.0), (2.0, 1.0)]).expect("the steps ascend");
        assert_eq!(capacity.integral(0.0, 4.0), 2.0);
        assert_eq!(Capacity::constant(-1.0).at(7.0), 0.0);
        assert_eq!(Capacity::steps(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Capacity::steps(&[]), None);
    }
}
