//! Cases of the Reverse-Adaptive scheduler. Parses and writes JSON; every number comes from
//! `heddle_core::order::reverse_adaptive`.

use super::CaseError;
use heddle_core::config::{ConfigError, Section, unknown};
use heddle_core::order::reverse_adaptive::capacity::Capacity;
use heddle_core::order::reverse_adaptive::placement::{Bid, Room, place};
use heddle_core::order::reverse_adaptive::reverse::{Goal, Period, Split, reverse, whole};
use heddle_core::order::reverse_adaptive::utility::utility;
use heddle_core::words::resource::Resource;
use serde_json::{Map, Value, json};

/// Larger numbers are typing errors; below it, sums of work keep all their digits.
const MOST: f64 = 1e15;

const OPS: &[&str] = &["reverse", "utility", "placement"];
const SPLITS: &[(&str, Split)] = &[
    ("maxmin", Split::MaxMin),
    ("proportional", Split::Proportional),
    ("latest", Split::Latest),
    ("earliest", Split::Earliest),
];

/// Answers one case at `path` of the input.
pub(super) fn answer(case: &Value, path: &str) -> Result<Value, CaseError> {
    answer_section(case, path).map_err(|error| CaseError::new(error.key, error.problem))
}

fn answer_section(case: &Value, path: &str) -> Result<Value, ConfigError> {
    let mut case = Section::new(path, case)?;
    match case.text("op")?.unwrap_or(OPS[0]) {
        "reverse" => answer_reverse(&mut case),
        "utility" => {
            let mut number = |key| needed(&mut case, key, 0.0);
            let (alloc, fit, pend) = (number("alloc")?, number("fit")?, number("pend")?);
            Ok(json!({ "utility": utility(alloc, fit, pend) }))
        }
        "placement" => answer_placement(&mut case),
        op => Err(ConfigError::new(case.key("op"), unknown(op, OPS))),
    }
}

/// Parses a required number.
fn needed(section: &mut Section<'_>, key: &'static str, least: f64) -> Result<f64, ConfigError> {
    section
        .number(key, least, MOST)?
        .ok_or_else(|| ConfigError::new(section.key(key), "expected a number, found nothing"))
}

fn answer_reverse(case: &mut Section<'_>) -> Result<Value, ConfigError> {
    let now = case.number("now", -MOST, MOST)?.unwrap_or(0.0);
    let capacity = read_slots(case)?;
    let split = case.choice("split", SPLITS)?.unwrap_or(SPLITS[0].1);
    let (ids, goals) = read_jobs(case, |job| {
        let tasks = needed(job, "tasks", 0.0)?;
        Ok(Goal {
            tasks,
            work: tasks * needed(job, "length", 0.0)?,
            deadline: job.number("deadline", -MOST, MOST)?,
            width: job.number("width", 0.0, MOST)?,
        })
    })?;
    let mut periods = Vec::new();
    let plan = reverse(now, &capacity, &goals, split, Some(&mut periods));
    let period = |period: &Period| {
        json!({
            "from": period.from,
            "to": period.to,
            "capacity": period.capacity,
            "given": by_index(&ids, &period.given),
            "pushed": by_index(&ids, &period.pushed),
        })
    };
    Ok(json!({
        "periods": periods.iter().map(period).collect::<Vec<Value>>(),
        "fit": by_id(&ids, &plan.fit),
        "fit_whole": by_id(&ids, &plan.fit.iter().map(|fit| whole(*fit)).collect::<Vec<u32>>()),
        "fit_now": by_id(&ids, &plan.fit_now),
        "missing": plan.missing,
        "needed_now": plan.needed_now,
        "feasible": plan.feasible,
    }))
}

fn answer_placement(case: &mut Section<'_>) -> Result<Value, ConfigError> {
    let slots = case.whole("slots", 0, 10_000_000)?;
    let slots = slots.ok_or_else(|| ConfigError::new(case.key("slots"), "expected slots"))?;
    let (ids, bids) = read_jobs(case, |job| {
        let pending = job.whole("pend", 0, i64::from(u32::MAX))?;
        let pending =
            pending.ok_or_else(|| ConfigError::new(job.key("pend"), "expected a whole number"))?;
        Ok(Bid {
            fit: needed(job, "fit", 0.0)?,
            pending: u32::try_from(pending).expect("it is bounded above"),
            ..Bid::default()
        })
    })?;
    let room = Room {
        resource: Resource::UNBOUNDED,
        slots: u32::try_from(slots).expect("it is bounded above"),
    };
    Ok(by_id(&ids, &place(&bids, &[room]).alloc))
}

/// Parses `slots`: a number, or steps as `[[from, slots], …]`.
fn read_slots(case: &mut Section<'_>) -> Result<Capacity, ConfigError> {
    let path = case.key("slots");
    let wrong = |found: &dyn std::fmt::Display| {
        let problem = format!("expected a number or a list of [from, slots], found {found}");
        ConfigError::new(path.clone(), problem)
    };
    match case.value("slots") {
        None => Err(wrong(&"nothing")),
        Some(Value::Array(steps)) => {
            let step = |step: &Value| match step.as_array().map(Vec::as_slice) {
                Some([from, slots]) => from.as_f64().zip(slots.as_f64()),
                _ => None,
            };
            let read: Option<Vec<(f64, f64)>> = steps.iter().map(step).collect();
            let read = read.ok_or_else(|| wrong(&Value::Array(steps.clone())))?;
            Capacity::steps(&read).ok_or_else(|| {
                ConfigError::new(
                    path.clone(),
                    "expected at least one step, each after the last",
                )
            })
        }
        Some(value) => value
            .as_f64()
            .map(Capacity::constant)
            .ok_or_else(|| wrong(value)),
    }
}

/// Parses the `jobs`: their distinct ids, and the result of `read` for each.
fn read_jobs<T>(
    case: &mut Section<'_>,
    read: impl Fn(&mut Section<'_>) -> Result<T, ConfigError>,
) -> Result<(Vec<String>, Vec<T>), ConfigError> {
    let (mut ids, mut jobs) = (Vec::new(), Vec::new());
    for (path, value) in case.list("jobs")? {
        let mut job = Section::new(&path, value)?;
        let id = match job.value("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => {
                return Err(ConfigError::new(
                    job.key("id"),
                    "expected a text or a number",
                ));
            }
        };
        if ids.contains(&id) {
            return Err(ConfigError::new(
                job.key("id"),
                format!("`{id}` is defined twice"),
            ));
        }
        ids.push(id);
        jobs.push(read(&mut job)?);
    }
    Ok((ids, jobs))
}

fn by_id<T: Copy + Into<Value>>(ids: &[String], values: &[T]) -> Value {
    let pairs = ids.iter().zip(values);
    Value::Object(
        pairs
            .map(|(id, value)| (id.clone(), (*value).into()))
            .collect(),
    )
}

fn by_index(ids: &[String], values: &[(usize, f64)]) -> Value {
    let pair = |(job, value): &(usize, f64)| (ids[*job].clone(), json!(value));
    Value::Object(values.iter().map(pair).collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RA-19, with numbers computed by hand. After 15 s it runs 20 of J3's 24; between 7 and 15 the
    /// rest of J3 and 28 of J2's 40; then J1 and the rest of J2.
    #[test]
    fn the_worked_example() {
        let case = json!({"now": 0, "slots": 4, "jobs": [
            {"id": "J1", "tasks": 5, "length": 2, "deadline": 7},
            {"id": "J2", "tasks": 20, "length": 2, "deadline": 15},
            {"id": "J3", "tasks": 12, "length": 2, "deadline": 20},
        ]});
        let got = answer(&case, "$").expect("a good case");
        assert_eq!(got["periods"][0]["given"], json!({"J3": 20.0}));
        assert_eq!(got["periods"][0]["pushed"], json!({"J3": 4.0}));
        assert_eq!(got["periods"][1]["given"], json!({"J2": 28.0, "J3": 4.0}));
        assert_eq!(got["periods"][2]["given"], json!({"J1": 10.0, "J2": 12.0}));
        assert_eq!(
            got["fit"],
            json!({"J1": 10.0 / 7.0, "J2": 12.0 / 7.0, "J3": 0.0})
        );
        assert_eq!(got["fit_whole"], json!({"J1": 2, "J2": 2, "J3": 0}));
        assert_eq!(got["needed_now"], json!(22.0));
        assert_eq!(
            (&got["missing"], &got["feasible"]),
            (&json!(0.0), &json!(true))
        );
    }

    #[test]
    fn slots_may_change_over_time() {
        let case = json!({"slots": [[0, 4], [5, 1]], "split": "latest", "jobs": [
            {"id": 1, "tasks": 9, "length": 1, "deadline": 10},
            {"id": 2, "tasks": 1, "length": 1, "deadline": 5, "width": 1},
            {"id": 3, "tasks": 1, "length": 1, "deadline": null},
        ]});
        let got = answer(&case, "$").expect("a good case");
        // 5 of 9 after 5 s, the other 4 in the first 5 s.
        assert_eq!(got["fit"], json!({"1": 0.8, "2": 0.2, "3": 0.0}));
    }

    #[test]
    fn utility_and_placement() {
        let got = answer(
            &json!({"op": "utility", "alloc": 7, "fit": 4, "pend": 10}),
            "$",
        );
        assert_eq!(got, Ok(json!({"utility": 0.5})));
        let case = json!({"op": "placement", "slots": 12, "jobs": [
            {"id": "a", "fit": 4, "pend": 20}, {"id": "b", "fit": 2.0, "pend": 10},
        ]});
        assert_eq!(answer(&case, "$"), Ok(json!({"a": 8, "b": 4})));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_path() {
        let path = |case: Value| answer(&case, "$[2]").map_err(|error| error.path);
        let error = |path: &str| Err(path.to_string());
        assert_eq!(path(json!({"op": "revers"})), error("$[2].op"));
        assert_eq!(path(json!({"jobs": []})), error("$[2].slots"));
        assert_eq!(
            path(json!({"slots": [[1, 2], [1, 3]]})),
            error("$[2].slots")
        );
        assert_eq!(
            path(json!({"slots": 1, "split": "even"})),
            error("$[2].split")
        );
        let jobs = json!({"slots": 1, "jobs": [{"id": "a", "tasks": 1}]});
        assert_eq!(path(jobs), error("$[2].jobs[0].length"));
        let twice = json!({"id": "a", "fit": 1, "pend": 1});
        let jobs = json!({"op": "placement", "slots": 1, "jobs": [twice, twice]});
        assert_eq!(path(jobs), error("$[2].jobs[1].id"));
        assert_eq!(path(json!(7)), error("$[2]"));
    }
}
