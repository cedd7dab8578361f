//! Tests with servers that accept connections and stay silent, at once or after a greeting.

use super::session::Sessions;
use super::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The messages "authenticated" and "ready" of the protocol (types R and Z).
const READY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// Starts a server that greets or not, then only reads; counts its connections.
fn silent_server(greets: bool) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&count);
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            theirs.fetch_add(1, Ordering::SeqCst);
            if greets {
                let _first = stream.read(&mut [0; 1024]);
                stream.write_all(READY).unwrap();
            }
            kept.push(stream);
        }
    });
    (port, count)
}

fn at(port: u16) -> Postgres {
    let url = format!("postgres://heddle@127.0.0.1:{port}/x?sslmode=disable");
    let mut postgres = Postgres::new(&url, None, true).unwrap();
    postgres.silence = Duration::from_millis(200);
    postgres.statement_silence = Duration::from_millis(200);
    postgres
}

/// Each attempt fails in time, and the number of connections stays bounded.
#[test]
fn a_server_that_accepts_and_stays_silent_is_out_of_reach() {
    for greets in [false, true] {
        let (port, count) = silent_server(greets);
        let mut postgres = at(port);
        for attempt in 0..12 {
            let began = Instant::now();
            let error = postgres.begin(true).unwrap_err();
            assert!(
                matches!(error, StoreError::Unavailable(_)),
                "{attempt}: {error}"
            );
            assert!(began.elapsed() < Duration::from_secs(60), "{attempt}");
        }
        let connections = count.load(Ordering::SeqCst);
        assert!((1..=4).contains(&connections), "{connections} connections");
    }
}

/// Falls silent in the middle of a transaction.
#[test]
fn a_server_that_falls_silent_is_out_of_reach() {
    let (port, _) = silent_server(true);
    let mut postgres = at(port);
    let config = postgres.server.config.clone();
    let connect = move || Ok(config.connect(NoTls).expect("it greets"));
    let begun = Sessions::default().start(connect, Duration::from_secs(60));
    let Ok(Answer::Given(Ok(session))) = begun else {
        panic!("it greets");
    };
    postgres.session = Some(session);
    let error = postgres.commit().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    // The transaction ended with the connection: a later statement cannot write any of it.
    let error = postgres.execute("SELECT 1", &[]).unwrap_err();
    assert!(
        error.to_string().contains("lost in a transaction"),
        "{error}"
    );
}

#[test]
fn no_message_shows_a_password() {
    for url in [
        "postgres://u:geheim@h:nonsense/x",
        "postgres://u:ge@geheim@h:nonsense/x",
        "postgres://u:geheim/x:y@h:z",
        "postgres://h:nonsense/x?password=geheim",
        "postgres://h/x?password=a@geheim&port=b",
        "postgres://h/x?password=a&geheim=b",
        "postgres://u:%ffgeheim@h/x",
        "postgres://u:geheim@h/x",
        "postgres://h/x?password=a@geheim",
        "postgres://h/x?password=geheim",
        "postgres:host=h password=geheim",
        "postgresql:password='geheim",
    ] {
        let error = Postgres::new(url, None, true).err().expect(url);
        assert!(!error.contains("geheim"), "{url}: {error}");
        assert!(error.len() > 10, "{url}: {error}");
    }
    let error = Postgres::new("postgres://u@h:nonsense/x", None, true)
        .err()
        .unwrap();
    assert!(error.contains("port"), "{error}");
}
