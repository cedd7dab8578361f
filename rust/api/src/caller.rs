//! Who sent a request and whether they may: the gate's answer, or the user whom the
//! ResourceManager's web authentication found; and the line of the audit. Signatures and roles
//! themselves are `heddle_auth`'s.

use crate::answer::Failure;
use crate::{BODY_BYTES_MAX, Engine, Request, Service};
use heddle_auth::Refusal;
use heddle_auth::audit::{Record, Who};
use heddle_auth::canonical::{Body, Signed};
use heddle_auth::gate::{self, Accepted, Interface};
use heddle_auth::replay::Watermarks;
use heddle_auth::role::{Caller, Need, Role, Version, allow};

/// Who is behind a request.
#[derive(Debug)]
pub(crate) enum Identity {
    /// Nobody said, or it was not asked.
    Unknown,
    /// Somebody who did not prove it.
    Claimed(String),
    /// Somebody who signed.
    Signed(Accepted),
    /// Somebody whom the web server knows. For reading only: a browser sends along what it was
    /// authenticated by, whoever wrote the page that asks.
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
            // Not proven by a signature, which is what the audit tells of.
            Identity::Web(caller) => Who::Claimed(&caller.user),
        }
    }

    /// What must be remembered of the signature, if there is one.
    pub(crate) fn signature(&self) -> Watermarks {
        match self {
            Identity::Signed(accepted) => accepted.added.clone(),
            _ => Watermarks::default(),
        }
    }

    /// Whether they may do what needs `need`.
    pub(crate) fn may(&self, need: Need<'_>) -> Result<(), Failure> {
        Ok(allow(need, self.caller())?)
    }

    /// Whoever it is, they must have proven it.
    pub(crate) fn known(&self) -> Result<&Caller, Failure> {
        self.caller().ok_or_else(|| Refusal::Unsigned.into())
    }

    /// Whether they may see a queue.
    pub(crate) fn sees(&self, queue: &str) -> bool {
        allow(Need::Queue(queue), self.caller()).is_ok()
    }
}

impl Service {
    /// Who sent a request of which nothing but a signature may say so (`Request::signed_only`).
    /// First of all, before path and form: who has passed no authentication learns nothing else.
    pub(crate) fn prove(
        &self,
        is_published: bool,
        engine: &dyn Engine,
        request: &Request<'_>,
        who: &mut Identity,
    ) -> Result<(), Failure> {
        let interface = match is_published {
            true => Interface::Published,
            false => Interface::Json,
        };
        // Before the gate, which hashes it.
        let outcome = match request.body.len() > BODY_BYTES_MAX {
            true => Err(Refusal::TooLarge("body", BODY_BYTES_MAX).into()),
            false => self.identify(interface, engine, request, who),
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

    /// Who sent a request: asked only where something depends on it, as a signature counts once.
    pub(crate) fn identify(
        &self,
        interface: Interface,
        engine: &dyn Engine,
        request: &Request<'_>,
        who: &mut Identity,
    ) -> Result<(), Failure> {
        if matches!(who, Identity::Signed(_)) {
            return Ok(());
        }
        let signed = gate::Request {
            interface,
            signed: Signed {
                method: request.method,
                path: request.path,
                query: request.query,
                // Hashed here, before the gate's lock.
                body: Body::of(request.body),
            },
            authorization: request.authorization,
            address: request.address,
        };
        let outcome = self.gate.lock().identify(&signed, request.now());
        match outcome {
            Ok(accepted) => {
                engine.accepted(&accepted.added);
                *who = Identity::Signed(accepted);
                Ok(())
            }
            Err(refused) if refused.why == Refusal::Unsigned => {
                if let Some(caller) = self.web_caller(interface, request) {
                    *who = Identity::Web(caller);
                }
                // Whether a signature was needed, the caller's rights will tell.
                Ok(())
            }
            Err(refused) => {
                *who = refused.user.map_or(Identity::Unknown, Identity::Claimed);
                Err(refused.why.into())
            }
        }
    }

    /// Why somebody is refused, if the reason is that nobody has a secret here: then no signature
    /// would do, and the operator learns what to set.
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

    /// The user whom the web server found, where that is trusted.
    fn web_caller(&self, interface: Interface, request: &Request<'_>) -> Option<Caller> {
        let reads = matches!(request.method, "GET" | "HEAD");
        if !self.settings.trust_web_user || !reads || interface != Interface::Json {
            return None;
        }
        let name = request.user.filter(|user| !user.is_empty())?;
        let acl = self.acl.lock();
        // Of whom a malformed line speaks: it may have been meant to take rights away.
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

/// Writes the line of the audit of a request.
pub(crate) fn audit(
    request: &Request<'_>,
    who: &Identity,
    action: &str,
    queue: Option<&str>,
    outcome: Result<(), &Refusal>,
) {
    let record = Record {
        at_ms: request.now_ms,
        address: request.address,
        who: who.who(),
        action,
        queue,
        outcome,
    };
    write(&record);
}

/// Hands a line of the audit to the host, which knows it by its target.
pub(crate) fn write(record: &Record<'_>) {
    log::info!(target: "heddle.audit", "{}", record.to_line());
}
