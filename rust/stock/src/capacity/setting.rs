//! One property, and how Hadoop reads its value. Knows nothing of what a property means.

use crate::{Fault, java};
use heddle_core::config::text::shown;

/// How many characters of a name a message repeats.
const SHOWN_MAX: usize = 240;

/// One property.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    pub(super) line: u32,
}

impl<'a> Setting<'a> {
    pub(super) fn fault(&self, problem: impl AsRef<str>) -> Fault {
        Fault {
            line: self.line,
            problem: format!("{}: {}", shorten(self.name), problem.as_ref()),
        }
    }

    /// The fault of a value that is not what was expected.
    pub(super) fn expected(&self, what: &str) -> Fault {
        self.fault(format!("expected {what}, found {}", shown(self.value)))
    }

    /// A whole number as Hadoop reads it: trimmed, perhaps in hexadecimal.
    pub(super) fn whole(&self) -> Result<i32, Fault> {
        let number = self.long()?;
        i32::try_from(number).map_err(|_| self.expected("a whole number of at most 32 bits"))
    }

    /// A whole number of 64 bits.
    pub(super) fn long(&self) -> Result<i64, Fault> {
        java::whole(self.value).ok_or_else(|| self.expected("a whole number"))
    }

    /// A number with 32 bits as Java reads it, except that it must be finite.
    pub(super) fn number(&self) -> Result<f32, Fault> {
        number(self.value.trim()).ok_or_else(|| self.expected("a number"))
    }

    /// A number from `least` to `most`.
    pub(super) fn number_within(&self, least: f32, most: f32) -> Result<f32, Fault> {
        let number = self.number()?;
        match (least..=most).contains(&number) {
            true => Ok(number),
            false => Err(self.expected(&format!("a number from {least} to {most}"))),
        }
    }

    /// The parts between commas, trimmed, without empty ones.
    pub(super) fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let parts = self.value.split(',').map(str::trim);
        parts.filter(|part| !part.is_empty())
    }
}

/// Reads a finite number with 32 bits in Java's notation.
pub(super) fn number(text: &str) -> Option<f32> {
    let number = java::double(text)? as f32;
    // No negative zero.
    number.is_finite().then_some(number + 0.0)
}

/// The name of a property for a message, bounded.
fn shorten(name: &str) -> &str {
    match name.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}
