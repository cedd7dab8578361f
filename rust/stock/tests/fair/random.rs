//! Writes random fair-scheduler.xml files that YARN accepts, and notes what they say. Amounts are
//! noted before they are written, in one of YARN's notations.

use heddle_core::config::{Amount, Amounts, Patience};
use heddle_stock::{Properties, Property};
use oorandom::Rand64;
use std::fmt::Write;

/// The resource types of the cluster.
pub(crate) const TYPES: [&str; 3] = ["memory-mb", "vcores", "gpu"];

/// What a file says about a queue.
pub(crate) struct Expected {
    /// Its path.
    pub(crate) path: String,
    /// Its values, or the defaults of the file, or those of YARN.
    pub(crate) values: Values,
}

/// Values of a queue.
#[derive(Clone)]
pub(crate) struct Values {
    pub(crate) weight: f64,
    pub(crate) max_running_jobs: Option<u32>,
    pub(crate) max_am_share: f64,
    pub(crate) min_share: Option<Amounts>,
    pub(crate) max_share: Amounts,
    pub(crate) preempt_from: bool,
    pub(crate) acl_submit: String,
    pub(crate) patience: Patience,
}

/// A file.
pub(crate) struct File {
    /// What stands in it.
    pub(crate) text: String,
    /// Properties beside it.
    pub(crate) properties: Properties,
    /// Every queue with an entry.
    pub(crate) queues: Vec<Expected>,
    /// Queues that YARN does not make because of a policy, without those below another.
    pub(crate) left_out: Vec<String>,
}

/// The queue above one that is being written.
#[derive(Clone, Copy)]
struct Above<'a> {
    path: &'a str,
    policy: &'static str,
    /// Whether YARN makes it.
    made: bool,
}

/// A file that is being written.
struct Writer {
    random: Rand64,
    text: String,
    queues: Vec<Expected>,
    left_out: Vec<String>,
    defaults: Values,
    drf: bool,
}

impl File {
    /// The file of a seed.
    pub(crate) fn random(seed: u64) -> File {
        let mut writer = Writer {
            random: Rand64::new(u128::from(seed)),
            text: String::new(),
            queues: Vec::new(),
            left_out: Vec::new(),
            defaults: Values {
                weight: 1.0,
                max_running_jobs: None,
                max_am_share: 0.5,
                min_share: None,
                max_share: Amounts::UNBOUNDED,
                preempt_from: true,
                acl_submit: " ".to_owned(),
                patience: Patience::default(),
            },
            drf: false,
        };
        writer.file();
        let properties = writer.properties();
        File {
            text: writer.text,
            properties,
            queues: writer.queues,
            left_out: writer.left_out,
        }
    }
}

impl Writer {
    fn below(&mut self, most: u64) -> u64 {
        self.random.rand_range(0..most)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Writes an element on a line of its own.
    fn element(&mut self, name: &str, value: &str) {
        let blanks = self.pick(&["", " ", "\n  ", "\t"]);
        let comment = self.pick(&["", "", "<!-- why -->\n"]);
        let _ = writeln!(
            self.text,
            "{comment}<{name}>{blanks}{value}{blanks}</{name}>"
        );
    }

    fn file(&mut self) {
        let blank = self.pick(&["", "", "", "\n\n"]);
        self.text += blank;
        self.text += "<?xml version=\"1.0\"?>\n<allocations>\n";
        self.defaults();
        let levels = 1 + self.below(3);
        let root = Above {
            path: "root",
            policy: self.default_policy(),
            made: true,
        };
        for number in 0..self.below(5) {
            self.queue(root, number, levels);
        }
        for name in ["alice", "bob"] {
            if self.chance(30) {
                let limit = self.below(50);
                let _ = writeln!(self.text, "<user name=\"{name}\">");
                self.element("maxRunningApps", &limit.to_string());
                self.text += "</user>\n";
            }
        }
        if self.chance(10) {
            self.text += "<queuePlacementPolicy>\n<!-- none -->\n</queuePlacementPolicy>\n";
        } else if self.chance(50) {
            self.placement();
        }
        self.text += "</allocations>\n";
    }

    fn defaults(&mut self) {
        if self.chance(30) {
            self.drf = self.chance(60);
            let policy = if self.drf { "drf" } else { "Fair" };
            self.element("defaultQueueSchedulingPolicy", policy);
        }
        if self.chance(30) {
            let limit = self.below(90) as u32;
            self.defaults.max_running_jobs = Some(limit);
            self.element("queueMaxAppsDefault", &limit.to_string());
        }
        if self.chance(30) {
            let (share, text) = self.am_share();
            self.defaults.max_am_share = share;
            self.element("queueMaxAMShareDefault", &text);
        }
        if self.chance(30) {
            let (most, text) = self.most();
            self.defaults.max_share = most;
            self.element("queueMaxResourcesDefault", &text);
        }
        for name in [
            "userMaxAppsDefault",
            "defaultMinSharePreemptionTimeout",
            "defaultFairSharePreemptionTimeout",
            "defaultFairSharePreemptionThreshold",
        ] {
            if self.chance(20) {
                let value = self.below(90);
                self.element(name, &value.to_string());
            }
        }
        // Of Hadoop 1, and of the reservation system, which is off.
        for name in ["userMaxJobsDefault", "reservation-agent"] {
            if self.chance(10) {
                self.element(name, "5");
            }
        }
    }

    fn default_policy(&self) -> &'static str {
        if self.drf { "drf" } else { "fair" }
    }

    fn am_share(&mut self) -> (f64, String) {
        let share = self.below(101) as f64 / 100.0;
        match self.chance(20) {
            true => (-1.0, "-1.0f".to_owned()),
            false => (share, format!("{share}")),
        }
    }

    /// Amounts of memory, vcores and, where it can be written, the third type.
    fn amounts(&mut self, missing: i64) -> ([i64; 3], String) {
        let (memory, vcores) = (self.below(1 << 20), self.below(1 << 10));
        let gpu = self.below(100);
        let [m, v, g] = [memory, vcores, gpu].map(|amount| amount as i64);
        match self.below(6) {
            0 => ([m, v, missing], format!("{memory} mb, {vcores} vcores")),
            1 => ([m, v, missing], format!("{vcores}vCores,{memory}.7MB")),
            2 => ([m, v, missing], format!("{memory} mb {vcores} vcores")),
            3 => (
                [m, v, missing],
                format!("vcores={vcores}, memory-mb = {memory}"),
            ),
            4 => ([missing, v, g], format!("gpu={gpu},vcores=+{vcores},")),
            _ => (
                [m, v, g],
                format!("memory-mb=1,gpu={gpu},vcores={vcores},memory-mb={memory}"),
            ),
        }
    }

    /// A maximum.
    fn most(&mut self) -> (Amounts, String) {
        let (memory, vcores) = (self.below(120), self.below(120));
        let part = |percent: u64| Amount::OfCluster(percent as f64 / 100.0);
        let whole = Amount::Whole;
        let mut most = Amounts::UNBOUNDED;
        let (parts, text) = match self.below(5) {
            0 => {
                most.0.fill(part(memory));
                return (most, format!("{memory}%"));
            }
            1 => (
                [part(memory), part(vcores), whole(0)],
                format!("{vcores}% cpu, {memory} % Memory"),
            ),
            2 => (
                [whole(i64::MAX), part(vcores), whole(i64::MAX)],
                format!("vcores={vcores}%"),
            ),
            3 => (
                [part(memory), whole(i64::MAX), part(vcores)],
                format!("gpu={vcores} %, memory-mb={memory}.0%"),
            ),
            _ => {
                let (amounts, text) = self.amounts(i64::MAX);
                (amounts.map(whole), text)
            }
        };
        most.0[..3].copy_from_slice(&parts);
        (most, text)
    }

    fn queue(&mut self, above: Above<'_>, number: u64, levels: u64) {
        let path = format!("{}.q{number}", above.path);
        let tag = self.pick(&["queue", "queue", "pool"]);
        let children = if levels > 1 { self.below(4) } else { 0 };
        let typed = self.chance(15);
        let kind = if typed { " type=\"parent\"" } else { "" };
        let _ = writeln!(self.text, "<{tag} name=\" q{number}\u{2003}\"{kind}>");
        let leaf = children == 0 && !typed;
        let policy = self.policy(leaf, above.policy);
        let fits = match (above.policy, policy) {
            ("fifo", _) | ("fair", "drf") => false,
            (_, "fifo") => leaf,
            _ => true,
        };
        if above.made && !fits {
            self.left_out.push(path.clone());
        }
        let mut values = self.defaults.clone();
        self.limits(&mut values, leaf);
        self.rest(&mut values);
        if leaf && self.chance(5) {
            self.text += "<reservation/>\n<aclListReservations>*</aclListReservations>\n";
        }
        let own = Above {
            path: &path,
            policy,
            made: above.made && fits,
        };
        if own.made {
            let path = path.clone();
            self.queues.push(Expected { path, values });
        }
        for number in 0..children {
            self.queue(own, number, levels - 1);
        }
        let _ = writeln!(self.text, "</{tag}>");
    }

    /// Writes a policy, mostly one that may stand there, and returns it.
    fn policy(&mut self, leaf: bool, above: &str) -> &'static str {
        let default = self.default_policy();
        // Under fair no queue may be drf, not even by default.
        let must = self.drf && above != "drf" && !self.chance(5);
        if !must && self.chance(60) {
            return default;
        }
        let choices: &[&'static str] = match (leaf, above) {
            _ if self.chance(5) => &["fair", "drf", "fifo"],
            (true, "drf") => &["fair", "drf", "fifo"],
            (true, _) => &["fair", "fifo"],
            (false, "drf") => &["fair", "drf"],
            (false, _) => &["fair"],
        };
        let policy = self.pick(choices);
        let name = self.pick(&["schedulingPolicy", "schedulingMode"]);
        self.element(name, policy);
        policy
    }

    fn limits(&mut self, values: &mut Values, leaf: bool) {
        if self.chance(40) {
            let weight = self.below(1_000) as f64 / 64.0;
            values.weight = weight;
            self.element("weight", &format!("{weight}"));
        }
        if self.chance(40) {
            let limit = self.below(90) as u32;
            values.max_running_jobs = Some(limit);
            self.element("maxRunningApps", &limit.to_string());
        }
        let mut least = [0; 3];
        if self.chance(40) {
            let text;
            (least, text) = self.amounts(0);
            let mut amounts = Amounts::ZERO;
            for (amount, least) in amounts.0.iter_mut().zip(least) {
                *amount = Amount::Whole(least);
            }
            values.min_share = Some(amounts);
            self.element("minResources", &text);
        }
        if self.chance(40) {
            let (mut most, text) = self.most();
            for (most, least) in most.0.iter_mut().zip(least) {
                if let Amount::Whole(most) = most {
                    *most = (*most).max(least);
                }
            }
            values.max_share = most;
            self.element("maxResources", &text);
        }
        if leaf && self.chance(30) {
            let (share, text) = self.am_share();
            values.max_am_share = share;
            self.element("maxAMShare", &text);
        }
        if !leaf && self.chance(30) {
            let (_, text) = self.most();
            self.element("maxChildResources", &text);
        }
        if self.chance(20) {
            let (_, text) = self.amounts(i64::MAX);
            self.element("maxContainerAllocation", &text);
        }
    }

    fn rest(&mut self, values: &mut Values) {
        let mut patience = values.patience;
        if self.chance(20) {
            let seconds = self.below(900) as i64;
            patience.min_share_timeout_ms = Some(1_000 * seconds);
            self.element("minSharePreemptionTimeout", &seconds.to_string());
        }
        if self.chance(20) {
            let seconds = self.below(900) as i64;
            patience.fair_share_timeout_ms = Some(1_000 * seconds);
            self.element("fairSharePreemptionTimeout", &seconds.to_string());
        }
        if self.chance(20) {
            let part = self.below(200) as f64 / 100.0;
            patience.fair_share_threshold = Some(part.min(1.0));
            self.element("fairSharePreemptionThreshold", &format!("{part}"));
        }
        values.patience = patience;
        if self.chance(20) {
            let text = self.pick(&["true", "TRUE", "false", "no", "0"]);
            values.preempt_from = text.eq_ignore_ascii_case("true");
            self.element("allowPreemptionFrom", text);
        }
        if self.chance(20) {
            let acl = self.pick(&["*", " ", "alice,bob staff", " staff", "alice "]);
            values.acl_submit = acl.to_owned();
            let _ = writeln!(self.text, "<aclSubmitApps>{acl}</aclSubmitApps>");
        }
        if self.chance(20) {
            self.text += "<aclAdministerApps>root</aclAdministerApps>\n";
        }
    }

    fn placement(&mut self) {
        self.text += "<queuePlacementPolicy>\n";
        if self.chance(70) {
            self.rule("specified", false, "");
        }
        if self.chance(40) {
            let inner = self.pick(&["primaryGroup", "secondaryGroupExistingQueue", "default"]);
            let inside = format!("\n<rule name=\"{inner}\" create=\"false\"/>\n");
            self.rule("nestedUserQueue", false, &inside);
        }
        for name in ["user", "primaryGroup"] {
            if self.chance(40) {
                self.rule(name, true, "");
            }
        }
        if self.chance(30) {
            self.rule("secondaryGroupExistingQueue", false, "");
        }
        let last = self.pick(&[
            "<rule name=\"default\" queue=\"q0\"/>\n",
            "<rule name=\"default\" create=\"\"/>\n",
            "<rule name=\"reject\"/>\n",
        ]);
        self.text += last;
        self.text += "</queuePlacementPolicy>\n";
    }

    /// Writes a rule that is not the last one.
    fn rule(&mut self, name: &str, ends: bool, inside: &str) {
        let create = match ends || self.chance(50) {
            true => " create=\"False\"",
            false => self.pick(&["", " create=\"true\""]),
        };
        let _ = writeln!(self.text, "<rule name=\"{name}\"{create}>{inside}</rule>");
    }

    fn properties(&mut self) -> Properties {
        let mut properties = Properties::new();
        let mut put = |name: String, value: String| {
            properties.insert(name, Property { value, line: 0 });
        };
        put("yarn.resource-types".to_owned(), "gpu".to_owned());
        for name in [
            "allow-undeclared-pools",
            "user-as-default-queue",
            "preemption",
            "sizebasedweight",
            "assignmultiple",
            "dynamic.max.assign",
            "am.preemption",
            "continuous-scheduling-enabled",
        ] {
            if self.chance(20) {
                let value = self.pick(&["true", "false"]);
                put(format!("yarn.scheduler.fair.{name}"), value.to_owned());
            }
        }
        for name in [
            "preemption.cluster-utilization-threshold",
            "locality.threshold.node",
            "locality.threshold.rack",
            "reservable-nodes",
        ] {
            if self.chance(20) {
                let part = self.below(100) as f64 / 64.0;
                put(format!("yarn.scheduler.fair.{name}"), format!("{part}"));
            }
        }
        for name in [
            "waitTimeBeforeKill",
            "waitTimeBeforeNextStarvationCheck",
            "max.assign",
            "locality-delay-node-ms",
            "locality-delay-rack-ms",
        ] {
            if self.chance(20) {
                let value = self.below(20_000);
                put(format!("yarn.scheduler.fair.{name}"), value.to_string());
            }
        }
        properties
    }
}
