//! The allocations file in XML.

use super::{Draft, Pool, User, count, weight};
use crate::config::text::{Fault, shown};
use crate::config::unknown;
use crate::config::xml::{self, Xml};
use roxmltree::Node;

/// Elements, texts and comments together: more than `NAMES_MAX` pools have.
const NODES_MAX: u32 = 500_000;

const IN_ALLOCATIONS: &[&str] = &["pool", "user", "userMaxJobsDefault", "poolMaxJobsDefault"];
const IN_POOL: &[&str] = &["minMaps", "minReduces", "maxRunningJobs", "weight"];
const IN_USER: &[&str] = &["maxRunningJobs"];

/// Elements of versions that had dropped deficits, most of them for preemption. Suggesting the
/// nearest known element would be bad advice: `maxMaps` is no misspelt `minMaps`.
const OF_LATER_VERSIONS: &[&str] = &[
    "maxMaps",
    "maxReduces",
    "schedulingMode",
    "minSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "defaultMinSharePreemptionTimeout",
    "defaultPoolSchedulingMode",
    "poolMaxJobsPerUser",
];

/// Elements of YARN's Fair Scheduler only. A file with one is refused: its author counts on limits
/// and rights that this reader does not know.
const OF_YARN: &[&str] = &[
    "queue",
    "minResources",
    "maxResources",
    "maxChildResources",
    "maxContainerAllocation",
    "maxRunningApps",
    "maxAMShare",
    "schedulingPolicy",
    "aclSubmitApps",
    "aclAdministerApps",
    "aclAdministerReservations",
    "allowPreemptionFrom",
    "queueMaxResourcesDefault",
    "queueMaxAppsDefault",
    "queueMaxAMShareDefault",
    "userMaxAppsDefault",
    "defaultQueueSchedulingPolicy",
    "queuePlacementPolicy",
];

pub(super) fn read(text: &str, draft: &mut Draft) -> Result<(), Fault> {
    let xml = Xml::parse(text, "allocations", NODES_MAX)?;
    Reader(&xml).allocations(xml.root(), draft)
}

struct Reader<'x>(&'x Xml<'x>);

impl Reader<'_> {
    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.0.line(node)
    }

    fn allocations(&self, root: Node<'_, '_>, draft: &mut Draft) -> Result<(), Fault> {
        self.attributes(root, &[], draft);
        let (mut users, mut pools) = (None, None);
        for element in self.elements(root)? {
            let line = self.line(element);
            match element.tag_name().name() {
                "pool" => {
                    let pool = self.pool(element, draft)?;
                    draft.read.pools.push(pool);
                }
                "user" => {
                    let user = self.user(element, draft)?;
                    draft.read.users.push(user);
                }
                "userMaxJobsDefault" => self.whole(element, &mut users)?,
                "poolMaxJobsDefault" => self.whole(element, &mut pools)?,
                other => left_out(line, other, IN_ALLOCATIONS, draft)?,
            }
        }
        draft.read.user_max_jobs = users;
        draft.read.pool_max_jobs = pools;
        Ok(())
    }

    fn pool(&self, element: Node<'_, '_>, draft: &mut Draft) -> Result<Pool, Fault> {
        let line = self.line(element);
        self.attributes(element, &["name"], draft);
        let mut pool = draft.pool(line, self.name(element, "ads")?)?;
        for value in self.elements(element)? {
            let line = self.line(value);
            match value.tag_name().name() {
                "minMaps" => self.whole(value, &mut pool.min_maps)?,
                "minReduces" => self.whole(value, &mut pool.min_reduces)?,
                "maxRunningJobs" => self.whole(value, &mut pool.max_running_jobs)?,
                "weight" => {
                    let read = weight(line, &self.text(value)?)?;
                    self.once(value, &mut pool.weight, read)?;
                }
                other => left_out(line, other, IN_POOL, draft)?,
            }
        }
        Ok(pool)
    }

    fn user(&self, element: Node<'_, '_>, draft: &mut Draft) -> Result<User, Fault> {
        let line = self.line(element);
        self.attributes(element, &["name"], draft);
        let mut user = draft.user(line, self.name(element, "alice")?)?;
        for value in self.elements(element)? {
            match value.tag_name().name() {
                "maxRunningJobs" => self.whole(value, &mut user.max_running_jobs)?,
                other => left_out(self.line(value), other, IN_USER, draft)?,
            }
        }
        Ok(user)
    }

    fn name<'n>(&self, element: Node<'n, '_>, example: &str) -> Result<&'n str, Fault> {
        element.attribute("name").ok_or_else(|| {
            let tag = element.tag_name().name();
            let problem = format!("expected a name, such as <{tag} name=\"{example}\">");
            Fault::new(self.line(element), problem)
        })
    }

    /// The elements in `parent`. Refuses text between them, which belongs to none: something is
    /// wrong with those around it.
    fn elements<'n, 'i>(&self, parent: Node<'n, 'i>) -> Result<Vec<Node<'n, 'i>>, Fault> {
        let mut elements = Vec::new();
        for child in parent.children() {
            let text = child.text().unwrap_or_default().trim();
            if child.is_element() {
                elements.push(child);
            } else if child.is_text() && !text.is_empty() {
                let tag = parent.tag_name().name();
                let problem = format!("expected elements in <{tag}>, found {}", shown(text));
                return Err(Fault::new(self.line(parent), problem));
            }
        }
        Ok(elements)
    }

    /// The text of an element that has nothing else in it, except comments.
    fn text(&self, element: Node<'_, '_>) -> Result<String, Fault> {
        if let Some(inside) = element.children().find(Node::is_element) {
            let problem = format!(
                "{}: expected a number, found the element <{}>",
                element.tag_name().name(),
                xml::name(inside)
            );
            return Err(Fault::new(self.line(inside), problem));
        }
        Ok(xml::texts(element))
    }

    fn whole(&self, element: Node<'_, '_>, value: &mut Option<u32>) -> Result<(), Fault> {
        let tag = element.tag_name().name();
        let read = count(self.line(element), tag, &self.text(element)?)?;
        self.once(element, value, read)
    }

    fn once<T>(&self, element: Node<'_, '_>, value: &mut Option<T>, read: T) -> Result<(), Fault> {
        if value.replace(read).is_none() {
            return Ok(());
        }
        let tag = element.tag_name().name();
        let problem = format!("{tag} is already defined for this element; remove one of the two");
        Err(Fault::new(self.line(element), problem))
    }

    fn attributes(&self, element: Node<'_, '_>, known: &[&str], draft: &mut Draft) {
        for attribute in element.attributes() {
            let name = attribute.name();
            if !known.contains(&name) {
                let (tag, name) = (element.tag_name().name(), shown(name));
                let problem = format!("attribute {name} of <{tag}> is not known and left out");
                draft.warn(self.line(element), problem);
            }
        }
    }
}

/// Warns of an unknown element; refuses those of YARN's file.
fn left_out(line: u32, name: &str, known: &[&str], draft: &mut Draft) -> Result<(), Fault> {
    if OF_YARN.contains(&name) {
        let problem = format!(
            "<{name}> is of YARN's fair-scheduler.xml; expected the file of HADOOP-3746, with \
             <pool>. To use YARN's file, set heddle.queues.from to `fair` in yarn-site.xml"
        );
        return Err(Fault::new(line, problem));
    }
    let problem = if OF_LATER_VERSIONS.contains(&name) {
        format!("<{name}> is of later versions of the Fair Scheduler and left out")
    } else {
        let name = shown(name);
        format!("{}; it is left out", unknown(name.trim_matches('"'), known))
    };
    draft.warn(line, problem);
    Ok(())
}

/// Tells whether an element stands in YARN's fair-scheduler.xml, and never in an allocations file.
pub fn is_of_yarn(name: &str) -> bool {
    OF_YARN.contains(&name)
}
