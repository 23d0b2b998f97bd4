//! Produces and Fetches of a block, counted from its rows: none of them becomes an object.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::COUNTED;
use crate::bodies::partition_rows::PartitionRows;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;

/// A body: how it is read, its frame, where in it the body begins.
pub type Part<'a, 'py> = (&'a PartitionRows, &'a Bound<'py, PyBytes>, usize);

/// What becomes of rows of one API and version, as Python says it: they are passed by, counted, or Python's.
#[derive(FromPyObject)]
enum Way {
    Rows(Py<PartitionRows>, Py<PartitionRows>),
    IsPassed(bool),
}

/// `history.api_keys` FETCH, and the topic of which a Fetch brings names: METADATA_TOPIC_ID and METADATA_TOPIC of
/// `schema.metadata_topic`.
const FETCH: i16 = 1;
const METADATA_TOPIC_ID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const METADATA_TOPIC: &[u8] = b"__cluster_metadata";

/// Whether a Fetch may say names of topic ids, as `history.topic_names.may_announce_names` has it: then it is taken in
/// the same order by all who ask for names.
pub fn may_tell_names(py: Python<'_>, row: &Row) -> bool {
    let request = &row.request;
    let has = |mark: &[u8]| request.content.data.as_bytes(py).windows(mark.len()).any(|bytes| bytes == mark);
    request.kind.api_key == FETCH && (has(&METADATA_TOPIC_ID) || has(METADATA_TOPIC))
}

/// Counts exchanges of clients and brokers, or whatever else tells them apart, by number.
pub trait Counts {
    /// What it did with one that is passed by.
    fn pass(&mut self, _who: (u32, u32), _row: &Row) -> PyResult<u8> {
        Ok(COUNTED)
    }

    /// What it did with one, in bits.
    fn count(
        &mut self,
        who: (u32, u32),
        row: &Row,
        request: Part<'_, '_>,
        response: Option<Part<'_, '_>>,
    ) -> PyResult<u8>;
}

/// Count the rows from `at` on. Gives the row that comes next and what was done with the one before, in bits, which is
/// COUNTED at the end; else there is something to do before the next one, or that one is Python's.
/// `way_of(api_key, version)` and `numbers_of(connection, client_id)` are asked once for all that are alike; the latter
/// gives None for a connection that does not count.
pub fn count<C: Counts>(
    counts: &mut C,
    block: &Bound<'_, ExchangeBlock>,
    mut at: usize,
    way_of: &Bound<'_, PyAny>,
    numbers_of: &Bound<'_, PyAny>,
) -> PyResult<(usize, u8)> {
    let py = block.py();
    let mut ways: HashMap<(i16, i16), Way> = HashMap::new();
    let mut senders: HashMap<(u32, usize), Option<(u32, u32)>> = HashMap::new();
    let block = block.borrow();
    while let Some(of) = block.rows.get(at) {
        let request = &of.row.request;
        let sender = (of.connection, request.client_id.as_ptr() as usize);
        if let std::collections::hash_map::Entry::Vacant(place) = senders.entry(sender) {
            let info = block.connections.get(of.connection as usize);
            place.insert(numbers_of.call1((info, &request.client_id))?.extract()?);
        }
        let kind = (request.kind.api_key, request.kind.version);
        if let std::collections::hash_map::Entry::Vacant(place) = ways.entry(kind) {
            place.insert(way_of.call1(kind)?.extract()?);
        }
        let done = match (senders.get(&sender).copied().flatten(), ways.get(&kind)) {
            (None, _) => COUNTED,
            (Some(_), Some(Way::Rows(..))) if may_tell_names(py, &of.row) => 0,
            (Some(who), Some(Way::IsPassed(true))) => counts.pass(who, &of.row)?,
            (Some(who), Some(Way::Rows(asked, answered))) => {
                let frame = request.content.data.bind(py);
                let response = of.row.response.as_ref();
                let back = response.map(|response| (response.data.bind(py), response.body));
                let back = back.as_ref().map(|(frame, body)| (answered.get(), *frame, *body));
                counts.count(who, &of.row, (asked.get(), frame, request.content.body), back)?
            }
            _ => 0,
        };
        if done & COUNTED == 0 {
            return Ok((at, done));
        }
        at += 1;
        if done != COUNTED {
            return Ok((at, done));
        }
    }
    Ok((at, COUNTED))
}
