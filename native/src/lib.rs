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
mod dialogue;
mod exchange;
mod flow;
mod frame;
mod half_open;
mod headers;
mod in_order;
mod json_out;
mod kind;
mod lanes;
mod lines;
mod names;
mod pairing;
mod places;
mod reader;
mod recent;
mod records;
mod sinks;
mod store;
mod stream;
mod take;
mod tcp;
mod template;
mod wire;

/// What Python and this library expect of each other; another number is not used.
const INTERFACE: u32 = 6;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    add_capture(module)?;
    add_net(module)?;
    add_session(module)?;
    add_bodies(module)?;
    add_lines(module)
}

fn add_capture(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<places::Places>()?;
    module.add_function(wrap_pyfunction!(capture::records, module)?)?;
    module.add_function(wrap_pyfunction!(capture::blocks, module)?)
}

fn add_net(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RECENT", (recent::BYTES, recent::SEGMENTS))?;
    module.add_class::<stream::StreamState>()?;
    module.add_class::<tcp::TcpState>()?;
    module.add_class::<lanes::Lanes>()?;
    module.add_class::<lanes::PassedBy>()?;
    module.add_class::<in_order::InOrder>()
}

fn add_session(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<store::StoreState>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<reader::ReaderState>()?;
    module.add_class::<dialogue::DialogueState>()?;
    module.add_class::<pairing::PairingState>()
}

fn add_bodies(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<bodies::plan::Layout>()?;
    module.add_class::<bodies::summaries::Summaries>()?;
    module.add_class::<bodies::validate::Validators>()?;
    module.add_class::<bodies::canonical_body::PlainBody>()?;
    module.add_class::<bodies::body_text::BodyText>()?;
    module.add_class::<bodies::tree_text::TreeText>()?;
    module.add_class::<records::batch_text::BatchText>()?;
    module.add_class::<records::held::HeldRecords>()?;
    module.add_function(wrap_pyfunction!(records::record_objects::record_objects, module)?)?;
    module.add_function(wrap_pyfunction!(records::canonical_records::latest_delta, module)?)
}

fn add_lines(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<lines::LineFiller>()?;
    module.add_class::<template::LineTemplate>()
}
