//! A frame to store: `kdissect.excerpt.frame_plans.FramePlan`, packed.

use crate::engine::completed::Request;

const REQUEST: u8 = 1;
const TOKEN: u8 = 2;
const HAS_API: u8 = 4;
const HAS_VERSION: u8 = 8;
const HAS_ID: u8 = 16;
/// Bytes before the mark.
const HEAD: usize = 38;
const CONNECTION: usize = 8;
const EXCHANGE: usize = 12;
const LENGTH: usize = 20;
const API_KEY: usize = 28;

/// Bytes of a size, and of the content in a mark, as `frame_plans.MARK_BYTES`.
const SIZE: u32 = 4;
const MARK: usize = 64;

/// Content of `data`.
pub struct Plan<'a> {
    pub length: u64,
    pub mark: &'a [u8],
    /// Whether something goes over the frame, which is for Python.
    pub is_changed: bool,
    exchange: u64,
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
    four(data, CONNECTION)
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
            length: u64::from(four(data, LENGTH)?),
            mark: data.get(HEAD..end)?,
            is_changed: data.len() > end,
            exchange: u64::from_le_bytes(*data.get(EXCHANGE..)?.first_chunk()?),
            api_key: two(data, API_KEY)?,
            version: two(data, API_KEY + 2)?,
            id: four(data, API_KEY + 4)? as i32,
            flags: *data.get(HEAD - 2)?,
        })
    }

    /// The API's key, if a name of it appears in the label.
    pub fn named_api(&self) -> Option<i16> {
        (self.flags & TOKEN == 0 && self.flags & HAS_API != 0).then_some(self.api_key)
    }

    /// `FramePlan.label`, behind the connection's id; `name` is that of `named_api`.
    pub fn label(&self, name: &[u8], out: &mut Vec<u8>) {
        let side: &[u8] = if self.flags & REQUEST == 0 { b"response" } else { b"request" };
        out.push(b'/');
        number(self.exchange as i64, out);
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

/// Pack the frame of an exchange that the engine paired: all of it was captured, and nothing goes over it.
pub fn pack(
    out: &mut Vec<u8>,
    connection: u32,
    request: &Request,
    content: &[u8],
    first_ref: i64,
    is_request: bool,
) {
    let size = content.len() as u32; // an int32 in the capture
    let mark = content.get(..content.len().min(MARK)).unwrap_or_default();
    out.extend_from_slice(&first_ref.to_le_bytes());
    out.extend_from_slice(&connection.to_le_bytes());
    out.extend_from_slice(&(request.ordinal as u64).to_le_bytes());
    out.extend_from_slice(&(size + SIZE).to_le_bytes());
    out.extend_from_slice(&(size + SIZE).to_le_bytes());
    out.extend_from_slice(&request.kind.api_key.to_le_bytes());
    out.extend_from_slice(&request.kind.version.to_le_bytes());
    out.extend_from_slice(&request.id.to_le_bytes());
    out.push(HAS_API | HAS_VERSION | HAS_ID | if is_request { REQUEST } else { 0 });
    out.push((SIZE as usize + mark.len()) as u8);
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(mark);
}

fn number(value: i64, out: &mut Vec<u8>) {
    crate::decimal::put(out, value);
}
