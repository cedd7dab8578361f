//! Queues of fair-scheduler.xml: one entry of `queues` for each.

use super::file::{Element, Queue, Raw, under};
use super::policy::{Policy, default_policy};
use super::reading::{Reading, section};
use super::value::{
    acl, am_share, cut_note, most, most_note, resources, running_jobs, threshold, timeout_ms,
    weight,
};
use crate::Fault;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the entries of queues are made of.
struct Tree<'r> {
    policies: BTreeMap<&'r str, Policy>,
    /// That of queues which name none.
    default: Policy,
    /// Queues that YARN would not create.
    left_out: BTreeSet<&'r str>,
    /// Queues with others in them that are not left out.
    holding: BTreeSet<&'r str>,
}

/// Writes the queues, and returns the paths at and below which YARN makes none.
pub(super) fn write<'r>(
    raw: &'r Raw,
    reading: &mut Reading,
    config: &mut Map<String, Value>,
) -> BTreeSet<&'r str> {
    let tree = Tree::read(raw, reading);
    let mut queues = Vec::new();
    for queue in &raw.queues {
        let entry = tree.entry(queue, reading, config);
        let known = !tree.left_out.contains(queue.path.as_str());
        // An entry without values would make `root` look configured.
        if known && (queue.path != "root" || entry.len() > 1) {
            queues.push(Value::Object(entry));
        }
    }
    config.insert("queues".to_owned(), Value::Array(queues));
    tree.never(raw)
}

/// Why a queue is not made below another, and what to write.
fn not_below(own: Policy, parent: Policy, above: &str) -> String {
    match parent {
        Policy::Fifo => format!("{above} is fifo, which is for leaves; write fair or drf there"),
        _ => format!(
            "{} may not stand below {} (Hadoop 2.7 took it); write drf at {above}, or \
             another policy here",
            own.order(),
            parent.order()
        ),
    }
}

fn above(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(above, _)| above)
}

impl<'r> Tree<'r> {
    /// Reads the policies, and finds the queues that YARN does not create because of them.
    fn read(raw: &'r Raw, reading: &mut Reading) -> Tree<'r> {
        // Its fault is kept with the elements of all queues.
        let default = default_policy(&raw.top).unwrap_or(Policy::Fair);
        let mut tree = Tree {
            policies: BTreeMap::from([("root", default)]),
            default,
            left_out: BTreeSet::new(),
            holding: BTreeSet::new(),
        };
        for queue in &raw.queues {
            let own = queue.elements.get("schedulingPolicy");
            let policy = own.map_or(Ok(default), Policy::read);
            let policy = reading.keep(policy).unwrap_or(default);
            tree.policies.insert(&queue.path, policy);
        }
        for queue in &raw.queues {
            tree.check(queue, reading);
            if !tree.left_out.contains(queue.path.as_str()) {
                tree.holding.insert(above(&queue.path));
            }
        }
        tree
    }

    fn policy(&self, path: &str) -> Policy {
        let known = "every queue is read, parents before their children";
        *self.policies.get(path).expect(known)
    }

    fn check(&mut self, queue: &'r Queue, reading: &mut Reading) {
        let own = self.policy(&queue.path);
        let element = queue.elements.get("schedulingPolicy");
        let above = above(&queue.path);
        let parent = self.policies.get(above).copied();
        let why = if self.left_out.contains(above) {
            format!("it is below {above}, which is not made either")
        } else if let Some(parent) = parent.filter(|parent| !parent.admits(own)) {
            not_below(own, parent, above)
        } else if queue.is_parent && own == Policy::Fifo && queue.path != "root" {
            "fifo is for leaves, and this queue is for others below it; write fair or drf here"
                .to_owned()
        } else {
            match element {
                Some(element) if own == Policy::Fifo && queue.path == "root" => {
                    let what = "no queue can be below a queue with fifo: YARN makes none, and \
                                refuses every application; write fair or drf";
                    reading.warned(element.line, under("root", &element.name), what);
                }
                Some(element) => own.note(reading, &queue.path, element),
                None => {}
            }
            return;
        };
        self.left_out.insert(&queue.path);
        let line = element.map_or(queue.line, |element| element.line);
        let name = element.map_or("schedulingPolicy", |element| element.name.as_str());
        let what = format!(
            "queue {} does not exist, in YARN neither, and applications for it are refused: {why}",
            queue.path
        );
        reading.warned(line, under(&queue.path, name), what);
    }

    /// The paths at and below which YARN makes no queue because of their policies.
    fn never(&self, raw: &'r Raw) -> BTreeSet<&'r str> {
        let left_out = self.left_out.iter().copied();
        let mut never: BTreeSet<&str> = left_out
            .filter(|path| !self.left_out.contains(above(path)))
            .collect();
        // A queue that a submission makes has the default policy.
        let parents = raw.queues.iter().filter(|queue| queue.is_parent);
        let parents = parents.map(|queue| queue.path.as_str()).chain(["root"]);
        let made = parents.filter(|path| !self.left_out.contains(path));
        never.extend(made.filter(|path| !self.policy(path).admits(self.default)));
        never
    }

    /// The entry of one queue. The timeouts of root go to the section of all queues.
    fn entry(
        &self,
        queue: &Queue,
        reading: &mut Reading,
        config: &mut Map<String, Value>,
    ) -> Map<String, Value> {
        let mut entry = Map::from_iter([("path".to_owned(), json!(queue.path))]);
        for (name, element) in queue.elements.iter() {
            let what = under(&queue.path, &element.name);
            let key = match name {
                "schedulingPolicy" => continue,
                "minSharePreemptionTimeout" => "min_share_timeout_ms",
                "fairSharePreemptionTimeout" => "fair_share_timeout_ms",
                "fairSharePreemptionThreshold" => "fair_share_threshold",
                _ => {
                    let written = write_value(queue, name, element, reading, &mut entry);
                    reading.keep(written);
                    continue;
                }
            };
            let read = match name {
                "fairSharePreemptionThreshold" => threshold(element),
                _ => timeout_ms(element),
            };
            let Some((value, how)) = reading.keep(read) else {
                continue;
            };
            reading.told(element.line, what, how);
            let patience = match queue.path.as_str() {
                "root" => section(config, "preemption"),
                _ => section(&mut entry, "preemption"),
            };
            patience.insert(key.to_owned(), value);
        }
        self.write_shape(queue, &mut entry);
        entry
    }

    /// Writes whether a queue is a parent, and how its children or applications are compared.
    fn write_shape(&self, queue: &Queue, entry: &mut Map<String, Value>) {
        let own = queue.elements.get("schedulingPolicy").is_some();
        let policy = self.policy(&queue.path);
        if !queue.is_parent && queue.path != "root" {
            if own {
                entry.insert("order".to_owned(), json!(policy.order()));
            }
            return;
        }
        if own {
            entry.insert("compare".to_owned(), json!(policy.compare()));
        }
        if queue.path != "root" && !self.holding.contains(queue.path.as_str()) {
            entry.insert("parent".to_owned(), json!(true));
        }
    }
}

/// Writes a value that concerns one queue alone.
fn write_value(
    queue: &Queue,
    name: &str,
    element: &Element,
    reading: &mut Reading,
    entry: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let (line, what) = (element.line, under(&queue.path, &element.name));
    let on_parent = || {
        let problem = format!(
            "{}: expected at a leaf, and `{}` is the parent of others",
            element.name, queue.path
        );
        Fault::new(line, problem)
    };
    let (key, (value, how)) = match name {
        "weight" => ("weight", weight(element)?),
        "minResources" | "maxResources" | "maxChildResources" | "maxContainerAllocation" => {
            match read_resources(queue, name, element, reading)? {
                Ok(read) => read,
                Err(how) => {
                    reading.approximated(line, what, how);
                    return Ok(());
                }
            }
        }
        "maxRunningApps" => ("max_running_jobs", running_jobs(element)?),
        "maxAMShare" if queue.is_parent => return Err(on_parent()),
        "maxAMShare" if queue.path == "root" => {
            let how = "has no effect, as in YARN: root is no leaf";
            reading.approximated(line, what, how);
            return am_share(element).map(drop);
        }
        "maxAMShare" => ("max_am_share", am_share(element)?),
        "allowPreemptionFrom" => {
            let allowed = element.value()?.eq_ignore_ascii_case("true");
            ("preempt_from", (json!(allowed), None))
        }
        "aclSubmitApps" => ("acl_submit", acl(element)?),
        "aclAdministerApps" => ("acl_admin", acl(element)?),
        "reservation" if queue.is_parent => return Err(on_parent()),
        _ => {
            reading.reservation(line, what);
            return Ok(());
        }
    };
    reading.told(line, what, how);
    entry.insert(key.to_owned(), value);
    Ok(())
}

/// A key of an entry, its value, and how it differs from the file's.
type Keyed = (&'static str, (Value, Option<String>));

/// Reads an amount of resources, or why it has no effect.
fn read_resources(
    queue: &Queue,
    name: &str,
    element: &Element,
    reading: &Reading,
) -> Result<Result<Keyed, &'static str>, Fault> {
    let read = resources(reading, element)?;
    let how = most_note(&read);
    Ok(match name {
        "minResources" => match read.least() {
            // Missing types are none, and no mistake.
            Some(least) => Ok(("min_share", (least, cut_note(&read)))),
            None => Err(
                "YARN takes no percentage as a minimum: the queue has none, here as \
                         there; write amounts",
            ),
        },
        "maxResources" => {
            let least = queue.elements.get("minResources");
            let least = least.map(|least| resources(reading, least)).transpose()?;
            let value = most(&read, least.as_ref(), reading);
            let how = match value == most(&read, None, reading) {
                true => how,
                false => Some("is below minResources, which wins, as in YARN".to_owned()),
            };
            Ok(("max_share", (value, how)))
        }
        "maxChildResources" if !queue.is_parent && queue.path != "root" => {
            Err("has no effect at a leaf, as in YARN")
        }
        "maxChildResources" => Ok(("max_child_share", (most(&read, None, reading), how))),
        _ if read.least().is_none() => Err(
            "YARN takes no percentage here: the queue has no limit of its own, here as \
                 there; write amounts",
        ),
        _ => Ok(("max_container", (most(&read, None, reading), how))),
    })
}
