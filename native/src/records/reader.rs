//! The records of a batch of magic 2 (spec/001 "5.3.2 Record"): native counterpart of `decoders.records.columns`.

use crate::wire::Wire;

/// A record with more headers is left to Python (`columns.MAX_HEADERS`).
const MAX_HEADERS: i32 = 64;

/// Bytes of what was read, or null: from a place, up to another.
pub type Place = Option<(usize, usize)>;

/// Key and value.
pub type Header = ((usize, usize), Place);

pub struct Record {
    pub timestamp_delta: i64,
    pub offset_delta: i64,
    pub key: Place,
    pub value: Place,
    /// How many headers it has.
    pub headers: usize,
}

/// Records one behind the other, and the headers of all of them: key, value.
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

    /// Read the records that fill `data`, as many as a batch says; None where they do not.
    pub fn read(&mut self, data: &[u8], count: i32) -> Option<()> {
        let before = self.records.len();
        let mut at = 0;
        while at < data.len() {
            let mut wire = Wire { data, at };
            let length = usize::try_from(wire.varint()?).ok()?;
            let stop = wire.at.checked_add(length)?;
            at = self.one(data.get(..stop)?, wire.at)?;
        }
        let found = self.records.len() - before;
        (i64::try_from(found).ok()? == i64::from(count)).then_some(())
    }

    /// The record that fills `data` from `at` on; where it ends.
    fn one(&mut self, data: &[u8], at: usize) -> Option<usize> {
        data.get(at)?; // attributes, not in use
        let mut wire = Wire { data, at: at + 1 };
        let timestamp_delta = wire.varlong()?;
        let offset_delta = i64::from(wire.varint()?);
        let key = place(&mut wire)?;
        let value = place(&mut wire)?;
        let count = wire.varint()?;
        if !(0..=MAX_HEADERS).contains(&count) {
            return None;
        }
        for _ in 0..count {
            let name = place(&mut wire)??;
            std::str::from_utf8(data.get(name.0..name.1)?).ok()?;
            let content = place(&mut wire)?;
            self.headers.push((name, content));
        }
        self.records.push(Record { timestamp_delta, offset_delta, key, value, headers: count as usize });
        (wire.at == data.len()).then_some(wire.at)
    }
}

/// The place of bytes behind their length, None for null.
fn place(wire: &mut Wire<'_>) -> Option<Place> {
    let found = wire.nullable_bytes()?;
    Some(found.map(|found| (wire.at - found.len(), wire.at)))
}
