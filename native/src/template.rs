//! Lines for one kind of exchange: their common text, and the values that differ for each.

use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::summaries::{Numbered, Summaries};
use crate::decimal::{put, put_nanos};
use crate::exchange::{Exchange, Frame};

const SECOND_NS: u64 = 1_000_000_000;
/// Digits of a fraction that a clock does not show: nanoseconds.
const SHORT: usize = 3;
/// Where the time of day begins in RFC 3339.
const DAY: usize = 11;
const MINUTES_NS: u64 = 600 * SECOND_NS;
const ELLIPSIS: &[u8] = "…".as_bytes();

/// Reader of one side's summaries: a table if there is one, else a callback.
pub enum Look {
    Table(Py<Summaries>),
    Call(Py<PyAny>),
}

impl Look {
    /// `summarize` is either a method of `Summaries` or a Python function.
    pub fn of(summarize: Bound<'_, PyAny>) -> Look {
        let owner = summarize.getattr("__self__").ok().and_then(|owner| owner.cast_into().ok());
        owner
            .map_or_else(|| Look::Call(summarize.unbind()), |table: Bound<'_, _>| Look::Table(table.unbind()))
    }

    /// The summary of a frame's body.
    pub fn at(&self, frame: &Frame<'_>) -> PyResult<Numbered> {
        let py = frame.data.py();
        if let (Look::Table(table), Ok(at)) = (self, usize::try_from(frame.body_offset)) {
            if let Some(found) = table.bind(py).borrow_mut().look(py, frame.data.as_bytes(), at)? {
                return Ok(found);
            }
        }
        let arguments = (&frame.data, frame.body_offset);
        let summary = match self {
            Look::Call(summarize) => summarize.call1(py, arguments)?,
            Look::Table(table) => table.bind(py).call_method1(intern!(py, "summarize"), arguments)?.unbind(),
        };
        Ok((0, summary))
    }
}

/// Value that differs between lines.
enum Value {
    Number,
    Ordinal,
    CorrelationId,
    LatencyNs,
    /// `kdissect.report.quantities.duration` of it.
    Latency,
    /// Of the texts of a connection, and of errors and topics.
    Connection(usize),
    Fact(usize),
    /// Whether of the response.
    Frame(bool, Part),
}

enum Part {
    First,
    Last,
    Time,
    /// The time of day in microseconds.
    Clock,
    TimeNs,
    EndTimeNs,
    Bytes,
}

impl Value {
    /// By the name of a field in `kdissect.engine.exchange_rows`, or in
    /// `kdissect.cli.formats.json_lines.line_filler`. None for an unknown name, and without a
    /// response for a value that belongs to one.
    fn of(name: &str, index: usize, has_response: bool) -> Option<Value> {
        let value = match name {
            "number" => Value::Number,
            "exchange" => Value::Ordinal,
            "correlation_id" => Value::CorrelationId,
            "latency_ns" => Value::LatencyNs,
            "latency" => Value::Latency,
            "of connection" => Value::Connection(index),
            "of bodies" => Value::Fact(index),
            _ => {
                let (side, part) = name.split_once('.')?;
                let is_response = side == "response";
                if !is_response && side != "request" {
                    return None;
                }
                Value::Frame(is_response, Part::of(part)?)
            }
        };
        let needs_response = matches!(value, Value::LatencyNs | Value::Latency | Value::Frame(true, _));
        (has_response || !needs_response).then_some(value)
    }
}

impl Part {
    fn of(name: &str) -> Option<Part> {
        Some(match name {
            "packets.first" => Part::First,
            "packets.last" => Part::Last,
            "time" => Part::Time,
            "clock" => Part::Clock,
            "time_ns" => Part::TimeNs,
            "end_time_ns" => Part::EndTimeNs,
            "bytes" => Part::Bytes,
            _ => return None,
        })
    }
}

/// A value with the text before it. A value with a width is cut to it, and padded up to it, except
/// for the last one of a line.
struct Slot {
    before: Box<[u8]>,
    value: Value,
    width: usize,
    fill: Fill,
}

enum Fill {
    No,
    Left,
    Right,
}

/// Text, or the name of a value, its index, its width and on which side it is (-1 left, 1 right, 0 not filled up).
#[derive(FromPyObject)]
pub enum LinePart {
    Text(Vec<u8>),
    Value(String, usize, usize, i8),
}

/// The lines of a kind whose packets are in one file: behind the reference `low`, with numbers below `stop`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct LineTemplate {
    slots: Box<[Slot]>,
    end: Box<[u8]>,
    has_duration: bool,
    connection_texts: usize,
    /// Whether there are no blanks at the end of a line.
    is_stripped: bool,
    low: i64,
    stop: i64,
    pub ask: Look,
    pub answer: Option<Look>,
}

/// Values of a line from neither template nor exchange.
pub struct Rest<'a> {
    pub number: i64,
    pub latency_ns: Option<i64>,
    pub asked_second: &'a [u8],
    pub answered_second: &'a [u8],
    pub facts: &'a [Box<[u8]>],
}

#[pymethods]
impl LineTemplate {
    /// Without `answer` for exchanges without a response. Raises ValueError for a value that there is not.
    #[new]
    fn new(
        parts: Vec<LinePart>,
        is_stripped: bool,
        low: i64,
        stop: i64,
        ask: Bound<'_, PyAny>,
        answer: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut slots = Vec::new();
        let mut before = Vec::new();
        for part in parts {
            match part {
                LinePart::Text(text) => before.extend_from_slice(&text),
                LinePart::Value(name, index, width, side) => {
                    let value = Value::of(&name, index, answer.is_some())
                        .ok_or_else(|| PyValueError::new_err(format!("no value of a line: {name}")))?;
                    let fill = match side {
                        0 => Fill::No,
                        ..0 => Fill::Left,
                        _ => Fill::Right,
                    };
                    let before = std::mem::take(&mut before).into_boxed_slice();
                    slots.push(Slot { before, value, width, fill });
                }
            }
        }
        let texts = slots.iter().filter(|slot| matches!(slot.value, Value::Connection(_))).count();
        Ok(LineTemplate {
            has_duration: slots.iter().any(|slot| matches!(slot.value, Value::Latency)),
            connection_texts: texts,
            slots: slots.into_boxed_slice(),
            end: before.into_boxed_slice(),
            is_stripped,
            low,
            stop,
            ask: Look::of(ask),
            answer: answer.map(Look::of),
        })
    }
}

impl LineTemplate {
    /// Whether the frames of an exchange have their packets in the file of the template.
    pub fn takes(&self, exchange: &Exchange<'_>) -> bool {
        self.holds(&exchange.request) && exchange.response.as_ref().is_none_or(|frame| self.holds(frame))
    }

    fn holds(&self, frame: &Frame<'_>) -> bool {
        let (low, stop) = (self.low, self.low.saturating_add(self.stop));
        low < frame.first_ref && frame.first_ref <= frame.last_ref && frame.last_ref < stop
    }

    /// Whether all values have a text here: a long response time has none, nor has a connection whose texts are from before the
    /// columns were known.
    pub fn shows(&self, exchange: &Exchange<'_>, latency_ns: Option<i64>) -> bool {
        let is_long = latency_ns.is_some_and(|latency_ns| latency_ns.unsigned_abs() >= MINUTES_NS);
        !(is_long && self.has_duration) && self.connection_texts <= exchange.connection.len()
    }

    /// Put the line of an exchange behind what is in `out`. False, without appending it, if a value
    /// has no text here.
    pub fn fill(&self, exchange: &Exchange<'_>, rest: &Rest<'_>, out: &mut Vec<u8>) -> bool {
        let begin = out.len();
        for slot in &self.slots {
            out.extend_from_slice(&slot.before);
            let start = out.len();
            if self.value(&slot.value, exchange, rest, out).is_none() {
                out.truncate(begin);
                return false;
            }
            if slot.width > 0 {
                slot.size(out, start);
            }
        }
        out.extend_from_slice(&self.end);
        if self.is_stripped {
            strip(out, begin);
        }
        true
    }

    fn value(
        &self,
        value: &Value,
        exchange: &Exchange<'_>,
        rest: &Rest<'_>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        match value {
            Value::Number => put(out, rest.number),
            Value::Ordinal => put(out, exchange.ordinal),
            Value::CorrelationId => put(out, exchange.correlation_id),
            Value::LatencyNs => put(out, rest.latency_ns?),
            Value::Latency => duration(out, rest.latency_ns?)?,
            Value::Connection(index) => {
                let text = exchange.connection.get_borrowed_item(*index).ok()?;
                out.extend_from_slice(text.cast::<PyBytes>().ok()?.as_bytes());
            }
            Value::Fact(index) => out.extend_from_slice(rest.facts.get(*index)?),
            Value::Frame(false, part) => self.frame(part, &exchange.request, rest.asked_second, out),
            Value::Frame(true, part) => {
                self.frame(part, exchange.response.as_ref()?, rest.answered_second, out);
            }
        }
        Some(())
    }

    fn frame(&self, part: &Part, frame: &Frame<'_>, second: &[u8], out: &mut Vec<u8>) {
        let nanos = frame.time_ns.unsigned_abs() % SECOND_NS; // it is not before 1970
        match part {
            Part::First => put(out, frame.first_ref - self.low),
            Part::Last => put(out, frame.last_ref - self.low),
            Part::Time => {
                out.extend_from_slice(second);
                put_nanos(out, nanos);
                out.push(b'Z');
            }
            Part::Clock => {
                out.extend_from_slice(second.get(DAY..).unwrap_or_default());
                put_nanos(out, nanos);
                out.truncate(out.len() - SHORT);
            }
            Part::TimeNs => put(out, frame.time_ns),
            Part::EndTimeNs => put(out, frame.end_time_ns),
            Part::Bytes => put(out, frame.size + 4),
        }
    }
}

impl Slot {
    /// Bring what begins at `start`, which is ASCII, to the width.
    fn size(&self, out: &mut Vec<u8>, start: usize) {
        let length = out.len() - start;
        let Some(missing) = self.width.checked_sub(length) else {
            out.truncate(start + self.width - 1);
            out.extend_from_slice(ELLIPSIS);
            return;
        };
        match self.fill {
            Fill::No => {}
            Fill::Left => out.resize(out.len() + missing, b' '),
            Fill::Right => {
                out.resize(out.len() + missing, b' ');
                if let Some(cell) = out.get_mut(start..) {
                    cell.rotate_right(missing);
                }
            }
        }
    }
}

/// Take blanks away before the end of a line that begins at `begin`.
fn strip(out: &mut Vec<u8>, begin: usize) {
    let end = out.pop();
    while out.len() > begin && out.last() == Some(&b' ') {
        out.pop();
    }
    out.extend(end);
}

/// `kdissect.report.quantities.duration` of less than ten minutes.
fn duration(out: &mut Vec<u8>, latency_ns: i64) -> Option<()> {
    let value = latency_ns as f64;
    match latency_ns.unsigned_abs() {
        ..1_000_000 => write!(out, "{:.0} us", value / 1e3),
        1_000_000..SECOND_NS => write!(out, "{:.2} ms", value / 1e6),
        SECOND_NS..MINUTES_NS => write!(out, "{:.2} s", value / 1e9),
        _ => return None,
    }
    .ok()
}
