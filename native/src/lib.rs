//! The hot path of kdissect from file to stream, compiled: what `kdissect.model.native` looks for.
//!
//! It does what the modules it names do in Python, for the plain case and nothing else; tests hold both equal.
//! Every access to bytes of a capture is checked: bad input can end in an exception, never in foreign memory.

#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod batch_text;
mod body_text;
mod capture;
mod codecs;
mod decimal;
mod engine;
mod exchange;
mod flow;
mod glances;
mod headers;
mod json_out;
mod layout;
mod lines;
mod places;
mod plain_body;
mod record_text;
mod records;
mod summaries;
mod template;
mod usual_records;
mod walk;
mod wire;

/// What Python and this library expect of each other; another number is not used.
const INTERFACE: u32 = 6;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    add_capture(module)?;
    add_engine(module)?;
    add_bodies(module)?;
    add_lines(module)
}

fn add_capture(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<places::Places>()?;
    module.add_function(wrap_pyfunction!(capture::records, module)?)?;
    module.add_function(wrap_pyfunction!(capture::blocks, module)?)
}

fn add_engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RECENT", (engine::stream::BYTES, engine::stream::SEGMENTS))?;
    module.add_class::<engine::counts::Counts>()?;
    module.add_class::<engine::shared::Engine>()?;
    module.add_class::<engine::held::Held>()?;
    module.add_class::<engine::flows::Lanes>()?;
    module.add_class::<engine::flows::PassedBy>()?;
    module.add_class::<engine::in_order::InOrder>()
}

fn add_bodies(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<layout::Layout>()?;
    module.add_class::<summaries::Summaries>()?;
    module.add_class::<glances::Glances>()?;
    module.add_class::<plain_body::PlainBody>()?;
    module.add_class::<body_text::BodyText>()?;
    module.add_class::<batch_text::BatchText>()?;
    module.add_class::<records::held::HeldRecords>()?;
    module.add_function(wrap_pyfunction!(usual_records::latest_delta, module)?)
}

fn add_lines(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<lines::LineFiller>()?;
    module.add_class::<template::LineTemplate>()
}
