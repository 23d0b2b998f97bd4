//! A walk through records that decides whether they are canonical:
//! `kdissect.decoders.records.canonical_batch`.

use pyo3::prelude::*;

use super::record_reader::{record, Header};

/// `canonical_batch.read_latest`: the latest timestamp delta of the records in `data[at..end]`;
/// None if they are not canonical.
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
    let mut headers = Vec::new();
    while at < end {
        headers.clear();
        let found = record(data, at, &mut headers)?;
        let (elapsed, delta) = (found.timestamp_delta, found.offset_delta);
        let is_ascii = |&((start, end), _): &Header| data.get(start..end).is_some_and(<[u8]>::is_ascii);
        if found.attributes != 0 || (elapsed != 0 && count == 0) || !headers.iter().all(is_ascii) {
            return None;
        }
        if delta < 0 || delta < due || (dense && delta != due) {
            return None;
        }
        latest = latest.max(elapsed);
        due = delta + 1;
        at = found.end;
        count += 1;
    }
    (Some(count) == wanted && due - 1 <= last_delta).then_some(latest)
}
