//! Cases of ShuffleWatcher. Parses and writes JSON; every number comes from
//! `heddle_core::place::shuffle_watcher`.

use super::CaseError;
use super::input::Input;
use heddle_core::place::shuffle_watcher::netsat::{Rate, Verdict};
use heddle_core::place::shuffle_watcher::traffic::{MapOutput, MapRun, PerRack, ReduceRun};
use heddle_core::place::shuffle_watcher::{nass, samp, sarp, traffic};
use heddle_core::words::ids::PlaceId;
use heddle_core::words::kind::Kind;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Answers one case at `path` of the input.
pub(super) fn answer(case: &Value, path: &str) -> Result<Value, CaseError> {
    let case = Input::new(path, case);
    let op = case.get("op")?;
    match op.as_ref().map_or(Ok("samp"), Input::text)? {
        "samp" => samp(&case),
        "sarp" => sarp(&case),
        "traffic" => traffic(&case),
        "netsat" => netsat(&case),
        "nass" => nass(&case),
        _ => Err(case
            .need("op")?
            .error("samp, sarp, traffic, netsat or nass")),
    }
}

/// Numbers the names of a case for the core, in the order of the names.
struct Names(Vec<String>);

impl Names {
    fn of(names: impl IntoIterator<Item = String>) -> Names {
        let sorted: BTreeSet<String> = names.into_iter().collect();
        Names(sorted.into_iter().collect())
    }

    /// 0 is `PlaceId::ANY`.
    fn id(&self, name: &str) -> PlaceId {
        let at = self.0.partition_point(|other| other.as_str() < name);
        PlaceId(1 + at as u32)
    }

    fn ids(&self, names: &[String]) -> Vec<PlaceId> {
        names.iter().map(|name| self.id(name)).collect()
    }

    fn all(&self) -> Vec<PlaceId> {
        self.ids(&self.0)
    }

    fn name(&self, id: PlaceId) -> &str {
        &self.0[id.index() - 1]
    }

    fn names(&self, ids: &[PlaceId]) -> Vec<&str> {
        ids.iter().map(|id| self.name(*id)).collect()
    }

    fn amounts(&self, amounts: &BTreeMap<String, f64>) -> PerRack {
        amounts
            .iter()
            .map(|(name, amount)| (self.id(name), *amount))
            .collect()
    }

    fn object<T: Into<Value> + Copy>(&self, amounts: &BTreeMap<PlaceId, T>) -> Value {
        let member = |(id, amount): (&PlaceId, &T)| (self.name(*id).to_string(), (*amount).into());
        Value::Object(amounts.iter().map(member).collect::<Map<String, Value>>())
    }
}

fn amounts(case: &Input<'_>, key: &str) -> Result<BTreeMap<String, f64>, CaseError> {
    let Some(object) = case.get(key)? else {
        return Ok(BTreeMap::new());
    };
    let amount = |(name, value): (&str, Input<'_>)| Ok((name.to_string(), value.amount()?));
    object.members()?.into_iter().map(amount).collect()
}

fn samp(case: &Input<'_>) -> Result<Value, CaseError> {
    let racks = case.need("racks")?.list()?;
    let racks = racks
        .iter()
        .map(Input::name)
        .collect::<Result<Vec<_>, _>>()?;
    let blocks = case.each("blocks", |block| {
        Ok((
            block.need("size")?.amount()?,
            block.each("racks", Input::name)?,
        ))
    })?;
    let load = amounts(case, "load")?;
    let reduces = case.maybe("reduces", Input::whole)?;
    let spread = match case.maybe("spread", Input::text)? {
        None | Some("uniform") => samp::Spread::Uniform,
        Some("locality") => samp::Spread::Locality,
        Some(_) => return Err(case.need("spread")?.error("uniform or locality")),
    };
    let held_by = blocks.iter().flat_map(|(_, racks)| racks);
    let names = Names::of(racks.iter().chain(held_by).chain(load.keys()).cloned());
    let blocks: Vec<samp::Blocks> = blocks
        .iter()
        .map(|(bytes, racks)| samp::Blocks {
            bytes: *bytes,
            racks: names.ids(racks),
        })
        .collect();
    // A job that declares no reduces shuffles nothing.
    let ratio = match reduces {
        Some(0) => 0.0,
        _ => case.maybe("ratio", Input::amount)?.unwrap_or(1.0),
    };
    let question = samp::Question {
        racks: &names.ids(&racks),
        input: samp::Input::Blocks(&blocks),
        ratio,
        spread,
        load: &names.amounts(&load),
    };
    let plan = samp::plan(&question);
    let prefix = |prefix: &samp::Prefix| {
        let chosen = &plan.order[..prefix.racks];
        let parts = samp::fractions(&question, chosen);
        let tentative = chosen.iter().copied().zip(parts);
        let tentative: PerRack = tentative
            .map(|(rack, part)| (rack, f64::from(reduces.unwrap_or(0)) * part))
            .collect();
        json!({
            "racks": names.names(chosen),
            "remote_map": prefix.remote_map,
            "shuffle": prefix.shuffle,
            "total": prefix.total(),
            "tentative_reduces": names.object(&tentative),
        })
    };
    Ok(json!({
        "order": names.names(&plan.order),
        "held": names.object(&plan.held),
        "prefixes": plan.prefixes.iter().map(prefix).collect::<Vec<_>>(),
        "preferred": plan.prefixes.get(plan.best).map(prefix),
    }))
}

fn sarp(case: &Input<'_>) -> Result<Value, CaseError> {
    let intermediate = amounts(case, "intermediate")?;
    let tentative = amounts(case, "tentative")?;
    let names = Names::of(intermediate.keys().chain(tentative.keys()).cloned());
    let intermediate = names.amounts(&intermediate);
    let preference = sarp::prefer(&sarp::Question {
        intermediate: &intermediate,
        reduces: f64::from(case.need("reduces")?.whole()?),
        completed: case.maybe("completed", Input::amount)?.unwrap_or(1.0),
        threshold: case.maybe("threshold", Input::amount)?.unwrap_or(0.15),
        tentative: &names.amounts(&tentative),
    });
    let whole = sarp::whole(&preference.reduces);
    let as_real: PerRack = whole.iter().map(|(rack, n)| (*rack, *n as f64)).collect();
    let even: PerRack = names.all().into_iter().map(|rack| (rack, 1.0)).collect();
    let moved = |reduces: &PerRack| traffic::crossing(&intermediate, reduces);
    // The worst that a random placement can do.
    let on_one = names
        .all()
        .into_iter()
        .map(|rack| moved(&PerRack::from([(rack, 1.0)])));
    Ok(json!({
        "tentative_used": preference.tentative,
        "preferred": names.object(&preference.reduces),
        "whole": names.object(&whole),
        "traffic": {
            "sarp": moved(&preference.reduces),
            "even": moved(&even),
            "whole": moved(&as_real),
            "one_rack": on_one.fold(0.0, f64::max),
        },
    }))
}

fn traffic(case: &Input<'_>) -> Result<Value, CaseError> {
    struct RawMap {
        rack: String,
        replicas: Vec<String>,
        input: f64,
        output: MapOutput,
    }
    let maps = case.each("maps", |map| {
        let output = match map.get("out")? {
            None => MapOutput::Even(0.0),
            Some(out) if out.value().is_array() => {
                let each: Result<Vec<f64>, _> = out.list()?.iter().map(Input::amount).collect();
                MapOutput::Each(each?)
            }
            Some(out) => MapOutput::Even(out.amount()?),
        };
        Ok(RawMap {
            rack: map.need("rack")?.name()?,
            replicas: map.each("input_racks", Input::name)?,
            input: map.maybe("size", Input::amount)?.unwrap_or(0.0),
            output,
        })
    })?;
    let reduces = case.each("reduces", |reduce| {
        let output = reduce.maybe("output", Input::amount)?.unwrap_or(0.0);
        Ok((reduce.need("rack")?.name()?, output))
    })?;
    let mut racks: Vec<String> = case.each("racks", Input::name)?;
    for map in &maps {
        racks.push(map.rack.clone());
        racks.extend(map.replicas.iter().cloned());
    }
    racks.extend(reduces.iter().map(|(rack, _)| rack.clone()));
    let names = Names::of(racks);
    let maps: Vec<MapRun> = maps
        .into_iter()
        .map(|map| MapRun {
            rack: names.id(&map.rack),
            replicas: Names::of(map.replicas)
                .0
                .iter()
                .map(|name| names.id(name))
                .collect(),
            input: map.input,
            output: map.output,
        })
        .collect();
    let reduces: Vec<ReduceRun> = reduces
        .iter()
        .map(|(rack, output)| ReduceRun {
            rack: names.id(rack),
            output: *output,
        })
        .collect();
    let copies = case.maybe("copies_off_rack", Input::amount)?.unwrap_or(1.0);
    let mut account = traffic::account(&names.all(), &maps, &reduces, copies);
    for rack in names.all() {
        account.up.entry(rack).or_default();
        account.down.entry(rack).or_default();
    }
    Ok(json!({
        "remote_map": account.remote_map,
        "shuffle": account.shuffle,
        "shuffle_total": account.shuffle_total,
        "output_write": account.output_write,
        "total": account.total(),
        "up": names.object(&account.up),
        "down": names.object(&account.down),
    }))
}

/// Parses a rate: a number, or the rates `up` and `down`, the larger of which counts.
fn rate(value: &Input<'_>) -> Result<f64, CaseError> {
    if value.value().is_object() {
        Ok(value
            .need("up")?
            .amount()?
            .max(value.need("down")?.amount()?))
    } else {
        value.amount()
    }
}

fn netsat(case: &Input<'_>) -> Result<Value, CaseError> {
    let bandwidth = case.need("bandwidth")?;
    let of_rack = |rack: &str| match bandwidth.value() {
        Value::Object(_) => bandwidth.need(rack)?.amount(),
        _ => bandwidth.amount(),
    };
    let rates = case.need("rates")?.members()?;
    let names = Names::of(rates.iter().map(|(rack, _)| rack.to_string()));
    let mut measured = BTreeMap::new();
    for (rack, value) in &rates {
        let (used, bandwidth) = (rate(value)?, of_rack(rack)?);
        measured.insert(names.id(rack), Rate { used, bandwidth });
    }
    let threshold = case.maybe("threshold", Input::amount)?.unwrap_or(0.8);
    let verdict = Verdict::of(&measured, threshold);
    Ok(json!({
        "saturated_racks": names.names(&verdict.racks),
        "any": verdict.any(),
        "mean": verdict.mean,
    }))
}

/// One job of a case of NASS, with the names of its tasks.
struct Job<'a> {
    arrival: f64,
    id: &'a Value,
    maps: Vec<&'a Value>,
    reduces: Vec<&'a Value>,
    candidate: nass::Candidate,
}

/// Numbers the racks and hosts of a case of NASS in one space: hosts may have the names of racks.
fn places(case: &Input<'_>) -> Result<Names, CaseError> {
    let mut places = vec![rack(&case.need("rack")?)?, host(&case.need("node")?)?];
    for job in case.need("jobs")?.list()? {
        places.extend(job.each("preferred_map_racks", rack)?);
        for key in ["preferred_reduces", "reduces_on"] {
            places.extend(
                amounts(&job, key)?
                    .into_keys()
                    .map(|name| format!("rack {name}")),
            );
        }
        for map in job.each("maps", |map| {
            Ok([map.each("nodes", host)?, map.each("racks", rack)?].concat())
        })? {
            places.extend(map);
        }
    }
    Ok(Names::of(places))
}

fn rack(value: &Input<'_>) -> Result<String, CaseError> {
    Ok(format!("rack {}", value.name()?))
}

fn host(value: &Input<'_>) -> Result<String, CaseError> {
    Ok(format!("host {}", value.name()?))
}

fn job<'a>(job: &Input<'a>, places: &Names, width: f64) -> Result<Job<'a>, CaseError> {
    let arrival = job.maybe("arrival", Input::number)?.unwrap_or(0.0);
    let heavy = nass::is_heavy(job.maybe("ratio", Input::amount)?.unwrap_or(1.0));
    let maps = job.each("maps", |map| {
        let waiting = nass::WaitingMap {
            hosts: places.ids(&map.each("nodes", host)?),
            racks: places.ids(&map.each("racks", rack)?),
        };
        Ok((map.need("id")?.value(), waiting))
    })?;
    let reduces = job.each("reduces", |id| Ok(id.value()))?;
    let preferred = job.each("preferred_map_racks", rack)?;
    let on = amounts(job, "reduces_on")?;
    let unmet = amounts(job, "preferred_reduces")?
        .into_iter()
        .filter(|(rack, preferred)| {
            sarp::is_unmet(*preferred, on.get(rack).copied().unwrap_or(0.0))
        });
    let unmet = unmet.map(|(rack, _)| places.id(&format!("rack {rack}")));
    let (ids, waiting): (Vec<&Value>, Vec<nass::WaitingMap>) = maps.into_iter().unzip();
    let mut candidate = nass::Candidate {
        window: nass::window(arrival, 0.0, width),
        tags: Vec::new(),
        maps: waiting,
        reduces: reduces.len(),
    };
    nass::tags(
        Kind::Map,
        heavy,
        places.ids(&preferred),
        &mut candidate.tags,
    );
    nass::tags(Kind::Reduce, heavy, unmet, &mut candidate.tags);
    Ok(Job {
        arrival,
        id: job.need("id")?.value(),
        maps: ids,
        reduces,
        candidate,
    })
}

fn nass(case: &Input<'_>) -> Result<Value, CaseError> {
    let places = places(case)?;
    let width = case.maybe("window", Input::amount)?.unwrap_or(0.0);
    let mut jobs = case.each("jobs", |value| job(value, &places, width))?;
    // A stable sort keeps jobs that arrived together in the listed order.
    jobs.sort_by(|a, b| a.arrival.total_cmp(&b.arrival));
    let candidates: Vec<_> = jobs.iter().map(|job| job.candidate.clone()).collect();
    let saturated = case.maybe("saturated", Input::flag)?.unwrap_or(false);
    let here = (
        places.id(&host(&case.need("node")?)?),
        places.id(&rack(&case.need("rack")?)?),
    );
    let choice = nass::choose(here.0, here.1, saturated, &candidates);
    Ok(match choice {
        None => json!({"category": null, "job": null, "task": null}),
        Some(choice) => {
            let job = &jobs[choice.job];
            let tasks = match choice.kind {
                Kind::Map => &job.maps,
                _ => &job.reduces,
            };
            json!({
                "category": choice.category.name(),
                "job": job.id,
                "task": tasks[choice.task],
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(case: Value) -> Value {
        answer(&case, "$").expect("a good case")
    }

    #[test]
    fn figure_7_as_a_case() {
        let answer = answered(json!({
            "op": "sarp", "intermediate": {"rack1": 90, "rack2": 10}, "reduces": 10,
            "completed": 0.15, "tentative": {"rack1": 5, "rack2": 5},
        }));
        let traffic = json!({"sarp": 18.0, "even": 50.0, "whole": 18.0, "one_rack": 90.0});
        assert_eq!(answer["traffic"], traffic);
        assert_eq!(answer["preferred"], json!({"rack1": 9.0, "rack2": 1.0}));
        assert_eq!(answer["whole"], json!({"rack1": 9, "rack2": 1}));
        assert_eq!(answer["tentative_used"], false);
    }

    #[test]
    fn figure_5_as_a_case_of_the_default_operation() {
        let answer = answered(json!({
            "racks": ["rack2", "rack1"], "ratio": 1, "reduces": 4, "load": {"rack1": 64},
            "blocks": [{"size": 64, "racks": ["rack1", "rack2"]}],
        }));
        assert_eq!(answer["order"], json!(["rack2", "rack1"]));
        assert_eq!(answer["preferred"]["racks"], json!(["rack2"]));
        assert_eq!(answer["preferred"]["total"], 0.0);
        let both = json!({"rack1": 2.0, "rack2": 2.0});
        assert_eq!(answer["prefixes"][1]["tentative_reduces"], both);
    }

    #[test]
    fn the_choice_names_category_job_and_task() {
        let case = |saturated| {
            json!({
                "op": "nass", "rack": "a", "node": "a1", "saturated": saturated, "window": 600,
                "jobs": [
                    {"id": "late", "arrival": 700, "maps": [{"id": "m", "nodes": ["a1"]}]},
                    {"id": 7, "arrival": 20, "ratio": 1.5, "preferred_reduces": {"a": 1.5},
                     "reduces_on": {"a": 1}, "reduces": ["r1", "r2"],
                     "maps": [{"id": "m1", "racks": ["b"]}, {"id": "m2", "racks": ["a"]}]},
                ],
            })
        };
        // The late job's map is local to the node, but its window has not come.
        let expected = json!({"category": "local map", "job": 7, "task": "m2"});
        assert_eq!(answered(case(true)), expected);
        let expected = json!({"category": "preferred heavy reduce", "job": 7, "task": "r1"});
        assert_eq!(answered(case(false)), expected);
    }

    #[test]
    fn links_and_transfers_are_counted() {
        let rates = json!({"a": {"up": 410, "down": 3}, "b": 400});
        let answer = answered(json!({"op": "netsat", "rates": rates, "bandwidth": 500}));
        assert_eq!(
            answer,
            json!({"saturated_racks": ["a"], "any": true, "mean": true})
        );
        let answer = answered(json!({
            "op": "traffic", "copies_off_rack": 1,
            "maps": [{"rack": "a", "input_racks": ["b"], "size": 10, "out": [1, 2]}],
            "reduces": [{"rack": "a", "output": 5}, {"rack": "b", "output": 0}],
        }));
        let parts = [
            "remote_map",
            "shuffle",
            "shuffle_total",
            "output_write",
            "total",
        ];
        assert_eq!(
            parts.map(|part| &answer[part]),
            [10.0, 2.0, 3.0, 5.0, 17.0].map(Value::from).each_ref()
        );
        assert_eq!(answer["up"], json!({"a": 7.0, "b": 10.0}));
        assert_eq!(answer["down"], json!({"a": 10.0, "b": 7.0}));
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        let error = |case: Value| answer(&case, "$[3]").expect_err("a bad case").to_string();
        let blocks = json!([{"size": 1}, {"size": "2"}]);
        assert_eq!(
            error(json!({"racks": ["a"], "blocks": blocks})),
            "$[3].blocks[1].size: expected a number, found \"2\""
        );
        assert_eq!(error(json!({})), "$[3].racks: expected a value, found none");
        assert!(error(json!({"op": "samba"})).starts_with("$[3].op: expected samp, sarp"));
        assert!(error(json!([])).starts_with("$[3]: expected an object"));
    }
}
