//! `kdissect.stats.by_group.positions`: how far clients have read, by their Fetches, and what groups have committed.

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::group_logs::GroupLogs;
use super::members::MemberRequests;
use super::position_table::{News, PositionTable};
use super::refetches::{Reader, Refetches, Times};
use super::topics::{ByKey, Named, Topics};
use super::{counted, part, read, Place, COUNTED, LEFT};
use crate::bodies::partition_rows::{Body, Topic};
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::batches;

/// Number of positions and commits after which they should be taken: some MB.
const MOST_HELD: usize = 1 << 15;

/// Position of a client in a partition.
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
    /// Whether records came since then that a request log omits, so that their end is not known.
    is_lost: bool,
    /// The positions in the order in which they were touched last.
    touched: u64,
}

/// The offset that a group committed last in a partition.
#[derive(Clone, Copy)]
struct Commit {
    group: u32,
    topic: u32,
    partition: i64,
    offset: i64,
    /// The commits in the order in which they came last.
    touched: u64,
}

/// The offset after the last one that a Produce response confirms.
#[derive(Clone, Copy)]
struct End {
    topic: u32,
    partition: i64,
    offset: i64,
}

/// Group, topic, partition and offset of commits, in the order in which they came last. Groups by number. Topic,
/// partition and offset of ends. Clients and the times of their last Fetches.
type Taken = (Vec<(u32, u32, i64, i64)>, Vec<Named>, Vec<(u32, i64, i64)>, Vec<(u32, i64)>);

/// `history.api_keys.PRODUCE`.
const PRODUCE: i16 = 0;

#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct FetchPositions {
    refetches: Option<Py<Refetches>>,
    topics: Topics,
    positions: ByKey<(u32, u32, i64), Position>,
    /// Groups by broker and id.
    groups: Topics,
    commits: ByKey<(u32, u32, i64), Commit>,
    ends: ByKey<(u32, i64), End>,
    last_fetches: ByKey<u32, (u32, i64)>,
    touches: u64,
    known: Known,
}

#[pymethods]
impl FetchPositions {
    /// Recorder of offsets that are fetched again.
    #[new]
    fn new(refetches: Option<Py<Refetches>>) -> Self {
        FetchPositions { refetches, ..FetchPositions::default() }
    }

    /// Whether there are commits that `take` did not give yet.
    #[getter]
    fn has_commits(&self) -> bool {
        !self.commits.found.is_empty()
    }

    /// Learn from a Fetch that a client sent to a broker, both by number. LEFT, or COUNTED
    /// and what goes with it.
    fn learn(
        &mut self,
        client: u32,
        broker: u32,
        of: (Bound<'_, PyAny>, Bound<'_, PyAny>, Times),
        request: Place<'_>,
        response: Option<Place<'_>>,
    ) -> u8 {
        let (info, client_id, times) = of;
        self.parts(
            (client, broker),
            ((&info, &client_id), times),
            part(&request),
            response.as_ref().map(part),
        )
    }

    /// The same with the exchanges of a block, from one on (`block::count`), and with requests of
    /// members that go by the logs of groups. `goes_back` is called with offsets that a group
    /// commits, with connection and time: whether they are Python's.
    fn learn_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        way_of: &Bound<'_, PyAny>,
        numbers_of: &Bound<'_, PyAny>,
        logs: Bound<'_, GroupLogs>,
        goes_back: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(usize, u8)> {
        let mut known = std::mem::take(&mut self.known);
        let mut learning = Learning { positions: self, logs, goes_back };
        let done = block::count(&mut learning, &mut known, block, start, way_of, numbers_of);
        self.known = known;
        done
    }

    /// Topics that are new, by number: the broker's number, and the name or the id.
    fn new_topics(&mut self, py: Python<'_>) -> Vec<Named> {
        self.topics.take_new(py)
    }

    /// Put the positions into a table, in the order in which they were touched last, with these clients and topics by
    /// number. Return the rest, and forget all, topics and groups too.
    fn take(
        &mut self,
        table: &Bound<'_, PositionTable>,
        clients: Vec<Bound<'_, PyAny>>,
        topics: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Taken> {
        let py = table.py();
        let groups = self.groups.take_new(py);
        self.groups.clear();
        self.topics.clear();
        self.known.forget_senders();
        let mut positions = self.positions.take();
        positions.sort_unstable_by_key(|position| position.touched);
        let mut commits = self.commits.take();
        commits.sort_unstable_by_key(|commit| commit.touched);
        let mut table = table.borrow_mut();
        let clients = table.clients.numbers(clients)?;
        let topics = table.topics.numbers(topics)?;
        for of in positions {
            let (Some(client), Some(topic)) =
                (clients.get(of.client as usize), topics.get(of.topic as usize))
            else {
                continue;
            };
            let news = News {
                asked: of.asked,
                behind: of.behind,
                high_watermark: of.high_watermark,
                is_lost: of.is_lost,
            };
            table.take_in((*client, *topic, of.partition), &news);
        }
        table.clean(py)?;
        Ok((
            commits.into_iter().map(|of| (of.group, of.topic, of.partition, of.offset)).collect(),
            groups,
            self.ends.take().into_iter().map(|of| (of.topic, of.partition, of.offset)).collect(),
            self.last_fetches.take(),
        ))
    }
}

struct Learning<'a, 'py> {
    positions: &'a mut FetchPositions,
    logs: Bound<'py, GroupLogs>,
    goes_back: Option<Bound<'py, PyAny>>,
}

impl Counts for Learning<'_, '_> {
    fn of_member(
        &mut self,
        (_, broker): (u32, u32),
        (info, loan, row): (&Bound<'_, PyAny>, u64, &Row),
        requests: &MemberRequests,
    ) -> PyResult<u8> {
        let py = info.py();
        let Some(who) = requests.sender(py, row) else { return Ok(LEFT) };
        let (Some(commits), Some(group)) = (requests.commits(py, row), who.group) else { return Ok(LEFT) };
        let mut topics = Vec::new();
        if let Some(commits) = &commits {
            let Some(found) = self.positions.topics.numbers(broker, commits) else { return Ok(LEFT) };
            topics = found;
            if let Some(goes_back) = &self.goes_back {
                let asked = (info, group, commits.listed(py), row.request.content.span.first_time);
                if goes_back.call1(asked)?.extract()? {
                    return Ok(LEFT);
                }
            }
        }
        let is_idle = requests.idle_epoch(py, row).is_some();
        if !self.logs.borrow_mut().take_next(info, loan, row, (&who, is_idle))? {
            return Ok(LEFT);
        }
        match commits {
            None => Ok(COUNTED),
            Some(commits) => Ok(self.positions.commit(broker, group, &topics, &commits)),
        }
    }

    fn count(
        &mut self,
        who: (u32, u32),
        (info, row): (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        if row.request.kind.api_key == PRODUCE {
            return Ok(if row.is_logged() {
                COUNTED // a request log does not have the records whose end it would be
            } else {
                self.positions.produced(who.1, request, response)
            });
        }
        let answered_ns = row.response.as_ref().map_or(0, |content| content.span.first_time);
        let times = (row.request.content.span.first_time, answered_ns, row.request.kind.version);
        let reader = (info, row.request.client_id.bind(info.py()));
        Ok(self.positions.parts(who, (reader, times), request, response))
    }
}

impl FetchPositions {
    fn parts(
        &mut self,
        (client, broker): (u32, u32),
        (reader, times): (Reader<'_, '_>, Times),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> u8 {
        let Some((_, asked)) = read(request) else { return LEFT };
        let answered = match response {
            None => Some((&[] as &[u8], Body::default())),
            Some(response) => read(response),
        };
        let Some((data, answered)) = answered else { return LEFT };
        if self.fetch(client, broker, times.0, &asked, (data, &answered)).is_none() {
            return LEFT;
        }
        if let Some(refetches) = &self.refetches {
            refetches.bind(reader.0.py()).borrow_mut().take(reader, times, &asked, (data, &answered));
        }
        self.counted()
    }

    fn counted(&self) -> u8 {
        let held = self.positions.found.len() + self.commits.found.len() + self.ends.found.len();
        counted(held, MOST_HELD, &self.topics)
    }

    /// Note how far a Produce wrote. LEFT, or COUNTED and what goes with it.
    fn produced(&mut self, broker: u32, request: Part<'_>, response: Option<Part<'_>>) -> u8 {
        match response.map(|response| self.written(broker, request, response)) {
            None => COUNTED,
            Some(None) => LEFT,
            Some(Some(())) => self.counted(),
        }
    }

    /// None, without recording any, if it is Python's.
    fn written(&mut self, broker: u32, request: Part<'_>, response: Part<'_>) -> Option<()> {
        let ((data, asked), (_, answered)) = (read(request)?, read(response)?);
        let (named, answering) =
            (self.topics.numbers(broker, &asked)?, self.topics.numbers(broker, &answered)?);
        if has_twice(&named, &asked) || has_twice(&answering, &answered) {
            return None;
        }
        let mut counts = ByKey::default();
        for row in asked.rows.iter() {
            let count = match batches(data, row.records.clone()?)?.as_slice() {
                [one] => i64::from(one.last_offset_delta) + 1,
                _ => 1, // the response has the offset of the first record
            };
            counts.place((*named.get(row.topic)?, row.partition), || count.max(1));
        }
        for row in answered.rows.iter() {
            let [error, base_offset, ..] = row.values;
            let key = (*answering.get(row.topic)?, row.partition);
            let Some(count) = counts.known(key).and_then(|at| counts.found.get(at)) else { continue };
            if error == 0 && base_offset >= 0 {
                let offset = base_offset.saturating_add(*count);
                let place = self.ends.place(key, || End { topic: key.0, partition: key.1, offset });
                let end = &mut self.ends.found[place];
                end.offset = end.offset.max(offset);
            }
        }
        Some(())
    }

    /// Note offsets that a group committed without an error.
    fn commit(&mut self, broker: u32, group: &str, topics: &[u32], commits: &Body<'_>) -> u8 {
        let named = Topic::Name(group.as_bytes());
        let group = if commits.rows.is_empty() { None } else { self.groups.number(broker, named) };
        for row in commits.rows.iter() {
            let (Some(group), Some(&topic)) = (group, topics.get(row.topic)) else { continue };
            self.touches += 1;
            let (partition, offset, touched) = (row.partition, row.values[0], self.touches);
            let made = Commit { group, topic, partition, offset, touched };
            let place = self.commits.place((group, topic, partition), || made);
            self.commits.found[place] = made;
        }
        self.counted()
    }

    /// None, without recording any, if it is Python's.
    fn fetch(
        &mut self,
        client: u32,
        broker: u32,
        sent_ns: i64,
        asked: &Body<'_>,
        (data, answered): (&[u8], &Body<'_>),
    ) -> Option<()> {
        let named = self.topics.numbers(broker, asked)?;
        let answering = self.topics.numbers(broker, answered)?;
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
        let place = self.last_fetches.place(client, || (client, sent_ns));
        self.last_fetches.found[place].1 = sent_ns;
        for row in asked.rows.iter() {
            let position = self.position(client, *named.get(row.topic)?, row.partition);
            position.asked = Some((row.values[0], sent_ns));
            (position.behind, position.is_lost) = (None, false);
        }
        for (row, behind) in answered.rows.iter().zip(ends) {
            let [error, high_watermark, ..] = row.values;
            if error != 0 || high_watermark < 0 {
                continue;
            }
            let position = self.position(client, *answering.get(row.topic)?, row.partition);
            position.high_watermark = Some(high_watermark);
            position.behind = position.behind.max(behind);
        }
        for row in answered.rows.iter().filter(|row| row.omitted.is_some()) {
            self.position(client, *answering.get(row.topic)?, row.partition).is_lost = true;
        }
        Some(())
    }

    fn position(&mut self, client: u32, topic: u32, partition: i64) -> &mut Position {
        self.touches += 1;
        let touched = self.touches;
        let (asked, behind, high_watermark, is_lost) = (None, None, None, false);
        let made = Position { client, topic, partition, asked, behind, high_watermark, is_lost, touched };
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
