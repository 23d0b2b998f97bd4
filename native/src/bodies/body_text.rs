//! Bodies as JSON: `kdissect.decoders.as_json.json_bodies` and orjson, for bodies that are all right.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::{Kind, Layout, Role};
use crate::bodies::visit::{fit, visit, Done, Spot, Stop, Visitor};
use crate::json_out::{bytes, number, string, uuid};
use crate::records::batch_text::BatchText;

/// Names of fields and digits make most small bodies twice as long, or thrice.
const GROWTH: usize = 3;
/// Of larger ones most is records, which hardly grow.
const LARGE: usize = 1 << 16;

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
    /// `nest` are two functions that tell of records: of a topic's id its name, and of data, start, end and topic the
    /// text of a field that takes the slow path. Without them records are but counted. Raises what they do, but for
    /// ValueError, with which they leave the body to others.
    fn text<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
        offset: usize,
        nest: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let all = data.as_bytes();
        let body = all.get(offset..).unwrap_or_default();
        if !self.foreign.is_empty() && body.starts_with(&self.foreign) {
            return Ok(None);
        }
        let out = Vec::with_capacity(GROWTH * body.len().min(LARGE));
        let mut json = Json { py, data, nest, batches: self.batches.get(), out, topic: None, topic_id: None };
        match visit(self.layout.get(), all, offset, &mut json) {
            Ok(end) if end == all.len() => Ok(Some(PyBytes::new(py, &json.out))),
            Ok(_) | Err(Stop::Unusual) => Ok(None),
            Err(Stop::Raised(error)) if error.is_instance_of::<PyValueError>(py) => Ok(None),
            Err(Stop::Raised(error)) => Err(error),
        }
    }
}

/// What gives the name of a topic's id, and the text of a records field.
type Nest<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

struct Json<'a, 'py> {
    py: Python<'py>,
    data: &'a Bound<'py, PyBytes>,
    nest: Option<Nest<'py>>,
    batches: &'a BatchText,
    out: Vec<u8>,
    topic: Option<&'a [u8]>, // of the records that come next, UTF-8
    topic_id: Option<&'a [u8; 16]>,
}

impl<'a> Visitor<'a> for Json<'a, '_> {
    fn field(&mut self, spot: Spot<'_>, _at: usize) {
        let is_first = self.out.last() == Some(&b'{'); // no value ends with its brace
        self.say(spot.field.label.get(usize::from(is_first)..).unwrap_or_default());
    }

    fn structure(&mut self) {
        self.out.push(b'{');
    }

    fn structure_end(&mut self) {
        self.out.push(b'}');
    }

    fn array(&mut self, _count: usize) {
        self.out.push(b'[');
    }

    fn element(&mut self, _spot: Spot<'_>, index: usize, _at: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn array_end(&mut self) {
        self.out.push(b']');
    }

    fn null(&mut self, spot: Spot<'_>) {
        self.say(b"null");
        if spot.field.is_part && spot.field.kind == Kind::String {
            self.topic = None;
        }
    }

    fn boolean(&mut self, _spot: Spot<'_>, value: bool) {
        self.say(if value { b"true" } else { b"false" });
    }

    fn number(&mut self, _spot: Spot<'_>, value: i64) {
        number(&mut self.out, value);
    }

    fn uuid(&mut self, spot: Spot<'_>, value: &'a [u8; 16]) -> Done {
        uuid(&mut self.out, value);
        if spot.field.is_part {
            self.topic_id = Some(value);
        }
        Ok(())
    }

    fn text(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done {
        string(&mut self.out, fit(std::str::from_utf8(value).ok())?);
        if spot.field.is_part {
            self.topic = Some(value);
        }
        Ok(())
    }

    /// What payloads hold is told beside them.
    fn bytes(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done {
        if spot.field.role == Role::Payload && !value.is_empty() {
            return Err(Stop::Unusual);
        }
        bytes(&mut self.out, value);
        Ok(())
    }

    fn records(&mut self, _spot: Spot<'_>, at: usize, value: &'a [u8]) -> Done {
        match self.nest.clone() {
            Some(nest) => self.nested(&nest, at, value),
            None => {
                self.say(b"{\"bytes\":");
                number(&mut self.out, value.len() as i64);
                self.out.push(b'}');
                Ok(())
            }
        }
    }

    /// Those that the schema does not know stand under `_tags`.
    fn unknown_tag(&mut self, tag: u32, value: &'a [u8], is_first: bool) -> Done {
        self.say(match (is_first, self.out.last()) {
            (false, _) => b",\"",
            (true, Some(b'{')) => b"\"_tags\":{\"",
            (true, _) => b",\"_tags\":{\"",
        });
        number(&mut self.out, tag.into());
        self.say(b"\":");
        bytes(&mut self.out, value);
        Ok(())
    }

    fn tags_end(&mut self, unknown: usize, _at: usize) {
        if unknown > 0 {
            self.out.push(b'}');
        }
    }
}

impl<'a> Json<'a, '_> {
    fn say(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Batches in the place of a records field, `NestedBodies._nested`.
    fn nested(&mut self, (name, slow): &Nest<'_>, start: usize, found: &[u8]) -> Done {
        let topic = self.topic_name(name)?;
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
        let text = slow.call1(place)?;
        self.say(text.extract()?);
        Ok(())
    }

    /// Whose records come next.
    fn topic_name(&self, name: &Bound<'_, PyAny>) -> Done<Option<Cow<'a, str>>> {
        let Some(topic_id) = self.topic_id else { return Ok(self.topic.map(String::from_utf8_lossy)) };
        let id = PyBytes::new(self.py, topic_id);
        let name: Option<Bound<'_, PyString>> = name.call1((id,))?.extract()?;
        Ok(name.map(|name| name.to_str().map(|name| Cow::Owned(name.to_owned()))).transpose()?)
    }
}
