//! Bodies as JSON: `kdissect.decoders.nested_json`, `json_sink` and orjson, for bodies that are all right.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::batch_text::BatchText;
use crate::body_program::{parts, Element, Part, Row, Value};
use crate::json_out::{bytes, number, string, uuid};
use crate::wire::{Form, Wire};

/// Names of fields and digits make most small bodies twice as long, or thrice.
const GROWTH: usize = 3;
/// Of larger ones most is records, which hardly grow.
const LARGE: usize = 1 << 16;

/// Why a body is left to Python.
enum Stop {
    Unusual,
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Raised(error)
    }
}

type Done<T = ()> = Result<T, Stop>;

fn fit<T>(found: Option<T>) -> Done<T> {
    found.ok_or(Stop::Unusual)
}

/// The bodies of one version of a message as text.
#[pyclass(frozen, module = "kdissect._native")]
pub struct BodyText {
    root: Vec<Part>,
    batches: Py<BatchText>,
    foreign: Vec<u8>,
}

#[pymethods]
impl BodyText {
    /// Rows of the root's fields: `body_program.Row`. Bodies that begin with `foreign`, if that is not empty,
    /// may be in another version. Raises ValueError for what is no message.
    #[new]
    fn new(rows: Vec<Row>, batches: Py<BatchText>, foreign: Vec<u8>) -> PyResult<Self> {
        Ok(BodyText { root: parts(&rows, 0)?, batches, foreign })
    }

    /// The text of the body from `offset` to the end; None where it is not plain.
    ///
    /// `nest` tells of records: `name(topic id)` their topic, `unusual(data, start, end, topic)` the text of
    /// those that are not plain. Without it they are but counted. Raises what `nest` does, but for ValueError,
    /// with which it leaves the body to others.
    fn text<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
        offset: usize,
        nest: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let all = data.as_bytes();
        let body = all.get(offset..).unwrap_or_default();
        if !self.foreign.is_empty() && body.starts_with(&self.foreign) {
            return Ok(None);
        }
        let wire = Wire { data: all, at: offset };
        let out = Vec::with_capacity(GROWTH * body.len().min(LARGE));
        let batches = self.batches.get();
        let mut writer = Writer { py, data, nest, batches, wire, out, topic: None, topic_id: None };
        match writer.fields(&self.root) {
            Ok(()) if writer.wire.at == all.len() => Ok(Some(PyBytes::new(py, &writer.out))),
            Ok(()) | Err(Stop::Unusual) => Ok(None),
            Err(Stop::Raised(error)) if error.is_instance_of::<PyValueError>(py) => Ok(None),
            Err(Stop::Raised(error)) => Err(error),
        }
    }
}

struct Writer<'a, 'py> {
    py: Python<'py>,
    data: &'a Bound<'py, PyBytes>,
    nest: Option<&'a Bound<'py, PyAny>>,
    batches: &'a BatchText,
    wire: Wire<'a>,
    out: Vec<u8>,
    topic: Option<&'a [u8]>, // of the records that come next, UTF-8
    topic_id: Option<&'a [u8; 16]>,
}

impl<'a> Writer<'a, '_> {
    fn say(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// A struct.
    fn fields(&mut self, parts: &[Part]) -> Done {
        self.out.push(b'{');
        for part in parts {
            self.out.extend_from_slice(&part.before);
            self.value(&part.value)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Done {
        match value {
            Value::Bool => {
                let is_true = fit(self.wire.byte())? != 0;
                self.say(if is_true { b"true" } else { b"false" });
            }
            Value::Int8 => self.number(|wire| Some(i8::from_be_bytes(wire.fixed()?)))?,
            Value::Int16 => self.number(|wire| Some(i16::from_be_bytes(wire.fixed()?)))?,
            Value::Uint16 => self.number(|wire| Some(u16::from_be_bytes(wire.fixed()?)))?,
            Value::Int32 => self.number(|wire| Some(i32::from_be_bytes(wire.fixed()?)))?,
            Value::Uint32 => self.number(|wire| Some(u32::from_be_bytes(wire.fixed()?)))?,
            Value::Int64 => self.number(|wire| Some(i64::from_be_bytes(wire.fixed()?)))?,
            Value::Uuid => {
                self.uuid()?;
            }
            Value::TopicId => self.topic_id = Some(self.uuid()?),
            Value::Text(form) => {
                self.text(*form)?;
            }
            Value::Topic(form) => self.topic = self.text(*form)?,
            Value::Bytes(form) => self.bytes(*form)?,
            Value::Payload(form) => self.payload(*form)?,
            Value::Records(form) => self.records(*form)?,
            Value::Struct(parts) => self.fields(parts)?,
            Value::NullableStruct(parts) => self.nullable_struct(parts)?,
            Value::TaggedStruct(parts) => self.tagged_struct(parts)?,
            Value::Array(form, element) => self.array(*form, element)?,
            Value::Tags(known) => {
                let count = fit(self.wire.uvarint())?;
                if count > 0 {
                    self.tags(count, known)?;
                }
            }
        }
        Ok(())
    }

    fn number<T: Into<i64>>(&mut self, read: impl Fn(&mut Wire<'a>) -> Option<T>) -> Done {
        number(&mut self.out, fit(read(&mut self.wire))?.into());
        Ok(())
    }

    fn uuid(&mut self) -> Done<&'a [u8; 16]> {
        let found = fit(self.wire.take(16).and_then(|found| found.first_chunk()))?;
        uuid(&mut self.out, found);
        Ok(found)
    }

    /// The length of what comes next, None for null, which is written then.
    fn length(&mut self, form: Form, is_short: bool) -> Done<Option<usize>> {
        let length = fit(self.wire.length(form, is_short))?;
        if length.is_none() {
            self.say(b"null");
        }
        Ok(length)
    }

    fn text(&mut self, form: Form) -> Done<Option<&'a [u8]>> {
        let Some(length) = self.length(form, true)? else { return Ok(None) };
        let found = fit(self.wire.take(length))?;
        string(&mut self.out, fit(std::str::from_utf8(found).ok())?);
        Ok(Some(found))
    }

    fn bytes(&mut self, form: Form) -> Done {
        if let Some(length) = self.length(form, false)? {
            bytes(&mut self.out, fit(self.wire.take(length))?);
        }
        Ok(())
    }

    /// Bytes whose contents are told beside them, if there are any.
    fn payload(&mut self, form: Form) -> Done {
        match self.length(form, false)? {
            Some(0) => bytes(&mut self.out, b""),
            Some(_) => return Err(Stop::Unusual),
            None => {}
        }
        Ok(())
    }

    fn nullable_struct(&mut self, parts: &[Part]) -> Done {
        if i8::from_be_bytes(fit(self.wire.fixed())?) < 0 {
            self.say(b"null");
            return Ok(());
        }
        self.fields(parts)
    }

    /// Its marker is another than that of a struct that is no tag: `Emitter._struct`.
    fn tagged_struct(&mut self, parts: &[Part]) -> Done {
        if fit(self.wire.uvarint())? == 0 {
            self.say(b"null");
            return Ok(());
        }
        self.fields(parts)
    }

    /// The tags at the end of a struct, which stand in ascending order (KIP-482); those that the schema does
    /// not know under `_tags`.
    fn tags(&mut self, count: u32, known: &[Part]) -> Done {
        let mut least = 0;
        let mut unknown = 0;
        for _ in 0..count {
            let (tag, size) = (fit(self.wire.uvarint())?, fit(self.wire.uvarint())? as usize);
            if u64::from(tag) < least {
                return Err(Stop::Unusual);
            }
            least = u64::from(tag) + 1;
            match known.iter().find(|part| part.tag == tag) {
                Some(part) if unknown == 0 => self.tag(part, size)?,
                Some(_) => return Err(Stop::Unusual), // `_tags` stand where the first of them does
                None => {
                    self.unknown_tag(tag, size, unknown == 0)?;
                    unknown += 1;
                }
            }
        }
        if unknown > 0 {
            self.out.push(b'}');
        }
        Ok(())
    }

    fn tag(&mut self, part: &Part, size: usize) -> Done {
        let stop = self.wire.at.saturating_add(size);
        self.comma();
        self.say(&part.before);
        self.value(&part.value)?;
        fit((self.wire.at == stop).then_some(()))
    }

    fn unknown_tag(&mut self, tag: u32, size: usize, is_first: bool) -> Done {
        if is_first {
            self.comma();
            self.say(b"\"_tags\":{\"");
        } else {
            self.say(b",\"");
        }
        number(&mut self.out, tag.into());
        self.say(b"\":");
        bytes(&mut self.out, fit(self.wire.take(size))?);
        Ok(())
    }

    /// A comma, but for the first in an object: no value ends with its brace.
    fn comma(&mut self) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
    }

    fn array(&mut self, form: Form, element: &Element) -> Done {
        let Some(count) = self.length(form, false)? else { return Ok(()) };
        if count > self.wire.left() / element.least {
            return Err(Stop::Unusual);
        }
        self.out.push(b'[');
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(&element.value)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn records(&mut self, form: Form) -> Done {
        let Some(length) = self.length(form, false)? else { return Ok(()) };
        let start = self.wire.at;
        let found = fit(self.wire.take(length))?;
        match self.nest {
            Some(nest) => self.nested(nest, start, found),
            None => {
                self.say(b"{\"bytes\":");
                number(&mut self.out, length as i64);
                self.out.push(b'}');
                Ok(())
            }
        }
    }

    /// Batches in the place of a records field, `NestedBodies._nested`.
    fn nested(&mut self, nest: &Bound<'_, PyAny>, start: usize, found: &[u8]) -> Done {
        let topic = self.topic_name(nest)?;
        let before = self.out.len();
        self.say(b"{\"bytes\":");
        number(&mut self.out, found.len() as i64);
        self.say(b",\"batches\":");
        let is_own = topic.as_ref().is_some_and(|topic| self.batches.is_own(topic.as_bytes()));
        if !is_own && self.batches.batches(self.py, &mut self.out, found)? {
            self.out.push(b'}');
            return Ok(());
        }
        self.out.truncate(before);
        let place = (self.data, start, start + found.len(), topic);
        let text = nest.call_method1(intern!(self.py, "unusual"), place)?;
        self.say(text.extract()?);
        Ok(())
    }

    /// Whose records come next.
    fn topic_name(&self, nest: &Bound<'_, PyAny>) -> Done<Option<Cow<'a, str>>> {
        let Some(topic_id) = self.topic_id else { return Ok(self.topic.map(String::from_utf8_lossy)) };
        let id = PyBytes::new(self.py, topic_id);
        let name = nest.call_method1(intern!(self.py, "name"), (id,))?;
        let name: Option<Bound<'_, PyString>> = name.extract()?;
        Ok(name.map(|name| name.to_str().map(|name| Cow::Owned(name.to_owned()))).transpose()?)
    }
}
