//! Seeded random numbers: the same on every platform, as no floating-point function is involved
//! that libraries may round differently. Not for cryptography.

/// A stream of random numbers.
pub struct Random(oorandom::Rand64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(oorandom::Rand64::new(u128::from(seed)))
    }

    /// An independent stream, so that using more of one does not shift the other.
    pub fn fork(&mut self) -> Random {
        Random::new(self.0.rand_u64())
    }

    /// From 0 to `end - 1`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            _ => self.0.rand_range(0..end as u64) as usize,
        }
    }

    /// From `least` to `most`, both included.
    pub fn range(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1).max(1) as usize) as i64
    }

    /// True with probability `percent` of 100.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which are not empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_stay_in_bounds() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            let mut drawn: Vec<i64> = (0..50).map(|_| random.range(-3, 3)).collect();
            drawn.push(random.fork().range(0, 1 << 40));
            drawn
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(9)[..50].iter().all(|n| (-3..=3).contains(n)));
        assert_eq!(Random::new(1).below(0), 0);
    }
}
