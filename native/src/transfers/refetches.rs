//! `kdissect.stats.by_group.refetches`: offsets that a client fetches again on a connection although records came,
//! and the last Fetch of each connection.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::topics::{named_object, ByKey};
use crate::bodies::partition_rows::{Body, Topic};

/// `kdissect.stats.by_group.refetches`: `STUCK_FROM`, `_KEPT`, `_SAMPLES_KEPT` and `_SAMPLE`.
const STUCK_FROM: u32 = 3;
const MOST_HELD: usize = 50_000;
const SAMPLES_HELD: usize = 16;
const SAMPLE: usize = 1 << 20;

/// Fetches of one offset in a row, each with records in its response. `offset` is None if no request named it.
#[derive(Clone, Copy, Default)]
struct Run {
    offset: Option<i64>,
    version: i16,
    again: u32,
    first_ns: i64,
    last_ns: i64,
    bytes: i64,
}

struct Partition {
    info: Py<PyAny>,
    client_id: Py<PyAny>,
    topic: (bool, Box<[u8]>),
    number: i64,
    asked: Option<i64>,
    answered_ns: i64,
    run: Run,
    longest: Run,
    sample: Option<Py<PyBytes>>,
}

/// The last Fetch of a connection. Its topic, partition and offset belong to the first one with
/// records.
struct Last {
    /// Kept, so that no other connection gets its address.
    _info: Py<PyAny>,
    client_id: Py<PyAny>,
    topic: (bool, Box<[u8]>),
    partition: i64,
    offset: Option<i64>,
    answered_ns: i64,
    size: i64,
    accepted: i64,
}

/// Client id, topic, partition, offset, then the time of the response, bytes of its records, and of
/// the largest accepted response.
type LastRow = (Py<PyAny>, Py<PyAny>, i64, Option<i64>, i64, i64, i64);

/// When the request was sent and the response came, in nanoseconds, and the version of both.
pub type Times = (i64, i64, i16);
/// A connection, and the client id of the request: a proxy carries several clients on one connection.
pub type Reader<'a, 'py> = (&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>);
/// A topic, a partition and what comes with it.
type Entry<'a, T> = (Topic<'a>, i64, T);
/// Connection, client id, topic, partition, offset, number of repeats, the first and the last
/// request, bytes, whether it ended so, and the first bytes of the records.
type StuckRow = (Py<PyAny>, Py<PyAny>, Py<PyAny>, i64, Option<i64>, u32, i64, i64, i64, bool, Py<PyBytes>);

/// A topic that Python names, whether by id, with a partition and what comes with it.
type Named<T> = ((bool, Vec<u8>), i64, T);

#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct Refetches {
    partitions: ByKey<Key, Partition>,
    samples: usize,
    last: HashMap<usize, Last>,
}

/// Connection, client id, topic and partition in one hash of 128 bits: there are too many to hold their names twice.
type Key = (u64, u64);

#[pymethods]
impl Refetches {
    #[new]
    fn new() -> Self {
        Refetches::default()
    }

    /// Take a Fetch: topic, partition and offset of the request, topic, partition and records of the response.
    fn see(
        &mut self,
        info: &Bound<'_, PyAny>,
        client_id: &Bound<'_, PyAny>,
        times: Times,
        asked: Vec<(Bound<'_, PyAny>, i64, i64)>,
        answered: Vec<(Bound<'_, PyAny>, i64, Bound<'_, PyBytes>)>,
    ) {
        let asked: Vec<_> =
            asked.iter().map(|(topic, number, offset)| (named(topic), *number, *offset)).collect();
        let answered: Vec<_> = answered
            .iter()
            .map(|(topic, number, records)| (named(topic), *number, records.as_bytes()))
            .collect();
        self.take_in((info, client_id), times, &borrowed(&asked), &borrowed(&answered));
    }

    /// Partitions that were fetched at one offset at least `STUCK_FROM` times again.
    fn stuck(&self, py: Python<'_>) -> Vec<StuckRow> {
        let long = self.partitions.found.iter().filter(|of| of.longest.again >= STUCK_FROM);
        long.map(|of| {
            let run = of.longest;
            let is_last = of.run.offset == run.offset && of.run.again >= run.again;
            let sample =
                of.sample.as_ref().map_or_else(|| PyBytes::new(py, b"").unbind(), |one| one.clone_ref(py));
            (
                of.info.clone_ref(py),
                of.client_id.clone_ref(py),
                named_object(py, of.topic.0, &of.topic.1),
                of.number,
                run.offset,
                run.again,
                run.first_ns,
                run.last_ns,
                run.bytes,
                is_last,
                sample,
            )
        })
        .collect()
    }

    /// A connection is over: return its last Fetch, and forget it.
    fn leave(&mut self, info: &Bound<'_, PyAny>) -> Option<LastRow> {
        let last = self.last.remove(&(info.as_ptr() as usize))?;
        let topic = named_object(info.py(), last.topic.0, &last.topic.1);
        Some((last.client_id, topic, last.partition, last.offset, last.answered_ns, last.size, last.accepted))
    }
}

fn named(topic: &Bound<'_, PyAny>) -> (bool, Vec<u8>) {
    match topic.downcast::<PyBytes>() {
        Ok(id) => (true, id.as_bytes().to_vec()),
        Err(_) => (false, topic.extract::<String>().unwrap_or_default().into_bytes()),
    }
}

fn borrowed<T: Copy>(rows: &[Named<T>]) -> Vec<Entry<'_, T>> {
    rows.iter().map(|((is_id, name), number, of)| (topic(*is_id, name), *number, *of)).collect()
}

fn topic(is_id: bool, name: &[u8]) -> Topic<'_> {
    match <&[u8; 16]>::try_from(name) {
        Ok(id) if is_id => Topic::Id(id),
        _ => Topic::Name(name),
    }
}

impl Refetches {
    /// Take a Fetch as its bodies were read; `data` is the frame of the response.
    pub fn take(
        &mut self,
        who: Reader<'_, '_>,
        of: Times,
        asked: &Body<'_>,
        (data, answered): (&[u8], &Body<'_>),
    ) {
        let has_records =
            answered.rows.iter().any(|row| row.records.as_ref().is_some_and(|at| !at.is_empty()));
        if !has_records && self.partitions.found.is_empty() {
            return;
        }
        let requests: Vec<_> = asked
            .rows
            .iter()
            .filter_map(|row| Some((*asked.topics.get(row.topic)?, row.partition, row.values[0])))
            .collect();
        let responses: Vec<_> = answered
            .rows
            .iter()
            .filter(|row| row.values[0] == 0)
            .filter_map(|row| {
                let records = data.get(row.records.clone()?)?;
                Some((*answered.topics.get(row.topic)?, row.partition, records))
            })
            .collect();
        self.take_in(who, of, &requests, &responses);
    }

    fn take_in(
        &mut self,
        who: Reader<'_, '_>,
        of: Times,
        asked: &[Entry<'_, i64>],
        answered: &[Entry<'_, &[u8]>],
    ) {
        let (info, client_id) = who;
        for (topic, number, offset) in asked {
            if let Some(at) = self.partitions.known(key(who, topic, *number)) {
                self.partitions.found[at].asked = Some(*offset);
            }
        }
        for (topic, number, records) in answered.iter().filter(|(_, _, records)| !records.is_empty()) {
            if self.partitions.found.len() >= MOST_HELD {
                self.forget(info.py());
            }
            let asked =
                asked.iter().find(|(of, partition, _)| of.key() == topic.key() && partition == number);
            let place = self.partitions.place(key(who, topic, *number), || Partition {
                info: info.clone().unbind(),
                client_id: client_id.clone().unbind(),
                topic: (topic.key().0, topic.key().1.into()),
                number: *number,
                asked: asked.map(|(_, _, offset)| *offset),
                answered_ns: i64::MAX,
                run: Run::default(),
                longest: Run::default(),
                sample: None,
            });
            let may_keep = self.samples < SAMPLES_HELD;
            let is_kept = self.partitions.found[place].answer(info.py(), of, records, may_keep);
            self.samples += usize::from(is_kept);
        }
        self.note_last(who, of, answered);
    }

    /// Remember a Fetch as the last one of its connection.
    fn note_last(
        &mut self,
        who: Reader<'_, '_>,
        (sent_ns, answered_ns, _): Times,
        answered: &[Entry<'_, &[u8]>],
    ) {
        let (info, client_id) = who;
        let size: i64 = answered.iter().map(|(_, _, records)| records.len() as i64).sum();
        let id = info.as_ptr() as usize;
        let accepted = match self.last.get(&id) {
            Some(last) if sent_ns >= last.answered_ns => last.accepted.max(last.size),
            Some(last) => last.accepted,
            None if size == 0 => return,
            None => 0,
        };
        let Some((topic, partition, _)) = answered.iter().find(|(_, _, records)| !records.is_empty()) else {
            match self.last.get_mut(&id) {
                Some(last) if accepted > 0 => {
                    (last.answered_ns, last.size, last.accepted) = (answered_ns, 0, accepted)
                }
                _ => drop(self.last.remove(&id)),
            }
            return;
        };
        let at = self.partitions.known(key(who, topic, *partition));
        let offset = at.and_then(|at| self.partitions.found[at].asked);
        if self.last.len() >= MOST_HELD && !self.last.contains_key(&id) {
            self.last.clear();
        }
        let last = Last {
            _info: info.clone().unbind(),
            client_id: client_id.clone().unbind(),
            topic: (topic.key().0, topic.key().1.into()),
            partition: *partition,
            offset,
            answered_ns,
            size,
            accepted,
        };
        self.last.insert(id, last);
    }

    /// Keep only what `stuck` reports.
    fn forget(&mut self, py: Python<'_>) {
        let held = self.partitions.take();
        for of in held.into_iter().filter(|of| of.longest.again >= STUCK_FROM).take(MOST_HELD / 100) {
            self.partitions.place(of.key(py), || of);
        }
    }
}

impl Partition {
    fn key(&self, py: Python<'_>) -> Key {
        let (is_id, name) = &self.topic;
        key((self.info.bind(py), self.client_id.bind(py)), &topic(*is_id, name), self.number)
    }

    /// Take a response with records, and return whether it is stored.
    fn answer(
        &mut self,
        py: Python<'_>,
        (sent_ns, answered_ns, version): Times,
        records: &[u8],
        may_keep: bool,
    ) -> bool {
        let bytes = records.len() as i64;
        if sent_ns >= self.answered_ns && (self.asked, version) == (self.run.offset, self.run.version) {
            self.run.again += 1;
            self.run.last_ns = sent_ns;
            self.run.bytes += bytes;
        } else {
            let (offset, first_ns, last_ns) = (self.asked, sent_ns, sent_ns);
            self.run = Run { offset, version, again: 0, first_ns, last_ns, bytes };
        }
        self.answered_ns = answered_ns;
        if self.run.again > self.longest.again {
            self.longest = self.run;
            if self.run.again == STUCK_FROM && may_keep {
                self.sample = Some(PyBytes::new(py, records.get(..SAMPLE).unwrap_or(records)).unbind());
                return true;
            }
        }
        false
    }
}

fn key((info, client_id): Reader<'_, '_>, topic: &Topic<'_>, number: i64) -> Key {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut first = DefaultHasher::new();
    let id = info.as_ptr() as usize; // of an object that partitions keep: no other gets it meanwhile
    let client_id = client_id.downcast::<PyString>().ok().and_then(|text| text.to_str().ok());
    (id, client_id, topic.key(), number).hash(&mut first);
    let one = first.finish();
    first.write_u8(1);
    (one, first.finish())
}
