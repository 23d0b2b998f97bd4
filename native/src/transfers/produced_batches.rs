//! `kdissect.stats.by_producer.producer_traffic`: Produces of which there is nothing to tell
//! (`history.producing.producers.Producers.passes`), counted by client, producer and partition.

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::connections::{evidence, Connections, Evidence};
use super::topics::ByKey;
use super::{read, COUNTED, ENOUGH, LEFT};
use crate::bodies::partition_rows::{Body, Topic};
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::{Batch, CONTROL, NONE, TRANSACTIONAL};

/// `history.transfer_rows._FACTS` of Produce.
const ACKS: usize = 0;
const TRANSACTIONAL_ID: usize = 1;
/// `producers.ALL_IN_SYNC`, `producer.BATCHES_KEPT` and `_MAX_SEQUENCE`.
const ALL_IN_SYNC: i64 = -1;
const BATCHES_KEPT: usize = 5;
const MAX_SEQUENCE: i64 = 0x7FFF_FFFF;
/// Of so many partitions and clients the counts should be taken: some MB.
const MOST_HELD: usize = 1 << 14;

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
    /// When the last batches were answered.
    answered: Vec<i64>,
    sent: Vec<Sent>,
    touched: u64,
}

/// Its number and its producer's; epoch and losses; the last batch's sequence and delta; times of answers.
type SequenceRow = (u32, u32, i64, i64, (i64, i64), Vec<i64>);

#[derive(Default, Clone, Copy)]
struct Producer {
    number: u32,
    batches: i64,
    records: i64,
    touched: u64,
}

/// Connections with the exchange that is due; clients with their batches without an id; producers with batches and
/// records; their clients, and how often; partitions with the last batches. Clients in the order in which they came,
/// the others in that in which they were touched last.
type Taken =
    (Vec<(u32, i64)>, Vec<(u32, i64)>, Vec<(u32, i64, i64)>, Vec<(u32, u32, i64)>, Vec<(u32, Vec<Sent>)>);

/// What Python answers: `way_of`, `numbers_of` (`block::count`), `due_of` (`Connections::is_due`), what of a connection
/// was lost or damaged, and the sequences of a producer and partition.
type Asked<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct ProducedBatches {
    connections: Connections,
    losses: Mixed<u32, i64>,
    without_id: ByKey<u32, (u32, i64)>,
    producers: ByKey<u32, Producer>,
    clients: ByKey<(u32, u32), (u32, u32, i64)>,
    /// By connection, producer, partition and topic: the place of a sequence.
    places: Mixed<Box<[u8]>, usize>,
    sequences: ByKey<u32, Sequence>,
    key: Vec<u8>,
    touches: u64,
    known: Known,
}

#[pymethods]
impl ProducedBatches {
    #[new]
    fn new() -> Self {
        ProducedBatches::default()
    }

    /// Count the exchanges of a block, from one on (`block::count`).
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        asked: Asked<'_>,
    ) -> PyResult<(usize, u8)> {
        let (way_of, numbers_of, due_of, losses_of, sequence_of) = asked;
        let mut known = std::mem::take(&mut self.known);
        let mut counting = Counting { batches: self, due_of, losses_of, sequence_of };
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

    /// Everything counted, which is forgotten then.
    fn take(&mut self) -> Taken {
        let mut producers = self.producers.take();
        producers.sort_unstable_by_key(|producer| producer.touched);
        let mut sequences = self.sequences.take();
        sequences.sort_unstable_by_key(|sequence| sequence.touched);
        self.places.clear();
        self.losses.clear();
        self.known.forget_senders();
        (
            self.connections.take(),
            self.without_id.take(),
            producers.into_iter().map(|of| (of.number, of.batches, of.records)).collect(),
            self.clients.take(),
            sequences.into_iter().map(|of| (of.number, of.sent)).collect(),
        )
    }
}

struct Counting<'a, 'py> {
    batches: &'a mut ProducedBatches,
    due_of: Bound<'py, PyAny>,
    losses_of: Bound<'py, PyAny>,
    sequence_of: Bound<'py, PyAny>,
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
        row: &Row,
        request: Part<'_, '_>,
        response: Option<Part<'_, '_>>,
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
                let sequence = self.sequence(connection, row, &asked, *place, batch)?;
                let Some(sequence) = sequence else { return Ok(LEFT) };
                if !accepts(&asked, *place, response) {
                    return Ok(LEFT);
                }
                self.batches.take_in(client, connection, row, sequence, batch);
            }
            _ => return Ok(LEFT),
        }
        let of = &mut *self.batches;
        let place = of.without_id.place(client, || (client, 0));
        of.without_id.found[place].1 += without_id as i64;
        of.connections.pass(connection);
        let held = of.sequences.found.len() + of.clients.found.len() + of.without_id.found.len();
        Ok(if held > MOST_HELD { COUNTED | ENOUGH } else { COUNTED })
    }
}

/// Whether there is no answer, or one that the batch's partition has no error.
fn accepts(asked: &Body<'_>, place: usize, response: Option<Part<'_, '_>>) -> bool {
    let Some(response) = response else { return true };
    let Some((_, answer)) = read(response) else { return false };
    let sent = asked.rows.get(place).and_then(|row| Some((asked.topics.get(row.topic)?, row.partition)));
    match (sent, answer.topics.as_slice(), answer.rows.as_slice()) {
        (Some((topic, partition)), [named], [row]) => {
            topic == named && row.partition == partition && row.values[0] == 0
        }
        _ => false,
    }
}

impl Counting<'_, '_> {
    /// Where the sequence stands that a batch continues; None where there is something to tell of it.
    fn sequence(
        &mut self,
        connection: u32,
        row: &Row,
        asked: &Body<'_>,
        place: usize,
        batch: &Batch,
    ) -> PyResult<Option<usize>> {
        let is_special = batch.attributes & (TRANSACTIONAL | CONTROL) != 0;
        if is_special || asked.facts[ACKS].unwrap_or(0) != ALL_IN_SYNC {
            return Ok(None);
        }
        let Some(sent) = asked.rows.get(place) else { return Ok(None) };
        let Some(topic) = asked.topics.get(sent.topic) else { return Ok(None) };
        let losses = match self.batches.losses.get(&connection) {
            Some(losses) => *losses,
            None => {
                let losses = self.losses_of.call1((connection,))?.extract()?;
                *self.batches.losses.entry(connection).or_insert(losses)
            }
        };
        let Some(at) = self.place(connection, batch.producer_id, topic, sent.partition)? else {
            return Ok(None);
        };
        let here = &self.batches.sequences.found[at];
        let continues = here.epoch == i64::from(batch.producer_epoch)
            && here.losses == losses
            && here.expected == i64::from(batch.base_sequence);
        let is_full = here.answered.len() >= BATCHES_KEPT
            && here.answered.first().is_some_and(|time| *time > row.request.content.span.first_time);
        Ok((continues && !is_full).then_some(at))
    }

    fn place(
        &mut self,
        connection: u32,
        producer_id: i64,
        topic: &Topic<'_>,
        partition: i64,
    ) -> PyResult<Option<usize>> {
        let (is_id, name) = topic.key();
        let of = &mut *self.batches;
        of.key.clear();
        of.key.extend_from_slice(&connection.to_le_bytes());
        of.key.extend_from_slice(&producer_id.to_le_bytes());
        of.key.extend_from_slice(&partition.to_le_bytes());
        of.key.push(u8::from(is_id));
        of.key.extend_from_slice(name);
        if let Some(place) = of.places.get(of.key.as_slice()) {
            return Ok(Some(*place));
        }
        let Some(topic) = topic.object(self.sequence_of.py()) else { return Ok(None) };
        let arguments = (connection, producer_id, topic, partition);
        let found: Option<SequenceRow> = self.sequence_of.call1(arguments)?.extract()?;
        let Some((number, producer, epoch, losses, (base, last_delta), answered)) = found else {
            return Ok(None);
        };
        let expected = (base + last_delta + 1) & MAX_SEQUENCE;
        let place = of.sequences.place(number, || Sequence {
            number,
            producer,
            epoch,
            losses,
            expected,
            answered,
            sent: Vec::new(),
            touched: 0,
        });
        of.places.insert(of.key.as_slice().into(), place);
        Ok(Some(place))
    }
}

impl ProducedBatches {
    /// Count a batch that comes next.
    fn take_in(&mut self, client: u32, connection: u32, row: &Row, at: usize, batch: &Batch) {
        self.touches += 1;
        let evidence = evidence(connection, row);
        let here = &mut self.sequences.found[at];
        if here.answered.len() >= BATCHES_KEPT {
            here.answered.remove(0);
        }
        here.answered.push(evidence.6);
        if here.sent.len() >= BATCHES_KEPT {
            here.sent.remove(0);
        }
        here.sent.push((batch.base_sequence, batch.last_offset_delta, evidence, row.response.is_some()));
        let next = i64::from(batch.base_sequence) + i64::from(batch.last_offset_delta) + 1;
        (here.expected, here.touched) = (next & MAX_SEQUENCE, self.touches);
        let number = here.producer;
        let place = self.producers.place(number, || Producer { number, ..Producer::default() });
        let producer = &mut self.producers.found[place];
        producer.batches += 1;
        producer.records += i64::from(batch.count.max(0));
        producer.touched = self.touches;
        let place = self.clients.place((number, client), || (number, client, 0));
        self.clients.found[place].2 += 1;
    }
}
