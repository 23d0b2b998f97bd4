//! Packets of a block that are in order, taken where they lie: what `SegmentParser.parse_batch` and
//! `ConnectionAnalyzer.feed` do together for them, and nothing else.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::engine::exchange_block::{ExchangeBlock, Gathered, Place as PacketPlace};
use crate::engine::flows::{HeldFlows, PassedBy};
use crate::engine::framing;
use crate::engine::half_open::Syns;
use crate::engine::held::Held;
use crate::engine::lent::{Segment, Turn, Work};
use crate::headers::Packet;
use crate::places::{Place, Places};

/// Gives what packets complete: exchanges in blocks, before a packet is taken that could change what they point at,
/// and a list of the events of each packet that is for Python.
#[pyclass(module = "kdissect._native")]
pub struct InOrder {
    data: Py<PyBytes>,
    first_ref: i64,
    places: Py<Places>,
    at: usize,
    flows: Py<HeldFlows>,
    until_ns: i64,
    /// The latest time of all packets so far; None where nobody asks for the order of all.
    latest_ns: Option<i64>,
    events: Py<PyList>,
    others: Option<Py<PassedBy>>,
    syns: Option<Syns>,
    unusual: Py<PyAny>,
    work: Work,
    gathered: Option<Gathered>,
    /// The block that was given last.
    given: Option<Py<ExchangeBlock>>,
    /// What is to be done once a block was given: the packet taken last is for Python, or raised this.
    is_for_python: bool,
    error: Option<PyErr>,
}

/// What became of a packet.
enum Taken {
    Unusual,
    Done,
    /// Something was completed, of this connection.
    Completed(Py<Held>),
    /// Nothing was done: what is gathered is to be given first.
    Later,
}

#[pymethods]
impl InOrder {
    /// Packets of a block from index `at` on, of the connections in `flows`, up to the time `until_ns`. `latest_ns` is the
    /// latest time of packets before them, where somebody asks for the order of all. Packets of the flows in `others` are passed by; `syns` take those of flows nobody knows. `unusual` is called with the index
    /// of each packet that is for Python, and the latest time up to it, which puts what it completes into `events`, and gives the next `until_ns`.
    #[new]
    #[pyo3(signature = (data, first_ref, places, at, flows, until_ns, latest_ns, events, others, syns, unusual))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        data: Py<PyBytes>,
        first_ref: i64,
        places: Py<Places>,
        at: usize,
        flows: Py<HeldFlows>,
        until_ns: &Bound<'_, PyAny>,
        latest_ns: Option<i64>,
        events: Py<PyList>,
        others: Option<Py<PassedBy>>,
        syns: Option<Syns>,
        unusual: Py<PyAny>,
    ) -> Self {
        let until_ns = time(until_ns);
        InOrder {
            data,
            first_ref,
            places,
            at,
            flows,
            until_ns,
            latest_ns,
            events,
            others,
            syns,
            unusual,
            work: Work::default(),
            gathered: None,
            given: None,
            is_for_python: false,
            error: None,
        }
    }

    /// Index of the packet that was taken last.
    #[getter]
    fn index(&self) -> usize {
        self.at.saturating_sub(1)
    }

    /// The latest time of all packets up to that one; None where nobody asks.
    #[getter]
    fn latest_ns(&self) -> Option<i64> {
        self.latest_ns
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(given) = self.given.take() {
            ExchangeBlock::settle(given.bind(py))?;
        }
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if std::mem::take(&mut self.is_for_python) {
                if let Some(found) = self.ask_python(py)? {
                    return Ok(Some(found.into_any()));
                }
            }
            let is_over = match self.take(py) {
                Ok(is_over) => is_over,
                Err(error) => {
                    self.error = Some(error);
                    false
                }
            };
            if let Some(gathered) = self.gathered.take() {
                let block = Bound::new(py, gathered.done())?;
                self.given = Some(block.clone().unbind());
                return Ok(Some(block.into_any()));
            }
            if is_over {
                return Ok(None);
            }
        }
    }
}

/// A time as Python has it; some round numbers lie behind the last time there is.
fn time(time_ns: &Bound<'_, PyAny>) -> i64 {
    time_ns.extract().unwrap_or(i64::MAX)
}

impl InOrder {
    /// Have Python take the packet taken last; gives the events that it completed, if any.
    fn ask_python<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        self.until_ns = time(&self.unusual.bind(py).call1((self.index(), self.latest_ns))?);
        let events = self.events.bind(py);
        if events.is_empty() {
            return Ok(None);
        }
        let found = events.get_slice(0, events.len());
        events.del_slice(0, events.len())?; // connections hold this very list
        Ok(Some(found))
    }

    /// Gather what packets complete up to one that is for Python, or until there is enough; whether that was all.
    fn take(&mut self, py: Python<'_>) -> PyResult<bool> {
        let block = Block {
            data: self.data.bind(py).as_bytes(),
            until_ns: self.until_ns,
            flows: self.flows.bind(py).try_borrow()?,
            others: self.others.as_ref().map(|others| others.bind(py).try_borrow()).transpose()?,
            syns: self.syns.as_ref(),
        };
        self.work.has_waiting = false;
        while let Some(place) = self.places.get().items.get(self.at) {
            let (index, reference) = (self.at, self.first_ref + self.at as i64);
            self.at += 1;
            self.latest_ns = self.latest_ns.map(|latest_ns| latest_ns.max(place.time_ns));
            let now_ns = self.latest_ns.unwrap_or(place.time_ns);
            let stands = PacketPlace { latest_ns: now_ns, reference };
            match block.take(py, place, &stands, self.latest_ns.is_some(), &mut self.work)? {
                Taken::Done => {}
                Taken::Completed(held) => {
                    let mut held = held.bind(py).try_borrow_mut()?;
                    let gathered =
                        self.gathered.get_or_insert_with(|| Gathered::of(held.engine.clone_ref(py)));
                    gathered.add(py, &mut held, (index, stands), &mut self.work.rows);
                    self.work.has_waiting = true;
                    if gathered.is_full() {
                        return Ok(false);
                    }
                }
                Taken::Unusual => {
                    self.is_for_python = true;
                    return Ok(false);
                }
                Taken::Later => {
                    self.at -= 1;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What the packets of a block share. Its flows stay as they are while it is there.
struct Block<'a, 'py> {
    data: &'a [u8],
    until_ns: i64,
    flows: PyRef<'py, HeldFlows>,
    others: Option<PyRef<'py, PassedBy>>,
    syns: Option<&'a Syns>,
}

impl Block<'_, '_> {
    fn take(
        &self,
        py: Python<'_>,
        place: &Place,
        stands: &PacketPlace,
        is_placed: bool,
        work: &mut Work,
    ) -> PyResult<Taken> {
        // Behind the last time there is the key of an event is that of an end, which is Python's.
        if stands.latest_ns > self.until_ns || (is_placed && stands.latest_ns == i64::MAX) {
            return Ok(Taken::Unusual);
        }
        let Some(packet) = Packet::read(self.data, place.start, place.end, place.link_type) else {
            return Ok(Taken::Unusual);
        };
        if let Some((held, is_turned)) = self.flows.get(&packet.flow) {
            let Some(plain) = packet.plain() else { return Ok(Taken::Unusual) };
            let Some(payload) = self.data.get(plain.begin..plain.end) else { return Ok(Taken::Unusual) };
            let packet_of = framing::Packet { payload, reference: stands.reference, time_ns: place.time_ns };
            let segment = Segment { seq: plain.seq, ack: plain.ack, ip_id: packet.ip_id, packet: packet_of };
            return give(py, held, is_turned, &segment, work);
        }
        if self.others.as_ref().is_some_and(|others| others.by_flow.get(&packet.flow).is_some()) {
            return Ok(Taken::Done);
        }
        let opened_at = is_placed.then_some(stands.latest_ns);
        match self.syns {
            Some(syns) if syns.hold(py, &packet, place.time_ns, stands.reference, opened_at)? => {
                Ok(Taken::Done)
            }
            _ => Ok(Taken::Unusual),
        }
    }
}

fn give(
    py: Python<'_>,
    held: &Py<Held>,
    is_turned: bool,
    segment: &Segment<'_>,
    work: &mut Work,
) -> PyResult<Taken> {
    let mut there = held.bind(py).try_borrow_mut()?;
    let there = &mut *there;
    let direction = usize::from(is_turned != there.is_turned);
    let turn = match &mut there.lent {
        Some(lent) => lent.take(py, there.engine.get(), &there.info, direction, segment, work)?,
        None => Turn::Unusual,
    };
    Ok(match turn {
        Turn::Unusual => Taken::Unusual,
        Turn::Later => Taken::Later,
        Turn::Taken if work.rows.is_empty() => Taken::Done,
        Turn::Taken => Taken::Completed(held.clone_ref(py)),
    })
}
