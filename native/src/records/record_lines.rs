//! Rows of records as lines of TSV, CSV or JSON: the values from
//! `kdissect.engine.records.record_rows`, in the formats of `kdissect.cli.formats`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::batch::{Batch, CURRENT_MAGIC, NONE, TRANSACTIONAL};
use super::cells::{Cells, Style};
use super::form::Form;
use super::record_reader::{bytes, Header, Place, Record, Records};
use super::row_facts::Shared;
use super::rows::Rows;
use super::schema_values::Decoded;
use crate::decimal::{put, put_nanos};
use crate::json_out::{self, string, uuid_text};

/// Maximum bytes of buffered lines.
const MOST_BYTES: usize = 4 << 20;
const SECOND_NS: i64 = 1_000_000_000;
const SECOND_MS: i64 = 1000;
const MS_NS: i64 = 1_000_000;

/// Name of `decoded` as a member that some rows do not have.
const DECODED_MEMBER: &str = "decoded?";

/// Content of a column: equal in all rows of a batch, or different for each record.
#[derive(Clone, Copy)]
enum Column {
    Fixed(Fixed),
    Own(Own),
}

#[derive(Clone, Copy)]
enum Fixed {
    Connection,
    Exchange,
    Direction,
    Client,
    Broker,
    ClientId,
    Principal,
    Software,
    File,
    Packet,
    Time,
    TimeNs,
    Topic,
    TopicId,
    Partition,
    Batch,
    TimestampType,
    ProducerId,
    ProducerEpoch,
    Transactional,
    Codec,
    Magic,
    LeaderEpoch,
    CrcOk,
    /// Columns that only rows from Python have.
    Null,
}

#[derive(Clone, Copy)]
enum Own {
    Number,
    Record,
    Offset,
    RawOffset,
    Timestamp,
    TimestampMs,
    Key,
    Value,
    Headers,
    HeaderKeys,
    HeaderValues,
    KeyBytes,
    ValueBytes,
    Sequence,
    /// Of the key (True) or the value.
    WireFormat(bool),
    SchemaId(bool),
    SchemaGuid(bool),
    MessageIndexes(bool),
    Schema(bool),
    DecodedPart(bool),
    Decoded,
    /// The whole member of a JSON object, only where something is decoded.
    DecodedMember,
}

impl Column {
    /// Of a name of `kdissect.engine.records.record_fields.RECORD_FIELDS`.
    fn of(name: &str) -> Column {
        let fixed = match name {
            "connection" => Fixed::Connection,
            "exchange" => Fixed::Exchange,
            "direction" => Fixed::Direction,
            "client" => Fixed::Client,
            "broker" => Fixed::Broker,
            "client_id" => Fixed::ClientId,
            "principal" => Fixed::Principal,
            "software" => Fixed::Software,
            "file" => Fixed::File,
            "packet" => Fixed::Packet,
            "time" => Fixed::Time,
            "time_ns" => Fixed::TimeNs,
            "topic" => Fixed::Topic,
            "topic_id" => Fixed::TopicId,
            "partition" => Fixed::Partition,
            "batch" => Fixed::Batch,
            "timestamp_type" => Fixed::TimestampType,
            "producer_id" => Fixed::ProducerId,
            "producer_epoch" => Fixed::ProducerEpoch,
            "transactional" => Fixed::Transactional,
            "codec" => Fixed::Codec,
            "magic" => Fixed::Magic,
            "leader_epoch" => Fixed::LeaderEpoch,
            "crc_ok" => Fixed::CrcOk,
            _ => return Own::of(name).map_or(Column::Fixed(Fixed::Null), Column::Own),
        };
        Column::Fixed(fixed)
    }
}

impl Own {
    fn of(name: &str) -> Option<Own> {
        Some(match name {
            "number" => Own::Number,
            "record" => Own::Record,
            "offset" => Own::Offset,
            "raw_offset" => Own::RawOffset,
            "timestamp" => Own::Timestamp,
            "timestamp_ms" => Own::TimestampMs,
            "key" => Own::Key,
            "value" => Own::Value,
            "headers" => Own::Headers,
            "headers.key" => Own::HeaderKeys,
            "headers.value" => Own::HeaderValues,
            "key_bytes" => Own::KeyBytes,
            "value_bytes" => Own::ValueBytes,
            "sequence" => Own::Sequence,
            "decoded" => Own::Decoded,
            "decoded.key" => Own::DecodedPart(true),
            "decoded.value" => Own::DecodedPart(false),
            DECODED_MEMBER => Own::DecodedMember,
            _ => return Own::of_schema(name),
        })
    }

    fn of_schema(name: &str) -> Option<Own> {
        let (part, name) = name.split_once('_')?;
        let is_key = match part {
            "key" => true,
            "value" => false,
            _ => return None,
        };
        Some(match name {
            "wire_format" => Own::WireFormat(is_key),
            "schema_id" => Own::SchemaId(is_key),
            "schema_guid" => Own::SchemaGuid(is_key),
            "message_indexes" => Own::MessageIndexes(is_key),
            "schema" => Own::Schema(is_key),
            _ => return None,
        })
    }
}

type WriteText = fn(&mut Cells, Python<'_>, &mut Vec<u8>, &str) -> PyResult<()>;

/// A second and the beginning of its text.
type Second = (i64, Box<str>);

/// Lines, while rows come.
#[pyclass(module = "kdissect._native")]
pub struct RecordLines {
    /// Each with the text before its cell.
    columns: Vec<(Box<[u8]>, Column)>,
    end: &'static [u8],
    /// Numbers the rows, including rows that Python writes in between.
    #[pyo3(get, set)]
    count: u64,
    out: Vec<u8>,
    /// The common part of a batch's lines, with cuts at the cells of a record.
    fixed: Vec<u8>,
    cuts: Vec<usize>,
    writer: Writer,
}

/// Writes cells of rows.
struct Writer {
    cells: Cells,
    is_alone: bool,
    key_form: Form,
    value_form: Form,
    /// `(second) -> str`: `engine.times` up to the fraction.
    second_of: Py<PyAny>,
    /// Those of the last frame, and of the last record.
    seconds: [Option<Second>; 2],
    room: Vec<u8>,
}

#[pymethods]
impl RecordLines {
    /// `style` is a name of `Style`, the forms of keys and values names of `Form` but `json`.
    #[new]
    fn new(
        style: &str,
        columns: Vec<String>,
        key_form: &str,
        value_form: &str,
        second_of: Py<PyAny>,
        printables: Py<PyAny>,
    ) -> PyResult<Self> {
        let style = Style::of(style)?;
        if [key_form, value_form].contains(&"json") {
            return Err(PyValueError::new_err("json is no text"));
        }
        let writer = Writer {
            cells: Cells::new(style, printables),
            is_alone: columns.len() == 1,
            key_form: Form::of(Some(key_form))?,
            value_form: Form::of(Some(value_form))?,
            second_of,
            seconds: [None, None],
            room: Vec::new(),
        };
        let named = |(at, name): (usize, &String)| (before(style, at, name), Column::of(name));
        Ok(RecordLines {
            columns: columns.iter().enumerate().map(named).collect(),
            end: if style == Style::Json { b"}\n" } else { b"\n" },
            count: 0,
            out: Vec::new(),
            fixed: Vec::new(),
            cuts: Vec::new(),
            writer,
        })
    }

    /// The buffered lines, which are removed from the buffer.
    fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = PyBytes::new(py, &self.out);
        self.out.clear();
        self.out.shrink_to(MOST_BYTES);
        lines
    }
}

/// Text before a cell.
fn before(style: Style, at: usize, name: &str) -> Box<[u8]> {
    let mut out = Vec::new();
    match (style, at) {
        _ if name == DECODED_MEMBER => {}
        (Style::Json, _) => {
            out.push(if at == 0 { b'{' } else { b',' });
            string(&mut out, name);
            out.push(b':');
        }
        (_, 0) => {}
        (Style::Tsv, _) => out.push(b'\t'),
        (Style::Csv, _) => out.push(b','),
    }
    out.into()
}

impl Rows for RecordLines {
    fn is_full(&self) -> bool {
        self.out.len() >= MOST_BYTES
    }

    fn field(&mut self, _shared: &Shared<'_>, _count: u32) {}

    fn batch(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        (index, batch): (u32, &Batch),
        found: &Records,
        data: &[u8],
        decoded: Decoded<'_>,
    ) -> PyResult<()> {
        self.share(py, shared, index, batch)?;
        let mut headers = found.headers.as_slice();
        for (number, record) in (0..).zip(&found.records) {
            let (own, others) = headers.split_at_checked(record.headers).unwrap_or_default();
            headers = others;
            self.count += 1;
            let place = (self.count as i64, number);
            let row = Row { place, shared, batch, record, headers: own, data, decoded };
            let mut start = 0;
            let mut cuts = self.cuts.iter();
            for (_, column) in &self.columns {
                let Column::Own(column) = *column else { continue };
                let cut = cuts.next().copied().unwrap_or_default();
                self.out.extend_from_slice(self.fixed.get(start..cut).unwrap_or_default());
                start = cut;
                let begin = self.out.len();
                self.writer.own(py, &mut self.out, column, &row)?;
                self.writer.cells.end(&mut self.out, begin, self.writer.is_alone);
            }
            self.out.extend_from_slice(self.fixed.get(start..).unwrap_or_default());
        }
        Ok(())
    }
}

impl RecordLines {
    /// Common part of a batch's lines.
    fn share(&mut self, py: Python<'_>, shared: &Shared<'_>, index: u32, batch: &Batch) -> PyResult<()> {
        self.fixed.clear();
        self.cuts.clear();
        for (before, column) in &self.columns {
            self.fixed.extend_from_slice(before);
            match *column {
                Column::Own(_) => self.cuts.push(self.fixed.len()),
                Column::Fixed(column) => {
                    let begin = self.fixed.len();
                    self.writer.fixed(py, &mut self.fixed, column, (shared, index, batch))?;
                    self.writer.cells.end(&mut self.fixed, begin, self.writer.is_alone);
                }
            }
        }
        self.fixed.extend_from_slice(self.end);
        Ok(())
    }
}

struct Row<'a> {
    /// Among all rows from 1 on, and in the batch from 0 on.
    place: (i64, i64),
    shared: &'a Shared<'a>,
    batch: &'a Batch,
    record: &'a Record,
    headers: &'a [Header],
    data: &'a [u8],
    decoded: Decoded<'a>,
}

impl Writer {
    fn fixed(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<u8>,
        column: Fixed,
        (shared, index, batch): (&Shared<'_>, u32, &Batch),
    ) -> PyResult<()> {
        let of = shared.connection;
        let text = match column {
            Fixed::Connection => Some(&*of.id),
            Fixed::Client => Some(&*of.client),
            Fixed::Broker => Some(&*of.broker),
            Fixed::Principal => of.principal.as_deref(),
            Fixed::Software => of.software.as_deref(),
            Fixed::Direction => Some(shared.direction),
            Fixed::ClientId => shared.client_id,
            Fixed::File => Some(shared.file),
            Fixed::Topic => shared.topic,
            Fixed::TimestampType => Some(batch.timestamp_type()),
            Fixed::Codec => Some(batch.codec_name()),
            Fixed::TopicId => return self.topic_id(py, out, shared.topic_id),
            Fixed::Time => {
                let (second, nanos) =
                    (shared.time_ns.div_euclid(SECOND_NS), shared.time_ns.rem_euclid(SECOND_NS));
                return self.time(py, out, 0, second, nanos);
            }
            Fixed::Transactional => {
                out.extend_from_slice(flag(batch.attributes & TRANSACTIONAL != 0));
                return Ok(());
            }
            Fixed::CrcOk => {
                out.extend_from_slice(flag(true));
                return Ok(());
            }
            _ => {
                self.number(out, numbered(column, shared, index, batch));
                return Ok(());
            }
        };
        self.text(py, out, text)
    }

    fn own(&mut self, py: Python<'_>, out: &mut Vec<u8>, column: Own, row: &Row<'_>) -> PyResult<()> {
        let (offset, time) = row.batch.place(row.record).unzip();
        let time = time.filter(|&time| time != NONE);
        let length = |place: Place| place.map(|(start, end)| (end - start) as i64);
        let number = match column {
            Own::Key => {
                let key = bytes(row.data, row.record.key);
                return self.content(py, out, self.key_form, key, Cells::text);
            }
            Own::Value => {
                let value = bytes(row.data, row.record.value);
                return self.content(py, out, self.value_form, value, Cells::text);
            }
            Own::Timestamp => {
                let Some(time) = time else { return self.text(py, out, None) };
                let (second, millis) = (time.div_euclid(SECOND_MS), time.rem_euclid(SECOND_MS));
                return self.time(py, out, 1, second, millis * MS_NS);
            }
            Own::Headers => return self.headers(py, out, row),
            Own::HeaderKeys => {
                return self.list(py, out, Form::Text, row.headers.iter().map(|header| Some(header.0)), row)
            }
            Own::HeaderValues => {
                return self.list(py, out, self.value_form, row.headers.iter().map(|header| header.1), row)
            }
            Own::Number => Some(row.place.0),
            Own::Record => Some(row.place.1),
            Own::Offset => row.shared.log_offset(row.batch, offset),
            Own::RawOffset => offset,
            Own::TimestampMs => time,
            Own::KeyBytes => length(row.record.key),
            Own::ValueBytes => length(row.record.value),
            Own::Sequence => row.batch.sequence(row.record),
            _ => return self.of_schema(py, out, column, row),
        };
        self.number(out, number);
        Ok(())
    }

    /// The columns about schemas.
    fn of_schema(&mut self, py: Python<'_>, out: &mut Vec<u8>, column: Own, row: &Row<'_>) -> PyResult<()> {
        let record = row.place.1 as usize;
        let facts = |is_key| row.decoded.facts(record, is_key);
        let text = match column {
            Own::WireFormat(is_key) => facts(is_key).and_then(|of| of.wire_format.as_deref()),
            Own::SchemaGuid(is_key) => facts(is_key).and_then(|of| of.schema_guid.as_deref()),
            Own::MessageIndexes(is_key) => facts(is_key).and_then(|of| of.message_indexes.as_deref()),
            Own::Schema(is_key) => facts(is_key).and_then(|of| of.schema.as_deref()),
            Own::SchemaId(is_key) => {
                self.number(out, facts(is_key).and_then(|of| of.schema_id));
                return Ok(());
            }
            Own::DecodedPart(is_key) => return self.decoded(py, out, row.decoded.text(record, is_key)),
            _ => {
                let mut room = Vec::new();
                if !row.decoded.both(record, &mut room) {
                    if matches!(column, Own::Decoded) {
                        self.null(out);
                    }
                    return Ok(());
                }
                if matches!(column, Own::DecodedMember) {
                    out.extend_from_slice(b",\"decoded\":");
                }
                return self.cells.json(py, out, std::str::from_utf8(&room)?);
            }
        };
        self.text(py, out, text)
    }

    /// A decoded key or value. Texts have no escapes (`schema_values.rs`).
    fn decoded(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: Option<&[u8]>) -> PyResult<()> {
        let Some(text) = text else { return self.text(py, out, None) };
        let text = std::str::from_utf8(text)?;
        if self.cells.style == Style::Json {
            return self.cells.json(py, out, text);
        }
        match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(text) => self.cells.text(py, out, text),
            None if text == "null" => Ok(()),
            None => self.cells.json(py, out, text),
        }
    }

    fn null(&self, out: &mut Vec<u8>) {
        if self.cells.style == Style::Json {
            out.extend_from_slice(b"null");
        }
    }

    fn number(&self, out: &mut Vec<u8>, number: Option<i64>) {
        match number {
            Some(number) => put(out, number),
            None => self.null(out),
        }
    }

    fn text(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: Option<&str>) -> PyResult<()> {
        match text {
            Some(text) => self.cells.text(py, out, text),
            None => {
                self.null(out);
                Ok(())
            }
        }
    }

    fn topic_id(&mut self, py: Python<'_>, out: &mut Vec<u8>, id: Option<[u8; 16]>) -> PyResult<()> {
        let Some(id) = id else { return self.text(py, out, None) };
        self.room.clear();
        uuid_text(&mut self.room, &id);
        self.cells.text(py, out, std::str::from_utf8(&self.room)?)
    }

    /// A time of a frame (0) or of a record (1), `engine.times.rfc3339`.
    fn time(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<u8>,
        whose: usize,
        second: i64,
        nanos: i64,
    ) -> PyResult<()> {
        let known = &mut self.seconds[whose & 1];
        let prefix = match known {
            Some((at, text)) if *at == second => text,
            _ => {
                let text = self.second_of.bind(py).call1((second,))?;
                let text = text.cast::<PyString>()?.to_str()?.into();
                &known.insert((second, text)).1
            }
        };
        self.room.clear();
        self.room.extend_from_slice(prefix.as_bytes());
        self.room.push(b'.');
        put_nanos(&mut self.room, nanos.unsigned_abs());
        self.room.push(b'Z');
        self.cells.text(py, out, std::str::from_utf8(&self.room)?)
    }

    /// A key or a value.
    fn content(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<u8>,
        form: Form,
        content: Option<&[u8]>,
        write: WriteText,
    ) -> PyResult<()> {
        let Some(content) = content else { return self.text(py, out, None) };
        if !matches!(form, Form::Text) {
            let text = form.of_bytes(content, &mut self.room);
            return write(&mut self.cells, py, out, std::str::from_utf8(text)?);
        }
        match std::str::from_utf8(content) {
            Ok(text) => write(&mut self.cells, py, out, text),
            Err(_) => {
                self.room.clear();
                json_out::bytes(&mut self.room, content);
                self.cells.json(py, out, std::str::from_utf8(&self.room)?)
            }
        }
    }

    /// Key and value of each header.
    fn headers(&mut self, py: Python<'_>, out: &mut Vec<u8>, row: &Row<'_>) -> PyResult<()> {
        let is_json = self.cells.style == Style::Json;
        if is_json {
            out.push(b'[');
        }
        for (at, &(key, value)) in row.headers.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let mut room = std::mem::take(&mut self.room);
            room.clear();
            room.extend_from_slice(b"{\"key\":");
            json_out::text(&mut room, bytes(row.data, Some(key)).unwrap_or_default());
            room.extend_from_slice(b",\"value\":");
            self.as_json(&mut room, bytes(row.data, value))?;
            room.push(b'}');
            let written = self.cells.json(py, out, std::str::from_utf8(&room)?);
            self.room = room;
            written?;
        }
        if is_json {
            out.push(b']');
        }
        Ok(())
    }

    /// The value of a header, within JSON.
    fn as_json(&mut self, out: &mut Vec<u8>, value: Option<&[u8]>) -> PyResult<()> {
        match (value, self.value_form) {
            (None, _) => out.extend_from_slice(b"null"),
            (Some(value), Form::Text) => json_out::text(out, value),
            (Some(value), form) => {
                let mut room = Vec::new();
                string(out, std::str::from_utf8(form.of_bytes(value, &mut room))?);
            }
        }
        Ok(())
    }

    /// Keys or values of headers.
    fn list(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<u8>,
        form: Form,
        places: impl Iterator<Item = Place> + Clone,
        row: &Row<'_>,
    ) -> PyResult<()> {
        let of = |place: Place| bytes(row.data, place);
        let is_text = |found: &[u8]| !matches!(form, Form::Text) || std::str::from_utf8(found).is_ok();
        if self.cells.style == Style::Csv && places.clone().all(|place| of(place).is_some_and(is_text)) {
            return self.joined(py, out, form, places.filter_map(of));
        }
        let is_json = self.cells.style == Style::Json;
        if is_json {
            out.push(b'[');
        } else {
            let mut begin = Vec::new();
            for (at, place) in places.clone().enumerate() {
                if at > 0 {
                    begin.push(b',');
                }
                match of(place) {
                    None => {}
                    Some(found) if is_text(found) => {
                        begin.extend_from_slice(form.of_bytes(found, &mut self.room));
                    }
                    Some(_) => begin.push(b'{'), // a struct, which begins no formula
                }
            }
            self.cells.mark(out, std::str::from_utf8(&begin)?);
        }
        for (at, place) in places.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.content(py, out, form, of(place), Cells::listed)?;
        }
        if is_json {
            out.push(b']');
        }
        Ok(())
    }

    /// Texts as one.
    fn joined<'a>(
        &mut self,
        py: Python<'_>,
        out: &mut Vec<u8>,
        form: Form,
        texts: impl Iterator<Item = &'a [u8]>,
    ) -> PyResult<()> {
        let mut all = Vec::new();
        for (at, text) in texts.enumerate() {
            if at > 0 {
                all.push(b',');
            }
            all.extend_from_slice(form.of_bytes(text, &mut self.room));
        }
        self.cells.text(py, out, std::str::from_utf8(&all)?)
    }
}

fn flag(is_so: bool) -> &'static [u8] {
    if is_so {
        b"true"
    } else {
        b"false"
    }
}

/// A column of numbers.
fn numbered(column: Fixed, shared: &Shared<'_>, index: u32, batch: &Batch) -> Option<i64> {
    match column {
        Fixed::Exchange => Some(shared.ordinal),
        Fixed::Packet => Some(shared.packet),
        Fixed::TimeNs => Some(shared.time_ns),
        Fixed::Partition => shared.partition.map(i64::from),
        Fixed::Batch => Some(index.into()),
        Fixed::ProducerId => batch.producer(),
        Fixed::ProducerEpoch => batch.producer().map(|_| batch.producer_epoch.into()),
        Fixed::Magic => Some(CURRENT_MAGIC.into()),
        Fixed::LeaderEpoch => batch.epoch(),
        _ => None,
    }
}
