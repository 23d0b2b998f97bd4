//! Which exchange of a connection is due next, as `kdissect.history.stream_order` has it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::summaries::Mixed;
use crate::engine::completed::{Row, Span};
use crate::places::FILE_SHIFT;

/// `kdissect.history.fact.Evidence` by the number of a connection, without the API key.
pub type Evidence = (u32, i64, i16, (i64, i64), Option<(i64, i64)>, i64, i64);

/// The last packet of a response, and its time.
pub type Answer = (i64, i64);

/// `kdissect.history.fact.is_answered_before`.
pub fn is_answered_before(answer: Option<Answer>, asked: &Span) -> bool {
    let Some((last_ref, last_time)) = answer else { return true };
    if last_ref >> FILE_SHIFT == asked.first_ref >> FILE_SHIFT {
        return last_ref < asked.first_ref;
    }
    last_time <= asked.first_time
}

pub fn evidence(connection: u32, row: &Row) -> Evidence {
    let (asked, answered) = (&row.request.content.span, row.response.as_ref().map(|content| content.span));
    (
        connection,
        row.request.ordinal,
        row.request.kind.version,
        (asked.first_ref, asked.last_ref),
        answered.map(|span| (span.first_ref, span.last_ref)),
        asked.first_time,
        answered.map_or(0, |span| span.last_time),
    )
}

/// An exchange as values: connection, API key and version, both bodies, evidence, client id.
pub type Values<'r, 'py> =
    (&'r Bound<'py, PyAny>, (i16, i16), (Bound<'py, PyBytes>, Bound<'py, PyBytes>), Evidence, &'r Py<PyAny>);

/// The values of a row with a response.
pub fn values_of<'r, 'py>(
    py: Python<'py>,
    info: &'r Bound<'py, PyAny>,
    row: &'r Row,
) -> Option<Values<'r, 'py>> {
    let kind = &row.request.kind;
    let bodies = (row.request.content.of_body(py)?, row.response.as_ref()?.of_body(py)?);
    Some((info, (kind.api_key, kind.version), bodies, evidence(0, row), &row.request.client_id))
}

/// Give an exchange as values to who knows its bodies (`repeated_answers`, `repeated_heartbeats`): whether it took them.
pub fn given_to(door: &Bound<'_, PyAny>, info: &Bound<'_, PyAny>, row: &Row) -> PyResult<bool> {
    values_of(door.py(), info, row).map_or(Ok(false), |of| door.call1(of)?.extract())
}

/// Connections by their numbers, each with the exchange that is due.
#[derive(Default)]
pub struct Connections(Mixed<u32, i64>);

impl Connections {
    /// Whether an exchange is the one that is due. `due_of` is called for a new connection; None:
    /// its exchanges are Python's.
    pub fn is_due(&mut self, number: u32, row: &Row, due_of: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.is_at(number, row.request.ordinal, due_of)
    }

    /// Whether the exchange with this ordinal is.
    pub fn is_at(&mut self, number: u32, ordinal: i64, due_of: &Bound<'_, PyAny>) -> PyResult<bool> {
        let due = match self.0.get(&number) {
            Some(due) => *due,
            None => match due_of.call1((number,))?.extract()? {
                None => return Ok(false),
                Some(due) => *self.0.entry(number).or_insert(due),
            },
        };
        Ok(ordinal == due)
    }

    /// Count it.
    pub fn pass(&mut self, number: u32) {
        if let Some(due) = self.0.get_mut(&number) {
            *due += 1;
        }
    }

    /// Return the connections with their next ordinals, and forget them.
    pub fn take(&mut self) -> Vec<(u32, i64)> {
        self.0.drain().collect()
    }
}
