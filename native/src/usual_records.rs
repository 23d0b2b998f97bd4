//! A walk through records that tells whether they are as nearly all are: `kdissect.decoders.records.usual`.

use pyo3::prelude::*;

/// The widths of varints of 32 and 64 bits (`org.apache.kafka.common.utils.ByteUtils`).
const MAX_VARINT: u32 = 5;
const MAX_VARLONG: u32 = 10;

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
    let mut pull = Pull { data, at };
    let length = pull.size()?;
    let stop = pull.at.checked_add(length)?;
    let mut pull = Pull { data: data.get(..stop)?, at: pull.at };
    if pull.byte()? != 0 {
        return None; // attributes
    }
    let elapsed = pull.number(MAX_VARLONG)?;
    let delta = i64::try_from(pull.size()?).ok()?;
    if delta != due && (dense || delta < due) {
        return None;
    }
    pull.skip()?;
    pull.skip()?;
    for _ in 0..pull.size()? {
        let size = pull.size()?;
        if !pull.take(size)?.is_ascii() {
            return None;
        }
        pull.skip()?;
    }
    (pull.at == stop).then_some(Record { elapsed, delta, stop })
}

struct Pull<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Pull<'a> {
    fn byte(&mut self) -> Option<u8> {
        let found = *self.data.get(self.at)?;
        self.at += 1;
        Some(found)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let stop = self.at.checked_add(count)?;
        let found = self.data.get(self.at..stop)?;
        self.at = stop;
        Some(found)
    }

    /// A zigzag varint of so many bytes at most: `records.varint`.
    fn number(&mut self, most: u32) -> Option<i64> {
        let (mut value, mut place) = (0u64, 0);
        while place < most {
            let byte = self.byte()?;
            if place == 9 && byte > 1 {
                return None; // 64 bits leave one for the tenth byte
            }
            value |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                let fits = most != MAX_VARINT || value >> 32 == 0;
                return fits.then_some((value >> 1) as i64 ^ -((value & 1) as i64));
            }
            place += 1;
        }
        None
    }

    /// A length that is not negative.
    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number(MAX_VARINT)?).ok()
    }

    /// Pass over so many bytes, or none for null.
    fn skip(&mut self) -> Option<()> {
        let size = self.number(MAX_VARINT)?;
        if size == -1 {
            return Some(());
        }
        self.take(usize::try_from(size).ok()?).map(|_| ())
    }
}
