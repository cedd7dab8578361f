//! Words for the condition of a store's writer, for people and programs.

use crate::record::{BooksState, BooksStatus, Progress};
use crate::store::{State, Status};

/// Converts a writer's status. Its books count as unread until the caller knows better.
pub(super) fn described(status: Status) -> BooksStatus {
    let (state, detail) = worded(&status.state);
    BooksStatus {
        store: Some(status.store),
        progress: Some(Progress {
            detail,
            intervals_behind: status.behind,
            interval: status.tick,
            intervals_merged: status.merged,
            intervals_lost: status.lost.ticks,
        }),
        ..BooksStatus::of(state)
    }
}

/// Returns a state's condition and its detail.
pub(super) fn worded(state: &State) -> (BooksState, Option<String>) {
    match state {
        State::Opening => (BooksState::Opening, None),
        State::Connected => (BooksState::Connected, None),
        State::Unreachable { since_ms, why } => {
            let detail = format!("since {since_ms} ms: {why}");
            (BooksState::Unreachable, Some(detail))
        }
        State::Fenced { owner } => (BooksState::Fenced, Some(format!("{owner} has taken over"))),
        State::Stopped { why } => (BooksState::Stopped, Some(why.clone())),
        State::Closed => (BooksState::Closed, None),
    }
}
