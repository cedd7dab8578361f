//! The smallest and the largest container of the cluster. A scheduler with impossible ones would
//! start and grant nothing; stock refuses to start with them (`validateConf` of both schedulers).

use crate::{Fault, Properties, java};
use heddle_core::config::text::shown;

/// Type, property, and its value by default.
const BOUNDS: [(&str, [(&str, i64); 2]); 2] = [
    (
        "memory",
        [
            ("yarn.scheduler.minimum-allocation-mb", 1_024),
            ("yarn.scheduler.maximum-allocation-mb", 8_192),
        ],
    ),
    (
        "vcores",
        [
            ("yarn.scheduler.minimum-allocation-vcores", 1),
            ("yarn.scheduler.maximum-allocation-vcores", 4),
        ],
    ),
];

/// Checks them; `least` is the smallest minimum that the file's scheduler takes.
///
/// # Errors
/// The first fault, with both values.
pub fn check(properties: &Properties, least: i64) -> Result<(), Fault> {
    for (what, bounds) in BOUNDS {
        let mut values = [0; 2];
        let mut line = 0;
        for (value, (name, absent)) in values.iter_mut().zip(bounds) {
            let Some(property) = properties.get(name) else {
                *value = absent;
                continue;
            };
            *value = java::whole(&property.value).ok_or_else(|| {
                let found = shown(&property.value);
                let problem = format!("{name}: expected a whole number, found {found}");
                Fault::new(property.line, problem)
            })?;
            line = line.max(property.line);
        }
        let [min, max] = values;
        let [(min_name, _), (max_name, _)] = bounds;
        if min < least || max < 1 || min > max {
            let problem = format!(
                "{min_name}: no container can have its {what}: the minimum is {min} and the \
                 maximum, {max_name}, is {max}; expected a minimum of at least {least} and a \
                 maximum of at least 1, not below the minimum"
            );
            return Err(Fault::new(line, problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Property;

    #[test]
    fn impossible_containers_are_refused_with_both_values() {
        let faulty = |least: i64, given: &[(&str, &str)]| {
            let property = |(name, value): &(&str, &str)| {
                let value = value.to_string();
                let name = format!("yarn.scheduler.{name}");
                (name, Property { value, line: 3 })
            };
            let properties = given.iter().map(property).collect();
            check(&properties, least).map_err(|fault| fault.to_string())
        };
        assert_eq!(faulty(1, &[]), Ok(()));
        assert_eq!(faulty(0, &[("minimum-allocation-mb", "0")]), Ok(()));
        for (least, given, expected) in [
            (1, ("minimum-allocation-mb", "0"), ["is 0", "is 8192"]),
            (0, ("minimum-allocation-mb", "9000"), ["is 9000", "is 8192"]),
            (0, ("minimum-allocation-mb", "-1"), ["is -1", "is 8192"]),
            (0, ("maximum-allocation-mb", "512"), ["is 1024", "is 512"]),
            (0, ("maximum-allocation-vcores", "0"), ["is 1", "is 0"]),
            (1, ("minimum-allocation-vcores", "0"), ["is 0", "is 4"]),
        ] {
            let said = faulty(least, &[given]).expect_err("impossible");
            assert!(said.starts_with("line 3: yarn.scheduler."), "{said}");
            assert!(expected.iter().all(|word| said.contains(word)), "{said}");
        }
        let zero = [
            ("minimum-allocation-vcores", "0"),
            ("maximum-allocation-vcores", "0"),
        ];
        assert!(faulty(0, &zero).is_err());
        assert!(faulty(0, &[("maximum-allocation-mb", "many")]).is_err());
    }
}
