//! Queues of fair-scheduler.xml: one entry of `queues` for each.

use super::file::{Element, Queue, Raw, under};
use super::policy::{Policy, default_policy};
use super::reading::{Reading, section};
use super::value::{
    NO_RESERVATIONS, acl, am_share, cut_note, most, most_note, resources, running_jobs, threshold,
    timeout_ms, weight,
};
use crate::Fault;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the entries of queues are made of.
struct Tree<'r> {
    policies: BTreeMap<&'r str, Policy>,
    /// Queues that YARN would not create.
    left_out: BTreeSet<&'r str>,
    /// Queues with others in them that are not left out.
    holding: BTreeSet<&'r str>,
}

pub(super) fn write(
    raw: &Raw,
    reading: &mut Reading,
    config: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let tree = Tree::read(raw, reading)?;
    let mut queues = Vec::new();
    for queue in &raw.queues {
        let entry = tree.entry(queue, reading, config)?;
        let known = !tree.left_out.contains(queue.path.as_str());
        // An entry without values would make `root` look configured.
        if known && (queue.path != "root" || entry.len() > 1) {
            queues.push(Value::Object(entry));
        }
    }
    config.insert("queues".to_owned(), Value::Array(queues));
    Ok(())
}

fn above(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(above, _)| above)
}

impl<'r> Tree<'r> {
    /// Reads the policies, and finds the queues that YARN does not create because of them.
    fn read(raw: &'r Raw, reading: &mut Reading) -> Result<Tree<'r>, Fault> {
        let default = default_policy(&raw.top)?;
        let mut tree = Tree {
            policies: BTreeMap::from([("root", default)]),
            left_out: BTreeSet::new(),
            holding: BTreeSet::new(),
        };
        for queue in &raw.queues {
            let own = queue.elements.get("schedulingPolicy");
            let policy = own.map_or(Ok(default), Policy::read)?;
            tree.policies.insert(&queue.path, policy);
        }
        for queue in &raw.queues {
            tree.check(queue, reading);
            if !tree.left_out.contains(queue.path.as_str()) {
                tree.holding.insert(above(&queue.path));
            }
        }
        Ok(tree)
    }

    fn policy(&self, path: &str) -> Policy {
        let known = "every queue is read, parents before their children";
        *self.policies.get(path).expect(known)
    }

    fn check(&mut self, queue: &'r Queue, reading: &mut Reading) {
        let own = self.policy(&queue.path);
        let element = queue.elements.get("schedulingPolicy");
        let line = element.map_or(queue.line, |element| element.line);
        let name = element.map_or("schedulingPolicy", |element| element.name.as_str());
        let what = under(&queue.path, name);
        if queue.path == "root" {
            match (own, element) {
                (Policy::Fifo, _) => reading.refused(
                    line,
                    what,
                    "YARN can create no queue in a queue with fifo; write fair or drf",
                ),
                (_, Some(element)) => own.note(reading, &queue.path, element),
                (_, None) => {}
            }
            return;
        }
        let above = above(&queue.path);
        let parent = self.policy(above);
        if self.left_out.contains(above) {
            self.left_out.insert(&queue.path);
            let how = format!("is left out, because it is below {above}");
            reading.approximated(queue.line, queue.path.clone(), how);
        } else if !parent.admits(own) {
            self.left_out.insert(&queue.path);
            let why = format!(
                "YARN does not create the queue, because {} may not stand below {}; write drf at \
                 {above}, or another policy here",
                own.order(),
                parent.order()
            );
            reading.refused(line, what, why);
        } else if queue.is_parent && own == Policy::Fifo {
            let why = "YARN can create no queue in a queue with fifo; write fair or drf, and fifo \
                       at the leaves";
            reading.refused(line, what, why);
        } else if let Some(element) = element {
            own.note(reading, &queue.path, element);
        }
    }

    /// The entry of one queue. The timeouts of root go to the section of all queues.
    fn entry(
        &self,
        queue: &Queue,
        reading: &mut Reading,
        config: &mut Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        let mut entry = Map::from_iter([("path".to_owned(), json!(queue.path))]);
        for (name, element) in queue.elements.iter() {
            let what = under(&queue.path, &element.name);
            let key = match name {
                "schedulingPolicy" => continue,
                "minSharePreemptionTimeout" => "min_share_timeout_ms",
                "fairSharePreemptionTimeout" => "fair_share_timeout_ms",
                "fairSharePreemptionThreshold" => "fair_share_threshold",
                _ => {
                    write_value(queue, name, element, reading, &mut entry)?;
                    continue;
                }
            };
            let (value, how) = match name {
                "fairSharePreemptionThreshold" => threshold(element)?,
                _ => timeout_ms(element)?,
            };
            reading.told(element.line, what, how);
            let patience = match queue.path.as_str() {
                "root" => section(config, "preemption"),
                _ => section(&mut entry, "preemption"),
            };
            patience.insert(key.to_owned(), value);
        }
        self.write_shape(queue, &mut entry);
        Ok(entry)
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
            reading.refused(line, what, NO_RESERVATIONS);
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
