//! Resource vectors: memory, virtual cores and any further YARN resource type.
//!
//! A fixed width keeps vectors `Copy` and comparisons free of branches. Eight types are more than
//! any cluster we know of configures; a setup with more is refused.

use std::ops::{Add, AddAssign, Index, Sub, SubAssign};

/// How many resource types a vector can hold.
pub const RESOURCE_TYPES_MAX: usize = 8;

/// Amounts by resource type. Index 0 is memory in MB, 1 virtual cores, the rest in the order
/// that the host gave when it opened the engine. May be negative: a node can be overcommitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct Resource(pub [i64; RESOURCE_TYPES_MAX]);

impl Resource {
    /// Nothing of anything.
    pub const ZERO: Resource = Resource([0; RESOURCE_TYPES_MAX]);
    /// As much as one could want: the identity of `component_min`.
    pub const UNBOUNDED: Resource = Resource([i64::MAX; RESOURCE_TYPES_MAX]);

    /// The same memory, and no bound on anything else.
    pub fn in_memory_alone(&self) -> Resource {
        let mut amounts = Resource::UNBOUNDED;
        amounts.0[0] = self.0[0];
        amounts
    }

    /// A vector of the two types that every cluster has.
    pub const fn new(memory_mb: i64, vcores: i64) -> Resource {
        let mut amounts = [0; RESOURCE_TYPES_MAX];
        amounts[0] = memory_mb;
        amounts[1] = vcores;
        Resource(amounts)
    }

    /// Memory in MB.
    pub fn memory_mb(&self) -> i64 {
        self.0[0]
    }

    /// Virtual cores.
    pub fn vcores(&self) -> i64 {
        self.0[1]
    }

    /// Whether `self` can be taken out of `room`. Types that are not asked for do not matter,
    /// so a node that is overcommitted in one type still serves asks without it.
    pub fn fits_in(&self, room: &Resource) -> bool {
        let mut fits = true;
        for i in 0..RESOURCE_TYPES_MAX {
            fits &= self.0[i] <= room.0[i] || self.0[i] <= 0;
        }
        fits
    }

    /// Component-wise minimum.
    pub fn component_min(&self, other: &Resource) -> Resource {
        self.zip(other, i64::min)
    }

    /// Component-wise maximum.
    pub fn component_max(&self, other: &Resource) -> Resource {
        self.zip(other, i64::max)
    }

    /// Component-wise difference that stops at zero.
    pub fn minus_or_zero(&self, other: &Resource) -> Resource {
        self.zip(other, |a, b| a.saturating_sub(b).max(0))
    }

    /// `self` taken `times` times; saturates, because users choose the counts.
    pub fn times(&self, times: i64) -> Resource {
        Resource(self.0.map(|amount| amount.saturating_mul(times)))
    }

    /// `self` scaled by `factor` (at least 0), rounded down.
    pub fn scaled(&self, factor: f64) -> Resource {
        Resource(self.0.map(|amount| (amount as f64 * factor) as i64))
    }

    /// The same, rounded up.
    pub fn scaled_up(&self, factor: f64) -> Resource {
        Resource(self.0.map(|amount| (amount as f64 * factor).ceil() as i64))
    }

    /// `self` in `parts` (at least 1) equal parts, rounded down.
    pub fn divided(&self, parts: i64) -> Resource {
        Resource(self.0.map(|amount| amount / parts))
    }

    /// Whether nothing is asked for or used.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|&amount| amount == 0)
    }

    /// Whether some component is below zero.
    pub fn any_negative(&self) -> bool {
        self.0.iter().any(|&amount| amount < 0)
    }

    /// The largest share that `self` has of any type of `total`: DRF's dominant share
    /// (Ghodsi et al., NSDI 2011, section 4). Types that the cluster lacks do not count.
    pub fn dominant_share(&self, total: &Resource) -> f64 {
        let mut share: f64 = 0.0;
        for i in 0..RESOURCE_TYPES_MAX {
            if total.0[i] > 0 {
                share = share.max(self.0[i] as f64 / total.0[i] as f64);
            }
        }
        share
    }

    fn zip(&self, other: &Resource, f: impl Fn(i64, i64) -> i64) -> Resource {
        let mut amounts = [0; RESOURCE_TYPES_MAX];
        for (i, amount) in amounts.iter_mut().enumerate() {
            *amount = f(self.0[i], other.0[i]);
        }
        Resource(amounts)
    }
}

impl Index<usize> for Resource {
    type Output = i64;
    fn index(&self, resource_type: usize) -> &i64 {
        &self.0[resource_type]
    }
}

impl Add for Resource {
    type Output = Resource;
    fn add(self, other: Resource) -> Resource {
        self.zip(&other, i64::saturating_add)
    }
}

impl Sub for Resource {
    type Output = Resource;
    fn sub(self, other: Resource) -> Resource {
        self.zip(&other, i64::saturating_sub)
    }
}

impl AddAssign for Resource {
    fn add_assign(&mut self, other: Resource) {
        *self = *self + other;
    }
}

impl SubAssign for Resource {
    fn sub_assign(&mut self, other: Resource) {
        *self = *self - other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_does_not_have_to_fit() {
        let overcommitted_in_vcores = Resource::new(1024, -2);
        assert!(Resource::new(512, 0).fits_in(&overcommitted_in_vcores));
        assert!(!Resource::new(512, 1).fits_in(&overcommitted_in_vcores));
        assert!(!Resource::new(2048, 0).fits_in(&overcommitted_in_vcores));
    }

    #[test]
    fn the_dominant_share_is_the_largest_and_skips_what_the_cluster_lacks() {
        // The example of the DRF paper, section 4.1: 9 CPUs, 18 GB; a task <1 CPU, 4 GB>.
        let cluster = Resource::new(18, 9);
        assert_eq!(Resource::new(4, 1).dominant_share(&cluster), 4.0 / 18.0);
        assert_eq!(Resource::new(1, 3).dominant_share(&cluster), 3.0 / 9.0);
        let mut with_gpu = Resource::new(1, 1);
        with_gpu.0[2] = 7;
        assert_eq!(with_gpu.dominant_share(&cluster), 1.0 / 9.0);
    }
}
