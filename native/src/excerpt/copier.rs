//! Packets of a block that are in order, copied where they lie: what `kdissect.excerpt.excerpt_reader.Recorder` writes of
//! them.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::engine::sets::Sets;
use crate::excerpt::copied::{Copied, CopiedFlows, Direction, UNKNOWN};
use crate::excerpt::cut::{self, Cut, UnderWay};
use crate::excerpt::packet_out::{self, headers_between, Content, Stamp};
use crate::excerpt::plan::Plan;
use crate::excerpt::plans::MergedPlans;
use crate::headers::{self, Packet, Whole};
use crate::places::Place;
use crate::runs::{PacketRuns, Placed};

const PSH: u8 = 8; // RFC 9293 section 3.1
const MASK: i64 = 0xFFFF_FFFF;
/// `LinkType.RAW`.
const RAW: u32 = 101;
/// `packet_headers.MAX_PAYLOAD`.
const MAX_PAYLOAD: usize = 0xFFFF - 60 - 60;
/// Bytes that are written at once.
const WRITTEN_AT_ONCE: usize = 1 << 18;

/// Output for all connections.
#[pyclass(module = "kdissect._native")]
pub struct Copier {
    plans: Py<MergedPlans>,
    write: Py<PyAny>,
    interface_of: Py<PyAny>,
    name_of: Py<PyAny>,
    interfaces: HashMap<u32, u32>,
    names: HashMap<i16, Vec<u8>>,
    out: Vec<u8>,
    comment: Vec<u8>,
}

#[pymethods]
impl Copier {
    /// `write` receives blocks of a pcapng file. `interface_of` returns the number of an interface
    /// for a link type, and writes a new interface. `name_of` returns the name of an API for
    /// comments.
    #[new]
    fn new(plans: Py<MergedPlans>, write: Py<PyAny>, interface_of: Py<PyAny>, name_of: Py<PyAny>) -> Self {
        let (interfaces, names) = (HashMap::new(), HashMap::new());
        let (out, comment) = (Vec::new(), Vec::new());
        Copier { plans, write, interface_of, name_of, interfaces, names, out, comment }
    }
}

impl Copier {
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        if !self.out.is_empty() {
            self.write.bind(py).call1((PyBytes::new(py, &self.out),))?;
            self.out.clear();
        }
        Ok(())
    }

    fn interface(&mut self, py: Python<'_>, link_type: u32) -> PyResult<u32> {
        if let Some(&number) = self.interfaces.get(&link_type) {
            return Ok(number);
        }
        self.flush(py)?;
        let number = self.interface_of.bind(py).call1((link_type,))?.extract()?;
        self.interfaces.insert(link_type, number);
        Ok(number)
    }

    fn name(&mut self, py: Python<'_>, api_key: i16) -> PyResult<&[u8]> {
        if !self.names.contains_key(&api_key) {
            let name: Vec<u8> = self.name_of.bind(py).call1((api_key,))?.extract()?;
            self.names.insert(api_key, name);
        }
        Ok(self.names.get(&api_key).map_or(&[], Vec::as_slice))
    }

    fn comment_of(&mut self, py: Python<'_>, id: &[u8], plan: &[u8]) -> PyResult<()> {
        let mut comment = std::mem::take(&mut self.comment);
        comment.clear();
        if let Some(plan) = Plan::unpack(plan) {
            comment.extend_from_slice(id);
            let name = plan.named_api().map_or(Ok(&[][..]), |api_key| self.name(py, api_key))?;
            plan.label(name, &mut comment);
        }
        self.comment = comment;
        Ok(())
    }
}

/// A segment, and the packet it came in.
struct Given<'a> {
    data: &'a [u8],
    packet: Packet<'a>,
    plain: Whole,
    payload: &'a [u8],
    place: &'a Place,
    reference: i64,
}

/// Takes the packets of a block.
#[pyclass(module = "kdissect._native")]
pub struct CopyInOrder {
    packets: Py<PacketRuns>,
    at: usize,
    sets: Sets<Py<CopiedFlows>>,
    copier: Py<Copier>,
    unusual: Py<PyAny>,
}

#[pymethods]
impl CopyInOrder {
    /// `unusual` is called with the index of each packet that is for Python, and returns the time
    /// up to which the engine may take packets of its capture set. `lend` returns, for a file
    /// (`engine/sets.rs`), the connections of its set.
    #[new]
    fn new(packets: Py<PacketRuns>, copier: Py<Copier>, unusual: Py<PyAny>, lend: Py<PyAny>) -> Self {
        CopyInOrder { packets, at: 0, sets: Sets::new(lend), copier, unusual }
    }

    /// Index of the last packet taken.
    #[getter]
    fn index(&self) -> usize {
        self.at.saturating_sub(1)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Take all packets: no events come of them. Raises what `unusual` does, and what writes.
    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        while self.take(py)? {
            let until_ns = self.unusual.bind(py).call1((self.index(),))?;
            if let Some(placed) = self.packets.get().get(self.index()) {
                self.sets.go_on_to(placed.file(), &until_ns);
            }
        }
        Ok(None)
    }
}

impl CopyInOrder {
    /// Continue up to a packet that is for Python; false after the last one.
    fn take(&mut self, py: Python<'_>) -> PyResult<bool> {
        let mut copier = self.copier.bind(py).try_borrow_mut()?;
        while let Some(placed) = self.packets.get().get(self.at) {
            self.at += 1;
            let number = self.sets.number_of(py, placed.file())?;
            let of = number.and_then(|number| self.sets.get(number));
            let is_taken = match of.filter(|of| placed.place.time_ns <= of.until_ns) {
                Some(of) => copy(py, &placed, &mut *of.lent.bind(py).try_borrow_mut()?, &mut copier)?,
                None => false,
            };
            if !is_taken {
                copier.flush(py)?;
                return Ok(true);
            }
            if copier.out.len() >= WRITTEN_AT_ONCE {
                copier.flush(py)?;
            }
        }
        copier.flush(py)?;
        Ok(false)
    }
}

/// Take a packet; false, without any change, if it is for Python.
fn copy(py: Python<'_>, placed: &Placed<'_>, flows: &mut CopiedFlows, copier: &mut Copier) -> PyResult<bool> {
    let (data, place, reference) = (placed.data.as_bytes(py), placed.place, placed.reference);
    let found = Packet::read(data, place.start, place.end, place.link_type);
    let Some(packet) = found.filter(|_| place.time_ns >= 0) else { return Ok(false) };
    let Some((copied, direction)) = flows.find(&packet.flow) else { return Ok(false) };
    let Some(plain) = packet.whole().filter(|whole| whole.is_plain()) else { return Ok(false) };
    let Some(payload) = data.get(plain.begin..plain.end) else { return Ok(false) };
    copied.take(py, direction, &Given { data, packet, plain, payload, place, reference }, copier)
}

impl Copied {
    fn take(
        &mut self,
        py: Python<'_>,
        direction: usize,
        given: &Given<'_>,
        copier: &mut Copier,
    ) -> PyResult<bool> {
        let [first, second] = &mut self.directions;
        let (mine, peer) = if direction == 0 { (first, second) } else { (second, first) };
        if !mine.is_next(peer, given.plain.seq, given.plain.ack) {
            return Ok(false);
        }
        if let Some(kept) = &mut self.kept {
            let is_first = mine.written == UNKNOWN;
            if !given.payload.is_empty() {
                let Some(has_written) = frames(py, mine, peer, &kept.id, given, copier)? else {
                    return Ok(false);
                };
                kept.has_begun |= has_written;
            } else if is_first {
                mine.written = i64::from(given.plain.seq);
            } else if kept.has_begun && !kept.is_acknowledged && peer.written != UNKNOWN {
                kept.is_acknowledged = true; // the third packet of the handshake
                write(py, mine, peer, given, headers::ACK, &[], false, copier)?;
            }
        }
        mine.go_on(given.payload.len());
        self.last_time_ns = given.place.time_ns;
        self.taken += 1;
        Ok(true)
    }
}

/// Write the bytes that belong to stored frames, and return whether there were some; None, without
/// any change, if Python must do so.
fn frames(
    py: Python<'_>,
    mine: &mut Direction,
    peer: &Direction,
    id: &[u8],
    given: &Given<'_>,
    copier: &mut Copier,
) -> PyResult<Option<bool>> {
    let plans = copier.plans.clone_ref(py);
    let is_within = mine.under_way.as_ref().is_some_and(|frame| frame.goes_beyond(given.payload));
    let found =
        if is_within { Vec::new() } else { plans.bind(py).borrow_mut().found(py, given.reference)? };
    let Some(cut) = cut::cut(given.payload, mine.under_way.as_deref(), &found) else {
        plans.bind(py).borrow_mut().put_back(given.reference, found);
        return Ok(None);
    };
    if mine.written == UNKNOWN {
        mine.written = i64::from(given.plain.seq);
    }
    for piece in &cut.pieces {
        let begun = piece.begins.and_then(|number| found.get(number));
        if let Some(plan) = begun {
            copier.comment_of(py, id, plan)?;
        }
        let payload = given.payload.get(piece.start..piece.end).unwrap_or_default();
        let mut is_first = begun.is_some();
        for part in payload.chunks(MAX_PAYLOAD) {
            write(py, mine, peer, given, headers::ACK | PSH, part, is_first, copier)?;
            is_first = false;
        }
    }
    let has_written = !cut.pieces.is_empty();
    go_on(mine, cut, found);
    Ok(Some(has_written))
}

/// Make the frame that continues the current one.
fn go_on(mine: &mut Direction, cut: Cut, mut plans: Vec<Vec<u8>>) {
    match cut.goes_on {
        None => mine.under_way = None,
        Some((None, at)) => {
            if let Some(frame) = &mut mine.under_way {
                frame.at = at;
            }
        }
        Some((Some(number), at)) => {
            mine.under_way = UnderWay::of(plans.swap_remove(number), at).map(Box::new);
        }
    }
}

/// Write a packet; `is_commented`: with the prepared comment.
#[allow(clippy::too_many_arguments)]
fn write(
    py: Python<'_>,
    mine: &mut Direction,
    peer: &Direction,
    given: &Given<'_>,
    flags: u8,
    payload: &[u8],
    is_commented: bool,
    copier: &mut Copier,
) -> PyResult<()> {
    let (packet, place) = (&given.packet, given.place);
    let between = packet.is_inner.then(|| headers_between(&packet.flow));
    let (link_type, header, tcp) = match &between {
        Some(between) => (RAW, between.as_slice(), between.len() - headers::TCP),
        None => {
            let Some(header) = given.data.get(place.start..given.plain.begin) else { return Ok(()) };
            (place.link_type, header, packet.tcp_at() - place.start)
        }
    };
    let stamp = Stamp { interface: copier.interface(py, link_type)?, time_ns: place.time_ns.unsigned_abs() };
    let content = Content {
        seq: (mine.written & MASK) as u32,
        ack: (peer.written.max(0) & MASK) as u32,
        flags,
        payload,
        comment: if is_commented { &copier.comment } else { &[] },
    };
    packet_out::put(&mut copier.out, &packet.flow, tcp, header, &stamp, &content);
    mine.written += payload.len() as i64;
    Ok(())
}
