//! Cases of HFSP. Parses and writes JSON; every number comes from `heddle_core::order::hfsp` and,
//! for the fluid model, from `heddle_lab::fluid`.

use super::CaseError;
use super::input::Input;
use heddle_core::order::hfsp::aging::{Aging, PhaseId};
use heddle_core::order::hfsp::estimate::{self, Sample};
use heddle_core::order::hfsp::round_robin::{Want, round_robin};
use heddle_core::words::ids::JobId;
use heddle_core::words::kind::Kind;
use heddle_lab::fluid::multislot::{self, Policy, WideJob};
use heddle_lab::fluid::{self, Discipline, Job};
use heddle_sim::swim;
use serde_json::{Map, Value, json};

/// Answers one case at `path` of the input.
pub(super) fn answer(case: &Value, path: &str) -> Result<Value, CaseError> {
    let case = Input::new(path, case);
    let op = case.get("op")?;
    match op.as_ref().map_or(Ok("server"), Input::text)? {
        "server" => server(&case),
        "swim" => swim(&case),
        "multislot" => multislot(&case),
        "initial" => initial(&case),
        "map_size" => map_size(&case),
        "reduce_size" => reduce_size(&case),
        "round_robin" => deal(&case),
        "aging" => aging(&case),
        _ => Err(case.need("op")?.error(
            "server, swim, multislot, initial, map_size, reduce_size, round_robin or aging",
        )),
    }
}

/// Returns the policies of the case; all of `known` if it names none.
fn policies<T: Copy>(
    case: &Input<'_>,
    known: &[(&'static str, T)],
) -> Result<Vec<(&'static str, T)>, CaseError> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let one = |item: &Input<'_>| {
        let name = item.text()?;
        let found = known.iter().find(|(known, _)| *known == name);
        found.copied().ok_or_else(|| item.error(&names.join(", ")))
    };
    let named = case.each("policies", one)?;
    Ok(if named.is_empty() {
        known.to_vec()
    } else {
        named
    })
}

/// Parses the estimates of `jobs` jobs, if there are any.
fn estimates(case: &Input<'_>, jobs: usize) -> Result<Option<Vec<f64>>, CaseError> {
    let Some(list) = case.get("estimates")? else {
        return Ok(None);
    };
    let sizes = case.each("estimates", Input::amount)?;
    if sizes.len() != jobs {
        return Err(list.error(&format!("as many estimates as jobs, {jobs}")));
    }
    Ok(Some(sizes))
}

fn sorted(case: &Input<'_>, arrivals: impl Iterator<Item = f64>) -> Result<(), CaseError> {
    if arrivals.is_sorted() {
        Ok(())
    } else {
        Err(case.need("jobs")?.error("jobs in the order of `arrival`"))
    }
}

fn server(case: &Input<'_>) -> Result<Value, CaseError> {
    let mut jobs = case.each("jobs", |job| {
        let (arrival, size) = (job.need("arrival")?, job.need("size")?);
        Ok(Job::exact(arrival.number()?, size.amount()?))
    })?;
    sorted(case, jobs.iter().map(|job| job.arrival))?;
    if let Some(estimates) = estimates(case, jobs.len())? {
        for (job, estimate) in jobs.iter_mut().zip(estimates) {
            job.estimate = estimate;
        }
    }
    let mut answer = Map::new();
    for (name, discipline) in policies(case, &Discipline::ALL)? {
        let ends = fluid::completions(discipline, &jobs);
        let mean = fluid::mean_sojourn(&jobs, &ends);
        let row = json!({"mean_sojourn": mean, "completion": ends});
        answer.insert(name.to_string(), row);
    }
    Ok(Value::Object(answer))
}

fn swim(case: &Input<'_>) -> Result<Value, CaseError> {
    let path = case.need("path")?;
    let text = std::fs::read_to_string(path.text()?)
        .map_err(|error| path.error(&format!("a file that can be read ({error})")))?;
    let trace = swim::parse(&text).map_err(|error| path.error(&format!("a trace ({error})")))?;
    let d_over_n = case.maybe("d_over_n", Input::amount)?.unwrap_or(4.0);
    let load = case.maybe("load", Input::amount)?.unwrap_or(0.9);
    let jobs = fluid::of_trace(&trace, d_over_n, load);
    let mut answer = Map::new();
    for (name, discipline) in policies(case, &Discipline::ALL)? {
        let ends = fluid::completions(discipline, &jobs);
        let mean = fluid::mean_sojourn(&jobs, &ends);
        answer.insert(name.to_string(), json!({"mean_sojourn": mean}));
    }
    Ok(Value::Object(answer))
}

fn above_zero(input: &Input<'_>) -> Result<f64, CaseError> {
    let number = input.number()?;
    if number > 0.0 {
        Ok(number)
    } else {
        Err(input.error("a number above 0"))
    }
}

fn multislot(case: &Input<'_>) -> Result<Value, CaseError> {
    let slots = above_zero(&case.need("slots")?)?;
    let mut jobs = case.each("jobs", |job| {
        let work = job.need("work")?.amount()?;
        Ok(WideJob {
            arrival: job.need("arrival")?.number()?,
            work,
            width: job.maybe("width", above_zero)?.unwrap_or(slots),
            estimate: work,
        })
    })?;
    sorted(case, jobs.iter().map(|job| job.arrival))?;
    if let Some(estimates) = estimates(case, jobs.len())? {
        for (job, estimate) in jobs.iter_mut().zip(estimates) {
            job.estimate = estimate;
        }
    }
    let mut answer = Map::new();
    for (name, policy) in policies(case, &Policy::ALL)? {
        let ends = multislot::completions(policy, slots, &jobs);
        let mean = multislot::mean_sojourn(&jobs, &ends);
        let row = json!({"mean_sojourn": mean, "completion": ends});
        answer.insert(name.to_string(), row);
    }
    Ok(Value::Object(answer))
}

fn initial(case: &Input<'_>) -> Result<Value, CaseError> {
    let tasks = case.need("tasks")?.whole()?;
    let mean_task = case.need("mean_task")?.amount()?;
    let xi = case.maybe("xi", Input::amount)?.unwrap_or(1.0);
    Ok(json!({"size": estimate::initial(tasks, mean_task, xi)}))
}

fn map_size(case: &Input<'_>) -> Result<Value, CaseError> {
    let tasks = case.need("tasks")?.whole()?;
    let samples = case.each("samples", Input::amount)?;
    Ok(json!({"size": estimate::map_size(tasks, samples.into_iter())}))
}

fn reduce_size(case: &Input<'_>) -> Result<Value, CaseError> {
    let tasks = case.need("tasks")?.whole()?;
    let timeout = case.maybe("timeout", Input::amount)?.unwrap_or(10.0);
    // A sample without progress is not known yet, and neither is the execution time.
    let samples = case.each("samples", |sample| {
        let time = match sample.get("time")? {
            Some(time) => Some(time.amount()?),
            None => estimate::extrapolate(timeout, sample.need("progress")?.amount()?),
        };
        let known = Sample {
            shuffle: sample.maybe("shuffle", Input::amount)?.unwrap_or(0.0),
            input: sample.maybe("input", Input::amount)?.unwrap_or(0.0),
            execution: time.unwrap_or(0.0),
        };
        Ok((known, time.is_some()))
    })?;
    let known = samples.iter().all(|(_, known)| *known);
    let samples: Vec<Sample> = samples.into_iter().map(|(sample, _)| sample).collect();
    let size = estimate::reduce_size(tasks, &samples);
    Ok(json!({
        "shuffle": size.shuffle,
        "execution": known.then_some(size.execution),
        "total": known.then(|| size.total()),
    }))
}

fn deal(case: &Input<'_>) -> Result<Value, CaseError> {
    let slots = case.need("slots")?.whole()?;
    let members = case.need("demand")?.members()?;
    let weights = case.get("weights")?;
    let want = |(name, demand): &(&str, Input<'_>)| {
        let weight = weights
            .as_ref()
            .map_or(Ok(None), |w| w.maybe(name, above_zero))?;
        Ok(Want {
            slots: demand.whole()?,
            weight: weight.unwrap_or(1.0),
        })
    };
    let wants = members.iter().map(want).collect::<Result<Vec<_>, _>>()?;
    let parts = round_robin(slots, &wants);
    let part = |((name, _), part): (&(&str, Input<'_>), u32)| (name.to_string(), json!(part));
    let parts: Map<String, Value> = members.iter().zip(parts).map(part).collect();
    Ok(json!({"slots": parts}))
}

/// Numbers the names of a case for the core, in the order of their first mention.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn id(&mut self, name: String) -> PhaseId {
        let at = self.0.iter().position(|known| *known == name);
        let at = at.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        PhaseId {
            job: JobId(at as u32),
            kind: Kind::Map,
        }
    }
}

/// Parses an object or a list of objects.
fn one_or_more<'a>(event: &Input<'a>, key: &str) -> Result<Vec<Input<'a>>, CaseError> {
    match event.get(key)? {
        None => Ok(Vec::new()),
        Some(list) if list.value().is_array() => list.list(),
        Some(one) => Ok(vec![one]),
    }
}

fn aging(case: &Input<'_>) -> Result<Value, CaseError> {
    let at_ends = case.maybe("recompute", |input| match input.text()? {
        "events" => Ok(false),
        "virtual_ends" => Ok(true),
        _ => Err(input.error("events or virtual_ends")),
    })?;
    let mut names = Names::default();
    let mut cluster: Option<Aging> = None;
    let slots = case.need("slots")?.whole()?;
    let mut rows = Vec::new();
    for event in case.need("events")?.list()? {
        let t = event.need("t")?;
        let now = t.number()?;
        let aging = cluster.get_or_insert_with(|| Aging::new(now, slots));
        if now < aging.now() {
            return Err(t.error("a time that is not before the last"));
        }
        if at_ends.unwrap_or(false) {
            aging.advance(now);
        } else {
            aging.advance_held(now);
        }
        apply(aging, &mut names, &event)?;
        let name = |id: &PhaseId| names.0[id.job.index()].clone();
        let order: Vec<PhaseId> = aging.order().collect();
        let left = |id: &PhaseId| (name(id), json!(aging.left(*id)));
        let left: Map<String, Value> = order.iter().map(left).collect();
        let order: Vec<String> = order.iter().map(name).collect();
        rows.push(json!({"t": now, "left": left, "order": order}));
    }
    Ok(json!({"log": rows}))
}

fn apply(aging: &mut Aging, names: &mut Names, event: &Input<'_>) -> Result<(), CaseError> {
    if let Some(slots) = event.maybe("slots", Input::whole)? {
        aging.set_slots(slots);
    }
    for removed in one_or_more(event, "remove")? {
        aging.remove(names.id(removed.name()?));
    }
    for change in one_or_more(event, "estimate")? {
        let id = names.id(change.need("job")?.name()?);
        let tasks = change.maybe("tasks", Input::whole)?;
        let Some(tasks) = tasks.or(aging.tasks(id)) else {
            return Err(change.need("job")?.error("a job that was added"));
        };
        aging.resize(id, tasks, change.need("size")?.amount()?);
    }
    for job in one_or_more(event, "add")? {
        let id = names.id(job.need("job")?.name()?);
        let tasks = job.need("tasks")?.whole()?;
        let weight = job.maybe("weight", above_zero)?.unwrap_or(1.0);
        aging.add(id, tasks, job.need("size")?.amount()?, weight);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(case: Value) -> Value {
        answer(&case, "$").expect("a good case")
    }

    fn number(value: &Value) -> f64 {
        value.as_f64().expect("a number")
    }

    /// HF-3 with an error: j1 of 30 is estimated at 5, so it is late from 5 on and ends first.
    #[test]
    fn a_server_with_and_without_estimates() {
        let jobs = json!([{"arrival": 0, "size": 30}, {"arrival": 10, "size": 10},
                          {"arrival": 15, "size": 10}]);
        let found = ask(json!({"jobs": jobs, "policies": ["ps", "srpt"]}));
        assert_eq!(found["ps"]["completion"], json!([50.0, 37.5, 42.5]));
        assert_eq!(number(&found["srpt"]["mean_sojourn"]), 75.0 / 3.0);
        assert!(found.get("fcfs").is_none());
        let found = ask(json!({"op": "server", "jobs": jobs, "estimates": [5, 10, 10]}));
        assert_eq!(found["fsp_fifo"]["completion"], json!([30.0, 40.0, 50.0]));
        assert_eq!(found.as_object().map(Map::len), Some(5));
    }

    #[test]
    fn the_trace_by_its_path() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../sim/traces/FB-2010_samples_24_times_1hr_0.tsv"
        );
        let found = ask(json!({"op": "swim", "path": path, "policies": ["fcfs"]}));
        assert!((number(&found["fcfs"]["mean_sojourn"]) - 1933.91).abs() < 0.005);
    }

    /// By hand: 4 slots, widths 1 and 4, work 4 and 12: 1 + 3 slots until both end at 4.
    #[test]
    fn slots_with_widths() {
        let jobs = json!([{"arrival": 0, "work": 4, "width": 1},
                          {"arrival": 0, "work": 12, "width": 4}]);
        let found = ask(json!({"op": "multislot", "slots": 4, "jobs": jobs}));
        for policy in ["fcfs", "fair"] {
            assert_eq!(found[policy]["completion"], json!([4.0, 4.0]));
        }
        assert!(found["hfsp"]["mean_sojourn"].is_number() && found["srpt"].is_object());
    }

    #[test]
    fn sizes() {
        let found = ask(json!({"op": "initial", "tasks": 40, "mean_task": 30, "xi": 2}));
        assert_eq!(number(&found["size"]), 2_400.0);
        let found = ask(json!({"op": "map_size", "tasks": 100, "samples": [10, 20, 30]}));
        assert_eq!(number(&found["size"]), 2_000.0);
        // The numbers of the core's own test, which derives them.
        let samples = json!([{"shuffle": 10, "input": 300, "time": 8},
                             {"shuffle": 20, "input": 100, "progress": 0.25}]);
        let found = ask(json!({"op": "reduce_size", "tasks": 4, "samples": samples}));
        assert_eq!(
            found,
            json!({"shuffle": 50.0, "execution": 96.0, "total": 146.0})
        );
        let samples = json!([{"shuffle": 10, "input": 1, "progress": 0}]);
        let found = ask(json!({"op": "reduce_size", "tasks": 2, "samples": samples}));
        assert_eq!(
            found,
            json!({"shuffle": 20.0, "execution": null, "total": null})
        );
    }

    #[test]
    fn slots_in_rounds() {
        let demand = json!({"a": 30, "b": 2, "c": 20});
        let found = ask(json!({"op": "round_robin", "slots": 11, "demand": demand}));
        assert_eq!(found, json!({"slots": {"a": 4, "b": 2, "c": 5}}));
    }

    /// By hand, 10 slots: job 1 of 300 runs alone to 10 and has 200 left. Then job 2 gets 2 slots
    /// and job 1 gets 8: 160 and 10 are left at 15. There the estimate of job 1 falls to 250 (140
    /// done), so 110 are left. Job 2 now keeps one of 6 slots. At 20 it has 5 left, and job 1 has
    /// 110 - 5 * 5 = 85.
    #[test]
    fn ageing_at_events() {
        let events = json!([
            {"t": 0, "add": {"job": "one", "tasks": 30, "size": 300}},
            {"t": 10, "add": [{"job": "two", "tasks": 2, "size": 20}]},
            {"t": 15, "estimate": {"job": "one", "size": 250}, "slots": 6},
            {"t": 20, "remove": "one"},
        ]);
        let found = ask(json!({"op": "aging", "slots": 10, "events": events}));
        let log = found["log"].as_array().expect("a list");
        assert_eq!(log[1]["left"], json!({"one": 200.0, "two": 20.0}));
        assert_eq!(log[1]["order"], json!(["two", "one"]));
        assert_eq!(log[2]["left"], json!({"one": 110.0, "two": 10.0}));
        assert_eq!(
            log[3],
            json!({"t": 20.0, "left": {"two": 5.0}, "order": ["two"]})
        );
        // With `events`, a job of one task of 5 keeps its slot until 20. With `virtual_ends`, the
        // slot is redistributed at 5.
        let events = json!([
            {"t": 0, "add": [{"job": "a", "tasks": 9, "size": 900},
                             {"job": "b", "tasks": 1, "size": 5}]},
            {"t": 20},
        ]);
        for (recompute, left) in [("events", 840.0), ("virtual_ends", 825.0)] {
            let case = json!({"op": "aging", "slots": 4, "events": events, "recompute": recompute});
            assert_eq!(ask(case)["log"][1]["left"], json!({"a": left, "b": 0.0}));
        }
    }

    #[test]
    fn faults_name_their_place() {
        let fault = |case: Value| answer(&case, "$").expect_err("a bad case").path;
        assert_eq!(fault(json!({"op": "sever"})), "$.op");
        let jobs = json!([{"arrival": 5, "size": 1}, {"arrival": 0, "size": 1}]);
        assert_eq!(fault(json!({"jobs": jobs})), "$.jobs");
        assert_eq!(
            fault(json!({"jobs": [{"arrival": 0, "size": -1}]})),
            "$.jobs[0].size"
        );
        assert_eq!(
            fault(json!({"jobs": [], "policies": ["lifo"]})),
            "$.policies[0]"
        );
        assert_eq!(fault(json!({"jobs": [], "estimates": [1]})), "$.estimates");
        assert_eq!(fault(json!({"op": "multislot", "slots": 0})), "$.slots");
        let events = json!([{"t": 1}, {"t": 0}]);
        assert_eq!(
            fault(json!({"op": "aging", "slots": 1, "events": events})),
            "$.events[1].t"
        );
        let events = json!([{"t": 1, "estimate": {"job": "x", "size": 1}}]);
        let case = json!({"op": "aging", "slots": 1, "events": events});
        assert_eq!(fault(case), "$.events[0].estimate.job");
        assert_eq!(
            fault(json!({"op": "swim", "path": "no such file"})),
            "$.path"
        );
    }
}
