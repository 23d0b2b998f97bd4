//! Sequences of idempotent producers, while batches without facts to report pass: native-owned
//! until Python reads them (`history.producing.lent_sequences`).

use std::collections::HashMap;

use pyo3::prelude::*;

use super::connections::{evidence, is_answered_before, Answer, Evidence};
use super::topics::ByKey;
use crate::bodies::partition_rows::Topic;
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::records::batch::{Batch, CONTROL, TRANSACTIONAL};

/// `producer.BATCHES_KEPT` and `_MAX_SEQUENCE`.
const BATCHES_KEPT: usize = 5;
const MAX_SEQUENCE: i64 = 0x7FFF_FFFF;

/// A batch that was sent: base sequence, last offset delta, the exchange, whether that was answered.
type Sent = (i32, i32, Evidence, bool);

/// The sequences of a producer in one partition (`producer.PartitionSequence`).
struct Sequence {
    number: u32,
    producer: u32,
    epoch: i64,
    losses: i64,
    /// The sequence that comes next.
    expected: i64,
    /// The least possible offset of the next batch.
    next_offset: i64,
    /// The answers to the last batches.
    answered: Vec<Option<Answer>>,
    sent: Vec<Sent>,
    touched: u64,
}

/// Its number and its producer's, epoch and losses, the last batch's sequence and delta, the least
/// possible offset of the next one, and responses.
type SequenceRow = (u32, u32, i64, i64, (i64, i64), i64, Vec<Option<Answer>>);

#[derive(Default, Clone, Copy)]
struct Producer {
    number: u32,
    batches: i64,
    records: i64,
    touched: u64,
}

/// Producers with batches and records, their clients, with counts, and partitions with the least
/// next offset and the last batches. Clients are in the order in which they came, other entries in
/// the order in which they were touched last.
type Taken = (Vec<(u32, i64, i64)>, Vec<(u32, u32, i64)>, Vec<(u32, i64, Vec<Sent>)>);

/// Client and connection by number, and the id that stands for its place in memory.
type Known = ((u32, u32), Py<PyAny>);

/// A batch that was sent: its partition, and its assigned offset, None without a response.
pub struct Placed<'a, 'b> {
    pub topic: &'a Topic<'b>,
    pub partition: i64,
    pub batch: &'a Batch,
    pub base_offset: Option<i64>,
}

#[pyclass(module = "kdissect._native")]
pub struct Sequences {
    numbers_of: Py<PyAny>,
    losses_of: Py<PyAny>,
    sequence_of: Py<PyAny>,
    senders: HashMap<(usize, usize), Known>,
    losses: Mixed<u32, i64>,
    producers: ByKey<u32, Producer>,
    clients: ByKey<(u32, u32), (u32, u32, i64)>,
    /// By connection, producer, partition and topic: the place of a sequence.
    places: Mixed<Box<[u8]>, usize>,
    sequences: ByKey<u32, Sequence>,
    key: Vec<u8>,
    touches: u64,
}

#[pymethods]
impl Sequences {
    /// `numbers_of(connection, client_id)` returns the numbers of the client and the connection,
    /// `losses_of` the count of lost or damaged bytes of a connection, `sequence_of` the sequences
    /// of a producer and partition.
    #[new]
    fn new(numbers_of: Py<PyAny>, losses_of: Py<PyAny>, sequence_of: Py<PyAny>) -> Self {
        Sequences {
            numbers_of,
            losses_of,
            sequence_of,
            senders: HashMap::new(),
            losses: Mixed::default(),
            producers: ByKey::default(),
            clients: ByKey::default(),
            places: Mixed::default(),
            sequences: ByKey::default(),
            key: Vec::new(),
            touches: 0,
        }
    }

    fn __len__(&self) -> usize {
        self.held() + self.senders.len() + self.places.len()
    }

    /// Return and forget everything that passed.
    fn take(&mut self) -> Taken {
        let mut producers = self.producers.take();
        producers.sort_unstable_by_key(|producer| producer.touched);
        let mut sequences = self.sequences.take();
        sequences.retain(|sequence| sequence.touched > 0);
        sequences.sort_unstable_by_key(|sequence| sequence.touched);
        self.senders.clear();
        self.losses.clear();
        self.places.clear();
        (
            producers.into_iter().map(|of| (of.number, of.batches, of.records)).collect(),
            self.clients.take(),
            sequences.into_iter().map(|of| (of.number, of.next_offset, of.sent)).collect(),
        )
    }
}

impl Sequences {
    /// Number of entries that `take` hands over.
    pub fn held(&self) -> usize {
        self.sequences.found.len() + self.clients.found.len()
    }

    /// The numbers of a client and its connection.
    pub fn numbers(&mut self, info: &Py<PyAny>, client_id: &Bound<'_, PyAny>) -> PyResult<(u32, u32)> {
        let key = (info.as_ptr() as usize, client_id.as_ptr() as usize);
        if let Some((numbers, _)) = self.senders.get(&key) {
            return Ok(*numbers);
        }
        let numbers = self.numbers_of.bind(client_id.py()).call1((info, client_id))?.extract()?;
        self.senders.insert(key, (numbers, client_id.clone().unbind()));
        Ok(numbers)
    }

    /// `Producers._continues` for a batch with a producer id that was sent with acks=all: whether
    /// it was accepted.
    pub fn take_next(
        &mut self,
        py: Python<'_>,
        (client, connection): (u32, u32),
        row: &Row,
        placed: &Placed<'_, '_>,
    ) -> PyResult<bool> {
        let Placed { batch, base_offset, .. } = *placed;
        if batch.attributes & (TRANSACTIONAL | CONTROL) != 0 {
            return Ok(false);
        }
        let Some(at) = self.place(py, connection, placed)? else { return Ok(false) };
        let losses = self.losses_of(py, connection)?;
        let here = &mut self.sequences.found[at];
        let continues = here.epoch == i64::from(batch.producer_epoch)
            && here.losses == losses
            && here.expected == i64::from(batch.base_sequence);
        let is_full = here.answered.len() >= BATCHES_KEPT
            && here
                .answered
                .first()
                .is_some_and(|answer| !is_answered_before(*answer, &row.request.content.span));
        if !continues || is_full || !here.is_given(base_offset, batch) {
            return Ok(false);
        }
        self.touches += 1;
        let evidence = evidence(connection, row);
        if here.answered.len() >= BATCHES_KEPT {
            here.answered.remove(0);
        }
        here.answered
            .push(row.response.as_ref().map(|content| (content.span.last_ref, content.span.last_time)));
        if here.sent.len() >= BATCHES_KEPT {
            here.sent.remove(0);
        }
        here.sent.push((batch.base_sequence, batch.last_offset_delta, evidence, row.response.is_some()));
        here.expected = next(batch.base_sequence.into(), batch.last_offset_delta.into());
        here.touched = self.touches;
        let number = here.producer;
        let place = self.producers.place(number, || Producer { number, ..Producer::default() });
        let producer = &mut self.producers.found[place];
        producer.batches += 1;
        producer.records += i64::from(batch.count.max(0));
        producer.touched = self.touches;
        let place = self.clients.place((number, client), || (number, client, 0));
        self.clients.found[place].2 += 1;
        Ok(true)
    }

    fn losses_of(&mut self, py: Python<'_>, connection: u32) -> PyResult<i64> {
        if let Some(losses) = self.losses.get(&connection) {
            return Ok(*losses);
        }
        let losses = self.losses_of.bind(py).call1((connection,))?.extract()?;
        self.losses.insert(connection, losses);
        Ok(losses)
    }

    /// The position of a sequence; None if it is unknown.
    fn place(&mut self, py: Python<'_>, connection: u32, placed: &Placed<'_, '_>) -> PyResult<Option<usize>> {
        let (is_id, name) = placed.topic.key();
        let producer_id = placed.batch.producer_id;
        self.key.clear();
        self.key.extend_from_slice(&connection.to_le_bytes());
        self.key.extend_from_slice(&producer_id.to_le_bytes());
        self.key.extend_from_slice(&placed.partition.to_le_bytes());
        self.key.push(u8::from(is_id));
        self.key.extend_from_slice(name);
        if let Some(place) = self.places.get(self.key.as_slice()) {
            return Ok(Some(*place));
        }
        let Some(topic) = placed.topic.object(py) else { return Ok(None) };
        let arguments = (connection, producer_id, topic, placed.partition);
        let found: Option<SequenceRow> = self.sequence_of.bind(py).call1(arguments)?.extract()?;
        let Some((number, producer, epoch, losses, (base, last_delta), next_offset, answered)) = found else {
            return Ok(None);
        };
        let place = self.sequences.place(number, || Sequence {
            number,
            producer,
            epoch,
            losses,
            expected: next(base, last_delta),
            next_offset,
            answered,
            sent: Vec::new(),
            touched: 0,
        });
        self.places.insert(self.key.as_slice().into(), place);
        Ok(Some(place))
    }
}

impl Sequence {
    /// `PartitionSequence.given`.
    fn is_given(&mut self, base_offset: Option<i64>, batch: &Batch) -> bool {
        let Some(offset) = base_offset.filter(|offset| *offset >= 0) else { return true };
        if offset < self.next_offset {
            return false;
        }
        // The offset after the last possible one exceeds 64 bits, and is Python's.
        let Some(next) = offset.checked_add(i64::from(batch.last_offset_delta.max(0)) + 1) else {
            return false;
        };
        self.next_offset = next;
        true
    }
}

fn next(base: i64, last_delta: i64) -> i64 {
    (base + last_delta + 1) & MAX_SEQUENCE
}
