//! `kdissect.stats.watermarks.Watermarks`.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::recent_table::RecentTable;

/// Number of watermarks stored for a partition, as `watermarks._KEPT`.
const KEPT: usize = 4;

/// Capture set, topic name or id, partition, whether for readers of committed records alone: as Python has it.
#[derive(FromPyObject)]
struct PythonKey(String, Topic, i64, bool);

#[derive(FromPyObject)]
enum Topic {
    Id(PyBackedBytes),
    Name(PyBackedStr),
}

/// Whose partitions, and what stands for their offsets.
#[derive(Clone, Copy)]
pub struct Reader {
    pub capture_set: u32,
    pub is_committed: bool,
}

/// The last high watermarks of partitions, each with the time of the answer that reported it.
#[pyclass(module = "kdissect._native")]
pub struct Watermarks {
    sets: HashMap<String, u32>,
    partitions: RecentTable<Box<[u8]>, Vec<(i64, i64)>>,
    key: Vec<u8>,
}

#[pymethods]
impl Watermarks {
    /// Stores this number of partitions, the most recently used ones.
    #[new]
    fn new(most: usize) -> Self {
        Watermarks { sets: HashMap::new(), partitions: RecentTable::of(most), key: Vec::new() }
    }

    /// The high watermark that was known at a time.
    #[pyo3(name = "at")]
    fn at_key(&mut self, key: PythonKey, time_ns: i64) -> Option<i64> {
        let (reader, topic, partition) = self.parts(&key);
        self.at(reader, topic, partition, time_ns)
    }

    /// An answer reported the high watermark.
    #[pyo3(name = "learn")]
    fn learn_key(&mut self, key: PythonKey, time_ns: i64, offset: i64) {
        let (reader, topic, partition) = self.parts(&key);
        self.learn(reader, topic, partition, time_ns, offset);
    }
}

impl Watermarks {
    /// The number of a capture set.
    pub fn set_of(&mut self, name: &str) -> u32 {
        let next = self.sets.len() as u32;
        *self.sets.entry(name.to_owned()).or_insert(next)
    }

    fn parts<'k>(&mut self, key: &'k PythonKey) -> (Reader, (bool, &'k [u8]), i64) {
        let reader = Reader { capture_set: self.set_of(&key.0), is_committed: key.3 };
        let topic = match &key.1 {
            Topic::Id(id) => (true, &**id),
            Topic::Name(name) => (false, name.as_bytes()),
        };
        (reader, topic, key.2)
    }

    pub fn at(&mut self, reader: Reader, topic: (bool, &[u8]), partition: i64, time_ns: i64) -> Option<i64> {
        let known = self.used(reader, topic, partition)?;
        known.iter().rev().find(|(since_ns, _)| *since_ns <= time_ns).map(|(_, offset)| *offset)
    }

    /// A negative offset does not say.
    pub fn learn(&mut self, reader: Reader, topic: (bool, &[u8]), partition: i64, time_ns: i64, offset: i64) {
        let used = self.used(reader, topic, partition);
        if offset < 0 {
            return;
        }
        let Some(known) = used else {
            self.partitions.begin(self.key.as_slice().into(), Vec::from([(time_ns, offset)]));
            return;
        };
        if known.last().is_some_and(|(_, known)| *known == offset) {
            return;
        }
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((time_ns, offset));
    }

    /// The watermarks of a partition that is known, which was used now; `key` is its key, known or not.
    fn used(
        &mut self,
        reader: Reader,
        (is_id, topic): (bool, &[u8]),
        partition: i64,
    ) -> Option<&mut Vec<(i64, i64)>> {
        self.key.clear();
        self.key.extend_from_slice(&reader.capture_set.to_be_bytes());
        self.key.extend_from_slice(&partition.to_be_bytes());
        self.key.extend_from_slice(&[is_id.into(), reader.is_committed.into()]);
        self.key.extend_from_slice(topic);
        self.partitions.used(self.key.as_slice())
    }
}
