//! The hot path of kdissect from file to stream, compiled: what `kdissect.model.native` looks for.
//!
//! It does what the modules it names do in Python, for the plain case and nothing else; tests hold both equal.
//! Every access to bytes of a capture is checked: bad input can end in an exception, never in foreign memory.

#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod bodies;
mod capture;
mod codecs;
mod decimal;
mod engine;
mod exchange;
mod flow;
mod headers;
mod json_out;
mod lines;
mod places;
mod records;
mod tables;
mod template;
mod wire;

/// What Python and this library expect of each other; another number is not used.
const INTERFACE: u32 = 7;

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
    module.add("TALK", (engine::talk::NO_RESPONSE_HOLD, engine::talk::ANSWERED_KEPT, engine::talk::KINDS))?;
    module.add_class::<engine::counts::Counts>()?;
    module.add_class::<engine::shared::Engine>()?;
    module.add_class::<engine::held::Held>()?;
    module.add_class::<engine::flows::HeldFlows>()?;
    module.add_class::<engine::flows::PassedBy>()?;
    module.add_class::<engine::in_order::InOrder>()
}

fn add_bodies(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<bodies::plan::Layout>()?;
    module.add_class::<bodies::projection::Projection>()?;
    module.add_class::<bodies::summaries::Summaries>()?;
    module.add_class::<bodies::validate::Validators>()?;
    module.add_class::<bodies::canonical_body::PlainBody>()?;
    module.add_class::<bodies::body_text::BodyText>()?;
    module.add_class::<bodies::tree_text::TreeText>()?;
    module.add_class::<records::batch_text::BatchText>()?;
    module.add_class::<records::held::HeldRecords>()?;
    module.add_class::<tables::exchange_tables::ExchangeTables>()?;
    module.add_function(wrap_pyfunction!(records::record_objects::record_objects, module)?)?;
    module.add_function(wrap_pyfunction!(records::canonical_records::latest_delta, module)?)
}

fn add_lines(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<lines::LineFiller>()?;
    module.add_class::<template::LineTemplate>()
}
