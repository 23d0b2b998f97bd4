//! What is asked of Python, by callables that `kdissect.stages.compiled_rows` gives.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::Layout;
use crate::bodies::visitor::Program;
use crate::exchange::Frame;
use crate::records::program::RecordsFields;
use crate::template::Look;

/// Id, capture set, client, broker, the connection that it is the same as.
type Connection = (PyBackedStr, PyBackedStr, PyBackedStr, PyBackedStr, Option<PyBackedStr>);
/// Ordinal, API key, version, correlation id, client id.
type Header = (i64, i16, i16, i32, Option<PyBackedStr>);
/// Bytes, where the body begins, first and last packet, time of the first and the last byte.
type Bytes<'py> = (Bound<'py, PyBytes>, i64, i64, i64, i64, i64);

/// An exchange with whole frames and nothing unusual about it.
pub struct Turn<'py> {
    pub object: Bound<'py, PyAny>,
    pub connection: Connection,
    pub header: Header,
    pub request: Frame<'py>,
    /// None only where none belongs.
    pub response: Option<Frame<'py>>,
}

/// What exchanges of one API and version have in common.
pub struct Kind {
    pub api: Option<Box<str>>,
    pub ask: Look,
    pub answer: Look,
    pub records: Option<RecordsSide>,
}

/// The side that has records, how that direction is called, and the way to them: None where Python has to go it.
pub struct RecordsSide {
    pub is_response: bool,
    pub direction: Box<str>,
    pub way: Option<Program>,
}

/// Topics, their ids and error codes of an exchange, by name.
#[derive(Default)]
pub struct Facts {
    pub topics: Vec<PyBackedStr>,
    pub topic_ids: Vec<PyBackedStr>,
    pub errors: Vec<PyBackedStr>,
}

/// Callables, as `_native.pyi` types them.
pub struct Asked {
    pub fields_of: Py<PyAny>,
    pub kind_of: Py<PyAny>,
    pub facts_of: Py<PyAny>,
    pub name_of: Py<PyAny>,
    pub id_text: Py<PyAny>,
    pub file_of: Py<PyAny>,
    pub rest_fits: Py<PyAny>,
}

fn frame<'py>((data, body_offset, first_ref, last_ref, time_ns, end_time_ns): Bytes<'py>) -> Frame<'py> {
    let size = data.as_bytes().len() as i64;
    Frame { data, body_offset, size, first_ref, last_ref, time_ns, end_time_ns }
}

impl Asked {
    /// None for one that is unusual.
    pub fn turn<'py>(&self, exchange: &Bound<'py, PyAny>) -> PyResult<Option<Turn<'py>>> {
        type Fields<'py> = (Connection, Header, Bytes<'py>, Option<Bytes<'py>>);
        let fields = self.fields_of.bind(exchange.py()).call1((exchange,))?;
        let Ok((connection, header, request, response)) = fields.extract::<Fields<'py>>() else {
            return Ok(None); // None, or a text or a number that is none of UTF-8 or 64 bits
        };
        let (request, response) = (frame(request), response.map(frame));
        Ok(Some(Turn { object: exchange.clone(), connection, header, request, response }))
    }

    pub fn kind(&self, py: Python<'_>, api_key: i16, api_version: i16) -> PyResult<Kind> {
        type Records<'py> = Option<(bool, PyBackedStr, Option<Py<Layout>>)>;
        type Told<'py> = (Option<PyBackedStr>, Bound<'py, PyAny>, Bound<'py, PyAny>, Records<'py>);
        let found = self.kind_of.bind(py).call1((api_key, api_version))?;
        let (api, ask, answer, records) = found.extract::<Told<'_>>()?;
        let records = records.map(|(is_response, direction, layout)| RecordsSide {
            is_response,
            direction: Box::from(&*direction),
            way: layout.map(|layout| Program::of::<RecordsFields>(layout.get())),
        });
        let api = api.map(|name| Box::from(&*name));
        Ok(Kind { api, ask: Look::of(ask), answer: Look::of(answer), records })
    }

    /// The facts of two summaries, and whether they are those of the summaries for ever.
    pub fn facts(
        &self,
        turn: &Turn<'_>,
        asked: Py<PyAny>,
        answered: Option<Py<PyAny>>,
    ) -> PyResult<(Facts, bool)> {
        let found = self.facts_of.bind(turn.object.py()).call1((&turn.object, asked, answered))?;
        let (topics, topic_ids, errors, is_lasting) = found.extract()?;
        Ok((Facts { topics, topic_ids, errors }, is_lasting))
    }

    /// The name of a topic id; None where nobody knows it.
    pub fn name(&self, turn: &Turn<'_>, id: &[u8; 16]) -> PyResult<Option<PyBackedStr>> {
        let py = turn.object.py();
        self.name_of.bind(py).call1((&turn.object, PyBytes::new(py, id)))?.extract()
    }

    pub fn id_text(&self, py: Python<'_>, id: &[u8; 16]) -> PyResult<PyBackedStr> {
        self.id_text.bind(py).call1((PyBytes::new(py, id),))?.extract()
    }

    /// The name of an input; None for one that is no UTF-8.
    pub fn file(&self, py: Python<'_>, number: i64) -> PyResult<Option<Box<str>>> {
        let found: Bound<'_, PyString> = self.file_of.bind(py).call1((number,))?.extract()?;
        Ok(found.to_str().ok().map(Box::from))
    }

    /// Whether the bytes behind whole batches are no fault: the beginning of one that was cut.
    pub fn rest_fits(&self, frame: &Frame<'_>, at: usize, end: usize, may_be_cut: bool) -> PyResult<bool> {
        self.rest_fits.bind(frame.data.py()).call1((&frame.data, at, end, may_be_cut))?.extract()
    }
}
