//! The ResourceManager's list of applications, `GET /ws/v1/cluster/apps` saved as JSON.
//!
//! It has sums only. An application that held V core-seconds for D seconds becomes V/D containers
//! of one core that live for D, one of them its ApplicationMaster. Containers are built last: a
//! list is often read beside job histories, which have the tasks.

use crate::fault::Fault;
use crate::limits::{AMOUNT_MAX, COUNT_MAX, JOBS_MAX, TASKS_MAX, time};
use crate::model::{End, Job, Task};
use crate::objects::{Limited, Number, Text, whole};
use heddle_core::words::ids::Millis;
use heddle_core::words::resource::Resource;
use serde::Deserialize;
use std::io::BufRead;
use std::sync::Arc;

const REMEDY: &str = "save it again: `curl -o apps.json http://RM:8088/ws/v1/cluster/apps`";

#[derive(Deserialize)]
struct Answer {
    apps: Option<Apps>,
}

#[derive(Deserialize)]
struct Apps {
    #[serde(default)]
    app: Limited<Application, JOBS_MAX>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Application {
    id: String,
    #[serde(default)]
    user: Text,
    #[serde(default)]
    name: Text,
    #[serde(default)]
    queue: Text,
    #[serde(default)]
    state: Text,
    #[serde(default)]
    final_status: Text,
    #[serde(default)]
    priority: Number,
    started_time: i64,
    #[serde(default)]
    launch_time: Number,
    #[serde(default)]
    finished_time: Number,
    #[serde(default)]
    elapsed_time: Number,
    #[serde(default)]
    memory_seconds: Number,
    #[serde(default)]
    vcore_seconds: Number,
    #[serde(default, rename = "numNonAMContainerPreempted")]
    preempted: Number,
    #[serde(default, rename = "numAMContainerPreempted")]
    preempted_masters: Number,
}

/// An application of a list, without its containers.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) job: Job,
    /// How many containers it becomes, beside its ApplicationMaster.
    pub(crate) containers: usize,
    length_ms: Millis,
}

impl Listed {
    /// Builds its containers.
    pub(crate) fn into_job(self) -> Job {
        let task = Task {
            length_ms: self.length_ms,
            hosts: Arc::default(),
        };
        Job {
            tasks: [vec![task; self.containers], Vec::new()],
            ..self.job
        }
    }
}

/// Reads a list of applications.
///
/// # Errors
/// What is wrong with the file, with its offset.
pub(crate) fn read(source: &mut dyn BufRead) -> Result<Vec<Listed>, Fault> {
    let answer: Answer = whole(source, REMEDY)?;
    let apps = answer.apps.map(|apps| apps.app.0).unwrap_or_default();
    Ok(apps.into_iter().map(listed).collect())
}

fn listed(app: Application) -> Listed {
    let number = |number: Number| number.0.unwrap_or(0);
    let submitted_ms = time(app.started_time);
    let ended = Some(time(number(app.finished_time))).filter(|at| *at > 0);
    // Until Hadoop 2.9 the list has no time of launch.
    let launched = app.launch_time.0.map(time).filter(|at| *at > 0);
    let is_launched = launched.is_some() || app.launch_time.0.is_none();
    let started_ms = launched.unwrap_or(submitted_ms);
    let until_ms = ended.unwrap_or(submitted_ms + time(number(app.elapsed_time)));
    let life_ms = (until_ms - started_ms).max(0);
    let (memory_s, cores_s) = (number(app.memory_seconds), number(app.vcore_seconds));
    let (memory_s, cores_s) = (memory_s.max(0), cores_s.max(0));
    let size = Resource::new((memory_s / cores_s.max(1)).clamp(1, AMOUNT_MAX), 1);
    let wide = (cores_s as f64 * 1e3 / (life_ms as f64).max(1.0)).round();
    let wide = (wide.min(TASKS_MAX as f64) as usize).saturating_sub(1);
    let text = |text: Text| text.0.unwrap_or_default();
    let count = |count: Number| (number(count).max(0) as u64).min(COUNT_MAX);
    let job = Job {
        id: app.id,
        name: text(app.name),
        user: text(app.user),
        queue: app.queue.0.filter(|queue| !queue.is_empty()),
        priority: number(app.priority).clamp(0, 1_000) as i32,
        submitted_ms,
        started_ms: launched,
        finished_ms: ended,
        seen_ms: ended.is_none().then_some(until_ms),
        end: match (text(app.state).as_str(), text(app.final_status).as_str()) {
            ("FINISHED", "SUCCEEDED") => End::Well,
            ("FINISHED" | "FAILED" | "KILLED", _) => End::Badly,
            _ => End::Open,
        },
        sizes: [size; 2],
        // One container: the application is its ApplicationMaster.
        master: (wide > 0).then_some(size),
        preempted: Some(count(app.preempted) + count(app.preempted_masters)),
        held: Some([memory_s, cores_s].map(|seconds| seconds.saturating_mul(1_000))),
        ..Job::default()
    };
    Listed {
        job,
        containers: match is_launched && life_ms > 0 {
            true => wide.max(1),
            false => 0,
        },
        length_ms: life_ms,
    }
}
