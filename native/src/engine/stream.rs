//! One direction of a connection that is in order: `kdissect.net.reassembly.Reassembly`.

use std::collections::VecDeque;

/// Sequence numbers are 32 bits and wrap around, RFC 9293 section 3.4.
const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;

/// `RECENT_BYTES` and `RECENT_SEGMENTS` of `kdissect.net.recent`.
pub const BYTES: i64 = 0x4000;
pub const SEGMENTS: usize = 16;

/// A segment that was delivered: its stream offset, its bytes, the number and time of its packet.
pub struct Delivered {
    pub offset: i64,
    pub payload: Vec<u8>,
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
    pub fn deliver(&mut self, seq: u32, payload: &[u8], ip_id: i64, time_ns: i64) {
        let size = payload.len() as i64;
        let stop = self.offset + size;
        self.push(payload, ip_id, time_ns);
        self.offset = stop;
        self.next_seq = (i64::from(seq) + size) & MASK;
        if stop > self.trim_at {
            self.forget_before(stop - BYTES);
            self.trim_at = stop + BYTES;
        }
    }

    fn push(&mut self, payload: &[u8], ip_id: i64, time_ns: i64) {
        let mut kept = match self.recent.len() {
            0 => {
                self.recent.reserve_exact(1); // one exchange on each of many connections: no room for four
                Vec::new()
            }
            SEGMENTS.. => self.recent.pop_front().map(|oldest| oldest.payload).unwrap_or_default(),
            _ => Vec::new(),
        };
        kept.clear();
        kept.reserve_exact(payload.len());
        kept.extend_from_slice(payload);
        self.recent.push_back(Delivered { offset: self.offset, payload: kept, ip_id, time_ns });
    }

    /// Drop the segments that end at this offset or before.
    fn forget_before(&mut self, keep_from: i64) {
        while self.recent.front().is_some_and(|first| first.offset + first.payload.len() as i64 <= keep_from)
        {
            self.recent.pop_front();
        }
    }
}
