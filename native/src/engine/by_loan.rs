//! Facts about connections while they are native-owned.
//!
//! Each handover has a number. During it Python neither renames the ends of the connection nor
//! learns its client: answers about the connection, or about a client id on it, remain true from
//! block to block.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::bodies::summaries::Mixed;

/// Number of remembered handovers, some 50 bytes each. A block has no more: then Python answers for
/// each once a block.
const MOST: usize = 1 << 14;

/// Handovers so far, in all analyses.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The number of a new handover.
pub fn next() -> u64 {
    BEGUN.fetch_add(1, Relaxed) + 1
}

/// Answers by handover.
pub struct ByLoan<T>(Mixed<u64, T>);

impl<T> Default for ByLoan<T> {
    fn default() -> Self {
        ByLoan(Mixed::default())
    }
}

impl<T: Clone> ByLoan<T> {
    /// The answer about a handover, from `ask` for a new one.
    pub fn of(&mut self, loan: u64, ask: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        if let Some(known) = self.0.get(&loan) {
            return Ok(known.clone());
        }
        let found = ask()?;
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(loan, found.clone());
        Ok(found)
    }
}
