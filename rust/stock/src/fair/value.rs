//! Values of fair-scheduler.xml, as heddle.json has them, and how they differ.

use super::file::Element;
use super::reading::{NEVER_MS, Reading};
use super::resource::{self, Resources};
use crate::Fault;
use serde_json::{Value, json};

/// The largest weight that heddle.json takes.
const WEIGHT_MAX: f64 = 1e9;

/// A value of heddle.json, and how it differs from the file's.
pub(super) type Read = Result<(Value, Option<String>), Fault>;

/// Reads an amount of resources.
pub(super) fn resources(reading: &Reading, element: &Element) -> Result<Resources, Fault> {
    resource::parse(element.value()?, reading.others.as_deref())
        .map_err(|expected| element.fault(expected))
}

/// The value of a maximum, not below `least` where both are amounts.
pub(super) fn most(resources: &Resources, least: Option<&Resources>, reading: &Reading) -> Value {
    let mut most = resources.most(reading.others.as_deref().unwrap_or_default());
    let least = least.and_then(Resources::least);
    if let (Some(most), Some(Value::Object(least))) = (most.as_object_mut(), least) {
        for (name, least) in least {
            if let Some(most) = most.get_mut(&name)
                && most
                    .as_i64()
                    .is_some_and(|most| Some(most) < least.as_i64())
            {
                *most = least;
            }
        }
    }
    most
}

/// How a maximum differs from what its reader may expect.
pub(super) fn most_note(resources: &Resources) -> Option<String> {
    let how = "names no vcores, which YARN takes for 0: every application is refused, here as \
               there; add vcores=NUMBER";
    let lacks = resources.lacks_vcores().then(|| how.to_owned());
    lacks.or_else(|| cut_note(resources))
}

/// A note if an amount is cut to the largest that heddle.json takes.
pub(super) fn cut_note(resources: &Resources) -> Option<String> {
    let how = "is cut to 1000000000000, more than any cluster has";
    resources.is_cut().then(|| how.to_owned())
}

pub(super) fn weight(element: &Element) -> Read {
    let weight = element.number()?;
    let (cut, how) = match weight {
        weight if weight < 0.0 => (0.0, Some("counts as 0, as in YARN".to_owned())),
        f64::INFINITY => {
            let how = "is cut to 1000000000; YARN's own scheduler fails with it";
            (WEIGHT_MAX, Some(how.to_owned()))
        }
        weight if weight > WEIGHT_MAX => (WEIGHT_MAX, Some(format!("is cut to {WEIGHT_MAX}"))),
        weight => (weight, None),
    };
    // No negative zero.
    Ok((json!(cut + 0.0), how))
}

/// Reads a limit of running applications.
pub(super) fn running_jobs(element: &Element) -> Read {
    let limit = element.int()?;
    let how = (limit < 0).then(|| "counts as 0: none may run, as in YARN".to_owned());
    Ok((json!(limit.max(0)), how))
}

/// Reads a part for ApplicationMasters; -1 is no limit.
pub(super) fn am_share(element: &Element) -> Read {
    let share = element.number()?.min(1.0);
    if (share + 1.0).abs() < 0.0001 {
        return Ok((json!(-1.0), None));
    }
    let how = (share < 0.0).then(|| {
        "counts as 0: no ApplicationMaster may run, as in YARN; -1 is no limit".to_owned()
    });
    Ok((json!(share.max(0.0)), how))
}

/// Reads a timeout in seconds.
pub(super) fn timeout_ms(element: &Element) -> Read {
    let seconds = element.long()?;
    let ms = seconds.saturating_mul(1_000).clamp(0, NEVER_MS);
    let how = match seconds {
        ..0 => Some("counts as 0: at once, as in YARN; to have none, remove it".to_owned()),
        _ if ms == NEVER_MS => Some("counts as never".to_owned()),
        _ => None,
    };
    Ok((json!(ms), how))
}

/// Reads a part of the fair share.
pub(super) fn threshold(element: &Element) -> Read {
    Ok((json!(element.number()?.clamp(0.0, 1.0) + 0.0), None))
}

/// Reads the text of an ACL, whose first space counts.
pub(super) fn acl(element: &Element) -> Read {
    element.value()?;
    Ok((json!(element.text), None))
}
