//! Rows of records: what is told to who writes them, as columns or as lines.

use pyo3::prelude::*;

use super::batch::Batch;
use super::record_reader::Records;
use super::row_facts::Shared;

/// What rows are written to.
pub trait Rows {
    /// A field begins, with so many records.
    fn field(&mut self, shared: &Shared<'_>, count: u32);

    /// The records of a batch and its number in its field; their places are in `data`.
    fn batch(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        batch: (u32, &Batch),
        found: &Records,
        data: &[u8],
    ) -> PyResult<()>;

    /// Whether those that are held are to be taken.
    fn is_full(&self) -> bool;
}
