//! Counts over all connections of an analysis, wherever they are: `kdissect.net.store.Counts`.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pyo3::prelude::*;

/// The interpreter's lock orders the threads. Atomics only satisfy the compiler.
#[derive(Default)]
#[pyclass(frozen, module = "kdissect._native")]
pub struct Counts {
    frame_bytes: AtomicI64,
    pending_bytes: AtomicI64,
    pending_requests: AtomicI64,
    connections: AtomicI64,
}

#[pymethods]
impl Counts {
    #[new]
    fn new() -> Self {
        Counts::default()
    }

    #[getter]
    pub fn frame_bytes(&self) -> i64 {
        self.frame_bytes.load(Relaxed)
    }

    #[setter]
    fn set_frame_bytes(&self, bytes: i64) {
        self.frame_bytes.store(bytes, Relaxed);
    }

    #[getter]
    pub fn pending_bytes(&self) -> i64 {
        self.pending_bytes.load(Relaxed)
    }

    #[setter]
    fn set_pending_bytes(&self, bytes: i64) {
        self.pending_bytes.store(bytes, Relaxed);
    }

    #[getter]
    pub fn pending_requests(&self) -> i64 {
        self.pending_requests.load(Relaxed)
    }

    #[setter]
    fn set_pending_requests(&self, requests: i64) {
        self.pending_requests.store(requests, Relaxed);
    }

    #[getter]
    pub fn connections(&self) -> i64 {
        self.connections.load(Relaxed)
    }

    #[setter]
    fn set_connections(&self, connections: i64) {
        self.connections.store(connections, Relaxed);
    }
}

impl Counts {
    /// Add bytes to the count for incomplete large frames.
    pub fn grow(&self, bytes: i64) {
        self.frame_bytes.store(self.frame_bytes() + bytes, Relaxed);
    }

    /// Add waiting requests, with their bytes.
    pub fn wait(&self, requests: i64, bytes: i64) {
        self.pending_requests.store(self.pending_requests() + requests, Relaxed);
        self.pending_bytes.store(self.pending_bytes() + bytes, Relaxed);
    }

    /// One more connection is open.
    pub fn open(&self) {
        self.set_connections(self.connections() + 1);
    }
}
