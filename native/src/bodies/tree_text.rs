//! Frames as trees of text: `kdissect.decoders.trees.tree_text.render`, for frames that are all right.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::plan::{Field, Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::json_out::{number, uuid_text};

const HEX: &[u8; 16] = b"0123456789abcdef";
/// A line for each field makes most small frames ten times as long, or more. Larger frames consist
/// mostly of records.
const GROWTH: usize = 24;
const LARGE: usize = 1 << 14;
/// Texts for a value: its meanings by number, and by text.
type Meanings = (HashMap<i64, Vec<u8>>, HashMap<Vec<u8>, Vec<u8>>);
/// A field from Python: `name: type`, the type of its elements, which meanings its values have.
type Row = (Vec<u8>, Vec<u8>, Option<usize>);
/// A message: its layout, `name: type` of its root, and for each struct of the layout the fields and the tags.
type Message = (Py<Layout>, Vec<u8>, Vec<(Vec<Row>, Vec<Row>)>);

struct Label {
    line: Vec<u8>,
    element: Vec<u8>,
    meanings: Option<Arc<Meanings>>,
}

struct Labels {
    program: Program,
    root: Vec<u8>,
    structs: Vec<(Vec<Label>, Vec<Label>)>,
}

/// The frames of one request or response version as text.
#[pyclass(frozen, module = "kdissect._native")]
pub struct TreeText {
    root: Vec<u8>,
    header: Labels,
    body: Labels,
    has_tags: bool,
    foreign: Vec<u8>,
    margin: Vec<u8>,
}

#[pymethods]
impl TreeText {
    /// `root` is the text in the line of the frame. `header` is in a version without tags, and ends
    /// without a tag if it `has_tags`. Bodies that begin with `foreign`, if that is not empty, may
    /// be in another version. `margin` begins each line. Raises ValueError for rows that do not fit
    /// the layouts.
    #[new]
    fn new(
        root: Vec<u8>,
        header: Message,
        body: Message,
        meanings: Vec<Meanings>,
        has_tags: bool,
        foreign: Vec<u8>,
        margin: Vec<u8>,
    ) -> PyResult<Self> {
        let meanings: Vec<Arc<Meanings>> = meanings.into_iter().map(Arc::new).collect();
        let labels =
            |message| Labels::of(message, &meanings).ok_or_else(|| PyValueError::new_err("rows do not fit"));
        Ok(TreeText { root, header: labels(header)?, body: labels(body)?, has_tags, foreign, margin })
    }

    /// The lines of the frame, each with its end; None where it needs the slow path. `name` returns
    /// the topic of an id, or None. Its exceptions are passed on.
    fn text<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
        name: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let out = Vec::with_capacity(GROWTH * data.as_bytes().len().min(LARGE) + 512);
        let width = data.as_bytes().len().to_string().len();
        let (labels, margin, open) = (&self.header, &self.margin, Vec::new());
        let mut lines = Lines { py, name, labels, margin, width, out, open, raised: None };
        let is_whole = self.write(data.as_bytes(), &mut lines).is_some();
        match lines.raised {
            Some(error) => Err(error),
            None => Ok(is_whole.then(|| PyBytes::new(py, &lines.out))),
        }
    }
}

impl Labels {
    fn of((layout, root, rows): Message, meanings: &[Arc<Meanings>]) -> Option<Labels> {
        let label = |(line, element, number): Row| {
            let meanings = match number {
                Some(number) => Some(meanings.get(number)?.clone()),
                None => None,
            };
            Some(Label { line, element, meanings })
        };
        let labels = |rows: Vec<Row>| rows.into_iter().map(label).collect::<Option<Vec<Label>>>();
        let structs: Option<Vec<_>> =
            rows.into_iter().map(|(fields, tags)| Some((labels(fields)?, labels(tags)?))).collect();
        let structs = structs?;
        let of = &layout.get().structs;
        let fits = |at: usize, (fields, tags): &(Vec<Label>, Vec<Label>)| {
            of[at].fields.len() == fields.len() && of[at].tagged.len() == tags.len()
        };
        let is_whole = of.len() == structs.len() && structs.iter().enumerate().all(|(at, one)| fits(at, one));
        let program = Program::of::<Lines>(layout.get());
        is_whole.then_some(Labels { program, root, structs })
    }

    fn label(&self, what: What) -> Option<&Label> {
        let (fields, tags) = self.structs.get(what.structure)?;
        if what.is_tag { tags } else { fields }.get(what.index)
    }
}

impl TreeText {
    fn write<'l>(&'l self, data: &[u8], lines: &mut Lines<'l, '_>) -> Option<()> {
        lines.begin(0, &self.root);
        let body = lines.message(data, 0)?;
        let body = body + usize::from(self.has_tags);
        if self.has_tags && data.get(body - 1) != Some(&0) {
            return None;
        }
        lines.end(body);
        lines.labels = &self.body;
        let foreign = &self.foreign;
        if !foreign.is_empty() && data.get(body..)?.starts_with(foreign) {
            return None;
        }
        let end = lines.message(data, body)?;
        lines.end(end);
        lines.end(end);
        lines.out.push(b'\n');
        (end == data.len()).then_some(())
    }
}

struct Lines<'l, 'py> {
    py: Python<'py>,
    name: &'l Bound<'py, PyAny>,
    labels: &'l Labels,
    margin: &'l [u8],
    width: usize,
    out: Vec<u8>,
    open: Vec<usize>, // where the end of each line that is open goes
    raised: Option<PyErr>,
}

impl Lines<'_, '_> {
    /// A message as a line with its fields below, which stays open.
    fn message(&mut self, data: &[u8], at: usize) -> Option<usize> {
        let labels = self.labels;
        self.begin(at, &labels.root);
        labels.program.walk(data, at, self)
    }

    /// A line, with room for where its bytes end.
    fn begin(&mut self, at: usize, text: &[u8]) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
        self.out.extend_from_slice(self.margin);
        let start = self.out.len();
        number(&mut self.out, at as i64);
        let digits = self.out.len() - start;
        if digits < self.width {
            self.out.resize(start + self.width, b' ');
            self.out.copy_within(start..start + digits, start + self.width - digits);
            self.out[start..start + self.width - digits].fill(b' ');
        }
        self.out.extend_from_slice(b"..");
        self.open.push(self.out.len());
        self.out.resize(self.out.len() + self.width + 2 * self.open.len(), b' ');
        self.out.extend_from_slice(text);
    }

    fn say(&mut self, value: &[u8]) {
        self.out.extend_from_slice(b" = ");
        self.out.extend_from_slice(value);
    }

    fn say_count(&mut self, count: usize, one: &str) {
        self.out.extend_from_slice(b" = ");
        number(&mut self.out, count as i64);
        self.out.push(b' ');
        self.out.extend_from_slice(one.as_bytes());
        if count != 1 {
            self.out.push(b's');
        }
    }

    fn meanings(&self, what: What) -> Option<&Meanings> {
        self.labels.label(what)?.meanings.as_deref()
    }

    /// The text after a value, in brackets.
    fn mean(&mut self, found: Option<Vec<u8>>) {
        if let Some(name) = found {
            self.out.extend_from_slice(b" (");
            self.out.extend_from_slice(&name);
            self.out.push(b')');
        }
    }

    fn mean_number(&mut self, what: What, value: i64) {
        let found = self.meanings(what).and_then(|meanings| meanings.0.get(&value)).cloned();
        let is_unknown_error = found.is_none() && what.role == Role::Error;
        self.mean(if is_unknown_error { Some(format!("ERROR_{value}").into_bytes()) } else { found });
    }

    /// `tree_text.quote`, of text that is ASCII.
    fn quote(&mut self, text: &[u8]) -> Option<()> {
        self.out.push(b'"');
        for &byte in text {
            match byte {
                b'"' | b'\\' => self.out.extend_from_slice(&[b'\\', byte]),
                b' '..=b'~' => self.out.push(byte),
                0x80.. => return None, // which of them print is known to Python
                _ => self.out.extend_from_slice(&[b'\\', b'x', hex(byte >> 4), hex(byte & 15)]),
            }
        }
        self.out.push(b'"');
        Some(())
    }
}

fn hex(digit: u8) -> u8 {
    HEX[usize::from(digit & 15)]
}

impl Look for Lines<'_, '_> {
    fn wants(_field: &Field) -> bool {
        true
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place)?;
        match what.kind {
            Kind::Bool => self.boolean(what, raw != [0]),
            Kind::Number(kind) => self.number(what, kind.of(raw)?),
            Kind::Uuid => return self.uuid(what, raw),
            Kind::String => return self.text(what, raw),
            // Other bytes are payloads, which Python shows. Further messages do not have them.
            Kind::Bytes if raw.is_empty() => self.say(b"empty"),
            Kind::Records => self.say_count(raw.len(), "byte"),
            Kind::Bytes | Kind::Float64 | Kind::Struct(_) => return None,
        }
        Some(())
    }

    fn null(&mut self, _what: What) {
        self.say(b"null");
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        match count {
            None => self.say(b"null"),
            Some(count) if what.is_array => self.say_count(count, "element"),
            Some(_) => {}
        }
        Some(())
    }

    fn field(&mut self, what: What, at: usize) {
        let labels = self.labels;
        self.begin(at, labels.label(what).map_or(&[], |label| &label.line));
    }

    fn element(&mut self, what: What, index: usize, at: usize) {
        let labels = self.labels;
        self.begin(at, b"[");
        number(&mut self.out, index as i64);
        self.out.extend_from_slice(b"]: ");
        self.out.extend_from_slice(labels.label(what).map_or(&[], |label| &label.element));
    }

    fn end(&mut self, at: usize) {
        let Some(place) = self.open.pop() else { return };
        let before = self.out.len();
        number(&mut self.out, at as i64);
        let digits = self.out.len() - before;
        self.out.copy_within(before.., place);
        self.out.truncate(before);
        debug_assert!(digits <= self.width);
    }

    fn tags(&mut self, at: usize) {
        self.begin(at, b"tagged_fields: tags");
    }

    fn tag(&mut self, tag: u32, at: usize) -> Option<()> {
        self.begin(at, b"tag ");
        number(&mut self.out, tag.into());
        self.out.extend_from_slice(b": tag");
        Some(())
    }

    fn unknown_tag(&mut self, _tag: u32, _value: &[u8], _is_first: bool) -> Option<()> {
        None
    }

    fn tag_end(&mut self, at: usize) {
        self.end(at);
    }

    fn tags_end(&mut self, _unknown: usize, at: usize) {
        self.end(at);
    }
}

impl Lines<'_, '_> {
    fn boolean(&mut self, what: What, value: bool) {
        self.say(if value { b"true" } else { b"false" });
        self.mean_number(what, value.into());
    }

    fn number(&mut self, what: What, value: i64) {
        self.say(b"");
        number(&mut self.out, value);
        self.mean_number(what, value);
    }

    fn uuid(&mut self, what: What, raw: &[u8]) -> Option<()> {
        self.say(b"");
        uuid_text(&mut self.out, raw.try_into().ok()?);
        if what.role != Role::TopicId || raw.iter().all(|byte| *byte == 0) {
            return Some(());
        }
        let name = self.name.call1((PyBytes::new(self.py, raw),)).and_then(|name| name.extract());
        let name: Option<String> = name.map_err(|error| self.raised = Some(error)).ok()?;
        if let Some(name) = name {
            self.out.extend_from_slice(b" (");
            self.quote(name.as_bytes())?;
            self.out.push(b')');
        }
        Some(())
    }

    fn text(&mut self, what: What, raw: &[u8]) -> Option<()> {
        self.say(b"");
        self.quote(raw)?;
        let found = self.meanings(what).and_then(|meanings| meanings.1.get(raw)).cloned();
        self.mean(found);
        Some(())
    }
}
