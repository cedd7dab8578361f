//! Reads answers of the web services of MapReduce's ApplicationMasters and of NodeManagers. Users'
//! code writes them, so none is trusted. By version, the same fields are numbers or texts, and
//! lists are arrays or single objects. Leaves out missing fields and nonsense.

use crate::progress;
use serde_json::{Value, json};

/// A number that the reply lacks.
const UNKNOWN: i64 = -1;
/// As many reduces as a policy takes for samples of all.
const SAMPLES: usize = 5;
/// The list has those that are done too; of more it would be longer than is read.
const REDUCES_LISTED: i64 = 3_000;
const FILES: &str = "org.apache.hadoop.mapreduce.FileSystemCounter";
const TASKS: &str = "org.apache.hadoop.mapreduce.TaskCounter";

/// Reads a server's answer by the path of the request; -1 stands for an unknown number:
///
/// - `/jmx` of a NodeManager: bytes of map output that it has sent, or null.
/// - Of an ApplicationMaster `../counters`: bytes of input, map output, shuffle and output.
/// - `../tasks`: ids of the running reduces that began first, as many as a policy samples.
/// - `../attempts`: of the first that runs its container, how far its reduce function is, in
///   thousandths, and when that began, by the server's clock, or -1 before; null if none is told.
/// - A job itself: how many maps and reduces it has, and how many of each have succeeded; then
///   whether it is worth asking for single reduces.
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
        Some("tasks") => json!(running_reduces(&root)),
        Some("attempts") => running_attempt(&root),
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
    let worth = reduces_done < reduces && maps_done >= maps && reduces <= REDUCES_LISTED;
    json!([maps, reduces, maps_done, reduces_done, worth])
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

fn running_reduces(root: &Value) -> Vec<&str> {
    let tasks = list(&root["tasks"]["task"]).iter();
    let mut running: Vec<(i64, &str)> = tasks
        .filter(|task| text(&task["state"]) == "RUNNING" && is_reduce(text(&task["id"])))
        .map(|task| (number(&task["startTime"]), text(&task["id"])))
        .filter(|&(started, _)| started > 0)
        .collect();
    running.sort_by_key(|&(started, _)| started);
    running
        .into_iter()
        .map(|(_, id)| id)
        .take(SAMPLES)
        .collect()
}

/// Whether this is the id of a reduce, such as `task_1_0001_r_000003`: the next question names it.
fn is_reduce(id: &str) -> bool {
    let parts: Vec<&str> = id.split('_').collect();
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    matches!(parts[..], ["task", cluster, job, "r", task]
        if digits(cluster, 19) && digits(job, 10) && digits(task, 10))
}

fn running_attempt(root: &Value) -> Value {
    let mut attempts = list(&root["taskAttempts"]["taskAttempt"]).iter();
    let running = attempts.find(|attempt| text(&attempt["state"]) == "RUNNING");
    let told = running.and_then(|attempt| Some((attempt, percent(&attempt["progress"])?)));
    told.map_or(Value::Null, |(attempt, progress)| {
        let merged = number(&attempt["mergeFinishTime"]);
        let begun = merged > 0 && progress::executes(progress);
        let since = if begun { merged } else { UNKNOWN };
        let done = progress::per_mille(progress);
        json!([text(&attempt["assignedContainerId"]), done, since])
    })
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
        assert_eq!(read("", job), json!([40, 3, 7, 0, false]));
        assert_eq!(read("", "{'job': {'mapsTotal': 1.5e3}}")[0], 1500);
    }

    #[test]
    fn single_reduces_are_worth_a_question_after_the_maps() {
        for (maps, reduces, done, worth) in [
            (40, 3, 2, true),
            (39, 3, 2, false),
            (40, 3, 3, false),
            (40, 3_000, 2, true),
            (40, 3_001, 2, false),
        ] {
            let job = format!(
                "{{'job': {{'mapsTotal': 40, 'mapsCompleted': {maps}, 'reducesTotal': {reduces},
                 'reducesCompleted': {done}}}}}"
            );
            assert_eq!(read("", &job)[4], worth, "{job}");
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
                json!([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, false])
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
    fn the_reduces_that_began_first_come_first() {
        let tasks = "{'tasks': {'task': [
            {'id': 'task_1_0001_r_000003', 'state': 'RUNNING', 'startTime': 30},
            {'id': 'task_1_0001_r_000001', 'state': 'RUNNING', 'startTime': 10},
            {'id': 'task_1_0001_r_000002', 'state': 'SUCCEEDED', 'startTime': 5},
            {'id': 'task_1_0001_r_000004', 'state': 'RUNNING', 'startTime': 0},
            {'id': '../../conf', 'state': 'RUNNING', 'startTime': 1},
            {'id': 'task_1_0001_m_000000', 'state': 'RUNNING', 'startTime': 1}]}}";
        let ids = json!(["task_1_0001_r_000001", "task_1_0001_r_000003"]);
        assert_eq!(read("/tasks", tasks), ids);
        assert_eq!(read("/tasks", "{'tasks': {}}"), json!([]));
        let many = (1..9).map(|id| {
            format!("{{'id': 'task_1_1_r_{id}', 'state': 'RUNNING', 'startTime': {id}}}")
        });
        let many = format!(
            "{{'tasks': {{'task': [{}]}}}}",
            many.collect::<Vec<_>>().join(",")
        );
        assert_eq!(
            read("/tasks", &many).as_array().map(Vec::len),
            Some(SAMPLES)
        );
    }

    #[test]
    fn an_attempt_tells_its_container() {
        let container = "container_1_0001_01_000005";
        let attempt = format!(
            "{{'taskAttempts': {{'taskAttempt': {{'state': 'RUNNING', 'progress': 80.0,
             'assignedContainerId': '{container}', 'mergeFinishTime': 1234}}}}}}"
        );
        assert_eq!(
            read("/tasks/t/attempts", &attempt),
            json!([container, 400, 1234])
        );
        let sorts = attempt.replace("80.0", "60.0");
        assert_eq!(
            read("/tasks/t/attempts", &sorts),
            json!([container, 0, UNKNOWN])
        );
        let unmerged = attempt.replace("1234", "0");
        assert_eq!(read("/tasks/t/attempts", &unmerged)[2], UNKNOWN);
        let mad = attempt.replace("80.0", "800");
        assert_eq!(read("/tasks/t/attempts", &mad), Value::Null);
        assert_eq!(read("/tasks/t/attempts", "{}"), Value::Null);
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
