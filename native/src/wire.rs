//! Values of Kafka's protocol off a buffer: what `kdissect.decoders.cursor` and `records.varint` read.

/// How the length of a value is written, and whether it may say null.
#[derive(Clone, Copy)]
pub struct Form {
    pub compact: bool,
    pub nullable: bool,
}

/// Whether bytes are equal. Empty slices are not compared: they may point to no memory, and if
/// `memcmp` loads by a mask (AVX-512), the processor takes 86 ns instead of 2 to see that no byte
/// of it was wanted.
#[inline]
pub fn are_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// A position in bytes. A value that does not fit is None, whatever the bytes. The position is then
/// of no use.
pub struct Wire<'a> {
    pub data: &'a [u8],
    pub at: usize,
}

impl<'a> Wire<'a> {
    /// Bytes from here to the end.
    pub fn left(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let stop = self.at.checked_add(count)?;
        let found = self.data.get(self.at..stop)?;
        self.at = stop;
        Some(found)
    }

    /// Skip `count` bytes.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    /// The length of a value or a count of elements, Some(None) for null. A text that is not
    /// compact has two bytes for it (`is_short`). A compact length counts one more than there is
    /// (KIP-482).
    #[inline]
    pub fn length(&mut self, form: Form, is_short: bool) -> Option<Option<usize>> {
        let length = if form.compact {
            i64::from(self.uvarint()?) - 1
        } else if is_short {
            i64::from(i16::from_be_bytes(self.fixed()?))
        } else {
            i64::from(i32::from_be_bytes(self.fixed()?))
        };
        match length {
            -1 if form.nullable => Some(None),
            _ => Some(Some(usize::try_from(length).ok()?)),
        }
    }

    /// Bytes inside a record, behind their length; Some(None) for null (spec/001 "5.3.2 Record").
    pub fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match self.varint()? {
            -1 => Some(None),
            length => Some(Some(self.take(usize::try_from(length).ok()?)?)),
        }
    }

    /// The bytes of a number, all of Kafka's being big-endian.
    pub fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let found = self.data.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*found)
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        let found = *self.data.get(self.at)?;
        self.at += 1;
        Some(found)
    }

    /// An unsigned varint of at most 32 bits (KIP-482): `cursor.uvarint`.
    pub fn uvarint(&mut self) -> Option<u32> {
        u32::try_from(self.groups(5)?).ok()
    }

    /// A zigzag varint of at most 32 bits: `varint(..., MAX_VARINT)`.
    pub fn varint(&mut self) -> Option<i32> {
        let value = self.uvarint()?;
        Some((value >> 1) as i32 ^ -((value & 1) as i32))
    }

    /// A zigzag varint of at most 64 bits: `varint(..., MAX_VARLONG)`.
    #[inline(always)] // several times for each record
    pub fn varlong(&mut self) -> Option<i64> {
        let value = self.groups(10)?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Groups of seven bits, the lowest first, at most `most` groups and 64 bits.
    #[inline(always)]
    fn groups(&mut self, most: u32) -> Option<u64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x7F);
        if first < 0x80 {
            return Some(value);
        }
        for place in 1..most {
            let byte = self.byte()?;
            if place == 9 && byte > 1 {
                return None; // a tenth byte has one bit left
            }
            value |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}
