//! `kdissect.stats.by_producer.producer_traffic`: Produces of which there is nothing to tell
//! (`history.producing.producers.Producers.passes`), counted by client, producer and partition.

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::connections::Connections;
use super::sequences::{Placed, Sequences};
use super::topics::ByKey;
use super::{read, COUNTED, ENOUGH, LEFT};
use crate::bodies::partition_rows::{Body, Topic};
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::NONE;

/// `engine.transfer_rows._FACTS` of Produce.
const ACKS: usize = 0;
const TRANSACTIONAL_ID: usize = 1;
/// `producers.ALL_IN_SYNC`.
const ALL_IN_SYNC: i64 = -1;
/// Of so many partitions and clients the counts should be taken: some MB.
const MOST_HELD: usize = 1 << 14;

/// Connections with the exchange that is due; clients with their batches without an id, in the order in which they came.
type Taken = (Vec<(u32, i64)>, Vec<(u32, i64)>);

/// What Python answers: `way_of`, `numbers_of` (`block::count`), `due_of` (`Connections::is_due`).
type Asked<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pyclass(module = "kdissect._native")]
pub struct ProducedBatches {
    sequences: Py<Sequences>,
    connections: Connections,
    without_id: ByKey<u32, (u32, i64)>,
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

    /// Pass by an exchange that is no row, of a kind that is passed by; False, and nothing is done, of one that is not due.
    fn pass_by(&mut self, connection: u32, ordinal: i64, due_of: &Bound<'_, PyAny>) -> PyResult<bool> {
        let is_due = self.connections.is_at(connection, ordinal, due_of)?;
        if is_due {
            self.connections.pass(connection);
        }
        Ok(is_due)
    }

    /// Everything counted but for the sequences, which is forgotten then.
    fn take(&mut self) -> Taken {
        self.known.forget_senders();
        (self.connections.take(), self.without_id.take())
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
            _ if without_id == batches.len() => {}
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
        of.connections.pass(connection);
        let held = self.sequences.held() + of.without_id.found.len();
        Ok(if held > MOST_HELD { COUNTED | ENOUGH } else { COUNTED })
    }
}

/// The partition that a batch with a producer id is for, and the offset that it was given, if it was sent with acks=all
/// and taken, or not answered.
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
