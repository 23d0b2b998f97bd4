//! Records fields of exchanges as columns, the plain ones: what `kdissect.engine.records.compiled_tables` asks.

pub mod batch;
pub mod batch_text;
mod bulk;
pub mod canonical_records;
pub mod column;
pub mod content;
pub mod field;
pub mod frame;
pub mod held;
pub mod known;
pub mod program;
pub mod quick;
pub mod record_reader;
pub mod record_text;
pub mod table;
