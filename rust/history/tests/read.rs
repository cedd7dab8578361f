//! Real histories are read as Hadoop's own programs read them, and hostile ones are refused.

use heddle_history::{End, History, Job, read, read_bytes};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read_all(names: &[&str]) -> History {
    let paths: Vec<PathBuf> = names.iter().map(|name| folder(name)).collect();
    read(&paths, 10, &mut |_, _, _| {}).unwrap_or_else(|fault| panic!("{names:?}: {fault}"))
}

const STOCK_FIFO: &str = "results/2026-11-25/stock-fifo";

fn of<'a>(history: &'a History, user: &str) -> &'a Job {
    let job = history.jobs.iter().find(|job| job.user == user);
    job.unwrap_or_else(|| panic!("no job of {user}"))
}

/// The times are those of the ResourceManager's list, `apps.json`; the counts are those that the
/// run was asked for (`scripts/what-if-runs`).
#[test]
fn a_stock_cluster_is_read_with_its_lists() {
    let history = read_all(&[STOCK_FIFO]);
    assert_eq!(history.jobs.len(), 8);
    let ann = of(&history, "ann");
    assert_eq!(ann.tasks.each_ref().map(Vec::len), [14, 1]);
    assert_eq!(ann.queue.as_deref(), Some("production"));
    assert_eq!(ann.turn_around_ms(), Some(120_704));
    assert_eq!(ann.waited_ms(), Some(1_447));
    assert_eq!((ann.end, ann.sizes[0].memory_mb()), (End::Well, 512));
    let tasks: Vec<usize> = history.jobs.iter().map(|job| job.tasks[0].len()).collect();
    assert_eq!(tasks, [14, 3, 6, 2, 4, 5, 2, 8]);
    // 20 s of sleep and the start of a JVM on a busy machine.
    assert!(
        ann.tasks[0]
            .iter()
            .all(|task| (20_000..60_000).contains(&task.length_ms))
    );
    let [node] = history.nodes.as_slice() else {
        panic!("{:?}", history.nodes);
    };
    let size = node.capacity.expect("nodes.json has it");
    assert_eq!((size.memory_mb(), size.vcores()), (4_096, 8));
}

/// Hadoop's own `TraceBuilder` and `RumenToSLSConverter` decoded the same files.
#[test]
fn job_histories_say_what_hadoop_reads_in_them() {
    let ours = read_all(&[STOCK_FIFO]);
    let rumen = read_all(&["tests/data/rumen.json"]);
    let sls = read_all(&["tests/data/sls.json", "tests/data/sls-nodes.json"]);
    let lengths = |job: &Job| {
        let mut lengths: Vec<i64> = job.tasks[0].iter().map(|task| task.length_ms).collect();
        lengths.sort_unstable();
        lengths
    };
    for job in &ours.jobs {
        let theirs = of(&rumen, &job.user);
        assert_eq!(lengths(theirs), lengths(job), "{}", job.user);
        assert_eq!(theirs.tasks[1].len(), job.tasks[1].len());
        let reduces = |job: &Job| job.tasks[1].iter().map(|task| task.length_ms).sum::<i64>();
        assert_eq!(reduces(theirs), reduces(job), "{}", job.user);
        let theirs = of(&sls, &job.user);
        assert_eq!(lengths(theirs), lengths(job), "{}", job.user);
        assert_eq!(theirs.queue, job.queue);
    }
    assert_eq!(rumen.nodes, sls.nodes);
}

#[test]
fn both_forms_of_a_job_history_are_read() {
    let json = read_all(&["tests/data/avro-json.jhist"]);
    let job = &json.jobs[0];
    assert_eq!(
        (job.user.as_str(), job.tasks.each_ref().map(Vec::len)),
        ("ann", [2, 1])
    );
    assert!(
        job.tasks[0].iter().all(|task| task.length_ms >= 2_000),
        "{job:?}"
    );
    assert!(
        json.unknown.iter().any(|line| line.contains("_conf.xml")),
        "{:?}",
        json.unknown
    );
}

#[test]
fn applications_alone_become_containers_of_the_same_room() {
    let history = read_all(&[
        "results/2026-11-25/stock-fifo/apps.json",
        "results/2026-11-25/stock-fifo/nodes.json",
    ]);
    let ann = of(&history, "ann");
    // 629 core-seconds in 119.257 s: five containers with the ApplicationMaster, of 325,016 / 629
    // MB.
    assert_eq!(
        (ann.tasks[0].len(), ann.tasks[0][0].length_ms),
        (4, 119_257)
    );
    assert_eq!((ann.sizes[0].memory_mb(), ann.sizes[0].vcores()), (516, 1));
    assert!(
        history
            .unknown
            .iter()
            .any(|line| line.contains("only sums")),
        "{:?}",
        history.unknown
    );
}

/// A SWIM trace says no lengths; 64 MB at 5 MB/s are 12.8 s.
#[test]
fn a_swim_trace_is_scaled_to_the_nodes() {
    let history = read_bytes(b"job0\t3\t3\t0\t0\t0\n").expect("it is a trace");
    let job = &history.jobs[0];
    assert_eq!((job.submitted_ms, job.tasks[0].len()), (3_000, 1));
    let length_ms = (64 << 20) * 1_000 / 5_000_000;
    assert_eq!(job.tasks[0][0].length_ms, length_ms);
}

/// The example of Hadoop's SLS (`inputsls.json`), shortened, in its own form with numbers as texts.
#[test]
fn an_sls_trace_is_read_with_its_short_forms() {
    let text = r#"{"num.nodes": 3, "num.racks": 1}
        {"am.type": "mapreduce", "job.start.ms": 5, "job.queue.name": "q", "job.count": 2,
         "job.tasks": [{"count": 3, "container.duration.ms": "17043", "container.type": "map",
           "container.memory": 2048, "container.vcores": 2}]}"#;
    let history = read_bytes(text.as_bytes()).expect("it is a trace");
    assert_eq!(history.jobs.len(), 2);
    assert_eq!(history.jobs[1].tasks[0].len(), 3);
    assert_eq!(history.jobs[1].tasks[0][2].length_ms, 17_043);
    assert_eq!(history.jobs[1].sizes[0].memory_mb(), 2_048);
}

/// Copies of a task's host of 100 kB would take 500 GB, and 20 of them for each copy of its job.
#[test]
fn copies_of_a_task_share_its_host() {
    let host = "h".repeat(100_000);
    let text = |jobs: usize, tasks: usize| {
        format!(
            r#"{{"job.count": {jobs}, "job.tasks": [{{"count": {tasks},
                "container.host": "/r/{host}", "container.duration.ms": 5}}]}}"#
        )
    };
    let history = read_bytes(text(2, 2_500_000).as_bytes()).expect("it is within the limits");
    let tasks = history.jobs.iter().flat_map(|job| &job.tasks[0]);
    let hosts: Vec<_> = tasks.map(|task| &task.hosts).collect();
    assert_eq!((hosts.len(), hosts[0].len()), (5_000_000, 1));
    assert_eq!(hosts[0][0], host);
    assert!(hosts.iter().all(|other| Arc::ptr_eq(hosts[0], other)));
    assert_eq!(
        (history.jobs[1].id.as_str(), history.nodes.len()),
        ("job_2", 1)
    );
    for (jobs, tasks) in [(1, 20_000_001), (2, 10_000_001), (20_000_001, 1)] {
        let fault = read_bytes(text(jobs, tasks).as_bytes()).expect_err("too many");
        assert!(fault.problem.contains("20000000 tasks"), "{fault}");
    }
    let named = format!(
        r#"{{"job.count": 100000, "job.tasks": [{{"duration.ms": 1}}], "job.user": "{host}"}}"#
    );
    let fault = read_bytes(named.as_bytes()).expect_err("10 GB of names");
    assert!(fault.problem.contains("bytes of jobs' names"), "{fault}");
    assert!(fault.offset.is_some(), "{fault}");
}

#[test]
fn faults_say_where_and_what_to_do() {
    // The parser may look at what closes an object before it says what the object lacks.
    let cases: [(&[u8], std::ops::RangeInclusive<u64>, &str); 8] = [
        (b"", 0..=0, "empty"),
        (b"PK\x03\x04 an archive", 0..=0, "unknown kind"),
        (b"Avro-Json\n{}\n{\"type\":\"AM_STARTED\"", 33..=33, "EOF"),
        (b"Avro-Json\n{}\n\n", 14..=14, "JOB_SUBMITTED"),
        (
            b"Avro-Binary\n{\"type\":\"record\",\"fields\":[]",
            12..=12,
            "EOF",
        ),
        (
            b"{\"apps\":{\"app\":[{\"id\":\"a\"}]}}",
            26..=29,
            "startedTime",
        ),
        (b"{\"job.tasks\":[{}]}", 18..=18, "container.duration.ms"),
        (b"a\t1\t1\t1\t1\t1\nb\t2\t-\t1\t1\t1\n", 12..=12, "gap"),
    ];
    for (bytes, offset, words) in cases {
        let fault = read_bytes(bytes).expect_err(words);
        assert!(
            fault.offset.is_some_and(|at| offset.contains(&at)),
            "{fault}"
        );
        assert!(
            fault.problem.contains(words) && !fault.remedy.is_empty(),
            "{fault}"
        );
    }
}

/// One number for every byte: a splitmix generator, the same everywhere.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for name in [STOCK_FIFO, "tests/data"] {
        for entry in folder(name).read_dir().expect("the folder is there") {
            let path = entry.expect("an entry").path();
            let is_text = path.extension().is_some_and(|end| end == "md");
            if !is_text {
                let bytes = std::fs::read(&path).expect("a file");
                all.push((path, bytes));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn truncated_files_are_refused_or_say_less() {
    for (path, bytes) in fixtures() {
        // Every byte of the first 300, and of the last; steps between.
        let steps = (0..bytes.len()).step_by(bytes.len() / 60 + 1);
        let ends = (bytes.len() - 100.min(bytes.len())..bytes.len()).step_by(7);
        for length in (0..300.min(bytes.len())).chain(steps).chain(ends) {
            if let Err(fault) = read_bytes(&bytes[..length]) {
                let at = fault.offset.unwrap_or(0);
                assert!(at <= length as u64, "{}: {length}: {fault}", path.display());
                assert!(!fault.problem.is_empty() && !fault.remedy.is_empty());
            }
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 7;
    for (_, bytes) in fixtures() {
        for _ in 0..40 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random(&mut state) % 8 {
                let at = random(&mut state) as usize % bytes.len();
                bytes[at] = random(&mut state) as u8;
            }
            if let Ok(mut history) = read_bytes(&bytes) {
                // What was accepted can be simulated, or says which size is missing.
                let _ = history.workload(&heddle_history::Cluster::default());
            }
        }
    }
}

#[test]
fn an_object_without_end_is_refused_at_the_limit() {
    let mut bytes = b"{\"jobID\":\"".to_vec();
    bytes.resize((64 << 20) + 100, b'a');
    let fault = read_bytes(&bytes).expect_err("it is too long");
    assert!(fault.problem.contains("more than"), "{fault}");
    assert_eq!(fault.offset, Some(64 << 20));
}

/// Counters and preemptions of hostile files are bounded, so that their sums are too.
#[test]
fn counts_of_hostile_files_are_bounded() {
    let app = format!(
        r#"{{"apps":{{"app":[{{"id":"a","startedTime":1,"numNonAMContainerPreempted":{0},
            "numAMContainerPreempted":{0}}}]}}}}"#,
        i64::MAX
    );
    let history = read_bytes(app.as_bytes()).expect("it is a list");
    assert_eq!(history.jobs[0].preempted, Some(2 << 40));
    let counter = format!(r#"{{"name":"DATA_LOCAL_MAPS","value":{}}}"#, u64::MAX);
    let jhist = [
        r#"{"type":"JOB_SUBMITTED","event":{"x.S":{"jobid":"job_1_1","submitTime":5}}}"#,
        &format!(
            r#"{{"type":"JOB_FINISHED","event":{{"x.F":{{"finishTime":9,"totalCounters":
            {{"groups":[{{"counts":[{counter}]}}]}}}}}}}}"#
        )
        .replace('\n', ""),
    ];
    let jhist = format!("Avro-Json\n{{}}\n{}\n", jhist.join("\n"));
    let history = read_bytes(jhist.as_bytes()).expect("it is a job history");
    assert_eq!(history.jobs[0].locality, Some([1 << 40, 0, 0]));
}

/// Each becomes 15 million containers that live for a second.
#[test]
fn applications_are_counted_before_their_containers_are_built() {
    let app = |id: &str| {
        format!(
            r#"{{"id":"{id}","startedTime":1000,"launchTime":1000,"finishedTime":2000,
            "memorySeconds":15000001,"vcoreSeconds":15000001}}"#
        )
    };
    let list = format!(r#"{{"apps":{{"app":[{},{}]}}}}"#, app("a"), app("b"));
    let fault = read_bytes(list.as_bytes()).expect_err("30 million are too many");
    assert!(fault.problem.contains("20000000 tasks"), "{fault}");
}

#[test]
fn a_schema_without_end_is_refused_at_the_limit() {
    let mut bytes = b"Avro-Json\n".to_vec();
    bytes.resize((64 << 20) + 100, b' ');
    let fault = read_bytes(&bytes).expect_err("it is too long");
    assert!(
        fault.problem.contains("more than 67108864 bytes"),
        "{fault}"
    );
    assert_eq!(fault.offset, Some(10));
}

#[test]
fn traces_may_not_name_more_nodes_than_the_limit() {
    let trace = |nodes: usize| {
        let task = |i| format!(r#"{{"container.host":"/r/{i}","container.duration.ms":1}}"#);
        let tasks: Vec<String> = (0..nodes).map(task).collect();
        format!(r#"{{"job.tasks":[{}]}}"#, tasks.join(","))
    };
    let history = read_bytes(trace(100_000).as_bytes()).expect("it is at the limit");
    assert_eq!(history.nodes.len(), 100_000);
    let fault = read_bytes(trace(100_001).as_bytes()).expect_err("one too many");
    assert!(fault.problem.contains("100000 nodes"), "{fault}");
}

/// A trace that counts from 0 beside a date: a simulation would walk through decades.
#[test]
fn clocks_that_differ_are_refused_with_the_first_and_last_job() {
    let at = |id: &str, time: &str| format!(r#"{{"jobID":"{id}",{time}"mapTasks":[]}}"#);
    let late = at("late", r#""submitTime":1700000000000,"#);
    let fault = read_bytes(format!("{late}{}", at("early", "")).as_bytes());
    let fault = fault.expect_err("one job has no time");
    let words = "`early` at 1970-01-01T00:00:00Z, and the last, `late` at 2023-11-14T22:13:20Z";
    assert!(fault.problem.contains(words), "{fault}");
    assert!(fault.remedy.contains("by itself"), "{fault}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clocks");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let [early, late] =
        [("early.json", at("early", "")), ("late.json", late)].map(|(name, text)| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("it can be written");
            path
        });
    let fault = read(&[late.clone(), early.clone()], 1, &mut |_, _, _| {});
    let said = fault.expect_err("they differ").to_string();
    for (id, path) in [("early", early), ("late", late)] {
        let words = format!("`{id}` of {}", path.display());
        assert!(said.contains(&words), "{said}");
    }
    // Four hundred days are one history.
    let days = |days: i64| {
        let last = at(
            "last",
            &format!(r#""submitTime":{},"#, 1 + days * 86_400_000),
        );
        read_bytes(format!("{}{last}", at("first", r#""submitTime":1,"#)).as_bytes())
    };
    assert_eq!(days(400).expect("a year and a month").jobs.len(), 2);
    assert!(days(401).is_err());
}

/// Queues of two traces are called as a list of applications begins.
#[test]
fn a_queue_of_any_name_does_not_tell_the_kind() {
    let sls = r#"{"job.queue.name":"apps","job.tasks":[{"container.duration.ms":5}]}"#;
    let rumen = r#"{"jobID":"j","queue":"apps","submitTime":5,"mapTasks":[]}"#;
    for trace in [sls, rumen] {
        let history = read_bytes(trace.as_bytes()).expect("it is a trace");
        assert_eq!(history.jobs[0].queue.as_deref(), Some("apps"));
    }
    let list = "\n { \"apps\" : {\"app\": [{\"id\": \"a\", \"startedTime\": 7}]}}";
    let history = read_bytes(list.as_bytes()).expect("it is a list");
    assert_eq!(history.jobs[0].submitted_ms, 7);
}
