//! Decides which exchanges of a block have wanted records: all of them, or the exchanges that a
//! test takes.

use std::collections::hash_map::Entry;

use pyo3::prelude::*;

use super::quick::QuickMap;
use crate::engine::by_kind::ByKind;
use crate::engine::exchange_block::ExchangeBlock;

/// Decision about an exchange.
#[derive(Clone, Copy, PartialEq)]
pub enum Chosen {
    Taken,
    Passed,
    /// Python looks at it first.
    Watched,
}

/// Asks once for the exchanges of a connection, an API, a version and a client id.
#[pyclass(module = "kdissect._native")]
pub struct RecordChoice {
    is_watched: Py<PyAny>,
    watched: QuickMap<i16, bool>,
    takes: Option<Py<PyAny>>,
    known: ByKind,
}

#[pymethods]
impl RecordChoice {
    /// `is_watched(api_key)` returns whether Python reads the exchanges of an API,
    /// `takes(exchange)` whether one is taken: None if all are.
    #[new]
    fn new(is_watched: Py<PyAny>, takes: Option<Py<PyAny>>) -> Self {
        RecordChoice { is_watched, watched: QuickMap::default(), takes, known: ByKind::default() }
    }

    /// A connection is over.
    fn close(&mut self, info: &Bound<'_, PyAny>) {
        self.known.close(info);
    }
}

impl RecordChoice {
    /// Decision about a row. Raises what `takes` does.
    pub fn of(&mut self, block: &Bound<'_, ExchangeBlock>, at: usize) -> PyResult<Chosen> {
        let py = block.py();
        {
            let block = block.borrow();
            let Some(of) = block.row(at) else { return Ok(Chosen::Passed) };
            if self.is_watched(py, of.row.request.kind.api_key)? {
                return Ok(Chosen::Watched);
            }
            if self.takes.is_none() {
                return Ok(Chosen::Taken);
            }
            let Some(info) = block.connections.get(of.connection as usize) else { return Ok(Chosen::Passed) };
            if let Some(known) = self.known.get(py, &of.row, info) {
                return Ok(if known > 0 { Chosen::Taken } else { Chosen::Passed });
            }
        }
        self.ask(block, at)
    }

    fn is_watched(&mut self, py: Python<'_>, api_key: i16) -> PyResult<bool> {
        match self.watched.entry(api_key) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(free) => Ok(*free.insert(self.is_watched.bind(py).call1((api_key,))?.extract()?)),
        }
    }

    /// Ask about the first of its kind.
    fn ask(&mut self, block: &Bound<'_, ExchangeBlock>, at: usize) -> PyResult<Chosen> {
        let py = block.py();
        let exchange = ExchangeBlock::exchange(block, at)?;
        let (Some(takes), Some(exchange)) = (&self.takes, exchange) else { return Ok(Chosen::Taken) };
        let is_taken = takes.bind(py).call1((exchange,))?.is_truthy()?;
        let block = block.borrow();
        let of = block.row(at);
        let info = of.and_then(|of| block.connections.get(of.connection as usize));
        if let (Some(of), Some(info)) = (of, info) {
            self.known.set(py, &of.row, info, i64::from(is_taken));
        }
        Ok(if is_taken { Chosen::Taken } else { Chosen::Passed })
    }
}
