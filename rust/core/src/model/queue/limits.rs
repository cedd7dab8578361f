//! The limits of queues: amounts in whole numbers, computed when the configuration or the cluster's
//! capacity changes and never on a heartbeat. Also the settings that queues inherit.

use super::{Queue, Queues};
use crate::config::{Accessible, Amount, Amounts, Compare, Patience, Preemption, QueueConfig};
use crate::model::share_tree::Limits;
use crate::words::event::JobFacts;
use crate::words::ids::{Millis, QueueId};
use crate::words::resource::Resource;
use serde::Serialize;

/// The two limits of which a queue below may have a part.
#[derive(Clone, Copy)]
enum Limit {
    Min,
    Max,
}

impl Limit {
    fn of(self, config: &QueueConfig) -> &Amounts {
        match self {
            Limit::Min => config.min_share.as_ref().unwrap_or(&Amounts::ZERO),
            Limit::Max => &config.max_share,
        }
    }
}

/// The nodes that limits are for.
#[derive(Clone, Copy)]
struct On<'a> {
    /// Their label; none for the queue's own limits.
    label: Option<&'a str>,
    /// Their capacity.
    capacity: &'a Resource,
}

impl On<'_> {
    fn amounts(self, limit: Limit, config: &QueueConfig) -> &Amounts {
        let Some(label) = self.label else {
            return limit.of(config);
        };
        let share = config.labels.each.get(label);
        match limit {
            Limit::Min => share.and_then(|share| share.min_share.as_ref()),
            Limit::Max => share.map(|share| &share.max_share),
        }
        .unwrap_or(match limit {
            Limit::Min => &Amounts::ZERO,
            Limit::Max => &Amounts::UNBOUNDED,
        })
    }
}

impl Queues {
    /// Takes note of the cluster's capacity. Returns the queues with limits that are parts of it.
    pub(crate) fn follow(&mut self, capacity: &Resource) -> Vec<QueueId> {
        if self.capacity == *capacity {
            return Vec::new();
        }
        self.capacity = *capacity;
        self.shares_late = true;
        let in_parts = |queue: &&Queue| !queue.has_whole_limits();
        let ids: Vec<QueueId> = self.iter().filter(in_parts).map(|queue| queue.id).collect();
        for id in &ids {
            self.resolve(*id);
        }
        ids
    }

    /// Computes the limits of one queue.
    pub(super) fn resolve(&mut self, id: QueueId) {
        let [min_share, max_share] = self.in_whole(id);
        let queue = &mut self.queues[id.index()];
        (queue.min_share, queue.max_share) = (min_share, max_share);
    }

    /// Minimum and maximum of a queue in whole numbers. A maximum below the minimum counts as the
    /// minimum, as in YARN's Fair Scheduler; among queues that compare by guarantees it holds, as
    /// in its Capacity Scheduler.
    pub(crate) fn in_whole(&self, id: QueueId) -> [Resource; 2] {
        self.in_whole_on(id, self.unlabelled())
    }

    /// The nodes for which the queues' own limits are.
    fn unlabelled(&self) -> On<'_> {
        On {
            label: None,
            capacity: &self.capacity,
        }
    }

    fn in_whole_on(&self, id: QueueId, on: On<'_>) -> [Resource; 2] {
        let [min_share, max_share] = [Limit::Min, Limit::Max].map(|limit| {
            let mut amounts = Resource::ZERO;
            for (i, amount) in amounts.0.iter_mut().enumerate() {
                *amount = self.amount(id, limit, i, on);
            }
            amounts
        });
        let above = self.queues[id.index()].parent;
        let above = above.and_then(|above| self.queues[above.index()].config.compare);
        match above {
            Some(Compare::Capacity) => [min_share, max_share],
            _ => [min_share, max_share.component_max(&min_share)],
        }
    }

    /// One limit of one resource type. Cuts to a whole number once: a part of a part keeps its
    /// fraction in between.
    fn amount(&self, id: QueueId, limit: Limit, i: usize, on: On<'_>) -> i64 {
        let part = |of: i64, part: f64| (of as f64 * part) as i64;
        match on.amounts(limit, &self.queues[id.index()].config).0[i] {
            Amount::Whole(amount) => amount,
            Amount::OfCluster(fraction) => part(on.capacity[i], fraction),
            Amount::OfParent(_) => {
                let (of, fraction) = self.part(id, limit, i, on);
                part(of, f64::from(fraction))
            }
        }
    }

    /// The amount of which a limit is a part, and the part. A queue without a maximum has that of
    /// the queue above; the root is the whole cluster where it sets nothing. Multiplies from the
    /// root down as the Capacity Scheduler does: the product of floats depends on the order.
    fn part(&self, id: QueueId, limit: Limit, i: usize, on: On<'_>) -> (i64, f32) {
        let queue = &self.queues[id.index()];
        match (on.amounts(limit, &queue.config).0[i], queue.parent) {
            (Amount::OfParent(fraction), Some(parent)) => {
                let (of, above) = self.part(parent, limit, i, on);
                (of, fraction * above)
            }
            (Amount::OfParent(fraction), None) => (on.capacity[i], fraction),
            (Amount::Whole(i64::MAX), Some(parent)) => self.part(parent, limit, i, on),
            (Amount::Whole(0 | i64::MAX), None) => (on.capacity[i], 1.0),
            _ => (self.amount(id, limit, i, on), 1.0),
        }
    }

    /// The weight and the limits of a queue, for the tree of shares.
    pub(crate) fn limits(&self, queue: &Queue) -> Limits {
        self.limits_at(queue, &self.capacity)
    }

    /// The same if the nodes that they are for had another capacity.
    pub(crate) fn limits_at(&self, queue: &Queue, capacity: &Resource) -> Limits {
        let [min_share, max_share] = match *capacity == self.capacity {
            true => [queue.min_share, queue.max_share],
            false => self.in_whole_on(
                queue.id,
                On {
                    label: None,
                    capacity,
                },
            ),
        };
        let above = queue.parent.and_then(|parent| self.get(parent));
        Limits {
            weight: queue.config.weight,
            min_share,
            max_share,
            max_am_share: queue.config.max_am_share,
            compared_by: above.and_then(|above| above.config.compare),
            sets_minimum: queue.config.min_share.is_some(),
            priority: queue.config.priority,
            part: match queue.config.min_share.map(|share| share.0[0]) {
                Some(Amount::OfParent(part)) => Some(part),
                _ => None,
            },
            masters_in_line: queue.config.admission.user_limit.is_some(),
        }
    }

    /// The same for the nodes of a label, which have `capacity`; `None` is a label that no queue
    /// names. A queue that may not use the label has nothing of them; what they lend it, it has in
    /// excess.
    pub(crate) fn limits_on(
        &self,
        queue: &Queue,
        label: Option<&str>,
        capacity: &Resource,
    ) -> Limits {
        let plain = self.limits(queue);
        // No queue has a share of a label without a name.
        let label = label.unwrap_or("");
        if self
            .accessible(queue.id)
            .is_some_and(|labels| !labels.has(label))
        {
            return Limits {
                weight: 0.0,
                min_share: Resource::ZERO,
                max_share: Resource::ZERO,
                sets_minimum: true,
                ..plain
            };
        }
        let on = On {
            label: Some(label),
            capacity,
        };
        let [min_share, max_share] = self.in_whole_on(queue.id, on);
        let own = queue.config.labels.each.get(label);
        Limits {
            weight: own.and_then(|own| own.weight).unwrap_or(plain.weight),
            min_share,
            max_share,
            max_am_share: own
                .and_then(|own| own.max_am_share)
                .unwrap_or(plain.max_am_share),
            sets_minimum: own.is_some_and(|own| own.min_share.is_some()),
            ..plain
        }
    }

    /// The labels that jobs of a queue may ask for; none for all.
    pub fn accessible(&self, id: QueueId) -> Option<&Accessible> {
        let mut path = self.path_up(id);
        path.find_map(|queue| queue.config.labels.accessible.as_ref())
    }

    /// The label of asks that name none. As in the Capacity Scheduler, a queue has that of the
    /// queue above only if it may use all labels that one may use.
    pub fn default_label(&self, id: QueueId) -> Option<&str> {
        for queue in self.path_up(id) {
            if let Some(label) = &queue.config.labels.default {
                return Some(label);
            }
            let above = queue.parent.and_then(|parent| self.accessible(parent));
            let above = above.unwrap_or(&Accessible::All);
            let own = queue.config.labels.accessible.as_ref();
            if own.is_some_and(|own| !own.covers(above)) {
                return None;
            }
        }
        None
    }

    /// The key that sets the `max_share` of a queue.
    pub fn limited_by(&self, id: QueueId) -> LimitedBy {
        let Some(queue) = self.get(id) else {
            return LimitedBy::Itself;
        };
        let above = queue.parent.and_then(|parent| self.get(parent));
        let above = above.filter(|above| above.config.max_child_share.is_some());
        match above {
            Some(above) if queue.dynamic || queue.draining => LimitedBy::Parent(above.id),
            _ if self.defaults.max_share == Some(queue.config.max_share) => LimitedBy::Defaults,
            _ => LimitedBy::Itself,
        }
    }

    /// The largest container that `max_container` allows in a queue: that of the nearest queue on
    /// its path that sets one.
    pub fn max_container(&self, id: QueueId) -> Option<Resource> {
        self.path_up(id)
            .find_map(|queue| queue.config.max_container)
    }
}

/// Where a queue's limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// Its own `max_share`, if it has a limit.
    Itself,
    /// `max_child_share` of this queue.
    Parent(QueueId),
    /// `queue_defaults`.
    Defaults,
}

/// A queue whose containers are not taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Spares {
    /// The queue that says so, perhaps for those below it.
    pub queue: QueueId,
    /// Whether it spares every application (`preempt_from`), or those other than MapReduce
    /// (`preempt_opaque`).
    pub all: bool,
}

impl Spares {
    /// The applications that it spares, and the key that says so.
    pub fn applications(&self) -> &'static str {
        match self.all {
            true => "all applications (preempt_from)",
            false => "applications other than MapReduce (preempt_opaque)",
        }
    }
}

impl Queues {
    /// Whether a job's containers may be taken back at all.
    pub fn may_take_from(&self, job: &JobFacts) -> bool {
        self.spares(job).is_none()
    }

    /// The queue on a job's path that spares its containers, if one does. `preempt_from` of a queue
    /// above is not overruled; of `preempt_opaque` the nearest decides.
    pub fn spares(&self, job: &JobFacts) -> Option<Spares> {
        let path = || self.path_up(job.queue);
        if let Some(queue) = path().find(|queue| !queue.config.preempt_from) {
            let (queue, all) = (queue.id, true);
            return Some(Spares { queue, all });
        }
        let nearest = path().find(|queue| queue.config.preempt_opaque.is_some());
        let nearest = nearest.filter(|_| !job.mapreduce)?;
        let spares = Spares {
            queue: nearest.id,
            all: false,
        };
        (nearest.config.preempt_opaque == Some(false)).then_some(spares)
    }

    /// Whether preemption takes nothing of a queue, whatever runs there (`preempt_from`).
    pub fn spares_all(&self, id: QueueId) -> bool {
        self.path_up(id).any(|queue| !queue.config.preempt_from)
    }

    /// Whether the jobs of a queue may take containers from each other (`preempt_inside`).
    pub fn takes_inside(&self, id: QueueId) -> bool {
        self.path_up(id).all(|queue| queue.config.preempt_inside)
    }

    /// When containers are taken back for a queue: each value from the nearest queue on its path
    /// that sets it, else from `preemption`.
    pub fn patience(&self, id: QueueId, otherwise: &Preemption) -> Preemption {
        let nearest = |value: fn(&Patience) -> Option<Millis>| {
            self.path_up(id).find_map(|at| value(&at.config.patience))
        };
        let mut path = self.path_up(id);
        let threshold = path.find_map(|at| at.config.patience.fair_share_threshold);
        Preemption {
            min_share_timeout_ms: nearest(|patience| patience.min_share_timeout_ms)
                .unwrap_or(otherwise.min_share_timeout_ms),
            fair_share_timeout_ms: nearest(|patience| patience.fair_share_timeout_ms)
                .unwrap_or(otherwise.fair_share_timeout_ms),
            fair_share_threshold: threshold.unwrap_or(otherwise.fair_share_threshold),
            ..otherwise.clone()
        }
    }
}

impl Queue {
    fn has_whole_limits(&self) -> bool {
        Limit::Min.of(&self.config).is_whole() && self.config.max_share.is_whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::placement::Submission;
    use crate::setup::Setup;
    use serde_json::{Value, json};

    fn queues(config: Value) -> Queues {
        let setup = Setup::with_config(&config).expect("a good configuration");
        Queues::new(&setup.config)
    }

    fn limits(queues: &Queues, path: &str) -> [(i64, i64); 2] {
        let queue = queues.find(path).expect(path);
        [queue.min_share, queue.max_share].map(|r| (r.memory_mb(), r.vcores()))
    }

    fn place(queues: &mut Queues, path: &str) -> Result<(QueueId, bool), String> {
        queues.place(&Submission {
            user: "u",
            requested: Some(path),
            groups: &[],
            application: "",
            recovering: false,
        })
    }

    /// Products by hand: YARN's Fair Scheduler cuts 33.3 % of 10001 (3330.333) to 3330 and 33.3 %
    /// of 7 (2.331) to 2.
    #[test]
    fn percentages_follow_the_cluster() {
        let mut queues = queues(json!({"queues": [
            {"path": "root.a", "min_share": {"memory-mb": "33.3%"}, "max_share": "33.3%"},
            {"path": "root.b", "max_share": {"memory-mb": 500}},
        ]}));
        assert_eq!(limits(&queues, "root.a"), [(0, 0), (0, 0)], "no nodes");
        assert_eq!(queues.follow(&Resource::new(10_001, 7)).len(), 1);
        assert_eq!(limits(&queues, "root.a"), [(3_330, 0), (3_330, 2)]);
        assert_eq!(limits(&queues, "root.b"), [(0, 0), (500, i64::MAX)]);
        assert_eq!(queues.follow(&Resource::new(10_001, 7)), []);
        queues.follow(&Resource::new(100, 0));
        assert_eq!(limits(&queues, "root.a"), [(33, 0), (33, 0)]);
    }

    /// The Capacity Scheduler's figures: 70 % of 102400 MB is 71679, since the float below 0.7
    /// counts; half of that queue has (float) 0.35 of the cluster, again 35839 and not 35840.
    #[test]
    fn parts_of_the_parent_are_floats_multiplied_from_the_root() {
        let part = |text: &str| json!({"memory-mb": text});
        let mut queues = queues(json!({"queues": [
            {"path": "root.a", "min_share": part("70% of parent")},
            {"path": "root.a.b", "min_share": part("50% of parent"),
             "max_share": part("100% of parent")},
            {"path": "root.c", "min_share": {"memory-mb": 1001}},
            {"path": "root.c.d", "min_share": part("50% of parent")},
        ]}));
        queues.follow(&Resource::new(102_400, 0));
        assert_eq!(limits(&queues, "root.a")[0].0, 71_679);
        assert_eq!(limits(&queues, "root.a.b")[0].0, 35_839);
        assert_eq!(limits(&queues, "root.c.d")[0].0, 500);
        assert_eq!(
            limits(&queues, "root.a.b")[1].0,
            102_400,
            "its parent has no limit"
        );
    }

    #[test]
    fn a_maximum_below_the_minimum_is_the_minimum() {
        let mut queues = queues(json!({"queues": [
            {"path": "root.a", "min_share": {"memory-mb": 600}, "max_share": {"memory-mb": "50%"}},
        ]}));
        queues.follow(&Resource::new(1_000, 0));
        assert_eq!(limits(&queues, "root.a")[1].0, 600);
        queues.follow(&Resource::new(2_000, 0));
        assert_eq!(limits(&queues, "root.a")[1].0, 1_000);
    }

    #[test]
    fn queues_that_nothing_names_have_the_defaults_and_the_limit_for_children() {
        let config = json!({
            "queues": [
                {"path": "root.a", "max_child_share": {"memory-mb": 300}},
                {"path": "root.a.named"},
                {"path": "root.own", "max_share": {"memory-mb": 700}, "max_am_share": 1.0},
            ],
            "queue_defaults": {"max_share": {"memory-mb": 900}, "max_running_jobs": 7,
                               "max_am_share": -1, "compare": "dominant"},
        });
        let mut queues = queues(config.clone());
        for (path, max) in [
            ("root.a.new", 300),
            ("root.a.named", 900),
            ("root.a.new2.below", 900),
            ("root.own", 700),
            ("root.new", 900),
            ("root", 900),
        ] {
            if path != "root" {
                place(&mut queues, path).expect(path);
            }
            assert_eq!(limits(&queues, path)[1].0, max, "{path}");
            let queue = queues.find(path).expect(path);
            assert_eq!(queue.max_running_jobs(), Some(7), "{path}");
            let am_share = if path == "root.own" { 1.0 } else { -1.0 };
            assert_eq!(queue.config.max_am_share, am_share, "{path}");
        }
        // The limit for children goes with the file, and comes to a queue that leaves it.
        let mut without = config;
        without["queues"] = json!([{"path": "root.a", "max_child_share": {"memory-mb": 200}}]);
        queues.reload(&Setup::with_config(&without).expect("good").config);
        assert_eq!(limits(&queues, "root.a.new")[1].0, 200);
        assert_eq!(limits(&queues, "root.a.named")[1].0, 200);
        assert_eq!(limits(&queues, "root.own")[1].0, 900);
    }

    #[test]
    fn a_parent_without_children_takes_no_submissions() {
        let mut queues = queues(json!({"queues": [{"path": "root.p", "parent": true}]}));
        let refusal = place(&mut queues, "root.p");
        let refusal = refusal.expect_err("it is no leaf");
        assert!(refusal.contains("for queues below it"), "{refusal}");
        place(&mut queues, "root.p.x").expect("below it");
        let refusal = place(&mut queues, "p").expect_err("no leaf");
        assert!(refusal.contains("has queues below it"), "{refusal}");
    }

    #[test]
    fn the_nearest_queue_decides_on_the_largest_container() {
        let queues = queues(json!({"queues": [
            {"path": "root", "max_container": {"memory-mb": 100}},
            {"path": "root.a", "max_container": {"vcores": 2}},
            {"path": "root.a.b"}, {"path": "root.c"},
        ]}));
        let largest = |path: &str| {
            let id = queues.find(path).expect(path).id;
            let largest = queues.max_container(id).expect("root has one");
            (largest.memory_mb(), largest.vcores())
        };
        assert_eq!(largest("root.c"), (100, i64::MAX));
        assert_eq!(
            largest("root.a.b"),
            (i64::MAX, 2),
            "as a whole, as in YARN's Fair Scheduler"
        );
    }
}
