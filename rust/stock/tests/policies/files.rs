//! Small stock files, a pair for each kind of limit, translated, with heddle.json over them.

use heddle_stock::{Front, Properties, Property, capacity, fair, merge};
use serde_json::{Value, json};

/// Whose file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fair,
    Capacity,
}

/// What both files say in their own words: inside `<allocations>`, and as properties of queues
/// without `yarn.scheduler.capacity.root.`.
pub(crate) struct Pair {
    pub(crate) fair: &'static str,
    pub(crate) capacity: &'static [(&'static str, &'static str)],
}

/// Preemption is on in all files, as it may be in any.
const FAIR: &[(&str, &str)] = &[("yarn.scheduler.fair.preemption", "true")];
const CAPACITY: &[(&str, &str)] = &[
    ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
    ("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5"),
    (
        "yarn.scheduler.capacity.resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    ),
];

fn properties<'p>(pairs: impl Iterator<Item = (String, &'p str)>) -> Properties {
    let property = |value: &str| Property {
        value: value.to_owned(),
        line: 1,
    };
    pairs.map(|(name, value)| (name, property(value))).collect()
}

impl Pair {
    /// The configuration under `own`, which is heddle.json. Every queue has an account.
    pub(crate) fn config(&self, kind: Kind, own: &Value) -> Value {
        let mut own = own.clone();
        own["queues"] = self.accounts(kind);
        own["dynamic_priority"] = json!({"allocation_interval_ms": 1000});
        merge(self.front(kind).config, &own)
    }

    fn front(&self, kind: Kind) -> Front {
        let owned = |(name, value): &(&str, &'static str)| ((*name).to_owned(), *value);
        match kind {
            Kind::Fair => {
                let text = format!(
                    "<allocations>
                       <defaultMinSharePreemptionTimeout>1</defaultMinSharePreemptionTimeout>
                       {}
                       <queuePlacementPolicy>
                         <rule name='specified' create='false'/><rule name='default' queue='rest'/>
                       </queuePlacementPolicy>
                     </allocations>",
                    self.fair
                );
                fair::read(Some(&text), &properties(FAIR.iter().map(owned)))
            }
            Kind::Capacity => {
                let queues = self.capacity.iter().map(|(name, value)| {
                    let name = format!("yarn.scheduler.capacity.root.{name}");
                    (name, *value)
                });
                capacity::read(&properties(queues.chain(CAPACITY.iter().map(owned))))
            }
        }
        .expect("a good file")
    }

    /// Equal bids of all leaves.
    fn accounts(&self, kind: Kind) -> Value {
        let front = self.front(kind).config;
        let queues = front["queues"].as_array().into_iter().flatten();
        let paths = queues
            .map(|queue| &queue["path"])
            .filter(|path| *path != "root");
        let account = |path: &Value| json!({"path": path, "budget": 1e6, "spending_rate": 1});
        paths.map(account).collect()
    }
}
