//! `kdissect.stats.by_delay.delay_state`: written batches of each partition in a bounded window, and
//! the reads that deliver them.

use std::collections::VecDeque;

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::members::MemberRequests;
use super::topics::{named_object, ByKey};
use super::{read, COUNTED, LEFT};
use crate::bodies::partition_rows::{Body, Topic};
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::{
    batches, Batch, CONTROL as CONTROL_BATCH, NONE, TRANSACTIONAL as IN_TRANSACTION,
};
use crate::records::content::Contents;
use crate::records::record_reader::record;
use crate::stats::distribution::{bin_of, Distribution, DistributionRow};

/// `history.api_keys.PRODUCE`.
const PRODUCE: i16 = 0;
/// `producers.ALL_IN_SYNC`.
const ALL_IN_SYNC: i64 = -1;
/// `engine.transfer_rows.delay_rows`: facts of requests, and numbers of partitions.
const ACKS: usize = 0;
const REPLICA_ID: usize = 0;
const ISOLATION_LEVEL: usize = 1;
const ERROR: usize = 0;
const BASE_OFFSET: usize = 1;
const HIGH_WATERMARK: usize = 1;
const LAST_STABLE: usize = 2;
const ABORTED_COUNT: usize = 3;
const FETCH_OFFSET: usize = 0;

/// `delay_state` has the same names.
const PARTITIONS_KEPT: usize = 20_000;
const EARLY_KEPT: usize = 16;
const STEPS_KEPT: usize = 16;
const PENDING_KEPT: usize = 256;
const ALL_PENDING_KEPT: usize = 1 << 16;
const RUNS_KEPT: usize = 64;
const OLDEST_NS: i128 = 120_000_000_000;
const MS: i128 = 1_000_000;
const NEVER: i64 = i64::MAX;
const CONTROL: u8 = 1;
const TRANSACTIONAL: u8 = 2;
const ABORTED: u8 = 4;
/// Offsets after a larger one may not fit into 64 bits.
const MOST_OFFSET: i64 = i64::MAX / 2;
const SENDERS_KEPT: usize = 1 << 14;
const CURSORS_KEPT: usize = 8;
/// Names of topics that are remembered, and clients with groups, some 100 bytes each.
const MOST_NAMES: usize = 1 << 14;

/// CreateTime in milliseconds, None without one, and how many records in a row have it.
type Run = (Option<i64>, i64);
/// First and last offset of a batch, its number of records, and bits.
type ReadBatch = (i64, i64, i64, u8);
/// Topic, partition, high watermark, last stable offset, batches.
type ReadPartition = (u32, i64, i64, i64, Vec<ReadBatch>);
/// How many records, their nanoseconds in all, and the longest.
type Sum = (i64, i128, i64);
/// `delay_state.ReaderRow`.
type ReaderRow =
    ((u32, u32, i64), (i64, i64, i64), [Option<DistributionRow>; 3], [Sum; 4], (Option<i64>, Option<i64>));
/// `delay_state.ClockRow`.
type ClockRow = (u32, i64, i64, i64, i64, i128, Option<i128>);

/// A batch that a Produce wrote. `readable` and `stable` are when the end of the partition was first
/// seen after it.
struct Written {
    base: i64,
    last: i64,
    sent: i64,
    answered: i64,
    is_all: bool,
    runs: Box<[Run]>,
    readable: i64,
    stable: i64,
}

/// A delivery of the offsets from `first` to `last`.
#[derive(Clone, Copy)]
struct Delivery {
    reader: usize,
    sender: u32,
    first: i64,
    last: i64,
    is_committed: bool,
    idle: i64,
    asked: i64,
    read: i64,
    counts: bool,
}

/// An end of a partition that advances, with its last steps.
struct Mark {
    offset: i64,
    steps: VecDeque<(i64, i64)>,
}

struct Partition {
    topic: u32,
    number: i64,
    batches: VecDeque<Written>,
    early: Vec<Delivery>,
    readable: Mark,
    stable: Mark,
    end: i64,
    /// The end is not before this offset: Produces of a request log do not say how many records they have.
    least_end: i64,
    has_transactions: bool,
}

#[derive(Default)]
struct Stage {
    count: i64,
    sum: i128,
    longest: i64,
}

struct Pending {
    first: i64,
    last: i64,
    sent: i64,
    read: i64,
}

struct Reader {
    client: u32,
    partition: usize,
    position: i64,
    /// Connections with the offset after the last delivered one.
    cursors: Vec<(u32, i64)>,
    unmatched: i64,
    aborted: i64,
    again: i64,
    delay: Distribution,
    age: Distribution,
    committed: Distribution,
    linger: Stage,
    broker: Stage,
    poll: Stage,
    commit: Stage,
    pending: VecDeque<Pending>,
}

/// Timestamps of the records that a connection wrote.
#[derive(Default)]
struct Clock {
    records: i64,
    without: i64,
    old: i64,
    early: i64,
    ahead: i128,
    behind: Option<i128>,
}

/// Connection that fetches, then whether it is a follower, reads committed records, and counts.
#[derive(Clone, Copy)]
struct Fetcher {
    sender: u32,
    is_follower: bool,
    is_committed: bool,
    counts: bool,
}

/// First byte of the request, first and last byte of the response.
#[derive(Clone, Copy)]
struct FetchTimes {
    asked: i64,
    first: i64,
    last: i64,
}

/// Numbers of topics by broker and name or id, as Python assigned them.
#[derive(Default)]
struct Names {
    known: Mixed<Box<[u8]>, Option<u32>>,
    key: Vec<u8>,
}

#[pyclass(module = "kdissect._native")]
pub struct Delays {
    batches_kept: usize,
    readers_kept: usize,
    multiplier: f64,
    contents: Contents,
    number_of: Py<PyAny>,
    client_of: Py<PyAny>,
    names: Names,
    links: std::collections::HashSet<(u32, Box<str>)>,
    known: Known,
    partitions: ByKey<(u32, i64), Partition>,
    readers: ByKey<(u32, u32, i64), Reader>,
    /// By the number of a connection.
    clocks: Mixed<u32, Clock>,
    order: VecDeque<usize>,
    answers: Mixed<u32, i64>,
    /// By the number of a connection.
    clients: Vec<u32>,
    pending: usize,
    #[pyo3(get)]
    now: i64,
    #[pyo3(get)]
    forgotten: i64,
    #[pyo3(get)]
    unplaced: i64,
    #[pyo3(get)]
    left: i64,
}

type Batches = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);

#[pymethods]
impl Delays {
    /// How many batches and readers are stored, the multiplier that computes bins, the callables of
    /// `content.rs`, `number_of(broker, topic)`, which returns the number of a topic, None for one
    /// that does not fit, and `client_of(sender)`, which returns the client of a connection.
    #[new]
    fn new(
        batches_kept: usize,
        readers_kept: usize,
        multiplier: f64,
        contents: Batches,
        number_of: Py<PyAny>,
        client_of: Py<PyAny>,
    ) -> Self {
        let (limits, gzip, lz4, zstd, decompress) = contents;
        Delays {
            batches_kept,
            readers_kept,
            multiplier,
            contents: Contents::new(limits, gzip, [lz4, zstd], decompress),
            number_of,
            client_of,
            names: Names::default(),
            links: std::collections::HashSet::default(),
            known: Known::default(),
            partitions: ByKey::default(),
            readers: ByKey::default(),
            clocks: Mixed::default(),
            order: VecDeque::new(),
            answers: Mixed::default(),
            clients: Vec::new(),
            pending: 0,
            now: 0,
            forgotten: 0,
            unplaced: 0,
            left: 0,
        }
    }

    /// Count the exchanges of a block, from one on (`block::count`). `link` is called with a connection, a client id
    /// and a group in which the client acts.
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        way_of: &Bound<'_, PyAny>,
        numbers_of: &Bound<'_, PyAny>,
        link: Bound<'_, PyAny>,
    ) -> PyResult<(usize, u8)> {
        self.contents.look(block.py())?;
        let mut known = std::mem::take(&mut self.known);
        let mut counting = Counting { delays: self, link };
        let done = block::count(&mut counting, &mut known, block, start, way_of, numbers_of);
        self.known = known;
        done
    }

    /// Forget the numbers of brokers and topics: names changed.
    fn forget_names(&mut self) {
        self.names.known.clear();
        self.known.forget_senders();
    }

    /// `DelayState.met`.
    #[getter]
    fn met(&self) -> usize {
        self.clients.len()
    }

    /// `DelayState.meet`.
    fn meet(&mut self, client: u32) {
        self.clients.push(client);
    }

    /// `DelayState.produced`.
    #[pyo3(name = "produced")]
    fn take_produced(
        &mut self,
        sender: u32,
        place: (u32, i64),
        offset: i64,
        kinds: (bool, bool),
        times: (i64, i64),
        runs: Vec<Run>,
    ) {
        self.produced(sender, place, offset, kinds, times, runs.into());
    }

    /// `DelayState.fetched`.
    #[pyo3(name = "fetched")]
    fn take_fetched(
        &mut self,
        sender: u32,
        kinds: (bool, bool, bool),
        times: (i64, i64, i64),
        offsets: Vec<(u32, i64, i64)>,
        answered: Vec<ReadPartition>,
    ) {
        let ((is_follower, is_committed, counts), (asked, first, last)) = (kinds, times);
        let fetcher = Fetcher { sender, is_follower, is_committed, counts };
        self.fetched(fetcher, FetchTimes { asked, first, last }, &offsets, &answered);
    }

    /// `DelayState.committed`.
    #[pyo3(name = "committed")]
    fn take_committed(&mut self, client: u32, place: (u32, i64), offset: i64, time: i64, counts: bool) {
        self.committed((client, place.0, place.1), offset, time, counts);
    }

    /// `DelayState.logged`.
    fn logged(&mut self, place: (u32, i64), offset: i64) {
        let partition = self.partition(place).and_then(|at| self.partitions.found.get_mut(at));
        if let Some(partition) = partition {
            partition.least_end = partition.least_end.max(offset.min(MOST_OFFSET) + 1);
        }
    }

    /// `DelayState.lost`.
    fn lost(&mut self, client: u32, place: (u32, i64)) {
        let reader = self.readers.known((client, place.0, place.1));
        if let Some(reader) = reader.and_then(|at| self.readers.found.get_mut(at)) {
            reader.position = -1;
        }
    }

    /// `DelayState.readers`, which Python names.
    fn readers(&self) -> Vec<ReaderRow> {
        self.readers.found.iter().enumerate().map(|(at, reader)| self.reader_row(at, reader)).collect()
    }

    /// `DelayState.clocks`.
    fn clocks(&self) -> Vec<ClockRow> {
        self.clocks.iter().map(|(sender, clock)| clock.row(*sender)).collect()
    }

    /// `DelayState.take_clock`.
    fn take_clock(&mut self, sender: u32) -> Option<ClockRow> {
        self.clocks.remove(&sender).map(|clock| clock.row(sender))
    }
}

struct Counting<'a, 'py> {
    delays: &'a mut Delays,
    link: Bound<'py, PyAny>,
}

impl Counts for Counting<'_, '_> {
    fn of_member(
        &mut self,
        (sender, broker): (u32, u32),
        (info, _, row): (&Bound<'_, PyAny>, u64, &Row),
        requests: &MemberRequests,
    ) -> PyResult<u8> {
        let (py, delays) = (info.py(), &mut *self.delays);
        delays.know(py, sender)?;
        let client = delays.client(sender);
        let Some(who) = requests.sender(py, row) else { return Ok(LEFT) };
        let (Some(commits), Some(group)) = (requests.commits(py, row), who.group) else { return Ok(LEFT) };
        let mut numbers = Vec::new();
        if let Some(commits) = &commits {
            let Some(found) = delays.numbers(py, broker, commits)? else { return Ok(LEFT) };
            numbers = found;
        }
        let link = (client, Box::from(group));
        if !delays.links.contains(&link) {
            self.link.call1((info, &row.request.client_id, group))?;
            if delays.links.len() >= MOST_NAMES {
                delays.links.clear();
            }
            delays.links.insert(link);
        }
        let time = row.request.content.span.first_time;
        for commit in commits.iter().flat_map(|body| body.rows.iter()) {
            if let Some(Some(topic)) = numbers.get(commit.topic) {
                delays.committed((client, *topic, commit.partition), commit.values[0], time, true);
            }
        }
        Ok(COUNTED)
    }

    fn count(
        &mut self,
        who: (u32, u32),
        (info, row): (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        if row.is_logged() {
            return Ok(LEFT);
        }
        self.delays.know(info.py(), who.0)?;
        let done = if row.request.kind.api_key == PRODUCE {
            self.delays.produce(info.py(), who, row, request, response)?
        } else {
            self.delays.fetch(info.py(), who, row, request, response)?
        };
        Ok(if done.is_some() { COUNTED } else { LEFT })
    }
}

// From bodies to the state. None, without any change, for what Python has to read.
impl Delays {
    /// The numbers of a body's topics, None for one that does not fit. None if a name is Python's.
    fn numbers(
        &mut self,
        py: Python<'_>,
        broker: u32,
        body: &Body<'_>,
    ) -> PyResult<Option<Vec<Option<u32>>>> {
        let mut found = Vec::with_capacity(body.topics.len());
        for topic in &body.topics {
            if !topic.is_text() {
                return Ok(None);
            }
            found.push(self.number(py, broker, topic)?);
        }
        Ok(Some(found))
    }

    fn number(&mut self, py: Python<'_>, broker: u32, topic: &Topic<'_>) -> PyResult<Option<u32>> {
        let ((is_id, name), names) = (topic.key(), &mut self.names);
        names.key.clear();
        names.key.extend_from_slice(&broker.to_le_bytes());
        names.key.push(u8::from(is_id));
        names.key.extend_from_slice(name);
        if let Some(number) = names.known.get(names.key.as_slice()) {
            return Ok(*number);
        }
        let number = self.number_of.bind(py).call1((broker, named_object(py, is_id, name)))?.extract()?;
        if names.known.len() >= MOST_NAMES {
            names.known.clear();
        }
        names.known.insert(names.key.as_slice().into(), number);
        Ok(number)
    }

    fn produce(
        &mut self,
        py: Python<'_>,
        (sender, broker): (u32, u32),
        row: &Row,
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<Option<()>> {
        let Some((data, asked)) = read(request) else { return Ok(None) };
        let answered = match response {
            None => Some(Body::default()),
            Some(response) => read(response).map(|(_, body)| body),
        };
        let Some(answered) = answered else { return Ok(None) };
        let mut written = Vec::with_capacity(asked.rows.len());
        for of in asked.rows.iter() {
            let Some(found) = batches(data, of.records.clone().unwrap_or_default()) else { return Ok(None) };
            let mut read = Vec::with_capacity(found.len());
            for batch in found {
                let Some(runs) = self.runs(py, data, &batch)? else { return Ok(None) };
                read.push((batch.attributes & IN_TRANSACTION != 0, runs));
            }
            written.push(read);
        }
        let Some(numbers) = self.numbers(py, broker, &asked)? else { return Ok(None) };
        let sent = row.request.content.span.first_time;
        let time = row.response.as_ref().map_or(0, |content| content.span.first_time);
        let is_all = asked.facts[ACKS] == Some(ALL_IN_SYNC);
        for (of, read) in asked.rows.iter().zip(written) {
            let (Some(Some(topic)), Some(named)) = (numbers.get(of.topic), asked.topics.get(of.topic)) else {
                continue;
            };
            let mut offset = NONE;
            if response.is_some() {
                let result = answered.rows.iter().find(|row| {
                    row.partition == of.partition && answered.topics.get(row.topic) == Some(named)
                });
                let Some(result) = result.filter(|row| row.values[ERROR] == 0) else { continue };
                offset = result.values[BASE_OFFSET];
            }
            for (is_transactional, runs) in read {
                let count: i64 = runs.iter().map(|run| run.1).sum();
                let place = (*topic, of.partition);
                self.produced(sender, place, offset, (is_all, is_transactional), (sent, time), runs);
                offset = if offset < 0 { offset } else { offset.saturating_add(count) };
            }
        }
        Ok(Some(()))
    }

    fn fetch(
        &mut self,
        py: Python<'_>,
        who: (u32, u32),
        row: &Row,
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<Option<()>> {
        let Some((_, asked)) = read(request) else { return Ok(None) };
        let answered = match response {
            None => Some((&[] as &[u8], Body::default())),
            Some(response) => read(response),
        };
        let Some((data, answered)) = answered else { return Ok(None) };
        let mut found = Vec::with_capacity(answered.rows.len());
        for of in answered.rows.iter() {
            // Which records a reader leaves out is Python's.
            let is_pythons = of.values[ABORTED_COUNT] != 0;
            let batches = batches(data, of.records.clone().unwrap_or_default());
            let Some(batches) = batches.filter(|_| !is_pythons) else { return Ok(None) };
            found.push(batches);
        }
        let (Some(asking), Some(answering)) =
            (self.numbers(py, who.1, &asked)?, self.numbers(py, who.1, &answered)?)
        else {
            return Ok(None);
        };
        let offsets: Vec<_> = asked
            .rows
            .iter()
            .filter_map(|of| Some(((*asking.get(of.topic)?)?, of.partition, of.values[FETCH_OFFSET])))
            .collect();
        let mut partitions = Vec::with_capacity(found.len());
        for (of, batches) in answered.rows.iter().zip(found) {
            let Some(Some(topic)) = answering.get(of.topic) else { continue };
            if of.values[ERROR] != 0 {
                continue;
            }
            let read = batches.iter().filter_map(read_batch).collect();
            let (high, stable) = (of.values[HIGH_WATERMARK], of.values[LAST_STABLE]);
            partitions.push((*topic, of.partition, high, stable, read));
        }
        let fetcher = Fetcher {
            sender: who.0,
            is_follower: asked.facts[REPLICA_ID].is_some_and(|replica| replica >= 0),
            is_committed: asked.facts[ISOLATION_LEVEL] == Some(1),
            counts: true,
        };
        let span = row.response.as_ref().map(|content| content.span);
        let times = FetchTimes {
            asked: row.request.content.span.first_time,
            first: span.map_or(0, |span| span.first_time),
            last: span.map_or(0, |span| span.last_time),
        };
        self.fetched(fetcher, times, &offsets, &partitions);
        Ok(Some(()))
    }

    /// `delay_state.runs_of`; None if Python has to read the records.
    fn runs(&mut self, py: Python<'_>, data: &[u8], batch: &Batch) -> PyResult<Option<Box<[Run]>>> {
        if batch.attributes & CONTROL_BATCH != 0 {
            return Ok(Some(Box::default())); // markers are no records
        }
        if self.contents.is_dense(batch) || batch.count < 1 {
            return Ok(None);
        }
        let Some(content) = self.contents.of(py, data, batch)? else { return Ok(None) };
        Ok(runs_in(content.bytes(py, data), batch).map(shortened))
    }
}

/// A batch that a response has. None if its offsets may not fit.
fn read_batch(batch: &Batch) -> Option<ReadBatch> {
    let last = batch.base_offset.checked_add(i64::from(batch.last_offset_delta))?;
    if batch.base_offset < 0 || batch.last_offset_delta < 0 || last > MOST_OFFSET {
        return None;
    }
    let control = if batch.attributes & CONTROL_BATCH != 0 { CONTROL } else { 0 };
    let transactional = if batch.attributes & IN_TRANSACTION != 0 { TRANSACTIONAL } else { 0 };
    Some((batch.base_offset, last, i64::from(batch.count).max(0), control | transactional))
}

/// The CreateTimes of records that fill `data`, their number as the batch says; None if a record does not
/// fit: Python decides what counts of a damaged batch.
fn runs_in(data: &[u8], batch: &Batch) -> Option<Vec<Run>> {
    let (mut runs, mut count, mut at): (Vec<Run>, i64, usize) = (Vec::new(), 0, 0);
    let mut headers = Vec::new();
    while at < data.len() {
        headers.clear();
        let found = record(data, at, &mut headers)?;
        let time = if batch.is_log_append_time() {
            batch.max_timestamp
        } else {
            batch.base_timestamp.checked_add(found.timestamp_delta)?
        };
        let time = (time >= 0).then_some(time);
        match runs.last_mut() {
            Some(run) if run.0 == time => run.1 += 1,
            _ => runs.push((time, 1)),
        }
        count += 1;
        at = found.end;
    }
    (count == i64::from(batch.count)).then_some(runs)
}

/// `RUNS_KEPT` runs at most.
fn shortened(runs: Vec<Run>) -> Box<[Run]> {
    if runs.len() <= RUNS_KEPT {
        return runs.into();
    }
    let part = |part: &[Run]| (part.first().and_then(|run| run.0), part.iter().map(|run| run.1).sum());
    runs.chunks(runs.len().div_ceil(RUNS_KEPT)).map(part).collect()
}

// The state, as in Python.
impl Delays {
    /// Take the clients of connections up to this one.
    fn know(&mut self, py: Python<'_>, sender: u32) -> PyResult<()> {
        while self.clients.len() <= sender as usize {
            self.clients.push(self.client_of.bind(py).call1((self.clients.len(),))?.extract()?);
        }
        Ok(())
    }

    fn client(&self, sender: u32) -> u32 {
        self.clients.get(sender as usize).copied().unwrap_or_default()
    }

    fn produced(
        &mut self,
        sender: u32,
        place: (u32, i64),
        offset: i64,
        (is_all, is_transactional): (bool, bool),
        (sent, answered): (i64, i64),
        runs: Box<[Run]>,
    ) {
        self.now = self.now.max(sent).max(answered);
        if self.clocks.contains_key(&sender) || self.clocks.len() < self.readers_kept {
            self.clocks.entry(sender).or_default().add(&runs, sent);
        }
        let count: i64 = runs.iter().map(|run| run.1).sum();
        let Some(number) = self.partition(place).filter(|_| count > 0) else { return };
        let Some(partition) = self.partitions.found.get_mut(number) else { return };
        partition.has_transactions |= is_transactional;
        if !(0..=MOST_OFFSET).contains(&offset) {
            self.unplaced += count;
            return;
        }
        let last = offset + count - 1;
        let at = partition.place(offset);
        let is_after = partition.batches.get(at).is_some_and(|next| next.base <= last);
        let before = at.checked_sub(1).and_then(|at| partition.batches.get(at));
        if is_after || before.is_some_and(|before| before.last >= offset) {
            return; // a batch that was sent again
        }
        partition.end = partition.end.max(last + 1);
        let (readable, stable) = (partition.readable.time_of(last), partition.stable.time_of(last));
        let written = Written { base: offset, last, sent, answered, is_all, runs, readable, stable };
        partition.batches.insert(at, written);
        self.order.push_back(number);
        if !partition.early.is_empty() {
            self.match_early(number, at);
        }
        if self.order.len() > self.batches_kept {
            let oldest = self.order.pop_front().and_then(|number| self.partitions.found.get_mut(number));
            if let Some(partition) = oldest {
                partition.batches.pop_front();
                self.left += 1;
            }
        }
    }

    fn fetched(
        &mut self,
        fetcher: Fetcher,
        times: FetchTimes,
        asked: &[(u32, i64, i64)],
        answered: &[ReadPartition],
    ) {
        let Fetcher { sender, is_follower, is_committed, counts } = fetcher;
        self.now = self.now.max(times.asked).max(times.last);
        let client = self.client(sender);
        for &(topic, number, offset) in asked.iter().filter(|_| !is_follower) {
            if let Some(reader) = self.reader((client, topic, number)) {
                self.readers.found[reader].position = offset;
            }
        }
        let idle = self.answers.get(&sender).copied().unwrap_or(-NEVER);
        for (topic, number, high, stable, batches) in answered {
            let Some(partition) = self.partition((*topic, *number)) else { continue };
            let reader = if is_follower { None } else { self.reader((client, *topic, *number)) };
            for &(first, last, records, bits) in batches {
                self.partitions.found[partition].has_transactions |= bits & (CONTROL | TRANSACTIONAL) != 0;
                let Some(reader) = reader else { continue };
                let (asked, read) = (times.asked, times.last);
                let delivery =
                    Delivery { reader, sender, first, last, is_committed, idle, asked, read, counts };
                self.deliver(partition, delivery, records, bits);
                let reader = &mut self.readers.found[reader];
                reader.position = reader.position.max(last + 1);
            }
            let partition = &mut self.partitions.found[partition];
            partition.end = partition.end.max(*high);
            partition.advance(*high, times.first, false);
            partition.advance(*stable, times.first, true);
        }
        if !is_follower && times.last != 0 {
            if !self.answers.contains_key(&sender) && self.answers.len() >= SENDERS_KEPT {
                self.answers.clear();
            }
            self.answers.insert(sender, times.last);
        }
    }

    fn committed(&mut self, key: (u32, u32, i64), offset: i64, time: i64, counts: bool) {
        self.now = self.now.max(time);
        let Some(at) = self.readers.known(key) else { return };
        let Some(reader) = self.readers.found.get_mut(at) else { return };
        while let Some(front) = reader.pending.front_mut().filter(|front| front.first < offset) {
            let Pending { first, last, sent, read } = *front;
            let end = last.min(offset - 1);
            if end < last {
                front.first = end + 1;
            } else {
                reader.pending.pop_front();
                self.pending -= 1;
            }
            if counts && time >= read {
                reader.commit.add(time - read, end - first + 1);
                add(&mut reader.committed, time - sent, end - first + 1, self.multiplier);
            }
        }
    }

    fn partition(&mut self, key: (u32, i64)) -> Option<usize> {
        let known = self.partitions.known(key);
        if known.is_some() || self.partitions.found.len() >= PARTITIONS_KEPT {
            return known;
        }
        Some(self.partitions.place(key, || Partition::new(key)))
    }

    fn reader(&mut self, (client, topic, number): (u32, u32, i64)) -> Option<usize> {
        let known = self.readers.known((client, topic, number));
        if known.is_some() {
            return known;
        }
        let partition = self.partition((topic, number));
        let Some(partition) = partition.filter(|_| self.readers.found.len() < self.readers_kept) else {
            self.forgotten += 1;
            return None;
        };
        Some(self.readers.place((client, topic, number), || Reader::new(client, partition)))
    }

    fn deliver(&mut self, number: usize, delivery: Delivery, records: i64, bits: u8) {
        let Delivery { last, counts, .. } = delivery;
        let reader = &mut self.readers.found[delivery.reader];
        let delivered = reader.delivered(delivery.sender);
        let mut first = delivery.first.max(delivered);
        if first > last || bits & CONTROL != 0 {
            reader.again += if counts && bits & CONTROL == 0 { records } else { 0 };
            return;
        }
        if delivered < 0 {
            first = first.max(reader.position); // the client drops records before the offset it asked for
            if first > last {
                return;
            }
        }
        reader.deliver(delivery.sender, last + 1);
        if bits & ABORTED != 0 {
            reader.aborted += if counts { records } else { 0 };
            return;
        }
        if records != last - delivery.first + 1 {
            reader.unmatched += if counts { records } else { 0 }; // compaction removed some of them
        } else {
            self.match_offsets(number, delivery, first);
        }
    }

    /// Match offsets from `first` on with the batches that wrote them.
    fn match_offsets(&mut self, number: usize, delivery: Delivery, mut first: i64) {
        let Delivery { last, counts, .. } = delivery;
        let mut at = self.partitions.found[number].place(first);
        while let Some(written) = self.partitions.found[number].batches.get(at) {
            if written.base > last {
                break;
            }
            if written.base > first && counts {
                self.readers.found[delivery.reader].unmatched += written.base - first;
            }
            let part = Delivery { first: first.max(written.base), last: last.min(written.last), ..delivery };
            first = part.last + 1;
            self.count_delivery(number, at, part);
            at += 1;
        }
        if first > last {
            return;
        }
        let partition = &mut self.partitions.found[number];
        if partition.batches.back().is_some_and(|newest| newest.last >= first) {
            self.readers.found[delivery.reader].unmatched += if counts { last - first + 1 } else { 0 };
            return;
        }
        partition.early.push(Delivery { first, ..delivery });
        if partition.early.len() > EARLY_KEPT {
            let oldest = partition.early.remove(0);
            let records = oldest.last - oldest.first + 1;
            self.readers.found[oldest.reader].unmatched += if oldest.counts { records } else { 0 };
        }
    }

    /// Match a batch with reads that came before the response of its Produce.
    fn match_early(&mut self, number: usize, at: usize) {
        let early = std::mem::take(&mut self.partitions.found[number].early);
        let Some((base, end)) = self.partitions.found[number].batches.get(at).map(|of| (of.base, of.last))
        else {
            return;
        };
        let mut left = Vec::new();
        for read in early {
            let (first, last) = (read.first.max(base), read.last.min(end));
            if first > last {
                left.push(read);
                continue;
            }
            self.count_delivery(number, at, Delivery { first, last, ..read });
            if read.first < first {
                left.push(Delivery { last: first - 1, ..read });
            }
            if read.last > last {
                left.push(Delivery { first: last + 1, ..read });
            }
        }
        self.partitions.found[number].early = left;
    }

    /// Count the delivery of records of one batch.
    fn count_delivery(&mut self, number: usize, at: usize, read: Delivery) {
        let partition = &self.partitions.found[number];
        let Some(written) = partition.batches.get(at).filter(|_| read.counts) else { return };
        let (reader, count) = (&mut self.readers.found[read.reader], read.last - read.first + 1);
        let delay = read.read.saturating_sub(written.sent);
        if delay < 0 {
            reader.unmatched += count; // two clocks, in captures of several places
            return;
        }
        let poll = written.poll(partition.has_transactions, &read);
        add(&mut reader.delay, delay, count, self.multiplier);
        reader.poll.add(poll, count);
        reader.broker.add(delay - poll, count);
        let mut offset = written.base;
        for &(created, records) in &written.runs {
            let number = read.last.min(offset + records - 1) - read.first.max(offset) + 1;
            offset += records;
            let waited = created.map_or(-1, |created| i128::from(written.sent) - i128::from(created) * MS);
            if number > 0 && (0..=OLDEST_NS).contains(&waited) {
                let waited = waited as i64;
                reader.linger.add(waited, number);
                add(&mut reader.age, delay.saturating_add(waited), number, self.multiplier);
            }
        }
        if reader.pending.len() >= PENDING_KEPT || self.pending >= ALL_PENDING_KEPT {
            if reader.pending.pop_front().is_none() {
                return;
            }
            self.pending -= 1;
        }
        let Delivery { first, last, .. } = read;
        reader.pending.push_back(Pending { first, last, sent: written.sent, read: read.read });
        self.pending += 1;
    }

    fn reader_row(&self, at: usize, reader: &Reader) -> ReaderRow {
        let partition = &self.partitions.found[reader.partition];
        let waiting = partition.early.iter().filter(|early| early.reader == at && early.counts);
        let waiting: i64 = waiting.map(|early| early.last - early.first + 1).sum();
        (
            (reader.client, partition.topic, partition.number),
            (reader.unmatched + waiting, reader.aborted, reader.again),
            [&reader.delay, &reader.age, &reader.committed].map(Distribution::row),
            [&reader.linger, &reader.broker, &reader.poll, &reader.commit].map(Stage::row),
            partition.lag(reader.position, self.now),
        )
    }
}

impl Written {
    /// For how long records could be read before they were (`delay_state._poll`).
    fn poll(&self, has_transactions: bool, read: &Delivery) -> i64 {
        let proof = match (read.is_committed && has_transactions, self.is_all && self.answered != 0) {
            (true, _) => self.stable,
            (false, true) => self.readable.min(self.answered),
            (false, false) => self.readable,
        };
        if proof < read.read {
            return read.read.saturating_sub(proof.max(self.sent));
        }
        let answered = if self.answered == 0 { self.sent } else { self.answered };
        let since = answered.max(self.sent).max(read.idle);
        read.asked.min(read.read).saturating_sub(since).max(0)
    }
}

impl Mark {
    fn new() -> Mark {
        Mark { offset: -1, steps: VecDeque::new() }
    }

    /// When it was first seen after an offset.
    fn time_of(&self, last: i64) -> i64 {
        self.steps.iter().find(|step| step.0 > last).map_or(NEVER, |step| step.1)
    }
}

impl Partition {
    fn new((topic, number): (u32, i64)) -> Partition {
        Partition {
            topic,
            number,
            batches: VecDeque::new(),
            early: Vec::new(),
            readable: Mark::new(),
            stable: Mark::new(),
            end: -1,
            least_end: -1,
            has_transactions: false,
        }
    }

    /// The number of the first batch that ends at an offset or after it.
    fn place(&self, offset: i64) -> usize {
        if self.batches.back().is_none_or(|newest| newest.last < offset) {
            return self.batches.len(); // nearly always
        }
        self.batches.partition_point(|written| written.last < offset)
    }

    /// Take an end of the partition from a response.
    fn advance(&mut self, offset: i64, time: i64, is_stable: bool) {
        let before = if is_stable { self.stable.offset } else { self.readable.offset };
        if offset <= before {
            return;
        }
        for written in self.batches.range_mut(self.place(before)..) {
            if written.last >= offset {
                break;
            }
            let seen = if is_stable { &mut written.stable } else { &mut written.readable };
            *seen = time.min(*seen);
        }
        let mark = if is_stable { &mut self.stable } else { &mut self.readable };
        mark.offset = offset;
        if mark.steps.len() >= STEPS_KEPT {
            mark.steps.pop_front();
        }
        mark.steps.push_back((offset, time));
    }

    fn lag(&self, position: i64, now: i64) -> (Option<i64>, Option<i64>) {
        if position < 0 || self.end < position.max(self.least_end) {
            return (None, None);
        }
        if self.end == position {
            return (Some(0), Some(0));
        }
        let first = self.batches.get(self.place(position)).filter(|written| written.base <= position);
        (Some(self.end - position), first.map(|written| now.saturating_sub(written.sent).max(0)))
    }
}

impl Stage {
    fn add(&mut self, value: i64, count: i64) {
        self.count += count;
        self.sum += i128::from(value) * i128::from(count);
        self.longest = self.longest.max(value);
    }

    fn row(&self) -> Sum {
        (self.count, self.sum, self.longest)
    }
}

impl Reader {
    fn new(client: u32, partition: usize) -> Reader {
        Reader {
            client,
            partition,
            position: -1,
            cursors: Vec::new(),
            unmatched: 0,
            aborted: 0,
            again: 0,
            delay: Distribution::default(),
            age: Distribution::default(),
            committed: Distribution::default(),
            linger: Stage::default(),
            broker: Stage::default(),
            poll: Stage::default(),
            commit: Stage::default(),
            pending: VecDeque::new(),
        }
    }
}

impl Reader {
    /// The offset after the last delivered one on a connection, -1 without one.
    fn delivered(&self, sender: u32) -> i64 {
        self.cursors.iter().find(|cursor| cursor.0 == sender).map_or(-1, |cursor| cursor.1)
    }

    fn deliver(&mut self, sender: u32, behind: i64) {
        match self.cursors.iter_mut().find(|cursor| cursor.0 == sender) {
            Some(cursor) => cursor.1 = behind,
            None => self.cursors.push((sender, behind)),
        }
        if self.cursors.len() > CURSORS_KEPT {
            self.cursors.remove(0);
        }
    }
}

impl Clock {
    fn row(&self, sender: u32) -> ClockRow {
        (sender, self.records, self.without, self.old, self.early, self.ahead, self.behind)
    }

    fn add(&mut self, runs: &[Run], sent: i64) {
        for &(created, count) in runs {
            self.records += count;
            let Some(created) = created else {
                self.without += count;
                continue;
            };
            let waited = i128::from(sent) - i128::from(created) * MS;
            if waited > OLDEST_NS {
                self.old += count;
            } else if waited < 0 {
                self.early += count;
                self.ahead = self.ahead.max(-waited);
            } else {
                self.behind = Some(self.behind.map_or(waited, |before| before.min(waited)));
            }
        }
    }
}

fn add(distribution: &mut Distribution, value: i64, count: i64, multiplier: f64) {
    if let Ok(count) = u64::try_from(count) {
        distribution.add_times(value, bin_of(value, multiplier), count);
    }
}
