//! Frames as trees of text: `kdissect.decoders.trees.tree_text.render`, for frames that are all right. Payloads in them
//! come from Python.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bodies::plan::{Field, Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::json_out::{number, uuid_text};

const HEX: &[u8; 16] = b"0123456789abcdef";
/// A line for each field makes most small frames ten times as long, or more. Larger frames consist
/// mostly of records.
const GROWTH: usize = 24;
const LARGE: usize = 1 << 14;
/// From here on a number is beyond reason (`kdissect.schema.secrets.is_beyond_reason`).
const REASON: u64 = 1 << 56;
/// Texts for a value: its meanings by number, and by text.
type Meanings = (HashMap<i64, Vec<u8>>, HashMap<Vec<u8>, Vec<u8>>);
/// A field from Python: `name: type`, the type of its elements, which meanings its values have, and its
/// part in what is secret (`Use`).
type Row = (Vec<u8>, Vec<u8>, Option<usize>, Use);
/// A message: its layout, `name: type` of its root, and for each struct of the layout the fields and the tags.
type Message = (Py<Layout>, Vec<u8>, Vec<(Vec<Row>, Vec<Row>)>);

/// Replaces a secret (`kdissect.schema.secrets.MASK`).
const MASK: &[u8] = b"***";
/// `config_type` of a password, as `kdissect.schema.secrets` has it.
const PASSWORD_TYPE: i64 = 9;

/// Part of a field in what is secret, by bits: it is secret, is the value of a config, or says whether such a
/// value is secret.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(transparent)]
struct Use(u8);

impl Use {
    const SECRET: u8 = 1;
    const CONFIG_VALUE: u8 = 2;
    const NAME: u8 = 4;
    const IS_SENSITIVE: u8 = 8;
    const CONFIG_TYPE: u8 = 16;

    fn is(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

struct Label {
    line: Vec<u8>,
    element: Vec<u8>,
    meanings: Option<Arc<Meanings>>,
    role: Use,
}

/// The fields of a struct that decide whether the value of its config is secret, and the places of its value and
/// of values in structs below it in the text.
#[derive(Default)]
struct Config {
    has_value: bool,
    is_sensitive: bool,
    name: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    shown: Vec<Range<usize>>,
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
    is_public: Py<PyAny>,
}

#[pymethods]
impl TreeText {
    /// `root` is the text in the line of the frame. `header` is in a version without tags, and ends
    /// without a tag if it `has_tags`. Bodies that begin with `foreign`, if that is not empty, may
    /// be in another version. `margin` begins each line. `is_public` returns whether a config of a name, with
    /// a value, is no secret. Raises ValueError for rows that do not fit the layouts.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        root: Vec<u8>,
        header: Message,
        body: Message,
        meanings: Vec<Meanings>,
        has_tags: bool,
        foreign: Vec<u8>,
        margin: Vec<u8>,
        is_public: Py<PyAny>,
    ) -> PyResult<Self> {
        let meanings: Vec<Arc<Meanings>> = meanings.into_iter().map(Arc::new).collect();
        let labels =
            |message| Labels::of(message, &meanings).ok_or_else(|| PyValueError::new_err("rows do not fit"));
        let (header, body) = (labels(header)?, labels(body)?);
        Ok(TreeText { root, header, body, has_tags, foreign, margin, is_public })
    }

    /// The lines of the frame at `place`, its start, end and depth, each with its end; None where it needs the
    /// slow path. `name` returns the topic of an id, or None. `payload` receives the path of a bytes
    /// field, its start and end, and its depth, and returns the text after its name, with the lines below it,
    /// or None for the slow path. Their exceptions are passed on.
    fn text<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyBytes>,
        place: (usize, usize, usize),
        name: &Bound<'py, PyAny>,
        payload: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (start, end, depth) = place;
        let all = data.as_bytes();
        let mut lines = Lines {
            py,
            name,
            payload,
            labels: &self.header,
            margin: &self.margin,
            is_public: self.is_public.bind(py),
            width: all.len().to_string().len(),
            depth,
            out: Vec::with_capacity(GROWTH * all.len().min(LARGE) + 512),
            open: Vec::new(),
            path: Vec::new(),
            configs: Vec::new(),
            raised: None,
        };
        let is_whole = all.get(..end).and_then(|data| self.write(data, start, &mut lines)).is_some();
        match lines.raised {
            Some(error) => Err(error),
            None => Ok(is_whole.then(|| PyBytes::new(py, &lines.out))),
        }
    }
}

impl Labels {
    fn of((layout, root, rows): Message, meanings: &[Arc<Meanings>]) -> Option<Labels> {
        let label = |(line, element, number, role): Row| {
            let meanings = match number {
                Some(number) => Some(meanings.get(number)?.clone()),
                None => None,
            };
            Some(Label { line, element, meanings, role })
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
    fn write<'l>(&'l self, data: &[u8], start: usize, lines: &mut Lines<'l, '_>) -> Option<()> {
        lines.begin(start, &self.root);
        let body = lines.message(data, start)?;
        let body = body + usize::from(self.has_tags);
        if self.has_tags && data.get(body - 1) != Some(&0) {
            return None;
        }
        lines.close(body);
        lines.labels = &self.body;
        let foreign = &self.foreign;
        if !foreign.is_empty() && data.get(body..)?.starts_with(foreign) {
            return None;
        }
        let end = lines.message(data, body)?;
        lines.close(end);
        lines.close(end);
        lines.out.push(b'\n');
        (end == data.len()).then_some(())
    }
}

struct Lines<'l, 'py> {
    py: Python<'py>,
    name: &'l Bound<'py, PyAny>,
    payload: &'l Bound<'py, PyAny>,
    labels: &'l Labels,
    margin: &'l [u8],
    is_public: &'l Bound<'py, PyAny>,
    width: usize,
    depth: usize,
    out: Vec<u8>,
    open: Vec<usize>, // where the end of each line that is open goes
    /// The way from the body to the line that is open: indices of fields, each with whether it is a tag, and of
    /// elements, which have neither.
    path: Vec<(usize, Option<bool>)>,
    /// Of the structs that are open.
    configs: Vec<Config>,
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
        self.out.resize(self.out.len() + self.width + 2 * (self.depth + self.open.len()), b' ');
        self.out.extend_from_slice(text);
    }

    /// Put the end of the line that began last.
    fn close(&mut self, at: usize) {
        let Some(place) = self.open.pop() else { return };
        let before = self.out.len();
        number(&mut self.out, at as i64);
        let digits = self.out.len() - before;
        self.out.copy_within(before.., place);
        self.out.truncate(before);
        debug_assert!(digits <= self.width);
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
        let raw = data.get(place.clone())?;
        let role = self.labels.label(what)?.role;
        if role.is(Use::SECRET) && (what.kind != Kind::Bytes || raw.is_empty()) {
            self.say(MASK);
            return (!what.is_array).then_some(());
        }
        let from = self.out.len();
        match what.kind {
            Kind::Bool => self.boolean(what, raw != [0]),
            Kind::Number(kind) => self.number(what, kind.of(raw)?)?,
            Kind::Uuid => self.uuid(what, raw)?,
            Kind::String => self.text(what, raw)?,
            Kind::Bytes if raw.is_empty() => self.say(b"empty"),
            Kind::Bytes => self.payload(place)?,
            Kind::Records => self.say_count(raw.len(), "byte"),
            Kind::Float64 | Kind::Struct(_) => return None,
        }
        self.note(role, what, raw, from..self.out.len())
    }

    fn structure(&mut self, number: usize) -> Option<()> {
        let (fields, tags) = self.labels.structs.get(number)?;
        let has_value = fields.iter().chain(tags).any(|label| label.role.is(Use::CONFIG_VALUE));
        self.configs.push(Config { has_value, ..Config::default() });
        Some(())
    }

    fn structure_end(&mut self, _what: Option<What>) -> Option<()> {
        let config = self.configs.pop()?;
        if config.has_value && self.is_secret(&config)? {
            for place in config.shown.into_iter().rev() {
                self.out.splice(place, b" = ".iter().chain(MASK).copied());
            }
        } else if let Some(outer) = self.configs.last_mut() {
            outer.shown.extend(config.shown);
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
        self.path.push((what.index, Some(what.is_tag)));
    }

    fn element(&mut self, what: What, index: usize, at: usize) {
        let labels = self.labels;
        self.begin(at, b"[");
        number(&mut self.out, index as i64);
        self.out.extend_from_slice(b"]: ");
        self.out.extend_from_slice(labels.label(what).map_or(&[], |label| &label.element));
        self.path.push((index, None));
    }

    fn end(&mut self, at: usize) {
        self.path.pop();
        self.close(at);
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
        self.close(at);
    }

    fn tags_end(&mut self, _unknown: usize, at: usize) {
        self.close(at);
    }
}

impl Lines<'_, '_> {
    /// Take the part of a value in what is secret. `shown` is its place in the text.
    fn note(&mut self, role: Use, what: What, raw: &[u8], shown: Range<usize>) -> Option<()> {
        let Some(config) = self.configs.last_mut() else { return Some(()) };
        if role.is(Use::NAME) {
            config.name = Some(raw.to_vec());
        }
        if role.is(Use::CONFIG_VALUE) {
            config.value = Some(raw.to_vec());
            config.shown.push(shown);
        }
        let is_password = match what.kind {
            Kind::Number(kind) => role.is(Use::CONFIG_TYPE) && kind.of(raw)? == PASSWORD_TYPE,
            _ => role.is(Use::IS_SENSITIVE) && raw != [0],
        };
        config.is_sensitive |= is_password;
        Some(())
    }

    /// `kdissect.schema.secrets.is_sensitive`.
    fn is_secret(&mut self, config: &Config) -> Option<bool> {
        let text = |raw: &Option<Vec<u8>>| match raw {
            Some(raw) => std::str::from_utf8(raw).ok().map(|text| Some(text.to_owned())),
            None => Some(None),
        };
        let asked = (text(&config.name)?, text(&config.value)?);
        let found = self.is_public.call1(asked).and_then(|found| found.extract());
        let is_public: bool = found.map_err(|error| self.raised = Some(error)).ok()?;
        Some(config.is_sensitive || !is_public)
    }

    /// The value of bytes, and the lines of what they hold.
    fn payload(&mut self, place: Range<usize>) -> Option<()> {
        let depth = self.depth + self.open.len();
        let asked = (self.path.clone(), place.start, place.end, depth);
        let text = self.payload.call1(asked).and_then(|text| text.extract());
        let text: Option<PyBackedBytes> = text.map_err(|error| self.raised = Some(error)).ok()?;
        self.out.extend_from_slice(&text?);
        Some(())
    }

    fn boolean(&mut self, what: What, value: bool) {
        self.say(if value { b"true" } else { b"false" });
        self.mean_number(what, value.into());
    }

    fn number(&mut self, what: What, value: i64) -> Option<()> {
        let is_beyond_reason = value.unsigned_abs() >= REASON && !matches!(value, i64::MIN | i64::MAX);
        if is_beyond_reason {
            return None; // near secrets it may be a piece of one
        }
        self.say(b"");
        number(&mut self.out, value);
        self.mean_number(what, value);
        Some(())
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
