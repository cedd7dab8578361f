//! JSON objects one after the other in one file, as SLS and Rumen write them, with a limit on the
//! length of each; and one JSON value in a whole file.

use crate::fault::Fault;
use crate::limits::{ITEM_BYTES_MAX, WHOLE_BYTES_MAX};
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::marker::PhantomData;
use std::rc::Rc;

/// Limits the bytes of an item, and counts all that are read.
struct Bounded<R> {
    source: R,
    most: usize,
    left: Rc<Cell<usize>>,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(self.left.get());
        if room == 0 && !buffer.is_empty() {
            let what = format!("an object of more than {} bytes", self.most);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let count = self.source.read(&mut buffer[..room])?;
        self.left.set(self.left.get() - count);
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

/// Calls `each` for every object of a file.
///
/// # Errors
/// The first bad object, with the offset where it goes wrong, or the fault of `each`.
pub(crate) fn each<T: DeserializeOwned>(
    source: &mut dyn BufRead,
    remedy: &str,
    mut each: impl FnMut(T, u64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let left = Rc::new(Cell::new(ITEM_BYTES_MAX));
    let read = Rc::new(Cell::new(0));
    let bounded = Bounded {
        source,
        most: ITEM_BYTES_MAX,
        left: Rc::clone(&left),
        read: Rc::clone(&read),
    };
    for item in serde_json::Deserializer::from_reader(bounded).into_iter::<T>() {
        let item = item.map_err(|error| Fault::at(read.get(), said(&error), remedy))?;
        left.set(ITEM_BYTES_MAX);
        each(item, read.get())?;
    }
    Ok(())
}

/// Reads the one value of a file.
///
/// # Errors
/// What is wrong, with the offset.
pub(crate) fn whole<T: DeserializeOwned>(
    source: &mut dyn BufRead,
    remedy: &str,
) -> Result<T, Fault> {
    let read = Rc::new(Cell::new(0));
    let bounded = Bounded {
        source,
        most: WHOLE_BYTES_MAX as usize,
        left: Rc::new(Cell::new(WHOLE_BYTES_MAX as usize)),
        read: Rc::clone(&read),
    };
    let value = serde_json::from_reader(bounded);
    value.map_err(|error| Fault::at(read.get(), said(&error), remedy))
}

/// Returns what serde_json says, without its line and column: the offset says where.
pub(crate) fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].chars().take(300).collect()
}

/// A number that may be written as a text, a fraction, or not be there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(Some(value)))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(Some(i64::try_from(value).unwrap_or(i64::MAX))))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(Some(value as i64)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let number = text.trim().parse().map(|number| Number(Some(number)));
                number.map_err(|_| E::custom(format!("expected a number, found `{text}`")))
            }
            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(None))
            }
            fn visit_none<E>(self) -> Result<Number, E> {
                Ok(Number(None))
            }
        }
        from.deserialize_any(Any)
    }
}

/// A text; anything else counts as none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text(pub(crate) Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Other(IgnoredAny),
        }
        Ok(match Either::deserialize(from)? {
            Either::Text(text) => Text(Some(text)),
            Either::Other(_) => Text(None),
        })
    }
}

/// A list of at most `MOST` items: one more is refused before it is kept.
#[derive(Debug)]
pub(crate) struct Limited<T, const MOST: usize>(pub(crate) Vec<T>);

impl<T, const MOST: usize> Default for Limited<T, MOST> {
    fn default() -> Limited<T, MOST> {
        Limited(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Limited<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Limited<T, MOST>, D::Error> {
        struct Items<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<T, MOST> {
            type Value = Limited<T, MOST>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MOST}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    if items.len() == MOST {
                        return Err(A::Error::custom(format!("a list of more than {MOST}")));
                    }
                    items.push(item);
                }
                Ok(Limited(items))
            }
        }
        from.deserialize_seq(Items(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_at_its_limit() {
        let list = |text: &str| serde_json::from_str::<Limited<u8, 2>>(text);
        assert_eq!(list("[1, 2]").expect("two are allowed").0, [1, 2]);
        let error = list("[1, 2, 3").expect_err("a third is refused before the list ends");
        assert!(said(&error).contains("more than 2"), "{error}");
    }
}
