//! A connection while the engine has it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::engine::by_loan;
use crate::engine::completed::{counted, Content, Row, Trips};
use crate::engine::framing::{Framing, Packet, Piece, Plan};
use crate::engine::handover::HeldState;
use crate::engine::shared::Engine;
use crate::engine::stream::Stream;
use crate::engine::talk::{Talk, Told};
use crate::headers::{ACK, CONTROL};

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
            let payload = PyBytes::new(py, packet.payload);
            framing.apply(plan, packet, &payload, engine)?;
            mine.stream.time(segment.seq, packet.payload.len(), packet.time_ns);
            mine.stream.deliver(segment.seq, &payload, segment.ip_id, packet.time_ns);
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

/// The engine's place for a connection, which is there or in Python.
#[pyclass(module = "kdissect._native")]
pub struct Held {
    pub engine: Py<Engine>,
    pub info: Py<PyAny>,
    pub lent: Option<Box<Lent>>,
    /// Whether the flow of direction 0 goes the other way than the key for both (`Flow::either_way`).
    pub is_turned: bool,
    /// Where it stands in the block of this number.
    pub in_block: (u64, u32),
    /// The number of the loan (`by_loan.rs`).
    pub loan: u64,
}

/// `kdissect.model.packets.segment.PlainSegment`.
type PlainSegment<'py> = (Bound<'py, PyAny>, u32, u32, u8, u32, Bound<'py, PyBytes>, i64, i64);

#[pymethods]
impl Held {
    /// Exchanges are of the connection `info`.
    #[new]
    fn new(engine: Py<Engine>, info: Py<PyAny>) -> Self {
        Held { engine, info, lent: None, is_turned: false, in_block: (0, 0), loan: 0 }
    }

    /// Whether the connection is here.
    #[getter]
    fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Time of its last packet.
    #[getter]
    fn last_time_ns(&self) -> PyResult<i64> {
        self.there().map(|lent| lent.last_time_ns)
    }

    /// Packets that were taken since it was lent.
    #[getter]
    fn taken(&self) -> PyResult<u64> {
        self.there().map(|lent| lent.taken)
    }

    /// Take over a connection. Raises ValueError for one that is here.
    fn lend(&mut self, py: Python<'_>, state: HeldState<'_>) -> PyResult<()> {
        if self.lent.is_some() {
            return Err(PyValueError::new_err("the connection is lent already"));
        }
        self.lent = Some(Box::new(Lent::of(py, self.engine.get(), state)?));
        self.loan = by_loan::next();
        Ok(())
    }

    /// Give back the connection. Raises ValueError if it is not here.
    fn take_back<'py>(&mut self, py: Python<'py>) -> PyResult<HeldState<'py>> {
        self.there()?;
        match self.lent.take() {
            Some(lent) => lent.state(py),
            None => Err(not_here()),
        }
    }

    /// Take a segment of a direction and put what it completes into `events`; False where it is not for here, and
    /// nothing was changed. Raises ValueError if the connection is not here.
    fn feed(
        slf: &Bound<'_, Self>,
        direction: usize,
        segment: &Bound<'_, PyTuple>,
        reference: i64,
        time_ns: i64,
        events: &Bound<'_, PyList>,
    ) -> PyResult<bool> {
        let py = slf.py();
        let (_, seq, ack, flags, window, payload, missing, ip_id): PlainSegment<'_> = segment.extract()?;
        if flags & CONTROL != ACK || window == 0 || missing != 0 {
            return Ok(false);
        }
        let mut work = Work::default();
        let mut held = slf.borrow_mut();
        let (engine, info) = (held.engine.clone_ref(py), held.info.clone_ref(py));
        let lent = held.lent.as_mut().ok_or_else(not_here)?;
        let packet = Packet { payload: payload.as_bytes(), reference, time_ns };
        let segment = Segment { seq, ack, ip_id, packet };
        let turn = lent.take(py, engine.get(), &info, direction, &segment, &mut work)?;
        if !matches!(turn, Turn::Taken) {
            return Ok(false);
        }
        drop(held); // what follows runs code of Python
        if !work.rows.is_empty() {
            engine.get().count(py, vec![counted(&info, work.rows.iter())])?;
        }
        for row in &work.rows {
            events.append(row.exchange(py, engine.get(), &info)?)?;
        }
        Ok(true)
    }
}

impl Held {
    fn there(&self) -> PyResult<&Lent> {
        self.lent.as_deref().ok_or_else(not_here)
    }
}

fn not_here() -> PyErr {
    PyValueError::new_err("the connection is not lent")
}
