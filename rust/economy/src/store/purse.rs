//! A purse: credits that the sub-clusters of a federation share, in PostgreSQL. An administrator
//! fills it, queue by queue. Each sub-cluster draws a little ahead of what it spends, and books
//! that as a grant in its own store. So no heartbeat and no market waits for the shared server, and
//! credits that are drawn can be spent by one sub-cluster only.
//!
//! A draw has a number. The sub-cluster keeps the last one that it booked beside the grant, in the
//! same commit, and asks for the next. A draw with the last number returns what it returned before.
//! So a lost answer, a kill or a former active ResourceManager neither loses credits nor gives them
//! out twice. A lower number comes from an old copy of a store, or from a second sub-cluster of the
//! same name, and is refused.

use super::book::{check_text, refuse};
use super::error::{Refusal, StoreError};
use super::sql::postgres::{Postgres, Tables};
use super::sql::{Cell, Database};
use heddle_core::words::credits::Credits;
use std::collections::BTreeMap;

/// Most draws of one call: the caller books them one by one.
const DRAWS_MAX: usize = 100;

/// Beside the schema of a store, so that both may be in one database. A purse is limited like a
/// budget; what was ever granted stays below 2^63 for thousands of full purses.
const TABLES: Tables = Tables {
    schema: "heddle_purse",
    versions: &[&[
        "CREATE TABLE purses (queue TEXT NOT NULL PRIMARY KEY, left_micro INTEGER NOT NULL)",
        "CREATE TABLE grants (number BIGSERIAL PRIMARY KEY, at_ms INTEGER NOT NULL, \
         queue TEXT NOT NULL, amount INTEGER NOT NULL, granted_by TEXT NOT NULL, \
         why TEXT NOT NULL)",
        "CREATE TABLE draws (queue TEXT NOT NULL, cluster TEXT NOT NULL, number INTEGER NOT NULL, \
         amount INTEGER NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (queue, cluster, number))",
        "CREATE TABLE clusters (name TEXT NOT NULL PRIMARY KEY, store INTEGER NOT NULL)",
    ]],
    new: String::new,
};

/// A request to draw for a queue of a sub-cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The queue's path.
    pub queue: String,
    /// The number after that of the last draw booked; the first is 1.
    pub number: i64,
    /// The most to draw.
    pub amount: Credits,
}

/// Credits that a sub-cluster has drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The queue's path.
    pub queue: String,
    /// The number of the wish.
    pub number: i64,
    /// More than 0, at most the amount of the wish.
    pub amount: Credits,
}

/// One queue's purse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The queue's path.
    pub queue: String,
    /// Sum of all that administrators have put in, in millionths.
    pub granted_micro: i64,
    /// Credits left.
    pub left: Credits,
    /// Sum of the draws of each sub-cluster, in millionths.
    pub drawn_micro: Vec<(String, i64)>,
}

/// A sub-cluster that draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubCluster {
    /// Its name.
    pub name: String,
    /// The number of its store: a new store under an old name would draw everything again.
    pub store: i64,
}

/// The shared purses of a federation.
pub struct Purse {
    database: Postgres,
}

impl Purse {
    /// Returns the purses at `place`, `postgres://USER@HOST:PORT/NAME`. Connects at the first use,
    /// and makes missing tables if it may `create` them. The `password` is separate.
    ///
    /// # Errors
    /// What is wrong with the text of `place`.
    pub fn open(place: &str, password: Option<&str>, create: bool) -> Result<Purse, String> {
        if !place.starts_with("postgres://") && !place.starts_with("postgresql://") {
            return Err("expected postgres://USER@HOST:PORT/NAME".to_string());
        }
        Ok(Purse {
            database: Postgres::with_tables(TABLES, place, password, create)?,
        })
    }

    /// Names the place, without a password.
    pub fn describe(&self) -> String {
        self.database.describe()
    }

    /// Puts credits into a queue's purse, in the name of `by`. Returns what is in it then.
    ///
    /// # Errors
    /// A wrong name, too much, or a server that cannot be used; nothing was added then, unless the
    /// connection broke during the commit.
    pub fn add(
        &mut self,
        queue: &str,
        amount: Credits,
        (by, why): (&str, &str),
        at_ms: i64,
    ) -> Result<Credits, StoreError> {
        check_text("queue", queue, false)?;
        check_text("by", by, false)?;
        check_text("why", why, true)?;
        self.transaction(true, |purse| {
            let sql = "INSERT INTO purses VALUES ($1, 0) ON CONFLICT DO NOTHING";
            purse.database.execute(sql, &[queue.into()])?;
            let left = purse.locked(queue)?.unwrap_or(0);
            let sum = left.saturating_add(amount.micro());
            if amount > Credits::MAX || sum > Credits::MAX.micro() {
                return refuse(Refusal::TooMuch(queue.to_string()));
            }
            purse.leave(queue, sum)?;
            let sql = "INSERT INTO grants (at_ms, queue, amount, granted_by, why) \
                       VALUES ($1, $2, $3, $4, $5)";
            let grant = [
                at_ms.into(),
                queue.into(),
                amount.micro().into(),
                by.into(),
                why.into(),
            ];
            purse.database.execute(sql, &grant)?;
            Ok(Credits::from_micro(sum))
        })
    }

    /// Draws for a sub-cluster, up to `DRAWS_MAX` wishes. Leaves out queues without a purse, or
    /// with an empty one. The last number draws nothing more: it returns what it drew before.
    ///
    /// # Errors
    /// A wrong name, a name that another store has, a number below the last, or a server that
    /// cannot be used. Some wishes may have been granted: repeat them all, with the same numbers.
    pub fn draw(
        &mut self,
        cluster: &SubCluster,
        wishes: &[Wish],
        at_ms: i64,
    ) -> Result<Vec<Draw>, StoreError> {
        check_text("cluster", &cluster.name, false)?;
        let purses = self.open_to(cluster)?;
        let known = |wish: &&Wish| purses.contains_key(&wish.queue);
        for wish in wishes.iter().filter(known) {
            let (_, last) = purses[&wish.queue];
            if wish.number < last {
                return Err(self.wrong(&format!(
                    "sub-cluster {} asks for draw {} of queue {} and has made {last}: its \
                     store is an old copy; give it another name in `store.purse.cluster`",
                    cluster.name, wish.number, wish.queue
                )));
            }
        }
        let mut draws = Vec::new();
        for wish in wishes.iter().filter(known) {
            let (left, last) = purses[&wish.queue];
            if left > 0 || wish.number == last {
                draws.extend(self.draw_one(&cluster.name, wish, at_ms)?);
            }
            if draws.len() == DRAWS_MAX {
                break;
            }
        }
        Ok(draws)
    }

    /// Reports every purse, by queue.
    ///
    /// # Errors
    /// A server that cannot be used, or figures that do not add up.
    pub fn balances(&mut self) -> Result<Vec<Balance>, StoreError> {
        // One snapshot: others draw meanwhile.
        let (purses, draws) = self.transaction(false, |purse| {
            let sql = "SELECT queue, left_micro, (SELECT CAST(SUM(amount) AS BIGINT) FROM grants \
                       WHERE grants.queue = purses.queue) FROM purses ORDER BY queue";
            let purses = purse.database.query(sql, &[])?;
            let sql = "SELECT queue, cluster, CAST(SUM(amount) AS BIGINT) FROM draws \
                       GROUP BY queue, cluster ORDER BY queue, cluster";
            Ok((purses, purse.database.query(sql, &[])?))
        })?;
        let mut draws = draws.into_iter().peekable();
        let mut balances = Vec::new();
        for row in purses {
            let [
                Cell::Text(queue),
                Cell::Integer(left),
                Cell::Integer(granted),
            ] = &row[..]
            else {
                return Err(self.wrong(&format!("{row:?} is no purse")));
            };
            let mut drawn = Vec::new();
            while let Some(row) = draws.next_if(|row| row[0] == Cell::Text(queue.clone())) {
                let [_, Cell::Text(cluster), Cell::Integer(sum)] = &row[..] else {
                    return Err(self.wrong(&format!("{row:?} is no draw")));
                };
                drawn.push((cluster.clone(), *sum));
            }
            let taken: i64 = drawn.iter().map(|(_, sum)| sum).sum();
            if granted - taken != *left {
                let wrong = format!("{granted} millionths less {taken} drawn are not {left}");
                return Err(self.wrong(&format!("queue {queue}: {wrong}")));
            }
            balances.push(Balance {
                queue: queue.clone(),
                granted_micro: *granted,
                left: Credits::from_micro(*left),
                drawn_micro: drawn,
            });
        }
        Ok(balances)
    }

    /// Registers the sub-cluster. Returns the millionths left in each purse, and the number of the
    /// sub-cluster's last draw from it.
    fn open_to(
        &mut self,
        cluster: &SubCluster,
    ) -> Result<BTreeMap<String, (i64, i64)>, StoreError> {
        let (store, rows) = self.transaction(true, |purse| {
            let name = Cell::from(cluster.name.as_str());
            let sql = "INSERT INTO clusters VALUES ($1, $2) ON CONFLICT DO NOTHING";
            purse
                .database
                .execute(sql, &[name.clone(), cluster.store.into()])?;
            let sql = "SELECT store FROM clusters WHERE name = $1";
            let store = purse.integer(sql, std::slice::from_ref(&name))?;
            let sql = "SELECT queue, left_micro, COALESCE((SELECT MAX(number) FROM draws \
                       WHERE draws.queue = purses.queue AND cluster = $1), 0) FROM purses";
            Ok((store, purse.database.query(sql, &[name])?))
        })?;
        if store != Some(cluster.store) {
            return Err(self.wrong(&format!(
                "sub-cluster {} has another store, or had one: give this one another name in \
                 `store.purse.cluster`",
                cluster.name
            )));
        }
        let purses = rows
            .into_iter()
            .map(|row| match <[Cell; 3]>::try_from(row) {
                Ok([Cell::Text(queue), Cell::Integer(left), Cell::Integer(last)]) => {
                    Ok((queue, (left, last)))
                }
                other => Err(self.wrong(&format!("{other:?} is no purse"))),
            });
        purses.collect()
    }

    fn draw_one(
        &mut self,
        cluster: &str,
        wish: &Wish,
        at_ms: i64,
    ) -> Result<Option<Draw>, StoreError> {
        let queue = wish.queue.as_str();
        let micro = self.transaction(true, |purse| {
            // The lock comes first: another process may be drawing under the same number.
            let Some(left) = purse.locked(queue)? else {
                return Ok(0);
            };
            let sql = "SELECT amount FROM draws WHERE queue = $1 AND cluster = $2 AND number = $3";
            let key = [queue.into(), cluster.into(), wish.number.into()];
            if let Some(before) = purse.integer(sql, &key)? {
                return Ok(before);
            }
            let micro = left.min(wish.amount.micro());
            if micro > 0 {
                purse.leave(queue, left - micro)?;
                let sql = "INSERT INTO draws VALUES ($1, $2, $3, $4, $5)";
                let row = [&key[..], &[micro.into(), at_ms.into()]].concat();
                purse.database.execute(sql, &row)?;
            }
            Ok(micro)
        })?;
        Ok((micro > 0).then(|| Draw {
            queue: wish.queue.clone(),
            number: wish.number,
            amount: Credits::from_micro(micro),
        }))
    }

    /// Locks a purse until the transaction ends; returns the millionths in it.
    fn locked(&mut self, queue: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT left_micro FROM purses WHERE queue = $1 FOR UPDATE";
        self.integer(sql, &[queue.into()])
    }

    fn leave(&mut self, queue: &str, micro: i64) -> Result<(), StoreError> {
        let sql = "UPDATE purses SET left_micro = $2 WHERE queue = $1";
        self.database.execute(sql, &[queue.into(), micro.into()])?;
        Ok(())
    }

    fn integer(&mut self, sql: &str, parameters: &[Cell]) -> Result<Option<i64>, StoreError> {
        let rows = self.database.query(sql, parameters)?;
        let first = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        match first {
            Some(Cell::Integer(value)) => Ok(Some(value)),
            Some(other) => Err(self.wrong(&format!("{other:?} is no amount"))),
            None => Ok(None),
        }
    }

    fn transaction<T>(
        &mut self,
        writes: bool,
        work: impl FnOnce(&mut Purse) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database.begin(writes)?;
        match work(self) {
            Ok(value) => {
                self.database.commit()?;
                Ok(value)
            }
            Err(error) => {
                self.database.rollback();
                Err(error)
            }
        }
    }

    fn wrong(&self, reason: &str) -> StoreError {
        StoreError::Refused(Refusal::Purse(format!("{}: {reason}", self.describe())))
    }
}
