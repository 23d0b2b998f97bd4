//! Access to `kdissect.session.exchange.Exchange` and `kdissect.model.frame.Frame`, in one place.
//!
//! `kdissect.cli.formats.json_lines.line_filler._fields_of` reads it: reading 28 attributes one by
//! one costs three times more from here.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::engine::completed::{Content, Row};

/// Values of a tuple one after another, or none after a value that does not fit.
struct Fields<'a, 'py> {
    tuple: &'a Bound<'py, PyTuple>,
    at: usize,
}

impl<'py> Fields<'_, 'py> {
    fn object(&mut self) -> Option<Bound<'py, PyAny>> {
        self.at += 1;
        self.tuple.get_item(self.at - 1).ok()
    }

    /// An integer of 64 bits.
    fn number(&mut self) -> Option<i64> {
        self.at += 1;
        self.tuple.get_borrowed_item(self.at - 1).ok()?.extract().ok()
    }
}

/// A frame of which every byte was captured, without anomalies, and where in it the body begins.
pub struct Frame<'py> {
    pub data: Bound<'py, PyBytes>,
    pub body_offset: i64,
    pub size: i64,
    pub first_ref: i64,
    pub last_ref: i64,
    pub time_ns: i64,
    pub end_time_ns: i64,
}

impl<'py> Frame<'py> {
    /// None for one that is not whole.
    fn of(fields: &mut Fields<'_, 'py>) -> Option<Frame<'py>> {
        let frame = Frame {
            data: fields.object()?.cast_into().ok()?,
            body_offset: fields.number()?,
            size: fields.number()?,
            first_ref: fields.number()?,
            last_ref: fields.number()?,
            time_ns: fields.number()?,
            end_time_ns: fields.number()?,
        };
        (usize::try_from(frame.size) == Ok(frame.data.as_bytes().len())).then_some(frame)
    }

    /// Of a row of a block.
    pub fn of_content(py: Python<'py>, content: &Content) -> Frame<'py> {
        let (data, span) = (content.data.bind(py).clone(), content.span);
        let size = data.as_bytes().len() as i64;
        Frame {
            data,
            body_offset: content.body as i64,
            size,
            first_ref: span.first_ref,
            last_ref: span.last_ref,
            time_ns: span.first_time,
            end_time_ns: span.last_time,
        }
    }
}

/// An exchange with whole frames and nothing odd about it. It lacks a response only if the request
/// expects none.
pub struct Exchange<'py> {
    /// Texts of the connection, which a line has as they are.
    pub connection: Bound<'py, PyTuple>,
    pub client_id: Bound<'py, PyAny>,
    pub api_key: i64,
    pub api_version: i64,
    pub ordinal: i64,
    pub correlation_id: i64,
    pub request: Frame<'py>,
    pub response: Option<Frame<'py>>,
}

/// Fields of an exchange with the request alone.
const SILENT_FIELDS: usize = 13;

impl<'py> Exchange<'py> {
    /// Of what `fields_of` gave; `texts_of` gives texts of its connection. None for any other one.
    pub fn of(fields: &Bound<'py, PyAny>, texts_of: &Bound<'py, PyAny>) -> Option<PyResult<Exchange<'py>>> {
        let tuple = fields.cast::<PyTuple>().ok()?;
        let mut fields = Fields { tuple, at: 0 };
        let connection = match texts(texts_of, &fields.object()?) {
            Ok(connection) => connection,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Exchange {
            connection,
            client_id: fields.object()?,
            api_key: fields.number()?,
            api_version: fields.number()?,
            ordinal: fields.number()?,
            correlation_id: fields.number()?,
            request: Frame::of(&mut fields)?,
            response: match tuple.len() {
                SILENT_FIELDS => None,
                _ => Some(Frame::of(&mut fields)?),
            },
        }))
    }

    /// Of a row of a block, of a connection with these texts.
    pub fn of_row(py: Python<'py>, row: &Row, connection: Bound<'py, PyTuple>) -> Exchange<'py> {
        let request = &row.request;
        Exchange {
            connection,
            client_id: request.client_id.bind(py).clone(),
            api_key: request.kind.api_key.into(),
            api_version: request.kind.version.into(),
            ordinal: request.ordinal,
            correlation_id: request.id.into(),
            request: Frame::of_content(py, &request.content),
            response: row.response.as_ref().map(|content| Frame::of_content(py, content)),
        }
    }

    /// First byte of the response minus last byte of the request. None without one, or beyond 64 bits.
    pub fn latency_ns(&self) -> Option<i64> {
        self.response.as_ref()?.time_ns.checked_sub(self.request.end_time_ns)
    }
}

/// Texts of a connection.
pub fn texts<'py>(
    texts_of: &Bound<'py, PyAny>,
    connection: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    Ok(texts_of.call1((connection,))?.cast_into()?)
}
