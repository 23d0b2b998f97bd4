//! SHA-256 of a file while it is read, as `kdissect.capture.byte_source` asks for it: what hashlib has, without the
//! library of TLS.

use pyo3::prelude::*;
use sha2::Digest;

#[pyclass(module = "kdissect._native")]
pub struct Sha256(sha2::Sha256);

#[pymethods]
impl Sha256 {
    /// Of nothing so far.
    #[new]
    fn new() -> Self {
        Sha256(sha2::Sha256::new())
    }

    /// The bytes that follow.
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// Of all bytes so far, in hex.
    fn hexdigest(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
