//! `kdissect.net.store.Store`: counters that all connections share, and those of its limits that are asked once a
//! frame.

use pyo3::intern;
use pyo3::prelude::*;

/// What `Store` holds. A limit beyond 63 bits is none.
#[pyclass(subclass, module = "kdissect._native")]
pub struct StoreState {
    #[pyo3(get, set)]
    pub parked_bytes: i64,
    #[pyo3(get, set)]
    pub frame_bytes: i64,
    #[pyo3(get, set)]
    pub pending_bytes: i64,
    #[pyo3(get, set)]
    pub pending_requests: i64,
    #[pyo3(get)]
    limits: Py<PyAny>,
    pub most: Most,
}

/// Limits by name, as `kdissect.model.limits.Limits` has them.
#[derive(Clone, Copy, Default)]
pub struct Most {
    pub frame_size: i64,
    pub pending_bytes: i64,
    pub pending_requests: i64,
    pub connection_pending_bytes: i64,
    pub connection_pending_requests: i64,
}

impl Most {
    fn of(limits: &Bound<'_, PyAny>) -> PyResult<Most> {
        let py = limits.py();
        let most = |value: Bound<'_, PyAny>| value.extract().unwrap_or(i64::MAX);
        Ok(Most {
            frame_size: most(limits.getattr(intern!(py, "frame_size"))?),
            pending_bytes: most(limits.getattr(intern!(py, "pending_bytes"))?),
            pending_requests: most(limits.getattr(intern!(py, "pending_requests"))?),
            connection_pending_bytes: most(limits.getattr(intern!(py, "connection_pending_bytes"))?),
            connection_pending_requests: most(limits.getattr(intern!(py, "connection_pending_requests"))?),
        })
    }
}

#[pymethods]
impl StoreState {
    #[new]
    #[pyo3(signature = (*_args))]
    fn new(py: Python<'_>, _args: &Bound<'_, PyAny>) -> Self {
        StoreState {
            parked_bytes: 0,
            frame_bytes: 0,
            pending_bytes: 0,
            pending_requests: 0,
            limits: py.None(),
            most: Most::default(),
        }
    }

    #[setter]
    fn set_limits(&mut self, limits: Bound<'_, PyAny>) -> PyResult<()> {
        self.most = Most::of(&limits)?;
        self.limits = limits.unbind();
        Ok(())
    }
}
