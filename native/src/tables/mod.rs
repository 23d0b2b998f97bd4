//! Rows of tables as columns: what `kdissect.stages.rows.flow_rows` makes of exchanges without anything unusual.

pub mod asked;
mod batch_table;
mod exchange_table;
pub mod exchange_tables;
