//! What both directions of a connection share: `kdissect.net.tcp_state.TcpState`.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::headers::{ACK, CONTROL};
use crate::sinks::Sink;
use crate::stream::StreamState;

/// A segment as Python has it (`kdissect.model.packets.segment.PlainSegment`) without its first, the flow.
type Segment<'py> = (u32, u32, u8, u32, Bound<'py, PyBytes>, i64, i64);

#[pyclass(frozen, subclass, module = "kdissect._native")]
pub struct TcpState {
    pub last_time_ns: AtomicI64,
    pub troubled: AtomicBool,
}

#[pymethods]
impl TcpState {
    #[new]
    #[pyo3(signature = (*_given, **_named))]
    fn new(_given: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        TcpState { last_time_ns: AtomicI64::new(0), troubled: AtomicBool::new(false) }
    }

    #[getter]
    fn last_time_ns(&self) -> i64 {
        self.last_time_ns.load(Relaxed)
    }

    #[setter]
    fn set_last_time_ns(&self, time_ns: i64) {
        self.last_time_ns.store(time_ns, Relaxed);
    }

    #[getter]
    fn troubled(&self) -> bool {
        self.troubled.load(Relaxed)
    }

    #[setter]
    fn set_troubled(&self, troubled: bool) {
        self.troubled.store(troubled, Relaxed);
    }

    /// Take the next captured segment of a direction.
    ///
    /// Never raises by itself; the sinks are called from here.
    fn feed(
        slf: &Bound<'_, Self>,
        direction: usize,
        segment: &Bound<'_, PyTuple>,
        reference: i64,
        time_ns: i64,
    ) -> PyResult<()> {
        let py = slf.py();
        let (mine, peer) = pair(slf, direction)?;
        let (state, stream) = (slf.get(), mine.get());
        stream.count_packet();
        state.last_time_ns.store(time_ns, Relaxed);
        let (seq, ack, flags, window, payload, missing, ip_id) = parts(segment)?;
        let in_order = flags & CONTROL == ACK
            && window != 0
            && !state.troubled.load(Relaxed)
            && stream.is_next(peer.get(), seq, ack);
        if !in_order || missing != 0 {
            let odd = (direction, segment, reference, time_ns, in_order);
            slf.call_method1(intern!(py, "_feed_odd"), odd)?;
        } else if !payload.as_bytes().is_empty() {
            stream.deliver(seq, &payload, ip_id, time_ns);
            Sink::of(mine.getattr(intern!(py, "sink"))?).give(&payload, reference, time_ns)?;
        }
        Ok(())
    }
}

/// The two streams of a connection, that of a direction first.
fn pair<'py>(
    tcp: &Bound<'py, TcpState>,
    direction: usize,
) -> PyResult<(Bound<'py, StreamState>, Bound<'py, StreamState>)> {
    let streams = tcp.getattr(intern!(tcp.py(), "_streams"))?.cast_into::<PyTuple>()?;
    Ok((streams.get_item(direction)?.cast_into()?, streams.get_item(1 - direction.min(1))?.cast_into()?))
}

fn parts<'py>(segment: &Bound<'py, PyTuple>) -> PyResult<Segment<'py>> {
    Ok((
        segment.get_borrowed_item(1)?.extract()?,
        segment.get_borrowed_item(2)?.extract()?,
        segment.get_borrowed_item(3)?.extract()?,
        segment.get_borrowed_item(4)?.extract()?,
        segment.get_item(5)?.cast_into()?,
        segment.get_borrowed_item(6)?.extract()?,
        segment.get_borrowed_item(7)?.extract()?,
    ))
}
