//! What takes the segments of a flow: `kdissect.net.tcp.Lane`, by flow.

use std::sync::atomic::Ordering::Relaxed;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::flow::{ByFlow, Flow};
use crate::headers::Plain;
use crate::sinks::Sink;
use crate::stream::StreamState;
use crate::tcp::TcpState;

/// Sender and receiver of a direction, their connection, and the sink of the direction.
pub struct Lane {
    mine: Py<StreamState>,
    peer: Py<StreamState>,
    tcp: Py<TcpState>,
    pub sink: Sink,
}

impl Lane {
    fn of(lane: &Bound<'_, PyTuple>) -> PyResult<Lane> {
        Ok(Lane {
            mine: lane.get_item(0)?.cast_into()?.unbind(),
            peer: lane.get_item(1)?.cast_into()?.unbind(),
            tcp: lane.get_item(2)?.cast_into()?.unbind(),
            sink: Sink::of(lane.get_item(3)?),
        })
    }

    pub fn is_next(&self, segment: &Plain) -> bool {
        !self.tcp.get().troubled.load(Relaxed)
            && self.mine.get().is_next(self.peer.get(), segment.seq, segment.ack)
    }

    pub fn count_packet(&self, time_ns: i64) {
        self.mine.get().count_packet();
        self.tcp.get().last_time_ns.store(time_ns, Relaxed);
    }

    pub fn deliver(&self, segment: &Plain, payload: &Bound<'_, PyBytes>, ip_id: i64, time_ns: i64) {
        self.mine.get().deliver(segment.seq, payload, ip_id, time_ns);
    }
}

/// The lanes of a capture set's open flows (`kdissect.net.flow_table.FlowTable`). They lead to connections, and
/// nothing of a connection leads here: the garbage collector need not know them.
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct Lanes {
    pub by_flow: ByFlow<Lane>,
}

#[pymethods]
impl Lanes {
    #[new]
    fn new() -> Self {
        Lanes::default()
    }

    fn __len__(&self) -> usize {
        self.by_flow.len()
    }

    /// Segments of the flow go by this lane from here on; without one each is unusual.
    #[pyo3(signature = (flow, lane))]
    fn set(slf: &Bound<'_, Self>, flow: &[u8], lane: Option<&Bound<'_, PyTuple>>) -> PyResult<()> {
        let Some(lane) = lane else { return Lanes::drop(slf, flow) };
        let lane = Lane::of(lane)?;
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let before = slf.try_borrow_mut()?.by_flow.insert(&flow, lane);
        drop(before); // may run anything, which is why the map is not held any more
        Ok(())
    }

    /// The flow has no lane any more.
    fn drop(slf: &Bound<'_, Self>, flow: &[u8]) -> PyResult<()> {
        let Some(flow) = Flow::of(flow) else { return Ok(()) };
        let lane = slf.try_borrow_mut()?.by_flow.remove(&flow);
        drop(lane);
        Ok(())
    }

    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let lanes = std::mem::take(&mut slf.try_borrow_mut()?.by_flow);
        drop(lanes);
        Ok(())
    }
}

/// Flows that are to be passed by (`kdissect.engine.shards`).
#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct PassedBy {
    pub by_flow: ByFlow<()>,
}

#[pymethods]
impl PassedBy {
    #[new]
    fn new() -> Self {
        PassedBy::default()
    }

    fn __len__(&self) -> usize {
        self.by_flow.len()
    }

    fn add(&mut self, flow: &[u8]) {
        if let Some(flow) = Flow::of(flow) {
            self.by_flow.insert(&flow, ());
        }
    }

    fn clear(&mut self) {
        self.by_flow = ByFlow::default();
    }
}
