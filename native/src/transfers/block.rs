//! Produces and Fetches of a block, counted from its rows without creating objects.

use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;

use super::members::{has_no_error, MemberRequests, MemberRow, NoErrors};
use super::told_names::ToldNames;
use super::{COUNTED, LEFT};
use crate::bodies::partition_rows::{PartitionRows, ReadOnce};
use crate::bodies::plan::Layout;
use crate::bodies::summaries::Mixed;
use crate::bodies::visitor::Program;
use crate::engine::completed::{Content, Row};
use crate::engine::exchange_block::{BlockRow, ExchangeBlock};
use crate::records::batch::{batches, Batch, HEADER};
use crate::records::record_reader::{bytes, Records};

/// A body: how it is read, its frame, where in it the body begins, what was read of it before.
pub type Part<'a> = (&'a PartitionRows, &'a [u8], usize, Option<&'a ReadOnce>);

/// A row's body, read once for all who read it in this way.
pub fn part_of<'a>(py: Python<'a>, rows: &'a PartitionRows, content: &'a Content) -> Part<'a> {
    (rows, content.data.as_bytes(py), content.body, Some(&content.read))
}

/// Handling of rows with one API and version: they are skipped, counted, requests of members, or
/// Python's. Rows with names of topics are skipped if Python recorded these names before. Some are
/// skipped unless the broker refused something.
enum Way {
    Rows(Py<PartitionRows>, Py<PartitionRows>),
    OfMembers(MemberRequests),
    OfNames(Py<ToldNames>),
    /// Skipped without an error in the response.
    Refused(Program),
    IsPassed(bool),
}

/// The same as Python says it.
#[derive(FromPyObject)]
enum ToldWay {
    Rows(Py<PartitionRows>, Py<PartitionRows>),
    OfMembers(MemberRow),
    OfNames(Py<ToldNames>),
    Refused(Py<Layout>),
    IsPassed(bool),
}

impl From<ToldWay> for Way {
    fn from(told: ToldWay) -> Self {
        match told {
            ToldWay::Rows(request, response) => Way::Rows(request, response),
            ToldWay::OfMembers(row) => Way::OfMembers(row.into()),
            ToldWay::OfNames(told) => Way::OfNames(told),
            ToldWay::Refused(response) => Way::Refused(Program::of::<NoErrors>(response.get())),
            ToldWay::IsPassed(is_passed) => Way::IsPassed(is_passed),
        }
    }
}

/// `history.api_keys` FETCH, and the topic of which a Fetch brings names: METADATA_TOPIC_ID and METADATA_TOPIC of
/// `schema.logs`.
const FETCH: i16 = 1;
const METADATA_TOPIC_ID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const METADATA_TOPIC: &[u8] = b"__cluster_metadata";

/// Whether a Fetch may contain names of topic ids, as in
/// `history.topics.topic_names.may_announce_names`: then all users of names take it in the same
/// order. `answered` reads its response: it contains none where no record creates a topic.
pub fn may_tell_names(py: Python<'_>, row: &Row, answered: Option<&PartitionRows>) -> bool {
    let brings_none = |rows: &PartitionRows| {
        let Some(response) = &row.response else { return false };
        let (body, data) = (response.partitions(py, rows), response.data.as_bytes(py));
        body.is_some_and(|body| {
            body.rows.iter().all(|row| creates_no_topic(data, row.records.clone().unwrap_or_default()))
        })
    };
    is_of_metadata_log(row.request.kind.api_key, row.request.content.data.as_bytes(py))
        && !answered.is_some_and(brings_none)
}

/// The type of a record in the metadata log that creates a topic.
const TOPIC_RECORD: u8 = 2;
/// A byte of a varint with more bytes after it is as high as this.
const MORE: u8 = 0x80;

/// Whether records of the metadata log are known to create no topic. Their values begin with the version of the frame
/// and the type, as varints. Compressed records are not read.
fn creates_no_topic(data: &[u8], place: Range<usize>) -> bool {
    let names_none = |value: &[u8]| match value {
        [frame, kind, ..] => *frame < MORE && *kind < MORE && *kind != TOPIC_RECORD,
        _ => true,
    };
    let is_other = |batch: &Batch| {
        let mut found = Records::default();
        let records = data.get(batch.start + HEADER..batch.end).unwrap_or_default();
        batch.codec() == 0
            && found.read(records, batch.count).is_some()
            && found.records.iter().all(|one| bytes(records, one.value).is_none_or(names_none))
    };
    batches(data, place).is_some_and(|found| found.iter().all(is_other))
}

/// Whether it is a Fetch that asks for the topic of which a Fetch brings names.
pub fn is_of_metadata_log(api_key: i16, request: &[u8]) -> bool {
    api_key == FETCH && names_metadata_log(request)
}

/// Whether either appears in these bytes.
fn names_metadata_log(data: &[u8]) -> bool {
    let ([.., last], [first, ..]) = (METADATA_TOPIC_ID, METADATA_TOPIC) else { return false };
    let mut zeros = 0; // before the byte at hand
    data.iter().enumerate().any(|(at, byte)| {
        let is_id = *byte == last && zeros >= METADATA_TOPIC_ID.len() - 1;
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        is_id || (byte == first && data.get(at..).is_some_and(|rest| rest.starts_with(METADATA_TOPIC)))
    })
}

/// Kinds, and clients on connections, of which Python's answers are remembered.
const MOST_WAYS: usize = 4096;
const MOST_SENDERS: usize = 1 << 14;

/// A client id, and the numbers of who sends with it; None for one that does not count.
type Sender = (Py<PyAny>, Option<(u32, u32)>);

/// Python's answers about kinds of exchanges, and about senders on native-owned connections.
#[derive(Default)]
pub struct Known {
    ways: Mixed<i64, Arc<Way>>,
    /// By the handover and the address of the client id, which stays alive while it is here.
    senders: Mixed<(u64, usize), Sender>,
}

impl Known {
    /// Numbers of senders hold no longer.
    pub fn forget_senders(&mut self) {
        self.senders.clear();
    }

    fn way(&mut self, (api_key, version): (i16, i16), way_of: &Bound<'_, PyAny>) -> PyResult<Arc<Way>> {
        let kind = i64::from(api_key) << 16 | i64::from(version as u16);
        if let Some(way) = self.ways.get(&kind) {
            return Ok(way.clone());
        }
        let way: Arc<Way> = Arc::new(way_of.call1((api_key, version))?.extract::<ToldWay>()?.into());
        if self.ways.len() >= MOST_WAYS {
            self.ways.clear();
        }
        self.ways.insert(kind, way.clone());
        Ok(way)
    }

    /// Sender of a row; None if the row does not count.
    fn sender(
        &mut self,
        block: &ExchangeBlock,
        of: &BlockRow,
        numbers_of: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(u32, u32)>> {
        let client_id = &of.row.request.client_id;
        let connection = of.connection as usize;
        let key = (block.loan(connection), client_id.as_ptr() as usize);
        if let Some((_, known)) = self.senders.get(&key) {
            return Ok(*known);
        }
        let found = numbers_of.call1((block.connections.get(connection), client_id))?.extract()?;
        if self.senders.len() >= MOST_SENDERS {
            self.senders.clear();
        }
        self.senders.insert(key, (client_id.clone_ref(numbers_of.py()), found));
        Ok(found)
    }
}

/// Counts exchanges by client and broker, or by another distinction, as numbers.
pub trait Counts {
    /// Result for a skipped exchange.
    fn pass(&mut self, _who: (u32, u32), _row: &Row) -> PyResult<u8> {
        Ok(COUNTED)
    }

    /// Result for an exchange that repeats names of topics.
    fn pass_told(&mut self, who: (u32, u32), (_, row): (&Bound<'_, PyAny>, &Row)) -> PyResult<u8> {
        self.pass(who, row)
    }

    /// Result for a request of a member, with its connection and handover.
    fn of_member(
        &mut self,
        _who: (u32, u32),
        _of: (&Bound<'_, PyAny>, u64, &Row),
        _requests: &MemberRequests,
    ) -> PyResult<u8> {
        Ok(LEFT)
    }

    /// Result for an exchange of a connection, in bits.
    fn count(
        &mut self,
        who: (u32, u32),
        of: (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8>;
}

/// Count the rows from `at` on. Return the number of the next row and the result for the one
/// before, in bits, which is COUNTED at the end. Otherwise an action is needed before the next row,
/// or that row is Python's. `way_of(api_key, version)` and `numbers_of(connection, client_id)` are
/// called once for equal arguments, while `known` has the answer. The latter returns None for a
/// connection that does not count.
pub fn count<C: Counts>(
    counts: &mut C,
    known: &mut Known,
    block: &Bound<'_, ExchangeBlock>,
    mut at: usize,
    way_of: &Bound<'_, PyAny>,
    numbers_of: &Bound<'_, PyAny>,
) -> PyResult<(usize, u8)> {
    let py = block.py();
    let block = block.borrow();
    while let Some(of) = block.row(at) {
        let request = &of.row.request;
        let who = known.sender(&block, of, numbers_of)?;
        let way = known.way((request.kind.api_key, request.kind.version), way_of)?;
        let info = block.connections.get(of.connection as usize).map(|info| info.bind(py));
        let done = match (who, &*way) {
            (None, _) => COUNTED,
            (Some(_), Way::Rows(_, back)) if may_tell_names(py, &of.row, Some(back.get())) => 0,
            (Some(who), Way::IsPassed(true)) => counts.pass(who, &of.row)?,
            (Some(who), Way::Refused(errors)) if has_no_error(py, errors, &of.row) => {
                counts.pass(who, &of.row)?
            }
            (Some(who), Way::OfMembers(requests)) => match info {
                Some(info) => {
                    let loan = block.loan(of.connection as usize);
                    counts.of_member(who, (info, loan, &of.row), requests)?
                }
                None => LEFT,
            },
            (Some(who), Way::OfNames(told)) => match info {
                Some(info) if told.borrow_mut(py).knows(py, &block, of)? => {
                    counts.pass_told(who, (info, &of.row))?
                }
                _ => LEFT,
            },
            (Some(who), Way::Rows(asked, answered)) => match info {
                Some(info) => {
                    let back = of.row.response.as_ref();
                    let back = back.map(|content| part_of(py, answered.get(), content));
                    counts.count(who, (info, &of.row), part_of(py, asked.get(), &request.content), back)?
                }
                None => LEFT,
            },
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
