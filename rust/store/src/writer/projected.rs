//! The books as they will be, or as they are stored: what is handed over is tried on them first.
//! What was learnt is left out, as nothing is refused for it and it is most of a book's size.

use super::NotAccepted;
use super::pending::{Item, Wish};
use crate::book::{Book, Writes};
use crate::error::{Refusal, StoreError};
use crate::record::{Change, Interval};

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

    /// Carries out an interval, or says why it cannot follow, and stays as it is.
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

    /// Carries out changes, or says why they cannot follow, and stays as it is.
    pub(super) fn changes(&mut self, at_ms: i64, changes: &[Change]) -> Result<(), NotAccepted> {
        let writes = self.0.plan_wish(at_ms, changes).map_err(refused)?;
        self.apply(writes);
        Ok(())
    }

    pub(super) fn item(&mut self, item: &Item) -> Result<(), NotAccepted> {
        match item {
            Item::Interval(interval) => self.interval(interval),
            Item::Changes(Wish { at_ms, changes, .. }) => self.changes(*at_ms, changes),
        }
    }

    /// How many lessons and batches there will be depends on what is merged.
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
