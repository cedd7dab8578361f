//! Parses a user's own workload from JSON; `docs/develop/workloads.md` describes the format. Every
//! error names its key.

use super::{Foreign, Hardware, JobPlan, Stream, Workload};
use heddle_core::config::{ConfigError, Section};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The upper limit of times, in seconds: a larger number is a typing error.
const MOST: i64 = 1_000_000_000;

const MB: f64 = 1e6;

/// Parses a workload; `name` is for reports.
///
/// # Errors
/// Returns the wrong key and the expected value.
pub fn read(name: &str, value: &Value) -> Result<Workload, ConfigError> {
    let mut root = Section::new("", value)?;
    let mut workload = Workload {
        name: name.to_string(),
        ..Workload::default()
    };
    if let Some(mut section) = root.section("cluster")? {
        workload.hardware = read_hardware(&mut section)?;
        section.finish()?;
    }
    for (path, value) in root.list("jobs")? {
        let mut section = Section::new(&path, value)?;
        workload
            .jobs
            .push(read_job(&mut section, &workload.hardware)?);
        section.finish()?;
    }
    for (path, value) in root.list("streams")? {
        let stream = read_stream(&path, value, &workload.hardware)?;
        workload.streams.push(stream);
    }
    for (path, value) in root.list("requests")? {
        let mut section = Section::new(&path, value)?;
        let at_ms = seconds(&mut section, "at_s")?.unwrap_or(0);
        let request = section.value("request").cloned().unwrap_or(Value::Null);
        let request = checked_request(&section.key("request"), request)?;
        workload.requests.push((at_ms, request));
        section.finish()?;
    }
    workload.requests.sort_by_key(|(at_ms, _)| *at_ms);
    workload.foreign = read_foreign(&mut root)?;
    workload.until_ms = seconds(&mut root, "until_s")?;
    workload.config = root.value("config").cloned().unwrap_or(json!({}));
    root.finish()?;
    let endless = workload
        .streams
        .iter()
        .position(|stream| stream.count.is_none());
    if let Some(i) = endless.filter(|_| workload.until_ms.is_none()) {
        let problem = "without a `count` the stream never ends; give it one, or `until_s`";
        return Err(ConfigError::new(format!("streams[{i}].count"), problem));
    }
    if workload.jobs.is_empty() && workload.streams.is_empty() {
        return Err(ConfigError::new(
            "jobs",
            "expected at least one job or stream",
        ));
    }
    Ok(workload)
}

fn read_hardware(section: &mut Section<'_>) -> Result<Hardware, ConfigError> {
    let plain = Hardware::default();
    let mut whole = |key: &'static str, least: i64, absent: u32| {
        let number = section.whole(key, least, 100_000)?;
        Ok(number.map_or(absent, |number| number as u32))
    };
    let nodes = whole("nodes", 1, plain.nodes)?;
    let racks = whole("racks", 1, plain.racks.min(nodes))?;
    let map_slots = whole("map_slots", 0, plain.slots[0])?;
    let reduce_slots = whole("reduce_slots", 0, plain.slots[1])?;
    let together = whole("slots", 1, 0)?;
    let blocks_per_writer = whole("blocks_per_writer", 1, plain.blocks_per_writer)?;
    let sum = map_slots + reduce_slots;
    if together > sum {
        let problem = format!("expected at most {sum}, the sum of the kinds'; lower it");
        return Err(ConfigError::new(section.key("slots"), problem));
    }
    if racks > nodes {
        let problem = format!("there are {racks} racks for {nodes} nodes; lower it");
        return Err(ConfigError::new(section.key("racks"), problem));
    }
    let mut rate = |key: &'static str, absent: u64| {
        let number = section.number(key, 1e-3, 1e9)?;
        Ok(number.map_or(absent, |mb| (mb * MB) as u64))
    };
    Ok(Hardware {
        nodes,
        racks,
        slots: [map_slots, reduce_slots],
        slots_together: (together > 0).then_some(together),
        rack_bytes_per_s: rate("rack_mb_per_s", plain.rack_bytes_per_s)?,
        block_bytes: rate("block_mb", plain.block_bytes)?,
        blocks_per_writer,
        map_bytes_per_s: rate("map_mb_per_s", plain.map_bytes_per_s)?,
        copy_bytes_per_s: rate("copy_mb_per_s", plain.copy_bytes_per_s)?,
        reduce_bytes_per_s: rate("reduce_mb_per_s", plain.reduce_bytes_per_s)?,
        write_bytes_per_s: rate("write_mb_per_s", plain.write_bytes_per_s)?,
        overhead_ms: seconds(section, "overhead_s")?.unwrap_or(plain.overhead_ms),
        heartbeat_ms: seconds(section, "heartbeat_s")?.unwrap_or(plain.heartbeat_ms),
    })
}

fn seconds(section: &mut Section<'_>, key: &'static str) -> Result<Option<i64>, ConfigError> {
    let number = section.number(key, 0.0, MOST as f64)?;
    Ok(number.map(|seconds| (seconds * 1e3).round() as i64))
}

fn read_job(section: &mut Section<'_>, hardware: &Hardware) -> Result<JobPlan, ConfigError> {
    let mut bytes = |key: &'static str| {
        let number = section.number(key, 0.0, 1e12)?;
        Ok(number.map_or(0, |mb| (mb * MB) as u64))
    };
    let (input_bytes, shuffle_bytes) = (bytes("input_mb")?, bytes("shuffle_mb")?);
    let output_bytes = bytes("output_mb")?;
    let blocks = input_bytes.div_ceil(hardware.block_bytes) as i64;
    let maps = section.whole("maps", 0, 10_000_000)?.unwrap_or(blocks);
    let reduces = section.whole("reduces", 0, 1_000_000)?.unwrap_or(0);
    let priority = section.whole("priority", 0, 100)?.unwrap_or(0);
    for (kind, tasks, slots) in [
        ("maps", maps, hardware.slots[0]),
        ("reduces", reduces, hardware.slots[1]),
    ] {
        if tasks > 0 && slots == 0 {
            let problem = format!("the cluster has no slot for {kind}; give it some");
            return Err(ConfigError::new(section.key(kind), problem));
        }
    }
    if maps == 0 && (input_bytes > 0 || shuffle_bytes > 0) {
        let problem = "without a map nothing is read or shuffled; expected 1 or more";
        return Err(ConfigError::new(section.key("maps"), problem));
    }
    if reduces == 0 && shuffle_bytes > 0 {
        let problem = "without a reduce nothing is shuffled; expected 1 or more";
        return Err(ConfigError::new(section.key("reduces"), problem));
    }
    let class = section.text("class")?.unwrap_or("job").to_string();
    Ok(JobPlan {
        submit_ms: seconds(section, "submit_s")?.unwrap_or(0),
        user: user_of(section)?,
        class,
        mixed: false,
        priority: priority as i32,
        tasks: [maps as u32, reduces as u32],
        input_bytes,
        shuffle_bytes,
        output_bytes,
        map_ms: seconds(section, "map_s")?,
        reduce_ms: seconds(section, "reduce_s")?,
        goal_ms: seconds(section, "goal_s")?,
        profiled: section.boolean("profiled")?.unwrap_or(false),
        recorded: None,
    })
}

fn user_of(section: &mut Section<'_>) -> Result<String, ConfigError> {
    let user = section.text("user")?.unwrap_or("user");
    if user.is_empty() || user.contains('.') {
        let problem = format!("expected a name without dots, found `{user}`");
        return Err(ConfigError::new(section.key("user"), problem));
    }
    Ok(user.to_string())
}

fn read_stream(path: &str, value: &Value, hardware: &Hardware) -> Result<Stream, ConfigError> {
    let mut section = Section::new(path, value)?;
    let count = section.whole("count", 1, 1 << 20)?;
    let mut job = section
        .section("job")?
        .ok_or_else(|| ConfigError::new(section.key("job"), "expected a job"))?;
    let plan = read_job(&mut job, hardware)?;
    if plan.tasks == [0, 0] {
        let problem = "expected at least one map or reduce: the end of a job begins the next";
        return Err(ConfigError::new(section.key("job"), problem));
    }
    job.finish()?;
    let mut requests: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for (path, value) in section.list("requests")? {
        let mut section = Section::new(&path, value)?;
        let before = section.whole("before", 0, 1 << 20)?.unwrap_or(0) as u32;
        let request = section.value("request").cloned().unwrap_or(Value::Null);
        let request = checked_request(&section.key("request"), request)?;
        requests.entry(before).or_default().push(request);
        section.finish()?;
    }
    section.finish()?;
    Ok(Stream {
        job: plan,
        count: count.map(|count| count as u32),
        requests,
    })
}

fn checked_request(path: &str, request: Value) -> Result<Value, ConfigError> {
    match request.get("op") {
        Some(Value::String(_)) => Ok(request),
        _ => Err(ConfigError::new(path, "expected an object with an `op`")),
    }
}

/// Parses a list of steps, or the parameters of a daily course.
fn read_foreign(root: &mut Section<'_>) -> Result<Foreign, ConfigError> {
    let Some(mut section) = root.section("foreign")? else {
        return Ok(Foreign::default());
    };
    let mut steps = Vec::new();
    for (path, value) in section.list("steps")? {
        let mut step = Section::new(&path, value)?;
        let at_ms = seconds(&mut step, "from_s")?.unwrap_or(0);
        let part = step.number("part", 0.0, 1.0)?.unwrap_or(0.0);
        steps.push((at_ms, (part * 1_000.0).round() as u32));
        step.finish()?;
    }
    if steps.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        let problem = "expected the steps in order of `from_s`, each later than the one before";
        return Err(ConfigError::new(section.key("steps"), problem));
    }
    let most = section.number("most", 0.0, 1.0)?;
    if most.is_some() && !steps.is_empty() {
        return Err(ConfigError::new(
            section.key("most"),
            "expected `steps` or `most`, not both",
        ));
    }
    let period_ms = seconds(&mut section, "period_s")?
        .unwrap_or(86_400_000)
        .max(1);
    let until_ms = seconds(&mut section, "until_s")?.unwrap_or(2 * period_ms);
    let burst_ms = seconds(&mut section, "burst_s")?;
    let factor = section.number("burst_factor", 1.0, 1_000.0)?;
    section.finish()?;
    let Some(most) = most else {
        return Ok(Foreign { steps });
    };
    let burst = burst_ms.map(|burst_ms| (burst_ms.max(1), factor.unwrap_or(2.0)));
    let step_ms = burst.map_or(60_000, |(burst_ms, _)| (burst_ms / 20).clamp(1, 60_000));
    let most = (most * 1_000.0).round() as u32;
    Ok(Foreign::daily(most, period_ms, step_ms, until_ms, burst))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_read() {
        let value = json!({
            "cluster": {"nodes": 4, "racks": 2, "map_slots": 3, "reduce_slots": 1, "slots": 3,
                "block_mb": 64},
            "jobs": [{"submit_s": 1.5, "user": "ann", "input_mb": 130, "shuffle_mb": 2,
                      "reduces": 1, "goal_s": 60}],
            "streams": [{"count": 3, "job": {"user": "bob", "maps": 2, "map_s": 10},
                "requests": [{"before": 1, "request": {"op": "setSpending"}}]}],
            "foreign": {"steps": [{"from_s": 0, "part": 0.25}]},
        });
        let workload = read("own", &value).expect("it is good");
        let job = &workload.jobs[0];
        // 130 MB in blocks of 64 MB.
        assert_eq!(
            (job.submit_ms, job.tasks, job.goal_ms),
            (1_500, [3, 1], Some(60_000))
        );
        assert_eq!(workload.streams[0].count, Some(3));
        assert_eq!(workload.streams[0].requests[&1].len(), 1);
        assert_eq!(workload.foreign.steps, [(0, 250)]);
        let hardware = workload.hardware;
        assert_eq!((hardware.slots, hardware.slots_per_node()), ([3, 1], 3));
    }

    #[test]
    fn errors_name_the_key() {
        let cases = [
            (json!([]), "", "expected an object"),
            (json!({}), "jobs", "at least one"),
            (json!({"job": []}), "job", "did you mean `jobs`"),
            (
                json!({"jobs": [{}, {"mapps": 3}]}),
                "jobs[1].mapps",
                "did you mean `maps`",
            ),
            (json!({"jobs": [{"maps": -1}]}), "jobs[0].maps", "from 0"),
            (
                json!({"jobs": [{"maps": 1, "user": "a.b"}]}),
                "jobs[0].user",
                "without dots",
            ),
            (
                json!({"jobs": [{"maps": 1, "shuffle_mb": 1}]}),
                "jobs[0].reduces",
                "1 or more",
            ),
            (
                json!({"streams": [{"job": {"maps": 1}}]}),
                "streams[0].count",
                "never ends",
            ),
            (json!({"streams": [{}]}), "streams[0].job", "expected a job"),
            // Without a task, each would end and begin the next within one call of the last.
            (
                json!({"streams": [{"count": 1_000_000, "job": {}}]}),
                "streams[0].job",
                "at least one map or reduce",
            ),
            (
                json!({"cluster": {"nodes": 2, "racks": 3}}),
                "cluster.racks",
                "3 racks",
            ),
            (
                json!({"cluster": {"map_slots": 1, "slots": 3}}),
                "cluster.slots",
                "at most 2",
            ),
            (
                json!({"cluster": {"reduce_slots": 0}, "jobs": [{"maps": 1, "reduces": 1}]}),
                "jobs[0].reduces",
                "no slot",
            ),
            (
                json!({"jobs": [{"maps": 1}], "requests": [{"at_s": 1}]}),
                "requests[0].request",
                "`op`",
            ),
            (
                json!({"foreign": {"steps": [{"from_s": 5}, {"from_s": 5}]}}),
                "foreign.steps",
                "in order",
            ),
            (
                json!({"foreign": {"steps": [{"from_s": 5}], "most": 0.5}}),
                "foreign.most",
                "not both",
            ),
        ];
        for (value, key, words) in cases {
            let error = read("own", &value).expect_err(&format!("{value} must be refused"));
            assert_eq!(error.key, key, "{value}: {error}");
            assert!(error.problem.contains(words), "{value}: {error}");
        }
    }
}
