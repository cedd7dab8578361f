//! Kills the writing process, or the database server, at random moments. After each kill the books
//! add up, ticks have neither gaps nor doubles, and no confirmed commit is lost. A failure names
//! its seed; `HEDDLE_STORE_SEED` repeats the choices, not the timing.

// Clippy does not treat helpers of tests as tests.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

use crate::support::economy::Economy;
use crate::support::server::Server;
use crate::support::{check_conservation, seed, store_at, token};
use heddle_economy::store::{Commit, Options, State, StoreError, Writer};
use oorandom::Rand64;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 25;
const PLACE: &str = "HEDDLE_STORE_CHILD_PLACE";

/// Runs in a child process that the tests start and kill. Commits until it cannot, and reports the
/// beginning and the confirmation of each commit.
#[test]
#[ignore = "started by the other tests, as a process to be killed"]
fn child_that_commits() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let mut store = store_at(&place);
    let epoch = store
        .take_over("child", token())
        .expect("nothing is in its way");
    let mut economy = Economy::after(&store.load().expect("it was just reached"), seed());
    println!("\nbegun {}", economy.tick);
    loop {
        if economy.below(3) == 0 {
            let batch = economy.batch();
            match store.commit_changes(epoch, &batch) {
                Ok(done) => assert_eq!(done, Commit::Applied),
                Err(error) => return give_up(&error),
            }
            println!("serial {}", batch.serial);
        }
        let interval = economy.interval();
        match store.commit_interval(epoch, &interval) {
            Ok(done) => assert_eq!(done, Commit::Applied),
            Err(error) => return give_up(&error),
        }
        println!("tick {}", interval.tick);
    }
}

fn give_up(error: &StoreError) {
    println!("error {error}");
}

/// A process that dies with the test, even if the test fails or the process was stopped.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _over_anyway = self.0.kill();
        let _over_anyway = self.0.wait();
    }
}

/// Starts the child, optionally with a limit of file size in blocks of 512 bytes, like a full disk.
fn start(place: &str, seed: u64, blocks: Option<u64>) -> Victim {
    let program = std::env::current_exe().expect("we are a program");
    let mut command = match blocks {
        None => Command::new(program),
        Some(blocks) => {
            // At the limit a write gives an error instead of a signal.
            let mut shell = Command::new("sh");
            let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
            shell.arg("-c").arg(script).arg(program);
            shell
        }
    };
    let child = command
        .args([
            "--ignored",
            "--exact",
            "crash::child_that_commits",
            "--nocapture",
        ])
        .env(PLACE, place)
        .env("HEDDLE_STORE_SEED", seed.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    Victim(child.expect("we can be started once more"))
}

/// The child's last report.
#[derive(Default, Debug)]
struct Said {
    tick: u64,
    serial: u64,
    commits: u32,
    error: Option<String>,
}

/// Reads reports to the end; kills the child `pause` after its first confirmed commit.
fn listen(Victim(child): &mut Victim, pause: Option<Duration>) -> Said {
    let output = child.stdout.take().expect("it is a pipe");
    let mut said = Said::default();
    for line in BufReader::new(output).lines() {
        let line = line.expect("our own words");
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let number = || rest.parse().expect("a number");
        match word {
            // The tick found at the start, which may exceed the previous child's last report.
            "begun" => {
                said.tick = number();
                continue;
            }
            "tick" => said.tick = number(),
            "serial" => said.serial = number(),
            "error" => said.error = Some(rest.to_string()),
            _ => continue,
        }
        said.commits += 1;
        if let Some(pause) = pause.filter(|_| said.commits == 1) {
            std::thread::sleep(pause);
            child.kill().expect("it is our child");
        }
    }
    child.wait().expect("it has ended");
    said
}

/// Kills a writer repeatedly.
fn kill_in_a_loop(place: &str) {
    let seed = seed();
    let mut random = Rand64::new(u128::from(seed));
    let mut last = 0;
    let mut commits = 0;
    for round in 0..ROUNDS {
        let pause = Duration::from_micros(random.rand_range(0..60_000));
        let note = format!("{place}, HEDDLE_STORE_SEED={seed}, round {round}, {pause:?}");
        let mut child = start(place, seed + u64::from(round), None);
        let said = listen(&mut child, Some(pause));
        assert!(said.commits > 0, "{note}: it never committed: {said:?}");
        assert_eq!(said.error, None, "{note}");
        commits += said.commits;
        let mut store = store_at(place);
        // As at a failover: a take-over waits until the server has finished the dead process's
        // work.
        store.take_over("rm2", token()).expect(&note);
        let tick = check_conservation(store.as_mut(), &note);
        assert!(
            tick >= said.tick.max(last),
            "{note}: {said:?}, found {tick}"
        );
        // The commit in progress may have arrived; no more than that.
        let most = said.tick.max(last) + 1;
        assert!(tick <= most, "{note}: {said:?}, found {tick}");
        let serial = store.load().expect(&note).head.serial;
        assert!(serial >= said.serial, "{note}: {said:?}, found {serial}");
        last = tick;
    }
    eprintln!("{place}: killed {ROUNDS} times, {commits} commits confirmed, {last} intervals");
}

#[test]
fn sqlite_survives_kill_9_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    kill_in_a_loop(&format!("sqlite:{}/store.db", folder.path().display()));
}

#[test]
fn files_survive_kill_9_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    kill_in_a_loop(&format!("file:{}/store", folder.path().display()));
}

#[test]
fn postgres_survives_kill_9_of_its_client_at_any_moment() {
    let mut server = Server::start();
    kill_in_a_loop(&server.place());
}

/// Simulates a ResourceManager that pauses for long, as in a garbage collection, and then continues
/// as if it were still active.
#[test]
fn postgres_keeps_out_a_former_writer_that_was_only_asleep() {
    let seed = seed();
    let mut random = Rand64::new(u128::from(seed));
    let mut server = Server::start();
    let place = server.place();
    for round in 0..3 {
        let note = format!("HEDDLE_STORE_SEED={seed}, round {round}");
        let mut child = start(&place, seed + round, None);
        let mut reader = BufReader::new(child.0.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        while !line.starts_with("tick") {
            line.clear();
            assert!(
                reader.read_line(&mut line).expect("our own words") > 0,
                "{note}"
            );
        }
        std::thread::sleep(Duration::from_micros(random.rand_range(0..30_000)));
        signal(&child, "STOP");
        // It may hold the lock: the server then ends its session.
        let mut store = store_at(&place);
        let epoch = until(&note, || store.take_over("rm2", token()).ok());
        let mut economy = Economy::after(&store.load().expect(&note), seed);
        for _ in 0..3 {
            let done = store.commit_interval(epoch, &economy.interval());
            assert_eq!(done, Ok(Commit::Applied), "{note}");
        }
        signal(&child, "CONT");
        let said: Vec<String> = reader.lines().map_while(Result::ok).collect();
        child.0.wait().expect("it has ended");
        let error = said.iter().find(|line| line.starts_with("error"));
        let error = error.unwrap_or_else(|| panic!("{note}: it was not refused: {said:?}"));
        let refused = error.contains("fenced") || error.contains("unavailable");
        assert!(refused, "{note}: {error}");
        let tick = check_conservation(store.as_mut(), &note);
        assert_eq!(tick, economy.tick, "{note}: nothing was written after us");
        eprintln!("{note}: {error}");
    }
}

fn signal(Victim(child): &Victim, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &id])
        .status();
    assert!(sent.expect("kill is part of every system").success());
}

/// Fills the disk until nothing more fits; then lifts the limit and continues.
fn fill_the_disk(place: &str) {
    let seed = seed();
    let mut random = Rand64::new(u128::from(seed));
    let mut last = 0;
    for round in 0..6 {
        let blocks = 200 + round * 150 + random.rand_range(0..40);
        let note = format!("{place}, HEDDLE_STORE_SEED={seed}, {blocks} blocks");
        let mut child = start(place, seed + round, Some(blocks));
        let said = listen(&mut child, None);
        let error = said.error.clone().unwrap_or_default();
        assert!(error.contains("unavailable"), "{note}: {said:?}");
        let tick = check_conservation(store_at(place).as_mut(), &note);
        assert!(
            tick >= said.tick.max(last),
            "{note}: {said:?}, found {tick}"
        );
        assert!(
            tick <= said.tick.max(last) + 1,
            "{note}: {said:?}, found {tick}"
        );
        last = tick;
    }
    assert!(
        last > 6,
        "the limits were so low that nothing was committed"
    );
    let mut child = start(place, seed, None);
    let said = listen(&mut child, Some(Duration::ZERO));
    assert_eq!(said.error, None, "with room again it goes on");
}

#[test]
fn a_full_disk_loses_nothing_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    fill_the_disk(&format!("sqlite:{}/store.db", folder.path().display()));
}

#[test]
fn a_full_disk_loses_nothing_files() {
    let folder = tempfile::tempdir().unwrap();
    fill_the_disk(&format!("file:{}/store", folder.path().display()));
}

/// Kills the server in the middle of its work and restarts it while the scheduler continues: each
/// interval is there once.
#[test]
fn postgres_killed_in_mid_run_loses_and_doubles_nothing() {
    let seed = seed();
    let note = format!("HEDDLE_STORE_SEED={seed}");
    let mut server = Server::start();
    let place = server.place();
    let mut random = Rand64::new(u128::from(seed));
    let options = Options {
        items_max: 40,
        retry: Duration::from_millis(10),
        retry_max: Duration::from_millis(100),
        ..Options::default()
    };
    let writer = Writer::start(store_at(&place), "rm1", token(), options);
    let (_, book) = until(&note, || writer.opened());
    let mut economy = Economy::after(&book, seed);
    for changes in [economy.changes(), economy.changes(), economy.changes()] {
        let receipt = writer.changes(0, changes).expect("it is open");
        assert_eq!(receipt.wait(Duration::from_secs(60)), Some(Ok(())));
    }
    for round in 0..6 {
        for _ in 0..random.rand_range(0..20) {
            writer.interval(economy.interval()).expect("there is room");
        }
        std::thread::sleep(Duration::from_micros(random.rand_range(0..30_000)));
        server.kill();
        for _ in 0..random.rand_range(1..80) {
            writer.interval(economy.interval()).expect("there is room");
        }
        // The backend process of this session outlives the server until it is idle, and may write
        // all intervals. Only a new interval reveals that the server is gone.
        until(&note, || {
            if writer.status().behind == 0 {
                writer.interval(economy.interval()).expect("there is room");
            }
            matches!(writer.status().state, State::Unreachable { .. }).then_some(())
        });
        assert!(writer.status().behind > 0, "{note}: {:?}", writer.status());
        server.restart();
        until(&note, || (writer.status().behind == 0).then_some(()));
        assert_eq!(writer.status().state, State::Connected, "{note}");
        let tick = check_conservation(store_at(&place).as_mut(), &format!("{note}, {round}"));
        assert_eq!(tick, economy.tick, "{note}, round {round}");
    }
    let merged = writer.status().merged;
    eprintln!("{} intervals, merged {merged} times", economy.tick);
}

/// Waits for an expected state.
fn until<T>(note: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(value) = get() {
            return value;
        }
        assert!(Instant::now() < end, "{note}: it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}
