//! What is read of a frame.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The bytes of a frame.
pub fn data<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(frame.getattr(intern!(frame.py(), "data"))?.downcast_into()?)
}

/// The packet with its first byte, and when that was.
pub fn first_ref_and_time(frame: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    let py = frame.py();
    let first_ref = frame.getattr(intern!(py, "first_ref"))?.extract()?;
    Ok((first_ref, frame.getattr(intern!(py, "time_ns"))?.extract()?))
}
