//! State of a native-owned connection, and a segment's changes of it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine::completed::{Content, Row, Span, Trips};
use crate::engine::framing::{Framing, Packet, Piece, Plan};
use crate::engine::shared::{Engine, Note, Over};
use crate::engine::stream::{Stream, RECENT_NS};
use crate::engine::talk::{Talk, Told};
use crate::headers::{ACK, CONTROL, FIN, RST};
use crate::places::FILE_SHIFT;
use crate::request_log::line_comment::{LineComment, NULL};

/// State of a native-owned connection.
pub struct Lent {
    pub directions: [Direction; 2],
    pub client: usize,
    pub talk: Talk,
    pub last_time_ns: i64,
    /// Packets since the handover.
    pub taken: u64,
    /// Whether the engine handles its ends: neither direction had an anomaly.
    pub can_end: bool,
    /// Direction, time and reference of the RST that ended it.
    pub reset_by: Option<(usize, i64, i64)>,
    /// The line that its last packet was built from; None for a captured connection.
    pub line: Option<Line>,
}

/// A line of a request log.
pub struct Line {
    comment: Py<PyBytes>,
    /// `kdissect.model.packets.packet.line_ref` of its number, in file 0.
    reference: i64,
}

/// The bit of a reference that says that the number is that of a line.
const LINE_BIT: i64 = 1 << (FILE_SHIFT - 1);

impl Line {
    pub fn of(comment: Py<PyBytes>) -> Line {
        Line { comment, reference: 0 }
    }

    pub fn comment(&self) -> &Py<PyBytes> {
        &self.comment
    }

    /// Go on to a line; false, without any change, for one of another connection, and for one with another principal:
    /// answers about the client do not hold any more (`by_loan.rs`). Other facts about the connection are noted.
    fn go_on(&mut self, py: Python<'_>, next: &LineComment<'_>, notes: &mut Vec<Note>) -> bool {
        let before = self.comment.as_bytes(py);
        if before != next.whole {
            let Some(known) = LineComment::of(before) else { return false };
            if known.connection != next.connection {
                return false;
            }
            let has_other_texts = known.texts != next.texts;
            if has_other_texts && ![NULL, known.principal()].contains(&next.principal()) {
                return false;
            }
            let comment = PyBytes::new(py, next.whole).unbind();
            if has_other_texts {
                notes.push(Note::Line(comment.clone_ref(py)));
            }
            self.comment = comment;
        }
        self.reference = LINE_BIT | next.line & (LINE_BIT - 1);
        true
    }

    /// The content of a frame whose last packet was built from it.
    fn content(&self, py: Python<'_>, data: Py<PyBytes>, span: Span) -> Content {
        let reference = span.last_ref >> FILE_SHIFT << FILE_SHIFT | self.reference;
        let span = Span { first_ref: reference, last_ref: reference, ..span };
        Content::of_line(data, 0, span, self.comment.clone_ref(py))
    }
}

pub struct Direction {
    pub stream: Stream,
    /// None where Python alone can read the bytes.
    pub framing: Option<Framing>,
}

/// A segment, with its flags as they are on the wire.
pub struct Segment<'a> {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub ip_id: i64,
    pub packet: Packet<'a>,
}

/// Room for what one packet brings, used again for the next one.
#[derive(Default)]
pub struct Work {
    pieces: Vec<Piece>,
    told: Vec<Told>,
    met: Vec<u32>,
    pub rows: Vec<Row>,
    /// The packet's facts about the connection, before its rows.
    pub notes: Vec<Note>,
}

/// Result for a segment.
pub enum Turn {
    Taken,
    /// It is not for the engine, without any change.
    Unusual,
}

/// TCP of a connection: time of the last packet, who ended it first, and of each direction packets, bytes, the shortest
/// time until an acknowledgment, whether that of the handshake is among the measures, and packets with RST.
pub type Summary = (i64, Option<(usize, bool, i64)>, [SideSummary; 2]);
type SideSummary = (u32, i64, Option<i64>, bool, u32);

impl Direction {
    pub fn has_ended(&self) -> bool {
        self.stream.end.is_some()
    }

    /// Whether its end leaves no part of a frame.
    fn is_between_frames(&self) -> bool {
        self.framing.as_ref().is_some_and(|framing| framing.under_way.is_none())
    }

    fn summary(&self) -> SideSummary {
        let Stream { packets, offset, acks, end, .. } = &self.stream;
        let (.., by_handshake) = acks.state();
        (*packets, *offset, acks.least(), by_handshake, end.as_ref().map_or(0, |end| end.resets))
    }
}

impl Lent {
    /// Take a segment built from a line of a request log, as the next one of its direction.
    pub fn take_logged(
        &mut self,
        py: Python<'_>,
        engine: &Engine,
        direction: usize,
        (segment, line): (&Segment<'_>, &LineComment<'_>),
        work: &mut Work,
    ) -> PyResult<Turn> {
        let notes = work.notes.len();
        if !self.line.as_mut().is_some_and(|known| known.go_on(py, line, &mut work.notes)) {
            return Ok(Turn::Unusual);
        }
        let [first, second] = &self.directions;
        let (mine, peer) = if direction == 0 { (first, second) } else { (second, first) };
        let next = |stream: &Stream, number: u32| u32::try_from(stream.next_seq).unwrap_or(number);
        let (seq, ack) = (next(&mine.stream, segment.seq), next(&peer.stream, segment.ack));
        let turn = self.take_next(py, engine, direction, &Segment { seq, ack, ..*segment }, work)?;
        if matches!(turn, Turn::Unusual) {
            work.notes.truncate(notes); // Python notes the line, and the next connection must not
        }
        Ok(turn)
    }

    /// Take a captured segment.
    pub fn take(
        &mut self,
        py: Python<'_>,
        engine: &Engine,
        direction: usize,
        segment: &Segment<'_>,
        work: &mut Work,
    ) -> PyResult<Turn> {
        if self.line.is_some() {
            return Ok(Turn::Unusual);
        }
        if segment.packet.time_ns.saturating_sub(self.last_time_ns) > RECENT_NS {
            self.forget_delivered(); // also in Python, if the segment is for Python
        }
        self.take_next(py, engine, direction, segment, work)
    }

    /// Forget the bytes that both directions delivered last.
    pub fn forget_delivered(&mut self) {
        self.directions.iter_mut().for_each(|one| one.stream.forget_delivered());
    }

    /// Forget them, and never free their memory.
    pub fn leak_delivered(&mut self) {
        self.directions.iter_mut().for_each(|one| std::mem::forget(std::mem::take(&mut one.stream.recent)));
    }

    fn take_next(
        &mut self,
        py: Python<'_>,
        engine: &Engine,
        direction: usize,
        segment: &Segment<'_>,
        work: &mut Work,
    ) -> PyResult<Turn> {
        let packet = &segment.packet;
        let is_fin = match segment.flags & CONTROL {
            ACK => false,
            flags if flags == ACK | FIN => true,
            flags => {
                let is_reset = flags & !ACK == RST && self.reset(direction, segment, work);
                return Ok(if is_reset { self.taken(direction, packet) } else { Turn::Unusual });
            }
        };
        let is_silent = self.talk.pending.is_empty();
        let [first, second] = &mut self.directions;
        let (mine, peer) = if direction == 0 { (first, second) } else { (second, first) };
        if segment.window == 0 {
            return Ok(Turn::Unusual);
        }
        let (start_seq, is_bare) = (peer.stream.start_seq, packet.payload.is_empty());
        if mine.has_ended() {
            // An acknowledgment, whatever its own number is.
            if is_fin || !is_bare || !(peer.has_ended() || peer.stream.has_seen(segment.ack)) {
                return Ok(Turn::Unusual);
            }
            peer.stream.acks.acknowledge(segment.ack, packet.time_ns, true, start_seq);
            return Ok(self.taken(direction, packet));
        }
        if !mine.stream.is_next(&peer.stream, segment.seq, segment.ack) {
            return Ok(Turn::Unusual);
        }
        let may_end = !peer.has_ended() || is_silent && is_bare;
        if is_fin && !(self.can_end && start_seq >= 0 && may_end && (!is_bare || mine.is_between_frames())) {
            return Ok(Turn::Unusual);
        }
        if !packet.payload.is_empty() {
            let Some(framing) = &mut mine.framing else { return Ok(Turn::Unusual) };
            work.pieces.clear();
            work.told.clear();
            let Some(plan) = framing.plan(py, packet, engine, &mut work.pieces) else {
                return Ok(Turn::Unusual);
            };
            if is_fin && !plan.is_between_frames() {
                return Ok(Turn::Unusual);
            }
            if let Plan::Cut(cuts) = &plan {
                let mut ahead = self.talk.ahead();
                for piece in &work.pieces {
                    let content = cuts.content(packet.payload, piece);
                    let told = if direction == self.client {
                        self.talk.request(py, engine, content, &work.told, &mut ahead)?
                    } else {
                        self.talk.response(content, work.told.len())
                    };
                    let Some(told) = told else { return Ok(Turn::Unusual) };
                    work.told.push(told);
                }
                for (piece, told) in work.pieces.iter().zip(work.told.drain(..)) {
                    let data = cuts.bytes(py, packet.payload, piece).unbind();
                    let content = match &self.line {
                        Some(line) => line.content(py, data, piece.span),
                        None => Content::new(data, 0, piece.span),
                    };
                    self.talk.take(py, engine, told, content, &mut work.rows, &mut work.met);
                }
                work.notes.extend(work.met.drain(..).map(Note::Met));
            }
            framing.apply(py, plan, packet, engine)?;
            mine.stream.time(segment.seq, packet.payload.len(), packet.time_ns);
            let is_captured = self.line.is_none();
            mine.stream.deliver(segment.seq, packet.payload, segment.ip_id, packet.time_ns, is_captured);
        }
        peer.stream.acks.acknowledge(segment.ack, packet.time_ns, is_bare, start_seq);
        if is_fin {
            mine.stream.finish(Some((segment.ip_id, packet.time_ns)));
            self.note_over(packet, work);
        }
        if !work.rows.is_empty() {
            let trips = self.trips();
            work.rows.iter_mut().for_each(|row| row.trips = trips);
        }
        Ok(self.taken(direction, packet))
    }

    /// Take a packet with RST; false, without any change, if it is not for the engine.
    fn reset(&mut self, direction: usize, segment: &Segment<'_>, work: &mut Work) -> bool {
        let packet = &segment.packet;
        let is_over = self.is_over();
        let has_no_rest = |one: &Direction| one.has_ended() || one.is_between_frames();
        // Python judges who ended it if a FIN may be among bytes that were not captured.
        let has_seen = |one: &Direction| {
            one.has_ended()
                || one.stream.start_seq >= 0 && (segment.flags & ACK == 0 || one.stream.has_seen(segment.ack))
        };
        if !is_over {
            let is_plain = self.can_end && self.talk.pending.is_empty();
            let is_all_seen = self.directions.get(1 - direction).is_some_and(has_seen);
            if !is_plain || !is_all_seen || !self.directions.iter().all(has_no_rest) {
                return false;
            }
            self.reset_by = Some((direction, packet.time_ns, packet.reference));
            for one in self.directions.iter_mut().filter(|one| !one.has_ended()) {
                one.stream.finish(None);
            }
            self.note_over(packet, work);
        }
        let mine = self.directions.get_mut(direction).and_then(|mine| mine.stream.end.as_mut());
        if let Some(end) = mine {
            end.resets = end.resets.saturating_add(1);
        }
        true
    }

    fn taken(&mut self, direction: usize, packet: &Packet<'_>) -> Turn {
        if let Some(mine) = self.directions.get_mut(direction) {
            mine.stream.packets = mine.stream.packets.saturating_add(1);
        }
        self.last_time_ns = packet.time_ns;
        self.taken += 1;
        Turn::Taken
    }

    /// Whether both directions ended.
    pub fn is_over(&self) -> bool {
        self.directions.iter().all(Direction::has_ended)
    }

    /// Both directions may have ended with this packet.
    fn note_over(&self, packet: &Packet<'_>, work: &mut Work) {
        if let Some((direction, is_reset, at_ns)) = self.ended_by().filter(|_| self.is_over()) {
            work.notes.push(Note::Over(Over { last_ns: packet.time_ns, direction, is_reset, at_ns }));
        }
    }

    /// Which direction sent the first FIN or RST, whether it was RST, and when: `TcpConnection.closed_by`.
    fn ended_by(&self) -> Option<(usize, bool, i64)> {
        let fin = |one: &Direction| one.stream.end.as_ref()?.fin.map(|(_, time_ns)| time_ns);
        let fins = self.directions.iter().enumerate().filter_map(|(side, one)| Some((fin(one)?, side)));
        match fins.min() {
            Some((time_ns, side)) => Some((side, false, time_ns)),
            None => self.reset_by.map(|(side, time_ns, _)| (side, true, time_ns)),
        }
    }

    /// The end of the connection as no more packets come; None if Python must handle it.
    pub fn summary(&self) -> Option<Summary> {
        let has_no_rest = |one: &Direction| one.has_ended() || one.is_between_frames();
        let is_plain =
            self.can_end && self.talk.pending.is_empty() && self.directions.iter().all(has_no_rest);
        let sides = self.directions.each_ref().map(Direction::summary);
        is_plain.then(|| (self.last_time_ns, self.ended_by(), sides))
    }

    /// The ways to client and broker and back, as far as they are known.
    fn trips(&self) -> Trips {
        let [first, second] = self.directions.each_ref().map(|direction| direction.stream.acks.least());
        if self.client == 0 {
            Trips { client: second, broker: first }
        } else {
            Trips { client: first, broker: second }
        }
    }
}
