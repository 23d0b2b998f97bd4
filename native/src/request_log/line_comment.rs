//! The comment of a packet that was built from a line: `kdissect.model.packets.logged.Logged`.

use std::ops::Range;

use crate::places::Place;

/// `COMMENT_PREFIX`.
pub const PREFIX: &[u8] = b"kdissect request log ";
/// The link type of such packets: raw IP, with comments in little-endian order.
pub const LINK_TYPE: u32 = 1 << 16 | 101;
/// Captured length and wire length, before the packet.
pub const LENGTHS: usize = 8;
/// Code and length of an option. The end of the options takes as many bytes.
pub const OPTION: usize = 4;
pub const COMMENT: u16 = 1;
/// Times between the number of the line and the texts. Which of them are phases, and which phase waits.
const TIMES: usize = 6;
const PHASES: [usize; 5] = [0, 1, 2, 4, 5];
const REMOTE: usize = 2;
/// A text that the line does not have.
pub const NULL: &[u8] = b"null";

/// Parts of a comment as they are in it.
pub struct LineComment<'a> {
    pub whole: &'a [u8],
    /// The name of the connection.
    pub connection: &'a [u8],
    pub line: i64,
    times: [Option<i64>; TIMES],
    /// Principal, listener, security protocol and the client's software.
    pub texts: &'a [u8],
}

impl<'a> LineComment<'a> {
    pub fn of(whole: &'a [u8]) -> Option<LineComment<'a>> {
        let rest = whole.strip_prefix(PREFIX)?.strip_prefix(b"[\"")?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        let (connection, rest) = rest.split_at_checked(end)?;
        let is_plain = !connection.contains(&b'\\');
        let mut parts = rest.strip_prefix(b"\", ")?.splitn(TIMES + 2, |byte| *byte == b',');
        let number = |part: &[u8]| std::str::from_utf8(part.trim_ascii()).ok()?.parse().ok();
        let line = number(parts.next()?)?;
        let mut times = [None; TIMES];
        for time in &mut times {
            *time = number(parts.next()?);
        }
        let texts = parts.next()?;
        is_plain.then_some(LineComment { whole, connection, line, times, texts })
    }

    /// The principal as JSON.
    pub fn principal(&self) -> &'a [u8] {
        let texts = self.texts.trim_ascii_start();
        let mut is_escaped = false;
        let is_end = |byte: &u8| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        };
        let text = texts.strip_prefix(b"\"").and_then(|text| text.split_inclusive(is_end).next());
        text.unwrap_or(NULL)
    }

    /// How long the broker waited for followers, members or records; None unless all phases are known.
    pub fn remote(&self) -> Option<i64> {
        PHASES.iter().all(|phase| self.times[*phase].is_some()).then_some(self.times[REMOTE])?
    }
}

/// Where the packet lies in a chunk, and its comment. None without exactly one such comment, and for a packet that
/// lacks bytes.
pub fn of_packet<'a>(data: &'a [u8], place: &Place) -> Option<(Range<usize>, LineComment<'a>)> {
    let block = data.get(place.start..place.end)?;
    let number = |at: usize| Some(u32::from_le_bytes(*block.get(at..)?.first_chunk()?) as usize);
    let size = number(0)?;
    let option = block.get(LENGTHS + size.checked_next_multiple_of(4)?..)?;
    let [a, b, c, d] = *option.first_chunk::<OPTION>()?;
    let length = usize::from(u16::from_le_bytes([c, d]));
    let is_alone = option.len() == OPTION + length.next_multiple_of(4) + OPTION;
    if u16::from_le_bytes([a, b]) != COMMENT || !is_alone || number(4)? != size {
        return None;
    }
    let start = place.start + LENGTHS;
    Some((start..start + size, LineComment::of(option.get(OPTION..OPTION + length)?)?))
}
