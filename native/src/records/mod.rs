//! Records fields of exchanges as columns, the plain ones: what `kdissect.engine.records.compiled_tables` asks.

pub mod batch;
mod bulk;
pub mod column;
pub mod content;
pub mod field;
pub mod frame;
pub mod held;
pub mod known;
pub mod program;
pub mod quick;
pub mod reader;
pub mod table;
