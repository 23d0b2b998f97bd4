//! `kdissect.stats.watermarks.Watermarks`.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

/// Number of watermarks stored for a partition, as `watermarks._KEPT`.
const KEPT: usize = 4;
const NOWHERE: usize = usize::MAX;

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

/// A partition, and its neighbours by when they were used.
struct Partition {
    key: Box<[u8]>,
    known: Vec<(i64, i64)>,
    before: usize,
    behind: usize,
}

/// The last high watermarks of partitions, each with the time of the answer that reported it.
#[pyclass(module = "kdissect._native")]
pub struct Watermarks {
    most: usize,
    sets: HashMap<String, u32>,
    places: HashMap<Box<[u8]>, usize>,
    partitions: Vec<Partition>,
    oldest: usize,
    newest: usize,
    key: Vec<u8>,
}

#[pymethods]
impl Watermarks {
    /// Stores this number of partitions, the most recently used ones.
    #[new]
    fn new(most: usize) -> Self {
        Watermarks {
            most,
            sets: HashMap::new(),
            places: HashMap::new(),
            partitions: Vec::new(),
            oldest: NOWHERE,
            newest: NOWHERE,
            key: Vec::new(),
        }
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
        let place = self.used(reader, topic, partition)?;
        let known = &self.partitions.get(place)?.known;
        known.iter().rev().find(|(since_ns, _)| *since_ns <= time_ns).map(|(_, offset)| *offset)
    }

    /// A negative offset does not say.
    pub fn learn(&mut self, reader: Reader, topic: (bool, &[u8]), partition: i64, time_ns: i64, offset: i64) {
        let used = self.used(reader, topic, partition);
        if offset < 0 {
            return;
        }
        let place = match used {
            Some(place) => place,
            None => self.begun(),
        };
        let Some(of) = self.partitions.get_mut(place) else { return };
        if of.known.last().is_some_and(|(_, known)| *known == offset) {
            return;
        }
        if of.known.len() == KEPT {
            of.known.remove(0);
        }
        of.known.push((time_ns, offset));
    }

    /// A partition that is known, which was used now; `key` is its key, known or not.
    fn used(&mut self, reader: Reader, (is_id, topic): (bool, &[u8]), partition: i64) -> Option<usize> {
        self.key.clear();
        self.key.extend_from_slice(&reader.capture_set.to_be_bytes());
        self.key.extend_from_slice(&partition.to_be_bytes());
        self.key.extend_from_slice(&[is_id.into(), reader.is_committed.into()]);
        self.key.extend_from_slice(topic);
        let place = *self.places.get(self.key.as_slice())?;
        if place != self.newest {
            self.take_out(place);
            self.put_last(place);
        }
        Some(place)
    }

    /// The new partition of `key`. Of too many the one unused for longest is forgotten.
    fn begun(&mut self) -> usize {
        let partition = Partition {
            key: self.key.as_slice().into(),
            known: Vec::new(),
            before: NOWHERE,
            behind: NOWHERE,
        };
        let place = if self.partitions.len() < self.most {
            self.partitions.push(partition);
            self.partitions.len() - 1
        } else {
            let place = self.oldest;
            self.take_out(place);
            if let Some(of) = self.partitions.get_mut(place) {
                let forgotten = std::mem::replace(of, partition);
                self.places.remove(&forgotten.key);
            }
            place
        };
        self.places.insert(self.key.as_slice().into(), place);
        self.put_last(place);
        place
    }

    fn take_out(&mut self, place: usize) {
        let Some((before, behind)) = self.partitions.get(place).map(|of| (of.before, of.behind)) else {
            return;
        };
        match self.partitions.get_mut(before) {
            Some(of) => of.behind = behind,
            None => self.oldest = behind,
        }
        match self.partitions.get_mut(behind) {
            Some(of) => of.before = before,
            None => self.newest = before,
        }
    }

    fn put_last(&mut self, place: usize) {
        let newest = std::mem::replace(&mut self.newest, place);
        match self.partitions.get_mut(newest) {
            Some(of) => of.behind = place,
            None => self.oldest = place,
        }
        if let Some(of) = self.partitions.get_mut(place) {
            (of.before, of.behind) = (newest, NOWHERE);
        }
    }
}
