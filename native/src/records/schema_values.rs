//! Keys and values of a field by the schemas that they name, as JSON text. The callbacks are those of
//! `kdissect.engine.records.compiled_values`. A field with a key or value that is anomalous, or of a schema that
//! is not read here, is left to Python.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::avro::AvroProgram;
use super::batch::Batch;
use super::field::Field;
use super::program::Base;
use super::record_reader::{bytes, Header, Record};
use super::row_facts::Shared;
use crate::json_values::Json;

/// Maximum bytes of text of a field.
const MAX_TEXT: usize = 96 << 20;
/// Maximum ids of schemas, each with its topic; Python reads further ones.
const MAX_IDS: usize = 10_000;
/// Counts that wait.
const MAX_COUNTS: usize = 64;
/// `kdissect.serdes.schema_ids`: where prefixes end, and which headers have ids.
const ID_END: usize = 5;
const LONG_END: usize = 9;
const GLUE_END: usize = 18;
const HEADERS: [[&[u8]; 3]; 2] = [
    [b"__value_schema_id", b"apicurio.value.globalId", b"apicurio.value.contentId"],
    [b"__key_schema_id", b"apicurio.key.globalId", b"apicurio.key.contentId"],
];

/// Columns of a key or value: `record_values.PartFacts`, without the error.
#[derive(FromPyObject)]
pub struct Facts {
    pub wire_format: Option<String>,
    pub schema_id: Option<i64>,
    pub schema_guid: Option<String>,
    pub message_indexes: Option<String>,
    pub schema: Option<String>,
}

/// How keys or values with one id are read.
struct Plan {
    /// None for those that no schema describes.
    program: Option<Py<AvroProgram>>,
    start: usize,
    facts: Facts,
}

/// A key or value: its plan, and its text if it is decoded.
#[derive(Clone, Copy, Default)]
struct Part {
    plan: Option<u32>,
    text: Option<(usize, usize)>,
}

/// Keys or values of one plan, topic and client.
struct Count {
    place: Place,
    number: u64,
    /// The first one, and where it is.
    content: Py<PyBytes>,
    partition: Option<i32>,
    offset: Option<i64>,
    file: String,
    packet: i64,
}

#[derive(PartialEq)]
struct Place {
    plan: u32,
    is_key: bool,
    topic: Option<String>,
    topic_id: Option<[u8; 16]>,
    direction: String,
    connection: String,
    client: String,
    principal: Option<String>,
    client_id: Option<String>,
}

impl Place {
    fn is_of(&self, shared: &Shared<'_>, (plan, is_key): (u32, bool)) -> bool {
        self.plan == plan
            && self.is_key == is_key
            && self.topic_id == shared.topic_id
            && self.topic.as_deref() == shared.topic
            && self.direction == shared.direction
            && self.connection == *shared.connection.id
            && self.client_id.as_deref() == shared.client_id
    }

    fn of(shared: &Shared<'_>, (plan, is_key): (u32, bool)) -> Place {
        Place {
            plan,
            is_key,
            topic: shared.topic.map(str::to_owned),
            topic_id: shared.topic_id,
            direction: shared.direction.to_owned(),
            connection: shared.connection.id.to_string(),
            client: shared.connection.client.to_string(),
            principal: shared.connection.principal.as_deref().map(str::to_owned),
            client_id: shared.client_id.map(str::to_owned),
        }
    }
}

type Found = Option<(Option<Py<AvroProgram>>, usize, Facts)>;

/// The keys and values of one field after the other.
pub struct SchemaValues {
    /// `(topic, is_key, content, header, number) -> Found`: how keys or values with the id of this one are read,
    /// as plan `number`; None if Python reads them.
    resolve: Py<PyAny>,
    /// Gets what was counted, a tuple for each `Count`.
    note: Py<PyAny>,
    json: Json,
    /// Whether a value that is a text or list becomes a cell, whose text is not JSON.
    has_cells: bool,
    plans: Vec<Plan>,
    known: HashMap<Vec<u8>, Option<u32>>,
    /// The id of the last key and value of this field.
    last: [(Vec<u8>, Option<u32>); 2],
    /// Keys and values of the field's records, in their order.
    parts: Vec<[Part; 2]>,
    texts: Vec<u8>,
    counts: Vec<Count>,
    room: Vec<u8>,
}

impl SchemaValues {
    /// `style` is one of `Json`.
    pub fn new((style, has_cells, resolve, note): (String, bool, Py<PyAny>, Py<PyAny>)) -> PyResult<Self> {
        Ok(SchemaValues {
            resolve,
            note,
            json: Json::of(&style)?,
            has_cells,
            plans: Vec::new(),
            known: HashMap::new(),
            last: Default::default(),
            parts: Vec::new(),
            texts: Vec::new(),
            counts: Vec::new(),
            room: Vec::new(),
        })
    }

    /// Decode the keys and values of a field; False if Python reads it.
    pub fn read(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        field: &Field,
        data: &[u8],
    ) -> PyResult<bool> {
        self.parts.clear();
        self.texts.clear();
        self.last.iter_mut().for_each(|(id, _)| id.clear());
        for (_, content, found) in field.decoded(py, data) {
            let mut headers = found.headers.as_slice();
            for record in &found.records {
                let (own, others) = headers.split_at_checked(record.headers).unwrap_or_default();
                headers = others;
                let mut parts = [Part::default(); 2];
                for is_key in [true, false] {
                    let place = if is_key { record.key } else { record.value };
                    let Some(part) = bytes(content, place) else { continue };
                    let header = header_of(content, own, is_key);
                    match self.part(py, shared.topic, is_key, part, header)? {
                        Some(found) => parts[usize::from(is_key)] = found,
                        None => return Ok(false),
                    }
                }
                self.parts.push(parts);
            }
        }
        self.count(py, *shared, field, data)?;
        Ok(true)
    }

    /// Hand over what was counted.
    pub fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let note = self.note.bind(py);
        for count in self.counts.drain(..) {
            let Count { place, number, content, partition, offset, file, packet } = count;
            let id = place.topic_id.as_ref().map(|id| PyBytes::new(py, id));
            let by = (place.direction, place.principal, place.client_id, place.client);
            let at = (place.topic, id, partition, offset, file, packet);
            note.call1((place.plan, place.is_key, content, number, at, by))?;
        }
        Ok(())
    }

    /// A key or value; None if Python reads it.
    fn part(
        &mut self,
        py: Python<'_>,
        topic: Option<&str>,
        is_key: bool,
        content: &[u8],
        header: Option<(&[u8], &[u8])>,
    ) -> PyResult<Option<Part>> {
        let mut id = std::mem::take(&mut self.room);
        id.clear();
        let is_usual = match header {
            Some((name, value)) => {
                id.push(b'h');
                id.extend_from_slice(name);
                id.push(0);
                id.extend_from_slice(value);
                true
            }
            None => match prefix(content) {
                Some(size) => {
                    id.push(b'p');
                    id.extend_from_slice(content.get(..size).unwrap_or_default());
                    true
                }
                None => false,
            },
        };
        let last = &self.last[usize::from(is_key)];
        let number = if !is_usual {
            None
        } else if last.0 == id {
            last.1
        } else {
            let number = self.plan(py, topic, is_key, content, header, &id)?;
            let last = &mut self.last[usize::from(is_key)];
            last.0.clone_from(&id);
            last.1 = number;
            number
        };
        self.room = id;
        let Some((number, plan)) = number.and_then(|number| Some((number, self.plans.get(number as usize)?)))
        else {
            return Ok(None);
        };
        let Some(program) = &plan.program else {
            let is_plain = content.first().is_none_or(|&first| !may_be_recognised(first));
            return Ok(is_plain.then_some(Part { plan: Some(number), text: None }));
        };
        let start = self.texts.len();
        let own = content.get(plan.start..).unwrap_or_default();
        // An id that is doubtful by itself (`schema_ids.is_doubtful`) is proven if the value fits.
        if program.get().write(own, &self.json, &mut self.texts).is_none() || self.texts.len() > MAX_TEXT {
            return Ok(None);
        }
        let text = self.texts.get(start..).unwrap_or_default();
        let is_cell = match text.first() {
            Some(b'[') => false,
            Some(b'"') => !text.contains(&b'\\'),
            _ => true,
        };
        let part = Part { plan: Some(number), text: Some((start, self.texts.len())) };
        Ok((is_cell || !self.has_cells).then_some(part))
    }

    /// The plan of keys or values with an id in a topic; None if Python reads them.
    fn plan(
        &mut self,
        py: Python<'_>,
        topic: Option<&str>,
        is_key: bool,
        content: &[u8],
        header: Option<(&[u8], &[u8])>,
        id: &[u8],
    ) -> PyResult<Option<u32>> {
        let mut place = vec![u8::from(is_key), u8::from(topic.is_some())];
        place.extend_from_slice(&id.len().to_le_bytes());
        place.extend_from_slice(id);
        place.extend_from_slice(topic.unwrap_or_default().as_bytes());
        if let Some(&number) = self.known.get(&place) {
            return Ok(number);
        }
        if self.known.len() >= MAX_IDS {
            return Ok(None);
        }
        let number = self.plans.len() as u32;
        let header = header.map(|(name, value)| {
            (PyString::new(py, std::str::from_utf8(name).unwrap_or_default()), PyBytes::new(py, value))
        });
        let given = (topic, is_key, PyBytes::new(py, content), header, number);
        let found: Found = self.resolve.bind(py).call1(given)?.extract()?;
        let known = found.map(|(program, start, facts)| {
            self.plans.push(Plan { program, start, facts });
            number
        });
        self.known.insert(place, known);
        Ok(known)
    }

    /// Count the keys and values of a field that is read.
    fn count(&mut self, py: Python<'_>, mut shared: Shared<'_>, field: &Field, data: &[u8]) -> PyResult<()> {
        let mut number = 0;
        let mut last = [None::<(u32, usize)>; 2];
        for (batch, content, found) in field.decoded(py, data) {
            for record in &found.records {
                let parts = self.parts.get(number).copied().unwrap_or_default();
                number += 1;
                for is_key in [true, false] {
                    let Some(plan) = parts[usize::from(is_key)].plan else { continue };
                    let last = &mut last[usize::from(is_key)];
                    let at = match *last {
                        Some((of, at)) if of == plan && at < self.counts.len() => at,
                        _ => self.place(py, &shared, (plan, is_key), (batch, record), content)?,
                    };
                    *last = Some((plan, at));
                    if let Some(count) = self.counts.get_mut(at) {
                        count.number += 1;
                    }
                }
            }
            if let Base::Assigned(base) = &mut shared.base {
                *base = base.saturating_add(i64::from(batch.last_offset_delta) + 1);
            }
        }
        Ok(())
    }

    /// The number of the count of a plan, which begins with this record if there is none.
    fn place(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        of: (u32, bool),
        (batch, record): (&Batch, &Record),
        content: &[u8],
    ) -> PyResult<usize> {
        if let Some(at) = self.counts.iter().rposition(|count| count.place.is_of(shared, of)) {
            return Ok(at);
        }
        if self.counts.len() >= MAX_COUNTS {
            self.flush(py)?;
        }
        let part = if of.1 { record.key } else { record.value };
        self.counts.push(Count {
            place: Place::of(shared, of),
            number: 0,
            content: PyBytes::new(py, bytes(content, part).unwrap_or_default()).unbind(),
            partition: shared.partition,
            offset: shared.log_offset(batch, batch.place(record).map(|(offset, _)| offset)),
            file: shared.file.to_owned(),
            packet: shared.packet,
        });
        Ok(self.counts.len() - 1)
    }
}

/// What was decoded of the records of a batch, the first of which is one of the field's.
#[derive(Clone, Copy)]
pub struct Decoded<'a> {
    pub values: Option<&'a SchemaValues>,
    pub first: usize,
}

impl<'a> Decoded<'a> {
    /// The facts about the key or value of a record of the batch.
    pub fn facts(&self, record: usize, is_key: bool) -> Option<&'a Facts> {
        let values = self.values?;
        let part = values.parts.get(self.first + record)?[usize::from(is_key)];
        Some(&values.plans.get(part.plan? as usize)?.facts)
    }

    /// The JSON text of the key or value of a record, if it is decoded.
    pub fn text(&self, record: usize, is_key: bool) -> Option<&'a [u8]> {
        let values = self.values?;
        let (start, end) = values.parts.get(self.first + record)?[usize::from(is_key)].text?;
        values.texts.get(start..end)
    }

    /// Write key and value as one object; False if neither is decoded.
    pub fn both(&self, record: usize, out: &mut Vec<u8>) -> bool {
        let (key, value) = (self.text(record, true), self.text(record, false));
        let Some(json) = self.values.map(|values| &values.json) else { return false };
        if key.is_none() && value.is_none() {
            return false;
        }
        for (begin, name, text) in [(&b"{"[..], &b"\"key\""[..], key), (json.comma, b"\"value\"", value)] {
            out.extend_from_slice(begin);
            out.extend_from_slice(name);
            out.extend_from_slice(json.colon);
            out.extend_from_slice(text.unwrap_or(b"null"));
        }
        out.push(b'}');
        true
    }
}

/// The first header that may have the id of a key or value.
fn header_of<'a>(data: &'a [u8], headers: &[Header], is_key: bool) -> Option<(&'a [u8], &'a [u8])> {
    headers.iter().find_map(|&(name, value)| {
        let (name, value) = (bytes(data, Some(name))?, bytes(data, value)?);
        HEADERS[usize::from(is_key)].contains(&name).then_some((name, value))
    })
}

/// The size of an id before a content, 0 for none; None for one that Python reads. `schema_ids._of_prefix`.
fn prefix(content: &[u8]) -> Option<usize> {
    if content.len() < ID_END {
        return Some(0);
    }
    match *content {
        [0, 0, 0, 0, 0, ..] => match content.get(ID_END..LONG_END) {
            Some(&[0, 0, 0, 0]) | None => Some(0),
            Some(_) => Some(LONG_END),
        },
        [0, first, ..] => Some(if first < 0x80 { ID_END } else { 0 }),
        [3, 0, ..] => Some(if content.len() < GLUE_END { 0 } else { GLUE_END }),
        [3, 5, ..] => None,
        _ => Some(0),
    }
}

/// Whether `serdes.contents` may recognise what begins with a byte: JSON, MessagePack and CBOR.
fn may_be_recognised(first: u8) -> bool {
    matches!(first, b'{' | b'[' | 0x81..=0x8F | 0xDE | 0xDF | 0xA1..=0xBB | 0xBF | 0xD9)
}
