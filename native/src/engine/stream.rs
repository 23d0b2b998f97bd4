//! One direction of a connection that is in order: `kdissect.net.streams.reassembly.Reassembly`.

use std::collections::VecDeque;

/// Sequence numbers are 32 bits and wrap around, RFC 9293 section 3.4.
const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;

/// `RECENT_BYTES` and `RECENT_SEGMENTS` of `kdissect.net.streams.recent`.
pub const BYTES: i64 = 0x4000;
pub const SEGMENTS: usize = 16;
/// `RECENT_NS` of the same.
pub const RECENT_NS: i64 = 30_000_000_000;

/// A segment that was delivered: its stream offset, how many bytes it has, the number and time of its packet.
pub struct Delivered {
    pub offset: i64,
    pub size: usize,
    pub ip_id: i64,
    pub time_ns: i64,
}

/// The last segments, oldest first, and their bytes one after the other, without a buffer for each.
/// The capacity is little more than their size: two of these are most of an open connection's
/// memory.
#[derive(Default)]
pub struct Recent {
    segments: VecDeque<Delivered>,
    bytes: VecDeque<u8>,
}

impl Recent {
    pub fn push(&mut self, delivered: Delivered, payload: &[u8]) {
        match self.segments.len() {
            0 => {
                self.segments.reserve_exact(1); // one exchange on each of many connections: no room for four
                self.bytes.reserve_exact(payload.len());
            }
            SEGMENTS.. => self.pop(),
            _ => {}
        }
        self.segments.push_back(delivered);
        let wanted = self.bytes.len() + payload.len();
        if wanted > self.bytes.capacity() {
            self.bytes.reserve_exact(payload.len() + wanted / 8);
        }
        self.bytes.extend(payload);
    }

    /// Give back room that stands empty.
    fn shrink(&mut self) {
        if self.bytes.capacity() / 4 * 3 > self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
    }

    /// Drop the segments that end at this offset or before.
    fn forget_before(&mut self, keep_from: i64) {
        let is_before = |first: &Delivered| first.offset + first.size as i64 <= keep_from;
        while self.segments.front().is_some_and(is_before) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let size = self.segments.pop_front().map_or(0, |first| first.size);
        self.bytes.drain(..size.min(self.bytes.len()));
    }

    /// Each with its bytes.
    pub fn each(&mut self) -> impl Iterator<Item = (&Delivered, &[u8])> {
        let mut rest = &*self.bytes.make_contiguous();
        self.segments.iter().map(move |one| {
            let (payload, behind) = rest.split_at_checked(one.size).unwrap_or_default();
            rest = behind;
            (one, payload)
        })
    }
}

pub struct Stream {
    pub next_seq: i64,
    pub offset: i64,
    pub packets: u32,
    pub trim_at: i64,
    pub start_seq: i64,
    pub syn_id: i32,
    pub syn_time_ns: i64,
    pub recent: Recent,
    pub acks: AckTimes,
    /// How it ended; None while it has not.
    pub end: Option<Box<End>>,
}

/// The end of a direction: number and time of the packet with its FIN, None where a RST ended it, and how many packets
/// with RST it has.
pub struct End {
    pub fin: Option<(i64, i64)>,
    pub resets: u32,
}

/// How long the other end took to acknowledge: `kdissect.net.streams.round_trips.AckTimes`, in little room.
pub struct AckTimes {
    due_ns: i64,
    /// 0 for none, below 0 if the handshake is not among the measures.
    least_ns: i64,
    due_seq: u32,
    acked: u32,
}

/// Values for no time, and for an acknowledgment that was not seen.
const NEVER: i64 = i64::MIN;
const NOTHING: u32 = u32::MAX;

/// `kdissect.net.streams.round_trips.AckState`.
pub type AckState = (i64, i64, i64, i64, bool);

impl AckTimes {
    /// No bytes were sent yet.
    pub fn new() -> AckTimes {
        AckTimes { due_ns: NEVER, least_ns: 0, due_seq: 0, acked: NOTHING }
    }

    pub fn of((due_seq, due_ns, acked, least_ns, by_handshake): AckState) -> AckTimes {
        let least_ns = least_ns.max(0);
        AckTimes {
            due_ns: if due_seq < 0 { NEVER } else { due_ns },
            least_ns: if by_handshake { least_ns } else { -least_ns },
            due_seq: u32::try_from(due_seq).unwrap_or(0),
            acked: u32::try_from(acked).unwrap_or(NOTHING),
        }
    }

    pub fn state(&self) -> AckState {
        let (due_seq, due_ns) =
            if self.due_ns == NEVER { (-1, -1) } else { (i64::from(self.due_seq), self.due_ns) };
        let acked = if self.acked == NOTHING { -1 } else { i64::from(self.acked) };
        (due_seq, due_ns, acked, self.least().unwrap_or(-1), self.least_ns > 0)
    }

    /// Bytes up to a sequence number were sent for the first time.
    pub fn sent(&mut self, end_seq: u32, time_ns: i64) {
        if self.due_ns == NEVER {
            (self.due_seq, self.due_ns) = (end_seq, time_ns);
        }
    }

    /// The other end acknowledged up to a number, of a stream whose first byte has the number `start_seq`.
    pub fn acknowledge(&mut self, ack: u32, time_ns: i64, is_bare: bool, start_seq: i64) {
        self.acked = ack;
        if self.due_ns == NEVER || ack.wrapping_sub(self.due_seq) >= 1 << 31 {
            return;
        }
        let took_ns = time_ns.saturating_sub(self.due_ns);
        self.due_ns = NEVER;
        if !is_bare || took_ns <= 0 {
            return;
        }
        let by_handshake = match self.least_ns {
            0 => i64::from(self.due_seq) == start_seq,
            known => known > 0,
        };
        let least_ns = self.least().map_or(took_ns, |known| known.min(took_ns));
        self.least_ns = if by_handshake { least_ns } else { -least_ns };
    }

    /// The shortest measure, or None.
    pub fn least(&self) -> Option<i64> {
        (self.least_ns != 0).then_some(self.least_ns.abs())
    }
}

impl Stream {
    /// A stream of which the SYN was seen: its number, that of its packet, and its time.
    pub fn opened(syn_seq: u32, ip_id: i32, time_ns: i64) -> Stream {
        let first = syn_seq.wrapping_add(1); // a SYN takes one sequence number, RFC 9293 section 3.4
        let mut acks = AckTimes::new();
        acks.sent(first, time_ns);
        let start_seq = i64::from(first);
        Stream {
            next_seq: start_seq,
            offset: 0,
            packets: 1,
            trim_at: 2 * BYTES,
            start_seq,
            syn_id: ip_id,
            syn_time_ns: time_ns,
            recent: Recent::default(),
            acks,
            end: None,
        }
    }

    /// A stream whose next byte has this number, and whose beginning was not seen.
    pub fn from_middle(next_seq: u32) -> Stream {
        Stream {
            next_seq: next_seq.into(),
            offset: 0,
            packets: 0,
            trim_at: 2 * BYTES,
            start_seq: -1,
            syn_id: 0,
            syn_time_ns: NEVER,
            recent: Recent::default(),
            acks: AckTimes::new(),
            end: None,
        }
    }

    /// No more bytes.
    pub fn finish(&mut self, fin: Option<(i64, i64)>) {
        self.next_seq = -1;
        self.forget_delivered();
        self.end = Some(Box::new(End { fin, resets: 0 }));
    }

    /// Forget the bytes that were delivered, and give their room back.
    pub fn forget_delivered(&mut self) {
        self.recent = Recent::default();
    }

    /// Whether everything that an acknowledgment has was seen.
    pub fn has_seen(&self, ack: u32) -> bool {
        self.next_seq >= 0 && self.next_seq.wrapping_sub(i64::from(ack)) & MASK < HALF
    }

    /// Whether a segment of this direction continues its stream, and acknowledges only seen bytes
    /// of `peer`, or its peer has not started.
    pub fn is_next(&self, peer: &Stream, seq: u32, ack: u32) -> bool {
        i64::from(seq) == self.next_seq && (peer.next_seq < 0 || peer.has_seen(ack))
    }

    /// Time the bytes of a segment that continues the stream, unless other bytes are being timed.
    pub fn time(&mut self, seq: u32, size: usize, time_ns: i64) {
        self.acks.sent(seq.wrapping_add(size as u32), time_ns);
    }

    /// Go on by a segment, which may be sent again if it was captured.
    pub fn deliver(&mut self, seq: u32, payload: &[u8], ip_id: i64, time_ns: i64, is_captured: bool) {
        let size = payload.len() as i64;
        let stop = self.offset + size;
        if is_captured {
            self.recent.push(Delivered { offset: self.offset, size: payload.len(), ip_id, time_ns }, payload);
        }
        self.offset = stop;
        self.next_seq = (i64::from(seq) + size) & MASK;
        if stop > self.trim_at {
            self.recent.forget_before(stop - BYTES);
            self.recent.shrink();
            self.trim_at = stop + BYTES;
        }
    }
}
