//! Submitted jobs: checks the signature (DP-39), and returns the bounds of the job's spending. Runs
//! on the scheduling thread, so it waits for no disk. The engine enforces the bounds.

use crate::auth::Refusal;
use crate::auth::audit::Record;
use crate::auth::job::{self, Bounds, Submission};
use crate::auth::replay::Watermarks;
use crate::auth::time::Now;
use crate::http::Api;
use crate::http::caller::{Identity, write};
use std::collections::BTreeMap;

/// A submitted job.
#[derive(Clone, Copy, Debug)]
pub struct JobSubmission<'a> {
    /// User, queue and name of the job.
    pub job: Submission<'a>,
    /// Variables of its ApplicationMaster's environment.
    pub environment: &'a BTreeMap<String, String>,
    /// Whether the job was accepted before, by this ResourceManager or another.
    pub recovering: bool,
}

impl JobSubmission<'_> {
    fn value(&self, parameter: &str) -> Option<String> {
        let value = self.environment.get(&job::variable(parameter))?;
        job::carried(value).map(str::to_string)
    }
}

/// An accepted job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acceptance {
    /// The bounds of its spending; `None`: the queue's budget.
    pub bounds: Option<Bounds>,
    /// The watermarks of its signature.
    pub added: Watermarks,
}

impl Api {
    /// Checks whether a job is accepted. A recovered one always is, because it runs.
    ///
    /// # Errors
    ///
    /// The reason, for its user.
    pub fn submit(&self, submitted: &JobSubmission<'_>, now: Now) -> Result<Acceptance, Refusal> {
        if submitted.recovering {
            return Ok(self.recover(submitted));
        }
        let job = &submitted.job;
        let value = |parameter: &str| submitted.value(parameter);
        // The scheduler does not know the client's address.
        let outcome = self.gate.lock().submit(job, value, None, now);
        match outcome {
            Ok(accepted) => {
                let taken = Acceptance {
                    bounds: accepted
                        .authority
                        .as_ref()
                        .map(|authority| authority.bounds),
                    added: accepted.added.clone(),
                };
                audit(job, &Identity::Signed(accepted), now, Ok(()));
                Ok(taken)
            }
            Err(refused)
                if refused.why == Refusal::Unsigned && !self.settings.require_signed_jobs =>
            {
                Ok(Acceptance::default())
            }
            Err(refused) => {
                let who = Identity::Claimed(job.user.to_string());
                audit(job, &who, now, Err(&refused.why));
                Err(refused.why)
            }
        }
    }

    /// Keeps the bounds of a running job. If they can no longer be proven, it may not spend at all.
    /// That happens after a change of the user's secret or of the job's queue.
    fn recover(&self, submitted: &JobSubmission<'_>) -> Acceptance {
        let value = |parameter: &str| submitted.value(parameter);
        let mut gate = self.gate.lock();
        match gate.prove_again(&submitted.job, value) {
            Ok(None) | Err(Refusal::Unsigned) => Acceptance::default(),
            Ok(Some(authority)) => Acceptance {
                bounds: Some(authority.bounds),
                added: gate.recover(&authority),
            },
            Err(why) => {
                log::warn!(
                    "a job of user {:?} goes on, but spends nothing of queue {:?}: {why}",
                    submitted.job.user,
                    submitted.job.queue
                );
                Acceptance {
                    bounds: Some(Bounds::NOTHING),
                    ..Acceptance::default()
                }
            }
        }
    }
}

fn audit(job: &Submission<'_>, who: &Identity, now: Now, outcome: Result<(), &Refusal>) {
    let record = Record {
        at_ms: now.wall_ms,
        address: None,
        who: who.who(),
        action: "submit",
        queue: Some(job.queue),
        outcome,
    };
    write(&record);
}
