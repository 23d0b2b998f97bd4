//! `kdissect.session.pairing.Pairing`: a request that waits like most, and the answer to the first that waits.
//!
//! Everything else is for `Pairing.add` and `Pairing.match`, before anything was changed.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::store::StoreState;

/// What `Pairing` holds; its methods in Python use the same fields.
#[pyclass(subclass, module = "kdissect_native")]
pub struct PairingState {
    #[pyo3(get, set, name = "_store")]
    store: Option<Py<StoreState>>,
    #[pyo3(get, set, name = "_pending")]
    pending: Py<PyDict>,
    #[pyo3(get, set, name = "_answered")]
    answered: Py<PyAny>,
    #[pyo3(get, set, name = "_shadows")]
    shadows: i64,
    #[pyo3(get, set, name = "_holding")]
    holding: i64,
    #[pyo3(get, set, name = "_bytes")]
    bytes: i64,
    #[pyo3(get, set)]
    last_correlation_id: Option<i32>,
}

impl PairingState {
    /// Count a request of so many bytes and put it behind those that wait, if there is room and nothing odd.
    fn admit(&mut self, exchange: &Bound<'_, PyAny>, id: &Bound<'_, PyInt>, bytes: i64) -> PyResult<bool> {
        let py = exchange.py();
        let pending = self.pending.bind(py);
        let Some(store) = &self.store else { return Ok(false) };
        let mut store = store.borrow_mut(py);
        let most = store.most;
        let is_plain = self.holding == 0
            && (pending.len() as i64).saturating_add(self.shadows) < most.connection_pending_requests
            && store.pending_requests < most.pending_requests
            && self.bytes.saturating_add(bytes) <= most.connection_pending_bytes
            && store.pending_bytes.saturating_add(bytes) <= most.pending_bytes;
        if !is_plain || pending.contains(id)? {
            return Ok(false);
        }
        pending.set_item(id, exchange)?;
        store.pending_requests += 1;
        store.pending_bytes += bytes;
        self.bytes += bytes;
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
        self.answered.bind(py).call_method1(intern!(py, "append"), (id,))?;
        self.pending.bind(py).del_item(id)?;
        self.bytes -= bytes;
        if let Some(store) = &self.store {
            let mut store = store.borrow_mut(py);
            store.pending_requests -= 1;
            store.pending_bytes -= bytes;
        }
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
            answered: py.None(),
            shadows: 0,
            holding: 0,
            bytes: 0,
            last_correlation_id: None,
        }
    }
}

/// `Pairing.add` of a request of `bytes` that expects a response; false if that is for Python to do.
pub fn add(
    pairing: &Bound<'_, PairingState>,
    exchange: &Bound<'_, PyAny>,
    id: &Bound<'_, PyInt>,
    bytes: usize,
) -> PyResult<bool> {
    let mut pairing = pairing.borrow_mut();
    let is_added = pairing.admit(exchange, id, bytes as i64)?;
    if is_added {
        pairing.last_correlation_id = Some(id.extract()?);
    }
    Ok(is_added)
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
