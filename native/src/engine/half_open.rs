//! A flow of which nothing but one SYN was seen: `kdissect.engine.half_open`, and how `Analyzer` takes one.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::engine::counts::Counts;
use crate::headers::{Packet, Syn};

/// What `struct` makes of `>qQqQIIBHi`: `kdissect.engine.half_open`.
const BYTES: usize = 47;

/// The flows of a capture set, how many connections may be open, where they are counted, and `NatSides.see` of the set.
#[derive(FromPyObject)]
pub struct Syns(Py<PyDict>, i64, Py<Counts>, Py<PyAny>);

impl Syns {
    /// Hold a SYN; false where that is for Python: its flow or the way back is known, or there are too many.
    /// `latest_ns` is the latest time of all packets so far, if its place in the order of all is asked for.
    pub fn hold(
        &self,
        py: Python<'_>,
        packet: &Packet<'_>,
        time_ns: i64,
        reference: i64,
        latest_ns: Option<i64>,
    ) -> PyResult<bool> {
        let Some(syn) = packet.syn() else { return Ok(false) };
        let flows = self.0.bind(py);
        let flow = PyBytes::new(py, packet.flow.key());
        let is_known = flows.contains(&flow)? || flows.contains(PyBytes::new(py, &packet.flow.reverse()))?;
        let counts = self.2.get();
        if is_known || latest_ns.is_some_and(i64::is_negative) || counts.connections() >= self.1 {
            return Ok(false);
        }
        let made = packed(&syn, packet.ip_id, time_ns, reference, latest_ns);
        if packet.is_syn() {
            self.3.call1(py, (&flow, syn.seq, syn.window, packet.ip_id as i32, time_ns))?;
        }
        counts.open();
        flows.set_item(flow, PyBytes::new(py, &made))?;
        Ok(true)
    }
}

fn packed(syn: &Syn, ip_id: i64, time_ns: i64, reference: i64, latest_ns: Option<i64>) -> [u8; BYTES] {
    let mut made = [0; BYTES];
    let place = latest_ns.map_or((0, 0), |latest_ns| (latest_ns, reference));
    let parts: [(usize, &[u8]); 9] = [
        (0, &time_ns.to_be_bytes()),
        (8, &reference.to_be_bytes()),
        (16, &place.0.to_be_bytes()),
        (24, &place.1.to_be_bytes()),
        (32, &syn.seq.to_be_bytes()),
        (36, &syn.ack.to_be_bytes()),
        (40, &[syn.flags]),
        (41, &syn.window.to_be_bytes()),
        (43, &(ip_id as i32).to_be_bytes()),
    ];
    for (at, bytes) in parts {
        if let Some(room) = made.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
        }
    }
    made
}
