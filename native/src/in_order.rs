//! Packets of a block that are in order, taken where they lie: what `SegmentParser.parse_batch` and
//! `TcpConnection.feed` do together for them, and nothing else.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::half_open::Syns;
use crate::headers::Packet;
use crate::lanes::{Lane, Lanes, PassedBy};
use crate::places::{Place, Places};

/// Gives lists of the events that a packet completed, before the next one is taken.
#[pyclass(module = "kdissect._native")]
pub struct InOrder {
    data: Py<PyBytes>,
    first_ref: i64,
    places: Py<Places>,
    at: usize,
    lanes: Py<Lanes>,
    due: Py<PyAny>,
    events: Py<PyList>,
    others: Option<Py<PassedBy>>,
    syns: Option<Syns>,
    unusual: Py<PyAny>,
    analyzer: Py<PyAny>,
}

/// What became of a packet.
enum Taken {
    Unusual,
    Done,
    Told,
}

#[pymethods]
impl InOrder {
    /// Packets of a block from index `at` on, of the flows in `lanes` as long as nothing is `due`; `events` is where
    /// sinks put theirs. Packets of the flows in `others` are passed by; `syns` take those of flows nobody knows.
    /// `unusual` is called with the index of each packet that is for Python;
    /// `analyzer.index` is that of the packet whose events are given, or at which something raised.
    #[new]
    #[pyo3(signature = (data, first_ref, places, at, lanes, due, events, others, syns, unusual, analyzer))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        data: Py<PyBytes>,
        first_ref: i64,
        places: Py<Places>,
        at: usize,
        lanes: Py<Lanes>,
        due: Py<PyAny>,
        events: Py<PyList>,
        others: Option<Py<PassedBy>>,
        syns: Option<Syns>,
        unusual: Py<PyAny>,
        analyzer: Py<PyAny>,
    ) -> Self {
        InOrder { data, first_ref, places, at, lanes, due, events, others, syns, unusual, analyzer }
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let events = self.events.bind(py).clone();
        loop {
            let taken = self.take(py);
            let index = self.at.saturating_sub(1);
            if taken.is_err() {
                self.analyzer.bind(py).setattr(intern!(py, "index"), index)?;
            }
            let Some(taken) = taken? else { return Ok(None) };
            if let Taken::Unusual = taken {
                self.unusual.bind(py).call1((index,))?;
                if events.is_empty() {
                    continue;
                }
            } else {
                self.analyzer.bind(py).setattr(intern!(py, "index"), index)?;
            }
            let found = events.get_slice(0, events.len());
            events.del_slice(0, events.len())?; // connections hold this very list
            return Ok(Some(found));
        }
    }
}

impl InOrder {
    /// Go on behind a packet that is unusual or with which events came; None behind the last one.
    fn take(&mut self, py: Python<'_>) -> PyResult<Option<Taken>> {
        let due = self.due.bind(py).getattr(intern!(py, "time_ns"))?;
        let block = Block {
            data: self.data.bind(py).as_bytes(),
            until_ns: due.extract().unwrap_or(i64::MAX), // the round number behind the last time there is
            lanes: self.lanes.bind(py).try_borrow()?,
            others: self.others.as_ref().map(|others| others.bind(py).try_borrow()).transpose()?,
            syns: self.syns.as_ref(),
            analyzer: self.analyzer.bind(py),
            events: self.events.bind(py),
        };
        while let Some(place) = self.places.get().items.get(self.at) {
            let reference = self.first_ref + self.at as i64;
            self.at += 1;
            match block.take(place, reference)? {
                Taken::Done => {}
                taken => return Ok(Some(taken)),
            }
        }
        Ok(None)
    }
}

/// What the packets of a block share. Its lanes stay as they are while it is there: sinks know nothing of flows.
struct Block<'a, 'py> {
    data: &'a [u8],
    until_ns: i64,
    lanes: PyRef<'py, Lanes>,
    others: Option<PyRef<'py, PassedBy>>,
    syns: Option<&'a Syns>,
    analyzer: &'a Bound<'py, PyAny>,
    events: &'a Bound<'py, PyList>,
}

impl Block<'_, '_> {
    fn take(&self, place: &Place, reference: i64) -> PyResult<Taken> {
        if place.time_ns > self.until_ns {
            return Ok(Taken::Unusual);
        }
        let Some(packet) = Packet::read(self.data, place.start, place.end, place.link_type) else {
            return Ok(Taken::Unusual);
        };
        match self.lanes.by_flow.get(&packet.flow) {
            Some(lane) => self.give(lane, &packet, place.time_ns, reference),
            None if self.is_of_others(&packet) => Ok(Taken::Done),
            None => match self.syns {
                Some(syns) if syns.hold(self.analyzer, &packet, place.time_ns, reference)? => Ok(Taken::Done),
                _ => Ok(Taken::Unusual),
            },
        }
    }

    fn is_of_others(&self, packet: &Packet<'_>) -> bool {
        self.others.as_ref().is_some_and(|others| others.by_flow.get(&packet.flow).is_some())
    }

    fn give(&self, lane: &Lane, packet: &Packet<'_>, time_ns: i64, reference: i64) -> PyResult<Taken> {
        let Some(segment) = packet.plain().filter(|segment| lane.is_next(segment)) else {
            return Ok(Taken::Unusual);
        };
        let Some(payload) = self.data.get(segment.begin..segment.end) else { return Ok(Taken::Unusual) };
        lane.count_packet(time_ns);
        if payload.is_empty() {
            return Ok(Taken::Done);
        }
        let payload = PyBytes::new(self.events.py(), payload);
        lane.deliver(&segment, &payload, packet.ip_id, time_ns);
        lane.sink.give(&payload, reference, time_ns)?;
        Ok(if self.events.is_empty() { Taken::Done } else { Taken::Told })
    }
}
