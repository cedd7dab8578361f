//! Identity and rights over the remote interface: signatures of two versions, replay protection,
//! the ACL file and its roles, limits on failures, and audit lines. Pure, except that it reads the
//! ACL file and secrets: time is an argument, requests are plain data. No HTTP, no clock, no
//! randomness, no storage, and no decision about slots: those belong to the host and to the core.
//!
//! `http` passes in requests and submissions of jobs; `books` stores the watermarks.
//! The engine enforces a job's authority once it is told of one (request `authorize`).
//!
//! # Modules
//!
//! - `gate`: the host's interface: `identify` a request, `submit` a job, `recover` one. Checks
//!   form, signature, replay, in this order.
//! - `v1`, `v2`, `job`: the published signatures (SHA-1, over the query); Heddle's (SHA-256, over
//!   everything); those of submissions.
//! - `canonical`: the texts that version 2 signs, byte for byte: the page for authors of clients.
//! - `replay`: last timestamps and nonces, as plain data for a store.
//! - `acl`, `role`: users, roles and queues; the file, its mode and its reload; the role that each
//!   command needs.
//! - `limit`, `time`, `audit`: failures per user and address; the gate's clock; one line of JSON
//!   per request.
//! - `query`, `amount`, `refusal`, `secret`, `secret_file`: strict decoding; exact credits; answers
//!   to a refused sender; keys that are never shown.
//! - `stamp`: states of watched files.
//!
//! # What a host does
//!
//! 1. Read 1 MiB (`gate::BODY_BYTES_MAX`) and a byte of the body.
//! 2. Call `admit` under the gate's lock; hash the body (`Body::of`) with nothing locked; call
//!    `identify` under the gate's lock.
//! 3. Call `role::allow` on the full path; names are not looked up in the tree.
//! 4. Make the change, stored with `Accepted::added`.
//! 5. Write the audit line.
//!
//! The command `time` answers `now_ms`, not the wall clock.
//!
//! # Rules
//!
//! - *The full path is checked.* A bare name means the queue right below `root`, over HTTP and in
//!   `heddle sign`. The core would also find the only leaf of that name. Version 2 signs the full
//!   path, so no later queue can redirect a signature. A user's own queue is the core's
//!   `user_queue`.
//! - *A replay is refused with bounded memory.* The oldest entries are forgotten; from then on
//!   every request as old or older is refused. These are, per user, the nonces that expire first;
//!   beyond `replay::USERS_MAX`, the user who was silent for longest. A client whose requests
//!   expire in their order of sending notices nothing; another gets `Forgotten`. With full memory,
//!   a request that expires later than the clock skew is refused, not forgotten.
//! - *Jobs have nonces of their own* (in a store's rows with the prefix `job:`), because they are
//!   signed for up to a day. A user has at most 1024; further ones are refused.
//! - *Watermarks are stored with the change that they come with*, in one transaction, so a crash
//!   cannot keep one without the other. YARN's store is separate: a ResourceManager that becomes
//!   active calls `recover` for each recovered job before it accepts submissions. Its authority
//!   is proven again from the submission (`prove_again`), without checks of time and replay.
//! - *Version 1 works on the published interface only, and without a body*: it covers neither path
//!   nor body. The published server took parameters from the body. Its timestamps are bounded on
//!   both sides; as published, an undelivered request would be valid for ever.
//! - *A correct signature passes, whatever others did* in the user's name or behind the address (a
//!   proxy, NAT). Signatures are always computed, except for a body above 4 KB from an address with
//!   an empty bucket. Otherwise an empty bucket only makes unproven callers wait. Secrets below 16
//!   bytes can be guessed. For them a correct signature waits like a wrong one, at addresses that
//!   failed lately.
//! - *The gate's clock never goes back, and ignores a jump that lasts less than a minute*. While
//!   the wall clock is behind, it runs at half speed. A clock that followed a step back would
//!   revive expired requests, or lock users out until it has caught up. Waits use the steady clock
//!   alone.
//! - *A malformed line of the ACL file shuts its user out*, also as a web user, unless a later line
//!   lets them in. The line may have been meant to take a right away. Messages about the file give
//!   line numbers and no text: any field may be the secret.
//! - *Version 2 does not sign the host*: both ResourceManagers of a pair must accept a request. Two
//!   clusters need two secrets.
//!
//! # Known gaps
//!
//! - A wall clock may be ahead for more than a minute, or at the start. If it is then set back by
//!   more than the skew, clients with a correct clock are locked out for up to twice the
//!   difference. Clients that ask for `time` are not. After a failover the other ResourceManager's
//!   clock counts.
//! - Signatures are computed under the host's lock (tens of microseconds for the longest query).
//!   Failures wait, but each is computed.
//! - The number of audit lines is unlimited, only their length is limited. A host may leave out
//!   `too-many-failures`.
//! - If YARN loses a submission whose nonce the store has kept, its signature is used up: the
//!   client signs again.
//! - An address that fails too often may be a proxy. No client behind it can send a body above 4 KB
//!   until it has not failed for some seconds.
//! - Users `a.b` and `a_dot_b` share one queue, as in the core; the ACL reader reports it, and lets
//!   both act for it.
//! - In the core, `Queues::find` takes an unknown full path for the end of another (`root.alice`
//!   for `root.ads.root.alice`). The queue that it finds is refused to `alice`.

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
pub mod stamp;
pub mod time;
pub mod v1;
pub mod v2;

pub use refusal::Refusal;
pub use secret::Secret;
pub use time::Now;
