//! Seeded random numbers, not for cryptography. They are the same on every platform: no
//! floating-point function is involved that libraries may round differently. The one exception is
//! `exponential`, which says so.

/// A stream of random numbers.
pub struct Random(oorandom::Rand64);

impl Random {
    /// Creates the stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(oorandom::Rand64::new(u128::from(seed)))
    }

    /// Draws from 0 to `end - 1`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            _ => self.0.rand_range(0..end as u64) as usize,
        }
    }

    /// Draws from `least` to `most`, both included.
    pub fn range(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1).max(1) as usize) as i64
    }

    /// Draws true with probability `percent` of 100.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Draws an index in proportion to the weights; 0 if they add up to 0.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut drawn = self.below(weights.iter().sum::<u32>() as usize) as u32;
        let hit = |weight: &u32| match drawn.checked_sub(*weight) {
            Some(left) => {
                drawn = left;
                false
            }
            None => true,
        };
        weights.iter().position(hit).unwrap_or(0)
    }

    /// Draws the time until the next of random events that are `mean_ms` apart on average. In whole
    /// ms, differently rounded logarithms hardly ever differ.
    pub fn exponential(&mut self, mean_ms: i64) -> i64 {
        let drawn = (self.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        (-drawn.ln() * mean_ms as f64).round() as i64
    }

    /// Draws one of `items`, which must not be empty.
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
            let drawn: Vec<i64> = (0..50).map(|_| random.range(-3, 3)).collect();
            drawn
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(9).iter().all(|n| (-3..=3).contains(n)));
        assert_eq!(Random::new(1).below(0), 0);
    }

    #[test]
    fn draws_have_their_means() {
        let mut random = Random::new(4);
        let sum: i64 = (0..20_000).map(|_| random.exponential(1_000)).sum();
        // The mean of 20,000 draws has a standard deviation of 7.
        assert!((sum / 20_000 - 1_000).abs() < 35, "{sum}");
        let mut hits = [0; 3];
        for _ in 0..4_000 {
            hits[random.weighted(&[1, 0, 3])] += 1;
        }
        // A quarter of 4,000, give or take 5 standard deviations of 27.
        assert!((865..1_135).contains(&hits[0]) && hits[1] == 0, "{hits:?}");
    }
}
