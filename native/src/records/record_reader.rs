//! The records of a magic 2 batch (spec/001 "5.3.2 Record"): `decoders.records.records_v2`, for
//! records that fit.

use crate::wire::Wire;

/// A record with more headers is left to Python, which does not store them twice.
const MAX_HEADERS: usize = 64;

/// Bytes in the data, or null: from a position, up to another one.
pub type Place = Option<(usize, usize)>;

/// Key and value.
pub type Header = ((usize, usize), Place);

pub struct Record {
    pub attributes: u8,
    pub timestamp_delta: i64,
    pub offset_delta: i64,
    pub key: Place,
    pub value: Place,
    /// How many headers it has.
    pub headers: usize,
    /// Where it ends.
    pub end: usize,
}

/// The record at `at`, its headers added to `headers`; None where it does not fit.
#[inline]
pub fn record(data: &[u8], at: usize, headers: &mut Vec<Header>) -> Option<Record> {
    let mut wire = Wire { data, at };
    let length = usize::try_from(wire.varint()?).ok()?;
    let end = wire.at.checked_add(length)?;
    let mut wire = Wire { data: data.get(..end)?, at: wire.at };
    let attributes = wire.byte()?;
    let timestamp_delta = wire.varlong()?;
    let offset_delta = i64::from(wire.varint()?);
    let key = place(&mut wire)?;
    let value = place(&mut wire)?;
    let count = usize::try_from(wire.varint()?).ok()?;
    if count > MAX_HEADERS {
        return None;
    }
    for _ in 0..count {
        headers.push((place(&mut wire)??, place(&mut wire)?));
    }
    let found = Record { attributes, timestamp_delta, offset_delta, key, value, headers: count, end };
    (wire.at == end).then_some(found)
}

/// The place of bytes behind their length, None for null.
fn place(wire: &mut Wire<'_>) -> Option<Place> {
    let found = wire.nullable_bytes()?;
    Some(found.map(|found| (wire.at - found.len(), wire.at)))
}

/// The bytes at a place; None for null.
pub fn bytes(data: &[u8], place: Place) -> Option<&[u8]> {
    place.and_then(|(start, end)| data.get(start..end))
}

/// Records one after the other, and all their headers.
#[derive(Default)]
pub struct Records {
    pub records: Vec<Record>,
    pub headers: Vec<Header>,
}

impl Records {
    pub fn clear(&mut self) {
        self.records.clear();
        self.headers.clear();
    }

    /// Read the records that fill `data`, with the batch's count, and UTF-8 names of headers; None
    /// if they do not fit.
    pub fn read(&mut self, data: &[u8], count: i32) -> Option<()> {
        let before = self.records.len();
        let mut at = 0;
        while at < data.len() {
            let named = self.headers.len();
            let found = record(data, at, &mut self.headers)?;
            for &(name, _) in self.headers.get(named..)? {
                std::str::from_utf8(data.get(name.0..name.1)?).ok()?;
            }
            at = found.end;
            self.records.push(found);
        }
        let found = self.records.len() - before;
        (i64::try_from(found).ok()? == i64::from(count)).then_some(())
    }
}
