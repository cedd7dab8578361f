//! The published interface at `/scheduler` (DP-32 to DP-34): commands in the query, by GET and by
//! POST alike. Answers are in XML, like those of the published servlet.
//!
//! It differs in these points. Each request has one command, and each parameter once; the servlet
//! executed several, and checked one user while it changed another's queue. An unknown queue is an
//! error and not an empty answer (DP-41). So is a query without a command, and adding a queue
//! twice, which emptied its account. A refusal has its own status instead of 500, and repeats in
//! the body the servlet's message, which begins with `ACCESS DENIED`. A queue right below the root
//! is named like its user, `alice` and not `root.alice`, as clients know it.

mod xml;

use crate::auth::Refusal;
use crate::auth::gate::Interface;
use crate::auth::query::{Parameters, QUERY_BYTES_MAX};
use crate::auth::role::{Command, Need};
use crate::http::account::{self, Account, Accounts};
use crate::http::answer::{Failure, Reply, XML};
use crate::http::caller::{Identity, audit};
use crate::http::{Api, Backend, Request, books};
use xml::QueueInfo;
pub use xml::escaped;

/// The path of the interface.
pub(crate) const PATH: &str = "/scheduler";
const ALLOW: &str = "GET, HEAD, POST, OPTIONS";

/// The state of a request while it is processed.
struct Exchange<'a> {
    api: &'a Api,
    backend: &'a dyn Backend,
    request: &'a Request<'a>,
    who: Identity,
    command: Option<Command>,
}

/// Answers a request for `/scheduler`; `who` is set if identity was proven first.
pub(crate) fn answer(
    api: &Api,
    backend: &dyn Backend,
    request: &Request<'_>,
    who: Identity,
) -> Reply {
    let mut exchange = Exchange {
        api,
        backend,
        request,
        who,
        command: None,
    };
    let outcome = exchange.serve();
    exchange.note(&outcome);
    match outcome {
        Ok(reply) => reply,
        Err(failure) => refused(request.host, failure),
    }
}

/// Formats an error for this interface.
pub(crate) fn refused(host: &str, failure: Failure) -> Reply {
    let info = QueueInfo::new(host).element("error", &failure.what);
    let mut reply = Reply::of(XML, info.finish());
    (reply.status, reply.headers) = (failure.status, failure.headers);
    reply
}

impl Exchange<'_> {
    fn serve(&mut self) -> Result<Reply, Failure> {
        match self.request.method {
            "GET" | "HEAD" | "POST" => {}
            "OPTIONS" => return Ok(Reply::nothing().with("Allow", ALLOW)),
            _ => return Err(wrong_method()),
        }
        if self.request.query.len() > QUERY_BYTES_MAX {
            return Err(Refusal::TooLarge("query", QUERY_BYTES_MAX).into());
        }
        if self.request.body.len() > crate::http::BODY_BYTES_MAX {
            return Err(Refusal::TooLarge("body", crate::http::BODY_BYTES_MAX).into());
        }
        let command = Command::of(&Parameters::of(self.request.query)?)?;
        // Accounts are found by full path: the engine then finds no other queue.
        self.command = command.map(|command| command.resolved(|_| None));
        let Some(command) = self.command.clone() else {
            // A mistyped command must not look as if it had been executed.
            return match self.request.query.is_empty() {
                true => Ok(self.reply(self.info())),
                false => Err(no_command()),
            };
        };
        // Version 1 does not sign the method, and clients expect that HEAD changes nothing.
        if account::changes(&command) && self.request.method == "HEAD" {
            return Err(wrong_method());
        }
        let of_accounts = !matches!(command, Command::Time);
        if of_accounts {
            books::open(self.backend, account::changes(&command))?;
        }
        if command.need() != Need::Nothing {
            let interface = Interface::Published;
            self.api
                .identify(interface, self.backend, self.request, &mut self.who)?;
            self.who.may(command.need())?;
        }
        let reply = self.carry_out(&command)?;
        Ok(match of_accounts {
            true => books::marked(self.backend, reply),
            false => reply,
        })
    }

    fn carry_out(&self, command: &Command) -> Result<Reply, Failure> {
        let info = match command {
            Command::Time => self
                .info()
                .element("start", &self.api.started_ms.to_string())
                .element("time", &self.api.now_ms(self.request).to_string()),
            Command::Price => self.info().amount("price", account::price(self.backend)?),
            Command::Info(queue) => {
                let account = account::account(self.backend, queue)?;
                self.info().account(&account, true)
            }
            Command::Infos => {
                let accounts = Accounts::read(self.backend)?;
                let info = self.info().amount("price", accounts.price_micro);
                accounts.rows.iter().fold(info, QueueInfo::named_account)
            }
            Command::RemoveQueue(_) => {
                account::change(self.backend, command, &self.who)?;
                self.info()
            }
            Command::SetSpending(queue, _)
            | Command::AddBudget(queue, _)
            | Command::AddQueue(queue) => {
                account::change(self.backend, command, &self.who)?;
                // It may be gone by now; the change was made.
                let account = account::account(self.backend, queue).ok();
                let shown = |info: QueueInfo, account: Account| info.account(&account, false);
                account.map_or_else(|| self.info(), |account| shown(self.info(), account))
            }
        };
        Ok(self.reply(info))
    }

    fn info(&self) -> QueueInfo {
        QueueInfo::new(self.request.host)
    }

    fn reply(&self, info: QueueInfo) -> Reply {
        Reply::of(XML, info.finish())
    }

    fn note(&self, outcome: &Result<Reply, Failure>) {
        let changes = self.command.as_ref().is_some_and(account::changes);
        let refusal = outcome.as_ref().err().map(Failure::refusal);
        if !changes && refusal.is_none() {
            return;
        }
        let action = self.command.as_ref().map(account::action);
        let queue = self.command.as_ref().and_then(account::queue);
        audit(
            self.request,
            &self.who,
            action.as_deref().unwrap_or(PATH),
            queue,
            refusal.as_ref().map_or(Ok(()), Err),
        );
    }
}

fn no_command() -> Failure {
    let expected = Command::NAMES.join(", ");
    let what = format!("there is no such command; expected one of {expected}");
    Failure::new(400, what, "query", expected)
}

fn wrong_method() -> Failure {
    Failure::new(405, "this route does not have this method", "method", ALLOW).with("Allow", ALLOW)
}
