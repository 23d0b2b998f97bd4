//! The state of one direction that changes with every segment: `kdissect.net.stream_state.StreamState`.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::recent::{Delivered, Recent, Ring, BYTES};

/// Sequence numbers are 32 bits and wrap around, RFC 9293 section 3.4.
const MASK: i64 = 0xFFFF_FFFF;
const HALF: i64 = 1 << 31;

/// What the hot path of a direction reads and writes. The interpreter's lock is what orders the threads; atomics
/// only say so to the compiler.
#[pyclass(frozen, subclass, module = "kdissect._native")]
pub struct StreamState {
    pub next_seq: AtomicI64,
    pub offset: AtomicI64,
    pub packets: AtomicI64,
    trim_at: AtomicI64,
    start_seq: AtomicI64,
    syn_id: AtomicI64,
    syn_time_ns: AtomicI64,
    ring: Mutex<Ring>,
}

impl StreamState {
    /// What was delivered last. Nothing of Python runs while it is held.
    pub fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count_packet(&self) {
        self.packets.store(self.packets.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Whether a segment of this direction goes on where the stream is, and acknowledges nothing of `peer`
    /// that was not seen, or its peer has not started.
    pub fn is_next(&self, peer: &StreamState, seq: u32, ack: u32) -> bool {
        let acked = peer.next_seq.load(Relaxed);
        i64::from(seq) == self.next_seq.load(Relaxed)
            && (acked < 0 || acked.wrapping_sub(i64::from(ack)) & MASK < HALF)
    }

    /// Go on by a segment.
    pub fn deliver(&self, seq: u32, payload: &Bound<'_, PyBytes>, ip_id: i64, time_ns: i64) {
        let size = payload.as_bytes().len() as i64;
        let offset = self.offset.load(Relaxed);
        let stop = offset.wrapping_add(size);
        self.offset.store(stop, Relaxed);
        self.next_seq.store((i64::from(seq) + size) & MASK, Relaxed);
        let mut ring = self.ring();
        ring.push(Delivered { offset, payload: payload.clone().unbind(), ip_id, time_ns });
        if stop > self.trim_at.load(Relaxed) {
            ring.forget_before(payload.py(), stop.wrapping_sub(BYTES));
            self.trim_at.store(stop.wrapping_add(BYTES), Relaxed);
        }
    }
}

#[pymethods]
impl StreamState {
    #[new]
    #[pyo3(signature = (*_given, **_named))]
    fn new(_given: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        StreamState {
            next_seq: AtomicI64::new(-1),
            offset: AtomicI64::new(0),
            packets: AtomicI64::new(0),
            trim_at: AtomicI64::new(2 * BYTES),
            start_seq: AtomicI64::new(-1),
            syn_id: AtomicI64::new(0),
            syn_time_ns: AtomicI64::new(i64::MIN),
            ring: Mutex::default(),
        }
    }

    #[getter]
    fn next_seq(&self) -> i64 {
        self.next_seq.load(Relaxed)
    }

    #[setter]
    fn set_next_seq(&self, next_seq: i64) {
        self.next_seq.store(next_seq, Relaxed);
    }

    #[getter]
    fn offset(&self) -> i64 {
        self.offset.load(Relaxed)
    }

    #[setter]
    fn set_offset(&self, offset: i64) {
        self.offset.store(offset, Relaxed);
    }

    #[getter]
    fn packets(&self) -> i64 {
        self.packets.load(Relaxed)
    }

    #[setter]
    fn set_packets(&self, packets: i64) {
        self.packets.store(packets, Relaxed);
    }

    #[getter]
    fn trim_at(&self) -> i64 {
        self.trim_at.load(Relaxed)
    }

    #[setter]
    fn set_trim_at(&self, trim_at: i64) {
        self.trim_at.store(trim_at, Relaxed);
    }

    #[getter]
    fn start_seq(&self) -> i64 {
        self.start_seq.load(Relaxed)
    }

    #[setter]
    fn set_start_seq(&self, start_seq: i64) {
        self.start_seq.store(start_seq, Relaxed);
    }

    #[getter]
    fn syn_id(&self) -> i64 {
        self.syn_id.load(Relaxed)
    }

    #[setter]
    fn set_syn_id(&self, syn_id: i64) {
        self.syn_id.store(syn_id, Relaxed);
    }

    #[getter]
    fn syn_time_ns(&self) -> i64 {
        self.syn_time_ns.load(Relaxed)
    }

    #[setter]
    fn set_syn_time_ns(&self, syn_time_ns: i64) {
        self.syn_time_ns.store(syn_time_ns, Relaxed);
    }

    #[getter]
    fn recent(slf: &Bound<'_, Self>) -> Recent {
        Recent::of(slf.clone().unbind())
    }

    /// Take over what a deque holds.
    #[setter]
    fn set_recent(&self, kept: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut ring =
            Ring { keeps: kept.getattr(intern!(kept.py(), "maxlen"))?.is_truthy()?, ..Ring::default() };
        for row in kept.try_iter()? {
            ring.push(Delivered::of(row?.extract()?));
        }
        *self.ring() = ring;
        Ok(())
    }

    /// Keep what is delivered from here on, for comparing; due before the first byte.
    fn remember(&self) {
        self.ring().keeps = true;
    }

    /// Forget old payloads; due when `offset` passes `trim_at`.
    fn trim(&self, py: Python<'_>) {
        let offset = self.offset.load(Relaxed);
        self.ring().forget_before(py, offset.wrapping_sub(BYTES));
        self.trim_at.store(offset.wrapping_add(BYTES), Relaxed);
    }
}
