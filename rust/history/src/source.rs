//! Opens files and folders, tells what each file is by its content, and puts all of them together.

use crate::applications::{self, Listed};
use crate::clock::utc;
use crate::configuration::{self, Configuration};
use crate::fault::Fault;
use crate::jhist;
use crate::journal;
use crate::kind::{Kind, kind_of};
use crate::limits::{Counted, JOBS_MAX, SPAN_MAX, WHOLE_BYTES_MAX, check_nodes};
use crate::model::{History, Job, Node};
use crate::{nodes, rumen, sls, swim};
use heddle::journal::{Reader, recordings};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes at the start of a file that tell what it is.
const HEAD_BYTES: usize = 64 << 10;
/// Files in a folder are read to this depth (`done/2026/11/25/000000`).
const DEPTH_MAX: usize = 8;
/// A job's id is said in a fault up to this length.
const NAME_CHARS: usize = 100;
const DAY_MS: i64 = 86_400_000;

/// Hears how far the reading is: the file, bytes read and bytes in all.
pub type Progress<'a> = &'a mut dyn FnMut(&Path, u64, u64);

const EXPECTED: &str = "expected a .jhist with its _conf.xml, the ResourceManager's apps.json and \
    nodes.json, a trace of SLS, Rumen or SWIM, or a Heddle journal";

/// Reads files, and all files below folders, as one history. `swim_nodes` are the nodes that a SWIM
/// trace is scaled to.
///
/// # Errors
/// The first fault, with file and offset.
pub fn read(paths: &[PathBuf], swim_nodes: u32, progress: Progress<'_>) -> Result<History, Fault> {
    let mut files = Vec::new();
    for path in paths {
        // A journal may be given as its setting names it: its newest recording is read.
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
    for (number, (file, size)) in files.iter().zip(sizes).enumerate() {
        gathered.file = number;
        progress(file, done, total);
        let mut tick = |at: u64| progress(file, done + at.min(size), total);
        let read = gathered.read(file, swim_nodes, &mut tick);
        read.map_err(|fault| Fault {
            file: file.display().to_string(),
            ..fault
        })?;
        done += size;
    }
    gathered.finish(&files)
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
    gathered.finish(&[])
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
            "neither a file nor a folder at most 8 levels deep",
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
    /// The number of the file that is read.
    file: usize,
    /// The file of each job of the history, for a fault that is found at the end.
    files: Vec<usize>,
    /// Jobs of job histories by the number in their id, with the time of their first ask.
    recorded: BTreeMap<String, (Job, Option<i64>, usize)>,
    configurations: BTreeMap<String, Configuration>,
    /// Applications by the number in their id. Of several lists the last one counts.
    applications: BTreeMap<String, (Listed, usize)>,
    nodes: BTreeMap<(String, String), Node>,
    unsuccessful: u64,
    journals: usize,
    /// Containers of journals that still ran, and that ended otherwise than well.
    left_out: [u64; 2],
}

impl Gathered {
    fn read(
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
                self.add_nodes(read.nodes)?;
                let key = number_of(&read.job.id);
                self.recorded
                    .insert(key, (read.job, read.asked_ms, self.file));
            }
            Kind::Configuration => {
                let read = configuration::read(&text_of(source)?)?;
                self.configurations.insert(number_of(name), read);
            }
            Kind::Applications => {
                for app in applications::read(source)? {
                    let key = number_of(&app.job.id);
                    self.applications.insert(key, (app, self.file));
                }
                // How many of them are jobs of job histories is not known yet.
                if self.applications.len() > JOBS_MAX {
                    let problem = format!("more than {JOBS_MAX} applications in all lists");
                    return Err(Fault::whole(problem, "give fewer lists"));
                }
            }
            Kind::Nodes => self.add_nodes(nodes::read_listed(source)?)?,
            Kind::SlsNodes => self.add_nodes(nodes::read_sls(source)?)?,
            Kind::Sls => {
                self.history.lacks(SLS);
                sls::read(source, self.counted, |job, nodes| self.add(job, nodes))?;
            }
            Kind::Rumen => {
                self.history.lacks(RUMEN);
                rumen::read(source, |job, nodes| self.add(job, nodes))?;
            }
            Kind::Swim => {
                self.history.lacks(SWIM);
                for job in swim::read(&text_of(source)?, swim_nodes, &mut self.counted)? {
                    self.keep(job, self.file);
                }
            }
            Kind::Journal => unreachable!("its callers read journals themselves"),
        }
        Ok(())
    }

    fn journal(&mut self, read: journal::Recorded) -> Result<(), Fault> {
        self.history.lacks(JOURNAL);
        self.journals += 1;
        if self.journals > 1 {
            self.history.lacks(RECORDINGS);
        }
        if read.torn {
            self.history
                .lacks("The journal ends in the middle of an entry: its end is missing.");
        }
        self.left_out[0] += read.running;
        self.left_out[1] += read.badly;
        self.add_nodes(read.nodes.into_values())?;
        for job in read.jobs {
            self.add(job, Vec::new())?;
        }
        Ok(())
    }

    fn add(&mut self, job: Job, nodes: Vec<Node>) -> Result<(), Fault> {
        self.counted.add(&job)?;
        self.add_nodes(nodes)?;
        self.keep(job, self.file);
        Ok(())
    }

    /// Keeps a job that has been counted.
    fn keep(&mut self, job: Job, file: usize) {
        self.history.jobs.push(job);
        self.files.push(file);
    }

    fn add_nodes(&mut self, nodes: impl IntoIterator<Item = Node>) -> Result<(), Fault> {
        for mut node in nodes {
            // Some sources write racks as paths.
            node.rack = node.rack.trim_start_matches('/').to_string();
            let key = (node.rack.clone(), node.host.clone());
            let known = self.nodes.entry(key).or_insert_with(|| node.clone());
            known.capacity = known.capacity.or(node.capacity);
            check_nodes(self.nodes.len())?;
        }
        Ok(())
    }

    /// Puts everything together; `paths` are the files by their numbers.
    fn finish(mut self, paths: &[PathBuf]) -> Result<History, Fault> {
        self.join(paths)?;
        self.check_span(paths)?;
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
    fn join(&mut self, paths: &[PathBuf]) -> Result<(), Fault> {
        let default = Configuration::of_mapreduce();
        let mut has_launch = true;
        let mut has_configuration = true;
        let mut applications = std::mem::take(&mut self.applications);
        for (number, (mut job, asked_ms, mut file)) in std::mem::take(&mut self.recorded) {
            let configuration = self.configurations.get(&number);
            has_configuration &= configuration.is_some();
            jhist::configure(&mut job, configuration.unwrap_or(&default));
            match applications.remove(&number) {
                Some((app, listed_in)) => {
                    join(&mut job, &app.job, asked_ms);
                    // The submission is the application's.
                    file = listed_in;
                }
                None => has_launch = false,
            }
            self.keep(job, file);
            self.history.lacks(JHIST);
        }
        if !has_configuration {
            self.history.lacks(NO_CONFIGURATION);
        }
        if !has_launch {
            self.history.lacks(NO_LAUNCH);
        }
        let [running, badly] = self.left_out;
        let left_out = [
            (self.unsuccessful, UNSUCCESSFUL),
            (running, STILL_RUNNING),
            (badly, ENDED_BADLY),
        ];
        for (count, what) in left_out.into_iter().filter(|(count, _)| *count > 0) {
            self.history.lacks(format!("{count} {what}"));
        }
        self.add_listed(applications, paths)
    }

    /// Adds applications that have no job history.
    fn add_listed(
        &mut self,
        applications: BTreeMap<String, (Listed, usize)>,
        paths: &[PathBuf],
    ) -> Result<(), Fault> {
        // All are counted before the first one's containers are built.
        for (app, file) in applications.values() {
            self.counted.claim(app.containers).map_err(|fault| Fault {
                file: name_of(paths, *file),
                ..fault
            })?;
        }
        for (app, file) in applications.into_values() {
            self.keep(app.into_job(), file);
            self.history.lacks(APPLICATIONS);
        }
        Ok(())
    }

    /// Refuses submissions more than `SPAN_MAX` apart: their clocks differ.
    fn check_span(&self, paths: &[PathBuf]) -> Result<(), Fault> {
        let jobs = || self.history.jobs.iter().zip(&self.files);
        let first = jobs().min_by_key(|(job, _)| job.submitted_ms);
        let last = jobs().max_by_key(|(job, _)| job.submitted_ms);
        let Some((first, last)) = first.zip(last) else {
            return Ok(());
        };
        let span_ms = last.0.submitted_ms - first.0.submitted_ms;
        if span_ms <= SPAN_MAX {
            return Ok(());
        }
        let named = |(job, file): (&Job, &usize)| {
            let id: String = job.id.chars().take(NAME_CHARS).collect();
            let file = match paths.is_empty() {
                true => String::new(),
                false => format!(" of {}", name_of(paths, *file)),
            };
            format!("`{id}`{file} at {}", utc(job.submitted_ms))
        };
        let (days, most) = (span_ms / DAY_MS, SPAN_MAX / DAY_MS);
        let problem = format!(
            "{days} days between the first submission, {}, and the last, {}; at most {most} are \
             one history",
            named(first),
            named(last),
        );
        Err(Fault::whole(problem, ONE_CLOCK))
    }
}

/// Returns the name of a file by its number; empty for what is not from a file.
fn name_of(paths: &[PathBuf], number: usize) -> String {
    let path = paths.get(number);
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// Adds what the ResourceManager knows of a job's application.
fn join(job: &mut Job, app: &Job, asked_ms: Option<i64>) {
    job.submitted_ms = app.submitted_ms;
    job.preempted = app.preempted;
    job.held = app.held;
    job.seen_ms = app.seen_ms;
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

const ONE_CLOCK: &str = "predict each source by itself: traces that count from 0 (SLS, SWIM, some \
    of Rumen) and dates do not mix, and a Rumen job without `submitTime` counts as submitted at 0";
const UNSUCCESSFUL: &str = "failed or killed attempts are left out.";
const STILL_RUNNING: &str = "containers of journals are left out because they still ran when the \
    journal or their job ended: the prediction has less work than the cluster had.";
const ENDED_BADLY: &str = "containers of journals are left out because they failed, were lost, \
    preempted or given back.";
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
const RECORDINGS: &str = "A job that lives through the change from one recording of a journal to \
    the next counts as a job in each.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_that_journals_leave_out_are_unknown() {
        let mut gathered = Gathered::default();
        for (running, badly) in [(2, 0), (1, 4)] {
            let read = journal::Recorded {
                jobs: vec![Job::default()],
                running,
                badly,
                ..journal::Recorded::default()
            };
            gathered.journal(read).expect("it is within the limits");
        }
        let history = gathered.finish(&[]).expect("it has jobs");
        for words in [
            "3 containers of journals",
            "4 containers of journals",
            "A job that lives through the change",
        ] {
            let says = |line: &String| line.starts_with(words);
            assert!(history.unknown.iter().any(says), "{:?}", history.unknown);
        }
    }
}
