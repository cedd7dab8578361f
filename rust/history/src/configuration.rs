//! The `job_…_conf.xml` beside a job history: queue, sizes of containers, slow start.

use crate::fault::Fault;
use crate::limits::AMOUNT_MAX;
use heddle_core::words::resource::Resource;
use heddle_stock::{Properties, site};

/// MapReduce's defaults (mapred-default.xml).
const MAP_MB: i64 = 1_024;
const MASTER_MB: i64 = 1_536;
const SLOW_START: f64 = 0.05;

/// What a job's configuration says of its containers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) queue: Option<String>,
    pub(crate) sizes: [Resource; 2],
    pub(crate) master: Resource,
    pub(crate) slow_start_per_mille: u32,
}

impl Configuration {
    /// MapReduce's defaults.
    pub(crate) fn of_mapreduce() -> Configuration {
        read_properties(&Properties::new())
    }
}

/// Reads a configuration.
///
/// # Errors
/// The first fault of its XML.
pub(crate) fn read(text: &str) -> Result<Configuration, Fault> {
    let properties = site::properties(text).map_err(|fault| {
        let offset = offset_of_line(text, fault.line);
        Fault::at(
            offset,
            fault.problem.clone(),
            "copy the file from the history folder again",
        )
    })?;
    Ok(read_properties(&properties))
}

fn offset_of_line(text: &str, line: u32) -> u64 {
    let before = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1) as usize);
    before.map(|line| line.len() as u64).sum()
}

fn read_properties(properties: &Properties) -> Configuration {
    let text = |name: &str| properties.get(name).map(|found| found.value.trim());
    let whole = |name: &str, absent: i64| {
        let number = text(name).and_then(|text| text.parse::<i64>().ok());
        number
            .filter(|number| (1..=AMOUNT_MAX).contains(number))
            .unwrap_or(absent)
    };
    // The ResourceManager rounds requests up to multiples of its smallest allocation.
    let least = whole("yarn.scheduler.minimum-allocation-mb", 1);
    let size = |memory: &str, cores: &str, absent: i64| {
        let memory = whole(memory, absent).max(least);
        let memory = ((memory + least - 1) / least * least).min(AMOUNT_MAX);
        Resource::new(memory, whole(cores, 1))
    };
    let slow_start = text("mapreduce.job.reduce.slowstart.completedmaps");
    let slow_start = slow_start.and_then(|text| text.parse::<f64>().ok());
    let slow_start = slow_start.filter(|part| (0.0..=1.0).contains(part));
    Configuration {
        queue: text("mapreduce.job.queuename").map(str::to_string),
        sizes: [
            size(
                "mapreduce.map.memory.mb",
                "mapreduce.map.cpu.vcores",
                MAP_MB,
            ),
            size(
                "mapreduce.reduce.memory.mb",
                "mapreduce.reduce.cpu.vcores",
                MAP_MB,
            ),
        ],
        master: size(
            "yarn.app.mapreduce.am.resource.mb",
            "yarn.app.mapreduce.am.resource.cpu-vcores",
            MASTER_MB,
        ),
        slow_start_per_mille: (slow_start.unwrap_or(SLOW_START) * 1e3) as u32,
    }
}
