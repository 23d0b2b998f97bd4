//! `kdissect.stages.rows.flow_rows.ExchangeTables` for exchanges without anything unusual: their rows as columns.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use super::asked::{self, Asked, Connection, Facts, Kind, Lasting, RecordsSide, Source, Turn};
use super::batch_table::{has_row, BatchTable, PartitionTable, Section, Shared};
use super::exchange_table::ExchangeTable;
use super::{Named, Order};
use crate::bodies::partition_rows::{self, Body, PartitionRows};
use crate::bodies::summaries::{Mixed, Numbered};
use crate::engine::by_loan::ByLoan;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::exchange::Frame;
use crate::places::{FILE_SHIFT, NUMBER_MASK};
use crate::records::batch::{Batch, ATTRIBUTES_AT};
use crate::records::program::{run, Base, RecordsField, Topic};
use crate::records::quick::QuickMap;
use crate::transfers::block::{is_of_metadata_log, may_tell_names};
use crate::transfers::told_names::ToldNames;

/// Maximum number of remembered facts and names, after which they are forgotten.
const MOST: usize = 4096;
/// Replaces the number of its summary.
const NO_ANSWER: u64 = u64::MAX;

/// The batches of a records field.
struct Found {
    field: RecordsField,
    bytes: usize,
    batches: Range<usize>,
}

/// Names of inputs by their numbers, None for one that is no UTF-8.
#[derive(Default)]
struct FileNames(Mixed<i64, Option<Box<str>>>);

impl FileNames {
    /// The name of a packet's input, which `knows_file` found.
    fn of(&self, reference: i64) -> &str {
        self.0.get(&(reference >> FILE_SHIFT)).and_then(Option::as_deref).unwrap_or_default()
    }
}

/// Order of events by bytes: times before 1970 sort before later ones.
const ORDER_BIAS: u64 = 1 << 63;
const ORDER_BYTES: usize = 20;

/// `kdissect.engine.event_order`: the place of the exchange that a packet completed after `behind`
/// earlier ones.
fn order_of(latest_ns: i64, reference: i64, behind: u32) -> [u8; ORDER_BYTES] {
    let time = (latest_ns as u64).wrapping_add(ORDER_BIAS);
    let mut made = [0; ORDER_BYTES];
    let parts = [&time.to_be_bytes()[..], &reference.to_be_bytes(), &behind.to_be_bytes()];
    made.iter_mut().zip(parts.into_iter().flatten()).for_each(|(to, from)| *to = *from);
    made
}

/// Which tables are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    exchanges: bool,
    partitions: bool,
    batches: bool,
    /// Whether the batches have to be looked at.
    looks: bool,
}

/// Rows of tables for the taken exchanges.
#[pyclass(module = "kdissect._native")]
pub struct ExchangeTables {
    asked: Asked,
    /// Names of topics that Python received; None if it does not record them.
    told: Option<Py<ToldNames>>,
    wanted: Wanted,
    kinds: Mixed<i64, Arc<Kind>>,
    /// By both summaries. Facts that depend on names also have the broker's number, other facts 0.
    facts: Mixed<(u64, u64, u32), Arc<Facts>>,
    /// Names of topic ids by the broker's number.
    names: HashMap<(u32, [u8; 16]), Option<Arc<str>>>,
    /// Number of changes to names when these were received.
    changes: i64,
    ids: HashMap<[u8; 16], Arc<str>>,
    errors: Mixed<i64, Arc<str>>,
    files: FileNames,
    /// Of files in their capture sets.
    numbers: QuickMap<i64, i64>,
    brokers: HashMap<(Box<str>, Box<str>), u32>,
    /// Number of brokers so far. No number is used twice.
    brokers_met: u32,
    connections: ByLoan<Option<Arc<Connection>>>,
    /// Client ids of the current block, identified by their addresses.
    client_ids: QuickMap<usize, (Py<PyAny>, Option<Arc<str>>)>,
    exchanges: ExchangeTable,
    partitions: PartitionTable,
    batches: BatchTable,
    // Of the current exchange.
    fields: Vec<RecordsField>,
    found: Vec<Found>,
    cut: Vec<Batch>,
}

#[pymethods]
impl ExchangeTables {
    /// The callables are the fields of `Asked`, in their order. `wants`: exchanges, topic
    /// partitions, batches, and whether batches must be read in any case.
    #[new]
    fn new(asked: [Py<PyAny>; 10], wants: (bool, bool, bool, bool), told: Option<Py<ToldNames>>) -> Self {
        let [fields_of, connection_of, kind_of, facts_of, name_of, id_text, file_of, rest_fits, changes_of, error_of] =
            asked;
        let (exchanges, partitions, batches, looks) = wants;
        ExchangeTables {
            asked: Asked {
                fields_of,
                connection_of,
                kind_of,
                facts_of,
                name_of,
                id_text,
                file_of,
                rest_fits,
                changes_of,
                error_of,
            },
            told,
            wanted: Wanted { exchanges, partitions, batches, looks: looks || partitions || batches },
            kinds: Mixed::default(),
            facts: Mixed::default(),
            names: HashMap::new(),
            changes: 0,
            ids: HashMap::new(),
            errors: Mixed::default(),
            files: FileNames::default(),
            numbers: QuickMap::default(),
            brokers: HashMap::new(),
            brokers_met: 0,
            connections: ByLoan::default(),
            client_ids: QuickMap::default(),
            exchanges: ExchangeTable::default(),
            partitions: PartitionTable::default(),
            batches: BatchTable::default(),
            fields: Vec::new(),
            found: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Add the rows of an exchange; False, without adding any, if it is Python's.
    fn add(&mut self, exchange: &Bound<'_, PyAny>, order: &Bound<'_, PyBytes>) -> PyResult<bool> {
        let py = exchange.py();
        let Some((info, header, request, response)) = self.asked.fields(exchange)? else { return Ok(false) };
        let Some(connection) = self.connection(&info)? else { return Ok(false) };
        let (ordinal, api_key, api_version, correlation_id, client_id) = header;
        let turn = Turn {
            source: Source::Object(exchange),
            connection,
            ordinal,
            api_key,
            api_version,
            correlation_id,
            client_id: client_id.map(|id| Arc::from(&*id)),
            request: asked::frame(request),
            response: response.map(asked::frame),
        };
        let kind = self.kind(py, api_key, api_version)?;
        self.follow_names(py)?;
        self.add_of(&turn, &kind, order.as_bytes(), false)
    }

    /// Add the rows of a block's exchanges, from `start` on, and return the number of the first one
    /// that is Python's, or the block's length. That is one whose rows Python makes, or that may
    /// say new names of topics. `number_of` gives for a file its number in its capture set. A block
    /// is begun at 0; `most` rows of a table are enough.
    fn add_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        number_of: &Bound<'_, PyAny>,
        most: usize,
    ) -> PyResult<usize> {
        let py = block.py();
        if start == 0 {
            self.client_ids.clear();
        }
        self.follow_names(py)?;
        let mut at = start;
        while !self.is_full(most) && self.add_row(block, at, number_of)? {
            at += 1;
        }
        Ok(at)
    }

    /// How many rows there are of a table.
    fn rows(&self, table: &str) -> usize {
        match table {
            "exchanges" => self.exchanges.rows,
            "topic_partitions" => self.partitions.rows(),
            "batches" => self.batches.rows(),
            _ => 0,
        }
    }

    /// Return the columns of a table with their names, and empty the table.
    fn take<'py>(&mut self, py: Python<'py>, table: &str) -> PyResult<Vec<Named<'py>>> {
        match table {
            "exchanges" => self.exchanges.take(py),
            "topic_partitions" => self.partitions.take(py),
            "batches" => self.batches.take(py),
            _ => Ok(Vec::new()),
        }
    }
}

impl ExchangeTables {
    fn is_full(&self, most: usize) -> bool {
        self.exchanges.rows >= most || self.partitions.rows() >= most || self.batches.rows() >= most
    }

    fn kind(&mut self, py: Python<'_>, api_key: i16, api_version: i16) -> PyResult<Arc<Kind>> {
        let number = i64::from(api_key) << 16 | i64::from(api_version as u16);
        if let Some(kind) = self.kinds.get(&number) {
            return Ok(kind.clone());
        }
        let kind = Arc::new(self.asked.kind(py, api_key, api_version)?);
        Ok(self.kinds.entry(number).or_insert(kind).clone())
    }

    fn connection(&mut self, info: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Connection>>> {
        if self.brokers.len() >= MOST {
            self.brokers.clear();
        }
        let (brokers, met) = (&mut self.brokers, &mut self.brokers_met);
        let number_of = |capture_set: &str, address: &str| {
            *brokers.entry((capture_set.into(), address.into())).or_insert_with(|| {
                *met = met.wrapping_add(1);
                *met
            })
        };
        Ok(self.asked.connection(info, number_of)?.map(Arc::new))
    }

    fn forget_names(&mut self) {
        self.facts.clear();
        self.names.clear();
    }

    /// Forget names that may have changed.
    fn follow_names(&mut self, py: Python<'_>) -> PyResult<()> {
        let changes = self.asked.changes(py)?;
        if changes != self.changes {
            self.changes = changes;
            self.forget_names();
        }
        Ok(())
    }

    /// False, without adding any rows, for a row that is Python's, or does not exist.
    fn add_row(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        at: usize,
        number_of: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let py = block.py();
        let rows = block.borrow();
        let Some(of) = rows.row(at).filter(|of| !of.row.is_logged()) else { return Ok(false) };
        let number = of.connection as usize;
        let Some(info) = rows.connections.get(number) else { return Ok(false) };
        let loan = rows.loan(number);
        let mut connections = std::mem::take(&mut self.connections);
        let connection = connections.of(loan, || self.connection(info.bind(py)));
        self.connections = connections;
        let Some(connection) = connection? else { return Ok(false) };
        let request = &of.row.request;
        let Some(client_id) = self.client_id(request.client_id.bind(py)) else { return Ok(false) };
        let (api_key, api_version) = (request.kind.api_key, request.kind.version);
        let kind = self.kind(py, api_key, api_version)?;
        let is_told = match &self.told {
            Some(told) if kind.tells_names => told.borrow_mut(py).knows(py, &rows, of)?,
            _ => {
                let answered = kind.transfers.as_ref().map(|(_, answered)| answered.get());
                !kind.tells_names && !may_tell_names(py, &of.row, answered)
            }
        };
        if !is_told {
            return Ok(false);
        }
        let turn = Turn {
            source: Source::Row(block, at),
            connection,
            ordinal: request.ordinal,
            api_key,
            api_version,
            correlation_id: request.id,
            client_id,
            request: Frame::of_content(py, &request.content),
            response: of.row.response.as_ref().map(|content| Frame::of_content(py, content)),
        };
        let (place, behind) = of.place();
        let file = place.reference >> FILE_SHIFT;
        let file_number = match self.numbers.get(&file) {
            Some(&number) => number,
            None => *self.numbers.entry(file).or_insert(number_of.call1((file,))?.extract()?),
        };
        let reference = file_number << FILE_SHIFT | place.reference & NUMBER_MASK;
        let order = order_of(place.latest_ns, reference, behind);
        let are_found = self.find_records(py, &kind, &of.row).is_some();
        drop(rows); // what follows may make it an object
        self.add_of(&turn, &kind, &order, are_found)
    }

    /// Find the records fields of a row as others read its bodies; None where they do not.
    fn find_records(&mut self, py: Python<'_>, kind: &Kind, row: &Row) -> Option<()> {
        let side = kind.records.as_ref().filter(|_| self.wanted.looks)?;
        let (asked, answered) = kind.transfers.as_ref()?;
        let (content, rows) = match side.is_response {
            true => (row.response.as_ref()?, answered),
            false => (&row.request.content, asked),
        };
        let data = content.data.as_bytes(py);
        self.fields.clear();
        for (of, place, topic) in content.found(py, rows.get())?.with_records() {
            let (is_id, topic_at) = topic?;
            let named = data.get(topic_at.clone())?;
            let (topic, topic_id) = match is_id {
                true => (Topic::None, Some(named.try_into().ok()?)),
                false => (std::str::from_utf8(named).ok().map(|_| Topic::Wire(topic_at.clone()))?, None),
            };
            let partition = Some(i32::try_from(of.partition).ok()?);
            let Range { start, end } = place;
            let base = Base::InRecords; // rows of records are Python's
            self.fields.push(RecordsField { topic, topic_id, partition, start, end, base });
        }
        Some(())
    }

    /// A client id of the current block; None for one that is not UTF-8.
    fn client_id(&mut self, client_id: &Bound<'_, PyAny>) -> Option<Option<Arc<str>>> {
        if client_id.is_none() {
            return Some(None);
        }
        let number = client_id.as_ptr() as usize;
        let (_, known) = self.client_ids.entry(number).or_insert_with(|| {
            let text = client_id.extract::<PyBackedStr>().ok();
            (client_id.clone().unbind(), text.map(|text| Arc::from(&*text)))
        });
        known.clone().map(Some)
    }

    /// The records fields are found already, or are to be.
    fn add_of(
        &mut self,
        turn: &Turn<'_, '_>,
        kind: &Kind,
        order: Order<'_>,
        are_found: bool,
    ) -> PyResult<bool> {
        let py = turn.py();
        let latency_ns = match &turn.response {
            Some(response) => response.time_ns.checked_sub(turn.request.end_time_ns),
            None => None,
        };
        if turn.response.is_some() != latency_ns.is_some() {
            return Ok(false);
        }
        let records = match &kind.records {
            Some(side) if self.wanted.looks => match self.look(turn, side, are_found)? {
                Some(frame) => frame.map(|frame| (side, frame)),
                None => return Ok(false),
            },
            _ => None,
        };
        let asked = kind.ask.at(&turn.request)?;
        let answered = match &turn.response {
            Some(response) => Some(kind.answer.at(response)?),
            None => None,
        };
        let has_error = self.has_error(py, records.is_some(), answered.as_ref().map(|found| &found.1))?;
        let errors = match (&turn.response, &kind.transfers) {
            _ if !has_error => Some(Body::default()),
            (Some(response), Some((_, rows))) => read(rows.get(), response),
            _ => None,
        };
        let Some(errors) = errors else { return Ok(false) };
        for frame in [Some(&turn.request), turn.response.as_ref()].into_iter().flatten() {
            if !self.knows_file(py, frame.first_ref)? || !self.knows_file(py, frame.last_ref)? {
                return Ok(false);
            }
        }
        if self.wanted.exchanges {
            let facts = self.facts_of(turn, kind, asked, answered)?;
            let names = &self.files;
            let files = |frame: &Frame<'_>| (names.of(frame.first_ref), names.of(frame.last_ref));
            let both = (files(&turn.request), turn.response.as_ref().map(files));
            self.exchanges.push(turn, kind, &facts, order, both, latency_ns);
        }
        self.push_records(turn, records, &errors, order).map(|()| true)
    }

    /// Names of topics are recorded from an object that may contain some, so it always goes to Python.
    /// A row contains no new names.
    fn facts_of(
        &mut self,
        turn: &Turn<'_, '_>,
        kind: &Kind,
        asked: Numbered,
        answered: Option<Numbered>,
    ) -> PyResult<Arc<Facts>> {
        let (first, second) = (asked.0, answered.as_ref().map_or(NO_ANSWER, |found| found.0));
        let broker = turn.connection.broker_number;
        let is_row = matches!(turn.source, Source::Row(..));
        let is_learned_from = !is_row
            && self.told.is_some()
            && (kind.tells_names || is_of_metadata_log(turn.api_key, turn.request.data.as_bytes()));
        if !is_learned_from {
            for key in [(first, second, 0), (first, second, broker)] {
                if let Some(facts) = self.facts.get(&key) {
                    return Ok(facts.clone());
                }
            }
        }
        let (facts, lasting) = self.asked.facts(turn, asked.1, answered.map(|found| found.1))?;
        let lasting = if kind.tells_names && is_row { Lasting::Always } else { lasting };
        let facts = Arc::new(facts);
        self.follow_names(turn.py())?;
        if lasting != Lasting::Not && first > 0 && second > 0 {
            if self.facts.len() >= MOST {
                self.facts.clear();
            }
            let broker = if lasting == Lasting::Always { 0 } else { broker };
            self.facts.insert((first, second, broker), facts.clone());
        }
        Ok(facts)
    }

    /// Whether a partition may have an error code, which is next to its records.
    fn has_error(&self, py: Python<'_>, has_records: bool, answered: Option<&Py<PyAny>>) -> PyResult<bool> {
        match answered {
            Some(summary) if has_records && self.wanted.partitions => {
                Ok(summary.bind(py).get_item(0)?.len()? > 0)
            }
            _ => Ok(false),
        }
    }

    /// Whether the file of a packet has a name in UTF-8, which is known then.
    fn knows_file(&mut self, py: Python<'_>, reference: i64) -> PyResult<bool> {
        let number = reference >> FILE_SHIFT;
        if let Some(name) = self.files.0.get(&number) {
            return Ok(name.is_some());
        }
        let name = self.asked.file(py, number)?;
        let is_known = name.is_some();
        self.files.0.insert(number, name);
        Ok(is_known)
    }

    /// The batches of an exchange: None if Python must find them, Some(None) without any.
    fn look<'a, 'py>(
        &mut self,
        turn: &'a Turn<'_, 'py>,
        side: &RecordsSide,
        are_found: bool,
    ) -> PyResult<Option<Option<&'a Frame<'py>>>> {
        self.found.clear();
        self.cut.clear();
        let frame = if side.is_response { turn.response.as_ref() } else { Some(&turn.request) };
        let Some(frame) = frame else { return Ok(Some(None)) };
        let (Some(way), Ok(offset)) = (&side.way, usize::try_from(frame.body_offset)) else {
            return Ok(None);
        };
        let data = frame.data.as_bytes();
        if !are_found {
            self.fields.clear();
        }
        if offset == 0 || !(are_found || run(way, data, offset, &mut self.fields).is_some()) {
            return Ok(None);
        }
        for field in self.fields.drain(..) {
            let (first, mut at) = (self.cut.len(), field.start);
            while let Some(batch) = Batch::at(data, at, field.end) {
                let covered = data.get(batch.start + ATTRIBUTES_AT..batch.end).unwrap_or_default();
                if !has_row(&batch) || crc32c(covered) != batch.crc {
                    return Ok(None);
                }
                at = batch.end;
                self.cut.push(batch);
            }
            if at < field.end && !self.asked.rest_fits(frame, at, field.end, side.is_response)? {
                return Ok(None);
            }
            let bytes = field.end - field.start;
            self.found.push(Found { field, bytes, batches: first..self.cut.len() });
        }
        Ok(Some(Some(frame)))
    }

    fn push_records(
        &mut self,
        turn: &Turn<'_, '_>,
        records: Option<(&RecordsSide, &Frame<'_>)>,
        errors: &Body<'_>,
        order: Order<'_>,
    ) -> PyResult<()> {
        let Some((side, frame)) = records else { return Ok(()) };
        let wanted = self.wanted;
        if !wanted.partitions && !wanted.batches {
            return Ok(());
        }
        let found = std::mem::take(&mut self.found);
        let done = self.push_sections(turn, (side, frame), &found, errors, order);
        self.found = found; // for its memory
        if wanted.partitions {
            let file = self.files.of(frame.first_ref);
            self.partitions.end(&Shared { turn, frame, direction: &side.direction, file, order });
        }
        done
    }

    fn push_sections(
        &mut self,
        turn: &Turn<'_, '_>,
        (side, frame): (&RecordsSide, &Frame<'_>),
        all: &[Found],
        errors: &Body<'_>,
        order: Order<'_>,
    ) -> PyResult<()> {
        let wanted = self.wanted;
        for (number, found) in all.iter().enumerate() {
            let (field, data) = (&found.field, frame.data.as_bytes());
            let named = match (&field.topic, &field.topic_id) {
                (Topic::None, Some(id)) => self.name(turn, id)?,
                _ => None,
            };
            let topic = match &field.topic {
                Topic::Wire(place) => data.get(place.clone()),
                Topic::None | Topic::Told(_) => named.as_ref().map(|name| name.as_bytes()),
            };
            let id = match &field.topic_id {
                Some(id) => Some(self.id_text(turn.py(), id)?),
                None => None,
            };
            let error = match error_of(errors, field, data) {
                0 => None,
                code => Some(self.error(turn.py(), code)?),
            };
            let section = Section {
                topic,
                topic_id: id.as_ref().map(|id| id.as_bytes()),
                partition: field.partition,
                number: number as i64,
                error: error.as_ref().map(|name| name.as_bytes()),
            };
            let batches = self.cut.get(found.batches.clone()).unwrap_or_default();
            if wanted.partitions {
                self.partitions.push(&section, batches, found.bytes);
            }
            if wanted.batches {
                let file = self.files.of(frame.first_ref);
                let shared = Shared { turn, frame, direction: &side.direction, file, order };
                for batch in batches.iter().enumerate() {
                    self.batches.push(&shared, &section, batch);
                }
            }
        }
        Ok(())
    }

    /// The name of a topic id on the connection of an exchange.
    fn name(&mut self, turn: &Turn<'_, '_>, id: &[u8; 16]) -> PyResult<Option<Arc<str>>> {
        let key = (turn.connection.broker_number, *id);
        if let Some(name) = self.names.get(&key) {
            return Ok(name.clone());
        }
        let (name, is_lasting) = self.asked.name(turn, id)?;
        let name: Option<Arc<str>> = name.map(|name| Arc::from(&*name));
        self.follow_names(turn.py())?;
        if is_lasting {
            if self.names.len() >= MOST {
                self.names.clear();
            }
            self.names.insert(key, name.clone());
        }
        Ok(name)
    }

    fn error(&mut self, py: Python<'_>, code: i64) -> PyResult<Arc<str>> {
        if let Some(name) = self.errors.get(&code) {
            return Ok(name.clone());
        }
        let name: Arc<str> = Arc::from(&*self.asked.error(py, code)?);
        if self.errors.len() >= MOST {
            self.errors.clear();
        }
        self.errors.insert(code, name.clone());
        Ok(name)
    }

    fn id_text(&mut self, py: Python<'_>, id: &[u8; 16]) -> PyResult<Arc<str>> {
        if let Some(text) = self.ids.get(id) {
            return Ok(text.clone());
        }
        let text: Arc<str> = Arc::from(&*self.asked.id_text(py, id)?);
        if self.ids.len() >= MOST {
            self.ids.clear();
        }
        self.ids.insert(*id, text.clone());
        Ok(text)
    }
}

/// The partitions of a response; None where Python has to read them.
fn read<'a>(rows: &PartitionRows, response: &'a Frame<'_>) -> Option<Body<'a>> {
    rows.read(response.data.as_bytes(), usize::try_from(response.body_offset).ok()?)
}

/// The error code of the partition that a records field belongs to, 0 for none: the last one that a response says.
fn error_of(errors: &Body<'_>, field: &RecordsField, data: &[u8]) -> i64 {
    let named = match (&field.topic, &field.topic_id) {
        (Topic::Wire(place), _) => data.get(place.clone()).map(partition_rows::Topic::Name),
        (_, Some(id)) => Some(partition_rows::Topic::Id(id)),
        _ => None,
    };
    let is_same = |row: &&partition_rows::Row| {
        field.partition.map(i64::from) == Some(row.partition)
            && errors.topics.get(row.topic).copied() == named
    };
    errors.rows.iter().rev().find(is_same).map_or(0, |row| row.values[0])
}
