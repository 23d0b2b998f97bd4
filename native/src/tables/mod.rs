//! Rows of tables as columns: what `kdissect.stages.rows.flow_rows` makes of exchanges without anything unusual.

pub mod asked;
mod batch_table;
mod exchange_table;
pub mod exchange_tables;

use crate::records::column::Buffers;

/// Nanoseconds.
const US: i64 = 1000;
const DAY_NS: i64 = 86_400_000_000_000;

/// A column with its name.
pub type Named<'py> = (String, Buffers<'py>);
/// The place of an event among all (`engine.event_order`).
pub type Order<'a> = &'a [u8];

pub fn micros(time_ns: i64) -> i64 {
    time_ns.div_euclid(US)
}

pub fn day(time_ns: i64) -> i64 {
    time_ns.div_euclid(DAY_NS)
}
