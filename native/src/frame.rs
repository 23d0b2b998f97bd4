//! `kdissect.model.frame.Frame`, which one of it is used where this package is installed.
//!
//! Fields are members, as those of `__slots__`: Python reads them as fast.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyType};

/// Bytes of a frame's size (spec/004 "Frame Structure").
const PREFIX: i64 = 4;

type Fields = (Py<PyBytes>, Py<PyInt>, Py<PyInt>, Py<PyInt>, Py<PyInt>, Py<PyInt>);

/// One size-prefixed Kafka message as it stood in its TCP stream: see the class in Python.
#[pyclass(frozen, module = "kdissect.model.frame")]
pub struct Frame {
    #[pyo3(get)]
    pub data: Py<PyBytes>,
    #[pyo3(get)]
    pub size: Py<PyInt>,
    #[pyo3(get)]
    pub first_ref: Py<PyInt>,
    #[pyo3(get)]
    pub last_ref: Py<PyInt>,
    #[pyo3(get)]
    pub time_ns: Py<PyInt>,
    #[pyo3(get)]
    pub end_time_ns: Py<PyInt>,
    anomalies: Mutex<Option<Py<PyAny>>>,
}

/// Where a frame lies in its capture: packets and times of its first and of its last byte.
#[derive(Clone, Copy)]
pub struct Span {
    pub first_ref: i64,
    pub last_ref: i64,
    pub first_time: i64,
    pub last_time: i64,
}

impl Frame {
    /// A frame without anomalies.
    pub fn make<'py>(data: Bound<'py, PyBytes>, size: i64, span: Span) -> PyResult<Bound<'py, Frame>> {
        let py = data.py();
        let first_ref = PyInt::new(py, span.first_ref);
        let first_time = PyInt::new(py, span.first_time);
        let is_one = span.first_ref == span.last_ref; // packet: most frames, two numbers less to make
        let last_ref = if is_one { first_ref.clone() } else { PyInt::new(py, span.last_ref) };
        let last_time = if is_one { first_time.clone() } else { PyInt::new(py, span.last_time) };
        let frame = Frame {
            data: data.unbind(),
            size: PyInt::new(py, size).unbind(),
            first_ref: first_ref.unbind(),
            last_ref: last_ref.unbind(),
            time_ns: first_time.unbind(),
            end_time_ns: last_time.unbind(),
            anomalies: Mutex::new(None),
        };
        Bound::new(py, frame)
    }

    fn noted(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.anomalies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Frame {
    #[classattr]
    #[pyo3(name = "__slots__")]
    const SLOTS: [&'static str; 7] =
        ["anomalies", "data", "end_time_ns", "first_ref", "last_ref", "size", "time_ns"];

    #[new]
    fn new(
        data: Py<PyBytes>,
        size: Py<PyInt>,
        first_ref: Py<PyInt>,
        last_ref: Py<PyInt>,
        time_ns: Py<PyInt>,
        end_time_ns: Py<PyInt>,
    ) -> Self {
        Frame { data, size, first_ref, last_ref, time_ns, end_time_ns, anomalies: Mutex::new(None) }
    }

    #[getter]
    fn get_anomalies(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.noted().as_ref().map(|anomalies| anomalies.clone_ref(py))
    }

    #[setter]
    fn set_anomalies(&self, anomalies: Option<Py<PyAny>>) {
        let before = std::mem::replace(&mut *self.noted(), anomalies);
        drop(before); // no lock is held any more: it may run code of Python
    }

    /// Bytes of the frame in the TCP stream, its 4-byte size prefix included.
    #[getter]
    fn bytes_on_wire(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.size.extract::<i64>(py)? + PREFIX)
    }

    /// Whether bytes of the frame are missing from the capture.
    #[getter]
    pub fn is_cut(&self, py: Python<'_>) -> PyResult<bool> {
        Ok((self.data.as_bytes(py).len() as i64) < self.size.extract::<i64>(py)?)
    }

    /// Attach an anomaly.
    fn note(&self, py: Python<'_>, anomaly: Bound<'_, PyAny>) -> PyResult<()> {
        let list = match self.get_anomalies(py) {
            Some(list) => list,
            None => {
                let list = PyList::empty(py).into_any().unbind();
                self.set_anomalies(Some(list.clone_ref(py)));
                list
            }
        };
        list.call_method1(py, pyo3::intern!(py, "append"), (anomaly,)).map(drop)
    }

    /// The frame with the first `kept` bytes of its data only.
    fn shortened(&self, py: Python<'_>, kept: usize) -> Frame {
        let data = self.data.as_bytes(py);
        Frame {
            data: PyBytes::new(py, data.get(..kept).unwrap_or(data)).unbind(),
            size: self.size.clone_ref(py),
            first_ref: self.first_ref.clone_ref(py),
            last_ref: self.last_ref.clone_ref(py),
            time_ns: self.time_ns.clone_ref(py),
            end_time_ns: self.end_time_ns.clone_ref(py),
            anomalies: Mutex::new(self.get_anomalies(py)),
        }
    }

    /// As `Frame.__reduce__` in Python: the same with and without this package.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, Fields, Option<Py<PyAny>>) {
        let (py, me) = (slf.py(), slf.get());
        let fields = (
            me.data.clone_ref(py),
            me.size.clone_ref(py),
            me.first_ref.clone_ref(py),
            me.last_ref.clone_ref(py),
            me.time_ns.clone_ref(py),
            me.end_time_ns.clone_ref(py),
        );
        (slf.get_type(), fields, me.get_anomalies(py))
    }

    fn __setstate__(&self, anomalies: Option<Py<PyAny>>) {
        self.set_anomalies(anomalies);
    }
}
