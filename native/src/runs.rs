//! Packets of one file, or of several in one order, where they lie: what the packets of
//! `kdissect.model.packets.packet.PacketBlock` and `MergedBlock` are read from.

use std::collections::HashMap;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::excerpt::packet_out::{put_whole, Stamp};
use crate::headers::Packet;
use crate::places::{Place, Places, FILE_SHIFT};

/// A block of one file: its bytes, the reference of its first packet, where its packets lie.
type Block = (Py<PyBytes>, i64, Py<Places>);
/// The packets of a block in a range of numbers.
type Stretch = (Py<PyBytes>, i64, Py<Places>, usize, usize);
/// A packet as Python has it: reference, time, link type, bytes, length on the wire.
type Row<'py> = (i64, i64, u32, Bound<'py, PyBytes>, u32);
/// A segment as Python has it, and its time.
type Timed<'py> = (Bound<'py, PyTuple>, i64);
/// Blocks of a pcapng file: the blocks, how many packets these are, their bytes, their first and last time.
type Written<'py> = (Bound<'py, PyBytes>, usize, usize, i64, i64);

/// `kdissect.model.packets.commented`: a link type above has comments with its packet.
const LINK_TYPES: u32 = 0xFFFF;

/// Consecutive packets of one block.
struct Run {
    block: usize,
    /// The place in its block of the first one.
    start: usize,
    /// How many packets are before them.
    before: usize,
}

/// A packet where it lies.
pub struct Placed<'a> {
    pub data: &'a Py<PyBytes>,
    pub place: &'a Place,
    pub reference: i64,
}

impl Placed<'_> {
    pub fn file(&self) -> i64 {
        self.reference >> FILE_SHIFT
    }
}

/// Packets in their order.
#[pyclass(frozen, module = "kdissect._native")]
pub struct PacketRuns {
    blocks: Vec<Block>,
    runs: Vec<Run>,
    packets: usize,
}

#[pymethods]
impl PacketRuns {
    /// All packets of a block, numbered on from `first_ref`.
    #[new]
    fn new(data: Py<PyBytes>, first_ref: i64, places: Py<Places>) -> Self {
        let packets = places.get().items.len();
        let runs = vec![Run { block: 0, start: 0, before: 0 }];
        PacketRuns { blocks: vec![(data, first_ref, places)], runs, packets }
    }

    fn __len__(&self) -> usize {
        self.packets
    }

    /// A packet. Raises IndexError.
    fn packet<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Row<'py>> {
        let Placed { data, place, reference } = self.placed(at)?;
        let content = data.as_bytes(py).get(place.start..place.end).unwrap_or_default();
        Ok((reference, place.time_ns, place.link_type, PyBytes::new(py, content), place.wire))
    }

    /// The reference of a packet. Raises IndexError.
    fn reference(&self, at: usize) -> PyResult<i64> {
        Ok(self.placed(at)?.reference)
    }

    /// The segment of a packet (`kdissect.net.parser`), and its time; None if it is not plain.
    fn segment<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Option<Timed<'py>>> {
        let Some(Placed { data, place, .. }) = self.get(at) else { return Ok(None) };
        let data = data.as_bytes(py);
        let Some(packet) = Packet::read(data, place.start, place.end, place.link_type) else {
            return Ok(None);
        };
        Ok(packet.segment(py, data)?.map(|segment| (segment, place.time_ns)))
    }

    /// The packets of some times, first and last time of each span, as blocks of a pcapng file; how
    /// many these are, their bytes, their first and last time. `interface_of` returns the number of
    /// an interface for a link type. None if one of them is not for an interface that counts
    /// nanoseconds from 1970 on, or has comments.
    fn blocks<'py>(
        &self,
        py: Python<'py>,
        spans: Vec<(i64, i64)>,
        interface_of: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Written<'py>>> {
        let is_wanted =
            |place: &Place| spans.iter().any(|&(first, last)| (first..=last).contains(&place.time_ns));
        let wanted =
            || (0..self.packets).filter_map(|at| self.get(at)).filter(|placed| is_wanted(placed.place));
        if wanted().any(|placed| placed.place.time_ns < 0 || placed.place.link_type > LINK_TYPES) {
            return Ok(None);
        }
        let (mut out, mut packets, mut size) = (Vec::new(), 0, 0);
        let mut interfaces: HashMap<u32, u32> = HashMap::new();
        let (mut first_ns, mut last_ns) = (0, 0);
        for Placed { data, place, .. } in wanted() {
            let interface = match interfaces.get(&place.link_type) {
                Some(&number) => number,
                None => {
                    let number = interface_of.call1((place.link_type,))?.extract()?;
                    *interfaces.entry(place.link_type).or_insert(number)
                }
            };
            let content = data.as_bytes(py).get(place.start..place.end).unwrap_or_default();
            put_whole(
                &mut out,
                &Stamp { interface, time_ns: place.time_ns.unsigned_abs() },
                content,
                place.wire,
            );
            first_ns = if packets == 0 { place.time_ns } else { place.time_ns.min(first_ns) };
            last_ns = place.time_ns.max(last_ns);
            packets += 1;
            size += content.len();
        }
        Ok(Some((PyBytes::new(py, &out), packets, size, first_ns, last_ns)))
    }
}

impl PacketRuns {
    pub fn get(&self, at: usize) -> Option<Placed<'_>> {
        if at >= self.packets {
            return None;
        }
        let behind = self.runs.partition_point(|run| run.before <= at);
        let run = self.runs.get(behind.checked_sub(1)?)?;
        let (data, first_ref, places) = self.blocks.get(run.block)?;
        let number = run.start + (at - run.before);
        let place = places.get().items.get(number)?;
        Some(Placed { data, place, reference: first_ref + number as i64 })
    }

    fn placed(&self, at: usize) -> PyResult<Placed<'_>> {
        self.get(at).ok_or_else(|| PyIndexError::new_err("no packet of this number"))
    }
}

/// The packets of blocks' stretches, each from one file, in one order (`kdissect.capture.merge`):
/// by the latest time in their block so far, then in the order of the stretches.
#[pyfunction]
pub fn interleaved(stretches: Vec<Stretch>) -> PacketRuns {
    let mut found: Vec<(i64, usize, usize)> = Vec::new();
    let mut blocks = Vec::with_capacity(stretches.len());
    for (block, (data, first_ref, places, start, stop)) in stretches.into_iter().enumerate() {
        let mut latest_ns = i64::MIN;
        for (number, place) in places.get().items.iter().enumerate().take(stop) {
            latest_ns = latest_ns.max(place.time_ns);
            if number >= start {
                found.push((latest_ns, block, number));
            }
        }
        blocks.push((data, first_ref, places));
    }
    found.sort_by_key(|&(latest_ns, _, _)| latest_ns); // stable: stretches stay in their order
    let mut runs: Vec<Run> = Vec::new();
    for (before, &(_, block, start)) in found.iter().enumerate() {
        let goes_on = |run: &Run| run.block == block && run.start + (before - run.before) == start;
        if !runs.last().is_some_and(goes_on) {
            runs.push(Run { block, start, before });
        }
    }
    PacketRuns { blocks, runs, packets: found.len() }
}
