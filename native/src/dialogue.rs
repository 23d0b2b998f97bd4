//! `kdissect.session.dialogue.Dialogue`: a request like the one before, and the answer to the first that waits.
//!
//! Everything else is for `Dialogue._request` and `Dialogue._response`, before anything was changed.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString};

use crate::frame::Frame;
use crate::kind::{self, Kind};
use crate::names::names;
use crate::pairing::{self, PairingState, Waiting};

/// Behind API key, version and correlation id: length of the client id, and the id (spec/004 "Complete Request
/// Format").
const LENGTH_AT: usize = 8;
const CLIENT_ID_AT: usize = 10;
/// A response's header: its correlation id, then tags or nothing.
const AFTER_ID: usize = 4;

/// What `Dialogue` holds; its methods in Python use the same fields.
#[pyclass(subclass, module = "kdissect._native")]
pub struct DialogueState {
    #[pyo3(get, set, name = "_info")]
    info: Py<PyAny>,
    #[pyo3(get, set, name = "_events")]
    events: Py<PyList>,
    #[pyo3(get, set, name = "_pairing")]
    pairing: Option<Py<PairingState>>,
    #[pyo3(get, set, name = "_tokens")]
    tokens: Py<PyAny>,
    #[pyo3(get, set, name = "_next")]
    next: i64,
    #[pyo3(get, set, name = "_client_id")]
    client_id: Py<PyAny>,
    #[pyo3(get, set, name = "_client_id_bytes")]
    client_id_bytes: Py<PyBytes>,
    #[pyo3(get, set, name = "_client_id_length")]
    client_id_length: i32,
    #[pyo3(get, name = "_phase")]
    phase: Py<PyAny>,
    is_raw: bool, // phase is RAW_TOKENS
}

#[pymethods]
impl DialogueState {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(py: Python<'_>, _args: &Bound<'_, PyAny>) -> Self {
        DialogueState {
            info: py.None(),
            events: PyList::empty(py).unbind(),
            pairing: None,
            tokens: py.None(),
            next: 0,
            client_id: py.None(),
            client_id_bytes: PyBytes::new(py, b"").unbind(),
            client_id_length: -2,
            phase: py.None(),
            is_raw: false,
        }
    }

    #[setter(_phase)]
    fn set_phase(&mut self, phase: Bound<'_, PyAny>) -> PyResult<()> {
        self.is_raw = phase.getattr("name")?.eq("RAW_TOKENS")?;
        self.phase = phase.unbind();
        Ok(())
    }

    /// `Dialogue.request`.
    #[pyo3(name = "request")]
    fn request_in_python(slf: &Bound<'_, Self>, frame: &Bound<'_, Frame>, doubtful: bool) -> PyResult<bool> {
        request(slf, frame, doubtful)
    }

    /// `Dialogue.response`.
    #[pyo3(name = "response")]
    fn response_in_python(slf: &Bound<'_, Self>, frame: &Bound<'_, Frame>, doubtful: bool) -> PyResult<bool> {
        response(slf, frame, doubtful)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.info)?;
        visit.call(&self.events)?;
        visit.call(&self.pairing)?;
        visit.call(&self.tokens)
    }
}

/// A header that was read without looking closer: the request's kind, id and where its body begins.
struct Header {
    kind: Arc<Kind>,
    id: i32,
    body: usize,
}

impl Header {
    /// How many acknowledgements are asked for, not 0 but in a Produce request; None where it is not certain.
    fn acks(&self, data: &[u8]) -> Option<i16> {
        if self.kind.is_produce {
            self.kind.acks(data.get(self.body..)?)
        } else {
            Some(-1)
        }
    }
}

impl DialogueState {
    /// The header of a request that is like the one before.
    fn header(&self, py: Python<'_>, kind: Arc<Kind>, data: &[u8]) -> Option<Header> {
        let id = i32::from_be_bytes(data.get(4..8)?.try_into().ok()?);
        let length = i16::from_be_bytes(data.get(LENGTH_AT..CLIENT_ID_AT)?.try_into().ok()?);
        if kind.is_unusual || self.is_raw || i32::from(length) != self.client_id_length {
            return None;
        }
        let stop = CLIENT_ID_AT + usize::try_from(length).unwrap_or(0); // -1 for null
        if data.get(CLIENT_ID_AT..stop)? != self.client_id_bytes.bind(py).as_bytes() {
            return None;
        }
        let body = stop + kind.tags.len();
        (data.get(stop..body)? == kind.tags).then_some(Header { kind, id, body })
    }

    fn pairing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PairingState>> {
        match &self.pairing {
            Some(pairing) => Ok(pairing.bind(py).clone()),
            None => Err(PyTypeError::new_err("a dialogue without pairing")),
        }
    }
}

/// `Dialogue.request`.
pub fn request(
    dialogue: &Bound<'_, DialogueState>,
    frame: &Bound<'_, Frame>,
    doubtful: bool,
) -> PyResult<bool> {
    let py = dialogue.py();
    let content = frame.get().data.as_bytes(py);
    let header = match kind::known(py, content)? {
        Some(kind) => dialogue.borrow().header(py, kind, content),
        None => None,
    };
    let Some(header) = header else {
        return dialogue.call_method1(intern!(py, "_request"), (frame, doubtful))?.is_truthy();
    };
    take(dialogue, frame, &header)?;
    Ok(true)
}

/// A request whose header is plain becomes an exchange, and waits for its response.
fn take(dialogue: &Bound<'_, DialogueState>, frame: &Bound<'_, Frame>, header: &Header) -> PyResult<()> {
    let py = dialogue.py();
    let (kind, id) = (&header.kind, PyInt::new(py, header.id));
    let (info, ordinal, client_id, waiting) = {
        let mut state = dialogue.borrow_mut();
        state.next += 1;
        (state.info.bind(py).clone(), state.next - 1, state.client_id.bind(py).clone(), state.pairing(py)?)
    };
    let arguments = (&info, ordinal, &kind.api_key, &kind.api_version, &id, client_id, frame, header.body);
    let exchange = names(py)?.exchange.bind(py).call1(arguments)?;
    let seen = info.getattr(intern!(py, "api_versions_seen"))?.cast_into::<PyDict>()?;
    let is_known = seen.contains(&kind.pair)?;
    let acks = header.acks(frame.get().data.as_bytes(py)).filter(|_| is_known && !kind.is_watched);
    let released = match acks {
        Some(acks) => {
            pairing::add(&waiting, &Waiting { exchange: &exchange, frame, id: &id, ordinal }, acks == 0)?
        }
        None => None,
    };
    let Some(released) = released else {
        let arguments = (exchange, frame, &kind.python, id);
        return dialogue.call_method1(intern!(py, "_take_request"), arguments).map(drop);
    };
    for done in released {
        emit(dialogue, &done, intern!(py, "no_response_expected"))?;
    }
    Ok(())
}

/// `Dialogue.response`.
pub fn response(
    dialogue: &Bound<'_, DialogueState>,
    frame: &Bound<'_, Frame>,
    doubtful: bool,
) -> PyResult<bool> {
    let py = dialogue.py();
    let content = frame.get().data.as_bytes(py);
    if !answer(dialogue, frame, content)? {
        return dialogue.call_method1(intern!(py, "_response"), (frame, doubtful))?.is_truthy();
    }
    Ok(true)
}

/// The frame answers the first request that waits; false if it does not, or not plainly.
fn answer(dialogue: &Bound<'_, DialogueState>, frame: &Bound<'_, Frame>, content: &[u8]) -> PyResult<bool> {
    let py = dialogue.py();
    if frame.get().is_cut(py)? {
        return Ok(false);
    }
    let Some(id) = content.get(..AFTER_ID).and_then(|id| id.try_into().ok()).map(i32::from_be_bytes) else {
        return Ok(false);
    };
    let (waiting, tokens) = {
        let state = dialogue.borrow();
        (state.pairing(py)?, state.tokens.bind(py).clone())
    };
    if tokens.is_truthy()? {
        return Ok(false);
    }
    let Some(exchange) = pairing::first(&waiting, id) else { return Ok(false) };
    let Ok(request) = exchange.getattr(intern!(py, "request"))?.cast_into::<Frame>() else {
        return Ok(false);
    };
    let asked = request.get().data.as_bytes(py);
    let Some(kind) = kind::kind_of(py, asked)? else { return Ok(false) };
    let Some(offset) = body_offset(&kind, content) else { return Ok(false) };
    pairing::take_first(&waiting, id, asked.len())?;
    exchange.setattr(intern!(py, "state"), &names(py)?.complete)?;
    exchange.setattr(intern!(py, "response"), frame)?;
    exchange.setattr(intern!(py, "response_body_offset"), offset)?;
    if kind.is_watched {
        dialogue.call_method1(intern!(py, "_watch_response"), (&exchange,))?;
    }
    emit(dialogue, &exchange, intern!(py, "complete"))?;
    Ok(true)
}

/// Where the body of a plain response begins: behind the id and the tags that its kind has.
fn body_offset(kind: &Kind, content: &[u8]) -> Option<usize> {
    if kind.is_unknown {
        return Some(AFTER_ID);
    }
    let offset = AFTER_ID + kind.response_tags.len();
    (content.get(AFTER_ID..offset)? == kind.response_tags).then_some(offset)
}

/// `Dialogue._emit` of an exchange; `counter` is the field of its connection that counts its state.
fn emit(
    dialogue: &Bound<'_, DialogueState>,
    exchange: &Bound<'_, PyAny>,
    counter: &Bound<'_, PyString>,
) -> PyResult<()> {
    let py = dialogue.py();
    let (info, events) = {
        let me = dialogue.borrow();
        (me.info.bind(py).clone(), me.events.bind(py).clone())
    };
    let so_far: i64 = info.getattr(counter)?.extract()?;
    info.setattr(counter, so_far + 1)?;
    events.append(exchange)
}
