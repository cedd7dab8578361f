//! Wrong estimates: the size times a log-normal factor (HF-5).

use super::Job;
use heddle_sim::random::Random;

/// Gives the jobs estimates `size * X`, X log-normal with median 1: half is as likely as double.
/// `sigma` is the standard deviation of ln X. The errors are independent per job and reproducible
/// by seed.
pub fn with_errors(jobs: &[Job], sigma: f64, seed: u64) -> Vec<Job> {
    let mut normal = Normal::new(seed);
    let wrong = |job: &Job| Job {
        estimate: job.size * (sigma * normal.draw()).exp(),
        ..*job
    };
    jobs.iter().map(wrong).collect()
}

/// Standard normal numbers by Marsaglia's polar method, which yields two at a time.
pub struct Normal {
    random: Random,
    spare: Option<f64>,
}

impl Normal {
    /// Creates the stream of a seed.
    pub fn new(seed: u64) -> Normal {
        Normal {
            random: Random::new(seed),
            spare: None,
        }
    }

    /// Draws the next number.
    pub fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.coordinate(), self.coordinate());
            let square = x * x + y * y;
            // Three in four points lie in the circle, so the loop ends.
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Draws uniformly between -1 and 1.
    fn coordinate(&mut self) -> f64 {
        const STEPS: usize = 1 << 53;
        self.random.below(STEPS) as f64 / STEPS as f64 * 2.0 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks mean, variance and the part beyond one and two standard deviations (31.7 and 4.6 %),
    /// each within four standard errors of 100,000 draws.
    #[test]
    fn the_numbers_are_normal() {
        let mut normal = Normal::new(1);
        let drawn: Vec<f64> = (0..100_000).map(|_| normal.draw()).collect();
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|x| x * x).sum::<f64>() / 1e5;
        let beyond = |limit: f64| drawn.iter().filter(|x| x.abs() > limit).count() as f64 / 1e5;
        assert!(mean.abs() < 0.013, "{mean}");
        assert!((variance - 1.0).abs() < 0.018, "{variance}");
        assert!((beyond(1.0) - 0.3173).abs() < 0.006, "{}", beyond(1.0));
        assert!((beyond(2.0) - 0.0455).abs() < 0.003, "{}", beyond(2.0));
    }
}
