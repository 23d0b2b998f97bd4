//! `kdissect.session.pairing.Pairing`: a request that waits like most, and the answer to the first that waits.
//!
//! Everything else is for `Pairing.add` and `Pairing.match`, before anything was changed.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};

use crate::frame::Frame;
use crate::names::names;
use crate::store::StoreState;

/// An acks=0 request is held until this many requests followed it, as `pairing.NO_RESPONSE_HOLD`.
const NO_RESPONSE_HOLD: i64 = 5;
/// Answered ids that are looked at, as `pairing.ANSWERED_KEPT`.
const ANSWERED_KEPT: usize = 64;

/// What `Pairing` holds; its methods in Python use the same fields.
#[pyclass(subclass, module = "kdissect._native")]
pub struct PairingState {
    #[pyo3(get, set, name = "_store")]
    store: Option<Py<StoreState>>,
    #[pyo3(get, set, name = "_pending")]
    pending: Py<PyDict>,
    #[pyo3(get, set, name = "_answered")]
    answered: Py<PyList>,
    #[pyo3(get, set, name = "_silent")]
    silent: Option<Py<PyList>>,
    #[pyo3(get, set, name = "_shadows")]
    shadows: i64,
    #[pyo3(get, set, name = "_holding")]
    holding: i64,
    #[pyo3(get, set, name = "_bytes")]
    bytes: i64,
    #[pyo3(get, set)]
    last_correlation_id: Option<i32>,
}

/// A request that is to wait.
pub struct Waiting<'a, 'py> {
    pub exchange: &'a Bound<'py, PyAny>,
    pub frame: &'a Bound<'py, Frame>,
    pub id: &'a Bound<'py, PyInt>,
    pub ordinal: i64,
}

impl PairingState {
    /// Whether there is room for a request of so many bytes, and no other waits under its id.
    fn has_room(&self, py: Python<'_>, id: &Bound<'_, PyInt>, bytes: i64) -> PyResult<bool> {
        let pending = self.pending.bind(py);
        let Some(store) = &self.store else { return Ok(false) };
        let store = store.borrow(py);
        let most = store.most;
        let is_plain = self.shadows == 0
            && (pending.len() as i64) < most.connection_pending_requests
            && store.pending_requests < most.pending_requests
            && self.bytes.saturating_add(bytes) <= most.connection_pending_bytes
            && store.pending_bytes.saturating_add(bytes) <= most.pending_bytes;
        Ok(is_plain && !pending.contains(id)?)
    }

    /// So many requests and bytes more wait.
    fn count(&mut self, py: Python<'_>, requests: i64, bytes: i64) {
        self.bytes += bytes;
        if let Some(store) = &self.store {
            let mut store = store.borrow_mut(py);
            store.pending_requests += requests;
            store.pending_bytes += bytes;
        }
    }

    /// `Pairing._release`: requests with acks=0 up to an ordinal, whose answer is not coming.
    fn release<'py>(&mut self, py: Python<'py>, up_to: i64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut due = Vec::new();
        let Some(silent) = self.silent.as_ref().map(|silent| silent.bind(py).clone()) else {
            return Ok(due);
        };
        while !silent.is_empty() {
            let first = silent.get_item(0)?;
            if first.getattr(intern!(py, "ordinal"))?.extract::<i64>()? > up_to {
                break;
            }
            silent.del_item(0)?;
            if self.take_silent(&first)? {
                due.push(first);
            }
        }
        Ok(due)
    }

    /// Take a request out of those that wait, if it does and expects no answer.
    fn take_silent(&mut self, exchange: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = exchange.py();
        let id = exchange.getattr(intern!(py, "correlation_id"))?;
        let pending = self.pending.bind(py);
        let is_waiting = pending.get_item(&id)?.is_some_and(|waiting| waiting.is(exchange));
        if !is_waiting || !exchange.getattr(intern!(py, "state"))?.is(&names(py)?.no_response) {
            return Ok(false);
        }
        pending.del_item(&id)?;
        let request = exchange.getattr(intern!(py, "request"))?.cast_into::<Frame>()?;
        self.count(py, -1, -(request.get().data.as_bytes(py).len() as i64));
        self.holding -= 1;
        Ok(true)
    }

    /// The first request that waits, if it has this id and nothing else is going on.
    fn first<'py>(&self, py: Python<'py>, id: i32) -> Option<Bound<'py, PyAny>> {
        if self.holding != 0 || self.shadows != 0 || self.store.is_none() {
            return None;
        }
        let (key, exchange) = self.pending.bind(py).iter().next()?;
        (key.extract::<i32>().ok()? == id).then_some(exchange)
    }

    fn dismiss(&mut self, id: &Bound<'_, PyInt>, bytes: i64) -> PyResult<()> {
        let py = id.py();
        let (answered, pending) = (self.answered.bind(py), self.pending.bind(py));
        answered.append(id)?;
        if answered.len() >= 2 * ANSWERED_KEPT {
            answered.del_slice(0, ANSWERED_KEPT)?;
        }
        pending.del_item(id)?;
        if pending.is_empty() {
            pending.clear(); // gives back its 160 bytes of places
        }
        self.count(py, -1, -bytes);
        Ok(())
    }
}

#[pymethods]
impl PairingState {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(py: Python<'_>, _args: &Bound<'_, PyAny>) -> Self {
        PairingState {
            store: None,
            pending: PyDict::new(py).unbind(),
            answered: PyList::empty(py).unbind(),
            silent: None,
            shadows: 0,
            holding: 0,
            bytes: 0,
            last_correlation_id: None,
        }
    }
}

/// `Pairing.add`: gives the requests that will not wait any longer, all with acks=0; None if it is for Python to do.
pub fn add<'py>(
    pairing: &Bound<'py, PairingState>,
    request: &Waiting<'_, 'py>,
    is_silent: bool,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = pairing.py();
    let bytes = request.frame.get().data.as_bytes(py).len() as i64;
    let mut state = pairing.borrow_mut();
    if !state.has_room(py, request.id, bytes)? {
        return Ok(None);
    }
    state.pending.bind(py).set_item(request.id, request.exchange)?;
    state.count(py, 1, bytes);
    state.last_correlation_id = Some(request.id.extract()?);
    if is_silent {
        request.exchange.setattr(intern!(py, "state"), &names(py)?.no_response)?;
        state.holding += 1;
        state.silent.get_or_insert_with(|| PyList::empty(py).unbind()).bind(py).append(request.exchange)?;
    }
    if state.holding == 0 {
        return Ok(Some(Vec::new()));
    }
    state.release(py, request.ordinal - NO_RESPONSE_HOLD).map(Some)
}

/// `Pairing.match` without taking it: the first request that waits, if it has this id.
pub fn first<'py>(pairing: &Bound<'py, PairingState>, id: i32) -> Option<Bound<'py, PyAny>> {
    pairing.borrow().first(pairing.py(), id)
}

/// The rest of it: the first request, of `bytes`, is answered.
pub fn take_first(pairing: &Bound<'_, PairingState>, id: i32, bytes: usize) -> PyResult<()> {
    let id = PyInt::new(pairing.py(), id);
    pairing.borrow_mut().dismiss(&id, bytes as i64)
}
