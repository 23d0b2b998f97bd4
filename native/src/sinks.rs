//! Where the bytes of a direction go: `kdissect.session.framing.FrameReader`, or another
//! `kdissect.model.packets.stream.StreamSink`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::reader::{self, ReaderState};

/// Who takes the bytes of a direction.
pub enum Sink {
    Reader(Py<ReaderState>),
    Other(Py<PyAny>),
}

impl Sink {
    pub fn of(sink: Bound<'_, PyAny>) -> Sink {
        match sink.cast_into::<ReaderState>() {
            Ok(reader) => Sink::Reader(reader.unbind()),
            Err(other) => Sink::Other(other.into_inner().unbind()),
        }
    }

    /// Hand over a payload: `StreamSink.data`.
    pub fn give(&self, payload: &Bound<'_, PyBytes>, reference: i64, time_ns: i64) -> PyResult<()> {
        let py = payload.py();
        match self {
            Sink::Reader(reader) => reader::data(reader.bind(py), payload, reference, time_ns),
            Sink::Other(sink) => {
                let arguments = (payload, reference, time_ns);
                sink.bind(py).call_method1(intern!(py, "data"), arguments).map(drop)
            }
        }
    }
}
