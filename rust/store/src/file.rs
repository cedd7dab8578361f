//! A folder of files, for those who want to see what they have: `ledger.log`, to which every
//! commit appends one line with a checksum and a sync, and `accounts.json`, the books after the
//! last interval, written aside and renamed. The log is the truth: the accounts only spare the
//! reading of all of it. A torn end of the log is cut off; damage anywhere else is an error.
//!
//! The whole folder is locked (`lock`) during every call, so that two processes on one machine
//! find each other's writes. Not for network file systems, and not for big clusters: a query of
//! the ledger reads the log from its beginning.

mod line;

use crate::book::{Book, Writes};
use crate::error::{Refusal, StoreError};
use crate::record::{
    Batch, Epoch, GrantRecord, Head, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use crate::sql::check_epoch;
use crate::{Commit, Store, private};
use line::{Record, VERSION, any_valid, damaged, decode, encode};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The content of `accounts.json`.
#[derive(Serialize, Deserialize)]
struct Snapshot<B> {
    /// Where in the log the books end.
    offset: u64,
    /// Lines up to there.
    lines: u64,
    book: B,
}

/// A log that was read to its end.
struct Log {
    file: File,
    inode: u64,
    end: u64,
    lines: u64,
    book: Book,
}

pub(crate) struct FileStore {
    folder: PathBuf,
    log: Option<Log>,
}

impl FileStore {
    pub(crate) fn new(folder: &Path) -> FileStore {
        let folder = folder.to_path_buf();
        FileStore { folder, log: None }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("ledger.log")
    }

    fn accounts_path(&self) -> PathBuf {
        self.folder.join("accounts.json")
    }

    fn error(&self, error: io::Error) -> StoreError {
        StoreError::Unavailable(format!("{}: {error}", self.folder.display()))
    }

    /// Does `work` with the folder locked and the log read to its end.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut FileStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _held = self.lock()?;
        self.refresh()?;
        work(self)
    }

    /// The lock is given back when the file is dropped, also by a process that is killed.
    fn lock(&self) -> Result<File, StoreError> {
        let made = make_folder(&self.folder);
        made.map_err(|error| self.error(error))?;
        let path = self.folder.join("lock");
        let mut options = private::options();
        let file = options.create(true).truncate(false).open(path);
        let file = file.map_err(|error| self.error(error))?;
        let patience = Instant::now() + LOCK_TIMEOUT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(error) if Instant::now() >= patience => return Err(self.error(error.into())),
                Err(_) => std::thread::sleep(LOCK_PAUSE),
            }
        }
    }

    /// Reads what others have appended, or everything if it is not the log that we know.
    fn refresh(&mut self) -> Result<(), StoreError> {
        let known = self.log.take().filter(|log| {
            let now = fs::metadata(self.path());
            now.is_ok_and(|now| now.ino() == log.inode && now.len() >= log.end)
        });
        let log = match known {
            Some(log) => log,
            None => self.open()?,
        };
        self.log = Some(self.replay(log)?);
        Ok(())
    }

    fn open(&self) -> Result<Log, StoreError> {
        let path = self.path();
        if !path.exists() {
            if self.accounts_path().exists() {
                let reason = "accounts.json is there, but the log is not";
                return Err(damaged(&path, 1, reason));
            }
            let header = encode(&Record::Version(VERSION));
            self.put(&path, header.as_bytes())
                .map_err(|error| self.error(error))?;
        }
        self.upgrade(&path)?;
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let file = opened.map_err(|error| self.error(error))?;
        let inode = file.metadata().map_err(|error| self.error(error))?.ino();
        let mut header = Vec::new();
        let mut reader = BufReader::new(&file).take(64);
        let read = reader.read_until(b'\n', &mut header);
        read.map_err(|error| self.error(error))?;
        match decode(&header) {
            Some(Record::Version(found)) if found > VERSION => {
                let known = VERSION;
                return Err(StoreError::Newer { found, known });
            }
            Some(Record::Version(_)) => {}
            _ => return Err(damaged(&path, 1, "this is no log of Heddle's")),
        }
        let (end, lines, book) = (header.len() as u64, 1, Book::default());
        let log = Log {
            file,
            inode,
            end,
            lines,
            book,
        };
        self.skip(log)
    }

    /// Gives a log of an older version, all of whose lines we know, our number, before a line is
    /// appended that an older Heddle would take for a torn one.
    fn upgrade(&self, path: &Path) -> Result<(), StoreError> {
        let mut header = Vec::new();
        let mut reader = BufReader::new(File::open(path).map_err(|e| self.error(e))?);
        let read = reader.by_ref().take(64).read_until(b'\n', &mut header);
        read.map_err(|e| self.error(e))?;
        let ours = encode(&Record::Version(VERSION)).into_bytes();
        let older = match decode(&header) {
            Some(Record::Version(found)) => found < VERSION,
            _ => false,
        };
        // Of one length, so that accounts.json points to the same lines.
        if !older || ours.len() != header.len() {
            return Ok(());
        }
        let mut log = ours;
        let read = reader.read_to_end(&mut log);
        read.and_then(|_| self.put(path, &log))
            .map_err(|e| self.error(e))
    }

    /// Jumps to where the accounts file ends. One that cannot be read is done without.
    fn skip(&self, mut log: Log) -> Result<Log, StoreError> {
        let path = self.accounts_path();
        let Ok(bytes) = fs::read(&path) else {
            return Ok(log);
        };
        let Some(snapshot) = decode::<Snapshot<Book>>(&bytes) else {
            log::warn!("{}: damaged; the log is read instead", path.display());
            return Ok(log);
        };
        let length = log.file.metadata().map_err(|e| self.error(e))?.len();
        if snapshot.offset > length {
            let reason = "the log ends before what accounts.json has seen of it";
            return Err(damaged(&self.path(), snapshot.lines, reason));
        }
        log.end = snapshot.offset;
        log.lines = snapshot.lines;
        log.book = snapshot.book;
        Ok(log)
    }

    /// Follows the log from where we are to its end, and cuts off a torn line there.
    fn replay(&self, mut log: Log) -> Result<Log, StoreError> {
        let wrong = |error| self.error(error);
        log.file.seek(SeekFrom::Start(log.end)).map_err(wrong)?;
        let mut reader = BufReader::new(&log.file);
        let mut line = Vec::new();
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(wrong)? == 0 {
                break;
            }
            let Some(record) = decode::<Record>(&line) else {
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).map_err(wrong)?;
                line.extend(rest);
                if any_valid(&line) {
                    let reason = "the checksum does not fit, and good lines follow";
                    return Err(damaged(&self.path(), log.lines + 1, reason));
                }
                drop(reader);
                self.cut(&log, &line).map_err(wrong)?;
                break;
            };
            follow(&mut log.book, record)
                .map_err(|error| damaged(&self.path(), log.lines + 1, &error.to_string()))?;
            log.end += line.len() as u64;
            log.lines += 1;
        }
        log.book.check()?;
        Ok(log)
    }

    /// Cuts off what a crash left of a line, and keeps a copy of it.
    fn cut(&self, log: &Log, torn: &[u8]) -> io::Result<()> {
        let path = self.folder.join("ledger.torn");
        log::warn!(
            "{}: cut off {} bytes of a write that did not end; kept in {}",
            self.path().display(),
            torn.len(),
            path.display()
        );
        // What a full disk keeps from being copied was never committed.
        let _kept = self.put(&path, torn);
        log.file.set_len(log.end)?;
        log.file.sync_all()
    }

    /// Writes a file aside, and puts it in its place when it is on the disk.
    fn put(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let aside = path.with_extension("new");
        let mut file = private::instead_of(path, &aside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Appends a line and waits until it is on the disk: that is the commit. After an error the
    /// log is as it was.
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let line = encode(record);
        let log = self.log.as_mut().expect("it was refreshed under this lock");
        let end = log.end;
        let mut write = || {
            log.file.seek(SeekFrom::Start(end))?;
            log.file.write_all(line.as_bytes())?;
            log.file.sync_data()
        };
        if let Err(error) = write() {
            // If not even that works, the next reader cuts the line off or finds it whole.
            let _shortened = log.file.set_len(end).and_then(|()| log.file.sync_all());
            self.log = None;
            return Err(self.error(error));
        }
        log.end += line.len() as u64;
        log.lines += 1;
        Ok(())
    }

    /// Writes the accounts file. Without it, the log takes longer to read, and that is all.
    fn snapshot(&self) {
        let log = self.log.as_ref().expect("it was refreshed under this lock");
        let snapshot = Snapshot {
            offset: log.end,
            lines: log.lines,
            book: &log.book,
        };
        let path = self.accounts_path();
        if let Err(error) = self.put(&path, encode(&snapshot).as_bytes()) {
            log::warn!("{}: not written: {error}", path.display());
        }
    }

    fn book(&mut self) -> &mut Book {
        let log = self.log.as_mut();
        &mut log.expect("it was refreshed under this lock").book
    }

    fn commit(
        &mut self,
        epoch: Epoch,
        plan: impl FnOnce(&Book) -> Result<Option<Writes>, StoreError>,
        record: impl FnOnce(Vec<GrantRecord>) -> Record,
    ) -> Result<Commit, StoreError> {
        self.locked(|store| {
            let place = store.folder.display().to_string();
            let book = store.book();
            check_epoch(&book.head, epoch, &place)?;
            let Some(writes) = plan(book)? else {
                return Ok(Commit::AlreadyThere);
            };
            store.append(&record(writes.grants.clone()))?;
            store.book().apply(&writes);
            if writes.interval.is_some() {
                store.snapshot();
            }
            Ok(Commit::Applied)
        })
    }

    /// Shows `visit` every record of the log until it says that it has enough. The lock is held
    /// to find the end of the log only: up to there nobody changes it, and who writes does not wait
    /// for who reads.
    fn scan(&mut self, mut visit: impl FnMut(Record) -> bool) -> Result<(), StoreError> {
        let (file, end) = self.locked(|store| {
            let file = File::open(store.path()).map_err(|e| store.error(e))?;
            let log = store.log.as_ref();
            Ok((file, log.expect("it was refreshed under this lock").end))
        })?;
        let mut reader = BufReader::new(file.take(end));
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            if read.map_err(|e| self.error(e))? == 0 {
                return Ok(());
            }
            number += 1;
            let record = decode(&line)
                .ok_or_else(|| damaged(&self.path(), number, "the checksum does not fit"))?;
            if !visit(record) {
                return Ok(());
            }
        }
    }
}

/// Makes the folder, and makes sure that its name is on the disk.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    private::make_folder(folder)?;
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Does to the books what a line of the log says was done to them.
fn follow(book: &mut Book, record: Record) -> Result<(), StoreError> {
    let writes = match record {
        Record::Version(_) | Record::Page(_) => None,
        Record::TakeOver {
            epoch,
            owner,
            token,
        } => {
            book.head.epoch = epoch;
            book.head.owner = owner;
            book.head.token = token;
            None
        }
        Record::Interval(interval, _) => book.plan_interval(&interval)?,
        Record::Changes(batch, _) => book.plan_changes(&batch)?,
        Record::Book(other) => {
            *book = *other;
            None
        }
    };
    if let Some(writes) = writes {
        book.apply(&writes);
    }
    Ok(())
}

impl Store for FileStore {
    fn describe(&self) -> String {
        format!("file:{}", self.folder.display())
    }

    fn take_over(&mut self, owner: &str, token: u64) -> Result<Epoch, StoreError> {
        self.locked(|store| {
            let head = store.book().head.taken_over(owner, token)?;
            let epoch = head.epoch;
            let record = Record::TakeOver {
                epoch,
                owner: head.owner,
                token: head.token,
            };
            store.append(&record)?;
            follow(store.book(), record)?;
            let files = ["lock", "ledger.log", "accounts.json", "ledger.torn"];
            let files = files.map(|name| store.folder.join(name));
            private::warn_of(
                [&store.folder]
                    .into_iter()
                    .chain(&files)
                    .map(PathBuf::as_path),
            );
            Ok(epoch)
        })
    }

    fn load(&mut self) -> Result<Book, StoreError> {
        self.log = None;
        self.locked(|store| Ok(store.book().clone()))
    }

    fn commit_interval(&mut self, epoch: Epoch, interval: &Interval) -> Result<Commit, StoreError> {
        let record = |grants| Record::Interval(interval.clone(), grants);
        self.commit(epoch, |book| book.plan_interval(interval), record)
    }

    fn commit_changes(&mut self, epoch: Epoch, batch: &Batch) -> Result<Commit, StoreError> {
        let record = |grants| Record::Changes(batch.clone(), grants);
        self.commit(epoch, |book| book.plan_changes(batch), record)
    }

    fn intervals_between(
        &mut self,
        after: u64,
        times_ms: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<IntervalHead>, StoreError> {
        let mut found = Vec::new();
        let mut epoch = Epoch::default();
        let wanted = |it: &IntervalHead| it.tick > after && times_ms.contains(&it.at_ms);
        self.scan(|record| {
            match record {
                Record::TakeOver { epoch: next, .. } => epoch = next,
                Record::Book(book) => epoch = book.head.epoch,
                Record::Page(page) => found.extend(page.intervals.into_iter().filter(wanted)),
                Record::Interval(interval, _) => {
                    let head = IntervalHead {
                        tick: interval.tick,
                        ticks: interval.ticks,
                        at_ms: interval.at_ms,
                        price: interval.price,
                        epoch,
                    };
                    found.extend(Some(head).filter(wanted));
                }
                _ => {}
            }
            found.len() < limit
        })?;
        found.truncate(limit);
        Ok(found)
    }

    fn ledger(&mut self, query: &LedgerQuery) -> Result<Vec<LedgerRow>, StoreError> {
        let mut found = Vec::new();
        let wanted = |row: &LedgerRow| {
            let at = (row.tick, &row.row.queue);
            let queue = query.queue.as_ref();
            at > (query.after.0, &query.after.1)
                && row.tick <= query.until
                && queue.is_none_or(|queue| *queue == row.row.queue)
        };
        self.scan(|record| {
            match record {
                Record::Page(page) => found.extend(page.rows.into_iter().filter(wanted)),
                Record::Interval(interval, _) => {
                    let tick = interval.tick;
                    let rows = interval.rows.into_iter();
                    let mut rows: Vec<_> = rows.map(|row| LedgerRow { tick, row }).collect();
                    rows.sort_by(|a, b| a.row.queue.cmp(&b.row.queue));
                    found.extend(rows.into_iter().filter(wanted));
                }
                _ => {}
            }
            found.len() < query.limit
        })?;
        found.truncate(query.limit);
        Ok(found)
    }

    fn grants(&mut self, after: u64, limit: usize) -> Result<Vec<GrantRecord>, StoreError> {
        let mut found = Vec::new();
        self.scan(|record| {
            if let Record::Interval(_, grants)
            | Record::Changes(_, grants)
            | Record::Page(Page { grants, .. }) = record
            {
                let grants = grants.into_iter();
                found.extend(grants.filter(|grant| grant.number > after));
            }
            found.len() < limit
        })?;
        found.truncate(limit);
        Ok(found)
    }

    fn fill(
        &mut self,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError> {
        book.check()?;
        self.locked(|store| {
            if store.book().head != Head::default() {
                return Err(StoreError::Refused(Refusal::NotEmpty));
            }
            let aside = store.path().with_extension("filled");
            let file = private::instead_of(&store.path(), &aside);
            let file = file.map_err(|e| store.error(e))?;
            let mut writer = io::BufWriter::new(file);
            let mut add = |record: &Record| {
                let line = encode(record);
                writer.write_all(line.as_bytes())
            };
            add(&Record::Version(VERSION)).map_err(|e| store.error(e))?;
            while let Some(page) = pages()? {
                add(&Record::Page(page)).map_err(|e| store.error(e))?;
            }
            let book = Record::Book(Box::new(book.clone()));
            add(&book).map_err(|e| store.error(e))?;
            let file = writer.into_inner().map_err(|e| store.error(e.into()))?;
            let placed = file
                .sync_all()
                .and_then(|()| fs::rename(&aside, store.path()))
                .and_then(|()| File::open(&store.folder)?.sync_all());
            store.log = None;
            placed.map_err(|e| store.error(e))
        })
    }
}
