//! A frame that is to be kept: `kdissect.excerpt.frame_plans.FramePlan`, packed.

const REQUEST: u8 = 1;
const TOKEN: u8 = 2;
const HAS_API: u8 = 4;
const HAS_VERSION: u8 = 8;
const HAS_ID: u8 = 16;
/// Bytes before the mark.
const HEAD: usize = 34;
const REF: usize = 8;

/// What is packed in `data`.
pub struct Plan<'a> {
    pub length: u64,
    pub mark: &'a [u8],
    /// Whether something goes over the frame, which is for Python.
    pub is_changed: bool,
    exchange: u32,
    api_key: i16,
    version: i16,
    id: i32,
    flags: u8,
}

/// The packet in which a packed frame begins.
pub fn reference(data: &[u8]) -> Option<i64> {
    data.first_chunk().copied().map(i64::from_le_bytes)
}

/// The number of a packed frame's connection.
pub fn connection(data: &[u8]) -> Option<u32> {
    four(data, REF)
}

fn four(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

fn two(data: &[u8], at: usize) -> Option<i16> {
    Some(i16::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

impl<'a> Plan<'a> {
    pub fn unpack(data: &'a [u8]) -> Option<Plan<'a>> {
        let end = HEAD + usize::from(*data.get(HEAD - 1)?);
        Some(Plan {
            length: u64::from(four(data, REF + 8)?),
            mark: data.get(HEAD..end)?,
            is_changed: data.len() > end,
            exchange: four(data, REF + 4)?,
            api_key: two(data, REF + 16)?,
            version: two(data, REF + 18)?,
            id: four(data, REF + 20)? as i32,
            flags: *data.get(HEAD - 2)?,
        })
    }

    /// The API's key, where there is one and a name of it is shown.
    pub fn named_api(&self) -> Option<i16> {
        (self.flags & TOKEN == 0 && self.flags & HAS_API != 0).then_some(self.api_key)
    }

    /// `FramePlan.label`, behind the connection's id; `name` is that of `named_api`.
    pub fn label(&self, name: &[u8], out: &mut Vec<u8>) {
        let side: &[u8] = if self.flags & REQUEST == 0 { b"response" } else { b"request" };
        out.push(b'/');
        number(i64::from(self.exchange), out);
        if self.flags & TOKEN != 0 {
            out.extend_from_slice(b" SASL token, ");
            out.extend_from_slice(side);
            return;
        }
        match self.named_api() {
            Some(_) => {
                out.push(b' ');
                out.extend_from_slice(name);
                out.extend_from_slice(b" v");
                self.known(HAS_VERSION, self.version.into(), out);
            }
            None => out.extend_from_slice(b" of an unknown API"),
        }
        out.push(b' ');
        out.extend_from_slice(side);
        out.extend_from_slice(b", correlation id ");
        self.known(HAS_ID, self.id.into(), out);
    }

    fn known(&self, flag: u8, value: i64, out: &mut Vec<u8>) {
        match self.flags & flag {
            0 => out.extend_from_slice(b"None"),
            _ => number(value, out),
        }
    }
}

fn number(value: i64, out: &mut Vec<u8>) {
    crate::decimal::put(out, value);
}
