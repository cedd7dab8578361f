//! Identity and rights over the remote interface: signatures of two versions, replay, the ACL file
//! and its roles, limits on failures, and audit lines. Pure, except that it reads the ACL file and
//! secrets: time is an argument, requests are plain data. No HTTP, no clock, no randomness, no
//! storage, and no decision about slots: those are the host's, and the core's.
//!
//! `heddle_api` hands it requests and submissions of jobs, `heddle_service` keeps its watermarks.
//! The engine holds a job to its authority once it is told of one (request `authorize`).
//!
//! # Modules
//!
//! - `gate`: what a host calls: `identify` a request, `submit` a job, `recover` one. Form, signature,
//!   replay, in this order.
//! - `v1`, `v2`, `job`: the published signatures (SHA-1, over the query); ours (SHA-256, over
//!   everything); those of submissions.
//! - `canonical`: what version 2 signs, byte for byte: the page for authors of clients.
//! - `replay`: last timestamps and nonces, as plain data that a store keeps.
//! - `acl`, `role`: users, roles and queues; the file, its mode and its reload; which role may
//!   give which command.
//! - `limit`, `time`, `audit`: failures per user and address; the gate's clock; one line of JSON
//!   per request.
//! - `query`, `amount`, `refusal`, `secret`, `secret_file`: strict decoding; exact credits; what a
//!   sender is told; keys that are never shown.
//!
//! # What a host does
//!
//! 1. Read 16 KB and a byte of the body, and hash it (`Body::of`), with nothing locked.
//! 2. Call `identify` under the gate's lock.
//! 3. Call `role::allow` on the full path; names are not looked up in the tree.
//! 4. Make the change, stored with `Accepted::added`.
//! 5. Write the audit line.
//!
//! The command `time` answers `now_ms`, not the wall.
//!
//! # Rules
//!
//! - *The full path is checked.* A name alone is the queue right below `root`, over HTTP as in
//!   `heddle sign`; the core would also find the only leaf of the name. Version 2 signs the full
//!   path, so no later queue turns a signature to itself. The own queue is the core's
//!   `user_queue`.
//! - *A replay is refused with bounded memory.* The oldest entries are forgotten, and from then on
//!   everything as old is refused. These are, per user, the nonces that expire first, and of too
//!   many users the one silent for longest. A client whose requests expire in the order in which
//!   they are sent notices nothing; another is told so (`Forgotten`). A request that expires later
//!   than the skew of clocks is refused when memory is full, not forgotten.
//! - *Jobs have nonces of their own* (in a store's rows with `job:` first), since they are signed
//!   for up to a day: 1024 of a user, then they are refused.
//! - *Watermarks are stored with the change that they come with*, in one transaction, so a crash
//!   cannot keep one without the other. YARN's store is another: an active ResourceManager calls
//!   `recover` for each recovered job before it takes submissions. An authority that was not
//!   stored either is proven again from the submission (`prove_again`), without times and replay.
//! - *Version 1 is accepted by the published interface only, and with no body*: it covers neither
//!   path nor body, and the published server took parameters from the body. Its timestamps are
//!   bounded on both sides; as published, an undelivered request would be valid for ever.
//! - *A right signature passes, whatever others did* in the user's name or behind the address (a
//!   proxy, NAT). A signature is always computed; an empty bucket only tells unproven callers to
//!   wait, and has no long body hashed. Secrets below 16 bytes can be guessed, so there a right
//!   signature waits like a wrong one, at addresses that failed lately.
//! - *The gate's clock never goes back, and ignores a jump that lasts less than a minute*; while
//!   the wall is behind, it goes at half speed. A clock that followed a step back would revive
//!   expired requests, or keep users out until it is where it was. Waits go by the steady clock
//!   alone.
//! - *A malformed line of the ACL file shuts its user out*, also as a web user, unless a later
//!   line lets them in. It may have been meant to take a right away. Messages about the file give
//!   line numbers and no text: any field may be the secret.
//! - *Version 2 does not sign the host*: both ResourceManagers of a pair must accept a request.
//!   Two clusters need two secrets.
//!
//! # Known gaps
//!
//! - A wall clock may be ahead for more than a minute, or at the start, and then be set back by
//!   more than the skew. Clients with a right clock of their own are then kept out for up to twice
//!   the difference. Clients that ask for `time` are not. After a failover the other
//!   ResourceManager's clock counts.
//! - Signatures are computed under the host's lock (tens of microseconds for the longest query);
//!   failures wait, but each is computed.
//! - The number of audit lines is not bounded, only their length: a host may leave out
//!   `too-many-failures`.
//! - A signature of a submission that YARN did not keep, though the store kept the nonce, is used
//!   up: the client signs again.
//! - An address that fails too often may be a proxy: none behind it sends a body above 4 KB until
//!   it has not failed for some seconds.
//! - Users `a.b` and `a_dot_b` have one queue, as in the core; the ACL reader says so, and lets
//!   both act for it.
//! - In the core, `Queues::find` takes a full path that is not there for the end of another
//!   (`root.alice` for `root.ads.root.alice`): the queue that it finds is refused to `alice`.
#![forbid(unsafe_code)]

pub mod acl;
pub mod amount;
pub mod audit;
pub mod canonical;
pub mod gate;
pub mod job;
pub mod limit;
pub mod query;
mod refusal;
pub mod replay;
pub mod role;
mod secret;
pub mod secret_file;
pub mod time;
pub mod v1;
pub mod v2;

pub use refusal::Refusal;
pub use secret::Secret;
pub use time::Now;
