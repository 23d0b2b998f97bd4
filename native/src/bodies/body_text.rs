//! Bodies as JSON: `kdissect.decoders.as_json.json_bodies` and orjson, for bodies that are all right.

use std::borrow::Cow;
use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::json_out::{bytes, number, string, uuid};
use crate::records::batch_text::BatchText;

/// Names of fields and digits make most small bodies twice as long, or thrice.
const GROWTH: usize = 3;
/// Of larger ones most is records, which hardly grow.
const LARGE: usize = 1 << 16;

/// The bodies of one message version as text.
#[pyclass(frozen, module = "kdissect._native")]
pub struct BodyText {
    program: Program,
    batches: Py<BatchText>,
    foreign: Vec<u8>,
}

#[pymethods]
impl BodyText {
    /// Bodies that begin with `foreign`, if that is not empty, may be in another version.
    #[new]
    fn new(layout: &Layout, batches: Py<BatchText>, foreign: Vec<u8>) -> Self {
        BodyText { program: Program::of::<Json>(layout), batches, foreign }
    }

    /// The text of the body from `offset` to the end; None where it needs the slow path.
    ///
    /// `nest` are two functions about records: the first returns the name of a topic's id, the
    /// second the text of a field that takes the slow path, from its data, start, end and topic.
    /// Without them records are but counted. Raises their exceptions, except ValueError, with which
    /// they leave the body to Python.
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
        let batches = self.batches.get();
        let mut json = Json { py, data, nest, batches, out, topic: None, topic_id: None, raised: None };
        let end = self.program.walk(all, offset, &mut json);
        match json.raised {
            Some(error) if !error.is_instance_of::<PyValueError>(py) => Err(error),
            None if end == Some(all.len()) => Ok(Some(PyBytes::new(py, &json.out))),
            _ => Ok(None),
        }
    }
}

/// Functions that return the name of a topic's id, and the text of a records field.
type Nest<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

struct Json<'a, 'py> {
    py: Python<'py>,
    data: &'a Bound<'py, PyBytes>,
    nest: Option<Nest<'py>>,
    batches: &'a BatchText,
    out: Vec<u8>,
    topic: Option<Range<usize>>, // of the records that come next, UTF-8
    topic_id: Option<[u8; 16]>,
    raised: Option<PyErr>,
}

impl Look for Json<'_, '_> {
    fn wants(_field: &Field) -> bool {
        true
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place.clone())?;
        match what.kind {
            Kind::Bool => self.say(if raw == [0] { b"false" } else { b"true" }),
            Kind::Number(kind) => number(&mut self.out, kind.of(raw)?),
            Kind::Uuid => {
                let id = raw.try_into().ok()?;
                uuid(&mut self.out, id);
                if what.is_part {
                    self.topic_id = Some(*id);
                }
            }
            Kind::String => {
                string(&mut self.out, std::str::from_utf8(raw).ok()?);
                if what.is_part {
                    self.topic = Some(place);
                }
            }
            // The content of payloads follows them.
            Kind::Bytes if what.role == Role::Payload && !raw.is_empty() => return None,
            Kind::Bytes => bytes(&mut self.out, raw),
            Kind::Records => return self.records(raw, place),
            Kind::Float64 | Kind::Struct(_) => return None,
        }
        Some(())
    }

    fn null(&mut self, what: What) {
        self.say(b"null");
        if what.is_part && what.kind == Kind::String {
            self.topic = None;
        }
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        match count {
            None => self.say(b"null"),
            Some(_) if what.is_array => self.out.push(b'['),
            Some(_) => {}
        }
        Some(())
    }

    fn field(&mut self, what: What, _at: usize) {
        let is_first = self.out.last() == Some(&b'{'); // no value ends with its brace
        self.say(what.label.get(usize::from(is_first)..).unwrap_or_default());
    }

    fn element(&mut self, _what: What, index: usize, _at: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn structure(&mut self, _number: usize) -> Option<()> {
        self.out.push(b'{');
        Some(())
    }

    fn structure_end(&mut self, _what: Option<What>) -> Option<()> {
        self.out.push(b'}');
        Some(())
    }

    fn array_end(&mut self, _what: What) -> Option<()> {
        self.out.push(b']');
        Some(())
    }

    /// Those that the schema does not know are under `_tags`.
    fn unknown_tag(&mut self, tag: u32, value: &[u8], is_first: bool) -> Option<()> {
        self.say(match (is_first, self.out.last()) {
            (false, _) => b",\"",
            (true, Some(b'{')) => b"\"_tags\":{\"",
            (true, _) => b",\"_tags\":{\"",
        });
        number(&mut self.out, tag.into());
        self.say(b"\":");
        bytes(&mut self.out, value);
        Some(())
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

    fn records(&mut self, found: &[u8], place: Range<usize>) -> Option<()> {
        let Some(nest) = self.nest.clone() else {
            self.say(b"{\"bytes\":");
            number(&mut self.out, found.len() as i64);
            self.out.push(b'}');
            return Some(());
        };
        let nested = self.nested(&nest, found, place);
        nested.map_err(|error| self.raised = Some(error)).ok()
    }

    /// Batches in the place of a records field, `nested_records.batch_values`.
    fn nested(&mut self, (name, slow): &Nest<'_>, found: &[u8], place: Range<usize>) -> PyResult<()> {
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
        let text = slow.call1((self.data, place.start, place.end, topic))?;
        self.say(text.extract()?);
        Ok(())
    }

    /// Whose records come next.
    fn topic_name(&self, name: &Bound<'_, PyAny>) -> PyResult<Option<Cow<'a, str>>> {
        let Some(topic_id) = self.topic_id else {
            let (data, place): (&'a [u8], _) = (self.data.as_bytes(), self.topic.clone());
            let topic = place.and_then(|place| data.get(place));
            return Ok(topic.map(String::from_utf8_lossy));
        };
        let id = PyBytes::new(self.py, &topic_id);
        let name: Option<Bound<'_, PyString>> = name.call1((id,))?.extract()?;
        name.map(|name| name.to_str().map(|name| Cow::Owned(name.to_owned()))).transpose()
    }
}
