//! Frames as JSON, for people and tools that look into a journal. Works from the layout tables
//! alone, so that it also describes what the decoder refuses. Names no host and no application:
//! frames have numbers.

use serde_json::{Map, Value, json};

use crate::constant::*;
use crate::record::{self, Field, InputHeader, OutputHeader, RecordHeader, RecordLayout};

/// The records of an input frame, each an object with its name as `record`.
pub fn input(frame: &[u8]) -> Vec<Value> {
    records(frame, size_of::<InputHeader>(), record::input_record)
}

/// The records of an output frame: decisions and log lines.
pub fn output(frame: &[u8]) -> Vec<Value> {
    records(frame, size_of::<OutputHeader>(), record::output_record)
}

/// The header of an output frame, without its counts.
pub fn output_header(frame: &[u8]) -> Value {
    let Some(bytes) = frame.get(..size_of::<OutputHeader>()) else {
        return Value::Null;
    };
    let header: OutputHeader = bytemuck::pod_read_unaligned(bytes);
    json!({
        "sequence": header.sequence,
        "idle": header.flags & OUTPUT_IDLE != 0,
        "more": header.flags & OUTPUT_MORE != 0,
        "next_tick_ms": header.next_tick_ms,
        "ignored": header.ignored,
    })
}

fn records(
    frame: &[u8],
    start: usize,
    layout_of: fn(u16) -> Option<&'static RecordLayout>,
) -> Vec<Value> {
    let mut records = Vec::new();
    let mut rest = frame.get(start..).unwrap_or_default();
    while !rest.is_empty() {
        let header = rest.get(..size_of::<RecordHeader>());
        let header = header.map(bytemuck::pod_read_unaligned::<RecordHeader>);
        let found = header.and_then(|header| {
            let layout = layout_of(header.kind)?;
            let bytes = rest.get(..usize::from(header.size))?;
            (bytes.len() >= layout.size).then_some((layout, header, bytes))
        });
        let Some((layout, header, bytes)) = found else {
            let length = rest.len();
            records.push(json!({"record": format!("{length} bytes that are no record")}));
            break;
        };
        records.push(describe(layout, header, bytes));
        rest = &rest[bytes.len()..];
    }
    records
}

fn describe(layout: &RecordLayout, header: RecordHeader, bytes: &[u8]) -> Value {
    let mut fields = Map::new();
    fields.insert("record".to_owned(), layout.name.into());
    fields.insert(subject(layout.name).to_owned(), header.id.into());
    if layout.name == "LOG" {
        let log: record::Log = bytemuck::pod_read_unaligned(&bytes[..layout.size]);
        let text = bytes[layout.size..].get(..log.length as usize);
        let text = String::from_utf8_lossy(text.unwrap_or_default());
        fields.insert("text".to_owned(), text.into());
        return fields.into();
    }
    for field in layout.fields {
        if !matches!(field.name, "header" | "pad") {
            fields.insert(field.name.to_owned(), value(field, bytes));
        }
    }
    fields.into()
}

/// The kind of thing that the id of a record names.
fn subject(record: &str) -> &'static str {
    match record {
        "HEARTBEAT" => "node",
        "TICK" | "FAULT" => "id",
        "RACK_TRAFFIC" => "rack",
        "LOG" => "level",
        name if name.starts_with("NODE_") => "node",
        _ => "job",
    }
}

fn value(field: &Field, record: &[u8]) -> Value {
    let bytes = &record[field.offset..field.offset + field.size];
    let int = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let short = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    match field.kind {
        "u32" => short(bytes).into(),
        "i32" => short(bytes).cast_signed().into(),
        "u64" => int(bytes).cast_unsigned().into(),
        "i64" => int(bytes).into(),
        "ResourceVector" => {
            // Types that a cluster does not have are zeros at the end.
            let mut amounts: Vec<i64> = bytes.chunks_exact(8).map(int).collect();
            while amounts.len() > 2 && amounts.last() == Some(&0) {
                amounts.pop();
            }
            amounts.into()
        }
        _ => bytes.chunks_exact(4).map(short).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{INPUT_RECORDS, OUTPUT_RECORDS};

    #[test]
    fn every_type_of_a_field_has_its_form() {
        let fields = [INPUT_RECORDS, OUTPUT_RECORDS].concat();
        for field in fields.iter().flat_map(|record| record.fields) {
            let known = ["u32", "i32", "u64", "i64", "ResourceVector", "[u32; 3]"];
            let is_known = known.contains(&field.kind) || field.name == "header";
            assert!(is_known, "{}: {}", field.name, field.kind);
        }
    }

    #[test]
    fn a_frame_is_told_record_by_record() {
        let mut frame = vec![0; size_of::<InputHeader>()];
        let mut free = [0; RESOURCE_TYPES];
        (free[0], free[1]) = (-1_024, 2);
        let header = |kind, size, id| RecordHeader { kind, size, id };
        let beat = record::Heartbeat {
            header: header(HEARTBEAT, 72, 7),
            free,
        };
        frame.extend(bytemuck::bytes_of(&beat));
        let blocks = record::InputBlocks {
            header: header(INPUT_BLOCKS, 32, 3),
            racks: [1, 2, 0],
            blocks: 9,
            bytes: u64::MAX,
        };
        frame.extend(bytemuck::bytes_of(&blocks));
        frame.extend([9; 5]);
        let expected = [
            json!({"record": "HEARTBEAT", "node": 7, "free": [-1_024, 2]}),
            json!({"record": "INPUT_BLOCKS", "job": 3, "racks": [1, 2, 0], "blocks": 9,
                "bytes": u64::MAX}),
            json!({"record": "5 bytes that are no record"}),
        ];
        assert_eq!(input(&frame), expected);
        assert_eq!(input(b"short"), [] as [Value; 0]);
    }
}
