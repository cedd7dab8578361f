//! A connection on its own thread, so that a caller can stop waiting. The client library waits for
//! an answer as long as the server's machine acknowledges packets, which it does even when the
//! server process hangs. An abandoned thread ends when the server answers or the connection breaks.
//! Until then it counts towards `SESSIONS_MAX`.

use crate::store::error::StoreError;
use postgres::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Limit of running sessions, abandoned ones included; beyond it no new one starts.
const SESSIONS_MAX: usize = 4;

type Work = Box<dyn FnOnce(&mut Client) + Send>;

/// The answer to a question, or a timeout.
pub(super) enum Answer<T> {
    Given(T),
    None,
}

/// A connection on its own thread.
pub(super) struct Session {
    work: Sender<Work>,
}

/// Counts the sessions whose threads have not ended.
#[derive(Default)]
pub(super) struct Sessions {
    running: Arc<AtomicUsize>,
}

/// Counts one session until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sessions {
    /// Connects. Fails if the threads of `SESSIONS_MAX` sessions have not ended.
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
    /// Returns the result of `work`, or no answer after `patience`. Then the outcome is unknown,
    /// and the caller must drop the session.
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

    /// Tells whether the server or the network has closed the session.
    pub(super) fn is_closed(&self) -> bool {
        let patience = Duration::from_secs(1);
        !matches!(
            self.ask(|client| client.is_closed(), patience),
            Answer::Given(false)
        )
    }
}
