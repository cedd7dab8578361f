//! Invents intervals and changes that follow from the books, at random from a seed. Computes with
//! plain numbers, without the crate's rules.

use super::{closed, grant, micro, opened};
use heddle_economy::record::{Batch, Change, Interval, Row};
use heddle_economy::store::Book;
use oorandom::Rand64;
use std::collections::BTreeMap;

pub struct Economy {
    pub random: Rand64,
    pub tick: u64,
    pub serial: u64,
    balances: BTreeMap<String, i64>,
    /// Grows with each value that must be new: timestamps, nonces, names.
    fresh: u64,
}

impl Economy {
    /// Continues from the stored books.
    pub fn after(book: &Book, seed: u64) -> Economy {
        let accounts = book.accounts.iter();
        Economy {
            random: Rand64::new(u128::from(seed)),
            tick: book.head.tick,
            serial: book.head.serial,
            balances: accounts
                .map(|(queue, account)| (queue.clone(), account.budget.micro()))
                .collect(),
            fresh: (book.head.tick + book.head.serial) * 1000,
        }
    }

    /// Returns a random number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.rand_range(0..end)
    }

    fn queue(&mut self) -> Option<String> {
        let at = self.below(self.balances.len().max(1) as u64);
        self.balances.keys().nth(at as usize).cloned()
    }

    /// Returns the next interval: about half of the queues pay, some more than they have income.
    pub fn interval(&mut self) -> Interval {
        self.tick += 1;
        let mut rows = Vec::new();
        for (queue, balance) in &mut self.balances {
            if self.random.rand_range(0..2) == 0 {
                continue;
            }
            let income = self.random.rand_range(0..3) as i64 * 333_333;
            let most = (*balance + income).clamp(0, 5_000_000) as u64;
            let debit = self.random.rand_range(0..most + 1) as i64;
            *balance += income - debit;
            rows.push(Row {
                queue: queue.clone(),
                rate: micro(debit / 3),
                quota: [3, 1],
                used_slot_ms: [60_000, 1],
                income: micro(income),
                debit: micro(debit),
                balance: micro(*balance),
                unpaid_slot_ms: [self.random.rand_range(0..3) as i64 * 500, 0],
                am_ms: self.random.rand_range(0..2) as i64 * 20_000,
            });
        }
        if self.random.rand_range(0..3) == 0 {
            rows.push(Row {
                queue: "root.without-account".to_string(),
                unpaid_slot_ms: [0, 1_500],
                ..Row::default()
            });
        }
        let key = format!("job-{}", self.below(50));
        let value = format!("{{\"ratio\":{}}}", self.tick);
        Interval {
            tick: self.tick,
            ticks: 1,
            at_ms: self.tick as i64 * 20_000,
            price: micro(self.tick as i64).into(),
            changes: vec![Change::Learn { key, value }],
            rows,
        }
    }

    /// Returns the next batch of changes.
    pub fn batch(&mut self) -> Batch {
        self.serial += 1;
        Batch {
            serial: self.serial,
            at_ms: self.tick as i64 * 20_000,
            changes: self.changes(),
        }
    }

    /// Returns some changes that can be applied in this order.
    pub fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..=self.below(3) {
            self.fresh += 1;
            let user = format!("user-{}", self.below(4));
            let kind = self.below(8);
            let Some(queue) = self.queue().filter(|_| kind > 1) else {
                let queue = format!("root.q{}", self.fresh);
                self.balances.insert(queue.clone(), 0);
                changes.extend([opened(&queue), self.granted(&queue)]);
                continue;
            };
            changes.push(match kind {
                2 if self.balances.len() > 3 => {
                    self.balances.remove(&queue);
                    closed(&queue)
                }
                3 => Change::Rate {
                    queue,
                    rate: micro(self.fresh as i64),
                },
                4 => Change::Income {
                    queue,
                    income: micro(self.fresh as i64),
                },
                5 => Change::Seen {
                    user,
                    timestamp_ms: self.fresh as i64,
                },
                6 => Change::Nonce {
                    user,
                    nonce: format!("nonce-{}", self.fresh),
                    expires_ms: (self.tick as i64 + 3) * 20_000,
                },
                _ => self.granted(&queue),
            });
        }
        changes
    }

    fn granted(&mut self, queue: &str) -> Change {
        let amount = self.below(20_000_000) as i64;
        *self.balances.get_mut(queue).expect("it was just chosen") += amount;
        grant(queue, amount)
    }
}
