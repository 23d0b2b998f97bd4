//! Records fields held until there are enough, then decoded: what `kdissect.engine.records.row_tables` makes of
//! them. Whatever does not fit the fast path is left to Python.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::field::{Field, GROUP_OUTPUT, MOST_RECORDS};
use super::form::Form;
use super::frame::data;
use super::known::{Facts, Known};
use super::program::{run, RecordsField, RecordsFields, Topic};
use super::quick::QuickMap;
use super::table::{Named, Table};
use crate::bodies::plan::Layout;
use crate::bodies::visitor::Program;

/// Bytes of frames and number of fields after which there is enough: memory stays flat. Fields are small objects:
/// of empty ones there may be many before the bytes are enough.
const GROUP_BYTES: usize = 8 << 20;
const GROUP_FIELDS: usize = 20_000;
/// What `take` answers: nothing to do, `close` should be called, Python has to look for the fields itself.
const TAKEN: u8 = 0;
const ENOUGH: u8 = 1;
const LOOK: u8 = 2;

/// On which side an API in a version has records, and the way to them; None where Python has to go it.
type Way = (bool, Option<Program>);

/// The fields of one frame: the next `count` ones.
struct Held {
    exchange: Py<PyAny>,
    frame: Py<PyAny>,
    data: Py<PyBytes>,
    is_response: bool,
    count: usize,
    /// A field that is an object of Python already, and left to it.
    given: Option<Py<PyAny>>,
}

impl Held {
    fn of(
        exchange: &Bound<'_, PyAny>,
        frame: &Bound<'_, PyAny>,
        data: Bound<'_, PyBytes>,
        is_response: bool,
        count: usize,
    ) -> Self {
        let (exchange, frame) = (exchange.clone().unbind(), frame.clone().unbind());
        Held { exchange, frame, data: data.unbind(), is_response, count, given: None }
    }
}

/// Fields that wait, and the columns of those decoded. `help` is a `kdissect.engine.records.compiled_tables.Help`.
#[pyclass(module = "kdissect._native")]
pub struct HeldRecords {
    help: Py<PyAny>,
    ways: QuickMap<(i16, i16), Option<Way>>,
    held: Vec<Held>,
    records_fields: Vec<RecordsField>,
    /// While they are decoded: which exchange comes next, its first field, and how many of its fields are done.
    next: (usize, usize, usize),
    bytes: usize,
    field: Field,
    known: Known,
    table: Table,
}

#[pymethods]
impl HeldRecords {
    /// The forms of keys and values are names of `Form`.
    #[new]
    fn new(
        py: Python<'_>,
        help: Py<PyAny>,
        key_form: Option<&str>,
        value_form: Option<&str>,
    ) -> PyResult<Self> {
        let field = Field::new(help.bind(py))?;
        let table = Table::with(Form::of(key_form)?, Form::of(value_form)?);
        Ok(HeldRecords {
            help,
            ways: QuickMap::default(),
            held: Vec::new(),
            records_fields: Vec::new(),
            next: (0, 0, 0),
            bytes: 0,
            field,
            known: Known::default(),
            table,
        })
    }

    /// Hold the records fields of an exchange, if it has any: TAKEN, ENOUGH or LOOK.
    fn take(&mut self, exchange: &Bound<'_, PyAny>) -> PyResult<u8> {
        let py = exchange.py();
        let Ok(key) = exchange.getattr(intern!(py, "api_key"))?.extract::<i16>() else {
            return Ok(LOOK);
        };
        let Ok(version) = exchange.getattr(intern!(py, "api_version"))?.extract::<i16>() else {
            return Ok(LOOK);
        };
        self.learn(py, key, version)?;
        let (is_response, steps) = match self.ways.get(&(key, version)) {
            Some(Some((is_response, Some(steps)))) => (*is_response, steps),
            Some(Some((_, None))) => return Ok(LOOK),
            _ => return Ok(TAKEN),
        };
        let names = match is_response {
            true => (intern!(py, "response"), intern!(py, "response_body_offset")),
            false => (intern!(py, "request"), intern!(py, "request_body_offset")),
        };
        let frame = exchange.getattr(names.0)?;
        if frame.is_none() {
            return Ok(TAKEN);
        }
        let offset = exchange.getattr(names.1)?.extract()?;
        let Ok(data) = data(&frame) else { return Ok(LOOK) };
        let before = self.records_fields.len();
        if run(steps, data.as_bytes(), offset, &mut self.records_fields).is_none() {
            self.records_fields.truncate(before);
            return Ok(LOOK);
        }
        let count = self.records_fields.len() - before;
        let size = data.as_bytes().len();
        Ok(if count > 0 {
            self.hold(Held::of(exchange, &frame, data, is_response, count), size)
        } else {
            TAKEN
        })
    }

    /// Hold one field that Python found, a `RecordSet`; whether there is enough.
    fn add(&mut self, records: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (exchange, frame) = (records.getattr("exchange")?, records.getattr("frame")?);
        let is_response = exchange.getattr("response")?.is(&frame);
        let mut held = Held::of(&exchange, &frame, data(&frame)?, is_response, 1);
        let records_field = RecordsField::of(&records.getattr("records_field")?)?;
        let size = records_field.end.saturating_sub(records_field.start);
        if self.goes_by_rows(&exchange)? {
            held.given = Some(records.clone().unbind());
        }
        self.records_fields.push(records_field);
        Ok(self.hold(held, size) == ENOUGH)
    }

    /// Decode what is held, up to a field that Python has to read (what `place` tells of it), or until
    /// `columns` are due (True), or to the end (None).
    fn decode<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.field.contents.look(py)?;
        let held = std::mem::take(&mut self.held);
        let stopped = self.until(py, &held);
        self.held = held;
        let stopped = stopped?;
        if stopped.is_none() {
            self.held.clear();
            self.records_fields.clear();
            (self.next, self.bytes) = ((0, 0, 0), 0);
        }
        Ok(stopped)
    }

    /// The columns of what was decoded: names, buffers; number of rows and of headers.
    fn columns<'py>(&mut self, py: Python<'py>) -> PyResult<(Vec<Named<'py>>, usize, usize)> {
        self.known = Known::default();
        self.table.take(py)
    }

    /// Rows decoded and not taken.
    #[getter]
    fn rows(&self) -> usize {
        self.table.rows
    }
}

impl HeldRecords {
    fn way(&self, py: Python<'_>, key: i16, version: i16) -> PyResult<Option<Way>> {
        type Told = Option<(bool, Option<Py<Layout>>)>;
        let found: Told = self.help.call_method1(py, "way", (key, version))?.extract(py)?;
        let program = |layout: Py<Layout>| Program::of::<RecordsFields>(layout.get());
        Ok(found.map(|(is_response, layout)| (is_response, layout.map(program))))
    }

    /// Know the way of an API in a version.
    fn learn(&mut self, py: Python<'_>, key: i16, version: i16) -> PyResult<()> {
        if !self.ways.contains_key(&(key, version)) {
            let way = self.way(py, key, version)?;
            self.ways.insert((key, version), way);
        }
        Ok(())
    }

    /// Whether the records of an exchange are left to Python (`Help.way`).
    fn goes_by_rows(&mut self, exchange: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = exchange.py();
        let key = exchange.getattr(intern!(py, "api_key"))?.extract::<i16>();
        let version = exchange.getattr(intern!(py, "api_version"))?.extract::<i16>();
        let (Ok(key), Ok(version)) = (key, version) else { return Ok(true) };
        self.learn(py, key, version)?;
        Ok(!matches!(self.ways.get(&(key, version)), Some(Some((_, Some(_))))))
    }

    /// Hold fields whose records take `size` bytes; TAKEN or ENOUGH.
    fn hold(&mut self, held: Held, size: usize) -> u8 {
        self.bytes += size;
        self.held.push(held);
        let is_enough = self.bytes >= GROUP_BYTES || self.records_fields.len() >= GROUP_FIELDS;
        if is_enough {
            ENOUGH
        } else {
            TAKEN
        }
    }

    fn until<'py>(&mut self, py: Python<'py>, held: &[Held]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut facts = None;
        while let Some(held) = held.get(self.next.0) {
            while self.next.2 < held.count {
                let Some(records_field) = self.records_fields.get_mut(self.next.1 + self.next.2) else {
                    break;
                };
                if self.table.size() > GROUP_OUTPUT || self.table.rows as i64 > MOST_RECORDS {
                    return Ok(Some(true.into_pyobject(py)?.to_owned().into_any()));
                }
                let records_field = std::mem::take(records_field);
                self.next.2 += 1;
                if held.given.is_some() || !self.plain(py, held, &records_field, &mut facts)? {
                    return place_of(py, held, &records_field).map(Some);
                }
            }
            self.next = (self.next.0 + 1, self.next.1 + held.count, 0);
            facts = None;
        }
        Ok(None)
    }

    /// The rows of a field, if it is plain; whether it is.
    fn plain(
        &mut self,
        py: Python<'_>,
        held: &Held,
        records_field: &RecordsField,
        facts: &mut Option<Facts>,
    ) -> PyResult<bool> {
        let frame = held.data.bind(py);
        let data = frame.as_bytes();
        let end = records_field.end.min(data.len());
        let may_be_cut = held.is_response || records_field.end > data.len();
        if !self.field.read(frame, (records_field.start, end), may_be_cut)? {
            return Ok(false);
        }
        let help = self.help.bind(py);
        if facts.is_none() {
            *facts =
                Some(self.known.facts(&mut self.table, help, held.exchange.bind(py), held.frame.bind(py))?);
        }
        let Some(facts) = facts else { return Ok(false) };
        let named = match (&records_field.topic, records_field.topic_id) {
            (Topic::None, Some(id)) => self.known.name(help, facts, (&held.exchange, &held.frame), id)?,
            _ => None,
        };
        let topic = match &records_field.topic {
            Topic::None => named.as_deref(),
            Topic::Told(text) => Some(&**text),
            Topic::Wire(place) => data.get(place.clone()),
        };
        if topic.map_or(Ok(false), |topic| self.known.is_own(help, topic))? {
            return Ok(false);
        }
        let count = self.field.count();
        self.known.rows(
            &mut self.table,
            help,
            facts,
            (topic, records_field.topic_id, records_field.partition),
            count,
        )?;
        for (index, (batch, content, records)) in (0..).zip(self.field.decoded(py, data)) {
            self.table.batch(py, index, batch, records, content)?;
        }
        Ok(true)
    }
}

/// A field for Python: the object it gave, or exchange, frame, topic, topic id, partition, start, end.
fn place_of<'py>(py: Python<'py>, held: &Held, records_field: &RecordsField) -> PyResult<Bound<'py, PyAny>> {
    if let Some(records) = &held.given {
        return Ok(records.bind(py).clone());
    }
    let topic = match &records_field.topic {
        Topic::None => None,
        Topic::Told(text) => Some(String::from_utf8_lossy(text).into_owned()),
        Topic::Wire(place) => {
            let bytes = held.data.as_bytes(py).get(place.clone()).unwrap_or_default();
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    };
    let id = records_field.topic_id.as_ref().map(|id| PyBytes::new(py, id));
    let place = (
        &held.exchange,
        &held.frame,
        topic,
        id,
        records_field.partition,
        records_field.start,
        records_field.end,
    );
    Ok(place.into_pyobject(py)?.into_any())
}
