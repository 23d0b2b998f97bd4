//! Records: of a batch as columns for Arrow (`kdissect.engine.records.compiled_tables`), as JSON, or looked through.

pub mod asked;
pub mod avro;
pub mod batch;
pub mod batch_text;
mod bulk;
pub mod canonical_records;
pub mod cells;
pub mod column;
pub mod content;
pub mod field;
pub mod form;
pub mod held_records;
pub mod program;
pub mod quick;
pub mod record_choice;
pub mod record_lines;
pub mod record_objects;
pub mod record_reader;
pub mod record_text;
pub mod row_facts;
pub mod rows;
pub mod schema_values;
pub mod table;
