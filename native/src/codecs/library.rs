//! What decompresses, of a library that Python has: asked without frames of Python between.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Imported when it is first needed.
pub struct Library {
    load: Py<PyAny>,
    decompress: Option<Py<PyAny>>,
}

impl Library {
    /// `load()` gives a function that one thread at a time may call.
    pub fn new(load: Py<PyAny>) -> Self {
        Library { load, decompress: None }
    }

    /// What the library makes of arguments; None where it refuses them, and Python is to say why.
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
