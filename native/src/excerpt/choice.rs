//! Frames to store from a block's exchanges: `kdissect.excerpt.find_frames.FrameSearch`.

use pyo3::prelude::*;

use crate::engine::by_kind::ByKind;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::excerpt::plan;
use crate::excerpt::plans::PlanRuns;
use crate::records::quick::QuickMap;

/// Results of `choose` for an exchange that is not stored, and for one that Python took:
/// `find_frames.NOT_TAKEN` and `find_frames.DONE`.
const NOT_TAKEN: i64 = -1;
const DONE: i64 = -2;

/// Asks for each exchange, or once for each connection, API, version and client id.
#[pyclass(module = "kdissect._native")]
pub struct FrameChoice {
    runs: Py<PlanRuns>,
    choose: Py<PyAny>,
    is_by_kind: bool,
    known: ByKind,
    /// Number of a connection's taken exchanges, by the address of its info, which stays alive
    /// while it is here.
    taken: QuickMap<usize, (Py<PyAny>, u64)>,
}

#[pymethods]
impl FrameChoice {
    /// `choose` returns the number of the connection whose frames are stored, or one of the numbers
    /// above. With `is_by_kind` it returns equal results for all exchanges of a kind, except for
    /// `DONE`.
    #[new]
    fn new(runs: Py<PlanRuns>, choose: Py<PyAny>, is_by_kind: bool) -> Self {
        FrameChoice { runs, choose, is_by_kind, known: ByKind::default(), taken: QuickMap::default() }
    }

    /// Take the exchanges of a block. Raises what `choose` does.
    fn take(&mut self, py: Python<'_>, block: &Bound<'_, ExchangeBlock>) -> PyResult<()> {
        let rows = block.borrow().rows().len();
        for at in 0..rows {
            let known = self.known_number(py, &block.borrow(), at);
            let number = match known {
                Some(number) => number,
                None => self.ask(py, block, at)?,
            };
            if number >= 0 {
                self.keep(py, &block.borrow(), at, number)?;
            }
        }
        Ok(())
    }

    /// Forget a connection that is over, and return the number of its exchanges that were taken
    /// here.
    fn close(&mut self, info: &Bound<'_, PyAny>) -> u64 {
        self.known.close(info);
        self.taken.remove(&(info.as_ptr() as usize)).map_or(0, |(_, taken)| taken)
    }
}

/// Row and connection.
fn found(block: &ExchangeBlock, at: usize) -> Option<(&Row, &Py<PyAny>)> {
    let found = block.row(at)?;
    Some((&found.row, block.connections.get(found.connection as usize)?))
}

impl FrameChoice {
    fn known_number(&self, py: Python<'_>, block: &ExchangeBlock, at: usize) -> Option<i64> {
        let (row, info) = found(block, at)?;
        self.known.get(py, row, info)
    }

    /// Ask Python about an exchange.
    fn ask(&mut self, py: Python<'_>, block: &Bound<'_, ExchangeBlock>, at: usize) -> PyResult<i64> {
        let Some(exchange) = ExchangeBlock::exchange(block, at)? else { return Ok(NOT_TAKEN) };
        let number: i64 = self.choose.bind(py).call1((exchange,))?.extract()?;
        let block = block.borrow();
        let Some((row, info)) = found(&block, at) else { return Ok(NOT_TAKEN) };
        if number != DONE && self.is_by_kind {
            self.known.set(py, row, info, number);
        }
        Ok(number)
    }

    fn keep(&mut self, py: Python<'_>, block: &ExchangeBlock, at: usize, number: i64) -> PyResult<()> {
        let Some((Row { request, response, .. }, info)) = found(block, at) else { return Ok(()) };
        self.taken.entry(info.as_ptr() as usize).or_insert_with(|| (info.clone_ref(py), 0)).1 += 1;
        let mut runs = self.runs.bind(py).try_borrow_mut()?;
        let frames = [(Some(&request.content), true), (response.as_ref(), false)];
        for (content, is_request) in frames {
            let Some(content) = content else { continue };
            let data = content.data.as_bytes(py);
            runs.add_packed(py, |out| {
                plan::pack(out, number as u32, request, data, content.span.first_ref, is_request);
            })?;
        }
        Ok(())
    }
}
