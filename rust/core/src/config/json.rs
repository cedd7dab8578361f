//! The text of `heddle.json`: one JSON object, read strictly. A key that stands twice is a fault,
//! because a lenient reader would drop the first without a word.

use super::text::{Fault, checked};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Larger files are refused unread: a configuration of 100,000 queues is smaller.
const BYTES_MAX: usize = 64 << 20;

/// Reads the text of `heddle.json`.
///
/// # Errors
/// The first fault, with its line.
pub fn parse_json(text: &str) -> Result<Value, Fault> {
    let text = checked(text, BYTES_MAX, "an object")?;
    let Strict(value) = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The line stands before the problem, as in every message about a file.
        let problem = said.split(" at line ").next().unwrap_or(&said);
        let column = error.column();
        Fault::new(
            error.line() as u32,
            format!("column {column}: expected JSON: {problem}. Correct the file"),
        )
    })?;
    if value.is_object() {
        return Ok(value);
    }
    let problem = r#"expected a JSON object, such as {"queues": []}"#;
    Err(Fault::new(0, problem))
}

/// A value in which no object has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Strict, D::Error> {
        from.deserialize_any(AnyValue).map(Strict)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let Strict(value) = entries.next_value()?;
            if object.contains_key(&key) {
                let problem = format!("the key `{key}` stands twice in one object");
                return Err(de::Error::custom(problem));
            }
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(text: &str) -> String {
        parse_json(text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn an_object_is_read_whole() {
        let text = "\u{feff}{\"a\": [1, -2, 2.5, true, null, \"x\\ny\"],\n \"b\": {\"a\": {}}}\n";
        let read = json!({"a": [1, -2, 2.5, true, null, "x\ny"], "b": {"a": {}}});
        assert_eq!(parse_json(text), Ok(read));
    }

    #[test]
    fn faults_have_a_line() {
        let twice = wrong("{\"queues\": [],\n\"queues\": []}");
        assert!(twice.starts_with("line 2: column "), "{twice}");
        assert!(twice.contains("the key `queues` stands twice"), "{twice}");
        let inside = wrong("{\"queues\": [{\"path\": \"root.a\",\n \"path\": \"root.b\"}]}");
        assert!(inside.starts_with("line 2: "), "{inside}");
        assert!(wrong("{\n\n\"a\": }").starts_with("line 3: column 6: expected JSON: "));
        assert!(wrong("{}\n}").starts_with("line 2: column 1: expected JSON: trailing"));
        assert!(wrong("").starts_with("line 1: "));
        assert!(wrong("[1]").starts_with("expected a JSON object"));
        assert!(wrong("{\n\"a\": \"\u{fffd}\"}").starts_with("line 2: expected UTF-8"));
    }
}
