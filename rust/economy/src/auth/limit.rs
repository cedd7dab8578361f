//! Limits failures per user and per address, with a token bucket each: a failure takes from it and
//! time refills it. Counts failures only; successful requests are never slowed down.
//!
//! Behind one address (a proxy, NAT) there are many users, and an attacker may fail in any user's
//! name. So an empty bucket alone blocks no correct signature. The gate decides the consequences:
//! failing callers must wait, long bodies are refused, secrets that can be guessed do not count. A
//! user's empty bucket counts only for addresses that failed lately, so an attacker with many
//! addresses has one attempt with each. Times are in ms of a steady clock.

use crate::auth::refusal::Refusal;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Limit of buckets of each kind; beyond it the fullest are dropped.
pub const BUCKETS_MAX: usize = 4096;
/// Longer names belong to no user; their keys are cut to this.
const KEY_BYTES_MAX: usize = 255;
const TOKEN: u64 = 1000;

/// The rate of one kind of bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Failures allowed at once, at least 1.
    pub burst: u32,
    /// Time until another failure is allowed, ms, at least 1.
    pub refill_ms: u64,
}

/// The allowed rates of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Per address (for IPv6, per network of 64 bits).
    pub address: Rate,
    /// Per user name.
    pub user: Rate,
}

impl Default for Limits {
    fn default() -> Limits {
        let (address, user) = (20, 10);
        Limits {
            address: Rate {
                burst: address,
                refill_ms: 3_000,
            },
            user: Rate {
                burst: user,
                refill_ms: 6_000,
            },
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Remaining allowance, in thousandths of a failure.
    left: u64,
    at_ms: u64,
}

#[derive(Debug)]
struct Buckets<K> {
    rate: Rate,
    buckets: BTreeMap<K, Bucket>,
}

impl<K: Ord + Clone> Buckets<K> {
    fn new(rate: Rate) -> Buckets<K> {
        let rate = Rate {
            burst: rate.burst.max(1),
            refill_ms: rate.refill_ms.max(1),
        };
        Buckets {
            rate,
            buckets: BTreeMap::new(),
        }
    }

    fn full(&self) -> u64 {
        u64::from(self.rate.burst) * TOKEN
    }

    /// Returns the allowance at a time; a clock that is set back refills nothing.
    fn left(&self, bucket: Bucket, now_ms: u64) -> u64 {
        let passed_ms = now_ms.saturating_sub(bucket.at_ms);
        let refilled = passed_ms.saturating_mul(TOKEN) / self.rate.refill_ms;
        bucket.left.saturating_add(refilled).min(self.full())
    }

    fn left_of(&self, key: &K, now_ms: u64) -> u64 {
        let bucket = self.buckets.get(key);
        bucket.map_or(self.full(), |bucket| self.left(*bucket, now_ms))
    }

    /// Returns the time until another failure is allowed, ms; 0 if it is allowed now.
    fn wait_ms(&self, key: &K, now_ms: u64) -> u64 {
        let lacking = TOKEN.saturating_sub(self.left_of(key, now_ms));
        lacking.saturating_mul(self.rate.refill_ms).div_ceil(TOKEN)
    }

    fn fail(&mut self, key: &K, now_ms: u64) {
        if !self.buckets.contains_key(key) && self.buckets.len() >= BUCKETS_MAX {
            self.give_up(now_ms);
        }
        let left = self.left_of(key, now_ms).saturating_sub(TOKEN);
        // Keeps the later time after a clock is set back: otherwise the bucket would be refilled
        // twice.
        let before_ms = self.buckets.get(key).map_or(0, |bucket| bucket.at_ms);
        let at_ms = before_ms.max(now_ms);
        self.buckets.insert(key.clone(), Bucket { left, at_ms });
    }

    /// Drops all full buckets, and otherwise the fullest one: frequent failures are remembered
    /// longest.
    fn give_up(&mut self, now_ms: u64) {
        let full = self.full();
        let left: Vec<(u64, K)> = self
            .buckets
            .iter()
            .map(|(key, bucket)| (self.left(*bucket, now_ms), key.clone()))
            .collect();
        let most = left.iter().map(|(left, _)| *left).max().unwrap_or(full);
        for (_, key) in left.iter().filter(|(left, _)| *left == full) {
            self.buckets.remove(key);
        }
        if most < full
            && let Some((_, key)) = left.iter().find(|(left, _)| *left == most)
        {
            self.buckets.remove(key);
        }
    }
}

/// The failures of users and addresses.
#[derive(Debug)]
pub struct Limiter {
    addresses: Buckets<IpAddr>,
    users: Buckets<String>,
}

impl Limiter {
    /// Starts without failures.
    pub fn new(limits: Limits) -> Limiter {
        Limiter {
            addresses: Buckets::new(limits.address),
            users: Buckets::new(limits.user),
        }
    }

    /// Checks whether an address may fail once more. `None` is an unknown address.
    ///
    /// # Errors
    ///
    /// `TooManyFailures`.
    pub fn check_address(&self, address: Option<IpAddr>, now_ms: u64) -> Result<(), Refusal> {
        let wait = |address| self.addresses.wait_ms(&network(address), now_ms);
        refuse_for(address.map_or(0, wait))
    }

    /// Checks whether a caller at this address may fail once more in the name of a user.
    ///
    /// # Errors
    ///
    /// `TooManyFailures`, never for an address that has not failed lately.
    pub fn check_user(
        &self,
        user: &str,
        address: Option<IpAddr>,
        now_ms: u64,
    ) -> Result<(), Refusal> {
        let full = self.addresses.full();
        let clean = |address| self.addresses.left_of(&network(address), now_ms) == full;
        if address.is_some_and(clean) {
            return Ok(());
        }
        refuse_for(self.users.wait_ms(&key(user), now_ms))
    }

    /// Counts a failure for the address and the name, as far as they are known.
    pub fn fail(&mut self, user: Option<&str>, address: Option<IpAddr>, now_ms: u64) {
        if let Some(address) = address {
            self.addresses.fail(&network(address), now_ms);
        }
        if let Some(user) = user {
            self.users.fail(&key(user), now_ms);
        }
    }
}

fn refuse_for(wait_ms: u64) -> Result<(), Refusal> {
    match wait_ms {
        0 => Ok(()),
        _ => Err(Refusal::TooManyFailures(wait_ms)),
    }
}

/// Groups the addresses that one attacker may have: of IPv6, a network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

fn key(user: &str) -> String {
    let end = (0..=user.len().min(KEY_BYTES_MAX))
        .rev()
        .find(|end| user.is_char_boundary(*end));
    user[..end.unwrap_or(0)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        address: Rate {
            burst: 3,
            refill_ms: 100,
        },
        user: Rate {
            burst: 2,
            refill_ms: 1_000,
        },
    };

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn an_address_waits_after_its_burst_until_time_refills() {
        let mut limiter = Limiter::new(LIMITS);
        for _ in 0..3 {
            assert_eq!(limiter.check_address(address(1), 500), Ok(()));
            limiter.fail(None, address(1), 500);
        }
        let refused = |wait_ms| Err(Refusal::TooManyFailures(wait_ms));
        assert_eq!(limiter.check_address(address(1), 500), refused(100));
        assert_eq!(limiter.check_address(address(1), 599), refused(1));
        assert_eq!(
            limiter.check_address(address(1), 100),
            refused(100),
            "set back"
        );
        assert_eq!(limiter.check_address(address(1), 600), Ok(()));
        assert_eq!(limiter.check_address(address(2), 500), Ok(()));
        assert_eq!(limiter.check_address(None, 500), Ok(()));
        limiter.fail(None, address(1), 600);
        assert_eq!(limiter.check_address(address(1), 600), refused(100));
        // Failures while the clock is set back are not refilled when it moves forward again.
        limiter.fail(None, address(1), 0);
        assert_eq!(limiter.check_address(address(1), 600), refused(100));
        assert_eq!(limiter.check_address(address(1), u64::MAX), Ok(()));
    }

    #[test]
    fn nobody_is_kept_out_by_the_failures_of_others() {
        let mut limiter = Limiter::new(LIMITS);
        for last in 0..50 {
            limiter.fail(Some("alice"), address(last), 0);
        }
        assert!(limiter.check_user("alice", address(3), 0).is_err());
        assert_eq!(limiter.check_user("alice", address(99), 0), Ok(()));
        assert_eq!(limiter.check_user("bob", address(3), 0), Ok(()));
        assert!(limiter.check_user("alice", None, 0).is_err());
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let of = |text: &str| Some(text.parse::<IpAddr>().expect("an address"));
        let mut limiter = Limiter::new(LIMITS);
        for host in ["2001:db8::1", "2001:db8::2:3", "2001:db8:0:0:ffff::"] {
            limiter.fail(None, of(host), 0);
        }
        for host in ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"] {
            limiter.fail(None, of(host), 0);
        }
        assert!(limiter.check_address(of("2001:db8::77"), 0).is_err());
        assert!(limiter.check_address(of("2001:db8:0:1::1"), 0).is_ok());
        assert!(limiter.check_address(of("192.0.2.7"), 0).is_err());
        assert!(limiter.check_address(of("::ffff:192.0.2.8"), 0).is_ok());
    }

    #[test]
    fn memory_is_bounded_and_who_fails_most_is_remembered() {
        let mut limiter = Limiter::new(LIMITS);
        // The first and last keys in order, which must not be dropped.
        let low = Some(IpAddr::from([1, 0, 0, 1]));
        for _ in 0..3 {
            limiter.fail(Some("alice"), address(1), 0);
            limiter.fail(Some("!"), low, 0);
        }
        for i in 0..BUCKETS_MAX as u32 + 500 {
            let spoofed = IpAddr::from((0x0a00_0000 + i).to_be_bytes());
            limiter.fail(
                Some(&format!("{i}{}", "\u{e9}".repeat(1_000))),
                Some(spoofed),
                0,
            );
        }
        assert!(limiter.addresses.buckets.len() <= BUCKETS_MAX);
        assert!(limiter.users.buckets.len() <= BUCKETS_MAX);
        assert!(
            limiter
                .users
                .buckets
                .keys()
                .all(|key| key.len() <= KEY_BYTES_MAX)
        );
        assert!(limiter.check_address(address(1), 0).is_err());
        assert!(limiter.check_address(low, 0).is_err());
        assert!(limiter.check_user("!", low, 0).is_err());
        assert!(limiter.check_user("alice", low, 0).is_err());
        // Full buckets hold no information.
        limiter.fail(None, address(2), 1_000_000);
        assert_eq!(limiter.addresses.buckets.len(), 1);
    }

    proptest! {
        /// However failures are spread over time, an address has at most its burst and one more for
        /// each refill.
        #[test]
        fn failures_are_bounded_by_the_rate(steps in prop::collection::vec(0u64..250, 1..200)) {
            let mut limiter = Limiter::new(LIMITS);
            let (mut now, mut failed) = (0, 0u64);
            for step in steps {
                now += step;
                if limiter.check_address(address(1), now).is_ok() {
                    limiter.fail(None, address(1), now);
                    failed += 1;
                }
                prop_assert!(failed <= 3 + now / 100, "{failed} until {now}");
            }
        }
    }
}
