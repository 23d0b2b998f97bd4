//! Topics and their partitions by number.

use std::hash::Hash;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::partition_rows::{Body, Topic};
use crate::bodies::summaries::Mixed;

/// A topic as a body names it, on a broker of some number.
pub type Named = (u32, Py<PyAny>);

/// The name or id of a topic, as Python has it: an id as bytes, and a name that is no text, too.
pub fn named_object(py: Python<'_>, is_id: bool, name: &[u8]) -> Py<PyAny> {
    match (is_id, std::str::from_utf8(name)) {
        (false, Ok(text)) => PyString::new(py, text).into_any().unbind(),
        _ => PyBytes::new(py, name).into_any().unbind(),
    }
}

/// Topics by their number.
#[derive(Default)]
pub struct Topics {
    known: Mixed<Box<[u8]>, u32>,
    found: Vec<(u32, Box<[u8]>, bool)>,
    key: Vec<u8>,
    given: usize,
}

impl Topics {
    /// The number of a topic that a broker names. None for a name that is no text, and is Python's.
    pub fn number(&mut self, broker: u32, topic: Topic<'_>) -> Option<u32> {
        let (is_id, name) = topic.key();
        self.key.clear();
        self.key.extend_from_slice(&broker.to_le_bytes());
        self.key.push(u8::from(is_id));
        self.key.extend_from_slice(name);
        if let Some(number) = self.known.get(self.key.as_slice()) {
            return Some(*number);
        }
        if !is_id {
            std::str::from_utf8(name).ok()?;
        }
        let number = u32::try_from(self.found.len()).ok()?;
        self.known.insert(self.key.as_slice().into(), number);
        self.found.push((broker, name.into(), is_id));
        Some(number)
    }

    /// The numbers of a body's topics; None if one is Python's.
    pub fn numbers(&mut self, broker: u32, body: &Body<'_>) -> Option<Vec<u32>> {
        body.topics.iter().map(|topic| self.number(broker, *topic)).collect()
    }

    /// Whether there are some that `take_new` did not give yet.
    pub fn has_new(&self) -> bool {
        self.given < self.found.len()
    }

    /// Those that came since the last call, by their numbers.
    pub fn take_new(&mut self, py: Python<'_>) -> Vec<Named> {
        let named =
            |(broker, name, is_id): &(u32, Box<[u8]>, bool)| (*broker, named_object(py, *is_id, name));
        let new = self.found.get(self.given..).unwrap_or_default();
        self.given = self.found.len();
        new.iter().map(named).collect()
    }

    /// Forget all.
    pub fn clear(&mut self) {
        self.known.clear();
        self.found.clear();
        self.given = 0;
    }
}

/// Something for each key, in the order in which the keys came.
pub struct ByKey<K, V> {
    places: Mixed<K, usize>,
    pub found: Vec<V>,
}

impl<K, V> Default for ByKey<K, V> {
    fn default() -> Self {
        ByKey { places: Mixed::default(), found: Vec::new() }
    }
}

impl<K: Copy + Eq + Hash, V> ByKey<K, V> {
    /// The position of a key's value, which is created if it is missing.
    pub fn place(&mut self, key: K, make: impl FnOnce() -> V) -> usize {
        let next = self.found.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.found.push(make());
        }
        place
    }

    /// Where that of a key stands, if there is one.
    pub fn known(&self, key: K) -> Option<usize> {
        self.places.get(&key).copied()
    }

    pub fn take(&mut self) -> Vec<V> {
        self.places.clear();
        std::mem::take(&mut self.found)
    }
}
