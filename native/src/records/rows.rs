//! Rows of records for writers, as columns or as lines.

use pyo3::prelude::*;

use super::batch::Batch;
use super::record_reader::Records;
use super::row_facts::Shared;
use super::schema_values::Decoded;

/// Writer of rows.
pub trait Rows {
    /// A field begins, with this number of records.
    fn field(&mut self, shared: &Shared<'_>, count: u32);

    /// The records of a batch and its number in its field, with their places in `data`, and what schemas decode.
    fn batch(
        &mut self,
        py: Python<'_>,
        shared: &Shared<'_>,
        batch: (u32, &Batch),
        found: &Records,
        data: &[u8],
        decoded: Decoded<'_>,
    ) -> PyResult<()>;

    /// Whether the buffered rows should be taken.
    fn is_full(&self) -> bool;
}
