//! `kdissect.stages.connection_rows.ExchangeTables` for exchanges without anything unusual: their rows as columns.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::asked::{Asked, Facts, Kind, RecordsSide, Turn};
use super::batch_table::{has_row, BatchTable, PartitionTable, Section};
use super::exchange_table::ExchangeTable;
use crate::bodies::summaries::{Mixed, Numbered};
use crate::exchange::Frame;
use crate::records::batch::{Batch, ATTRIBUTES_AT};
use crate::records::column::Buffers;
use crate::records::program::{run, RecordsField, Topic};

/// `model.packets.packet`: a reference is the number of a file, and that of the packet in it.
pub const FILE_SHIFT: u32 = 40;
pub const NUMBER_MASK: i64 = (1 << FILE_SHIFT) - 1;
const US: i64 = 1000;
const DAY_NS: i64 = 86_400_000_000_000;
/// Facts and names that are remembered; then they are forgotten.
const MOST: usize = 4096;
/// Instead of the number of its summary.
const NO_ANSWER: u64 = u64::MAX;

/// A column with its name.
pub type Named<'py> = (String, Buffers<'py>);
/// The place of an event among all (`engine.event_order`).
pub type Order<'a> = &'a [u8];

pub fn micros(time_ns: i64) -> i64 {
    time_ns.div_euclid(US)
}

pub fn day(time_ns: i64) -> i64 {
    time_ns.div_euclid(DAY_NS)
}

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
    /// That of the input of a packet, which `ExchangeTables.knows_file`.
    fn of(&self, reference: i64) -> &str {
        self.0.get(&(reference >> FILE_SHIFT)).and_then(Option::as_deref).unwrap_or_default()
    }
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

/// Rows of tables, as many as there are of exchanges that were taken.
#[pyclass(module = "kdissect._native")]
pub struct ExchangeTables {
    asked: Asked,
    wanted: Wanted,
    kinds: Mixed<i64, Arc<Kind>>,
    facts: Mixed<(u64, u64), Arc<Facts>>,
    ids: HashMap<[u8; 16], Arc<str>>,
    files: FileNames,
    exchanges: ExchangeTable,
    partitions: PartitionTable,
    batches: BatchTable,
    // Of the exchange at hand.
    fields: Vec<RecordsField>,
    found: Vec<Found>,
    cut: Vec<Batch>,
}

#[pymethods]
impl ExchangeTables {
    /// The callables are those of `Asked`, in its order. `wants`: exchanges, topic partitions, batches; whether batches are
    /// to be looked at in any case.
    #[new]
    fn new(asked: [Py<PyAny>; 7], wants: (bool, bool, bool, bool)) -> Self {
        let [fields_of, kind_of, facts_of, name_of, id_text, file_of, rest_fits] = asked;
        let (exchanges, partitions, batches, looks) = wants;
        ExchangeTables {
            asked: Asked { fields_of, kind_of, facts_of, name_of, id_text, file_of, rest_fits },
            wanted: Wanted { exchanges, partitions, batches, looks: looks || partitions || batches },
            kinds: Mixed::default(),
            facts: Mixed::default(),
            ids: HashMap::new(),
            files: FileNames::default(),
            exchanges: ExchangeTable::default(),
            partitions: PartitionTable::default(),
            batches: BatchTable::default(),
            fields: Vec::new(),
            found: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Add the rows of an exchange; False, and nothing is added, of one that is Python's.
    fn add(&mut self, exchange: &Bound<'_, PyAny>, order: &Bound<'_, PyBytes>) -> PyResult<bool> {
        let py = exchange.py();
        let Some(turn) = self.asked.turn(exchange)? else { return Ok(false) };
        let (_, key, version, _, _) = turn.header;
        let number = i64::from(key) << 16 | i64::from(version as u16);
        let kind = match self.kinds.get(&number) {
            Some(kind) => kind.clone(),
            None => {
                let kind = Arc::new(self.asked.kind(py, key, version)?);
                self.kinds.entry(number).or_insert(kind).clone()
            }
        };
        self.add_of(&turn, &kind, order.as_bytes())
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

    /// The columns of a table with their names; there are none then.
    fn take<'py>(&mut self, py: Python<'py>, table: &str) -> Vec<Named<'py>> {
        match table {
            "exchanges" => self.exchanges.take(py),
            "topic_partitions" => self.partitions.take(py),
            "batches" => self.batches.take(py),
            _ => Vec::new(),
        }
    }
}

impl ExchangeTables {
    fn add_of(&mut self, turn: &Turn<'_>, kind: &Kind, order: Order<'_>) -> PyResult<bool> {
        let py = turn.object.py();
        let latency_ns = match &turn.response {
            Some(response) => response.time_ns.checked_sub(turn.request.end_time_ns),
            None => None,
        };
        if turn.response.is_some() != latency_ns.is_some() {
            return Ok(false);
        }
        let records = match &kind.records {
            Some(side) if self.wanted.looks => match self.look(turn, side)? {
                Some(frame) => frame.map(|frame| (side, frame)),
                None => return Ok(false),
            },
            _ => None,
        };
        let asked = kind.ask.at(&turn.request, None)?;
        let answered = match &turn.response {
            Some(response) => Some(kind.answer.at(response, None)?),
            None => None,
        };
        if self.has_error(py, records.is_some(), answered.as_ref().map(|found| &found.1))? {
            return Ok(false);
        }
        for frame in [Some(&turn.request), turn.response.as_ref()].into_iter().flatten() {
            if !self.knows_file(py, frame.first_ref)? || !self.knows_file(py, frame.last_ref)? {
                return Ok(false);
            }
        }
        if self.wanted.exchanges {
            let facts = self.facts_of(turn, asked, answered)?;
            let names = &self.files;
            let files = |frame: &Frame<'_>| (names.of(frame.first_ref), names.of(frame.last_ref));
            let both = (files(&turn.request), turn.response.as_ref().map(files));
            self.exchanges.push(turn, kind, &facts, order, both, latency_ns);
        }
        self.push_records(turn, records, order).map(|()| true)
    }

    fn facts_of(
        &mut self,
        turn: &Turn<'_>,
        asked: Numbered,
        answered: Option<Numbered>,
    ) -> PyResult<Arc<Facts>> {
        let numbers = (asked.0, answered.as_ref().map_or(NO_ANSWER, |found| found.0));
        if let Some(facts) = self.facts.get(&numbers) {
            return Ok(facts.clone());
        }
        let (facts, is_lasting) = self.asked.facts(turn, asked.1, answered.map(|found| found.1))?;
        let facts = Arc::new(facts);
        if is_lasting && numbers.0 > 0 && numbers.1 > 0 {
            if self.facts.len() >= MOST {
                self.facts.clear();
            }
            self.facts.insert(numbers, facts.clone());
        }
        Ok(facts)
    }

    /// Whether a partition may have an error code, which only Python puts beside its records.
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

    /// The batches of an exchange: None where Python has to look for them, Some(None) where there are none.
    fn look<'a, 'py>(
        &mut self,
        turn: &'a Turn<'py>,
        side: &RecordsSide,
    ) -> PyResult<Option<Option<&'a Frame<'py>>>> {
        self.fields.clear();
        self.found.clear();
        self.cut.clear();
        let frame = if side.is_response { turn.response.as_ref() } else { Some(&turn.request) };
        let Some(frame) = frame else { return Ok(Some(None)) };
        let (Some(way), Ok(offset)) = (&side.way, usize::try_from(frame.body_offset)) else {
            return Ok(None);
        };
        let data = frame.data.as_bytes();
        if offset == 0 || run(way, data, offset, &mut self.fields).is_none() {
            return Ok(None);
        }
        for field in std::mem::take(&mut self.fields) {
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
        turn: &Turn<'_>,
        records: Option<(&RecordsSide, &Frame<'_>)>,
        order: Order<'_>,
    ) -> PyResult<()> {
        let Some((side, frame)) = records else { return Ok(()) };
        let wanted = self.wanted;
        if !wanted.partitions && !wanted.batches {
            return Ok(());
        }
        for (number, found) in std::mem::take(&mut self.found).iter().enumerate() {
            let (field, data) = (&found.field, frame.data.as_bytes());
            let named = match (&field.topic, &field.topic_id) {
                (Topic::None, Some(id)) => self.asked.name(turn, id)?,
                _ => None,
            };
            let topic = match &field.topic {
                Topic::Wire(place) => data.get(place.clone()),
                Topic::None | Topic::Told(_) => named.as_ref().map(|name| name.as_bytes()),
            };
            let id = match &field.topic_id {
                Some(id) => Some(self.id_text(turn.object.py(), id)?),
                None => None,
            };
            let section = Section {
                direction: &side.direction,
                file: self.files.of(frame.first_ref),
                topic,
                topic_id: id.as_ref().map(|id| id.as_bytes()),
                partition: field.partition,
                number: number as i64,
            };
            let batches = self.cut.get(found.batches.clone()).unwrap_or_default();
            if wanted.partitions {
                self.partitions.push(turn, frame, &section, order, batches, found.bytes);
            }
            if wanted.batches {
                for batch in batches.iter().enumerate() {
                    self.batches.push(turn, frame, &section, order, batch);
                }
            }
        }
        Ok(())
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
