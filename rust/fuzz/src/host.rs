//! Targets for what the shim hands to the host as it came: answers of MapReduce's web services, and
//! requested changes of the scheduler's configuration.

use heddle_host::{Reply, ask, reply};
use serde_json::{Value, json};

/// The paths that replies are read by.
const PATHS: [&str; 8] = [
    "/jmx",
    "/ws/v1/mapreduce/jobs/job_1_1",
    "/ws/v1/mapreduce/jobs/job_1_1/counters",
    "/ws/v1/mapreduce/jobs/job_1_1/tasks",
    "/ws/v1/mapreduce/jobs/job_1_1/tasks/task_1_1_r_1/attempts",
    "/ws/v1/mapreduce/jobs/job_1_1/tasks/task_1_1_m_1/attempts",
    "/ws/v1/mapreduce/jobs/job_1_1/tasks/task_1_1_m_1/attempts/attempt_1_1_m_1_0",
    "/ws/v1/mapreduce/jobs/job_1_1/tasks/task_1_1_m_1/attempts/attempt_1_1_m_1_0/counters",
];

/// Bounds of any answer: entries of a list, bytes of a text.
const LIST_MAX: usize = 1_024;
const TEXT_MAX: usize = 80;

const CONTENT_TYPES: [&str; 3] = [
    "application/xml",
    "application/json",
    "application/json;charset=utf-8",
];

/// Splits off the first byte and reduces it to an index below `choices`.
fn split(data: &[u8], choices: usize) -> (usize, &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    (usize::from(*first) % choices, rest)
}

/// Reads a reply, whose first byte picks the path. Refuses it with a sentence, or answers short
/// lists and texts, numbers from -1 up, and ids that are safe in the path of a next question.
pub(crate) fn replies(data: &[u8]) {
    let (path, text) = split(data, PATHS.len());
    let answer = match reply(PATHS[path], text) {
        Ok(answer) => answer,
        Err(why) => return assert!(!why.is_empty(), "a refusal without a sentence"),
    };
    bounded(&answer);
    for row in rows(&answer["running"]) {
        let [id, done, since] = [&row[0], &row[1], &row[2]];
        assert!(is_id("task_", id), "no id of a task: {row}");
        assert!(is_part(done) && since.as_i64() > Some(0), "nonsense: {row}");
    }
    for row in rows(&answer["ended"]) {
        let ids = is_id("task_", &row[0]) && is_id("attempt_", &row[1]);
        assert!(ids, "no ids: {row}");
    }
    if PATHS[path].ends_with("attempts") {
        for row in rows(&answer) {
            assert!(row[0] != "" && is_part(&row[1]), "nonsense: {row}");
        }
    }
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Whether this is an id that adds no part to a path.
fn is_id(kind: &str, id: &Value) -> bool {
    let rest = id.as_str().and_then(|id| id.strip_prefix(kind));
    rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// Whether this is a progress in thousandths.
fn is_part(done: &Value) -> bool {
    done.as_i64()
        .is_some_and(|done| (0..=1_000).contains(&done))
}

fn bounded(value: &Value) {
    match value {
        Value::Array(list) => {
            assert!(list.len() <= LIST_MAX, "a list of {}", list.len());
            list.iter().for_each(bounded);
        }
        Value::Object(parts) => parts.values().for_each(bounded),
        Value::String(text) => assert!(text.len() <= TEXT_MAX, "a long text: {text}"),
        Value::Number(number) => assert!(number.as_i64() >= Some(-1), "{number}"),
        Value::Null | Value::Bool(_) => {}
    }
}

pub(crate) fn reply_seeds() -> Vec<Vec<u8>> {
    let job = json!({"job": {"mapsTotal": 4, "mapsCompleted": 1, "reducesTotal": "2",
        "reducesCompleted": 0}});
    let files = "org.apache.hadoop.mapreduce.FileSystemCounter";
    let tasks = "org.apache.hadoop.mapreduce.TaskCounter";
    let counters = json!({"jobCounters": {"counterGroup": [
        {"counterGroupName": files, "counter": [
            {"name": "HDFS_BYTES_READ", "mapCounterValue": 100, "totalCounterValue": 120},
            {"name": "HDFS_BYTES_WRITTEN", "totalCounterValue": "30"}]},
        {"counterGroupName": tasks, "counter":
            {"name": "REDUCE_SHUFFLE_BYTES", "totalCounterValue": 40}}]}});
    let list = json!({"tasks": {"task": [
        {"id": "task_1_1_r_3", "state": "RUNNING", "startTime": 30, "progress": 80.5},
        {"id": "task_1_1_m_1", "state": "RUNNING", "startTime": "10", "progress": "40"},
        {"id": "task_1_1_m_2", "state": "SUCCEEDED", "successfulAttempt": "attempt_1_1_m_2_0"}]}});
    let attempts = json!({"taskAttempts": {"taskAttempt": [
        {"state": "RUNNING", "progress": 80.0, "assignedContainerId": "container_1_1_01_000005",
         "mergeFinishTime": 1_234},
        {"state": "COMMIT_PENDING", "progress": "99", "assignedContainerId": "container_2"}]}});
    let attempt = json!({"taskAttempt": {"state": "SUCCEEDED", "assignedContainerId": "c_1"}});
    let output = json!({"jobTaskAttemptCounters": {"taskAttemptCounterGroup": [
        {"counterGroupName": files, "counter": {"name": "S3A_BYTES_READ", "value": 20}},
        {"counterGroupName": tasks, "counter": [
            {"name": "MAP_OUTPUT_MATERIALIZED_BYTES", "value": "50"}]}]}});
    let node = json!({"beans": [{"name": "x"}, {"ShuffleOutputBytes": 77}]});
    let all = [
        &node, &job, &counters, &list, &attempts, &attempts, &attempt, &output,
    ];
    (0..)
        .zip(all)
        .map(|(path, reply)| [vec![path], reply.to_string().into_bytes()].concat())
        .collect()
}

/// Reads a requested change, whose first byte picks the type of the body. Refuses it with a
/// sentence, or answers lists of queues and settings that are texts.
pub(crate) fn scheduler_conf(data: &[u8]) {
    let (content_type, body) = split(data, CONTENT_TYPES.len());
    let question = json!({
        "op": "scheduler_conf",
        "content_type": CONTENT_TYPES[content_type],
        "body": String::from_utf8_lossy(body),
    });
    let Ok(Reply::Json(answer)) = ask(&question.to_string()) else {
        panic!("no answer");
    };
    let keys: Vec<&String> = answer
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
        .collect();
    if let Some(wrong) = answer["wrong"].as_str() {
        assert!(keys == ["wrong"] && !wrong.is_empty(), "{answer}");
        return;
    }
    assert_eq!(keys.len(), 4, "{answer}");
    let is_name = |name: &Value| name.as_str().is_some_and(|name| name == name.trim());
    for queue in ["add", "update"]
        .into_iter()
        .flat_map(|key| list(&answer[key]))
    {
        assert!(is_name(&queue[0]) && are_settings(&queue[1]), "{queue}");
    }
    assert!(list(&answer["remove"]).iter().all(is_name), "{answer}");
    assert!(are_settings(&answer["global"]), "{answer}");
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// Whether each setting has a text, or null to remove it.
fn are_settings(value: &Value) -> bool {
    let settings = value.as_object();
    settings.is_some_and(|all| {
        all.values()
            .all(|value| value.is_string() || value.is_null())
    })
}

pub(crate) fn scheduler_conf_seeds() -> Vec<Vec<u8>> {
    let xml = "<sched-conf><add-queue><queue-name>root.a</queue-name><params><entry>\
        <key>capacity</key><value>10</value></entry><entry><key>state</key>\
        <value>STOPPED</value></entry></params></add-queue><add-queue>\
        <queue-name>root.b</queue-name></add-queue><remove-queue>root.d</remove-queue>\
        <update-queue><queue-name>root.c</queue-name><params><entry><key>capacity</key>\
        <value>20</value></entry></params></update-queue><global-updates><entry>\
        <key>x.y</key><value>1</value></entry></global-updates></sched-conf>";
    let entity = "<!DOCTYPE a [<!ENTITY b \"c\">]><sched-conf><remove-queue>&b;</remove-queue>\
        </sched-conf>";
    let entries = json!({
        "add-queue": [{"queue-name": "root.a", "params": {"entry": [
            {"key": "capacity", "value": "10"}, {"key": "state"}]}}, {"queue-name": "root.b"}],
        "update-queue": {"queue-name": "root.c", "params":
            {"entry": {"key": "capacity", "value": 20}}},
        "remove-queue": "root.d", "global-updates": {"entry": [{"key": "x.y", "value": null}]}});
    let objects = json!({"sched-conf": {
        "add-queue": [{"queue-name": " root.a ", "params": {"capacity": "10", "state": true}}],
        "remove-queue": ["root.d", 7], "global-updates": {"x.y": [1]}}});
    let (entries, objects) = (entries.to_string(), objects.to_string());
    [(0, xml), (0, entity), (1, &entries), (2, &objects)]
        .map(|(content_type, body)| [&[content_type], body.as_bytes()].concat())
        .to_vec()
}
