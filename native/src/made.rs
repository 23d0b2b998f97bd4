//! Frames and exchanges, made by calling their classes in Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyInt};

/// Names of Python that are needed once a frame.
pub struct Names {
    frame: Py<PyAny>,
    pub exchange: Py<PyAny>,
    pub complete: Py<PyAny>,
    pub no_response: Py<PyAny>,
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

/// Those of this process.
pub fn names(py: Python<'_>) -> PyResult<&Names> {
    NAMES.get_or_try_init(py, || {
        let exchange = py.import("kdissect.session.exchange")?;
        let state = exchange.getattr("State")?;
        Ok(Names {
            frame: py.import("kdissect.model.frame")?.getattr("Frame")?.unbind(),
            exchange: exchange.getattr("Exchange")?.unbind(),
            complete: state.getattr("COMPLETE")?.unbind(),
            no_response: state.getattr("NO_RESPONSE_EXPECTED")?.unbind(),
        })
    })
}

/// Where a frame lies in its capture: packets and times of its first and of its last byte.
#[derive(Clone, Copy)]
pub struct Span {
    pub first_ref: i64,
    pub last_ref: i64,
    pub first_time: i64,
    pub last_time: i64,
}

/// A `kdissect.model.frame.Frame`.
pub fn frame<'py>(data: &Bound<'py, PyBytes>, size: i64, span: Span) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let first_ref = PyInt::new(py, span.first_ref);
    let first_time = PyInt::new(py, span.first_time);
    let is_one = span.first_ref == span.last_ref; // packet: most frames, two numbers less to make
    let last_ref = if is_one { first_ref.clone() } else { PyInt::new(py, span.last_ref) };
    let last_time = if is_one { first_time.clone() } else { PyInt::new(py, span.last_time) };
    names(py)?.frame.bind(py).call1((data, size, first_ref, last_ref, first_time, last_time))
}
