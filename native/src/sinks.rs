//! Where the bytes of a direction go: `kdissect.session.framing.FrameReader`, by the names that
//! `kdissect.model.stream.CollectingSink` gives.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// A sink that for a while does nothing but collect.
pub struct Sink(Py<PyAny>);

impl Sink {
    pub fn of(sink: Bound<'_, PyAny>) -> PyResult<Sink> {
        Ok(Sink(sink.unbind()))
    }

    /// Hand over a payload.
    pub fn give(&self, payload: Bound<'_, PyBytes>, reference: i64, time_ns: i64) -> PyResult<()> {
        let py = payload.py();
        let sink = self.0.bind(py);
        let room = sink.getattr(intern!(py, "room"))?.extract::<i64>()?;
        let room = room.saturating_sub(payload.as_bytes().len() as i64);
        if room <= 0 {
            sink.call_method1(intern!(py, "data"), (payload, reference, time_ns))?;
            return Ok(());
        }
        sink.setattr(intern!(py, "room"), room)?;
        sink.getattr(intern!(py, "parts"))?.cast::<PyList>()?.append(payload)?;
        sink.setattr(intern!(py, "last_ref"), reference)?;
        sink.setattr(intern!(py, "last_time_ns"), time_ns)
    }
}
