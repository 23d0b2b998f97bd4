//! The records of a batch as JSON, as in `kdissect.engine.records.nested_records`.

use super::batch::Batch;
use super::record_reader::{bytes, record, Header, Record};
use crate::json_out::{number, text};

/// Write the records in `data` as a list; None if they do not fit, or their number differs from the
/// batch's count.
pub fn records(out: &mut Vec<u8>, data: &[u8], batch: &Batch) -> Option<()> {
    let (mut at, mut count) = (0, 0);
    let mut headers = Vec::new();
    out.push(b'[');
    while at < data.len() {
        if count > 0 {
            out.push(b',');
        }
        headers.clear();
        let found = record(data, at, &mut headers)?;
        write(out, data, &found, &headers, batch)?;
        at = found.end;
        count += 1;
    }
    out.push(b']');
    (count == batch.count).then_some(())
}

fn write(out: &mut Vec<u8>, data: &[u8], record: &Record, headers: &[Header], batch: &Batch) -> Option<()> {
    let (offset, time_ms) = batch.place(record)?;
    out.extend_from_slice(b"{\"offset\":");
    number(out, offset);
    out.extend_from_slice(b",\"timestamp\":");
    number(out, time_ms);
    out.extend_from_slice(b",\"key\":");
    nullable(out, bytes(data, record.key));
    out.extend_from_slice(b",\"value\":");
    nullable(out, bytes(data, record.value));
    if !headers.is_empty() {
        write_headers(out, data, headers);
    }
    out.push(b'}');
    Some(())
}

/// The bytes of a key or a value, or null.
fn nullable(out: &mut Vec<u8>, found: Option<&[u8]>) {
    match found {
        None => out.extend_from_slice(b"null"),
        Some(found) => text(out, found),
    }
}

fn write_headers(out: &mut Vec<u8>, data: &[u8], headers: &[Header]) {
    out.extend_from_slice(b",\"headers\":[");
    for (number, &(key, value)) in headers.iter().enumerate() {
        out.extend_from_slice(if number == 0 { b"{\"key\":" } else { b",{\"key\":" });
        text(out, data.get(key.0..key.1).unwrap_or_default());
        out.extend_from_slice(b",\"value\":");
        nullable(out, bytes(data, value));
        out.push(b'}');
    }
    out.push(b']');
}
