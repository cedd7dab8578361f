//! A target for the histories of clusters: files of every kind that `heddle whatif` reads.

use heddle_history::{Cluster, read_bytes};
use heddle_sim::cluster_sim::{ClusterSim, Options};
use serde_json::json;

/// Simulates for this long: a hostile history may last for years.
const UNTIL_MS: i64 = 600_000;
/// Larger histories are read, but not simulated.
const TASKS_MAX: usize = 60;

/// Reads a history: refuses it with a sentence and a place inside the file, or simulates it.
pub(crate) fn history(data: &[u8]) {
    let mut history = match read_bytes(data) {
        Ok(history) => history,
        Err(fault) => {
            assert!(
                fault.offset.unwrap_or(0) <= data.len() as u64,
                "beyond the end: {fault}"
            );
            assert!(
                !fault.problem.is_empty() && !fault.remedy.is_empty(),
                "no sentence"
            );
            return;
        }
    };
    let tasks: usize = history
        .jobs
        .iter()
        .flat_map(|job| &job.tasks)
        .map(Vec::len)
        .sum();
    if tasks > TASKS_MAX || history.jobs.len() > TASKS_MAX {
        return;
    }
    let cluster = Cluster {
        nodes: Some(3),
        memory_mb: Some(4_096),
        vcores: Some(8),
        racks: None,
    };
    let mut workload = history
        .workload(&cluster)
        .expect("the cluster's size is given");
    workload.until_ms = Some(UNTIL_MS);
    let options = Options::new("fair", json!({"policy": "fair"}));
    let results = ClusterSim::new(workload, options).and_then(ClusterSim::run);
    results.unwrap_or_else(|failure| panic!("read, and not simulated: {failure}"));
}

pub(crate) fn history_seeds() -> Vec<Vec<u8>> {
    let jhist = concat!(
        "Avro-Json\n{\"type\":\"record\"}\n",
        "{\"type\":\"JOB_SUBMITTED\",\"event\":{\"x.JobSubmitted\":{\"jobid\":\"job_1_1\",",
        "\"userName\":\"ann\",\"submitTime\":5,\"jobQueueName\":{\"string\":\"q\"}}}}\n",
        "{\"type\":\"AM_STARTED\",\"event\":{\"x.AMStarted\":{\"startTime\":7}}}\n",
        "{\"type\":\"TASK_STARTED\",\"event\":{\"x.TaskStarted\":{\"taskid\":\"m_0\",",
        "\"startTime\":9,\"splitLocations\":\"a,b\"}}}\n",
        "{\"type\":\"MAP_ATTEMPT_STARTED\",\"event\":{\"x.S\":{\"attemptId\":\"m_0_0\",",
        "\"startTime\":11}}}\n",
        "{\"type\":\"MAP_ATTEMPT_FINISHED\",\"event\":{\"x.F\":{\"taskid\":\"m_0\",",
        "\"attemptId\":\"m_0_0\",\"finishTime\":90,\"hostname\":\"a\",\"rackname\":\"/r\"}}}\n",
        "{\"type\":\"JOB_FINISHED\",\"event\":{\"x.J\":{\"finishTime\":99}}}\n",
    );
    let apps = json!({"apps": {"app": [{"id": "application_1_1", "user": "ann", "queue": "q",
        "state": "FINISHED", "finalStatus": "SUCCEEDED", "startedTime": 10, "launchTime": 20,
        "finishedTime": 9_000, "memorySeconds": 40_960, "vcoreSeconds": 40}]}});
    let nodes = json!({"nodes": {"node": [{"rack": "/r", "state": "RUNNING", "id": "a:1",
        "nodeHostName": "a", "usedMemoryMB": 0, "availMemoryMB": 4_096}]}});
    let sls = json!({"job.start.ms": 0, "job.end.ms": 9, "job.queue.name": "q", "job.id": "j",
        "job.user": "u", "job.tasks": [{"container.host": "/r/a", "container.start.ms": 1,
        "container.end.ms": 900, "container.type": "map", "count": 2}]});
    let rumen = json!({"jobID": "job_1_1", "user": "u", "submitTime": 1, "launchTime": 2,
        "finishTime": 9, "outcome": "SUCCESS", "mapTasks": [{"preferredLocations":
        [{"layers": ["/r", "a"]}], "attempts": [{"result": "SUCCESS", "startTime": 3,
        "finishTime": 800}]}], "reduceTasks": []});
    // The zig-zag form of a record with an enum and a union.
    let schema = json!({"type": "record", "name": "Event", "fields": [
        {"name": "type", "type": {"type": "enum", "name": "T", "symbols": ["JOB_SUBMITTED"]}},
        {"name": "event", "type": [{"type": "record", "name": "J", "fields": [
            {"name": "jobid", "type": "string"}, {"name": "userName", "type": "string"},
            {"name": "submitTime", "type": "long"}]}]}]});
    let mut binary = format!("Avro-Binary\n{schema}\n").into_bytes();
    binary.extend(b"\x00\x00\x0ejob_1_1\x06ann\x0a");
    let mut seeds: Vec<Vec<u8>> = [apps, nodes, sls, rumen]
        .map(|value| value.to_string())
        .map(String::into_bytes)
        .to_vec();
    seeds.push(jhist.as_bytes().to_vec());
    seeds.push(binary);
    seeds.push(b"job0\t3\t3\t67108864\t0\t0\n".to_vec());
    seeds
}
