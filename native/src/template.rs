//! `kdissect.cli.formats.fast_lines.LineKind` with its template, and the filling of it.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::bodies::summaries::{Numbered, Summaries};
use crate::decimal::{put, put_nanos};
use crate::exchange::{Exchange, Frame};

/// Places of a template, marked as in Python by `%d` or `%b`: with a response, and without.
const PLACES: usize = 21;
const SILENT_PLACES: usize = 13;
const SECOND_NS: u64 = 1_000_000_000;

/// What makes the summaries of one side: a table where there is one, else what is to be called.
pub enum Look {
    Table(Py<Summaries>),
    Call(Py<PyAny>),
}

impl Look {
    /// `summarize` is either a method of `Summaries` or something of Python's.
    pub fn of(summarize: Bound<'_, PyAny>) -> Look {
        let owner = summarize.getattr("__self__").ok().and_then(|owner| owner.cast_into().ok());
        owner
            .map_or_else(|| Look::Call(summarize.unbind()), |table: Bound<'_, _>| Look::Table(table.unbind()))
    }

    /// The summary of the body of a frame; `kept` may have it already, should this not have a table.
    pub fn at<'py>(&self, frame: &Frame<'py>, kept: Option<&Bound<'py, PyAny>>) -> PyResult<Numbered> {
        let py = frame.data.py();
        if let (Look::Table(table), Ok(at)) = (self, usize::try_from(frame.body_offset)) {
            if let Some(found) = table.bind(py).borrow_mut().look(py, frame.data.as_bytes(), at)? {
                return Ok(found);
            }
        }
        let arguments = (&frame.data, frame.body_offset);
        let summary = match (kept, self) {
            (Some(summary), _) => summary.clone().unbind(),
            (None, Look::Call(summarize)) => summarize.call1(py, arguments)?,
            (None, Look::Table(table)) => {
                table.bind(py).call_method1(intern!(py, "summarize"), arguments)?.unbind()
            }
        };
        Ok((0, summary))
    }
}

/// The lines of a kind whose packets are in one file: behind the reference `low`, with numbers below `stop`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct LineTemplate {
    pieces: Box<[Box<[u8]>]>,
    low: i64,
    stop: i64,
    pub ask: Look,
    pub answer: Option<Look>,
}

/// What of a line neither template nor exchange tell.
pub struct Rest<'a> {
    pub number: i64,
    pub latency_ns: Option<i64>,
    pub asked_second: &'a [u8],
    pub answered_second: &'a [u8],
    pub facts: &'a [u8],
}

#[pymethods]
impl LineTemplate {
    /// `text` is for Python's `%`; without `answer` for exchanges without a response. Raises ValueError for
    /// one with more places than there are values.
    #[new]
    fn new(
        text: &[u8],
        low: i64,
        stop: i64,
        ask: Bound<'_, PyAny>,
        answer: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let places = if answer.is_some() { PLACES } else { SILENT_PLACES };
        let pieces = pieces_of(text, places).ok_or_else(|| PyValueError::new_err("no template of a line"))?;
        Ok(LineTemplate { pieces, low, stop, ask: Look::of(ask), answer: answer.map(Look::of) })
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

    /// Put the line of an exchange behind what is in `out`.
    pub fn fill(&self, exchange: &Exchange<'_>, rest: &Rest<'_>, out: &mut Vec<u8>) {
        let mut pieces = self.pieces.iter();
        let mut piece = |out: &mut Vec<u8>| out.extend_from_slice(pieces.next().map_or(&[], |text| text));
        let (name, ends) = &exchange.connection;
        piece(out);
        put(out, rest.number);
        piece(out);
        out.extend_from_slice(name.as_bytes());
        piece(out);
        put(out, exchange.ordinal);
        piece(out);
        out.extend_from_slice(ends.as_bytes());
        piece(out);
        put(out, exchange.correlation_id);
        self.frame(&exchange.request, rest.asked_second, &mut piece, out);
        if let (Some(response), Some(latency_ns)) = (&exchange.response, rest.latency_ns) {
            self.frame(response, rest.answered_second, &mut piece, out);
            piece(out);
            put(out, latency_ns);
        }
        piece(out);
        out.extend_from_slice(rest.facts);
        piece(out);
    }

    fn frame(
        &self,
        frame: &Frame<'_>,
        second: &[u8],
        piece: &mut impl FnMut(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        piece(out);
        put(out, frame.first_ref - self.low);
        piece(out);
        put(out, frame.last_ref - self.low);
        piece(out);
        out.extend_from_slice(second);
        piece(out);
        put_nanos(out, frame.time_ns.unsigned_abs() % SECOND_NS); // it is not before 1970
        piece(out);
        let start = out.len();
        put(out, frame.time_ns);
        let end = out.len();
        piece(out);
        if frame.end_time_ns == frame.time_ns {
            out.extend_from_within(start..end);
        } else {
            put(out, frame.end_time_ns);
        }
        piece(out);
        put(out, frame.size + 4);
    }
}

/// The text between the places. None for a template with more, with fewer, or of another kind.
fn pieces_of(text: &[u8], places: usize) -> Option<Box<[Box<[u8]>]>> {
    let mut pieces = Vec::with_capacity(places + 1);
    let mut piece = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        piece.extend_from_slice(rest.get(..at)?);
        match rest.get(at + 1)? {
            b'%' => piece.push(b'%'),
            b'd' | b'b' => pieces.push(std::mem::take(&mut piece).into_boxed_slice()),
            _ => return None,
        }
        rest = rest.get(at + 2..)?;
    }
    piece.extend_from_slice(rest);
    pieces.push(piece.into_boxed_slice());
    (pieces.len() == places + 1).then(|| pieces.into_boxed_slice())
}
