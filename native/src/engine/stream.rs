//! One direction of a connection that is in order: `kdissect.net.streams.reassembly.Reassembly`.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Sequence numbers are 32 bits and wrap around, RFC 9293 section 3.4.
const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;

/// `RECENT_BYTES` and `RECENT_SEGMENTS` of `kdissect.net.streams.recent`.
pub const BYTES: i64 = 0x4000;
pub const SEGMENTS: usize = 16;

/// A segment that was delivered: its stream offset, its bytes, the number and time of its packet.
pub struct Delivered {
    pub offset: i64,
    pub payload: Py<PyBytes>,
    pub ip_id: i64,
    pub time_ns: i64,
}

pub struct Stream {
    pub next_seq: i64,
    pub offset: i64,
    pub packets: i64,
    pub trim_at: i64,
    pub start_seq: i64,
    pub syn_id: i64,
    pub syn_time_ns: i64,
    /// The last segments, oldest first.
    pub recent: VecDeque<Delivered>,
}

impl Stream {
    /// Whether a segment of this direction goes on where the stream is, and acknowledges nothing of `peer`
    /// that was not seen, or its peer has not started.
    pub fn is_next(&self, peer: &Stream, seq: u32, ack: u32) -> bool {
        i64::from(seq) == self.next_seq
            && (peer.next_seq < 0 || peer.next_seq.wrapping_sub(i64::from(ack)) & MASK < HALF)
    }

    /// Go on by a segment.
    pub fn deliver(&mut self, seq: u32, payload: &Bound<'_, PyBytes>, ip_id: i64, time_ns: i64) {
        let size = payload.as_bytes().len() as i64;
        let stop = self.offset + size;
        let kept = payload.clone().unbind();
        self.push(Delivered { offset: self.offset, payload: kept, ip_id, time_ns });
        self.offset = stop;
        self.next_seq = (i64::from(seq) + size) & MASK;
        if stop > self.trim_at {
            self.forget_before(payload.py(), stop - BYTES);
            self.trim_at = stop + BYTES;
        }
    }

    fn push(&mut self, delivered: Delivered) {
        match self.recent.len() {
            0 => self.recent.reserve_exact(1), // one exchange on each of many connections: no room for four
            SEGMENTS.. => drop(self.recent.pop_front()),
            _ => {}
        }
        self.recent.push_back(delivered);
    }

    /// Drop the segments that end at this offset or before.
    fn forget_before(&mut self, py: Python<'_>, keep_from: i64) {
        while self
            .recent
            .front()
            .is_some_and(|first| first.offset + first.payload.as_bytes(py).len() as i64 <= keep_from)
        {
            self.recent.pop_front();
        }
    }
}
