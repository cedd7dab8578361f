//! Identifies the sender of a request, checks permissions, and writes the audit line. The sender is
//! proven by the gate, or found by the ResourceManager's web authentication. `auth` checks
//! signatures and roles.

use crate::auth::Refusal;
use crate::auth::audit::{Record, Who};
use crate::auth::canonical::{Body, Signed};
use crate::auth::gate::{self, Accepted, Interface};
use crate::auth::replay::Watermarks;
use crate::auth::role::{Caller, Need, Role, Version, allow};
use crate::http::answer::Failure;
use crate::http::{Api, Backend, CONFIGURATION_BYTES_MAX, Request};

/// The sender of a request.
#[derive(Debug)]
pub(crate) enum Identity {
    /// No user was named, or identity was not needed.
    Unknown,
    /// A user name without proof.
    Claimed(String),
    /// A user who signed.
    Signed(Accepted),
    /// A user known to the web server, for reading only: a browser sends its credentials along with
    /// any page's request.
    Web(Caller),
}

impl Identity {
    pub(crate) fn caller(&self) -> Option<&Caller> {
        match self {
            Identity::Signed(accepted) => Some(&accepted.caller),
            Identity::Web(caller) => Some(caller),
            Identity::Unknown | Identity::Claimed(_) => None,
        }
    }

    pub(crate) fn who(&self) -> Who<'_> {
        match self {
            Identity::Unknown => Who::Unknown,
            Identity::Claimed(user) => Who::Claimed(user),
            Identity::Signed(accepted) => Who::Proven(&accepted.caller),
            // The audit reports only signatures as proof.
            Identity::Web(caller) => Who::Claimed(&caller.user),
        }
    }

    /// Returns the watermarks of the signature, if there is one.
    pub(crate) fn signature(&self) -> Watermarks {
        match self {
            Identity::Signed(accepted) => accepted.added.clone(),
            _ => Watermarks::default(),
        }
    }

    /// Checks a permission.
    pub(crate) fn may(&self, need: Need<'_>) -> Result<(), Failure> {
        Ok(allow(need, self.caller())?)
    }

    /// Returns the caller; an error if identity is unproven.
    pub(crate) fn known(&self) -> Result<&Caller, Failure> {
        self.caller().ok_or_else(|| Refusal::Unsigned.into())
    }

    /// Tells whether the caller may see a queue.
    pub(crate) fn sees(&self, queue: &str) -> bool {
        allow(Need::Queue(queue), self.caller()).is_ok()
    }
}

impl Api {
    /// Identifies the sender by signature alone (`Request::signed_only`). Runs before the checks of
    /// path and form: unauthenticated senders learn nothing else.
    pub(crate) fn prove(
        &self,
        is_published: bool,
        backend: &dyn Backend,
        request: &Request<'_>,
        who: &mut Identity,
    ) -> Result<(), Failure> {
        let interface = match is_published {
            true => Interface::Published,
            false => Interface::Json,
        };
        // Checked before `identify` hashes it.
        let outcome = match request.body.len() > CONFIGURATION_BYTES_MAX {
            true => Err(Refusal::TooLarge("body", CONFIGURATION_BYTES_MAX).into()),
            false => self.identify(interface, backend, request, who),
        };
        let outcome = outcome.and_then(|()| match who {
            Identity::Signed(_) => Ok(()),
            _ => Err(Refusal::Unsigned.into()),
        });
        let outcome = outcome.map_err(|failure| self.without_users(failure));
        if let Err(failure) = &outcome {
            let action = format!("{} {}", request.method, request.path);
            audit(request, who, &action, None, Err(&failure.refusal()));
        }
        outcome
    }

    /// Tells whether the sender of a request without body is somebody, before a host looks up names
    /// for them. Uses up no signature.
    pub(crate) fn knows(&self, request: &Request<'_>) -> bool {
        let json = Interface::Json;
        match request.authorization.is_some_and(gate::is_ours) {
            true => {
                let signed = signed(json, request);
                self.gate.lock().proves(&signed, request.now())
            }
            false => !request.signed_only && self.web_caller(json, request).is_some(),
        }
    }

    /// Identifies the sender. Called only when identity matters, because a signature counts once.
    pub(crate) fn identify(
        &self,
        interface: Interface,
        backend: &dyn Backend,
        request: &Request<'_>,
        who: &mut Identity,
    ) -> Result<(), Failure> {
        if matches!(who, Identity::Signed(_)) {
            return Ok(());
        }
        let (header, address) = (request.authorization, request.address);
        let now = request.now();
        let admitted = self
            .gate
            .lock()
            .admit(header, request.body.len(), address, now);
        let outcome = admitted.and_then(|()| {
            // Hashes the body, while the gate is not locked.
            let signed = signed(interface, request);
            self.gate.lock().identify(&signed, now)
        });
        match outcome {
            Ok(accepted) => {
                backend.accepted(&accepted.added);
                *who = Identity::Signed(accepted);
                Ok(())
            }
            Err(refused) if refused.why == Refusal::Unsigned => {
                if let Some(caller) = self.web_caller(interface, request) {
                    *who = Identity::Web(caller);
                }
                // The later check of rights tells whether a signature was needed.
                Ok(())
            }
            Err(refused) => {
                *who = refused.user.map_or(Identity::Unknown, Identity::Claimed);
                Err(refused.why.into())
            }
        }
    }

    /// Explains a refusal when there are no users at all: then no signature could pass, and the
    /// operator learns which setting is missing.
    pub(crate) fn without_users(&self, failure: Failure) -> Failure {
        match self.settings.acl_file {
            Some(_) => failure,
            None => Failure {
                what: "api.acl_file is not set, so there are no users who could sign".to_string(),
                at: "heddle.json, key `api.acl_file`".to_string(),
                expected: "the path of a file with users and secrets there, and a restart of the \
                           ResourceManager"
                    .to_string(),
                ..failure
            },
        }
    }

    /// Returns the user found by the web server, if `trust_web_user` is set.
    fn web_caller(&self, interface: Interface, request: &Request<'_>) -> Option<Caller> {
        let reads = matches!(request.method, "GET" | "HEAD");
        if !self.settings.trust_web_user || !reads || interface != Interface::Json {
            return None;
        }
        let name = request.user.filter(|user| !user.is_empty())?;
        let acl = self.acl.lock();
        // A malformed line names this user: it may have been meant to take rights away.
        if acl.users.is_shut_out(name) {
            return None;
        }
        let user = acl.users.get(name);
        Some(Caller {
            user: name.to_string(),
            role: user.map_or(Role::User, |user| user.role),
            queues: user.map_or(Vec::new(), |user| user.queues.clone()),
            version: Version::V2,
        })
    }
}

/// Returns what a signature of a request is about. Hashes the body.
fn signed<'a>(interface: Interface, request: &Request<'a>) -> gate::Request<'a> {
    gate::Request {
        interface,
        signed: Signed {
            method: request.method,
            path: request.path,
            query: request.query,
            body: Body::of(request.body),
        },
        authorization: request.authorization,
        address: request.address,
    }
}

/// Writes the audit line of a request.
pub(crate) fn audit(
    request: &Request<'_>,
    who: &Identity,
    action: &str,
    queue: Option<&str>,
    outcome: Result<(), &Refusal>,
) {
    write(&record(request, who, action, queue, outcome));
}

/// Puts together what the audit says of a request.
pub(crate) fn record<'a>(
    request: &Request<'_>,
    who: &'a Identity,
    action: &'a str,
    queue: Option<&'a str>,
    outcome: Result<(), &'a Refusal>,
) -> Record<'a> {
    Record {
        at_ms: request.now_ms,
        address: request.address,
        who: who.who(),
        action,
        queue,
        outcome,
    }
}

/// Hands an audit line to the host, which recognises it by its target.
pub(crate) fn write(record: &Record<'_>) {
    log::info!(target: "heddle.audit", "{}", record.to_line());
}
