//! The engine's place for a connection, from its handover until Python reclaims it.

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::engine::by_loan;
use crate::engine::completed::counted;
use crate::engine::framing::Packet;
use crate::engine::handover::{Ends, HeldState};
use crate::engine::lent::{Lent, Segment, Summary, Turn, Work};
use crate::engine::news::read_news;
use crate::engine::shared::Engine;

/// The engine's place for a connection, which is there or in Python.
#[pyclass(module = "kdissect._native")]
pub struct Held {
    pub engine: Py<Engine>,
    pub info: Py<PyAny>,
    pub lent: Option<Box<Lent>>,
    /// Whether the flow of direction 0 goes the other way than the key for both (`Flow::either_way`).
    pub is_turned: bool,
    /// Its position in the block of this number.
    pub in_block: (u64, u32),
    /// The number of the handover (`by_loan.rs`).
    pub loan: u64,
}

/// `kdissect.model.packets.segment.PlainSegment`.
type PlainSegment<'py> = (Bound<'py, PyAny>, u32, u32, u8, u16, Bound<'py, PyBytes>, i64, i64);

#[pymethods]
impl Held {
    /// Exchanges are of the connection `info`.
    #[new]
    fn new(engine: Py<Engine>, info: Py<PyAny>) -> Self {
        Held { engine, info, lent: None, is_turned: false, in_block: (0, 0), loan: 0 }
    }

    /// Whether the connection is here.
    #[getter]
    fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Time of its last packet.
    #[getter]
    fn last_time_ns(&self) -> PyResult<i64> {
        self.there().map(|lent| lent.last_time_ns)
    }

    /// Packets taken since the handover.
    #[getter]
    fn taken(&self) -> PyResult<u64> {
        self.there().map(|lent| lent.taken)
    }

    /// Whether both of its directions ended.
    #[getter]
    fn is_over(&self) -> PyResult<bool> {
        self.there().map(Lent::is_over)
    }

    /// The end of the connection as no more packets come; None if Python must handle it.
    fn summary(&self) -> PyResult<Option<Summary>> {
        self.there().map(Lent::summary)
    }

    /// Take over a connection, whose ends are for the engine or not. Raises ValueError for one that is here.
    fn lend(&mut self, py: Python<'_>, state: HeldState<'_>, can_end: bool) -> PyResult<()> {
        if self.lent.is_some() {
            return Err(PyValueError::new_err("the connection is lent already"));
        }
        let lent = Lent::of(py, self.engine.get(), state, can_end)?;
        self.begin(lent);
        Ok(())
    }

    /// Give back the connection, and how it ended. Raises ValueError if it is not here.
    fn take_back<'py>(&mut self, py: Python<'py>) -> PyResult<(HeldState<'py>, Ends)> {
        self.there()?;
        match self.lent.take() {
            Some(mut lent) => {
                if self.engine.get().keeps_memory.load(Ordering::Relaxed) {
                    lent.leak_delivered();
                }
                let ends = lent.ends();
                Ok((lent.state(py)?, ends))
            }
            None => Err(not_here()),
        }
    }

    /// Take a segment of a direction and put the completed exchanges into `events`; False, without
    /// any change, if it is not for the engine. Raises ValueError if the connection is not here.
    fn feed(
        slf: &Bound<'_, Self>,
        direction: usize,
        segment: &Bound<'_, PyTuple>,
        reference: i64,
        time_ns: i64,
        events: &Bound<'_, PyList>,
    ) -> PyResult<bool> {
        let py = slf.py();
        let (_, seq, ack, flags, window, payload, missing, ip_id): PlainSegment<'_> = segment.extract()?;
        if missing != 0 {
            return Ok(false);
        }
        let mut work = Work::default();
        let mut held = slf.borrow_mut();
        let (engine, info) = (held.engine.clone_ref(py), held.info.clone_ref(py));
        let lent = held.lent.as_mut().ok_or_else(not_here)?;
        let packet = Packet { payload: payload.as_bytes(), reference, time_ns };
        let segment = Segment { seq, ack, flags, window, ip_id, packet };
        let turn = lent.take(py, engine.get(), direction, &segment, &mut work)?;
        if !matches!(turn, Turn::Taken) {
            return Ok(false);
        }
        drop(held); // what follows runs code of Python
        for note in &work.notes {
            engine.get().note(py, &info, note)?;
        }
        if !work.rows.is_empty() {
            engine.get().count(py, vec![counted(&info, work.rows.iter())])?;
        }
        read_news(engine.get(), py, &info, &work.rows)?;
        for row in &work.rows {
            events.append(row.exchange(py, engine.get(), &info)?)?;
        }
        Ok(true)
    }
}

impl Held {
    /// Have a connection from here on.
    pub fn begin(&mut self, lent: Lent) {
        self.lent = Some(Box::new(lent));
        self.loan = by_loan::next();
    }

    fn there(&self) -> PyResult<&Lent> {
        self.lent.as_deref().ok_or_else(not_here)
    }
}

fn not_here() -> PyErr {
    PyValueError::new_err("the connection is not lent")
}
