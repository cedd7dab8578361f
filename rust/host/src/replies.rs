//! Reads answers of the web services of MapReduce's ApplicationMasters and of NodeManagers. Users'
//! code writes them, so none is trusted. By version, the same fields are numbers or texts, and
//! lists are arrays or single objects. Leaves out missing fields and nonsense.

use crate::progress;
use heddle_core::stage::entry::Wants;
use serde_json::{Value, json};

/// A number that the reply lacks.
const UNKNOWN: i64 = -1;
/// The most tasks of a kind whose list is asked for. It has ended ones, too, and grows too long.
const TASKS_LISTED: i64 = 3_000;
/// The most running tasks of a list that are read: those that began last.
const RUNNING_MAX: usize = 1_024;
/// The most maps of a job that are asked one by one where their output is: two questions each. Of
/// more maps, numbers by rack tell enough.
const OUTPUTS_ASKED: i64 = 32;
/// The most running attempts at one task that are read; MapReduce has two.
const ATTEMPTS_MAX: usize = 4;
/// The longest id of a container.
const CONTAINER_CHARS: usize = 80;
const FILES: &str = "org.apache.hadoop.mapreduce.FileSystemCounter";
const TASKS: &str = "org.apache.hadoop.mapreduce.TaskCounter";

/// Reads a server's answer by the path of the request; -1 stands for an unknown number:
///
/// - `/jmx` of a NodeManager: bytes of map output that it has sent, or null.
/// - Of an ApplicationMaster `../counters`: bytes of input, map output, shuffle and output.
/// - `../tasks`: of the `running` tasks of a kind, the first to begin first: id, progress, start;
///   of the `ended` maps, if they are few: id and successful attempt.
/// - `../attempts`: of those that run: container, progress, when the reduce function began by the
///   server's clock, or -1, and whether it commits.
/// - `../attempts/ATTEMPT`: the container of a map that succeeded, or null.
/// - `../attempts/ATTEMPT/counters`: bytes of input and of map output.
/// - A job itself: how many maps and reduces it has, and how many of each have succeeded; then the
///   kinds of task, `m` and `r`, whose list is worth a question, by what a policy `Wants`.
///
/// Progress is in thousandths; that of a reduce is how far its function is.
///
/// # Errors
/// Why the text is no JSON object.
pub fn reply(path: &str, text: &[u8]) -> Result<Value, String> {
    let root: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if !root.is_object() {
        return Err("no JSON object".to_owned());
    }
    Ok(match path.rsplit('/').next() {
        Some("jmx") => json!(sent(&root)),
        Some("counters") if path.contains("/attempts/") => json!(output(&root)),
        Some("counters") => json!(moved(&root)),
        Some("tasks") => json!({ "running": running_tasks(&root), "ended": ended_maps(&root) }),
        Some("attempts") => json!(running_attempts(&root, path.contains("_r_"))),
        Some(last) if last.starts_with("attempt_") => json!(container(&root["taskAttempt"])),
        _ => totals(&root["job"]),
    })
}

/// A whole number from 0 up, or [`UNKNOWN`].
fn number(field: &Value) -> i64 {
    let read = match field {
        Value::Number(number) => number.as_i64().or_else(|| {
            let value = number.as_f64()?;
            (0.0..9e18).contains(&value).then_some(value as i64)
        }),
        Value::String(text) if text.len() <= 18 => text.trim().parse().ok(),
        _ => None,
    };
    read.unwrap_or(UNKNOWN).max(UNKNOWN)
}

/// A part of 100 as a part of 1.
fn percent(field: &Value) -> Option<f64> {
    let value = match field {
        Value::String(text) => text.trim().parse().ok()?,
        _ => field.as_f64()?,
    };
    (0.0..=100.0).contains(&value).then_some(value / 100.0)
}

/// A list that may have come as its only element.
fn list(field: &Value) -> &[Value] {
    match field {
        Value::Array(all) => all,
        Value::Object(_) => std::slice::from_ref(field),
        _ => &[],
    }
}

fn text(field: &Value) -> &str {
    field.as_str().unwrap_or("")
}

fn totals(job: &Value) -> Value {
    let total = |name: &str| number(&job[name]);
    let (maps, reduces) = (total("mapsTotal"), total("reducesTotal"));
    let (maps_done, reduces_done) = (total("mapsCompleted"), total("reducesCompleted"));
    let listed = |done: i64, all: i64| done < all && all <= TASKS_LISTED;
    let reduce = listed(reduces_done, reduces).then_some("r");
    let map = listed(maps_done, maps).then_some("m");
    let sampled: Vec<&str> = reduce.filter(|_| maps_done >= maps).into_iter().collect();
    let all: Vec<&str> = map.into_iter().chain(reduce).collect();
    // Once a reduce is done, all have their places.
    let placed = reduces <= 0 || reduces_done > 0;
    let outputs = maps_done > 0 && maps <= OUTPUTS_ASKED && !placed;
    let outputs: Vec<&str> = outputs.then_some("m").into_iter().collect();
    let kinds = json!({
        Wants::Progress.name(): sampled, Wants::Tasks.name(): all, Wants::Traffic.name(): outputs,
    });
    json!([maps, reduces, maps_done, reduces_done, kinds])
}

fn sent(root: &Value) -> Option<i64> {
    let beans = list(&root["beans"]).iter();
    let mut sent = beans.map(|bean| number(&bean["ShuffleOutputBytes"]));
    sent.find(|&sent| sent != UNKNOWN)
}

/// The group, the name and the values of each counter. Leaves out the local file system: it is no
/// traffic and no input.
fn counters(groups: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    list(groups)
        .iter()
        .flat_map(|group| {
            let group_name = text(&group["counterGroupName"]);
            let counters = list(&group["counter"]).iter();
            counters.map(move |counter| (group_name, text(&counter["name"]), counter))
        })
        .filter(|(group, name, _)| *group != FILES || !name.starts_with("FILE_"))
}

fn moved(root: &Value) -> [i64; 4] {
    let (mut input, mut map_output, mut shuffled, mut written) = (0i64, 0, 0, 0i64);
    for (group, name, counter) in counters(&root["jobCounters"]["counterGroup"]) {
        let value = |which: &str| number(&counter[which]).max(0);
        let total = value("totalCounterValue");
        match (group, name) {
            (FILES, _) if name.ends_with("_BYTES_READ") => {
                input = input.saturating_add(value("mapCounterValue"));
            }
            (FILES, _) if name.ends_with("_BYTES_WRITTEN") => {
                written = written.saturating_add(total);
            }
            (TASKS, "MAP_OUTPUT_MATERIALIZED_BYTES") => map_output = total,
            (TASKS, "REDUCE_SHUFFLE_BYTES") => shuffled = total,
            _ => {}
        }
    }
    [input, map_output, shuffled, written]
}

/// Bytes of input and of map output of one attempt.
fn output(root: &Value) -> [i64; 2] {
    let (mut input, mut output) = (0i64, 0);
    let groups = &root["jobTaskAttemptCounters"]["taskAttemptCounterGroup"];
    for (group, name, counter) in counters(groups) {
        let value = number(&counter["value"]).max(0);
        match (group, name) {
            (FILES, _) if name.ends_with("_BYTES_READ") => input = input.saturating_add(value),
            (TASKS, "MAP_OUTPUT_MATERIALIZED_BYTES") => output = value,
            _ => {}
        }
    }
    [input, output]
}

/// The container of an attempt that succeeded.
fn container(attempt: &Value) -> Option<&str> {
    let container = text(&attempt["assignedContainerId"]);
    let named = (1..=CONTAINER_CHARS).contains(&container.len());
    (named && text(&attempt["state"]) == "SUCCEEDED").then_some(container)
}

/// Each ended map and its attempt, if there are few.
fn ended_maps(root: &Value) -> Vec<(&str, &str)> {
    let tasks = list(&root["tasks"]["task"]).iter();
    let ended = tasks.filter(|task| text(&task["state"]) == "SUCCEEDED");
    let maps = ended.filter(|task| is_reduce(text(&task["id"])) == Some(false));
    let maps = maps.filter_map(|task| {
        let (id, attempt) = (text(&task["id"]), text(&task["successfulAttempt"]));
        let number = attempt
            .strip_prefix("attempt_")?
            .strip_prefix(&id["task_".len()..])?;
        let numbered = number
            .strip_prefix('_')
            .is_some_and(|digits| is_number(digits, 10));
        numbered.then_some((id, attempt))
    });
    let maps: Vec<_> = maps.collect();
    if maps.len() as i64 > OUTPUTS_ASKED {
        Vec::new()
    } else {
        maps
    }
}

fn running_tasks(root: &Value) -> Vec<(&str, i64, i64)> {
    let tasks = list(&root["tasks"]["task"]).iter();
    let running = tasks.filter(|task| text(&task["state"]) == "RUNNING");
    let mut running: Vec<_> = running
        .filter_map(|task| {
            let id = text(&task["id"]);
            let done = done(percent(&task["progress"])?, is_reduce(id)?);
            Some((id, done, number(&task["startTime"])))
        })
        .filter(|&(.., started)| started > 0)
        .collect();
    running.sort_by_key(|&(id, _, started)| (started, id));
    let early = running.len().saturating_sub(RUNNING_MAX);
    running.split_off(early)
}

/// Progress in thousandths; that of a reduce is how far its function is.
fn done(progress: f64, reduce: bool) -> i64 {
    match reduce {
        true => progress::per_mille(progress),
        false => (progress * 1_000.0) as i64,
    }
}

/// Whether the id of a task, such as `task_1_0001_r_000003`, is a reduce's; none if it is no id:
/// the next question names it.
fn is_reduce(id: &str) -> Option<bool> {
    let parts: Vec<&str> = id.split('_').collect();
    match parts[..] {
        ["task", cluster, job, kind @ ("m" | "r"), task] => {
            let numbered = is_number(cluster, 19) && is_number(job, 10) && is_number(task, 10);
            numbered.then_some(kind == "r")
        }
        _ => None,
    }
}

fn is_number(part: &str, digits_max: usize) -> bool {
    (1..=digits_max).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn running_attempts(root: &Value, reduce: bool) -> Vec<(&str, i64, i64, bool)> {
    let attempts = list(&root["taskAttempts"]["taskAttempt"]).iter();
    let running = attempts.filter_map(|attempt| {
        let commits = match text(&attempt["state"]) {
            "RUNNING" => false,
            "COMMIT_PENDING" => true,
            _ => return None,
        };
        let progress = percent(&attempt["progress"])?;
        let container = text(&attempt["assignedContainerId"]);
        let merged = number(&attempt["mergeFinishTime"]);
        let begun = reduce && merged > 0 && progress::executes(progress);
        let since = if begun { merged } else { UNKNOWN };
        let named = (1..=CONTAINER_CHARS).contains(&container.len());
        named.then(|| (container, done(progress, reduce), since, commits))
    });
    running.take(ATTEMPTS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "/ws/v1/mapreduce/jobs/job_1_0001";

    fn read(below: &str, text: &str) -> Value {
        let path = format!("{JOB}{below}");
        reply(&path, text.replace('\'', "\"").as_bytes()).expect("a JSON object")
    }

    fn kinds(sampled: &[&str], all: &[&str], outputs: &[&str]) -> Value {
        json!({ "progress": sampled, "tasks": all, "traffic": outputs })
    }

    #[test]
    fn totals_are_numbers_or_texts() {
        let job = "{'job': {'mapsTotal': 40, 'reducesTotal': '3', 'mapsCompleted': 7,
                   'reducesCompleted': 0}}";
        assert_eq!(
            read("", job),
            json!([40, 3, 7, 0, kinds(&[], &["m", "r"], &[])])
        );
        assert_eq!(read("", "{'job': {'mapsTotal': 1.5e3}}")[0], 1500);
    }

    #[test]
    fn kinds_with_running_tasks_and_short_lists_are_worth_a_question() {
        type Case<'a> = (i64, i64, i64, i64, &'a [&'a str], &'a [&'a str]);
        let cases: [Case<'_>; 7] = [
            (40, 40, 3, 2, &["r"], &["r"]),
            (39, 40, 3, 2, &[], &["m", "r"]),
            (40, 40, 3, 3, &[], &[]),
            (40, 40, 3_000, 2, &["r"], &["r"]),
            (40, 40, 3_001, 2, &[], &[]),
            (40, 3_000, 0, 0, &[], &["m"]),
            (40, 3_001, 1, 0, &[], &["r"]),
        ];
        for (maps, of_maps, reduces, done, sampled, all) in cases {
            let job = format!(
                "{{'job': {{'mapsTotal': {of_maps}, 'mapsCompleted': {maps},
                 'reducesTotal': {reduces}, 'reducesCompleted': {done}}}}}"
            );
            let totals = read("", &job);
            assert_eq!(totals[4], kinds(sampled, all, &[]), "{job}");
        }
    }

    #[test]
    fn few_maps_are_asked_for_their_output_until_a_reduce_is_done() {
        for (maps, maps_done, reduces, reduces_done, asked) in [
            (4, 1, 2, 0, true),
            (32, 32, 2, 0, true),
            (33, 1, 2, 0, false),
            (4, 0, 2, 0, false),
            (4, 4, 2, 1, false),
            (4, 4, 0, 0, false),
        ] {
            let job = format!(
                "{{'job': {{'mapsTotal': {maps}, 'mapsCompleted': {maps_done},
                 'reducesTotal': {reduces}, 'reducesCompleted': {reduces_done}}}}}"
            );
            let expected = if asked { json!(["m"]) } else { json!([]) };
            assert_eq!(read("", &job)[4]["traffic"], expected, "{job}");
        }
    }

    #[test]
    fn a_map_that_ended_tells_its_container_and_its_bytes() {
        let attempt = "{'taskAttempt': {'state': 'SUCCEEDED', 'assignedContainerId': 'c_1'}}";
        let below = "/tasks/task_1_1_m_1/attempts/attempt_1_1_m_1_0";
        assert_eq!(read(below, attempt), json!("c_1"));
        for other in [
            attempt.replace("SUCCEEDED", "RUNNING"),
            attempt.replace("c_1", ""),
            attempt.replace("c_1", &"c".repeat(81)),
            attempt.replace("'c_1'", "7"),
            "{'taskAttempt': 7}".to_owned(),
        ] {
            assert_eq!(read(below, &other), Value::Null, "{other}");
        }
        let counters = "{'jobTaskAttemptCounters': {'taskAttemptCounterGroup': [
            {'counterGroupName': 'org.apache.hadoop.mapreduce.FileSystemCounter', 'counter': [
              {'name': 'FILE_BYTES_READ', 'value': 9}, {'name': 'HDFS_BYTES_READ', 'value': 100},
              {'name': 'S3A_BYTES_READ', 'value': '20'}]},
            {'counterGroupName': 'org.apache.hadoop.mapreduce.TaskCounter', 'counter':
              {'name': 'MAP_OUTPUT_MATERIALIZED_BYTES', 'value': 50}},
            {'counterGroupName': 'mine', 'counter': {'name': 'MAP_OUTPUT_MATERIALIZED_BYTES',
              'value': 1000}}]}}";
        let below = format!("{below}/counters");
        assert_eq!(read(&below, counters), json!([120, 50]));
        assert_eq!(
            read(&below, "{'jobTaskAttemptCounters': []}"),
            json!([0, 0])
        );
    }

    #[test]
    fn ended_maps_tell_their_attempts_if_they_are_few() {
        let task = |number: usize, attempt: &str| {
            format!(
                "{{'id': 'task_1_1_m_{number}', 'state': 'SUCCEEDED',
                 'successfulAttempt': '{attempt}'}}"
            )
        };
        let ended = |tasks: &[String]| {
            let tasks = format!("{{'tasks': {{'task': [{}]}}}}", tasks.join(","));
            read("/tasks", &tasks)["ended"].clone()
        };
        let honest = task(1, "attempt_1_1_m_1_0");
        let row = json!([["task_1_1_m_1", "attempt_1_1_m_1_0"]]);
        assert_eq!(ended(std::slice::from_ref(&honest)), row);
        for (replaced, by) in [
            ("SUCCEEDED", "RUNNING"),
            ("m_1_0", "m_2_0"),
            ("m_1_0", "m_1_0/../../conf"),
            ("m_1_0", "m_1_"),
            ("_m_", "_r_"),
            ("task_1", "../1"),
        ] {
            assert_eq!(ended(&[honest.replace(replaced, by)]), json!([]), "{by}");
        }
        let many = |count: usize| -> Vec<String> {
            let all = (0..count).map(|map| task(map, &format!("attempt_1_1_m_{map}_0")));
            all.collect()
        };
        assert_eq!(ended(&many(32)).as_array().map(Vec::len), Some(32));
        assert_eq!(ended(&many(33)), json!([]));
    }

    #[test]
    fn nonsense_is_unknown() {
        for value in [
            "-1",
            "'x'",
            "null",
            "[]",
            "{}",
            "true",
            "1e300",
            "-1e300",
            "' '",
            "'NaN'",
            "-0.5",
            "'99999999999999999999'",
        ] {
            let totals = read("", &format!("{{'job': {{'mapsTotal': {value}}}}}"));
            assert_eq!(totals[0], UNKNOWN, "{value}");
        }
        for job in ["{'job': 7}", "{'job': []}", "{}"] {
            assert_eq!(
                read("", job),
                json!([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, kinds(&[], &[], &[])])
            );
        }
        assert_eq!(percent(&json!(101)), None);
        assert_eq!(percent(&json!("NaN")), None);
        assert_eq!(percent(&json!("50.0")), Some(0.5));
    }

    #[test]
    fn counters_are_added_over_file_systems_but_not_local_ones() {
        let counters = "{'jobCounters': {'counterGroup': [
            {'counterGroupName': 'org.apache.hadoop.mapreduce.FileSystemCounter', 'counter': [
              {'name': 'FILE_BYTES_READ', 'mapCounterValue': 9, 'totalCounterValue': 9},
              {'name': 'HDFS_BYTES_READ', 'mapCounterValue': 100, 'totalCounterValue': 120},
              {'name': 'S3A_BYTES_READ', 'mapCounterValue': 20, 'totalCounterValue': 20},
              {'name': 'HDFS_BYTES_WRITTEN', 'mapCounterValue': 0, 'totalCounterValue': 30}]},
            {'counterGroupName': 'org.apache.hadoop.mapreduce.TaskCounter', 'counter': [
              {'name': 'REDUCE_SHUFFLE_BYTES', 'totalCounterValue': 40},
              {'name': 'MAP_OUTPUT_MATERIALIZED_BYTES', 'totalCounterValue': '50'}]},
            {'counterGroupName': 'mine', 'counter': {'name': 'REDUCE_SHUFFLE_BYTES',
              'totalCounterValue': 1000}}]}}";
        assert_eq!(read("/counters", counters), json!([120, 50, 40, 30]));
        let none = "{'jobCounters': {'counterGroup': 'x'}}";
        assert_eq!(read("/counters", none), json!([0, 0, 0, 0]));
    }

    #[test]
    fn running_tasks_tell_their_progress_and_nonsense_is_left_out() {
        let tasks = "{'tasks': {'task': [
            {'id': 'task_1_0001_r_000003', 'state': 'RUNNING', 'startTime': 30, 'progress': 80},
            {'id': 'task_1_0001_r_000001', 'state': 'RUNNING', 'startTime': 10, 'progress': 40},
            {'id': 'task_1_0001_r_000002', 'state': 'SUCCEEDED', 'startTime': 5, 'progress': 1},
            {'id': 'task_1_0001_r_000004', 'state': 'RUNNING', 'startTime': 0, 'progress': 1},
            {'id': 'task_1_0001_r_000005', 'state': 'RUNNING', 'startTime': 1},
            {'id': 'task_1_0001_m_000001', 'state': 'RUNNING', 'startTime': 1, 'progress': 101},
            {'id': 'task_1_0001_m_000002', 'state': 'RUNNING', 'startTime': 1, 'progress': -1},
            {'id': '../../conf', 'state': 'RUNNING', 'startTime': 1, 'progress': 1},
            {'id': 'task_1_0001_x_000001', 'state': 'RUNNING', 'startTime': 1, 'progress': 1},
            {'id': 'task_1_0001_m_000000', 'state': 'RUNNING', 'startTime': 20,
              'progress': 12.5}]}}";
        let rows = json!([
            ["task_1_0001_r_000001", 0, 10],
            ["task_1_0001_m_000000", 125, 20],
            ["task_1_0001_r_000003", 400, 30],
        ]);
        assert_eq!(read("/tasks", tasks)["running"], rows);
        let none = json!({ "running": [], "ended": [] });
        assert_eq!(read("/tasks", "{'tasks': {}}"), none);
    }

    #[test]
    fn of_very_many_tasks_those_that_began_last_are_read() {
        let many = (1..=RUNNING_MAX + 2).map(|id| {
            format!(
                "{{'id': 'task_1_1_m_{id}', 'state': 'RUNNING', 'startTime': {id}, 'progress': 1}}"
            )
        });
        let many: Vec<String> = many.collect();
        let many = format!("{{'tasks': {{'task': [{}]}}}}", many.join(","));
        let rows = &read("/tasks", &many)["running"];
        assert_eq!(rows.as_array().map(Vec::len), Some(RUNNING_MAX));
        assert_eq!(rows[0][0], "task_1_1_m_3");
    }

    #[test]
    fn attempts_tell_their_container_and_whether_they_commit() {
        let container = "container_1_0001_01_000005";
        let attempt = format!(
            "{{'taskAttempts': {{'taskAttempt': {{'state': 'RUNNING', 'progress': 80.0,
             'assignedContainerId': '{container}', 'mergeFinishTime': 1234}}}}}}"
        );
        let reduce = |text: &str| read("/tasks/task_1_1_r_1/attempts", text);
        let map = |text: &str| read("/tasks/task_1_1_m_1/attempts", text);
        assert_eq!(reduce(&attempt), json!([[container, 400, 1234, false]]));
        assert_eq!(map(&attempt), json!([[container, 800, UNKNOWN, false]]));
        let commits = attempt.replace("RUNNING", "COMMIT_PENDING");
        assert_eq!(map(&commits), json!([[container, 800, UNKNOWN, true]]));
        assert_eq!(map(&attempt.replace("RUNNING", "SUCCEEDED")), json!([]));
        let sorts = attempt.replace("80.0", "60.0");
        assert_eq!(reduce(&sorts), json!([[container, 0, UNKNOWN, false]]));
        assert_eq!(reduce(&attempt.replace("1234", "0"))[0][2], UNKNOWN);
        assert_eq!(reduce(&attempt.replace("80.0", "800")), json!([]));
        assert_eq!(map(&attempt.replace(container, "")), json!([]));
        assert_eq!(map(&attempt.replace(container, &"c".repeat(81))), json!([]));
        assert_eq!(map("{}"), json!([]));
        let one = "{'state': 'RUNNING', 'progress': 1, 'assignedContainerId': 'c'}";
        let many = format!(
            "{{'taskAttempts': {{'taskAttempt': [{}]}}}}",
            [one; 9].join(",")
        );
        assert_eq!(map(&many).as_array().map(Vec::len), Some(ATTEMPTS_MAX));
    }

    #[test]
    fn a_node_tells_what_it_sent() {
        let metrics = "{'beans': [{'name': 'x'}, {'ShuffleOutputBytes': 77}]}";
        assert_eq!(
            reply("/jmx", metrics.replace('\'', "\"").as_bytes()),
            Ok(json!(77))
        );
        assert_eq!(reply("/jmx", b"{\"beans\": []}"), Ok(Value::Null));
    }

    #[test]
    fn json_that_harms_its_reader_is_refused() {
        let digits = format!("{{\"a\": {}}}", "9".repeat(900_000));
        for text in ["[".repeat(200_000), "{\"a\":".repeat(200_000), digits] {
            assert!(reply(JOB, text.as_bytes()).is_err(), "{}", &text[..10]);
        }
        assert_eq!(reply(JOB, b"[]"), Err("no JSON object".to_owned()));
        assert_eq!(reply(JOB, b"7"), Err("no JSON object".to_owned()));
        for nonsense in ["", "{", "{\"a\"", "<job/>", "\0", "{\"a\": 1}}"] {
            assert!(reply(JOB, nonsense.as_bytes()).is_err(), "{nonsense}");
        }
    }
}
