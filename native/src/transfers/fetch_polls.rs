//! `kdissect.stats.by_fetcher.fetch_session_traffic`: Fetches without facts to report
//! (`history.sessions.fetch_sessions.FetchSessions.passes`), counted by fetcher and session.

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::connections::Connections;
use super::sessions::{Passing, Sessions};
use super::topics::ByKey;
use super::{read, COUNTED, ENOUGH, LEFT};
use crate::bodies::partition_rows::Body;
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::stats::response_time::Poll;

/// `engine.transfer_rows._FACTS` of Fetch.
const MAX_WAIT: usize = 4;
const MIN_BYTES: usize = 5;
const ANSWERED_SESSION: usize = 0;
const THROTTLE: usize = 1;
/// Number of sessions, or partitions of them, after which the counts should be taken: some MB.
const MOST_HELD: usize = 1 << 14;
/// The number of a fetcher that is not known yet, whose Fetches are Python's.
const NOBODY: u32 = u32::MAX;

#[derive(Default, Clone, Copy)]
struct Fetcher {
    number: u32,
    requests: i64,
    empty: i64,
    empty_early: i64,
    touched: u64,
}

/// Connections with the next ordinal, and their fetchers, the one that asked last at the end. Then
/// fetchers with their requests, empty requests and early empty requests. All in the order in which
/// they were touched last.
type Taken = (Vec<(u32, i64)>, Vec<(u32, u32)>, Vec<(u32, i64, i64, i64)>);

/// Callbacks to Python: `way_of`, `numbers_of` (`block::count`), `due_of` (`Connections::is_due`).
type Asked<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pyclass(module = "kdissect._native")]
pub struct FetchPolls {
    sessions_from: i16,
    sessions: Py<Sessions>,
    connections: Connections,
    /// The fetcher that asked last on a connection, and when.
    asking: Mixed<u32, (u32, u64)>,
    fetchers: ByKey<u32, Fetcher>,
    touches: u64,
    answers: Known,
}

#[pymethods]
impl FetchPolls {
    /// The first version with sessions, and the sessions.
    #[new]
    fn new(sessions_from: i16, sessions: Py<Sessions>) -> Self {
        FetchPolls {
            sessions_from,
            sessions,
            connections: Connections::default(),
            asking: Mixed::default(),
            fetchers: ByKey::default(),
            touches: 0,
            answers: Known::default(),
        }
    }

    /// Count the exchanges of a block, from one on (`block::count`).
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        asked: Asked<'_>,
    ) -> PyResult<(usize, u8)> {
        let (way_of, numbers_of, due_of) = asked;
        let sessions = self.sessions.bind(block.py()).clone();
        let mut known = std::mem::take(&mut self.answers);
        let mut counting = Counting { polls: self, sessions: sessions.borrow_mut(), due_of };
        let done = block::count(&mut counting, &mut known, block, start, &way_of, &numbers_of);
        self.answers = known;
        done
    }

    /// Everything counted but for the sessions, which is forgotten then.
    fn take(&mut self) -> Taken {
        let mut asking: Vec<(u32, (u32, u64))> = self.asking.drain().collect();
        asking.sort_unstable_by_key(|(_, (_, touched))| *touched);
        let mut fetchers = self.fetchers.take();
        fetchers.sort_unstable_by_key(|fetcher| fetcher.touched);
        self.answers.forget_senders();
        (
            self.connections.take(),
            asking.into_iter().map(|(connection, (fetcher, _))| (connection, fetcher)).collect(),
            fetchers.into_iter().map(|of| (of.number, of.requests, of.empty, of.empty_early)).collect(),
        )
    }
}

struct Counting<'a, 'py> {
    polls: &'a mut FetchPolls,
    sessions: PyRefMut<'py, Sessions>,
    due_of: Bound<'py, PyAny>,
}

impl Counts for Counting<'_, '_> {
    fn pass(&mut self, (_, connection): (u32, u32), row: &Row) -> PyResult<u8> {
        if !self.polls.connections.is_due(connection, row, &self.due_of)? {
            return Ok(LEFT);
        }
        self.polls.connections.pass(connection);
        Ok(COUNTED)
    }

    fn count(
        &mut self,
        who: (u32, u32),
        (_, row): (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        if who.0 == NOBODY || !self.polls.connections.is_due(who.1, row, &self.due_of)? {
            return Ok(LEFT);
        }
        let py = self.due_of.py();
        let Some((_, asked)) = read(request) else { return Ok(LEFT) };
        let answered = match response.map(read) {
            None => None,
            Some(None) => return Ok(LEFT),
            Some(Some((_, answered))) => Some(answered),
        };
        match (row.request.kind.version < self.polls.sessions_from, &answered) {
            (true, _) => {}
            (false, None) => return Ok(LEFT),
            (false, Some(answer)) => match self.sessions.look(py, who.1, row, (&asked, answer), &[])? {
                Passing::Left => return Ok(LEFT),
                passing => self.sessions.take_in(who.1, row, answer, &passing),
            },
        }
        self.polls.take_in(who, row, (&asked, answered.as_ref()));
        Ok(if self.sessions.held() > MOST_HELD { COUNTED | ENOUGH } else { COUNTED })
    }
}

impl FetchPolls {
    /// Count a fetch.
    fn take_in(
        &mut self,
        (fetcher, connection): (u32, u32),
        row: &Row,
        (asked, answered): (&Body<'_>, Option<&Body<'_>>),
    ) {
        self.touches += 1;
        let touched = self.touches;
        let has_records = answered.is_some_and(Body::has_records);
        self.connections.pass(connection);
        self.asking.insert(connection, (fetcher, touched));
        let place = self.fetchers.place(fetcher, || Fetcher { number: fetcher, ..Fetcher::default() });
        let of = &mut self.fetchers.found[place];
        of.requests += 1;
        of.touched = touched;
        let poll = answered.and_then(|answer| poll(row, asked, answer, has_records));
        of.empty += i64::from(poll.as_ref().is_some_and(Poll::is_empty));
        of.empty_early += i64::from(poll.as_ref().is_some_and(Poll::is_empty_early));
    }
}

fn poll(row: &Row, asked: &Body<'_>, answer: &Body<'_>, has_records: bool) -> Option<Poll> {
    let response = row.response.as_ref()?;
    let fact = |body: &Body<'_>, at: usize| body.facts[at].unwrap_or(0);
    let latency = i128::from(response.span.first_time) - i128::from(row.request.content.span.last_time);
    Some(Poll {
        held: latency - i128::from(row.in_line()),
        max_wait: fact(asked, MAX_WAIT),
        min_bytes: fact(asked, MIN_BYTES),
        is_refused: answer.has_other_errors,
        throttle: fact(answer, THROTTLE),
        session: fact(answer, ANSWERED_SESSION),
        topics: answer.topics.len(),
        has_anything: has_records || answer.tells_anything(),
    })
}
