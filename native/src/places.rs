//! Where packets lie in the bytes of a chunk: what `kdissect.model.packet.PacketBlock` asks for.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// One packet: its bytes from `start` up to `end`, its time in nanoseconds since 1970, its length on the wire.
#[derive(Clone, Copy)]
pub struct Place {
    pub start: usize,
    pub end: usize,
    pub time_ns: i64,
    pub wire: u32,
}

/// A place as Python has it: start, time_ns, link_type, end, wire_length.
type Row = (usize, i64, u32, usize, u32);

/// Packets of one link type that lie behind one another in one chunk.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Places {
    pub link_type: u32,
    pub items: Vec<Place>,
}

impl Places {
    fn row_of(&self, place: &Place) -> Row {
        (place.start, place.time_ns, self.link_type, place.end, place.wire)
    }
}

#[pymethods]
impl Places {
    fn __len__(&self) -> usize {
        self.items.len()
    }

    /// The time of each packet.
    fn times(&self) -> Vec<i64> {
        self.items.iter().map(|place| place.time_ns).collect()
    }

    /// Captured bytes of all packets together.
    fn captured(&self) -> usize {
        self.items.iter().map(|place| place.end - place.start).sum()
    }

    /// One place as a row.
    fn place(&self, at: usize) -> PyResult<Row> {
        match self.items.get(at) {
            Some(place) => Ok(self.row_of(place)),
            None => Err(PyIndexError::new_err("no packet of this number")),
        }
    }

    /// All places as rows.
    fn places(&self) -> Vec<Row> {
        self.items.iter().map(|place| self.row_of(place)).collect()
    }

    /// Those of the packets from `start` up to `stop`, which are within the places.
    fn cut(&self, start: usize, stop: usize) -> PyResult<Places> {
        match self.items.get(start..stop) {
            Some(items) => Ok(Places { link_type: self.link_type, items: items.to_vec() }),
            None => Err(PyIndexError::new_err("no packets of these numbers")),
        }
    }

    /// Numbers, ascending, of packets that are not as long as the one before, or not as far from it.
    fn turns(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let (mut length, mut gap) = (usize::MAX, usize::MAX);
        let mut before = 0;
        for (number, place) in self.items.iter().enumerate() {
            let (its_length, its_gap) = (place.end - place.start, place.start - before);
            if its_length != length || (its_gap != gap && number > 1) {
                found.push(number);
            }
            (length, gap, before) = (its_length, its_gap, place.end);
        }
        found
    }
}
