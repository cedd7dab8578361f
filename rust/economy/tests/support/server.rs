//! A PostgreSQL server for one test. Its files are in a temporary folder, its port is a free one on
//! the loopback address. It runs as a user other than root and is ended by its process id.

// Each test program uses a part of this.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const PASSWORD: &str = "not a secret";
const USER: &str = "heddle";
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Server {
    folder: TempDir,
    binaries: PathBuf,
    port: u16,
    process: Child,
    databases: u32,
}

/// Finds the newest installed version.
fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let folders = versions.flatten().map(|version| version.path());
    let version = |path: &Path| -> u32 {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    let found = folders
        .filter(|folder| folder.join("bin/initdb").exists())
        .max_by_key(|folder| version(folder));
    let missing = "no PostgreSQL server in /usr/lib/postgresql: on Debian, \
                   apt-get install postgresql";
    found.expect(missing).join("bin")
}

/// Returns a command that does not run as root, which the server refuses, and that ends with the
/// test.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.arg("--").arg(program).stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.expect("id is part of every system").stdout == b"0\n"
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (told, wrong) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8_lossy(told);
    assert!(output.status.success(), "{command:?}: {told}{wrong}");
}

fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
    probe.local_addr().expect("it is bound").port()
}

impl Server {
    pub fn start() -> Server {
        let binaries = binaries();
        let folder = tempfile::tempdir().expect("a folder for the server");
        let password = folder.path().join("password");
        let mut file = fs::File::create(&password).expect("the folder is new");
        file.write_all(PASSWORD.as_bytes()).expect("a few bytes");
        if is_root() {
            run(Command::new("chown")
                .args(["-R", "postgres:"])
                .arg(folder.path()));
        }
        run(unprivileged(&binaries.join("initdb"))
            .args([
                "--no-sync",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
            ])
            .args(["-U", USER, "--pwfile"])
            .arg(&password)
            .arg("-D")
            .arg(folder.path().join("data")));
        let port = free_port();
        let process = Server::process(&binaries, folder.path(), port);
        let databases = 0;
        let mut server = Server {
            folder,
            binaries,
            port,
            process,
            databases,
        };
        server.wait(true);
        server
    }

    fn process(binaries: &Path, folder: &Path, port: u16) -> Child {
        let mut options = fs::OpenOptions::new();
        let log = options.create(true).append(true).open(folder.join("log"));
        let log = log.expect("the folder is ours");
        unprivileged(&binaries.join("postgres"))
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-p", &port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories="])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("setpriv is part of Debian")
    }

    /// Waits until the server answers; restarts it while the remains of a killed one are in its
    /// way. Gives a `new` server another port at each restart: a connection of another test may
    /// have taken the first, and no client has it yet.
    fn wait(&mut self, new: bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            // First: another test's server may answer at a port that ours did not get.
            if self.process.try_wait().expect("it is our child").is_some() {
                if new {
                    self.port = free_port();
                }
                self.process = Server::process(&self.binaries, self.folder.path(), self.port);
            }
            let ready = Command::new(self.binaries.join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status();
            if ready.expect("it comes with the server").success() {
                return;
            }
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(
                Instant::now() < until,
                "the server does not start: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a signal to the main process.
    pub fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.expect("kill is part of every system").success());
    }

    /// Kills the server without a chance to finish its work.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is our child");
        self.process.wait().expect("it was killed");
    }

    /// Restarts the server on the same files and port.
    pub fn restart(&mut self) {
        self.process = Server::process(&self.binaries, self.folder.path(), self.port);
        self.wait(false);
    }

    /// Creates a database and returns its place.
    pub fn place(&mut self) -> String {
        self.databases += 1;
        let name = format!("db{}", self.databases);
        let mut client = self.client("postgres");
        let sql = format!("CREATE DATABASE {name}");
        client.batch_execute(&sql).expect("it may make databases");
        format!("postgres://{USER}@127.0.0.1:{}/{name}", self.port)
    }

    /// Connects directly, without the store.
    pub fn client(&self, database: &str) -> postgres::Client {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(self.port).dbname(database);
        config.user(USER).password(PASSWORD);
        config.connect(postgres::NoTls).expect("the server answers")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A polite signal, so that the server frees its shared memory.
        let id = self.process.id().to_string();
        let asked = Command::new("kill").args(["-INT", &id]).status();
        let until = Instant::now() + Duration::from_secs(10);
        while asked.is_ok() && Instant::now() < until {
            if matches!(self.process.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _over = self.process.kill();
        let _over = self.process.wait();
    }
}
