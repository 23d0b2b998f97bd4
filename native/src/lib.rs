//! The hot path of kdissect from file to stream, compiled: what `kdissect.native` looks for.
//!
//! It does what the modules it names do in Python, for the plain case and nothing else; tests hold both equal.
//! Every access to bytes of a capture is checked: bad input can end in an exception, never in foreign memory.

#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod capture;
mod decimal;
mod exchange;
mod headers;
mod in_order;
mod lines;
mod places;
mod summaries;
mod template;
mod walk;

/// What Python and this library expect of each other; another number is not used.
const INTERFACE: u32 = 1;

#[pymodule]
fn kdissect_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    module.add_class::<places::Places>()?;
    module.add_class::<in_order::InOrder>()?;
    module.add_class::<lines::LineFiller>()?;
    module.add_class::<summaries::Summaries>()?;
    module.add_class::<template::LineTemplate>()?;
    module.add_function(wrap_pyfunction!(capture::records, module)?)?;
    module.add_function(wrap_pyfunction!(capture::blocks, module)?)
}
