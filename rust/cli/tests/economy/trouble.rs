//! Tests everything that may be wrong: secrets, addresses, servers. Each has its own exit code and
//! says what to do.

use crate::site::{Site, failed, file, heddle};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Output;
use std::time::{Duration, Instant};

/// Starts a server that reads a request and answers these bytes, or hangs for ever.
pub(crate) fn answering(answer: Option<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            std::thread::spawn(move || answer_one(stream, answer));
        }
    });
    url
}

/// Reads to the end: closing with unread input would discard the answer.
fn answer_one(mut stream: TcpStream, answer: Option<&'static [u8]>) {
    let mut bytes = [0; 4096];
    let _ = stream.read(&mut bytes);
    if let Some(answer) = answer {
        let _ = stream.write_all(answer);
        let _ = stream.shutdown(Shutdown::Write);
    }
    while let Ok(1..) = stream.read(&mut bytes) {}
}

/// Starts a server that gives each connection the next answer, and repeats the last.
pub(crate) fn answering_in_turn(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    std::thread::spawn(move || {
        let last = answers.last().cloned();
        let mut answers = answers.into_iter();
        for stream in listener.incoming() {
            let answer = answers.next().or_else(|| last.clone()).expect("an answer");
            let answer: &'static [u8] = Box::leak(answer.into_bytes().into_boxed_slice());
            answer_one(stream.expect("a connection"), Some(answer));
        }
    });
    url
}

/// Starts a server whose answer never ends, a blank at a time.
fn dripping() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let mut stream = stream.expect("a connection");
                let _ = stream.read(&mut [0; 4096]);
                let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                let mut sent = stream.write_all(head);
                while sent.is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                    sent = stream.write_all(b"1\r\n \r\n");
                }
            });
        }
    });
    url
}

/// The limit is on the whole answer: each part of it arrives soon enough.
#[test]
fn an_answer_that_drips_is_given_up() {
    let url = dripping();
    let start = Instant::now();
    for command in [
        &["infos"][..],
        &["bid", "alice", "1"],
        &["top", "--once"],
        &["ledger"],
    ] {
        let limit = ["--url", &url, "--timeout", "400ms"];
        let mut command = heddle(&[command, &limit].concat());
        command
            .env("HEDDLE_USER", "alice")
            .env("HEDDLE_SECRET", "s");
        let refused = failed(3, &command.output().expect("it starts"));
        assert!(refused.contains("no answer within 400ms"), "{refused}");
    }
    // It would go on for ever.
    assert!(start.elapsed() < Duration::from_secs(60));
}

fn price(url: &str) -> Output {
    heddle(&["price", "--url", url, "--timeout", "2s"])
        .output()
        .expect("it starts")
}

#[test]
fn a_wrong_secret_is_refused_and_never_shown() {
    let site = Site::market();
    let path = file(&site.path("wrong"), "not-the-secret-of-anybody\n", 0o600);
    let path = path.display().to_string();
    let refused = site.refused(1, "alice", &["infos", "--secret-file", &path]);
    assert!(
        refused.contains("ACCESS DENIED: unknown user, or not the signature"),
        "{refused}"
    );
    assert!(
        refused.contains("where: header `Authorization`, GET http://127"),
        "{refused}"
    );
    assert!(refused.contains("the right secret"), "{refused}");
    assert!(!refused.contains("not-the-secret"), "{refused}");
    site.refused(1, "mallory", &["infos", "--secret-file", &path]);
}

/// A script must not consider a change stored that a kill would lose.
#[test]
fn a_change_that_is_not_written_down_has_an_exit_code_of_its_own() {
    let answer: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
        Heddle-Stored: later\r\nContent-Length: 37\r\nConnection: close\r\n\r\n\
        {\"queue\":\"root.alice\",\"account\":null}";
    let url = answering(Some(answer));
    for change in [
        ["bid", "alice", "0.5"].as_slice(),
        &["budget", "alice", "+1"],
        &["queue", "add", "alice"],
    ] {
        let who = ["--url", &url, "--user", "root", "--timeout", "5s"];
        let output = heddle(&[change, &who].concat())
            .env("HEDDLE_SECRET", "roots-secret-of-32-bytes-length0")
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not stored yet"), "{said}");
        assert!(!output.stdout.is_empty(), "what was done is shown as well");
    }
}

#[test]
fn a_secret_comes_from_a_file_or_the_environment() {
    let site = Site::market();
    let run = |secret: &str| {
        let mut command = heddle(&["infos", "--url", &site.url(), "--user", "alice"]);
        command
            .env("HEDDLE_SECRET", secret)
            .output()
            .expect("it starts")
    };
    assert_eq!(
        run("alices-secret-of-32-bytes-length").status.code(),
        Some(0)
    );
    failed(1, &run("alices-secret-of-32-bytes-lengtH"));
    for none in ["", "two words"] {
        let refused = failed(2, &run(none));
        assert!(refused.contains("that is no secret"), "{refused}");
    }
    let none = heddle(&["infos", "--url", &site.url(), "--user", "alice"]).output();
    let refused = failed(2, &none.expect("it starts"));
    assert!(
        refused.contains("--secret-file FILE, or HEDDLE_SECRET"),
        "{refused}"
    );
    let nobody = heddle(&["infos", "--url", &site.url()])
        .output()
        .expect("it starts");
    assert!(failed(2, &nobody).contains("--user NAME, or HEDDLE_USER"));
    // There is no argument for a secret.
    let argument = heddle(&["infos", "--secret", "s"])
        .output()
        .expect("it starts");
    failed(2, &argument);
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    let site = Site::market();
    let before = site.heard().len();
    let secret = "alices-secret-of-32-bytes-length\n";
    for mode in [0o644, 0o640, 0o604, 0o660, 0o606, 0o610, 0o601] {
        let path = file(&site.path("open"), secret, mode).display().to_string();
        let refused = site.refused(2, "alice", &["infos", "--secret-file", &path]);
        assert!(
            refused.contains(&format!("its mode {mode:04o}")),
            "{refused}"
        );
        assert!(refused.contains("chmod 600"), "{refused}");
    }
    for mode in [0o600, 0o400] {
        let path = file(&site.path("closed"), secret, mode)
            .display()
            .to_string();
        site.said("alice", &["infos", "--secret-file", &path]);
        std::fs::remove_file(path).expect("it is ours");
    }
    let folder = site.folder.path().display().to_string();
    let refused = site.refused(2, "alice", &["infos", "--secret-file", &folder]);
    assert!(
        refused.contains("that is neither a file nor a pipe"),
        "{refused}"
    );
    let refused = site.refused(2, "alice", &["infos", "--secret-file", "/nowhere/at/all"]);
    assert!(refused.contains("/nowhere/at/all"), "{refused}");
    // An ACL file, by mistake: its line is not the secret.
    let acl = site.path("acl").display().to_string();
    let refused = site.refused(2, "alice", &["infos", "--secret-file", &acl]);
    assert!(refused.contains("the secret alone"), "{refused}");
    let long = file(&site.path("long"), &"x".repeat(5_000), 0o600)
        .display()
        .to_string();
    site.refused(2, "alice", &["infos", "--secret-file", &long]);
    assert_eq!(site.heard().len(), before + 2);
}

#[test]
fn a_server_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    drop(listener);
    let refused = failed(3, &price(&url));
    assert!(
        refused.contains("not reachable") && refused.contains(&url),
        "{refused}"
    );
    assert!(refused.contains("--url or HEDDLE_URL"), "{refused}");
    let refused = failed(3, &price("http://no-such-host.invalid:8088"));
    assert!(refused.contains("no-such-host.invalid"), "{refused}");
}

#[test]
fn addresses_that_are_none() {
    let refused = failed(2, &price("https://localhost:8090"));
    assert!(refused.contains("tunnel"), "{refused}");
    for url in [
        "localhost:8088",
        "",
        "http://",
        "file:///etc/passwd",
        "http://u:p@localhost",
    ] {
        failed(2, &price(url));
    }
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let url = answering(None);
    let start = Instant::now();
    let hanging = heddle(&["price", "--url", &url, "--timeout", "300ms"]).output();
    let refused = failed(3, &hanging.expect("it starts"));
    assert!(refused.contains("no answer within 300ms"), "{refused}");
    // Without the limit it would wait for ever.
    assert!(start.elapsed() < Duration::from_secs(60));
    // The same after the head, and within the body.
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"[..],
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"pri"[..],
    ] {
        let refused = failed(3, &price(&answering(Some(answer))));
        assert!(refused.contains("/heddle/v1/price"), "{refused}");
    }
}

#[test]
fn a_change_that_got_no_answer_may_have_been_made() {
    let url = answering(None);
    let mut command = heddle(&["bid", "alice", "1", "--url", &url, "--timeout", "300ms"]);
    let output = command
        .env("HEDDLE_USER", "alice")
        .env("HEDDLE_SECRET", "s")
        .output();
    let refused = failed(3, &output.expect("it starts"));
    assert!(
        refused.contains("whether it was done is not known"),
        "{refused}"
    );
}

#[test]
fn a_server_that_answers_garbage() {
    let answers: [&[u8]; 9] = [
        b"\x00\xff\xfe garbage \x1b[2J\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xff",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\n<html></html>",
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 307 See\r\nLocation: http://rm2:8088/\x1b[2J\r\nContent-Length: 0\r\n\r\n",
    ];
    for answer in answers {
        let refused = failed(3, &price(&answering(Some(answer))));
        assert!(refused.starts_with("heddle: "), "{refused}");
        assert!(refused.contains("expected: "), "{refused}");
        let odd = refused.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(odd, None, "{refused:?}");
    }
    let standby = b"HTTP/1.1 307 See\r\nLocation: http://rm2:8088/heddle\r\n\
                    Content-Length: 0\r\n\r\n";
    let refused = failed(3, &price(&answering(Some(standby))));
    assert!(
        refused.contains("points to http://rm2:8088/heddle"),
        "{refused}"
    );
}

#[test]
fn too_early_is_not_refused() {
    let body = br#"{"error":{"what":"no engine","where":"engine","expected":"try again"}}"#;
    let answer: &'static [u8] = Box::leak(
        [&b"HTTP/1.1 503 No\r\nContent-Length: 70\r\n\r\n"[..], body]
            .concat()
            .into_boxed_slice(),
    );
    assert_eq!(body.len(), 70);
    let refused = failed(3, &price(&answering(Some(answer))));
    assert!(
        refused.contains("no engine") && refused.contains("try again"),
        "{refused}"
    );
}
