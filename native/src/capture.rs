//! Packets in a chunk of a capture: the plain case of `kdissect.capture.formats.pcap` and
//! `kdissect.capture.formats.pcapng`.
//!
//! Both go as far as everything is plain, and leave anomalous parts to the parsers in Python, which
//! judge them.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::places::{Place, Places};

const SECOND: i64 = 1_000_000_000;
/// Type, length, interface, time, captured and wire length of an Enhanced Packet Block
/// (draft-ietf-opsawg-pcapng section 4.3), and its bytes without packet, padding and options.
const BLOCK_HEAD: usize = 28;
const BLOCK_FRAME: usize = 32;
const BLOCK_KIND: u32 = 6;
/// The code of a comment among a block's options, and of their end, section 3.5.1.
const COMMENT: u16 = 1;
const LAST: u16 = 0;
/// Code and length of an option, section 3.5.
const OPTION: usize = 4;
/// Type and length before a block's body and length after it, section 3.1.
const ANY_BLOCK: usize = 12;
/// Bytes of a chunk for which memory for one packet is reserved beforehand.
const BYTES_A_PACKET: usize = 512;

/// Places, the start of the data after them, and the number of bytes that the packet there needs: 0
/// if it is anomalous.
type Found = (Places, usize, usize);

/// Bytes read as numbers, in the byte order of a file.
struct Words<'a> {
    data: &'a [u8],
    is_little: bool,
}

impl Words<'_> {
    /// `N` numbers of four bytes each, one behind the other.
    fn read<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        let bytes = self.data.get(at..at.checked_add(4 * N)?)?;
        let mut found = [0; N];
        for (word, four) in found.iter_mut().zip(bytes.chunks_exact(4)) {
            let four = four.try_into().ok()?;
            *word = if self.is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) };
        }
        Some(found)
    }

    /// Code and length of the option at a place.
    fn option(&self, at: usize) -> Option<(u16, usize)> {
        let four: [u8; 4] = self.data.get(at..at.checked_add(OPTION)?)?.try_into().ok()?;
        let [a, b, c, d] = four;
        let read = |pair| if self.is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
        Some((read([a, b]), usize::from(read([c, d]))))
    }
}

/// The records of a pcap file in `data` from `position` on: headers of `header` bytes, times in units of `unit`
/// nanoseconds. A wire length beyond `limit` is odd.
#[pyfunction]
pub fn records(
    data: &Bound<'_, PyBytes>,
    position: usize,
    is_little: bool,
    header: usize,
    unit: i64,
    link_type: u32,
    limit: u32,
) -> Found {
    let words = Words { data: data.as_bytes(), is_little };
    let size = words.data.len();
    let mut items = Vec::with_capacity(size / BYTES_A_PACKET);
    let mut position = position;
    let need = loop {
        let start = position.saturating_add(header);
        if start > size {
            break header;
        }
        let Some([seconds, fraction, length, wire]) = words.read(position) else { break 0 };
        if length == 0 || length > wire || wire > limit {
            break 0;
        }
        let end = start + length as usize;
        if end > size {
            break end - position;
        }
        let time_ns = i64::from(seconds) * SECOND + i64::from(fraction) * unit;
        items.push(Place { start, end, time_ns, wire, link_type });
        position = end;
    };
    (Places { items }, position, need)
}

/// The blocks in `data` of a pcapng file from `position` on, as long as they are packets of one of
/// the `interfaces`: nanoseconds in a unit of its clock, 0 if that is not so simple, and its link
/// type. A block longer than `most` is odd.
#[pyfunction]
pub fn blocks(
    data: &Bound<'_, PyBytes>,
    position: usize,
    is_little: bool,
    interfaces: Vec<(u64, u32)>,
    most: usize,
) -> Found {
    let words = Words { data: data.as_bytes(), is_little };
    let mut items = Vec::with_capacity(words.data.len() / BYTES_A_PACKET);
    let mut position = position;
    let need = loop {
        let Some([kind, total]) = words.read(position) else { break ANY_BLOCK };
        let (total, left) = (total as usize, words.data.len() - position);
        if left < ANY_BLOCK {
            break ANY_BLOCK;
        }
        if kind != BLOCK_KIND || total < BLOCK_FRAME || total & 3 != 0 || total > most {
            break 0;
        }
        if total > left {
            break total;
        }
        let Some(place) = packet(&words, position, total, &interfaces) else { break 0 };
        items.push(place);
        position += total;
    };
    (Places { items }, position, need)
}

/// The packet in a block of `total` bytes; None if it is anomalous.
fn packet(words: &Words<'_>, position: usize, total: usize, interfaces: &[(u64, u32)]) -> Option<Place> {
    let [interface, high, low, length, wire] = words.read(position + 8)?;
    let [closing] = words.read(position + total - 4)?;
    let (multiplier, link_type) = *interfaces.get(interface as usize)?;
    if closing as usize != total || length == 0 || length > wire || length as usize + BLOCK_FRAME > total {
        return None;
    }
    let time_ns = (u64::from(high) << 32 | u64::from(low)).checked_mul(multiplier)?;
    let time_ns = i64::try_from(time_ns).ok().filter(|time_ns| *time_ns > 0)?;
    let padded = length as usize + (length as usize).wrapping_neg() % 4;
    if total >= BLOCK_FRAME + padded + OPTION
        && has_comment(words, position + BLOCK_HEAD + padded, position + total - 4)
    {
        return None;
    }
    let start = position + BLOCK_HEAD;
    Some(Place { start, end: start + length as usize, time_ns, wire, link_type })
}

/// Whether there is a comment among the options from `position` up to `end`: then the packet is Python's.
#[cold]
fn has_comment(words: &Words<'_>, position: usize, end: usize) -> bool {
    let mut position = position;
    while position + OPTION <= end {
        let Some((code, length)) = words.option(position) else { return false };
        let next = position + OPTION + length;
        if code == LAST || next > end {
            return false;
        }
        if code == COMMENT {
            return true;
        }
        position = next + length.wrapping_neg() % 4;
    }
    false
}
