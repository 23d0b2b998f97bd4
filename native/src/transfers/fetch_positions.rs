//! `kdissect.stats.by_group.positions`: how far clients have read, by their Fetches.

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::members::MemberRequests;
use super::topics::{ByKey, Named, Topics};
use super::{counted, part, read, Place, COUNTED, LEFT};
use crate::bodies::partition_rows::Body;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::batches;

/// Of so many partitions of clients the positions should be taken: some MB.
const MOST_HELD: usize = 1 << 14;

/// What became of the position of a client in a partition.
#[derive(Clone, Copy)]
struct Position {
    client: u32,
    topic: u32,
    partition: i64,
    /// The offset asked for last, and when.
    asked: Option<(i64, i64)>,
    /// The highest offset behind records that an answer brought since then.
    behind: Option<i64>,
    high_watermark: Option<i64>,
    /// The positions in the order in which they were touched last.
    touched: u64,
}

/// Client, topic and partition; the offset and time asked for, the offset behind records, the high watermark.
type Taken = (u32, u32, i64, Option<(i64, i64)>, Option<i64>, Option<i64>);

#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct FetchPositions {
    topics: Topics,
    positions: ByKey<(u32, u32, i64), Position>,
    touches: u64,
    known: Known,
}

#[pymethods]
impl FetchPositions {
    #[new]
    fn new() -> Self {
        FetchPositions::default()
    }

    fn __len__(&self) -> usize {
        self.positions.found.len()
    }

    /// Learn from a Fetch that a client sent to a broker, both by number. LEFT, or COUNTED
    /// and what goes with it.
    fn learn(
        &mut self,
        client: u32,
        broker: u32,
        sent_ns: i64,
        request: Place<'_>,
        response: Option<Place<'_>>,
    ) -> u8 {
        self.parts((client, broker), sent_ns, part(&request), response.as_ref().map(part))
    }

    /// The same with the exchanges of a block, from one on (`block::count`). `take_member` is asked about each request of a
    /// member: whether it was taken.
    fn learn_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        way_of: &Bound<'_, PyAny>,
        numbers_of: &Bound<'_, PyAny>,
        take_member: Bound<'_, PyAny>,
    ) -> PyResult<(usize, u8)> {
        let mut known = std::mem::take(&mut self.known);
        let mut learning = Learning { positions: self, take_member };
        let done = block::count(&mut learning, &mut known, block, start, way_of, numbers_of);
        self.known = known;
        done
    }

    /// Topics that are new, by number: the broker's number, and the name or the id.
    fn new_topics(&mut self, py: Python<'_>) -> Vec<Named> {
        self.topics.take_new(py)
    }

    /// What was learned, in the order in which it was; then it is forgotten, topics too.
    fn take(&mut self) -> Vec<Taken> {
        self.topics.clear();
        self.known.forget_senders();
        let mut found = self.positions.take();
        found.sort_unstable_by_key(|position| position.touched);
        let told = |of: Position| (of.client, of.topic, of.partition, of.asked, of.behind, of.high_watermark);
        found.into_iter().map(told).collect()
    }
}

struct Learning<'a, 'py> {
    positions: &'a mut FetchPositions,
    take_member: Bound<'py, PyAny>,
}

impl Counts for Learning<'_, '_> {
    fn of_member(
        &mut self,
        _: (u32, u32),
        (info, row): (&Bound<'_, PyAny>, &Row),
        requests: &MemberRequests,
    ) -> PyResult<u8> {
        let py = self.take_member.py();
        let Some(who) = requests.sender(py, row) else { return Ok(LEFT) };
        let Some(commits) = requests.commits(py, row) else { return Ok(LEFT) };
        let request = &row.request;
        let sent_ns = request.content.span.first_time;
        let who = (who.group, who.member, who.generation);
        let asked = (info, &request.client_id, request.kind.api_key, who, sent_ns, commits);
        let is_taken: bool = self.take_member.call1(asked)?.extract()?;
        Ok(if is_taken { COUNTED } else { LEFT })
    }

    fn count(
        &mut self,
        who: (u32, u32),
        row: &Row,
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        Ok(self.positions.parts(who, row.request.content.span.first_time, request, response))
    }
}

impl FetchPositions {
    fn parts(
        &mut self,
        (client, broker): (u32, u32),
        sent_ns: i64,
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> u8 {
        let Some((_, asked)) = read(request) else { return LEFT };
        let answered = match response {
            None => Some((&[] as &[u8], Body::default())),
            Some(response) => read(response),
        };
        let Some((data, answered)) = answered else { return LEFT };
        match self.fetch(client, broker, sent_ns, &asked, (data, &answered)) {
            None => LEFT,
            Some(()) => counted(self.positions.found.len(), MOST_HELD, &self.topics),
        }
    }

    /// None, and nothing is learned, of one that is Python's.
    fn fetch(
        &mut self,
        client: u32,
        broker: u32,
        sent_ns: i64,
        asked: &Body<'_>,
        (data, answered): (&[u8], &Body<'_>),
    ) -> Option<()> {
        let mut number = |topic| self.topics.number(broker, topic);
        let named = asked.topics.iter().map(|topic| number(*topic)).collect::<Option<Vec<u32>>>()?;
        let answering = answered.topics.iter().map(|topic| number(*topic)).collect::<Option<Vec<u32>>>()?;
        let mut ends = Vec::with_capacity(answered.rows.len());
        for row in answered.rows.iter() {
            let found = batches(data, row.records.clone().unwrap_or_default())?;
            let last = found.last();
            let behind = last.map(|last| last.base_offset.checked_add(i64::from(last.last_offset_delta) + 1));
            ends.push(match behind {
                Some(behind) => Some(behind?),
                None => None,
            });
        }
        if has_twice(&answering, answered) {
            return None;
        }

        // From here on everything is learned.
        for row in asked.rows.iter() {
            let position = self.position(client, *named.get(row.topic)?, row.partition);
            (position.asked, position.behind) = (Some((row.values[0], sent_ns)), None);
        }
        for (row, behind) in answered.rows.iter().zip(ends) {
            let [error, high_watermark, _] = row.values;
            if error != 0 || high_watermark < 0 {
                continue;
            }
            let position = self.position(client, *answering.get(row.topic)?, row.partition);
            position.high_watermark = Some(high_watermark);
            position.behind = position.behind.max(behind);
        }
        Some(())
    }

    fn position(&mut self, client: u32, topic: u32, partition: i64) -> &mut Position {
        self.touches += 1;
        let touched = self.touches;
        let (asked, behind, high_watermark) = (None, None, None);
        let made = Position { client, topic, partition, asked, behind, high_watermark, touched };
        let place = self.positions.place((client, topic, partition), || made);
        let position = &mut self.positions.found[place];
        position.touched = touched;
        position
    }
}

/// Whether a partition stands twice in an answer.
fn has_twice(topics: &[u32], body: &Body<'_>) -> bool {
    if body.rows.len() < 2 {
        return false;
    }
    let key = |at: usize| body.rows.get(at).map(|row| (topics.get(row.topic), row.partition));
    let mut order: Vec<usize> = (0..body.rows.len()).collect();
    order.sort_unstable_by_key(|at| key(*at));
    order.windows(2).any(|pair| key(pair[0]) == key(pair[1]))
}
