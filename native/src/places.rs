//! Where packets lie in the bytes of a chunk: what `kdissect.model.packets.packet.PacketBlock` asks for.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// `kdissect.model.packets.packet`: a reference is the number of a file, and that of the packet in it.
pub const FILE_SHIFT: u32 = 40;
pub const NUMBER_MASK: i64 = (1 << (FILE_SHIFT - 1)) - 1;

/// One packet: its bytes from `start` up to `end`, its time in nanoseconds since 1970, its length on the wire,
/// its link type.
#[derive(Clone, Copy)]
pub struct Place {
    pub start: usize,
    pub end: usize,
    pub time_ns: i64,
    pub wire: u32,
    pub link_type: u32,
}

/// A place as Python has it: start, time_ns, link_type, end, wire_length.
type Row = (usize, i64, u32, usize, u32);

impl Place {
    fn row(&self) -> Row {
        (self.start, self.time_ns, self.link_type, self.end, self.wire)
    }
}

/// Packets one after another in one chunk.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Places {
    pub items: Vec<Place>,
}

#[pymethods]
impl Places {
    /// Places that Python found.
    #[new]
    fn new(rows: Vec<Row>) -> Self {
        let place =
            |(start, time_ns, link_type, end, wire): Row| Place { start, end, time_ns, wire, link_type };
        Places { items: rows.into_iter().map(place).collect() }
    }

    fn __len__(&self) -> usize {
        self.items.len()
    }

    /// The time of each packet.
    fn times(&self) -> Vec<i64> {
        self.items.iter().map(|place| place.time_ns).collect()
    }

    /// Earliest and latest time; None without packets.
    fn span(&self) -> Option<(i64, i64)> {
        let mut times = self.items.iter().map(|place| place.time_ns);
        let first = times.next()?;
        Some(times.fold((first, first), |(low, high), time| (low.min(time), high.max(time))))
    }

    /// `PacketBlock.steps_back`, with indexes instead of references.
    fn steps_back(&self, latest: Option<i64>, least_ns: i64) -> (Option<i64>, Vec<(usize, i64, u64)>) {
        let (mut latest, mut steps) = (latest, Vec::new());
        let least_ns = u64::try_from(least_ns).unwrap_or(0);
        for (at, place) in self.items.iter().enumerate() {
            let before = latest.filter(|&latest| latest > place.time_ns);
            let step = before.map_or(0, |latest| latest.abs_diff(place.time_ns));
            if step > least_ns {
                steps.push((at, place.time_ns, step));
            }
            if step > least_ns || latest.is_none_or(|latest| place.time_ns > latest) {
                latest = Some(place.time_ns);
            }
        }
        (latest, steps)
    }

    /// Captured bytes of all packets together.
    fn captured(&self) -> usize {
        self.items.iter().map(|place| place.end.saturating_sub(place.start)).sum()
    }

    /// One place as a row.
    fn place(&self, at: usize) -> PyResult<Row> {
        match self.items.get(at) {
            Some(place) => Ok(place.row()),
            None => Err(PyIndexError::new_err("no packet of this number")),
        }
    }

    /// All places as rows.
    fn places(&self) -> Vec<Row> {
        self.items.iter().map(Place::row).collect()
    }

    /// Those of the packets from `start` up to `stop`, which are within the places.
    fn cut(&self, start: usize, stop: usize) -> PyResult<Places> {
        match self.items.get(start..stop) {
            Some(items) => Ok(Places { items: items.to_vec() }),
            None => Err(PyIndexError::new_err("no packets of these numbers")),
        }
    }

    /// These packets, followed by later packets of the same chunk.
    fn joined(&self, others: &Places) -> Places {
        Places { items: [self.items.as_slice(), others.items.as_slice()].concat() }
    }
}
