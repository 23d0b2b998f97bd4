//! A decompressor from a Python library, called without Python frames in between.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Imported when it is first needed.
pub struct Library {
    load: Py<PyAny>,
    decompress: Option<Py<PyAny>>,
}

impl Library {
    /// `load()` returns a function that one thread at a time may call.
    pub fn new(load: Py<PyAny>) -> Self {
        Library { load, decompress: None }
    }

    /// The library's result for the arguments; None if it refuses them, and Python is to report
    /// why.
    pub fn decompress<'py>(
        &mut self,
        py: Python<'py>,
        arguments: impl PyCallArgs<'py>,
    ) -> Option<Bound<'py, PyBytes>> {
        if self.decompress.is_none() {
            self.decompress = Some(self.load.call0(py).ok()?);
        }
        let found = self.decompress.as_ref()?.bind(py).call1(arguments);
        found.ok()?.downcast_into().ok()
    }
}
