//! The hot path of kdissect from file to stream, compiled: what `kdissect.native` looks for.
//!
//! It does what the modules it names do in Python, for the plain case and nothing else; tests hold both equal.
//! Every access to bytes of a capture is checked: bad input can end in an exception, never in foreign memory.

#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod capture;
mod dialogue;
mod flow;
mod frame;
mod headers;
mod in_order;
mod kind;
mod lanes;
mod names;
mod pairing;
mod places;
mod reader;
mod recent;
mod sinks;
mod store;
mod stream;
mod tcp;

/// What Python and this library expect of each other; another number is not used.
const INTERFACE: u32 = 1;

#[pymodule]
fn kdissect_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("INTERFACE", INTERFACE)?;
    add_capture(module)?;
    add_net(module)?;
    add_session(module)
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
