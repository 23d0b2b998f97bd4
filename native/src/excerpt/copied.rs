//! Connections of which packets are copied while they are in order: `kdissect.excerpt.excerpt_reader`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::excerpt::cut::UnderWay;
use crate::flow::{ByFlow, Flow};

const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;
/// A sequence number that is not known.
pub const UNKNOWN: i64 = -1;

/// State of a connection while it is here.
pub struct Copied {
    pub directions: [Direction; 2],
    pub last_time_ns: i64,
    pub taken: u64,
    /// None if the excerpt has no packets of it.
    pub kept: Option<Kept>,
}

pub struct Direction {
    pub next_seq: i64,
    pub offset: i64,
    pub packets: i64,
    /// Sequence number of the next byte that is written.
    pub written: i64,
    pub under_way: Option<Box<UnderWay>>,
}

/// Facts about a connection in the excerpt.
pub struct Kept {
    /// The connection's id, as comments show it.
    pub id: Box<[u8]>,
    pub has_begun: bool,
    pub is_acknowledged: bool,
}

impl Direction {
    /// `engine::stream::Stream::is_next`.
    pub fn is_next(&self, peer: &Direction, seq: u32, ack: u32) -> bool {
        i64::from(seq) == self.next_seq
            && (peer.next_seq < 0 || peer.next_seq.wrapping_sub(i64::from(ack)) & MASK < HALF)
    }

    /// Go on by a packet.
    pub fn go_on(&mut self, bytes: usize) {
        self.packets += 1;
        self.offset += bytes as i64;
        self.next_seq = (self.next_seq + bytes as i64) & MASK;
    }
}

/// A direction as Python has it: `next_seq`, `offset` and `packets` of the stream, the next written
/// sequence number, the incomplete frame, packed, and the number of its bytes that passed.
type DirectionRow<'py> = (i64, i64, i64, i64, Option<(Bound<'py, PyBytes>, u64)>);
/// `kdissect.excerpt.excerpt_reader.CopiedState`.
type State<'py> = (i64, (DirectionRow<'py>, DirectionRow<'py>), Option<(Bound<'py, PyBytes>, bool, bool)>);

/// The connections of a capture set that are here, by both of their flows.
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct CopiedFlows {
    by_flow: ByFlow<(usize, usize)>,
    all: Vec<Option<Box<Copied>>>,
    free: Vec<usize>,
}

#[pymethods]
impl CopiedFlows {
    #[new]
    fn new() -> Self {
        CopiedFlows::default()
    }

    fn __len__(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Take over the connection of a flow, which is its first direction. Raises ValueError for one that is here, and for
    /// a flow that is none.
    fn lend(&mut self, flow: &[u8], state: State<'_>) -> PyResult<()> {
        let Some(first) = Flow::of(flow) else { return Err(PyValueError::new_err("no flow")) };
        if self.by_flow.get(&first).is_some() {
            return Err(PyValueError::new_err("the connection is lent already"));
        }
        let copied = Box::new(Copied::of(state)?);
        let number = self.free.pop().unwrap_or(self.all.len());
        match self.all.get_mut(number) {
            Some(place) => *place = Some(copied),
            None => self.all.push(Some(copied)),
        }
        let back = first.reverse();
        self.by_flow.insert(&first, (number, 0));
        if let Some(back) = Flow::of(&back) {
            self.by_flow.insert(&back, (number, 1));
        }
        Ok(())
    }

    /// Return the connection of a flow to Python, with the number of packets taken. Raises
    /// ValueError if it is not here.
    fn take_back<'py>(&mut self, py: Python<'py>, flow: &[u8]) -> PyResult<(State<'py>, u64)> {
        let number = self.number(flow)?;
        if let Some(first) = Flow::of(flow) {
            let back = first.reverse();
            self.by_flow.remove(&first);
            Flow::of(&back).map(|back| self.by_flow.remove(&back));
        }
        self.free.push(number);
        let copied = self.all.get_mut(number).and_then(Option::take).ok_or_else(not_here)?;
        let taken = copied.taken;
        Ok((copied.state(py), taken))
    }

    /// Time of the last packet on a flow's connection. Raises ValueError if it is not here.
    fn last_time_ns(&self, flow: &[u8]) -> PyResult<i64> {
        let found = self.all.get(self.number(flow)?).and_then(Option::as_ref);
        found.map(|copied| copied.last_time_ns).ok_or_else(not_here)
    }
}

impl CopiedFlows {
    fn number(&self, flow: &[u8]) -> PyResult<usize> {
        let found = Flow::of(flow).and_then(|flow| self.by_flow.get(&flow).copied());
        found.map(|(number, _)| number).ok_or_else(not_here)
    }

    /// The connection of a flow, and which direction it is.
    pub fn find(&mut self, flow: &Flow<'_>) -> Option<(&mut Copied, usize)> {
        let &(number, direction) = self.by_flow.get(flow)?;
        self.all.get_mut(number)?.as_mut().map(|copied| (&mut **copied, direction))
    }
}

impl Copied {
    fn of((last_time_ns, (first, second), kept): State<'_>) -> PyResult<Copied> {
        let kept = kept.map(|(id, has_begun, is_acknowledged)| Kept {
            id: id.as_bytes().into(),
            has_begun,
            is_acknowledged,
        });
        Ok(Copied { directions: [direction(first)?, direction(second)?], last_time_ns, taken: 0, kept })
    }

    fn state(self, py: Python<'_>) -> State<'_> {
        let [first, second] = self.directions;
        let kept = self.kept.map(|kept| (PyBytes::new(py, &kept.id), kept.has_begun, kept.is_acknowledged));
        (self.last_time_ns, (row(py, first), row(py, second)), kept)
    }
}

fn direction((next_seq, offset, packets, written, frame): DirectionRow<'_>) -> PyResult<Direction> {
    let under_way = match frame {
        Some((plan, at)) => {
            let found = UnderWay::of(plan.as_bytes().to_vec(), at);
            Some(Box::new(found.ok_or_else(|| PyValueError::new_err("no plan"))?))
        }
        None => None,
    };
    Ok(Direction { next_seq, offset, packets, written, under_way })
}

fn row(py: Python<'_>, of: Direction) -> DirectionRow<'_> {
    let frame = of.under_way.map(|frame| (PyBytes::new(py, &frame.plan), frame.at));
    (of.next_seq, of.offset, of.packets, of.written, frame)
}

fn not_here() -> PyErr {
    PyValueError::new_err("the connection is not lent")
}
