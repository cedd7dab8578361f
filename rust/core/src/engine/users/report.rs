//! The figures of users for reports and explanations.

use super::{Engine, UserBook};
use crate::config::UserLimit;
use crate::model::job::{Ask, Job};
use crate::model::queue::Queue;
use crate::model::user_limit::{Terms, Usage};
use crate::model::wait::{Remedy, UserBound};
use crate::words::ids::{PartitionId, QueueId, UserId};
use crate::words::resource::Resource;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Engine {
    /// The usage and the limit of a job's user in its leaf, on the nodes of a label: of all
    /// containers, or of ApplicationMasters. None if the leaf limits no users.
    pub(in crate::engine) fn user_bound(
        &self,
        job: &Job,
        label: PartitionId,
        masters: bool,
    ) -> Option<UserBound> {
        let queue = job.facts.queue;
        let label = self.tree_label(label);
        let terms = self.terms_of(queue, label)?;
        let book = self.users.leaves.get(&queue)?;
        let user = book.users.get(&job.facts.user)?;
        let weight = self.cluster.queues.weight_of(queue, job.facts.user);
        Some(match masters {
            true => {
                let all = self.masters_of_leaf((queue, label), &terms, None);
                let size = self.users.jobs.get(&job.facts.job).map(|book| book.master);
                let exceeds = |used: Resource, limit: &Resource| {
                    size.is_some_and(|size| !terms.fits(&(used + size), limit))
                };
                let kept = |user| self.kept_in_line((queue, label), user, job.facts.job);
                let users = (book.users_that_count(), job.facts.user);
                let own = self.masters_of(&terms, (queue, label), users, (None, all));
                let (of_all, of_user) = (book.masters.on(label), user.masters.on(label));
                let (kept_of_all, kept_of_user) = (kept(None), kept(Some(job.facts.user)));
                // The user's own limit first: it holds the longest.
                let of_leaf =
                    !exceeds(of_user + kept_of_user, &own) && exceeds(of_all + kept_of_all, &all);
                let (used, limit, kept) = match of_leaf {
                    true => (of_all, all, kept_of_all),
                    false => (of_user, own, kept_of_user),
                };
                UserBound {
                    queue,
                    used,
                    limit,
                    kept,
                    of_leaf,
                    compared: 0,
                }
            }
            false => UserBound {
                queue,
                used: user.used.on(label),
                limit: terms.of_user(&self.limit_on(queue, label, &terms), weight),
                kept: Resource::ZERO,
                of_leaf: false,
                compared: terms.compared(&user.used.on(label)) as u8,
            },
        })
    }

    /// The usage and the limits of a leaf's users on the nodes of a label, if it limits them.
    pub(in crate::engine) fn report_users(
        &self,
        leaf: QueueId,
        label: PartitionId,
    ) -> Option<Value> {
        let terms = self.terms_of(leaf, label)?;
        let book = self.users.leaves.get(&leaf)?;
        let limit = self.limit_on(leaf, label, &terms);
        let asking = book.users_that_count();
        let at = (leaf, label);
        let all = self.masters_of_leaf(at, &terms, None);
        let row = |(id, user): (&UserId, &UserBook)| {
            let weight = self.cluster.queues.weight_of(leaf, *id);
            let masters_limit = self.masters_of(&terms, at, (asking, *id), (None, all));
            let masters_limit = masters_limit.component_min(&terms.cluster);
            let mut jobs = user.jobs.iter();
            let told = jobs.next().and_then(|id| self.cluster.job(*id)?.headroom);
            json!({
                "user": id.0,
                "weight": weight,
                "used": self.amounts(&user.used.on(label)),
                "limit": self.amounts(&terms.of_user(&limit, weight)),
                "masters_used": self.amounts(&user.masters.on(label)),
                "masters_limit": self.amounts(&self.calculated(masters_limit)),
                "headroom": self.amounts(&self.calculated(told.unwrap_or(Resource::ZERO))),
                "jobs": user.jobs.len(),
                "starting": user.waiting,
                "active": user.active > 0,
            })
        };
        Some(book.users.iter().map(row).collect())
    }

    /// The memory that the containers of each user may have in a leaf on the nodes of a label,
    /// without ApplicationMasters, if all users of the leaf asked for more. None if it limits no
    /// users.
    pub(in crate::engine) fn tasks_of_users_mb(
        &self,
        leaf: QueueId,
        label: PartitionId,
    ) -> Option<BTreeMap<UserId, i64>> {
        let label = self.tree_label(label);
        let terms = self.terms_of(leaf, label)?;
        let book = self.users.leaves.get(&leaf)?;
        let usage = self.usage_of((leaf, label), &terms, book);
        let weight = |user: &UserId| self.cluster.queues.weight_of(leaf, *user);
        let weights = book.users.keys().map(|user| f64::from(weight(user))).sum();
        let limit = terms.limit_of_all(&usage, weights);
        let tasks = |(id, user): (&UserId, &UserBook)| {
            let most = terms.of_user(&limit, weight(id));
            (*id, most.memory_mb() - user.masters.on(label).memory_mb())
        };
        Some(book.users.iter().map(tasks).collect())
    }

    /// The setting of its leaf with which a held ask of a job would go on, if one alone is enough.
    /// Before it, others of the user get the first of `before` for which there is one.
    pub(in crate::engine) fn user_remedy(
        &self,
        job: &Job,
        ask: &Ask,
        before: &[Resource],
    ) -> Option<Remedy> {
        let queue = job.facts.queue;
        let over = job.over.on(ask.facts.partition);
        let label = self.tree_label(ask.facts.partition);
        let terms = self.terms_of(queue, label)?;
        let book = self.users.leaves.get(&queue)?;
        let user = book.users.get(&job.facts.user)?;
        let weight = self.cluster.queues.weight_of(queue, job.facts.user);
        if !over {
            let (size, at) = (ask.facts.resource, (queue, label));
            let of_user = size + user.masters.on(label);
            let of_all = size + book.masters.on(label);
            let users = (book.users_that_count(), job.facts.user);
            let fits = |terms: &Terms, share: Option<f64>| {
                let of_leaf = self.masters_of_leaf(at, terms, share);
                let limit = self.masters_of(terms, at, users, (share, of_leaf));
                terms.fits(&of_user, &limit) && terms.fits(&of_all, &of_leaf)
            };
            let per_mille = least(1_000, |per_mille| {
                fits(&terms, Some(f64::from(per_mille) / 1_000.0))
            });
            let share = per_mille.map(|per_mille| Remedy::MasterShare { queue, per_mille });
            return share.or_else(|| raised_rule(queue, &terms, |terms| fits(&terms, None)));
        }
        let usage = self.usage_of((queue, label), &terms, book);
        let bound = Bound {
            used: user.used.on(label),
            usage,
            weight,
        };
        // All that others of the user may take before, or what goes before whatever happens.
        let mut before = before.iter();
        before.find_map(|before| self.raised(queue, &terms, &bound, before))
    }

    /// The least setting of a leaf with which a user goes on after getting `more`.
    fn raised(
        &self,
        queue: QueueId,
        terms: &Terms,
        bound: &Bound,
        more: &Resource,
    ) -> Option<Remedy> {
        // The limit grows with what the users have.
        let used = bound.used + *more;
        let usage = Usage {
            shares: bound.usage.shares + terms.share(&used) - terms.share(&bound.used),
            active: bound.usage.active + *more,
            ..bound.usage
        };
        let goes_on = |terms: Terms| {
            let limit = terms.limit(&usage);
            !terms.is_over(&used, &terms.of_user(&limit, bound.weight))
        };
        raised_rule(queue, terms, goes_on)
            .or_else(|| self.larger_queue(queue, terms, &used, goes_on))
    }

    /// The least `max_share` of a leaf or a queue above with which a user goes on who uses that:
    /// without a guarantee nothing else bounds the limit.
    fn larger_queue(
        &self,
        leaf: QueueId,
        terms: &Terms,
        used: &Resource,
        goes_on: impl Fn(Terms) -> bool,
    ) -> Option<Remedy> {
        let i = terms.compared(used);
        let path: Vec<&Queue> = self.cluster.queues.path_up(leaf).collect();
        path.iter().find_map(|queue| {
            let others = path.iter().filter(|other| other.id != queue.id);
            let most = others.fold(terms.cluster, |most, at| most.component_min(&at.max_share));
            let limit = least(u32::try_from(most[i]).unwrap_or(u32::MAX), |limit| {
                let mut maximum = most.component_min(&queue.max_share);
                maximum.0[i] = i64::from(limit);
                goes_on(Terms { maximum, ..*terms })
            });
            let limit = limit.map(i64::from);
            let limit = limit.filter(|limit| *limit > queue.max_share[i])?;
            Some(Remedy::MaxShare {
                queue: queue.id,
                resource: i as u8,
                limit,
            })
        })
    }
}

/// What a user has and what a limit depends on.
struct Bound {
    used: Resource,
    usage: Usage,
    weight: f32,
}

/// The least percentage of a user in a leaf that is enough, or else the least factor.
fn raised_rule(queue: QueueId, terms: &Terms, is_enough: impl Fn(Terms) -> bool) -> Option<Remedy> {
    let with_rule = |rule: UserLimit| is_enough(Terms { rule, ..*terms });
    let rule = terms.rule;
    let percent = least(100, |percent| {
        let percent = percent as f32;
        with_rule(UserLimit { percent, ..rule })
    });
    let tenths = || {
        least(10_000, |tenths| {
            let factor = Some(tenths as f32 / 10.0);
            with_rule(UserLimit { factor, ..rule })
        })
    };
    let by_percent = percent.map(|percent| Remedy::UserPercent { queue, percent });
    by_percent.or_else(|| tenths().map(|tenths| Remedy::UserFactor { queue, tenths }))
}

/// The least number up to `most` that is enough, if `most` is.
fn least(most: u32, enough: impl Fn(u32) -> bool) -> Option<u32> {
    if !enough(most) {
        return None;
    }
    let (mut below, mut at) = (0, most);
    while at - below > 1 {
        let middle = below + (at - below) / 2;
        match enough(middle) {
            true => at = middle,
            false => below = middle,
        }
    }
    Some(at)
}
