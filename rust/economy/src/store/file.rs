//! A store in a folder of readable files. `ledger.log` gets one synced line per commit, with a
//! checksum that covers the line before it. `accounts.json` holds the books after the last
//! interval, written aside and renamed. The log is the truth; the accounts file only saves reading
//! all of it. `ledger.end` records how far the log was written. A torn end beyond that is cut off;
//! damage anywhere else is an error.
//!
//! Every call locks the whole folder (`lock`), so that two processes on one machine see each
//! other's writes. Unsuitable for network file systems and for big clusters: a ledger query reads
//! the log from its beginning.

pub(crate) mod line;

use crate::record::{
    Batch, Epoch, GrantRecord, Head, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use crate::store::book::{Book, Writes};
use crate::store::error::{Refusal, StoreError};
use crate::store::mark::Mark;
use crate::store::sql::check_epoch;
use crate::store::{Commit, Store, private};
use line::{
    CHAINED, Record, VERSION, any_valid, chained, damaged, decode, encode, follow, is_page, read,
};
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

const MISSING: &str = "a line before it is missing, or was changed";
const CUT: &str = "the log ends before what was written to it";

/// The content of `accounts.json`.
#[derive(Serialize, Deserialize)]
struct Snapshot<B> {
    /// The offset in the log at which the books end.
    offset: u64,
    /// The number of lines up to that offset.
    lines: u64,
    /// The checksum of the last of these lines; version 2 had none.
    #[serde(default)]
    sum: u32,
    book: B,
}

/// A log, read to its end.
struct Log {
    file: File,
    inode: u64,
    end: u64,
    lines: u64,
    /// The checksum of the last line.
    sum: u32,
    book: Book,
}

pub(crate) struct FileStore {
    folder: PathBuf,
    /// Whether to create a missing store.
    create: bool,
    mark: Mark,
    log: Option<Log>,
}

impl FileStore {
    pub(crate) fn new(folder: &Path, create: bool) -> FileStore {
        FileStore {
            folder: folder.to_path_buf(),
            create,
            mark: Mark::at(folder.join("ledger.end")),
            log: None,
        }
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

    /// Runs `work` with the folder locked and the log read to its end.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut FileStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _held = self.lock()?;
        self.refresh()?;
        work(self)
    }

    /// Takes the lock. Dropping the file releases it, and so does killing the process.
    fn lock(&self) -> Result<File, StoreError> {
        if !self.create {
            private::check_there(&self.folder, &self.path())?;
        }
        let made = private::make_folder(&self.folder);
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

    /// Reads lines that others appended; reads everything if the file is not the known log.
    fn refresh(&mut self) -> Result<(), StoreError> {
        let known = self.log.take().filter(|log| {
            let now = fs::metadata(self.path());
            now.is_ok_and(|now| now.ino() == log.inode && now.len() >= log.end)
        });
        let log = match known {
            Some(log) => log,
            None => self.open()?,
        };
        self.log = Some(self.replay(log, true, |_| {})?);
        Ok(())
    }

    fn open(&self) -> Result<Log, StoreError> {
        let path = self.path();
        if !path.exists() {
            for beside in [&self.accounts_path(), self.mark.path()] {
                if beside.exists() {
                    let reason = format!("{} is there, but the log is not", beside.display());
                    return Err(damaged(&path, 1, &reason));
                }
            }
            let header = encode(&Record::Version(VERSION));
            self.put(&path, header.as_bytes())
                .map_err(|error| self.error(error))?;
        }
        let (log, version) = self.header()?;
        if version == VERSION {
            return self.skip(log);
        }
        self.upgrade(log, version >= CHAINED)?;
        Ok(self.header()?.0)
    }

    /// Reads the first line of the log and the version in it.
    fn header(&self) -> Result<(Log, u32), StoreError> {
        let path = self.path();
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let file = opened.map_err(|error| self.error(error))?;
        let inode = file.metadata().map_err(|error| self.error(error))?.ino();
        let mut header = Vec::new();
        let mut reader = BufReader::new(&file).take(64);
        let got = reader.read_until(b'\n', &mut header);
        got.map_err(|error| self.error(error))?;
        let line = read::<Record>(&header).filter(|line| line.before.is_none());
        let (sum, version) = match line.map(|line| (line.sum, line.value)) {
            Some((_, Record::Version(found))) if found > VERSION => {
                let known = VERSION;
                return Err(StoreError::Newer { found, known });
            }
            Some((sum, Record::Version(version))) => (sum, version),
            _ => return Err(damaged(&path, 1, "this is not a log of Heddle")),
        };
        let log = Log {
            file,
            inode,
            end: header.len() as u64,
            lines: 1,
            sum,
            book: Book::default(),
        };
        Ok((log, version))
    }

    /// Rewrites a log of an older version in the current version. Reads all of it first, so that
    /// damage does not get good checksums. `linked` is as in `replay`.
    fn upgrade(&self, log: Log, linked: bool) -> Result<(), StoreError> {
        let accounts = fs::read(self.accounts_path()).unwrap_or_default();
        let seen = decode::<Snapshot<Book>>(&accounts).map_or(0, |snapshot| snapshot.offset);
        let mut text = encode(&Record::Version(VERSION));
        let mut sum = read::<Record>(text.as_bytes()).map_or(0, |line| line.sum);
        let log = self.replay(log, linked, |record| {
            let (line, next) = chained(sum, record);
            text.push_str(&line);
            sum = next;
        })?;
        if seen > log.end {
            return Err(damaged(&self.path(), log.lines, CUT));
        }
        // The accounts file points into the old log. Without it, a crash leaves one log or the
        // other, whole.
        let gone = fs::remove_file(self.accounts_path());
        gone.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
        .and_then(|()| self.put(&self.path(), text.as_bytes()))
        .map_err(|error| self.error(error))
    }

    /// Jumps to the position in the log up to which the accounts file has the books. Ignores an
    /// unreadable accounts file.
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
            return Err(damaged(&self.path(), snapshot.lines, CUT));
        }
        log.end = snapshot.offset;
        log.lines = snapshot.lines;
        log.sum = snapshot.sum;
        log.book = snapshot.book;
        Ok(log)
    }

    /// Reads the log from the current position to its end, shows each record to `visit`, and cuts
    /// off a torn line at the end. Lines of a `linked` log name the line before them.
    fn replay(
        &self,
        mut log: Log,
        linked: bool,
        mut visit: impl FnMut(&Record),
    ) -> Result<Log, StoreError> {
        let wrong = |error| self.error(error);
        log.file.seek(SeekFrom::Start(log.end)).map_err(wrong)?;
        let mut reader = BufReader::new(&log.file);
        let mut line = Vec::new();
        let mut in_pages = false;
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(wrong)? == 0 {
                break;
            }
            let at = log.lines + 1;
            let Some(found) = read::<Record>(&line) else {
                reader.read_to_end(&mut line).map_err(wrong)?;
                self.check_torn(&log, &line)?;
                drop(reader);
                self.cut(&log, &line).map_err(wrong)?;
                break;
            };
            if found.before != linked.then_some(log.sum) {
                return Err(damaged(&self.path(), at, MISSING));
            }
            visit(&found.value);
            in_pages = matches!(found.value, Record::Page(_));
            follow(&mut log.book, found.value)
                .map_err(|error| damaged(&self.path(), at, &error.to_string()))?;
            log.end += line.len() as u64;
            log.lines = at;
            log.sum = found.sum;
        }
        if in_pages {
            return Err(damaged(&self.path(), log.lines, CUT));
        }
        log.book.check()?;
        let place = self.path().display().to_string();
        self.mark.check(&self.mark.read(), &log.book.head, &place)?;
        Ok(log)
    }

    /// Checks that bytes at the end of the log are the remains of a write that a crash cut short.
    fn check_torn(&self, log: &Log, torn: &[u8]) -> Result<(), StoreError> {
        let (path, line) = (self.path(), log.lines + 1);
        if any_valid(torn) {
            let reason = "the checksum does not fit, and good lines follow";
            return Err(damaged(&path, line, reason));
        }
        if is_page(torn) {
            return Err(damaged(
                &path,
                line,
                "a page of what was moved here breaks off",
            ));
        }
        let place = format!("{}, line {line}", path.display());
        self.mark.check(&self.mark.read(), &log.book.head, &place)
    }

    /// Cuts off the remains of a torn line, and keeps a copy of them.
    fn cut(&self, log: &Log, torn: &[u8]) -> io::Result<()> {
        let path = self.folder.join("ledger.torn");
        log::warn!(
            "{}: cut off {} bytes of a write that did not end; kept in {}",
            self.path().display(),
            torn.len(),
            path.display()
        );
        // A full disk may prevent the copy; those bytes were never committed.
        let _kept = self.put(&path, torn);
        log.file.set_len(log.end)?;
        log.file.sync_all()
    }

    /// Writes a file aside, syncs it, and renames it into place.
    fn put(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let aside = path.with_extension("new");
        let mut file = private::instead_of(path, &aside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Writes and syncs a log of these pages and books.
    fn write_aside(
        &self,
        aside: &Path,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError> {
        let wrong = |error| self.error(error);
        let file = private::instead_of(&self.path(), aside).map_err(wrong)?;
        let mut writer = io::BufWriter::new(file);
        let header = encode(&Record::Version(VERSION));
        let mut sum = read::<Record>(header.as_bytes()).map_or(0, |line| line.sum);
        writer.write_all(header.as_bytes()).map_err(wrong)?;
        let mut add = |record: &Record| {
            let (line, next) = chained(sum, record);
            sum = next;
            writer.write_all(line.as_bytes())
        };
        while let Some(page) = pages()? {
            add(&Record::Page(page)).map_err(wrong)?;
        }
        add(&Record::Book(Box::new(book.clone()))).map_err(wrong)?;
        let file = writer.into_inner().map_err(|e| self.error(e.into()))?;
        file.sync_all().map_err(wrong)
    }

    /// Appends a line and syncs it: that is the commit. After an error, cuts the log to its length
    /// before.
    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let log = self.log.as_mut().expect("it was refreshed under this lock");
        let (line, sum) = chained(log.sum, record);
        let end = log.end;
        let mut write = || {
            log.file.seek(SeekFrom::Start(end))?;
            log.file.write_all(line.as_bytes())?;
            log.file.sync_data()
        };
        if let Err(error) = write() {
            // If that fails too, the next reader cuts the line off or finds it whole.
            let _shortened = log.file.set_len(end).and_then(|()| log.file.sync_all());
            self.log = None;
            return Err(self.error(error));
        }
        log.end += line.len() as u64;
        log.lines += 1;
        log.sum = sum;
        Ok(())
    }

    /// Writes the accounts file. A failure only makes the next reading of the log slower.
    fn snapshot(&self) {
        let log = self.log.as_ref().expect("it was refreshed under this lock");
        let snapshot = Snapshot {
            offset: log.end,
            lines: log.lines,
            sum: log.sum,
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
            store.mark.set(&writes.head);
            if writes.interval.is_some() {
                store.snapshot();
            }
            Ok(Commit::Applied)
        })
    }

    /// Shows each record of the log to `visit` until it returns false. Holds the lock only to find
    /// the end of the log: lines before the end never change, and writers do not wait for readers.
    fn scan(&mut self, mut visit: impl FnMut(Record) -> bool) -> Result<(), StoreError> {
        let (file, end) = self.locked(|store| {
            let file = File::open(store.path()).map_err(|e| store.error(e))?;
            let log = store.log.as_ref();
            Ok((file, log.expect("it was refreshed under this lock").end))
        })?;
        let mut reader = BufReader::new(file.take(end));
        let (mut line, mut number, mut sum) = (Vec::new(), 0, None);
        loop {
            line.clear();
            let got = reader.read_until(b'\n', &mut line);
            if got.map_err(|e| self.error(e))? == 0 {
                return Ok(());
            }
            number += 1;
            let found = read(&line)
                .ok_or_else(|| damaged(&self.path(), number, "the checksum does not fit"))?;
            if found.before != sum {
                return Err(damaged(&self.path(), number, MISSING));
            }
            sum = Some(found.sum);
            if !visit(found.value) {
                return Ok(());
            }
        }
    }
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
            let head = store.book().head.clone();
            store.mark.set(&head);
            let files = [
                "lock",
                "ledger.log",
                "ledger.end",
                "accounts.json",
                "ledger.torn",
            ];
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
            let placed = store.write_aside(&aside, book, pages).and_then(|()| {
                let renamed = fs::rename(&aside, store.path());
                let placed = renamed.and_then(|()| File::open(&store.folder)?.sync_all());
                placed.map_err(|e| store.error(e))
            });
            store.log = None;
            if let Err(error) = placed {
                // It may be large, and the disk full because of it.
                let _gone = fs::remove_file(&aside);
                return Err(error);
            }
            store.mark.set(&book.head);
            Ok(())
        })
    }
}
