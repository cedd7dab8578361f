//! The values of `capacity` and `maximum-capacity`: percent, weight, or amounts in brackets (facts
//! 3.1). Knows the notation, not what follows from it.

use super::setting::{Setting, number};
use crate::Fault;
use heddle_core::config::text::shown;
use std::collections::BTreeSet;

/// The largest amount in `heddle.json`. Larger ones are typing errors; only a largest container is
/// cut to it, as no node has more.
pub(super) const AMOUNT_MAX: i64 = 1_000_000_000_000;

const WEIGHT_MAX: f32 = 10_000.0;

/// A value of `capacity` or `maximum-capacity`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount {
    /// Of the parent, 0 to 100.
    Percent(f32),
    /// Against its siblings.
    Weight(f32),
    /// In brackets, type by type.
    Parts(Vec<Part>),
}

/// What brackets say of one resource type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Its name in `heddle.json`.
    pub(super) resource: String,
    pub(super) value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Absolute(i64),
    Percent(f32),
    Weight(f32),
}

/// How to read a file's amounts.
pub(super) struct Notation {
    /// The names of the resource types, `memory-mb` and `vcores` included.
    pub(super) resources: BTreeSet<String>,
    /// `legacy-queue-mode.enabled`: brackets have absolute amounts only.
    pub(super) legacy: bool,
}

/// An amount, and the types that it names in vain.
pub(super) struct Read {
    pub(super) amount: Amount,
    pub(super) unknown: Vec<String>,
}

impl Notation {
    /// Reads `capacity`.
    pub(super) fn capacity(&self, setting: Setting<'_>) -> Result<Read, Fault> {
        let text = setting.value.trim();
        if text.starts_with('[') {
            return self.brackets(setting, text);
        }
        let amount = match text.strip_suffix('w') {
            Some(weight) => number(weight.trim())
                .filter(|weight| (0.0..=WEIGHT_MAX).contains(weight))
                .map(Amount::Weight),
            None => number(text)
                .filter(|percent| (0.0..=100.0).contains(percent))
                .map(Amount::Percent),
        };
        amount.map(whole).ok_or_else(|| {
            setting.expected(
                "a number from 0 to 100 (percent of the parent), a weight such as 2w (at most \
                 10000w), or amounts such as [memory=4096,vcores=2]",
            )
        })
    }

    /// Reads `maximum-capacity`; none: 100 %.
    pub(super) fn maximum(&self, setting: Setting<'_>) -> Result<Option<Read>, Fault> {
        let text = setting.value.trim();
        if text.starts_with('[') {
            let read = self.brackets(setting, text)?;
            if parts(&read.amount).any(|part| matches!(part.value, Value::Weight(_))) {
                return Err(setting.expected("no weight in a maximum"));
            }
            return Ok(Some(read));
        }
        match number(text) {
            Some(-1.0) => Ok(None),
            Some(percent) if percent >= 0.0 => Ok(Some(whole(Amount::Percent(percent)))),
            _ => Err(setting.expected(
                "a number from 0 to 100 (percent of the parent), -1 for no maximum, or amounts \
                 such as [memory=4096,vcores=2]",
            )),
        }
    }

    fn brackets(&self, setting: Setting<'_>, text: &str) -> Result<Read, Fault> {
        let inside = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        let inside = inside.ok_or_else(|| setting.expected("amounts such as [memory=4096]"))?;
        let (mut parts, mut unknown) = (Vec::<Part>::new(), Vec::new());
        for pair in inside.split(',') {
            let Some((name, value)) = pair.split_once('=') else {
                let problem = format!("expected name=amount, found {}", shown(pair));
                return Err(setting.fault(problem));
            };
            let name = match name.trim() {
                "memory" => "memory-mb",
                name => name,
            };
            if !self.resources.contains(name) {
                unknown.push(name.to_owned());
                continue;
            }
            if parts.iter().any(|part| part.resource == name) {
                return Err(setting.fault(format!("{name} stands here twice; remove one")));
            }
            parts.push(Part {
                resource: name.to_owned(),
                value: self.value(setting, name, value.trim())?,
            });
        }
        // Without memory stock's reader drops the other types as well (facts 3.1).
        let memory = parts
            .iter()
            .any(|part| part.resource == "memory-mb" && part.value != Value::Absolute(0));
        if self.legacy && !memory {
            parts.clear();
        }
        let amount = Amount::Parts(parts);
        Ok(Read { amount, unknown })
    }

    fn value(&self, setting: Setting<'_>, name: &str, text: &str) -> Result<Value, Fault> {
        let digits = text.trim_end_matches(|letter: char| letter.is_alphabetic() || letter == '%');
        let suffix = &text[digits.len()..];
        let share = |most: f32| {
            let share = number(digits).filter(|share| (0.0..=most).contains(share));
            share.ok_or_else(|| {
                setting.fault(format!(
                    "{name}: expected a number from 0 to {most} before `{suffix}`, found {}",
                    shown(text)
                ))
            })
        };
        match suffix {
            "%" | "w" if self.legacy => Err(setting.fault(format!(
                "{name}: expected an amount, found {}; percent and weights in brackets need \
                 yarn.scheduler.capacity.legacy-queue-mode.enabled=false",
                shown(text)
            ))),
            "%" => share(100.0).map(Value::Percent),
            "w" => share(WEIGHT_MAX).map(Value::Weight),
            unit => {
                // Vectors may have decimals, which stock cuts off.
                let whole = match (self.legacy, digits.split_once('.')) {
                    (false, Some((whole, decimals))) if is_digits(decimals) => whole,
                    _ => digits,
                };
                let amount = whole.parse().ok().filter(|_| is_digits(whole));
                let amount = amount.and_then(|amount: i64| to_mebi(amount, unit));
                amount.map(Value::Absolute).ok_or_else(|| {
                    setting.fault(format!(
                        "{name}: expected a whole number of at most {AMOUNT_MAX}, if need be with \
                         a unit (k, M, G, T, P, Ki, Mi, Gi, Ti or Pi), found {}",
                        shown(text)
                    ))
                })
            }
        }
    }
}

/// The parts of an amount in brackets; of others none.
pub(super) fn parts(amount: &Amount) -> impl Iterator<Item = &Part> {
    match amount {
        Amount::Parts(parts) => parts.iter(),
        _ => [].iter(),
    }
}

/// The number as it was written, without the digits that widening its 32 bits would add.
pub(super) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

fn whole(amount: Amount) -> Read {
    Read {
        amount,
        unknown: Vec::new(),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Converts an amount to Mi, whatever its type, as stock does. Without a unit it stays as it is.
pub(super) fn to_mebi(amount: i64, unit: &str) -> Option<i64> {
    let factor: i128 = match unit {
        "" => 1 << 20,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    let mebi = (i128::from(amount) * factor) >> 20;
    i64::try_from(mebi)
        .ok()
        .filter(|_| mebi <= i128::from(AMOUNT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: &str) -> Setting<'_> {
        Setting {
            name: "c",
            value,
            line: 7,
        }
    }

    fn notation(legacy: bool) -> Notation {
        let resources = ["memory-mb", "vcores", "gpu"];
        Notation {
            resources: resources.map(str::to_owned).into(),
            legacy,
        }
    }

    fn read(value: &str, legacy: bool) -> Result<Amount, String> {
        let read = notation(legacy).capacity(setting(value));
        read.map(|read| read.amount)
            .map_err(|fault| fault.to_string())
    }

    fn part(resource: &str, value: Value) -> Part {
        Part {
            resource: resource.to_owned(),
            value,
        }
    }

    #[test]
    fn every_notation_is_read_as_stock_reads_it() {
        assert_eq!(read("40", true), Ok(Amount::Percent(40.0)));
        assert_eq!(read(" 12.5 ", true), Ok(Amount::Percent(12.5)));
        assert_eq!(read("0.5w", true), Ok(Amount::Weight(0.5)));
        let memory = |mb| part("memory-mb", Value::Absolute(mb));
        let vcores = |n| part("vcores", Value::Absolute(n));
        for (text, mb, cores) in [
            ("[memory=4096,vcores=2]", 4096, 2),
            ("[memory=4Gi,vcores=2]", 4096, 2),
            ("[ memory-mb=4096, vcores=2 ]", 4096, 2),
            // 10^9 bytes are 953.67 Mi.
            ("[memory=1G,vcores=2]", 953, 2),
        ] {
            let expected = Amount::Parts(vec![memory(mb), vcores(cores)]);
            assert_eq!(read(text, true), Ok(expected), "{text}");
        }
        // All types count as not given without memory, under legacy mode only.
        assert_eq!(read("[vcores=2]", true), Ok(Amount::Parts(vec![])));
        assert_eq!(
            read("[vcores=2]", false),
            Ok(Amount::Parts(vec![vcores(2)]))
        );
        let mixed = Amount::Parts(vec![
            part("memory-mb", Value::Percent(50.0)),
            part("vcores", Value::Weight(2.0)),
            part("gpu", Value::Absolute(1)),
        ]);
        assert_eq!(read("[memory=50%,vcores=2w,gpu=1]", false), Ok(mixed));
    }

    #[test]
    fn what_is_no_amount_is_refused_with_line_and_remedy() {
        for text in [
            "",
            "x",
            "-1",
            "100.1",
            "NaN",
            "nan",
            "inf",
            "Infinity",
            "1e99",
            "w",
            "-1w",
            "10001w",
            "NaNw",
            "50%",
            "[",
            "[memory]",
            "[memory=]",
            "[memory=-1]",
            "[memory=1.5]",
            "[memory=10GB]",
            "[memory=99999999999999999999]",
            "[memory=9999999999999]",
            "[memory=1,memory-mb=2]",
            "[memory=50%]",
            "[memory=1,vcores=2w]",
            "[memory=9223372036854775807Pi]",
        ] {
            let fault = read(text, true).expect_err(text);
            assert!(fault.starts_with("line 7: c: "), "{text}: {fault}");
        }
        for text in [
            "[memory=101%]",
            "[memory=-1w]",
            "[memory=1.x]",
            "[memory=.5]",
        ] {
            assert!(read(text, false).is_err(), "{text}");
        }
    }

    #[test]
    fn a_maximum_may_be_absent_or_above_all_but_no_weight() {
        let read = |text| {
            let read = notation(false).maximum(setting(text));
            read.map(|read| read.map(|read| read.amount)).ok()
        };
        assert_eq!(read("-1"), Some(None));
        assert_eq!(read("150"), Some(Some(Amount::Percent(150.0))));
        for text in ["4w", "-2", "NaN", "[memory=2w]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
