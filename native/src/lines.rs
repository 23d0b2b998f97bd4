//! `kdissect.cli.formats.json_lines.line_filler.FilledLines.line` for exchanges that fill a template.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::bodies::summaries::Mixed;
use crate::engine::exchange_block::{BlockRow, ExchangeBlock};
use crate::exchange::{texts, Exchange};
use crate::line_merge::Row;
use crate::places::FILE_SHIFT;
use crate::template::{LineTemplate, Rest};

/// A template, both seconds, errors and topics.
const MOST_QUESTIONS: usize = 5;
/// Replaces the number of its summary.
const NO_ANSWER: u64 = u64::MAX;
/// The limit that Python has, after which the cache starts again
/// (`kdissect.cli.formats.json_lines.line_parts.keep`).
const MOST: usize = 4096;

/// The first nanosecond of a second, the first after it, and its text, as `LineTexts.second`
/// returns it.
type Second = (i64, i64, Vec<u8>);

/// Texts of errors and topics, as a line has them.
type Facts = Box<[Box<[u8]>]>;

/// File, API key and version, whether there is a response, and a hash of the client id.
type Key = (i64, i64, i64, bool, u64);

/// A template, and the client id that it is for.
struct Known {
    client_id: Py<PyAny>,
    template: Py<LineTemplate>,
}

/// Value that a line needs from Python first.
enum Need {
    Nothing,
    Template,
    AskedSecond(i64),
    AnsweredSecond(i64),
    /// Both summaries, and their numbers.
    Facts(Py<PyAny>, Py<PyAny>, (u64, u64)),
    /// The line itself.
    Line,
}

/// Callbacks to Python: each receives an exchange, `second_of` a time, `texts_of` a connection.
struct Asked {
    class: Py<PyAny>,
    fields_of: Py<PyAny>,
    texts_of: Py<PyAny>,
    template_of: Py<PyAny>,
    second_of: Py<PyAny>,
    facts_of: Py<PyAny>,
    line_of: Py<PyAny>,
}

/// Number and templates of exchanges, and the lines of ordinary exchanges.
#[pyclass(module = "kdissect._native")]
pub struct LineFiller {
    /// Of the exchange before.
    #[pyo3(get)]
    number: i64,
    asked: Arc<Asked>,
    templates: Mixed<Key, Known>,
    /// Errors and topics by the numbers of both summaries.
    facts: Mixed<(u64, u64), Facts>,
    asked_second: Second,
    answered_second: Second,
    out: Vec<u8>,
    /// Of each line that `hold_rows` holds its key and its length (`line_merge.rs`).
    rows: Vec<u8>,
}

#[pymethods]
impl LineFiller {
    /// Exchanges are of the class `exchange`, and `fields_of` reads them; `texts_of` a connection; `template_of`, `second_of` and `facts_of`
    /// give parts of lines, `line_of` the line of one that is unusual, with its number.
    #[new]
    fn new(
        exchange: Py<PyAny>,
        fields_of: Py<PyAny>,
        texts_of: Py<PyAny>,
        template_of: Py<PyAny>,
        second_of: Py<PyAny>,
        facts_of: Py<PyAny>,
        line_of: Py<PyAny>,
    ) -> Self {
        LineFiller {
            number: 0,
            asked: Arc::new(Asked {
                class: exchange,
                fields_of,
                texts_of,
                template_of,
                second_of,
                facts_of,
                line_of,
            }),
            templates: Mixed::default(),
            facts: Mixed::default(),
            asked_second: Second::default(),
            answered_second: Second::default(),
            out: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Leave out an exchange: later ones keep their numbers in the whole capture.
    fn skip(&mut self) {
        self.number += 1;
    }

    /// The exchange as a line of JSON.
    fn line<'py>(slf: &Bound<'py, Self>, exchange: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let mut out = std::mem::take(&mut slf.borrow_mut().out);
        let start = out.len();
        let filled = put_line(slf, exchange, &mut out);
        let line = match &filled {
            Ok(true) => Some(PyBytes::new(slf.py(), out.get(start..).unwrap_or_default())),
            _ => None,
        };
        out.truncate(start);
        slf.borrow_mut().out = out;
        filled?;
        match line {
            Some(line) => Ok(line.into_any()),
            None => unusual_line(slf, exchange),
        }
    }

    /// Buffer the lines of the exchanges among events, and return the number of buffered bytes.
    fn hold(slf: &Bound<'_, Self>, events: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut out = std::mem::take(&mut slf.borrow_mut().out);
        let result = match events.cast::<ExchangeBlock>() {
            Ok(block) => put_block(slf, block, 0, false, &mut out, &mut |_, _| ()).map(|_| ()),
            Err(_) => put_lines(slf, events.cast()?, &mut out),
        };
        let held = out.len();
        slf.borrow_mut().out = out;
        result.map(|()| held)
    }

    /// Buffer the lines of a block's exchanges from one on, with their keys in a batch of packets
    /// (`kdissect.engine.shards`). Return the number of the first one that is Python's, or the
    /// block's length, and the number of buffered bytes. Exchanges that fill no template, and
    /// exchanges whose texts are valid only once, are Python's.
    fn hold_rows(
        slf: &Bound<'_, Self>,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        batch: u64,
    ) -> PyResult<(usize, usize)> {
        let mut out = std::mem::take(&mut slf.borrow_mut().out);
        let result = put_block(slf, block, start, true, &mut out, &mut |row, size| {
            let (packet, behind) = row.at_packet();
            slf.borrow_mut().rows.extend(Row::new(batch, packet as u32, behind, size).bytes());
        });
        let held = out.len();
        slf.borrow_mut().out = out;
        result.map(|at| (at, held))
    }

    /// Keys and lengths of those lines, and the lines, which are removed from the buffer.
    fn take_rows<'py>(&mut self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let rows = PyBytes::new(py, &self.rows);
        self.rows.clear();
        (rows, self.take(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let asked = &self.asked;
        visit.call(&asked.fields_of)?;
        visit.call(&asked.texts_of)?;
        visit.call(&asked.template_of)?;
        visit.call(&asked.second_of)?;
        visit.call(&asked.facts_of)?;
        visit.call(&asked.line_of)
    }

    /// The buffered lines, which are removed from the buffer.
    fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = PyBytes::new(py, &self.out);
        self.out.clear();
        lines
    }
}

fn put_lines(slf: &Bound<'_, LineFiller>, events: &Bound<'_, PyList>, out: &mut Vec<u8>) -> PyResult<()> {
    let asked = slf.borrow().asked.clone();
    let class = asked.class.bind(slf.py());
    for event in events {
        if !event.get_type().is(class) && !event.is_instance(class)? {
            continue;
        }
        if !put_line(slf, &event, out)? {
            let line = unusual_line(slf, &event)?;
            out.extend_from_slice(line.cast::<PyBytes>()?.as_bytes());
        }
    }
    Ok(())
}

/// Append the lines of a block's exchanges to `out`, from one on, and note each with its length.
/// Return their number, or the number of the first one that is Python's, if the caller handles such
/// exchanges.
fn put_block(
    slf: &Bound<'_, LineFiller>,
    block: &Bound<'_, ExchangeBlock>,
    start: usize,
    leaves: bool,
    out: &mut Vec<u8>,
    note: &mut dyn FnMut(&BlockRow, usize),
) -> PyResult<usize> {
    let (py, asked) = (slf.py(), slf.borrow().asked.clone());
    let mut known_texts: Vec<Option<Bound<'_, PyTuple>>> = Vec::new();
    known_texts.resize(block.borrow().connections.len(), None);
    let mut at = start;
    loop {
        let before = out.len();
        let of_row = {
            let block = block.borrow();
            let Some(row) = block.row(at) else { return Ok(at) };
            let number = row.connection as usize;
            let Some((known, info)) = known_texts.get_mut(number).zip(block.connections.get(number)) else {
                return Ok(at);
            };
            let text = match known {
                Some(text) => text,
                None => known.insert(texts(asked.texts_of.bind(py), info.bind(py))?),
            };
            Exchange::of_row(py, &row.row, text.clone())
        };
        let exchange = || -> PyResult<Bound<'_, PyAny>> {
            let found = ExchangeBlock::exchange(block, at)?;
            found.ok_or_else(|| PyIndexError::new_err("no exchange of this number"))
        };
        if !put_one(slf, &of_row, &exchange, leaves, out)? {
            if leaves {
                return Ok(at);
            }
            let line = unusual_line(slf, &exchange()?)?;
            out.extend_from_slice(line.cast::<PyBytes>()?.as_bytes());
        }
        if let Some(row) = block.borrow().row(at) {
            note(row, out.len() - before);
        }
        at += 1;
    }
}

/// The line of an exchange that fills no template.
fn unusual_line<'py>(
    slf: &Bound<'py, LineFiller>,
    exchange: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (number, asked) = {
        let mut filler = slf.borrow_mut();
        filler.number += 1;
        (filler.number, filler.asked.clone())
    };
    asked.line_of.bind(slf.py()).call1((exchange, number))
}

/// Append the line to `out`; false, without any change, if that is impossible.
fn put_line(slf: &Bound<'_, LineFiller>, event: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<bool> {
    let (py, asked) = (slf.py(), slf.borrow().asked.clone());
    let fields = asked.fields_of.bind(py).call1((event,))?;
    match Exchange::of(&fields, asked.texts_of.bind(py)) {
        Some(exchange) => put_one(slf, &exchange?, &|| Ok(event.clone()), false, out),
        None => Ok(false),
    }
}

/// Does so from the values of an exchange; `event` returns the exchange itself, on demand. An
/// exchange whose texts are valid only once is left unchanged, too, if the caller handles such
/// exchanges.
fn put_one<'py>(
    slf: &Bound<'py, LineFiller>,
    exchange: &Exchange<'py>,
    event: &dyn Fn() -> PyResult<Bound<'py, PyAny>>,
    leaves: bool,
    out: &mut Vec<u8>,
) -> PyResult<bool> {
    let py = slf.py();
    let asked = slf.borrow().asked.clone();
    let mut facts: Option<Facts> = None;
    for _ in 0..MOST_QUESTIONS {
        let need = slf.borrow_mut().put(exchange, facts.as_deref(), out)?;
        match need {
            Need::Nothing => return Ok(true),
            Need::Line => return Ok(false),
            Need::Template => {
                let found = asked.template_of.bind(py).call1((event()?,))?;
                let Ok(template) = found.cast_into::<LineTemplate>() else { return Ok(false) };
                if !template.get().takes(exchange) {
                    return Ok(false);
                }
                slf.borrow_mut().know(exchange, template.unbind());
            }
            Need::AskedSecond(time_ns) => {
                let Some(found) = second(py, &asked, time_ns)? else { return Ok(false) };
                slf.borrow_mut().asked_second = found;
            }
            Need::AnsweredSecond(time_ns) => {
                let Some(found) = second(py, &asked, time_ns)? else { return Ok(false) };
                slf.borrow_mut().answered_second = found;
            }
            Need::Facts(request, response, numbers) => {
                let found = asked.facts_of.bind(py).call1((event()?, request, response))?;
                let (texts, is_lasting) = found.extract::<(Vec<Bound<'_, PyBytes>>, bool)>()?;
                if leaves && !is_lasting {
                    return Ok(false);
                }
                let texts: Facts = texts.iter().map(|text| text.as_bytes().into()).collect();
                if is_lasting && numbers.0 > 0 && numbers.1 > 0 {
                    slf.borrow_mut().remember(numbers, texts.clone());
                }
                facts = Some(texts);
            }
        }
    }
    Ok(false)
}

/// The second of a time; None for one whose text no others share.
fn second(py: Python<'_>, asked: &Asked, time_ns: i64) -> PyResult<Option<Second>> {
    let found = asked.second_of.bind(py).call1((time_ns,))?;
    Ok(found.extract::<Second>().ok().filter(|found| !found.2.is_empty()))
}

impl LineFiller {
    /// Append the line of an exchange to `out`, or return the value that Python must supply first.
    fn put(
        &mut self,
        exchange: &Exchange<'_>,
        facts: Option<&[Box<[u8]>]>,
        out: &mut Vec<u8>,
    ) -> PyResult<Need> {
        let Some(known) = self.templates.get(&key_of(exchange)) else { return Ok(Need::Template) };
        let template = known.template.get();
        if !template.takes(exchange) || !is_same(&exchange.client_id, &known.client_id)? {
            return Ok(Need::Template);
        }
        if let Some(need) = self.second_needed(exchange) {
            return Ok(need);
        }
        let latency_ns = exchange.latency_ns();
        if exchange.response.is_some() != latency_ns.is_some() || !template.shows(exchange, latency_ns) {
            return Ok(Need::Line);
        }
        let facts = match facts {
            Some(facts) => facts,
            None => {
                let asked = template.ask.at(&exchange.request)?;
                let answered = match (&template.answer, &exchange.response) {
                    (Some(answer), Some(frame)) => answer.at(frame)?,
                    _ => (NO_ANSWER, exchange.client_id.py().None()),
                };
                let numbers = (asked.0, answered.0);
                match self.facts.get(&numbers) {
                    Some(facts) => facts,
                    None => return Ok(Need::Facts(asked.1, answered.1, numbers)),
                }
            }
        };
        let rest = Rest {
            number: self.number + 1,
            latency_ns,
            asked_second: &self.asked_second.2,
            answered_second: &self.answered_second.2,
            facts,
        };
        if !template.fill(exchange, &rest, out) {
            return Ok(Need::Line);
        }
        self.number += 1;
        Ok(Need::Nothing)
    }

    /// The second that Python must supply, if any.
    fn second_needed(&self, exchange: &Exchange<'_>) -> Option<Need> {
        let (asked, answered) = (&self.asked_second, &self.answered_second);
        let time_ns = exchange.request.time_ns;
        if time_ns < asked.0 || time_ns >= asked.1 {
            return Some(Need::AskedSecond(time_ns));
        }
        let time_ns = exchange.response.as_ref()?.time_ns;
        (time_ns < answered.0 || time_ns >= answered.1).then_some(Need::AnsweredSecond(time_ns))
    }

    fn know(&mut self, exchange: &Exchange<'_>, template: Py<LineTemplate>) {
        if self.templates.len() >= MOST {
            self.templates.clear();
        }
        let client_id = exchange.client_id.clone().unbind();
        self.templates.insert(key_of(exchange), Known { client_id, template });
    }

    fn remember(&mut self, numbers: (u64, u64), facts: Facts) {
        if self.facts.len() >= MOST {
            self.facts.clear();
        }
        self.facts.insert(numbers, facts);
    }
}

fn key_of(exchange: &Exchange<'_>) -> Key {
    let file = exchange.request.first_ref >> FILE_SHIFT;
    let client = hash_of(&exchange.client_id);
    (file, exchange.api_key, exchange.api_version, exchange.response.is_some(), client)
}

/// Of a text; 0 of None. Two texts with one hash take turns at one place.
fn hash_of(text: &Bound<'_, PyAny>) -> u64 {
    text.hash().map_or(0, |hash| hash as u64)
}

fn is_same(text: &Bound<'_, PyAny>, other: &Py<PyAny>) -> PyResult<bool> {
    if text.is(other) {
        Ok(true)
    } else {
        text.eq(other)
    }
}
