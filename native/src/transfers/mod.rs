//! Sums of Produces and Fetches, by client, topic and partition.

pub mod block;
pub mod connections;
pub mod delays;
pub mod fetch_polls;
pub mod fetch_positions;
pub mod group_logs;
pub mod lent_members;
pub mod members;
pub mod position_table;
pub mod produced_batches;
pub mod refetches;
pub mod sequences;
pub mod sessions;
pub mod stored_batches;
pub mod told_names;
pub mod topic_sums;
mod topics;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::partition_rows::{Body, PartitionRows};
use block::Part;
use topics::Topics;

/// Result of a call about an exchange: it is Python's, without any change, or it was counted.
/// Further bits: there are enough entries, which should be taken, there are new topics, which
/// should be named, and there are new codecs of topics.
pub const LEFT: u8 = 0;
pub const COUNTED: u8 = 1;
pub const ENOUGH: u8 = 2;
pub const NEW_TOPICS: u8 = 4;
pub const NEW_CODECS: u8 = 8;

/// The result for a counted exchange.
fn counted(held: usize, most: usize, topics: &Topics) -> u8 {
    let enough = if held > most { ENOUGH } else { 0 };
    let new = if topics.has_new() { NEW_TOPICS } else { 0 };
    COUNTED | enough | new
}

/// A body in a frame: how it is read, the frame, where the body begins.
pub type Place<'py> = (Py<PartitionRows>, Bound<'py, PyBytes>, usize);

fn part<'a>((rows, frame, offset): &'a Place<'_>) -> Part<'a> {
    (rows.get(), frame.as_bytes(), *offset, None)
}

/// The frame and the body of a part; None if it is Python's.
fn read<'a>((rows, data, offset, once): Part<'a>) -> Option<(&'a [u8], Body<'a>)> {
    let body = match once {
        Some(once) => rows.read_once(once, data, offset),
        None => rows.read(data, offset),
    };
    Some((data, body?))
}
