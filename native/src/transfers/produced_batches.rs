//! `kdissect.stats.by_producer.producer_traffic`: Produces without facts to report
//! (`history.producing.producers.Producers.passes`), counted by client, producer and partition.

use std::collections::BTreeSet;

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::connections::Connections;
use super::sequences::{Placed, Sequences};
use super::topics::{ByKey, Named, Topics};
use super::{read, COUNTED, ENOUGH, LEFT};
use crate::bodies::partition_rows::{Body, Topic};
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::{Batch, NONE};

/// `engine.transfer_rows._FACTS` of Produce.
const ACKS: usize = 0;
const TRANSACTIONAL_ID: usize = 1;
/// `producers.ALL_IN_SYNC`.
const ALL_IN_SYNC: i64 = -1;
/// Number of partitions and clients after which the counts should be taken: some MB.
const MOST_HELD: usize = 1 << 14;

/// Connections with the next ordinal, clients with their batches without an id, in the order in
/// which they came, topics as connections name them, by number, the written offsets of partitions
/// without an id, and connections whose Produces come from a request log, which has no batches.
type Taken = (Vec<(u32, i64)>, Vec<(u32, i64)>, Vec<Named>, Vec<Written>, Vec<u32>);

/// Topic by number, partition, the offset after the last one that a response confirms, and the time
/// of that response.
type Written = (u32, i64, i64, i64);

/// Callbacks to Python: `way_of`, `numbers_of` (`block::count`), `due_of` (`Connections::is_due`).
type Asked<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pyclass(module = "kdissect._native")]
pub struct ProducedBatches {
    sequences: Py<Sequences>,
    connections: Connections,
    without_id: ByKey<u32, (u32, i64)>,
    topics: Topics,
    written: ByKey<(u32, i64), Written>,
    logged: BTreeSet<u32>,
    known: Known,
}

#[pymethods]
impl ProducedBatches {
    #[new]
    fn new(sequences: Py<Sequences>) -> Self {
        ProducedBatches {
            sequences,
            connections: Connections::default(),
            without_id: ByKey::default(),
            topics: Topics::default(),
            written: ByKey::default(),
            logged: BTreeSet::new(),
            known: Known::default(),
        }
    }

    /// Count the exchanges of a block, from one on (`block::count`).
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        asked: Asked<'_>,
    ) -> PyResult<(usize, u8)> {
        let (way_of, numbers_of, due_of) = asked;
        let sequences = self.sequences.bind(block.py()).clone();
        let mut known = std::mem::take(&mut self.known);
        let mut counting = Counting { batches: self, sequences: sequences.borrow_mut(), due_of };
        let done = block::count(&mut counting, &mut known, block, start, &way_of, &numbers_of);
        self.known = known;
        done
    }

    /// Skip an exchange that is not a row, if its kind is skipped; False, without any change, if it
    /// is not the next one.
    fn pass_by(&mut self, connection: u32, ordinal: i64, due_of: &Bound<'_, PyAny>) -> PyResult<bool> {
        let is_due = self.connections.is_at(connection, ordinal, due_of)?;
        if is_due {
            self.connections.pass(connection);
        }
        Ok(is_due)
    }

    /// Everything counted but for the sequences, which is forgotten then.
    fn take(&mut self, py: Python<'_>) -> Taken {
        self.known.forget_senders();
        let topics = self.topics.take_new(py);
        self.topics.clear();
        let logged = std::mem::take(&mut self.logged).into_iter().collect();
        (self.connections.take(), self.without_id.take(), topics, self.written.take(), logged)
    }
}

impl ProducedBatches {
    /// Topic by number, partition, and the offset behind what a response says is written. None if it is Python's.
    fn written_by(
        &mut self,
        connection: u32,
        asked: &Body<'_>,
        batches: &[(usize, Batch)],
        response: Option<Part<'_>>,
    ) -> Option<Vec<(u32, i64, i64)>> {
        let Some(response) = response else { return Some(Vec::new()) };
        let (_, answer) = read(response)?;
        let mut written = Vec::new();
        for (number, sent) in asked.rows.iter().enumerate() {
            let topic = *asked.topics.get(sent.topic)?;
            let records: i64 = batches
                .iter()
                .filter(|(place, _)| *place == number)
                .map(|(_, batch)| i64::from(batch.count))
                .sum();
            let base = answer.rows.iter().find(|row| {
                row.partition == sent.partition
                    && answer.topics.get(row.topic) == Some(&topic)
                    && row.values[0] == 0
            });
            let Some(base) = base.map(|row| row.values[1]).filter(|base| *base >= 0) else { continue };
            if records > 0 {
                let end = base.saturating_add(records);
                written.push((self.topics.number(connection, topic)?, sent.partition, end));
            }
        }
        Some(written)
    }

    fn write(&mut self, written: &[(u32, i64, i64)], at: i64) {
        for &(topic, partition, end) in written {
            let place = self.written.place((topic, partition), || (topic, partition, end, at));
            let known = &mut self.written.found[place];
            if end > known.2 {
                (known.2, known.3) = (end, at);
            }
        }
    }
}

struct Counting<'a, 'py> {
    batches: &'a mut ProducedBatches,
    sequences: PyRefMut<'py, Sequences>,
    due_of: Bound<'py, PyAny>,
}

impl Counts for Counting<'_, '_> {
    fn pass(&mut self, (_, connection): (u32, u32), row: &Row) -> PyResult<u8> {
        if !self.batches.connections.is_due(connection, row, &self.due_of)? {
            return Ok(LEFT);
        }
        self.batches.connections.pass(connection);
        Ok(COUNTED)
    }

    fn count(
        &mut self,
        (client, connection): (u32, u32),
        (_, row): (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        if !self.batches.connections.is_due(connection, row, &self.due_of)? {
            return Ok(LEFT);
        }
        let Some((data, asked)) = read(request) else { return Ok(LEFT) };
        let Some(batches) = asked.sound_batches(data) else { return Ok(LEFT) };
        if asked.facts[TRANSACTIONAL_ID].is_some() {
            return Ok(LEFT);
        }
        let without_id = batches.iter().filter(|(_, batch)| batch.producer_id == NONE).count();
        match batches.as_slice() {
            _ if without_id == batches.len() => {
                let Some(written) = self.batches.written_by(connection, &asked, &batches, response) else {
                    return Ok(LEFT);
                };
                let at = row.response.as_ref().map_or(0, |content| content.span.last_time);
                self.batches.write(&written, at);
            }
            [(place, batch)] => {
                let Some((topic, partition, base_offset)) = taken(&asked, *place, response) else {
                    return Ok(LEFT);
                };
                let placed = Placed { topic: &topic, partition, batch, base_offset };
                if !self.sequences.take_next(self.due_of.py(), (client, connection), row, &placed)? {
                    return Ok(LEFT);
                }
            }
            _ => return Ok(LEFT),
        }
        let of = &mut *self.batches;
        let place = of.without_id.place(client, || (client, 0));
        of.without_id.found[place].1 += without_id as i64;
        if row.is_logged() {
            of.logged.insert(connection);
        }
        of.connections.pass(connection);
        let held = self.sequences.held() + of.without_id.found.len() + of.written.found.len();
        Ok(if held > MOST_HELD { COUNTED | ENOUGH } else { COUNTED })
    }
}

/// The partition of a batch with a producer id, and its assigned offset, if it was sent with
/// acks=all and accepted, or not answered.
fn taken<'a>(
    asked: &Body<'a>,
    place: usize,
    response: Option<Part<'_>>,
) -> Option<(Topic<'a>, i64, Option<i64>)> {
    if asked.facts[ACKS] != Some(ALL_IN_SYNC) {
        return None;
    }
    let sent = asked.rows.get(place)?;
    let (topic, partition) = (*asked.topics.get(sent.topic)?, sent.partition);
    let Some(response) = response else { return Some((topic, partition, None)) };
    let (_, answer) = read(response)?;
    match (answer.topics.as_slice(), &*answer.rows) {
        ([named], [row]) if *named == topic && row.partition == partition && row.values[0] == 0 => {
            Some((topic, partition, Some(row.values[1])))
        }
        _ => None,
    }
}
