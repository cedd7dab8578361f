//! The books as stored, or with all pending items applied; every new item is tried on the latter.
//! Leaves out lessons: they are never refused, and they are most of a book's size.

use super::NotAccepted;
use super::pending::{ChangeBatch, Item};
use crate::record::{Change, Interval};
use crate::store::book::{Book, Writes};
use crate::store::error::{Refusal, StoreError};

#[derive(Clone, Default)]
pub(super) struct Projected(Book);

impl Projected {
    pub(super) fn new(book: &Book) -> Projected {
        Projected(Book {
            learnt: Default::default(),
            ..book.clone()
        })
    }

    pub(super) fn book(&self) -> &Book {
        &self.0
    }

    /// Applies an interval; an interval that does not follow is refused and changes nothing.
    pub(super) fn interval(&mut self, interval: &Interval) -> Result<(), NotAccepted> {
        let writes = self.0.plan_interval(interval).map_err(refused)?;
        let (last, given) = (self.0.head.tick, interval.first());
        let past = Refusal::NotNext {
            expected: last + 1,
            given,
        };
        self.apply(writes.ok_or(NotAccepted::Refused(past))?);
        Ok(())
    }

    /// Applies changes; changes that do not follow are refused and have no effect.
    pub(super) fn changes(&mut self, at_ms: i64, changes: &[Change]) -> Result<(), NotAccepted> {
        let writes = self.0.plan_rows(at_ms, changes).map_err(refused)?;
        self.apply(writes);
        Ok(())
    }

    pub(super) fn item(&mut self, item: &Item) -> Result<(), NotAccepted> {
        match item {
            Item::Interval(interval) => self.interval(interval),
            Item::Changes(ChangeBatch { at_ms, changes, .. }) => self.changes(*at_ms, changes),
        }
    }

    /// Keeps `serial` and `lesson`: merging changes the number of batches and lessons.
    fn apply(&mut self, writes: Writes) {
        let (serial, lesson) = (self.0.head.serial, self.0.head.lesson);
        self.0.apply(&writes);
        self.0.head.serial = serial;
        self.0.head.lesson = lesson;
        self.0.learnt.clear();
    }
}

fn refused(error: StoreError) -> NotAccepted {
    match error {
        StoreError::Refused(refusal) => NotAccepted::Refused(refusal),
        other => unreachable!("a plan is refused or made, it touches nothing: {other}"),
    }
}
