//! What a direction delivered last: `kdissect.net.recent`, without an object for each segment.

use std::collections::VecDeque;

use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::stream::StreamState;

/// `RECENT_BYTES` and `RECENT_SEGMENTS` of `kdissect.net.recent`.
pub const BYTES: i64 = 0x4000;
pub const SEGMENTS: usize = 16;

/// `kdissect.net.recent.Delivered`.
pub type Row = (i64, Py<PyBytes>, i64, i64);

/// A segment that was delivered: its stream offset, its bytes, the number and time of its packet.
pub struct Delivered {
    pub offset: i64,
    pub payload: Py<PyBytes>,
    pub ip_id: i64,
    pub time_ns: i64,
}

/// The last segments, oldest first; none before it `keeps` them.
#[derive(Default)]
pub struct Ring {
    pub items: VecDeque<Delivered>,
    pub keeps: bool,
}

impl Ring {
    pub fn push(&mut self, delivered: Delivered) {
        if !self.keeps {
            return;
        }
        if self.items.len() >= SEGMENTS {
            self.items.pop_front();
        } else if self.items.capacity() == 0 {
            self.items.reserve_exact(1); // one exchange on each of many connections: no room for four
        }
        self.items.push_back(delivered);
    }

    /// Drop the segments that end at this offset or before.
    pub fn forget_before(&mut self, py: Python<'_>, keep_from: i64) {
        while self.items.front().is_some_and(|first| first.end(py) <= keep_from) {
            self.items.pop_front();
        }
    }
}

impl Delivered {
    fn end(&self, py: Python<'_>) -> i64 {
        self.offset.saturating_add(self.payload.bind(py).as_bytes().len() as i64)
    }

    fn row(&self, py: Python<'_>) -> Row {
        (self.offset, self.payload.clone_ref(py), self.ip_id, self.time_ns)
    }

    pub fn of((offset, payload, ip_id, time_ns): Row) -> Self {
        Delivered { offset, payload, ip_id, time_ns }
    }
}

/// What Python sees of a ring: the part of `collections.deque` that it uses.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Recent {
    stream: Py<StreamState>,
}

impl Recent {
    pub fn of(stream: Py<StreamState>) -> Self {
        Recent { stream }
    }

    fn rows(&self, py: Python<'_>) -> Vec<Row> {
        self.stream.get().ring().items.iter().map(|each| each.row(py)).collect()
    }
}

#[pymethods]
impl Recent {
    #[getter]
    fn maxlen(&self) -> usize {
        if self.stream.get().ring().keeps {
            SEGMENTS
        } else {
            0
        }
    }

    fn append(&self, row: Row) {
        self.stream.get().ring().push(Delivered::of(row));
    }

    fn extend(&self, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        for row in rows.try_iter()? {
            self.append(row?.extract()?);
        }
        Ok(())
    }

    fn popleft(&self, py: Python<'_>) -> PyResult<Row> {
        match self.stream.get().ring().items.pop_front() {
            Some(first) => Ok(first.row(py)),
            None => Err(PyIndexError::new_err("nothing is kept")),
        }
    }

    fn clear(&self) {
        self.stream.get().ring().items.clear();
    }

    fn __len__(&self) -> usize {
        self.stream.get().ring().items.len()
    }

    fn __getitem__(&self, py: Python<'_>, at: usize) -> PyResult<Row> {
        match self.stream.get().ring().items.get(at) {
            Some(each) => Ok(each.row(py)),
            None => Err(PyIndexError::new_err("so many are not kept")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.rows(py))?.try_iter()?.into_any())
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.rows(py).into_iter().rev().collect::<Vec<_>>())?.try_iter()?.into_any())
    }

    /// As a deque: what Python keeps on its own, and what `StreamState.recent` can be set to.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let deque = py.import("collections")?.getattr(intern!(py, "deque"))?;
        (deque, (self.rows(py), self.maxlen())).into_pyobject(py)
    }
}
