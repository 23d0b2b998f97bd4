//! `kdissect.net.in_order.take_in_order`, over places that lie in a `Places`.
//!
//! What Python holds of a direction is read when its first segment comes and written back before anybody in
//! Python can look: at a segment of another flow, before a call, and before a packet is given.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::headers::plain;
use crate::places::Places;

const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;

/// A direction of a connection, its state taken out of Python.
struct Lane {
    flow: [u8; 12],
    mine: Py<PyAny>,
    tcp: Py<PyAny>,
    sink: Py<PyAny>,
    recent: Py<PyAny>,
    parts: Py<PyList>,
    is_troubled: bool,
    next_seq: i64,
    peer_seq: i64,
    packets: i64,
    offset: i64,
    trim_at: i64,
    room: i64,
    last: Option<(i64, i64)>,  // reference and time of the last segment collected
    last_time_ns: Option<i64>, // of the last packet
}

impl Lane {
    /// The lane of a flow; None where its segments are to be fed one by one.
    fn open(py: Python<'_>, flows: &Bound<'_, PyDict>, key: &[u8]) -> PyResult<Option<Lane>> {
        let Some(flow) = flows.get_item(PyBytes::new(py, key))? else { return Ok(None) };
        let lane = flow.cast::<PyTuple>()?.get_item(3)?;
        if lane.is_none() {
            return Ok(None);
        }
        let lane = lane.cast::<PyTuple>()?;
        let (mine, peer) = (lane.get_item(0)?, lane.get_item(1)?);
        let (tcp, sink) = (lane.get_item(2)?, lane.get_item(3)?);
        let mut its_flow = [0; 12];
        its_flow.copy_from_slice(key);
        Ok(Some(Lane {
            flow: its_flow,
            is_troubled: tcp.getattr(intern!(py, "troubled"))?.is_truthy()?,
            next_seq: mine.getattr(intern!(py, "next_seq"))?.extract()?,
            peer_seq: peer.getattr(intern!(py, "next_seq"))?.extract()?,
            packets: mine.getattr(intern!(py, "packets"))?.extract()?,
            offset: mine.getattr(intern!(py, "offset"))?.extract()?,
            trim_at: mine.getattr(intern!(py, "trim_at"))?.extract()?,
            room: sink.getattr(intern!(py, "room"))?.extract()?,
            recent: mine.getattr(intern!(py, "recent"))?.unbind(),
            parts: sink.getattr(intern!(py, "parts"))?.cast_into::<PyList>()?.unbind(),
            last: None,
            last_time_ns: None,
            mine: mine.unbind(),
            tcp: tcp.unbind(),
            sink: sink.unbind(),
        }))
    }

    /// Write back what changed.
    fn store(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(time_ns) = self.last_time_ns.take() else { return Ok(()) };
        let mine = self.mine.bind(py);
        mine.setattr(intern!(py, "packets"), self.packets)?;
        mine.setattr(intern!(py, "offset"), self.offset)?;
        mine.setattr(intern!(py, "next_seq"), self.next_seq)?;
        self.tcp.bind(py).setattr(intern!(py, "last_time_ns"), time_ns)?;
        if let Some((last_ref, time_ns)) = self.last.take() {
            let sink = self.sink.bind(py);
            sink.setattr(intern!(py, "room"), self.room)?;
            sink.setattr(intern!(py, "last_ref"), last_ref)?;
            sink.setattr(intern!(py, "last_time_ns"), time_ns)?;
        }
        Ok(())
    }

    fn is_next(&self, seq: u32, ack: u32) -> bool {
        let ack = i64::from(ack);
        i64::from(seq) == self.next_seq
            && !self.is_troubled
            && (self.peer_seq < 0 || (self.peer_seq - ack) & MASK < HALF)
    }

    /// Take a payload; gives whether the sink was called, after which this lane is to be opened anew.
    fn take(
        &mut self,
        py: Python<'_>,
        payload: &[u8],
        ip_id: u16,
        reference: i64,
        time_ns: i64,
    ) -> PyResult<bool> {
        let size = payload.len() as i64;
        let payload = PyBytes::new(py, payload);
        let start = self.offset;
        self.offset += size;
        self.next_seq = (self.next_seq + size) & MASK;
        let delivered = (start, &payload, ip_id, time_ns).into_pyobject(py)?;
        self.recent.bind(py).call_method1(intern!(py, "append"), (delivered,))?;
        if self.offset > self.trim_at {
            self.store(py)?;
            let mine = self.mine.bind(py);
            mine.call_method0(intern!(py, "trim"))?;
            self.trim_at = mine.getattr(intern!(py, "trim_at"))?.extract()?;
            self.last_time_ns = Some(time_ns);
        }
        if self.room - size > 0 {
            self.room -= size;
            self.parts.bind(py).append(payload)?;
            self.last = Some((reference, time_ns));
            return Ok(false);
        }
        self.store(py)?;
        let sink = self.sink.bind(py);
        sink.call_method1(intern!(py, "data"), (payload, reference, time_ns))?;
        Ok(true)
    }
}

/// Gives what `take_in_order` gives: the index of each packet that is unusual, `~index` of one with which
/// `events` grew.
#[pyclass(module = "kdissect._native")]
pub struct InOrder {
    data: Py<PyBytes>,
    first_ref: i64,
    places: Py<Places>,
    at: usize,
    stop: usize,
    flows: Py<PyDict>,
    due: Py<PyAny>,
    events: Py<PyList>,
}

#[pymethods]
impl InOrder {
    /// Packets of a block from index `at` up to `stop`; the rest as for `take_in_order`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        data: Py<PyBytes>,
        first_ref: i64,
        places: Py<Places>,
        at: usize,
        stop: usize,
        flows: Py<PyDict>,
        due: Py<PyAny>,
        events: Py<PyList>,
    ) -> Self {
        let stop = stop.min(places.get().items.len());
        InOrder { data, first_ref, places, at, stop, flows, due, events }
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<i64>> {
        let due = self.due.bind(py).getattr(intern!(py, "time_ns"))?;
        let until_ns: i64 = due.extract().unwrap_or(i64::MAX); // the round number behind the last time there is
        let (places, data) = (self.places.get(), self.data.bind(py).as_bytes());
        let (flows, events) = (self.flows.bind(py).clone(), self.events.bind(py).clone());
        let mut open: Option<Lane> = None;
        let mut at = self.at;
        while at < self.stop {
            let index = at as i64;
            let place = places.items[at];
            at += 1;
            self.at = at;
            let found =
                plain(data, place.start, place.end, places.link_type).filter(|_| place.time_ns <= until_ns);
            let Some(segment) = found else { return given(py, open, index) };
            if open.as_ref().is_none_or(|lane| lane.flow != *segment.flow) {
                if let Some(mut lane) = open.take() {
                    lane.store(py)?;
                }
                open = Lane::open(py, &flows, segment.flow)?;
            }
            let Some(lane) = open.as_mut().filter(|lane| lane.is_next(segment.seq, segment.ack)) else {
                return given(py, open, index);
            };
            lane.packets += 1;
            lane.last_time_ns = Some(place.time_ns);
            if segment.begin == segment.end {
                continue;
            }
            let payload = &data[segment.begin..segment.end];
            let reference = self.first_ref + index;
            if lane.take(py, payload, segment.ip_id, reference, place.time_ns)? {
                open = None;
                if !events.is_empty() {
                    return Ok(Some(!index));
                }
            }
        }
        if let Some(mut lane) = open {
            lane.store(py)?;
        }
        Ok(None)
    }
}

/// The index of an unusual packet, once Python knows all that came before it.
fn given(py: Python<'_>, open: Option<Lane>, index: i64) -> PyResult<Option<i64>> {
    if let Some(mut lane) = open {
        lane.store(py)?;
    }
    Ok(Some(index))
}
