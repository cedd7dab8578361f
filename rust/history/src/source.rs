//! Opens files and folders, tells what each file is by its content, and puts all of them together.

use crate::applications;
use crate::configuration::{self, Configuration};
use crate::fault::Fault;
use crate::jhist;
use crate::journal;
use crate::limits::{Counted, WHOLE_BYTES_MAX};
use crate::model::{History, Job, Node};
use crate::{nodes, rumen, sls, swim};
use heddle::journal::{MAGIC, Reader, recordings};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes at the start of a file that tell what it is.
const HEAD_BYTES: usize = 64 << 10;
/// Files in a folder are read to this depth (`done/2026/11/25/000000`).
const DEPTH_MAX: usize = 8;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MapReduce's job history.
    JobHistory,
    /// The configuration of a job.
    Configuration,
    /// The ResourceManager's list of applications.
    Applications,
    /// The ResourceManager's list of nodes.
    Nodes,
    /// A trace of SLS.
    Sls,
    /// A nodes file of SLS.
    SlsNodes,
    /// A trace of Rumen.
    Rumen,
    /// A SWIM trace.
    Swim,
    /// A journal of Heddle.
    Journal,
}

/// Hears how far the reading is: the file, bytes read and bytes in all.
pub type Progress<'a> = &'a mut dyn FnMut(&Path, u64, u64);

const EXPECTED: &str = "expected a .jhist with its _conf.xml, the ResourceManager's apps.json and \
    nodes.json, a trace of SLS, Rumen or SWIM, or a Heddle journal";

fn kind_of(head: &[u8]) -> Option<Kind> {
    if head.starts_with(&MAGIC) {
        return Some(Kind::Journal);
    }
    let text = String::from_utf8_lossy(head);
    if text.starts_with(jhist::JSON) || text.starts_with(jhist::BINARY) {
        return Some(Kind::JobHistory);
    }
    let start = text.trim_start();
    if start.starts_with('<') && text.contains("<configuration") {
        return Some(Kind::Configuration);
    }
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if start.starts_with('{') {
        // The order matters: a job of SLS has no `rack`, an application no `job.tasks`.
        let kinds = [
            (has("apps"), Kind::Applications),
            (
                has("nodes") && has("node") && has("rack") && has("id"),
                Kind::Nodes,
            ),
            (has("job.tasks") || has("job.start.ms"), Kind::Sls),
            (has("rack") && has("nodes"), Kind::SlsNodes),
            (has("nodes"), Kind::Nodes),
            (has("jobID"), Kind::Rumen),
        ];
        return kinds.into_iter().find(|(is, _)| *is).map(|(_, kind)| kind);
    }
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    (line.split('\t').count() >= 6).then_some(Kind::Swim)
}

/// Reads files, and all files below folders, as one history. `swim_nodes` are the nodes that a SWIM
/// trace is scaled to.
///
/// # Errors
/// The first fault, with file and offset.
pub fn read(paths: &[PathBuf], swim_nodes: u32, progress: Progress<'_>) -> Result<History, Fault> {
    let mut files = Vec::new();
    for path in paths {
        // A journal has the name of its setting: then its newest recording is meant.
        let newest = match path.exists() {
            true => None,
            false => recordings(path).ok().and_then(|mut found| found.pop()),
        };
        let first = newest.and_then(|newest| Some(newest.path(newest.segments.first()?.0)));
        collect(first.as_ref().unwrap_or(path), 0, &mut files)?;
    }
    let sizes = files
        .iter()
        .map(|file| file.metadata().map_or(0, |data| data.len()));
    let sizes: Vec<u64> = sizes.collect();
    let total = sizes.iter().sum();
    let mut gathered = Gathered::default();
    let mut done = 0;
    for (file, size) in files.iter().zip(sizes) {
        progress(file, done, total);
        let mut tick = |at: u64| progress(file, done + at.min(size), total);
        let read = gathered.file(file, swim_nodes, &mut tick);
        read.map_err(|fault| Fault {
            file: file.display().to_string(),
            ..fault
        })?;
        done += size;
    }
    gathered.finish()
}

/// Reads one file that is in memory, whatever it is; for tests of hostile files.
///
/// # Errors
/// The first fault, with its offset.
pub fn read_bytes(bytes: &[u8]) -> Result<History, Fault> {
    let mut gathered = Gathered::default();
    let kind = kind_of(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let kind = kind.ok_or_else(unknown)?;
    match kind {
        Kind::Journal => {
            let reader = Reader::new(bytes).map_err(|error| {
                Fault::whole(error.to_string(), "expected a journal of this version")
            })?;
            gathered.journal(journal::read(reader, |_| {})?)?;
        }
        kind => gathered.source("", kind, &mut &bytes[..], 10)?,
    }
    gathered.finish()
}

fn unknown() -> Fault {
    Fault::at(0, "a file of an unknown kind, or an empty one", EXPECTED)
}

fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Fault> {
    let failed = |error: std::io::Error| Fault {
        file: path.display().to_string(),
        ..Fault::whole(error.to_string(), "give a file or folder that can be read")
    };
    let data = path.metadata().map_err(failed)?;
    if data.is_file() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    if !data.is_dir() || depth > DEPTH_MAX {
        return Err(failed(std::io::Error::other(
            "neither a file nor a folder, or too deep",
        )));
    }
    let mut names = Vec::new();
    for entry in path.read_dir().map_err(failed)? {
        names.push(entry.map_err(failed)?.path());
    }
    names.sort_unstable();
    for name in names {
        let hidden = name
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        // Hadoop writes checksums and summaries beside its histories.
        let other = name
            .extension()
            .is_some_and(|end| end == "summary" || end == "crc");
        if !hidden && !other && !is_later_segment(&name) {
            collect(&name, depth + 1, files)?;
        }
    }
    Ok(())
}

/// Whether a file is a later segment of a journal, which is read with its first:
/// `PATH.RECORDING.SEGMENT`, six digits each.
fn is_later_segment(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let mut parts = name.rsplit('.');
    let numbers = [parts.next(), parts.next()].map(|part| {
        let part = part.filter(|part| part.len() == 6);
        part.and_then(|part| part.parse::<u32>().ok())
    });
    matches!(numbers, [Some(segment), Some(_)] if segment > 1)
}

/// What has been read so far.
#[derive(Default)]
struct Gathered {
    history: History,
    counted: Counted,
    /// Jobs of job histories by the number in their id, with the time of their first ask.
    recorded: BTreeMap<String, (Job, Option<i64>)>,
    configurations: BTreeMap<String, Configuration>,
    applications: Vec<Job>,
    nodes: BTreeMap<(String, String), Node>,
    unsuccessful: u64,
}

impl Gathered {
    fn file(
        &mut self,
        path: &Path,
        swim_nodes: u32,
        tick: &mut dyn FnMut(u64),
    ) -> Result<(), Fault> {
        let failed =
            |error: std::io::Error| Fault::whole(error.to_string(), "give a file that can be read");
        let mut head = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(HEAD_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(failed)?;
        let kind = kind_of(&head).ok_or_else(unknown)?;
        if kind == Kind::Journal {
            let reader = Reader::open(path).map_err(|error| {
                Fault::whole(error.to_string(), "expected a journal of this version")
            })?;
            return self.journal(journal::read(reader, tick)?);
        }
        let file = File::open(path).map_err(failed)?;
        let counted = Counting {
            source: file,
            read: 0,
            told: 0,
            tick,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut source = BufReader::with_capacity(1 << 16, counted);
        self.source(&name, kind, &mut source, swim_nodes)
    }

    fn source(
        &mut self,
        name: &str,
        kind: Kind,
        source: &mut dyn BufRead,
        swim_nodes: u32,
    ) -> Result<(), Fault> {
        match kind {
            Kind::JobHistory => {
                let read = jhist::read(&bytes_of(source)?)?;
                self.unsuccessful += read.unsuccessful;
                self.counted.add(&read.job)?;
                self.add_nodes(read.nodes);
                let key = number_of(&read.job.id);
                self.recorded.insert(key, (read.job, read.asked_ms));
            }
            Kind::Configuration => {
                let read = configuration::read(&text_of(source)?)?;
                self.configurations.insert(number_of(name), read);
            }
            Kind::Applications => self.applications.extend(applications::read(source)?),
            Kind::Nodes => {
                let read = nodes::read_listed(source)?;
                self.add_nodes(read);
            }
            Kind::SlsNodes => {
                let read = nodes::read_sls(source)?;
                self.add_nodes(read);
            }
            Kind::Sls => {
                self.history.lacks(SLS);
                sls::read(source, |job, nodes| self.add(job, nodes))?;
            }
            Kind::Rumen => {
                self.history.lacks(RUMEN);
                rumen::read(source, |job, nodes| self.add(job, nodes))?;
            }
            Kind::Swim => {
                self.history.lacks(SWIM);
                for job in swim::read(&text_of(source)?, swim_nodes)? {
                    self.add(job, Vec::new())?;
                }
            }
            Kind::Journal => unreachable!("its callers read journals themselves"),
        }
        Ok(())
    }

    fn journal(&mut self, read: journal::Recorded) -> Result<(), Fault> {
        self.history.lacks(JOURNAL);
        if read.torn {
            self.history
                .lacks("The journal ends in the middle of an entry: its end is missing.");
        }
        self.add_nodes(read.nodes.into_values());
        for job in read.jobs {
            self.add(job, Vec::new())?;
        }
        Ok(())
    }

    fn add(&mut self, job: Job, nodes: Vec<Node>) -> Result<(), Fault> {
        self.counted.add(&job)?;
        self.add_nodes(nodes);
        self.history.jobs.push(job);
        Ok(())
    }

    fn add_nodes(&mut self, nodes: impl IntoIterator<Item = Node>) {
        for mut node in nodes {
            // Some sources write racks as paths.
            node.rack = node.rack.trim_start_matches('/').to_string();
            let key = (node.rack.clone(), node.host.clone());
            let known = self.nodes.entry(key).or_insert_with(|| node.clone());
            known.capacity = known.capacity.or(node.capacity);
        }
    }

    fn finish(mut self) -> Result<History, Fault> {
        self.join();
        // A list of nodes has their sizes and racks; a history then only says which were used.
        let sized = self.nodes.values().any(|node| node.capacity.is_some());
        let nodes = self.nodes.into_values();
        let nodes = nodes.filter(|node| !sized || node.capacity.is_some());
        self.history.nodes = nodes.collect();
        self.history
            .jobs
            .sort_by(|a, b| (a.submitted_ms, &a.id).cmp(&(b.submitted_ms, &b.id)));
        if self.history.jobs.is_empty() {
            return Err(Fault::whole("no job in all of the sources", EXPECTED));
        }
        self.history.lacks(ALWAYS);
        Ok(self.history)
    }

    /// Joins job histories with configurations and applications by their numbers.
    fn join(&mut self) {
        let default = Configuration::of_mapreduce();
        let mut has_launch = true;
        let mut has_configuration = true;
        let mut applications: BTreeMap<String, Job> = BTreeMap::new();
        for job in std::mem::take(&mut self.applications) {
            applications.insert(number_of(&job.id), job);
        }
        for (number, (mut job, asked_ms)) in std::mem::take(&mut self.recorded) {
            let configuration = self.configurations.get(&number);
            has_configuration &= configuration.is_some();
            jhist::configure(&mut job, configuration.unwrap_or(&default));
            match applications.remove(&number) {
                Some(app) => join(&mut job, &app, asked_ms),
                None => has_launch = false,
            }
            self.history.jobs.push(job);
            self.history.lacks(JHIST);
        }
        if !has_configuration {
            self.history.lacks(NO_CONFIGURATION);
        }
        if !has_launch {
            self.history.lacks(NO_LAUNCH);
        }
        if self.unsuccessful > 0 {
            let count = self.unsuccessful;
            self.history
                .lacks(format!("{count} failed or killed attempts are left out."));
        }
        for (_, job) in applications {
            self.history.jobs.push(job);
            self.history.lacks(APPLICATIONS);
        }
    }
}

/// Adds what the ResourceManager knows of a job's application.
fn join(job: &mut Job, app: &Job, asked_ms: Option<i64>) {
    job.submitted_ms = app.submitted_ms;
    job.preempted = app.preempted;
    job.held = app.held;
    job.priority = app.priority;
    job.queue = app.queue.clone().or(job.queue.take());
    if let Some(launched) = app.started_ms {
        job.started_ms = Some(launched);
        if let Some(asked) = asked_ms {
            job.start_ms = (asked - launched).max(0);
        }
    }
    if let (Some(ended), Some(finished)) = (app.finished_ms, job.finished_ms) {
        job.commit_ms += (ended - finished).max(0);
        job.finished_ms = Some(ended.max(finished));
    }
}

/// Returns the part of an id or a file's name that a job and its application share:
/// `1700000000000_0007` of `job_1700000000000_0007_conf.xml`.
fn number_of(id: &str) -> String {
    let parts = id.split(['_', '-', '.']);
    let numbers = parts.filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let numbers: Vec<&str> = numbers.filter(|part| !part.is_empty()).take(2).collect();
    match numbers.is_empty() {
        true => id.to_string(),
        false => numbers.join("_"),
    }
}

fn bytes_of(source: &mut dyn BufRead) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let read = source.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::whole(error.to_string(), "give a file that can be read"))?;
    match bytes.len() as u64 > WHOLE_BYTES_MAX {
        true => {
            let problem = format!("a file of more than {WHOLE_BYTES_MAX} bytes");
            Err(Fault::at(WHOLE_BYTES_MAX, problem, "leave this file out"))
        }
        false => Ok(bytes),
    }
}

fn text_of(source: &mut dyn BufRead) -> Result<String, Fault> {
    String::from_utf8(bytes_of(source)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to() as u64;
        Fault::at(at, "expected UTF-8", "copy the file again")
    })
}

/// Counts what is read.
struct Counting<'a> {
    source: File,
    read: u64,
    told: u64,
    tick: &'a mut dyn FnMut(u64),
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.read += count as u64;
        if self.read - self.told > 1 << 20 {
            self.told = self.read;
            (self.tick)(self.read);
        }
        Ok(count)
    }
}

const ALWAYS: &str = "Users, lengths of tasks and times of submission stay as they were: nobody \
    submits more because the cluster is faster, and no task is slower because its node is full.";
const JHIST: &str = "A map takes as long on any node as it took where it ran; a reduce takes as \
    long after the last map as it took. Groups of users and node labels are not in a history.";
const NO_CONFIGURATION: &str = "Some jobs came without their _conf.xml: MapReduce's default sizes \
    of containers stand for theirs.";
const NO_LAUNCH: &str = "Some jobs are not in an apps.json: their waiting ends with the start of \
    their ApplicationMaster's process, seconds after its container, and preemptions are unknown.";
const APPLICATIONS: &str = "Of applications without a job history only sums are known. Each counts \
    as containers of one core that live from its launch to its end, all of one size: a policy \
    that serves it sooner ends it sooner, but never makes it shorter.";
const SLS: &str = "A trace of SLS has no time of the first ask, and sizes only where its tasks \
    name them; tasks of one kind count as large as the largest of their job.";
const RUMEN: &str = "A trace of Rumen has no size of containers (`jobMapMB` is the heap) and no \
    cores: MapReduce's defaults stand for them.";
const SWIM: &str = "A SWIM trace has bytes only: tasks, their lengths, users and sizes are made up \
    from SWIM's rule and the simulator's rates.";
const JOURNAL: &str = "A journal has numbers instead of the names of hosts and jobs, and not where \
    the input of maps lies.";
