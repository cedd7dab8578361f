//! Contains panics: a fault in the engine must cost a rebuild, never the ResourceManager.
//!
//! An unwinding that reaches C or Java would abort the process, so every entry runs under
//! [`catch`]. It returns the panic's text, its place, and the stack frames of this project: nothing
//! else is left when an operator reads the error. `host.rs` decides what happens to an engine that
//! panicked.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

/// Most stack frames in a report.
const FRAMES_MAX: usize = 24;

thread_local! {
    /// How many calls of [`catch`] are running on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Place and stack of the last panic on this thread.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `call`. Returns a panic as its text, place and stack.
///
/// State that `call` had half changed stays so; the caller must not use it again.
pub fn catch<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    install_hook();
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    result.map_err(|payload| {
        let place = PLACE.take().unwrap_or_default();
        format!("{}{place}", text(&*payload))
    })
}

/// The text that `panic!` was given: a literal is a `&str`, formatted text is a `String`.
pub fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    literal
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without text")
}

/// Keeps the default hook for other panics: in a test, or in another part of a program that links
/// this crate.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                others(info);
            } else {
                PLACE.set(Some(place(info)));
            }
        }));
    });
}

fn place(info: &PanicHookInfo<'_>) -> String {
    let mut place = info
        .location()
        .map_or(String::new(), |location| format!(", at {location}"));
    let stack = Backtrace::force_capture().to_string();
    let ours = stack
        .lines()
        .filter(|line| line.contains("heddle") && !line.contains("::panics::"));
    for line in ours.take(FRAMES_MAX) {
        place.push_str("\n    ");
        place.push_str(line.trim());
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_and_formatted_texts_come_back_with_their_place() {
        let literal: Result<(), _> = catch(|| panic!("plain"));
        let formatted: Result<(), _> = catch(|| panic!("value {}", 7));
        let other: Result<(), _> = catch(|| std::panic::panic_any(7_u8));
        for (result, expected) in [
            (literal, "plain"),
            (formatted, "value 7"),
            (other, "a panic without text"),
        ] {
            let report = result.unwrap_err();
            assert!(report.starts_with(expected), "{report}");
            assert!(report.contains("panics.rs:"), "{report}");
        }
    }

    #[test]
    fn what_does_not_panic_passes() {
        assert_eq!(catch(|| 5), Ok(5));
    }
}
