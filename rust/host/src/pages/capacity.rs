//! The answer in the shape of the stock Capacity Scheduler's, field by field and in its order.
//! Sizes are worked out from what is written, as that scheduler does; usage and limits of
//! ApplicationMasters and users are the engine's.
//!
//! Some fields have another meaning here, or none; docs/stock-differences.md lists them.

mod describe;
mod figures;
mod nodes;
mod settings;

pub(super) use describe::descriptions;

use super::document::Node;
use super::info::{resource, text};
use super::{Queue, Snapshot};
use figures::{Figures, figures};
use nodes::{
    by_partition, float, labels_in_use, list, mode_of, percent, template, users, vector, whole,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The figures of each user on the nodes of each label.
type ByUser<'v> = BTreeMap<Option<u64>, Vec<(&'v str, &'v Value)>>;

type Fields = Vec<(&'static str, Node)>;

/// Returns the whole answer.
pub(super) fn document(snapshot: &Snapshot) -> Node {
    let children = snapshot.children();
    let info = Info {
        snapshot,
        figures: figures(snapshot, &children),
        children,
    };
    let scheduler = Node::Object(vec![("schedulerInfo", info.root())]);
    Node::Object(vec![("scheduler", scheduler)])
}

struct Info<'a> {
    snapshot: &'a Snapshot,
    children: Vec<Vec<usize>>,
    figures: Vec<Figures>,
}

impl Info<'_> {
    fn root(&self) -> Node {
        let own = &self.figures[0];
        let mut fields = vec![
            ("type", text("capacityScheduler")),
            ("capacity", percent(own.capacity)),
            ("usedCapacity", percent(own.used)),
            ("maxCapacity", percent(own.maximum)),
        ];
        self.later(&mut fields, || {
            vec![
                ("weight", Node::Float(own.weight)),
                ("normalizedWeight", Node::Float(own.normalized)),
                ("queueCapacityVectorInfo", vector(&own.settings)),
            ]
        });
        fields.push(("queueName", text("root")));
        self.later(&mut fields, || {
            vec![("queuePath", text("root")), self.most_parallel(0)]
        });
        fields.extend([
            ("isAbsoluteResource", Node::Flag(own.by_amount)),
            ("queues", self.below(0)),
            ("capacities", self.capacities(0, false)),
            ("health", self.health()),
            ("maximumAllocation", self.largest(0)),
            ("queueAcls", self.rights(0)),
            ("queuePriority", Node::Number(0)),
            ("orderingPolicyInfo", self.order(0)),
        ]);
        self.later(&mut fields, || self.kind(0));
        Node::Object(fields)
    }

    /// Adds fields that 3.3.6 does not have.
    fn later(&self, fields: &mut Fields, more: impl FnOnce() -> Fields) {
        if self.snapshot.stock.vectors {
            fields.extend(more());
        }
    }

    /// The queues below another one: first the leaves, as the stock scheduler has them.
    fn below(&self, at: usize) -> Node {
        let leaf = |child: &&usize| self.snapshot.queues[**child].1;
        let all = &self.children[at];
        let parents = all.iter().filter(|child| !leaf(child));
        let queues = all.iter().filter(leaf).chain(parents);
        let queues: Vec<Node> = queues.map(|&child| self.queue(child)).collect();
        list("queue", queues)
    }

    fn queue(&self, at: usize) -> Node {
        let Queue(described, leaf, ..) = &self.snapshot.queues[at];
        let own = &self.figures[at];
        let path = self.snapshot.queues[at].path();
        let mut fields = Fields::new();
        if *leaf {
            fields.push(("type", text("capacitySchedulerLeafQueueInfo")));
        }
        self.later(&mut fields, || vec![("queuePath", text(path))]);
        fields.extend(self.sizes(at));
        fields.push(("numApplications", Node::Number(own.applications)));
        self.later(&mut fields, || vec![self.most_parallel(at)]);
        let name = path.rsplit('.').next().unwrap_or(path);
        fields.extend([
            ("queueName", text(name)),
            ("isAbsoluteResource", Node::Flag(own.by_amount)),
            ("state", text(&self.snapshot.queues[at].state())),
        ]);
        if !leaf {
            fields.push(("queues", self.below(at)));
        }
        let labels = own.settings["labels"].as_array().into_iter().flatten();
        let labels = labels.filter_map(Value::as_str).map(text);
        let number = |key: &str| Node::Number(self.snapshot.queues[at].number(key));
        fields.extend([
            ("resourcesUsed", self.amounts(&described["used"])),
            ("hideReservationQueues", Node::Flag(false)),
            ("nodeLabels", Node::List(labels.collect())),
            ("allocatedContainers", number("running_containers")),
            ("reservedContainers", Node::Number(0)),
            ("pendingContainers", number("pending_containers")),
            ("capacities", self.capacities(at, *leaf)),
            ("resources", self.usage(at)),
            (
                "minEffectiveCapacity",
                resource(self.snapshot, &own.effective[0]),
            ),
            (
                "maxEffectiveCapacity",
                resource(self.snapshot, &own.effective[1]),
            ),
            ("maximumAllocation", self.largest(at)),
            ("queueAcls", self.rights(at)),
            ("queuePriority", whole(&own.settings["priority"], 0)),
            ("orderingPolicyInfo", self.order(at)),
            (
                "autoCreateChildQueueEnabled",
                Node::Flag(own.settings["creates"] == "legacy"),
            ),
            (
                "leafQueueTemplate",
                template(&own.settings["leaf_template"]),
            ),
        ]);
        self.later(&mut fields, || self.kind(at));
        if *leaf {
            fields.extend(self.leaf(at));
        }
        Node::Object(fields)
    }

    fn sizes(&self, at: usize) -> Fields {
        let own = &self.figures[at];
        let mut fields = vec![
            ("capacity", percent(own.capacity)),
            ("usedCapacity", percent(own.used)),
            ("maxCapacity", percent(own.maximum)),
            ("absoluteCapacity", percent(own.absolute.clamp(0.0, 1.0))),
            (
                "absoluteMaxCapacity",
                percent(own.absolute_maximum.clamp(0.0, 1.0)),
            ),
            (
                "absoluteUsedCapacity",
                percent(own.absolute_used.clamp(0.0, 1.0)),
            ),
        ];
        self.later(&mut fields, || {
            vec![
                ("weight", Node::Float(own.weight)),
                ("normalizedWeight", Node::Float(own.normalized)),
            ]
        });
        fields
    }

    fn most_parallel(&self, at: usize) -> (&'static str, Node) {
        let most = &self.figures[at].settings["max_parallel"];
        ("maxParallelApps", whole(most, i32::MAX.into()))
    }

    /// What 3.4 and later say of the kind of a queue.
    fn kind(&self, at: usize) -> Fields {
        let own = &self.figures[at].settings;
        let kind = if self.snapshot.queues[at].1 {
            "leaf"
        } else {
            "parent"
        };
        let capacity = &own["capacity"];
        let mode = match capacity["parts"].is_object() {
            true => mode_of(&capacity["vector"]),
            false if capacity["weight"].is_number() => "weight",
            false => "percentage",
        };
        let mut fields = vec![
            ("mode", text(mode)),
            ("queueType", text(kind)),
            (
                "creationMethod",
                text(own["created"].as_str().unwrap_or("static")),
            ),
            (
                "autoCreationEligibility",
                text(own["creates"].as_str().unwrap_or("off")),
            ),
        ];
        if let Some(label) = own["default_label"].as_str() {
            fields.push(("defaultNodeLabelExpression", text(label)));
        }
        fields.extend([
            (
                "autoQueueTemplateProperties",
                template(&own["template_all"]),
            ),
            (
                "autoQueueParentTemplateProperties",
                template(&own["template_parent"]),
            ),
            (
                "autoQueueLeafTemplateProperties",
                template(&own["template_leaf"]),
            ),
        ]);
        fields
    }

    fn leaf(&self, at: usize) -> Fields {
        let Queue(described, ..) = &self.snapshot.queues[at];
        let own = &self.figures[at];
        let settings = &own.settings;
        let waiting = self.waiting(at);
        let limit = self.limit(&described["am_limit"], &own.effective[1]);
        let users = users(described);
        let mut by_user = ByUser::new();
        for (label, share) in labels_in_use(described) {
            for user in nodes::users(share) {
                let rows = by_user.entry(user["user"].as_u64()).or_default();
                rows.push((label, user));
            }
        }
        let of_user = users.first().map(|user| self.user_masters(user));
        let user_limit = float(&settings["user_limit"], 100.0);
        let user_limit_shown = match self.snapshot.stock.vectors {
            true => Node::Float(user_limit),
            false => Node::Number(user_limit as i64),
        };
        let [most, most_per_user] = self.most_applications(at);
        let flag = |key: &str| Node::Flag(settings[key] == true);
        vec![
            (
                "numActiveApplications",
                Node::Number((own.applications - waiting).max(0)),
            ),
            ("numPendingApplications", Node::Number(waiting)),
            (
                "numContainers",
                Node::Number(self.snapshot.queues[at].number("running_containers")),
            ),
            ("maxApplications", Node::Number(most)),
            ("maxApplicationsPerUser", Node::Number(most_per_user)),
            ("userLimit", user_limit_shown),
            (
                "users",
                list(
                    "user",
                    users.iter().map(|user| self.user(user, &by_user)).collect(),
                ),
            ),
            (
                "userLimitFactor",
                Node::Float(float(&settings["user_limit_factor"], 1.0)),
            ),
            (
                "configuredMaxAMResourceLimit",
                Node::Float(float(&settings["max_am"], 0.1)),
            ),
            ("AMResourceLimit", limit.clone()),
            ("usedAMResource", self.amounts(&described["am_used"])),
            ("userAMResourceLimit", of_user.unwrap_or(limit)),
            ("preemptionDisabled", flag("preemption_disabled")),
            ("intraQueuePreemptionDisabled", flag("intra_queue_disabled")),
            ("defaultPriority", whole(&settings["default_priority"], 0)),
            (
                "isAutoCreatedLeafQueue",
                Node::Flag(settings["created"] == "dynamicLegacy"),
            ),
            (
                "maxApplicationLifetime",
                whole(&settings["max_lifetime_s"], -1),
            ),
            (
                "defaultApplicationLifetime",
                whole(&settings["lifetime_s"], -1),
            ),
        ]
    }

    /// Applications of a leaf that may not run yet, or whose ApplicationMaster has no container.
    fn waiting(&self, at: usize) -> i64 {
        let queue = &self.snapshot.queues[at];
        let held = queue.number("jobs") - queue.number("runnable_jobs");
        held.max(0) + queue.number("pending_masters")
    }

    /// How many applications a leaf takes, and of one user.
    fn most_applications(&self, at: usize) -> [i64; 2] {
        let own = &self.figures[at];
        let settings = &own.settings;
        let all = &self.snapshot.stock.shown;
        let system = all["applications"].as_i64().unwrap_or(10_000);
        let own_most = settings["max_jobs"].as_i64().filter(|most| *most >= 0);
        let of_leaf = all["applications_of_leaf"].as_i64();
        let of_leaf = of_leaf.map(|most| most.min(system));
        // As stock: a product of 32 bits, cut.
        let part = (system as f32 * own.absolute) as i64;
        let most = own_most.or(of_leaf).unwrap_or(part);
        let factor = float(&settings["user_limit_factor"], 1.0);
        let of_user = float(&settings["user_limit"], 100.0) / 100.0;
        let per_user = match factor < 0.0 {
            true => most,
            false => ((most as f32 * of_user * factor) as i64).min(most),
        };
        [most, per_user]
    }

    fn user(&self, user: &Value, labels: &ByUser<'_>) -> Node {
        let number = user["user"].as_u64().unwrap_or(0).to_string();
        let names = &self.snapshot.stock.users;
        let name = names.get(&number).map_or(number.as_str(), String::as_str);
        let count = |key: &str| user[key].as_i64().unwrap_or(0);
        let none = resource(self.snapshot, &vec![0; self.snapshot.types.len()]);
        let usage = |label: &str, user: &Value| {
            Node::Object(vec![
                ("partitionName", text(label)),
                ("used", self.amounts(&user["used"])),
                ("reserved", none.clone()),
                ("pending", none.clone()),
                ("amUsed", self.amounts(&user["masters_used"])),
                ("amLimit", self.user_masters(user)),
                ("userAmLimit", none.clone()),
            ])
        };
        let mut usages = vec![usage("", user)];
        let more = labels.get(&user["user"].as_u64()).into_iter().flatten();
        usages.extend(more.map(|(label, user)| usage(label, user)));
        Node::Object(vec![
            ("username", text(name)),
            ("resourcesUsed", self.amounts(&user["used"])),
            ("numPendingApplications", Node::Number(count("starting"))),
            (
                "numActiveApplications",
                Node::Number((count("jobs") - count("starting")).max(0)),
            ),
            ("AMResourceUsed", self.amounts(&user["masters_used"])),
            ("userResourceLimit", self.limit(&user["limit"], &[])),
            ("resources", list("resourceUsagesByPartition", usages)),
            ("userWeight", Node::Float(float(&user["weight"], 1.0))),
            (
                "isActive",
                Node::Flag(user["active"] == true || count("starting") > 0),
            ),
        ])
    }

    fn user_masters(&self, user: &Value) -> Node {
        self.limit(&user["masters_limit"], &[])
    }

    /// A limit as the calculator writes it: of memory alone it has one vcore.
    fn limit(&self, limit: &Value, absent: &[i64]) -> Node {
        let mut amounts = self.snapshot.amounts(limit, 0);
        for (at, kind) in self.snapshot.types.iter().enumerate() {
            if self.snapshot.stock.memory_only() && at > 0 {
                amounts[at] = i64::from(at == 1 && amounts[0] > 0);
            } else if !limit[&kind.0].is_number() {
                amounts[at] = absent.get(at).copied().unwrap_or(0);
            }
        }
        resource(self.snapshot, &amounts)
    }

    /// What a queue uses, and asks for.
    fn usage(&self, at: usize) -> Node {
        let Queue(described, leaf, ..) = &self.snapshot.queues[at];
        let row = |label: &str, share: &Value| {
            let used = self.snapshot.amounts(&share["used"], 0);
            let wanted = self.snapshot.amounts(&share["demand"], 0);
            let pending = wanted
                .iter()
                .zip(&used)
                .map(|(all, used)| (all - used).max(0));
            let pending: Vec<i64> = pending.collect();
            let none = vec![0; used.len()];
            let mut fields = vec![
                ("partitionName", text(label)),
                ("used", resource(self.snapshot, &used)),
                ("reserved", resource(self.snapshot, &none)),
                ("pending", resource(self.snapshot, &pending)),
            ];
            if *leaf {
                let users = users(share);
                let of_user = users.first().map(|user| self.user_masters(user));
                let limit = self.limit(&share["am_limit"], &self.figures[at].effective[1]);
                let of_user = of_user.unwrap_or_else(|| resource(self.snapshot, &none));
                fields.extend([
                    ("amUsed", self.amounts(&share["am_used"])),
                    ("amLimit", limit),
                    ("userAmLimit", of_user),
                ]);
            }
            Node::Object(fields)
        };
        let labels = labels_in_use(described).map(|(label, share)| row(label, share));
        let rows = std::iter::once(row("", described)).chain(labels);
        list("resourceUsagesByPartition", rows.collect())
    }

    fn capacities(&self, at: usize, masters: bool) -> Node {
        let own = &self.figures[at];
        let most_masters = match masters {
            true => float(&own.settings["max_am"], 0.1),
            false => 0.0,
        };
        let mut fields = vec![("partitionName", text(""))];
        self.later(&mut fields, || {
            vec![("queueCapacityVectorInfo", vector(&own.settings))]
        });
        fields.extend([
            ("capacity", percent(own.capacity)),
            ("usedCapacity", percent(own.used)),
            ("maxCapacity", percent(own.maximum)),
            ("absoluteCapacity", percent(own.absolute.clamp(0.0, 1.0))),
            (
                "absoluteUsedCapacity",
                percent(own.absolute_used.clamp(0.0, 1.0)),
            ),
            (
                "absoluteMaxCapacity",
                percent(own.absolute_maximum.clamp(0.0, 1.0)),
            ),
            ("maxAMLimitPercentage", percent(most_masters)),
        ]);
        self.later(&mut fields, || {
            vec![
                ("weight", Node::Float(own.weight)),
                ("normalizedWeight", Node::Float(own.normalized)),
            ]
        });
        let of = |amounts: &[i64]| resource(self.snapshot, amounts);
        fields.extend([
            ("configuredMinResource", of(&own.configured[0])),
            ("configuredMaxResource", of(&own.configured[1])),
            ("effectiveMinResource", of(&own.effective[0])),
            ("effectiveMaxResource", of(&own.effective[1])),
        ]);
        by_partition("queueCapacitiesByPartition", Node::Object(fields))
    }

    /// The engine counts no last operations.
    fn health(&self) -> Node {
        let last = |operation: &'static str| {
            Node::Object(vec![
                ("operation", text(operation)),
                ("nodeId", text("N/A")),
                ("containerId", text("N/A")),
                ("queue", text("N/A")),
            ])
        };
        let none = resource(self.snapshot, &vec![0; self.snapshot.types.len()]);
        let count = |operation: &'static str| {
            Node::Object(vec![
                ("operation", text(operation)),
                ("count", Node::Number(0)),
                ("resources", none.clone()),
            ])
        };
        let operations = [
            "last-allocation",
            "last-release",
            "last-preemption",
            "last-reservation",
        ];
        let counts = ["releases", "allocations", "reservations"];
        Node::Object(vec![
            ("lastrun", Node::Number(0)),
            ("operationsInfo", Node::List(operations.map(last).into())),
            ("lastRunDetails", Node::List(counts.map(count).into())),
        ])
    }

    fn rights(&self, at: usize) -> Node {
        let Queue(described, ..) = &self.snapshot.queues[at];
        let default = if at == 0 { "*" } else { " " };
        let said = |value: &Value, absent: &str| text(value.as_str().unwrap_or(absent));
        let mut rights = vec![
            ("ADMINISTER_QUEUE", said(&described["acl_admin"], default)),
            ("SUBMIT_APP", said(&described["acl_submit"], default)),
            (
                "APPLICATION_MAX_PRIORITY",
                said(&self.figures[at].settings["max_priority_acl"], "*"),
            ),
        ];
        if self.snapshot.stock.vectors {
            rights.swap(1, 2);
        }
        let rights = rights.into_iter().map(|(kind, list)| {
            Node::Object(vec![
                ("accessType", text(kind)),
                ("accessControlList", list),
            ])
        });
        list("queueAcl", rights.collect())
    }

    fn order(&self, at: usize) -> Node {
        let written = self.figures[at].settings["order"].as_str();
        let leaf = self.snapshot.queues[at].1;
        text(written.unwrap_or(if leaf { "fifo" } else { "utilization" }))
    }

    fn largest(&self, at: usize) -> Node {
        let largest = self.snapshot.amounts(&self.snapshot.stock.largest, 0);
        let own = &self.snapshot.queues[at].0["max_container"];
        let own = self.snapshot.amounts(own, i64::MAX);
        let smaller = largest.iter().zip(own);
        let smaller: Vec<i64> = smaller.map(|(all, own)| own.min(*all)).collect();
        resource(self.snapshot, &smaller)
    }

    fn amounts(&self, of: &Value) -> Node {
        resource(self.snapshot, &self.snapshot.amounts(of, 0))
    }
}

#[cfg(test)]
mod tests;
