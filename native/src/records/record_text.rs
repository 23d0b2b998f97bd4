//! The records of a batch as JSON: those of `kdissect.engine.records.nested_records`.

use crate::json_out::{number, text};
use crate::wire::Wire;

/// What the header of a batch says about its records.
pub struct Base {
    pub offset: i64,
    pub time_ms: i64,
    pub append_time_ms: Option<i64>, // of all records
    pub count: i32,
}

/// Write the records in `data` as a list; None where they do not fit, or are not as many as the batch says.
pub fn records(out: &mut Vec<u8>, data: &[u8], base: &Base) -> Option<()> {
    let mut wire = Wire { data, at: 0 };
    let mut count = 0;
    out.push(b'[');
    while wire.left() > 0 {
        if count > 0 {
            out.push(b',');
        }
        let size = usize::try_from(wire.varint()?).ok()?;
        record(out, Wire { data: wire.take(size)?, at: 0 }, base)?;
        count += 1;
    }
    out.push(b']');
    (count == base.count).then_some(())
}

/// One record (spec/001 "5.3.2 Record"), whose bytes are all of `wire`.
fn record(out: &mut Vec<u8>, mut wire: Wire<'_>, base: &Base) -> Option<()> {
    wire.byte()?; // attributes, of which none is used
    let elapsed = wire.varlong()?;
    let delta = wire.varint()?;
    out.extend_from_slice(b"{\"offset\":");
    number(out, base.offset.checked_add(delta.into())?);
    out.extend_from_slice(b",\"timestamp\":");
    let time_ms = base.time_ms.checked_add(elapsed)?;
    number(out, base.append_time_ms.unwrap_or(time_ms));
    out.extend_from_slice(b",\"key\":");
    nullable(out, &mut wire)?;
    out.extend_from_slice(b",\"value\":");
    nullable(out, &mut wire)?;
    headers(out, &mut wire)?;
    out.push(b'}');
    (wire.left() == 0).then_some(())
}

/// The bytes of a key or a value, null where there are none.
fn nullable(out: &mut Vec<u8>, wire: &mut Wire<'_>) -> Option<()> {
    match wire.nullable_bytes()? {
        None => out.extend_from_slice(b"null"),
        Some(found) => text(out, found),
    }
    Some(())
}

/// The headers of a record, nothing where it has none.
fn headers(out: &mut Vec<u8>, wire: &mut Wire<'_>) -> Option<()> {
    let count = usize::try_from(wire.varint()?).ok()?;
    if count == 0 {
        return Some(());
    }
    out.extend_from_slice(b",\"headers\":[");
    for number in 0..count {
        out.extend_from_slice(if number == 0 { b"{\"key\":" } else { b",{\"key\":" });
        let size = usize::try_from(wire.varint()?).ok()?;
        text(out, wire.take(size)?);
        out.extend_from_slice(b",\"value\":");
        nullable(out, wire)?;
        out.push(b'}');
    }
    out.push(b']');
    Some(())
}
