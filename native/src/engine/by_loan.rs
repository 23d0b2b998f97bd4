//! What is known of connections as long as they are lent.
//!
//! A loan has a number of its own. While it lasts Python neither renames the ends of the connection nor learns who speaks
//! on it: what was asked about the connection, or about a client id on it, stays true from block to block.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::bodies::summaries::Mixed;

/// Loans that are remembered, some 50 bytes each. A block has no more: then each is asked about once a block.
const MOST: usize = 1 << 14;

/// Loans that were begun, of all analyses.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The number of a loan that begins.
pub fn next() -> u64 {
    BEGUN.fetch_add(1, Relaxed) + 1
}

/// Answers by loan.
pub struct ByLoan<T>(Mixed<u64, T>);

impl<T> Default for ByLoan<T> {
    fn default() -> Self {
        ByLoan(Mixed::default())
    }
}

impl<T: Clone> ByLoan<T> {
    /// The answer about a loan; `ask` is asked about one that is new.
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
