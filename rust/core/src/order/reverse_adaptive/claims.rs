//! Bounds on the goals that jobs claim. A goal is a user's word: no check shows whether anything
//! depends on it, and the tightest goals get the most slots. So the number of a user's goals is
//! limited, and their slots to a part of the cluster. Jobs beyond the limits are served like jobs
//! without a goal. Where queues share the cluster (`fair`, `drf`), a goal counts only inside its
//! queue, and the queue's share is the bound.

use crate::words::ids::UserId;
use std::collections::BTreeMap;

/// A job's claim for its goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Owner of the job.
    pub user: UserId,
    /// Time at which it wants to be done.
    pub deadline: f64,
    /// Slots that it needs now to be done by then.
    pub slots: f64,
}

/// Sorts by deadline; equal deadlines keep their order.
fn in_order(claims: &[Claim]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by(|a, b| claims[*a].deadline.total_cmp(&claims[*b].deadline));
    order
}

/// Tells which claims are among the first `goals_max` of their user.
pub fn first_of_each(claims: &[Claim], goals_max: u32) -> Vec<bool> {
    let mut counts: BTreeMap<UserId, u32> = BTreeMap::new();
    let mut first = vec![false; claims.len()];
    for at in in_order(claims) {
        let count = counts.entry(claims[at].user).or_insert(0);
        *count += 1;
        first[at] = *count <= goals_max;
    }
    first
}

/// Returns how many slots each claim gets, at most `slots_max` per user: the earliest goal first.
pub fn believed_slots(claims: &[Claim], slots_max: f64) -> Vec<f64> {
    let mut left: BTreeMap<UserId, f64> = BTreeMap::new();
    let mut believed = vec![0.0; claims.len()];
    for at in in_order(claims) {
        let left = left.entry(claims[at].user).or_insert(slots_max);
        believed[at] = claims[at].slots.min(*left).max(0.0);
        *left -= believed[at];
    }
    believed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(user: u32, deadline: f64, slots: f64) -> Claim {
        Claim {
            user: UserId(user),
            deadline,
            slots,
        }
    }

    /// User 1 wants 3 + 4 + 5 slots by 30, 10 and 20; of 8, those by 10 and 20 get 4 and 4.
    #[test]
    fn the_earliest_goals_of_each_user_are_believed() {
        let claims = [
            claim(1, 30.0, 3.0),
            claim(1, 10.0, 4.0),
            claim(2, 40.0, 9.0),
            claim(1, 20.0, 5.0),
        ];
        assert_eq!(believed_slots(&claims, 8.0), [0.0, 4.0, 8.0, 4.0]);
        assert_eq!(believed_slots(&claims, f64::MAX), [3.0, 4.0, 9.0, 5.0]);
        assert_eq!(first_of_each(&claims, 2), [false, true, true, true]);
        assert_eq!(first_of_each(&claims, 0), [false; 4]);
    }
}
