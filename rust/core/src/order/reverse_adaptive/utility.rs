//! Utility: how content a job is with a number of slots (RA-25, RA-26). One formula; `placement`
//! decides about the slots.
//!
//! The restated paper names the utility and says that s_fit is its performance model, but has no
//! formula. This one is ours; it follows what is known of the same group's Adaptive Scheduler.

/// Utility of a job that needs slots and has none: below every job that has one.
pub const NO_SLOT: f64 = -2.0;

/// Returns the utility of `alloc` slots for a job that needs `fit` and could use `pending` at once.
///
/// It is 1 with all the slots that the job can use, and falls linearly to 0 at its need. Below its
/// need it falls by the logarithm to -1 at one slot, so that the first slots count most. Without
/// slots it is -2. A job that needs nothing is at 0 without slots.
pub fn utility(alloc: f64, fit: f64, pending: f64) -> f64 {
    if pending <= 0.0 || alloc >= pending {
        1.0
    } else if alloc >= fit {
        (alloc - fit) / (pending - fit)
    } else if alloc <= 0.0 {
        NO_SLOT
    } else if fit <= 1.0 {
        // The logarithm has no use below one slot. A linear term increases as well, and is 0 at the
        // need.
        alloc / fit - 1.0
    } else {
        (alloc.ln() / fit.ln() - 1.0).max(NO_SLOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_branches_at_points_worked_by_hand() {
        assert_eq!(utility(4.0, 4.0, 10.0), 0.0, "0 exactly at the need");
        assert_eq!(utility(7.0, 4.0, 10.0), 0.5, "(7 - 4) / (10 - 4)");
        assert_eq!(utility(10.0, 4.0, 10.0), 1.0);
        assert_eq!(utility(12.0, 4.0, 10.0), 1.0);
        assert_eq!(utility(1.0, 4.0, 10.0), -1.0, "log 1 = 0");
        assert!(
            (utility(2.0, 4.0, 10.0) + 0.5).abs() < 1e-15,
            "log 2 / log 4 - 1"
        );
        assert_eq!(utility(0.0, 4.0, 10.0), -2.0);
        assert_eq!(utility(0.0, 4.0, 0.0), 1.0, "nothing pending");
        assert_eq!(utility(1.0, 1.0, 10.0), 0.0, "needs one, has one");
        assert_eq!(utility(0.0, 1.0, 10.0), -2.0);
        assert_eq!(utility(0.0, 0.0, 10.0), 0.0, "needs none, has none");
        assert_eq!(utility(3.0, 0.0, 10.0), 0.3, "best effort");
        // More needed than there are tasks: the goal is nearer than the length of one task (RA-39).
        assert_eq!(utility(5.0, 20.0, 5.0), 1.0);
        assert!(utility(4.0, 20.0, 5.0) < 0.0);
    }

    proptest! {
        #[test]
        fn it_grows_with_every_slot_and_changes_its_sign_at_the_need(
            fit in 0.0f64..60.0, pending in 1u32..60,
        ) {
            let pending = f64::from(pending);
            let mut before = f64::NEG_INFINITY;
            for alloc in 0..=pending as u32 {
                let alloc = f64::from(alloc);
                let now = utility(alloc, fit, pending);
                prop_assert!(now > before, "{before} then {now} at {alloc}");
                prop_assert!((-2.0..=1.0).contains(&now));
                prop_assert_eq!(now >= 0.0, alloc >= fit.min(pending));
                prop_assert!(alloc < 1.0 || now >= -1.0, "one slot is worth -1 at the least");
                before = now;
            }
            prop_assert_eq!(before, 1.0);
        }
    }
}
