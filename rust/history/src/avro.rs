//! Decodes Avro's binary form by the schema that stands in the file, into JSON values. Only what
//! job histories use: no aliases, no default values, no schema resolution.
//!
//! Source: Apache Avro 1.11, "Specification", sections "Binary Encoding" and "Schema Declaration".

use crate::limits::ITEM_BYTES_MAX;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Deepest nesting of records, arrays, maps and unions.
const DEPTH_MAX: usize = 64;

/// A schema with its named types.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    root: Value,
    named: BTreeMap<String, Value>,
}

impl Schema {
    /// Takes a schema apart.
    ///
    /// # Errors
    /// Says what is no schema.
    pub(crate) fn new(root: Value) -> Result<Schema, String> {
        let mut named = BTreeMap::new();
        collect(&root, "", &mut named, 0)?;
        Ok(Schema { root, named })
    }
}

fn collect(
    schema: &Value,
    space: &str,
    named: &mut BTreeMap<String, Value>,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("the schema is nested deeper than {DEPTH_MAX}"));
    }
    match schema {
        Value::Array(branches) => {
            for branch in branches {
                collect(branch, space, named, depth + 1)?;
            }
        }
        Value::Object(keys) => {
            let space = keys
                .get("namespace")
                .and_then(Value::as_str)
                .unwrap_or(space);
            if let Some(name) = keys.get("name").and_then(Value::as_str) {
                let full = match name.contains('.') || space.is_empty() {
                    true => name.to_string(),
                    false => format!("{space}.{name}"),
                };
                named.insert(name.to_string(), schema.clone());
                named.insert(full, schema.clone());
            }
            for key in ["items", "values", "type"] {
                if let Some(inner) = keys.get(key) {
                    collect(inner, space, named, depth + 1)?;
                }
            }
            for field in keys
                .get("fields")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                collect(&field["type"], space, named, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Bytes that are decoded.
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Values that one item may still have.
    left: usize,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Decoder<'a> {
        Decoder { bytes, at, left: 0 }
    }

    /// Returns the offset of the next item.
    pub(crate) fn offset(&self) -> u64 {
        self.at as u64
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Decodes the next item.
    ///
    /// # Errors
    /// Says what is wrong at the present offset.
    pub(crate) fn item(&mut self, schema: &Schema) -> Result<Value, String> {
        self.left = ITEM_BYTES_MAX / 64;
        self.value(schema, &schema.root, 0)
    }

    fn value(&mut self, schema: &Schema, of: &Value, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX}"));
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or("an event with too many values")?;
        match of {
            Value::String(name) => self.named(schema, name, of, depth),
            Value::Array(branches) => {
                let branch = self.long()?;
                let branch = usize::try_from(branch).ok().and_then(|at| branches.get(at));
                let branch = branch.ok_or("a branch that its union does not have")?;
                self.value(schema, branch, depth + 1)
            }
            Value::Object(keys) => match keys.get("type") {
                Some(Value::String(name)) => self.named(schema, name, of, depth),
                Some(inner) => self.value(schema, inner, depth + 1),
                None => Err("a schema without a type".to_string()),
            },
            _ => Err("a schema that is neither name, union nor object".to_string()),
        }
    }

    fn named(
        &mut self,
        schema: &Schema,
        name: &str,
        of: &Value,
        depth: usize,
    ) -> Result<Value, String> {
        Ok(match name {
            "null" => Value::Null,
            "boolean" => Value::Bool(self.take(1)?[0] != 0),
            "int" | "long" => Value::from(self.long()?),
            "float" => {
                let bytes = self.take(4)?.try_into().expect("it took 4");
                Value::from(f64::from(f32::from_le_bytes(bytes)))
            }
            "double" => {
                let bytes = self.take(8)?.try_into().expect("it took 8");
                Value::from(f64::from_le_bytes(bytes))
            }
            "string" | "bytes" => {
                let length = self.length()?;
                Value::from(String::from_utf8_lossy(self.take(length)?).into_owned())
            }
            "enum" => {
                let at = usize::try_from(self.long()?).ok();
                let symbol = at.and_then(|at| of["symbols"].get(at));
                symbol
                    .ok_or("a symbol that its enum does not have")?
                    .clone()
            }
            "fixed" => {
                let length = of["size"].as_u64().ok_or("a fixed type without size")?;
                let length = usize::try_from(length).map_err(|_| "a fixed type too large")?;
                Value::from(String::from_utf8_lossy(self.take(length)?).into_owned())
            }
            "record" => self.record(schema, of, depth)?,
            "array" => {
                let mut items = Vec::new();
                self.blocks(|decoder| {
                    items.push(decoder.value(schema, &of["items"], depth + 1)?);
                    Ok(())
                })?;
                Value::Array(items)
            }
            "map" => {
                let mut entries = Map::new();
                self.blocks(|decoder| {
                    let length = decoder.length()?;
                    let key = String::from_utf8_lossy(decoder.take(length)?).into_owned();
                    entries.insert(key, decoder.value(schema, &of["values"], depth + 1)?);
                    Ok(())
                })?;
                Value::Object(entries)
            }
            other => {
                let known = schema.named.get(other);
                let known = known.ok_or_else(|| format!("an unknown type `{other}`"))?;
                return self.value(schema, known, depth + 1);
            }
        })
    }

    fn record(&mut self, schema: &Schema, of: &Value, depth: usize) -> Result<Value, String> {
        let mut record = Map::new();
        let fields = of["fields"].as_array().ok_or("a record without fields")?;
        for field in fields {
            let name = field["name"].as_str().unwrap_or_default();
            let value = self.value(schema, &field["type"], depth + 1)?;
            record.insert(name.to_string(), value);
        }
        Ok(Value::Object(record))
    }

    /// Decodes the blocks of an array or map.
    fn blocks(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        loop {
            let mut count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                self.long()?;
                count = count.checked_neg().ok_or("a block of too many items")?;
            }
            for _ in 0..count {
                self.left = self
                    .left
                    .checked_sub(1)
                    .ok_or("an event with too many values")?;
                one(self)?;
            }
        }
    }

    fn length(&mut self) -> Result<usize, String> {
        let length = self.long()?;
        let length = usize::try_from(length).ok();
        length.ok_or_else(|| "a negative length".to_string())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self
            .at
            .checked_add(count)
            .filter(|end| *end <= self.bytes.len());
        let end = end.ok_or("the file ends in the middle of an event")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// Decodes a zig-zag number of variable length.
    fn long(&mut self) -> Result<i64, String> {
        let mut raw: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            raw |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((raw >> 1) as i64 ^ -((raw & 1) as i64));
            }
        }
        Err("a number of more than ten bytes".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The example of the specification, section "Binary Encoding": a record of a long 27 and a
    /// string "foo" is 36 06 66 6f 6f; zig-zag -64 is 7f, 64 is 80 01.
    #[test]
    fn the_examples_of_the_specification_are_decoded() {
        let schema = json!({"type": "record", "name": "test", "fields": [
            {"name": "a", "type": "long"}, {"name": "b", "type": "string"}]});
        let schema = Schema::new(schema).expect("it is one");
        let bytes = [0x36, 0x06, 0x66, 0x6f, 0x6f];
        let value = Decoder::new(&bytes, 0).item(&schema).expect("it is one");
        assert_eq!(value, json!({"a": 27, "b": "foo"}));
        for (bytes, number) in [(&[0x7f][..], -64), (&[0x80, 0x01], 64), (&[0x01], -1)] {
            assert_eq!(Decoder::new(bytes, 0).long(), Ok(number));
        }
        // An array of longs, 3 and 27: 04 06 36 00. A union of null and string, "a": 02 02 61.
        let list = Schema::new(json!({"type": "array", "items": "long"})).expect("it is one");
        let value = Decoder::new(&[0x04, 0x06, 0x36, 0x00], 0).item(&list);
        assert_eq!(value, Ok(json!([3, 27])));
        let union = Schema::new(json!(["null", "string"])).expect("it is one");
        assert_eq!(
            Decoder::new(&[0x02, 0x02, 0x61], 0).item(&union),
            Ok(json!("a"))
        );
        assert!(Decoder::new(&[0x02, 0x02], 0).item(&union).is_err());
    }

    #[test]
    fn a_claim_of_endless_items_ends() {
        // An array of nulls takes no bytes for its items.
        let schema = Schema::new(json!({"type": "array", "items": "null"})).expect("it is one");
        let mut bytes = vec![0xfe; 9];
        bytes.push(0x01);
        let error = Decoder::new(&bytes, 0)
            .item(&schema)
            .expect_err("it is endless");
        assert!(error.contains("too many"), "{error}");
    }
}
