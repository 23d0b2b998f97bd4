//! What is known of a connection that is lent, and what a segment changes of it.

use pyo3::prelude::*;

use crate::engine::completed::{Content, Row, Trips};
use crate::engine::framing::{Framing, Packet, Piece, Plan};
use crate::engine::shared::Engine;
use crate::engine::stream::Stream;
use crate::engine::talk::{Talk, Told};

/// What is known of a connection that is lent.
pub struct Lent {
    pub directions: [Direction; 2],
    pub client: usize,
    pub talk: Talk,
    pub last_time_ns: i64,
    /// Packets since it was lent.
    pub taken: u64,
}

pub struct Direction {
    pub stream: Stream,
    /// None where Python alone can read the bytes.
    pub framing: Option<Framing>,
}

/// A segment that neither begins nor ends anything.
pub struct Segment<'a> {
    pub seq: u32,
    pub ack: u32,
    pub ip_id: i64,
    pub packet: Packet<'a>,
}

/// Room for what one packet brings, used again for the next one.
#[derive(Default)]
pub struct Work {
    pieces: Vec<Piece>,
    told: Vec<Told>,
    pub rows: Vec<Row>,
    /// Rows of packets before wait to be handed on, and are to find their connections as those left them.
    pub has_waiting: bool,
}

/// What became of a segment.
pub enum Turn {
    Taken,
    /// It is not for here, and nothing was changed.
    Unusual,
    /// Nothing was changed: what waits is to be handed on first.
    Later,
}

impl Lent {
    /// Take a segment.
    pub fn take(
        &mut self,
        py: Python<'_>,
        engine: &Engine,
        info: &Py<PyAny>,
        direction: usize,
        segment: &Segment<'_>,
        work: &mut Work,
    ) -> PyResult<Turn> {
        let packet = &segment.packet;
        let [first, second] = &mut self.directions;
        let (mine, peer) = if direction == 0 { (first, second) } else { (second, first) };
        if !mine.stream.is_next(&peer.stream, segment.seq, segment.ack) {
            return Ok(Turn::Unusual);
        }
        if !packet.payload.is_empty() {
            let Some(framing) = &mut mine.framing else { return Ok(Turn::Unusual) };
            work.pieces.clear();
            work.told.clear();
            let Some(plan) = framing.plan(py, packet, engine, &mut work.pieces) else {
                return Ok(Turn::Unusual);
            };
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
                if work.has_waiting && work.told.iter().any(Told::is_of_new_kind) {
                    return Ok(Turn::Later);
                }
                for (piece, told) in work.pieces.iter().zip(work.told.drain(..)) {
                    let data = cuts.bytes(py, packet.payload, piece).unbind();
                    let content = Content::new(data, 0, piece.span);
                    self.talk.take(py, engine, info, told, content, &mut work.rows)?;
                }
            }
            framing.apply(py, plan, packet, engine)?;
            mine.stream.time(segment.seq, packet.payload.len(), packet.time_ns);
            mine.stream.deliver(segment.seq, packet.payload, segment.ip_id, packet.time_ns);
        }
        let (start_seq, is_bare) = (peer.stream.start_seq, packet.payload.is_empty());
        peer.stream.acks.acknowledge(segment.ack, packet.time_ns, is_bare, start_seq);
        mine.stream.packets = mine.stream.packets.saturating_add(1);
        if !work.rows.is_empty() {
            let trips = self.trips();
            work.rows.iter_mut().for_each(|row| row.trips = trips);
        }
        self.last_time_ns = packet.time_ns;
        self.taken += 1;
        Ok(Turn::Taken)
    }
}

impl Lent {
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
