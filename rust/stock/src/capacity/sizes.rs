//! Capacities and maxima of all queues, in each partition: read, and checked against each other as
//! stock checks them (facts 3.2 and 3.3). Writes nothing.

use super::amount::{Amount, Notation, Read, Value, parts};
use super::setting::Setting;
use super::source::Source;
use crate::Fault;
use std::collections::BTreeMap;

/// How far the sum of children may be from the whole.
const PRECISION: f32 = 0.0005;

/// The capacity and the maximum of one queue in one partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Size<'a> {
    pub(super) capacity: Option<(Amount, Setting<'a>)>,
    pub(super) maximum: Option<(Amount, Setting<'a>)>,
}

/// How the capacity of a queue is given. A queue without one has 0 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Percent,
    Weight,
    Parts,
}

impl Size<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self.capacity {
            None | Some((Amount::Percent(_), _)) => Kind::Percent,
            Some((Amount::Weight(_), _)) => Kind::Weight,
            Some((Amount::Parts(_), _)) => Kind::Parts,
        }
    }

    /// As a part of the parent; weights and absolute amounts count as none.
    pub(super) fn fraction(&self) -> f32 {
        match self.capacity {
            Some((Amount::Percent(percent), _)) => percent / 100.0,
            _ => 0.0,
        }
    }
}

/// The sizes of all queues.
pub(super) struct Sizes<'a> {
    /// By partition, then by queue; the default partition is "".
    pub(super) partitions: BTreeMap<&'a str, BTreeMap<usize, Size<'a>>>,
    pub(super) notation: Notation,
    /// Whether all resource types count; else memory alone.
    pub(super) dominant: bool,
}

/// The absolute amounts of one resource vector by type; absent types are 0.
type Amounts<'s> = BTreeMap<&'s str, i64>;

impl<'a> Sizes<'a> {
    pub(super) fn read(
        source: &mut Source<'a>,
        notation: Notation,
        dominant: bool,
    ) -> Result<Sizes<'a>, Fault> {
        let mut sizes = Sizes {
            partitions: BTreeMap::from([("", BTreeMap::new())]),
            notation,
            dominant,
        };
        for queue in 0..source.tree.queues.len() {
            let own = [
                source.of(queue, "capacity"),
                source.of(queue, "maximum-capacity"),
            ];
            sizes.add(source, queue, "", own)?;
            for (label, own) in of_labels(source, queue)? {
                sizes.add(source, queue, label, own)?;
            }
        }
        Ok(sizes)
    }

    fn add(
        &mut self,
        source: &mut Source<'a>,
        queue: usize,
        partition: &'a str,
        [capacity, maximum]: [Option<Setting<'a>>; 2],
    ) -> Result<(), Fault> {
        if queue == 0 {
            for setting in [capacity, maximum].into_iter().flatten() {
                if setting.value.trim() != "100" {
                    source.approximate(setting, "root has the whole cluster, whatever is written");
                }
            }
            self.partitions.entry(partition).or_default();
            return Ok(());
        }
        let mut size = Size::default();
        for setting in [capacity, maximum].into_iter().flatten() {
            if self.notation.legacy && has_padded_amount(setting.value) {
                let what = "stock does not start with blanks around an amount; write name=amount";
                source.warn(setting, what);
            }
        }
        if let Some(setting) = capacity {
            let read = self.notation.capacity(setting)?;
            size.capacity = Some((note_unknown(source, read, setting), setting));
        }
        if let Some(setting) = maximum {
            let read = self.notation.maximum(setting)?;
            size.maximum = read.map(|read| (note_unknown(source, read, setting), setting));
        }
        if !partition.is_empty()
            && let Some((Amount::Percent(percent), setting)) = size.maximum
            && percent > 100.0
        {
            return Err(setting.expected("a number from 0 to 100, or -1 for no maximum"));
        }
        self.partitions
            .entry(partition)
            .or_default()
            .insert(queue, size);
        Ok(())
    }

    /// The size of a queue; none if nothing is written there.
    pub(super) fn of(&self, partition: &str, queue: usize) -> Option<&Size<'a>> {
        self.partitions.get(partition)?.get(&queue)
    }

    /// The labels that some queue's properties name.
    pub(super) fn labels(&self) -> impl Iterator<Item = &'a str> {
        let partitions = self.partitions.keys().copied();
        partitions.filter(|partition| !partition.is_empty())
    }

    /// The default partition and those that the queue's own properties name; root knows all.
    fn partitions_of(&self, queue: usize) -> impl Iterator<Item = &'a str> {
        let all = self.partitions.iter();
        let named = all.filter(move |(name, queues)| {
            queue == 0 || name.is_empty() || queues.contains_key(&queue)
        });
        named.map(|(name, _)| *name)
    }

    /// Checks the children of each parent.
    pub(super) fn check(&self, source: &mut Source<'a>) -> Result<(), Fault> {
        if !self.notation.legacy {
            // Without legacy mode stock checks nothing, and cuts what is too much.
            return Ok(());
        }
        for queue in 0..source.tree.queues.len() {
            self.check_maximum(source, queue)?;
        }
        for parent in 0..source.tree.queues.len() {
            if !source.tree.queues[parent].children.is_empty() {
                self.check_children(source, parent)?;
            }
        }
        Ok(())
    }

    fn check_children(&self, source: &mut Source<'a>, parent: usize) -> Result<(), Fault> {
        let children = source.tree.queues[parent].children.clone();
        let below = self.kind_of_children(source, parent, &children)?;
        let above = match parent {
            0 => Kind::Percent,
            _ => self.kind_of_queue(parent),
        };
        if (below == Kind::Parts || above == Kind::Parts) && below != above && parent != 0 {
            let at = children.iter().find_map(|child| self.setting(*child));
            let at = at.or(self.setting(parent));
            let problem = format!(
                "{} and its children must all have absolute amounts such as \
                 [memory=4096,vcores=2], or none of them",
                source.tree.queues[parent].path
            );
            return Err(fault(source, at, parent, problem));
        }
        let allows_zero = source.of(parent, "allow-zero-capacity-sum");
        let allows_zero = source.switch(allows_zero, false);
        for partition in self.partitions_of(parent) {
            match below {
                Kind::Weight => {}
                Kind::Parts => self.check_amounts(source, partition, parent, &children)?,
                Kind::Percent => {
                    let of_parent = (above == Kind::Percent).then(|| match parent {
                        0 => 1.0,
                        _ => self.of(partition, parent).map_or(0.0, Size::fraction),
                    });
                    self.check_percent(
                        source,
                        partition,
                        parent,
                        &children,
                        of_parent,
                        allows_zero,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// The kind of all children; a mixture is a fault.
    fn kind_of_children(
        &self,
        source: &Source<'a>,
        parent: usize,
        children: &[usize],
    ) -> Result<Kind, Fault> {
        let mut kind: Option<(Kind, Setting<'a>)> = None;
        for child in children {
            for partition in self.partitions_of(parent) {
                let Some(size) = self.of(partition, *child) else {
                    continue;
                };
                let Some((amount, setting)) = &size.capacity else {
                    continue;
                };
                // 0 percent goes with everything.
                if *amount == Amount::Percent(0.0) {
                    continue;
                }
                match kind {
                    Some((before, at)) if before != size.kind() => {
                        return Err(setting.fault(format!(
                            "expected {} as in line {} ({}), found {}; the children of {} must \
                             all have percent, all weights or all absolute amounts",
                            kind_name(before),
                            at.line,
                            at.name,
                            kind_name(size.kind()),
                            source.tree.queues[parent].path
                        )));
                    }
                    _ => kind = Some((size.kind(), *setting)),
                }
            }
        }
        Ok(kind.map_or(Kind::Percent, |(kind, _)| kind))
    }

    pub(super) fn kind_of_queue(&self, queue: usize) -> Kind {
        let own = self.partitions_of(queue);
        let own = own.filter_map(|partition| self.of(partition, queue));
        own.map(Size::kind).max().unwrap_or(Kind::Percent)
    }

    /// Where the capacity of a queue is written.
    fn setting(&self, queue: usize) -> Option<Setting<'a>> {
        let (_, setting) = self.of("", queue)?.capacity.as_ref()?;
        Some(*setting)
    }

    fn check_percent(
        &self,
        source: &Source<'a>,
        partition: &str,
        parent: usize,
        children: &[usize],
        of_parent: Option<f32>,
        allows_zero: bool,
    ) -> Result<(), Fault> {
        let fraction = |child: &usize| self.of(partition, *child).map_or(0.0, Size::fraction);
        let sum: f32 = children.iter().map(fraction).sum();
        let expected = if (1.0 - sum).abs() <= PRECISION {
            match of_parent {
                Some(own) if own <= 0.0 && !allows_zero => "0, because the parent itself has 0",
                _ => return Ok(()),
            }
        } else if sum.abs() <= PRECISION {
            match of_parent {
                Some(own) if own > PRECISION && !allows_zero => "100",
                _ => return Ok(()),
            }
        } else {
            "100"
        };
        let last = children.iter().rev();
        let at = last.filter_map(|child| self.of(partition, *child)?.capacity.as_ref());
        let at = at.map(|(_, setting)| *setting).next();
        let label = match partition {
            "" => String::new(),
            label => format!(" for label {label}"),
        };
        let problem = format!(
            "the capacities of the children of {}{label} must sum to {expected}, found {}",
            source.tree.queues[parent].path,
            sum * 100.0
        );
        Err(fault(source, at, parent, problem))
    }

    fn check_amounts(
        &self,
        source: &mut Source<'a>,
        partition: &str,
        parent: usize,
        children: &[usize],
    ) -> Result<(), Fault> {
        let Some((own, at)) = self
            .of(partition, parent)
            .and_then(|size| size.capacity.as_ref())
        else {
            return Ok(());
        };
        let own = absolute(own);
        let mut sum = Amounts::new();
        for child in children {
            let capacity = self
                .of(partition, *child)
                .and_then(|size| size.capacity.as_ref());
            for (name, amount) in capacity
                .map(|(amount, _)| absolute(amount))
                .unwrap_or_default()
            {
                let before = sum.entry(name).or_default();
                *before = amount.saturating_add(*before);
            }
        }
        if own.values().all(|amount| *amount == 0) {
            return Ok(());
        }
        if self.exceeds(&sum, &own) {
            return Err(at.fault(format!(
                "the capacities of the children of {} sum to {}; expected at most its own, {}",
                source.tree.queues[parent].path,
                said(&sum),
                said(&own)
            )));
        }
        let more = |(name, amount): (&&str, &i64)| *amount > own.get(name).copied().unwrap_or(0);
        if self.dominant && sum.iter().any(more) {
            let how = format!("its children have more of one type: {}", said(&sum));
            source.approximate(*at, how);
        }
        Ok(())
    }

    /// Checks absolute amounts of one queue against its maximum, and that against its parent's.
    fn check_maximum(&self, source: &Source<'a>, queue: usize) -> Result<(), Fault> {
        for partition in self.partitions_of(queue) {
            let Some(size) = self.of(partition, queue) else {
                continue;
            };
            let Some((maximum, at)) = &size.maximum else {
                continue;
            };
            if !matches!(maximum, Amount::Parts(_)) || size.kind() != Kind::Parts {
                continue;
            }
            let maximum = absolute(maximum);
            if let Some((capacity, _)) = &size.capacity
                && self.exceeds(&absolute(capacity), &maximum)
            {
                let problem = format!("is below the capacity, {}", said(&absolute(capacity)));
                return Err(at.fault(problem + "; raise it or lower the capacity"));
            }
            if let Some(above) = self.maximum_above(source, partition, queue)
                && self.exceeds(&maximum, &above)
            {
                let problem = format!("is above the parent's maximum, {}", said(&above));
                return Err(at.fault(problem + "; lower it or raise the parent's"));
            }
        }
        Ok(())
    }

    /// The nearest absolute maximum above a queue.
    fn maximum_above(
        &self,
        source: &Source<'a>,
        partition: &str,
        queue: usize,
    ) -> Option<Amounts<'_>> {
        let mut above = source.tree.queues[queue].parent;
        while let Some(parent) = above {
            let maximum = self
                .of(partition, parent)
                .and_then(|size| size.maximum.as_ref());
            if let Some((maximum @ Amount::Parts(_), _)) = maximum {
                return Some(absolute(maximum));
            }
            above = source.tree.queues[parent].parent;
        }
        None
    }

    /// Whether one vector is larger as stock compares them before any node is there: memory alone,
    /// or one type larger and none smaller.
    fn exceeds(&self, a: &Amounts<'_>, b: &Amounts<'_>) -> bool {
        let of = |amounts: &Amounts<'_>, name: &str| amounts.get(name).copied().unwrap_or(0);
        if b.values().all(|amount| *amount == 0) {
            return false;
        }
        if !self.dominant {
            return of(a, "memory-mb") > of(b, "memory-mb");
        }
        let names = || self.notation.resources.iter();
        names().any(|name| of(a, name) > of(b, name))
            && names().all(|name| of(a, name) >= of(b, name))
    }
}

/// `capacity` and `maximum-capacity` of each label that a queue's properties name.
type OfLabels<'a> = BTreeMap<&'a str, [Option<Setting<'a>>; 2]>;

fn of_labels<'a>(source: &mut Source<'a>, queue: usize) -> Result<OfLabels<'a>, Fault> {
    let mut labels = OfLabels::new();
    for (rest, setting) in source.starting(queue, "accessible-node-labels.") {
        let Some((label, key)) = rest.split_once('.') else {
            // Stock's reader ends with an error of its own here (facts 1.4).
            return Err(setting.fault("expected a key after the label, such as capacity"));
        };
        let own = labels.entry(label).or_default();
        match key {
            "capacity" => own[0] = Some(setting),
            "maximum-capacity" => own[1] = Some(setting),
            _ => {}
        }
    }
    Ok(labels)
}

fn note_unknown<'a>(source: &mut Source<'a>, read: Read, setting: Setting<'a>) -> Amount {
    for name in read.unknown {
        let how = format!("{name} is no resource type of yarn.resource-types and left out");
        source.approximate(setting, how);
    }
    read.amount
}

/// Whether blanks stand around an amount in brackets.
fn has_padded_amount(text: &str) -> bool {
    let inside = text.trim().strip_prefix('[');
    let inside = inside.and_then(|text| text.strip_suffix(']'));
    let pairs = inside.unwrap_or_default().trim().split(',');
    let mut amounts = pairs.filter_map(|pair| pair.split_once('='));
    amounts.any(|(_, amount)| amount != amount.trim())
}

/// A fault at a property; without one, in the line that names the queue's children.
fn fault(source: &Source<'_>, at: Option<Setting<'_>>, queue: usize, problem: String) -> Fault {
    match at {
        Some(setting) => setting.fault(problem),
        None => Fault {
            line: source.tree.queues[source.tree.queues[queue].children[0]].line,
            problem,
        },
    }
}

/// The absolute amounts of a capacity.
pub(super) fn absolute(amount: &Amount) -> Amounts<'_> {
    let absolute = parts(amount).filter_map(|part| match part.value {
        Value::Absolute(amount) => Some((part.resource.as_str(), amount)),
        _ => None,
    });
    absolute.collect()
}

fn said(amounts: &Amounts<'_>) -> String {
    let said = amounts
        .iter()
        .map(|(name, amount)| format!("{name}={amount}"));
    format!("[{}]", said.collect::<Vec<_>>().join(","))
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Percent => "percent",
        Kind::Weight => "a weight",
        Kind::Parts => "absolute amounts",
    }
}
