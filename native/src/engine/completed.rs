//! Completed exchanges: rows of frames that belong together, and the one place where they become
//! objects.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use crate::bodies::partition_rows::{Body, Found, PartitionRows, ReadOnce};
use crate::engine::kind::Kind;
use crate::engine::shared::{CountedRows, Engine};
use crate::request_log::line_comment::LineComment;

/// The position of a frame in its capture: packets and times of its first and last bytes.
#[derive(Clone, Copy)]
pub struct Span {
    pub first_ref: i64,
    pub last_ref: i64,
    pub first_time: i64,
    pub last_time: i64,
}

/// Fields of a `kdissect.model.frame.Frame`.
pub type FrameRow<'py> =
    (Bound<'py, PyBytes>, usize, Bound<'py, PyInt>, Bound<'py, PyInt>, Bound<'py, PyInt>, Bound<'py, PyInt>);

/// A frame all of which was captured, without anomalies: its content, which of it is a header, its packets.
pub struct Content {
    pub data: Py<PyBytes>,
    pub body: usize,
    pub span: Span,
    /// The comment of the request log line that it was built from (`line_comment.rs`).
    pub line: Option<Py<PyBytes>>,
    /// Its partitions, once they were read.
    pub read: ReadOnce,
}

impl Content {
    pub fn new(data: Py<PyBytes>, body: usize, span: Span) -> Content {
        Content { data, body, span, line: None, read: ReadOnce::default() }
    }

    /// A frame that was built from a line of a request log, which has the sizes of records alone.
    pub fn of_line(data: Py<PyBytes>, body: usize, span: Span, line: Py<PyBytes>) -> Content {
        Content { data, body, span, line: Some(line), read: ReadOnce::of_line() }
    }

    fn kept(&self, py: Python<'_>) -> Content {
        let data = self.data.clone_ref(py);
        match &self.line {
            Some(line) => Content::of_line(data, self.body, self.span, line.clone_ref(py)),
            None => Content::new(data, self.body, self.span),
        }
    }

    /// The stored contents of its partitions; None without them.
    pub fn found<'a>(&'a self, py: Python<'_>, rows: &PartitionRows) -> Option<&'a Found> {
        rows.found_once(&self.read, self.data.as_bytes(py), self.body)
    }

    /// Its partitions; None if it is Python's.
    pub fn partitions<'a>(&'a self, py: Python<'a>, rows: &PartitionRows) -> Option<Body<'a>> {
        rows.read_once(&self.read, self.data.as_bytes(py), self.body)
    }

    /// The bytes after the header.
    pub fn of_body<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, self.data.as_bytes(py).get(self.body..)?))
    }

    pub fn row<'py>(&self, py: Python<'py>) -> FrameRow<'py> {
        let (data, span) = (self.data.bind(py).clone(), self.span);
        let size = data.as_bytes().len();
        let first_ref = PyInt::new(py, span.first_ref);
        let first_time = PyInt::new(py, span.first_time);
        let is_one = span.first_ref == span.last_ref; // packet: most frames, two numbers less to make
        let last_ref = if is_one { first_ref.clone() } else { PyInt::new(py, span.last_ref) };
        let last_time = if is_one { first_time.clone() } else { PyInt::new(py, span.last_time) };
        (data, size, first_ref, last_ref, first_time, last_time)
    }
}

/// A request with a header of a kind that is known.
pub struct Request {
    pub ordinal: i64,
    pub kind: Arc<Kind>,
    pub id: i32,
    pub client_id: Py<PyAny>,
    pub content: Content,
    pub is_silent: bool,
}

/// Nanoseconds from the capture to either end of a connection and back; None where that is not known.
#[derive(Clone, Copy, Default)]
pub struct Trips {
    pub client: Option<i64>,
    pub broker: Option<i64>,
}

impl Trips {
    /// From client to broker and back.
    pub fn both(self) -> Option<i64> {
        Some(self.client?.saturating_add(self.broker?))
    }
}

/// A request and its answer. None only if the request expects no response.
pub struct Row {
    pub request: Request,
    pub response: Option<Content>,
    /// When the last byte of the response before it on its connection came, or `NEVER`.
    pub answered_before: i64,
    pub trips: Trips,
}

/// Instead of a time in nanoseconds, as `conversation.NEVER`.
pub const NEVER: i64 = i64::MIN;

impl Row {
    /// As `kdissect.session.exchange.Exchange`, of a connection that counted it.
    pub fn exchange<'py>(
        &self,
        py: Python<'py>,
        engine: &Engine,
        info: &Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Request { ordinal, kind, id, client_id, content, .. } = &self.request;
        let response = self.response.as_ref();
        let arguments = (
            info,
            ordinal,
            kind.api_key,
            kind.version,
            id,
            client_id,
            content.row(py),
            content.body,
            response.map(|content| content.row(py)),
            response.map_or(0, |content| content.body),
            (
                (self.answered_before != NEVER).then_some(self.answered_before),
                self.trips.client,
                self.trips.broker,
            ),
            content.line.as_ref().map(|line| (line, response.and_then(|content| content.line.as_ref()))),
        );
        engine.exchange_of.bind(py).call1(arguments)
    }

    /// The same for who keeps it beyond its block.
    pub fn kept(&self, py: Python<'_>) -> Row {
        let Request { ordinal, kind, id, client_id, content, is_silent } = &self.request;
        let request = Request {
            ordinal: *ordinal,
            kind: kind.clone(),
            id: *id,
            client_id: client_id.clone_ref(py),
            content: content.kept(py),
            is_silent: *is_silent,
        };
        let response = self.response.as_ref().map(|content| content.kept(py));
        Row { request, response, answered_before: self.answered_before, trips: self.trips }
    }

    /// `Exchange.in_line_ns`: nanoseconds from the last byte of the request until that of the response before.
    pub fn in_line(&self) -> i64 {
        let Some(response) = &self.response else { return 0 };
        let until = self.answered_before.min(response.span.first_time);
        until.saturating_sub(self.request.content.span.last_time).max(0)
    }

    /// Whether it was built from a line of a request log: sizes are not known, and records are missing.
    pub fn is_logged(&self) -> bool {
        self.request.content.line.is_some()
    }

    /// The phase of its line in which the broker waited; None without a line that has all phases.
    pub fn remote(&self, py: Python<'_>) -> Option<i64> {
        LineComment::of(self.request.content.line.as_ref()?.as_bytes(py))?.remote()
    }

    /// Bytes of its frames.
    pub fn bytes(&self, py: Python<'_>) -> usize {
        let of = |content: &Content| content.data.as_bytes(py).len();
        of(&self.request.content) + self.response.as_ref().map_or(0, of)
    }
}

/// Count rows of a connection.
pub fn counted<'a>(info: &'a Py<PyAny>, rows: impl Iterator<Item = &'a Row>) -> CountedRows<'a> {
    let (mut complete, mut silent) = (0, 0);
    for row in rows {
        *if row.response.is_some() { &mut complete } else { &mut silent } += 1;
    }
    (info, complete, silent)
}
