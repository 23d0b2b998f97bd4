//! What decompresses, of a library that Python has: asked without frames of Python between.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Imported when it is first needed.
pub struct Library {
    load: Py<PyAny>,
    decompress: Option<Py<PyAny>>,
}

impl Library {
    /// `load()` gives a function of the compressed bytes that one thread at a time may call.
    pub fn new(load: Py<PyAny>) -> Self {
        Library { load, decompress: None }
    }

    /// What the library makes of bytes; None where it refuses them, and Python is to say why.
    pub fn decompress<'py>(&mut self, py: Python<'py>, data: &[u8]) -> Option<Bound<'py, PyBytes>> {
        let found = self.loaded(py)?.call1((PyBytes::new(py, data),));
        found.ok()?.downcast_into().ok()
    }

    /// The function itself.
    pub fn loaded<'a, 'py>(&'a mut self, py: Python<'py>) -> Option<&'a Bound<'py, PyAny>> {
        if self.decompress.is_none() {
            self.decompress = Some(self.load.call0(py).ok()?);
        }
        Some(self.decompress.as_ref()?.bind(py))
    }
}
