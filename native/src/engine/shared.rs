//! What the connections of an analysis share: limits, counts, kinds of requests, and what makes exchanges.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use crate::engine::counts::Counts;
use crate::engine::kind::{number_of, pair, Kind, Row};
use crate::records::quick::QuickMap;

/// Kinds kept, as `request_kind.KINDS_KEPT`: hostile requests can name 2^32 of them.
const KEPT: usize = 4096;

/// Those of `kdissect.model.limits.Limits` that are asked once a frame, in this order.
#[derive(Clone, Copy, FromPyObject)]
pub struct Limits(i64, i64, i64, i64, i64, i64);

impl Limits {
    pub fn frame_size(&self) -> i64 {
        self.0
    }

    pub fn frame_bytes(&self) -> i64 {
        self.1
    }

    pub fn pending_bytes(&self) -> i64 {
        self.2
    }

    pub fn pending_requests(&self) -> i64 {
        self.3
    }

    pub fn connection_pending_bytes(&self) -> i64 {
        self.4
    }

    pub fn connection_pending_requests(&self) -> i64 {
        self.5
    }
}

/// A connection, how many of some rows are complete, and how many ask for no answer.
pub type CountedRows<'a> = (&'a Py<PyAny>, u64, u64);

#[pyclass(frozen, module = "kdissect._native")]
pub struct Engine {
    counts: Py<Counts>,
    pub limits: Limits,
    kind_of: Py<PyAny>,
    pub exchange_of: Py<PyAny>,
    count: Py<PyAny>,
    pub met: Py<PyAny>,
    kinds: Mutex<QuickMap<u32, Arc<Kind>>>,
}

#[pymethods]
impl Engine {
    /// `kind_of` gives the row of an API key and a version; `exchange_of` makes what is paired, or waits for nothing
    /// any more, an exchange; `count` is called with connections, each with how many of its requests were answered and
    /// how many ask for no answer, before these are exchanges; `met` with a connection, an API key and a version that
    /// its requests did not have before.
    #[new]
    fn new(
        counts: Py<Counts>,
        limits: Limits,
        kind_of: Py<PyAny>,
        exchange_of: Py<PyAny>,
        count: Py<PyAny>,
        met: Py<PyAny>,
    ) -> Self {
        Engine { counts, limits, kind_of, exchange_of, count, met, kinds: Mutex::default() }
    }
}

impl Engine {
    pub fn counts(&self) -> &Counts {
        self.counts.get()
    }

    /// Have connections count.
    pub fn count(&self, py: Python<'_>, counted: Vec<CountedRows<'_>>) -> PyResult<()> {
        self.count.call1(py, (counted,)).map(drop)
    }

    /// The kind of the request that `data` is; None if it is too short to tell.
    pub fn kind(&self, py: Python<'_>, data: &[u8]) -> PyResult<Option<Arc<Kind>>> {
        number_of(data).map(|number| self.kind_of(py, number)).transpose()
    }

    pub fn kind_of(&self, py: Python<'_>, number: u32) -> PyResult<Arc<Kind>> {
        let found = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(kind) = found {
            return Ok(kind);
        }
        let row: Row = self.kind_of.call1(py, pair(number))?.extract(py)?;
        let kind = Arc::new(Kind::of(number, row));
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() >= KEPT {
            kinds.clear();
        }
        kinds.insert(number, kind.clone());
        Ok(kind)
    }
}
