//! Batches that brokers took, until they are fetched: the table of `history.producing.stored_batches`, which Python and
//! rows of blocks share. A batch of a topic that was named is found by the id of the topic, and the other way round.

use std::collections::VecDeque;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::connections::{evidence, Evidence};
use super::topics::named_object;
use crate::bodies::partition_rows::{Body, Topic};
use crate::engine::completed::Row;
use crate::records::batch::{Batch, Found, ATTRIBUTES_AT, CODEC_MASK, CONTROL, HEADER, NONE};
use crate::records::quick::QuickMap;

/// Bytes of the header behind the checksum.
const COVERED: usize = HEADER - ATTRIBUTES_AT;
/// `history.api_keys.PRODUCE`.
const PRODUCE: i16 = 0;
/// Connections whose brokers are remembered.
const MOST_CONNECTIONS: usize = 4096;
/// Where the parts of a key begin: partition, base offset, whether the topic is an id, length of the broker's name.
const OFFSET_AT: usize = 8;
const IS_ID_AT: usize = 16;
const BROKER_LENGTH_AT: usize = 17;
const BROKER_AT: usize = 21;

/// A Produce: as Python gave it, or of a row, by the id of its connection.
enum By {
    Given(Py<PyAny>),
    Row(Py<PyAny>, Evidence),
}

struct Stored {
    crc: u32,
    header: [u8; COVERED],
    by: By,
    /// Whether its producer did not send it twice with different records.
    is_sure: bool,
}

/// Broker, topic, partition and base offset.
type Place<'py> = (String, Bound<'py, PyAny>, i64, i64);
/// `stored_batches.Stored`.
type StoredRow<'py> = (u32, Bound<'py, PyBytes>, Bound<'py, PyAny>, bool);
/// The same with its place.
type PlacedRow<'py> = (Place<'py>, u32, Bound<'py, PyBytes>, Bound<'py, PyAny>, bool);

/// A connection, by whose place in memory it is known: its id and its broker.
struct Known {
    info: Py<PyAny>,
    id: Py<PyAny>,
    broker: String,
}

#[pyclass(module = "kdissect._native")]
pub struct StoredBatches {
    most: usize,
    known_as: Py<PyAny>,
    other_name: Py<PyAny>,
    /// Batches of topics that are named, and of topics with an id.
    counts: [usize; 2],
    connections: QuickMap<usize, Known>,
    batches: QuickMap<Arc<[u8]>, Stored>,
    order: VecDeque<Arc<[u8]>>,
    key: Vec<u8>,
}

#[pymethods]
impl StoredBatches {
    /// The maximum number of batches; `known_as` returns the id of a connection, and its broker's
    /// name; `other_name` the id of a topic for its name on a connection, or the name for its id.
    #[new]
    fn new(most: usize, known_as: Py<PyAny>, other_name: Py<PyAny>) -> Self {
        let (batches, order, key) = (QuickMap::default(), VecDeque::new(), Vec::new());
        let connections = QuickMap::default();
        StoredBatches { most, known_as, other_name, counts: [0; 2], connections, batches, order, key }
    }

    fn __len__(&self) -> usize {
        self.batches.len()
    }

    fn note(&mut self, place: Place<'_>, crc: u32, header: &[u8], evidence: Py<PyAny>) -> PyResult<()> {
        fill_of(&mut self.key, &place)?;
        let header = header.try_into().map_err(|_| PyValueError::new_err("this is no header"))?;
        self.put(crc, header, By::Given(evidence), true);
        Ok(())
    }

    fn find<'py>(&mut self, place: Place<'py>, py: Python<'py>) -> PyResult<Option<StoredRow<'py>>> {
        fill_of(&mut self.key, &place)?;
        self.batches.get(self.key.as_slice()).map(|stored| stored.row(py)).transpose()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<PlacedRow<'py>>> {
        let row = |key: &Arc<[u8]>| {
            let (crc, header, evidence, is_sure) = self.batches.get(key)?.row(py).ok()?;
            Some((place_at(py, key)?, crc, header, evidence, is_sure))
        };
        self.order
            .iter()
            .map(row)
            .collect::<Option<_>>()
            .ok_or_else(|| PyValueError::new_err("a batch without a place"))
    }

    fn restore(&mut self, rows: Vec<PlacedRow<'_>>) -> PyResult<()> {
        for (place, crc, header, evidence, is_sure) in rows {
            fill_of(&mut self.key, &place)?;
            let header =
                header.as_bytes().try_into().map_err(|_| PyValueError::new_err("this is no header"))?;
            self.put(crc, header, By::Given(evidence.unbind()), is_sure);
        }
        Ok(())
    }
}

impl StoredBatches {
    /// Note the batch of a Produce that has one alone, which the broker took.
    pub fn take(
        &mut self,
        py: Python<'_>,
        info: &Py<PyAny>,
        row: &Row,
        (topic, partition, base_offset): (&Topic<'_>, i64, i64),
        batch: &Batch,
    ) -> PyResult<()> {
        if base_offset < 0 || batch.count == 0 || !is_comparable(batch) {
            return Ok(());
        }
        let Some(header) = header(row.request.content.data.as_bytes(py), batch) else { return Ok(()) };
        self.know(py, info)?;
        let Some(known) = self.connections.get(&(info.as_ptr() as usize)) else { return Ok(()) };
        fill(&mut self.key, &known.broker, topic, partition, base_offset);
        let by = By::Row(known.id.clone_ref(py), evidence(0, row));
        self.put(batch.crc, header, by, true);
        Ok(())
    }

    /// Whether a Fetch brings records that differ from the produced ones.
    pub fn differs(
        &mut self,
        py: Python<'_>,
        info: &Py<PyAny>,
        data: &[u8],
        answer: &Body<'_>,
        batches: &[Found],
    ) -> PyResult<bool> {
        if self.batches.is_empty() || !batches.iter().any(|(_, batch)| is_comparable(batch)) {
            return Ok(false);
        }
        self.know(py, info)?;
        let Some(known) = self.connections.get(&(info.as_ptr() as usize)) else { return Ok(false) };
        for (number, batch) in batches {
            let Some(row) = answer.rows.get(*number).filter(|_| is_comparable(batch)) else { continue };
            let Some(topic) = answer.topics.get(row.topic) else { continue };
            fill(&mut self.key, &known.broker, topic, row.partition, batch.base_offset);
            let (is_id, name) = topic.key();
            if !self.batches.contains_key(self.key.as_slice()) && self.counts[usize::from(!is_id)] > 0 {
                let other = self.other_name.call1(py, (&known.info, named_object(py, is_id, name)))?;
                let place = (known.broker.clone(), other.into_bound(py), row.partition, batch.base_offset);
                if place.1.is_none() {
                    continue;
                }
                fill_of(&mut self.key, &place)?;
            }
            let Some(stored) = self.batches.get(self.key.as_slice()) else { continue };
            let is_other = stored.is_sure && stored.crc != batch.crc;
            if is_other && header(data, batch) == Some(stored.header) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn know(&mut self, py: Python<'_>, info: &Py<PyAny>) -> PyResult<()> {
        let address = info.as_ptr() as usize;
        if !self.connections.contains_key(&address) {
            if self.connections.len() >= MOST_CONNECTIONS {
                self.connections.clear();
            }
            let (id, broker) = self.known_as.call1(py, (info,))?.extract(py)?;
            self.connections.insert(address, Known { info: info.clone_ref(py), id, broker });
        }
        Ok(())
    }

    /// Note a batch at the place of the key.
    fn put(&mut self, crc: u32, header: [u8; COVERED], by: By, is_sure: bool) {
        let stored = Stored { crc, header, by, is_sure };
        if let Some(before) = self.batches.get_mut(self.key.as_slice()) {
            if before.header == header {
                before.is_sure &= before.crc == crc;
            } else {
                *before = stored;
            }
            return;
        }
        if self.order.len() >= self.most {
            if let Some(oldest) = self.order.pop_front() {
                self.batches.remove(&oldest);
                self.count(&oldest, usize::wrapping_sub);
            }
        }
        let key: Arc<[u8]> = self.key.as_slice().into();
        self.count(&key, usize::wrapping_add);
        self.order.push_back(key.clone());
        self.batches.insert(key, stored);
    }

    fn count(&mut self, key: &[u8], by: fn(usize, usize) -> usize) {
        if let Some(count) = self.counts.get_mut(usize::from(key.get(IS_ID_AT) == Some(&1))) {
            *count = by(*count, 1);
        }
    }
}

impl Stored {
    fn row<'py>(&self, py: Python<'py>) -> PyResult<StoredRow<'py>> {
        let evidence = match &self.by {
            By::Given(evidence) => evidence.bind(py).clone(),
            By::Row(id, (_, ordinal, version, request, response, sent, answered)) => {
                (id, ordinal, PRODUCE, version, request, response, sent, answered)
                    .into_pyobject(py)?
                    .into_any()
            }
        };
        Ok((self.crc, PyBytes::new(py, &self.header), evidence, self.is_sure))
    }
}

/// Whether a batch has a producer, and is neither compressed nor a marker.
fn is_comparable(batch: &Batch) -> bool {
    batch.producer_id != NONE && batch.attributes & (CODEC_MASK | CONTROL) == 0
}

fn header(data: &[u8], batch: &Batch) -> Option<[u8; COVERED]> {
    data.get(batch.start + ATTRIBUTES_AT..batch.start + HEADER)?.try_into().ok()
}

fn fill(key: &mut Vec<u8>, broker: &str, topic: &Topic<'_>, partition: i64, offset: i64) {
    let (is_id, name) = topic.key();
    key.clear();
    key.extend_from_slice(&partition.to_le_bytes());
    key.extend_from_slice(&offset.to_le_bytes());
    key.push(u8::from(is_id));
    key.extend_from_slice(&u32::try_from(broker.len()).unwrap_or(u32::MAX).to_le_bytes());
    key.extend_from_slice(broker.as_bytes());
    key.extend_from_slice(name);
}

fn fill_of(key: &mut Vec<u8>, (broker, topic, partition, offset): &Place<'_>) -> PyResult<()> {
    if let Ok(id) = topic.cast::<PyBytes>() {
        let name = id.as_bytes();
        let topic = name.try_into().map_or(Topic::Name(name), Topic::Id);
        fill(key, broker, &topic, *partition, *offset);
    } else {
        let name = topic.cast::<PyString>()?.to_string_lossy();
        fill(key, broker, &Topic::Name(name.as_bytes()), *partition, *offset);
    }
    Ok(())
}

/// The values from which `fill` built the key.
fn place_at<'py>(py: Python<'py>, key: &[u8]) -> Option<Place<'py>> {
    let number = |at: usize| Some(i64::from_le_bytes(*key.get(at..)?.first_chunk()?));
    let length = u32::from_le_bytes(*key.get(BROKER_LENGTH_AT..)?.first_chunk()?);
    let name_at = BROKER_AT.checked_add(usize::try_from(length).ok()?)?;
    let broker = String::from_utf8(key.get(BROKER_AT..name_at)?.to_vec()).ok()?;
    let topic = named_object(py, *key.get(IS_ID_AT)? == 1, key.get(name_at..)?).into_bound(py);
    Some((broker, topic, number(0)?, number(OFFSET_AT)?))
}
