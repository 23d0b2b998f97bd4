//! Callbacks to Python, from `kdissect.engine.records.compiled_records`: about exchanges, names and
//! batches, nearly all of them once a row group.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::partition_rows::PartitionRows;
use crate::bodies::plan::Layout;
use crate::bodies::visitor::Program;
use crate::engine::completed::{Content, Row};
use crate::engine::exchange_block::ExchangeBlock;
use crate::engine::shared::Engine;

use super::program::RecordsFields;

/// An exchange: connection, ordinal, client id, request and response, and the starts of their
/// bodies.
type ExchangeRow<'py> =
    (Bound<'py, PyAny>, i64, Bound<'py, PyAny>, Bound<'py, PyAny>, usize, Bound<'py, PyAny>, usize);

/// On which side an API in a version has records, how that direction is called, and the way to them: None where
/// Python has to go it. `answer` reads the response to records that a producer sends.
pub struct Way {
    pub is_response: bool,
    pub direction: Box<str>,
    pub steps: Option<Program>,
    pub answer: Option<Py<PartitionRows>>,
}

/// Where a frame comes from.
pub enum Origin {
    /// Exchange and frame.
    Objects(Py<PyAny>, Py<PyAny>),
    /// A row, which becomes an exchange for who asks for it, and whether the frame is its response.
    Row(Py<Engine>, Box<Row>, bool),
}

/// The frame with records of an exchange, and what all its rows share.
pub struct Frame {
    pub origin: Origin,
    pub data: Py<PyBytes>,
    pub body_offset: usize,
    pub connection: Py<PyAny>,
    /// A text or None.
    pub client_id: Py<PyAny>,
    pub ordinal: i64,
    pub first_ref: i64,
    pub time_ns: i64,
}

impl Frame {
    /// The frame of a row in a block, stored beyond it; `content` is its request or response.
    pub fn of_row(
        py: Python<'_>,
        block: &ExchangeBlock,
        (row, content): (&Row, &Content),
        connection: &Py<PyAny>,
        is_response: bool,
    ) -> Frame {
        Frame {
            origin: Origin::Row(block.engine.clone_ref(py), Box::new(row.kept(py)), is_response),
            data: content.data.clone_ref(py),
            body_offset: content.body,
            connection: connection.clone_ref(py),
            client_id: row.request.client_id.clone_ref(py),
            ordinal: row.request.ordinal,
            first_ref: content.span.first_ref,
            time_ns: content.span.first_time,
        }
    }

    /// Exchange and frame as objects.
    pub fn objects<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (engine, row, is_response) = match &self.origin {
            Origin::Objects(exchange, frame) => {
                return Ok((exchange.bind(py).clone(), frame.bind(py).clone()))
            }
            Origin::Row(engine, row, is_response) => (engine.get(), row, *is_response),
        };
        let exchange = row.exchange(py, engine, &self.connection)?;
        let side = if is_response { intern!(py, "response") } else { intern!(py, "request") };
        let frame = exchange.getattr(side)?;
        Ok((exchange, frame))
    }
}

/// Texts of a connection.
pub struct Texts {
    pub id: Box<str>,
    pub client: Box<str>,
    pub broker: Box<str>,
    pub principal: Option<Box<str>>,
    pub software: Option<Box<str>>,
}

/// Callables, as `_native.pyi` types them.
pub struct Asked {
    /// For an exchange its kind and its fields, then the fields of a frame, and of a connection.
    pub exchanges: (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>),
    /// The way of a kind, the name of a topic id, that of a file, what is to be done with a topic's records.
    pub names: (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>),
}

impl Asked {
    /// API and version; None if they are unknown.
    pub fn kind(&self, exchange: &Bound<'_, PyAny>) -> PyResult<Option<(i16, i16)>> {
        Ok(self.exchanges.0.bind(exchange.py()).call1((exchange,))?.extract().ok())
    }

    /// The frame of one side: Ok(None) for none, Err(None) for one that Python has to look at.
    pub fn frame(
        &self,
        exchange: &Bound<'_, PyAny>,
        is_response: bool,
    ) -> PyResult<Result<Option<Frame>, ()>> {
        let py = exchange.py();
        let row = self.exchanges.1.bind(py).call1((exchange,))?;
        let Ok(row) = row.extract::<ExchangeRow<'_>>() else { return Ok(Err(())) };
        let (connection, ordinal, client_id, request, request_at, response, response_at) = row;
        let (frame, body_offset) = if is_response { (response, response_at) } else { (request, request_at) };
        if frame.is_none() {
            return Ok(Ok(None));
        }
        let row = self.exchanges.2.bind(py).call1((&frame,))?;
        let Ok((data, first_ref, time_ns)) = row.extract::<(Bound<'_, PyBytes>, i64, i64)>() else {
            return Ok(Err(()));
        };
        let origin = Origin::Objects(exchange.clone().unbind(), frame.unbind());
        let data = data.unbind();
        let (connection, client_id) = (connection.unbind(), client_id.unbind());
        Ok(Ok(Some(Frame { origin, data, body_offset, connection, client_id, ordinal, first_ref, time_ns })))
    }

    /// Texts of a connection; None where one is no text that has bytes.
    pub fn connection(&self, py: Python<'_>, of: &Py<PyAny>) -> PyResult<Option<Texts>> {
        type Text<'py> = Bound<'py, PyString>;
        type Row<'py> = (Text<'py>, Text<'py>, Text<'py>, Option<Text<'py>>, Option<Text<'py>>);
        let row: Row<'_> = self.exchanges.3.bind(py).call1((of,))?.extract()?;
        let (id, client, broker, principal, software) = row;
        let texts = [id, client, broker].map(|text| utf8(&text));
        let [Some(id), Some(client), Some(broker)] = texts else { return Ok(None) };
        let others = [principal, software].map(|text| text.map_or(Some(None), |text| utf8(&text).map(Some)));
        let [Some(principal), Some(software)] = others else { return Ok(None) };
        Ok(Some(Texts { id, client, broker, principal, software }))
    }

    pub fn way(&self, py: Python<'_>, kind: (i16, i16)) -> PyResult<Option<Way>> {
        type Told<'py> =
            Option<((bool, Bound<'py, PyString>, Option<Py<Layout>>), Option<Py<PartitionRows>>)>;
        let found: Told<'_> = self.names.0.bind(py).call1(kind)?.extract()?;
        let Some(((is_response, direction, layout), answer)) = found else { return Ok(None) };
        let steps = layout.map(|layout| Program::of::<RecordsFields>(layout.get()));
        Ok(Some(Way { is_response, direction: direction.to_str()?.into(), steps, answer }))
    }

    /// The name of a topic id in a frame; None if it is unknown.
    pub fn name(&self, py: Python<'_>, frame: &Frame, id: &[u8; 16]) -> PyResult<Option<Box<str>>> {
        let (exchange, frame) = frame.objects(py)?;
        let place = (exchange, frame, PyBytes::new(py, id));
        let found: Option<Bound<'_, PyString>> = self.names.1.bind(py).call1(place)?.extract()?;
        found.map(|text| text.to_str().map(Box::from)).transpose()
    }

    /// The name of an input; None for one that is no UTF-8.
    pub fn file(&self, py: Python<'_>, number: i64) -> PyResult<Option<Box<str>>> {
        let found: Bound<'_, PyString> = self.names.2.bind(py).call1((number,))?.extract()?;
        Ok(utf8(&found))
    }

    /// Whether records of a topic are wanted at all, and whether they are Kafka's own, which Python
    /// reads.
    pub fn topic(&self, py: Python<'_>, topic: &str) -> PyResult<(bool, bool)> {
        self.names.3.bind(py).call1((topic,))?.extract()
    }
}

fn utf8(text: &Bound<'_, PyString>) -> Option<Box<str>> {
    text.to_str().ok().map(Box::from)
}
