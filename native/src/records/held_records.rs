//! Records fields held until there are enough, then decoded into rows: as columns (`table.rs`) or as lines
//! (`record_lines.rs`). Whatever does not fit the fast path is left to Python.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::asked::{Asked, Frame, Way};
use super::content::Contents;
use super::field::Field;
use super::program::{run, Base, FieldRow, RecordsField, Topic};
use super::quick::QuickMap;
use super::record_choice::{Chosen, RecordChoice};
use super::record_lines::RecordLines;
use super::row_facts::{Known, Use};
use super::rows::Rows;
use super::schema_values::{Decoded, SchemaValues};
use super::table::RecordColumns;
use crate::bodies::partition_rows::Body;
use crate::bodies::visitor::Program;
use crate::engine::exchange_block::ExchangeBlock;

/// Bytes in frames and number of fields after which there are enough: memory stays flat. Fields are
/// small objects: there may be many empty ones before the bytes are enough. Columns are the better
/// the longer they are.
const COLUMNS_GROUP: (usize, usize) = (8 << 20, 20_000);
const LINES_GROUP: (usize, usize) = (1 << 20, 2_500);
/// Offsets after a larger one may not fit into 64 bits: Python reads them.
const MOST_BASE: i64 = i64::MAX / 2;
/// Results of `take`: no action, `decode` should be called, or Python must find the fields itself.
const TAKEN: u8 = 0;
const ENOUGH: u8 = 1;
const LOOK: u8 = 2;

#[derive(FromPyObject)]
enum Writer {
    Columns(Py<RecordColumns>),
    Lines(Py<RecordLines>),
}

/// The next `count` fields of one frame.
struct Held {
    frame: Frame,
    kind: (i16, i16),
    count: usize,
    /// Python's object, if Python reads the fields. Otherwise their place identifies them.
    given: Option<Py<PyAny>>,
}

/// Fields that wait.
#[pyclass(module = "kdissect._native")]
pub struct HeldRecords {
    writer: Writer,
    asked: Asked,
    ways: QuickMap<(i16, i16), Option<Way>>,
    held: Vec<Held>,
    records_fields: Vec<RecordsField>,
    /// While they are decoded: which frame comes next, its first field, and how many of its fields are done.
    next: (usize, usize, usize),
    bytes: usize,
    field: Field,
    known: Known,
    /// Only if there are schemas.
    values: Option<SchemaValues>,
}

type Four = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);
type Values = (String, bool, Py<PyAny>, Py<PyAny>);
type Six = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);

#[pymethods]
impl HeldRecords {
    /// Callables as `asked.rs`, `content.rs`, `field.rs` and `schema_values.rs` say. Raises ValueError.
    #[new]
    fn new(
        writer: Writer,
        exchanges: Four,
        names: Four,
        batches: Six,
        values: Option<Values>,
    ) -> PyResult<Self> {
        let (limits, gzip, lz4, zstd, decompress, rest_fits) = batches;
        Ok(HeldRecords {
            writer,
            asked: Asked { exchanges, names },
            ways: QuickMap::default(),
            held: Vec::new(),
            records_fields: Vec::new(),
            next: (0, 0, 0),
            bytes: 0,
            field: Field::new(rest_fits, Contents::new(limits, gzip, [lz4, zstd], decompress)),
            known: Known::default(),
            values: values.map(SchemaValues::new).transpose()?,
        })
    }

    /// Hold the records fields of an exchange, if it has any: TAKEN, ENOUGH or LOOK.
    fn take(&mut self, exchange: &Bound<'_, PyAny>) -> PyResult<u8> {
        let py = exchange.py();
        let Some(kind) = self.asked.kind(exchange)? else { return Ok(LOOK) };
        self.learn(py, kind)?;
        let Some(Some(way)) = self.ways.get(&kind) else { return Ok(TAKEN) };
        let Some(steps) = &way.steps else { return Ok(LOOK) };
        let Ok(frame) = self.asked.frame(exchange, way.is_response)? else { return Ok(LOOK) };
        let Some(frame) = frame else { return Ok(TAKEN) };
        let data = frame.data.as_bytes(py);
        let Some(count) = find(steps, data, frame.body_offset, &mut self.records_fields) else {
            return Ok(LOOK);
        };
        let size = data.len();
        if let (Some(rows), true) = (&way.answer, count > 0) {
            let answer = match self.asked.frame(exchange, true)? {
                Ok(answer) => answer,
                Err(()) => return self.look(count),
            };
            let response = answer.as_ref().map(|of| rows.get().read(of.data.as_bytes(py), of.body_offset));
            let from = self.records_fields.len() - count;
            if assign(self.records_fields.get_mut(from..).unwrap_or_default(), data, response).is_none() {
                return self.look(count);
            }
        }
        let held = Held { frame, kind, count, given: None };
        Ok(if count > 0 && self.hold(held, size) { ENOUGH } else { TAKEN })
    }

    /// Buffer the records fields of a block's exchanges, from one on. Return the number of the next
    /// one and TAKEN or ENOUGH, or LOOK if that one is Python's. Raises what `choice` does.
    fn take_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        choice: &Bound<'_, RecordChoice>,
    ) -> PyResult<(usize, u8)> {
        let mut choice = choice.try_borrow_mut()?;
        let rows = block.borrow().rows().len();
        for at in start..rows {
            let taken = match choice.of(block, at)? {
                Chosen::Passed => TAKEN,
                Chosen::Watched => LOOK,
                Chosen::Taken => self.take_row(block, at)?,
            };
            match taken {
                TAKEN => {}
                ENOUGH => return Ok((at + 1, ENOUGH)),
                _ => return Ok((at, LOOK)),
            }
        }
        Ok((rows.max(start), TAKEN))
    }

    /// Buffer one field that Python found in an exchange, and that is returned if Python must read
    /// it. Returns whether there are enough. `base` is the offset that a broker assigned to records
    /// of a request.
    fn add(
        &mut self,
        records: Py<PyAny>,
        exchange: &Bound<'_, PyAny>,
        is_response: bool,
        records_field: FieldRow<'_>,
        base: Option<i64>,
    ) -> PyResult<bool> {
        let py = exchange.py();
        let Ok(Some(frame)) = self.asked.frame(exchange, is_response)? else { return Ok(false) };
        let kind = self.asked.kind(exchange)?.unwrap_or((-1, -1)); // no API has it
        self.learn(py, kind)?;
        let mut records_field = RecordsField::of(records_field).unwrap_or_default();
        if !is_response {
            records_field.base = base.map_or(Base::Unknown, Base::Assigned);
        }
        let size = records_field.end.saturating_sub(records_field.start);
        self.records_fields.push(records_field);
        Ok(self.hold(Held { frame, kind, count: 1, given: Some(records) }, size))
    }

    /// Decode the buffered fields, up to a field that Python must read (the result of `place`), or
    /// until rows must be taken (True), or to the end (None).
    fn decode<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.field.contents.look(py)?;
        let held = std::mem::take(&mut self.held);
        let stopped = match &self.writer {
            Writer::Columns(columns) => {
                let columns = columns.clone_ref(py);
                let mut columns = columns.borrow_mut(py);
                self.until(py, &held, &mut *columns)
            }
            Writer::Lines(lines) => {
                let lines = lines.clone_ref(py);
                let mut lines = lines.borrow_mut(py);
                self.until(py, &held, &mut *lines)
            }
        };
        self.held = held;
        if let Some(values) = &mut self.values {
            values.flush(py)?;
        }
        let stopped = stopped?;
        if stopped.is_none() {
            self.held.clear();
            self.records_fields.clear();
            (self.next, self.bytes) = ((0, 0, 0), 0);
            self.known = Known::default();
        }
        Ok(stopped)
    }
}

impl HeldRecords {
    /// `take` for a row of a block.
    fn take_row(&mut self, block: &Bound<'_, ExchangeBlock>, at: usize) -> PyResult<u8> {
        let py = block.py();
        let block = block.borrow();
        let Some(of) = block.row(at).filter(|of| !of.row.is_logged()) else { return Ok(TAKEN) };
        let kind = (of.row.request.kind.api_key, of.row.request.kind.version);
        self.learn(py, kind)?;
        let Some(Some(way)) = self.ways.get(&kind) else { return Ok(TAKEN) };
        let Some(steps) = &way.steps else { return Ok(LOOK) };
        let content = if way.is_response { of.row.response.as_ref() } else { Some(&of.row.request.content) };
        let connection = block.connections.get(of.connection as usize);
        let (Some(content), Some(connection)) = (content, connection) else { return Ok(TAKEN) };
        let data = content.data.as_bytes(py);
        let Some(count) = find(steps, data, content.body, &mut self.records_fields) else { return Ok(LOOK) };
        if count == 0 {
            return Ok(TAKEN);
        }
        if let Some(rows) = &way.answer {
            let response = of.row.response.as_ref();
            let response = response.map(|of| rows.get().read_once(&of.read, of.data.as_bytes(py), of.body));
            let from = self.records_fields.len() - count;
            if assign(self.records_fields.get_mut(from..).unwrap_or_default(), data, response).is_none() {
                return self.look(count);
            }
        }
        let frame = Frame::of_row(py, &block, (&of.row, content), connection, way.is_response);
        let held = Held { frame, kind, count, given: None };
        Ok(if self.hold(held, data.len()) { ENOUGH } else { TAKEN })
    }

    /// Leave the last fields to Python.
    fn look(&mut self, count: usize) -> PyResult<u8> {
        self.records_fields.truncate(self.records_fields.len() - count);
        Ok(LOOK)
    }

    /// Know the way of an API in a version.
    fn learn(&mut self, py: Python<'_>, kind: (i16, i16)) -> PyResult<()> {
        if let Entry::Vacant(free) = self.ways.entry(kind) {
            free.insert(self.asked.way(py, kind)?);
        }
        Ok(())
    }

    /// Buffer fields whose records take `size` bytes, and return whether there are enough.
    fn hold(&mut self, held: Held, size: usize) -> bool {
        self.bytes += size;
        self.held.push(held);
        let (bytes, fields) = match self.writer {
            Writer::Columns(_) => COLUMNS_GROUP,
            Writer::Lines(_) => LINES_GROUP,
        };
        self.bytes >= bytes || self.records_fields.len() >= fields
    }

    fn until<'py>(
        &mut self,
        py: Python<'py>,
        held: &[Held],
        rows: &mut dyn Rows,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        while let Some(held) = held.get(self.next.0) {
            while self.next.2 < held.count {
                let Some(records_field) = self.records_fields.get_mut(self.next.1 + self.next.2) else {
                    break;
                };
                if rows.is_full() {
                    return Ok(Some(true.into_pyobject(py)?.to_owned().into_any()));
                }
                let records_field = std::mem::take(records_field);
                self.next.2 += 1;
                if !self.read(py, held, &records_field, rows)? {
                    return place_of(py, held, &records_field).map(Some);
                }
            }
            self.next = (self.next.0 + 1, self.next.1 + held.count, 0);
        }
        Ok(None)
    }

    /// Write the rows of a field, if it fits the fast path, and return whether it is done.
    fn read(
        &mut self,
        py: Python<'_>,
        held: &Held,
        records_field: &RecordsField,
        rows: &mut dyn Rows,
    ) -> PyResult<bool> {
        let Some(Some(Way { is_response, direction, steps: Some(_), .. })) = self.ways.get(&held.kind) else {
            return Ok(false);
        };
        match self.known.usage(py, &self.asked, &held.frame, records_field)? {
            Use::Read => {}
            Use::Skip => return Ok(true),
            Use::Leave => return Ok(false),
        }
        if matches!(records_field.base, Base::Assigned(base) if base > MOST_BASE) {
            return Ok(false);
        }
        let frame = held.frame.data.bind(py);
        let data = frame.as_bytes();
        let end = records_field.end.min(data.len());
        let may_be_cut = *is_response || records_field.end > data.len();
        if !self.field.read(frame, (records_field.start, end), may_be_cut)? {
            return Ok(false);
        }
        self.known.learn(py, &self.asked, &held.frame)?;
        let Some(mut shared) = self.known.shared(py, &held.frame, direction, records_field) else {
            return Ok(false);
        };
        if let Some(values) = &mut self.values {
            if !values.read(py, &shared, &self.field, data)? {
                return Ok(false);
            }
        }
        let mut decoded = Decoded { values: self.values.as_ref(), first: 0 };
        rows.field(&shared, self.field.count());
        for (index, (batch, content, records)) in (0..).zip(self.field.decoded(py, data)) {
            rows.batch(py, &shared, (index, batch), records, content, decoded)?;
            decoded.first += records.records.len();
            if let Base::Assigned(base) = &mut shared.base {
                *base = base.saturating_add(i64::from(batch.last_offset_delta) + 1);
            }
        }
        Ok(true)
    }
}

/// Put the offsets that a response assigns into the fields of a request in `data`; None where Python reads the response.
fn assign(fields: &mut [RecordsField], data: &[u8], response: Option<Option<Body<'_>>>) -> Option<()> {
    let answer = match response {
        None => Body::default(), // nobody answered
        Some(found) => found?,
    };
    let mut bases = HashMap::new();
    for row in answer.rows.iter() {
        let [error, base, ..] = row.values;
        if error == 0 && base >= 0 {
            bases.insert((answer.topics.get(row.topic)?.key(), row.partition), base);
        }
    }
    for field in fields {
        let topic = match (&field.topic, &field.topic_id) {
            (Topic::Wire(place), _) => (false, data.get(place.clone())?),
            (_, Some(id)) => (true, &id[..]),
            _ => return None,
        };
        let base = bases.get(&(topic, i64::from(field.partition?)));
        field.base = base.map_or(Base::Unknown, |&base| Base::Assigned(base));
    }
    Some(())
}

/// Add the records fields of a body, and return their number, or None, without adding any, if
/// Python must find them.
fn find(steps: &Program, data: &[u8], offset: usize, found: &mut Vec<RecordsField>) -> Option<usize> {
    let before = found.len();
    if run(steps, data, offset, found).is_none() {
        found.truncate(before);
        return None;
    }
    Some(found.len() - before)
}

/// A field for Python: the object it gave, or exchange, frame, topic, topic id, partition, start, end.
fn place_of<'py>(py: Python<'py>, held: &Held, records_field: &RecordsField) -> PyResult<Bound<'py, PyAny>> {
    if let Some(records) = &held.given {
        return Ok(records.bind(py).clone());
    }
    let topic = match &records_field.topic {
        Topic::None => None,
        Topic::Told(text) => Some(text.to_string()),
        Topic::Wire(place) => {
            let bytes = held.frame.data.as_bytes(py).get(place.clone()).unwrap_or_default();
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    };
    let id = records_field.topic_id.as_ref().map(|id| PyBytes::new(py, id));
    let (exchange, frame) = held.frame.objects(py)?;
    let place = (exchange, frame, topic, id, records_field.partition, records_field.start, records_field.end);
    Ok(place.into_pyobject(py)?.into_any())
}
