//! gzip (RFC 1952), of one small member that ends with the bytes: all others are Python's, which has a faster library
//! for large ones.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// From so many bytes on they are not small.
const LARGE: usize = 2048;

/// The content, where it is at most so many bytes; `begin()` gives the library's stream.
pub fn member<'py>(begin: &Bound<'py, PyAny>, data: &[u8], most: usize) -> Option<Bound<'py, PyBytes>> {
    let py = begin.py();
    if data.len() >= LARGE {
        return None;
    }
    let stream = begin.call0().ok()?;
    let asked = (PyBytes::new(py, data), most.saturating_add(1));
    let content =
        stream.call_method1(intern!(py, "decompress"), asked).ok()?.downcast_into::<PyBytes>().ok()?;
    let is_over: bool = stream.getattr(intern!(py, "eof")).ok()?.extract().ok()?;
    let left = stream.getattr(intern!(py, "unused_data")).ok()?.len().ok()?;
    (is_over && left == 0 && content.as_bytes().len() <= most).then_some(content)
}
