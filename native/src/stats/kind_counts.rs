//! How often exchanges of a kind were seen: `kdissect.stats.upgrade_audit.UpgradeAudit`.

use pyo3::prelude::*;

use crate::bodies::summaries::Mixed;
use crate::engine::by_kind::ByKind;
use crate::engine::exchange_block::ExchangeBlock;

/// The result of `number_of` for an exchange that does not count, and for one that is Python's:
/// `engine.passed_blocks.PASSED` and `LEFT`.
const PASSED: i64 = -1;

struct Count {
    exchanges: u64,
    touched: u64,
}

/// Counts exchanges of blocks by a number that is common to one connection, API, version and client
/// id.
#[pyclass(module = "kdissect._native")]
pub struct KindCounts {
    number_of: Py<PyAny>,
    known: ByKind,
    counts: Mixed<i64, Count>,
    touches: u64,
}

#[pymethods]
impl KindCounts {
    /// `number_of(connection, api_key, version, client_id)` is called for the first of them. A
    /// result below 0 is requested again each time.
    #[new]
    fn new(number_of: Py<PyAny>) -> Self {
        KindCounts { number_of, known: ByKind::default(), counts: Mixed::default(), touches: 0 }
    }

    /// Count the exchanges of a block, from one on, and return the number of the first one that is
    /// Python's, or the block's length.
    fn count(&mut self, py: Python<'_>, block: &ExchangeBlock, start: usize) -> PyResult<usize> {
        let mut at = start;
        while let Some(of) = block.row(at) {
            let Some(info) = block.connections.get(of.connection as usize) else { return Ok(at) };
            let request = &of.row.request;
            let number = match self.known.get(py, &of.row, info) {
                Some(number) => number,
                None => {
                    let asked = (info, request.kind.api_key, request.kind.version, &request.client_id);
                    let number: i64 = self.number_of.bind(py).call1(asked)?.extract()?;
                    if number >= 0 {
                        self.known.set(py, &of.row, info, number);
                    }
                    number
                }
            };
            if number < PASSED {
                return Ok(at);
            }
            if number >= 0 {
                self.touches += 1;
                let count = self.counts.entry(number).or_insert(Count { exchanges: 0, touched: 0 });
                count.exchanges += 1;
                count.touched = self.touches;
            }
            at += 1;
        }
        Ok(at)
    }

    /// The numbers with their counts of exchanges, the one touched last at the end. Counting starts
    /// again.
    fn take(&mut self) -> Vec<(i64, u64)> {
        let mut counts: Vec<_> = self.counts.drain().collect();
        counts.sort_unstable_by_key(|(_, count)| count.touched);
        counts.into_iter().map(|(number, count)| (number, count.exchanges)).collect()
    }

    /// Forget the numbers of a connection, because they changed or it is over.
    fn forget(&mut self, info: &Bound<'_, PyAny>) {
        self.known.close(info);
    }

    /// Forget the numbers of all connections.
    fn forget_all(&mut self) {
        self.known = ByKind::default();
    }
}
