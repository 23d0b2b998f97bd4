//! Packets of a chunk of a capture: the plain case of `kdissect.capture.pcap` and `kdissect.capture.pcapng`.
//!
//! Whatever is odd about a chunk gives None, and nothing is done: the parsers in Python judge it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::places::{Place, Places};

const SECOND: i64 = 1_000_000_000;
/// Type, length, interface, time, captured and wire length of an Enhanced Packet Block
/// (draft-ietf-opsawg-pcapng section 4.3), and its bytes without packet, padding and options.
const BLOCK_HEAD: usize = 28;
const BLOCK_FRAME: usize = 32;
const BLOCK_KIND: u32 = 6;
/// Type and length before a block's body and length behind it, section 3.1.
const ANY_BLOCK: usize = 12;

/// Places, the bytes of the data they took, and how many the packet behind them needs.
type Found = Option<(Places, usize, usize)>;

/// Four bytes as a number, in the byte order of a file.
fn word(data: &[u8], at: usize, is_little: bool) -> Option<u32> {
    let bytes: [u8; 4] = data.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}

/// The whole records of a pcap file in `data`: headers of `header` bytes, times in units of `unit` nanoseconds.
/// A wire length beyond `limit` is odd.
#[pyfunction]
pub fn records(
    data: &Bound<'_, PyBytes>,
    is_little: bool,
    header: usize,
    unit: i64,
    link_type: u32,
    limit: u32,
) -> Found {
    let data = data.as_bytes();
    let mut items = Vec::with_capacity(data.len() / 512);
    let mut position = 0;
    loop {
        let start = position + header;
        if start > data.len() {
            return Some((Places { link_type, items }, position, header));
        }
        let seconds = word(data, position, is_little)?;
        let fraction = word(data, position + 4, is_little)?;
        let length = word(data, position + 8, is_little)?;
        let wire = word(data, position + 12, is_little)?;
        if length == 0 || length > wire || wire > limit {
            return None;
        }
        let end = start + length as usize;
        if end > data.len() {
            return Some((Places { link_type, items }, position, end - position));
        }
        let time_ns = i64::from(seconds) * SECOND + i64::from(fraction) * unit;
        items.push(Place { start, end, time_ns, wire });
        position = end;
    }
}

/// The whole blocks of a pcapng file in `data`, all of which are packets of interface 0, whose clock counts units
/// of `multiplier` nanoseconds. A block longer than `most` is odd.
#[pyfunction]
pub fn blocks(
    data: &Bound<'_, PyBytes>,
    is_little: bool,
    multiplier: u64,
    link_type: u32,
    most: usize,
) -> Found {
    let data = data.as_bytes();
    let mut items = Vec::with_capacity(data.len() / 512);
    let mut position = 0;
    loop {
        let left = data.len() - position;
        if left < ANY_BLOCK {
            return Some((Places { link_type, items }, position, ANY_BLOCK));
        }
        let kind = word(data, position, is_little)?;
        let total = word(data, position + 4, is_little)? as usize;
        if kind != BLOCK_KIND || total < BLOCK_FRAME || total & 3 != 0 || total > most {
            return None;
        }
        if total > left {
            return Some((Places { link_type, items }, position, total));
        }
        let interface = word(data, position + 8, is_little)?;
        let high = word(data, position + 12, is_little)?;
        let low = word(data, position + 16, is_little)?;
        let length = word(data, position + 20, is_little)?;
        let wire = word(data, position + 24, is_little)?;
        let closing = word(data, position + total - 4, is_little)? as usize;
        let time_ns = (u64::from(high) << 32 | u64::from(low)).checked_mul(multiplier)?;
        let is_plain = interface == 0 && closing == total && length > 0 && length <= wire;
        if !is_plain || length as usize + BLOCK_FRAME > total || time_ns == 0 {
            return None;
        }
        let start = position + BLOCK_HEAD;
        let end = start + length as usize;
        items.push(Place { start, end, time_ns: i64::try_from(time_ns).ok()?, wire });
        position += total;
    }
}
