//! A connection on a thread of its own, so that whoever asks may stop waiting: the client library
//! waits for an answer for as long as the server's machine acknowledges what it was sent, which it
//! does also for a server that stands still. A thread that is given up ends when the server
//! answers, or the connection with it; until then it is one of a bounded number.

use crate::error::StoreError;
use postgres::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// So many sessions may be waited for in vain at a time, before no more are begun.
const SESSIONS_MAX: usize = 4;

type Work = Box<dyn FnOnce(&mut Client) + Send>;

/// What came of a question within the time for it.
pub(super) enum Answer<T> {
    Given(T),
    None,
}

/// A connection.
pub(super) struct Session {
    work: Sender<Work>,
}

/// Counts the sessions whose threads have not ended.
#[derive(Default)]
pub(super) struct Sessions {
    running: Arc<AtomicUsize>,
}

/// One of them.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sessions {
    /// Connects. Gives no session if there are too many that do not answer.
    pub(super) fn start(
        &self,
        connect: impl FnOnce() -> Result<Client, StoreError> + Send + 'static,
        patience: Duration,
    ) -> Result<Answer<Result<Session, StoreError>>, String> {
        let running = self.running.fetch_add(1, Ordering::SeqCst);
        let running = (Running(Arc::clone(&self.running)), running);
        let (running, others) = running;
        if others >= SESSIONS_MAX {
            return Err(format!("{others} connections are without an answer"));
        }
        let (work, tasks) = channel::<Work>();
        let (connected, told) = channel();
        let body = move || {
            let _running = running;
            match connect() {
                Ok(mut client) => {
                    let _given_up = connected.send(Ok(()));
                    for task in tasks {
                        task(&mut client);
                    }
                }
                Err(error) => {
                    let _given_up = connected.send(Err(error));
                }
            }
        };
        let name = "heddle-postgres".to_string();
        let started = thread::Builder::new().name(name).spawn(body);
        started.map_err(|error| format!("no thread to connect with: {error}"))?;
        match told.recv_timeout(patience) {
            Ok(connected) => Ok(Answer::Given(connected.map(|()| Session { work }))),
            Err(RecvTimeoutError::Timeout) => Ok(Answer::None),
            Err(RecvTimeoutError::Disconnected) => Err("connecting failed; see the log".into()),
        }
    }
}

impl Session {
    /// What `work` gives, unless that takes longer than `patience`: then it is unknown what has
    /// become of it, and the session is to be dropped.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Client) -> T + Send + 'static,
        patience: Duration,
    ) -> Answer<T> {
        let (answer, told) = channel();
        let work = move |client: &mut Client| {
            let _given_up = answer.send(work(client));
        };
        if self.work.send(Box::new(work)).is_err() {
            return Answer::None;
        }
        told.recv_timeout(patience)
            .map_or(Answer::None, Answer::Given)
    }

    /// Whether the server or the network has ended it.
    pub(super) fn is_closed(&self) -> bool {
        let patience = Duration::from_secs(1);
        !matches!(
            self.ask(|client| client.is_closed(), patience),
            Answer::Given(false)
        )
    }
}
