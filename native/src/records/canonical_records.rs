//! A walk through records that tells whether they are as nearly all are: `kdissect.decoders.records.canonical_batch`.

use pyo3::prelude::*;

use crate::wire::Wire;

/// `usual.read_latest`: the latest timestamp delta of the records in `data[at..end]`; None for anything odd.
#[pyfunction]
pub fn latest_delta(
    wanted: Option<i64>,
    last_delta: i64,
    data: &[u8],
    at: usize,
    end: usize,
    dense: bool,
) -> Option<i64> {
    let data = data.get(..end)?;
    let (mut at, mut count, mut latest, mut due) = (at, 0, 0, 0);
    while at < end {
        let record = record(data, at, due, dense)?;
        if record.elapsed != 0 && count == 0 {
            return None;
        }
        latest = latest.max(record.elapsed);
        due = record.delta.checked_add(1)?;
        at = record.stop;
        count += 1;
    }
    (Some(count) == wanted && due - 1 <= last_delta).then_some(latest)
}

/// What of a record counts for the next one and for the batch.
struct Record {
    elapsed: i64,
    delta: i64,
    stop: usize,
}

/// The record at `at`, whose offset delta is `due` or (not `dense`) more; None for an odd one.
fn record(data: &[u8], at: usize, due: i64, dense: bool) -> Option<Record> {
    let mut wire = Wire { data, at };
    let length = size(&mut wire)?;
    let stop = wire.at.checked_add(length)?;
    let mut wire = Wire { data: data.get(..stop)?, at: wire.at };
    if wire.byte()? != 0 {
        return None; // attributes
    }
    let elapsed = wire.varlong()?;
    let delta = i64::try_from(size(&mut wire)?).ok()?;
    if delta != due && (dense || delta < due) {
        return None;
    }
    wire.nullable_bytes()?;
    wire.nullable_bytes()?;
    for _ in 0..size(&mut wire)? {
        let length = size(&mut wire)?;
        if !wire.take(length)?.is_ascii() {
            return None;
        }
        wire.nullable_bytes()?;
    }
    (wire.at == stop).then_some(Record { elapsed, delta, stop })
}

/// A length that is not negative.
fn size(wire: &mut Wire<'_>) -> Option<usize> {
    usize::try_from(wire.varint()?).ok()
}
