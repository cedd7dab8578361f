//! A real number that can be a key, ordered by `f64::total_cmp`. No arithmetic.

use std::cmp::Ordering;

/// A number that sorts numerically. It must be neither NaN nor -0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Real(pub(super) f64);

impl Ord for Real {
    fn cmp(&self, other: &Real) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Real) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Real {}
