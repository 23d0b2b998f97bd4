//! Bodies as JSON: `kdissect.decoders.as_json.json_bodies` and orjson, for bodies that are all right.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Role};
use crate::json_out::{bytes, number, string, uuid};
use crate::records::batch_text::BatchText;
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
    layout: Py<Layout>,
    batches: Py<BatchText>,
    foreign: Vec<u8>,
}

#[pymethods]
impl BodyText {
    /// Bodies that begin with `foreign`, if that is not empty, may be in another version.
    #[new]
    fn new(layout: Py<Layout>, batches: Py<BatchText>, foreign: Vec<u8>) -> Self {
        BodyText { layout, batches, foreign }
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
        let (layout, batches) = (self.layout.get(), self.batches.get());
        let mut writer = Writer { py, data, nest, layout, batches, wire, out, topic: None, topic_id: None };
        match writer.structure(0) {
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
    layout: &'a Layout,
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

    fn structure(&mut self, number: usize) -> Done {
        let layout = self.layout;
        let of = fit(layout.structs.get(number))?;
        self.out.push(b'{');
        for (index, field) in of.fields.iter().enumerate() {
            self.say(field.label.get(usize::from(index == 0)..).unwrap_or_default());
            self.field(field)?;
        }
        if layout.flexible {
            let count = fit(self.wire.uvarint())?;
            if count > 0 {
                self.tags(count, &of.tagged)?;
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn field(&mut self, field: &Field) -> Done {
        match field.kind {
            _ if field.is_array => self.array(field),
            Kind::Struct(number) if field.nullable => {
                let marker = i8::from_be_bytes(fit(self.wire.fixed())?);
                self.nullable_struct(number, marker < 0)
            }
            _ => self.value(field, field.nullable),
        }
    }

    /// A value, or an element of an array.
    fn value(&mut self, field: &Field, nullable: bool) -> Done {
        let form = self.form(nullable);
        match field.kind {
            Kind::Bool => {
                let is_true = fit(self.wire.byte())? != 0;
                self.say(if is_true { b"true" } else { b"false" });
            }
            Kind::Number(kind) => number(&mut self.out, fit(kind.read(&mut self.wire))?),
            Kind::Float64 => return Err(Stop::Unusual),
            Kind::Uuid => {
                let found = self.uuid()?;
                if field.is_part {
                    self.topic_id = Some(found);
                }
            }
            Kind::String => {
                let found = self.text(form)?;
                if field.is_part {
                    self.topic = found;
                }
            }
            Kind::Bytes if field.role == Role::Payload => self.payload(form)?,
            Kind::Bytes => self.bytes(form)?,
            Kind::Records => self.records(form)?,
            Kind::Struct(number) => self.structure(number)?,
        }
        Ok(())
    }

    fn form(&self, nullable: bool) -> Form {
        Form { compact: self.layout.flexible, nullable }
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

    fn nullable_struct(&mut self, number: usize, is_null: bool) -> Done {
        if is_null {
            self.say(b"null");
            return Ok(());
        }
        self.structure(number)
    }

    /// The tags at the end of a struct, which stand in ascending order (KIP-482); those that the schema does
    /// not know under `_tags`.
    fn tags(&mut self, count: u32, known: &[Field]) -> Done {
        let mut least = 0;
        let mut unknown = 0;
        for _ in 0..count {
            let (tag, size) = (fit(self.wire.uvarint())?, fit(self.wire.uvarint())? as usize);
            if u64::from(tag) < least {
                return Err(Stop::Unusual);
            }
            least = u64::from(tag) + 1;
            match known.iter().find(|field| field.tag == tag) {
                Some(field) if unknown == 0 => self.tag(field, size)?,
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

    fn tag(&mut self, field: &Field, size: usize) -> Done {
        let stop = self.wire.at.saturating_add(size);
        let is_first = self.out.last() == Some(&b'{'); // no value ends with its brace
        self.say(field.label.get(usize::from(is_first)..).unwrap_or_default());
        match field.kind {
            // Its marker is another than that of a struct that is no tag: `Emitter._struct`.
            Kind::Struct(number) if field.nullable && !field.is_array => {
                let marker = fit(self.wire.uvarint())?;
                self.nullable_struct(number, marker == 0)?;
            }
            _ => self.field(field)?,
        }
        fit((self.wire.at == stop).then_some(()))
    }

    fn unknown_tag(&mut self, tag: u32, size: usize, is_first: bool) -> Done {
        self.say(match (is_first, self.out.last()) {
            (false, _) => b",\"",
            (true, Some(b'{')) => b"\"_tags\":{\"",
            (true, _) => b",\"_tags\":{\"",
        });
        number(&mut self.out, tag.into());
        self.say(b"\":");
        bytes(&mut self.out, fit(self.wire.take(size))?);
        Ok(())
    }

    fn array(&mut self, field: &Field) -> Done {
        let Some(count) = self.length(self.form(field.nullable), false)? else { return Ok(()) };
        if count > self.wire.left() / self.layout.least_element(field.kind) {
            return Err(Stop::Unusual);
        }
        self.out.push(b'[');
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(field, false)?;
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
