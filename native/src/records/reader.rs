//! The records of a batch of magic 2 (spec/001 "5.3.2 Record"): twin of `decoders.records.columns`.

/// A record with more headers is left to Python (`columns.MAX_HEADERS`).
const MAX_HEADERS: i64 = 64;

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
            let mut cursor = Cursor { data, at };
            let length = usize::try_from(cursor.number(5)?).ok()?;
            let stop = cursor.at.checked_add(length)?;
            at = self.one(data.get(..stop)?, cursor.at)?;
        }
        let found = self.records.len() - before;
        (i64::try_from(found).ok()? == i64::from(count)).then_some(())
    }

    /// The record that fills `data` from `at` on; where it ends.
    fn one(&mut self, data: &[u8], at: usize) -> Option<usize> {
        data.get(at)?; // attributes, not in use
        let mut cursor = Cursor { data, at: at + 1 };
        let timestamp_delta = cursor.number(10)?;
        let offset_delta = cursor.number(5)?;
        let key = cursor.bytes()?;
        let value = cursor.bytes()?;
        let count = cursor.number(5)?;
        if !(0..=MAX_HEADERS).contains(&count) {
            return None;
        }
        for _ in 0..count {
            let name = cursor.bytes()??;
            std::str::from_utf8(data.get(name.0..name.1)?).ok()?;
            let content = cursor.bytes()?;
            self.headers.push((name, content));
        }
        self.records.push(Record { timestamp_delta, offset_delta, key, value, headers: count as usize });
        (cursor.at == data.len()).then_some(cursor.at)
    }
}

struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// A zigzag varint of at most 5 or 10 bytes (org.apache.kafka.common.utils.ByteUtils.readVarint, readVarlong).
    fn number(&mut self, most: usize) -> Option<i64> {
        let first = *self.data.get(self.at)?;
        self.at += 1;
        if first < 0x80 {
            return Some(i64::from(first >> 1) ^ -i64::from(first & 1));
        }
        let mut raw = u64::from(first & 0x7F);
        for number in 1..most {
            let byte = *self.data.get(self.at)?;
            self.at += 1;
            raw |= u64::from(byte & 0x7F) << (7 * number);
            if byte < 0x80 {
                let is_last = number == most - 1;
                let room = if most == 5 { 0x0F } else { 0x01 };
                return (!is_last || byte <= room).then_some((raw >> 1) as i64 ^ -((raw & 1) as i64));
            }
        }
        None
    }

    /// Bytes behind their length, -1 for null.
    fn bytes(&mut self) -> Option<Place> {
        let length = self.number(5)?;
        if length == -1 {
            return Some(None);
        }
        let start = self.at;
        self.at = start.checked_add(usize::try_from(length).ok()?)?;
        (self.at <= self.data.len()).then_some(Some((start, self.at)))
    }
}
