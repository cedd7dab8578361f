//! Reads answers of the web services of MapReduce's ApplicationMasters and of NodeManagers. Users'
//! code writes them, so none is trusted. By version, the same fields are numbers or texts, and
//! lists are arrays or single objects. Leaves out missing fields and nonsense.

use crate::progress;
use serde_json::{Value, json};

/// A number that the reply lacks.
const UNKNOWN: i64 = -1;
/// The list has tasks that are done too; of more it would be longer than is read.
const TASKS_LISTED: i64 = 3_000;
/// The most running tasks of a list that are read: those that began last.
const RUNNING_MAX: usize = 1_024;
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
/// - `../tasks`: of the running tasks of a kind, the first to begin first: id, progress, start.
/// - `../attempts`: of those that run: container, progress, when the reduce function began by the
///   server's clock, or -1, and whether it commits.
/// - A job itself: how many maps and reduces it has, and how many of each have succeeded; then the
///   kinds of task, `m` and `r`, of which samples are worth a question, and those of which all
///   running tasks are.
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
        Some("counters") => json!(moved(&root)),
        Some("tasks") => json!(running_tasks(&root)),
        Some("attempts") => json!(running_attempts(&root, path.contains("_r_"))),
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
    json!([maps, reduces, maps_done, reduces_done, sampled, all])
}

fn sent(root: &Value) -> Option<i64> {
    let beans = list(&root["beans"]).iter();
    let mut sent = beans.map(|bean| number(&bean["ShuffleOutputBytes"]));
    sent.find(|&sent| sent != UNKNOWN)
}

fn moved(root: &Value) -> [i64; 4] {
    let (mut input, mut map_output, mut shuffled, mut written) = (0i64, 0, 0, 0i64);
    for group in list(&root["jobCounters"]["counterGroup"]) {
        let group_name = text(&group["counterGroupName"]);
        for counter in list(&group["counter"]) {
            let name = text(&counter["name"]);
            let value = |which: &str| number(&counter[which]).max(0);
            let total = value("totalCounterValue");
            match (group_name, name) {
                // The local file system is no traffic and no input.
                (FILES, _) if name.starts_with("FILE_") => {}
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
    }
    [input, map_output, shuffled, written]
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
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match parts[..] {
        ["task", cluster, job, kind @ ("m" | "r"), task] => {
            let numbered = digits(cluster, 19) && digits(job, 10) && digits(task, 10);
            numbered.then_some(kind == "r")
        }
        _ => None,
    }
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

    #[test]
    fn totals_are_numbers_or_texts() {
        let job = "{'job': {'mapsTotal': 40, 'reducesTotal': '3', 'mapsCompleted': 7,
                   'reducesCompleted': 0}}";
        assert_eq!(read("", job), json!([40, 3, 7, 0, [], ["m", "r"]]));
        assert_eq!(read("", "{'job': {'mapsTotal': 1.5e3}}")[0], 1500);
    }

    #[test]
    fn kinds_with_running_tasks_and_short_lists_are_worth_a_question() {
        for (maps, of_maps, reduces, done, sampled, all) in [
            (40, 40, 3, 2, json!(["r"]), json!(["r"])),
            (39, 40, 3, 2, json!([]), json!(["m", "r"])),
            (40, 40, 3, 3, json!([]), json!([])),
            (40, 40, 3_000, 2, json!(["r"]), json!(["r"])),
            (40, 40, 3_001, 2, json!([]), json!([])),
            (40, 3_000, 0, 0, json!([]), json!(["m"])),
            (40, 3_001, 1, 0, json!([]), json!(["r"])),
        ] {
            let job = format!(
                "{{'job': {{'mapsTotal': {of_maps}, 'mapsCompleted': {maps},
                 'reducesTotal': {reduces}, 'reducesCompleted': {done}}}}}"
            );
            let totals = read("", &job);
            assert_eq!((&totals[4], &totals[5]), (&sampled, &all), "{job}");
        }
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
                json!([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, [], []])
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
        assert_eq!(read("/tasks", tasks), rows);
        assert_eq!(read("/tasks", "{'tasks': {}}"), json!([]));
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
        let rows = read("/tasks", &many);
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
